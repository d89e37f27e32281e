"""The plan: what it holds, that it stays, and that departures are listed."""

import pytest

import faceaudit
from faceaudit.plan import departures, make_plan
from faceaudit.run import capped
from helpers import effects

BASE = {
    "name": "small",
    "question": "?",
    "axes": ["skin_colour", "hair_length", "gender"],
    "design": {"tolerance": 0.05},
}


def test_faces_follow_from_the_power_and_the_power_from_the_faces():
    sizes = make_plan(faceaudit.Specification(**BASE))["sizes"]
    design = effects.Design(0.05, 0.1, within=0, pairs=1)
    assert effects.power(sizes["units"], design, 0.05 / 24) >= 0.8
    assert sizes["detectable"] == pytest.approx(0.05, abs=0.002)
    fewer = make_plan(faceaudit.Specification(**BASE), units=100)["sizes"]
    assert fewer["detectable"] > 0.1 and fewer["power at the tolerance"] < 0.2
    assert make_plan(faceaudit.Specification(**BASE), units=3)["sizes"]["detectable"] is None


def test_comparisons_too_few_and_too_many_are_departures():
    plan = {"families": {"placebo axes": [["clothing", "all faces"]]}}
    made = {"placebo axes": [["shoes", "all faces"]]}
    assert departures(plan, plan, made) == [
        "placebo axes: left out clothing, all faces",
        "placebo axes: not planned shoes, all faces",
    ]


def test_files_that_ship_can_be_read_and_capped(repository):
    for name in ("example", "study", "table", "verification"):
        one = faceaudit.read_specification(repository / "audits" / f"{name}.yml")
        assert one.name == name and one.beside("x.csv") == repository / "audits" / "x.csv"
    whole = faceaudit.read_specification(repository / "audits" / "example.yml")
    small, plan = capped(whole, "smoke"), make_plan(capped(whole, "smoke"))
    assert small.name == "example-smoke" and plan["sizes"]["units"] == 40
    assert "40 faces in place of 400" in plan["note"] and "note" not in make_plan(whole)
    assert capped(whole, "paper") is whole, "no audit grows"
