"""Power and label noise against the book, statsmodels, enumeration and draws."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, multivariate_normal, norm
from scipy.stats import t as student
from statsmodels.stats.power import TTestPower, normal_sample_size_one_tail

from faceaudit.effects import Design, mcnemar, power, rogan_gladen, transects_needed
from faceaudit.effects.planning import (
    attenuation,
    label_noise,
    noisy_design,
    printed_power,
    printed_transects,
    shared_pair_correlation,
    transect_types,
)


def test_the_printed_examples():
    assert round(printed_transects(Design(0.02, 0.05))) == 525
    assert round(printed_transects(Design(0.02, 0.05, retention=2 / 3))) == 1181


def test_the_printed_formula_is_a_paired_test_of_effective_pairs():
    transects = 3000
    difference = 0.02
    base = 0.05
    single = 2 * 0.05 * 0.95 + 0.02 * (1 - 2 * base) - 2 * 0.1 * np.sqrt(0.05 * 0.95 * 0.07 * 0.93)
    deviation = np.sqrt(single - difference**2)
    effect = difference / deviation
    reference = TTestPower().power(effect, transects, 0.05, alternative="two-sided")
    design = Design(difference, base, within=0.1, pairs=1)
    assert printed_power(transects, design) == pytest.approx(reference, abs=1e-3)
    needed = normal_sample_size_one_tail(difference, 0.9, 0.025, deviation)
    assert printed_transects(design, power=0.9) == pytest.approx(needed)
    assert printed_power(needed, design) == pytest.approx(0.9)


@pytest.mark.parametrize("retention", [1.0, 2 / 3])
@pytest.mark.parametrize(("base", "within"), [(0.02, 0.41), (0.2, 0.05)])
def test_power_agrees_with_simulation(base, within, retention):
    """Transects of four pairs, tested by the clustered score test of the mean difference."""
    design = Design(0.05, base, within, retention)
    n = int(printed_transects(design, power=0.5))
    types, chance = transect_types(design)
    counts = np.random.default_rng(0).multinomial(n, chance, 4000)
    pairs, worse, better = (counts @ column for column in types.T)
    clusters = counts @ (types[:, 0] > 0)
    estimate = (worse - better) / pairs
    residual = types[:, 1] - types[:, 2] - estimate[:, None] * types[:, 0]
    variance = (counts * residual**2).sum(axis=1) * clusters / (clusters - 1)
    single = np.maximum(worse + better - pairs * estimate**2, 1e-12)
    deff = np.maximum(variance / single, clusters / pairs)
    score = np.abs(worse - better) / np.sqrt(np.maximum(worse + better, 1) * deff)
    rejected = (score > student.ppf(0.975, clusters - 1)).mean()
    assert power(n, design) == pytest.approx(rejected, abs=0.05)


@pytest.mark.parametrize("pairs", [1, 4])
def test_transects_needed_are_the_fewest(pairs):
    design = Design(0.05, 0.1, within=0.23, retention=0.8, pairs=pairs)
    least = transects_needed(design, power=0.9)
    assert power(least, design) >= 0.9
    assert power(least - 1, design) < 0.9
    # With one pair the mid-p test needs what the closed formula says; the exact test needs more.
    printed = printed_transects(design, power=0.9)
    assert least == pytest.approx(printed, rel=0.005 if pairs == 1 else 0.1)


def test_power_of_a_single_cell_sums_over_what_mcnemars_test_rejects():
    transects = 40
    difference = 0.1
    base = 0.1
    within = 0.2
    retention = 0.9
    p1 = base + difference
    both = within * np.sqrt(base * (1 - base) * p1 * (1 - p1)) + base * p1
    worse = (p1 - both) * retention**2
    better = (base - both) * retention**2
    share = worse / (worse + better)
    expected = sum(
        binom.pmf(n, transects, worse + better) * binom.pmf(k, n, share)
        for n in range(1, transects + 1)
        for k in range(n + 1)
        if mcnemar(k, n - k) < 0.05
    )
    found = power(transects, Design(difference, base, within, retention, pairs=1))
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("reliability", [0.0, 0.3, 0.686, 0.95, 1.0])
def test_attenuation_at_the_median_is_an_arcsine(reliability):
    expected = 2 / np.pi * np.arcsin(np.sqrt(reliability))
    assert attenuation(reliability) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("prevalence", [0.5, 0.2, 0.8])
def test_attenuation_of_simulated_scores(prevalence):
    rng = np.random.default_rng(0)
    n = 400_000
    reliability = 0.686
    true = rng.standard_normal(n)
    seen = np.sqrt(reliability) * true + np.sqrt(1 - reliability) * rng.standard_normal(n)
    high = true > np.quantile(true, 1 - prevalence)
    split = seen > np.quantile(seen, 1 - prevalence)
    error = rng.random(n) < 0.1 + 0.3 * high
    observed = error[split].mean() - error[~split].mean()
    assert observed == pytest.approx(0.3 * attenuation(reliability, prevalence), abs=0.006)


@pytest.mark.parametrize("raters", [1, 2, 3, 4, 5])
def test_label_noise_counts_majorities(raters):
    chance = 0.0
    for wrong in product((0, 1), repeat=raters):
        probability = np.prod([0.2 if w else 0.8 for w in wrong])
        chance += probability * {-1: 0.0, 0: 0.5, 1: 1.0}[int(np.sign(2 * sum(wrong) - raters))]
    assert label_noise(0.2, raters) == pytest.approx(chance)


def test_noisy_design_of_simulated_labels():
    rng = np.random.default_rng(0)
    n = 400_000
    noise = 0.1
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
    rng = np.random.default_rng(0)
    n = 400_000
    noise = 0.1
    worse = rng.random((n, 1, 1)) < 0.3  # transects with a larger effect
    risk = np.where(worse, [0.1, 0.5], [0.1, 0.1])
    error = rng.random((n, 2, 2)) < risk
    seen = error ^ (rng.random((n, 2, 2)) < noise)
    before, after = (np.corrcoef(np.diff(x.astype(int))[..., 0].T)[0, 1] for x in (error, seen))
    design = Design(0.12, 0.1, within=0.0, pair_correlation=before)
    found = noisy_design(design, noise).pair_correlation
    assert found == pytest.approx(after, abs=0.006) and before - after > 0.04
    assert noisy_design(design, 0.0).pair_correlation == pytest.approx(before)


def drawn_differences(n, p0, p1, across, same, rng):
    """Differences of four pairs (n, 4), from eight correlated normal variables a transect."""
    correlation = np.block(
        [
            [np.full((4, 4), same), np.full((4, 4), across)],
            [np.full((4, 4), across), np.full((4, 4), same)],
        ]
    )
    np.fill_diagonal(correlation, 1)
    latent = rng.standard_normal((n, 8)) @ np.linalg.cholesky(correlation).T
    error = latent < norm.ppf([p0] * 4 + [p1] * 4)
    return error[:, :4], error[:, 4:]


def binary_correlation(p0, p1, latent):
    both = multivariate_normal.cdf(norm.ppf([p0, p1]), cov=[[1, latent], [latent, 1]])
    return (both - p0 * p1) / np.sqrt(p0 * (1 - p0) * p1 * (1 - p1))


@pytest.mark.parametrize("retention", [1.0, 2 / 3])
def test_chances_are_those_of_images_drawn_one_by_one(retention):
    across = 0.525
    p0 = 0.05
    p1 = 0.07
    n = 400_000
    within = binary_correlation(p0, p1, across)
    types, chance = transect_types(Design(p1 - p0, p0, within, retention))
    rng = np.random.default_rng(0)
    low, high = drawn_differences(n, p0, p1, across, across, rng)
    kept = (rng.random((2, n, 4)) < retention).all(axis=0)
    worse = (high & ~low & kept).sum(axis=1)
    better = (low & ~high & kept).sum(axis=1)
    drawn = np.column_stack([kept.sum(axis=1), worse, better])
    share = np.array([(drawn == kind).all(axis=1).mean() for kind in types])
    assert chance.sum() == pytest.approx(1)
    np.testing.assert_allclose(share, chance, atol=5 * np.sqrt(0.25 / n))


def test_pair_correlation_is_that_of_the_differences():
    difference = 0.03
    base = 0.1
    within = 0.23
    for wanted in (None, 0.2):
        design = Design(difference, base, within, pair_correlation=wanted)
        types, chance = transect_types(design)
        total = types[:, 1] - types[:, 2]
        single = design.variance
        variance = chance @ total**2 - (chance @ total) ** 2
        rho = (variance / (4 * single) - 1) / 3
        expected = wanted or shared_pair_correlation(design)
        assert rho == pytest.approx(expected, abs=1e-8)
        assert chance @ total == pytest.approx(4 * difference)
        assert chance @ types[:, 1:].sum(axis=1) == pytest.approx(4 * (single + difference**2))


def test_chances_that_callers_share_cannot_be_changed():
    for array in transect_types(Design(0.02, 0.05)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
