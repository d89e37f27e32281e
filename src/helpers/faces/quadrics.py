"""Ellipsoids in bulk: one matrix product evaluates all of them on all points.

Level and squared slope of an axis-aligned ellipsoid are quadratic in the coordinates, without
mixed terms, so for every image they are a matrix times the coordinates and their squares.
"""

from __future__ import annotations

import torch
from torch import Tensor

Number = float | Tensor
"""A number, or one per image (n, 1)."""


class Ellipsoids:
    """Distances to several ellipsoids per image; an infinite radius makes a cylinder."""

    def __init__(
        self, centres: list[tuple[Number, ...]], radii: list[tuple[Number, ...]], like: Tensor
    ) -> None:
        """`like` (n, 1) tells the number of images, the type and the device."""
        centre = torch.stack([_columns(c, like) for c in centres], 1)
        weight = torch.stack([_columns(r, like) for r in radii], 1) ** -2
        weight = torch.cat([weight, weight * weight], 1)  # levels, then squared slopes
        centre = centre.repeat(1, 2, 1)
        self._matrix = torch.cat([-2 * weight * centre, weight], 2)
        self._offset = (weight * centre * centre).sum(2, keepdim=True)

    def __call__(self, *coordinates: Tensor) -> tuple[Tensor, ...]:
        """Approximate signed distances (n, k), exact to first order, one per ellipsoid.

        With F = sum ((p - c) / r)², the distance is (F - sqrt F) / |grad F / 2|.
        """
        linear = torch.stack(coordinates, 1)
        quadratic = torch.cat([linear, linear * linear], 1)
        forms = torch.baddbmm(self._offset, self._matrix, quadratic).clamp_min_(1e-9)
        level, slope = forms.chunk(2, 1)
        return (level - level.sqrt()).div_(slope.sqrt_()).unbind(1)


def _columns(values: tuple[Number, ...], like: Tensor) -> Tensor:
    """Numbers of every image, (n, len(values))."""
    return torch.cat([v + torch.zeros_like(like) for v in values], 1)
