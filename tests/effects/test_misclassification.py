"""Attenuation and its correction against simulated annotations."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from helpers.effects import (
    Design,
    attenuation,
    disattenuate,
    label_noise,
    noisy_design,
    rogan_gladen,
)


@pytest.mark.parametrize("reliability", [0.0, 0.3, 0.686, 0.95, 1.0])
def test_attenuation_at_the_median_is_an_arcsine(reliability):
    expected = 2 / np.pi * np.arcsin(np.sqrt(reliability))
    assert attenuation(reliability) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("prevalence", [0.5, 0.2, 0.8])
def test_attenuation_of_simulated_scores(prevalence):
    rng, n, reliability = np.random.default_rng(0), 400_000, 0.686
    true = rng.standard_normal(n)
    seen = np.sqrt(reliability) * true + np.sqrt(1 - reliability) * rng.standard_normal(n)
    high = true > np.quantile(true, 1 - prevalence)
    split = seen > np.quantile(seen, 1 - prevalence)
    error = rng.random(n) < 0.1 + 0.3 * high
    observed = error[split].mean() - error[~split].mean()
    assert observed == pytest.approx(0.3 * attenuation(reliability, prevalence), abs=0.006)


def test_disattenuation_undoes_the_factor():
    effects = pd.DataFrame({"estimate": [0.05, -0.01], "low": [0.01, -0.03], "high": [0.09, 0.02]})
    corrected = disattenuate(effects.assign(n=7), 0.5)
    columns = ["estimate", "low", "high"]
    np.testing.assert_allclose(corrected[columns], 2 * effects[columns])
    assert (corrected["n"] == 7).all()
    wider = disattenuate(effects, 0.5, margin=0.1)
    assert (wider["low"] < corrected["low"]).all()
    assert (wider["high"] > corrected["high"]).all()


def test_corrected_intervals_cover_the_effect_when_the_factor_is_estimated():
    rng, n = np.random.default_rng(0), 300
    effect, factor, se, factor_se = 0.08, 0.6, 0.015, 0.04
    estimates = rng.normal(effect * factor, se, n)
    factors = rng.normal(factor, factor_se, n)
    covered = []
    for estimate, guess in zip(estimates, factors, strict=True):
        limits = {"low": estimate - 1.96 * se, "high": estimate + 1.96 * se}
        row = disattenuate(
            pd.DataFrame({"estimate": [estimate], **limits}), guess, 1.96 * factor_se
        ).iloc[0]
        covered.append(row["low"] <= effect <= row["high"])
    assert np.mean(covered) == pytest.approx(0.95, abs=0.035)


@pytest.mark.parametrize("raters", [1, 2, 3, 4, 5])
def test_label_noise_counts_majorities(raters):
    chance = 0.0
    for wrong in product((0, 1), repeat=raters):
        probability = np.prod([0.2 if w else 0.8 for w in wrong])
        chance += probability * {-1: 0.0, 0: 0.5, 1: 1.0}[int(np.sign(2 * sum(wrong) - raters))]
    assert label_noise(0.2, raters) == pytest.approx(chance)


def test_noisy_design_of_simulated_labels():
    rng, n, noise = np.random.default_rng(0), 400_000, 0.1
    shared = rng.random((n, 1)) < 0.5
    draws = np.where(shared, rng.random((n, 1)), rng.random((n, 2)))
    error = draws < [0.1, 0.2]
    seen = error ^ (rng.random((n, 2)) < noise)
    within = np.corrcoef(error.T)[0, 1]
    found = noisy_design(Design(0.1, 0.1, within, retention=0.8), noise)
    assert seen[:, 0].mean() == pytest.approx(found.base_rate, abs=0.003)
    assert np.diff(seen.mean(axis=0))[0] == pytest.approx(found.difference, abs=0.004)
    assert np.corrcoef(seen.T)[0, 1] == pytest.approx(found.within, abs=0.006)
    assert (found.retention, found.pair_correlation) == (0.8, None)
    assert rogan_gladen(found.base_rate, noise) == pytest.approx(0.1)
    assert rogan_gladen(0.05, noise) == 0


def test_noisy_pair_correlation_of_simulated_labels():
    rng, n, noise = np.random.default_rng(0), 400_000, 0.1
    worse = rng.random((n, 1, 1)) < 0.3  # transects with a larger effect
    risk = np.where(worse, [0.1, 0.5], [0.1, 0.1])
    error = rng.random((n, 2, 2)) < risk
    seen = error ^ (rng.random((n, 2, 2)) < noise)
    before, after = (np.corrcoef(np.diff(x.astype(int))[..., 0].T)[0, 1] for x in (error, seen))
    design = Design(0.12, 0.1, within=0.0, pair_correlation=before)
    found = noisy_design(design, noise).pair_correlation
    assert found == pytest.approx(after, abs=0.006) and before - after > 0.04
    assert noisy_design(design, 0.0).pair_correlation == pytest.approx(before)


def interval():
    return pd.DataFrame({"estimate": [0.1], "low": [0.0], "high": [0.2]})
