"""The analysis of matched images against what was planted."""

import numpy as np
from pretended_audits import OF_TABLE, pretended_table

import faceaudit
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
