"""Effects of steps, against t tests."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp, ttest_rel

from helpers.verification import over_seeds, step_effects


def sequences(n=12, seed=0):
    """Positives of two groups per seed; each attribute lowers similarity by known steps."""
    rng = np.random.default_rng(seed)
    drops = {
        "pose": {-30: 0.3, -15: 0.1, 15: 0.12, 30: 0.25},
        "light": {"up": 0.05, "left": 0.2},
    }
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


def test_over_all_groups_the_seed_is_the_unit():
    frame = sequences()
    table = step_effects(frame).set_index(["group", "attribute", "step"])
    row = table.loc[("all", "pose", 30)]
    wide = frame[frame["attribute"] == "pose"].pivot_table(
        index=["seed_first", "group"], columns="step", values="similarity"
    )
    by_seed = (wide[30] - wide[15]).groupby("seed_first").mean()
    interval = ttest_1samp(by_seed, 0).confidence_interval()
    assert row["seeds"] == 12
    assert row[["low", "high"]].tolist() == pytest.approx([interval.low, interval.high])


def test_prototypes_without_the_nearer_step_do_not_count():
    frame = sequences()
    gone = (frame["seed_first"] == 4) & (frame["step"] == 15) & (frame["group"] == "a")
    table = step_effects(frame[~gone]).set_index(["group", "attribute", "step"])
    assert table.loc[("a", "pose", 30), "seeds"] == table.loc[("a", "pose", 15), "seeds"] == 11
    assert table.loc[("a", "pose", -30), "seeds"] == 12


def test_one_seed_has_no_interval():
    table = step_effects(sequences(n=1))
    assert (table["reason"] == "one seed").all()
    assert table[["low", "high"]].isna().all(axis=None) and table["estimate"].notna().all()


def test_frames_that_are_no_sequences_are_named():
    frame = sequences()
    with pytest.raises(ValueError, match="no column"):
        step_effects(frame.drop(columns="step"))
    with pytest.raises(ValueError, match="row 3 is a pair of two seeds"):
        step_effects(frame.assign(seed_second=frame["seed_first"].where(frame.index != 3, 99)))
    with pytest.raises(ValueError, match="row 144: its prototype has this step already"):
        step_effects(pd.concat([frame, frame[:1]], ignore_index=True))
    with pytest.raises(ValueError, match="'similarity', row 2"):
        step_effects(frame.assign(similarity=frame["similarity"].where(frame.index != 2)))


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
