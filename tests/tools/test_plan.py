"""What waits for what, and what is stale."""

import re

import plan
import pytest

from helpers.artifacts import lineage


def test_the_graph_has_every_page_and_study_and_ends_in_the_book():
    waits = plan.graph()
    assert {*waits["book"]} == {"course", *(p.stem for p in lineage.NOTEBOOKS.rglob("*.py"))}
    assert "09_logistic_ate" in waits["10_matched_pairs"]
    assert "13_sensitivity_flips" not in plan.needed(waits, "n01_truth_scorecard")
    assert "13_sensitivity_flips" in plan.needed(waits, "n04_remedies")
    asking = [step for step in waits if "02_face_world" in plan.needed(waits, step)]
    assert len(asking) > 10 and all("audit_plan" in plan.needed(waits, one) for one in asking)


def test_the_stages_that_train_are_those_whose_networks_ship():
    sources = {
        stage: path.read_text(encoding="utf-8") for stage, path in lineage.notebooks().items()
    }
    call = re.compile(r"(?:models|networks)\.train\w*\(")
    training = [stage for stage, code in sources.items() if call.search(code)]
    assert sorted(training) == plan.TRAINS


def test_stages_that_read_each_other_or_what_is_not_there_are_named(monkeypatch):
    reads = {"01_observational_audit": ["99_gone"]}
    monkeypatch.setattr(lineage, "inputs", lambda source: reads.get(source.stem, []))
    with pytest.raises(ValueError, match="01_observational_audit reads 99_gone, which no"):
        plan.graph()
    reads["01_observational_audit"] = ["01_observational_audit"]
    with pytest.raises(ValueError, match="cycle"):
        plan.graph()
