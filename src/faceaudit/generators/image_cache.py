"""The protocol of face generators, and sets of their images on disk, made in chunks.

A set of images is a uint8 array (n, 3, height, width) in an `.npy` file and a small
`.progress.json` beside it: the key of its content and the chunks of rows that are finished, each
with a checksum. A run that was interrupted makes only the chunks that are missing or damaged, and a
set with another key is made anew.

`faceaudit.utils.parallel.shared_out` distributes the chunks among threads or workers; this process
alone writes the images.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import ArrayLike

from faceaudit.utils import files, pictures
from faceaudit.utils.errors import InputError
from faceaudit.utils.parallel import shared_out, threads

if TYPE_CHECKING:  # pictures on disk do without
    import torch
    from torch import Tensor

_CHUNK_PIXELS = 2**20
"""Pixels of a chunk: 16 images at 256 pixels, one at 1024; at most a minute on one core."""
_GPU_PIXELS = 2**26
"""Pixels of a chunk on a GPU, which makes them in seconds."""


@runtime_checkable
class Generator(Protocol):
    """Latent codes in, images out.

    Some generators can do more (`parameters(w)` of the known-truth world, landmarks, masks); a
    notebook asks for that with `hasattr`, and never assumes it.

    Attributes:
        latent_dim: length of a latent code.
        device: where codes and images are.

    Example:
        >>> from faceaudit import generators
        >>> isinstance("network.pkl", generators.Generator)
        False
    """

    latent_dim: int
    device: torch.device

    def sample(self, n: int, seed: int) -> Tensor:
        """Latent codes w, float32 (n, latent_dim); code i depends on the seed and i alone."""
        ...

    def synthesize(self, w: Tensor, **scene: float) -> Tensor:
        """Images of latent codes, float32 (n, 3, height, width) in [0, 1].

        Scene parameters that the generator knows (yaw, light_power, …) override the code's own.
        """
        ...


def synthesize_to_store(
    generator: Generator, codes: ArrayLike, path: Path, *, chunk: int | None = None, **scene: float
) -> np.ndarray:
    """Make a generator's images into a set on disk, on all cores or on a cluster.

    `SCHEDULER=tcp://…` in the environment names a Dask scheduler whose workers make the images
    (`pip install '.[cluster]'`); without it threads do. This process alone writes, a chunk at a
    time, so that neither a killed worker nor an interrupted run loses what is finished, and a set
    that is complete is not made again. The same chunks give the same bytes everywhere, on
    processors of one kind.

    Args:
        generator: whose `synthesize` makes an image of each code. Its class, `size` and `card`
            (the hash of its weights, its truncation) are in the key of the set.
        codes: (n, …), one code per image, and at least one.
        path: the `.npy` file.
        chunk: images made at a time, by default according to their size; it is in the key, since
            the last bits of a network's output depend on the batch.
        scene: scene parameters, as `synthesize` takes them.

    Returns:
        uint8 (n, 3, height, width), a read-only memory map.

    Raises:
        ValueError: images that are not numbers; no scheduler or no worker at that address, or one
            with other code.
        RuntimeError: a chunk that every worker died of.
        OSError: the disk is full; the message says how much is needed and where.
    """
    codes = as_float32(codes)
    make = partial(_images, generator=generator, scene=scene)
    size = getattr(generator, "size", None)
    shape = (3, size, size) if size else make(codes[:1]).shape[1:]
    workers = None
    if generator.device.type != "cpu":
        chunk = chunk or max(1, _GPU_PIXELS // math.prod(shape[1:]))
        workers = 2  # one chunk is made while another is copied and written
    modules = {type(generator).__module__}
    network = getattr(generator, "network", None)
    if network is not None:
        modules.add(type(network).__module__)
    return make_to_store(
        make,
        codes,
        path,
        shape,
        modules=sorted(modules),
        workers=workers,
        chunk=chunk,
        generator=type(generator).__qualname__,
        card=getattr(generator, "card", None),
        scene=scene,
    )


def make_to_store(
    make: Callable[[np.ndarray], np.ndarray],
    rows: np.ndarray,
    path: Path,
    image_shape: tuple[int, int, int],
    *,
    modules: Sequence[str],
    workers: int | None = None,
    chunk: int | None = None,
    **settings: Any,
) -> np.ndarray:
    """Make images into a set on disk, on all cores or on a cluster, as `synthesize_to_store` does.

    Args:
        make: rows (m, …) → images, uint8 (m, 3, height, width).
        rows: (n, …), what the images are made from.
        path: the `.npy` file.
        image_shape: (3, height, width).
        modules: full names of the modules that make the images, besides those of `code_of`.
        workers: how many chunks are made at a time where there is no cluster; by default one per
            core.
        chunk: rows made at a time, by default according to the size of the images.
        settings: on which the images depend besides.

    Returns:
        uint8 (n, 3, height, width), a read-only memory map.
    """
    chunk = chunk or max(1, _CHUNK_PIXELS // math.prod(image_shape[1:]))
    code = code_of(modules)
    key = content_key(rows, size=image_shape[1:], chunk=chunk, code=code, **settings)
    share = partial(shared_out, workers or threads(), partial(require_same_code, modules))
    return fill_image_store(path, rows, make, image_shape, key=key, chunk=chunk, share=share)


def _images(codes: np.ndarray, *, generator: Generator, scene: dict[str, float]) -> np.ndarray:
    """Images of a chunk of codes, uint8."""
    import torch

    # A copy, which torch aligns: the last bits of matrix products depend on the memory address.
    aligned = torch.tensor(codes, device=generator.device)
    with torch.no_grad():
        images = generator.synthesize(aligned, **scene)
    if not torch.isfinite(images).all():
        raise InputError(
            "the generator gave images with values that are not numbers",
            field="generator",
            found="values that are not numbers",
            expected="images of finite numbers",
        )
    return images.clamp(0, 1).mul(255).round().to(torch.uint8).cpu().numpy()


ChunkRunner = Callable[[Callable, Callable[[int], Any], int], Iterator[tuple[int, Any]]]
"""Runs the work on all chunks: (work, number of a chunk → its argument, how many chunks) → pairs of
the number and the result of every chunk, in any order."""


def in_turn(work: Callable, chunk: Callable, count: int) -> Iterator[tuple[int, Any]]:
    """One chunk after the other, in this thread."""
    return ((number, work(chunk(number))) for number in range(count))


def fill_image_store(
    path: str | Path,
    rows: np.ndarray,
    make: Callable[[np.ndarray], np.ndarray],
    image_shape: tuple[int, int, int],
    *,
    key: str,
    chunk: int,
    share: ChunkRunner = in_turn,
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
        share: runs `make` on the chunks, such as `faceaudit.utils.parallel.shared_out`; this
            process alone writes.

    Returns:
        uint8 (n, 3, height, width), a read-only memory map.
    """
    path = Path(path)
    shape = (len(rows), *image_shape)
    finished = _finished_chunks(path, shape, key)
    if finished is None:
        finished = {}
        path.unlink(missing_ok=True)  # a process that still reads the old array is not disturbed
        _write_progress(path, key, finished)
        open_memmap(path, mode="w+", dtype=np.uint8, shape=shape)
    missing = list(_missing_chunks(len(rows), finished, chunk))

    def rows_of_chunk(number: int) -> np.ndarray:
        start, stop = missing[number]
        return rows[start:stop]

    for number, images in share(make, rows_of_chunk, len(missing)):
        start, stop = missing[number]
        expected = (stop - start, *image_shape)
        if images.shape != expected or images.dtype != np.uint8:
            raise ValueError(f"expected uint8 images {expected}, got {images.dtype} {images.shape}")
        images = np.ascontiguousarray(images)
        _write_images(path, start * math.prod(image_shape), images)
        finished[start, stop] = zlib.crc32(images.data)
        _write_progress(path, key, finished)
    return np.load(path, mmap_mode="r")


