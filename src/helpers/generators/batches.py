"""What the book asks of a face generator, and images of any generator on disk, made in chunks.

The face world's own are rendered by `faceworld.rendering`.
"""

import inspect
import math
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from helpers.artifacts import kept
from helpers.artifacts.kept import as_float32, content_key, fill
from helpers.utils.parallel import shared_out, threads

# 16 images at 256 pixels, one at 1024: a minute's work on one core at most. A GPU makes 64 times
# so many in a moment.
_CHUNK_PIXELS, _GPU_PIXELS = 2**20, 2**26


@runtime_checkable
class Generator(Protocol):
    """Latent codes in, images out.

    Some generators can do more (`parameters(w)` of the known-truth world, landmarks, masks); a
    notebook asks for that with `hasattr`, and never assumes it.

    Attributes:
        latent_dim: length of a latent code.
        device: where codes and images are.

    Example:
        >>> from helpers import generators
        >>> import faceworld
        >>> isinstance(faceworld.load_generator("wgan"), generators.Generator)
        True
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

    Example:
        >>> import tempfile
        >>> import faceworld
        >>> from helpers.generators.batches import synthesize_to_store
        >>> learned = faceworld.load_generator("wgan", size=16)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     synthesize_to_store(learned, learned.sample(3, seed=1), f"{folder}/made.npy").shape
        (3, 3, 16, 16)
    """
    codes = as_float32(codes)
    make = partial(_images, generator=generator, scene=scene)
    size = getattr(generator, "size", None)
    shape = (3, size, size) if size else make(codes[:1]).shape[1:]
    on_cpu = generator.device.type == "cpu"
    pixels = _CHUNK_PIXELS if on_cpu else _GPU_PIXELS
    chunk = chunk or max(1, pixels // math.prod(shape[1:]))
    makers = [generator, *([generator.network] if hasattr(generator, "network") else [])]
    sources = [Path(__file__), *(Path(inspect.getfile(type(maker))) for maker in makers)]
    key = content_key(
        codes,
        generator=type(generator).__qualname__,
        size=shape[1:],
        card=getattr(generator, "card", None),
        scene=scene,
        chunk=chunk,
        code=[kept.made_by(source) for source in sources],
    )
    # A GPU makes one chunk while another is copied and written.
    here = threads() if on_cpu else 2
    share = partial(shared_out, here, partial(kept.require_same_code, sources))
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
