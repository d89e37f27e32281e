"""Effects of attributes on errors: the paper's regression, and differences within matched pairs.

The paper reads one coefficient per attribute off an L2 logit (transects, section 5.5, Fig 15).
Effects of opposite sign in two groups cancel there; `matched_effects` reports them by cell.
"""

from collections.abc import Hashable, Sequence
from itertools import combinations, product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import binomtest, norm, t

from helpers.errors import (
    AGE_GROUPS,
    age_group,
    as_binary,
    discretize,
    require_columns,
    require_present,
)
from helpers.resampling import cluster_codes, draw_weights, fit_logits, pattern_counts

PAPER_LEVELS: dict[str, tuple[tuple[float, ...], tuple[str, ...]]] = {
    "hair_length": ((0.4,), ("Short hair", "Long hair")),
    "skin_colour": ((0.5,), ("Light skin", "Dark skin")),
    "gender": ((0.5,), ("Female", "Male")),
    "facial_hair": ((0.375,), ("No/minimal beard", "Beard")),
    "makeup": ((0.5,), ("No/light makeup", "Makeup")),
    "smiling": ((0.375, 0.625), ("Frown/serious", "Neutral expression", "Smile")),
}
"""Cuts of the scores and names of the levels of Fig 15. Hair, skin and gender are cut in the
middle of the range that pruning removes; the paper gives no number for the others, which are cut
halfway between two annotated levels: minimal | mustache, minimal | full makeup, and a slight frown
or smile | neutral."""
PAPER_AGES = AGE_GROUPS[2:]
"""Children and teenagers are removed before the regression (transects, section 5.4)."""


def paper_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """The 17 binary covariates of the paper's regression, float64 (n, 17), from perceived scores.

    The columns are a MultiIndex (attribute, level): five attributes of two levels, expression of
    three, age of four. Raises ValueError for a missing column or score, and for a child or
    teenager, naming the row.
    """
    require_columns(frame, [*PAPER_LEVELS, "age"])
    age = age_group(frame["age"])
    young = ~age.isin(PAPER_AGES)
    if young.any():
        raise ValueError(
            f"row {frame.index[young][0]!r} is a {age[young].iloc[0]}: the paper's regression has "
            f"no such level; prune with ADULT_RULE first ({int(young.sum())} such rows)"
        )
    levels = {
        name: discretize(frame[name], cuts, labels) for name, (cuts, labels) in PAPER_LEVELS.items()
    }
    levels["age"] = age.cat.set_categories(PAPER_AGES)
    blocks = {name: pd.get_dummies(level, dtype=float) for name, level in levels.items()}
    return pd.concat(blocks, axis=1, names=["attribute", "level"])


def interaction_columns(
    X: pd.DataFrame, names: Sequence[str], with_: str = "gender"
) -> pd.DataFrame:
    """`X` with the products of every level of the attributes `names` and of `with_` appended.

    `X` has the columns (attribute, level) of `paper_columns`; the products are called
    ("skin_colour x gender", "Dark skin, Female"). The log odds ratio of two levels among females
    is the difference of their main coefficients plus that of their products with Female.
    """
    attributes = set(X.columns.get_level_values(0))
    if unknown := sorted({*names, with_} - attributes):
        raise ValueError(f"X has no attribute {unknown}; it has {sorted(attributes)}")
    if with_ in names:
        raise ValueError(f"{with_!r} cannot interact with itself")
    products = {
        (f"{name} x {with_}", f"{level}, {other}"): X[name, level] * X[with_, other]
        for name in names
        for level in X[name].columns
        for other in X[with_].columns
    }
    appended = pd.DataFrame(products, index=X.index)
    return pd.concat([X, appended.rename_axis(columns=X.columns.names)], axis=1)


def paper_logit(X: ArrayLike, error: ArrayLike, C: float = 1.0) -> np.ndarray:
    """Coefficients of the paper's L2 logit of the error on `X` (n, p): (1 + p,), intercept first.

    Equal to scikit-learn's LogisticRegression(C=C) at convergence. With all levels of an attribute
    in `X`, its coefficients sum to zero: two levels mirror each other, and each is half of the log
    odds ratio (transects, section 5.5). Not estimable is NaN: the coefficient of a column that is
    constant, and everything where the errors are all 0 or all 1.
    """
    patterns, pattern, error = _collapse(X, error)
    counts = pattern_counts(pattern, error, np.zeros_like(pattern))
    return _fit(patterns, counts.toarray(), C)[0]


