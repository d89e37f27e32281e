"""Stages and pages: what is written can be read back, and nothing stale or damaged is."""

import os
import subprocess
import time

import numpy as np
import pandas as pd
import psutil
import pytest

from faceaudit.utils.files import atomic
from helpers import artifacts
from helpers.artifacts import ArtifactError, Stage, lineage, manifests, pages

FIRST, SECOND = "02_face_world", "03_direction_fitting"
LAPTOP = lineage.load_profile("laptop")


@pytest.fixture
def world(artifacts_folder, monkeypatch):
    """Two stages whose code hash is under the test's control."""
    code = {FIRST: {"a.py": "a" * 64}, SECOND: {"b.py": "b" * 64}}
    monkeypatch.setattr(lineage, "sources", lambda stage, drawing=True: dict(code[stage]))
    monkeypatch.setattr(lineage, "stages", lambda: list(code))
    return code


def opened(name=FIRST):
    return Stage(name, profile="smoke", device="cpu", seed=1)


def run(name=FIRST, **files):
    stage = opened(name)
    for file, value in files.items():
        stage.save(file.replace("_", "."), value)
    stage.finish({"answer": np.float64(0.5), "not": np.arange(2)})
    return stage.folder


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
    manifest = manifests.read_manifest(FIRST, "smoke")
    assert manifest["device"] == "cpu"
    with pytest.raises(ArtifactError, match=r"left no b\.npy; it left t\.parquet, j\.json"):
        artifacts.load(FIRST, "b.npy", "smoke")


def same_size_and_time(path):
    before = path.stat().st_mtime_ns
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    os.utime(path, ns=(before, before))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda folder: opened(), "has not finished.*make reproduce PROFILE=smoke"),
        (lambda folder: same_size_and_time(folder / "a.npy"), r"a\.npy is gone or damaged"),
        (lambda folder: (folder / "a.npy").unlink(), r"a\.npy is gone or damaged"),
        (lambda folder: (folder / "manifest.json").write_text("{"), r"manifest\.json is damaged"),
    ],
)
def test_what_is_unfinished_gone_or_damaged_is_not_read(world, harm, words):
    harm(run(a_npy=np.eye(2)))
    with pytest.raises(ArtifactError, match=words):
        artifacts.load(FIRST, "a.npy", "smoke")


@pytest.mark.parametrize(
    ("place", "name", "value", "words"),
    [
        (lineage, "sources", lambda *_, **__: {"a.py": "other"}, "made by other code: a.py"),
        (lineage, "load_profile", lambda name: LAPTOP, r"smoke: \w+ is \d+ now and was \d+"),
        (manifests, "versions", lambda: {"torch": "99"}, "torch is 99 now and was "),
    ],
)
def test_other_code_sizes_or_libraries_make_stale(world, monkeypatch, place, name, value, words):
    run(a_npy=np.eye(2))
    monkeypatch.setattr(place, name, value)
    with pytest.raises(ArtifactError, match=words):
        artifacts.load(FIRST, "a.npy", "smoke")


def test_what_was_read_of_an_earlier_stage_counts_and_nothing_else(world):
    run(a_npy=np.eye(2), b_npy=np.eye(2))
    second = opened(SECOND)
    second.load(FIRST, "a.npy")
    second.finish({})
    run(a_npy=np.eye(2), b_npy=np.eye(3))
    assert artifacts.why_stage_is_stale(SECOND, "smoke") is None
    run(a_npy=2 * np.eye(2))
    with pytest.raises(ArtifactError, match=f"{SECOND}.*made from another {FIRST}/a.npy"):
        artifacts.load(SECOND, "results.json", "smoke")


def test_files_appear_whole_and_what_dead_processes_left_is_swept(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "old" and list(tmp_path.glob("*.tmp")) == []
    zombie = subprocess.Popen(["true"])  # not waited for
    while psutil.Process(zombie.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    numbers = (4194304, zombie.pid, os.getpid())  # the first is above the largest of a process
    gone, killed, mine = (tmp_path / f".x.json.{number}.tmp" for number in numbers)
    other = tmp_path / ".notes.tmp"
    for left in (gone, killed, mine, other):
        left.write_text("")
    artifacts.sweep(tmp_path)
    zombie.wait()
    assert not gone.exists() and not killed.exists() and mine.exists() and other.exists()


# --- pages

NAMING, OTHER = "01_naming", "02_other"


def test_a_page_is_made_from_the_audits_that_it_names(artifacts_folder, monkeypatch):
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

    def remade(page, study=None):
        opened(page).finish({})
        pages.executed_notebook(page, "smoke").write_text("{}")
        pages.record_page(page, "smoke", pages.page_basis(page, "smoke"), study)

    def stale():
        return [pages.why_page_is_stale(page, "smoke") for page in (NAMING, OTHER)]

    remade(NAMING)
    remade(OTHER)
    assert stale() == [None, None]
    (folder / "mine.yml").write_text("name: another\n")
    assert stale() == [None, None]
    for name in ("own.yml", "own.csv"):
        (folder / name).write_text("name: another\n")
        assert stale() == [f"made by other code: audits/{name}", None]
        remade(NAMING)
    remade(NAMING, "audits/mine.yml")
    assert stale() == ["it shows the study audits/mine.yml and not the example", None]
    remade(NAMING)
    opened(OTHER).finish({"another": 1})
    assert stale() == [None, f"it shows another {OTHER} than there is now"]
