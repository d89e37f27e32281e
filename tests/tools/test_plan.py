"""What waits for what, and what is stale."""

import os

import plan
import pytest

import book
from helpers.artifacts import lineage


def test_the_graph_has_every_page_and_study_and_ends_in_the_book():
    waits = plan.graph()
    assert set(waits["book"]) == {p.stem for p in lineage.NOTEBOOKS.glob("*.py")}
    assert "09_logistic_ate" in waits["10_effects_and_truth"]
    assert "coverage_study" in plan.needed(waits, "11_truth_scorecard")
    assert "15_sensitivity_flips" not in plan.needed(waits, "11_truth_scorecard")


def test_whatever_asks_the_models_waits_for_the_plan_of_the_audit():
    waits = plan.graph()
    assert waits["audit_plan"] == []
    asking = [step for step in waits if "02_face_world" in plan.needed(waits, step)]
    assert len(asking) > 10
    assert all("audit_plan" in plan.needed(waits, step) for step in asking)


def test_what_draws_waits_for_the_renderer():
    waits = plan.graph()
    assert plan.RENDERER in waits["01_observational_audit"]
    assert plan.RENDERER not in waits["08_stratified_errors"]


def test_the_renderer_is_compiled_before_the_chapters_where_numba_would_do_so(
    monkeypatch, tmp_path
):
    source = tmp_path / "draw.py"
    source.write_text("")
    monkeypatch.setattr(lineage, "helper_modules", lambda *_, **__: [source])
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert plan.why(plan.RENDERER, "smoke", None) == "not compiled"
    plan.compiled().touch()
    assert plan.why(plan.RENDERER, "smoke", None) is None
    os.utime(source, (0, 0))  # as after a checkout; numba goes by times
    assert plan.why(plan.RENDERER, "smoke", None) == "not compiled"
    plan.compiled().touch()
    monkeypatch.setattr("sys.version", "another")
    assert plan.why(plan.RENDERER, "smoke", None) == "not compiled"


@pytest.mark.parametrize(
    ("stale", "steps"), [({"renderer"}, []), ({"renderer", "a"}, ["renderer", "a"])]
)
def test_a_renderer_that_nobody_waits_for_is_no_work(monkeypatch, stale, steps):
    monkeypatch.setattr(plan, "why", lambda name, *_: "edited" if name in stale else None)
    assert plan.stale({"renderer": [], "a": ["renderer"]}, "smoke", None) == steps


def test_other_weights_than_those_in_use_are_asked_for(monkeypatch):
    monkeypatch.setattr(plan.pages, "why_stale", lambda *_: None)
    monkeypatch.setattr(plan.manifests, "read", lambda *_: {"train": 0})
    assert plan.why("02_face_world", "smoke", None) is None
    assert plan.why("02_face_world", "smoke", 0) is None
    assert "TRAIN=1 asks for other networks" in plan.why("02_face_world", "smoke", 1)
    monkeypatch.setattr(plan.manifests, "read", lambda *_: {"train": 1})
    assert plan.why("02_face_world", "smoke", None) is None
    assert "TRAIN=0 asks for other networks" in plan.why("02_face_world", "smoke", 0)


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


def test_pages_have_one_name_wherever_the_artifacts_lie(monkeypatch, tmp_path):
    names = set()
    for folder in ("here", "there"):
        monkeypatch.setenv("HELPERS_ARTIFACTS", str(tmp_path / folder))
        notebook = tmp_path / folder / "smoke/index/index.ipynb"
        notebook.parent.mkdir(parents=True)
        notebook.touch()
        names |= {name for name in book.basis("smoke") if name.endswith("index.ipynb")}
    assert names == {"artifacts/smoke/index/index.ipynb"}


def test_a_benchmark_is_shown_as_two_tables():
    rows = [{"what": "a", "seconds": 0.5, "MB": 1234.5, "edit": "seen"}]
    record = {"rows": rows, "facts": {"images": 7}, "machine": {"cores": 2, "system": "Linux"}}
    assert book.benchmark_text(record).splitlines() == [
        "|  | CPU seconds, least of three | MB | edit |",
        "| --- | ---: | ---: | ---: |",
        "| a | 0.5 | 1,234 | seen |",
        "",
        "| what was measured |  |",
        "| --- | --- |",
        "| images | 7 |",
        "| machine | cores 2, system Linux |",
    ]
