"""The image under construction: layers are blended over it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import float32

from facerender.colours import Colour, blend
from facerender.compiled import formula, loop
from facerender.maths import mix

OPAQUE = 0.999
"""What lies behind a layer of more opacity than this is not computed."""


class Canvas(NamedTuple):
    """Linear light, a head channel and the depth of what is shown; arrays (size²,)."""

    red: np.ndarray
    green: np.ndarray
    blue: np.ndarray
    head: np.ndarray
    """1 on the head, ears, hair and headwear, 0 elsewhere."""
    depth: np.ndarray


@loop
def make_canvas(count):
    """Room for an image of `count` pixels."""
    rows = np.empty((5, count), float32)
    return Canvas(rows[0], rows[1], rows[2], rows[3], rows[4])


@formula
def put(canvas, pixel, colour):
    """Set a pixel's colour."""
    canvas.red[pixel], canvas.green[pixel] = colour.red, colour.green
    canvas.blue[pixel] = colour.blue


@formula
def over(canvas, pixel, colour, opacity, head):
    """Blend a layer over a pixel; `head` goes to the head channel."""
    below = Colour(canvas.red[pixel], canvas.green[pixel], canvas.blue[pixel])
    put(canvas, pixel, blend(below, colour, opacity))
    canvas.head[pixel] = mix(canvas.head[pixel], head, opacity)


@formula
def occlude(canvas, pixel, distance, opacity):
    """Record the depth of a layer where it is opaque."""
    if opacity > 0.5:
        canvas.depth[pixel] = distance
