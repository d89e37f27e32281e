"""Audits by few raters, against all groups of raters, repeated draws and known habits."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from helpers.scorecard import truth
from helpers.scorecard.rated import average_effects, expected_labels, labels_by, rated_audits

FEW = {"n_raters": 3, "n_transects": 30, "n_boot": 20, "seed": 1}


@pytest.fixture(scope="module")
def levels() -> np.ndarray:
    """Of twelve raters who share what they see and differ in their noise, (60, 2, 2, 2, 12)."""
    rng = np.random.default_rng(3)
    seen = rng.integers(5, size=(60, 2, 2, 2, 1))
    return np.clip(seen + rng.integers(-2, 3, size=(60, 2, 2, 2, 12)), 0, 4)


@pytest.fixture(scope="module")
def answered() -> dict[str, np.ndarray]:
    return {"coin": np.random.default_rng(4).integers(2, size=(60, 2, 2, 2))}


def test_expected_labels_are_the_share_of_all_groups():
    levels = np.random.default_rng(5).integers(5, size=(300, 6))
    groups = [levels[:, list(group)].mean(axis=1) >= 2 for group in combinations(range(6), 3)]
    found = expected_labels(levels, 3, seed=1)
    assert np.abs(found - np.mean(groups, axis=0)).max() < 0.2
    assert found.mean() == pytest.approx(np.mean(groups), abs=0.01)


def test_average_effects_are_those_of_the_truth():
    errors = np.random.default_rng(6).integers(2, size=(50, 2, 2, 2)).astype(float)
    names = ["skin_colour", "hair_length", "gender"]
    table = truth.effects(errors, names)
    averages = table[table[names].isna().all(axis=1)].set_index("attribute").loc[names]
    effects = average_effects(errors)
    assert effects.mean(axis=0) == pytest.approx(averages["effect"].to_numpy())
    assert effects.std(axis=0, ddof=1) / np.sqrt(50) == pytest.approx(averages["se"].to_numpy())


def test_raters_who_agree_add_nothing(answered):
    label = np.random.default_rng(7).integers(2, size=(60, 2, 2, 2))
    levels = np.repeat(4 * label[..., None], 12, axis=-1)
    for panel in (True, False):
        table = rated_audits(levels, answered, panel=panel, repetitions=40, **FEW)
        assert table[["raters", "answers"]].max(axis=None) < 1e-15
        effect = average_effects((answered["coin"] != label).astype(float)).mean(axis=0)
        assert table.groupby("axis")["estimate"].mean().to_numpy() == pytest.approx(
            effect, abs=4 * 0.1 / np.sqrt(40)
        )


def test_estimates_scatter_around_the_effect_with_expected_labels(levels, answered):
    expected = expected_labels(levels.reshape(-1, 12), 3, seed=1).reshape(levels.shape[:-1])
    wrong = np.abs(answered["coin"] - expected)
    table = rated_audits(levels, answered, panel=False, repetitions=150, **FEW)
    means = table.groupby("axis")[["estimate", "transects"]].mean()
    off = means["estimate"] - average_effects(wrong).mean(axis=0)
    assert (off.abs() < 4 * means["transects"] / np.sqrt(150)).all()


def test_habits_of_a_panel_show_only_in_whole_raters(answered):
    """Half of the raters call everybody male, and models are asked about the gender axis."""
    levels = np.zeros((60, 2, 2, 2, 12), dtype=int)
    levels[..., 1, :] = 3
    levels[..., :6] = np.minimum(levels[..., :6] + 3, 4)
    sure = {"by the axis": np.broadcast_to(np.arange(2), (60, 2, 2, 2))}
    table = rated_audits(levels, sure, panel=True, repetitions=60, **FEW)
    gender = table[table["axis"] == 2]
    scatter = gender["estimate"].std()
    assert scatter > 0.2
    assert gender["transects"].max() < 0.01
    assert gender["raters"].mean() > 0.5 * scatter


def test_more_raters_and_less_noise_make_better_labels():
    index = [f"image {k}" for k in range(300)]
    seen = pd.DataFrame({"gender": np.random.default_rng(0).random(300)}, index=index)
    right = (seen["gender"] >= 0.5).to_numpy()
    wrong = [
        (labels_by(seen, raters, noise, seed=1, stage="test") != right).mean()
        for raters, noise in ((1, 2.0), (1, 1.0), (15, 1.0))
    ]
    assert wrong[0] > wrong[1] > wrong[2]
