"""Verdicts of a family against the intervals that they follow from, and against simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from faceaudit.verdicts import beyond_by_interval, judge, score_p
from helpers import effects


@pytest.mark.parametrize(
    ("worse", "better", "n"), [(12, 3, 100), (0, 0, 40), (30, 30, 90), (9, 0, 9)]
)
@pytest.mark.parametrize("level", [0.05, 0.004])
def test_the_score_test_is_the_interval_turned_round(worse, better, n, level):
    for end in effects.paired_interval(worse, better, n, norm.isf(level / 2)):
        if abs(end) < 1:
            assert score_p(worse, better, n, end) == pytest.approx(level, rel=1e-6)


def family(counts, tolerance=0.05):
    """A judged family of cells with one pair a face."""
    rows = []
    for worse, better, n in counts:
        errors = np.zeros((n, 2))
        errors[:worse, 1] = errors[worse : worse + better, 0] = 1
        frame = pd.DataFrame({"unit": np.repeat(range(n), 2), "skin_level": [0, 1] * n})
        frame["error"] = errors.ravel()
        found = effects.matched_effects(frame, "error", "skin_level", [], "unit", tolerance)
        rows.append(found.assign(exact=True))
    return judge(pd.concat(rows, ignore_index=True), tolerance)


def test_one_comparison_is_judged_by_its_interval():
    for counts in [(25, 2, 200), (22, 4, 200), (1, 1, 200), (10, 5, 60), (2, 30, 200)]:
        found = family([counts])
        alone = found["low"].gt(0.05) | found["high"].lt(-0.05)
        assert (found["verdict"].item() == "exceeds") == alone.item()
        np.testing.assert_allclose(found[["low", "high"]], found[["low_family", "high_family"]])


def test_a_family_asks_for_more():
    alone, together = family([(24, 2, 200)]), family([(24, 2, 200), *[(5, 5, 200)] * 11])
    assert alone["verdict"].item() == "exceeds" and alone["p_beyond"].item() > 0.05 / 12
    assert together["verdict"].iloc[0] == "inconclusive"
    assert together["low_family"].iloc[0] < alone["low_family"].item()


def test_no_larger_than_the_tolerance_is_never_beyond_it():
    table = pd.DataFrame({"estimate": [0.05, -0.01], "low": [0.049, -0.011], "high": [0.051, 0.0]})
    assert beyond_by_interval(table, 0.05, np.inf).tolist() == [1, 1]


def test_false_alarms_of_a_family_at_the_edge_of_the_tolerance():
    """Twelve cells whose true effect is the tolerance itself: at most 5 % of families may flag."""
    random, alarms, runs = np.random.default_rng(3), 0, 400
    for _ in range(runs):
        worse, better, _ = random.multinomial(200, [0.12, 0.07, 0.81], 12).T
        table = pd.DataFrame({"worse": worse, "better": better, "n": 200})
        p = score_p(table["worse"], table["better"], 200, 0.05)
        p = np.where((worse - better) / 200 > 0.05, p, 1)
        alarms += (effects.holm(p) < 0.05).any()
    assert alarms / runs < 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)
