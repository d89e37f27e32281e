"""Sets of images on disk: made in chunks, resumed after an interruption, reused when unchanged.

A set is a uint8 array (n, 3, height, width) in an `.npy` file and a small `.progress.json` beside
it: the key of its content and the rows that are finished. Rows are finished one chunk at a time;
a run that was interrupted makes only the missing ones, and a set with another key is made anew.
Chapters use it through `helpers.faces.batches.render_to_store`.
"""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import torch
from numpy.lib.format import open_memmap
from numpy.typing import ArrayLike

from helpers.artifacts.stage import atomic

_FULL = (errno.ENOSPC, errno.EDQUOT)


def fill(
    path: str | Path,
    rows: np.ndarray,
    make: Callable[[np.ndarray], torch.Tensor],
    image_shape: tuple[int, int, int],
    *,
    key: str,
    chunk: int,
    workers: int = 1,
) -> np.ndarray:
    """Make one image per row and keep them; what an earlier run finished is not made again.

    Args:
        path: the `.npy` file; its folder exists.
        rows: (n, …), what the images are made from.
        make: rows (m, …) → images (m, 3, height, width) float in [0, 1]. An image may depend on its
            own row only, so that chunks do not matter.
        image_shape: (3, height, width).
        key: identifies the content, see `content_key`; images under another key are discarded.
        chunk: rows made at a time.
        workers: processes, each with one thread.

    Returns:
        uint8 (n, 3, height, width), a read-only memory map.

    Raises:
        ValueError: no rows; images of another shape, or that are not numbers.
        OSError: the disk is full; the message says how much is needed and where.
    """
    path = Path(path)
    if not len(rows):
        raise ValueError(f"{path}: no rows to make images from")
    shape = (len(rows), *image_shape)
    with _explained_if_full(path, math.prod(shape)):
        done = _finished_rows(path, shape, key)
        if done is None:
            done = np.zeros(len(rows), dtype=bool)
            _allocate(path, shape)
            _record(path, key, done)
        missing = np.flatnonzero(~done)
        chunks = [missing[start : start + chunk] for start in range(0, len(missing), chunk)]
        store = open_memmap(path, mode="r+")
        for chosen, images in _made(rows, make, image_shape, chunks, workers):
            store[chosen] = images
            store.flush()  # progress never claims what is not on disk
            done[chosen] = True
            _record(path, key, done)
    return load(path)


def load(path: str | Path) -> np.ndarray:
    """A finished set of images as a read-only memory map, uint8 (n, 3, height, width).

    Raises:
        FileNotFoundError: no such file.
        ValueError: the set is unfinished, or is not one.
    """
    path = Path(path)
    images = np.load(path, mmap_mode="r")
    if images.dtype != np.uint8 or images.ndim != 4:
        raise ValueError(
            f"{path}: expected uint8 images (n, 3, h, w), got {images.dtype} {images.shape}"
        )
    if _progress_path(path).is_file():
        done = _finished_rows(path, images.shape)
        finished = 0 if done is None else int(done.sum())
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


def _made(
    rows: np.ndarray,
    make: Callable[[np.ndarray], torch.Tensor],
    image_shape: tuple[int, int, int],
    chunks: list[np.ndarray],
    workers: int,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Chunks of row numbers with their images, in the order in which they get ready."""
    workers = min(workers, len(chunks))
    if workers <= 1:
        yield from (_make_chunk(chosen, rows[chosen], make, image_shape) for chosen in chunks)
        return
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        parallel = joblib.Parallel(workers, return_as="generator_unordered")
    task = joblib.delayed(_make_chunk)
    yield from parallel(task(chosen, rows[chosen], make, image_shape) for chosen in chunks)


def _make_chunk(
    chosen: np.ndarray,
    rows: np.ndarray,
    make: Callable[[np.ndarray], torch.Tensor],
    image_shape: tuple[int, int, int],
) -> tuple[np.ndarray, np.ndarray]:
    with torch.no_grad():
        images = make(rows)
        if images.shape != (len(rows), *image_shape):
            raise ValueError(
                f"expected images {(len(rows), *image_shape)}, got {tuple(images.shape)}"
            )
        if not torch.isfinite(images).all():
            raise ValueError(f"images with values that are not numbers, in rows {chosen.tolist()}")
        pixels = images.clamp(0, 1).mul(255).round().to(torch.uint8)
    return chosen, pixels.cpu().numpy()


def _progress_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.progress.json")


def _record(path: Path, key: str, done: np.ndarray) -> None:
    """Write the key and the finished rows, as half-open ranges."""
    edges = np.flatnonzero(np.diff(done, prepend=False, append=False))
    progress = {"key": key, "done": edges.reshape(-1, 2).tolist()}
    with atomic(_progress_path(path)) as temporary:
        temporary.write_text(json.dumps(progress), encoding="utf-8")


def _finished_rows(path: Path, shape: tuple[int, ...], key: str | None = None) -> np.ndarray | None:
    """Mask of the finished rows; None if there is no usable set (of this key) at the path."""
    try:
        progress = json.loads(_progress_path(path).read_text(encoding="utf-8"))
        ranges = progress["done"]
        usable = key in (None, progress["key"])
        store = np.load(path, mmap_mode="r")
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None  # absent or damaged: made anew
    if not usable or store.shape != shape or store.dtype != np.uint8:
        return None
    done = np.zeros(shape[0], dtype=bool)
    for start, stop in ranges:
        done[start:stop] = True
    return done


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
