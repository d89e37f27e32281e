"""Tiled noise textures, made once from fixed local generators (no global state), and look-ups.

A loop with a look-up is a loop of its own: what LLVM makes of one is slow, and slows the rest.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as functional
from numpy import float32, int32, uint64
from torch import Tensor

from facerender.compiled import formula
from facerender.hair_tiles import hair_atlas
from facerender.maths import floor, mix


class Textures(NamedTuple):
    """The textures that the renderer reads; float32 arrays."""

    mottle: np.ndarray
    """Isotropic fractal noise for skin, (256, 256)."""
    whiskers: np.ndarray
    """Short hairs, (256, 256)."""
    strands: np.ndarray
    """Fine noise across the columns that varies slowly along the rows, (64, 1024)."""
    hair: np.ndarray
    """Tone and slopes of hair, (3, kinds, rows + 1, columns + 1), closed on both sides."""


@formula
def lookup(texture, u, v):
    """Bilinear sample of a texture (rows, columns) at u, v in tile units."""
    rows, columns = texture.shape
    u = (u - floor(u)) * float32(columns - 1)
    v = (v - floor(v)) * float32(rows - 1)
    return bilinear(texture, u, v)


@formula
def bilinear(grid, x, y):
    """Sample of a grid (rows, columns) at column x and row y, whole numbers or in between."""
    rows, columns = grid.shape
    column, row = min(int32(x), int32(columns - 2)), min(int32(y), int32(rows - 2))
    x, y = x - float32(column), y - float32(row)
    column, row = uint64(column), uint64(row)
    low = mix(grid[row, column], grid[row, column + uint64(1)], x)
    row = row + uint64(1)
    high = mix(grid[row, column], grid[row, column + uint64(1)], x)
    return mix(low, high, y)


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
