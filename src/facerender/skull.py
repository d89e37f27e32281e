"""The head and the torso as signed distance fields.

The skull is a smooth union of ellipsoids. The face's relief (brow ridge, sockets, nose, lips,
cheeks and folds) is a map of heights, seen from the front, on |x| in [0, 1] and y in [-1.4, 0.95]:
the head's surface is moved by it where it faces forward.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable

import numpy as np
from numba.extending import overload
from numpy import float32

from facerender.anatomy import lip_line
from facerender.compiled import formula, loop
from facerender.maths import blob, box_mean, bump, clamp, exp, mix, power, smooth_min, smoothstep
from facerender.skin import Place, beard_place
from facerender.textures import bilinear

COLUMNS, ROWS = 56, 120
WIDTH = 1.0
BOTTOM, TOP = -1.40, 0.95
HEIGHT, SLOWNESS, OCCLUSION = 0, 1, 2
"""The map's channels: displacement towards the camera; a factor that scales the distance down where
the relief is steep, so that marching does not overshoot; what darkens concave places."""


Map = namedtuple("Map", "x y work")
"""Where the texels are, (ROWS * COLUMNS,), and rows to compute in, (6, ROWS, COLUMNS)."""


def make_map() -> Map:
    """Places of the texels, row by row from the bottom."""
    column, row = np.arange(COLUMNS, dtype=float32), np.arange(ROWS, dtype=float32)
    x = WIDTH * column / float32(COLUMNS - 1)
    y = float32(BOTTOM) + float32(TOP - BOTTOM) * row / float32(ROWS - 1)
    return Map(np.tile(x, ROWS), y.repeat(COLUMNS), np.empty((6, ROWS, COLUMNS), float32))


@formula
def at_relief(relief, channel, x, y):
    """Bilinear sample of a channel at head coordinates."""
    u = min(abs(x), WIDTH) * (float32(COLUMNS - 1) / WIDTH)
    v = clamp((y - BOTTOM) * (float32(ROWS - 1) / (TOP - BOTTOM)), 0.0, float32(ROWS - 1))
    return bilinear(relief[channel], u, v)


@loop
def fill_relief(relief, anatomy, texels):
    """Fill the map of a face, `relief` (3, ROWS, COLUMNS)."""
    heights = relief[HEIGHT].reshape(ROWS * COLUMNS)
    for i in range(ROWS * COLUMNS):
        heights[i] = brow_and_eye_height(texels.x[i], texels.y[i], anatomy)
    for i in range(ROWS * COLUMNS):
        heights[i] += nose_height(texels.x[i], texels.y[i], anatomy)
    for i in range(ROWS * COLUMNS):
        heights[i] += mouth_height(texels.x[i], texels.y[i], anatomy)
    for i in range(ROWS * COLUMNS):
        heights[i] += cheek_height(texels.x[i], texels.y[i], anatomy)
    if anatomy.traits.beard > 0.0:
        for i in range(ROWS * COLUMNS):
            heights[i] += beard_height(texels.x[i], texels.y[i], anatomy)
    _fill_slowness(relief[HEIGHT], relief[SLOWNESS], texels.work)
    _fill_occlusion(relief[HEIGHT], relief[OCCLUSION], texels.work)


@formula
def brow_and_eye_height(x, y, anatomy):
    """Brow ridge, sockets, eyeballs and the hollows below them."""
    traits, eyes = anatomy.traits, anatomy.eyes
    ridge = (0.036 + 0.036 * traits.male) * (1.0 - 0.7 * traits.child)
    height = ridge * blob(y - 0.225, 0.10, x - 0.25, 0.28)
    socket = 0.120 + 0.015 * traits.male - 0.03 * traits.child
    height -= socket * blob(x - eyes.x + 0.02, 0.21, y - eyes.y - 0.02, 0.13)
    across, up = (
        (x - eyes.x) * (1.0 / (eyes.size * 0.95)),
        (y - eyes.y) * (1.0 / (eyes.size * 0.80)),
    )
    ball = 0.110 * exp(-power(across * across + up * up + 1e-12, 1.3))
    bag = 0.012 + 0.028 * traits.old
    hollow = bag * blob(y - eyes.y + 0.135, 0.04, x - eyes.x + 0.03, 0.14)
    return height + ball - hollow


@formula
def nose_height(x, y, anatomy):
    """Bridge, tip, wings and root of the nose."""
    nose = anatomy.nose
    down = clamp((y - nose.root_y) * (1.0 / (nose.base_y - nose.root_y)), 0.0, 1.3)
    # Straight bridge, then the tip stands out; the base turns under over a short distance.
    profile = 0.30 * down + 0.56 * power(down + 1e-12, 1.6) + 0.14 * down**6
    profile = profile if down < 1.0 else 1.0
    profile *= smoothstep(nose.base_y - 0.12, nose.base_y + 0.05, y)
    half_width = mix(0.075, 0.70 * nose.width, smoothstep(0.35, 1.0, down))
    bridge = nose.projection * profile * exp(-min((x / half_width) ** 2, 30.0))
    tip = 0.030 * blob(x, 0.085, y - nose.base_y - 0.05, 0.085)
    wings = blob(x - nose.width * 0.80, nose.width * 0.38, y - nose.base_y - 0.025, 0.068)
    root = 0.030 * blob(x, 0.09, y - nose.root_y, 0.07)
    return bridge + tip + 0.068 * wings - root


@formula
def mouth_height(x, y, anatomy):
    """Lips on their muzzle, the seam between them, the hollows around."""
    mouth = anatomy.mouth
    across = x * (1.0 / mouth.width)
    line = lip_line(mouth, across)
    # Teeth stand in an arch that is flat in front. On a narrow ridge the far half of a turned mouth
    # would be hidden, and the rest would seem to slide towards the cheek.
    muzzle = (0.030 + 0.055 * min(across * across, 2.0)) * blob(across, 1.4, y - mouth.y, 0.20)
    within = smoothstep(1.10, 0.30, across)
    upper = 0.042 * within * bump(y - line - mouth.upper * 0.55, mouth.upper * 0.80)
    lower_y = line - mouth.lower * 0.55 - mouth.opening
    lower = 0.058 * within * bump(y - lower_y, mouth.lower * 0.80)
    seam = bump(y - line + 0.5 * mouth.opening, 0.026 + mouth.opening * 0.4)
    seam *= 0.034 * smoothstep(1.15, 0.8, across)
    philtrum = 0.014 * blob(x, 0.035, y - mouth.y - 0.15, 0.06)
    below = 0.036 * blob(x, 0.24, y - mouth.y + 0.185 + mouth.opening, 0.06)
    corners = 0.018 * blob(x - mouth.width * 1.06, 0.05, y - line, 0.06)
    return muzzle + upper + lower - seam - philtrum - below - corners


@formula
def cheek_height(x, y, anatomy):
    """Apples of the cheeks, the fold from the nose to the mouth, hollow cheeks of age."""
    traits, nose, mouth = anatomy.traits, anatomy.nose, anatomy.mouth
    apple = 0.060 * traits.smile + 0.055 * traits.child
    height = apple * blob(x - 0.40, 0.21, y + 0.34, 0.17)
    down = (y - nose.base_y - 0.02) * (1.0 / (mouth.y - 0.08 - nose.base_y))
    along = nose.width + 0.03 + (0.17 + 0.05 * traits.smile) * down
    crease = bump(x - along, 0.05) * smoothstep(-0.15, 0.3, down) * smoothstep(1.25, 0.8, down)
    depth = 0.004 + 0.024 * traits.smile + 0.024 * traits.old
    hollow = 0.018 * traits.old * blob(x - 0.46, 0.12, y + 0.42, 0.22)
    return height - depth * crease - hollow


@formula
def beard_height(x, y, anatomy):
    """How far a beard stands off the skin."""
    place = Place(x, y, 0.5, x, 1.0, 0.02)
    return 0.055 * anatomy.traits.beard * beard_place(place, anatomy) * smoothstep(-0.1, -0.5, y)


@loop
def _fill_slowness(height, slowness, work):
    """From the steepest slope within four texels."""
    steepness, widened = work[0], work[1]
    by_row, by_column = float32(ROWS - 1) / (TOP - BOTTOM), float32(COLUMNS - 1) / WIDTH
    for row in range(ROWS):
        below, above = max(row - 1, 0), min(row + 1, ROWS - 1)
        rate = by_row / float32(above - below)
        for column in range(COLUMNS):
            slope = (height[above, column] - height[below, column]) * rate
            steepness[row, column] = slope * slope
        for column in range(1, COLUMNS - 1):
            slope = (height[row, column + 1] - height[row, column - 1]) * (0.5 * by_column)
            steepness[row, column] += slope * slope
        first = (height[row, 1] - height[row, 0]) * by_column
        last = (height[row, COLUMNS - 1] - height[row, COLUMNS - 2]) * by_column
        steepness[row, 0] += first * first
        steepness[row, COLUMNS - 1] += last * last
    for row in range(ROWS):
        for column in range(COLUMNS):
            widened[row, column] = 0.0
        for other in range(max(row - 4, 0), min(row + 5, ROWS)):
            for column in range(COLUMNS):
                widened[row, column] = max(widened[row, column], steepness[other, column])
        for column in range(COLUMNS):
            slowness[row, column] = widened[row, column]
        for shift in range(1, 5):
            for column in range(shift, COLUMNS):
                slowness[row, column] = max(slowness[row, column], widened[row, column - shift])
            for column in range(COLUMNS - shift):
                slowness[row, column] = max(slowness[row, column], widened[row, column + shift])
        for column in range(COLUMNS):
            slowness[row, column] = max(1.0 / math.sqrt(1.0 + slowness[row, column]), 0.36)


@loop
def _fill_occlusion(height, occlusion, work):
    """From how far a place lies below its surroundings, at two scales."""
    far, near = work[2], work[3]
    box_mean(height, far, 6, work[4])
    box_mean(height, near, 3, work[4])
    for row in range(ROWS):
        for column in range(COLUMNS):
            deep = max(far[row, column] - height[row, column], 0.0)
            deeper = max(near[row, column] - height[row, column], 0.0)
            occlusion[row, column] = exp(-2.2 * deep - 4.2 * deeper)


EAR_FILLET = 0.10
"""Rounding where the ear grows out of the head."""
SHOULDER_Y = -2.26
"""Middle of the ellipsoid of the shoulders, whose top is the pit of the neck."""
TRAPEZIUS = 0.52
"""Rounding between neck and shoulders: the muscle that slopes from one to the other."""


Head = namedtuple("Head", "skull relief")
"""The solid of a head, in its own frame.

*relief*: (3, rows, columns), see `fill_relief`.
"""


CautiousHead = namedtuple("CautiousHead", "skull relief")
"""A head whose distances are scaled so that steps of their size never cross the relief."""


Torso = namedtuple("Torso", "skull")
"""The solid of neck and shoulders, in the world's frame."""


Points = namedtuple("Points", "x y z distance height slowness")
"""Places, one after the other, and what a solid says about them; arrays (k,).

*distance*: from the solid's surface, negative inside; *height*: of the relief there, while the
distance is computed.
"""


@formula
def ellipsoid(x, y, z, a, b, c):
    """Signed distance of an ellipsoid with radii a, b, c around the origin, to first order.

    With F = sum (p / r)², the distance is (F - sqrt F) / |grad F / 2|.
    """
    a, b, c = 1.0 / a, 1.0 / b, 1.0 / c  # once for all points
    x, y, z = x * a, y * b, z * c
    level = max(x * x + y * y + z * z, 1e-9)
    x, y, z = x * a, y * b, z * c
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
