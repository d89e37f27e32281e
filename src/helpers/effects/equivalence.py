"""From intervals to verdicts: several tests, a stated tolerance, and what a study could have seen.

An interval that holds zero is no evidence of no effect. Three states say what is known about a
stated tolerance: the effect exceeds it, it is within it, or the data cannot tell.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

EXCEEDS, WITHIN, INCONCLUSIVE = "exceeds", "within", "inconclusive"
NOT_ESTIMABLE = "not estimable"


def holm(p: ArrayLike) -> np.ndarray:
    """Holm's adjusted p-values, same shape (n,); NaN (not estimable) stays and is not counted."""
    p = np.asarray(p, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    # Not statsmodels' multipletests: it runs the garbage collector, which costs 50 ms a call.
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted


def verdict(
    low: ArrayLike, high: ArrayLike, low90: ArrayLike, high90: ArrayLike, tolerance: float
) -> np.ndarray:
    """What 95 % and 90 % intervals say of effects against ±`tolerance`, strings of their shape.

    - "exceeds": the 95 % interval (low, high) lies wholly beyond one end of the tolerance;
    - "within": the 90 % interval lies wholly inside, which is the two one-sided tests of
      equivalence at 5 % (Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987) 657-680);
    - "inconclusive": neither;  "not estimable": the interval is NaN.

    Raises ValueError for a tolerance that is not above zero.
    """
    if not tolerance > 0:
        raise ValueError(f"the tolerance must be above zero, not {tolerance}")
    low, high, low90, high90 = (np.asarray(limit, float) for limit in (low, high, low90, high90))
    states = {
        NOT_ESTIMABLE: np.isnan(low) | np.isnan(high),
        EXCEEDS: (low > tolerance) | (high < -tolerance),
        WITHIN: (low90 > -tolerance) & (high90 < tolerance),
    }
    return np.select(list(states.values()), list(states), INCONCLUSIVE)


def mde(
    se: ArrayLike, alpha: float = 0.05, power: float = 0.8, df: ArrayLike = np.inf
) -> np.ndarray:
    """Minimum detectable effect at a standard error: (t_{1 - alpha / 2} + t_power) se.

    The effect that a two-sided test of no effect at level `alpha` finds with the given power.
    Quantiles are Student's with `df` degrees of freedom, by default the normal's. It exceeds half
    the width of the 1 - alpha interval; where it exceeds the largest effect that there can be (1,
    of a risk), none is sure to be found.
    """
    return (stdtrit(df, 1 - alpha / 2) + stdtrit(df, power)) * np.asarray(se, dtype=np.float64)
