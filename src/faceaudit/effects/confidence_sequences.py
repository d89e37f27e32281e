"""Intervals and tests of a mean difference that hold at every look, however often one looks.

A 95% interval holds its truth in 95 of 100 audits if it is looked at once. Who looks after every
new face, and stops at what he likes, is wrong far more often. A confidence sequence is a row of
intervals, one for each number of faces, that *all* hold the truth at once in 95 of 100 audits
(Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, Journal of the
Royal Statistical Society B 86 (2024) 1-27).

It asks of each value whether it could be the mean, by a game. A gambler starts with one coin and
bets on every next difference, before it is seen, that it lies above the value; another one bets
that it lies below. If the value is the mean, the game is fair, and the chance that a gambler ever
has 1/α coins is at most α (Ville). So a value is given up as soon as one of two gamblers, each at
half of the level, has 2/α coins: the hedged capital of the paper, section 4.

Units are faces. They are taken in one fixed order, in which each is a new draw from one population.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from faceaudit.utils.arguments import as_finite, check_range, check_whole
from faceaudit.utils.errors import InputError

MOST_AT_STAKE = 0.5
"""Largest share of a gambler's coins that one difference can cost: the paper's choice (its c)."""
HALVINGS = 48
"""Steps in which an end of an interval is looked for, each half as wide as the one before."""


@dataclass(frozen=True)
class BettingSequence:
    """The two gamblers' games about the mean of differences in [-1, 1], of `betting_sequence`.

    All that it says of a number of faces holds at all numbers of faces at once.

    Attributes:
        differences: (..., n) of the faces, in the order in which they came.
        stakes: (..., n) what is bet on each difference, for one coin and one unit of it, before the
            value that is asked about limits it; it depends on the differences before it alone.
    """

    differences: np.ndarray
    stakes: np.ndarray

    def interval(
        self, alpha: float, looks: Sequence[int] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Intervals after some numbers of faces, each within the one before.

        Args:
            alpha: chance that any of all intervals misses the mean.
            looks: numbers of faces, rising; None: all of them, once.

        Returns:
            Lower and upper ends, (..., looks). Where the lower one is above the upper one, no mean
            fits all faces: they are no draws from one population.

        Raises:
            InputError: no look, or one after a number of faces that there is not.
        """
        faces = self.differences.shape[-1]
        numbers = [faces] if looks is None else list(looks)
        if not numbers:
            raise InputError(
                "looks is empty, at least one number of faces was expected",
                field="looks",
                found=[],
                expected="at least one number of faces",
            )
        for number in numbers:
            check_whole("a number of looks", number, 1, faces)
        coins = np.log(2 / _checked(alpha))
        low = [self._lowest(number, coins, 1) for number in numbers]
        # The upper end is the lower one of the differences with the other sign.
        high = [-self._lowest(number, coins, -1) for number in numbers]
        return np.stack(low, axis=-1), np.stack(high, axis=-1)

    def p_of_at_most(self, mean: float) -> np.ndarray:
        """p (...) of the hypothesis that the mean is at most so large.

        The chance that it is ever below a level, at any number of faces, is at most that level.
        """
        return np.exp(-self._most_coins(np.full(self._batch, mean), 1))

    def p_of_at_least(self, mean: float) -> np.ndarray:
        """p (...) of the hypothesis that the mean is at least so large, as `p_of_at_most`."""
        return np.exp(-self._most_coins(np.full(self._batch, -mean), -1))

    def coins(self, mean: float, side: int) -> np.ndarray:
        """The most (..., n) that a gambler ever had, after each of the faces.

        Args:
            mean: the value that is asked about.
            side: 1 for who bets that differences lie above it, -1 for who bets that they lie below.
        """
        logarithm = self._coins(np.full(self._batch, side * mean), side)
        return np.exp(np.maximum.accumulate(logarithm, axis=-1))

    @property
    def _batch(self) -> tuple[int, ...]:
        return self.differences.shape[:-1]

    def _coins(self, mean: np.ndarray, side: int, number: int | None = None) -> np.ndarray:
        """Logarithm (..., n) of what a gambler has after each of the faces.

        Args:
            mean: (...) the value that is asked about, with the sign of `side`.
            side: as of `coins`.
            number: of faces.
        """
        value = mean[..., None]
        differences = side * self.differences[..., :number]
        # At -1, where no difference can lie below, all may be staked.
        with np.errstate(divide="ignore"):
            most = MOST_AT_STAKE / (1 + value)
        gains = np.minimum(self.stakes[..., :number], most) * (differences - value)
        return np.cumsum(np.log1p(gains), axis=-1)

    def _most_coins(self, mean: np.ndarray, side: int, number: int | None = None) -> np.ndarray:
        """Logarithm (...) of the most that a gambler ever had, with the first coin."""
        return self._coins(mean, side, number).max(axis=-1, initial=0.0)

    def _lowest(self, number: int, coins: float, side: int) -> np.ndarray:
        """The largest value (...) that a gambler had made so many coins against, or -1."""
        low = np.full(self._batch, -1.0)
        high = np.full(self._batch, 1.0)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            given_up = self._most_coins(middle, side, number) >= coins
            low = np.where(given_up, middle, low)
            high = np.where(given_up, high, middle)
        return low


