"""Neck and shoulders as a layer of a portrait: below the head, and in its shadow."""

from __future__ import annotations

from numpy import uint8

from facerender.camera import CAMERA_DISTANCE, CAMERA_HEIGHT, to_head
from facerender.colours import clothing_colour
from facerender.compiled import loop
from facerender.geometry import Torso, head_distances
from facerender.marching import (
    coarse_march,
    list_rays,
    mark_near,
    near_rays,
    refine,
    soft_edges,
)
from facerender.maths import Vector
from facerender.shading import soft_shadows, torso_light
from facerender.surface import (
    OPAQUE,
    colour_of,
    find_normals,
    normal_of,
    occlude,
    over,
    point_of,
    set_colour,
    take_hits,
)

NORMAL_STEP = 0.02
ABOVE = Vector(0.0, 0.10, 0.12)
"""From a place on the neck to where the jaw's nearness tells how much sky the place sees."""


@loop
def paint_torso(portrait, face, view, work):
    """Paint neck and shoulders where the head does not hide them."""
    tracer, torso, light = work.tracer, Torso(portrait.anatomy.skull), portrait.light
    origin, start = Vector(0.0, CAMERA_HEIGHT, CAMERA_DISTANCE), CAMERA_DISTANCE - 1.0
    coarse_march(tracer, tracer.coarse_world, origin, torso, start, 9, 1.0)
    near_rays(tracer.found, view)
    mark_near(tracer.found, view, work.wanted)
    for pixel in range(view.size * view.size):
        work.wanted[pixel] = uint8(0) if work.coverage[pixel] > OPAQUE else work.wanted[pixel]
    count = list_rays(tracer, tracer.world, work.wanted, view, 1.0)
    refine(tracer, count, origin, torso, 5, 0, 1.0)
    hits = work.hits
    kept = take_hits(hits, tracer.rays, tracer.points, count, soft_edges(view.pixel))
    find_normals(hits, kept, tracer.points, torso, NORMAL_STEP)
    shade_torso(hits, work.part, kept, tracer.points, portrait)
    clothing = clothing_colour(face)
    for i in range(kept):
        lit = torso_light(
            point_of(hits, i),
            normal_of(hits, i),
            face,
            light,
            portrait.skin,
            clothing,
            hits.shadow[i],
            hits.noise[i],
            view.pixel,
        )
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
        place = to_head(portrait.pose, point_of(hits, i))
        part.x[i], part.y[i], part.z[i] = place.x, place.y, place.z
    head, light = portrait.head, portrait.light
    soft_shadows(part.x, part.y, part.z, count, points, head, light, hits.shadow)
    for i in range(count):
        points.x[i], points.y[i] = part.x[i], part.y[i] + ABOVE.y
        points.z[i] = part.z[i] + ABOVE.z
    head_distances(points, count, head)
    for i in range(count):
        hits.noise[i] = points.distance[i]