def bootstrap_paper_logit(
    X: ArrayLike,
    error: ArrayLike,
    n_boot: int,
    seed: int,
    cluster: ArrayLike | None = None,
    C: float = 1.0,
    chunk: int = 250,
) -> np.ndarray:
    """`paper_logit` of `n_boot` resamples: (n_boot, 1 + p), intercept first.

    Resamples images as the paper does, or whole clusters (the transects) where their identifiers
    are given. `chunk` resamples are held at a time; results do not depend on it. A resample whose
    errors are all 0 or all 1 is NaN. Raises ValueError for a missing cluster identifier and for
    fewer than two clusters.
    """
    patterns, pattern, error = _collapse(X, error)
    codes, identifiers = cluster_codes(np.arange(len(error)) if cluster is None else cluster)
    if len(codes) != len(error):
        raise ValueError(f"{len(codes)} cluster identifiers for {len(error)} rows")
    counts = pattern_counts(pattern, error, codes)
    coefficients = []
    for start in range(0, n_boot, chunk):
        resamples = range(start, min(start + chunk, n_boot))
        weights = draw_weights(len(identifiers), resamples, seed)
        coefficients.append(_fit(patterns, weights @ counts, C))
    return np.concatenate(coefficients)


def regression_draws(
    X: pd.DataFrame,
    error: ArrayLike,
    n_boot: int,
    seed: int,
    cluster: ArrayLike | None = None,
    C: float = 1.0,
) -> pd.DataFrame:
    """`paper_logit` in the row "fit", resamples in rows 0 ... n_boot - 1; columns as in `X`."""
    fit = paper_logit(X, error, C)
    draws = bootstrap_paper_logit(X, error, n_boot, seed, cluster, C)
    rows = np.vstack([fit, draws])[:, 1:]
    return pd.DataFrame(rows, index=["fit", *range(n_boot)], columns=X.columns)


def summarize_draws(draws: pd.DataFrame) -> pd.DataFrame:
    """Per column of `regression_draws`: estimate, sd, low and high (95 % percentile interval)."""
    resamples = draws.drop(index="fit")
    low, high = (resamples.quantile(q) for q in (0.025, 0.975))
    summary = {"estimate": draws.loc["fit"], "sd": resamples.std(), "low": low, "high": high}
    return pd.DataFrame(summary)


def log_odds_ratios(
    draws: pd.DataFrame, attribute: str, low: str, high: str, with_: str = "gender"
) -> pd.DataFrame:
    """Log odds ratios of an error, level `high` against `low`, from rows of `regression_draws`.

    One column "main effects" where `draws` has no products of the attribute with `with_` (see
    `interaction_columns`), otherwise one per level of `with_`.
    """
    main = draws[attribute, high] - draws[attribute, low]
    product = f"{attribute} x {with_}"
    if product not in draws.columns.get_level_values(0):
        return main.to_frame("main effects")
    products = draws[product]
    ratios = {
        level: main + products[f"{high}, {level}"] - products[f"{low}, {level}"]
        for level in draws[with_].columns
    }
    return pd.DataFrame(ratios)


def _collapse(X: ArrayLike, error: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct rows of `X` (P, p), the number of every row's pattern (n,), errors (n,)."""
    X = np.asarray(X, dtype=np.float64)
    error = as_binary(error)
    if X.ndim != 2 or len(X) != len(error) or len(X) == 0:
        raise ValueError(f"X of shape {X.shape} does not fit {len(error)} errors: expected (n, p)")
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0]
        raise ValueError(f"X, row {row}, column {column}: {X[row, column]} is not finite")
    patterns, pattern = np.unique(X, axis=0, return_inverse=True)
    return patterns, pattern, error


def _fit(patterns: np.ndarray, counts: np.ndarray, C: float) -> np.ndarray:
    """Fit the columns that vary; the penalty would read a constant one as no effect."""
    varies = np.ptp(patterns, axis=0) > 0
    trials, errors = np.split(counts, 2, axis=1)
    coefficients = np.full((len(counts), 1 + patterns.shape[1]), np.nan)
    coefficients[:, np.append(True, varies)] = fit_logits(patterns[:, varies], trials, errors, C)
    return coefficients


