"""The mean change of answers to edited pictures, less the error that the edits make on twins.

A picture of a person is edited, and a model is asked before and after. An edit is not exact, so the
mean change has a bias. Twins show it: pictures that a generator draws from known codes, which are
edited in the same way as the pictures of people, and whose exact edit is known because their codes
are. The estimate is the mean change less the mean error on twins. It is the rectifier of
prediction-powered inference (Angelopoulos et al., Science 382 (2023) 669-674), with twins in the
place of the labelled sample, and regression calibration by a validation sample.

It is right where the edits err on twins as they err on people, and where the edit is the change
that is asked about. An edit along a step that an experiment found has the error of this step. It is
the same for all people, so more people do not average it away: more experiments do, each with its
own step, and their spread shows how large it is.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from faceaudit.effects.resampling import cluster_codes
from faceaudit.utils.arguments import as_finite, require_same_shape, require_shape


@dataclass(frozen=True)
class CalibratedChange:
    """A mean change with its 95% interval.

    Attributes:
        estimate: the mean change on people, less the mean error on twins.
        low, high: ends of the interval; NaN where there is none.
        uncalibrated: the mean change on people.
        error_on_twins: mean of the read change minus the exact one.
        people: how many people there are.
        of_steps: (steps,), the estimate by each step.
        reason: why there is no interval, else empty.

    Example:
        >>> CalibratedChange(0.02, 0.01, 0.03, 0.05, 0.03, 40, np.array([0.02]), "").error_on_twins
        0.03
    """

    estimate: float
    low: float
    high: float
    uncalibrated: float
    error_on_twins: float
    people: int
    of_steps: np.ndarray
    reason: str


def calibrated_change(
    change: ArrayLike, read_on_twin: ArrayLike, exact_on_twin: ArrayLike, person: ArrayLike
) -> CalibratedChange:
    """Mean change of answers to edited pictures, calibrated on a twin of each picture.

    People are the units: their pictures and the twins of these vary together, and the standard
    error is that of the whole difference, summed over the pictures of a person. Of several steps,
    the estimate is the mean over them, and the squared standard error of the mean over steps is
    added. The interval is Student's; with one step it has one degree of freedom fewer than there
    are people, with more those of Satterthwaite (Biometrics Bulletin 2 (1946) 110-114).

    Args:
        change: of a picture: the answer after the edit minus that before it. (n,), or (n, steps)
            where each picture is edited along the steps of several experiments.
        read_on_twin: the same for the picture's twin, edited in the same way.
        exact_on_twin: the change of the twin's answer by the exact edit.
        person: (n,) who is in the picture.

    Returns:
        The estimate with its interval; no interval of one person, or where no picture differs.

    Raises:
        InputError: no picture, arrays of unequal length, or a value that is no number.

    Example:
        >>> found = calibrated_change([1, 0, 0, 1], [1, 0, 0, 1], [1, 0, 0, 0], [1, 2, 3, 4])
        >>> found.estimate, found.uncalibrated
        (0.25, 0.5)
    """
    dimensions = min(max(np.ndim(change), 1), 2)
    change = as_finite(change, "change", dimensions)
    read = as_finite(read_on_twin, "read_on_twin", dimensions)
    exact = as_finite(exact_on_twin, "exact_on_twin", dimensions)
    code, people = cluster_codes(person)
    pictures = len(code)
    require_shape(change, "change", (pictures, -1)[:dimensions])
    require_same_shape(read, "read_on_twin", change, "change")
    require_same_shape(exact, "exact_on_twin", change, "change")
    calibrated = (change - (read - exact)).reshape(pictures, -1)
    of_steps = calibrated.mean(axis=0)
    estimate = float(of_steps.mean())
    by_person = np.bincount(code, calibrated.mean(axis=1) - estimate) / pictures
    count = len(people)
    reason = ""
    half_width = np.nan
    if count < 2:
        reason = "one person"
    else:
        squares = [float((by_person**2).sum()) * count / (count - 1)]
        degrees_of_freedom = [count - 1]
        steps = len(of_steps)
        if steps > 1:
            squares.append(float(of_steps.var(ddof=1)) / steps)
            degrees_of_freedom.append(steps - 1)
        if sum(squares) > 0:
            half_width = _half_width(squares, degrees_of_freedom)
        else:
            reason = "no variation"
    return CalibratedChange(
        estimate=estimate,
        low=estimate - half_width,
        high=estimate + half_width,
        uncalibrated=float(change.mean()),
        error_on_twins=float((read - exact).mean()),
        people=count,
        of_steps=of_steps,
        reason=reason,
    )


def _half_width(squares: list[float], degrees_of_freedom: list[int]) -> float:
    """Half of the 95% interval of a sum whose terms have these squared standard errors."""
    parts = np.array(squares)
    together = parts.sum()
    degrees = together**2 / (parts**2 / np.array(degrees_of_freedom)).sum()
    return float(stdtrit(degrees, 0.975) * np.sqrt(together))
