"""Cosine similarity of pairs of images, from the vectors of any recogniser (chapters 16 and 17)."""

import numpy as np
from numpy.typing import ArrayLike

from helpers.utils.checks import as_finite

PAIRS_AT_ONCE = 8192
"""Bounds memory: both vectors of so many pairs are held at a time."""


def similarity(embeddings: ArrayLike, pairs: ArrayLike) -> np.ndarray:
    """Cosine similarity of pairs of images (Liang et al. 2023, section 4).

    Args:
        embeddings: a row per image, (n, d), at any scale.
        pairs: rows of both images, whole numbers (m, 2).

    Returns:
        float64 (m,) in [-1, 1].

    Raises:
        ValueError: an embedding that is not finite or all zero, or a pair without such a row,
            naming the row.

    Example:
        >>> from helpers import verification
        >>> verification.similarity([[1, 0], [0, 2], [3, 3]], [[0, 1], [0, 2]]).round(3).tolist()
        [0.0, 0.707]
    """
    embeddings = as_finite(embeddings, "embeddings", 2)
    largest = np.abs(embeddings).max(axis=1, keepdims=True)
    if not largest.all():
        row = largest.argmin()
        raise ValueError(f"embeddings: row {row} is nothing but zeros, which has no direction")
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"pairs of shape {pairs.shape} and type {pairs.dtype}: whole numbers (m, 2) expected"
        )
    absent = ((pairs < 0) | (pairs >= len(embeddings))).any(axis=1)
    if absent.any():
        row = int(absent.argmax())
        raise ValueError(
            f"pairs, row {row}: images {pairs[row].tolist()}, but there are {len(embeddings)} "
            "embeddings"
        )
    # First by the largest component: squares of very large or small ones leave what floats hold.
    unit = embeddings / largest
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    cosine = np.empty(len(pairs))
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        some = slice(start, start + PAIRS_AT_ONCE)
        cosine[some] = np.einsum("md,md->m", unit[pairs[some, 0]], unit[pairs[some, 1]])
    # Rounding puts an image's similarity to itself a little above one.
    return cosine.clip(-1, 1)
