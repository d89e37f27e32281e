"""Is a classifier as often right as it is sure? Reliability with intervals that know of transects.

The eight images of a transect show one face, and answers to them hang together: intervals count
faces, as everywhere in the book.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from helpers.effects.risks import score_interval
from helpers.resampling import as_codes
from helpers.utils.checks import as_binary, as_finite, as_probabilities, require_alike


def reliability(
    confidence: ArrayLike, right: ArrayLike, cluster: ArrayLike | None, edges: ArrayLike
) -> pd.DataFrame:
    """How often answers of like confidence are right, with 95 % intervals.

    Args:
        confidence: (n,) probability that the classifier gives its answer.
        right: (n,) 1 where the answer is right, else 0.
        cluster: (n,) transect of every image; None: images are independent.
        edges: (b + 1,) increasing ends of the bins; a bin holds its lower end, the last one both.

    Returns:
        A row per bin with an image in it, index bin (its number): n, clusters, confidence (mean),
        rate of right answers, low, high (Wilson's interval, for the number of independent images
        that would leave as much uncertainty), gap (confidence minus rate) and gap_se. Of a bin with
        one cluster, interval and gap_se are NaN.

    Raises:
        ValueError: a confidence outside of [0, 1] or of the bins, answers other than 0 and 1,
            missing values, or shapes that differ.

    Example:
        >>> from helpers.effects.calibration import reliability
        >>> table = reliability([0.7, 0.8, 0.9, 1.0], [1, 0, 1, 1], None, [0.5, 0.85, 1.0])
        >>> table[["n", "confidence", "rate"]].values.tolist()
        [[2.0, 0.75, 0.5], [2.0, 0.95, 1.0]]
    """
    confidence, edges = as_probabilities(confidence, "confidence"), as_finite(edges, "edges")
    right = as_binary(right, "right")
    require_alike(right, "right", confidence, "confidence")
    if (
        not (np.diff(edges) > 0).all()
        or confidence.min() < edges[0]
        or confidence.max() > edges[-1]
    ):
        raise ValueError(f"edges that increase and hold every confidence were expected: {edges}")
    cluster = as_codes(cluster, len(confidence))
    bins = np.minimum(np.searchsorted(edges, confidence, "right") - 1, len(edges) - 2)
    rows = {
        number: _bin(confidence[bins == number], right[bins == number], cluster[bins == number])
        for number in np.unique(bins)
    }
    return pd.DataFrame(rows).T.astype({"n": int, "clusters": int}).rename_axis("bin")


def calibration_error(bins: pd.DataFrame) -> pd.Series:
    """The expected calibration error, what of it chance alone makes, and a version without chance.

    The expected calibration error (ECE) is the mean distance between confidence and rate of right
    answers, weighted by images (Guo, Pleiss, Sun & Weinberger, ICML 2017). Distances are never
    negative, so chance adds to it, in small groups more than in large ones. Squares can be freed of
    that: the variance of each gap is subtracted (Kumar, Liang & Ma, NeurIPS 2019, equation 5, here
    with clusters).

    Args:
        bins: of `reliability`; bins of one cluster, whose chance is unknown, are left out.

    Returns:
        Entries ece; chance, the ECE expected of a perfectly calibrated classifier whose gaps are as
        uncertain as these; rms, the root of the weighted mean square gap less its noise (0 where
        noise explains all of it); n, images.

    Example:
        >>> import pandas as pd
        >>> from helpers.effects.calibration import calibration_error
        >>> bins = pd.DataFrame({"n": [50, 50], "gap": [0.06, -0.02], "gap_se": [0.03, 0.03]})
        >>> calibration_error(bins).round(3).to_dict()
        {'ece': 0.04, 'chance': 0.024, 'rms': 0.033, 'n': 100.0}
    """
    bins = bins[bins["gap_se"].notna()]
    weight = bins["n"] / bins["n"].sum()
    square = (weight * (bins["gap"] ** 2 - bins["gap_se"] ** 2)).sum()
    return pd.Series(
        {
            "ece": (weight * bins["gap"].abs()).sum(),
            "chance": (weight * bins["gap_se"]).sum() * np.sqrt(2 / np.pi),
            "rms": np.sqrt(max(square, 0.0)),
            "n": float(bins["n"].sum()),
        }
    )


def _bin(confidence: np.ndarray, right: np.ndarray, cluster: np.ndarray) -> dict[str, float]:
    """A row of `reliability`."""
    n, clusters = len(right), len(np.unique(cluster))
    rate, gap = right.mean(), (confidence - right).mean()
    variance, gap_variance = (
        _variance(values - values.mean(), cluster, clusters)
        for values in (right, confidence - right)
    )
    # Where all or none are right, each cluster counts as one image.
    size = min(rate * (1 - rate) / variance, n) if variance > 0 else clusters
    low, high = np.nan, np.nan
    if clusters > 1:
        low, high = score_interval(rate, size, stdtrit(clusters - 1, 0.975))
    row = {"n": n, "clusters": clusters, "confidence": confidence.mean(), "rate": rate}
    return row | {"low": low, "high": high, "gap": gap, "gap_se": np.sqrt(gap_variance)}


def _variance(residual: np.ndarray, cluster: np.ndarray, clusters: int) -> float:
    """Variance of a mean with whole clusters as units; NaN for one of them."""
    sums = np.bincount(np.unique(cluster, return_inverse=True)[1], residual)
    small = clusters / (clusters - 1) if clusters > 1 else np.nan
    return small * (sums**2).sum() / len(residual) ** 2
