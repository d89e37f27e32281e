"""How strong an attribute that the table lacks would have to be to explain a difference away.

An omitted attribute biases the slope of a linear regression by as much as it goes with the level
and with the outcome, both beyond the covariates: by se √df √(R²y R²d / (1 - R²d)). R²d is the share
that it explains of what the covariates leave of the level, and R²y the share that it explains of
what covariates and level leave of the outcome. The *robustness value* is the share of both at which
the bias is as large as the slope. A covariate of the table is a benchmark: what if the omitted
attribute were as strong as this one? (Cinelli & Hazlett, Journal of the Royal Statistical Society B
82 (2020) 39-67.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from faceaudit.effects.covariates import read_levels
from faceaudit.effects.risks import (
    FEWEST_CLUSTERS_OF_SLOPE,
    alike_at_a_level,
    few_at_a_level,
    independent_columns,
    obstacle_of_cell,
)
from faceaudit.utils.errors import InputError

NEGLIGIBLE = 1e-10
"""Share of a sum of squares that is rounding."""
BENCHMARK_COLUMNS = ["covariate", "with_treatment", "with_outcome", "estimate"]


@dataclass(frozen=True)
class Robustness:
    """A slope of a linear regression, and what could explain it away.

    Attributes:
        estimate, low, high: the slope of the level, with the clusters' 95% interval.
        partial_r2: share that the level explains of what the covariates leave of the outcome. An
            attribute that explains all of the outcome has to explain as much of the level to bring
            the slope to zero.
        robustness_value: share of level and outcome, both, that brings the slope to zero.
        robustness_of_limit: the same of the end of the interval that is nearer to zero; 0 where the
            interval holds zero.
        benchmarks: a row per covariate: covariate, with_treatment and with_outcome (the shares R²d
            and R²y of an attribute that is as strong as this covariate), and estimate (the slope
            next to such an attribute that pulls towards zero). NaN where there is none so strong,
            since the covariate explains half of the level or more.
        n, clusters: images and clusters.
        reason: why nothing is estimable (NaN), else empty.
    """

    estimate: float
    low: float
    high: float
    partial_r2: float
    robustness_value: float
    robustness_of_limit: float
    benchmarks: pd.DataFrame
    n: int
    clusters: int
    reason: str


def robustness_value(partial_f: float) -> float:
    """Share of level and outcome that explains a slope away, from its partial Cohen's f.

    Args:
        partial_f: |t| / √df, of the classical t statistic.

    Returns:
        (√(f⁴ + 4 f²) - f²) / 2.

    Raises:
        InputError: a number below 0, one that is not finite, or no number.

    Example:
        >>> round(robustness_value(4.184 / 783**0.5), 3)
        0.139
    """
    if not (isinstance(partial_f, Real) and isfinite(partial_f) and partial_f >= 0):
        raise InputError(
            f"partial_f is {partial_f!r}, a finite number of at least 0 was expected",
            field="partial_f",
            found=partial_f,
            expected="a finite number of at least 0",
        )
    return float((np.sqrt(partial_f**4 + 4 * partial_f**2) - partial_f**2) / 2)


def robustness_to_omitted_variables(
    frame: pd.DataFrame,
    outcome: str,
    treatment: str,
    covariates: Sequence[str],
    cluster: str | None = None,
    *,
    is_number: bool = False,
) -> Robustness:
    """How strong an omitted attribute explains the difference between two levels away.

    The difference is the slope of `treatment` in a least-squares regression with the covariates, as
    of `faceaudit.effects.linear_effects`.

    Args:
        frame: a row per image.
        outcome: column of 0 and 1, or in between; or numbers, see `is_number`.
        treatment: column of the two levels that are compared.
        covariates: columns that are adjusted for. Those of floating-point numbers enter as numbers,
            all others as categories.
        cluster: column of the units of inference; None: rows are independent.
        is_number: whether the outcome is a number without bounds.

    Returns:
        The slope, robustness values and benchmarks. Not estimable is what
        `faceaudit.effects.linear_effects` does not estimate, such as a level with fewer than fifty
        clusters, or one whose images all have the same outcome.

    Raises:
        InputError: an empty frame, a missing column, a missing or infinite value of a covariate, an
            outcome outside of [0, 1] that is no number, or more than two levels.

    Example:
        >>> from faceaudit import effects
        >>> random = np.random.default_rng(1)
        >>> short = random.integers(2, size=2000)
        >>> dark = random.random(2000) < 0.3 + 0.3 * short
        >>> error = (random.random(2000) < 0.1 + 0.2 * short + 0.1 * dark).astype(int)
        >>> frame = pd.DataFrame({"dark": dark, "short": short, "error": error})
        >>> found = effects.robustness_to_omitted_variables(frame, "error", "dark", ["short"])
        >>> round(found.estimate, 3), round(found.robustness_value, 3)
        (0.088, 0.095)
    """
    cell, known = read_levels(frame, outcome, treatment, covariates, cluster, is_number)
    clusters_of_levels = cell.present.sum(axis=0)
    obstacle = obstacle_of_cell(cell) or few_at_a_level(
        clusters_of_levels, cell.levels, cell.unit, FEWEST_CLUSTERS_OF_SLOPE
    )
    if obstacle:
        return _not_estimable(len(cell.error), len(cell.present), obstacle)
    others = np.column_stack([np.ones(len(cell.arm)), known.design])
    arm = cell.arm.astype(np.float64)
    level_left = _residual(others, arm)
    outcome_left = _residual(others, cell.error)
    level_squares = float(level_left @ level_left)
    slope = float(level_left @ cell.error / max(level_squares, NEGLIGIBLE))
    residual = outcome_left - slope * level_left
    residual_squares = float(residual @ residual)
    df = len(arm) - int(independent_columns(others).sum()) - 1
    if level_squares < NEGLIGIBLE * len(arm):
        obstacle = "confounded with the covariates"
    elif df < 1 or residual_squares <= NEGLIGIBLE * float(cell.error @ cell.error):
        obstacle = "no residual variance"
    else:
        obstacle = alike_at_a_level(cell.error, cell.arm, cell.levels)
    if obstacle:
        return _not_estimable(len(cell.error), len(cell.present), obstacle)

    se = np.sqrt(residual_squares / df / level_squares)
    partial_f = abs(slope) / se / np.sqrt(df)
    half_width = _half_width(level_left, residual, cell.cluster, df)
    left = max(abs(slope) - half_width, 0.0)
    share_left = left / abs(slope) if slope else 0.0
    rows = []
    for name in covariates:
        rest = known.among([other for other in covariates if other != name])
        rest = np.column_stack([np.ones(len(arm)), rest.design])
        level_without = _residual(rest, arm)
        with_level = np.column_stack([rest, arm])
        outcome_without = _residual(with_level, cell.error)
        of_level = 1 - level_squares / float(level_without @ level_without)
        of_outcome = 1 - residual_squares / float(outcome_without @ outcome_without)
        shares = _as_strong(max(of_level, 0.0), max(of_outcome, 0.0))
        bias = se * np.sqrt(df) * np.sqrt(shares[1] * shares[0] / (1 - shares[0]))
        rows.append(
            {
                "covariate": name,
                "with_treatment": shares[0],
                "with_outcome": shares[1],
                "estimate": float(np.sign(slope) * (abs(slope) - bias)),
            }
        )
    return Robustness(
        estimate=slope,
        low=slope - half_width,
        high=slope + half_width,
        partial_r2=partial_f**2 / (1 + partial_f**2),
        robustness_value=robustness_value(partial_f),
        robustness_of_limit=robustness_value(partial_f * share_left),
        benchmarks=pd.DataFrame(rows, columns=BENCHMARK_COLUMNS),
        n=len(arm),
        clusters=len(cell.present),
        reason="",
    )


def _not_estimable(n: int, clusters: int, reason: str) -> Robustness:
    benchmarks = pd.DataFrame([], columns=BENCHMARK_COLUMNS)
    return Robustness(
        estimate=np.nan,
        low=np.nan,
        high=np.nan,
        partial_r2=np.nan,
        robustness_value=np.nan,
        robustness_of_limit=np.nan,
        benchmarks=benchmarks,
        n=n,
        clusters=clusters,
        reason=reason,
    )


def _residual(design: np.ndarray, values: np.ndarray) -> np.ndarray:
    """What a least-squares fit leaves of the values (n,)."""
    coefficients = np.linalg.lstsq(design, values, rcond=None)[0]
    return values - design @ coefficients


def _half_width(
    level_left: np.ndarray, residual: np.ndarray, cluster: np.ndarray, df: int
) -> float:
    """Of the slope's interval, by the clusters' sandwich with Student's quantile."""
    clusters = cluster.max() + 1
    n = len(residual)
    scores = np.bincount(cluster, level_left * residual)
    correction = clusters / (clusters - 1) * (n - 1) / df
    se = np.sqrt(correction * (scores**2).sum()) / (level_left @ level_left)
    return float(stdtrit(clusters - 1, 0.975) * se)


def _as_strong(of_level: float, of_outcome: float) -> tuple[float, float]:
    """Shares R²d and R²y of an omitted attribute that is as strong as a covariate.

    Args:
        of_level: share that the covariate explains of what the others leave of the level.
        of_outcome: the same of the outcome, next to the level.

    Returns:
        Both shares, NaN where the covariate explains half of the level or more; the share of the
        outcome is 1 at most (Cinelli & Hazlett, section 4.4).
    """
    if of_level >= 0.5:
        return np.nan, np.nan
    with_treatment = of_level / (1 - of_level)
    with_covariate = of_level**2 / (1 - of_level) ** 2
    strength = (1 + np.sqrt(with_covariate)) ** 2 / (1 - with_covariate)
    with_outcome = strength * of_outcome / (1 - of_outcome)
    return with_treatment, min(with_outcome, 1.0)
