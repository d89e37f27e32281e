"""What an audit can be expected to say: the chances of the verdicts on one comparison.

A verdict compares an effect with the tolerance, so that the power of a test against no effect does
not tell whether an audit will decide. With one pair per transect and errors of 0 and 1, the verdict
(`faceaudit.verdicts.judge`) depends on two counts: of the pairs with an error at the higher level
only ("worse"), and of those with one at the lower level only ("better"). Both tests are Tango's
score tests (`faceaudit.effects.paired_proportions.score_p`):

- beyond the tolerance, where the test of an effect as large as the tolerance rejects in the
  direction of the estimate, two-sided at the level of the comparison;
- within it, where both one-sided tests of equivalence reject at 5 %.

At a given number of better pairs, both test statistics rise with the worse ones. Each verdict thus
has a range of worse pairs, whose ends are found by bisection, and the chance of the range is
binomial. Averages over several pairs of a transect are not covered: their verdicts depend on an
estimated design effect as well. They have more pairs than a cell, and decide earlier.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import binom

from faceaudit.effects.paired_proportions import score_p
from faceaudit.effects.planning import MOST_TRANSECTS, Design, transect_types
from faceaudit.utils.arguments import check_range, check_whole
from faceaudit.utils.errors import InputError

LEFT_OUT = 1e-9
"""Chance of the numbers of better pairs that are not looked at."""
LEVEL_OF_EQUIVALENCE = 0.05
"""Of each of the two one-sided tests of equivalence."""


@dataclass(frozen=True)
class VerdictChances:
    """Chances of the three verdicts on one comparison, which sum to 1.

    Args:
        beyond: the effect is called beyond the tolerance, in either direction.
        within: it is called within the tolerance.
        undecided: neither.
    """

    beyond: float
    within: float
    undecided: float


def verdict_chances(
    transects: int, design: Design, tolerance: float, level_of_comparison: float
) -> VerdictChances:
    """Chances that one comparison is called beyond the tolerance, within it, or undecided.

    Exact but for `LEFT_OUT`, for errors as the design has them.

    Args:
        transects: complete pairs, one of each.
        design: true difference and rates, with one pair per transect and all images retained.
        tolerance: largest effect that does not matter, as a fraction.
        level_of_comparison: of the two-sided test against the tolerance, after whatever adjustment
            for other comparisons.

    Returns:
        The chances.

    Raises:
        ValueError: an argument outside its range, several pairs per transect, pruned images, or a
            correlation that no such errors can have.

    Example:
        >>> from faceaudit import effects
        >>> design = effects.Design(difference=0.1, base_rate=0.1, within=0, pairs=1)
        >>> chances = effects.verdict_chances(1500, design, 0.05, 0.05 / 24)
        >>> round(chances.beyond, 2), round(chances.within, 2), round(chances.undecided, 2)
        (0.79, 0.0, 0.21)
    """
    check_whole("transects", transects, 2)
    _check(design, tolerance, level_of_comparison)
    return _chances(transects, design, tolerance, level_of_comparison)


def transects_to_decide(
    design: Design, tolerance: float, level_of_comparison: float, power: float = 0.8
) -> int:
    """Least number of transects at which the verdict can be trusted at both ends.

    It calls an effect of zero within the tolerance, and the design's difference beyond it, each
    with a chance of at least `power`.

    Args:
        design: with the difference that is to be called beyond, larger than the tolerance; one pair
            per transect and all images retained.
        tolerance: largest effect that does not matter, as a fraction.
        level_of_comparison: as of `verdict_chances`.
        power: least chance of either verdict.

    Returns:
        The number of transects. The chances rise in a saw-tooth, and some larger numbers may fall
        short again.

    Raises:
        ValueError: as of `verdict_chances`; a difference that is not larger than the tolerance, or
            more than `faceaudit.effects.planning.MOST_TRANSECTS`.

    Example:
        >>> from faceaudit import effects
        >>> design = effects.Design(difference=0.1, base_rate=0.1, within=0, pairs=1)
        >>> effects.transects_to_decide(design, 0.05, 0.05 / 24)
        1529
    """
    _check(design, tolerance, level_of_comparison)
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
        at_zero = _chances(transects, no_effect, tolerance, level_of_comparison)
        if at_zero.within < power:
            return False
        return _chances(transects, design, tolerance, level_of_comparison).beyond >= power

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
    sizes = range(enough // 2 + 1, enough)
    return enough // 2 + 1 + bisect_left(sizes, True, key=decides)


def level_of_cell(axes: int, level: float) -> float:
    """Level of the test of one cell against the tolerance, in an audit of matched images.

    Every axis is compared in each cell of the others, and on average. Cells and averages are two
    families, which share the level, and Holm's method gives each comparison the same share of its
    family's (`faceaudit.verdicts.settle_together`). So a comparison has at least its share at the
    first step, level / (2 cells): with it, the chance of "beyond" is a lower bound, whatever the
    other effects are. Here an axis is taken to have the same effect in all of its cells, and the
    other axes none. Its average, with the pairs of all these cells, is then called beyond the
    tolerance before any one of them, and its share passes on to the others: this is the level at
    the second step. Further shares pass on where other cells of the axis are called beyond, so that
    the chance is still a little too low (by .02 at most in `benchmarks/verdict_chances.py`).

    Args:
        axes: of the audit. With a single one, its cell is all that is judged.
        level: of all comparisons together.

    Returns:
        The level of the two-sided test, if every image has an answer. Where some have none, a third
        family takes a share.

    Example:
        >>> level_of_cell(1, 0.05), level_of_cell(2, 0.05)
        (0.05, 0.008333333333333333)
    """
    check_whole("axes", axes, 1)
    cells = axes * 2 ** (axes - 1)
    averages_left = 1 - 1 / axes
    # Of one axis, the cell is the average, and there is one family.
    return level / (cells * (1 + averages_left))


def _check(design: Design, tolerance: float, level_of_comparison: float) -> None:
    """Raise InputError for what the chances are not defined for."""
    check_range("tolerance", tolerance, 0, 1, "()")
    check_range("level_of_comparison", level_of_comparison, 0, 1, "()")
    if design.pairs != 1 or design.retention != 1:
        raise InputError(
            f"pairs is {design.pairs} and retention {design.retention}: one complete pair per "
            "transect was expected",
            field="pairs",
            found=design.pairs,
            expected="one complete pair per transect",
        )


def _chances(
    transects: int, design: Design, tolerance: float, level_of_comparison: float
) -> VerdictChances:
    """As `verdict_chances`, for arguments that have been checked."""
    types, chance_of_type = transect_types(design)
    chance_of_worse = chance_of_type @ types[:, 1]
    chance_of_better = chance_of_type @ types[:, 2]
    fewest, most = binom.interval(1 - LEFT_OUT, transects, chance_of_better)
    better = np.arange(fewest, most + 1)
    fewest_worse, most_worse = binom.interval(1 - LEFT_OUT, transects, chance_of_worse)

    # In rows: from which number of worse pairs on the effect is surely above the tolerance, is not
    # surely below its lower edge, surely above that edge, and not surely below the tolerance. A
    # verdict has a range between two of these: beyond is from the first on, or before the second;
    # within is from the third to the fourth.
    edges = tolerance * np.array([[1], [-1], [-1], [1]])
    level_within = 2 * LEVEL_OF_EQUIVALENCE
    levels = np.array([[level_of_comparison]] * 2 + [[level_within]] * 2)
    surely_above = np.array([[True], [False], [True], [False]])

    def holds(worse: np.ndarray) -> np.ndarray:
        """Whether the statements of the rows hold at so many worse pairs (4, B)."""
        distance = worse - better - transects * edges
        significant = score_p(worse, better, transects, edges) < levels
        return np.where(surely_above, significant & (distance > 0), ~significant | (distance >= 0))

    most_possible = np.minimum(most_worse, transects - better)
    least_possible = np.minimum(fewest_worse, most_possible)
    starts = _first_counts(
        holds,
        np.broadcast_to(least_possible, (4, len(better))),
        np.broadcast_to(most_possible, (4, len(better))),
    )

    # The worse ones among the pairs that are not better.
    share = chance_of_worse / (1 - chance_of_better)
    fewer = binom.cdf(starts - 1, transects - better, share)
    above = 1 - fewer[0]
    below = fewer[1]
    # Where too few transects let no count be within, the range ends before it begins.
    inside = (fewer[3] - fewer[2]).clip(0)
    weights = binom.pmf(better, transects, chance_of_better)
    beyond = float(weights @ (above + below))
    within = float(weights @ inside)
    return VerdictChances(beyond, within, 1 - beyond - within)


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
