"""What an audit can be expected to say: the chances of the verdicts on an effect.

A verdict compares an effect with the tolerance, so that the power of a test against no effect does
not tell whether an audit will decide. With one pair per transect and errors of 0 and 1, the verdict
(`faceaudit.verdicts.judge`) depends on two counts: of the pairs with an error at the higher level
only ("worse"), and of those with one at the lower level only ("better"). Both tests are Tango's
score tests (`faceaudit.effects.paired_proportions.score_p`):

- beyond the tolerance, where the test of an effect as large as the tolerance rejects in the
  direction of the estimate, two-sided at the level of the comparison;
- within it, where both one-sided tests of equivalence reject at 5%.

At a given number of better pairs, both test statistics rise with the worse ones. Each verdict thus
has a range of worse pairs, whose ends are found by bisection, and the chance of the range is
binomial. Averages over several pairs of a transect are not covered: their verdicts depend on an
estimated design effect as well. They have more pairs than a cell, and decide earlier.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod

import numpy as np

from faceaudit.effects.binomial import binomial_cdf, binomial_pmf, binomial_range
from faceaudit.effects.paired_proportions import score_p
from faceaudit.effects.planning import MOST_TRANSECTS, Design, transect_types
from faceaudit.utils.arguments import check_range, check_whole
from faceaudit.utils.errors import InputError

LEFT_OUT = 1e-9
"""Chance of the numbers of better pairs that are not looked at, and of the worse ones."""
LEVEL_OF_EQUIVALENCE = 0.05
"""Of each of the two one-sided tests of equivalence."""


@dataclass(frozen=True)
class VerdictChances:
    """Chances of the three verdicts on an effect, which sum to 1.

    Args:
        beyond: the effect is called beyond the tolerance, in either direction.
        within: it is called within the tolerance.
        undecided: neither.
    """

    beyond: float
    within: float
    undecided: float


def levels_of_cells(
    levels_of_axes: Sequence[int], level: float, contrasts_of_axes: Sequence[int] | None = None
) -> tuple[float, ...]:
    """Levels of the tests of a contrast's cells against the tolerance, by Holm's steps.

    In an audit of matched images, every contrast of an axis is compared in each cell of the other
    axes, and on average. Cells and averages are two families, which share the level, and each
    comparison has the same share of its family's (`faceaudit.verdicts.settle_together`). At Holm's
    first step a cell has its share, level / (2 cells): with it, the chance of "beyond" is a lower
    bound, whatever the other effects are. Here the contrast is taken to have the same effect in all
    of its cells, and the others none. Its average, with the pairs of all these cells, is then
    called beyond the tolerance before any one of them. Its share passes on to the others, and so
    does that of each cell that is called beyond.

    Args:
        levels_of_axes: number of levels of every axis. With a single axis, its cells are all that
            is judged.
        level: of all comparisons together.
        contrasts_of_axes: number of contrasts of every axis; None: one fewer than its levels.

    Returns:
        Levels of two-sided tests, one for each cell of a contrast, from the first that is called
        beyond to the last; if every image has an answer. Where some have none, a third family takes
        a share. Of axes with different numbers of levels, the contrast with the fewest cells
        counts.

    Example:
        >>> from faceaudit import effects
        >>> effects.levels_of_cells([2], 0.05)
        (0.05,)
        >>> [round(level, 4) for level in effects.levels_of_cells([2, 2], 0.05)]
        [0.0083, 0.01]
    """
    for number in levels_of_axes:
        check_whole("levels_of_axes", number, 2)
    contrasts = contrasts_of_axes or [number - 1 for number in levels_of_axes]
    combinations = prod(levels_of_axes)
    cells_of_contrasts = [combinations // number for number in levels_of_axes]
    averages = sum(contrasts)
    cells = sum(
        number * of_contrast
        for number, of_contrast in zip(contrasts, cells_of_contrasts, strict=True)
    )
    # Of one axis, the cells are the averages, and there is one family.
    several_axes = len(levels_of_axes) > 1
    shares_of_averages = cells * (1 - 1 / averages) if several_axes else 0.0
    return tuple(level / (cells + shares_of_averages - k) for k in range(min(cells_of_contrasts)))


def chances_of_verdicts(
    transects: int, design: Design, tolerance: float, levels: Sequence[float]
) -> VerdictChances:
    """Chances that an effect is called beyond the tolerance, within it, or undecided.

    Exact but for `LEFT_OUT`, for errors as the design has them and tests at these levels.

    Args:
        transects: complete pairs, one of each.
        design: true difference and rates, with one pair per transect and all images retained.
        tolerance: largest effect that does not matter, as a fraction.
        levels: of the two-sided test against the tolerance. One for a single comparison; for so
            many independent comparisons of the same design, those of the steps of Holm's method,
            in ascending order. The chances are then the expected shares of the verdicts.

    Returns:
        The chances.

    Raises:
        ValueError: an argument outside its range, several pairs per transect, pruned images, or a
            correlation that no such errors can have.

    Example:
        >>> from faceaudit import effects
        >>> design = effects.Design(difference=0.1, base_rate=0.1, within=0, pairs=1)
        >>> chances = effects.chances_of_verdicts(800, design, 0.05, [0.05])
        >>> round(chances.beyond, 2), round(chances.within, 2), round(chances.undecided, 2)
        (0.81, 0.0, 0.19)
    """
    check_whole("transects", transects, 2)
    _check(design, tolerance, levels)
    return _chances(transects, design, tolerance, levels)


@cache
def transects_to_decide(
    design: Design, tolerance: float, levels: tuple[float, ...], power: float = 0.8
) -> int:
    """Least number of transects at which the verdict can be trusted at both ends.

    It calls an effect of zero within the tolerance, and the design's difference beyond it, each
    with a chance of at least `power`.

    Args:
        design: with the difference that is to be called beyond, larger than the tolerance; one pair
            per transect and all images retained.
        tolerance: largest effect that does not matter, as a fraction.
        levels: as of `chances_of_verdicts`.
        power: least chance of either verdict.

    Returns:
        The number of transects. The chances rise in a saw-tooth, and some larger numbers may fall
        short again.

    Raises:
        ValueError: as of `chances_of_verdicts`; a difference that is not larger than the tolerance,
            or more than `faceaudit.effects.planning.MOST_TRANSECTS`.

    Example:
        >>> from faceaudit import effects
        >>> design = effects.Design(difference=0.1, base_rate=0.1, within=0, pairs=1)
        >>> effects.transects_to_decide(design, 0.05, (0.05,))
        781
    """
    _check(design, tolerance, levels)
    check_range("power", power, 0, 1, "()")
    if abs(design.difference) <= tolerance:
        raise InputError(
            f"difference is {design.difference}: it is not beyond the tolerance of {tolerance}",
            field="difference",
            found=design.difference,
            expected=f"a number larger than the tolerance of {tolerance}",
        )
    no_effect = replace(design, difference=0.0)

    def decides(transects: int) -> bool:
        if _chances(transects, no_effect, tolerance, levels).within < power:
            return False
        return _chances(transects, design, tolerance, levels).beyond >= power

    # Doubled first: chances take the longer, the more transects there are.
    enough = 2
    while not decides(enough):
        enough *= 2
        if enough > MOST_TRANSECTS:
            raise InputError(
                f"tolerance {tolerance}: over {MOST_TRANSECTS} transects",
                field="tolerance",
                found=tolerance,
                expected=f"one that {MOST_TRANSECTS} transects decide about",
            )
    too_few = enough // 2
    return too_few + 1 + bisect_left(range(too_few + 1, enough), True, key=decides)


def _check(design: Design, tolerance: float, levels: Sequence[float]) -> None:
    """Raise InputError for what the chances are not defined for."""
    check_range("tolerance", tolerance, 0, 1, "()")
    for level in levels:
        check_range("levels", level, 0, 1, "()")
    if design.pairs != 1 or design.retention != 1:
        raise InputError(
            f"pairs is {design.pairs} and retention {design.retention}: one complete pair per "
            "transect was expected",
            field="pairs",
            found=design.pairs,
            expected="one complete pair per transect",
        )


def _chances(
    transects: int, design: Design, tolerance: float, levels: Sequence[float]
) -> VerdictChances:
    """As `chances_of_verdicts`, for arguments that have been checked."""
    types, chance_of_type = transect_types(design)
    chance_of_worse = float(chance_of_type @ types[:, 1])
    chance_of_better = float(chance_of_type @ types[:, 2])
    fewest, most = binomial_range(LEFT_OUT, transects, chance_of_better)
    better = np.arange(fewest, most + 1)
    fewest_worse, most_worse = binomial_range(LEFT_OUT, transects, chance_of_worse)

    # Statements about an effect in rows (R, 1), each true from some number of worse pairs on. It is
    # surely above the tolerance, by the test at each level; it is not surely below the lower edge,
    # at each level; it is surely above that edge, and not surely below the tolerance, both by the
    # tests of equivalence. Beyond is from the first on, or before the second; within is from the
    # third to the fourth.
    steps = len(levels)
    level_within = 2 * LEVEL_OF_EQUIVALENCE
    edges = tolerance * np.array([1] * steps + [-1] * steps + [-1, 1])[:, None]
    level_of_row = np.array([*levels, *levels, level_within, level_within])[:, None]
    surely_above = np.array([True] * steps + [False] * steps + [True, False])[:, None]

    def holds(worse: np.ndarray) -> np.ndarray:
        """Whether the statements hold at so many worse pairs (R, B)."""
        distance = worse - better - transects * edges
        significant = score_p(worse, better, transects, edges) < level_of_row
        return np.where(surely_above, significant & (distance > 0), ~significant | (distance >= 0))

    most_possible = np.minimum(most_worse, transects - better)
    least_possible = np.minimum(fewest_worse, most_possible)
    shape = (len(edges), len(better))
    starts = _first_counts(
        holds, np.broadcast_to(least_possible, shape), np.broadcast_to(most_possible, shape)
    )

    # The worse ones among the pairs that are not better.
    share = chance_of_worse / (1 - chance_of_better)
    fewer = binomial_cdf(starts - 1, transects - better, share)
    above = 1 - fewer[:steps]
    below = fewer[steps : 2 * steps]
    # Where too few transects let no count be within, the range ends before it begins.
    inside = (fewer[-1] - fewer[-2]).clip(0)
    weights = binomial_pmf(better, transects, chance_of_better)
    beyond = _share_rejected((above + below) @ weights)
    within = float(inside @ weights)
    return VerdictChances(beyond, within, 1 - beyond - within)


def _share_rejected(chances: np.ndarray) -> float:
    """Expected share of independent tests that a step-down method rejects.

    The method rejects r tests if for every i up to r at least i of them reject at the i-th level.

    Args:
        chances: (m,), that a test rejects at each of the m levels, ascending.
    """
    tests = len(chances)
    count = np.arange(tests + 1)
    # Chance of each number of tests that reject at the level of a step (m + 1,), where at every
    # step so far there were enough.
    chance_of_count = (count == 0).astype(float)
    rejected = 0.0
    before = 0.0
    for step, chance in enumerate(chances, start=1):
        # Of the tests that did not reject at the level before, so many more do at this one.
        share = np.clip((chance - before) / max(1 - before, LEFT_OUT), 0, 1)
        more = binomial_pmf(count - count[:, None], tests - count[:, None], share)
        chance_of_count = np.where(count >= step, chance_of_count @ more, 0.0)
        rejected += chance_of_count.sum()
        before = chance
    return float(rejected / tests)


def _first_counts(
    holds: Callable[[np.ndarray], np.ndarray], least: np.ndarray, most: np.ndarray
) -> np.ndarray:
    """Least whole number from `least` to `most` at which a statement holds, `most` + 1 if at none.

    Args:
        holds: takes counts of the shape of `least`, says for each whether its statement holds. From
            some count on it does, and before it does not.
        least: smallest counts.
        most: largest counts, of the same shape.
    """
    low = least
    high = most + 1
    while (low < high).any():
        middle = np.minimum((low + high) // 2, most)
        holds_there = holds(middle)
        # Where the search has ended, low and high are equal, and neither moves.
        searching = low < high
        high = np.where(searching & holds_there, middle, high)
        low = np.where(searching & ~holds_there, middle + 1, low)
    return low
