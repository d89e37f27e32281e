"""Portraits, drawn layer by layer: records of faces to images, head masks and landmarks."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
from numpy import float32, int32, uint8

from facerender.anatomy import anatomy
from facerender.artefacts import Spoiler, spoil
from facerender.colours import hair_colour, to_srgb, tone_map
from facerender.compiled import loop, program
from facerender.dress import paint_earrings, paint_glasses, paint_torso
from facerender.hair import (
    EDGE_MARGIN,
    hair_edges,
    inside_hairline,
    make_hair,
    shade_far_hair,
    shade_near_hair,
)
from facerender.heads import paint_head
from facerender.landmarks import find_landmarks
from facerender.maths import Vector, along, at, put_at
from facerender.rays import (
    CAMERA_DISTANCE,
    CAMERA_HEIGHT,
    FAR,
    HALF_EXTENT,
    MISS_MARGIN,
    SETTLED,
    UNTURNED,
    Coarse,
    Directions,
    Rays,
    Tracer,
    View,
    coarse_march,
    coverage,
    head_pose,
    list_rays,
    make_light,
    mark_near,
    near_rays,
    plane_x,
    plane_y,
    point_directions,
    refine,
    soft_edges,
    to_head,
)
from facerender.skin import skin_albedo
from facerender.skull import COLUMNS, ROWS, CautiousHead, Head, Points, fill_relief, make_map
from facerender.surface import (
    OPAQUE,
    Canvas,
    Hits,
    backdrop,
    colour_of,
    over,
    put,
    soft_shadows,
    take,
    take_hits,
    wall_colour,
)

HAIR_SLACK = 0.35
"""Hair is shown although it lies this far behind what it grows on."""
SHADED = 0.1
"""Coarse rays that pass the head this closely have a shadow."""


Portrait = namedtuple("Portrait", "anatomy head hair pose light skin hair_colour origin")
"""What the layers of a portrait share.

*origin*: the camera in the head's frame.
"""


Work = namedtuple(
    "Work",
    "tracer texels relief canvas hits part hair coverage depth shadow covered wanted "
    "near_hair spoiler",
)
"""Room to draw in; arrays have one element per pixel where nothing else is said.

