"""Weights of resamples: their distribution, and what they depend on."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import chi2

from faceaudit.effects import resampling
from faceaudit.effects.resampling import draw_weights, resampled_sums


def test_weights_are_multinomial_counts():
    weights = draw_weights(30, range(400), seed=1)
    assert weights.shape == (400, 30)
    assert (weights.sum(axis=1) == 30).all()
    # Every cluster is drawn once on average: a chi-square test of the totals.
    statistic = ((weights.sum(axis=0) - 400) ** 2 / 400).sum()
    assert chi2.cdf(statistic, 29) < 0.999
    np.testing.assert_allclose(weights.var(), 1 - 1 / 30, rtol=0.05)


def test_weights_depend_on_seed_and_number_of_the_resample_only():
    weights = draw_weights(8, range(50), seed=1)
    np.testing.assert_array_equal(weights[7:9], draw_weights(8, range(7, 9), seed=1))
    assert not np.array_equal(weights, draw_weights(8, range(50), seed=2))


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, csr_array])
def test_sums_of_resamples_are_those_of_their_weights(kind, monkeypatch):
    values = np.random.default_rng(0).integers(0, 9, (30, 4)).astype(float)
    expected = draw_weights(30, range(11), seed=1, stage="test") @ values
    for held in (2**23, 100, 1):
        monkeypatch.setattr(resampling, "_WEIGHTS_AT_ONCE", held)
        found = resampled_sums(kind(values), range(11), seed=1, stage="test")
        np.testing.assert_array_equal(found, expected)
