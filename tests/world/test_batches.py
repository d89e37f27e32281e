"""Sets of rendered faces: the same pixels however they were made, and anew for another renderer."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import facerender
from helpers.artifacts import lineage
from helpers.verification.people import render_heads
from helpers.world import batches
from helpers.world.batches import render_to_store

SIZE = 4
PARAMETERS = facerender.defaults(10)
PARAMETERS[:, :3] = torch.linspace(0, 1, 30).reshape(10, 3)


def flat(parameters, size, supersampling=1):
    """Every image has the colour of its first three parameters."""
    image = parameters[:, :3, None, None].expand(-1, -1, size, size)
    return SimpleNamespace(image=image / supersampling)


class Recorder:
    """Renders like `flat` and remembers what was asked for."""

    def __init__(self):
        self.batches = []

    def __call__(self, parameters, size, supersampling=1):
        self.batches.append(parameters)
        return flat(parameters, size, supersampling)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "faces.npy"


def store(path, render=flat, parameters=PARAMETERS, size=SIZE, chunk=3, **settings):
    return render_to_store(parameters, size, path, chunk=chunk, render=render, **settings)


def expected():
    colours = np.round(PARAMETERS[:, :3].numpy() * 255).astype(np.uint8)
    return np.broadcast_to(colours[:, :, None, None], (10, 3, SIZE, SIZE))


@pytest.mark.parametrize("chunk", [1, 3, 64, None])
def test_chunks_do_not_matter(path, chunk):
    made = store(path, chunk=chunk)
    np.testing.assert_array_equal(made, expected())


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": PARAMETERS.flip(0)},
        {"parameters": PARAMETERS[:9]},
        {"size": 5},
        {"supersampling": 2},
    ],
)
def test_other_content_is_made_anew(path, change):
    store(path)
    again = Recorder()
    made = store(path, again, **change)
    assert len(torch.cat(again.batches)) == len(made) == len(change.get("parameters", PARAMETERS))


def test_a_changed_renderer_makes_anew(path, monkeypatch):
    store(path)
    monkeypatch.setattr(batches, "_CODE", "another source, or another version of torch")
    again = Recorder()
    store(path, again)
    assert len(torch.cat(again.batches)) == 10


def test_the_renderer_counts_and_what_it_renders_for_does_not():
    counted = lineage.helper_modules(Path(batches.__file__), executed=False)
    names = {str(path.relative_to(lineage.SOURCE)) for path in counted}
    assert {"facerender/rendering.py", "facerender/shading.py", "facerender/hair.py"} <= names
    others = {"world/populations.py", "models/training.py", "effects/labels.py"}
    assert not {f"helpers/{other}" for other in others} & names


def test_values_outside_the_range_are_clipped_and_holes_refused(path):
    parameters = facerender.defaults(1)
    parameters[0, :3] = torch.tensor([0, 0.5, 1])

    def stretched(parameters, size, supersampling=1):
        return SimpleNamespace(image=2 * flat(parameters, size).image - 0.5)

    made = store(path, stretched, parameters)
    assert made[0, :, 0, 0].tolist() == [0, 128, 255]

    def holes(parameters, size, supersampling=1):
        return SimpleNamespace(image=flat(parameters, size).image * float("nan"))

    with pytest.raises(ValueError, match="values that are not numbers"):
        store(path, holes, size=5)


def test_another_renderer_makes_anew(tmp_path):
    parameters = facerender.defaults(2)
    whole = render_to_store(parameters, 16, tmp_path / "faces.npy").copy()
    path, render = tmp_path / "faces.npy", render_heads
    heads = render_to_store(parameters, 16, path, render=render)
    assert (heads[:, :, 0, 0] == 255).all() and (whole[:, :, 0, 0] != 255).any()


def test_parameters_that_no_face_has_are_refused_before_work_begins(path):
    parameters = PARAMETERS.clone()
    parameters[7, facerender.INDEX["age"]] = 2
    again = Recorder()
    with pytest.raises(ValueError, match="'age'.*row 7"):
        store(path, again, parameters)
    with pytest.raises(ValueError, match="expected shape"):
        store(path, again, PARAMETERS[:, :5])
    assert not again.batches and not path.exists()


@pytest.mark.parametrize(
    "wrong", [{"size": 0}, {"size": 16.5}, {"supersampling": 0}, {"chunk": -1}]
)
def test_counts_must_be_positive_integers(path, wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(ValueError, match=f"{name} is {value}, a whole number of at least 1"):
        store(path, **wrong)
    assert not path.exists()


def test_no_gpu(path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="DEVICE=cuda asked for"):
        store(path, device="cuda")
