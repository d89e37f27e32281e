"""Pairs against the arithmetic of the paper; consensus and effects of steps against references."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import trim_mean, ttest_1samp, ttest_rel

from faceaudit import verification
from faceaudit.verification import hcic, is_match
from faceaudit.verification.prototypes import (
    image_index,
    over_seeds,
    step_effects,
    variants,
    walk_to_score,
)
from faceworld import people as invented


def prototype_frame(seeds):
    return pd.DataFrame(
        {"seed": np.repeat(np.arange(seeds) + 100, 6), "group": np.tile(invented.GROUPS, seeds)}
    )


def test_paper_pairs_have_the_papers_counts():
    seeds = 100
    prototypes = prototype_frame(100)
    frame = verification.image_pairs(prototypes, paper=True, seed=1)
    positive, negative = (frame[frame["kind"] == kind] for kind in ("positive", "negative"))
    assert (len(positive), len(negative)) == (120 * seeds, 360 * seeds)  # 12,000 and 36,000 of 100
    trivial = positive[positive["first"] == positive["second"]]
    assert len(trivial) == len(positive) / 5
    assert set(trivial["attribute"].value_counts()) == {len(prototypes)}
    times = negative.groupby(["first", "second"]).size()
    assert set(times[times.index.get_level_values("second") % 17 == 0]) == {4}
    assert set(times[times.index.get_level_values("second") % 17 != 0]) == {1}
    assert len(positive.drop_duplicates(["first", "second"])) == 17 * len(prototypes)
    partners = negative.drop_duplicates(["prototype_first", "prototype_second"])
    assert set(partners["prototype_first"].value_counts()) == {3}  # all different, drawn at random
    assert (partners["prototype_second"].value_counts() > 3).any()
    own, other = (prototypes.iloc[partners[f"prototype_{side}"]] for side in ("first", "second"))
    assert (own["group"].to_numpy() == other["group"].to_numpy()).all()
    assert (own["seed"].to_numpy() != other["seed"].to_numpy()).all()


def test_consensus_is_the_mean_of_the_middle_five():
    ratings = np.random.default_rng(0).integers(5, size=(200, 9))
    np.testing.assert_allclose(hcic(ratings), trim_mean(ratings, 0.25, axis=1) / 4, atol=1e-15)
    np.testing.assert_allclose(hcic(ratings, 0, 0), ratings.mean(axis=1) / 4)
    assert hcic([[0, 0, 1, 2, 3, 4, 4, 4, 4]], 0, 4)[0] == 6 / 20
    assert hcic([[0, 0, 1, 2, 3, 4, 4, 4, 4]], 4, 0)[0] == 19 / 20


@pytest.mark.parametrize("t", [0.2, 0.3, 0.4])
def test_only_single_against_double_precision_moves_pairs_and_all_of_them_one_way(t):
    """The erratum of note N9: every consensus of five ratings, in both precisions."""
    sums = np.arange(21)
    middle = np.stack([sums // 5 + (k < sums % 5) for k in range(5)], axis=1)
    ratings = np.column_stack([np.zeros((21, 2), int), np.sort(middle), np.full((21, 2), 4)])
    mean = hcic(ratings)
    match = is_match(ratings, t)
    assert (mean.astype(np.float32) <= np.float32(t)).tolist() == match.tolist()
    assert (mean <= np.float64(t)).tolist() == match.tolist()
    expected = [Fraction(int(total), 20) <= Fraction(str(t)) for total in sums]
    assert match.tolist() == expected == (mean <= np.float32(t)).tolist()
    mixed = mean.astype(np.float32) <= np.full(len(mean), t)
    assert np.flatnonzero(match & ~mixed).tolist() == [round(20 * t)] and not (mixed & ~match).any()


def sequences(n=12, seed=0):
    """Positives of two groups per seed; each attribute lowers similarity by known steps."""
    rng = np.random.default_rng(seed)
    drops = {"pose": {-30: 0.3, -15: 0.1, 15: 0.12, 30: 0.25}, "light": {"up": 0.05, "left": 0.2}}
    rows = [
        (seed, seed, group, attribute, step, 1 - drop - 0.02 * (group == "b") + wobble)
        for seed in range(n)
        for group in "ab"
        for attribute, steps in drops.items()
        for (step, drop), wobble in zip(steps.items(), rng.normal(0, 0.01, len(steps)), strict=True)
    ]
    names = ["seed_first", "seed_second", "group", "attribute", "step", "similarity"]
    return pd.DataFrame(rows, columns=names)


def test_steps_are_compared_with_the_next_towards_the_prototype():
    frame = sequences()
    table = step_effects(frame).set_index(["group", "attribute", "step"])
    steps = [("pose", step) for step in (-30, -15, 15, 30)] + [("light", "up"), ("light", "left")]
    assert list(table.index) == [(group, *step) for group in ("a", "b", "all") for step in steps]
    table = table.sort_index(key=lambda level: level.astype(str))
    references = table.loc["a"]["reference"].to_dict()
    assert references["pose", -30] == -15 and references["pose", 30] == 15
    assert references["pose", -15] == references["light", "up"] == "prototype"
    of = frame[(frame["group"] == "b") & (frame["attribute"] == "pose")]
    wide = of.pivot_table(index="seed_first", columns="step", values="similarity")
    test = ttest_1samp(wide[-30] - wide[-15], 0)
    row = table.loc[("b", "pose", -30)]
    assert row["estimate"] == pytest.approx(test.statistic * test._standard_error)
    interval = test.confidence_interval()
    assert row[["low", "high"]].tolist() == pytest.approx([interval.low, interval.high])
    assert row["similarity"] == pytest.approx(wide[-30].mean())
    up = frame[(frame["group"] == "a") & (frame["step"] == "up")]["similarity"]
    assert table.loc[("a", "light", "up"), "estimate"] == pytest.approx(up.mean() - 1)


def test_means_over_seeds_are_student_intervals():
    rng = np.random.default_rng(1)
    first, second = (pd.DataFrame(rng.random((9, 2)), columns=["a", "b"]) for _ in range(2))
    second.loc[3, "b"] = np.nan
    difference = (first - second).rename_axis("seed").melt(ignore_index=False, var_name="group")
    table = over_seeds(difference.set_index("group", append=True)["value"], ["group"])
    assert table["seeds"].tolist() == [9, 8]
    for column in "ab":
        kept = second[column].notna()
        test = ttest_rel(first.loc[kept, column], second.loc[kept, column])
        ends = test.confidence_interval(0.95)
        np.testing.assert_allclose(table.loc[column, ["low", "high"]], [ends.low, ends.high])
        expected = (first - second).loc[kept, column].mean()
        assert table.loc[column, "estimate"] == pytest.approx(expected)


def test_walks_end_at_their_target_or_nowhere():
    codes = np.array([[0.0, 1.0], [0.31, 2.0]])
    asked = []

    def score(w):
        assert len(w)
        asked.append(len(w))
        return w[:, 0]

    np.testing.assert_allclose(walk_to_score(codes, [1, 0], score, 0.48), [0.5, 0.2])
    assert asked[0] == 2 and asked[-1] == 1, "who has arrived is not asked again"
    far = walk_to_score(codes, [0.05, 0], score, 0.48)
    assert np.isnan(far[0]) and far[1] == pytest.approx(3.45, abs=0.06)
    assert np.isnan(walk_to_score(codes, [0, 1], score, 0.48)).all()


def test_variants_are_codes_and_scenes_in_the_order_of_their_table():
    codes = np.zeros((2, 3))
    along = {"expression": [1, 0, 0], "age": [0, 1, 0]}
    reach = {"expression": [2.0, 4.0], "age": [1.0, 1.0]}
    made = variants(codes, along, reach)
    table = image_index(prototype_frame(1)[:2])
    assert len(made) * 2 == len(table)
    for (moved, scene), row in zip(made, table[:17].itertuples(), strict=True):
        assert scene.get("yaw", 0) == (int(row.step) if row.attribute == "pose" else 0)
        assert ("light_power" in scene) == (row.attribute == "light")
        expected = np.zeros((2, 3))
        if row.attribute in along:
            step = int(row.step) / 2 * np.array(reach[row.attribute])
            expected = np.outer(step, along[row.attribute])
        np.testing.assert_allclose(moved, expected)
    with pytest.raises(ValueError, match="reach of age: row 1 is nan, a distance at which"):
        variants(codes, along, reach | {"age": [1.0, np.nan]})
