"""Intervals and tests of paired proportions against likelihood, enumeration and each other."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, norm

from faceaudit.effects import holm, mcnemar, paired_interval
from faceaudit.effects.paired_proportions import score_p

# --- Tango's interval


def test_tango_limits_are_where_the_score_test_turns():
    worse = 12
    better = 2
    n = 50
    z = norm.ppf(0.975)

    def score(delta):
        def loss(risk):  # of the restricted likelihood, as a function of P(better)
            cells = np.array([risk + delta, risk, 1 - 2 * risk - delta])
            return -np.array([worse, better, n - worse - better]) @ np.log(cells)

        bounds = max(0, -delta) + 1e-9, (1 - delta) / 2 - 1e-9
        risk = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
        return (worse - better - n * delta) / np.sqrt(n * (2 * risk + delta - delta**2))

    low, high = paired_interval(worse, better, n, z)
    assert score(low) == pytest.approx(z, abs=1e-4)
    assert score(high) == pytest.approx(-z, abs=1e-4)


@pytest.mark.parametrize(
    ("worse", "better"),
    [(0.01, 0), (0.005, 0.005), (0.02, 0), (0.02, 0.01), (0.05, 0.05), (0.1, 0), (0.08, 0.02)],
)
def test_coverage_at_400_pairs_is_exact_enough(worse, better):
    """The exact coverage, summed over all tables: at least 93% with 1 to 10% discordant."""
    n = 400
    z = norm.ppf(0.975)
    limits = cache(lambda b, c: paired_interval(b, c, n, z))
    covered = 0.0
    for b in range(int(binom.ppf(1e-6, n, worse)), int(binom.ppf(1 - 1e-6, n, worse)) + 1):
        rest = n - b, better / (1 - worse)
        for c in range(int(binom.ppf(1e-6, *rest)), int(binom.ppf(1 - 1e-6, *rest)) + 1):
            low, high = limits(b, c)
            if low <= worse - better <= high:
                covered += binom.pmf(b, n, worse) * binom.pmf(c, *rest)
    assert 0.93 <= covered <= 0.97


# --- Tango's test


@pytest.mark.parametrize(
    ("worse", "better", "n"), [(12, 3, 100), (0, 0, 40), (30, 30, 90), (9, 0, 9)]
)
@pytest.mark.parametrize("level", [0.05, 0.004])
def test_the_score_test_is_the_interval_turned_round(worse, better, n, level):
    for end in paired_interval(worse, better, n, norm.isf(level / 2)):
        if abs(end) < 1:
            assert score_p(worse, better, n, end) == pytest.approx(level, rel=1e-6)


def test_false_alarms_of_a_family_at_the_edge_of_the_tolerance():
    """Twelve cells whose true effect is the tolerance itself: at most 5% of families may flag."""
    random, alarms, runs = np.random.default_rng(3), 0, 400
    for _ in range(runs):
        worse, better, _ = random.multinomial(200, [0.12, 0.07, 0.81], 12).T
        table = pd.DataFrame({"worse": worse, "better": better, "n": 200})
        p = score_p(table["worse"], table["better"], 200, 0.05)
        p = np.where((worse - better) / 200 > 0.05, p, 1)
        alarms += (holm(p) < 0.05).any()
    assert alarms / runs < 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


# --- McNemar's test


def test_mid_p_counts_the_observed_split_half():
    for n in (1, 2, 9, 30):
        split = np.arange(n + 1)
        chance = binom.pmf(split, n, 0.5)
        lower = np.cumsum(chance) - chance / 2
        upper = np.cumsum(chance[::-1])[::-1] - chance / 2
        np.testing.assert_allclose(mcnemar(split, n - split), 2 * np.minimum(lower, upper))
