"""Reliability against scikit-learn and statsmodels, calibration error against simulation."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import calibration_curve
from statsmodels.stats.proportion import proportion_confint

from helpers.effects.calibration import calibration_error, reliability

EDGES = np.linspace(0, 1, 11)


def answers(n, seed, stretch=1.0, shared=0.0):
    """Confidence (n,), right (n,) and transects of eight; `shared` ties the answers of one."""
    rng = np.random.default_rng(seed)
    transect = np.arange(n) // 8
    confidence = np.repeat(rng.random(n // 8), 8) if shared else rng.random(n)
    chance = np.where(rng.random(n) < shared, rng.random(n // 8)[transect], rng.random(n))
    right = (chance < np.clip(stretch * confidence, 0, 1)).astype(int)
    return confidence, right, transect


def test_bins_are_those_of_scikit_learn():
    confidence, right, _ = answers(4000, 0)
    table = reliability(confidence, right, None, EDGES)
    rate, mean = calibration_curve(right, confidence, n_bins=10)
    np.testing.assert_allclose(table["rate"], rate)
    np.testing.assert_allclose(table["confidence"], mean)
    np.testing.assert_allclose(table["gap"], mean - rate)


def test_intervals_of_independent_images_are_wilsons_with_a_students_quantile():
    confidence, right, _ = answers(20_000, 1)
    table = reliability(confidence, right, None, EDGES)
    low, high = proportion_confint(table["n"] * table["rate"], table["n"], method="wilson")
    np.testing.assert_allclose(table["low"], low, atol=5e-4)
    np.testing.assert_allclose(table["high"], high, atol=5e-4)


def test_eight_copies_of_an_image_count_as_one():
    confidence, right, _ = answers(400, 2)
    once = reliability(confidence, right, None, EDGES)
    again = reliability(
        *(np.repeat(each, 8) for each in (confidence, right, np.arange(400))), EDGES
    )
    columns = ["clusters", "confidence", "rate", "low", "high", "gap", "gap_se"]
    np.testing.assert_allclose(once[columns], again[columns])
    assert (again["n"] == 8 * once["n"]).all()


def test_intervals_cover_with_transects():
    """Answers of one transect share a draw with a chance of one half."""
    held = []
    for seed in range(60):
        confidence, right, transect = answers(1600, seed, shared=0.5)
        table = reliability(confidence, right, transect, EDGES)
        held += list((table["low"] <= table["confidence"]) & (table["confidence"] <= table["high"]))
    assert 0.92 <= np.mean(held) <= 0.98


def test_chance_is_the_error_of_a_perfect_model():
    found = [
        calibration_error(reliability(*answers(1600, seed, shared=shared), EDGES))
        for shared in (0.0, 0.5)
        for seed in range(60)
    ]
    table = pd.DataFrame(found)
    independent, tied = table.iloc[:60].mean(), table.iloc[60:].mean()
    assert independent["ece"] == pytest.approx(independent["chance"], rel=0.06)
    assert tied["ece"] == pytest.approx(tied["chance"], rel=0.08)
    assert tied["ece"] > 1.5 * independent["ece"]


def test_squares_are_freed_of_chance():
    """Right in 80 % of the confidence: the gap is a fifth of the confidence."""
    tables = [reliability(*answers(800, seed, 0.8), EDGES) for seed in range(80)]
    plain = np.mean([np.average(table["gap"] ** 2, weights=table["n"]) for table in tables])
    freed = np.mean([calibration_error(table)["rms"] ** 2 for table in tables])
    truth = 0.04 / 3  # of a uniform confidence; bins take off a hundredth of it
    assert freed == pytest.approx(truth, rel=0.06) and plain > 1.15 * truth


def test_small_bins_have_no_interval_and_do_not_count():
    table = reliability([0.15, 0.15, 0.95, 0.96], [0, 1, 1, 1], [0, 0, 0, 1], EDGES)
    assert np.isnan(table.loc[1, "low"]) and table.loc[9, "low"] < 1 == table.loc[9, "rate"]
    assert calibration_error(table)["n"] == 2


@pytest.mark.parametrize(
    ("confidence", "right", "edges"),
    [([1.2], [1], EDGES), ([0.5], [2], EDGES), ([0.4], [1], [0.5, 1.0]), ([0.5], [1], [1.0, 0.0])],
)
def test_impossible_answers_are_refused(confidence, right, edges):
    with pytest.raises(ValueError):
        reliability(confidence, right, None, edges)
