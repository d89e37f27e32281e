"""What a published copy says of itself, and the workflow that publishes it."""

import json
import re

import yaml

from helpers.artifacts.lineage import ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "book.yml"


def test_main_alone_publishes_what_has_passed_and_is_not_cut_off():
    jobs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]
    publish = jobs["publish"]
    assert publish["needs"] == ["test", "book"]
    assert publish["if"] == "github.ref == 'refs/heads/main'"
    assert publish["concurrency"]["cancel-in-progress"] is False
    assert "if" not in jobs["test"]  # a push to main is tested too


def test_the_workflow_runs_targets_that_exist():
    text = WORKFLOW.read_text(encoding="utf-8")
    assert set(yaml.safe_load(text)["jobs"]) == {"test", "book", "publish"}
    there = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert {*re.findall(r"make ([a-z-]+)", text)} <= {*there}


def test_all_say_the_same_of_title_and_licence():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    deposited = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    for field in ("title", "license"):
        assert cited[field] == deposited[field]
