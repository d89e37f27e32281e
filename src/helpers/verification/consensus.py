"""Ground truth from people: the Human Consensus Identity Confidence (Liang et al. 2023, 4.1.1).

Nine raters place a pair on five points, 0 "likely same" ... 4 "likely different". The paper drops
the two highest and the two lowest and averages the other five. Chapter 16 shows the consensus,
chapter 17 decides by it.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from helpers.utils.checks import check_range, refuse

HIGHEST = 4
"""The rating "likely different"."""


def hcic(ratings: ArrayLike, n_low: int = 2, n_high: int = 2) -> np.ndarray:
    """Consensus of every pair: 0 all raters say same ... 1 all say different.

    The Human Consensus Identity Confidence of Liang et al. 2023, 4.1.1.

    Args:
        ratings: whole numbers 0 ... 4, (n, raters), none missing.
        n_low: how many of the lowest ratings of a pair are dropped.
        n_high: how many of the highest.

    Returns:
        float64 (n,).

    Raises:
        ValueError: not a matrix, a rating that is missing, not whole or off the scale (naming its
            row), or fewer raters than would be dropped.

    Example:
        >>> from helpers import verification
        >>> verification.hcic([[0, 0, 0, 1, 1, 2, 2, 4, 4]]).tolist()
        [0.3]
    """
    total, kept = _kept_sum(ratings, n_low, n_high)
    return total / (HIGHEST * kept)


def is_match(ratings: ArrayLike, t: float, n_low: int = 2, n_high: int = 2) -> np.ndarray:
    """Whether `hcic(ratings, n_low, n_high)` <= t, without rounding.

    The paper's t are 0.2, 0.3 and 0.4, and many pairs lie exactly on them: the mean of five ratings
    is 0.3 when they sum to 6. So sums are compared as integers with the decimal `t`. A mean in
    single precision is a little above each of these limits in double precision, so that all of
    these pairs would become non-matches.

    Args:
        ratings: whole numbers 0 ... 4, (n, raters), none missing.
        t: highest consensus that counts as a match, in [0, 1].
        n_low: how many of the lowest ratings of a pair are dropped.
        n_high: how many of the highest.

    Returns:
        bool (n,).

    Raises:
        ValueError: as `hcic`, and for a `t` outside of [0, 1].

    Example:
        >>> from helpers import verification
        >>> verification.is_match([[0, 0, 0, 1, 1, 2, 2, 4, 4]], 0.3).tolist()
        [True]
    """
    check_range("t", t, 0, 1)
    total, kept = _kept_sum(ratings, n_low, n_high)
    return total <= int(Fraction(str(t)) * HIGHEST * kept)


def _kept_sum(ratings: ArrayLike, n_low: int, n_high: int) -> tuple[np.ndarray, int]:
    """Sum of the ratings that are kept, int64 (n,), and how many these are."""
    ratings = _as_ratings(ratings)
    n_raters = ratings.shape[1]
    kept = n_raters - n_low - n_high
    if n_low < 0 or n_high < 0 or kept < 1:
        raise ValueError(
            f"cannot drop the {n_low} lowest and {n_high} highest of {n_raters} ratings: at least "
            "one must be left"
        )
    return np.sort(ratings, axis=1)[:, n_low : n_raters - n_high].sum(axis=1), kept


def _as_ratings(ratings: ArrayLike) -> np.ndarray:
    ratings = np.asarray(ratings)
    if ratings.ndim != 2 or ratings.dtype.kind not in "iuf":
        raise ValueError(
            f"ratings of shape {ratings.shape} and type {ratings.dtype}: whole numbers "
            "(pairs, raters) were expected"
        )
    expected = f"a whole number from 0 (likely same) to {HIGHEST} (likely different)"
    refuse(~np.isin(ratings, np.arange(HIGHEST + 1)), ratings, "ratings", expected)
    return ratings.astype(np.int64)
