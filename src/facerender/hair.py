"""Hair and head coverings: a shell around the cranium, and its hairline.

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
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy import float32

from facerender.colours import Colour, clothing_colour, hair_colour
from facerender.compiled import formula, loop
from facerender.geometry import LOOPS
from facerender.hair_tiles import KINDS
from facerender.maths import atan2, bump, clamp, mix, sin, smooth_min, smoothstep
from facerender.parameters import HAIR_STYLES

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
    styles = pd.read_csv(Path(__file__).with_suffix(".csv"), index_col="style").loc[[*HAIR_STYLES]]
    styles["kind"] = [KINDS.index(tile) for tile in styles.pop("tile")]
    records = np.recarray(len(styles), [(name, np.float32) for name in styles])
    for name in styles:
        records[name] = styles[name]
    return records


class Shell(NamedTuple):
    """The solid of the hair: half width is `side` plus `top` higher up and `spread` lower down."""

    side: float
    top: float
    spread: float
    end: float
    """Height from which the shell closes below."""
    below: float
    """One over a radius, as the next two."""
    above: float
    back: float
    lump: float
    """Amplitude of the bumps, and their frequency sideways and upwards (rad per unit)."""
    lump_x: float
    lump_y: float
    bun_radius: float
    bun_y: float


class Hairline(NamedTuple):
    """Where the shell is cut away for the face."""

    parting: float
    forehead: float
    receding: float
    arch: float
    opening: float
    """Angle from the front at which the face ends."""
    length: float
    """0 for short hair to 1 for long."""
    tip: float
    covered: float
    """1 for a covering, which leaves an oval free, else 0."""
    oval_width: float
    oval_middle: float
    oval_half: float


class Look(NamedTuple):
    """Texture and light of the hair."""

    kind: float
    """Number of the texture tile."""
    u: float
    v: float
    seed: float
    wave: float
    parting: float
    tied: float
    contrast: float
    relief: float
    gloss: float
    colour: Colour
    opacity: float
    ragged: float
    """How far strands fray the hairline, and the lower end on the far side."""
    ragged_end: float
    lowest: float
    """Where the far side ends."""
    shadow: float
    """On the head below it."""
    stubble: float


class Hair(NamedTuple):
    """All about the hair of a face."""

    shell: Shell
    line: Hairline
    look: Look


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
    across = x / half_width
    below, above = min(y - shell.end, 0.0) * shell.below, max(y - JOINT_Y, 0.0) * shell.above
    up, steep_up = below + above, below * shell.below + above * shell.above
    back = (z + 0.17) * shell.back
    level = across * across + up * up + back * back
    across, back = across / half_width, back * shell.back
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
def inside_hairline(x, y, z, line):
    """How far inside the haired region a point of the shell lies; negative over the face.

    About a distance everywhere, so that edges and shadows are as soft at the temples as above.
    """
    side = abs(x)
    around = atan2(side, z + 0.29)  # 0 in front, pi behind
    shifted = x - line.parting
    forehead = line.forehead + line.receding * bump((side - 0.35) / 0.18)
    forehead -= line.arch * shifted * shifted
    opening = line.opening + 0.20 * smoothstep(-0.1, -0.9, y) * line.length
    above, beside = y - forehead, TEMPLE_RADIUS * (around - opening)
    haired = min(-smooth_min(-above, -beside, TEMPLE_CORNER), y - line.tip)
    across, up = x / line.oval_width, (y - line.oval_middle) / line.oval_half
    oval = math.sqrt(across * across + up * up + 1e-6) - 1.0
    oval = 0.6 * oval if z > 0.0 else 0.6
    return oval if line.covered > 0.0 else haired