def matched_effects(
    frame: pd.DataFrame, outcome: str, attribute: str, by: Sequence[str], transect: str
) -> pd.DataFrame:
    """Paired risk differences of the two levels of `attribute` within transects, by cell.

    A pair is two images of one transect with equal levels on every other axis: the columns in
    `by` and all that end in `_level`. A cell is a combination of levels of `by`; `by=[]` averages
    over all pairs, each pair counting equally. One row per cell with the columns

    - estimate: risk of `outcome` (0 or 1) at the higher level of `attribute` minus at the lower;
    - low, high: 95 % interval by Tango's score method, which has a width without any discordant
      pair; where transects give several pairs, with their design effect and Student quantiles;
    - p: exact McNemar test, or the score test with the design effect; p_holm: Holm over the cells;
    - n: complete pairs; transects: those that give one; missing: pairs lacking an image, among
      the transects of `frame`; worse, better: pairs with an error at the higher (lower) level only;
    - reason: why there is no interval ("no pair", "one transect"), else empty.

    Raises ValueError for a missing column, transect, axis level or outcome, an outcome other than
    0 and 1, an attribute of more than two levels, and two images in one place of a transect.
    """
    by = list(by)
    others = by + [c for c in frame.columns if str(c).endswith("_level") and c not in by]
    others = [column for column in others if column != attribute]
    require_columns(frame, [outcome, attribute, transect, *by])
    if attribute in by:
        raise ValueError(f"{attribute!r} cannot be the attribute and define the cells too")
    if frame.empty:
        raise ValueError("the frame has no rows")
    for column in (transect, attribute, *others):
        require_present(frame[column], "a value")

    differences = _pair_differences(frame, outcome, attribute, [transect, *others])
    levels = [sorted(frame[column].unique().tolist()) for column in by]
    inner = [frame[column].nunique() for column in others if column not in by]
    expected = frame[transect].nunique() * int(np.prod(inner))
    groups = dict(list(differences.groupby(by))) if by else {(): differences}
    empty = differences.iloc[:0]
    rows = [
        _paired_effect(groups.get(cell, empty), transect, expected) for cell in product(*levels)
    ]
    table = pd.DataFrame(rows, index=_cell_index(by, levels))
    table.insert(4, "p_holm", holm(table["p"]))
    return table


def all_matched_effects(
    frame: pd.DataFrame, outcome: str, attributes: Sequence[str], transect: str
) -> pd.DataFrame:
    """`matched_effects` of each of the attributes, in every cell of the others and averaged.

    Attribute `a` has its levels in the column `<a>_level`. Rows and keys are those of
    `helpers.truth.effects`: the attribute, then a column per attribute with the level at which
    it is held, or <NA> where it is averaged over (and for the attribute itself). `p_holm` covers
    the cells in which all others are held, of all attributes together; averages of them have none.
    """
    tables = []
    for attribute in attributes:
        others = [name for name in attributes if name != attribute]
        for held in (c for size in range(len(others) + 1) for c in combinations(others, size)):
            by = {f"{name}_level": name for name in held}
            table = matched_effects(frame, outcome, f"{attribute}_level", list(by), transect)
            table = table.reset_index(drop=not by).rename(columns=by)
            tables.append(table.assign(attribute=attribute))
    effects = pd.concat(tables, ignore_index=True)
    effects[list(attributes)] = effects.reindex(columns=list(attributes)).astype("Int64")
    cell = effects[list(attributes)].notna().sum(axis=1) == len(attributes) - 1
    effects["p_holm"] = np.nan
    effects.loc[cell, "p_holm"] = holm(effects.loc[cell, "p"])
    first = ["attribute", *attributes]
    return effects[first + [column for column in effects if column not in first]]


def _cell_index(by: list[str], levels: list[list[Hashable]]) -> pd.Index:
    if not by:
        return pd.Index(["all"], name="cell")
    if len(by) == 1:
        return pd.Index(levels[0], name=by[0])
    return pd.MultiIndex.from_product(levels, names=by)


