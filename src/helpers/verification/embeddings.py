"""Embeddings of faces, from any recogniser or file, and the cosine similarity of pairs."""


import numpy as np
from numpy.typing import ArrayLike

PAIRS_AT_ONCE = 8192
"""Bounds memory: both embeddings of so many pairs are held at a time."""


def similarity(embeddings: ArrayLike, pairs: ArrayLike) -> np.ndarray:
    """Cosine similarity of pairs of images, float64 (m,) in [-1, 1] (Liang et al. 2023, section 4).

    Args:
        embeddings: a row per image, (n, d), at any scale.
        pairs: rows of both images, whole numbers (m, 2).

    Raises:
        ValueError: an embedding that is not finite or all zero, or a pair without such a row,
            naming the row.
    """
    embeddings = _as_embeddings(embeddings, "embeddings")
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"pairs of shape {pairs.shape} and type {pairs.dtype}: whole numbers (m, 2) expected"
        )
    absent = (pairs < 0) | (pairs >= len(embeddings))
    if absent.any():
        row = int(absent.any(axis=1).argmax())
        raise ValueError(
            f"pairs, row {row}: images {pairs[row].tolist()}, but there are {len(embeddings)} "
            "embeddings"
        )
    # First by the largest component: squares of very large or small ones leave what floats hold.
    unit = embeddings / np.abs(embeddings).max(axis=1, keepdims=True)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    cosine = np.empty(len(pairs))
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        some = slice(start, start + PAIRS_AT_ONCE)
        cosine[some] = np.einsum("md,md->m", unit[pairs[some, 0]], unit[pairs[some, 1]])
    # Rounding puts an image's similarity to itself a little above one.
    return cosine.clip(-1, 1)


def _as_embeddings(embeddings: ArrayLike, name: str) -> np.ndarray:
    embeddings = np.asarray(embeddings)
    if embeddings.ndim != 2 or embeddings.dtype.kind not in "iuf" or 0 in embeddings.shape:
        raise ValueError(
            f"{name}: shape {embeddings.shape} and type {embeddings.dtype} where numbers "
            "(images, width) were expected"
        )
    embeddings = embeddings.astype(np.float64)
    problems = {
        "a number that is not finite": ~np.isfinite(embeddings).all(axis=1),
        "nothing but zeros, which has no direction": ~embeddings.any(axis=1),
    }
    for problem, bad in problems.items():
        if bad.any():
            raise ValueError(
                f"{name}, row {bad.argmax()}: {problem} ({np.count_nonzero(bad)} such rows)"
            )
    return embeddings
