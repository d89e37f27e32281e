"""Finished work that is kept, so that nothing is done twice: by which code, and whole.

Work may be taken up again only if the code that it was made by is the code of now: sets of images,
trained networks and studies have `made_by` in their keys.

A set of images is a uint8 array (n, 3, height, width) in an `.npy` file and a small
`.progress.json` beside it: the key of its content and the chunks of rows that are finished, each
with a checksum. A run that was interrupted makes only the chunks that are missing or damaged, and a
set with another key is made anew.

Who makes the chunks, `helpers.utils.parallel.shared_out` says: results are handed over, and one
process keeps them.
"""

import json
import math
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.format import open_memmap
from numpy.typing import ArrayLike

from helpers.artifacts import lineage, manifests

PINS = lineage.PACKAGE / "__init__.py"  # on whose values all numbers hang

# (work, what a chunk is called with by its number, how many chunks) → (number, result) …
Share = Callable[[Callable, Callable[[int], Any], int], Iterator[tuple[int, Any]]]


def made_by(source: Path, packages: Iterable[str] = ("torch", "numpy")) -> str:
    """One SHA-256 over the code that computes something, and the versions of what it calls.

    Of our packages those modules count that the source needs (`lineage.dependencies`), and the pins
    of the processor.
    What only draws, and this room, which keeps what others compute, do not change it.

    Args:
        source: the module that computes.
        packages: whose versions count, of those that manifests record.
    """
    source = source.resolve()
    needed = lineage.dependencies(source)
    keeping = lineage.PACKAGE / "artifacts"
    modules = [path for path in (source, PINS, *needed.modules) if path.parent != keeping]
    names = {stub: taken for stub, taken in needed.handed_on.items() if stub.parent != keeping}
    code = lineage.hashes(modules, drawing=False) | lineage.hashes_of_names(names, drawing=False)
    return lineage.digest(code | {name: manifests.versions()[name] for name in packages})


def in_turn(work: Callable, chunk: Callable, count: int) -> Iterator[tuple[int, Any]]:
    """One chunk after the other, in this thread."""
    return ((number, work(chunk(number))) for number in range(count))


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
        path: the `.npy` file; its folder is made.
        rows: (n, …), what the images are made from.
        make: rows (m, …) → images, uint8 (m, 3, height, width). An image may depend on its own row
            only, so that chunks do not matter.
        image_shape: (3, height, width).
        key: identifies the content, see `content_key`; images under another key are discarded.
        chunk: rows made at a time.
        share: who makes the chunks, such as `helpers.utils.parallel.shared_out`; this process alone
            writes.

    Returns:
        uint8 (n, 3, height, width), a read-only memory map.
    """
    path, shape = Path(path), (len(rows), *image_shape)
    finished = _finished(path, shape, key)
    if finished is None:
        finished = {}
        path.unlink(missing_ok=True)  # who still reads the old array keeps it
        _record(path, key, finished)
        open_memmap(path, mode="w+", dtype=np.uint8, shape=shape)
    missing = list(_missing(len(rows), finished, chunk))
    for number, images in share(make, lambda number: rows[slice(*missing[number])], len(missing)):
        start, stop = missing[number]
        expected = (stop - start, *image_shape)
        if images.shape != expected or images.dtype != np.uint8:
            raise ValueError(f"expected uint8 images {expected}, got {images.dtype} {images.shape}")
        images = np.ascontiguousarray(images)
        _write(path, start * math.prod(image_shape), images)
        finished[start, stop] = zlib.crc32(images)
        _record(path, key, finished)
    return np.load(path, mmap_mode="r")


def content_key(rows: np.ndarray, **settings: Any) -> str:
    """Hash of the rows that images are made from and of all settings that shape them."""
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
    header = np.load(path, mmap_mode="r").offset
    with path.open("r+b") as stream:
        stream.seek(header + first)
        stream.write(images)
        stream.flush()
        os.fsync(stream.fileno())


def _progress(path: Path) -> Path:
    return path.with_name(f"{path.name}.progress.json")


def _record(path: Path, key: str, finished: dict[tuple[int, int], int]) -> None:
    chunks = [[*rows, checksum] for rows, checksum in sorted(finished.items())]
    manifests.write_json(_progress(path), {"key": key, "chunks": chunks})


def _finished(path: Path, shape: tuple[int, ...], key: str) -> dict[tuple[int, int], int] | None:
    """Finished rows, from and up to → checksum; None if there is no usable set of this key."""
    try:
        progress = json.loads(_progress(path).read_text(encoding="utf-8"))
        chunks = {(start, stop): checksum for start, stop, checksum in progress["chunks"]}
        store = np.load(path, mmap_mode="r")
        usable = key == progress["key"] and store.shape == shape and store.dtype == np.uint8
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None  # absent or damaged: made anew
    if not usable:
        return None
    return {rows: crc for rows, crc in chunks.items() if zlib.crc32(store[slice(*rows)]) == crc}


def _missing(rows: int, finished: Iterable[tuple], chunk: int) -> Iterator[tuple[int, int]]:
    """Chunks of at most `chunk` rows that lie between those that are finished."""
    first = 0
    for start, stop in [*sorted(finished), (rows, rows)]:
        yield from ((at, min(at + chunk, start)) for at in range(first, start, chunk))
        first = max(first, stop)


def require_same_code(sources: Sequence[Path], client: Any) -> None:
    """Refuse a cluster whose workers might compute something else.

    ValueError names a worker on which the sources of this repository, or the versions of torch and
    numpy, are others.
    """
    ours = [path for path in map(Path.resolve, sources) if path.is_relative_to(lineage.SOURCE)]
    names = [path.relative_to(lineage.SOURCE).as_posix() for path in ours]
    here, words = _code(names), "or of what that imports, of torch or of numpy: install the same"
    for worker, there in client.run(_code, names).items():
        if there != here:
            raise ValueError(f"{worker} has another version of {' or '.join(names)}, {words}")


def _code(names: Sequence[str]) -> list[str]:
    return [made_by(lineage.SOURCE / name) for name in names]
