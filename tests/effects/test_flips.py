"""Shares harmed and helped against statsmodels, matched effects, the truth and brute force."""

import numpy as np
import pytest
from simulated import transect_frame
from statsmodels.stats.proportion import proportion_confint

from helpers.effects import all_matched_effects
from helpers.effects.flips import harmed_and_helped
from helpers.scorecard import truth

AXES = ["skin", "hair", "gender"]


@pytest.fixture(scope="module")
def frame():
    return transect_frame(
        120, lambda skin, hair, gender: 0.15 + 0.2 * skin * gender, seed=4, dependence=0.4
    )


@pytest.fixture(scope="module")
def table(frame):
    return harmed_and_helped(frame["error"].to_numpy().reshape(-1, 2, 2, 2), AXES)


def test_rows_and_differences_are_those_of_the_truth(frame, table):
    errors = frame["error"].to_numpy().reshape(-1, 2, 2, 2)
    effects = truth.effects(errors, AXES)
    assert effects[["attribute", *AXES, "n"]].equals(table[["attribute", *AXES, "n"]])
    np.testing.assert_allclose(table["net"], effects["effect"], atol=1e-12)


def test_counts_are_the_discordant_pairs(frame, table):
    pairs = all_matched_effects(frame, "error", AXES, "transect")
    keys = ["attribute", *AXES]
    both = table.merge(pairs, on=keys, suffixes=("", "_pairs"))
    assert len(both) == len(table) == len(pairs)
    np.testing.assert_allclose(both["harmed"] * both["n_pairs"], both["worse"])
    np.testing.assert_allclose(both["helped"] * both["n_pairs"], both["better"])


@pytest.mark.parametrize("side", ["harmed", "helped"])
def test_intervals_of_cells_are_wilsons(table, side):
    cells = table[table[AXES].notna().sum(axis=1) == 2]
    counts = (cells[side] * cells["n"]).round()
    low, high = proportion_confint(counts, cells["n"], method="wilson")
    np.testing.assert_allclose(cells[f"{side}_low"], low, atol=1e-12)
    np.testing.assert_allclose(cells[f"{side}_high"], high, atol=1e-12)


def test_equal_pairs_of_a_transect_count_once():
    """Where all pairs of a transect turn alike, four of them know no more than one."""
    one = np.zeros((50, 2))
    one[:8, 1] = 1
    every = np.broadcast_to(one[:, :, None, None], (50, 2, 2, 2))
    alone, together = harmed_and_helped(one, ["skin"]), harmed_and_helped(every, AXES)
    columns = ["harmed", "harmed_low", "harmed_high", "helped", "helped_high", "net", "changed"]
    np.testing.assert_allclose(
        alone.loc[0, columns].astype(float), together.loc[0, columns].astype(float)
    )


def test_a_zero_difference_can_hide_everything():
    errors = np.array([[0, 1]] * 30 + [[1, 0]] * 30)
    row = harmed_and_helped(errors, ["skin"]).iloc[0]
    assert row["net"] == 0 and row["changed"] == 1 and row["harmed_low"] > 0.35


def test_intervals_of_averages_cover():
    rng, held = np.random.default_rng(5), []
    for _ in range(150):
        shift = rng.random((80, 1, 1, 1)) * 0.2  # faces differ in how often they turn
        low = rng.random((80, 1, 2, 2)) < 0.1
        high = rng.random((80, 1, 2, 2)) < shift
        row = harmed_and_helped(np.concatenate([low, high], 1).astype(float), AXES).iloc[0]
        held.append(row["harmed_low"] <= 0.9 * 0.1 <= row["harmed_high"])
    assert 0.92 <= np.mean(held) <= 0.98


def test_errors_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="shape"):
        harmed_and_helped(np.zeros((5, 2, 2)), AXES)
