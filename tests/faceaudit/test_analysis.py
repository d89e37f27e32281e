"""The analysis against what was planted, and against the functions that it hands on."""

from math import comb

import numpy as np
import pandas as pd
import pytest
from pretended_audits import pretend, pretended_table
from scipy.stats import norm

import faceaudit
from faceaudit import compare
from faceaudit.__main__ import main
from faceaudit.analysis import other_thresholds
from faceaudit.specification import Specification
from faceaudit.analysis import average_effects, explained, judge, score_p
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


def test_one_axis_has_one_cell_and_no_interaction():
    table = pretended_table(20, 0.0, seed=1)
    _, _, alone = analysed_table(table[table["gender"] == "male"], axes={"skin": ("light", "dark")})
    assert alone["effects by cell"]["cell"].tolist() == ["all faces"]
    assert "interactions" not in alone


def test_mirrored_effects_have_the_same_e_values():
    numbers = {"estimate": [0.25, -0.25, 0.0], "low": [0.1, -0.4, -0.1], "high": [0.4, -0.1, 0.1]}
    table = pd.DataFrame(numbers | {"base_rate": [0.0, 0.25, 0.0]})
    found = explained(table.assign(faces_worse=[25, 0, 0], faces_better=[0, 25, 0]))
    assert np.isinf(found["e_value"][:2]).all() and np.isnan(found["e_value"][2])
    assert found["e_value_limit"][0] == found["e_value_limit"][1] > 1
    assert found["gamma"][0] == found["gamma"][1]


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
    found = tables["effects by cell"].set_index(["axis", "cell"])
    assert found.loc[("skin", "male"), ["verdict", "reason"]].tolist() == [
        "not estimable",
        "no pair",
    ]
    report = faceaudit.build_report(data, tables, plan, plan)
    assert "cannot be compared here (no pair)" in report.effects[1].sentence


@pytest.mark.parametrize(
    ("worse", "better", "n"), [(12, 3, 100), (0, 0, 40), (30, 30, 90), (9, 0, 9)]
)
@pytest.mark.parametrize("level", [0.05, 0.004])
def test_the_score_test_is_the_interval_turned_round(worse, better, n, level):
    for end in effects.paired_interval(worse, better, n, norm.isf(level / 2)):
        if abs(end) < 1:
            assert score_p(worse, better, n, end) == pytest.approx(level, rel=1e-6)


def family(counts, tolerance=0.05):
    """A judged family of cells with one pair a face."""
    rows = []
    for worse, better, n in counts:
        errors = np.zeros((n, 2))
        errors[:worse, 1] = errors[worse : worse + better, 0] = 1
        frame = pd.DataFrame({"unit": np.repeat(range(n), 2), "skin_level": [0, 1] * n})
        frame["error"] = errors.ravel()
        found = effects.matched_effects(frame, "error", "skin_level", [], "unit", tolerance)
        rows.append(found.assign(exact=True))
    return judge(pd.concat(rows, ignore_index=True), tolerance)


def test_one_comparison_is_judged_by_its_interval():
    for counts in [(25, 2, 200), (22, 4, 200), (1, 1, 200), (10, 5, 60), (2, 30, 200)]:
        found = family([counts])
        alone = found["low"].gt(0.05) | found["high"].lt(-0.05)
        assert (found["verdict"].item() == "exceeds") == alone.item()
        np.testing.assert_allclose(found[["low", "high"]], found[["low_family", "high_family"]])


def test_a_family_asks_for_more():
    alone, together = family([(24, 2, 200)]), family([(24, 2, 200), *[(5, 5, 200)] * 11])
    assert alone["verdict"].item() == "exceeds" and alone["p_beyond"].item() > 0.05 / 12
    assert together["verdict"].iloc[0] == "inconclusive"
    assert together["low_family"].iloc[0] < alone["low_family"].item()


def test_false_alarms_of_a_family_at_the_edge_of_the_tolerance():
    """Twelve cells whose true effect is the tolerance itself: at most 5 % of families may flag."""
    random, alarms, runs = np.random.default_rng(3), 0, 400
    for _ in range(runs):
        worse, better, _ = random.multinomial(200, [0.12, 0.07, 0.81], 12).T
        table = pd.DataFrame({"worse": worse, "better": better, "n": 200})
        p = score_p(table["worse"], table["better"], 200, 0.05)
        p = np.where((worse - better) / 200 > 0.05, p, 1)
        alarms += (effects.holm(p) < 0.05).any()
    assert alarms / runs < 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


@pytest.fixture(scope="module")
def versions():
    (old, plan), (new, _) = pretend(250, 0.3, seed=1), pretend(250, 0.0, seed=1)
    return old, new, plan


def test_retraining_helped_where_it_helped(versions):
    compared = compare(*versions)
    found = compared.errors.set_index("cell")
    assert found["verdict"].to_dict() == {
        "all images": "better",
        "light, female": "no clear change",
        "light, male": "no clear change",
        "dark, female": "better",
        "dark, male": "no clear change",
    }
    row = found.loc["dark, female"]
    assert row["low"] < -0.3 < row["high"] and row["estimate"] == row["after"] - row["before"]
    assert found.loc["all images", "n"] == 1000
    found = compared.effects.set_index(["axis", "cell"])
    row = found.loc[("skin", "female")]
    assert row["high"] < 0 and row["estimate"] == pytest.approx(row["after"] - row["before"])
    other = found.loc[("skin", "male")]
    assert other["low"] <= 0 <= other["high"]


def test_the_same_version_twice_is_no_change(versions):
    old, _, plan = versions
    found = compare(old, old, plan)
    assert (found.errors["verdict"] == "no clear change").all()
    assert (found.effects["estimate"] == 0).all() and (found.effects["low"] < 0).all()


def test_worse_and_better_hold_their_level_without_a_change():
    """Versions that differ by chance alone: seldom is any cell called better or worse."""
    random, calls = np.random.default_rng(5), 0
    (old, plan), runs = pretend(60, 0.0, seed=3), 60
    for _ in range(runs):
        errors = [(random.random(len(old.frame)) < 0.15).astype(float) for _ in range(2)]
        both = [faceaudit.Audited(old.frame.assign(error=one), True, "t") for one in errors]
        calls += (compare(*both, plan).errors["verdict"] != "no clear change").any()
    assert calls / runs < 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


def test_on_the_command_line(audit_file, capsys):
    pretended_table(units=80, effect=0.0, seed=1).to_csv(audit_file.parent / "new.csv", index=False)
    after = audit_file.with_name("new.yml")
    text = audit_file.read_text(encoding="utf-8")
    after.write_text(text.replace("faces.csv", "new.csv"), encoding="utf-8")
    assert main(["compare", str(audit_file), str(after)]) == 0
    out = capsys.readouterr().out
    assert "dark, female: " in out and ", better" in out
