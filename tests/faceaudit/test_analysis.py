"""The analysis against what was planted, and against the functions that it hands on."""

from math import comb

import numpy as np
import pandas as pd
import pytest

import faceaudit
from faceaudit.analysis import other_thresholds
from faceaudit.planned_effects import average_effects, effects_by_cell
from faceaudit.pretended import pretended_table
from faceaudit.specification import Specification
from helpers import effects

BASE = {
    "name": "small",
    "question": "?",
    "axes": {"skin": ("light", "dark"), "gender": ("female", "male")},
    "images": "faces.csv",
    "design": {"tolerance": 0.05},
}


def analysed_table(table, **changes):
    one = Specification(**(BASE | changes))
    data = faceaudit.from_table(table, one)
    plan = faceaudit.make_plan(one, data.frame["unit"].nunique())
    return data, plan, faceaudit.analyse(data, plan)


def test_the_planted_effect_is_found_where_it_was_planted(analysed):
    _, _, tables = analysed
    cells = tables["effects by cell"].set_index(["axis", "cell"])
    assert cells["verdict"].to_dict() == {
        ("skin", "female"): "exceeds",
        ("skin", "male"): "inconclusive",
        ("gender", "light"): "within",
        ("gender", "dark"): "exceeds",
    }
    assert cells.loc[("skin", "female"), "low"] < 0.25 < cells.loc[("skin", "female"), "high"]
    crossed = tables["interactions"].iloc[0]
    assert crossed["low"] < -0.25 < crossed["high"] < 0


def test_cells_are_matched_effects(analysed):
    data, _, tables = analysed
    expected = effects.matched_effects(
        data.frame[["unit", "error", "skin_level", "gender_level"]],
        "error",
        "skin_level",
        ["gender_level"],
        "unit",
    )
    own = tables["effects by cell"].query("axis == 'skin'")
    for column in ("estimate", "low", "high", "p", "mde"):
        np.testing.assert_allclose(own[column], expected[column])


def test_levels_in_other_words_and_other_order_of_rows_change_nothing(analysed):
    table = pretended_table(300, 0.25, seed=1)
    shuffled = table.sample(frac=1, random_state=1).replace({"light": 0, "dark": 1})
    _, _, again = analysed_table(shuffled.astype({"skin": int}))
    pd.testing.assert_frame_equal(again["effects by cell"], analysed[2]["effects by cell"])


def test_what_gets_no_answer_is_an_effect_of_its_own():
    table = pretended_table(200, 0.0, seed=2)
    dark = (table["skin"] == "dark") & (table["unit"] % 4 == 0)
    table.loc[dark, "score"] = np.nan
    _, _, tables = analysed_table(table)
    found = tables["effects on having no answer"].set_index("axis")
    assert found.loc["skin", "estimate"] == 0.25 and found.loc["skin", "verdict"] == "exceeds"
    assert found.loc["gender", "estimate"] == 0
    cells = tables["effects by cell"].query("axis == 'skin'")
    assert (cells["n"] == 150).all() and (cells["missing"] == 50).all()


def gamma_by_hand(table, axis, held):
    """Rosenbaum's Γ of one cell: faces counted one by one, binomial tails summed term by term."""
    worse = better = 0
    for _, face in table.groupby("unit"):
        here = face[(face[[*held]] == pd.Series(held)).all(axis=1)]
        errors = (here["score"] > 0.5) != here["label"]
        low, high = (int(errors[here[axis] == name].sum()) for name in BASE["axes"][axis])
        worse, better = worse + (high > low), better + (high < low)
    n, commoner = worse + better, max(worse, better)

    def p(gamma):
        share = gamma / (1 + gamma)
        chances = [comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(commoner, n + 1)]
        return 2 * sum(chances) - chances[0]  # of the split that occurred, half

    low, high = 1.0, 1e6
    if p(low) >= 0.05:
        return np.nan
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if p(middle) < 0.05 else (low, middle)
    return low


