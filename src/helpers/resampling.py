"""The bootstrap by counting: a resample is a row of weights, one for every cluster."""

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from helpers.utils import seeding
from helpers.utils.checks import cluster_codes


def resample_numbers(n_boot: int, least: int = 1) -> range:
    """0 ... n_boot - 1; ValueError for an `n_boot` that is no whole number of at least `least`."""
    if not isinstance(n_boot, Integral) or n_boot < least:
        raise ValueError(f"n_boot is {n_boot}, a whole number of at least {least} was expected")
    return range(n_boot)


def draw_weights(
    n_clusters: int, resamples: Sequence[int], seed: int, stage: str = "bootstrap"
) -> np.ndarray:
    """How often each cluster is drawn in the given resamples, float64 (len(resamples), G).

    Each row depends only on the seed, the stage and the number of the resample.
    """
    if n_clusters < 2:
        raise ValueError(f"a bootstrap needs at least two clusters, not {n_clusters}")
    weights = np.empty((len(resamples), n_clusters))
    for row, random in zip(weights, seeding.rngs(seed, stage, resamples), strict=True):
        draw = random.integers(n_clusters, size=n_clusters)
        row[:] = np.bincount(draw, minlength=n_clusters)
    return weights


def cluster_weights(clusters: ArrayLike, n_boot: int, seed: int) -> np.ndarray:
    """How often each cluster is drawn in each of `n_boot` resamples, float64 (n_boot, G).

    Column g belongs to the g-th identifier in sorted order; every row sums to G. Identifiers that
    all differ give the bootstrap of images. The first resamples do not depend on `n_boot`.
    Raises ValueError for a missing identifier and for fewer than two clusters.
    """
    _, identifiers = cluster_codes(clusters)
    return draw_weights(len(identifiers), resample_numbers(n_boot), seed)


def image_weights(n: int, n_boot: int, seed: int) -> np.ndarray:
    """How often each of `n` images is drawn in each of `n_boot` resamples, float64 (n_boot, n)."""
    return draw_weights(n, resample_numbers(n_boot), seed)
