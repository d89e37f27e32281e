"""Tests and intervals of differences of paired proportions: those of Tango (1998) and McNemar.

Two images of a pair each have an error or none. In a discordant pair one of them only has it, and
only discordant pairs make the two rates differ. Tango's score interval (`paired_interval`) and test
(`score_p`) invert each other: the interval holds the differences that the test does not reject.
McNemar's test (`mcnemar`) asks whether both kinds of discordant pairs are as frequent.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy  # whose parts are imported at their first use
from numpy.typing import ArrayLike
from scipy.special import bdtr, bdtrc, stdtr


def mcnemar(worse: ArrayLike, better: ArrayLike) -> np.ndarray | float:
    """Two-sided mid-p of McNemar's test, from the numbers of discordant pairs of either kind.

    Twice the chance that a fair coin splits the discordant pairs as unevenly, of which the split
    that occurred counts half (Fagerland, Lydersen & Laake, BMC Medical Research Methodology 13
    (2013) 91). The exact test counts it in full: it rejects far less often than its level allows,
    and with few discordant pairs often contradicts the score interval of `paired_interval`. The
    mid-p rejects only what the interval rejects, and at the level of .05 all of it but a few
    borderline splits, as 4 to 0 and 15 to 6.

    Args:
        worse, better: pairs (...) with an error on one side only, whole numbers.

    Returns:
        p (...): 1 where both kinds are as many, where the paper subtracts half of that chance.

    Example:
        >>> from faceaudit import effects
        >>> effects.mcnemar([6, 7, 0], [0, 1, 0]).round(3).tolist()
        [0.016, 0.039, 1.0]
    """
    rarer, commoner = np.sort(np.asarray([worse, better], dtype=np.int64), axis=0)
    n = rarer + commoner
    return bdtr(rarer, n, 0.5) + bdtrc(commoner, n, 0.5)


def paired_interval(worse: float, better: float, n: float, quantile: float) -> tuple[float, float]:
    """Score interval of the difference (worse - better) / n of two paired proportions.

    Tango, Statistics in Medicine 17 (1998) 891-908: the differences that a score test with the
    restricted maximum-likelihood variance does not reject. The width is positive even where no
    pair is discordant, where Wald's is zero.

    Args:
        worse, better: discordant pairs of either kind; fractions are effective sample sizes.
        n: all pairs.
        quantile: of the normal or Student distribution.

    Returns:
        Lower and upper end.

    Example:
        >>> from faceaudit import effects
        >>> low, high = effects.paired_interval(0, 0, 100, 1.96)
        >>> round(low, 3), round(high, 3)
        (-0.037, 0.037)
    """
    upper = _score_limit(worse, better, n, quantile)
    return -_score_limit(better, worse, n, quantile), upper


def _score_limit(worse: float, better: float, n: float, quantile: float) -> float:
    """Upper end of the score interval."""
    estimate = (worse - better) / n

    def excess(delta: float) -> float:
        variance = _score_variance(worse, better, n, delta, math.sqrt)
        return (worse - better - n * delta) ** 2 - quantile**2 * variance

    # The estimate itself is a second root where no pair is discordant.
    start = estimate + 1e-9 * (1 - estimate)
    if start >= 1 or excess(1.0) <= 0:
        return 1.0
    return scipy.optimize.brentq(excess, start, 1.0, xtol=1e-12)


def score_p(
    worse: ArrayLike, better: ArrayLike, n: ArrayLike, delta: np.ndarray | float
) -> np.ndarray:
    """Two-sided p of Tango's score test that a difference of paired proportions is `delta`.

    The test that `faceaudit.effects.paired_interval` inverts (Tango, Statistics in Medicine 17
    (1998) 891-908): the interval ends where p is one minus its level.

    Args:
        worse, better: discordant pairs of either kind (...).
        n: all pairs.
        delta: the difference under the hypothesis, strictly between -1 and 1.

    Returns:
        p (...).
    """
    worse, better, n = (np.asarray(count, dtype=np.float64) for count in (worse, better, n))
    variance = _score_variance(worse, better, n, delta, np.sqrt)
    distance = np.abs(worse - better - n * delta)
    limit = np.where(distance > 0, np.inf, 0.0)
    statistic = np.divide(distance, np.sqrt(variance), out=limit, where=variance > 0)
    return 2 * stdtr(np.inf, -statistic)


def _score_variance(
    worse: np.ndarray | float,
    better: np.ndarray | float,
    n: np.ndarray | float,
    delta: np.ndarray | float,
    square_root: Callable[[Any], Any],
) -> Any:
    """Variance of `worse - better` under the hypothesis that the difference is `delta`.

    The restricted maximum-likelihood estimate of the chance of `better` is the larger root of a
    quadratic equation (Tango 1998, section 2).

    Args:
        worse, better, n, delta: as of `score_p`; numbers, or arrays (...).
        square_root: `math.sqrt` for numbers, which the search for an interval's end calls many
            times, and `numpy.sqrt` for arrays. Both round alike.
    """
    linear = (2 * n - worse + better) * delta - worse - better
    discriminant = linear**2 + 8 * n * better * delta * (1 - delta)
    # Rounding may leave a discriminant of zero a little below it.
    root = square_root(discriminant * (discriminant > 0))
    return n * ((root - linear) / (2 * n) + delta * (1 - delta))
