"""Stage folders: what is written can be read back, and nothing stale or damaged is."""

import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest

from helpers import artifacts
from helpers.artifacts import ArtifactError, Stage, lineage, manifests, profiles

FIRST, SECOND = "02_face_world", "03_direction_fitting"


@pytest.fixture
def world(artifacts_folder, monkeypatch):
    """Two stages whose code hash is under the test's control."""
    code = {FIRST: {"a.py": "a" * 64}, SECOND: {"b.py": "b" * 64}}
    monkeypatch.setattr(lineage, "sources", lambda stage, drawing=True: dict(code[stage]))
    monkeypatch.setattr(lineage, "stages", lambda: list(code))
    return code


def run(name, **files):
    stage = Stage(name, profile="smoke", device="cpu", seed=1)
    for file, value in files.items():
        stage.save(file.replace("_", "."), value)
    stage.finish({"answer": np.float64(0.5), "not": np.arange(2)})
    return stage


def test_round_trip_of_every_format(world):
    frame = pd.DataFrame({"x": [1, 2]}, index=pd.Index(["a", "b"], name="image_id"))
    run(FIRST, t_parquet=frame, j_json={"a": [1]}, a_npy=np.eye(2), z_npz={"u": np.ones(3)})
    pd.testing.assert_frame_equal(artifacts.load(FIRST, "t.parquet", "smoke"), frame)
    some = artifacts.load(FIRST, "t.parquet", "smoke", columns=frame.columns[:1])
    pd.testing.assert_frame_equal(some, frame[frame.columns[:1]])
    assert artifacts.load(FIRST, "j.json", "smoke") == {"a": [1]}
    assert (artifacts.load(FIRST, "a.npy", "smoke") == np.eye(2)).all()
    assert artifacts.load(FIRST, "z.npz", "smoke")["u"].tolist() == [1, 1, 1]
    assert artifacts.load(FIRST, "results.json", "smoke") == {"answer": 0.5, "not": [0, 1]}


def test_manifest_records_rows_hashes_and_versions(world):
    stage = run(FIRST, t_parquet=pd.DataFrame({"x": [1, 2]}))
    manifest = json.loads((stage.folder / "manifest.json").read_text())
    assert manifest["files"]["t.parquet"]["rows"] == 2
    assert len(manifest["files"]["t.parquet"]["sha256"]) == 64
    assert manifest["source"] == {"a.py": "a" * 64}
    assert manifest["versions"]["torch"] and manifest["device"] == "cpu"


def test_unfinished_stage_cannot_be_read(world):
    Stage(FIRST, profile="smoke", device="cpu", seed=1).save("a.npy", np.eye(2))
    with pytest.raises(ArtifactError, match="has not finished.*make reproduce PROFILE=smoke"):
        artifacts.load(FIRST, "a.npy", "smoke")


def test_reopening_withdraws_the_manifest_but_keeps_files(world):
    run(FIRST, a_npy=np.eye(2))
    stage = Stage(FIRST, profile="smoke", device="cpu", seed=1)
    assert (stage.folder / "a.npy").is_file()
    with pytest.raises(ArtifactError, match="has not finished"):
        artifacts.load(FIRST, "a.npy", "smoke")


def test_damaged_file(world):
    stage = run(FIRST, a_npy=np.eye(2))
    (stage.folder / "a.npy").write_bytes(b"garbage")
    with pytest.raises(ArtifactError, match=r"a\.npy is damaged: its content is not what"):
        artifacts.load(FIRST, "a.npy", "smoke")


def test_damage_that_keeps_size_and_time_is_seen(world):
    path = run(FIRST, a_npy=np.eye(2)).folder / "a.npy"
    before = path.stat().st_mtime_ns
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(ArtifactError, match="its content is not what the stage left"):
        artifacts.load(FIRST, "a.npy", "smoke")
    os.utime(path, ns=(before, before))
    with pytest.raises(ArtifactError, match="its content is not what the stage left"):
        artifacts.load(FIRST, "a.npy", "smoke")


def test_a_copy_is_read_again_and_not_called_damaged(world, tmp_path):
    folder = run(FIRST, a_npy=np.eye(2)).folder
    shutil.copytree(folder, tmp_path / "copy")  # other inodes, other times of change
    shutil.rmtree(folder)
    shutil.move(tmp_path / "copy", folder)
    assert artifacts.why_stale(FIRST, "smoke") is None
    (folder / "a.npy").write_bytes(b"garbage")
    assert "a.npy is damaged" in artifacts.why_stale(FIRST, "smoke")


def test_missing_file_and_unknown_file(world):
    stage = run(FIRST, a_npy=np.eye(2))
    with pytest.raises(ArtifactError, match=r"left no b\.npy; it left a\.npy"):
        artifacts.load(FIRST, "b.npy", "smoke")
    (stage.folder / "a.npy").unlink()
    with pytest.raises(ArtifactError, match=r"a\.npy is gone"):
        artifacts.load(FIRST, "a.npy", "smoke")


