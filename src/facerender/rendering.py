"""Parameters to images, head masks and landmarks: what Python sees of the renderer."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from joblib import cpu_count
from torch import Tensor

from facerender.compiled import compile_once
from facerender.hair import table
from facerender.landmarks import LANDMARK_NAMES
from facerender.parameters import defaults, records, validate
from facerender.portraits import draw, make_work
from facerender.rays import HALF_EXTENT
from facerender.textures import atlas_level, textures

SMALLEST = 16
"""Side of the smallest images, in pixels."""


@dataclass(frozen=True)
class Rendering:
    """A batch of portraits, as `render` returns it.

    Attributes:
        image: float (n, 3, size, size) in [0, 1].
        head_mask: float (n, size, size), 1 on the head, 0 elsewhere.
        landmarks: places on the face in pixels, (n, L, 2), in the order of `LANDMARK_NAMES`.

    Example:
        >>> import facerender
        >>> facerender.render(facerender.defaults(), 16).landmarks.shape[0]
        1
    """

    image: Tensor
    """(n, 3, size, size) float32 sRGB in [0, 1]."""
    head_mask: Tensor
    """(n, size, size) in [0, 1]: head, ears, hair, headwear; not neck, torso, background."""
    landmarks: Tensor
    """(n, L, 2) pixel x (right) and y (down), in the order of `landmarks.LANDMARK_NAMES`."""


def render(parameters: Tensor, size: int, supersampling: int = 1) -> Rendering:
    """Render faces, on all cores; how many there are does not change the result.

    Args:
        parameters: float tensor (n, P), columns as in `parameters.PARAMETERS`.
        size: side of the images in pixels, at least `SMALLEST`.
        supersampling: renders at `supersampling * size` and averages.

    Returns:
        Images (n, 3, size, size), head masks (n, size, size) and landmarks (n, L, 2) in pixels, on
        the device of `parameters`.

    Raises:
        ValueError: on a wrong shape or type or on no rows, on non-finite or out-of-range values
            (naming the parameter and the row), and on a size or supersampling that is not an
            integer or is too small.

    Example:
        >>> import facerender
        >>> tuple(facerender.render(facerender.defaults(2), 16).image.shape)
        (2, 3, 16, 16)
    """
    validate(parameters)
    if len(parameters) == 0:
        raise ValueError("render: expected at least one row of parameters, got none")
    for name, value, least in (("size", size, SMALLEST), ("supersampling", supersampling, 1)):
        if not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name} is {value!r}, expected a whole number of at least {least}")
    compile_renderer()
    faces = records(parameters)
    drawn = (
        np.empty((len(faces), 3, size, size), np.float32),
        np.empty((len(faces), size, size), np.float32),
        np.empty((len(faces), len(LANDMARK_NAMES), 2), np.float32),
    )

    def draw_some(rows: slice) -> None:
        arrays = (array[rows] for array in drawn)
        draw(*_arguments(faces[rows], size, supersampling, *arrays))

    # Small shares, as some faces take longer than others.
    workers = int(os.environ.get("NUMBA_NUM_THREADS") or cpu_count())
    share = len(faces) if workers == 1 else math.ceil(len(faces) / (4 * workers))
    shares = [slice(first, first + share) for first in range(0, len(faces), share)]
    if len(shares) == 1:
        draw_some(shares[0])
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(draw_some, shares))
    return Rendering(*(torch.from_numpy(array).to(parameters.device) for array in drawn))


def landmarks_of(parameters: Tensor, size: int) -> np.ndarray:
    """Place landmarks alone, on portraits too small to take time.

    Args:
        parameters: float tensor (n, P), columns as in `parameters.PARAMETERS`.
        size: side of the images in pixels in which the places count.

    Returns:
        Places in pixels (n, L, 2), in the order of `LANDMARK_NAMES`.

    Raises:
        ValueError: as `render`.

    Example:
        >>> import facerender
        >>> facerender.landmarks_of(facerender.defaults(2), 64).shape[::2]
        (2, 2)
    """
    parts = [render(part, SMALLEST).landmarks for part in parameters.split(512)]
    return torch.cat(parts).cpu().numpy() * (size / SMALLEST)


@cache
def compile_renderer() -> None:
    """Compile what draws, or read what an earlier process compiled: `render` begins with it."""
    faces, size = records(defaults(0)), SMALLEST
    shapes = ((0, 3, size, size), (0, size, size), (0, 1, 2))
    drawn = (np.empty(shape, np.float32) for shape in shapes)
    compile_once(draw, _arguments(faces, size, 1, *drawn))


def _arguments(faces: np.recarray, size: int, supersampling: int, *drawn: np.ndarray) -> tuple:
    """What `draw` takes."""
    tiles = textures(atlas_level(2 * HALF_EXTENT / (size * supersampling)))
    work = make_work(size, supersampling)
    return faces, table(), tiles, work, supersampling, *drawn
