"""Embeddings of faces, from any recogniser or file, and the cosine similarity of pairs."""

import zlib
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import pandas as pd
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


def load_embeddings(path: Path | str, n: int, width: int | None = None) -> np.ndarray:
    """Embeddings of `n` images from a file, float64 (n, d).

    Args:
        path: .npy; .npz with one array; or .csv without a header. One row per image.
        n: how many images there are.
        width: d, where it is known.

    Raises:
        ValueError: another format, not a matrix of numbers, another number of rows or columns, or
            an embedding that is not finite or all zero; naming file and row.
    """
    path = Path(path)
    readers = {".npy": _read_numpy, ".npz": _read_numpy, ".csv": _read_csv}
    if path.suffix not in readers:
        raise ValueError(f"{path}: a file ending in {', '.join(readers)} was expected")
    embeddings = _as_embeddings(readers[path.suffix](path), str(path))
    if len(embeddings) != n:
        raise ValueError(f"{path}: {len(embeddings)} rows where {n} images were expected")
    if width is not None and embeddings.shape[1] != width:
        raise ValueError(f"{path}: width {embeddings.shape[1]} where {width} was expected")
    return embeddings


def _read_numpy(path: Path) -> np.ndarray:
    try:
        # Opened here, as numpy leaves an archive that it cannot read open.
        with path.open("rb") as file:
            content = np.load(file, allow_pickle=False)
            if isinstance(content, np.ndarray):
                return content
            with content:
                names = content.files
                if len(names) == 1:
                    return content[names[0]]
    except (ValueError, EOFError, BadZipFile, zlib.error) as error:
        raise ValueError(f"{path}: not a file of numbers as numpy saves it ({error})") from None
    raise ValueError(f"{path}: arrays {names} where a single one was expected")


def _read_csv(path: Path) -> np.ndarray:
    try:
        table = pd.read_csv(path, header=None)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a table of numbers ({error})") from None
    numbers = table.apply(pd.to_numeric, errors="coerce")
    words = (numbers.isna() & table.notna()).to_numpy()
    if words.any():
        row, column = np.argwhere(words)[0]
        raise ValueError(
            f"{path}, line {row + 1}, column {column + 1}: {table.iloc[row, column]!r} where a "
            "number was expected (and no header)"
        )
    return numbers.to_numpy(np.float64)


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
