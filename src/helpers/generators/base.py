"""What the book asks of a face generator (from chapter 2 on)."""

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor


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
        >>> isinstance(generators.load_generator("wgan"), generators.Generator)
        True
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
