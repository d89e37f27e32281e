"""Transects as arrays of outcomes, and contrasts of their cells: effects and interactions.

An effect of one attribute may differ between the levels of another: the interaction contrast is
that difference, a difference of risk differences. On complete transects each contrast is the mean
of one value per transect.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from math import prod

import numpy as np
import pandas as pd

from faceaudit.effects.display_names import held_in_words
from faceaudit.utils.arguments import as_rates, require_columns, require_distinct


def outcome_grid(
    frame: pd.DataFrame,
    outcome: str,
    axes: Sequence[str],
    transect: str,
    levels: Sequence[int] | None = None,
    is_rate: bool = True,
) -> np.ndarray:
    """The outcomes of complete transects as an array, one axis per attribute.

    `faceworld.scorecard.truth.errors_under_do` returns the true errors in the same shape, so that
    the same functions compute estimates and true effects.

    Args:
        frame: one row per image; attribute `a` has its level, from 0 on, in the column `<a>_level`.
        outcome: column of errors, or of scores in [0, 1].
        axes: attributes that the transects manipulate, one or more.
        transect: column that names the transects.
        levels: number of levels of each attribute, by default two.
        is_rate: whether the outcome has to be in [0, 1].

    Returns:
        float64 (n, 2, ..., 2), or (n, *levels), transects in the order of their names; those that
        lack an image or an outcome are left out.

    Raises:
        ValueError: a missing column, an outcome outside of [0, 1], or two images in one place of a
            transect.

    Example:
        >>> import pandas as pd
        >>> from faceaudit.effects.contrasts import outcome_grid
        >>> frame = pd.DataFrame({"transect": [0, 0, 1], "skin_level": [1, 0, 0]})
        >>> outcome_grid(frame.assign(error=[1, 0, 0]), "error", ["skin"], "transect").tolist()
        [[0.0, 1.0]]
    """
    places = [f"{axis}_level" for axis in axes]
    require_columns(frame, [outcome, transect, *places])
    require_distinct(frame, [transect, *places], "place of a transect")
    images = frame[frame[outcome].notna()].sort_values([transect, *places])
    levels = levels or [2] * len(places)
    complete = images.groupby(transect)[outcome].transform("size") == prod(levels)
    values = images.loc[complete, outcome]
    return (as_rates(values) if is_rate else values.to_numpy(float)).reshape(-1, *levels)


def factorial_contrasts(axes: Sequence[str], orders: Sequence[int]) -> pd.DataFrame:
    """Coefficients of the cells in effects (order 1) and interactions (order 2 and more).

    An effect is high minus low level of one attribute. An interaction of two is the effect of the
    first at the high level of the second, minus at the low one; the two are interchangeable. That
    of three is how much this differs between the levels of the third. Each is given at every
    combination of levels of the other attributes, and averaged over them.

    Args:
        axes: attributes, in the order of the axes of a grid.
        orders: how many attributes take part, such as `[1]` for effects only.

    Returns:
        A row per contrast with the index contrast, held (the levels of the other attributes in
        words, "average" where they are averaged over, "" where there is none); a column per cell,
        in the order of a flattened grid.

    Example:
        >>> from faceaudit.effects.contrasts import factorial_contrasts
        >>> factorial_contrasts(["skin_colour", "gender"], [2]).to_dict("split")["data"]
        [[1.0, -1.0, -1.0, 1.0]]
    """
    rows = {}
    for order in orders:
        for contrasted in combinations(axes, order):
            others = [axis for axis in axes if axis not in contrasted]
            name = " × ".join(axis.replace("_", " ") for axis in contrasted)
            for levels in _held_levels(others):
                held = held_in_words(levels) if others else ""
                rows[name, held] = _coefficients(axes, levels)
    index = pd.MultiIndex.from_tuples(rows, names=["contrast", "held"])
    cells = pd.MultiIndex.from_product([[0, 1]] * len(axes), names=axes)
    return pd.DataFrame(list(rows.values()), index, cells)


def _held_levels(axes: Sequence[str]) -> list[dict[str, int | None]]:
    """Levels at which these attributes are held: averaged over (None) first, then every cell."""
    held_levels: list[dict[str, int | None]] = []
    if axes:
        held_levels.append(dict.fromkeys(axes))
    for levels in product((0, 1), repeat=len(axes)):
        held_levels.append(dict(zip(axes, levels, strict=True)))
    return held_levels


def contrast_values(grid: np.ndarray, contrasts: pd.DataFrame) -> pd.DataFrame:
    """The value of every contrast in every transect; their means are the contrasts.

    Args:
        grid: (n, 2, ..., 2), of `outcome_grid` or of the truth.
        contrasts: of `factorial_contrasts`, of the same attributes.

    Returns:
        A row per transect, a column per contrast.

    Example:
        >>> import numpy as np
        >>> from faceaudit.effects.contrasts import contrast_values, factorial_contrasts
        >>> contrasts = factorial_contrasts(["skin_colour", "gender"], [2])
        >>> contrast_values(np.array([[[0, 0], [0, 1]]]), contrasts).iloc[0].tolist()
        [1.0]
    """
    flat = grid.reshape(len(grid), -1)
    return pd.DataFrame(flat @ contrasts.to_numpy().T, columns=contrasts.index)


def _coefficients(axes: Sequence[str], levels: Mapping[str, int | None]) -> np.ndarray:
    """Weights of the cells (2 ** k,) in the contrast of the attributes that are not in `levels`.

    Along a contrasted attribute they are -1 and 1. Along an attribute in `levels` they pick its
    level, or are 1/2 each where the level is None.
    """
    coefficients = np.ones(1)
    for axis in axes:
        along = np.array([-1.0, 1.0])
        if axis in levels:
            along = np.full(2, 0.5) if levels[axis] is None else np.eye(2)[levels[axis]]
        coefficients = np.kron(coefficients, along)
    return coefficients
