"""Curves against the measures of single steps, dose-responses against fitted lines."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from helpers.sensitivity import curve, dose_response, flips, score_sensitivity

RNG = np.random.default_rng(0)
BEFORE = RNG.random(90)
THREES = np.repeat(np.arange(30), 3)
INTERVAL = ["estimate", "low", "high"]
RULES = {"near": (0.3, 0.7), "threshold": 0.5}
LAMBDAS = np.array([-1, 1, 0, 0.5])
SCORES = np.clip(BEFORE[:, None] + 0.2 * LAMBDAS + RNG.normal(0, 0.1, (90, 4)), 0, 1)


@pytest.mark.parametrize("cluster", [None, THREES])
def test_curve_holds_the_measures_of_every_step(cluster):
    table = curve(SCORES, LAMBDAS, **RULES, cluster=cluster)
    assert list(table.columns) == ["λ", "measure", "n", *INTERVAL]
    assert table["λ"].unique().tolist() == [-1, 0, 0.5, 1]
    assert (table.groupby("λ").size() == 9).all()
    last = table[table["λ"] == 1].set_index("measure").drop(columns="λ")
    pair = SCORES[:, 2], SCORES[:, 1]
    expected = [
        score_sensitivity(*pair, RULES["near"], cluster),
        flips(*pair, RULES["threshold"], cluster).drop(columns="events"),
    ]
    pd.testing.assert_frame_equal(last.iloc[:-1], pd.concat(expected), check_names=False)


def test_curve_has_net_flips_near_the_boundary():
    table = curve(SCORES, LAMBDAS, **RULES)
    net = table[(table["λ"] == -1) & (table["measure"] == "net near the boundary")].iloc[0]
    close = (SCORES[:, 2] > 0.3) & (SCORES[:, 2] < 0.7)
    expected = flips(SCORES[close, 2], SCORES[close, 0], 0.5).loc["net", ["n", *INTERVAL]]
    np.testing.assert_allclose(net[["n", *INTERVAL]].astype(float), expected.astype(float))


def test_nothing_moves_at_zero():
    table = curve([[0.1, 0.2], [0.2, 0.8]], [0, 1], **RULES)
    still = table[table["λ"] == 0].set_index("measure")[INTERVAL]
    empty = ["near the boundary", "conditional_10", "net near the boundary"]
    assert still.loc[empty].isna().all(axis=None)
    assert (still.drop(index=empty) == 0).all(axis=None)


def test_dose_response_is_the_mean_of_fitted_slopes(robust):
    table = dose_response(SCORES, LAMBDAS)
    slopes = [np.polyfit(LAMBDAS, row, 1)[0] for row in SCORES]
    interval = stats.ttest_1samp(slopes, 0).confidence_interval(0.95)
    np.testing.assert_allclose(table.loc["slope", INTERVAL], [np.mean(slopes), *interval])
    ordered = SCORES[:, np.argsort(LAMBDAS)]
    rising = sum(all(b >= a for a, b in pairwise(row)) for row in ordered)
    falling = sum(all(b <= a for a, b in pairwise(row)) for row in ordered)
    assert table.loc["monotone", "estimate"] == pytest.approx((rising + falling) / 90)
    wilson = proportion_confint(rising + falling, 90, method="wilson")
    np.testing.assert_allclose(table.loc["monotone", ["low", "high"]], wilson)
    clustered = dose_response(SCORES, LAMBDAS, THREES).loc["slope", INTERVAL]
    np.testing.assert_allclose(clustered, robust(np.array(slopes), THREES))


def test_monotone_scores_move_and_never_turn_back():
    scores = [[0.1, 0.2, 0.2], [0.9, 0.5, 0.1], [0.3, 0.3, 0.3], [0.1, 0.5, 0.4]]
    assert dose_response(scores, [-1, 0, 1]).loc["monotone", "estimate"] == 0.5


def test_scores_and_steps_must_fit():
    with pytest.raises(ValueError, match="scores: row 1, column 0 is 3.0, a probability"):
        curve([[0.1, 0.2], [3, 0.1]], [0, 1], **RULES)
    with pytest.raises(ValueError, match="lambdas: 3 steps for 4 columns of scores"):
        curve(SCORES, LAMBDAS[1:], **RULES)
    with pytest.raises(ValueError, match="lambdas: none of .* is 0"):
        curve(SCORES, LAMBDAS + 5, **RULES)
    with pytest.raises(ValueError, match="lambdas: expected at least 2 steps, all distinct"):
        dose_response(SCORES, [0, 0, 1, 2])
    with pytest.raises(ValueError, match="lambdas: row 0 is inf, a finite number"):
        dose_response(SCORES, [np.inf, 0, 1, 2])
