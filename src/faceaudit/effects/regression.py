"""The paper's regressions of errors on attribute levels: linear (transects, equation 2), and the
logit of section 5.5 and Fig 15, with its bootstrap and the interactions that it lacks (chapter 9).

Effects of opposite sign in two groups cancel in its coefficients; `faceaudit.effects.matched`
reports effects by cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import stdtr, stdtrit

from faceaudit.effects.error_rates import AGE_GROUPS, STRATA, age_group, discretize
from faceaudit.effects.resampling import as_codes, as_resamples, resampled_sums
from faceaudit.effects.risks import (
    FEWEST_CLUSTERS_OF_SLOPE,
    RANK_TOLERANCE,
    alike_at_a_level,
    arms_of_levels,
    code_levels,
    complete_rows,
    few_at_a_level,
    fit_logits,
    independent_columns,
    name_of_unit,
    pattern_counts,
)
from faceaudit.utils.arguments import as_finite, as_rates, refuse, require_columns, require_present

PAPER_LEVELS: dict[str, tuple[tuple[float, ...], tuple[str, ...]]] = {
    "hair_length": (STRATA["hair_length"][0], ("Short hair", "Long hair")),
    "skin_colour": (STRATA["skin_colour"][0], ("Light skin", "Dark skin")),
    "gender": (STRATA["gender"][0], ("Female", "Male")),
    "facial_hair": ((0.375,), ("No/minimal beard", "Beard")),
    "makeup": ((0.5,), ("No/light makeup", "Makeup")),
    "smiling": ((0.375, 0.625), ("Frown/serious", "Neutral expression", "Smile")),
}
"""Attribute → cuts of its score, and names of the levels (Fig 15). Chapter 09 gives the reasons."""
PAPER_AGES = AGE_GROUPS[2:]
"""Levels of age; the young are pruned before (transects, section 5.4)."""
MOST_LOST = 0.05
"""Where a larger share of the resamples is lost, the others give no interval."""
RESAMPLES_AT_ONCE = 250
"""Resamples held in memory at a time; results do not depend on it."""
LINEAR_COLUMNS = ["estimate", "low", "high", "p"]
"""Columns of `linear_effects` that are NaN where nothing is estimable."""


def linear_effects(
    frame: pd.DataFrame,
    outcome: str,
    treatments: Sequence[str],
    adjust: Sequence[str] = (),
    cluster: str | None = None,
) -> pd.DataFrame:
    """Covariate-adjusted ATEs: slopes of one linear regression of errors on attributes.

    e = β₀ + Σ βⱼ xⱼ (transects, equation 2), by least squares. Standard errors are the sandwich's
    of whole clusters, intervals are Student's with one degree of freedom fewer than there are
    clusters (Cameron & Miller, Journal of Human Resources 50 (2015) 317-372, section II). The
    slopes are effects only if the regression takes in everything that goes with an attribute and
    moves the errors, and if contributions add up.

    Args:
        frame: one row per image.
        outcome: column of 0 and 1, or of rates in between.
        treatments: columns of two levels each, which all enter; high minus low is estimated.
        adjust: categorical columns, which enter as well.
        cluster: column of the units of inference; None: rows are independent.

    Returns:
        A row per treatment: estimate, low and high (95% interval), p, n (images), clusters, and
        reason, which says why something is not estimable (NaN). A level with fewer than fifty
        clusters (`faceaudit.effects.risks.FEWEST_CLUSTERS_OF_SLOPE`) is not, nor one whose images
        all have the same outcome: the sandwich would take its rate for known, and the interval
        would hold the truth too rarely. Nor is a slope whose standard error is zero, but for
        rounding: the regression fits all errors exactly, or all clusters agree. Rows without an
        outcome, a treatment or a cluster are left out.

    Raises:
        ValueError: an empty frame, a missing column, a missing level of `adjust`, an outcome
            outside of [0, 1], or more than two levels of a treatment.

    Example:
        >>> from faceaudit import effects
        >>> dark, error = [0] * 60 + [1] * 60, [0, 0, 0, 1] * 15 + [0, 1, 1, 1] * 15
        >>> frame = pd.DataFrame({"dark": dark, "error": error})
        >>> effects.linear_effects(frame, "error", ["dark"])["estimate"].round(3).tolist()
        [0.5]
    """
    required = [outcome, *treatments]
    if cluster is not None:
        required.append(cluster)
    known = frame[complete_rows(frame, required, adjust)]
    arms = []
    levels = []
    for column in treatments:
        arm, present = arms_of_levels(known, column)
        arms.append(arm)
        levels.append([f"{column} = {level}" for level in present])
    constant = [len(names) < 2 for names in levels]
    X = np.column_stack([np.ones(len(known)), *_dummies(known, adjust), *arms]).astype(float)
    error = as_rates(known[outcome])
    groups = as_codes(None if cluster is None else known[cluster], len(known))
    clusters = len(set(groups))
    unit = name_of_unit(cluster, groups)
    obstacle = ""
    if not len(known):
        obstacle = "every image lacks its outcome, treatment or cluster"
    elif clusters < 2:
        obstacle = f"all images are of one {unit}" if len(known) > 1 else "one image"
    elif np.ptp(error) == 0:
        obstacle = "all err alike"
    values = np.full((len(LINEAR_COLUMNS), X.shape[1]), np.nan)
    exact = np.zeros(X.shape[1], bool)
    if not obstacle:
        independent = independent_columns(X)
        values[:, independent], exact[independent] = _clustered_slopes(
            X[:, independent], error, groups
        )
    table = pd.DataFrame(values.T[-len(arms) :], columns=LINEAR_COLUMNS)
    table = table.assign(n=len(known), clusters=clusters)
    confounded = _confounded(X, arms)
    reasons = []
    for number, arm in enumerate(arms):
        if obstacle:
            reasons.append(obstacle)
        elif constant[number]:
            reasons.append("constant treatment")
        elif few := _few_people(arm, groups, levels[number], unit):
            reasons.append(few)
        elif confounded[number]:
            reasons.append("confounded with the covariates")
        elif exact[X.shape[1] - len(arms) + number]:
            reasons.append("no residual variance")
        else:
            reasons.append(alike_at_a_level(error, arm, levels[number]))
    table["reason"] = reasons
    table.loc[table["reason"] != "", LINEAR_COLUMNS] = np.nan
    return table.set_index(pd.Index(treatments, name="treatment"))


def _few_people(arm: np.ndarray, groups: np.ndarray, levels: Sequence[str], unit: str) -> str:
    """Why two levels (n,) of clusters (n,) are not compared, by `few_at_a_level`, else empty."""
    clusters = [len(np.unique(groups[arm == level])) for level in (0, 1)]
    return few_at_a_level(clusters, levels, unit, FEWEST_CLUSTERS_OF_SLOPE)


def _dummies(frame: pd.DataFrame, columns: Sequence[str]) -> list[np.ndarray]:
    """Indicators (n,) of every level of categorical columns but their first ones."""
    dummies = []
    for column in columns:
        code, _ = code_levels(frame[column])
        dummies += [code == level for level in range(1, code.max(initial=0) + 1)]
    return dummies


def _clustered_slopes(
    X: np.ndarray, error: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Least squares with the clusters' sandwich, of independent columns (n, k).

    The small-sample factor is G / (G - 1) · (n - 1) / (n - k) (Cameron & Miller, equation 12).

    Returns:
        Estimate, low, high and p of every column (4, k); and whether its standard error is zero but
        for rounding, (k,).
    """
    images, columns = X.shape
    orthogonal, triangle = np.linalg.qr(X)
    slopes = solve_triangular(triangle, orthogonal.T @ error)
    # What an image adds to the slopes, by its residual; the inverse of X'X is R⁻¹ R⁻¹'.
    residual = error - X @ slopes
    inverse = solve_triangular(triangle, np.eye(columns))
    of_image = (orthogonal * residual[:, None]) @ inverse.T
    code, names = pd.factorize(groups)
    clusters = len(names)
    by_cluster = np.stack([np.bincount(code, of_slope) for of_slope in of_image.T], axis=1)
    df = clusters - 1
    with np.errstate(divide="ignore", invalid="ignore"):  # of a standard error of zero
        correction = np.float64(clusters) / df * (images - 1) / np.float64(images - columns)
        se = np.sqrt((by_cluster**2).sum(axis=0) * correction)
        half_width = stdtrit(df, 0.975) * se
        p = 2 * stdtr(df, -np.abs(slopes / se))
        values = np.array([slopes, slopes - half_width, slopes + half_width, p])
        # Errors of this length have no larger slope; a tiny part of it is rounding.
        largest = np.linalg.norm(error) * np.sqrt((inverse**2).sum(axis=1))
        exact = ~(se > RANK_TOLERANCE * largest)
    return values, exact


