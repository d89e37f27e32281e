"""What models answer and how it is kept; what is no model says so in one sentence."""

import sys
import types

import numpy as np
import pytest
import torch
from onnx_made import means
from scipy.special import expit, softmax

from faceaudit.answers import Reading, ask_and_keep, has_answers, image_key
from faceaudit.model_input import TEMPLATE, Preparation
from faceaudit.models import check_model, local_model
from faceaudit.parts import Onnx, PythonModel

RED = [[1.0], [0.0], [0.0]]
THREE = [[0, 4.0], [0, 0], [3.0, 0]]
IMAGES = np.random.default_rng(7).integers(0, 256, (24, 3, 16, 16)).astype(np.uint8)
SHARES = IMAGES.mean((2, 3)) / 255
VECTORS = Reading("embedding")
BY_POINTS = Preparation(size=16, align="arcface")
PLACE = sys.modules["place_of_test"] = types.ModuleType("place_of_test")


def python(function, given=None, reading=None, version="1"):
    """A model of a function; one that is not named is put where its name leads."""
    if not isinstance(function, str):
        PLACE.function, function = function, "place_of_test:function"
    given, reading = given or Preparation(size=16), reading or Reading()
    output = {"index": reading.index, "activation": reading.activation}
    part = PythonModel(
        kind="python", function=function, version=version, input=given, output=output
    )
    return local_model(part, gives=reading.gives)


def onnx_model(path, given, reading):
    output = {"index": reading.index, "activation": reading.activation}
    return local_model(
        Onnx(kind="onnx", path=path, input=given, output=output), gives=reading.gives
    )


def red(ready):
    return ready[:, 0].mean((1, 2))


def test_logits_go_through_their_activation(tmp_path):
    path = means(tmp_path / "m.onnx", RED)
    sigmoid = onnx_model(path, Preparation(size=16), Reading(activation="sigmoid"))
    np.testing.assert_allclose(sigmoid.ask(IMAGES).values, expit(SHARES[:, 0]), atol=1e-6)
    path = means(tmp_path / "m.onnx", THREE)
    second = onnx_model(path, Preparation(size=16), Reading(activation="softmax", index=1))
    expected = softmax(SHARES @ np.array(THREE), axis=1)[:, 1]
    np.testing.assert_allclose(second.ask(IMAGES).values, expected, atol=1e-6)


def test_no_face_found_is_an_answer_and_the_others_do_not_change():
    seen = []

    def network(ready):
        seen.append(len(ready))
        return ready.reshape(len(ready), -1)[:, :7] + ready.mean((1, 2, 3))[:, None]

    points = np.tile(TEMPLATE / 7, (24, 1, 1))
    points[[0, 5]] = np.nan
    model = python(network, BY_POINTS, VECTORS)
    found = model.ask(IMAGES, points)
    assert (found.reasons == "no face found").nonzero()[0].tolist() == [0, 5] and sum(seen) == 22
    assert np.isnan(found.values[[0, 5]]).all() and np.isfinite(found.values[1:5]).all()
    nothing = model.ask(IMAGES[:2], points[:2] * np.nan)
    assert np.isnan(nothing.values).all() and (nothing.reasons != "").all()
    with pytest.raises(ValueError, match="needs five points of every face"):
        model.ask(IMAGES)


def test_the_hash_changes_with_all_that_answers_depend_on(tmp_path):
    path, options = means(tmp_path / "m.onnx", THREE), {"activation": "softmax", "index": 1}
    model = onnx_model(path, Preparation(size=16), Reading(**options))
    renamed = means(tmp_path / "renamed.onnx", THREE)
    assert onnx_model(renamed, Preparation(size=16), Reading(**options)).hash == model.hash
    other = means(tmp_path / "b.onnx", 2 * np.array(THREE))
    others = [
        onnx_model(path, Preparation(size=16), Reading(**options | {"index": 0})),
        onnx_model(path, Preparation(size=16, channels="bgr"), Reading(**options)),
        onnx_model(other, Preparation(size=16), Reading(**options)),
    ]
    assert len({model.hash, *(one.hash for one in others)}) == 4
    assert model.card()["file"] == "m.onnx" and model.card()["hash"] == model.hash


# --- what is refused

chance = np.random.default_rng(1)
batch_norm = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Flatten())


