"""Face generators behind one small protocol (`base.Generator`)."""

from helpers.generators.base import Generator
from helpers.generators.known_truth import KnownTruthGenerator
from helpers.generators.wgan import WGANGenerator

GENERATORS = {"known-truth": KnownTruthGenerator, "wgan": WGANGenerator}


def load_generator(name: str, device: str = "cpu", size: int = 64) -> Generator:
    """The generator of that name, rendering images of size × size pixels.

    Raises:
        ValueError: no such generator.
    """
    if name not in GENERATORS:
        raise ValueError(f"generator {name!r} is not one of {sorted(GENERATORS)}")
    return GENERATORS[name](device=device, size=size)
