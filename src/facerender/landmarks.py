"""Projected facial landmarks: three-dimensional points on the head, in pixels."""

from __future__ import annotations

from collections import namedtuple

from facerender.anatomy import lip_line
from facerender.compiled import loop
from facerender.maths import at, clamp
from facerender.rays import project, to_world
from facerender.skull import cautious_head_distances

Paired = namedtuple(
    "Paired",
    "eye_inner eye_outer eye_centre brow_inner brow_outer nose_wing mouth_corner jaw cheekbone ear "
    "temple",
)
"""Points on both sides of the head: (x, y, z) on the image's right."""
Single = namedtuple("Single", "nose_root nose_bridge nose_tip upper_lip lower_lip chin forehead")
"""Points in the middle of the face: their height."""
LANDMARK_NAMES: tuple[str, ...] = (
    *Single._fields,
    *(f"{name}_{side}" for name in Paired._fields for side in ("left", "right")),
)
"""Points of `Rendering.landmarks`; left and right are the image's, for a head facing the camera."""

FRONTAL = len(Single._fields) + 2 * Paired._fields.index("ear")
"""So many of them lie on the face; the others, at the sides, have depths of their own."""
_MARCH_STEPS = 7


@loop
def place_landmarks(points, anatomy):
    """Head coordinates of the landmarks; those of the face have no depth yet."""
    eyes, nose, mouth, skull = anatomy.eyes, anatomy.nose, anatomy.mouth, anatomy.skull
    reach = 0.95 * eyes.size
    lift = eyes.tilt * reach
    single = Single(
        nose.root_y,
        0.5 * (nose.root_y + nose.base_y),
        nose.base_y + 0.06,
        mouth.y + mouth.upper,
        mouth.y - mouth.opening - mouth.lower,
        skull.chin_y - 0.02,
        0.62,
    )
    paired = Paired(
        (eyes.x - reach, eyes.y - lift, 1.3),
        (eyes.x + reach, eyes.y + lift, 1.3),
        (eyes.x, eyes.y, 1.3),
        (eyes.x - 0.20, eyes.brow_y - 0.02, 1.3),
        (eyes.x + 0.20, eyes.brow_y - 0.02, 1.3),
        (nose.width, nose.base_y + 0.02, 1.3),
        (mouth.width, lip_line(mouth, 1.0), 1.3),
        (skull.angle_x + 0.05, skull.angle_y, 1.3),
        (skull.cheek_x, skull.cheek_y, 1.3),
        (skull.ear_x, -0.04, -0.10),
        (0.92 * skull.ear_x, 0.25, 0.22),
    )
    for i in range(len(single)):
        points.x[i], points.y[i], points.z[i] = 0.0, single[i], 1.3
    for i in range(len(paired)):
        x, y, z = paired[i]
        left, right = len(single) + 2 * i, len(single) + 2 * i + 1
        points.x[left], points.y[left], points.z[left] = -x, y, z
        points.x[right], points.y[right], points.z[right] = x, y, z


@loop
def find_landmarks(points, anatomy, head, pose, view, places):
    """Fill `places` (L, 2) with pixel coordinates, x right and y down."""
    place_landmarks(points, anatomy)
    # March straight backwards from in front of the face.
    for _ in range(_MARCH_STEPS):
        cautious_head_distances(points, FRONTAL, head)
        for i in range(FRONTAL):
            points.z[i] -= 0.9 * clamp(points.distance[i], -0.3, 0.5)
    for i in range(len(places)):
        places[i, 0], places[i, 1] = project(view, to_world(pose, at(points, i)))
