"""The whole way in the face world, with a model whose bias is known, and a truth to compare."""

import threading
from queue import Queue

import numpy as np
import pytest

from faceaudit.faces import World
from faceaudit.run import folders, run_audit
from faceaudit.specification import read_specification
from facerender import INDEX
from facerender.parameters import to_frame
from helpers.utils.parallel import alone

FILE = """\
name: world
question: Does darker skin make the model err more often?
generator: {kind: known-truth, base_faces: 40}
axes: [skin_colour, gender]
annotated: [makeup]
classes: [female, male]
model: {kind: python, function: "%s:%s", version: "1", input: {size: 16, range: [0, 255]}}
design: {tolerance: 0.05, transects: 30}
"""
CALLS = []


def prejudiced(images):
    """Answers by the brightness of the middle of the face: dark skin is called male."""
    CALLS.append(len(images))
    middle = np.asarray(images, dtype=float)[:, :, 6:11, 6:11].mean((1, 2, 3)) / 255
    return np.clip(1.0 - middle, 0, 1)


def silent(images):
    """Finds a face only where the picture is bright."""
    answers = prejudiced(images)
    return np.where(answers > 0.7, np.nan, answers)


def fickle(images):
    return np.random.default_rng().random(len(images))


def stubborn(images):
    return np.full(len(images), 0.5)


def logits(images):
    return prejudiced(images) * 20 - 10


@pytest.fixture
def world_file(home):
    def written(function: str, text: str = FILE):
        path = home / "world.yml"
        path.write_text(text % (__name__, function), encoding="utf-8")
        return path

    return written


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """pytest imports this module by its file; the audit imports it by its name."""
    import sys

    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this())


def _this():
    import types

    module = types.ModuleType(__name__)
    module.__dict__.update(globals())
    return module


def test_from_file_to_report_with_the_truth_beside(world_file):
    path = world_file("prejudiced")
    CALLS.clear()
    report = run_audit(path)
    assert report.data["images"] == 120 and report.plan.kept
    assert all(row.truth is not None for row in [*report.effects, *report.averages])
    skin = [row for row in report.effects if row.axis == "skin_colour"]
    assert [np.sign(row.truth) for row in skin] == [1, -1], "dark skin is called male"
    for row in skin:
        assert row.low - 0.25 < row.truth < row.high + 0.25
    assert report.provenance["model"]["version"] == "1"
    assert report.leakage and abs(report.leakage[0].estimate) < 0.05
    asked = sum(CALLS)
    CALLS.clear()
    # Beside what the check of the model asks, there are 120 images and 160 of the truth.
    again = run_audit(path)
    assert again.effects == report.effects and again.plan.sha256 == report.plan.sha256
    assert sum(CALLS) == asked - 280, "what was answered is not asked again"


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("fickle", "fickle: .* for the same image"),
        ("stubborn", "stubborn: the answer is 0.5 for all"),
        ("logits", "logits.*"),
        ("missing", "missing"),
    ],
)
def test_a_model_that_is_none_is_refused_in_one_sentence(world_file, function, told):
    with pytest.raises(ValueError, match=told) as raised:
        run_audit(world_file(function))
    assert "\n" not in str(raised.value)


def test_only_the_axes_differ_within_a_unit(world_file):
    world = World.of(read_specification(world_file("prejudiced")))
    index, parameters = world.faces(10)
    frame = to_frame(parameters).drop(columns="hair_style").astype(float)
    spread = frame.groupby(index["unit"]).agg(np.ptp).max()
    moved = spread[spread > 0.05].index.tolist()
    assert sorted(set(moved) - {"artefacts"}) == ["gender", "skin_colour"]
    skin = parameters[:, INDEX["skin_colour"]].numpy()
    assert np.allclose(skin, np.where(index["skin_colour_level"] == 1, 0.8, 0.2), atol=1e-5)


def test_the_second_of_two_runs_waits_for_the_first(world_file):
    path, said = world_file("prejudiced"), Queue()
    kept, written = folders(read_specification(path))
    with alone(kept / ".lock"):  # as another process would
        second = threading.Thread(target=run_audit, args=(path, said.put), daemon=True)
        second.start()
        assert said.get(timeout=60).startswith(f"waiting: another process uses {kept}")
        assert not (kept / "plan.json").exists()
    second.join(timeout=300)
    assert (written / "report.json").is_file()