def training(ready):
    with torch.no_grad():
        return batch_norm(torch.from_numpy(ready)).numpy()


REFUSED = [
    (lambda x: 9 * red(x), Reading(), "answers from .* to sigmoid or softmax"),
    (
        lambda x: np.full((len(x), 2), 0.5),
        Reading(),
        "output.index is missing, but there are 2",
    ),
    (lambda x: np.ones((len(x), 2)), Reading(index=2), "output.index is 2, but there are 2 numb"),
    (red, Reading(activation="softmax"), "softmax always makes 1; set output.activation"),
    (lambda x: np.full(len(x) + 1, 0.5), Reading(), r"shape \(25,\) for 24 images, 24 rows"),
    (lambda x: ["male"] * len(x), Reading(), "the answers are no numbers"),
    (lambda x: np.full(len(x), np.inf), Reading(), "the answer is inf for image 0"),
    (lambda x: 1 / 0, Reading(), "failed on images .*ZeroDivisionError"),
    ("math:pi", Reading(), "is a float, no function"),
    (red, VECTORS, "one number an image is no vector"),
    (lambda x: np.full(len(x), 0.5), Reading(), "the answer is 0.5 for all of 24 different images"),
    (lambda x: np.ones((len(x), 4)), VECTORS, "the answer is one vector for all"),
    (lambda x: np.full(len(x), np.nan), Reading(), "no face found in any of 24 images"),
    (lambda x: chance.random(len(x)), Reading(), "for the same image .* turn off dropout"),
    # The statistics of a batch: what else is in it counts.
    (lambda x: (red(x) - red(x).mean() + 1) / 2, Reading(), "for the same image .*batch stat"),
    (training, VECTORS, "two answers for the same image"),
    ("no_such_module:score", Reading(), "no_such_module:score' cannot be imported .* PYTHONPATH"),
    ("math:score", Reading(), "no attribute 'score'"),
]


@pytest.mark.parametrize(("function", "reading", "told"), REFUSED)
def test_what_is_no_model_is_refused(function, reading, told):
    with pytest.raises(ValueError, match=told):
        check_model(python(function, reading=reading), IMAGES)


# --- kept answers


class Counting:
    """A model that counts the images it sees, and breaks at some call."""

    def __init__(self, breaks_at=None):
        self.seen, self.calls, self.breaks_at = 0, 0, breaks_at

    def __call__(self, images):
        self.calls += 1
        if self.calls == self.breaks_at:
            raise KeyboardInterrupt
        self.seen += len(images)
        return np.where(images[:, 0, 0, 0] < 0.1, np.nan, images.mean((1, 2, 3)))


def test_what_was_answered_is_not_asked_again_even_after_an_interrupt(tmp_path, monkeypatch):
    monkeypatch.setattr("faceaudit.models.KEPT_TOGETHER", 5)
    images = np.concatenate([IMAGES, IMAGES[:6]])
    images[3] = 0
    breaking, going_on = Counting(breaks_at=3), Counting()
    assert not has_answers(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        ask_and_keep(python(breaking), images, tmp_path)
    assert has_answers(tmp_path)
    found = ask_and_keep(python(going_on), images, tmp_path)
    assert breaking.seen == 10 and breaking.seen + going_on.seen == len({*map(image_key, images)})
    expected = python(Counting()).ask(images)
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.reasons.tolist() == expected.reasons.tolist()
    assert found.reasons[3] == "no face found"
    seen = going_on.seen
    ask_and_keep(python(going_on), images[::-1], tmp_path)
    assert going_on.seen == seen
    ask_and_keep(python(going_on, version="2"), images, tmp_path)
    assert going_on.seen > seen


def test_vectors_come_back_as_they_were_and_other_points_are_another_image(tmp_path):
    calls = []

    def thirds(ready):
        calls.append(len(ready))
        return ready[:, :, 0, 0].astype(float) / 3

    model, points = python(thirds, BY_POINTS, VECTORS), np.tile(TEMPLATE / 7, (24, 1, 1))
    points[3] = np.nan
    for _ in range(2):
        kept = ask_and_keep(model, IMAGES, tmp_path, points)
        np.testing.assert_array_equal(kept.values, model.ask(IMAGES, points).values)
    calls.clear()
    points[5] += 1
    ask_and_keep(model, IMAGES, tmp_path, points)
    assert calls == [1]