def _confounded(X: np.ndarray, arms: list[np.ndarray]) -> np.ndarray:
    """Whether the treatments, the last columns of X, are combinations of all other columns."""
    # Columns are tested against those before them, so that each treatment comes last in turn.
    last = [independent_columns(np.roll(X, k, axis=1))[-1] for k in range(len(arms))]
    return ~np.array(last[::-1])


def paper_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """The 17 binary covariates of the paper's regression (transects, section 5.5).

    Args:
        frame: a row per image with the perceived scores, in [0, 1], of `PAPER_LEVELS` and of age.

    Returns:
        float64 (n, 17); the columns are a MultiIndex (attribute, level): five attributes of two
        levels, expression of three, age of four.

    Raises:
        ValueError: a missing column or score, or a child or teenager, naming the row.

    Example:
        >>> scores = pd.DataFrame(0.8, index=range(3), columns=[*PAPER_LEVELS, "age"])
        >>> X = paper_columns(scores)
        >>> X.shape, X["skin_colour"].columns[X["skin_colour"].any()].tolist()
        ((3, 17), ['Dark skin'])
    """
    require_columns(frame, [*PAPER_LEVELS, "age"])
    age = age_group(frame["age"])
    young = (~age.isin(PAPER_AGES)).to_numpy()
    refuse(young, age, "age", f"one of {PAPER_AGES}", "; prune with ADULT_RULE first")
    levels = {name: discretize(frame[name], *cut) for name, cut in PAPER_LEVELS.items()}
    levels["age"] = age.cat.set_categories(PAPER_AGES)
    blocks = {name: pd.get_dummies(level, dtype=float) for name, level in levels.items()}
    return pd.concat(blocks, axis=1, names=["attribute", "level"])


