"""Tiled noise textures, made once from fixed local generators (no global state)."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor

from facerender.hair_tiles import hair_atlas
from facerender.lookups import Textures


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


def _mottle() -> Tensor:
    return _fractal(256, (4, 8, 16, 32, 64, 128), 0.72, seed=7)


def _whiskers() -> Tensor:
    """Short hairs in all shades, each pointing about downwards and drawn over earlier ones."""
    generator, size, hairs, length = torch.Generator().manual_seed(9), 256, 6000, 22
    column, row = size * torch.rand(2, hairs, generator=generator)
    slant = 0.30 * torch.randn(hairs, generator=generator)
    bend = 0.012 * torch.randn(hairs, generator=generator)
    shade = torch.randn(hairs, generator=generator)
    # In numpy, as torch lets any of several hairs win a pixel, and numpy the last.
    tile = np.zeros((size, size), np.float32)
    for step in range(length):
        rows = (row + step).long() % size
        columns = (column + slant * step + bend * step**2).long()
        for side in (0, 1):
            tile[rows.numpy(), ((columns + side) % size).numpy()] = (shade - 0.5 * side).numpy()
    return _normalised(torch.from_numpy(tile))


def _strands() -> Tensor:
    generator = torch.Generator().manual_seed(8)
    knots = ((2, 20, 0.45), (2, 60, 0.6), (3, 140, 0.9), (3, 300, 1.0), (3, 512, 1.0))
    layers = [weight * _octave(r, c, 64, 1024, generator) for r, c, weight in knots]
    return _normalised(torch.stack(layers).sum(0))


@cache
def textures(level: int) -> Textures:
    """The textures that the renderer reads; `level` halves the hair's resolution so many times."""
    with torch.device("cpu"):
        made = (_mottle(), _whiskers(), _strands(), hair_atlas(level))
    return Textures(*(np.ascontiguousarray(one.numpy()) for one in made))
