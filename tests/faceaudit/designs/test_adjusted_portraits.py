"""Audits of found portraits that ask for the doubly robust adjustment."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import faceaudit
from faceaudit import effects
from faceaudit.report.page import page
from faceaudit.run import run_audit
from faceaudit.utils import seeding
from faceaudit.utils.errors import InputError

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
from doubly_robust import World

AXES = {"skin": ["light", "dark"], "hair": ["long", "short"]}
SETTINGS = {
    "unit": None,
    "identity": "person",
    "axes": AXES,
    "error": "wrong",
    "covariates": ["beard", "age"],
    "tolerance": 0.05,
}
FILE = """
name: found
kind: portraits
question: Does the model err more often on portraits of darker skin?
images: found.csv
columns: {identity: person, error: wrong}
axes: {skin: [light, dark], hair: [long, short]}
covariates: [beard, age]
design: {tolerance: 0.05, adjustment: aipw}
"""


@pytest.fixture(scope="module")
def portraits() -> pd.DataFrame:
    """Portraits of 600 people."""
    frame = World(0.1).audit(600, seeding.rng(3, "adjusted portraits"))
    frame["skin"] = frame.pop("dark").map(dict(enumerate(AXES["skin"])))
    frame["hair"] = frame["hair"].map(dict(enumerate(AXES["hair"])))
    frame["beard"] = frame["beard"].map({0: "no", 1: "yes"})
    frame["age"] = frame["age"].map({0: "young", 1: "adult", 2: "old"})
    frame["image_id"] = np.arange(len(frame))
    return frame.rename(columns={"outcome": "wrong"})


@pytest.fixture(scope="module")
def audit(portraits):
    return faceaudit.table(portraits, **SETTINGS, adjustment="aipw")


def test_the_doubly_robust_difference_stands_beside_the_others(portraits, audit):
    adjusted = audit.adjusted
    assert adjusted["axis"].tolist() == ["skin"] * 4 + ["hair"] * 4
    assert adjusted["model"].tolist() == ["none", "linear", "logistic", "aipw"] * 2
    of_regressions = faceaudit.table(portraits, **SETTINGS)
    regressions = adjusted[adjusted["model"].isin(["linear", "logistic"])]
    both = [
        table.sort_values(["model", "axis"]).reset_index(drop=True)
        for table in (regressions, of_regressions.adjusted)
    ]
    pd.testing.assert_frame_equal(*both)
    counted = adjusted.query("model == 'none'")["estimate"].tolist()
    assert np.allclose(counted, audit.averages["estimate"])
    # As the audit reads them: the names of people are texts, by whose order they are dealt.
    skin = portraits.astype({"person": str})
    skin["skin"] = pd.Categorical(skin["skin"], AXES["skin"])
    compared = (skin, "wrong", "skin", ["hair", "beard", "age"], "person")
    expected = effects.doubly_robust_difference(*compared)
    found = adjusted.query("model == 'aipw' and axis == 'skin'").iloc[0]
    ends = ["estimate", "low", "high", "p"]
    assert np.allclose(
        found[ends].astype(float), expected.effects.loc["adjusted", ends].astype(float)
    )


def test_the_report_has_overlap_balance_and_robustness(portraits, audit):
    report = audit.report
    assert [row.level for row in report.overlap] == [*AXES["skin"], *AXES["hair"]]
    assert all(0 < row.propensity_low < row.propensity_high < 1 for row in report.overlap)
    assert max(abs(row.after) for row in report.balance) < 0.1
    values = {(row.axis, row.covariate, row.level) for row in report.balance}
    assert ("skin", "hair", "short") in values and ("hair", "age", "old") in values
    skin = report.robustness[0]
    assert skin.axis == "skin" and 0 < skin.robustness_of_limit < skin.robustness_value < 1
    assert f"{100 * skin.robustness_value:.1f}% of what the other columns leave" in skin.sentence
    covariates = [row.covariate for row in report.benchmarks if row.axis == "skin"]
    assert covariates == ["hair", "beard", "age"]
    html = page(report)
    assert skin.sentence in html
    for heading in ("doubly robust", "Overlap and balance", "What could explain it away"):
        assert heading in html


def test_reports_that_do_not_ask_are_as_they_were(portraits):
    audit = faceaudit.table(portraits, **SETTINGS)
    report = audit.report
    assert "adjustment" not in report.plan.content
    assert {row.model for row in report.adjusted} == {"linear", "logistic"}
    assert not (report.overlap or report.balance or report.robustness or report.benchmarks)
    assert "Overlap and balance" not in page(report)


@pytest.mark.parametrize("adjustment", ["regression", "aipw"])
def test_one_portrait_at_a_level_gives_a_reason_and_no_number(portraits, tmp_path, adjustment):
    is_kept = (portraits["skin"] == "light") | ~portraits["skin"].duplicated()
    audit = faceaudit.table(portraits[is_kept], **SETTINGS, adjustment=adjustment)
    average = audit.averages.set_index("axis").loc["skin"]
    assert average["verdict"] == "not estimable" and average["reason"]
    of_skin = audit.adjusted[audit.adjusted["axis"] == "skin"]
    assert len(of_skin) == {"regression": 2, "aipw": 4}[adjustment]
    for table in (of_skin, average.to_frame().T):
        assert table[["estimate", "low", "high"]].isna().all(axis=None)
        assert (table["reason"] != "").all()
    # What was counted at each level stays.
    assert average[["rate", "reference_rate"]].notna().all()
    others = audit.averages.set_index("axis").loc["hair", ["estimate", "low", "high"]]
    assert others.notna().all()
    row = page(audit.report).split(f"({average['reason']})</td>")[1]
    assert row.startswith("<td>–</td><td>–</td>")
    report = audit.save(tmp_path).with_name("report.json")
    assert faceaudit.verify(report)[0] == 0


def test_without_overlap_the_report_has_a_reason_and_no_number(portraits):
    twin = portraits["skin"].map({"light": "a", "dark": "b"})
    settings = SETTINGS | {"covariates": ["beard", "twin"]}
    audit = faceaudit.table(portraits.assign(twin=twin), **settings, adjustment="aipw")
    adjusted = audit.adjusted.set_index(["axis", "model"])
    skin = adjusted.loc[("skin", "aipw")]
    assert skin["reason"] == "no overlap: no image with twin = a has skin = dark"
    assert skin[["estimate", "low", "high", "p"]].isna().all()
    robustness = audit.report.robustness[0]
    assert robustness.robustness_value is None
    assert "not estimable (confounded with the covariates)" in robustness.sentence
    assert skin["reason"] in page(audit.report)
    assert np.isfinite(adjusted.loc[("hair", "aipw"), "estimate"])


def test_differences_of_numbers_are_adjusted_in_their_own_unit(portraits):
    years = portraits["wrong"] * 4.0 + (portraits["age"] == "old")
    settings = SETTINGS | {"error": None, "outcome": "years", "tolerance": 1.0}
    audit = faceaudit.table(portraits.assign(years=years), **settings, adjustment="aipw")
    assert audit.adjusted["model"].tolist() == ["none", "aipw"] * 2
    robustness = audit.report.robustness[0]
    assert "points" not in robustness.sentence
    limits = " ".join(audit.report.limits)
    assert "Differences of numbers are not adjusted" not in limits
    assert f"{audit.adjusted['estimate'].iloc[1]:+#.3g}" in page(audit.report)


def test_three_levels_have_an_adjustment_for_each_contrast(portraits):
    settings = SETTINGS | {"axes": {"age": ["young", "adult", "old"]}, "covariates": ["hair"]}
    audit = faceaudit.table(portraits, **settings, adjustment="aipw")
    assert audit.adjusted["contrast"].unique().tolist() == [
        "adult instead of young",
        "old instead of young",
    ]
    assert [row.level for row in audit.report.overlap] == ["young", "adult", "young", "old"]


def test_a_file_gives_what_the_call_gives_and_can_be_verified(portraits, audit, tmp_path):
    portraits.to_csv(tmp_path / "found.csv", index=False)
    (tmp_path / "found.yml").write_text(FILE, encoding="utf-8")
    report = run_audit(tmp_path / "found.yml", lambda line: None)
    for part in ("adjusted", "overlap", "balance", "robustness", "benchmarks"):
        assert getattr(report, part) == getattr(audit.report, part)
    assert report.plan.content["adjustment"] == "aipw"
    saved = next(tmp_path.glob("**/report.json"))
    assert faceaudit.verify(saved, tmp_path / "found.yml")[0] == 0


def test_another_adjustment_departs_from_the_plan(portraits):
    settings = SETTINGS | {"covariates": ["beard"]}
    plan = faceaudit.plan(**settings, adjustment="aipw")
    kept = faceaudit.table(portraits, **settings, adjustment="aipw", plan=plan)
    assert kept.report.plan.departures == []
    left = faceaudit.table(portraits, **settings, plan=plan)
    assert any(line.startswith("adjustment: ") for line in left.report.plan.departures)


def test_trees_need_an_extra(portraits, monkeypatch):
    portraits = portraits[portraits["person"] < 300]
    audit = faceaudit.table(portraits, **SETTINGS, adjustment="boosted aipw")
    assert audit.adjusted["model"].tolist()[3] == "boosted aipw"
    assert "doubly robust, by trees" in page(audit.report)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="install faceaudit.adjusted."):
        faceaudit.table(portraits, **SETTINGS, adjustment="boosted aipw")
