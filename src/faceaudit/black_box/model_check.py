"""A model is tried on a few images before it is audited: does it answer, and twice the same?

Chapter 20 tries every model first.
"""

from __future__ import annotations

import numpy as np

from faceaudit.black_box.answers import NO_FACE
from faceaudit.black_box.local_models import LocalModel

ENOUGH_IMAGES = 64
SAME = 1e-4
"""Answers for one image may differ by so much: a batch of another size rounds otherwise."""


def check_model(model: LocalModel, images: np.ndarray, points: np.ndarray | None = None) -> None:
    """Ask a model about a few images twice, in other company, and refuse what is no model.

    The second time the images come in batches of one, two, three …, from the last to the first.
    Warns if the outputs look like probabilities though an activation is to make them so. A model on
    the network is not asked twice; its answers are judged as they come.

    Args:
        model: one that computes here.
        images: uint8 (n, 3, height, width), two different ones at least; the first 64 are used.
        points: (n, 5, 2), for `align` "arcface".

    Raises:
        ValueError: outputs of another shape, NaN, logits for probabilities, the same answer for
            all images, no face in any of them, or two answers for one image.

    Example:
        >>> import numpy as np
        >>> from faceaudit import black_box
        >>> images = np.random.default_rng(0).integers(0, 256, (4, 3, 8, 8)).astype(np.uint8)
        >>> same = black_box.python_model(lambda x: np.full(len(x), 0.5), version="1")
        >>> black_box.check_model(same, images)
        Traceback (most recent call last):
        ValueError: <lambda>: the answer is 0.5 for all of 4 different images; ...
    """
    images = images[:ENOUGH_IMAGES]
    points = None if points is None else np.asarray(points, float)[:ENOUGH_IMAGES]
    first = model.ask(images, points)
    found = first.reasons != NO_FACE
    if len(images) and not found.any():
        raise ValueError(f"{model.name}: no face found in any of {len(images)} images")
    for rows in _batches(len(images)):
        again = model.ask(images[rows], None if points is None else points[rows])
        _refuse_two_answers(model.name, first.values[rows], again.values, rows)
    distinct = len(np.unique(images[found].reshape(found.sum(), -1), axis=0))
    values = first.values[found]
    if distinct > 1 and np.ptp(values, axis=0).max() == 0:
        what = f"{values[0]:g}" if values.ndim == 1 else "one vector"
        raise ValueError(
            f"{model.name}: the answer is {what} for all of {distinct} different images; a wrong "
            "output, index or preparation does that, and so does a network without its weights"
        )
    here = None if points is None else points[found]
    if here is not None or model.preparation is None or model.preparation.align != "arcface":
        for raw in model.raw(np.ascontiguousarray(images[found]), here):
            model.reading.warn_of_probabilities(raw, model.name)


def _batches(n: int) -> list[np.ndarray]:
    """Rows of n images, backwards, one, two, three … at a time: none in the company it had."""
    starts = np.arange(1, n).cumsum()
    return np.split(np.arange(n)[::-1], starts[starts < n])


def _refuse_two_answers(name: str, first: np.ndarray, second: np.ndarray, rows: np.ndarray) -> None:
    """Raise ValueError at the first image with two answers."""
    # Where no face is found in any of them, the width of a vector is not known.
    if first.shape != second.shape and not np.isnan(second).all():
        raise ValueError(f"{name}: vectors of {first.shape[1:]}, then of {second.shape[1:]}")
    n = len(first)
    scale = np.maximum(1, np.abs(np.nan_to_num(first)))
    far = np.abs(first - second) > SAME * scale
    changed = (far | (np.isnan(first) != np.isnan(second))).reshape(n, -1).any(1)
    if changed.any():
        row = int(changed.argmax())
        both = f"{first[row]:.4g} and {second[row]:.4g}" if first.ndim == 1 else "two vectors"
        raise ValueError(
            f"{name}: {both} for the same image (number {rows[row]}); a model under audit must "
            "answer the same every time: turn off dropout, batch statistics and random augmentation"
        )
