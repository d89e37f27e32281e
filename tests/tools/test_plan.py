"""What waits for what, and what is stale."""

import plan
import pytest

import book
from helpers.artifacts import lineage


def test_the_graph_has_every_page_and_study_and_ends_in_the_book():
    waits = plan.graph()
    assert set(waits["book"]) == {p.stem for p in lineage.NOTEBOOKS.glob("*.py")}
    assert "09_logistic_ate" in waits["10_effects_and_truth"]
    assert "15_sensitivity_flips" not in plan.needed(waits, "11_truth_scorecard")
    asking = [step for step in waits if "02_face_world" in plan.needed(waits, step)]
    assert len(asking) > 10 and all("audit_plan" in plan.needed(waits, one) for one in asking)
    assert plan.RENDERER in waits["01_observational_audit"]
    assert plan.RENDERER not in waits["08_stratified_errors"]


@pytest.mark.parametrize("train", [0, 1])
def test_other_weights_than_those_in_use_are_asked_for(monkeypatch, train):
    monkeypatch.setattr(plan.manifests, "why_stale", lambda *_: None)
    monkeypatch.setattr(plan.manifests, "why_page_is_stale", lambda *_: None)
    monkeypatch.setattr(plan.manifests, "read", lambda *_: {"train": train})
    assert plan.why("02_face_world", "smoke", None) is None
    assert plan.why("02_face_world", "smoke", train) is None
    reason = plan.why("02_face_world", "smoke", 1 - train)
    assert reason == f"TRAIN={1 - train} asks for other networks than those in use"


def test_stages_that_read_each_other_or_what_is_not_there_are_named(monkeypatch):
    reads = {"01_observational_audit": ["99_gone"]}
    monkeypatch.setattr(lineage, "inputs", lambda source: reads.get(source.stem, []))
    with pytest.raises(ValueError, match="01_observational_audit reads 99_gone, which no"):
        plan.graph()
    reads["01_observational_audit"] = ["01_observational_audit"]
    with pytest.raises(ValueError, match="cycle"):
        plan.graph()


def test_the_pages_are_stale_when_one_is_gone(monkeypatch, tmp_path):
    monkeypatch.setattr(book, "pages_of", lambda profile: tmp_path / "html")
    monkeypatch.setattr(book, "contents", lambda: ["index", "a"])
    monkeypatch.setattr(book, "basis", lambda profile: {"x": "1"})
    (tmp_path / "html").mkdir()
    (tmp_path / "html/index.html").touch()
    (tmp_path / book.RECORD).write_text('{"x": "1"}')
    assert book.why_stale("smoke") == "gone: a"
    (tmp_path / "html/a.html").touch()
    assert book.why_stale("smoke") is None
    (tmp_path / book.RECORD).write_text('{"x": "2", "a/b": "1"}')
    assert book.why_stale("smoke") == "changed: x, a/b"
