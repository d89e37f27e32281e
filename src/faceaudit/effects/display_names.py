"""The cell of an effect in words, and its estimate in points, the same in every table and figure.

The names of levels are `faceaudit.annotations.schema.LEVEL_NAMES`. How the name of an attribute is
written says `faceaudit.utils.formatting.spaced`, or `helpers.figures.charts.spaced` in figures.
"""

from collections.abc import Mapping

import pandas as pd

from faceaudit.annotations.schema import LEVEL_NAMES
from faceaudit.utils.formatting import in_points


def held_in_words(levels: Mapping[str, int | None]) -> str:
    """Name the levels at which attributes are held, in the order of `LEVEL_NAMES`.

    Args:
        levels: attribute → 0 or 1, or None where it is averaged over.

    Returns:
        The names of the levels, "average" where no attribute is held.

    Example:
        >>> held_in_words({"skin_colour": 1, "gender": 0}), held_in_words({"gender": None})
        ('female, dark skin', 'average')
        >>> held_in_words({"smiling": 1})
        'high smiling'
    """
    held = {axis: level for axis, level in levels.items() if level is not None}
    order = [axis for axis in LEVEL_NAMES if axis in held]
    order += [axis for axis in held if axis not in LEVEL_NAMES]
    names = (LEVEL_NAMES.get(axis, (f"low {axis}", f"high {axis}"))[held[axis]] for axis in order)
    return ", ".join(names) or "average"


def estimates_in_points(table: pd.DataFrame) -> list[str]:
    """Write estimates with their intervals, in percentage points.

    Args:
        table: columns estimate, low, high, differences of rates (fractions).

    Returns:
        One text per row.

    Example:
        >>> table = pd.DataFrame({"estimate": [0.05], "low": [-0.0004], "high": [0.11]})
        >>> estimates_in_points(table)
        ['+5.0 (-0.04 to +11.0)']
    """
    rows = table[["estimate", "low", "high"]].to_numpy(dtype=float)
    return ["{} ({} to {})".format(*map(in_points, row)) for row in rows]
