"""A stage that lost a file is run again; others are left alone."""

import mend

from helpers.artifacts import Stage, lineage


def finished(name):
    stage = Stage(name, profile="smoke", device="cpu", seed=1)
    stage.save("a.json", {"a": 1})
    stage.finish({})
    notebook = stage.folder / f"{name}.ipynb"
    notebook.write_text("{}")
    return stage.folder, notebook


def test_only_the_damaged_stage_is_forgotten(artifacts_folder, monkeypatch, capsys):
    monkeypatch.setattr(lineage, "source_hash", lambda stage: "a" * 64)
    whole, kept = finished("02_face_world")
    folder, notebook = finished("03_direction_fitting")
    mend.mend("smoke")
    assert capsys.readouterr().out == ""
    (folder / "a.json").unlink()
    mend.mend("smoke")
    assert "03_direction_fitting will run again: no a.json" in capsys.readouterr().out
    assert kept.exists() and (whole / "manifest.json").exists()
    assert not notebook.exists() and not (folder / "manifest.json").exists()


def test_a_profile_that_never_ran(artifacts_folder):
    mend.mend("smoke")
