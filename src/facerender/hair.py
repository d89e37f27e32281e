"""Hair and head coverings: a shell around the cranium, its hairline, texture and light.

All styles share one shell: an ellipsoid over the cranium, stretched downwards to the hair's end.
A style sets the shell's thickness, end, lumps and bun, which part of the shell is cut away for
the face, and the texture tile. The near side is drawn over the head, the far side behind it.

`hair.csv` has a row for each, in head units. *tile* is the texture, of which *u* tiles go to
a radian around the head and *v* to a unit of height; *growth* is the extra thickness at hair length
1; *lump* is the amplitude of the shell's bumps, *lump_x* and *lump_y* (rad per unit) how close they
are. *loose* is 1 where hair falls with its length and 0 where its end stays at the *nape*; *spread*
is how long hair flares at the shoulders, *roundness* the radius of the shell's lower end. *tied* is
1 where strands are combed back into a bun, *ball* where the shell is a ball around the head rather
than a curtain.
"""

from __future__ import annotations

import math
from collections import namedtuple
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy import float32

from facerender.colours import Colour, clothing_colour, dim, hair_colour
from facerender.compiled import formula, loop
from facerender.maths import (
    Vector,
    add,
    at,
    atan2,
    bump,
    clamp,
    dot,
    floor,
    mix,
    scale,
    sin,
    smooth_min,
    smoothstep,
    unit,
)
from facerender.parameters import HAIR_STYLES
from facerender.skull import LOOPS
from facerender.surface import find_normals, normal_of, set_colour, view_of
from facerender.textures import KINDS, lookup

COVERED = float(HAIR_STYLES.index("covered"))
JOINT_Y = 0.22
"""Above, the shell follows the cranium; below, it is stretched down to the hair's end."""
EDGE_MARGIN = 0.2
"""How far outside the hairline strands may still show."""
TEMPLE_RADIUS = 0.72
"""Turns angles around the head into distances at the temples."""
TEMPLE_CORNER = 0.30
"""Rounding of the hairline where the forehead ends."""


@cache
def table() -> np.ndarray:
    """Every constant of every style as records, in the order of `HAIR_STYLES`."""
    styles = pd.read_csv(Path(__file__).with_suffix(".csv"), index_col="style")
    styles["kind"] = [KINDS.index(tile) for tile in styles.pop("tile")]
    records = np.recarray(len(styles), [(name, np.float32) for name in styles])
    for name in styles:
        records[name] = styles[name]
    return records


Shell = namedtuple(
    "Shell",
    "side top spread end below above back lump lump_x lump_y bun_radius bun_y",
)
"""The solid of the hair: half width is `side` plus `top` higher up and `spread` lower down.

*end*: height from which the shell closes below; *below*: one over a radius, as the next two;
*lump*: amplitude of the bumps, and their frequency sideways and upwards (rad per unit).
"""


Hairline = namedtuple(
    "Hairline",
    "parting forehead receding arch opening length tip covered oval_width oval_middle oval_half",
)
"""Where the shell is cut away for the face.

*opening*: angle from the front at which the face ends; *length*: 0 for short hair to 1 for long;
*covered*: 1 for a covering, which leaves an oval free, else 0.
"""


Look = namedtuple(
    "Look",
    "kind u v seed wave parting tied contrast relief gloss colour opacity ragged ragged_end "
    "lowest shadow stubble",
)
"""Texture and light of the hair.

*kind*: number of the texture tile; *ragged*: how far strands fray the hairline, and the lower end
on the far side; *lowest*: where the far side ends; *shadow*: on the head below it.
"""


Hair = namedtuple("Hair", "shell line look")
"""All about the hair of a face."""


