"""The mean change of answers to edited pictures, less the error that the edits make on twins.

A picture of a person is edited, and a model is asked before and after. An edit is not exact, so the
mean change has a bias. Twins show it: pictures that a generator draws from known codes, which are
edited in the same way as the pictures of people, and whose exact edit is known because their codes
are. The estimate is the mean change less the mean error on twins. It is the rectifier of
prediction-powered inference (Angelopoulos et al., Science 382 (2023) 669-674), with twins in the
place of the labelled sample, and regression calibration by a validation sample.

It is right where the edits err on twins as they err on people.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from faceaudit.effects.resampling import cluster_codes
from faceaudit.utils.arguments import as_finite, require_shape


@dataclass(frozen=True)
class CalibratedChange:
    """A mean change with its 95 % interval.

    Attributes:
        estimate: the mean change on people, less the mean error on twins.
        low, high: ends of the interval; NaN where there is none.
        uncalibrated: the mean change on people.
        error_on_twins: mean of the read change minus the exact one.
        people: how many people there are.
        reason: why there is no interval, else empty.

    Example:
        >>> CalibratedChange(0.02, 0.01, 0.03, 0.05, 0.03, 40, "").error_on_twins
        0.03
    """

    estimate: float
    low: float
    high: float
    uncalibrated: float
    error_on_twins: float
    people: int
    reason: str


def calibrated_change(
    change: ArrayLike, read_on_twin: ArrayLike, exact_on_twin: ArrayLike, person: ArrayLike
) -> CalibratedChange:
    """Mean change of answers to edited pictures, calibrated on a twin of each picture.

    People are the units: their pictures and the twins of these vary together, and the standard
    error is that of the whole difference, summed over the pictures of a person. The interval is
    Student's with one degree of freedom fewer than there are people.

    Args:
        change: (n,) of a picture: the answer after the edit minus that before it.
        read_on_twin: (n,) the same for the picture's twin, edited in the same way.
        exact_on_twin: (n,) the change of the twin's answer by the exact edit.
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
    change = as_finite(change, "change")
    read = as_finite(read_on_twin, "read_on_twin")
    exact = as_finite(exact_on_twin, "exact_on_twin")
    code, people = cluster_codes(person)
    for name, values in (("change", change), ("read_on_twin", read), ("exact_on_twin", exact)):
        require_shape(values, name, (len(code),))
    calibrated = change - (read - exact)
    estimate = float(calibrated.mean())
    by_person = np.bincount(code, calibrated - estimate) / len(code)
    count = len(people)
    reason = ""
    half_width = np.nan
    if count < 2:
        reason = "one person"
    else:
        se = float(np.sqrt((by_person**2).sum() * count / (count - 1)))
        if se > 0:
            half_width = float(stdtrit(count - 1, 0.975)) * se
        else:
            reason = "no variation"
    return CalibratedChange(
        estimate=estimate,
        low=estimate - half_width,
        high=estimate + half_width,
        uncalibrated=float(change.mean()),
        error_on_twins=float((read - exact).mean()),
        people=count,
        reason=reason,
    )
