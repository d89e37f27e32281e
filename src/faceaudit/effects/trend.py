"""Trends over the levels of an attribute: of matched faces, and of portraits that were found.

A trend is the slope of the straight line that least squares lays through the means of the levels,
numbered 0, 1, 2, … in their order, told as the change along this line from the lowest level to the
highest (`faceaudit.comparisons.trend_weights`). The line need not fit: the trend says how far the
means rise or fall on the whole, and two levels in the middle may differ otherwise.

The weights are negative in the lower half of the levels and positive in the upper half. So the
trend of a matched face compares two means: that of its upper levels and that of its lower ones,
each level weighted by its distance from the middle (`level_halves`). These are outcomes of a pair,
and the pairs have the intervals of `faceaudit.effects.matched_effects`, those of rates. Portraits
of each level have a rate of their own, and the interval of the weighted sum is put together from
Wilson's (Zou, Huang & Zhang, Computational Statistics & Data Analysis 53 (2009) 1080-1085).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from faceaudit.comparisons import trend_weights
from faceaudit.effects.matched import INTERVAL_LIMITS, matched_effects
from faceaudit.effects.resampling import as_codes
from faceaudit.effects.risks import (
    LARGEST_QUANTILE,
    code_cells,
    complete_rows,
    name_of_unit,
    rows_by_code,
    score_interval,
)
from faceaudit.effects.verdicts import mde, verdict
from faceaudit.utils.arguments import (
    as_finite,
    as_rates,
    check_whole,
    refuse,
    require_columns,
    require_distinct,
    require_present,
)
from faceaudit.utils.errors import InputError

SCALED = ("estimate", *INTERVAL_LIMITS, "mde")
"""Columns of a matched trend that are in the unit of the trend."""
ROUNDS = 60
"""Halvings of the search for the quantile at which an interval ends in zero."""


def largest_trend(levels: int) -> float:
    """The largest trend that rates of so many levels can have.

    Example:
        >>> from faceaudit.effects.trend import largest_trend
        >>> largest_trend(3), round(largest_trend(6), 3)
        (1.0, 1.286)
    """
    return sum(weight for weight in trend_weights(levels) if weight > 0)


# --- matched faces


def level_halves(
    frame: pd.DataFrame,
    outcome: str,
    attribute: str,
    levels: int,
    matching: Sequence[str],
    is_number: bool = False,
) -> pd.DataFrame:
    """The images of each face at all levels as a pair: the lower half of the levels, and the upper.

    Args:
        frame: a row per image.
        outcome: column of outcomes, NaN where one is unknown.
        attribute: column of the levels, from 0 on.
        levels: how many there are.
        matching: columns in which the images of a face agree: the face, and levels of other axes.
        is_number: whether outcomes are numbers without bounds.

    Returns:
        Two rows for each combination of values of `matching` that occurs, with all other columns of
        one of its images: at the level 0 the weighted mean outcome of the lower levels, at the
        level 1 that of the upper ones; of numbers the weighted sums, whose difference is the trend.
        Of rates, the trend is `largest_trend` times the difference. The outcome is NaN where a
        level has none.

    Raises:
        InputError: a missing column, two images in one place, a level that is no whole number from
            0 on and below `levels`, a missing value of `matching`, or an outcome outside of [0, 1]
            that is no number.

    Example:
        >>> frame = pd.DataFrame({"face": [7] * 4, "skin_level": range(4), "error": [0, 0, 1, 1]})
        >>> level_halves(frame, "error", "skin_level", 4, ["face"])["error"].tolist()
        [0.0, 1.0]
    """
    check_whole("levels", levels, 2)
    require_columns(frame, [*matching, attribute, outcome])
    for column in matching:
        require_present(frame[column], "a face or a level")
    number = pd.RangeIndex(levels).get_indexer(frame[attribute])
    refuse(number < 0, frame[attribute], attribute, f"a whole number from 0 to {levels - 1}")
    outcomes_of_images = _known_numbers(frame[outcome]) if is_number else as_rates(frame[outcome])
    require_distinct(frame, [*matching, attribute], "place of a transect")
    place = frame.groupby(list(matching), sort=False).ngroup().to_numpy()
    _, first = np.unique(place, return_index=True)
    values = np.full((len(first), levels), np.nan)
    values[place, number] = outcomes_of_images
    weights = np.array(trend_weights(levels))
    unit = 1.0 if is_number else largest_trend(levels)
    halves = []
    for level, of_half in enumerate([-weights, weights]):
        # Every level counts for whether the pair is complete, also the one without a weight.
        outcomes = values @ of_half.clip(0) / unit + 0 * values.sum(axis=1)
        # Rounding may leave a mean of rates a little beyond 1.
        outcomes = outcomes if is_number else outcomes.clip(0, 1)
        halves.append(frame.iloc[first].assign(**{attribute: level, outcome: outcomes}))
    return pd.concat(halves, ignore_index=True)


def _known_numbers(values: pd.Series) -> np.ndarray:
    """Numbers of a column as float64 (n,), NaN where one is unknown; InputError for others."""
    known = values.notna()
    numbers = np.full(len(values), np.nan)
    if known.any():
        numbers[known.to_numpy()] = as_finite(values[known], str(values.name))
    return numbers


def matched_trends(
    frame: pd.DataFrame,
    outcome: str,
    attribute: str,
    levels: int,
    by: Sequence[str],
    transect: str,
    tolerance: float = 0.05,
    weight: str | None = None,
) -> pd.DataFrame:
    """Trends of rates over the levels of `attribute` within transects, by cell.

    Args:
        frame: a row per image; levels of other axes are the columns that end in `_level`.
        outcome: column of 0 and 1, or in between where it is a rate.
        attribute: column of the levels, from 0 on.
        levels: how many there are.
        by: columns of the cells.
        transect: column that names the transects.
        tolerance: of the change from the lowest level to the highest, for the verdict.
        weight: column of survey weights, as of `faceaudit.effects.matched_effects`.

    Returns:
        The columns of `faceaudit.effects.matched_effects`, where the pairs are those of
        `level_halves`: n counts the transects' images at all levels, one for each combination of
        levels of the other axes, and worse those whose upper levels err more. Estimate, intervals
        and mde are changes from the lowest level to the highest. A single transect has none of
        these, as its reason says.

    Raises:
        InputError: as of `faceaudit.effects.matched_effects` and `level_halves`.

    Example:
        >>> frame = pd.DataFrame({"face": [*"aaaabbbb"], "skin_level": [*range(4)] * 2})
        >>> frame["error"] = [0, 0, 1, 1, 0, 0, 0, 0]
        >>> table = matched_trends(frame, "error", "skin_level", 4, [], "face")
        >>> round(table["estimate"].item(), 9)
        0.6
    """
    others = [column for column in frame if str(column).endswith("_level") and column != attribute]
    matching = list(dict.fromkeys([transect, *by, *others]))
    halves = level_halves(frame, outcome, attribute, levels, matching)
    return trends_of_halves(halves, outcome, attribute, levels, by, transect, tolerance, weight)


def trends_of_halves(
    halves: pd.DataFrame,
    outcome: str,
    attribute: str,
    levels: int,
    by: Sequence[str],
    transect: str,
    tolerance: float = 0.05,
    weight: str | None = None,
) -> pd.DataFrame:
    """`matched_trends` of what `level_halves` gives; the other arguments are the same."""
    largest = largest_trend(levels)
    table = matched_effects(
        halves,
        outcome,
        attribute,
        by,
        transect,
        tolerance / largest,
        weight,
        # Also of three levels, whose middle one has no weight: with the normal's quantiles, Tango's
        # interval of 200 pairs and rare errors holds the truth in 94.1% of audits, with Student's
        # in 95.1%.
        are_rates=True,
    )
    table[list(SCALED)] *= largest
    table["estimate"] = table["estimate"].where(table["reason"] == "")
    return table


# --- portraits


@dataclass(frozen=True)
class LevelMeans:
    """Means of the K levels of C cells, and how sure they are.

    Attributes:
        mean: (C, K), NaN for a level without an image.
        variance: (C, K), with whole clusters as units, corrected for few of them.
        covariance: (C, K, K), between levels that share clusters; zero on the diagonal.
        n, clusters: images and clusters of each level, (C, K).
        n_clusters: clusters of each cell (C,).
        df: degrees of freedom (C,), of images that vary alike (Satterthwaite).
        single: whether every cluster of a cell has one image (C,).
        dropped: rows without an outcome, a level or a cluster (C,).
    """

    mean: np.ndarray
    variance: np.ndarray
    covariance: np.ndarray
    n: np.ndarray
    clusters: np.ndarray
    n_clusters: np.ndarray
    df: np.ndarray
    single: np.ndarray
    dropped: np.ndarray


def portrait_trends(
    frame: pd.DataFrame,
    outcome: str,
    treatment: str,
    by: Sequence[str] = (),
    cluster: str | None = None,
    tolerance: float = 0.05,
    is_number: bool = False,
) -> pd.DataFrame:
    """Trends of rates, or of means of numbers, over the levels of `treatment`, by cell of `by`.

    Args:
        frame: a row per image.
        outcome: column of 0 and 1, or in between where it is a rate; see `is_number`.
        treatment: column of a categorical, whose categories are the levels in their order.
        by: columns of the cells.
        cluster: column of the units of inference, such as people; None: rows are independent.
        tolerance: of the change from the lowest level to the highest, for the verdict.
        is_number: whether the outcome is a number without bounds.

    Returns:
        A row per cell with the columns estimate, low, high (95%), low90, high90, p (at which the
        interval would end in zero), n, dropped, clusters, verdict, mde and reason, as of
        `faceaudit.effects.risk_differences`. Intervals of rates are put together from Wilson's of
        the levels, each for the number of images that its clusters are worth; those of numbers are
        Student's. Not estimable (NaN) is a level without an image or with a single cluster.

    Raises:
        ValueError: an empty frame, a missing column, or an outcome that is none.

    Example:
        >>> skin = pd.Categorical([*"IIIVVVXXX"], [*"IVX"])
        >>> frame = pd.DataFrame({"skin": skin, "error": [0, 0, 0, 0, 0, 1, 0, 1, 1]})
        >>> portrait_trends(frame, "error", "skin")["estimate"].round(3).item()
        0.667
    """
    if not isinstance(frame[treatment].dtype, pd.CategoricalDtype):
        raise InputError(
            f"column {treatment!r} is no categorical, so its levels have no order",
            field=treatment,
            expected="a categorical",
        )
    names = [f"{treatment} = {level}" for level in frame[treatment].cat.categories]
    required = [outcome, treatment] if cluster is None else [outcome, treatment, cluster]
    complete = complete_rows(frame, required, by)
    cell, index = code_cells(frame, by)
    known = frame[complete]
    values = known[outcome]
    value = as_finite(values.to_numpy(float), outcome) if is_number else as_rates(values)
    code_of_cluster = as_codes(None if cluster is None else known[cluster], len(known))
    means = _level_means(
        value,
        known[treatment].cat.codes.to_numpy(np.int64),
        cell[complete],
        code_of_cluster,
        (len(index), len(names)),
        np.bincount(cell[~complete], minlength=len(index)),
    )
    unit = name_of_unit(cluster, code_of_cluster)
    reason = np.array(
        [_reason(*counts, names, unit) for counts in zip(means.n, means.clusters, strict=True)]
    )
    if is_number:
        columns = _student_columns(means, reason)
    else:
        are_errors = np.isin(value, (0.0, 1.0))
        binary = np.bincount(cell[complete], ~are_errors, minlength=len(index)) == 0
        columns = _columns_of_rates(means, reason, binary & means.single)
    table = pd.DataFrame(columns, index)
    table["estimate"] = table["estimate"].where(reason == "")
    table["n"] = means.n.sum(axis=1)
    table["dropped"] = means.dropped
    table["clusters"] = means.n_clusters
    low, high, low90, high90 = (table[name] for name in INTERVAL_LIMITS)
    return table.assign(verdict=verdict(low, high, low90, high90, tolerance))


def _level_means(
    value: np.ndarray,
    level: np.ndarray,
    cell: np.ndarray,
    cluster: np.ndarray,
    shape: tuple[int, int],
    dropped: np.ndarray,
) -> LevelMeans:
    """Means of all levels and cells, of images (n,) with codes of level, cell and cluster."""
    cells, levels = shape
    place = cell * levels + level
    size = cells * levels

    def of_places(weights: np.ndarray | None = None) -> np.ndarray:
        return np.bincount(place, weights, minlength=size)

    n = of_places()
    mean = np.divide(of_places(value), n, out=np.full(size, np.nan), where=n > 0)
    # A unit is a cluster in a cell; a person can be in several cells.
    pairs = cell * (cluster.max(initial=0) + 1) + cluster
    first, unit = np.unique(pairs, return_index=True, return_inverse=True)[1:]
    cell_of_unit = cell[first]
    # A unit at a level: its residuals add up to its influence on the mean.
    at_level, of_image = np.unique(unit * levels + level, return_inverse=True)
    place_of = cell_of_unit[at_level // levels] * levels + at_level % levels
    clusters = np.bincount(place_of, minlength=size)
    residual = np.bincount(of_image, (value - mean[place]) / n[place])
    correction = np.sqrt(clusters / np.maximum(clusters - 1, 1))
    influence = residual * correction[place_of]
    variance = np.bincount(place_of, influence**2, minlength=size)
    covariance = np.zeros((cells, levels, levels))
    if len(at_level) > len(first):
        dense = np.zeros((len(first), levels))
        dense[at_level // levels, at_level % levels] = influence
        for number, rows in enumerate(rows_by_code(cell_of_unit, cells)):
            covariance[number] = dense[rows].T @ dense[rows]
        covariance[:, np.arange(levels), np.arange(levels)] = 0
    weights = np.array(trend_weights(levels))
    share = np.bincount(unit, (weights[level] / n[place]) ** 2)
    total = np.bincount(cell_of_unit, share, minlength=cells)
    squares = np.bincount(cell_of_unit, share**2, minlength=cells)
    effective = np.divide(total**2, squares, out=np.ones(cells), where=squares > 0)
    n_clusters = np.bincount(cell_of_unit, minlength=cells)
    return LevelMeans(
        mean=mean.reshape(shape),
        variance=variance.reshape(shape),
        covariance=covariance,
        n=n.reshape(shape),
        clusters=clusters.reshape(shape),
        n_clusters=n_clusters,
        df=np.maximum(effective - 1, 1.0),
        single=n_clusters == n.reshape(shape).sum(axis=1),
        dropped=dropped,
    )


def _reason(n: np.ndarray, clusters: np.ndarray, names: Sequence[str], unit: str) -> str:
    """Why a cell has no trend, from the images and clusters of its levels (K,); else empty."""
    if not n.all():
        return f"no image with {names[int(n.argmin())]}"
    if (clusters == 1).any():
        return f"one {unit} with {names[int((clusters == 1).argmax())]}"
    return ""


def _columns_of_rates(
    means: LevelMeans, reason: np.ndarray, are_independent: np.ndarray
) -> dict[str, np.ndarray]:
    """Columns of trends of rates (C,).

    Independent errors count with their numbers of images. Quantiles are Student's for these too:
    with the normal's, intervals of levels with two or three people hold the truth too rarely
    (`benchmarks/simultaneous.py` draws such audits).
    """
    weights = np.array(trend_weights(means.mean.shape[1]))
    n = np.maximum(means.n, 1)
    binomial = means.mean * (1 - means.mean)
    # As in `faceaudit.effects.risks.difference_columns`: where clusters do not differ, each counts
    # as one image.
    equal = means.variance <= 1e-9 * np.maximum(binomial, 1e-9) / n
    size = np.where(equal, means.clusters, binomial / np.where(equal, 1.0, means.variance))
    size = np.where(are_independent[:, None], means.n, size)
    size = np.where((reason == "")[:, None], size, np.nan)
    df = means.df
    correlation = _correlation(means, np.where(equal, np.inf, means.variance), size)
    estimate = means.mean @ weights
    signs = np.sign(weights)

    def margin(quantile: np.ndarray, below: bool) -> np.ndarray:
        """How far the interval reaches below or above the estimate (C,)."""
        lower, upper = score_interval(means.mean, size, quantile[:, None])
        to_lower = (weights > 0) == below
        reach = np.where(to_lower, means.mean - lower, upper - means.mean) * np.abs(weights)
        joint = (reach**2).sum(axis=1)
        joint += np.einsum("ck,ckl,cl->c", reach * signs, correlation, reach * signs)
        return np.sqrt(joint.clip(0))

    largest = weights[weights > 0].sum()
    limits = {}
    for ends, level in ((("low", "high"), 0.975), (("low90", "high90"), 0.95)):
        quantile = stdtrit(df, level)
        limits[ends[0]] = np.maximum(estimate - margin(quantile, below=True), -largest)
        limits[ends[1]] = np.minimum(estimate + margin(quantile, below=False), largest)
    width = limits["high"] - limits["low"]
    return {
        "estimate": estimate,
        **limits,
        "p": _p_of_zero(estimate, margin, df),
        "mde": mde(width / (2 * stdtrit(df, 0.975)), df=df),
        "reason": reason,
    }


def _correlation(means: LevelMeans, variance: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Correlations of the means of levels that share clusters (C, K, K), 0 on the diagonal.

    Positive ones have Newcombe's correction, without which a width could be zero.
    """
    if not means.covariance.any():
        return means.covariance
    sizes = np.where(np.isnan(size), 1.0, size)
    smaller = 0.5 / (sizes[:, :, None] * sizes[:, None, :])
    covariance = means.covariance - np.clip(means.covariance, 0, smaller)
    scale = np.sqrt(variance[:, :, None] * variance[:, None, :])
    correlation = np.divide(covariance, scale, out=np.zeros(scale.shape), where=scale > 0)
    return correlation.clip(-1, 1)


