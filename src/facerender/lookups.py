"""Look-ups in tiled textures, bilinear; `textures` and `hair_tiles` make them.

A loop with a look-up is a loop of its own: what LLVM makes of one is slow, and slows the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import float32, int32, uint64

from facerender.compiled import formula
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