*relief*: (3, ROWS, COLUMNS); *hair*: the near side of the hair, kept until all below is painted;
*coverage*: by the head; *depth*: of the head; *shadow*: light on the head past the head, one
element per coarse ray; *covered*: 1 where hair hides what is below, uint8; *wanted*: 1 where a
layer may be seen, uint8; *near_hair*: 1 near the hair's shell, uint8.
"""


def make_work(size: int, supersampling: int) -> Work:
    """Room to draw an image in."""
    fine = size * supersampling
    side = (fine + 1) // 2
    full, half = fine * fine, side * side
    count = max(full, half)

    def rows(kind, *shape):
        return kind(*np.empty((len(kind._fields), *shape), float32))

    def listed(kind):
        return kind(np.empty(count, int32), *np.empty((len(kind._fields) - 1, count), float32))

    directions = (rows(Directions, places) for places in (full, half, full, half))
    rays, found = (listed(Rays), listed(Rays)), rows(Coarse, half)
    squares = Coarse(*(array.reshape(side, side) for array in found))
    tracer = Tracer(*directions, *rays, rows(Points, count), found, squares)
    relief, shadow = np.empty((3, ROWS, COLUMNS), float32), np.empty(half, float32)
    canvas, hits = rows(Canvas, count), (listed(Hits) for _ in range(3))
    seen, marks = np.empty((2, count), float32), np.empty((3, count), uint8)
    spoiler = rows(Spoiler, size, size)
    return Work(tracer, make_map(), relief, canvas, *hits, *seen, shadow, *marks, spoiler)


@program
def draw(faces, styles, textures, work, supersampling, images, masks, places):
    """Draw faces one after the other.

    Args:
        faces, styles: records of `parameters.records` and `hair.table`.
        textures: as `textures.textures` returns them.
        work: room of `make_work`.
        supersampling: as of `render`.
        images, masks, places: float32 (n, 3, size, size), (n, size, size) and (n, L, 2), filled.
    """
    size = images.shape[3]
    fine = size * supersampling
    view = View(fine, 2.0 * HALF_EXTENT / float32(fine))
    coarse = View((fine + 1) // 2, 2.0 * view.pixel)
    final = View(size, 2.0 * HALF_EXTENT / float32(size))
    point_directions(work.tracer.world, view, UNTURNED)
    point_directions(work.tracer.coarse_world, coarse, UNTURNED)
    for i in range(len(faces)):
        face = faces[i]
        portrait = make_portrait(face, styles[int32(face.hair_style)], work)
        point_directions(work.tracer.full, view, portrait.pose)
        point_directions(work.tracer.coarse, coarse, portrait.pose)
        paint(portrait, face, view, work, textures)
        develop(work.canvas, supersampling, images[i], masks[i])
        spoil(images[i], face, textures.mottle, work.spoiler)
        points = work.tracer.points
        find_landmarks(points, portrait.anatomy, portrait.head, portrait.pose, final, places[i])


@loop
def make_portrait(face, style, work):
    """The shapes and colours of a face."""
    pose, shape = head_pose(face), anatomy(face)
    fill_relief(work.relief, shape, work.texels)
    return Portrait(
        shape,
        Head(shape.skull, work.relief),
        make_hair(face, shape, style),
        pose,
        make_light(face, pose),
        skin_albedo(face),
        hair_colour(face),
        to_head(pose, Vector(0.0, CAMERA_HEIGHT, CAMERA_DISTANCE)),
    )


@loop
def paint(portrait, face, view, work, textures):
    """Paint a portrait on the canvas."""
    paint_backdrop(work.canvas, face, portrait.light, view)
    # The head and the hair in front of it first: what they hide need not be computed.
    trace_head(portrait, view, work)
    hairs = trace_near_hair(portrait, view, work)
    hair, light = portrait.hair, portrait.light
    shade_near_hair(work, hairs, textures.hair, hair, light, view.pixel)
    mark_covered(work, hairs)
    if hair.look.opacity > 0.0:
        paint_far_hair(portrait, view, work, textures)
    paint_torso(portrait, face, view, work)
    paint_head(portrait, face, view, work, textures)
    paint_earrings(portrait, face, view, work.canvas)
    paint_glasses(portrait, face, view, work)
    for i in range(hairs):
        pixel = work.hair.pixel[i]
        if work.hair.distance[i] < work.canvas.depth[pixel] + HAIR_SLACK:
            over(work.canvas, pixel, colour_of(work.hair, i), work.hair.opacity[i], 1.0)


@loop
def paint_backdrop(canvas, face, light, view):
    """The wall; nothing has been drawn in front of it."""
    wall = wall_colour(face)
    for row in range(view.size):
        y = plane_y(view, float32(row)) - CAMERA_HEIGHT
        for column in range(view.size):
            pixel = row * view.size + column
            put(canvas, pixel, backdrop(plane_x(view, float32(column)), y, wall, light))
            canvas.head[pixel], canvas.depth[pixel] = 0.0, FAR


@loop
def trace_head(portrait, view, work):
    """Find the head's coverage and depth, and the light that reaches it at half resolution."""
    tracer, origin = work.tracer, portrait.origin
    head = CautiousHead(*portrait.head)
    start = CAMERA_DISTANCE - 1.5
    coarse_march(tracer, tracer.coarse, origin, head, start, 12, 1.0)
    cast_shadows(portrait, work)
    near_rays(tracer.found, view)
    mark_near(tracer.squares, view, work.wanted)
    count = list_rays(tracer, tracer.full, work.wanted, view, 1.0)
    refine(tracer, count, origin, head, 5, 3, 1.0)
    edges = soft_edges(view.pixel)
    for pixel in range(view.size * view.size):
        work.coverage[pixel], work.depth[pixel], work.covered[pixel] = 0.0, FAR, 0
    for i in range(count):
        pixel = tracer.rays.pixel[i]
        work.coverage[pixel] = coverage(tracer.rays.nearest[i], edges)
        work.depth[pixel] = tracer.rays.distance[i]


@loop
def cast_shadows(portrait, work):
    """The light on the head, where coarse rays came close to it."""
    found, rays, hits = work.tracer.found, work.tracer.coarse, work.hits
    origin, count = portrait.origin, 0
    for i in range(len(found.nearest)):
        work.shadow[i] = 1.0
        if found.nearest[i] < SHADED:
            hits.pixel[count] = i
            put_at(hits, count, along(origin, at(rays, i), found.distance[i]))
            count += 1
    points = work.tracer.points
    soft_shadows(hits, count, points, portrait.head, portrait.light, hits.shadow)
    for k in range(count):
        work.shadow[hits.pixel[k]] = hits.shadow[k]


