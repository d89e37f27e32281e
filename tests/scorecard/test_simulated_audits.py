"""Simulated audits against counts and brute-force simulation of what they promise."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit
from scipy.stats import norm

from helpers.scorecard.simulated_audits import (
    ATTRIBUTES,
    PATTERNS,
    SEED_LEVEL,
    Population,
    carried_mixes,
)

LOG_ODDS = dict(zip(ATTRIBUTES, (0.0, 0.9, -0.5, 0.4, 0.7), strict=True))
COLUMNS = list(ATTRIBUTES)


@pytest.fixture(scope="module")
def population():
    return Population(-2.0, LOG_ODDS, 0.23)


@pytest.fixture(scope="module")
def large(population):
    return population.audit(60_000, seed=1, repetition=0)


def test_risks_of_every_pattern_against_counts(population, large):
    risks = norm.cdf(population.thresholds)
    for pattern, risk in zip(PATTERNS, risks, strict=True):
        errors = large.loc[(large[COLUMNS] == pattern).all(axis=1), "error"]
        assert abs(errors.mean() - risk) < 4 * np.sqrt(risk * (1 - risk) / len(errors))


@pytest.mark.parametrize("correlation", [0.05, 0.23, 0.41])
def test_correlation_of_errors_against_counts(correlation):
    population = Population(-2.0, LOG_ODDS, correlation)
    frame = population.audit(60_000, seed=2, repetition=0)
    risk = expit(-2.0 + frame[COLUMNS].to_numpy() @ list(LOG_ODDS.values()))
    residual = frame["error"] - risk
    sums = residual.groupby(frame["transect"]).agg(["sum", "count"])
    squares = (residual**2).groupby(frame["transect"]).sum()
    pairs = (sums["count"] * (sums["count"] - 1)).sum()
    covariance = (sums["sum"] ** 2 - squares).sum() / pairs
    assert covariance / (residual**2).mean() == pytest.approx(correlation, abs=0.008)


def test_truth_against_brute_force(population, large):
    truth = population.true_effects()
    np.testing.assert_allclose(truth["log odds"], list(LOG_ODDS.values()), atol=1e-9)
    for name in ATTRIBUTES:
        rates = large.groupby(name)["error"].mean()
        assert truth.loc[name, "risk difference"] == pytest.approx(rates[1] - rates[0], abs=0.008)
    fit = sm.Logit(large["error"], sm.add_constant(large[COLUMNS])).fit(disp=False)
    np.testing.assert_allclose(fit.params[COLUMNS], list(LOG_ODDS.values()), atol=0.06)


def test_what_is_carried_elsewhere_against_a_population_that_is_drawn(population):
    rng, n = np.random.default_rng(0), 400_000
    faces = {name: rng.random(n) < share for name, share in SEED_LEVEL.items()}
    skin, gender = rng.integers(2, size=(2, n))
    long = rng.random(n) < np.choose(2 * skin + gender, [0.8, 0.1, 0.1, 0.05])
    levels = np.column_stack([skin, long, gender, *faces.values()])
    risk = expit(-2.0 + levels @ list(LOG_ODDS.values()))
    dark, light = (risk[(skin == level) & (gender == 0)].mean() for level in (1, 0))
    true = population.true_transport()
    assert true.loc["strata", "transported rate"] == pytest.approx(risk.mean(), abs=5e-4)
    assert true.loc["skin_level", "transported difference"] == pytest.approx(dark - light, abs=1e-3)
    np.testing.assert_allclose(carried_mixes().sum(axis=1), 1)
