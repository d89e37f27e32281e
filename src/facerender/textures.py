"""Tiled textures, made once from fixed local generators (no global state), and look-ups.

A loop with a look-up is a loop of its own: what LLVM makes of one is slow, and slows the rest.

Hair has one tile per kind, stacked into an atlas so that one look-up serves all. Each tile has
three channels: tone (zero mean, unit variance) and the slopes of its relief along u (around the
head) and v (upwards), which tilt the shell's normals.
"""

from __future__ import annotations

import math
from collections import namedtuple
from functools import cache
from itertools import product

import numpy as np
import torch
import torch.nn.functional as functional
from numpy import float32, int32, uint64
from torch import Tensor

from facerender.compiled import formula
from facerender.maths import floor, mix

KINDS = ("strands", "waves", "curls", "coils", "plaits", "cloth")
ROWS, COLUMNS = 128, 512
LEVELS = 4


def _grid() -> tuple[Tensor, Tensor]:
    v, u = torch.meshgrid(torch.arange(ROWS) / ROWS, torch.arange(COLUMNS) / COLUMNS, indexing="ij")
    return u, v


def _root(x: Tensor) -> Tensor:
    """Square root; torch's own in single precision is not rounded alike on all processors."""
    return x.double().sqrt().float()


def _octave(rows: int, columns: int, size: tuple[int, int], generator: torch.Generator) -> Tensor:
    """Smooth periodic noise of a size with `rows` x `columns` random knots."""
    noise = torch.randn(1, 1, rows, columns, generator=generator)
    noise = functional.pad(noise, (0, 1, 0, 1), mode="circular")
    closed = (size[0] + 1, size[1] + 1)
    smooth = functional.interpolate(noise, size=closed, mode="bicubic", align_corners=True)
    return smooth[0, 0, : size[0], : size[1]]


def _knots(rows: int, columns: int, generator: torch.Generator) -> Tensor:
    """Smooth periodic noise over a tile of hair."""
    return _octave(rows, columns, (ROWS, COLUMNS), generator)


