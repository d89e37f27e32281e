"""Intervals of means against statsmodels and a t test; cover of those of counts."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from helpers.effects import paired_interval
from helpers.sensitivity import flips
from helpers.sensitivity.intervals import mean_interval, net_interval, share_interval

RNG = np.random.default_rng(0)
BEFORE = RNG.random(90)
AFTER = np.clip(BEFORE + RNG.normal(0.1, 0.2, 90), 0, 1)
THREES = np.repeat(np.arange(30), 3)


def test_the_mean_of_codes_has_the_t_interval():
    change = AFTER - BEFORE
    interval = stats.ttest_1samp(change, 0).confidence_interval(0.95)
    expected = change.mean(), *interval
    np.testing.assert_allclose(mean_interval(change, np.arange(90)), expected, atol=1e-12)
    # One code per row, whatever the codes are called.
    np.testing.assert_array_equal(
        mean_interval(change, np.arange(90)), mean_interval(change, 7 * np.arange(90)[::-1])
    )


def test_the_mean_of_repeated_codes_has_the_cluster_robust_interval(robust):
    change = AFTER - BEFORE
    np.testing.assert_allclose(mean_interval(change, THREES), robust(change, THREES))


@pytest.mark.parametrize("interval", [mean_interval, share_interval, net_interval])
def test_nothing_is_estimated_from_nothing_and_no_interval_from_one_code(interval):
    assert np.isnan(interval(np.empty(0), np.empty(0, int))).all()
    events = np.array([True, False, True, True])
    found = interval(events, np.zeros(4, int))
    assert found.estimate == 0.75 and np.isnan(found[1:]).all()


def test_shares_and_nets_of_codes_have_the_plain_intervals():
    up, codes = AFTER > 0.6, np.arange(90)
    low, high = proportion_confint(up.sum(), 90, method="wilson")
    np.testing.assert_allclose(share_interval(up, codes), [up.mean(), low, high])
    difference = up.astype(float) - (BEFORE > 0.6)
    counts = (difference > 0).sum(), (difference < 0).sum(), 90, stats.norm.ppf(0.975)
    expected = difference.mean(), *paired_interval(*counts)
    np.testing.assert_allclose(net_interval(difference, codes), expected)


def test_identical_copies_of_codes_add_nothing():
    """Copies leave the effective number of rows at the number of codes; only t replaces z."""
    few = flips(BEFORE, AFTER, 0.5)
    many = flips(np.tile(BEFORE, 4), np.tile(AFTER, 4), 0.5, cluster=[*range(90)] * 4)
    np.testing.assert_allclose(many["estimate"], few["estimate"])
    assert (many["n"] == 4 * few["n"]).all()
    width, plain = (table["high"] - table["low"] for table in (many, few))
    assert width.between(plain, 1.06 * plain).all()


def test_copies_without_any_flip_count_once():
    table = flips([0.1] * 40, [0.2] * 40, 0.5, cluster=[*range(8)] * 5)
    quantile = stats.t.ppf(0.975, 7)
    assert table.loc["joint_01", "high"] == pytest.approx(quantile**2 / (8 + quantile**2))


def test_net_covers_where_few_codes_flip():
    """Cover over all outcomes of 200 codes that flip up in 2 % and down in 0.5 %."""
    cover = 0
    for up, down in product(range(12), range(6)):
        after = np.repeat([1, 0, 0, 1], [up, 100 - up, down, 100 - down])
        low, high = flips(np.repeat([0, 1], 100), after, 0.5).loc["net", ["low", "high"]]
        chance = stats.multinomial.pmf([up, down, 200 - up - down], 200, [0.02, 0.005, 0.975])
        cover += chance * (low <= 0.015 <= high)
    assert 0.93 < cover < 0.97


def test_intervals_cover_where_codes_repeat():
    """60 codes with 5 images each, whose flips are alike: as rows, they would cover too rarely."""
    codes, runs, hits = np.repeat(np.arange(60), 5), 120, {}
    for run in range(runs):
        rng = np.random.default_rng(run)
        after = rng.random(300) < rng.beta(0.3, 2.7, 60)[codes]
        for cluster in (True, False):
            table = flips(np.zeros(300), after, 0.5, cluster=codes if cluster else None)
            held = table["low"].le(0.1) & table["high"].ge(0.1)
            hits[cluster] = hits.get(cluster, 0) + held[["net", "joint_01"]] / runs
    assert hits[True].between(0.92, 0.985).all()
    assert (hits[False] < 0.9).all()
