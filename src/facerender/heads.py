"""The head as a layer of a portrait: skin and features are painted on it, then it is lit."""

from __future__ import annotations

import math

from numpy import float32

from facerender.colours import Colour
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
from facerender.hair import inside_hairline, light_below_hair, stubble_weight
from facerender.maths import add, along, at, clamp, dot, put_at, smoothstep, unit
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
from facerender.skull import occlusions
from facerender.surface import (
    colour_of,
    find_normals,
    normal_of,
    occlude,
    over,
    set_colour,
    view_of,
    wrapped,
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
        hits.noise[i] = inside_hairline(at(hits, i), line)
    for i in range(count):
        hits.hair_light[i] = light_below_hair(hits.noise[i], look)
        stubble = stubble_weight(hits.noise[i], look)
        set_colour(hits, i, cover(surface_of(hits, i), portrait.hair_colour, stubble).albedo)
    find_normals(hits, count, work.tracer.points, portrait.head, NORMAL_STEP)
    occlusions(hits, count, portrait.head, hits.noise)
    for i in range(count):
        surface, view, normal = surface_of(hits, i), view_of(hits, i), normal_of(hits, i)
        shadow, hair_light, occlusion = hits.shadow[i], hits.hair_light[i], hits.noise[i]
        light = portrait.light
        lit = head_light(surface, view, normal, light, shadow, hair_light, occlusion)
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
            put_at(hits, count, along(origin, at(rays, pixel), distance))
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
            put_at(part, number, at(hits, i))
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


@formula
def head_light(surface, view, normal, light, shadow, hair_light, occlusion):
    """Linear-light colour of skin: wrapped diffuse per channel, ambient, gloss, rim."""
    albedo = surface.albedo
    half = unit(add(light.head, view))
    toward_light, toward_half = dot(normal, light.head), max(dot(normal, half), 0.0)
    facing = clamp(dot(normal, view), 0.0, 1.0)

    # Red light travels further under the skin: a wider wrap and a lighter shadow.
    key = light.key * hair_light * (0.4 + 0.6 * occlusion)
    red_shadow = math.sqrt(shadow) * math.sqrt(math.sqrt(shadow))
    sky = light.ambient * (0.74 + 0.26 * dot(normal, light.up)) * occlusion * hair_light
    sky += 0.14 * light.key * smoothstep(-0.2, -0.9, normal.y)  # bounces off the chest
    red = albedo.red * (key * wrapped(toward_light, 0.42) * red_shadow + sky)
    green = albedo.green * (key * wrapped(toward_light, 0.26) * shadow + sky)
    blue = albedo.blue * (key * wrapped(toward_light, 0.20) * shadow + sky)

    # On dark skin the form is told by what reflects at the surface, as little comes from below it.
    depth = clamp(1.0 - 2.2 * albedo.green, 0.0, 1.0)
    # It is a broad sheen: small bright spots would make dark skin look wet.
    gloss = 0.10 * toward_half**9 * (1.0 + 0.8 * depth)
    gloss += 0.08 * toward_half**40 * (1.0 - 0.6 * depth)
    fresnel = 0.09 * (1.0 - facing) ** 3
    away = clamp(0.3 - light.head.x * normal.x, 0.0, 1.0)
    rim = (0.20 + 0.34 * depth) * light.key * away * (1.0 - facing) ** 2
    rim *= smoothstep(-0.6, 0.1, normal.y)  # what faces down has no light behind it
    sky_gloss = 0.030 * depth * max(dot(normal, light.up), 0.0) * occlusion
    sheen = 0.9 * light.key * gloss * surface.gloss * shadow
    sheen += (0.55 * (fresnel + rim) * occlusion + light.ambient * sky_gloss) * hair_light
    glow = surface.glow * light.key
    return Colour(
        red + sheen * (0.40 + 0.60 * albedo.red) + glow,
        green + sheen * (0.38 + 0.62 * albedo.green) + glow,
        blue + sheen * (0.34 + 0.66 * albedo.blue) + glow,
    )
