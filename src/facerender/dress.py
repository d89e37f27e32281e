"""Earrings and glasses; neck and shoulders, below the head and in its shadow."""

from __future__ import annotations

import math
from collections import namedtuple

from numpy import float32, int32, uint8

from facerender.colours import Colour, blend, clothing_colour, dim
from facerender.compiled import formula, loop
from facerender.hair import COVERED
from facerender.maths import Vector, add, at, blob, bump, clamp, dot, mix, put_at, smoothstep
from facerender.rays import (
    CAMERA_DISTANCE,
    CAMERA_HEIGHT,
    HALF_EXTENT,
    coarse_march,
    list_rays,
    mark_near,
    near_rays,
    plane_x,
    plane_y,
    refine,
    soft_edges,
    to_head,
    to_world,
)
from facerender.skull import Torso, head_distances
from facerender.surface import (
    OPAQUE,
    colour_of,
    find_normals,
    normal_of,
    occlude,
    over,
    put,
    set_colour,
    soft_shadows,
    take_hits,
    wrapped,
)

GOLD = Colour(0.83, 0.58, 0.18)
FRAME = Colour(0.030, 0.026, 0.026)
GLARE = Colour(0.9, 0.95, 1.0)
GLASSES_DEPTH = 0.90
"""Depth of the plane of the glasses at the nose, in the head frame."""
GLASSES_WRAP = 0.22
"""How far the frame bends back at the temples."""
GLASSES_REACH = (1.15, 0.85)
"""Half width and height of the part of the view where glasses can be, at any pose."""


Spectacles = namedtuple("Spectacles", "rim frame arm")
"""Distances in the bent plane of a pair of glasses.

*rim*: to the line of the rims; *frame*: to frame and bridge.
"""


@loop
def paint_earrings(portrait, face, view, canvas):
    """A stud and a drop of gold under each ear that no scarf covers."""
    skull, light, pose = portrait.anatomy.skull, portrait.light, portrait.pose
    shown = smoothstep(0.35, 0.6, face.earrings)
    if shown <= 0.0 or face.hair_style == COVERED:
        return
    size = 0.055 + 0.02 * face.earrings
    for side in (-1.0, 1.0):
        lobe = to_world(pose, Vector(side * (skull.ear_x + 0.035), -0.30, -0.02))
        enlarged = CAMERA_DISTANCE / (CAMERA_DISTANCE - lobe.z)
        x = lobe.x * enlarged
        y = (lobe.y - CAMERA_HEIGHT) * enlarged + CAMERA_HEIGHT
        visible = shown * smoothstep(-0.50, -0.25, lobe.z)
        depth = CAMERA_DISTANCE - lobe.z - 0.15
        for row in range(view.size):
            up = plane_y(view, float32(row)) - y
            if abs(up + 0.06) >= 0.2:
                continue
            for column in range(view.size):
                right = plane_x(view, float32(column)) - x
                pixel = row * view.size + column
                if abs(right) < 0.1 and depth < canvas.depth[pixel]:
                    stud, drop = 0.7 * size, size
                    paint_ball(canvas, pixel, right, up, stud, visible, light, view.pixel)
                    paint_ball(canvas, pixel, right, up + 0.11, drop, visible, light, view.pixel)


@formula
def paint_ball(canvas, pixel, right, up, radius, visible, light, width):
    """A lit ball of gold; `right` and `up` are the pixel's offsets from its centre."""
    right, up = right / radius, up / radius
    distance = math.sqrt(right * right + up * up + 1e-9)
    weight = clamp(0.5 - (distance - 1.0) * radius / width, 0.0, 1.0) * visible
    bulge = math.sqrt(max(1.0 - distance * distance, 1e-6))
    lit = right * light.world.x + up * light.world.y + bulge * light.world.z
    shade = 0.9 * light.key * (0.35 + 0.65 * max(lit, 0.0))
    glint = 0.8 * blob(right + 0.35, 0.3, up - 0.35, 0.3)
    colour = Colour(GOLD.red * shade + glint, GOLD.green * shade + glint, GOLD.blue * shade + glint)
    over(canvas, pixel, colour, weight, 1.0)


