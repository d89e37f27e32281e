"""The head and the torso as signed distance fields.

The skull is a smooth union of ellipsoids; `relief` says how far the face stands out of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba.extending import overload

from facerender.anatomy import Skull
from facerender.compiled import formula, loop
from facerender.maths import smooth_min, smoothstep
from facerender.relief import HEIGHT, OCCLUSION, SLOWNESS, at_relief

EAR_FILLET = 0.10
"""Rounding where the ear grows out of the head."""
SHOULDER_Y = -2.26
"""Middle of the ellipsoid of the shoulders, whose top is the pit of the neck."""
TRAPEZIUS = 0.52
"""Rounding between neck and shoulders: the muscle that slopes from one to the other."""


class Head(NamedTuple):
    """The solid of a head, in its own frame."""

    skull: Skull
    relief: np.ndarray
    """(3, rows, columns), see `relief.fill`."""


class CautiousHead(NamedTuple):
    """A head whose distances are scaled so that steps of their size never cross the relief."""

    skull: Skull
    relief: np.ndarray


class Torso(NamedTuple):
    """The solid of neck and shoulders, in the world's frame."""

    skull: Skull


class Points(NamedTuple):
    """Places, one after the other, and what a solid says about them; arrays (k,)."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    distance: np.ndarray
    """From the solid's surface, negative inside."""
    height: np.ndarray
    """Of the relief there, while the distance is computed."""
    slowness: np.ndarray


@formula
def ellipsoid(x, y, z, a, b, c):
    """Signed distance of an ellipsoid with radii a, b, c around the origin, to first order.

    With F = sum (p / r)², the distance is (F - sqrt F) / |grad F / 2|.
    """
    x, y, z = x / a, y / b, z / c
    level = max(x * x + y * y + z * z, 1e-9)
    x, y, z = x / a, y / b, z / c
    slope = max(x * x + y * y + z * z, 1e-9)
    return (level - math.sqrt(level)) / math.sqrt(slope)


@formula
def skull_distance(x, y, z, skull):
    """Signed distance of cranium, jaw, its angles, chin and cheeks; x is |x|."""
    cranium, jaw, chin = skull.cranium, skull.jaw, skull.chin
    angle, cheek = skull.angle_size, skull.cheek_size
    solid = ellipsoid(x, y - 0.28, z + 0.14, cranium.x, cranium.y, cranium.z)
    part = ellipsoid(x, y + 0.36, z - 0.10, jaw.x, jaw.y, jaw.z)
    solid = smooth_min(solid, part, 0.30)
    part = ellipsoid(
        x - skull.angle_x, y - skull.angle_y, z - 0.06, angle, 1.25 * angle, 1.5 * angle
    )
    solid = smooth_min(solid, part, 0.26)
    part = ellipsoid(x, y - skull.chin_y, z - 0.54, chin.x, chin.y, chin.z)
    solid = smooth_min(solid, part, 0.26)
    part = ellipsoid(
        x - skull.cheek_x, y - skull.cheek_y, z - 0.36, cheek, 0.9 * cheek, 1.2 * cheek
    )
    return smooth_min(solid, part, 0.26)


@formula
def ear_distance(x, y, z, skull):
    """Signed distance of an ear, a shell with a bowl cut out; x is |x|."""
    # Ears lean back: their depth is measured along a slanted axis from the middle of the ear.
    lean = z + 0.25 * y + 0.45 * x - (0.45 * skull.ear_x - 0.1125)
    shell = ellipsoid(x - skull.ear_x, y + 0.05, lean, 0.058, 0.25, 0.13)
    bowl = ellipsoid(x - skull.ear_x - 0.052, y + 0.02, lean - 0.07, 0.035, 0.15, 0.07)
    return max(shell, -bowl)


@formula
def head_distance(x, y, z, height, skull):
    """Signed distance of a head whose face has the relief `height` at (x, y)."""
    side = abs(x)
    solid = skull_distance(side, y, z, skull) - height * smoothstep(0.05, 0.40, z)
    return smooth_min(solid, ear_distance(side, y, z, skull), EAR_FILLET)


@formula
def torso_distance(x, y, z, skull):
    """Signed distance of neck and shoulders."""
    lean = z + 0.10 * y + 0.32
    neck = math.sqrt(x * x + lean * lean + 1e-6) - skull.neck_radius
    ends = abs(y + 1.35) - 0.85
    shoulders = ellipsoid(x, y - SHOULDER_Y, z + 0.30, skull.shoulder_width, 0.84, 0.66)
    return smooth_min(max(neck, ends), shoulders, TRAPEZIUS)


LOOPS: dict[type, Callable[..., None]] = {}
"""The type of a solid → the loop that computes its distances."""


def distances(points, count, solid):
    """Signed distances of the first `count` points from a solid, whichever it is."""
    LOOPS[type(solid)](points, count, solid)


@overload(distances)
def _distances(points, count, solid):
    # A loop that is handed over is an address, and code that holds one cannot be kept.
    chosen = LOOPS[solid.instance_class]
    return lambda points, count, solid: chosen(points, count, solid)


@loop
def head_distances(points, count, head):
    """Signed distances of the first `count` points from the head."""
    for i in range(count):
        points.height[i] = at_relief(head.relief, HEIGHT, points.x[i], points.y[i])
    for i in range(count):
        points.distance[i] = head_distance(
            points.x[i], points.y[i], points.z[i], points.height[i], head.skull
        )


@loop
def cautious_head_distances(points, count, head):
    """Signed distances of the first `count` points from the head, scaled."""
    head_distances(points, count, head)
    for i in range(count):
        points.slowness[i] = at_relief(head.relief, SLOWNESS, points.x[i], points.y[i])
    for i in range(count):
        points.distance[i] *= points.slowness[i]


@loop
def occlusions(points, count, head, out):
    """Ambient occlusion of the relief, 1 away from the face."""
    for i in range(count):
        out[i] = at_relief(head.relief, OCCLUSION, points.x[i], points.y[i])
    for i in range(count):
        out[i] = 1.0 + (out[i] - 1.0) * smoothstep(0.05, 0.35, points.z[i])


@loop
def torso_distances(points, count, torso):
    """Signed distances of the first `count` points from neck and shoulders."""
    for i in range(count):
        points.distance[i] = torso_distance(points.x[i], points.y[i], points.z[i], torso.skull)


LOOPS |= {Head: head_distances, CautiousHead: cautious_head_distances, Torso: torso_distances}
