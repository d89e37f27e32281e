"""The true causal effects of a classifier in the face world, by intervention (chapters 10 to 14).

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

from facerender.parameters import INDEX
from helpers.world import Doses, counterfactuals
from helpers.world.batches import render_to_store

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
) -> np.ndarray:
    """Does the classifier err on each base face at each combination of doses?

    The right answer is the intended level where `label` is one of the doses, and otherwise the base
    face's own side of 0.5, so that an audit without a gender axis works as well.

    Args:
        score: uint8 images (n, 3, size, size) -> P(label is high), e.g. a bound `models.predict`.
        base: (n, P) faces to intervene on.
        doses: the low and the high value of each manipulated parameter.
        size: height and width of the images in pixels.
        path: where the images are kept; the same design is rendered once for all classifiers.
        label: the parameter that the classifier is asked for.
        device: to render on.

    Returns:
        float64 (n, 2, …, 2), 1 where it errs, axes as in
        `helpers.world.counterfactuals`.

    Raises:
        ValueError: a dose of no parameter of the renderer.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from facerender.parameters import defaults
        >>> def always_female(images):
        ...     return np.zeros(len(images))
        >>> doses = {"gender": (0.2, 0.8)}
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "faces.npy"
        ...     errors_under_do(always_female, defaults(1), doses, size=16, path=path).tolist()
        [[0.0, 1.0]]
    """
    faces = counterfactuals(base, doses)
    pictures = render_to_store(faces.reshape(-1, base.shape[1]), size, path, device=device)
    cells = tuple(faces.shape[:-1])
    if label in doses:
        right = np.indices(cells)[1 + list(doses).index(label)]
    else:
        own = (base[:, INDEX[label]] > 0.5).cpu().numpy()
        right = own.reshape(-1, *[1] * len(doses))
    return ((score(pictures).reshape(cells) > 0.5) != (right == 1)).astype(np.float64)


def effects(errors: np.ndarray, attributes: Sequence[str]) -> pd.DataFrame:
    """Effect of each attribute on the error rate, high minus low, in each cell of the others.

    Args:
        errors: (n, 2, …, 2) from `errors_under_do`.
        attributes: names of its axes.

    Returns:
        Rows: the attribute, a column per attribute with the level (0, 1) at which the other is held
        or <NA> where it is averaged over (and for the attribute itself), n base faces, effect
        (a fraction) and se, its Monte-Carlo error, clustered by face.

    Raises:
        ValueError: errors whose axes are not those of the attributes.

    Example:
        >>> errors = np.array([[[0, 1], [1, 1]], [[0, 0], [1, 0]]])  # faces, skin, gender
        >>> effects(errors, ["skin", "gender"]).query("attribute == 'skin'")["effect"].tolist()
        [0.5, 1.0, 0.0]
    """
    if errors.shape[1:] != (2,) * len(attributes):
        raise ValueError(
            f"errors must have shape (n, {', '.join('2' * len(attributes))}) for the attributes "
            f"{list(attributes)}, not {errors.shape}"
        )
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
