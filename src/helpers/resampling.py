"""The bootstrap by counting: a resample is a row of weights, one for every cluster.

Serves the bootstraps of chapters 07, 09, 11, 13, 15 and 17.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from helpers.utils import seeding
from helpers.utils.checks import as_resamples, cluster_codes


def draw_weights(
    n_clusters: int, resamples: Sequence[int], seed: int, stage: str = "bootstrap"
) -> np.ndarray:
    """How often each cluster is drawn in the given resamples.

    Serves chapter 09, inside its bootstrap.

    Args:
        n_clusters: G, at least 2.
        resamples: numbers of the resamples; each row depends only on the seed, the stage and its
            number.
        seed: of the run.
        stage: what is drawn.

    Returns:
        (len(resamples), G) float64; every row sums to G.

    Raises:
        ValueError: fewer than two clusters.

    Example:
        >>> draw_weights(3, range(2), seed=1).sum(axis=1).tolist()
        [3.0, 3.0]
    """
    if n_clusters < 2:
        raise ValueError(f"a bootstrap needs at least two clusters, not {n_clusters}")
    weights = np.empty((len(resamples), n_clusters))
    for row, random in zip(weights, seeding.rngs(seed, stage, resamples), strict=True):
        draw = random.integers(n_clusters, size=n_clusters)
        row[:] = np.bincount(draw, minlength=n_clusters)
    return weights


def cluster_weights(clusters: ArrayLike, n_boot: int, seed: int) -> np.ndarray:
    """How often each cluster is drawn in each of `n_boot` resamples.

    Introduced in chapter 07.

    Args:
        clusters: (n,) identifier of every row's cluster; all different to resample images.
        n_boot: number of resamples; the first ones do not depend on it.
        seed: of the run.

    Returns:
        (n_boot, G) float64; column g belongs to the g-th identifier in sorted order.

    Raises:
        ValueError: a missing identifier, fewer than two clusters, or no resample.

    Example:
        >>> cluster_weights(["a", "a", "b"], n_boot=4, seed=1).shape
        (4, 2)
    """
    _, identifiers = cluster_codes(clusters)
    return draw_weights(len(identifiers), as_resamples(n_boot), seed)