def _pair_differences(
    frame: pd.DataFrame, outcome: str, attribute: str, place: list[str]
) -> pd.DataFrame:
    """Complete pairs: the columns of `place`, and `difference` (-1, 0, 1), higher minus lower."""
    levels = sorted(frame[attribute].unique().tolist())
    if len(levels) > 2:
        raise ValueError(
            f"column {attribute!r} has the levels {levels}: a pair compares two, keep two of them"
        )
    repeated = frame.duplicated([*place, attribute])
    if repeated.any():
        first = frame.loc[repeated, [*place, attribute]].iloc[0].to_dict()
        raise ValueError(f"two images in one place of a transect: {first}")
    coded = frame[place].assign(
        level=(frame[attribute] == levels[-1]).astype(int), outcome=as_binary(frame[outcome])
    )
    lower, higher = (coded[coded["level"] == k].drop(columns="level") for k in (0, 1))
    pairs = lower.merge(higher, on=place, suffixes=("_lower", "_higher"))
    return pairs[place].assign(difference=pairs["outcome_higher"] - pairs["outcome_lower"])


def _paired_effect(pairs: pd.DataFrame, transect: str, expected: int) -> dict[str, object]:
    difference = pairs["difference"].to_numpy()
    n, transects = len(pairs), pairs[transect].nunique()
    worse, better = int((difference == 1).sum()), int((difference == -1).sum())
    effect = {
        "estimate": difference.mean() if n else np.nan,
        "low": np.nan,
        "high": np.nan,
        "p": np.nan,
        "n": n,
        "transects": transects,
        "missing": expected - n,
        "worse": worse,
        "better": better,
        "reason": "no pair" if n == 0 else "one transect" if transects == 1 else "",
    }
    if effect["reason"]:
        return effect
    if n == transects:
        interval = paired_interval(worse, better, n, norm.ppf(0.975))
        p = binomtest(worse, worse + better).pvalue if worse + better else 1.0
    else:
        deff = _design_effect(pairs["difference"], pairs[transect])
        df = transects - 1
        interval = paired_interval(worse / deff, better / deff, n / deff, t.ppf(0.975, df))
        discordant = max(worse + better, 1)
        p = 2 * t.sf(abs(worse - better) / np.sqrt(discordant * deff), df)
    return effect | {"low": interval[0], "high": interval[1], "p": p}


def _design_effect(difference: pd.Series, transect: pd.Series) -> float:
    """Variance of the mean difference with whole transects as units, over that of single pairs.

    Differences that are all equal show nothing of their dependence: a transect then counts as one
    pair. At least the transects' share of the pairs, so that no interval collapses.
    """
    residual = difference - difference.mean()
    single = float((residual**2).sum())
    n, clusters = len(difference), transect.nunique()
    if single == 0:
        return n / clusters
    clustered = float((residual.groupby(transect).sum() ** 2).sum()) * clusters / (clusters - 1)
    return max(clustered / single, clusters / n)


def paired_interval(worse: float, better: float, n: float, quantile: float) -> tuple[float, float]:
    """Score interval of the difference (worse - better) / n of two paired proportions.

    Tango, Statistics in Medicine 17 (1998) 891-908: the differences that a score test with the
    restricted maximum-likelihood variance does not reject. The width is positive even where no
    pair is discordant, where Wald's is zero. Counts may be fractions (effective sample sizes).
    """
    upper = _score_limit(worse, better, n, quantile)
    lower = -_score_limit(better, worse, n, quantile)
    return lower, upper


def _score_limit(worse: float, better: float, n: float, quantile: float) -> float:
    estimate = (worse - better) / n

    def excess(delta: float) -> float:
        linear = (2 * n - worse + better) * delta - worse - better
        root = np.sqrt(max(linear**2 + 8 * n * better * delta * (1 - delta), 0.0))
        only_better = (root - linear) / (4 * n)
        variance = n * (2 * only_better + delta * (1 - delta))
        return (worse - better - n * delta) ** 2 - quantile**2 * variance

    # The estimate itself is a second root where no pair is discordant.
    start = estimate + 1e-9 * (1 - estimate)
    if start >= 1 or excess(1.0) <= 0:
        return 1.0
    return brentq(excess, start, 1.0, xtol=1e-12)


def holm(p: ArrayLike) -> np.ndarray:
    """Holm's adjusted p-values, same shape (n,); NaN (not estimable) stays and is not counted."""
    p = np.asarray(p, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    # Not statsmodels' multipletests: it runs the garbage collector, which costs 50 ms a call.
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted
