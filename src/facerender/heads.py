"""The head as a layer of a portrait: skin and features are painted on it, then it is lit."""

from __future__ import annotations

from numpy import float32

from facerender.compiled import formula, loop
from facerender.features import (
    EYE_WHITE,
    TEETH,
    eye_shadow_colour,
    iris_colour,
    lip_colour,
    near_brows,
    near_eyes,
    near_mouth,
    paint_brows,
    paint_eyes,
    paint_lips,
    paint_nostrils,
    white_beside,
)
from facerender.geometry import occlusions
from facerender.hair import inside_hairline
from facerender.hair_shading import light_below_hair, stubble_weight
from facerender.shading import head_light
from facerender.skin import (
    Surface,
    bare_skin,
    cover,
    paint_age_spots,
    paint_beard,
    paint_blood,
    paint_wrinkles,
    place_at,
)
from facerender.surface import (
    colour_of,
    find_normals,
    normal_of,
    occlude,
    over,
    set_colour,
    view_of,
)
from facerender.textures import lookup

NORMAL_STEP = 0.014
WHISKERS = 0.65
"""Tiles of whiskers per head unit."""


@loop
def paint_head(portrait, face, view, work, textures):
    """Paint the head where no hair covers it; its depth counts everywhere."""
    count, hits = list_head(portrait, view, work), work.hits
    paint_skin(hits, count, portrait, face, view, textures)
    paint_features(hits, work.part, count, portrait, face, view, textures)
    line, look = portrait.hair.line, portrait.hair.look
    for i in range(count):
        hits.noise[i] = inside_hairline(hits.x[i], hits.y[i], hits.z[i], line)
    for i in range(count):
        hits.hair_light[i] = light_below_hair(hits.noise[i], look)
        stubble = stubble_weight(hits.noise[i], look)
        set_colour(hits, i, cover(surface_of(hits, i), portrait.hair_colour, stubble).albedo)
    find_normals(hits, count, work.tracer.points, portrait.head, NORMAL_STEP)
    occlusions(hits, count, portrait.head, hits.noise)
    for i in range(count):
        lit = head_light(
            surface_of(hits, i),
            view_of(hits, i),
            normal_of(hits, i),
            portrait.light,
            hits.shadow[i],
            hits.hair_light[i],
            hits.noise[i],
        )
        set_colour(hits, i, lit)
    for i in range(count):
        over(work.canvas, hits.pixel[i], colour_of(hits, i), hits.opacity[i], 1.0)


@loop
def list_head(portrait, view, work):
    """List the places of the head that are seen; returns how many they are."""
    hits, rays, origin, count = work.hits, work.tracer.full, portrait.origin, 0
    half = (view.size + 1) // 2
    for row in range(view.size):
        for column in range(view.size):
            pixel = row * view.size + column
            distance, opacity = work.depth[pixel], work.coverage[pixel]
            if opacity <= 0.0 or distance >= work.canvas.depth[pixel] + 0.02:
                continue
            occlude(work.canvas, pixel, distance, opacity)
            if work.covered[pixel] > 0:
                continue
            hits.pixel[count] = pixel
            hits.x[count] = origin.x + rays.x[pixel] * distance
            hits.y[count] = origin.y + rays.y[pixel] * distance
            hits.z[count] = origin.z + rays.z[pixel] * distance
            hits.ray_x[count], hits.ray_y[count] = rays.x[pixel], rays.y[pixel]
            hits.ray_z[count], hits.opacity[count] = rays.z[pixel], opacity
            hits.shadow[count] = work.shadow[(row >> 1) * half + (column >> 1)]
            count += 1
    return count


@formula
def surface_of(hits, i):
    """What is painted at a hit."""
    return Surface(colour_of(hits, i), hits.gloss[i], hits.glow[i])


@formula
def set_surface(hits, i, surface):
    """Keep what is painted at a hit."""
    set_colour(hits, i, surface.albedo)
    hits.gloss[i], hits.glow[i] = surface.gloss, surface.glow


@formula
def place_of(hits, i, view):
    """The place of a hit as the painters see it."""
    return place_at(hits.x[i], hits.y[i], hits.z[i], view.pixel)


