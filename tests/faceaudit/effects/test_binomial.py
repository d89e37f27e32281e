"""Chances of a binomial number, beside those of scipy.stats and of whole fractions."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

from faceaudit.effects.binomial import binomial_cdf, binomial_pmf, binomial_range


@pytest.mark.parametrize("n", [1, 2, 30, 5_000, 100_000])
@pytest.mark.parametrize("chance", [0.0, 1e-4, 0.1, 0.5, 0.97, 1.0])
def test_chances_are_those_of_scipy_stats(n, chance):
    middle = round(n * chance)
    counts = np.unique(np.r_[-1, 0, 1, np.arange(middle - 60, middle + 60), n - 1, n, n + 1])
    cdf = binomial_cdf(counts, n, chance)
    # scipy.stats rounds by some 1e-12 where n is large.
    np.testing.assert_allclose(cdf, binom.cdf(counts, n, chance), rtol=0, atol=1e-11)
    pmf = binomial_pmf(counts, n, chance)
    np.testing.assert_allclose(pmf, binom.pmf(counts, n, chance), rtol=0, atol=1e-14)


def test_chances_of_large_numbers_are_those_of_whole_fractions():
    n, chance = 2_000, Fraction(1, 8)
    exact = 0
    for count in range(n + 1):
        exact += comb(n, count) * chance**count * (1 - chance) ** (n - count)
        if count in (200, 250, 300):
            found = binomial_cdf(count, n, float(chance))
            assert found == pytest.approx(float(exact), rel=1e-14)


@pytest.mark.parametrize("n", [1, 7, 300, 100_000])
@pytest.mark.parametrize("chance", [0.0, 1e-9, 0.02, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("left_out", [0.05, 1e-9])
def test_the_range_is_that_of_scipy_stats(n, chance, left_out):
    assert binomial_range(left_out, n, chance) == binom.interval(1 - left_out, n, chance)


def test_arrays_of_counts_and_trials_are_broadcast():
    counts = np.arange(4)[:, None]
    trials = np.array([1, 3])
    found = binomial_cdf(counts, trials, 0.25)
    np.testing.assert_allclose(found, binom.cdf(counts, trials, 0.25), atol=1e-15)
