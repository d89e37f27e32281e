"""The hair styles: what tells each from the others, as constants of one shared shell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from facerender.hair_tiles import KINDS
from facerender.parameters import HAIR_STYLES


@dataclass(frozen=True)
class Style:
    """Constants of one hair style, in head units unless noted."""

    tile: str
    thickness: float = 0.0
    growth: float = 0.0
    """Extra thickness at hair length 1."""
    lump: float = 0.0
    """Amplitude of the shell's bumps, and their frequency sideways and upwards (rad per unit)."""
    lump_x: float = 0.0
    lump_y: float = 0.0
    loose: float = 1.0
    """1 when the hair falls with its length, 0 when its end stays at the nape."""
    nape: float = -0.30
    fringe: float = 0.0
    spread: float = 0.0
    """Flare of long hair at the shoulders."""
    u: float = 0.25
    """Tiles per radian around the head, and per unit of height."""
    v: float = 0.25
    contrast: float = 0.20
    relief: float = 0.5
    gloss: float = 1.0
    ragged: float = 0.015
    roundness: float = 0.30
    """Radius of the shell's lower end."""
    tied: float = 0.0
    """1 when the strands are combed back into a bun."""
    ball: float = 0.0
    """1 when the shell is a ball around the head rather than a curtain."""


STYLES: dict[str, Style] = {
    "straight": Style("strands", ragged=0.010),
    "wavy": Style(
        "waves",
        thickness=0.04,
        lump=0.022,
        lump_x=3.0,
        lump_y=8.0,
        spread=0.06,
        v=0.60,
        u=0.30,
        contrast=0.17,
        relief=0.9,
    ),
    "curly": Style(
        "curls",
        thickness=0.08,
        growth=0.07,
        lump=0.035,
        lump_x=9.0,
        lump_y=9.0,
        spread=0.10,
        u=0.30,
        v=1.25,
        contrast=0.26,
        relief=1.0,
        gloss=0.7,
    ),
    "fringe": Style("strands", thickness=0.02, fringe=1.0, ragged=0.010),
    "afro": Style(
        "coils",
        thickness=-0.08,
        growth=0.40,
        lump=0.030,
        lump_x=15.0,
        lump_y=15.0,
        loose=0.0,
        nape=0.16,
        u=0.30,
        v=1.25,
        contrast=0.34,
        relief=1.1,
        gloss=0.25,
        ragged=0.035,
        roundness=0.35,
        ball=1.0,
    ),
    "braids": Style(
        "plaits",
        thickness=-0.04,
        lump=0.0,
        u=0.28,
        v=0.75,
        contrast=0.50,
        relief=1.2,
        gloss=1.1,
        ragged=0.05,
    ),
    "tied back": Style(
        "strands",
        thickness=-0.13,
        loose=0.0,
        nape=-0.05,
        contrast=0.24,
        ragged=0.012,
        tied=1.0,
    ),
    "covered": Style(
        "cloth",
        thickness=0.02,
        loose=0.0,
        nape=-1.45,
        u=0.45,
        v=0.35,
        contrast=0.07,
        relief=0.8,
        gloss=0.15,
        ragged=0.0,
        spread=0.10,
    ),
}


COVERED = float(list(STYLES).index("covered"))


def table() -> np.ndarray:
    """Every constant of every style as records, in the order of `HAIR_STYLES`."""
    styles = [STYLES[name] for name in HAIR_STYLES]
    numbers = [name for name in vars(styles[0]) if name != "tile"]
    records = np.recarray(len(styles), [(name, np.float32) for name in (*numbers, "kind")])
    for name in numbers:
        records[name] = [getattr(style, name) for style in styles]
    records.kind = [KINDS.index(style.tile) for style in styles]
    return records