@loop
def paint_glasses(portrait, face, view, work):
    """Rounded frames on a plane that bends back at the temples, their shadow, and a glare."""
    shown = smoothstep(0.35, 0.6, face.glasses)
    if shown <= 0.0:
        return
    origin, eyes, light = portrait.origin, portrait.anatomy.eyes, portrait.light
    margin = max(int32((HALF_EXTENT - GLASSES_REACH[0]) / view.pixel + 0.5), int32(0))
    for row in range(view.size):
        if abs(plane_y(view, float32(row))) >= GLASSES_REACH[1]:
            continue
        start = row * view.size
        for pixel in range(start + margin, start + view.size - margin):
            on_head, ray = work.coverage[pixel], at(work.tracer.full, pixel)
            paint_glasses_at(work.canvas, pixel, on_head, ray, origin, eyes, light, view, shown)


@formula
def paint_glasses_at(canvas, pixel, on_head, ray, origin, eyes, light, view, shown):
    """Glasses on one pixel, `on_head` to some degree."""
    side = abs(origin.x + (GLASSES_DEPTH - origin.z) / ray.z * ray.x)
    # One correction step onto the bent surface is enough at these curvatures.
    reach = (GLASSES_DEPTH - GLASSES_WRAP * side * side - origin.z) / ray.z
    x, y = origin.x + reach * ray.x, origin.y + reach * ray.y - eyes.y + 0.01
    distances = spectacles(abs(x), y, 1.04 * eyes.x)

    lens = smoothstep(view.pixel, -view.pixel, distances.rim) * shown
    streak = bump(0.7 * x + y - 0.08 - 0.2 * light.world.x, 0.06)
    glare = lens * (0.015 + 0.13 * streak) * on_head
    # The frame's shadow falls a little below it on the face.
    below = distances.frame + 0.02 * (y + 0.045 * light.world.y + 0.03)
    shadow = 0.22 * shown * smoothstep(0.06, 0.0, abs(below)) * on_head
    passed = 1.0 - shadow - 0.05 * lens
    tinted = Colour(
        canvas.red[pixel] * passed + glare * GLARE.red,
        canvas.green[pixel] * passed + glare * GLARE.green,
        canvas.blue[pixel] * passed + glare * GLARE.blue,
    )
    weight = clamp(0.5 - distances.frame / view.pixel, 0.0, 1.0) * (0.8 + 0.2 * on_head)
    arm = clamp(0.5 - distances.arm / view.pixel, 0.0, 1.0) * smoothstep(0.4, 0.9, on_head)
    sheen = 0.22 * light.key * bump(distances.rim + 0.006, 0.012) * smoothstep(-0.02, 0.12, y)
    colour = Colour(FRAME.red + sheen, FRAME.green + sheen, FRAME.blue + sheen)
    weight = max(weight, arm) * shown
    put(canvas, pixel, blend(tinted, colour, weight))
    canvas.head[pixel] = mix(canvas.head[pixel], 1.0, weight)


@formula
def spectacles(side, y, centre):
    """Signed distances in the plane of the glasses; `centre` is the middle of a lens."""
    across, up = abs(side - centre) - 0.13, abs(y + 0.015 * (side - centre)) - 0.08
    beside, above = max(across, 0.0), max(up, 0.0)
    outside = math.sqrt(beside * beside + above * above + 1e-9)
    rim = outside + min(max(across, up), 0.0) - 0.11
    arch = y - 0.055 - 0.03 * (1.0 - (side / 0.09) ** 2)
    bridge = max(abs(arch) - 0.014, side - 0.09)
    # The frame is heavier on top, as most are.
    frame = min(abs(rim) - (0.017 + 0.010 * smoothstep(0.0, 0.12, y)), bridge)
    ends = max(centre + 0.22 - side, side - 0.84)
    return Spectacles(rim, frame, max(abs(y - 0.06) - 0.018, ends))


NORMAL_STEP = 0.02
ABOVE = Vector(0.0, 0.10, 0.12)
"""From a place on the neck to where the jaw's nearness tells how much sky the place sees."""