def interaction_columns(X: pd.DataFrame, names: Sequence[str], with_="gender") -> pd.DataFrame:
    """Covariates with the products of every level of some attributes and of another one appended.

    The log odds ratio of two levels among females is the difference of their main coefficients
    plus that of their products with Female (`log_odds_ratios`).

    Args:
        X: (n, p), columns (attribute, level) as of `paper_columns`.
        names: attributes that interact with `with_`.
        with_: the attribute that they interact with.

    Returns:
        (n, p + products); products are called ("skin_colour x gender", "Dark skin, Female").

    Example:
        >>> scores = pd.DataFrame(0.8, index=range(3), columns=[*PAPER_LEVELS, "age"])
        >>> interaction_columns(paper_columns(scores), ["skin_colour"]).shape
        (3, 21)
    """
    products = {}
    for name in names:
        for level, other in product(X[name].columns, X[with_].columns):
            key = (f"{name} x {with_}", f"{level}, {other}")
            products[key] = X[name, level] * X[with_, other]
    appended = pd.DataFrame(products, index=X.index)
    return pd.concat([X, appended.rename_axis(columns=X.columns.names)], axis=1)


def paper_logit(X: ArrayLike, error: ArrayLike, C: float = 1.0) -> np.ndarray:
    """Coefficients of the paper's L2-penalised logit (transects, section 5.5).

    Equal to scikit-learn's LogisticRegression(C=C) at convergence. With all levels of an attribute
    in `X`, its coefficients sum to zero: two levels mirror each other, and each is half of the log
    odds ratio.

    Args:
        X: (n, p) covariates.
        error: (n,) outcomes in [0, 1]; a rate counts as that part of an error.
        C: inverse of the penalty's weight.

    Returns:
        float64 (1 + p,), intercept first. Not estimable is NaN: the coefficient of a column that
        is constant, and everything where the errors are all 0 or all 1.

    Raises:
        ValueError: a missing value, an outcome outside [0, 1], or lengths that differ.

    Example:
        >>> X = np.eye(2).repeat(50, axis=0)  # light and dark skin
        >>> paper_logit(X, [0, 1] * 25 + [0, 0, 0, 0, 1] * 10)[1:].round(2).tolist()
        [0.63, -0.63]
    """
    patterns, pattern, error = distinct_rows(X, error)
    counts = pattern_counts(pattern, error, np.zeros_like(pattern))
    return _fit_varying_columns(patterns, counts.toarray(), C)[0]


