"""Parameters to images, head masks and landmarks: the layers of a portrait, back to front."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as functional
from torch import Tensor

from helpers.faces.accessories import paint_earrings, paint_glasses
from helpers.faces.anatomy import Anatomy, Columns, anatomy
from helpers.faces.artefacts import add_artefacts
from helpers.faces.camera import (
    CAMERA_DISTANCE,
    CAMERA_HEIGHT,
    HALF_EXTENT,
    Light,
    Pose,
    make_light,
)
from helpers.faces.canvas import Canvas
from helpers.faces.colours import hair_colour, to_srgb, tone_map
from helpers.faces.geometry import Head, Torso, face_relief
from helpers.faces.hair import Hair, far_hair, near_hair, scalp_stubble, shadow_on_head
from helpers.faces.landmarks import landmarks
from helpers.faces.marching import Hit, View, coarse_march, list_pixels, near_mask, refine
from helpers.faces.parameters import validate
from helpers.faces.shading import (
    background,
    light_head,
    light_torso,
    paint_head,
    skin_albedo,
    soft_shadow,
)
from helpers.utils.checks import check_whole

OPAQUE = 0.999
"""What lies behind a layer of more opacity than this is not computed."""
HAIR_SLACK = 0.35
"""Hair is shown although it lies this far behind what it grows on."""


@dataclass(frozen=True)
class Rendering:
    """A batch of portraits, as `render` returns it.

    Serves chapter 06.

    Attributes:
        image: float (n, 3, size, size) in [0, 1].
        head_mask: float (n, size, size), 1 on the head, 0 elsewhere.
        landmarks: places on the face in pixels, (n, L, 2), in the order of `LANDMARK_NAMES`.

    Example:
        >>> from helpers import faces
        >>> faces.render(faces.defaults(), 16).landmarks.shape[0]
        1
    """

    image: Tensor
    """(n, 3, size, size) float32 sRGB in [0, 1]."""
    head_mask: Tensor
    """(n, size, size) in [0, 1]: head, ears, hair, headwear; not neck, torso, background."""
    landmarks: Tensor
    """(n, L, 2) pixel x (right) and y (down), in the order of `landmarks.LANDMARK_NAMES`."""


@dataclass(frozen=True)
class _Scene:
    """What the layers of a batch share."""

    columns: Columns
    pose: Pose
    head: Anatomy
    field: Head
    hair: Hair
    light: Light
    skin: Tensor
    view: View


@torch.no_grad()
def render(parameters: Tensor, size: int, supersampling: int = 1) -> Rendering:
    """Render faces on the device of `parameters`.

    Introduced in chapter 06; chapter 01 renders whole sets by `batches.render_to_store`.

    Args:
        parameters: float tensor (n, P), columns as in `parameters.PARAMETERS`.
        size: side of the images in pixels, at least 16.
        supersampling: renders at `supersampling * size` and averages.

    Returns:
        Images (n, 3, size, size), head masks (n, size, size) and landmarks (n, L, 2) in pixels.

    Raises:
        ValueError: on a wrong shape or type or on no rows, on non-finite or out-of-range values
            (naming the parameter and the row), and on a size or supersampling that is not an
            integer or is too small.

    Example:
        >>> from helpers import faces
        >>> tuple(faces.render(faces.defaults(2), 16).image.shape)
        (2, 3, 16, 16)
    """
    validate(parameters)
    if len(parameters) == 0:
        raise ValueError("render: expected at least one row of parameters, got none")
    for name, value, least in (("size", size, 16), ("supersampling", supersampling, 1)):
        check_whole(name, value, least)
    scene = _set_scene(Columns(parameters.float()), size * supersampling)
    pixels = _paint(scene).pixels.reshape(len(parameters), 4, scene.view.size, scene.view.size)
    linear, mask = tone_map(pixels[:, :3].clamp_min(0)), pixels[:, 3]
    if supersampling > 1:
        linear = functional.avg_pool2d(linear, supersampling)
        mask = functional.avg_pool2d(mask, supersampling)
    columns = scene.columns
    image = add_artefacts(to_srgb(linear), columns("artefacts"), columns("texture_seed"))
    points = landmarks(scene.head, scene.field, scene.pose, size)
    return Rendering(image, mask.clamp(0, 1), points)


def _set_scene(columns: Columns, size: int) -> _Scene:
    pose = Pose(columns("yaw"), columns("pitch"))
    view = View(pose, size, columns.parameters.device)
    head = anatomy(columns)
    angles = (columns("light_azimuth"), columns("light_elevation"), columns("light_power"))
    return _Scene(
        columns,
        pose,
        head,
        Head(head, face_relief(head)),
        Hair(columns, head, view.pixel),
        make_light(*angles, pose),
        skin_albedo(columns),
        view,
    )


def _paint(scene: _Scene) -> Canvas:
    columns, light, view = scene.columns, scene.light, scene.view
    canvas = Canvas(background(view.x, view.y - CAMERA_HEIGHT, columns, light, HALF_EXTENT))

    # The head and the hair in front of it first: what they hide need not be computed.
    head_hit, shadow = _trace_head(scene)
    head_coverage, head_depth = torch.zeros_like(canvas.depth), canvas.depth.clone()
    head_coverage.scatter_(1, head_hit.pixels.index, head_hit.coverage)
    head_depth.scatter_(1, head_hit.pixels.index, head_hit.distance)
    hidden = head_coverage > OPAQUE
    near, around = _trace_near_hair(scene)
    hair, hair_opacity = near_hair(near, scene.hair, light)
    in_front = near.distance < near.pixels.gather(head_depth) + HAIR_SLACK
    covered = torch.zeros_like(hidden)
    covered.scatter_(1, near.pixels.index, (hair_opacity > OPAQUE) & in_front)

    far = _trace_far_hair(scene, around & ~(hidden | covered))
    canvas.over(far.pixels, *far_hair(far, scene.hair, light), head=1.0)
    _paint_torso(canvas, scene, hidden)
    _paint_head(canvas, scene, head_hit, shadow, covered)
    paint_earrings(canvas, scene.head, columns, light, scene.pose, view)
    paint_glasses(canvas, head_coverage, scene.head, columns, light, view)
    hair_opacity = hair_opacity * canvas.visible(near, HAIR_SLACK)
    canvas.over(near.pixels, hair, hair_opacity, head=1.0)
    return canvas


def _trace_head(scene: _Scene) -> tuple[Hit, Tensor]:
    """Hits on the head, and the light that reaches them, traced at half resolution."""
    view, field = scene.view, scene.field
    rays, coarse = view.rays(in_head_frame=True)
    start = torch.full_like(coarse.direction[0], CAMERA_DISTANCE - 1.5)
    distance, nearest = coarse_march(field.cautious, coarse, start, steps=12)
    pixels = list_pixels(near_mask(view, nearest))
    hit = refine(field.cautious, view, rays, pixels, distance, steps=5, settle=3)

    close = list_pixels(nearest < 0.1)
    points = coarse.take(close.index).at(close.gather(distance))
    shadow = torch.ones_like(distance)
    shadow = shadow.scatter(1, close.index, soft_shadow(field, points, scene.light))
    return hit, pixels.gather(view.upsample(shadow))


def _trace_near_hair(scene: _Scene) -> tuple[Hit, Tensor]:
    """Hits on the near side of the hair shell, where it is not cut away for the face.

    Also a mask (n, size²) of all pixels that pass close to the shell.
    """
    view, hair = scene.view, scene.hair
    rays, coarse = view.rays(in_head_frame=True)
    start = torch.full_like(coarse.direction[0], CAMERA_DISTANCE - 1.8)
    distance, nearest = coarse_march(hair, coarse, start, steps=9)
    listed = list_pixels(near_mask(view, nearest, hair.grows(coarse.at(distance), nearest)))
    hit = refine(hair, view, rays, listed, distance, steps=5, settle=2)
    return hit, near_mask(view, nearest, hair.present)


def _trace_far_hair(scene: _Scene, wanted: Tensor) -> Hit:
    """Hits on the far side of the hair shell for a mask (n, size²) of pixels."""
    view, hair = scene.view, scene.hair
    rays, coarse = view.rays(in_head_frame=True)
    start = torch.full_like(coarse.direction[0], CAMERA_DISTANCE + 1.9)
    distance, _ = coarse_march(hair, coarse, start, steps=8, direction=-1)
    return refine(hair, view, rays, list_pixels(wanted), distance, 4, settle=1, direction=-1)


def _paint_torso(canvas: Canvas, scene: _Scene, hidden: Tensor) -> None:
    view, torso = scene.view, Torso(scene.head)
    rays, coarse = view.rays(in_head_frame=False)
    shape = (len(hidden), coarse.direction[0].shape[1])
    start = torch.full(shape, CAMERA_DISTANCE - 1.0, device=hidden.device)
    distance, nearest = coarse_march(torso, coarse, start, steps=9)
    listed = list_pixels(near_mask(view, nearest) & ~hidden)
    hit = refine(torso, view, rays, listed, distance, steps=5)
    colour = light_torso(hit, torso, scene.columns, scene.light, scene.skin, view.pixel)
    canvas.over(listed, colour, hit.coverage, head=0.0)
    canvas.occlude(listed, hit.distance, hit.coverage)


def _paint_head(canvas: Canvas, scene: _Scene, hit: Hit, shadow: Tensor, covered: Tensor) -> None:
    """Paint the head where no hair covers it; its depth counts everywhere."""
    opacity = hit.coverage * canvas.visible(hit, 0.02)
    canvas.occlude(hit.pixels, hit.distance, opacity)
    few = list_pixels((opacity > 0) & ~hit.pixels.gather(covered))
    hit, shadow, opacity = hit.part(few), few.gather(shadow), few.gather(opacity)
    columns, light, hair = scene.columns, scene.light, scene.hair
    surface = paint_head(hit, scene.head, columns, light, scene.skin, scene.view.pixel)
    stubble = hair_colour(columns("hair_colour"), columns("age"))
    surface.cover(stubble, scalp_stubble(hair, hit.point))
    hair_shadow = shadow_on_head(hair, hit.point)
    colour = light_head(surface, hit, scene.field, light, shadow, hair_shadow)
    canvas.over(hit.pixels, colour, opacity, head=1.0)
