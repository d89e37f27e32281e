"""Sets of rendered faces: the same pixels however they were made, and anew for another renderer."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import facerender
from faceworld import rendering
from faceworld.people import render_heads
from faceworld.rendering import render_to_store
from helpers.artifacts import lineage

SIZE = 4
PARAMETERS = facerender.defaults(10)
PARAMETERS[:, :3] = torch.linspace(0, 1, 30).reshape(10, 3)


def flat(parameters, size):
    """Every image has the colour of its first three parameters."""
    image = parameters[:, :3, None, None].expand(-1, -1, size, size)
    return SimpleNamespace(image=image)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "faces.npy"


def store(path, render=flat, parameters=PARAMETERS, size=SIZE, **settings):
    return render_to_store(parameters, size, path, render=render, **settings)


def expected():
    colours = np.round(PARAMETERS[:, :3].numpy() * 255).astype(np.uint8)
    return np.broadcast_to(colours[:, :, None, None], (10, 3, SIZE, SIZE))


def test_the_renderer_counts_and_what_it_renders_for_does_not():
    counted = lineage.dependencies(Path(rendering.__file__)).modules
    names = {str(path.relative_to(lineage.SOURCE)) for path in counted}
    assert {"facerender/rendering.py", "facerender/surface.py", "facerender/hair.py"} <= names
    others = {"world/populations.py", "models/training.py", "effects/labels.py"}
    assert not {f"helpers/{other}" for other in others} & names


def test_values_outside_the_range_are_clipped_and_holes_refused(path):
    parameters = facerender.defaults(1)
    parameters[0, :3] = torch.tensor([0, 0.5, 1])

    def stretched(parameters, size):
        return SimpleNamespace(image=2 * flat(parameters, size).image - 0.5)

    made = store(path, stretched, parameters)
    assert made[0, :, 0, 0].tolist() == [0, 128, 255]

    def holes(parameters, size):
        return SimpleNamespace(image=flat(parameters, size).image * float("nan"))

    with pytest.raises(ValueError, match="values that are not numbers"):
        store(path, holes, size=5)


def test_another_renderer_makes_anew(tmp_path):
    parameters = facerender.defaults(2)
    whole = render_to_store(parameters, 16, tmp_path / "faces.npy").copy()
    path, render = tmp_path / "faces.npy", render_heads
    heads = render_to_store(parameters, 16, path, render=render)
    assert (heads[:, :, 0, 0] == 255).all() and (whole[:, :, 0, 0] != 255).any()


def test_what_was_rendered_is_kept_until_anything_changes(path, monkeypatch):
    rendered = []

    def render(parameters, size):
        rendered.append(len(parameters))
        return flat(parameters, size)

    np.testing.assert_array_equal(store(path, render), expected())
    store(path, render)
    assert rendered == [10]
    store(path, render, size=5)
    store(path, render, PARAMETERS[:9], 5)
    monkeypatch.setattr(rendering, "_CODE", "another source, or another version of torch")
    store(path, render, PARAMETERS[:9], 5)
    assert rendered == [10, 10, 9, 9]


def test_refusals_come_before_work_begins(path):
    too_old = PARAMETERS.clone()
    too_old[7, facerender.INDEX["age"]] = 2
    for wrong, message in (
        ({"parameters": too_old}, "'age'.*row 7"),
        ({"parameters": PARAMETERS[:, :5]}, "expected shape"),
        ({"size": 0}, "size is 0, a whole number of at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            store(path, lambda *_: pytest.fail("rendered all the same"), **wrong)
    assert not path.exists()