def _strands(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Straight hair: fine lines in locks of several widths."""
    fine = _knots(2, 250, generator) + 0.8 * _knots(2, 120, generator)
    locks = 0.7 * _knots(2, 44, generator) + 0.8 * _knots(2, 16, generator)
    return fine + locks, 0.006 * locks


def _waves(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Wavy hair: locks that swing sideways, each with its own phase, lit along their crests."""
    u, v = _grid()
    phase = 2.2 * _knots(1, 14, generator) + 0.8 * _knots(2, 40, generator)
    swing = torch.sin(2 * math.pi * 3 * v + phase)
    lines = _knots(2, 180, generator) + 0.9 * _knots(2, 60, generator)
    column = ((u + 0.010 * swing) * COLUMNS).long() % COLUMNS
    lines = lines.gather(1, column)
    crest = torch.cos(2 * math.pi * 3 * v + phase + 0.5)
    locks = _knots(1, 26, generator)
    return 0.75 * lines + 0.42 * crest + 0.55 * locks, 0.010 * crest + 0.008 * locks


def _curl_pile(
    rows: int, columns: int, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """A pile of round curls, one per cell of a jittered grid (cellular noise, Worley 1996).

    Returns relief of the topmost curl, distance from its centre in radii, and angle around it.
    """
    u, v = _grid()
    across, up = u * columns, v * rows
    jitter_x, jitter_y, size, lift = torch.rand(4, rows, columns, generator=generator)
    relief = torch.zeros(ROWS, COLUMNS)
    ring, turn = torch.ones(ROWS, COLUMNS), torch.zeros(ROWS, COLUMNS)
    for step_x, step_y in product((-1, 0, 1), repeat=2):
        cell_x, cell_y = across.floor() + step_x, up.floor() + step_y
        cell = (cell_y.long() % rows, cell_x.long() % columns)
        dx = across - cell_x - 0.1 - 0.8 * jitter_x[cell]
        dy = up - cell_y - 0.1 - 0.8 * jitter_y[cell]
        distance = _root(dx * dx + dy * dy) / (0.75 + 0.35 * size[cell])
        height = _root((1 - distance * distance).clamp_min(0)) + 0.4 * lift[cell]
        higher = (distance < 1) & (height > relief)
        relief = torch.where(higher, height, relief)
        ring = torch.where(higher, distance, ring)
        turn = torch.where(higher, torch.atan2(dy, dx) + 6.0 * size[cell], turn)
    return relief, ring, turn


def _curls(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Ringlets: piled curls with spiral strands."""
    relief, ring, turn = _curl_pile(8, 30, generator)
    strands = torch.sin(26 * ring + 2 * turn) + _knots(24, 96, generator)
    tone = 0.5 * relief + 0.30 * strands + 0.4 * _knots(2, 12, generator)
    return tone, 0.016 * relief


def _coils(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Tight coils: the same, small."""
    relief, ring, _ = _curl_pile(16, 64, generator)
    return relief - 0.6 * ring + 0.10 * _knots(5, 20, generator), 0.016 * relief


def _plaits(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Braids: twenty rounded ropes with chevrons and dark gaps."""
    u, v = _grid()
    place = (20 * u) % 1 - 0.5
    rope = _root((1 - (2 * place) ** 2).clamp_min(0))
    chevron = torch.sin(2 * math.pi * (9 * v + 1.3 * place.abs()) + 2.4 * torch.floor(20 * u))
    gap = (1 - rope).clamp_min(0)
    tone = 1.3 * rope + 0.45 * chevron - 1.8 * gap**3 + 0.15 * _knots(3, 120, generator)
    return tone, 0.022 * rope + 0.006 * chevron


def _cloth(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """A scarf: broad soft folds."""
    folds = _knots(2, 14, generator) + 0.5 * _knots(3, 30, generator)
    return folds, 0.030 * folds


def hair_atlas(level: int) -> Tensor:
    """Atlas (3, kinds * (rows + 1), columns + 1), each tile closed by its first row and column.

    `level` halves the resolution that many times, so that small images do not alias.
    """
    makers = (_strands, _waves, _curls, _coils, _plaits, _cloth)
    tiles = []
    for seed, maker in enumerate(makers):
        tone, height = maker(torch.Generator().manual_seed(100 + seed))
        slope_u = (height.roll(-1, 1) - height.roll(1, 1)) * (COLUMNS / 8)
        slope_v = (height.roll(-1, 0) - height.roll(1, 0)) * (ROWS / 2)
        tile = torch.stack([_normalised(tone), slope_u, slope_v])[None]
        tile = functional.avg_pool2d(tile, 2**level)
        tiles.append(functional.pad(tile, (0, 1, 0, 1), mode="circular"))
    return torch.cat(tiles, 2)[0]


def atlas_level(pixel: float) -> int:
    """Resolution level whose texels are about half a pixel wide on the head."""
    return min(max(round(math.log2(pixel / 0.010)), 0), LEVELS - 1)


Textures = namedtuple("Textures", "mottle whiskers strands hair")
"""The textures that the renderer reads; float32 arrays.

*mottle*: isotropic fractal noise for skin, (256, 256); *whiskers*: short hairs, (256, 256);
*strands*: fine noise across the columns that varies slowly along the rows, (64, 1024); *hair*:
tone and slopes of hair, (3, kinds, rows + 1, columns + 1), closed on both sides.
"""


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


def _normalised(texture: Tensor) -> Tensor:
    return (texture - texture.mean()) / texture.std()


def _mottle() -> Tensor:
    """Isotropic noise of six octaves."""
    generator = torch.Generator().manual_seed(7)
    knots = (4, 8, 16, 32, 64, 128)
    layers = [0.72**i * _octave(n, n, (256, 256), generator) for i, n in enumerate(knots)]
    return _normalised(torch.stack(layers).sum(0))


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


def _brow_strands() -> Tensor:
    generator = torch.Generator().manual_seed(8)
    knots = ((2, 20, 0.45), (2, 60, 0.6), (3, 140, 0.9), (3, 300, 1.0), (3, 512, 1.0))
    layers = [weight * _octave(r, c, (64, 1024), generator) for r, c, weight in knots]
    return _normalised(torch.stack(layers).sum(0))


@cache
def textures(level: int) -> Textures:
    """The textures that the renderer reads; `level` halves the hair's resolution so many times."""
    with torch.device("cpu"):
        made = (_mottle(), _whiskers(), _brow_strands(), hair_atlas(level))
    return Textures(*(np.ascontiguousarray(one.numpy()) for one in made))
