"""Sensitivity and flips against t tests, statsmodels, loops and simulated truth."""

from itertools import product

import numpy as np
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from faceaudit.effects import paired_interval
from faceaudit.sensitivity import decompose_score_change, flips, score_sensitivity

RNG = np.random.default_rng(0)
BEFORE = RNG.random(90)
AFTER = np.clip(BEFORE + RNG.normal(0.1, 0.2, 90), 0, 1)
INTERVAL = ["estimate", "low", "high"]
NEAR = (0.3, 0.7)


def test_score_sensitivity_of_codes_is_the_paired_t_interval():
    table = score_sensitivity(BEFORE, AFTER, NEAR)
    change = AFTER - BEFORE
    close = (BEFORE > 0.3) & (BEFORE < 0.7)
    expected = {
        "score sensitivity": change,
        "near the boundary": change[close],
        "stability": np.abs(change),
    }
    assert list(table.index) == list(expected)
    for measure, values in expected.items():
        test = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert table.loc[measure, "n"] == len(values)
        np.testing.assert_allclose(table.loc[measure, INTERVAL], [values.mean(), *test])


def test_flips_are_those_of_a_loop():
    table = flips(BEFORE, AFTER, 0.4)
    y = [(b >= 0.4, a >= 0.4) for b, a in zip(BEFORE, AFTER, strict=True)]
    up = y.count((False, True))
    down = y.count((True, False))
    zeros = up + y.count((False, False))
    ones = down + y.count((True, True))
    assert table["events"].to_dict() == {
        "joint_01": up,
        "joint_10": down,
        "conditional_01": up,
        "conditional_10": down,
        "net": up - down,
    }
    assert table["n"].tolist() == [90, 90, zeros, ones, 90]
    np.testing.assert_allclose(table["estimate"], table["events"] / table["n"], rtol=1e-14)
    for flip in table.index[:-1]:
        wilson = proportion_confint(table.events[flip], table.n[flip], method="wilson")
        np.testing.assert_allclose(table.loc[flip, ["low", "high"]], wilson)
    net = paired_interval(up, down, 90, stats.norm.ppf(0.975))
    np.testing.assert_allclose(table.loc["net", ["low", "high"]], net)


def test_net_covers_where_few_codes_flip():
    """Cover over all outcomes of 200 codes that flip up in 2% and down in 0.5%."""
    cover = 0
    for up, down in product(range(12), range(6)):
        after = np.repeat([1, 0, 0, 1], [up, 100 - up, down, 100 - down])
        low, high = flips(np.repeat([0, 1], 100), after, 0.5).loc["net", ["low", "high"]]
        chance = stats.multinomial.pmf([up, down, 200 - up - down], 200, [0.02, 0.005, 0.975])
        cover += chance * (low <= 0.015 <= high)
    assert 0.93 < cover < 0.97


def simulated_changes(rng, n=80, direct=0.03, noise=0.05):
    """Score changes are 1.5 times the true smile's, plus `direct`; people see it with noise."""
    smile = rng.normal(0.05, 0.03, n)
    full = rng.normal(0.3, 0.05, n)
    error = rng.normal(0, noise, (4, n))
    return (
        1.5 * smile + direct + 0.5 * error[0],
        smile + error[1],
        1.5 * full + 0.5 * error[2],
        full + error[3],
    )


def test_explained_is_a_ratio_of_means():
    changes = simulated_changes(np.random.default_rng(1))
    table = decompose_score_change(*changes, n_boot=50, seed=2)
    total, seen, scored, calibrated = (change.mean() for change in changes)
    share = scored / calibrated * seen
    np.testing.assert_allclose(table["estimate"], [total, share, total - share])
    assert list(table.index) == ["total", "explained", "rest"]


def test_explained_covers_the_rest():
    """Perception noise larger than the perceived change itself does not pull β to zero."""
    hits = np.zeros(3)
    runs = 100
    for run in range(runs):
        changes = simulated_changes(np.random.default_rng(run), n=200, noise=0.1)
        table = decompose_score_change(*changes, n_boot=120, seed=run)
        hits += table["low"].le([0.105, 0.075, 0.03]) & table["high"].ge([0.105, 0.075, 0.03])
    assert (hits / runs).between(0.9, 0.99).all()