def content_key(rows: np.ndarray, **settings: Any) -> str:
    """Hash of the rows that images are made from and of all settings on which they depend."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{rows.dtype.str} {rows.shape}".encode())
    digest.update(json.dumps(settings, sort_keys=True).encode())
    digest.update(np.ascontiguousarray(rows).data)
    return digest.hexdigest()


def as_float32(rows: ArrayLike) -> np.ndarray:
    """Rows as a contiguous array on the CPU."""
    detach = getattr(rows, "detach", None)
    if detach is not None:  # a tensor of torch
        rows = detach().cpu()
    return np.ascontiguousarray(rows, dtype=np.float32)


def _write_images(path: Path, first: int, images: np.ndarray) -> None:
    """Write images at byte `first` of the array, and wait until they are on the disk.

    The progress file then lists only chunks that are on the disk. A memory map is not used: where
    the disk is full, it ends the interpreter instead of raising.
    """
    header = np.load(path, mmap_mode="r").offset
    with path.open("r+b") as stream:
        stream.seek(header + first)
        stream.write(images.data)
        stream.flush()
        os.fsync(stream.fileno())


def _progress_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.progress.json")


def _write_progress(path: Path, key: str, finished: dict[tuple[int, int], int]) -> None:
    """Write the key and the finished chunks: first row, end and checksum of each."""
    chunks = [[start, stop, checksum] for (start, stop), checksum in sorted(finished.items())]
    files.write_json(_progress_path(path), {"key": key, "chunks": chunks})


def _finished_chunks(
    path: Path, shape: tuple[int, ...], key: str
) -> dict[tuple[int, int], int] | None:
    """First row and end of every undamaged chunk → its checksum.

    None if there is no usable set with this shape and key.
    """
    try:
        progress = json.loads(_progress_path(path).read_text(encoding="utf-8"))
        chunks = {(start, stop): checksum for start, stop, checksum in progress["chunks"]}
        store = np.load(path, mmap_mode="r")
        usable = key == progress["key"] and store.shape == shape and store.dtype == np.uint8
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None  # absent or damaged: made anew
    if not usable:
        return None
    return {rows: crc for rows, crc in chunks.items() if zlib.crc32(store[slice(*rows)]) == crc}


def _missing_chunks(
    rows: int, finished: Iterable[tuple[int, int]], chunk: int
) -> Iterator[tuple[int, int]]:
    """First row and end of chunks, of at most `chunk` rows, between the finished ones."""
    first = 0
    for start, stop in [*sorted(finished), (rows, rows)]:
        for first_row in range(first, start, chunk):
            yield first_row, min(first_row + chunk, start)
        first = max(first, stop)


def code_of(modules: Iterable[str]) -> str:
    """One SHA-256 over the code that makes images, and over the versions of torch and numpy.

    The code is that of the modules of this package, of the one that reads pictures from files, and
    of `modules`. Code that these import from elsewhere is not in the hash.

    Args:
        modules: full names of the modules that define a generator.
    """
    paths = sorted(Path(__file__).parent.glob("*.py"))
    paths += [Path(inspect.getfile(import_module(name))) for name in [pictures.__name__, *modules]]
    code = [_version(library) for library in ("torch", "numpy")]
    code += [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
    return hashlib.sha256("\n".join(code).encode()).hexdigest()


def _version(library: str) -> str:
    """Version of a library; "" where it is not installed."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


def require_same_code(modules: Sequence[str], client: Any) -> None:
    """Refuse a cluster whose workers might make other images.

    Args:
        modules: full names of the modules that define a generator.
        client: of the cluster.

    Raises:
        ValueError: a worker has other code of these modules, or another torch or numpy.
    """
    local_code = code_of(modules)
    for worker, worker_code in client.run(code_of, modules).items():
        if worker_code != local_code:
            raise InputError(
                f"{worker} has another version of {' or '.join(modules)}, of faceaudit, of torch "
                "or of numpy: install the same",
                field=str(worker),
                found=worker_code,
                expected=local_code,
            )
