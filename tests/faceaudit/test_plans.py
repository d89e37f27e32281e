"""The plan: what it holds, that it stays, and that departures are listed."""

import pytest

import faceaudit
from faceaudit import departures, effects, make_plan

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


def test_files_that_ship_can_be_read(repository):
    for name in ("example", "example-smoke", "study", "table", "verification"):
        one = faceaudit.read_specification(repository / "audits" / f"{name}.yml")
        assert one.name == name and one.beside("x.csv") == repository / "audits" / "x.csv"
    whole, small = (
        faceaudit.read_specification(repository / "audits" / f"{name}.yml").model_dump()
        for name in ("example", "example-smoke")
    )
    assert {key for key in whole if whole[key] != small[key]} == {
        *("name", "question", "generator", "design")
    }


def test_patience_with_an_endpoint_is_no_decision():
    given = {"kind": "http", "url": "https://x.example", "read": "p", "version": "1", "size": 8}
    quick = given | {"max_calls": 1, "per_second": 1, "timeout": 1, "total_time": 1}
    slow = given | {"max_calls": 9, "per_second": 9, "timeout": 9, "total_time": 9}
    plans = [make_plan(faceaudit.Specification(**BASE, model=one)) for one in (quick, slow)]
    assert departures(*plans, {}) == []
