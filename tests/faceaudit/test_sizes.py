"""The example in the sizes of a profile, which its plan and its report own up to."""

import pytest
from pretended_audits import pretend

import faceaudit
from faceaudit import make_plan, read_specification
from faceaudit.run import capped
from helpers.artifacts.lineage import ROOT

EXAMPLE = ROOT / "audits" / "example.yml"


def test_the_plan_and_the_limits_say_that_the_sizes_were_cut():
    whole = read_specification(EXAMPLE)
    small = capped(whole, "smoke")
    assert small.name == "example-smoke" and small.path == whole.path
    assert make_plan(small)["sizes"]["units"] == 40
    assert "40 faces in place of 400" in make_plan(small)["note"] and "note" not in make_plan(whole)
    data, plan = pretend(units=60, effect=0.4, seed=1)
    plan |= {"note": small.note}
    told = faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan).limits
    assert f"This is a trial run with few faces; its numbers are rough. {small.note}" in told


def test_no_audit_grows():
    whole = read_specification(EXAMPLE)
    assert capped(whole, "paper") is whole


def test_a_table_keeps_its_size():
    with pytest.raises(ValueError, match="table.yml: a profile sets the sizes of audits in the fa"):
        capped(read_specification(ROOT / "audits" / "table.yml"), "smoke")
