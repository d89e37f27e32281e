"""True causal effects in the face world, by intervention, and what moves along an axis.

The same faces are rendered at every combination of the attributes' doses, everything else held
exactly, and the classifier is asked. What remains uncertain is which faces were drawn: standard
errors are clustered by base face. Arrays with one value per image are in the order of
`faceaudit.latents.transects.index` of a 2×2×2 grid: eight images a transect, axes in the order of
`AXES`.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from torch import Tensor

import facerender
from faceaudit.annotations.schema import LEVEL_NAMES
from faceaudit.effects.display_names import held_in_words
from faceworld.interventions import Doses, counterfactuals
from faceworld.rendering import render_to_store

CONTRASTS: Mapping[str, str] = {
    "skin_colour": "dark − light skin",
    "hair_length": "long − short hair",
    "gender": "male − female",
}
"""Axis → name of its effect, high minus low."""


def name_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Name each effect by the levels at which the other axes are held.

    Args:
        table: a row per effect; a column per axis with the level (0 low, 1 high) at which it is
            held, <NA> where it is averaged over and for the axis that changes.

    Returns:
        The table with the columns cell, the held levels in words, and scope: "cell" where both
        other axes are held, "partial average" or "average".

    Example:
        >>> held = pd.DataFrame({"gender": [0], "hair_length": [1], "skin_colour": [pd.NA]})
        >>> name_cells(held)[["cell", "scope"]].iloc[0].tolist()
        ['female, long hair', 'cell']
    """
    held = table[list(LEVEL_NAMES)]
    names = []
    for row in held.to_dict("records"):
        levels = {attribute: level for attribute, level in row.items() if pd.notna(level)}
        names.append(held_in_words(levels))
    scopes = {0: "average", 1: "partial average", 2: "cell"}
    return table.assign(cell=names, scope=held.notna().sum(axis=1).map(scopes))


Score = Callable[[np.ndarray], np.ndarray]
"""A model: uint8 images (n, 3, h, w) → its answers (n,)."""
AXES = list(CONTRASTS)
"""Axes of the book's transects, in order: skin colour, hair length, gender."""


def errors_under_do(
    score: Score,
    base: Tensor,
    doses: Doses,
    *,
    size: int,
    path: Path,
    label: str = "gender",
    device: str = "cpu",
) -> np.ndarray:
    """Errors of a classifier on each base face at each combination of doses.

    The right answer is the intended level where `label` is one of the doses, and otherwise the base
    face's own side of 0.5, so that an audit without a gender axis works as well.

    Args:
        score: uint8 images (n, 3, size, size) -> P(label is high), e.g. a bound `networks.predict`.
        base: (n, P) faces to intervene on.
        doses: the values of each manipulated parameter, two or more; two of `label`.
        size: height and width of the images in pixels.
        path: where the images are kept; the same design is rendered once for all classifiers.
        label: the parameter that the classifier is asked for.
        device: to render on.

    Returns:
        float64 (n, levels of each parameter), 1 where it errs, axes as in
        `faceworld.interventions.counterfactuals`.

    Raises:
        KeyError: a dose of no parameter of the renderer.
    """
    faces = counterfactuals(base, doses)
    pictures = render_to_store(faces.reshape(-1, base.shape[1]), size, path, device=device)
    cells = tuple(faces.shape[:-1])
    if label in doses:
        right = np.indices(cells)[1 + list(doses).index(label)]
    else:
        of_base_face = (base[:, facerender.INDEX[label]] > 0.5).cpu().numpy()
        right = of_base_face.reshape(-1, *[1] * len(doses))
    return ((score(pictures).reshape(cells) > 0.5) != (right == 1)).astype(np.float64)


def true_effects(errors: np.ndarray, attributes: Sequence[str]) -> pd.DataFrame:
    """Effect of each attribute on the error rate, high minus low, in each cell of the others.

    Args:
        errors: (n, 2, …, 2) from `errors_under_do`.
        attributes: names of its axes.

    Returns:
        Rows: the attribute, a column per attribute with the level (0, 1) at which the other is held
        or <NA> where it is averaged over (and for the attribute itself), n base faces, effect
        (a fraction) and se, its Monte-Carlo error, clustered by face.

    Example:
        >>> errors = np.array([[[0, 1], [1, 1]], [[0, 0], [1, 0]]])  # faces, skin, gender
        >>> true_effects(errors, ["skin", "gender"]).query("attribute == 'skin'")["effect"].tolist()
        [0.5, 1.0, 0.0]
    """
    rows = []
    for axis, attribute in enumerate(attributes):
        differences = errors.take(1, axis + 1) - errors.take(0, axis + 1)
        others = [name for name in attributes if name != attribute]
        for held in itertools.product((None, 0, 1), repeat=len(others)):
            index = tuple(slice(None) if level is None else level for level in held)
            by_face = differences[(slice(None), *index)].reshape(len(errors), -1).mean(1)
            row = {"attribute": attribute, **dict(zip(others, held, strict=True))}
            row |= {"n": len(by_face), "effect": by_face.mean()}
            rows.append(row | {"se": by_face.std(ddof=1) / np.sqrt(len(by_face))})
    frame = pd.DataFrame(rows, columns=["attribute", *attributes, "n", "effect", "se"])
    return frame.astype(dict.fromkeys(attributes, "Int64"))


def as_grid(values: ArrayLike) -> np.ndarray:
    """Values of images (n * 8, …) by transect and levels of the axes, (n, 2, 2, 2, …)."""
    values = np.asarray(values)
    return values.reshape(-1, 2, 2, 2, *values.shape[1:])


def parameter_effects(values: ArrayLike) -> pd.DataFrame:
    """Mean change of a value along each axis, in every cell and averaged.

    Args:
        values: (n * 8,) or any shape of as many values in the same order.

    Returns:
        Rows of `true_effects`, effect and se in the unit of the values, named by
        `faceworld.scorecard.truth.name_cells`.
    """
    return name_cells(true_effects(as_grid(np.ravel(values)), AXES))


def stack_effects(tables: Mapping[object, pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    """Stack tables of effects, with their keys as columns and their cells named.

    Args:
        tables: key, or keys → table; the held level of an axis (0 or 1) stands in a column
            `<axis>` or `<axis>_level`; an axis without a column is not held.
        names: of the columns that take the keys.

    Returns:
        The rows, numbered anew, with the keys, `AXES`, and cell and scope as in
        `faceworld.scorecard.truth.name_cells`.
    """
    table = pd.concat(tables, names=names).reset_index(names).reset_index(drop=True)
    table = table.rename(columns=lambda name: name.removesuffix("_level"))
    table[AXES] = table.reindex(columns=AXES).astype("Int64")
    return name_cells(table)
