"""An instrument that is brought to its targets before any model is asked.

Fitted directions miss the exact ones by some degrees, so that steps along them also move what they
should hold, and leave faces a little beside their level. Both can be seen by whoever looks at the
faces, and mended: neutral faces are rated and moved to the middle, and the means of cells are
brought to their goals, round by round. All steps are in decision values of `fit_fractional`, which
are logits of scores. `benchmarks/instrument.py` shows all steps in order.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score

from helpers.directions import Hyperplanes, Plane
from helpers.utils.checks import as_finite, require_shape

PENALTY = 20.0
"""Of half the squared length of a normal in `fit_fractional`."""
GAIN = 0.7
"""Share of the way that a step goes: links are steeper than their fits."""
FARTHEST = 0.25
"""Neutral faces further from the others, in units of the scale, are not neutral: hair that is tied
or covered cannot be given a length."""
_STEEPEST = 0.25  # slope of a logit's score at its middle
_FLATTEST, _LONGEST = 0.02, 0.6  # of slopes that are divided by, and of steps


def fit_fractional(w: ArrayLike, scores: pd.DataFrame) -> Hyperplanes:
    """Hyperplanes whose decision value is the logit of the mean score: fractional logit.

    Maximises Σ y log σ(d) + (1 − y) log(1 − σ(d)) − `PENALTY` ‖n‖²/2 for scores y in [0, 1] (Papke
    and Wooldridge 1996), d the decision value. A scale that ends is followed to its ends, and a
    step of one is one logit for every attribute. A fitted normal is too long for faces that it has
    not seen. Half of the sample tells by how much: the slope g of a logit on the decision values of
    a fit to the other half. The whole sample's normal is scaled by (1 + (1/g² − 1)/2)^−½.

    Args:
        w: latents (n, D).
        scores: mean normalised annotations in [0, 1], one row per latent, one column per attribute.

    Returns:
        Hyperplanes of all columns; their scores are R² on the unseen half.

    Raises:
        ValueError: rows that do not match, or scores that are not numbers.

    Example:
        >>> w = np.random.default_rng(0).standard_normal((400, 3))
        >>> planes = fit_fractional(w, pd.DataFrame({"age": 1 / (1 + np.exp(-w[:, 0]))}))
        >>> planes.decision_values([[0.0, 0, 0], [1, 0, 0]]).round(1).tolist()
        [[-0.0], [0.7]]
    """
    w = as_finite(w, "latents", ndim=2)
    require_shape(as_finite(scores, "scores", ndim=2), "scores", (len(w), -1))
    planes = {name: _fractional(w, scores[name].to_numpy()) for name in scores}
    return Hyperplanes(
        names=tuple(planes),
        normals=np.stack([plane.normal for plane in planes.values()]),
        intercepts=np.array([plane.intercept for plane in planes.values()]),
        scores={name: plane.score for name, plane in planes.items()},
    )


def _fractional(w: np.ndarray, score: np.ndarray) -> Plane:
    seen = np.arange(len(w)) % 2 == 0
    normal, intercept = _fractional_logit(w[seen], score[seen], PENALTY)
    unseen = (w[~seen] @ normal + intercept)[:, None]
    slope, zero = _fractional_logit(unseen, score[~seen], 0.0)
    r2 = r2_score(score[~seen], expit(unseen @ slope + zero))
    scale = (1 + max(slope[0] ** -2 - 1, 0) / 2) ** -0.5
    normal, intercept = _fractional_logit(w, score, PENALTY)
    return Plane(scale * normal, scale * intercept, r2)


def _fractional_logit(w: np.ndarray, score: np.ndarray, penalty: float) -> tuple[np.ndarray, float]:
    """Every latent counts as a case of the high level with weight y, and of the low with 1 − y."""
    weight, side = np.r_[score, 1 - score], np.repeat([1, 0], len(w))
    model = LogisticRegression(C=1 / penalty if penalty else np.inf, solver="newton-cholesky")
    model.fit(np.r_[w, w], side, sample_weight=weight)
    return model.coef_[0], float(model.intercept_[0])


def centring(scores: pd.DataFrame, error: pd.Series) -> pd.DataFrame:
    """Steps that bring neutral faces to where most of them are, on the axes of the grid.

    A face's deviation from the median is shrunk by its reliability, τ² / (τ² + σ²), with τ² the
    variance of true deviations: the rest is the raters' noise.

    Args:
        scores: of the neutral faces, (n, axes), each from zero to one.
        error: of every axis the mean squared standard error of a face's score.

    Returns:
        (n, axes) decision values to add.

    Example:
        >>> scores = pd.DataFrame({"gender": [0.4, 0.5, 0.6]})
        >>> centring(scores, pd.Series({"gender": 0.0}))["gender"].round(2).tolist()
        [0.28, -0.0, -0.28]
    """
    away = scores - scores.median()
    true = (away.clip(-FARTHEST, FARTHEST).var() - error).clip(lower=0)
    return -GAIN * true / (true + error) * away / _STEEPEST


def ordinary(scores: pd.DataFrame, cells: int = 1) -> np.ndarray:
    """Find the transects that are, on average over their images, where the others are.

    Args:
        scores: of images, all of a transect in a row, on the axes of the grid.
        cells: images of a transect.

    Returns:
        (n,) bool; False where a transect is further away than `FARTHEST` on an axis.
    """
    away = scores - scores.groupby(np.arange(len(scores)) % cells).transform("median")
    by_transect = away.groupby(np.arange(len(scores)) // cells).mean()
    return (by_transect.abs() <= FARTHEST).all(axis=1).to_numpy()


def closing(
    values: pd.DataFrame,
    cells: int,
    goals: Mapping[str, ArrayLike],
    gain: float = GAIN,
    measures: Sequence[str] = (),
) -> pd.DataFrame:
    """Steps that bring the mean of every cell to its goal, from a sample of transects.

    Args:
        values: what is seen of the images, all of a transect in a row, one column per attribute:
            scores from zero to one, or `measures`.
        cells: images of a transect.
        goals: attribute → the mean to reach, one for all cells or (cells,). Other attributes are to
            have the mean of all cells in each.
        gain: share of the way to go. Rounds that go less far one after the other end nearer: what
            answers say of a cell by chance averages out.
        measures: columns that are no scores but in the unit of their decision value.

    Returns:
        (cells, attributes) decision values to add to every image of the cell.

    Example:
        >>> seen = pd.DataFrame({"age": [0.5, 0.6], "gender": [0.2, 0.9]})
        >>> closing(seen, 2, {"gender": [0.1, 0.9]}).round(2).to_dict("list")
        {'age': [0.14, -0.15], 'gender': [-0.44, 0.0]}
    """
    cell = np.arange(len(values)) % cells
    mean = values.groupby(cell).mean()
    slope = (values * (1 - values)).groupby(cell).mean().clip(lower=_FLATTEST)
    slope[list(measures)] = 1.0
    goal = pd.DataFrame({name: goals.get(name, mean[name].mean()) for name in values}, mean.index)
    return (gain * (goal - mean) / slope).clip(-_LONGEST, _LONGEST)
