"""Texture, edges and light of the hair, and what it does to the head below."""

from __future__ import annotations

import math

from numpy import float32

from facerender.colours import Colour, dim
from facerender.compiled import formula, loop
from facerender.hair import bun_distance, inside_hairline, shell_distance
from facerender.hair_tiles import KINDS
from facerender.maths import (
    Vector,
    add,
    atan2,
    bump,
    clamp,
    dot,
    floor,
    mix,
    scale,
    sin,
    smoothstep,
    unit,
)
from facerender.surface import find_normals, normal_of, point_of, set_colour, view_of
from facerender.textures import lookup

NORMAL_STEP = 0.02
TILES = len(KINDS)
DOWN = Vector(0.0, -1.0, 0.0)
HAIRLINE, HEM = 0.08, 0.01
"""Width over which hair grows denser at its line, and a covering at its hem."""


@formula
def texture_u(x, y, z, look):
    """Texture coordinate around the head, from the parting on top."""
    back = z + 0.35 + 0.9 * smoothstep(0.4, 1.1, y)
    around = atan2(x - 0.16 * look.parting * smoothstep(0.2, 1.0, y), back)
    # Combed hair runs backwards: strands are lines of constant height at the sides.
    combed = atan2(y - 0.9, abs(x) + 0.15)
    wave = look.wave * sin(9.0 * y + 3.0 * x)
    return look.u * mix(around, combed, look.tied) + look.seed + wave


@formula
def texture_v(y, z, look):
    """Texture coordinate upwards."""
    return look.v * (y - 0.5 * z * smoothstep(0.3, 1.1, y)) + look.seed


@loop
def find_strands(hits, count, atlas, look, channels):
    """Tone and slopes of the hair's texture, in `noise`, `noise_2` and `noise_3`."""
    rows = float32(atlas.shape[1] - 1)
    # The atlas has its tiles one above the other, each closed by its first row.
    tile = float32(atlas.shape[1] // TILES)
    for i in range(count):
        x, y, z = hits.x[i], hits.y[i], hits.z[i]
        v = texture_v(y, z, look)
        hits.gloss[i] = texture_u(x, y, z, look)
        hits.glow[i] = (look.kind * tile + (v - floor(v)) * (tile - 1.0)) / rows
    for i in range(count):
        hits.noise[i] = lookup(atlas[0], hits.gloss[i], hits.glow[i])
    if channels == 1:
        return
    for i in range(count):
        hits.noise_2[i] = lookup(atlas[1], hits.gloss[i], hits.glow[i])
    for i in range(count):
        hits.noise_3[i] = lookup(atlas[2], hits.gloss[i], hits.glow[i])


@formula
def in_surface(direction, normal):
    """Part of a direction that lies in the surface."""
    return add(direction, scale(normal, -dot(direction, normal)))


@formula
def hair_light(point, view, normal, tone, slope_u, slope_v, look, light):
    """Linear-light colour of the shell's near side."""
    reach = 1.0 / math.sqrt(point.x * point.x + point.z * point.z + 1e-4)
    around = Vector(point.z * reach, 0.0, -point.x * reach)
    down = unit(in_surface(DOWN, normal))
    bumpy = add(normal, scale(around, -look.relief * slope_u))
    normal = unit(add(bumpy, scale(down, look.relief * slope_v)))

    fibre = unit(add(in_surface(DOWN, normal), scale(normal, 0.20 * tone)))
    half = unit(add(light.head, view))
    toward_light = dot(normal, light.head)
    diffuse = max(0.35 + 0.65 * toward_light, 0.05)
    sky = light.ambient * (0.65 + 0.35 * dot(normal, light.up))
    shade = (light.key * diffuse + sky) * clamp(1.0 + look.contrast * tone, 0.25, 1.8)
    # Kajiya and Kay (1989): fibres shine where the half vector is across them.
    along = dot(fibre, half)
    shine = max(1.0 - along * along, 0.0) ** 22 * (0.30 + 0.7 * max(toward_light, 0.0))
    shine = 0.16 * light.key * look.gloss * shine * clamp(0.6 + 0.5 * tone, 0.0, 1.5)
    colour = look.colour
    return Colour(
        colour.red * (shade + 0.9 * shine) + 0.12 * shine,
        colour.green * (shade + 0.9 * shine) + 0.12 * shine,
        colour.blue * (shade + 0.9 * shine) + 0.12 * shine,
    )


@formula
def hair_edges(pixel):
    """As `marching.soft_edges`, but wider: stray hairs stand off the shell."""
    width = max(pixel, 0.024)
    return 0.2 * width, 1.25 * width


@formula
def strand_cover(density, tone):
    """Opacity where hair thins out: first between the strands."""
    return smoothstep(0.0, 1.0, density + 0.4 * density * (1.0 - density) * clamp(tone, -1.5, 1.5))


@formula
def bun_crease(x, y, z, hair):
    """1 where the bun meets the head, 0 elsewhere."""
    apart = bun_distance(x, y, z, hair.shell) - shell_distance(x, y, z, hair.shell)
    return bump(apart / 0.05) * hair.look.tied


@loop
def shade_near_hair(hits, count, points, atlas, hair, light, pixel):
    """Colours and opacities of the near side; `opacity` comes as coverage."""
    find_strands(hits, count, atlas, hair.look, 3)
    soft = mix(HAIRLINE, HEM, hair.line.covered)
    for i in range(count):
        tone = hits.noise[i]
        edge = inside_hairline(hits.x[i], hits.y[i], hits.z[i], hair.line) + hair.look.ragged * tone
        density = hits.opacity[i] * smoothstep(-0.6 * soft - pixel, soft + pixel, edge)
        hits.opacity[i] = hair.look.opacity * strand_cover(density, tone)
        hits.shadow[i] = 0.70 + 0.30 * smoothstep(0.0, 0.25, edge)
        # What lies off the shell is lit through the hairs before it.
        hits.shadow[i] *= 0.45 + 0.55 * density * density
    if hair.look.tied > 0.0:
        for i in range(count):
            hits.shadow[i] *= 1.0 - 0.5 * bun_crease(hits.x[i], hits.y[i], hits.z[i], hair)
    find_normals(hits, count, points, hair.shell, NORMAL_STEP)
    for i in range(count):
        normal, slopes = normal_of(hits, i), (hits.noise_2[i], hits.noise_3[i])
        lit = hair_light(
            point_of(hits, i),
            view_of(hits, i),
            normal,
            hits.noise[i],
            slopes[0],
            slopes[1],
            hair.look,
            light,
        )
        set_colour(hits, i, dim(lit, hits.shadow[i]))


@loop
def shade_far_hair(hits, count, atlas, hair, light):
    """Colours and opacities of the far side, seen from within, in shadow."""
    look = hair.look
    find_strands(hits, count, atlas, look, 1)
    for i in range(count):
        tone = hits.noise[i]
        above = hits.y[i] - look.lowest - 0.04 + look.ragged_end * tone
        density = hits.opacity[i] * smoothstep(-0.14, 0.10, above)
        hits.opacity[i] = look.opacity * strand_cover(density, tone)
        shade = clamp(0.28 + 0.07 * tone, 0.1, 0.6) * (light.ambient + 0.28 * light.key)
        set_colour(hits, i, dim(look.colour, shade))


@formula
def stubble_weight(edge, look):
    """Weight of the tint of cropped hair on the scalp."""
    return look.stubble * smoothstep(-0.08, 0.12, edge)


@formula
def light_below_hair(edge, look):
    """Light left on the head near the hairline."""
    return 1.0 - look.shadow * smoothstep(-0.22, 0.10, edge)
