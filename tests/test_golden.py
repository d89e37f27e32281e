"""The smoke book and the shipped audits arrive at the numbers of record, and a change is named."""

import json
import math

import golden
import pytest

from faceaudit.example_files import EXAMPLES
from faceworld.audit import run_audit
from helpers.artifacts import lineage

TOLERATED = golden.ABSOLUTE_TOLERANCE / 2
SMOKE = lineage.ROOT / "build" / "smoke" / "html"
QUICK_AUDITS = ("pairs", "portraits", "table")


def test_nested_values_have_a_line_each_and_come_back(tmp_path):
    content = {"share": {"low": 0.1, "high": math.nan}, "cells": [{"n": 3}, {"n": None}], "Ä": "ß"}
    values = dict(golden.flat(content))
    assert [*values] == ["share.low", "share.high", "cells.0.n", "cells.1.n", "Ä"]
    golden.write_record(tmp_path / "a.txt", values)
    assert golden.changes(values, golden.read_record(tmp_path / "a.txt"), exact=True) == []


def test_one_machine_is_compared_bit_for_bit():
    recorded = {"a": 0.1 + 0.2, "b": 1}
    (change,) = golden.changes(recorded, recorded | {"a": 0.3}, exact=True)
    assert str(change) == "  a: 0.30000000000000004 -> 0.3"


def test_another_machine_may_round_otherwise():
    recorded = {"a": 0.3, "b": "within"}
    assert golden.changes(recorded, recorded | {"a": 0.3 + TOLERATED}, exact=False) == []
    assert golden.changes(recorded, recorded | {"a": 0.31}, exact=False)
    assert golden.changes(recorded, recorded | {"b": "exceeds"}, exact=False)
    assert golden.changes(recorded, recorded | {"a": math.nan}, exact=False)


def test_another_machine_may_flip_few_numbers_of_many():
    recorded = {str(number): 0.5 for number in range(100)}
    flipped = {"0": 0.7, "1": 0.7}
    assert golden.changes(recorded, recorded | flipped, exact=False) == []
    assert len(golden.changes(recorded, recorded | flipped | {"2": 0.7}, exact=False)) == 3


@pytest.mark.parametrize("exact", [True, False])
def test_a_number_that_is_gone_or_new_is_a_change(exact):
    found = golden.changes({"gone": 1.0, "kept": 2.0}, {"kept": 2.0, "new": 3.0}, exact)
    assert [change.key for change in found] == ["gone", "new"]


@pytest.mark.skipif(not SMOKE.is_dir(), reason="the smoke book is not built: make smoke")
def test_the_smoke_book_arrives_at_the_numbers_of_record():
    """If a change is meant: `python tests/golden.py smoke --write`."""
    differing = golden.compare("smoke")
    assert {name: [*map(str, found)] for name, found in differing.items()} == {}


@pytest.mark.parametrize("name", QUICK_AUDITS)
def test_example_audits_arrive_at_the_numbers_of_record(name, tmp_path, monkeypatch):
    """If a change is meant: `make golden` tells how to renew the record."""
    monkeypatch.setenv("HELPERS_ARTIFACTS", str(tmp_path / "artifacts"))
    monkeypatch.setattr("faceworld.audit.ROOT", tmp_path)
    run_audit(EXAMPLES / f"{name}.yml")
    computed = golden.report_values(tmp_path / "build" / "audits" / name / "report.json")
    recorded = golden.read_record(golden.RECORDS / golden.AUDITS / f"{name}.txt")
    exact = golden.wrote_the_record(golden.AUDITS)
    assert [*map(str, golden.changes(recorded, computed, exact))] == []


def test_every_stage_and_every_example_audit_has_a_record():
    for profile in golden.PROFILES:
        recorded = {path.stem for path in (golden.RECORDS / profile).glob("*.txt")}
        assert recorded == {*lineage.stages(), "machine"}
    recorded = {path.stem for path in (golden.RECORDS / golden.AUDITS).glob("*.txt")}
    assert recorded == {*golden.EXAMPLE_AUDITS, "machine"}


def test_a_record_has_the_numbers_of_results(tmp_path, monkeypatch):
    monkeypatch.setenv("HELPERS_ARTIFACTS", str(tmp_path))
    folder = tmp_path / "smoke" / "09_logistic_ate"
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps({"odds": {"low": -0.25}}))
    assert golden.computed_values("smoke") == {"09_logistic_ate": {"odds.low": -0.25}}
