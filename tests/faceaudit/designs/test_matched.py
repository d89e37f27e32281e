"""The analysis against what was planted, and against the functions that it hands on."""

import numpy as np
import pandas as pd
import pytest
from pretended_audits import OF_TABLE, pretended_table
from scipy.stats import norm

import faceaudit
from faceaudit import effects
from faceaudit.effects.verdicts import score_p
from faceaudit.file.specification import Specification


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
    data, plan = faceaudit.MatchedImages.from_table(table, own), faceaudit.make_plan(own, 30)
    tables = data.analyse(plan)
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
