"""Sets of images on disk: made in chunks, resumed after an interruption, reused when unchanged.

A set is a uint8 array (n, 3, height, width) in an `.npy` file and a small `.progress.json` beside
it: the key of its content and the chunks of rows that are finished, each with a checksum. A run
that was interrupted makes only the chunks that are missing or damaged, and a set with another key
is made anew.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.format import open_memmap
from numpy.typing import ArrayLike

from helpers.artifacts.sharing import Share, in_turn
from helpers.artifacts.stage import atomic

Chunk = tuple[int, int]
"""Rows from the first number on, up to the second."""


def fill(
    path: str | Path,
    rows: np.ndarray,
    make: Callable[[np.ndarray], np.ndarray],
    image_shape: tuple[int, int, int],
    *,
    key: str,
    chunk: int,
    share: Share = in_turn,
) -> np.ndarray:
    """Make one image per row and keep them; what an earlier run finished is not made again.

    Args:
        path: the `.npy` file; its folder exists.
        rows: (n, …), what the images are made from.
        make: rows (m, …) → images, uint8 (m, 3, height, width). An image may depend on its own row
            only, so that chunks do not matter.
        image_shape: (3, height, width).
        key: identifies the content, see `content_key`; images under another key are discarded.
        chunk: rows made at a time.
        share: who makes the chunks, see `helpers.artifacts.sharing`; this process alone writes.

    Returns:
        uint8 (n, 3, height, width), a read-only memory map.

    Raises:
        ValueError: no rows; images of another shape or type.
    """
    path = Path(path)
    if not len(rows):
        raise ValueError(f"{path}: no rows to make images from")
    shape = (len(rows), *image_shape)
    finished = _finished(path, shape, key)
    if finished is None:
        finished = {}
        path.unlink(missing_ok=True)  # who still reads the old array keeps it
        open_memmap(path, mode="w+", dtype=np.uint8, shape=shape)
        _record(path, key, finished)
    missing = list(_missing(len(rows), finished, chunk))
    made = share(make, lambda number: rows[slice(*missing[number])], len(missing))
    for number, images in made:
        start, stop = missing[number]
        expected = (stop - start, *image_shape)
        if images.shape != expected or images.dtype != np.uint8:
            raise ValueError(f"expected uint8 images {expected}, got {images.dtype} {images.shape}")
        _write(path, start * math.prod(image_shape), images)
        finished[start, stop] = zlib.crc32(np.ascontiguousarray(images))
        _record(path, key, finished)
    return load(path)


def load(path: str | Path) -> np.ndarray:
    """A finished set of images as a read-only memory map, uint8 (n, 3, height, width).

    Raises:
        FileNotFoundError: no such file.
        ValueError: the set is unfinished, or is not one.
    """
    path = Path(path)
    try:
        images = np.load(path, mmap_mode="r")
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path}: {error}") from None
    if images.dtype != np.uint8 or images.ndim != 4:
        raise ValueError(
            f"{path}: expected uint8 images (n, 3, h, w), got {images.dtype} {images.shape}"
        )
    if (progress := _progress_path(path)).is_file():
        chunks = json.loads(progress.read_text(encoding="utf-8"))["chunks"]
        finished = sum(stop - start for start, stop, _ in chunks)
        if finished < len(images):
            raise ValueError(f"{path}: only {finished} of {len(images)} images are finished")
    return images


def content_key(rows: np.ndarray, **settings: Any) -> str:
    """Hash of the rows that images are made from and of all settings that shape them.

    Raises:
        TypeError: a setting that JSON cannot express.
    """
    digest = blake2b(digest_size=16)
    digest.update(f"{rows.dtype.str} {rows.shape}".encode())
    digest.update(json.dumps(settings, sort_keys=True).encode())
    digest.update(np.ascontiguousarray(rows))
    return digest.hexdigest()


def as_float32(rows: ArrayLike) -> np.ndarray:
    """Rows as a contiguous array on the CPU."""
    if isinstance(rows, torch.Tensor):
        rows = rows.detach().cpu()
    return np.ascontiguousarray(rows, dtype=np.float32)


def _write(path: Path, first: int, images: np.ndarray) -> None:
    """Write images from a byte of the array on, to the disk: progress claims only what is there.

    Not through a memory map: where the disk is full, that ends the interpreter instead of raising.
    """
    content = np.ascontiguousarray(images)
    with path.open("r+b") as stream:
        np.lib.format.read_magic(stream)
        np.lib.format.read_array_header_1_0(stream)
        stream.seek(stream.tell() + first)
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _progress_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.progress.json")


def _record(path: Path, key: str, finished: dict[Chunk, int]) -> None:
    chunks = [[*chunk, checksum] for chunk, checksum in sorted(finished.items())]
    with atomic(_progress_path(path)) as temporary:
        temporary.write_text(json.dumps({"key": key, "chunks": chunks}), encoding="utf-8")


def _finished(path: Path, shape: tuple[int, ...], key: str) -> dict[Chunk, int] | None:
    """Finished chunks → checksums; None if there is no usable set of this key at the path."""
    try:
        progress = json.loads(_progress_path(path).read_text(encoding="utf-8"))
        chunks = {(start, stop): checksum for start, stop, checksum in progress["chunks"]}
        usable = key == progress["key"]
        store = np.load(path, mmap_mode="r")
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None  # absent or damaged: made anew
    if not usable or store.shape != shape or store.dtype != np.uint8:
        return None
    return {one: sum_ for one, sum_ in chunks.items() if zlib.crc32(store[slice(*one)]) == sum_}


def _missing(rows: int, finished: Iterable[Chunk], chunk: int) -> Iterator[Chunk]:
    """Chunks of at most `chunk` rows that lie between those that are finished."""
    first = 0
    for start, stop in [*sorted(finished), (rows, rows)]:
        yield from ((at, min(at + chunk, start)) for at in range(first, start, chunk))
        first = max(first, stop)
