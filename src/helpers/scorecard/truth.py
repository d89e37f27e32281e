"""The true causal effects of a classifier in the face world, by intervention on the faces.

Nobody knows the effect of hair length on a classifier's errors for photographs. Here it is
computed: the same faces are rendered at every combination of the attributes' doses, everything else
held exactly, and the classifier is asked. What remains uncertain is which faces were drawn; the
standard errors say so (clustered by base face).
"""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from torch import Tensor

from helpers.faces.batches import render_to_store
from helpers.faces.interventions import Doses, counterfactuals
from helpers.faces.parameters import INDEX

Score = Callable[[np.ndarray], np.ndarray]


def errors_under_do(
    score: Score,
    base: Tensor,
    doses: Doses,
    *,
    size: int,
    path: Path,
    label: str = "gender",
    device: str = "cpu",
    workers: int | None = None,
) -> np.ndarray:
    """Does the classifier err on each base face at each combination of doses?

    The right answer is the intended level where `label` is one of the doses, and otherwise the base
    face's own side of 0.5, so that an audit without a gender axis works as well.

    Args:
        score: uint8 images (n, 3, size, size) -> P(label is high), e.g. a bound `models.predict`.
        base: (n, P) faces to intervene on.
        doses: the low and the high value of each manipulated parameter.
        path: where the images are kept; the same design is rendered once for all classifiers.

    Returns:
        float64 (n, 2, …, 2), 1 where it errs, axes as in `counterfactuals`.
    """
    faces = counterfactuals(base, doses)
    pictures = render_to_store(
        faces.reshape(-1, base.shape[1]), size, path, device=device, workers=workers
    )
    cells = tuple(faces.shape[:-1])
    return _wrong(score(pictures).reshape(cells), _right_answers(base, doses, label))


def effects(errors: np.ndarray, attributes: Sequence[str]) -> pd.DataFrame:
    """Effect of each attribute on the error rate, high minus low, in each cell of the others.

    Args:
        errors: (n, 2, …, 2) from `errors_under_do`.
        attributes: names of its axes.

    Returns:
        Rows: the attribute, a column per attribute with the level (0, 1) at which the other is held
        or <NA> where it is averaged over (and for the attribute itself), n base faces, effect, se.
    """
    _check_axes(errors, attributes)
    rows = []
    for axis, attribute in enumerate(attributes):
        differences = errors.take(1, axis + 1) - errors.take(0, axis + 1)
        others = [name for name in attributes if name != attribute]
        for held in itertools.product((None, 0, 1), repeat=len(others)):
            index = tuple(slice(None) if level is None else level for level in held)
            cell = differences[(slice(None), *index)].reshape(len(errors), -1)
            levels = dict(zip(others, held, strict=True))
            rows.append({"attribute": attribute} | levels | _mean(cell.mean(1)))
    frame = pd.DataFrame(rows, columns=["attribute", *attributes, "n", "effect", "se"])
    return frame.astype(dict.fromkeys(attributes, "Int64"))


def _right_answers(base: Tensor, doses: Doses, label: str) -> np.ndarray:
    shape = (len(base), *[2] * len(doses))
    if label in doses:
        axis = list(doses).index(label) + 1
        levels = np.arange(2).reshape([2 if i == axis else 1 for i in range(len(shape))])
    else:
        own = (base[:, INDEX[label]] > 0.5).cpu().numpy().astype(int)
        levels = own.reshape(-1, *[1] * len(doses))
    return np.broadcast_to(levels, shape)


def _wrong(scores: np.ndarray, right: np.ndarray) -> np.ndarray:
    return ((scores > 0.5) != (right == 1)).astype(np.float64)


def _mean(values: np.ndarray) -> dict:
    return {
        "n": len(values),
        "effect": values.mean(),
        "se": values.std(ddof=1) / np.sqrt(len(values)),
    }


def _check_axes(errors: np.ndarray, attributes: Sequence[str]) -> None:
    expected = [2] * len(attributes)
    if list(errors.shape[1:]) != expected:
        raise ValueError(
            f"errors must have shape (n, {', '.join('2' * len(attributes))}) for the attributes "
            f"{list(attributes)}, not {errors.shape}"
        )
