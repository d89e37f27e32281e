"""Names of levels, contrasts and cells, the same in every table and figure of effects."""

from collections.abc import Mapping

import pandas as pd
from scipy.stats import norm

LEVEL_NAMES: Mapping[str, tuple[str, str]] = {
    "gender": ("female", "male"),
    "hair_length": ("short hair", "long hair"),
    "skin_colour": ("light skin", "dark skin"),
}
CONTRASTS: Mapping[str, str] = {
    "skin_colour": "dark − light skin",
    "hair_length": "long − short hair",
    "gender": "male − female",
}
GENDERS: Mapping[int, str] = {0: "women", 1: "men"}
"""Levels of gender, as people."""
Z = norm.ppf(0.975)


def name_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Add `cell`, the held levels in words, and `scope`: "cell", "partial average" or "average"."""
    held = table[list(LEVEL_NAMES)]
    names = [
        ", ".join(LEVEL_NAMES[axis][level] for axis, level in row.items() if pd.notna(level))
        or "average"
        for row in held.to_dict("records")
    ]
    scopes = {0: "average", 1: "partial average", 2: "cell"}
    return table.assign(cell=names, scope=held.notna().sum(axis=1).map(scopes))


def points(table: pd.DataFrame) -> list[str]:
    """Estimates with their intervals, in points."""
    rows = 100 * table[["estimate", "low", "high"]].to_numpy(dtype=float)
    return ["{:+.1f} ({:+.1f} to {:+.1f})".format(*row) for row in rows]
