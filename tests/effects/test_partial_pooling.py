"""Partial pooling against a published example, a posterior by brute force, and simulated cells."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from helpers.effects.verdicts import cell_covariance, partial_pooling

SCHOOLS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def by_brute_force(estimate, covariance):
    """Posterior means and standard deviations from a grid of μ and τ under flat priors."""
    cells, total = len(estimate), 0.0
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
    pooled = partial_pooling(SCHOOLS, np.diag(ERRORS**2))
    # Posterior means of a long Markov chain, as the guide to Stan in R prints them.
    published = [11.4, 7.9, 6.1, 7.7, 5.1, 6.2, 10.6, 8.4]
    np.testing.assert_allclose(pooled.estimate, published, atol=0.15)
    # Bayesian Data Analysis, table 5.3, from 200 draws: half of school A's lie between 7 and 16.
    assert 2 * norm.ppf(0.75) * pooled.se[0] == pytest.approx(16 - 7, abs=2.5)
    assert pooled.between == pytest.approx(5.2, abs=0.3)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_equals_the_posterior_by_brute_force(correlation):
    shared = correlation + (1 - correlation) * np.eye(4)
    covariance = shared * np.outer(ERRORS[:4], ERRORS[:4])
    found = partial_pooling(SCHOOLS[:4], covariance)
    mean, deviation = by_brute_force(SCHOOLS[:4], covariance)
    np.testing.assert_allclose(found.estimate, mean, atol=0.02)
    np.testing.assert_allclose(found.se, deviation, rtol=5e-3)


def test_many_audits_at_once_are_each_pooled_alone():
    random = np.random.default_rng(0)
    estimate, root = random.normal(size=(5, 4)), random.normal(size=(5, 4, 6))
    covariance = root @ root.swapaxes(1, 2)
    together = partial_pooling(estimate, covariance)
    for number in range(5):
        alone = partial_pooling(estimate[number], covariance[number])
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_allclose(one, other[number])


def test_intervals_hold_cells_that_are_drawn_as_the_model_says():
    random = np.random.default_rng(1)
    shared = 0.3 + 0.7 * np.eye(4)
    for spread in (0.3, 1.0, 4.0):
        truth = random.normal(2.0, spread, (2000, 4))
        drawn = truth + random.multivariate_normal(np.zeros(4), shared, 2000)
        pooled = partial_pooling(drawn, np.broadcast_to(shared, (2000, 4, 4)))
        held = np.abs(pooled.estimate - truth) <= norm.ppf(0.975) * pooled.se
        assert 0.93 < held.mean() < 0.995
        better = ((pooled.estimate - truth) ** 2).mean() / ((drawn - truth) ** 2).mean()
        assert better < (0.75 if spread < 1 else 1.02)


def test_covariance_of_means_is_the_samples():
    differences = np.random.default_rng(2).integers(-1, 2, (50, 4)).astype(float)
    found = cell_covariance(differences, np.zeros(4))
    np.testing.assert_allclose(found, np.cov(differences.T, bias=True) / 50)
    wide = cell_covariance(differences, np.full(4, 0.5))
    np.testing.assert_allclose(np.diag(wide), 0.25)
    np.testing.assert_allclose(wide - np.diag(np.diag(wide)), found - np.diag(np.diag(found)))


def test_covariance_with_missing_pairs_is_that_of_repeated_samples():
    random = np.random.default_rng(3)
    own = random.normal(size=(20_000, 60, 1))
    drawn = own + random.normal(size=(20_000, 60, 3))
    drawn[random.random(drawn.shape) < 0.4] = np.nan
    expected = np.cov(np.nanmean(drawn, axis=1).T)
    found = np.mean([cell_covariance(one, np.zeros(3)) for one in drawn[:500]], axis=0)
    np.testing.assert_allclose(found, expected, rtol=0.08)
