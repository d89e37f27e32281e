"""Small building blocks shared by the renderer's modules.

Every field is evaluated on planar coordinates: tensors (n, k), one row per image, so that
per-image quantities (n, 1) broadcast.
"""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as functional
from torch import Tensor

Vector = tuple[Tensor, Tensor, Tensor]
"""x, y, z as separate tensors."""


def smoothstep(start: float | Tensor, end: float | Tensor, x: Tensor) -> Tensor:
    """0 at `start`, 1 at `end` (which may be the smaller), with flat ends."""
    t = (x - start).mul_(1 / (end - start)).clamp_(0, 1)
    return (3 - 2 * t).mul_(t).mul_(t)


def bump(x: Tensor) -> Tensor:
    """Gaussian exp(-x²)."""
    return (x * x).neg_().exp_()


def mix(a: Tensor | float, b: Tensor | float, weight: Tensor) -> Tensor:
    """Linear interpolation from `a` (weight 0) to `b` (weight 1)."""
    return a + (b - a) * weight


def smooth_min(a: Tensor, b: Tensor, width: float) -> Tensor:
    """Polynomial smooth minimum: the union of two solids with a fillet of size `width`.

    A minimum is the mean less half of |a - b|; Huber's loss is a smooth |a - b|, in one call.
    """
    between = functional.huber_loss(a, b, reduction="none", delta=width)
    return torch.lerp(a, b, 0.5).sub_(between, alpha=0.5 / width).sub_(0.25 * width)


def sliding_maximum(image: Tensor, before: int, after: int, dim: int) -> Tensor:
    """Maximum over a window along a dimension (-1 is the last), cut off at the ends.

    Windows that double in width take few calls; pooling takes one slow pass per width.
    """
    # `pad` counts dimensions from the last.
    padding = [0, 0] * (-1 - dim) + [before, after]
    wide = functional.pad(image, padding, value=-torch.inf)
    missing, reach = before + after, 1
    while missing:
        step = min(reach, missing)
        length = wide.shape[dim] - step
        wide = torch.maximum(wide.narrow(dim, 0, length), wide.narrow(dim, step, length))
        missing, reach = missing - step, reach + step
    return wide


def box_mean(image: Tensor, radius: int) -> Tensor:
    """Mean over a square window of images (…, h, w), the border repeated.

    Two products with a matrix are much faster than pooling.
    """
    rows, columns = image.shape[-2:]
    return (
        _averaging(rows, radius, image.device) @ image @ _averaging(columns, radius, image.device).T
    )


@cache
def _averaging(length: int, radius: int, device: torch.device) -> Tensor:
    """The mean over a window as a matrix (length, length)."""
    places = torch.arange(length, device=device)
    window = torch.arange(-radius, radius + 1, device=device)
    reached = (places[:, None] + window).clamp(0, length - 1)
    return functional.one_hot(reached, length).float().mean(1)


def dot(a, b) -> Tensor:
    """Scalar product of two planar vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def add(a, b) -> Vector:
    """Sum of two planar vectors."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def scale(a, factor) -> Vector:
    """Planar vector times a scalar field."""
    return a[0] * factor, a[1] * factor, a[2] * factor


def unit(a) -> Vector:
    """Planar vector scaled to length one."""
    return scale(a, torch.rsqrt(dot(a, a) + 1e-12))


TETRAHEDRON = ((1, -1, -1), (-1, -1, 1), (-1, 1, -1), (1, 1, 1))


def field_normal(field, point: Vector, step: float) -> Vector:
    """Unit gradient of a scalar field from four samples at a tetrahedron's corners."""
    gradient = [0.0, 0.0, 0.0]
    for corner in TETRAHEDRON:
        value = field(*(p + step * c for p, c in zip(point, corner, strict=True)))
        gradient = [g + c * value for g, c in zip(gradient, corner, strict=True)]
    return unit(gradient)
