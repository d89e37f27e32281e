"""The plan printed before a run."""

import json

import plan
import pytest


def test_plan_counts_steps_and_times(artifacts_folder):
    (artifacts_folder / "smoke").mkdir()
    plan.record("smoke", "02_face_world", 100)
    plan.record("smoke", "book", 30)
    plan.record("smoke", "02_face_world", 5)  # resumed: no measure of a whole run
    dry = "x/python tools/execute.py notebooks/02_face_world.py --out a\npython tools/book.py\n"
    text = plan.plan(dry, "smoke")
    assert "2 steps" in text and "about 2 min" in text and "unknown" not in text


def test_plan_knows_a_study_from_its_manifest(artifacts_folder, monkeypatch, tmp_path):
    monkeypatch.setattr(plan, "MEASURED", tmp_path / "measured.json")
    plan.MEASURED.write_text(json.dumps({"smoke": {"coverage_study": 20}}))
    dry = "x/python -m helpers.scorecard.coverage_study --profile smoke\n"
    assert "1 steps to run (coverage_study), at most about 20 s" in plan.plan(dry, "smoke")
    manifest = artifacts_folder / "smoke" / "coverage_study" / "manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"seconds": 40.2}))
    assert "about 40 s" in plan.plan(dry, "smoke")
    manifest.write_text(json.dumps({"seconds": 3.0}))  # resumed
    assert "about 20 s" in plan.plan(dry, "smoke")


def test_unknown_step_is_said(artifacts_folder, monkeypatch, tmp_path):
    empty = tmp_path / "measured.json"
    empty.write_text(json.dumps({}))
    monkeypatch.setattr(plan, "MEASURED", empty)
    text = plan.plan("tools/execute.py notebooks/09_new.py", "smoke")
    assert "time unknown: 09_new not run before" in text


def test_missing_gpu_is_said_before_any_work(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit, match="DEVICE=cuda asked for, but torch sees no GPU"):
        plan.check_device("cuda")


def test_nothing_to_do():
    assert "nothing to do" in plan.plan("", "laptop")
