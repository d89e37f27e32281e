"""What is asked of a face generator, and its images on disk, made in chunks.

A set of images is a uint8 array (n, 3, height, width) in an `.npy` file and a small
`.progress.json` beside it: the key of its content and the chunks of rows that are finished, each
with a checksum. A run that was interrupted makes only the chunks that are missing or damaged, and a
set with another key is made anew.

Who makes the chunks, `faceaudit.utils.parallel.shared_out` says: results are handed over, and one
process keeps them.
"""

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
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.lib.format import open_memmap
from numpy.typing import ArrayLike
from torch import Tensor

from faceaudit.utils import files, pictures
from faceaudit.utils.parallel import shared_out, threads

_CHUNK_PIXELS = 2**20
"""16 images at 256 pixels, one at 1024: a minute's work on one core at most."""
_GPU_PIXELS = 2**26
"""A GPU makes so many in a moment."""


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

    def synthesize(self, w: Tensor, **scene: float) -> Tensor:
        """Images of latent codes, float32 (n, 3, height, width) in [0, 1].

        Scene parameters that the generator knows (yaw, light_power, …) override the code's own.
        """


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
        codes: (n, …), one code an image, and one at least.
        path: the `.npy` file.
        chunk: images made at a time, by default what suits their size; it is in the key, since a
            network's last bits depend on the batch.
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
    on_cpu = generator.device.type == "cpu"
    pixels = _CHUNK_PIXELS if on_cpu else _GPU_PIXELS
    chunk = chunk or max(1, pixels // math.prod(shape[1:]))
    makers = [generator, *([generator.network] if hasattr(generator, "network") else [])]
    modules = sorted({type(maker).__module__ for maker in makers})
    key = content_key(
        codes,
        generator=type(generator).__qualname__,
        size=shape[1:],
        card=getattr(generator, "card", None),
        scene=scene,
        chunk=chunk,
        code=code_of(modules),
    )
    # A GPU makes one chunk while another is copied and written.
    here = threads() if on_cpu else 2
    share = partial(shared_out, here, partial(require_same_code, modules))
    return fill(path, codes, make, shape, key=key, chunk=chunk, share=share)


@torch.no_grad()
def _images(codes: np.ndarray, *, generator: Generator, scene: dict[str, float]) -> np.ndarray:
    """Images of a chunk of codes, uint8."""
    # A copy, which torch aligns: products of matrices hang on where they lie by their last bits.
    aligned = torch.tensor(codes, device=generator.device)
    made = generator.synthesize(aligned, **scene)
    if not torch.isfinite(made).all():
        raise ValueError("the generator gave images with values that are not numbers")
    return made.clamp(0, 1).mul(255).round().to(torch.uint8).cpu().numpy()


# (work, what a chunk is called with by its number, how many chunks) → (number, result) …
Share = Callable[[Callable, Callable[[int], Any], int], Iterator[tuple[int, Any]]]


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
        share: who makes the chunks, such as `faceaudit.utils.parallel.shared_out`; this process
            alone writes.

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
    digest = hashlib.blake2b(digest_size=16)
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
    files.write_json(_progress(path), {"key": key, "chunks": chunks})


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


def code_of(modules: Iterable[str]) -> str:
    """One SHA-256 over the code that makes images, and over the versions of torch and numpy.

    The modules of this package count, the one that reads pictures from files, and those that are
    given. What these import from elsewhere does not count.

    Args:
        modules: full names of the modules that define a generator.
    """
    files = sorted(Path(__file__).parent.glob("*.py"))
    files += [Path(inspect.getfile(import_module(name))) for name in [pictures.__name__, *modules]]
    code = [metadata.version("torch"), metadata.version("numpy")]
    code += [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return hashlib.sha256("\n".join(code).encode()).hexdigest()


def require_same_code(modules: Sequence[str], client: Any) -> None:
    """Refuse a cluster whose workers might make other images.

    Args:
        modules: full names of the modules that define a generator.
        client: of the cluster.

    Raises:
        ValueError: a worker has other code of these modules, or another torch or numpy.
    """
    here = code_of(modules)
    for worker, there in client.run(code_of, modules).items():
        if there != here:
            raise ValueError(
                f"{worker} has another version of {' or '.join(modules)}, of faceaudit, of torch "
                "or of numpy: install the same"
            )
