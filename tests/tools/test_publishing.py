"""What a published copy says of itself, and the workflow that publishes it."""

import json
import re

import yaml

from helpers.artifacts.lineage import ROOT


def test_the_workflow_runs_targets_that_exist():
    text = (ROOT / ".github" / "workflows" / "book.yml").read_text(encoding="utf-8")
    assert set(yaml.safe_load(text)["jobs"]) == {"test", "book", "publish"}
    there = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert {*re.findall(r"make ([a-z-]+)", text)} <= {*there}


def test_all_say_the_same_of_title_and_licence():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    deposited = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    for field in ("title", "license"):
        assert cited[field] == deposited[field]