@formula
def make_hair(face, anatomy, style):
    """The hair of a face; `style` is a record of `table`."""
    length = face.hair_length
    covered = 1.0 if face.hair_style == COVERED else 0.0
    fringe = max(smoothstep(0.7, 3.15, face.hair_fringe), style.fringe) * style.loose
    hanging = mix(0.10, -2.1, smoothstep(0.22, 1.05, length))
    end = mix(style.nape, hanging, style.loose)
    roundness = style.roundness + style.ball * 0.50 * length
    tip = end - style.ball * roundness
    long = smoothstep(0.28, 0.55, length) * style.loose
    cap = max(long, max(style.ball, covered))
    presence = max(smoothstep(0.0, 0.06, length), covered)
    opacity = max(smoothstep(0.015, 0.08, length), covered)

    thickness = _thickness(face, style, covered)
    thicker = thickness + 0.04 * opacity
    cranium = anatomy.skull.cranium
    spread = max(smoothstep(0.3, 0.7, length) * style.loose, covered)
    bun_radius = mix(-9.0, 0.24 + 0.11 * length, style.tied)
    lump = style.lump * smoothstep(0.05, 0.4, length)
    shell = Shell(
        side=cranium.x + thicker * mix(0.25, 1.0, cap),
        top=thicker * mix(0.75, 0.0, cap),
        spread=(style.spread + 0.08 + 0.04 * face.hair_volume) * spread,
        end=end,
        below=1.0 / roundness,
        above=1.0 / (cranium.y + 0.28 - JOINT_Y + 1.05 * thickness),
        back=1.0 / (cranium.z + 0.7 * thickness + 0.02),
        lump=lump + 0.008 * max(face.hair_curl, 0.0) * long,
        lump_x=float32(style.lump_x),
        lump_y=float32(style.lump_y),
        bun_radius=bun_radius,
        bun_y=1.13 + 0.25 * max(bun_radius, 0.0),
    )
    line = _hairline(face, anatomy, style, fringe, long, tip, covered)
    colour = clothing_colour(face) if covered > 0.0 else hair_colour(face)
    cropped = (1.0 - smoothstep(0.06, 0.20, length)) * smoothstep(0.005, 0.05, length)
    look = Look(
        kind=float32(style.kind),
        u=float32(style.u),
        v=float32(style.v),
        seed=0.61803 * face.texture_seed,
        wave=0.006 * clamp(face.hair_curl, 0.0, 3.0),
        parting=float32(face.hair_parting),
        tied=float32(style.tied),
        contrast=float32(style.contrast),
        relief=float32(style.relief),
        gloss=float32(style.gloss),
        colour=colour,
        opacity=presence * opacity,
        ragged=style.ragged * smoothstep(0.05, 0.3, length),
        ragged_end=3.0 * style.ragged * smoothstep(0.3, 0.8, length),
        lowest=mix(max(tip, -0.55), tip, cap),
        shadow=0.38 * max(smoothstep(0.04, 0.3, length), covered) * presence,
        stubble=0.65 * cropped * (1.0 - covered),
    )
    return Hair(shell, line, look)


@formula
def _thickness(face, style, covered):
    """How far the shell stands off the scalp."""
    # A covering has its own fixed volume; hair grows out of the scalp.
    length = face.hair_length
    grown = 1.0 if covered > 0.0 else length
    full = 0.005 + 0.175 * smoothstep(0.0, 0.35, grown)
    full += style.thickness * smoothstep(0.0, 0.3, grown) + style.growth * length
    full += 0.020 * face.hair_volume * (1.0 - covered) * smoothstep(0.02, 0.25, grown)
    full += 0.03 * max(face.hair_curl, 0.0) * style.loose * smoothstep(0.05, 0.3, length)
    return max(full, 0.005)


@formula
def _hairline(face, anatomy, style, fringe, long, tip, covered):
    length, skull = face.hair_length, anatomy.skull
    receding = anatomy.traits.old * face.gender
    forehead = 0.84 + 0.03 * anatomy.traits.child - 0.05 * receding
    return Hairline(
        parting=0.10 * face.hair_parting * (1.0 - style.tied),
        forehead=forehead - 0.36 * fringe * smoothstep(0.08, 0.3, length),
        receding=0.10 * receding,
        arch=0.50 * (1.0 - 0.7 * fringe),
        opening=mix(1.02, 0.68 - 0.03 * face.hair_volume, long) + 0.25 * style.tied,
        length=smoothstep(0.3, 0.7, length),
        tip=tip,
        covered=covered,
        oval_width=0.66 * skull.width,
        oval_middle=0.5 * (0.72 + skull.chin_y),
        oval_half=0.5 * (0.72 - skull.chin_y),
    )