def test_a_placebo_is_a_family_of_its_own_and_crossed_with_the_axes():
    parts = [
        pretended_table(80, 0.3, seed=k).assign(clothes=name)
        for k, name in ((1, "red"), (2, "blue"))
    ]
    table = pd.concat(parts).assign(image_id=range(640))
    _, _, tables = analysed_table(table, placebos={"clothes": ("red", "blue")})
    assert tables["placebo axes"]["p_holm"].item() > 0.05
    assert tables["placebo axes"]["n"].item() == 320
    cells = tables["effects by cell"]
    assert not cells["exact"].any() and (cells["n"] == 160).all()
    # Two pairs of a face are not independent: it is faces that Γ counts.
    for row in cells.itertuples():
        held = {axis: BASE["axes"][axis][level] for axis, level in row.held.items()}
        assert row.gamma == pytest.approx(gamma_by_hand(table, row.axis, held), nan_ok=True)
    assert cells["gamma"].notna().any() and cells["gamma"].isna().any()
    assert cells["verdict"].tolist()[0] == "exceeds"


def test_gamma_of_one_pair_a_face_is_that_of_the_discordant_pairs(analysed):
    _, _, tables = analysed
    cells = tables["effects by cell"]
    assert cells["exact"].all() and cells["gamma"].notna().any()
    of_pairs = effects.rosenbaum_gamma(cells["worse"], cells["better"])
    np.testing.assert_array_equal(cells["gamma"], of_pairs)


def test_three_axes_have_twelve_cells_and_one_has_one():
    table = pretended_table(20, 0.0, seed=1)
    _, _, alone = analysed_table(table[table["gender"] == "male"], axes={"skin": ("light", "dark")})
    assert alone["effects by cell"]["cell"].tolist() == ["all faces"]
    assert "interactions" not in alone


def test_the_own_threshold_is_among_the_others(analysed):
    data, plan, _ = analysed
    table = other_thresholds(data.frame, {**plan, "threshold": 0.55})
    assert table["threshold"].unique().tolist() == [0.3, 0.4, 0.5, 0.55, 0.6, 0.7]
    at_half = table.query("threshold == 0.5 and axis == 'skin'")["estimate"].item()
    assert at_half == average_effects(data.frame, plan, "error")["estimate"].iloc[0]


def test_annotated_attributes_that_move_are_told():
    table = pretended_table(50, 0.0, seed=1)
    table["makeup"] = np.where(table["skin"] == "dark", 0.5, 0.2)
    data, plan, tables = analysed_table(table, annotated=["makeup"])
    assert tables["leakage"]["estimate"].round(9).tolist() == [0.3, 0.0]
    limits = faceaudit.build_report(data, tables, plan, plan).limits
    assert any("Along skin, makeup moves as well, by +30.0 points" in one for one in limits)


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_model_that_never_or_always_errs_is_judged(wrong):
    table = pretended_table(120, 0.0, seed=1)
    table["score"] = np.abs(table["label"] - wrong) * 0.5 + 0.25 + table["unit"] / 1000
    _, _, tables = analysed_table(table)
    assert (tables["effects by cell"]["estimate"] == 0).all()
    assert (tables["effects by cell"]["verdict"] == "within").all()


def test_a_cell_without_a_pair_is_not_estimable_and_says_why():
    table = pretended_table(30, 0.0, seed=1)
    table.loc[(table["skin"] == "dark") & (table["gender"] == "male"), "score"] = np.nan
    data, plan, tables = analysed_table(table)
    found = effects_by_cell(data.frame, plan).set_index(["axis", "cell"])
    assert found.loc[("skin", "male"), ["verdict", "reason"]].tolist() == [
        "not estimable",
        "no pair",
    ]
    report = faceaudit.build_report(data, tables, plan, plan)
    assert "cannot be compared here (no pair)" in report.effects[1].sentence