@loop
def trace_near_hair(portrait, view, work):
    """List hits on the near side of the hair, where it is not cut away for the face.

    Returns how many they are; `work.near_hair` marks all pixels close to the shell.
    """
    tracer, shell, line = work.tracer, portrait.hair.shell, portrait.hair.line
    if portrait.hair.look.opacity <= 0.0:
        return 0
    found, origin, start = tracer.found, portrait.origin, CAMERA_DISTANCE - 1.8
    coarse_march(tracer, tracer.coarse, origin, shell, start, 9, 1.0)
    near_rays(found, view)
    mark_near(tracer.squares, view, work.near_hair)
    # Tone frays the edge a little; where a ray that missed came closest is not known.
    for i in range(len(found.near)):
        place = along(origin, at(tracer.coarse, i), found.distance[i])
        haired = inside_hairline(place, line) > -EDGE_MARGIN - view.pixel
        near = found.nearest[i] < MISS_MARGIN + view.pixel
        found.near[i] = 1.0 if near and (haired or found.nearest[i] > SETTLED) else 0.0
    mark_near(tracer.squares, view, work.wanted)
    count = list_rays(tracer, tracer.full, work.wanted, view, 1.0)
    refine(tracer, count, origin, shell, 5, 2, 1.0)
    points = tracer.points
    for i in range(count):
        points.distance[i] = inside_hairline(at(points, i), line)
    kept, edges = 0, hair_edges(view.pixel)
    for i in range(count):
        opacity = coverage(tracer.rays.nearest[i], edges)
        if opacity > 0.0 and points.distance[i] > -EDGE_MARGIN - view.pixel:
            take(work.hair, kept, tracer.rays, points, i)
            work.hair.opacity[kept] = opacity
            kept += 1
    return kept


@loop
def mark_covered(work, count):
    """Mark the pixels where hair hides what is below."""
    for i in range(count):
        pixel = work.hair.pixel[i]
        in_front = work.hair.distance[i] < work.depth[pixel] + HAIR_SLACK
        if in_front and work.hair.opacity[i] > OPAQUE:
            work.covered[pixel] = 1


@loop
def paint_far_hair(portrait, view, work, textures):
    """Paint the far side of the hair where nothing before it hides it."""
    tracer, origin, hair = work.tracer, portrait.origin, portrait.hair
    for pixel in range(view.size * view.size):
        hidden = work.covered[pixel] > 0 or work.coverage[pixel] > OPAQUE
        work.wanted[pixel] = uint8(0) if hidden else work.near_hair[pixel]
    start = CAMERA_DISTANCE + 1.9
    coarse_march(tracer, tracer.coarse, origin, hair.shell, start, 8, -1.0)
    count = list_rays(tracer, tracer.full, work.wanted, view, -1.0)
    refine(tracer, count, origin, hair.shell, 4, 1, -1.0)
    hits = work.hits
    kept = take_hits(hits, tracer.rays, tracer.points, count, hair_edges(view.pixel))
    shade_far_hair(hits, kept, textures.hair, hair, portrait.light)
    for i in range(kept):
        over(work.canvas, hits.pixel[i], colour_of(hits, i), hits.opacity[i], 1.0)


@loop
def develop(canvas, supersampling, image, mask):
    """The canvas as sRGB (3, size, size) and its head channel as a mask (size, size)."""
    size = len(mask)
    for row in range(size):
        for column in range(size):
            image[0, row, column], image[1, row, column] = 0.0, 0.0
            image[2, row, column], mask[row, column] = 0.0, 0.0
        for down in range(supersampling):
            for right in range(supersampling):
                start = (row * supersampling + down) * size * supersampling + right
                for column in range(size):
                    pixel = start + column * supersampling
                    image[0, row, column] += tone_map(canvas.red[pixel])
                    image[1, row, column] += tone_map(canvas.green[pixel])
                    image[2, row, column] += tone_map(canvas.blue[pixel])
                    mask[row, column] += canvas.head[pixel]
        share = 1.0 / float32(supersampling * supersampling)
        for column in range(size):
            image[0, row, column] = to_srgb(image[0, row, column] * share)
            image[1, row, column] = to_srgb(image[1, row, column] * share)
            image[2, row, column] = to_srgb(image[2, row, column] * share)
            mask[row, column] = min(max(mask[row, column] * share, 0.0), 1.0)
