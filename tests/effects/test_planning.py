"""Planning values and reach of an audit, slopes on noisy scores, pruning side by side."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers import effects
from helpers.effects import planning
from helpers.effects.figures import draw_power, draw_pruning, draw_slopes

AXES = ("skin_colour", "hair_length", "gender")


@pytest.fixture(scope="module")
def audit() -> pd.DataFrame:
    """200 transects of eight images whose errors share the face's difficulty."""
    rng = np.random.default_rng(0)
    levels = np.indices((2, 2, 2)).reshape(3, -1).T
    frame = pd.DataFrame(np.tile(levels, (200, 1)), columns=[f"{axis}_level" for axis in AXES])
    frame.insert(0, "transect", np.repeat(np.arange(200), 8))
    risk = rng.beta(0.5, 2, 200)[frame["transect"]] * (0.6 + 0.8 * frame["hair_length_level"])
    frame["error_fairface-like"] = (rng.random(len(frame)) < risk.clip(0, 1)).astype(int)
    frame["kept"] = rng.random(len(frame)) < 0.8
    frame["score"] = 0.2 + 0.5 * frame["hair_length_level"] + rng.normal(0, 0.05, len(frame))
    return frame


def test_planning_values_are_those_of_the_pairs(audit):
    found = planning.planning_values(audit, "error_fairface-like", AXES).loc["hair_length"]
    wide = audit.set_index(["transect", *[f"{axis}_level" for axis in AXES]])["error_fairface-like"]
    cells = wide.to_numpy().reshape(200, 2, 2, 2)
    short, long = cells[:, :, 0].reshape(-1), cells[:, :, 1].reshape(-1)
    assert found["low"] == pytest.approx(short.mean())
    assert found["high"] == pytest.approx(long.mean())
    assert found["differ"] == pytest.approx((short != long).mean())
    assert found["within"] == pytest.approx(np.corrcoef(short, long)[0, 1])
    differences = (cells[:, :, 1] - cells[:, :, 0]).reshape(200, 4)
    alike = np.corrcoef(differences.T)[np.triu_indices(4, 1)].mean()
    assert found["between"] == pytest.approx(alike)


def test_planning_values_need_both_images_of_a_pair(audit):
    gone = audit.drop(index=0)
    found = planning.planning_values(gone, "error_fairface-like", AXES).loc["hair_length"]
    rest = audit.drop(index=[0, 2])  # its partner along hair length
    pairs = planning.planning_values(rest, "error_fairface-like", AXES).loc["hair_length"]
    pd.testing.assert_series_equal(found, pairs)


def test_detectable_is_what_matched_effects_say_in_points(audit):
    found = planning.detectable(audit, "error_fairface-like", AXES).loc["gender"]
    arguments = (audit, "error_fairface-like", "gender_level")
    average = effects.matched_effects(*arguments, [], "transect")["mde"]
    by = ["skin_colour_level", "hair_length_level"]
    cells = effects.matched_effects(*arguments, by, "transect")["mde"]
    assert found["average"] == pytest.approx(100 * average.iloc[0])
    assert found["cell"] == pytest.approx(100 * cells.max())
    assert found["cell"] > found["average"]


def test_slope_of_a_noiseless_two_level_score_is_the_risk_difference(audit):
    score = audit["hair_length_level"].astype(float)
    table = planning.slopes(audit, "error_fairface-like", {5: score}, "gender_level")
    men = audit[audit["gender_level"] == 1]
    rates = men.groupby("hair_length_level")["error_fairface-like"].mean()
    row = table.loc[(1, 5)]
    assert row["estimate"] == pytest.approx(rates[1] - rates[0])
    assert row["low"] < row["estimate"] < row["high"]
    assert row["n"] == len(men)


def test_noise_in_a_score_shrinks_the_slope_by_the_reliability(audit):
    rng = np.random.default_rng(1)
    clean = audit["score"]
    noisy = clean + rng.normal(0, clean.std(), len(clean))  # reliability one half
    table = planning.slopes(audit, "error_fairface-like", {1: noisy, 9: clean}, "gender_level")
    one, nine = (table["estimate"].xs(raters, level="raters").sum() for raters in (1, 9))
    assert one / nine == pytest.approx(0.5, abs=0.1)


def test_pruned_effects_are_in_points_and_bounded(audit):
    table = planning.pruned_effects(audit, "kept", ["fairface-like"], ["hair_length"])
    assert set(table["arm"]) == {*planning.ARMS, "worst case"}
    arms = {arm: rows.set_index("gender") for arm, rows in table.groupby("arm")}
    direct = effects.matched_effects(
        audit, "error_fairface-like", "hair_length_level", ["gender_level"], "transect"
    )
    estimate = arms["all"]["estimate"]
    np.testing.assert_allclose(estimate, 100 * direct["estimate"])
    assert (arms["worst case"]["lower"] <= estimate).all()
    assert (estimate <= arms["worst case"]["upper"]).all()


def test_figures_show_every_panel_and_series(audit):
    grid = effects.power_grid(
        n_simulations=50, base_rate=(0.05,), difference=(0.05,), within=(0.05,), target=(0.8,)
    )
    power = draw_power(grid, {"all kept": 1.0, "some kept": 2 / 3}, 0.05)
    assert [ax.get_title() for ax in power.axes] == ["all kept", "some kept"]

    slopes = planning.slopes(audit, "error_fairface-like", {1: audit["score"]}, "gender_level")
    drawn = draw_slopes({"measured": slopes}, {0: 0.1, 1: 0.2}, "without noise", "slope")
    assert drawn.axes[1].get_title() == "men, n = 800 images"
    assert {text.get_text() for text in drawn.legends[0].texts} == {"measured", "without noise"}

    table = planning.pruned_effects(audit, "kept", ["fairface-like"], AXES[:2]).assign(truth=1.0)
    pruning = draw_pruning(table)
    assert len(pruning.axes) == 2
    assert [tick.get_text() for tick in pruning.axes[0].get_yticklabels()] == ["women", "men"]
    plt.close("all")