@loop
def paint_torso(portrait, face, view, work):
    """Paint neck and shoulders where the head does not hide them."""
    tracer, torso = work.tracer, Torso(portrait.anatomy.skull)
    origin, start = Vector(0.0, CAMERA_HEIGHT, CAMERA_DISTANCE), CAMERA_DISTANCE - 1.0
    coarse_march(tracer, tracer.coarse_world, origin, torso, start, 9, 1.0)
    near_rays(tracer.found, view)
    mark_near(tracer.squares, view, work.wanted)
    for pixel in range(view.size * view.size):
        work.wanted[pixel] = uint8(0) if work.coverage[pixel] > OPAQUE else work.wanted[pixel]
    count = list_rays(tracer, tracer.world, work.wanted, view, 1.0)
    refine(tracer, count, origin, torso, 5, 0, 1.0)
    hits = work.hits
    kept = take_hits(hits, tracer.rays, tracer.points, count, soft_edges(view.pixel))
    find_normals(hits, kept, tracer.points, torso, NORMAL_STEP)
    shade_torso(hits, work.part, kept, tracer.points, portrait)
    light, skin, clothing = portrait.light, portrait.skin, clothing_colour(face)
    for i in range(kept):
        point, normal, shadow, room = at(hits, i), normal_of(hits, i), hits.shadow[i], hits.noise[i]
        lit = torso_light(point, normal, face, light, skin, clothing, shadow, room, view.pixel)
        set_colour(hits, i, lit)
    for i in range(kept):
        over(work.canvas, hits.pixel[i], colour_of(hits, i), hits.opacity[i], 0.0)
        occlude(work.canvas, hits.pixel[i], hits.distance[i], hits.opacity[i])


@loop
def shade_torso(hits, part, count, points, portrait):
    """What the head leaves of the light: in `shadow` of the key light; in `noise` the room above.

    `part` takes the places in the head's frame, where the head's distances hold.
    """
    for i in range(count):
        put_at(part, i, to_head(portrait.pose, at(hits, i)))
    head, light = portrait.head, portrait.light
    soft_shadows(part, count, points, head, light, hits.shadow)
    for i in range(count):
        put_at(points, i, add(at(part, i), ABOVE))
    head_distances(points, count, head)
    for i in range(count):
        hits.noise[i] = points.distance[i]


@formula
def torso_light(point, normal, face, light, skin, clothing, shadow, clearance, pixel):
    """Linear-light colour of neck and clothes.

    `shadow` is what passes the head of the key light, `clearance` the room between there and jaw.
    """
    x, y, side = point.x, point.y, abs(point.x)
    toward_light = dot(normal, light.world)
    open_sky = mix(0.38, 1.0, smoothstep(-0.10, 0.42, clearance))
    sky = light.ambient * (0.7 + 0.3 * normal.y) * open_sky
    key = light.key * shadow * (0.35 + 0.65 * open_sky)
    # Two cords run from behind the ears to the pit of the neck, with hollows beside them.
    cord = 0.10 + 0.75 * max(y + 1.50, 0.0)
    hollows = 0.10 * bump(side - cord - 0.07, 0.06)
    hollows += 0.16 * blob(x, 0.08, y + 1.47, 0.08)
    muscles = 1.0 - hollows * smoothstep(-1.05, -1.25, y)
    # What reflects at the surface, without which a dark neck is redder than its face.
    haze = 0.008 * clamp(1.0 - 2.2 * skin.green, 0.0, 1.0)
    skin = Colour(skin.red + haze, skin.green + haze, skin.blue + haze)
    neck = Colour(
        skin.red * (key * wrapped(toward_light, 0.38) + sky) * muscles,
        skin.green * (key * wrapped(toward_light, 0.22) + sky) * muscles,
        skin.blue * (key * wrapped(toward_light, 0.17) + sky) * muscles,
    )
    neckline = -1.60 + 0.36 * (x / 0.62) ** 2 - 0.08 * (1.0 - face.gender) * bump(x, 0.3)
    cloth = smoothstep(0.7 * pixel, -0.7 * pixel, y - neckline)
    seam = 1.0 - 0.25 * bump(y - neckline + 0.075, 0.012)
    collar = (1.0 - 0.30 * bump(y - neckline, 0.03) * cloth) * seam
    on_neck = 1.0 - 0.30 * smoothstep(0.09, 0.0, y - neckline)
    shade = (key * wrapped(toward_light, 0.15) + sky) * collar
    return blend(dim(neck, on_neck), dim(clothing, shade), cloth)
