"""Sets of images on disk: made in chunks, resumed after an interruption, reused when unchanged.

A set is a uint8 array (n, 3, height, width) in an `.npy` file and a small `.progress.json` beside
it: the key of its content, and the chunks of rows that are finished, each with the hash of its
images. A run that was interrupted makes only the missing chunks, damaged ones are made again, and a
set with another key is made anew. What is kept is what was handed over, byte by byte. Chapters use
it through `helpers.world.batches.render_to_store`.
"""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b, sha256
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

_FULL = (errno.ENOSPC, errno.EDQUOT)


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
        OSError: the disk is full; the message says how much is needed and where.
    """
    path = Path(path)
    if not len(rows):
        raise ValueError(f"{path}: no rows to make images from")
    shape = (len(rows), *image_shape)
    with _explained_if_full(path, math.prod(shape)):
        finished = _finished(path, shape, key)
        if finished is None:
            finished = {}
            _allocate(path, shape)
            _record(path, key, finished)
        finished = _intact(path, open_memmap(path, mode="r"), finished)
        missing = list(_missing(len(rows), finished, chunk))
        made = share(make, lambda number: rows[slice(*missing[number])], len(missing))
        for number, images in made:
            one = missing[number]
            _require_images(images, (one[1] - one[0], *image_shape))
            store = open_memmap(path, mode="r+")  # anew, or pages of all chunks would be held
            store[slice(*one)] = images
            store.flush()  # progress never claims what is not on disk
            del store
            finished[one] = _hash(images)
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
    except (ValueError, OverflowError, EOFError) as error:
        raise ValueError(f"{path}: {error}") from None
    if images.dtype != np.uint8 or images.ndim != 4:
        raise ValueError(
            f"{path}: expected uint8 images (n, 3, h, w), got {images.dtype} {images.shape}"
        )
    if _progress_path(path).is_file():
        chunks = _finished(path, images.shape) or {}
        finished = sum(stop - start for start, stop in chunks)
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


def _require_images(images: np.ndarray, expected: tuple[int, ...]) -> None:
    """Raise ValueError unless these are images of that shape."""
    if images.shape != expected or images.dtype != np.uint8:
        raise ValueError(f"expected uint8 images {expected}, got {images.dtype} {images.shape}")


def _progress_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.progress.json")


def _record(path: Path, key: str, finished: dict[Chunk, str]) -> None:
    chunks = [[*chunk, content] for chunk, content in sorted(finished.items())]
    with atomic(_progress_path(path)) as temporary:
        temporary.write_text(json.dumps({"key": key, "chunks": chunks}), encoding="utf-8")


def _finished(
    path: Path, shape: tuple[int, ...], key: str | None = None
) -> dict[Chunk, str] | None:
    """Finished chunks → hashes; None if there is no usable set (of this key) at the path."""
    try:
        progress = json.loads(_progress_path(path).read_text(encoding="utf-8"))
        finished = {(int(start), int(stop)): content for start, stop, content in progress["chunks"]}
        usable = key in (None, progress["key"])
        store = np.load(path, mmap_mode="r")
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None  # absent or damaged: made anew
    return finished if usable and store.shape == shape and store.dtype == np.uint8 else None


def _intact(path: Path, store: np.ndarray, finished: dict[Chunk, str]) -> dict[Chunk, str]:
    """The chunks whose images are those that were made; warns of the others."""
    intact = {
        one: content for one, content in finished.items() if _hash(store[slice(*one)]) == content
    }
    if damaged := sorted(finished.keys() - intact.keys()):
        rows = ", ".join(f"{start} to {stop - 1}" for start, stop in damaged)
        warnings.warn(f"{path} is damaged: images {rows} are made again", stacklevel=3)
    return intact


def _missing(rows: int, finished: Iterable[Chunk], chunk: int) -> Iterator[Chunk]:
    """Chunks of at most `chunk` rows that lie between those that are finished."""
    first = 0
    for start, stop in [*sorted(finished), (rows, rows)]:
        yield from ((at, min(at + chunk, start)) for at in range(first, start, chunk))
        first = max(first, stop)


def _hash(images: np.ndarray) -> str:
    return sha256(np.ascontiguousarray(images)).hexdigest()


def _allocate(path: Path, shape: tuple[int, ...]) -> None:
    """Create the array with all its blocks reserved.

    A sparse file would meet a full disk as a bus error on writing through the memory map, with the
    interpreter gone; reserving turns that into an error here, before any work is done.
    """
    _progress_path(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)  # who still reads the old array keeps it
    needed = math.prod(shape)
    if needed > shutil.disk_usage(path.parent).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    try:
        open_memmap(path, mode="w+", dtype=np.uint8, shape=shape)
        if hasattr(os, "posix_fallocate"):
            with path.open("r+b") as stream:
                os.posix_fallocate(stream.fileno(), 0, path.stat().st_size)
    except OSError:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def _explained_if_full(path: Path, needed: int) -> Iterator[None]:
    """Say of a full disk how much is needed and where, and that finished chunks are kept."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        free = shutil.disk_usage(path.parent).free
        raise OSError(
            error.errno,
            f"disk full: the images need {needed:,} bytes and {free:,} are free; "
            f"finished chunks are kept, so make room and run the same again",
            str(path),
        ) from error
