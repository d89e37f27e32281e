"""The bootstrap by counting: a resample is a row of weights, one for every cluster."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from faceaudit.utils import seeding
from faceaudit.utils.arguments import check_whole
from faceaudit.utils.errors import InputError

_WEIGHTS_AT_ONCE = 2**23
"""Weights held at a time: 64 MiB, such as a thousand resamples of eight thousand transects."""


def cluster_codes(clusters: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Code 0 ... G - 1 of every row's cluster (n,), and the G identifiers in sorted order.

    Args:
        clusters: (n,) identifiers of any kind that sorts.

    Returns:
        codes: int (n,).
        identifiers: (G,).

    Raises:
        ValueError: naming the first row without an identifier.

    Example:
        >>> codes, identifiers = cluster_codes(["b", "a", "b"])
        >>> codes.tolist(), identifiers.tolist()
        ([1, 0, 1], ['a', 'b'])
    """
    cluster_of_row = pd.Series(clusters)
    if missing := cluster_of_row.index[cluster_of_row.isna()].tolist():
        raise InputError(
            f"row {missing[0]!r} has no cluster identifier",
            field=f"row {missing[0]!r}",
            expected="a cluster identifier",
        )
    codes, identifiers = pd.factorize(cluster_of_row.to_numpy(), sort=True)
    return codes, identifiers


def as_codes(cluster: ArrayLike | None, n: int) -> np.ndarray:
    """`cluster_codes` of n rows, int (n,); without `cluster`, every row is a cluster of its own.

    Args:
        cluster: (n,) identifiers, or None.
        n: number of rows.

    Returns:
        int (n,).

    Raises:
        ValueError: a row without an identifier.

    Example:
        >>> as_codes(None, 3).tolist()
        [0, 1, 2]
    """
    return np.arange(n) if cluster is None else cluster_codes(cluster)[0]


def as_resamples(n_boot: int, least: int = 1) -> range:
    """Numbers 0 ... n_boot - 1 of the resamples; ValueError for fewer than `least`.

    Args:
        n_boot: how many.
        least: the fewest that are accepted.

    Returns:
        A range of length `n_boot`.

    Raises:
        ValueError: `n_boot` is no whole number, or smaller than `least`.

    Example:
        >>> list(as_resamples(3))
        [0, 1, 2]
    """
    check_whole("n_boot", n_boot, least)
    return range(n_boot)


def draw_weights(
    n_clusters: int, resamples: Sequence[int], seed: int, stage: str = "bootstrap"
) -> np.ndarray:
    """How often each cluster is drawn in the given resamples.

    Args:
        n_clusters: G, at least 2.
        resamples: numbers of the resamples; each row depends only on the seed, the stage and its
            number.
        seed: of the run.
        stage: keys the draws, together with the seed.

    Returns:
        (len(resamples), G) float64; every row sums to G.

    Raises:
        ValueError: fewer than two clusters.

    Example:
        >>> draw_weights(3, range(2), seed=1).sum(axis=1).tolist()
        [3.0, 3.0]
    """
    if n_clusters < 2:
        raise InputError(
            f"a bootstrap needs at least two clusters, not {n_clusters}",
            field="clusters",
            found=n_clusters,
            expected="at least two",
        )
    weights = np.empty((len(resamples), n_clusters))
    for row, random in zip(weights, seeding.rngs(seed, stage, resamples), strict=True):
        draw = random.integers(n_clusters, size=n_clusters)
        row[:] = np.bincount(draw, minlength=n_clusters)
    return weights


def resampled_sums(
    values: np.ndarray | pd.DataFrame | csr_array,
    resamples: Sequence[int],
    seed: int,
    stage: str = "bootstrap",
) -> np.ndarray:
    """Sum the rows of a table with a row per cluster, in each of the given resamples.

    Equal to `draw_weights(...) @ values`, but holds at most `_WEIGHTS_AT_ONCE` weights at a time.

    Args:
        values: (G, k), an array, a frame or a sparse array; G at least 2.
        resamples, seed, stage: as of `draw_weights`.

    Returns:
        float64 (len(resamples), k).

    Raises:
        ValueError: fewer than two clusters.

    Example:
        >>> values = np.array([[1.0, 10.0], [1.0, 10.0]])
        >>> resampled_sums(values, range(2), seed=1).tolist()
        [[2.0, 20.0], [2.0, 20.0]]
    """
    table = values if issparse(values) else np.asarray(values, dtype=np.float64)
    size = max(1, _WEIGHTS_AT_ONCE // table.shape[0])
    starts = range(0, max(len(resamples), 1), size)
    parts = (resamples[start : start + size] for start in starts)
    return np.concatenate(
        [draw_weights(table.shape[0], part, seed, stage) @ table for part in parts]
    )
