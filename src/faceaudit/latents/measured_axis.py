"""Faces that are steered to targets which are measured on their images, such as a colour of skin.

Planes that were fitted to measures say where to go first. They miss: a step along them moves every
face by another amount. So images are made and measured again, and each face gets a step of its own
from what its last steps did (Broyden 1965), round by round. What is to stay, such as the lightness
of the background, is one of the measures, with the face's own first value as its target.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from faceaudit.latents.directions import Hyperplanes, fit_ridge
from faceaudit.latents.orthogonalization import dual_basis
from faceaudit.utils.arguments import as_finite, require_shape

MOST_STEP = 3.0
"""Length of a step at most, in standard deviations of a measure."""
LEAST_PROGRESS = 0.05
"""Steps shorter than this, in standard deviations, teach nothing about how a face responds."""

MOST_CONDITION = 30.0
"""Condition number at most of the responses that a step is computed from."""
DECIMALS = 4
"""Of steps. Sums differ in their last digits with the number of faces and with the processor. Later
rounds would enlarge that until the images differ."""


@dataclass(frozen=True)
class Steered:
    """Codes of faces, and where they are.

    Attributes:
        codes: (n, D), each from the round in which the face was nearest to its targets.
        steps: (n, measures), how far they are from where they began, along the dual basis of the
            planes' normals, rounded to `DECIMALS`. Where another processor makes images that
            differ a little, later rounds enlarge that. So keep the steps to draw the same faces
            there.
        measured: (n, measures) of these codes; NaN where a face could not be measured.
        distances: (rounds, n) root of the mean squared distance to the targets, in standard
            deviations of the measures.
    """

    codes: np.ndarray
    steps: pd.DataFrame
    measured: pd.DataFrame
    distances: np.ndarray


def fit_measures(codes: np.ndarray, measures: pd.DataFrame) -> Hyperplanes:
    """Hyperplanes whose decision values are measures, in standard deviations from their means.

    Args:
        codes: (n, D) of the images that were measured.
        measures: a column for each measure.

    Returns:
        Hyperplanes by ridge regression; their scores are cross-validated R².
    """
    standardised = (measures - measures.mean()) / measures.std()
    planes = [fit_ridge(codes, standardised[name]) for name in standardised]
    return Hyperplanes(
        names=tuple(standardised),
        normals=np.stack([plane.normal for plane in planes]),
        # `fit_ridge` counts from the middle of a scale from 0 to 1.
        intercepts=np.array([plane.intercept + 0.5 for plane in planes]),
        scores={name: plane.score for name, plane in zip(standardised, planes, strict=True)},
    )


def steer(
    measure: Callable[[np.ndarray], pd.DataFrame],
    codes: np.ndarray,
    targets: pd.DataFrame,
    planes: Hyperplanes,
    scale: pd.Series,
    rounds: int = 5,
) -> Steered:
    """Move codes until what is measured on their images is at its targets.

    Args:
        measure: codes (n, D) → measures of their images, (n, measures), NaN where one cannot be
            taken. It is called once a round.
        codes: (n, D) to begin with.
        targets: (n, measures) of `planes`; NaN: the face's value in the first round.
        planes: of the measures, of `fit_measures`.
        scale: standard deviation of each measure.
        rounds: how often images are made.

    Returns:
        The codes that came nearest, with their measures.

    Raises:
        InputError: targets or codes of another shape.

    Example:
        >>> planes = Hyperplanes(("lightness",), np.array([[1.0, 0.0]]), np.zeros(1))
        >>> def measure(codes):  # the measure grows faster than its plane says
        ...     return pd.DataFrame({"lightness": codes[:, 0] + codes[:, 0] ** 3})
        >>> target = pd.DataFrame({"lightness": [1.0]})
        >>> scale = pd.Series({"lightness": 1.0})
        >>> steered = steer(measure, np.zeros((1, 2)), target, planes, scale, rounds=7)
        >>> steered.measured["lightness"].round(2).item()
        1.0
    """
    start = as_finite(codes, "codes", ndim=2)
    names = list(planes.names)
    count = len(names)
    require_shape(targets.to_numpy(), "targets", (len(start), count))
    directions = dual_basis(planes.normals)
    # Of each face: change of the measures, in standard deviations, by a step along each direction.
    response = np.tile(np.eye(count), (len(start), 1, 1))
    goal = (targets[names] / scale[names]).to_numpy()
    moved = np.zeros(goal.shape)
    best_moved = np.zeros(goal.shape)
    best_values = np.full(goal.shape, np.nan)
    best_distance = np.full(len(start), np.inf)
    distances = []
    last_values = np.full(goal.shape, np.nan)
    steps = np.zeros(goal.shape)
    for _ in range(rounds):
        values = (measure(start + moved @ directions)[names] / scale[names]).to_numpy()
        if not distances:
            goal = np.where(np.isnan(goal), values, goal)
        missed = goal - values
        distance = np.sqrt((missed**2).mean(axis=1))
        distances.append(distance)
        nearer = distance < best_distance  # never where a measure is missing
        best_moved[nearer] = moved[nearer]
        best_values[nearer] = values[nearer]
        best_distance[nearer] = distance[nearer]

        response = _learned(response, steps, values - last_values)
        last_values = values
        steps = _clipped(np.linalg.solve(response, np.nan_to_num(missed)[..., None])[..., 0])
        moved = (moved + steps).round(DECIMALS)
    measured = pd.DataFrame(best_values * scale[names].to_numpy(), targets.index, names)
    return Steered(
        codes=start + best_moved @ directions,
        steps=pd.DataFrame(best_moved, targets.index, names),
        measured=measured,
        distances=np.stack(distances),
    )


def _learned(response: np.ndarray, steps: np.ndarray, changes: np.ndarray) -> np.ndarray:
    """Responses of faces after what their last steps did, by Broyden's rule.

    Args:
        response: (n, measures, directions) before.
        steps: (n, directions) that were taken.
        changes: (n, measures) that followed; NaN in the first round, or where one was not measured.
    """
    length = (steps**2).sum(axis=1)
    knows = (length > LEAST_PROGRESS**2) & np.isfinite(changes).all(axis=1)
    expected = np.einsum("nmd,nd->nm", response, steps)
    surprise = np.where(knows[:, None], changes - expected, 0)
    update = np.einsum("nm,nd->nmd", surprise, steps) / np.where(knows, length, 1)[:, None, None]
    learned = response + update
    # A face whose responses nearly cancel would be thrown far away.
    invertible = np.linalg.cond(learned) < MOST_CONDITION
    return np.where(invertible[:, None, None], learned, response)


def _clipped(steps: np.ndarray) -> np.ndarray:
    """Steps (n, directions), none longer than `MOST_STEP`."""
    length = np.sqrt((steps**2).sum(axis=1, keepdims=True))
    return steps * np.minimum(1, MOST_STEP / np.maximum(length, MOST_STEP))
