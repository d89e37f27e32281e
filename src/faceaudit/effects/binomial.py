"""Chances of a binomial number, by functions of scipy.special.

`scipy.stats.binom` has the same chances. Its import takes a third of a second, which the plan of
every audit of matched images would wait for, and a call takes ten times as long.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtrik, betaincc


def binomial_cdf(count: ArrayLike, n: ArrayLike, chance: ArrayLike) -> np.ndarray:
    """Chance of so many successes or fewer (...).

    Args:
        count: (...), whole numbers; 0 is the answer below 0, and 1 from n on.
        n: trials (...).
        chance: of a success (...).

    Example:
        >>> binomial_cdf([-1, 0, 1, 2], 2, 0.5).tolist()
        [0.0, 0.25, 0.75, 1.0]
    """
    count, n = np.asarray(count), np.asarray(n)
    # Elsewhere the incomplete beta function is not defined.
    inside = (count >= 0) & (count < n)
    cdf = betaincc(np.where(inside, count, 0) + 1.0, np.where(inside, n - count, 1), chance)
    return np.where(inside, cdf, (count >= n).astype(float))


def binomial_pmf(count: ArrayLike, n: ArrayLike, chance: ArrayLike) -> np.ndarray:
    """Chance of just so many successes (...), by rounding of 1e-15; arguments as of `binomial_cdf`.

    Example:
        >>> binomial_pmf([-1, 0, 1, 2], 2, 0.5).tolist()
        [0.0, 0.25, 0.5, 0.25]
    """
    return binomial_cdf(count, n, chance) - binomial_cdf(np.asarray(count) - 1, n, chance)


def binomial_range(left_out: float, n: int, chance: float) -> tuple[float, float]:
    """Fewest and most successes that are to be expected, with half of `left_out` on either side.

    Args:
        left_out: chance of all other numbers together.
        n: trials, at least one.
        chance: of a success.

    Example:
        >>> binomial_range(0.05, 100, 0.5)
        (40.0, 60.0)
    """
    if chance == 0:
        return 0.0, 0.0
    fewest, most = np.ceil(bdtrik([left_out / 2, 1 - left_out / 2], n, chance))
    return float(fewest), float(most)
