"""Difference of two means of numbers without bounds, with whole clusters as units."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from faceaudit.effects.survey_weights import effective_number
from faceaudit.effects.verdicts import mde

LIMITS = ("low", "high", "low90", "high90")
"""Ends of the 95% and of the 90% interval."""


def mean_difference(
    number: np.ndarray,
    is_compared: np.ndarray,
    cluster: np.ndarray,
    weight: np.ndarray | None = None,
) -> dict[str, Any]:
    """The mean of one group minus that of another.

    The standard error is the sandwich's of whole clusters, the interval Student's with one degree
    of freedom fewer than there are clusters (Cameron & Miller, Journal of Human Resources 50 (2015)
    317-372, section II). Where each cluster has one image in each group, these are those of the
    paired t-test.

    Args:
        number: (n,) of every image, without NaN.
        is_compared: (n,) whether an image is of the group whose mean comes first.
        cluster: (n,) the face or person of every image.
        weight: (n,) survey weights above 0, the same for all images of a cluster. Means are then
            weighted, and there is one degree of freedom fewer than the effective number of clusters
            (`faceaudit.effects.survey_weights.effective_number`).

    Returns:
        estimate, low, high (95%), low90, high90, p (of no difference), mde (minimum detectable
        difference), and reason: why there is no interval, else empty.

    Example:
        >>> years = np.array([3.0, 5.0, 2.0, 6.0])
        >>> found = mean_difference(years, np.array([False, True] * 2), np.array([0, 0, 1, 1]))
        >>> found["estimate"], round(found["low"], 1)
        (3.0, -9.7)
    """
    not_estimable = {"estimate": np.nan, **dict.fromkeys((*LIMITS, "p", "mde"), np.nan)}
    compared = number[is_compared]
    reference = number[~is_compared]
    if not len(compared) or not len(reference):
        return {**not_estimable, "reason": "no pair"}
    if weight is None:
        weight = np.ones(len(number))
    weight_of_compared, weight_of_reference = weight[is_compared], weight[~is_compared]
    mean = np.average(compared, weights=weight_of_compared)
    mean_of_reference = np.average(reference, weights=weight_of_reference)
    estimate = float(mean - mean_of_reference)
    code, clusters = pd.factorize(cluster)
    if len(clusters) < 2:
        return {**not_estimable, "reason": "all images are of one face or person"}
    if min(len(np.unique(code[is_compared])), len(np.unique(code[~is_compared]))) < 2:
        return {**not_estimable, "reason": "one face or person at a level"}
    influence = np.where(
        is_compared,
        weight * (number - mean) / weight_of_compared.sum(),
        -weight * (number - mean_of_reference) / weight_of_reference.sum(),
    )
    by_cluster = np.bincount(code, influence)
    count = len(clusters)
    se = float(np.sqrt((by_cluster**2).sum() * count / (count - 1)))
    first_of_cluster = np.unique(code, return_index=True)[1]
    df = max(effective_number(weight[first_of_cluster]) - 1, 1)
    # Rounding leaves a little where all clusters agree.
    if se <= 1e-12 * max(float(np.abs(number).max()), 1.0):
        return {**not_estimable, "estimate": estimate, "reason": "no variation"}
    half_width = float(stdtrit(df, 0.975) * se)
    half_width90 = float(stdtrit(df, 0.95) * se)
    return {
        "estimate": estimate,
        "low": estimate - half_width,
        "high": estimate + half_width,
        "low90": estimate - half_width90,
        "high90": estimate + half_width90,
        "p": 2 * stdtr(df, -abs(estimate) / se),
        "mde": mde(se, df=df),
        "reason": "",
    }
