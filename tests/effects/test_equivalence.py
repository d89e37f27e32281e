"""Verdicts, detectable effects and Holm against statsmodels and simulation."""

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.weightstats import DescrStatsW

from helpers.effects import holm, mde, verdict

Z95, Z90 = norm.ppf([0.975, 0.95])


def test_holm_equals_statsmodels():
    p = np.random.default_rng(0).random(20) ** 4
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1])


def test_holm_leaves_out_what_is_not_estimable():
    np.testing.assert_allclose(holm([0.01, np.nan, 0.04]), [0.02, np.nan, 0.04])
    assert np.isnan(holm([np.nan])).all()


def limits(estimate, se):
    return estimate - Z95 * se, estimate + Z95 * se, estimate - Z90 * se, estimate + Z90 * se


@pytest.mark.parametrize(
    ("estimate", "se", "expected"),
    [
        (0.10, 0.02, "exceeds"),
        (-0.10, 0.02, "exceeds"),
        (0.01, 0.02, "within"),
        (-0.01, 0.02, "within"),
        (0.00, 0.04, "inconclusive"),
        (0.08, 0.02, "inconclusive"),  # clear of zero, not of the tolerance
        (0.049, 0.001, "inconclusive"),
        (np.nan, np.nan, "not estimable"),
        (0.01, np.nan, "not estimable"),
    ],
)
def test_the_three_states(estimate, se, expected):
    assert verdict(*limits(estimate, se), 0.05) == expected


def test_verdicts_of_many_at_once():
    states = verdict(*limits(np.array([0.1, 0.0, np.nan]), 0.02), 0.05)
    assert list(states) == ["exceeds", "within", "not estimable"]


def test_within_is_two_one_sided_tests_at_five_percent():
    rng = np.random.default_rng(1)
    seen = set()
    for shift in np.linspace(0, 0.3, 40):
        sample = DescrStatsW(rng.normal(shift, 1, 400))
        wide, narrow = sample.tconfint_mean(0.05), sample.tconfint_mean(0.10)
        p = sample.ttost_mean(-0.2, 0.2)[0]
        assert (verdict(*wide, *narrow, 0.2) == "within") == (p < 0.05)
        seen.add(p < 0.05)
    assert seen == {True, False}


def test_a_tolerance_of_zero_is_refused():
    for tolerance in (0.0, -0.05, np.nan):
        with pytest.raises(ValueError, match="tolerance is .*, a positive number"):
            verdict(0.0, 0.1, 0.0, 0.1, tolerance)


def test_detectable_effect_has_the_stated_power():
    se = np.sqrt(2 / 100)  # of a difference of two means of 100
    for alpha, power in ((0.05, 0.8), (0.01, 0.9)):
        expected = NormalIndPower().solve_power(nobs1=100, alpha=alpha, power=power)
        assert mde(se, alpha, power) == pytest.approx(expected, abs=1e-4)
    draws = np.random.default_rng(0).normal(mde(0.02), 0.02, 20_000)
    assert np.mean(np.abs(draws) > Z95 * 0.02) == pytest.approx(0.8, abs=0.01)
    assert np.isnan(mde([np.nan, 1.0])).tolist() == [True, False]


def test_few_degrees_of_freedom_raise_the_detectable_effect():
    df = np.array([1, 2, 5, 30, 1000])
    detectable = mde(np.ones(5), df=df)
    np.testing.assert_allclose(detectable, student.ppf(0.975, df) + student.ppf(0.8, df))
    assert (detectable > student.ppf(0.975, df)).all()
    assert (np.diff(detectable) < 0).all() and detectable[-1] == pytest.approx(mde(1.0), abs=0.01)