def betting_sequence(
    differences: ArrayLike, alpha: float = 0.05, sought: float | None = None
) -> BettingSequence:
    """The games about the mean of differences, with what is bet on each.

    The paper's bet (its "predictable plug-in") is √(2 log(2/α) / (v t log(1 + t))) on the t-th
    difference, whose variance v is that of the differences before it. It suits no number of faces
    best, so that it bets much on the first ones and little on later ones. A gate asks about one
    value, its tolerance. A gambler who seeks a difference of this size bets sought / v, as Kelly
    did, and from the number of faces on at which √(2 log(2/α) / (v t)) is smaller, this: then the
    intervals go on shrinking. Both hold, since both bets are made before the difference is seen.

    Args:
        differences: (..., n) in [-1, 1], one of each face, in the order in which they came.
        alpha: level that the bets suit; the games hold at any.
        sought: size of a difference that is to be found early, above 0; None: the paper's bet.

    Returns:
        The games.

    Raises:
        InputError: no difference, one outside of [-1, 1], or an argument out of its range.

    Example:
        >>> from faceaudit import effects
        >>> games = effects.betting_sequence([0, 1, 0, 1, 1, 0, 1, 1] * 10, sought=0.05)
        >>> low, high = games.interval(0.05, looks=[10, 40, 80])
        >>> low.round(2).tolist(), high.round(2).tolist()
        ([-1.0, 0.07, 0.36], [1.0, 1.0, 0.89])
    """
    values = np.asarray(differences)
    if not values.size:
        raise InputError(
            "differences: there is none, one of each face was expected",
            field="differences",
            expected="a difference of each face",
        )
    if values.ndim == 0 or values.dtype.kind not in "biuf":
        values = as_finite(values, "differences", max(values.ndim, 1))
    values = values.astype(float)
    if not (np.abs(values) <= 1).all():
        raise InputError(
            "differences: numbers from -1 to 1 were expected",
            field="differences",
            expected="numbers from -1 to 1",
        )
    _checked(alpha)
    t = np.arange(1, values.shape[-1] + 1)
    mean = np.cumsum(values, axis=-1) / (t + 1)
    # As if a difference of 1 from the mean had come first: half of the range, squared.
    variance = (1 + np.cumsum((values - mean) ** 2, axis=-1)) / (t + 1)
    before = np.concatenate([np.ones_like(values[..., :1]), variance[..., :-1]], axis=-1)
    if sought is None:
        stakes = np.sqrt(2 * np.log(2 / alpha) / (before * t * np.log(1 + t)))
    else:
        check_range("sought", sought, 0, 1, "(]")
        late = np.sqrt(2 * np.log(2 / alpha) / (before * t))
        stakes = np.minimum(sought / before, late)
    return BettingSequence(values, stakes)


def share_of_release(release: int) -> float:
    """The share of the level that a release has, so that those of all releases are at most 1.

    Each release asks about another effect, and a sequence holds for one. So the first has 61% of
    the level, the second 15%, the k-th 6/(π k)²: whoever asks on and on is wrong about any of all
    releases at most as often as the level says.

    Args:
        release: number of the release, from 1 on.

    Returns:
        The share.

    Raises:
        InputError: no whole number, or one below 1.

    Example:
        >>> [round(share_of_release(release), 4) for release in (1, 2, 10)]
        [0.6079, 0.152, 0.0061]
    """
    check_whole("release", release, 1)
    return 6 / (np.pi * release) ** 2


def _checked(alpha: float) -> float:
    check_range("alpha", alpha, 0, 1, "()")
    return alpha
