"""Tiled noise textures, made once per device from fixed local generators (no global state)."""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as functional
from torch import Tensor


def _octave(rows: int, columns: int, height: int, width: int, generator) -> Tensor:
    """Smooth periodic noise (height, width) with `rows` x `columns` random knots."""
    knots = torch.randn(1, 1, rows, columns, generator=generator)
    knots = torch.cat([knots, knots[:, :, :1]], 2)
    knots = torch.cat([knots, knots[:, :, :, :1]], 3)
    size = (height + 1, width + 1)
    smooth = functional.interpolate(knots, size=size, mode="bicubic", align_corners=True)
    return smooth[0, 0, :height, :width]


def _normalised(texture: Tensor) -> Tensor:
    return (texture - texture.mean()) / texture.std()


def _fractal(size: int, octaves: tuple[int, ...], decay: float, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    layers = [
        decay**i * _octave(knots, knots, size, size, generator) for i, knots in enumerate(octaves)
    ]
    return _normalised(torch.stack(layers).sum(0))


@cache
def mottle(device: torch.device) -> Tensor:
    """Isotropic fractal noise for skin, (1, 1, 256, 256)."""
    return _fractal(256, (4, 8, 16, 32, 64, 128), 0.72, seed=7).to(device)[None, None]


@cache
def clouds(device: torch.device) -> Tensor:
    """Broad smooth noise, (1, 1, 128, 128)."""
    return _fractal(128, (4, 8), 0.5, seed=9).to(device)[None, None]


@cache
def strands(device: torch.device) -> Tensor:
    """Fine noise across the columns that varies slowly along the rows, (1, 1, 64, 1024)."""
    generator = torch.Generator().manual_seed(8)
    knots = ((2, 20, 0.45), (2, 60, 0.6), (3, 140, 0.9), (3, 300, 1.0), (3, 512, 1.0))
    layers = [weight * _octave(r, c, 64, 1024, generator) for r, c, weight in knots]
    return _normalised(torch.stack(layers).sum(0)).to(device)[None, None]


def lookup(texture: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """Bilinear samples (n, k) of a one-channel texture at u, v (n, k) in tile units."""
    return lookup_channels(texture, u, v)[:, 0]


def lookup_channels(texture: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """Bilinear samples (n, channels, k) of a tiled texture at u, v (n, k) in tile units."""
    tiles = texture.expand(len(u), -1, -1, -1)
    return sample_grid(tiles, (u - u.floor()).mul_(2).sub_(1), (v - v.floor()).mul_(2).sub_(1))


def sample_grid(image: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """Bilinear samples (n, channels, k) at u, v (n, k) in [-1, 1]; the border goes on outside."""
    # The fastest way to lay out pairs.
    pairs = torch.view_as_real(torch.complex(u, v))[:, None]
    samples = functional.grid_sample(
        image, pairs, mode="bilinear", padding_mode="border", align_corners=True
    )
    return samples[:, :, 0]
