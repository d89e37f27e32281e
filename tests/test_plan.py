"""The plan printed before a run."""

import json

import plan


def test_plan_counts_steps_and_times(artifacts_folder):
    (artifacts_folder / "smoke").mkdir()
    plan.record("smoke", "02_face_world", 100)
    plan.record("smoke", "book", 30)
    dry = "x/python tools/execute.py notebooks/02_face_world.py --out a\npython tools/book.py\n"
    text = plan.plan(dry, "smoke")
    assert "2 steps" in text and "about 2 min" in text and "not timed" not in text


def test_unknown_step_is_said(artifacts_folder, monkeypatch, tmp_path):
    empty = tmp_path / "measured.json"
    empty.write_text(json.dumps({}))
    monkeypatch.setattr(plan, "MEASURED", empty)
    text = plan.plan("tools/execute.py notebooks/09_new.py", "smoke")
    assert "not timed before: 09_new" in text


def test_nothing_to_do():
    assert "nothing to do" in plan.plan("", "laptop")
