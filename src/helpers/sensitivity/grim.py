"""Can a printed table of error rates be? Whole numbers of faces that would round to it.

Rates of a whole and of two groups that make it up leave little freedom: false positives, false
negatives and faces of the groups must be whole numbers and add up. Chapter 15 asks it of the
paper's table of errors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

HALF_DIGIT = 0.0005
"""Half of the last printed digit, in per cent."""


class PrintedRates(NamedTuple):
    """A row of the table, in per cent with three decimals (sensitivity, Table 1)."""

    accuracy: float
    false_positive: float
    false_negative: float


class Counts(NamedTuple):
    """Faces with and without the label, and how many of each are classified wrongly."""

    positives: int
    negatives: int
    false_negatives: int
    false_positives: int


def whole_counts(n: int, printed: PrintedRates) -> list[Counts]:
    """All counts among `n` faces that would be printed as these rates.

    Source: after the GRIM test of Brown and Heathers, 2017.

    Args:
        n: faces in all.
        printed: rates in per cent, to three decimals.

    Example:
        >>> from helpers.sensitivity.grim import PrintedRates, whole_counts
        >>> whole_counts(9, PrintedRates(77.778, 25.0, 20.0))
        [Counts(positives=5, negatives=4, false_negatives=1, false_positives=1)]
    """
    positives = np.arange(1, n)
    negatives = n - positives
    found = []
    for missed, positives_with in _events(positives, printed.false_negative):
        for raised, negatives_with in _events(negatives, printed.false_positive):
            accuracy = 100 * (1 - (missed + raised) / n)
            fits = positives_with & negatives_with & _rounds_to(accuracy, printed.accuracy)
            columns = (positives[fits], negatives[fits], missed[fits], raised[fits])
            found += [Counts(*row) for row in np.stack(columns, 1).tolist()]
    return found


def ways_to_split(whole: Counts, first: PrintedRates, second: PrintedRates) -> int:
    """In how many ways two groups with these printed rates make up the whole; 0: in none.

    Args:
        whole: counts of both groups together, of `whole_counts`.
        first, second: the groups' rates in per cent, to three decimals.

    Example:
        >>> from helpers.sensitivity.grim import Counts, PrintedRates, ways_to_split
        >>> first, second = PrintedRates(80.0, 0.0, 50.0), PrintedRates(75.0, 100.0, 0.0)
        >>> ways_to_split(Counts(5, 4, 1, 1), first, second)
        1
    """
    positives, missed = _split(
        whole.positives, whole.false_negatives, first.false_negative, second.false_negative
    )
    negatives, raised = _split(
        whole.negatives, whole.false_positives, first.false_positive, second.false_positive
    )
    # Every split of the positives with every split of the negatives.
    n = positives[:, None] + negatives
    errors = missed[:, None] + raised
    total = whole.positives + whole.negatives
    all_errors = whole.false_negatives + whole.false_positives
    fits = _rounds_to(100 * (1 - errors / n), first.accuracy)
    fits &= _rounds_to(100 * (1 - (all_errors - errors) / (total - n)), second.accuracy)
    return int(fits.sum())


def _split(whole: int, events: int, first: float, second: float) -> tuple[np.ndarray, np.ndarray]:
    """Sizes of a first group, and its events, that leave fitting numbers for the second."""
    size = np.arange(1, whole)
    rows = []
    for own, possible in _events(size, first):
        fits = possible & _rounds_to(100 * (events - own) / (whole - size), second)
        rows.append(np.stack([size[fits], own[fits]], 1))
    sizes, own = np.concatenate(rows).T
    return sizes, own


def _events(size: np.ndarray, rate: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Whole numbers of events that round to a rate, and where there are any: few for each size."""
    least = np.ceil((rate - HALF_DIGIT) / 100 * size - 1e-9).astype(int)
    most = np.floor((rate + HALF_DIGIT) / 100 * size + 1e-9).astype(int)
    return [(least + k, least + k <= most) for k in range(int((most - least).max()) + 1)]


def _rounds_to(rate: np.ndarray, printed: float) -> np.ndarray:
    return np.abs(rate - printed) <= HALF_DIGIT + 1e-9
