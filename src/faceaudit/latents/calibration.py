"""Calibration of transects: neutral faces and the means of cells are brought to their targets.

Fitted directions miss the exact ones by some degrees, so that steps along them also move what they
should hold, and leave faces a little beside their level. Both show in ratings of the faces, before
any model is asked, and are corrected round by round: neutral faces are moved to the middle of the
others, and the means of cells to their goals. `leaks` and `dose_spread` measure, for a gate, what
the rounds leave. All steps are in decision values of
`faceaudit.latents.directions.fit_fractional`, which are logits of scores.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

STEP_SHARE = 0.7
"""Share of the way that a step goes: links are steeper than their fits."""
MOST_DEVIATION = 0.25
"""Distance from the other faces, in units of the scale, up to which a neutral face is neutral.

Hair that is tied or covered cannot be given a length.
"""
_STEEPEST_SLOPE = 0.25
"""Slope of a score on its logit at the middle of the scale."""
_LEAST_SLOPE = 0.02
"""Slopes are at least this large where a difference is divided by them."""
_LONGEST_STEP = 0.6
_NORMAL_QUANTILE = 1.645
"""Of one-sided limits of 95%."""


def center_neutral(scores: pd.DataFrame, error: pd.DataFrame) -> pd.DataFrame:
    """Steps that bring neutral faces to where most of them are, on the axes of the grid.

    A face's deviation from the median is shrunk by its reliability, τ² / (τ² + σ²), with τ² the
    variance of true deviations: the rest is the raters' noise.

    Args:
        scores: of the neutral faces, (n, axes), each from zero to one.
        error: squared standard errors of such scores, (faces, axes); NaN where there is none.

    Returns:
        (n, axes) decision values to add.

    Example:
        >>> scores = pd.DataFrame({"gender": [0.4, 0.5, 0.6]})
        >>> center_neutral(scores, 0 * scores)["gender"].round(2).tolist()
        [0.28, -0.0, -0.28]
    """
    deviation = scores - scores.median()
    noise = error.mean().fillna(np.inf)
    true = (deviation.clip(-MOST_DEVIATION, MOST_DEVIATION).var() - noise).clip(lower=0)
    return -STEP_SHARE * true / (true + noise).clip(lower=1e-9) * deviation / _STEEPEST_SLOPE


def is_inlier(scores: pd.DataFrame, cells: int = 1) -> np.ndarray:
    """Find the transects that are, on average over their images, where the others are.

    Args:
        scores: of images, all of a transect in a row, on the axes of the grid.
        cells: images of a transect.

    Returns:
        (n,) bool; False where a transect is further away than `MOST_DEVIATION` on an axis.
    """
    number = np.arange(len(scores))
    deviation = scores - scores.groupby(number % cells).transform("median")
    by_transect = deviation.groupby(number // cells).mean()
    return (by_transect.abs() <= MOST_DEVIATION).all(axis=1).to_numpy()


def step_to_targets(
    values: pd.DataFrame,
    cells: int,
    goals: Mapping[str, ArrayLike],
    gain: float = STEP_SHARE,
    measures: Sequence[str] = (),
) -> pd.DataFrame:
    """Steps that bring the mean of every cell to its goal, from a sample of transects.

    Args:
        values: ratings of the images, all of a transect in a row, one column per attribute: scores
            from zero to one, or `measures`.
        cells: images of a transect.
        goals: attribute → the mean to reach, one for all cells or (cells,). Other attributes are to
            have the mean of all cells in each.
        gain: share of the way to go. Rounds of which each goes less far end nearer to the goal: the
            noise of the answers averages out.
        measures: columns that are no scores but in the unit of their decision value.

    Returns:
        (cells, attributes) decision values to add to every image of the cell.

    Example:
        >>> seen = pd.DataFrame({"age": [0.5, 0.6], "gender": [0.2, 0.9]})
        >>> step_to_targets(seen, 2, {"gender": [0.1, 0.9]}).round(2).to_dict("list")
        {'age': [0.14, -0.15], 'gender': [-0.44, 0.0]}
    """
    cell = np.arange(len(values)) % cells
    mean = values.groupby(cell).mean()
    slope = (values * (1 - values)).groupby(cell).mean().clip(lower=_LEAST_SLOPE)
    slope[list(measures)] = 1.0
    targets = {name: goals.get(name, mean[name].mean()) for name in values}
    goal = pd.DataFrame(targets, mean.index)
    return (gain * (goal - mean) / slope).clip(-_LONGEST_STEP, _LONGEST_STEP)


def leaks(values: pd.DataFrame, levels: Mapping[str, Sequence[int] | np.ndarray]) -> pd.DataFrame:
    """How far every attribute moves along each axis, on average over transects.

    Args:
        values: ratings of the images, all of a transect in a row, one column per attribute.
        levels: axis → the level, 0 or 1, of every cell of a transect.

    Returns:
        Rows by attribute and axis: `change` from the low to the high level, in the unit of the
        values, and `upper`, a one-sided limit of 95% for its size.

    Example:
        >>> seen = pd.DataFrame({"age": [0.5, 0.6, 0.4, 0.5]})
        >>> leaks(seen, {"gender": [0, 1]}).round(2).to_numpy().tolist()
        [[0.1, 0.1]]
    """
    rows = {}
    for axis, level in levels.items():
        sign = np.where(np.asarray(level) == 1, 2, -2) / len(level)
        grid = values.to_numpy().reshape(-1, len(level), values.shape[1])
        change = np.einsum("ncv,c->nv", grid, sign)
        se = change.std(axis=0, ddof=1) / np.sqrt(len(change))
        mean = change.mean(axis=0)
        changes = {"change": mean, "upper": np.abs(mean) + _NORMAL_QUANTILE * se}
        rows[axis] = pd.DataFrame(changes, pd.Index(values.columns, name="attribute"))
    return pd.concat(rows, names=["axis"]).swaplevel()


def dose_spread(
    scores: pd.DataFrame, error: pd.DataFrame, levels: Mapping[str, Sequence[int] | np.ndarray]
) -> pd.DataFrame:
    """How far transects lie apart within one level of an axis, less the raters' noise there.

    Args:
        scores: of the images, all of a transect in a row, on the axes.
        error: their squared standard errors; NaN, where there is none, takes nothing off.
        levels: axis → the level, 0 or 1, of every cell of a transect.

    Returns:
        Rows by axis and level: `sd` of transects, and `upper`, a one-sided limit of 95% for it.

    Example:
        >>> seen = pd.DataFrame({"gender": [0.1, 0.9, 0.1, 0.9]})
        >>> dose_spread(seen, 0 * seen, {"gender": [0, 1]})["sd"].tolist()
        [0.0, 0.0]
    """
    rows = {}
    for axis, level in levels.items():
        grid = scores[axis].to_numpy().reshape(-1, len(level))
        noise = error[axis].to_numpy().reshape(-1, len(level))
        grid = grid - grid.mean(axis=0)
        for side in (0, 1):
            cells = np.asarray(level) == side
            variance = grid[:, cells].mean(axis=1) ** 2
            variance -= np.nan_to_num(noise[:, cells]).mean(axis=1) / cells.sum()
            mean = variance.mean()
            upper = mean + _NORMAL_QUANTILE * variance.std() / np.sqrt(len(variance))
            rows[axis, side] = {"sd": max(mean, 0) ** 0.5, "upper": max(upper, 0) ** 0.5}
    return pd.DataFrame(rows).T.rename_axis(["axis", "level"])
