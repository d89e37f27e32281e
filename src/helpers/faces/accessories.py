"""Earrings and glasses."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.faces.anatomy import Anatomy, Columns
from helpers.faces.camera import CAMERA_DISTANCE, CAMERA_HEIGHT, Light, Pose
from helpers.faces.canvas import Canvas
from helpers.faces.colours import constant
from helpers.faces.marching import PixelList, View, list_pixels
from helpers.faces.maths import bump, smoothstep
from helpers.faces.parameters import HAIR_STYLES, hair_styles

GLASSES_DEPTH = 0.90
"""Depth of the plane of the glasses at the nose, in the head frame."""
GLASSES_WRAP = 0.22
"""How far the frame bends back at the temples."""
GLASSES_REACH = (1.15, 0.85)
"""Half width and height of the part of the view where glasses can be, at any pose."""


def paint_earrings(
    canvas: Canvas, head: Anatomy, columns: Columns, light: Light, pose: Pose, view: View
) -> None:
    """A stud and a drop of gold under each ear that no scarf covers."""
    bare = hair_styles(columns.parameters) != HAIR_STYLES.index("covered")
    shown = smoothstep(0.35, 0.6, columns("earrings")) * bare[:, None]
    size = 0.055 + 0.02 * columns("earrings")
    for side in (-1, 1):
        lobe = (side * (head.skull.ear_x + 0.035), -0.30, -0.02 + 0 * size)
        x, y, z = pose.to_world(lobe)
        enlarge = CAMERA_DISTANCE / (CAMERA_DISTANCE - z)
        x, y = x * enlarge, (y - CAMERA_HEIGHT) * enlarge + CAMERA_HEIGHT
        near = ((view.x - x).abs() < 0.1) & ((view.y - y + 0.06).abs() < 0.2) & (shown > 0)
        if not bool(near.any()):
            continue
        listed = list_pixels(near)
        right, up = listed.gather(view.x) - x, listed.gather(view.y) - y
        in_front = CAMERA_DISTANCE - z < listed.gather(canvas.depth) + 0.15
        visible = shown * in_front * smoothstep(-0.50, -0.25, z)
        _gold_ball(canvas, listed, right, up, 0.7 * size, visible, light, view.pixel)
        _gold_ball(canvas, listed, right, up + 0.11, size, visible, light, view.pixel)


def _gold_ball(
    canvas: Canvas,
    listed: PixelList,
    right: Tensor,
    up: Tensor,
    radius: Tensor,
    visible: Tensor,
    light: Light,
    pixel: float,
) -> None:
    """A lit ball; `right` and `up` are the offsets of the listed pixels from its centre."""
    right, up = right / radius, up / radius
    distance = torch.sqrt(right * right + up * up + 1e-9)
    weight = (0.5 - (distance - 1) * radius / pixel).clamp(0, 1) * visible
    bulge = (1 - distance * distance).clamp_min(1e-6).sqrt()
    lit = right * light.world[0] + up * light.world[1] + bulge * light.world[2]
    shade = 0.9 * light.key * (0.35 + 0.65 * lit.clamp_min(0))
    glint = 0.8 * bump((right + 0.35) / 0.3) * bump((up - 0.35) / 0.3)
    gold = constant((0.83, 0.58, 0.18), shade.device) * shade[:, None] + glint[:, None]
    canvas.over(listed, gold, weight, head=1.0)


def paint_glasses(
    canvas: Canvas, head_coverage: Tensor, head: Anatomy, columns: Columns, light: Light, view: View
) -> None:
    """Rounded frames on a plane that bends back at the temples, their shadow, and a glare."""
    shown = smoothstep(0.35, 0.6, columns("glasses"))
    reach = (view.x.abs() < GLASSES_REACH[0]) & (view.y.abs() < GLASSES_REACH[1])
    if not bool((shown > 0).any()):
        return
    listed = list_pixels(reach & (shown > 0))
    on_head = listed.gather(head_coverage)
    rays = view.head.take(listed.index)
    start = (GLASSES_DEPTH - rays.origin[2]) / rays.direction[2]
    side = (rays.origin[0] + start * rays.direction[0]).abs()
    # One correction step onto the bent surface is enough at these curvatures.
    depth = GLASSES_DEPTH - GLASSES_WRAP * side * side
    x, y, _ = rays.at((depth - rays.origin[2]) / rays.direction[2])
    y, side = y - head.eyes.y + 0.01, x.abs()
    rim, frame, temple = _frame_distances(side, y, 1.04 * head.eyes.x)

    lens = smoothstep(view.pixel, -view.pixel, rim) * shown
    streak = bump((0.7 * x + y - 0.08 - 0.2 * light.world[0]) / 0.06)
    glare = lens * (0.015 + 0.13 * streak) * on_head
    # The frame's shadow falls a little below it on the face.
    below = frame + 0.02 * (y + 0.045 * light.world[1] + 0.03)
    shadow = 0.22 * shown * smoothstep(0.06, 0.0, below.abs()) * on_head
    white = constant((0.9, 0.95, 1.0), x.device)
    canvas.tint(listed, 1 - shadow - 0.05 * lens, glare[:, None] * white)

    weight = (0.5 - frame / view.pixel).clamp(0, 1) * (0.8 + 0.2 * on_head)
    arm = (0.5 - temple / view.pixel).clamp(0, 1) * smoothstep(0.4, 0.9, on_head)
    sheen = 0.22 * light.key * bump((rim + 0.006) / 0.012) * smoothstep(-0.02, 0.12, y)
    colour = constant((0.030, 0.026, 0.026), x.device) + sheen[:, None]
    canvas.over(listed, colour, torch.maximum(weight, arm) * shown, head=1.0)


def _frame_distances(side: Tensor, y: Tensor, centre: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Signed distances in the plane of the glasses: to the rims' line, to frame and bridge, to
    the arms. `side` is |x|, `centre` the middle of a lens."""
    across, up = (side - centre).abs() - 0.13, (y + 0.015 * (side - centre)).abs() - 0.08
    outside = torch.sqrt(across.clamp_min(0) ** 2 + up.clamp_min(0) ** 2 + 1e-9)
    rim = outside + torch.maximum(across, up).clamp_max(0) - 0.11
    arch = y - 0.055 - 0.03 * (1 - (side / 0.09) ** 2)
    bridge = torch.maximum(arch.abs() - 0.014, side - 0.09)
    # The frame is heavier on top, as most are.
    frame = torch.minimum(rim.abs() - (0.017 + 0.010 * smoothstep(0.0, 0.12, y)), bridge)
    ends = torch.maximum(centre + 0.22 - side, side - 0.84)
    return rim, frame, torch.maximum((y - 0.06).abs() - 0.018, ends)