def _p_of_zero(
    estimate: np.ndarray, margin: Callable[..., np.ndarray], df: np.ndarray
) -> np.ndarray:
    """Two-sided p (C,) at whose quantile an interval ends in zero, found by halving."""
    inside = np.zeros(len(estimate))
    outside = np.full(len(estimate), LARGEST_QUANTILE)
    for _ in range(ROUNDS):
        middle = (inside + outside) / 2
        reach = np.where(estimate > 0, margin(middle, below=True), margin(middle, below=False))
        holds = reach >= np.abs(estimate)
        outside = np.where(holds, middle, outside)
        inside = np.where(holds, inside, middle)
    known = ~np.isnan(margin(inside, below=True))
    return np.where(known, 2 * stdtr(df, -outside), np.nan)


def _student_columns(means: LevelMeans, reason: np.ndarray) -> dict[str, np.ndarray]:
    """Columns of trends of means of numbers (C,), with Student's intervals."""
    weights = np.array(trend_weights(means.mean.shape[1]))
    estimate = means.mean @ weights
    of_levels = (means.variance * weights**2).sum(axis=1)
    of_pairs = np.einsum("k,ckl,l->c", weights, means.covariance, weights)
    se = np.sqrt((of_levels + of_pairs).clip(0))
    # Rounding leaves a little where all clusters agree.
    size = np.maximum(np.nanmax(np.abs(means.mean), axis=1, initial=0.0), 1.0)
    reason = np.where((reason == "") & (se <= 1e-12 * size), "no variation", reason)
    se = np.where(reason == "", se, np.nan)
    margin = stdtrit(means.df, 0.975) * se
    margin90 = stdtrit(means.df, 0.95) * se
    return {
        "estimate": estimate,
        "low": estimate - margin,
        "high": estimate + margin,
        "low90": estimate - margin90,
        "high90": estimate + margin90,
        "p": 2 * stdtr(means.df, -np.abs(estimate) / se),
        "mde": mde(se, df=means.df),
        "reason": reason,
    }
