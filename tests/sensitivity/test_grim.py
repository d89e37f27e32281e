import itertools

import numpy as np
import pytest

from helpers.sensitivity.grim import Counts, PrintedRates, ways_to_split, whole_counts


def as_printed(counts):
    positives, negatives, missed, raised = counts
    rates = (
        1 - (missed + raised) / (positives + negatives),
        raised / negatives,
        missed / positives,
    )
    return PrintedRates(*(round(100 * rate, 3) for rate in rates))


def plus(a, b):
    return Counts(*(x + y for x, y in zip(a, b, strict=True)))


@pytest.fixture(scope="module")
def table():
    first, second = Counts(412, 390, 31, 64), Counts(188, 210, 20, 19)
    return first, second, plus(first, second)


def test_the_counts_behind_a_row_are_found(table):
    *_, whole = table
    assert whole in whole_counts(1200, as_printed(whole))


def test_counts_agree_with_a_loop():
    n, printed = 60, as_printed(Counts(33, 27, 4, 5))
    expected = {
        Counts(p, n - p, missed, raised)
        for p in range(1, n)
        for missed, raised in itertools.product(range(p + 1), range(n - p + 1))
        if np.allclose(as_printed((p, n - p, missed, raised)), printed, atol=0.0006)
    }
    assert set(whole_counts(n, printed)) == expected


def test_a_true_split_is_possible_and_a_misprint_is_not(table):
    first, second, whole = table
    rows = as_printed(first), as_printed(second)
    assert ways_to_split(whole, *rows) >= 1
    misprinted = rows[0]._replace(accuracy=rows[0].accuracy + 0.2)
    assert ways_to_split(whole, misprinted, rows[1]) == 0


def test_the_papers_rows_for_male_cannot_be():
    (whole,) = whole_counts(19_962, PrintedRates(89.330, 14.416, 6.929))
    assert sum(whole[:2]) == 19_962
    young = PrintedRates(87.170, 17.727, 8.193), PrintedRates(90.022, 13.391, 6.509)
    male = PrintedRates(89.962, 16.548, 4.984), PrintedRates(88.356, 11.948, 11.190)
    assert ways_to_split(whole, *young) == 1
    assert ways_to_split(whole, *male) == 0