@formula
def shell_distance(x, y, z, shell):
    """Signed distance to an ellipsoid whose half width and lower half change with height.

    As `geometry.ellipsoid`, but the radii differ from point to point. `across`, `up` and `back` are
    offsets from the centre in radii; their steepness is one radius smaller.
    """
    # Short hair is thin at the sides and thick on top.
    half_width = shell.side + shell.top * smoothstep(0.05, 0.75, y)
    half_width += shell.spread * smoothstep(0.2, -1.2, y)
    narrow = 1.0 / half_width
    across = x * narrow
    below, above = min(y - shell.end, 0.0) * shell.below, max(y - JOINT_Y, 0.0) * shell.above
    up, steep_up = below + above, below * shell.below + above * shell.above
    back = (z + 0.17) * shell.back
    level = across * across + up * up + back * back
    across, back = across * narrow, back * shell.back
    slope = across * across + steep_up * steep_up + back * back + 1e-9
    waves = sin(x * shell.lump_x) * sin(y * shell.lump_y + 2.0 * x) * sin(z * shell.lump_x + 1.0)
    return (level - math.sqrt(level)) / math.sqrt(slope) - shell.lump * waves


@formula
def bun_distance(x, y, z, shell):
    """Signed distance of the bun, a ball."""
    up, back = y - shell.bun_y, z + 0.42
    return math.sqrt(x * x + up * up + back * back + 1e-6) - shell.bun_radius


@loop
def hair_distances(points, count, shell):
    """Signed distances of the first `count` points from shell and bun."""
    for i in range(count):
        x, y, z = points.x[i], points.y[i], points.z[i]
        points.distance[i] = min(shell_distance(x, y, z, shell), bun_distance(x, y, z, shell))


LOOPS[Shell] = hair_distances


@formula
def inside_hairline(place, line):
    """How far inside the haired region a point of the shell lies; negative over the face.

    About a distance everywhere, so that edges and shadows are as soft at the temples as above.
    """
    x, y, z = place.x, place.y, place.z
    side = abs(x)
    around = atan2(side, z + 0.29)  # 0 in front, pi behind
    shifted = x - line.parting
    forehead = line.forehead + line.receding * bump(side - 0.35, 0.18)
    forehead -= line.arch * shifted * shifted
    opening = line.opening + 0.20 * smoothstep(-0.1, -0.9, y) * line.length
    above, beside = y - forehead, TEMPLE_RADIUS * (around - opening)
    haired = min(-smooth_min(-above, -beside, TEMPLE_CORNER), y - line.tip)
    across, up = x * (1.0 / line.oval_width), (y - line.oval_middle) * (1.0 / line.oval_half)
    oval = math.sqrt(across * across + up * up + 1e-6) - 1.0
    oval = 0.6 * oval if z > 0.0 else 0.6
    return oval if line.covered > 0.0 else haired


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
    return bump(apart, 0.05) * hair.look.tied


@loop
def shade_near_hair(work, count, atlas, hair, light, pixel):
    """Colours and opacities of the near side; `opacity` comes as coverage."""
    hits, points = work.hair, work.tracer.points
    find_strands(hits, count, atlas, hair.look, 3)
    soft = mix(HAIRLINE, HEM, hair.line.covered)
    for i in range(count):
        tone = hits.noise[i]
        edge = inside_hairline(at(hits, i), hair.line) + hair.look.ragged * tone
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
        point, view, normal = at(hits, i), view_of(hits, i), normal_of(hits, i)
        tone, slope_u, slope_v = hits.noise[i], hits.noise_2[i], hits.noise_3[i]
        lit = hair_light(point, view, normal, tone, slope_u, slope_v, hair.look, light)
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
