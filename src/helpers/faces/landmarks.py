"""Projected facial landmarks: three-dimensional points on the head, in pixels."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.faces.anatomy import Anatomy
from helpers.faces.camera import Pose, Rays, project
from helpers.faces.geometry import Head

_PAIRED = (
    "eye_inner",
    "eye_outer",
    "eye_centre",
    "brow_inner",
    "brow_outer",
    "nose_wing",
    "mouth_corner",
    "jaw",
    "cheekbone",
    "ear",
    "temple",
)
_SINGLE = (
    "nose_root",
    "nose_bridge",
    "nose_tip",
    "upper_lip",
    "lower_lip",
    "chin",
    "forehead",
)
LANDMARK_NAMES: tuple[str, ...] = _SINGLE + tuple(
    f"{name}_{side}" for name in _PAIRED for side in ("left", "right")
)
"""Points of `Rendering.landmarks`; left and right are the image's, for a head facing the camera.

Serves no chapter yet; tests hold the renderer to them."""

_MARCH_STEPS = 7


def landmark_points(head: Anatomy, field: Head) -> tuple[Tensor, Tensor, Tensor]:
    """Head coordinates (n, L) of the landmarks, on the surface."""
    eyes, nose, mouth, skull = head.eyes, head.nose, head.mouth, head.skull
    one, zero = torch.ones_like(eyes.x), torch.zeros_like(eyes.x)
    reach = 0.95 * eyes.size
    lift = eyes.tilt * reach
    centre = {
        "nose_root": nose.root_y,
        "nose_bridge": (nose.root_y + nose.base_y) / 2,
        "nose_tip": nose.base_y + 0.06,
        "upper_lip": mouth.y + mouth.upper,
        "lower_lip": mouth.y - mouth.opening - mouth.lower,
        "chin": skull.chin_y - 0.02,
        "forehead": 0.62 * one,
    }
    paired = {
        "eye_inner": (eyes.x - reach, eyes.y - lift),
        "eye_outer": (eyes.x + reach, eyes.y + lift),
        "eye_centre": (eyes.x, eyes.y),
        "brow_inner": (eyes.x - 0.20, eyes.brow_y - 0.02),
        "brow_outer": (eyes.x + 0.20, eyes.brow_y - 0.02),
        "nose_wing": (nose.width, nose.base_y + 0.02),
        "mouth_corner": (mouth.width, mouth.line(one)),
        "jaw": (skull.angle_x + 0.05, skull.angle_y),
        "cheekbone": (skull.cheek_x, skull.cheek_y),
    }
    x = [zero] * len(centre) + [s * px for px, _ in paired.values() for s in (-1, 1)]
    y = list(centre.values()) + [py for _, py in paired.values() for _ in (-1, 1)]
    frontal = _onto_surface(field, torch.cat(x, 1), torch.cat(y, 1))
    # Ears and temples lie on the side: their depth is anatomy, not the front surface.
    side_x = torch.cat([-skull.ear_x, skull.ear_x, -0.92 * skull.ear_x, 0.92 * skull.ear_x], 1)
    side_y = torch.cat([-0.04 * one, -0.04 * one, 0.25 * one, 0.25 * one], 1)
    side_z = torch.cat([-0.10 * one, -0.10 * one, 0.22 * one, 0.22 * one], 1)
    side = (side_x, side_y, side_z)
    return tuple(torch.cat([a, b], 1) for a, b in zip(frontal, side, strict=True))


def _onto_surface(field: Head, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """March straight backwards from in front of the face."""
    zero = torch.zeros_like(x)
    rays = Rays((x, y, zero + 1.3), (zero, zero, zero - 1))
    distance = zero
    for _ in range(_MARCH_STEPS):
        distance = distance + 0.9 * field.cautious(*rays.at(distance)).clamp(-0.3, 0.5)
    return rays.at(distance)


def landmarks(head: Anatomy, field: Head, pose: Pose, size: int) -> Tensor:
    """Pixel coordinates (n, L, 2), x right and y down, in the order of `LANDMARK_NAMES`."""
    return project(pose.to_world(landmark_points(head, field)), size)
