"""The paper's regression of errors on attribute levels (transects, section 5.5, Fig 15).

Effects of opposite sign in two groups cancel in its coefficients; `helpers.effects.matched` reports
effects by cell.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from helpers.effects.batched_logit import fit_logits, pattern_counts
from helpers.errors import AGE_GROUPS, age_group, discretize
from helpers.resampling import draw_weights
from helpers.utils.checks import (
    as_rates,
    as_resamples,
    cluster_codes,
    require_columns,
    require_present,
)

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
        row = frame.index[young].tolist()[0]
        raise ValueError(
            f"row {row!r} is a {age[young].iloc[0]}: the paper's regression has "
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
    odds ratio (transects, section 5.5). A rate counts as that part of an error. Not estimable is
    NaN: the coefficient of a column that is constant, and everything where the errors are all 0 or
    all 1.
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
    coefficients, resamples = [], as_resamples(n_boot)
    for start in range(0, n_boot, chunk):
        weights = draw_weights(len(identifiers), resamples[start : start + chunk], seed)
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
    error = error if isinstance(error, pd.Series) else pd.Series(np.asarray(error), name="error")
    require_present(error, "an error")
    error = as_rates(error)
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
