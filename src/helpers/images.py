"""Sets of images on disk: made in chunks, resumed after an interruption, reused when unchanged.

A set is a uint8 array (n, 3, height, width) in an `.npy` file and a small `.progress.json` beside
it: the key of its content and the rows that are finished. Rows are finished one chunk at a time;
a run that was interrupted makes only the missing ones, and a set with another key is made anew.
"""

from __future__ import annotations

import errno
import inspect
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import torch
from numpy.lib.format import open_memmap
from numpy.typing import ArrayLike

from helpers import faces, lineage
from helpers.artifacts import atomic
from helpers.devices import resolve_device

# Rendered pixels per chunk: few keep a processor's caches warm, many keep a GPU busy.
_CHUNK_PIXELS = {"cpu": 2**18, "cuda": 2**21}
_FEW_PIXELS = 2**22  # rendered as quickly as other processes start
_FULL = (errno.ENOSPC, errno.EDQUOT)


def render_to_store(
    parameters: ArrayLike,
    size: int,
    path: str | Path,
    *,
    device: str | torch.device = "cpu",
    workers: int | None = None,
    chunk: int | None = None,
    supersampling: int = 1,
    render: Callable[..., Any] = faces.render,
) -> np.ndarray:
    """Render faces into a set of images, on all cores of a processor or on one GPU.

    The key covers the parameters, the settings and the renderer's source, but not the device: a
    set begun on one may be finished on the other, and they differ by rounding only.

    Args:
        parameters: (n, P), as `helpers.faces.render` takes them.
        size: height and width in pixels.
        path: the `.npy` file.
        device: "cpu" or "cuda".
        workers: processes; by default one per core on a CPU, but none besides this one for a few
            images or on a GPU.
        chunk: images rendered at a time; by default what suits the size and the device.
        supersampling: rays per pixel and axis.
        render: a function that stands in for `helpers.faces.render`; its module is in the key.

    Returns:
        uint8 (n, 3, size, size), a read-only memory map.

    Raises:
        ValueError: parameters that no face has (see `helpers.faces.render`); a size or a count that
            is no positive integer; a GPU is asked for and there is none; other images than expected
            come back.
        OSError: the disk is full; the message says how much is needed and where.
    """
    device = resolve_device(device)
    counts = {"size": size, "supersampling": supersampling, "workers": workers, "chunk": chunk}
    for name, value in counts.items():
        if value is not None and (not isinstance(value, int) or value < 1):
            raise ValueError(f"{name} must be a positive integer, got {value!r}")
    parameters = _float32(parameters)
    faces.validate(torch.from_numpy(parameters))
    source = lineage.files_hash(sorted((lineage.PACKAGE / "faces").rglob("*.py")))
    if render is not faces.render:
        source += inspect.getsource(inspect.getmodule(render))
    if workers is None:
        few = len(parameters) * (size * supersampling) ** 2 <= _FEW_PIXELS
        workers = 1 if few or device.type != "cpu" else joblib.cpu_count()
    if chunk is None:
        pixels = _CHUNK_PIXELS.get(device.type, _CHUNK_PIXELS["cuda"])
        share = math.ceil(len(parameters) / workers)  # a small set still occupies every worker
        chunk = max(1, min(pixels // (size * supersampling) ** 2, share))
    return fill(
        path,
        parameters,
        partial(_render, render=render, size=size, supersampling=supersampling, device=device),
        (3, size, size),
        key=content_key(parameters, size=size, supersampling=supersampling, source=source),
        chunk=chunk,
        workers=workers,
    )


def synthesize_to_store(
    generator: Any,
    w: ArrayLike,
    path: str | Path,
    *,
    key: str,
    chunk: int = 64,
    workers: int = 1,
    **scene: Any,
) -> np.ndarray:
    """Images of latents by any generator (see `helpers.generators`), as a set.

    Args:
        generator: has `synthesize(w, **scene)` and `device`.
        w: latents (n, D).
        path: the `.npy` file.
        key: what identifies the generator, for example its name and the hash of its weights.
        chunk: images made at a time.
        workers: processes; more than one only on a CPU.
        scene: plain numbers or names, the same for all images, passed on to the generator.

    Returns:
        uint8 (n, 3, height, width), a read-only memory map.

    Raises:
        ValueError, OSError: as in `fill`.
    """
    w = _float32(w)
    make = partial(_synthesize, generator=generator, scene=scene)
    with torch.no_grad():
        image_shape = tuple(make(w[[0]]).shape[1:])
    content = content_key(w, generator=key, scene=scene)
    return fill(path, w, make, image_shape, key=content, chunk=chunk, workers=workers)


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


def _float32(rows: ArrayLike) -> np.ndarray:
    if isinstance(rows, torch.Tensor):
        rows = rows.detach().cpu()
    return np.ascontiguousarray(rows, dtype=np.float32)


def _render(
    parameters: np.ndarray,
    render: Callable[..., Any],
    size: int,
    supersampling: int,
    device: torch.device,
) -> torch.Tensor:
    rendering = render(torch.from_numpy(parameters).to(device), size, supersampling=supersampling)
    return rendering.image


def _synthesize(w: np.ndarray, generator: Any, scene: dict[str, Any]) -> torch.Tensor:
    return generator.synthesize(torch.from_numpy(w).to(generator.device), **scene)


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
