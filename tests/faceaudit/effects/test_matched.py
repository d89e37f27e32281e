"""Matched effects and pruning bounds against McNemar, enumeration and simulation."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm, ttest_1samp
from scipy.stats import t as student
from simulated import AXES, transect_frame
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from faceaudit.effects import (
    all_matched_effects,
    effect_of_pairs,
    holm,
    matched_effects,
    paired_interval,
    pruning_bounds,
)
from faceaudit.effects.matched import _bounded_interval, _pair_bounds
from faceaudit.effects.pruning import complete_transects
from faceworld.scorecard import truth

# --- matched effects


def test_a_cell_counts_its_pairs():
    frame = transect_frame(200, lambda skin, hair, gender: 0.1 + 0.2 * skin * gender, seed=1)
    effects = matched_effects(
        frame, "error", "skin_level", ["hair_level", "gender_level"], "transect"
    )
    assert list(effects.columns) == [
        *("estimate", "low", "high", "low90", "high90", "p", "p_holm", "n", "transects"),
        *("missing", "dropped", "worse", "better", "verdict", "mde", "reason"),
    ]
    for (hair, gender), row in effects.iterrows():
        cell = frame[(frame["hair_level"] == hair) & (frame["gender_level"] == gender)]
        wide = cell.pivot_table(index="transect", columns="skin_level", values="error")
        assert row["estimate"] == pytest.approx((wide[1] - wide[0]).mean())
        assert (row["n"], row["transects"], row["missing"]) == (200, 200, 0)
        table = pd.crosstab(wide[0], wide[1])
        assert (row["worse"], row["better"]) == (table.loc[0, 1], table.loc[1, 0])
        exact = statsmodels_mcnemar(table, exact=True).pvalue
        discordant = [table.loc[0, 1], table.loc[1, 0]]
        half = binom.pmf(min(discordant), sum(discordant), 0.5)
        assert row["p"] == pytest.approx(exact - half)
    np.testing.assert_allclose(effects["p_holm"], holm(effects["p"]))


@pytest.mark.parametrize("faces", [1, 2, 60])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_the_effect_of_pairs_is_the_row_over_all_pairs(faces, weight):
    frame = transect_frame(faces, lambda skin, hair, gender: 0.2 + 0.3 * skin, seed=3)
    frame = frame.assign(weight=1.0 + frame["transect"] % 3)
    frame.loc[frame.index[::7], "error"] = np.nan
    index = ["transect", "weight", "hair_level", "gender_level"]
    wide = frame.pivot_table(index=index, columns="skin_level", values="error")
    wide = wide.dropna().reset_index()
    found = effect_of_pairs(
        (wide[1] - wide[0]).to_numpy(),
        wide["transect"].to_numpy(),
        expected=len(frame) // 2,
        dropped=int(frame["error"].isna().sum()),
        tolerance=0.1,
        weight=wide["weight"].to_numpy() if weight else None,
    )
    given = ("error", "skin_level", [], "transect", 0.1, weight)
    row = matched_effects(frame, *given).iloc[0]
    pd.testing.assert_series_equal(pd.Series(found, name="all"), row)


def test_the_average_is_close_to_the_t_test_of_transect_means():
    risk = lambda skin, hair, gender: 0.15 + 0.1 * skin  # noqa: E731
    frame = transect_frame(300, risk, seed=2, dependence=0.4)
    row = matched_effects(frame, "error", "skin_level", [], "transect").loc["all"]
    means = frame.pivot_table(index="transect", columns="skin_level", values="error")
    test = ttest_1samp(means[1] - means[0], 0)
    interval = test.confidence_interval()
    assert row["estimate"] == pytest.approx((means[1] - means[0]).mean())
    np.testing.assert_allclose([row["low"], row["high"]], interval, atol=0.003)
    interval = test.confidence_interval(0.9)
    np.testing.assert_allclose([row["low90"], row["high90"]], interval, atol=0.003)
    assert np.log10(row["p"]) == pytest.approx(np.log10(test.pvalue), rel=0.2)
    assert row["n"] == 1200 and row["transects"] == 300


def test_coverage_of_the_average_with_dependent_rare_errors():
    base = 0.03
    effect = 0.02
    hits = []
    for seed in range(250):
        frame = transect_frame(
            100, lambda skin, hair, gender: base + effect * skin, seed, dependence=0.5
        )
        frame = frame[np.random.default_rng(seed).random(len(frame)) < 0.8]
        row = matched_effects(frame, "error", "skin_level", [], "transect").iloc[0]
        hits.append(row["low"] <= effect <= row["high"])
    assert 0.91 <= np.mean(hits) <= 0.99


def test_all_effects_have_the_keys_and_values_of_the_truth():
    frame = transect_frame(60, lambda skin, hair, gender: 0.2 + 0.3 * skin * gender, seed=3)
    names = [axis.removesuffix("_level") for axis in AXES]
    effects = all_matched_effects(frame, "error", names, "transect")
    ordered = frame.sort_values(["transect", *AXES])
    expected = truth.true_effects(ordered["error"].to_numpy(float).reshape(60, 2, 2, 2), names)
    both = effects.merge(expected, on=["attribute", *names], validate="1:1")
    assert len(both) == len(effects) == len(expected) == 27
    np.testing.assert_allclose(both["estimate"], both["effect"])
    cells = effects[names].notna().sum(axis=1) == 2
    np.testing.assert_allclose(effects.loc[cells, "p_holm"], holm(effects.loc[cells, "p"]))
    assert cells.sum() == 12 and effects.loc[~cells, "p_holm"].isna().all()


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
    held = []
    covered = []
    misled = []
    for seed in range(12):
        table = pruning_bounds(pruned_audit(150, seed, 0.95, selective=True), *ARGUMENTS)
        worst = table.loc["worst case"]
        everything = table.loc["all"]["estimate"]
        held += (everything >= worst["lower"]).tolist() + (everything <= worst["upper"]).tolist()
        truth = np.array([0.0, 0.2])
        covered += ((worst["low"] <= truth) & (truth <= worst["high"])).tolist()
        misled.append(table.loc["pruned"]["high"].iloc[1] < 0.2)
    assert all(held)
    assert np.mean(covered) >= 0.95
    assert np.mean(misled) > 0.5


def test_the_interval_covers_where_the_effect_is_a_bound():
    """The truth at the lower bound: every dropped image is a dark-skinned one with an error."""
    covered = []
    for seed in range(150):
        frame = pruned_audit(100, seed)
        chance = np.random.default_rng(1000 + seed).random(len(frame))
        dropped = (frame["error"] == 1) & (frame["skin_level"] == 1) & (chance < 0.3)
        pairs = _pair_bounds(frame.assign(kept=~dropped), *ARGUMENTS)
        women = pairs[pairs["gender_level"] == 1]
        _, high = _bounded_interval(
            women["lower"].to_numpy(), women["upper"].to_numpy(), women["transect"].to_numpy()
        )
        covered.append(high >= 0.2)
    assert np.mean(covered) >= 0.95


def test_one_dropped_image_among_pairs_without_errors_widens_the_interval():
    frame = pd.DataFrame({"transect": np.repeat(np.arange(100), 2), "skin_level": [0, 1] * 100})
    frame = frame.assign(error=0, kept=np.arange(200) != 7)
    table = pruning_bounds(frame, "kept", "error", "skin_level", [], "transect")
    everything = table.loc["all", ["low", "high"]].to_numpy(dtype=float)[0]
    worst = table.loc["worst case", ["low", "high"]].to_numpy(dtype=float)[0]
    # Tango's limits, with the dropped image without an error, and with one.
    quantile = norm.ppf(0.975)
    assert worst[0] == pytest.approx(paired_interval(0, 0, 100, quantile)[0])
    assert worst[1] == pytest.approx(paired_interval(1, 0, 100, quantile)[1])
    assert worst[0] <= everything[0] and worst[1] > everything[1]


def test_rates_of_transects_that_do_not_differ_leave_a_width():
    """Each transect has a pair that is worse and one that is as much better."""
    frame = pd.DataFrame(
        {
            "transect": np.repeat(np.arange(10), 4),
            "place_level": [0, 0, 1, 1] * 10,
            "skin_level": [0, 1] * 20,
            "error": [0.0, 0.25, 0.25, 0.0] * 10,
        }
    )
    row = matched_effects(frame, "error", "skin_level", [], "transect").loc["all"]
    assert row["estimate"] == 0 and row["p"] == 1
    # A transect counts as one pair: 2.5 errors more and 2.5 fewer, of 20 pairs, are half as many.
    expected = paired_interval(1.25, 1.25, 10, student.ppf(0.975, 9))
    assert (row["low"], row["high"]) == pytest.approx(expected)


@st.composite
def pairs_and_the_dropped(draw):
    """Images of one to three pairs a transect; which are kept; other errors of the dropped."""
    pairs_of = draw(st.lists(st.integers(1, 3), min_size=2, max_size=12))
    n = 2 * sum(pairs_of)
    possible = draw(st.sampled_from([[0.0, 1.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.25, 0.5, 1.0]]))
    errors = st.lists(st.sampled_from(possible), min_size=n, max_size=n)
    frame = pd.DataFrame(
        {
            "transect": np.repeat(np.arange(len(pairs_of)), 2 * np.array(pairs_of)),
            "place_level": np.concatenate([np.repeat(np.arange(m), 2) for m in pairs_of]),
            "skin_level": [0, 1] * (n // 2),
            "error": draw(errors),
            "kept": draw(st.lists(st.booleans(), min_size=n, max_size=n)),
        }
    )
    if not np.isin(frame.loc[frame["kept"], "error"], (0, 1)).all():
        return frame, frame["error"].where(frame["kept"], draw(errors))
    # Where the known errors are 0 or 1, those of the dropped images are as well.
    frame["error"] = frame["error"].where(frame["kept"], frame["error"].round())
    return frame, frame["error"].where(frame["kept"], pd.Series(draw(errors)).round())


@settings(max_examples=200, deadline=None)
@given(pairs_and_the_dropped())
def test_the_interval_of_the_worst_case_holds_that_of_all_images_whatever_was_dropped(drawn):
    frame, others = drawn
    arguments = "kept", "error", "skin_level", [], "transect"
    table = pruning_bounds(frame, *arguments)
    worst = table.loc["worst case"].iloc[0]
    for images in (frame, frame.assign(error=others)):
        usual = matched_effects(images, *arguments[1:]).iloc[0]
        assert worst["low"] <= usual["low"] + 1e-9
        assert worst["high"] >= usual["high"] - 1e-9
    if frame["kept"].all():
        assert worst["low"] == usual["low"] and worst["high"] == usual["high"]


def test_pruning_may_leave_nothing():
    none = pruning_bounds(pruned_audit(20, 4).assign(kept=False), *ARGUMENTS)
    assert (none.loc["pruned"]["reason"] == "no pair").all()
    assert (none.loc["worst case"][["lower", "low"]] == -1).all(axis=None)