@dataclass(frozen=True)
class LogitDraws:
    """Coefficients of many resamples, and how many of the resamples have none.

    A resample is lost when its errors are all 0 or all 1, as where few images err.

    Attributes:
        coefficients: float64 (n_boot, 1 + p), intercept first. The row of a lost resample is NaN,
            and so is the column of a covariate that is constant.
        clusters: how many units were resampled.

    Example:
        >>> draws = bootstrap_paper_logit(np.eye(2).repeat(9, 0), [0] * 17 + [1], 100, seed=1)
        >>> draws.lost, draws.reason
        (36, '36% of the resamples have no fit')
    """

    coefficients: np.ndarray
    clusters: int

    @property
    def lost(self) -> int:
        """How many resamples have no fit."""
        return int(np.isnan(self.coefficients[:, 0]).sum())

    @property
    def reason(self) -> str:
        """Why their spread is no standard deviation and no interval, else empty."""
        return _reason_lost(self.lost, len(self.coefficients))


def bootstrap_paper_logit(
    X: ArrayLike, error: ArrayLike, n_boot: int, seed: int, cluster: ArrayLike | None = None
) -> LogitDraws:
    """`paper_logit` of many resamples: of images, as the paper probably drew them, or of clusters.

    The penalty is the paper's. Where errors are rare, the spread of the resamples is too small
    and some of them are lost: `firth_log_odds_ratios` gives intervals to rely on.

    Args:
        X: (n, p) covariates.
        error: (n,) outcomes in [0, 1].
        n_boot: number of resamples.
        seed: of the resamples.
        cluster: (n,) identifiers of what is resampled, such as transects; images by default.

    Returns:
        The coefficients of every resample, and how many resamples are lost.

    Raises:
        ValueError: as `paper_logit`; a missing cluster identifier, fewer than two clusters.

    Example:
        >>> draws = bootstrap_paper_logit(np.eye(2).repeat(20, 0), [0, 1] * 20, n_boot=5, seed=1)
        >>> draws.coefficients.shape, draws.lost
        ((5, 3), 0)
    """
    patterns, pattern, error = distinct_rows(X, error)
    codes = as_codes(cluster, len(error))
    counts = pattern_counts(pattern, error, codes)
    resamples = as_resamples(n_boot)
    coefficients = []
    for start in range(0, n_boot, RESAMPLES_AT_ONCE):
        part = resamples[start : start + RESAMPLES_AT_ONCE]
        resampled = resampled_sums(counts, part, seed)
        coefficients.append(_fit_varying_columns(patterns, resampled))
    return LogitDraws(np.concatenate(coefficients), counts.shape[0])


def regression_draws(
    X: pd.DataFrame, error: ArrayLike, n_boot: int, seed: int, cluster: ArrayLike | None = None
) -> pd.DataFrame:
    """The paper's regression and its bootstrap in one table.

    Args:
        X: (n, p), columns (attribute, level).
        error: (n,) outcomes in [0, 1].
        n_boot: number of resamples.
        seed: of the resamples.
        cluster: (n,) identifiers of what is resampled, such as transects; images by default.

    Returns:
        Coefficients without the intercept, columns as in `X`: `paper_logit` in the row "fit",
        resamples in the rows 0 … n_boot − 1.

    Raises:
        ValueError: as `bootstrap_paper_logit`.

    Example:
        >>> X = pd.DataFrame({("skin", "light"): [1, 0] * 20, ("skin", "dark"): [0, 1] * 20})
        >>> regression_draws(X, [0, 0, 1] * 13 + [1], n_boot=5, seed=1).index.tolist()
        ['fit', 0, 1, 2, 3, 4]
    """
    draws = bootstrap_paper_logit(X, error, n_boot, seed, cluster)
    rows = np.vstack([paper_logit(X, error), draws.coefficients])[:, 1:]
    return pd.DataFrame(rows, index=["fit", *range(n_boot)], columns=X.columns)


