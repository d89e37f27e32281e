"""Verdicts, families, pooled cells and what is hidden against libraries and published numbers."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, multivariate_normal, norm
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.weightstats import DescrStatsW

from faceaudit.effects import (
    e_value,
    e_values,
    holm,
    max_t_intervals,
    mcnemar,
    mde,
    rosenbaum_gamma,
    verdict,
)
from faceaudit.effects.verdicts import cell_covariance, partial_pooling

Z95, Z90 = norm.ppf([0.975, 0.95])


def test_holm_equals_statsmodels():
    p = np.random.default_rng(0).random(20) ** 4
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1])


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


def test_within_is_two_one_sided_tests_at_five_percent():
    rng = np.random.default_rng(1)
    seen = set()
    for shift in np.linspace(0, 0.3, 40):
        sample = DescrStatsW(rng.normal(shift, 1, 400))
        wide = sample.tconfint_mean(0.05)
        narrow = sample.tconfint_mean(0.10)
        p = sample.ttost_mean(-0.2, 0.2)[0]
        assert (verdict(*wide, *narrow, 0.2) == "within") == (p < 0.05)
        seen.add(p < 0.05)
    assert seen == {True, False}


def test_detectable_effect_has_the_stated_power():
    se = np.sqrt(2 / 100)  # of a difference of two means of 100
    for alpha, power in ((0.05, 0.8), (0.01, 0.9)):
        expected = NormalIndPower().solve_power(nobs1=100, alpha=alpha, power=power)
        assert mde(se, alpha, power) == pytest.approx(expected, abs=1e-4)
    draws = np.random.default_rng(0).normal(mde(0.02), 0.02, 20_000)
    assert np.mean(np.abs(draws) > Z95 * 0.02) == pytest.approx(0.8, abs=0.01)
    assert np.isnan(mde([np.nan, 1.0])).tolist() == [True, False]


def test_a_difference_of_paired_proportions_is_bonett_and_price():
    worse = 12
    better = 5
    n = 80
    values = np.repeat([1, -1, 0], [worse, better, n - worse - better])
    table = max_t_intervals(pd.DataFrame(values), 1, n_boot=100, seed=1)
    p12 = (worse + 1) / (n + 2)
    p21 = (better + 1) / (n + 2)
    se = np.sqrt((p12 + p21 - (p12 - p21) ** 2) / (n + 2))
    assert table["se"].item() == pytest.approx(se)
    assert table[["low", "high"]].mean(axis=1).item() == pytest.approx(p12 - p21)
    assert table["estimate"].item() == pytest.approx((worse - better) / n)


@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.95])
def test_the_reach_is_that_of_the_correlated_normal(correlation):
    m = 6
    cover = np.full((m, m), correlation) + (1 - correlation) * np.eye(m)
    values = np.random.default_rng(1).multivariate_normal(np.zeros(m), cover, 3000)
    critical = max_t_intervals(pd.DataFrame(values), n_boot=3000, seed=2).attrs["critical"]
    normal = multivariate_normal(cov=cover, allow_singular=True, seed=0)
    reach = np.full(m, critical)
    assert normal.cdf(reach, lower_limit=-reach) == pytest.approx(0.95, abs=0.012)
    assert critical <= norm.ppf(1 - 0.025 / m) + 0.12


def test_the_family_holds_together_where_errors_are_rare():
    """Nine contrasts of 300 transects, errors of 1 to 8%: all hold in 95% of 150 audits."""
    rng = np.random.default_rng(3)
    audits = 150
    worse = np.linspace(0.01, 0.08, 9)
    better = np.linspace(0.03, 0.01, 9)
    held = []
    for seed in range(audits):
        shared = rng.random((300, 1)) * 0.5 + rng.random((300, 9)) * 0.5
        chance = np.where(shared < 0.5, 2 * shared**2, 1 - 2 * (1 - shared) ** 2)  # uniform
        values = (chance < worse).astype(float) - (chance > 1 - better)
        table = max_t_intervals(pd.DataFrame(values), 1, n_boot=100, seed=seed)
        truth = worse - better
        held.append(((table["low"] <= truth) & (truth <= table["high"])).all())
    assert 0.91 <= np.mean(held) <= 0.99


SCHOOLS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def by_brute_force(estimate, covariance):
    """Posterior means and standard deviations from a grid of μ and τ under flat priors."""
    cells = len(estimate)
    total = 0.0
    first, second = np.zeros((2, cells))
    # Of few cells τ has a long tail, which a grid that grows by steps reaches, and μ follows τ.
    edges = np.sinh(np.linspace(0, 9, 601))
    for spread, width in zip((edges[1:] + edges[:-1]) / 2, np.diff(edges), strict=True):
        of_estimates = covariance + spread**2 * np.eye(cells)
        means = estimate.mean() + np.sqrt(np.trace(of_estimates)) * np.linspace(-5, 5, 801)
        around = estimate - means[:, None]
        weight = multivariate_normal(np.zeros(cells), of_estimates).pdf(around)
        weight *= width * (means[1] - means[0])
        gain = spread**2 * np.linalg.inv(of_estimates)
        drawn = means[:, None] + around @ gain.T
        own = spread**2 * np.diag(np.eye(cells) - gain)
        total += weight.sum()
        first += weight @ drawn
        second += weight @ (drawn**2 + own)
    mean = first / total
    return mean, np.sqrt(second / total - mean**2)


def test_eight_schools_as_published():
    mean, se, between = partial_pooling(SCHOOLS, np.diag(ERRORS**2))
    # Posterior means of a long Markov chain, as the guide to Stan in R prints them.
    published = [11.4, 7.9, 6.1, 7.7, 5.1, 6.2, 10.6, 8.4]
    np.testing.assert_allclose(mean, published, atol=0.15)
    # Bayesian Data Analysis, table 5.3, from 200 draws: half of school A's lie between 7 and 16.
    assert 2 * norm.ppf(0.75) * se[0] == pytest.approx(16 - 7, abs=2.5)
    assert between == pytest.approx(5.2, abs=0.3)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_equals_the_posterior_by_brute_force(correlation):
    shared = correlation + (1 - correlation) * np.eye(4)
    covariance = shared * np.outer(ERRORS[:4], ERRORS[:4])
    found, se, _ = partial_pooling(SCHOOLS[:4], covariance)
    mean, deviation = by_brute_force(SCHOOLS[:4], covariance)
    np.testing.assert_allclose(found, mean, atol=0.02)
    np.testing.assert_allclose(se, deviation, rtol=5e-3)


def test_intervals_hold_cells_that_are_drawn_as_the_model_says():
    random = np.random.default_rng(1)
    shared = 0.3 + 0.7 * np.eye(4)
    for spread in (0.3, 1.0, 4.0):
        truth = random.normal(2.0, spread, (2000, 4))
        drawn = truth + random.multivariate_normal(np.zeros(4), shared, 2000)
        pooled, se, _ = partial_pooling(drawn, np.broadcast_to(shared, (2000, 4, 4)))
        held = np.abs(pooled - truth) <= norm.ppf(0.975) * se
        assert 0.93 < held.mean() < 0.995
        better = ((pooled - truth) ** 2).mean() / ((drawn - truth) ** 2).mean()
        assert better < (0.75 if spread < 1 else 1.02)


def test_covariance_with_missing_pairs_is_that_of_repeated_samples():
    random = np.random.default_rng(3)
    own = random.normal(size=(20_000, 60, 1))
    drawn = own + random.normal(size=(20_000, 60, 3))
    drawn[random.random(drawn.shape) < 0.4] = np.nan
    expected = np.cov(np.nanmean(drawn, axis=1).T)
    found = np.mean([cell_covariance(one, np.zeros(3)) for one in drawn[:500]], axis=0)
    np.testing.assert_allclose(found, expected, rtol=0.08)


# --- what something hidden would have to do


def test_published_e_values():
    # VanderWeele & Ding 2017: 3.9 (1.8 to 8.7) has 7.26 and 3.0; 0.80 (0.71 to 0.91) 1.81 and 1.43.
    assert e_value(3.9) == pytest.approx(7.26, abs=0.005)
    assert e_value(1.8) == pytest.approx(3.0, abs=0.005)
    assert e_value(0.8) == pytest.approx(1.81, abs=0.005)
    assert e_value(0.91) == pytest.approx(1.43, abs=0.005)


def test_e_value_is_where_the_bounding_factor_reaches_the_ratio():
    # Ding & VanderWeele 2016: confounding by RR_EU and RR_UD moves a ratio by at most their
    # product over their sum less one.
    for rr in (1.2, 2.0, 10.0):
        e = e_value(rr)
        assert e * e / (2 * e - 1) == pytest.approx(rr)


def test_e_values_of_risk_differences():
    effects = pd.DataFrame(
        {"estimate": [0.05, 0.01, np.nan, 0.02], "low": [0.02, -0.2, np.nan, 0.01]},
        index=["found", "nothing", "unknown", "no base"],
    ).assign(high=[0.08, 0.03, np.nan, 0.03])
    table = e_values(effects, [0.05, 0.05, 0.05, 0.0])
    assert table.loc["found", "rr"] == pytest.approx(2)
    assert table.loc["found", "e_value"] == pytest.approx(e_value(2.0))
    assert table.loc["found", "e_value_limit"] == pytest.approx(e_value(1.4))
    assert table.loc["nothing", "rr_low"] == 0
    assert table.loc["nothing", "e_value_limit"] == 1
    assert table.loc[["unknown", "no base"], ["e_value", "e_value_limit"]].isna().all(axis=None)


@pytest.mark.parametrize(("b", "c"), [(30, 5), (5, 30), (12, 0), (200, 150)])
def test_gamma_is_the_last_at_which_the_test_rejects(b, c):
    gamma = rosenbaum_gamma(b, c)

    def worst_p(value):
        tails = binom.sf([max(b, c) - 1, max(b, c)], b + c, value / (1 + value))
        return tails.sum()

    assert worst_p(gamma * (1 - 1e-6)) < 0.05 < worst_p(gamma * (1 + 1e-6))
    assert worst_p(1.0) == pytest.approx(mcnemar(b, c))


def test_gamma_is_missing_where_nothing_is_rejected():
    assert np.isnan(rosenbaum_gamma([10, 0, 3], [10, 0, 0])).all()
    b, c = np.meshgrid(np.arange(40), np.arange(40))
    np.testing.assert_array_equal(np.isfinite(rosenbaum_gamma(b, c)), mcnemar(b, c) < 0.05)
    assert rosenbaum_gamma(30, 5, alpha=0.01) < rosenbaum_gamma(30, 5, alpha=0.05)


def test_no_hidden_bias_within_gamma_makes_false_findings():
    """A hidden attribute that favours one image of each pair by Γ: the bound holds."""
    rng = np.random.default_rng(0)
    n = 60
    gamma = 2.0
    b = rng.binomial(n, gamma / (1 + gamma), size=20_000)
    assert np.mean(np.nan_to_num(rosenbaum_gamma(b, n - b)) >= gamma) <= 0.05
