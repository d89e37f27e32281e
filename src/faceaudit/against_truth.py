"""What a known truth says about an audit: do its intervals hold it, what was it where undecided?

Every sentence follows from the content of `report.json`.
"""

from __future__ import annotations

from collections.abc import Sequence

from scipy.stats import binom

from faceaudit.report_schema import Effect, Report
from faceaudit.words import listed, percent
from helpers.effects.verdicts import EXCEEDS, INCONCLUSIVE, WITHIN

CALLED = {
    EXCEEDS: "comparisons found beyond it",
    INCONCLUSIVE: "undecided ones",
    WITHIN: "found within it",
}
"""Verdict → how a count of comparisons says it."""
MISSES = 0.05
"""Share of 95 % intervals that miss the truth."""


def compared(report: Report) -> list[str]:
    """Why the truth is known, how many intervals hold it, and what it is where undecided.

    Args:
        report: of a classification whose effects have a truth.

    Returns:
        Why there is a truth, then what follows from it, a few sentences each.

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> report = faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan)
        >>> for row in [*report.effects, *report.averages]:
        ...     row.truth, row.truth_se = row.estimate, 0.01
        >>> print(compared(report)[-1])
        The truth is beyond the tolerance in 2 of the 2 comparisons found beyond it and 0 of the 2
        undecided ones.
    """
    known, held = _held(report.effects)
    averages, averages_held = _held(report.averages)
    se = max((row.truth_se or 0 for row in known), default=0)
    told = [
        "The faces are drawn by rules, so each trait can be set by hand while all else stays as it "
        "is. What that does to the errors of this model, on other faces, is the truth. The audit "
        "did not use it: it shows how far audits of this kind can be trusted where nobody knows "
        "the truth.",
        f"Of the 95 % intervals by cell, {held} of {len(known)} hold this truth. "
        f"{by_chance(len(known) - held, len(known))} The truth is an estimate too, with a standard "
        f"error of up to {100 * se:.1f} points, which makes for some more misses.",
        "The averages over all faces are made of the same pairs and counted apart: "
        f"{averages_held} of {len(averages)} intervals hold the truth.",
    ]
    told = told if averages else told[:-1]
    return [*told, _found(known, report.tolerance)]


def by_chance(misses: int, n: int) -> str:
    """Whether so many 95 % intervals of one audit may miss the truth by chance.

    The intervals share faces, so that a binomial count is a guide only. Whatever the dependence,
    Markov's inequality bounds the chance of so many misses by their expected number over theirs.

    Args:
        misses: intervals without the truth.
        n: all intervals.

    Returns:
        Sentences.

    Example:
        >>> print(by_chance(2, 12))
        Each should miss 5 times in 100, which makes 0.6 of 12; 2 missed. If they missed
        independently, 2 or more would do so in 11.8 % of audits. They share faces and miss
        together, so this is a rough guide; however they depend on each other, the chance is at most
        30.0 %. This count alone shows no fault of the intervals.
    """
    expected = n * MISSES
    told = (
        f"Each should miss {100 * MISSES:g} times in 100, which makes {expected:.1f} of {n}; "
        f"{misses or 'none'} missed."
    )
    if not misses:
        return told
    independent = binom.sf(misses - 1, n, MISSES)
    end = (
        "This count alone shows no fault of the intervals."
        if independent >= MISSES
        else "Whether it was chance, one audit cannot tell."
    )
    return (
        f"{told} If they missed independently, {misses} or more would do so in "
        f"{percent(independent)} of audits. They share faces and miss together, so this is a rough "
        "guide; however they depend on each other, the chance is at most "
        f"{percent(min(expected / misses, 1.0))}. {end}"
    )


def _held(rows: Sequence[Effect]) -> tuple[list[Effect], int]:
    """Rows with an interval and a truth, and how many of the intervals hold it."""
    known = [row for row in rows if row.truth is not None and row.low is not None]
    return known, sum(row.low <= row.truth <= row.high for row in known)


def _found(rows: Sequence[Effect], tolerance: float) -> str:
    """How often the truth is beyond the tolerance, by what the audit said."""
    told = []
    for verdict, words in CALLED.items():
        own = [row for row in rows if row.verdict == verdict]
        # What was found beyond the tolerance is confirmed by a truth on the same side only.
        beyond = [
            row
            for row in own
            if abs(row.truth) > tolerance and (verdict != EXCEEDS or row.truth * row.estimate > 0)
        ]
        if own:
            told.append(f"{len(beyond)} of the {len(own)} {words}")
    return f"The truth is beyond the tolerance in {listed(told or ['no comparison'])}."
