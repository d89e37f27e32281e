"""Images along attribute vectors, G(z + λ d) (sensitivity, section 4.2), walked in chapter 15."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from helpers.generators import Generator

BATCH = 64
"""Images drawn at a time."""


@torch.no_grad()
def traverse(
    generator: Generator, z: Tensor, direction: ArrayLike, lambdas: Sequence[float]
) -> np.ndarray:
    """Images of every code at every step along a direction (sensitivity, section 4.2).

    Args:
        generator: draws the images.
        z: codes (n, D).
        direction: attribute vector (D,).
        lambdas: steps λ, (L,).

    Returns:
        uint8 (n, L, 3, height, width).

    Raises:
        ValueError: a direction of another length than the codes, or not finite.

    Example:
        >>> import torch
        >>> from helpers.sensitivity.traversal import traverse
        >>> class Grey:
        ...     def synthesize(self, w):
        ...         return w[:, :1, None, None].expand(-1, 3, 2, 2)
        >>> images = traverse(Grey(), torch.zeros(2, 4), [1, 0, 0, 0], [0, 0.4, 1])
        >>> images.shape, images[0, :, 0, 0, 0].tolist()
        ((2, 3, 3, 2, 2), [0, 102, 255])
    """
    direction = torch.as_tensor(np.asarray(direction), dtype=z.dtype, device=z.device)
    if direction.shape != z.shape[1:] or not direction.isfinite().all():
        raise ValueError(
            f"expected a finite direction for codes {tuple(z.shape)}, got {tuple(direction.shape)}"
        )
    steps = torch.as_tensor(list(lambdas), dtype=z.dtype, device=z.device)
    moved = (z[:, None] + steps[:, None] * direction).flatten(0, 1)
    # As floats, all images of a walk would fill gigabytes.
    images = np.concatenate([as_uint8(generator.synthesize(part)) for part in moved.split(BATCH)])
    return images.reshape(len(z), len(steps), *images.shape[1:])


def as_uint8(images: Tensor) -> np.ndarray:
    """Images (n, 3, height, width) in [0, 1] as uint8; what lies outside is clipped.

    Example:
        >>> import torch
        >>> from helpers.sensitivity.traversal import as_uint8
        >>> as_uint8(torch.tensor([0.0, 0.5, 1.2])).tolist()
        [0, 128, 255]
    """
    return images.clamp(0, 1).mul(255).round().to(torch.uint8).cpu().numpy()
