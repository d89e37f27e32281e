"""An attribute that nobody annotated: where it shows, and how far it moves along (chapter 14).

Arrays with one value per image are in the order of `helpers.transects.index` of a 2×2×2 grid: eight
images a transect, axes in the order of `AXES`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from torch import Tensor

import facerender
from helpers.effects import labels
from helpers.scorecard import truth

AXES = list(labels.CONTRASTS)
"""Axes of the book's transects, in order: skin colour, hair length, gender."""

_UNDER_A_SCARF = ("earrings", "hair_colour")


def shown(parameters: Tensor, name: str) -> pd.Series:
    """An attribute as far as raters could see it: zero where a scarf covers it.

    Args:
        parameters: (n, P) faces, see `facerender`.
        name: a parameter from zero to one.

    Returns:
        (n,) zero to one.

    Example:
        >>> from helpers.scorecard import hidden_attribute
        >>> face = facerender.defaults(1)
        >>> face[:, facerender.INDEX["earrings"]] = 1
        >>> hidden_attribute.shown(face, "earrings").tolist()
        [1.0]
    """
    face = facerender.to_frame(parameters)
    bare = face["hair_style"] != facerender.HAIR_STYLES.index("covered")
    hidden = name in _UNDER_A_SCARF
    return (face[name] * (bare if hidden else 1)).astype(float).rename(name)


def as_grid(values: ArrayLike) -> np.ndarray:
    """Values of images by transect and levels of the axes.

    Args:
        values: (n * 8, …).

    Returns:
        (n, 2, 2, 2, …).

    Example:
        >>> from helpers.scorecard import hidden_attribute
        >>> hidden_attribute.as_grid(range(8))[0, 1, 0, 1].item()  # dark skin, short hair, male
        5
    """
    values = np.asarray(values)
    return values.reshape(-1, 2, 2, 2, *values.shape[1:])


def changes(values: ArrayLike) -> pd.DataFrame:
    """Mean change of a value along each axis, in every cell and averaged.

    Args:
        values: (n * 8,) or any shape of as many values in the same order.

    Returns:
        Rows of `helpers.scorecard.truth.effects`, effect and se in the unit of the values, named by
        `helpers.effects.labels.name_cells`.

    Example:
        >>> from helpers.scorecard import hidden_attribute
        >>> table = hidden_attribute.changes([0, 1] * 8)  # two transects; men have one more
        >>> table.query("scope == 'average'")["effect"].tolist()
        [0.0, 0.0, 1.0]
    """
    return labels.name_cells(truth.effects(as_grid(np.ravel(values)), AXES))


def plus_minus(rows: pd.DataFrame, scale: float = 1, digits: int = 2) -> list[str]:
    """Effects as text, with the half-width of their 95 % intervals.

    Args:
        rows: columns effect and se.
        scale: factor of both.
        digits: behind the point.

    Returns:
        One text per row.

    Example:
        >>> from helpers.scorecard import hidden_attribute
        >>> hidden_attribute.plus_minus(pd.DataFrame({"effect": [0.123], "se": [0.01]}), 100, 1)
        ['+12.3 ± 2.0']
    """
    pairs = zip(scale * rows["effect"], scale * labels.Z * rows["se"], strict=True)
    return [f"{effect:+z.{digits}f} ± {margin:.{digits}f}" for effect, margin in pairs]


def stacked(tables: Mapping[object, pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    """Tables of effects as one, with their keys as columns and their cells named.

    Args:
        tables: key, or keys → table; the held level of an axis (0 or 1) stands in a column
            `<axis>` or `<axis>_level`; an axis without a column is not held.
        names: of the columns that take the keys.

    Returns:
        The rows, numbered anew, with the keys, `AXES`, and cell and scope as in
        `helpers.effects.labels.name_cells`.

    Example:
        >>> from helpers.scorecard import hidden_attribute
        >>> table = pd.DataFrame({"gender_level": [0, 1], "estimate": [0.1, 0.2]})
        >>> hidden_attribute.stacked({"celeba-like": table}, ["model"])["cell"].tolist()
        ['female', 'male']
    """
    table = pd.concat(tables, names=names).reset_index(names).reset_index(drop=True)
    table = table.rename(columns=lambda name: name.removesuffix("_level"))
    table[AXES] = table.reindex(columns=AXES).astype("Int64")
    return labels.name_cells(table)
