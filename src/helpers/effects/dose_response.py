"""Effects by dose: what a step of the raters' scale does, and whether every step does the same.

A transect asks for levels and gets doses, which differ from face to face. All quantities are means
of one value per transect, so that `helpers.effects.simultaneous.max_t_intervals` gives them
intervals that hold together.
"""

import numpy as np
from numpy.typing import ArrayLike

from helpers.utils.checks import as_finite, require_alike, require_shape


def per_unit(change: ArrayLike, dose: ArrayLike) -> np.ndarray:
    """Values whose mean is the mean change of the outcome per unit of realised dose.

    The ratio of the two means is Wald's estimator, with the level that was asked for as instrument
    (Wald, Annals of Mathematical Statistics 11 (1940) 284-300). It averages the slopes of all
    faces over the doses that each went through (Angrist & Imbens, Journal of the American
    Statistical Association 90 (1995) 431-442), and an error of measurement in the dose that does
    not depend on the level does not flatten it. The values have the standard deviation of
    the ratio's influence function, so their standard error is that of the delta method.

    Args:
        change: (n, m) changes of outcomes, a row per transect.
        dose: (n, m) changes of the dose, in any unit.

    Returns:
        float64 (n, m).

    Raises:
        ValueError: missing values, or shapes that differ.

    Example:
        >>> from helpers.effects.dose_response import per_unit
        >>> float(per_unit([[0.0], [1.0]], [[4.0], [6.0]]).mean().round(3))
        0.1
    """
    change, dose = as_finite(change, "change", 2), as_finite(dose, "dose", 2)
    require_alike(change, "change", dose, "dose")
    ratio = change.mean(axis=0) / dose.mean(axis=0)
    return ratio + (change - ratio * dose) / dose.mean(axis=0)


def bend(outcome: ArrayLike, dose: ArrayLike) -> np.ndarray:
    """Values whose mean is how far a curve over doses lies above the straight line of its ends.

    The line joins the mean outcomes at the lowest and the highest dose. It is read at the mean of
    every dose between, and the distances are averaged. Zero for an effect that is the same per unit
    everywhere.

    Args:
        outcome: (n, K, m) outcomes at three or more steps, a row per transect.
        dose: (n, K, m) realised doses, or (1, K, m) where they are the same in all transects.

    Returns:
        float64 (n, m), with the standard deviation of the influence function.

    Raises:
        ValueError: missing values, shapes that do not fit, or fewer than three steps.

    Example:
        >>> import numpy as np
        >>> from helpers.effects.dose_response import bend
        >>> doses = np.array([[[0.0], [1.0], [4.0]]] * 2)
        >>> bend(doses / 10, doses).round(12).tolist(), bend(np.sqrt(doses), doses).tolist()
        ([[0.0], [0.0]], [[0.5], [0.5]])
    """
    outcome, dose = as_finite(outcome, "outcome", 3), as_finite(dose, "dose", 3)
    require_shape(dose, "dose", (-1, *outcome.shape[1:]))
    if outcome.shape[1] < 3:
        raise ValueError(f"a bend takes at least three steps, got {outcome.shape[1]}")
    rise, run = outcome - outcome[:, :1], dose - dose[:, :1]
    share = run.mean(axis=0) / run[:, -1].mean(axis=0)
    slope = rise[:, -1].mean(axis=0) / run[:, -1].mean(axis=0)
    # The place on the line is estimated too: a face with a larger dose at a step moves it.
    moved = slope * (run - share * run[:, -1:])
    return (rise - share * rise[:, -1:] - moved)[:, 1:-1].mean(axis=1)