def test_damaged_manifest(world):
    stage = run(FIRST, a_npy=np.eye(2))
    (stage.folder / "manifest.json").write_text('{"id": ')
    with pytest.raises(ArtifactError, match=r"manifest\.json is damaged \(Expecting value: line 1"):
        artifacts.load(FIRST, "a.npy", "smoke")


@pytest.mark.parametrize("content", ["{}", "[]"])
def test_manifest_without_its_fields(world, content):
    stage = run(FIRST, a_npy=np.eye(2))
    (stage.folder / "manifest.json").write_text(content)
    with pytest.raises(ArtifactError, match="is damaged: it lacks files, inputs"):
        artifacts.load(FIRST, "a.npy", "smoke")


def test_other_code(world):
    run(FIRST, a_npy=np.eye(2))
    world[FIRST]["c.py"] = "c" * 64
    with pytest.raises(ArtifactError, match=f"{FIRST}.*made by other code: c.py"):
        artifacts.load(FIRST, "a.npy", "smoke")


def test_changed_profile(world, monkeypatch):
    run(FIRST, a_npy=np.eye(2))
    other = profiles.load("laptop")
    monkeypatch.setattr(profiles, "load", lambda name: other)
    with pytest.raises(ArtifactError, match=r"profile smoke: \w+ is \d+ now and was \d+"):
        artifacts.load(FIRST, "a.npy", "smoke")


def test_changed_input_names_both_stages(world):
    run(FIRST, a_npy=np.eye(2))
    second = Stage(SECOND, profile="smoke", device="cpu", seed=1)
    second.load(FIRST, "a.npy")
    second.save("b.npy", np.eye(3))
    second.finish({})
    artifacts.load(SECOND, "b.npy", "smoke")
    run(FIRST, a_npy=2 * np.eye(2))
    with pytest.raises(ArtifactError, match=f"{SECOND}.*made from another {FIRST}/a.npy"):
        artifacts.load(SECOND, "b.npy", "smoke")


def test_rerun_with_equal_results_keeps_later_stages_valid(world):
    run(FIRST, a_npy=np.eye(2))
    second = Stage(SECOND, profile="smoke", device="cpu", seed=1)
    second.load(FIRST, "a.npy")
    second.finish({})
    run(FIRST, a_npy=np.eye(2))
    assert artifacts.load(SECOND, "results.json", "smoke") == {}


def test_only_what_was_read_of_an_earlier_stage_counts(world):
    run(FIRST, a_npy=np.eye(2), b_npy=np.eye(2))
    second = Stage(SECOND, profile="smoke", device="cpu", seed=1)
    second.load(FIRST, "a.npy")
    second.finish({})
    run(FIRST, a_npy=np.eye(2), b_npy=np.eye(3))
    assert artifacts.why_stale(SECOND, "smoke") is None


def test_another_version_of_a_library_makes_stale(world, monkeypatch):
    run(FIRST, a_npy=np.eye(2))
    now = manifests.versions() | {"torch": "99"}
    monkeypatch.setattr(manifests, "versions", lambda: now)
    assert artifacts.why_stale(FIRST, "smoke").startswith("torch is 99 now and was ")


def test_promised_file_must_exist(world):
    stage = Stage(FIRST, profile="smoke", device="cpu", seed=1)
    stage.path("images.npy")
    with pytest.raises(ArtifactError, match=r"promised images\.npy"):
        stage.finish({})


def test_code_edited_while_running(world):
    stage = Stage(FIRST, profile="smoke", device="cpu", seed=1)
    world[FIRST]["a.py"] = "c" * 64
    with pytest.raises(ArtifactError, match="made by other code: a.py while it ran"):
        stage.finish({})


def test_interrupted_write_leaves_the_old_file(world, tmp_path):
    path = tmp_path / "x.json"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), artifacts.atomic(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.glob("*.tmp")) == []


def test_unknown_suffix(world):
    with pytest.raises(ValueError, match=r"cannot save x\.pkl"):
        Stage(FIRST, profile="smoke", device="cpu", seed=1).save("x.pkl", 1)


def test_temporary_files_of_dead_processes_are_swept(tmp_path):
    (tmp_path / "deep").mkdir()
    gone = tmp_path / "deep" / ".x.json.4194304.tmp"  # above the largest number of a process
    mine, other = tmp_path / f".x.json.{os.getpid()}.tmp", tmp_path / ".notes.tmp"
    for path in (gone, mine, other):
        path.write_text("")
    artifacts.sweep(tmp_path)
    assert not gone.exists() and mine.exists() and other.exists()
