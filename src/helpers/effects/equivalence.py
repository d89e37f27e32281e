"""From intervals to verdicts: several tests, a stated tolerance, and what a study could have seen.

Chapter 10 introduces them; every later audit uses them.

An interval that holds zero is no evidence of no effect. Three states say what is known about a
stated tolerance: the effect exceeds it, it is within it, or the data cannot tell.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from helpers.utils.checks import check_positive

EXCEEDS, WITHIN, INCONCLUSIVE = "exceeds", "within", "inconclusive"
"""What `verdict` says of an interval."""
NOT_ESTIMABLE = "not estimable"
"""What it says where there is no interval."""


def holm(p: ArrayLike, weights: ArrayLike = 1.0) -> np.ndarray:
    """Holm's adjusted p-values (Scandinavian Journal of Statistics 6 (1979) 65-70).

    Args:
        p: (n,) p-values; NaN (not estimable) stays and is not counted.
        weights: (n,) positive shares of the level, of any sum; by default all alike.

    Returns:
        (n,) float64.

    Example:
        >>> from helpers import effects
        >>> effects.holm([0.01, 0.04, float("nan")]).tolist()
        [0.02, 0.04, nan]
    """
    p = np.asarray(p, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    # Not statsmodels' multipletests: it runs the garbage collector, which costs 50 ms a call.
    weights = np.broadcast_to(np.asarray(weights, dtype=np.float64), p.shape)
    order = np.argsort(p / weights)[: np.count_nonzero(~np.isnan(p))]
    shares = weights[order]
    steps = p[order] * (np.cumsum(shares[::-1])[::-1] / shares)
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

    Args:
        low, high: ends of the 95 % intervals.
        low90, high90: ends of the 90 % intervals, of the same shape.
        tolerance: largest effect that does not matter, in the units of the effects.

    Returns:
        Strings of the intervals' shape.

    Raises:
        ValueError: a tolerance that is not above zero.

    Example:
        >>> from helpers import effects
        >>> effects.verdict([0.06, -0.02], [0.09, 0.03], [0.07, -0.01], [0.08, 0.02], 0.05).tolist()
        ['exceeds', 'within']
    """
    check_positive("tolerance", tolerance)
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
    """Minimum detectable effect at a standard error: the sum of two quantiles, times the error.

    The effect that a two-sided test of no effect at level `alpha` finds with the given power: the
    quantiles at 1 - alpha / 2 and at the power, added. They are Student's with `df` degrees of
    freedom, by default the normal's. It exceeds half the width of the 1 - alpha interval; where it
    exceeds the largest effect that there can be (1, of a risk), none is sure to be found.

    Args:
        se: standard errors, in the units of the effects.
        alpha: level of the test.
        power: chance to find the effect.
        df: degrees of freedom, of the shape of `se`.

    Returns:
        float64 of the shape of `se`.

    Example:
        >>> from helpers import effects
        >>> round(float(effects.mde(0.01)), 3)
        0.028
    """
    return (stdtrit(df, 1 - alpha / 2) + stdtrit(df, power)) * np.asarray(se, dtype=np.float64)
