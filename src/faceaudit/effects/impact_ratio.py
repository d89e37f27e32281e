"""Ratio of two rates, such as of the shares that a model selects of two groups."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from faceaudit.effects.survey_weights import effective_number


@dataclass(frozen=True)
class Ratio:
    """A ratio with its 95% interval; NaN where it is not estimable."""

    ratio: float
    low: float
    high: float


def impact_ratio(
    outcome: np.ndarray,
    is_compared: np.ndarray,
    cluster: np.ndarray,
    level: float = 0.05,
    weight: np.ndarray | None = None,
) -> Ratio:
    """The rate of one group over that of another, with clusters as units.

    The interval is that of the logarithm of the ratio by the delta method (Katz and others,
    Biometrics 34 (1978) 469-474), with the sum of an image's influence over its cluster in place of
    that of independent images, and Student's quantiles. The same face or person may be in both
    groups.

    Args:
        outcome: (n,) of every image, from 0 to 1, without NaN.
        is_compared: (n,) whether an image is of the group in the numerator.
        cluster: (n,) the face or person of every image.
        level: one minus that of the interval.
        weight: (n,) survey weights above 0, the same for all images of a cluster, as of
            `faceaudit.effects.mean_difference.mean_difference`.

    Returns:
        The ratio; NaN where a group has no image or a rate of zero. With fewer than two clusters
        the interval is NaN.

    Example:
        >>> selected = np.array([1, 1, 0, 0, 1, 0, 0, 0])
        >>> ratio = impact_ratio(selected, np.arange(8) >= 4, np.arange(8))
        >>> ratio.ratio, round(ratio.low, 2), round(ratio.high, 2)
        (0.5, 0.04, 6.26)
    """
    compared = outcome[is_compared]
    reference = outcome[~is_compared]
    if not (compared.any() and reference.any()):
        return Ratio(np.nan, np.nan, np.nan)
    if weight is None:
        weight = np.ones(len(outcome))
    weight_of_compared, weight_of_reference = weight[is_compared], weight[~is_compared]
    rate = np.average(compared, weights=weight_of_compared)
    reference_rate = np.average(reference, weights=weight_of_reference)
    ratio = float(rate / reference_rate)
    number, _ = pd.factorize(cluster)
    clusters = number.max() + 1
    if clusters < 2:
        return Ratio(ratio, np.nan, np.nan)
    influence = np.where(
        is_compared,
        weight * (outcome - rate) / (rate * weight_of_compared.sum()),
        -weight * (outcome - reference_rate) / (reference_rate * weight_of_reference.sum()),
    )
    by_cluster = np.bincount(number, influence)
    se = np.sqrt((by_cluster**2).sum() * clusters / (clusters - 1))
    first_of_cluster = np.unique(number, return_index=True)[1]
    df = max(effective_number(weight[first_of_cluster]) - 1, 1)
    half_width = stdtrit(df, 1 - level / 2) * se
    return Ratio(ratio, float(ratio * np.exp(-half_width)), float(ratio * np.exp(half_width)))
