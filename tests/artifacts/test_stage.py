"""Stages and pages: what is written can be read back, and nothing stale or damaged is."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest

from helpers import artifacts
from helpers.artifacts import ArtifactError, Stage, lineage, manifests

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


def test_unfinished_stage_cannot_be_read(world):
    Stage(FIRST, profile="smoke", device="cpu", seed=1).save("a.npy", np.eye(2))
    with pytest.raises(ArtifactError, match="has not finished.*make reproduce PROFILE=smoke"):
        artifacts.load(FIRST, "a.npy", "smoke")


def test_damage_that_keeps_size_and_time_is_seen(world):
    path = run(FIRST, a_npy=np.eye(2)).folder / "a.npy"
    before = path.stat().st_mtime_ns
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(ArtifactError, match="its content is not what"):
        artifacts.load(FIRST, "a.npy", "smoke")
    os.utime(path, ns=(before, before))
    with pytest.raises(ArtifactError, match="its content is not what"):
        artifacts.load(FIRST, "a.npy", "smoke")


def test_a_copy_is_read_again_and_not_called_damaged(world, tmp_path):
    folder = run(FIRST, a_npy=np.eye(2)).folder
    shutil.copytree(folder, tmp_path / "copy")  # other inodes, other times of change
    shutil.rmtree(folder)
    shutil.move(tmp_path / "copy", folder)
    assert artifacts.why_stale(FIRST, "smoke") is None
    (folder / "a.npy").write_bytes(b"garbage")
    assert "a.npy is gone or damaged" in artifacts.why_stale(FIRST, "smoke")


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


def test_other_code(world):
    run(FIRST, a_npy=np.eye(2))
    world[FIRST]["c.py"] = "c" * 64
    with pytest.raises(ArtifactError, match=f"{FIRST}.*made by other code: c.py"):
        artifacts.load(FIRST, "a.npy", "smoke")


def test_changed_profile(world, monkeypatch):
    run(FIRST, a_npy=np.eye(2))
    other = lineage.load_profile("laptop")
    monkeypatch.setattr(lineage, "load_profile", lambda name: other)
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


def test_temporary_files_of_dead_processes_are_swept(tmp_path):
    (tmp_path / "deep").mkdir()
    gone = tmp_path / "deep" / ".x.json.4194304.tmp"  # above the largest number of a process
    mine, other = tmp_path / f".x.json.{os.getpid()}.tmp", tmp_path / ".notes.tmp"
    for path in (gone, mine, other):
        path.write_text("")
    artifacts.sweep(tmp_path)
    assert not gone.exists() and mine.exists() and other.exists()


# --- pages


NAMING, OTHER = "01_naming", "02_other"


@pytest.fixture
def audits(artifacts_folder, monkeypatch):
    """Two pages that were run, of which one reads an audit file and its table."""
    notebooks, folder = artifacts_folder / "notebooks", artifacts_folder / "audits"
    notebooks.mkdir()
    folder.mkdir()
    for name in ("own.yml", "own.csv", "mine.yml"):
        (folder / name).write_text("name: own\n")
    (notebooks / f"{NAMING}.py").write_text(
        '# `audits/mine.yml` is mine\naudit = "audits/own.yml"\nread(ROOT / "audits" / "own.csv")\n'
    )
    (notebooks / f"{OTHER}.py").write_text('table["audits"]\n')
    monkeypatch.setattr(lineage, "ROOT", artifacts_folder)
    monkeypatch.setattr(lineage, "NOTEBOOKS", notebooks)
    for page in (NAMING, OTHER):
        Stage(page, profile="smoke", device="cpu", seed=1).finish({})
        manifests.executed(page, "smoke").write_text("{}")
        manifests.record(page, "smoke", manifests.basis(page, "smoke"))
    return folder


def stale():
    return {page: manifests.why_page_is_stale(page, "smoke") for page in (NAMING, OTHER)}


@pytest.mark.parametrize("name", ["own.yml", "own.csv"])
def test_an_edit_makes_the_page_stale_that_names_the_file_and_no_other(audits, name):
    assert stale() == {NAMING: None, OTHER: None}
    (audits / name).write_text("name: another\n")
    assert stale() == {NAMING: f"made by other code: audits/{name}", OTHER: None}
    (audits / name).unlink()
    assert stale() == {NAMING: f"made by other code: audits/{name}", OTHER: None}


def test_an_audit_that_no_page_names_makes_none_stale(audits):
    (audits / "mine.yml").write_text("name: another\n")
    assert stale() == {NAMING: None, OTHER: None}


def test_a_page_that_shows_somebodys_own_study_is_stale_without_it(audits):
    manifests.record(NAMING, "smoke", manifests.basis(NAMING, "smoke"), "audits/mine.yml")
    assert stale() == {
        NAMING: "it shows the study audits/mine.yml and not the example",
        OTHER: None,
    }
    manifests.record(NAMING, "smoke", manifests.basis(NAMING, "smoke"))
    assert stale() == {NAMING: None, OTHER: None}


def test_two_chapters_alone_are_made_from_audits(repository):
    named = {
        path.stem: {audit.name for audit in manifests.audits(path)}
        for path in (repository / "notebooks").glob("*.py")
    }
    assert named.pop("20_audit_your_model") >= {"example.yml", "table.csv", "table.yml"}
    assert named.pop("21_own_study") == {"study.yml"}
    assert not any(named.values()) and len(named) > 15