def summarize_draws(draws: pd.DataFrame) -> pd.DataFrame:
    """Estimates of `regression_draws` with bootstrap standard deviations and intervals.

    Args:
        draws: a column per coefficient, the row "fit" and a row per resample.

    Returns:
        A row per coefficient: estimate; sd, and low and high, the middle 95% of the resamples;
        lost, the resamples without this coefficient; reason, why there is no sd and no interval
        (NaN), else empty: the fit has no such coefficient, or more than 5% of the resamples are
        lost.

    Example:
        >>> draws = pd.DataFrame({"dark skin": [0.5, 0.0, 1.0]}, ["fit", 0, 1])
        >>> summarize_draws(draws).loc["dark skin", ["estimate", "low", "high"]].tolist()
        [0.5, 0.025, 0.975]
    """
    resamples = draws.drop(index="fit")
    lost = resamples.isna().sum()
    summary = pd.DataFrame(
        {
            "estimate": draws.loc["fit"],
            "sd": resamples.std(),
            "low": resamples.quantile(0.025),
            "high": resamples.quantile(0.975),
            "lost": lost,
            "reason": [_reason_lost(count, len(resamples)) for count in lost],
        }
    )
    summary.loc[summary["estimate"].isna(), "reason"] = "the fit has no such coefficient"
    summary.loc[summary["reason"] != "", ["sd", "low", "high"]] = np.nan
    return summary


def _reason_lost(lost: int, resamples: int) -> str:
    """Why resamples of which some are lost give no interval, else empty."""
    if lost > MOST_LOST * resamples:
        return f"{lost / resamples:.0%} of the resamples have no fit"
    return ""


def log_odds_ratios(draws: pd.DataFrame, attribute: str, low: str, high: str) -> pd.DataFrame:
    """Log odds ratios of an error between two levels, for everybody or by gender.

    Args:
        draws: of `regression_draws`.
        attribute: whose levels are compared.
        low: the level to compare with.
        high: the level that is compared.

    Returns:
        Rows as in `draws`; the column "main effects" where it has no products of the attribute
        with gender (see `interaction_columns`), otherwise a column per gender.

    Example:
        >>> columns = pd.MultiIndex.from_tuples([("skin", "light"), ("skin", "dark")])
        >>> draws = pd.DataFrame([[-0.5, 0.5]], ["fit"], columns)
        >>> log_odds_ratios(draws, "skin", "light", "dark").loc["fit", "main effects"].item()
        1.0
    """
    main = draws[attribute, high] - draws[attribute, low]
    if f"{attribute} x gender" not in draws.columns.get_level_values(0):
        return main.to_frame("main effects")
    products = draws[f"{attribute} x gender"]
    ratios = {
        gender: main + products[f"{high}, {gender}"] - products[f"{low}, {gender}"]
        for gender in draws["gender"].columns
    }
    return pd.DataFrame(ratios)


def distinct_rows(X: ArrayLike, error: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct rows of `X` (P, p), the number of every row's pattern (n,), errors (n,)."""
    X = as_finite(X, "X", ndim=2)
    error = error if isinstance(error, pd.Series) else pd.Series(np.asarray(error), name="error")
    require_present(error, "an error")
    patterns, pattern = np.unique(X, axis=0, return_inverse=True)
    return patterns, pattern, as_rates(error)


def _fit_varying_columns(patterns: np.ndarray, counts: np.ndarray, C: float = 1.0) -> np.ndarray:
    """Penalised logits (B, 1 + p) of resampled counts (B, 2 P), NaN for constant columns.

    The penalty would give a constant column the coefficient 0, as if it had no effect.
    """
    varies = np.ptp(patterns, axis=0) > 0
    trials, errors = np.split(counts, 2, axis=1)
    coefficients = np.full((len(counts), 1 + patterns.shape[1]), np.nan)
    coefficients[:, np.append(True, varies)] = fit_logits(patterns[:, varies], trials, errors, C)
    return coefficients