@loop
def paint_skin(hits, count, portrait, face, view, textures):
    """Pigment, blood, the marks of age and a beard."""
    shape, seed = portrait.anatomy, 0.61803 * face.texture_seed
    old, knit = shape.traits.old, shape.traits.knit
    for i in range(count):
        hits.noise[i] = lookup(textures.mottle, 1.7 * hits.x[i] + seed, 1.7 * hits.y[i])
    for i in range(count):
        v = 0.5 * hits.y[i] + 0.7 * seed
        hits.noise_2[i] = lookup(textures.mottle, 0.5 * hits.x[i] + seed, v)
    for i in range(count):
        surface = bare_skin(portrait.skin, hits.noise[i], hits.noise_2[i], old)
        surface = paint_blood(surface, place_of(hits, i, view), shape, face)
        set_surface(hits, i, surface)
    if old > 0.0 or knit > 0.0:
        for i in range(count):
            place = place_of(hits, i, view)
            set_surface(hits, i, paint_wrinkles(surface_of(hits, i), place, shape, hits.noise_2[i]))
    if old > 0.0:
        for i in range(count):
            u, v = 1.1 * hits.x[i] + 2.0 * seed, 1.1 * hits.y[i]
            hits.noise[i] = lookup(textures.mottle, u, v)
        for i in range(count):
            set_surface(hits, i, paint_age_spots(surface_of(hits, i), hits.noise[i], old))
    if face.facial_hair > 0.05:
        for i in range(count):
            # Hairs point down and towards the chin.
            u = WHISKERS * (hits.x[i] + 0.25 * hits.x[i] * hits.y[i]) + seed
            hits.noise[i] = lookup(textures.whiskers, u, WHISKERS * hits.y[i])
        for i in range(count):
            place, surface, hairs = place_of(hits, i, view), surface_of(hits, i), hits.noise[i]
            painted = paint_beard(surface, place, shape, portrait.hair_colour, hairs)
            set_surface(hits, i, painted)


@loop
def list_part(hits, part, count):
    """Copy to `part` the places marked in `noise`; returns how many they are."""
    number = 0
    for i in range(count):
        if hits.noise[i] > 0.0:
            part.pixel[number] = i
            part.x[number], part.y[number], part.z[number] = hits.x[i], hits.y[i], hits.z[i]
            set_surface(part, number, surface_of(hits, i))
            number += 1
    return number


@loop
def put_back(part, number, hits):
    """Keep what was painted on a part of the hits."""
    for k in range(number):
        set_surface(hits, part.pixel[k], surface_of(part, k))


@loop
def paint_features(hits, part, count, portrait, face, view, textures):
    """Nostrils, lips, eyes and brows, each on the places where it can be."""
    shape, light = portrait.anatomy, portrait.light
    for i in range(count):
        place = place_of(hits, i, view)
        set_surface(hits, i, paint_nostrils(surface_of(hits, i), place, shape.nose))

    for i in range(count):
        hits.noise[i] = float32(near_mouth(place_of(hits, i, view), shape.mouth))
    number = list_part(hits, part, count)
    lips, teeth = lip_colour(face, shape.traits, portrait.skin), white_beside(portrait.skin, TEETH)
    for k in range(number):
        place, surface = place_of(part, k, view), surface_of(part, k)
        set_surface(part, k, paint_lips(surface, place, shape.mouth, lips, teeth, face.makeup))
    put_back(part, number, hits)

    for i in range(count):
        hits.noise[i] = float32(near_eyes(place_of(hits, i, view), shape.eyes))
    number = list_part(hits, part, count)
    shadow, iris = eye_shadow_colour(face, portrait.skin), iris_colour(face)
    white = white_beside(portrait.skin, EYE_WHITE)
    for k in range(number):
        place, surface = place_of(part, k, view), surface_of(part, k)
        painted = paint_eyes(surface, place, shape.eyes, face, light, shadow, white, iris)
        set_surface(part, k, painted)
    put_back(part, number, hits)

    for i in range(count):
        hits.noise[i] = float32(near_brows(place_of(hits, i, view), shape.eyes))
    number, hair = list_part(hits, part, count), portrait.hair_colour
    for k in range(number):
        u = 0.5 * abs(part.x[k]) + 0.35 * part.y[k] + face.texture_seed
        part.noise[k] = lookup(textures.strands, u, 0.1 * part.y[k])
    for k in range(number):
        place, surface, hairs = place_of(part, k, view), surface_of(part, k), part.noise[k]
        painted = paint_brows(surface, place, shape.eyes, shape.traits, hair, hairs)
        set_surface(part, k, painted)
    put_back(part, number, hits)
