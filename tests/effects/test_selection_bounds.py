"""Worst-case bounds against every possible error of the dropped images, and by simulation."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from helpers.effects import matched_effects, pruning_bounds
from helpers.effects.matched import _interval, _pair_bounds
from helpers.pruning import complete_transects

AXES = ["skin_level", "hair_level", "gender_level"]
ARGUMENTS = ("kept", "error", "skin_level", ["gender_level"], "transect")


def pruned_audit(n, seed, keep=0.7, selective=False):
    """Transects of eight images; `selective` drops the dark-skinned with errors more often."""
    rng = np.random.default_rng(seed)
    cells = np.array(list(product((0, 1), repeat=3)))
    frame = pd.DataFrame(np.tile(cells, (n, 1)), columns=AXES)
    frame["transect"] = np.repeat(np.arange(n), 8)
    hard = np.repeat(rng.normal(0, 0.1, n), 8)
    risk = np.clip(0.15 + 0.2 * frame["skin_level"] * frame["gender_level"] + hard, 0, 1)
    frame["error"] = (rng.random(8 * n) < risk).astype(int)
    chance = keep - 0.4 * frame["error"] * frame["skin_level"] if selective else keep
    return frame.assign(kept=rng.random(8 * n) < chance)


def test_arms_are_the_matched_effects_of_their_images():
    frame = pruned_audit(60, seed=0)
    table = pruning_bounds(frame, *ARGUMENTS)
    left = frame[frame["kept"]]
    arms = {"all": frame, "pruned": left, "complete transects": complete_transects(left, 8)}
    columns = ["estimate", "low", "high", "n", "transects"]
    for arm, images in arms.items():
        reference = matched_effects(images, *ARGUMENTS[1:])
        np.testing.assert_allclose(table.loc[arm][columns], reference[columns])
        assert (table.loc[arm]["missing"] == 120 - reference["n"]).all()
    assert table.index.names == ["arm", "gender_level"]
    assert table.loc["worst case"]["estimate"].isna().all()
    assert (table.loc["worst case"]["missing"] == table.loc["pruned"]["missing"]).all()


def test_bounds_are_the_extremes_over_all_errors_of_the_dropped():
    frame = pruned_audit(3, seed=1, keep=0.65)
    frame = frame[frame["gender_level"] == 1]
    bounds = pruning_bounds(frame, *ARGUMENTS).loc["worst case"].loc[1]
    dropped = frame.index[~frame["kept"]]
    assert 2 <= len(dropped) <= 10
    possible = []
    for errors in product((0, 1), repeat=len(dropped)):
        filled = frame["error"].copy()
        filled[dropped] = errors
        sides = [filled[frame["skin_level"] == level].to_numpy().mean() for level in (0, 1)]
        possible.append(sides[1] - sides[0])
    assert bounds["lower"] == pytest.approx(min(possible))
    assert bounds["upper"] == pytest.approx(max(possible))


def test_bounds_always_hold_what_pruning_hid_and_intervals_cover_the_effect():
    held, covered, misled = [], [], []
    for seed in range(12):
        table = pruning_bounds(pruned_audit(150, seed, 0.95, selective=True), *ARGUMENTS)
        worst, everything = table.loc["worst case"], table.loc["all"]["estimate"]
        held += (everything >= worst["lower"]).tolist() + (everything <= worst["upper"]).tolist()
        truth = np.array([0.0, 0.2])
        covered += ((worst["low"] <= truth) & (truth <= worst["high"])).tolist()
        misled.append(table.loc["pruned"]["high"].iloc[1] < 0.2)
    assert all(held)
    assert np.mean(covered) >= 0.95
    assert np.mean(misled) > 0.5


def test_the_interval_has_its_coverage_where_the_effect_is_a_bound():
    """The truth at the lower bound: every dropped image is a dark-skinned one with an error."""
    covered = []
    for seed in range(150):
        frame = pruned_audit(100, seed)
        chance = np.random.default_rng(1000 + seed).random(len(frame))
        dropped = (frame["error"] == 1) & (frame["skin_level"] == 1) & (chance < 0.3)
        pairs = _pair_bounds(frame.assign(kept=~dropped), *ARGUMENTS)
        covered.append(_interval(pairs[pairs["gender_level"] == 1], "transect")[1] >= 0.2)
    assert 0.9 <= np.mean(covered) <= 0.985


def test_without_pruning_the_arms_agree():
    table = pruning_bounds(pruned_audit(30, 3, keep=1.1), *ARGUMENTS)
    for arm in ("pruned", "complete transects"):
        pd.testing.assert_frame_equal(table.loc[arm], table.loc["all"])
    worst, everything = table.loc["worst case"], table.loc["all"]
    np.testing.assert_allclose(worst["lower"], everything["estimate"])
    np.testing.assert_allclose(worst["upper"], everything["estimate"])
    np.testing.assert_allclose(worst[["low", "high"]], everything[["low", "high"]])


def test_what_is_left_may_be_nothing():
    frame = pruned_audit(20, 4)
    none = pruning_bounds(frame.assign(kept=False), *ARGUMENTS)
    assert none.loc["pruned"]["reason"].tolist() == ["no pair"] * 2
    assert none.loc["pruned"]["estimate"].isna().all()
    worst = none.loc["worst case"]
    assert (worst["lower"] == -1).all() and (worst["upper"] == 1).all()
    assert (worst["low"] == -1).all() and (worst["high"] == 1).all()
    one_gender = pruning_bounds(frame.assign(kept=frame["gender_level"] == 0), *ARGUMENTS)
    assert one_gender.loc[("pruned", 1), "reason"] == "no pair"
    assert one_gender.loc[("pruned", 0), "reason"] == ""
    single = pruning_bounds(frame[frame["transect"] == 0], *ARGUMENTS)
    assert (single.loc["worst case"]["reason"] == "one transect").all()
    assert single.loc["worst case"]["low"].isna().all()
