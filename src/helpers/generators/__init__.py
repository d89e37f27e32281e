"""Face generators behind one small protocol (`base.Generator`)."""

from helpers.generators.base import Generator
from helpers.generators.checkpoint_loading import load_checkpoint
from helpers.generators.image_set import ImageSet
from helpers.generators.known_truth import KnownTruthGenerator
from helpers.generators.wgan import WGANGenerator

GENERATORS = {"known-truth": KnownTruthGenerator, "wgan": WGANGenerator}
"""Name → class, for `load_generator`. Serves chapter 02."""


def load_generator(name: str, device: str = "cpu", size: int = 64) -> Generator:
    """Load the generator of that name.

    Introduced in chapter 02.

    Args:
        name: "known-truth" or "wgan".
        device: "cpu" or "cuda".
        size: height and width of its images, in pixels.

    Returns:
        A generator, with what its class can do beyond the protocol.

    Raises:
        ValueError: no such generator.

    Example:
        >>> from helpers import generators
        >>> generators.load_generator("wgan").latent_dim
        128
    """
    if name not in GENERATORS:
        raise ValueError(f"generator {name!r} is not one of {sorted(GENERATORS)}")
    return GENERATORS[name](device=device, size=size)
