"""Face generators by their names: those of the face world, and those that are read from files."""

from pathlib import Path

from faceaudit.generators.checkpoints import NETWORKS, load_checkpoint
from faceaudit.generators.image_cache import Generator
from faceaudit.generators.stylegan2 import StyleGenerator
from faceaudit.utils.errors import InputError
from faceworld.known_truth import KnownTruthGenerator
from faceworld.wgan import WGANGenerator

GENERATORS = {"known-truth": KnownTruthGenerator, "wgan": WGANGenerator}
"""Name → class of those that come with the book, for `load_generator`."""


def load_generator(
    name: str, device: str = "cpu", size: int = 64, weights: str | Path | None = None, **options
) -> Generator:
    """Load the generator of that name.

    Args:
        name: "known-truth" or "wgan"; "stylegan2" or "eg3d" for one that is read from a file.
        device: "cpu" or "cuda".
        size: height and width of its images, in pixels. What is read from a file has a size of its
            own.
        weights: the file, as of `load_checkpoint`.
        options: of `StyleGenerator`, such as truncation=0.7, with a file; without it the truncation
            is that of the file's card.

    Returns:
        A generator, with what its class can do beyond the protocol.

    Raises:
        ValueError: no such generator, or a file that is missing, none or of another kind.

    Example:
        >>> import faceworld
        >>> faceworld.load_generator("wgan").latent_dim
        128
    """
    known = sorted((*GENERATORS, *NETWORKS))
    if name not in known:
        raise InputError(
            f"generator {name!r} is not one of {known}",
            field="name",
            found=name,
            expected=", ".join(known),
        )
    if name in NETWORKS:
        if weights is None:
            raise InputError(
                f"the generator {name} is read from a file: weights=path is missing",
                field="weights",
                expected="path of a file",
            )
        return StyleGenerator(load_checkpoint(weights, kind=name), device, **options)
    return GENERATORS[name](device=device, size=size, **options)
