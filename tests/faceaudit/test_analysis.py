"""The analysis against what was planted, and against the functions that it hands on."""

import numpy as np
import pandas as pd
import pytest
from pretended_audits import OF_TABLE, pretend, pretended_table
from scipy.stats import norm

import faceaudit
from faceaudit import compare
from faceaudit.__main__ import main
from faceaudit.analysis import score_p
from faceaudit.specification import Specification
from helpers import effects


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


def test_a_cell_without_a_pair_is_not_estimable_and_says_why():
    table = pretended_table(30, 0.0, seed=1)
    table.loc[(table["skin"] == "dark") & (table["gender"] == "male"), "score"] = np.nan
    own = Specification(**OF_TABLE)
    data, plan = faceaudit.from_table(table, own), faceaudit.make_plan(own, 30)
    tables = faceaudit.analyse(data, plan)
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
    found = compared["errors"].set_index("cell")
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
    found = compared["effects"].set_index(["axis", "cell"])
    row = found.loc[("skin", "female")]
    assert row["high"] < 0 and row["estimate"] == pytest.approx(row["after"] - row["before"])
    other = found.loc[("skin", "male")]
    assert other["low"] <= 0 <= other["high"]


def test_worse_and_better_hold_their_level_without_a_change():
    """Versions that differ by chance alone: seldom is any cell called better or worse."""
    random, calls = np.random.default_rng(5), 0
    (old, plan), runs = pretend(60, 0.0, seed=3), 60
    for _ in range(runs):
        errors = [(random.random(len(old.frame)) < 0.15).astype(float) for _ in range(2)]
        both = [faceaudit.Audited(old.frame.assign(error=one), True, "t") for one in errors]
        calls += (compare(*both, plan)["errors"]["verdict"] != "no clear change").any()
    assert calls / runs < 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


def test_on_the_command_line(audit_file, capsys):
    pretended_table(units=80, effect=0.0, seed=1).to_csv(audit_file.parent / "new.csv", index=False)
    after = audit_file.with_name("new.yml")
    text = audit_file.read_text(encoding="utf-8")
    after.write_text(text.replace("faces.csv", "new.csv"), encoding="utf-8")
    assert main(["compare", str(audit_file), str(after)]) == 0
    out = capsys.readouterr().out
    assert "dark, female: " in out and ", better" in out
