"""Answers that are kept: nothing is computed twice, and nothing of another model is used."""

import numpy as np
import pytest

from faceaudit.black_box import Preparation, ask_and_keep, onnx_model, python_model
from faceaudit.black_box.alignment import TEMPLATE
from faceaudit.black_box.journal import Journal, image_key


class Counting:
    """A model that counts the images it sees, and breaks at some call."""

    def __init__(self, breaks_at=None):
        self.seen, self.calls, self.breaks_at = 0, 0, breaks_at

    def __call__(self, images):
        self.calls += 1
        if self.calls == self.breaks_at:
            raise KeyboardInterrupt
        self.seen += len(images)
        return np.where(images[:, 0, 0, 0] < 30, np.nan, images.mean((1, 2, 3)) / 255)


def test_what_was_answered_is_not_asked_again_even_after_an_interrupt(tmp_path, images):
    images = np.concatenate([images, images[:6]])
    breaking = Counting(breaks_at=3)
    with pytest.raises(KeyboardInterrupt):
        ask_and_keep(python_model(breaking, version="1"), images, tmp_path, batch=5)
    going_on = Counting()
    found = ask_and_keep(python_model(going_on, version="1"), images, tmp_path, batch=5)
    assert (breaking.seen, going_on.seen) == (10, 14)
    expected = python_model(Counting(), version="1").ask(images)
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.reasons.tolist() == expected.reasons.tolist()
    assert "no face found" in found.reasons
    ask_and_keep(python_model(going_on, version="1"), images[::-1], tmp_path)
    assert going_on.seen == 14
    ask_and_keep(python_model(going_on, version="2"), images, tmp_path)
    assert going_on.seen == 14 + 24


def test_vectors_come_back_as_they_were(tmp_path, images, onnx_file):
    matrix = np.random.default_rng(0).normal(size=(3, 6))
    model = onnx_model(onnx_file(matrix), Preparation(), gives="embedding")
    for _ in range(2):
        found = ask_and_keep(model, images, tmp_path, batch=7)
        np.testing.assert_array_equal(found.values, model(images))
    twice = python_model(lambda x: x[:, :, 0, 0] / 3, version="1", gives="embedding")
    kept = [ask_and_keep(twice, images, tmp_path).values for _ in range(2)]
    np.testing.assert_array_equal(*kept)
    np.testing.assert_array_equal(kept[0], images[:, :, 0, 0] / 3)


def test_other_points_are_another_image(tmp_path, images):
    counting = Counting()
    model = python_model(counting, Preparation(16, align="arcface", scale=1 / 255), version="1")
    points = np.tile(TEMPLATE / 7, (24, 1, 1))
    points[3] = np.nan
    first = ask_and_keep(model, images, tmp_path, points=points)
    assert first.reasons[3] == "no face found" and counting.seen == 23
    points[5] += 1
    ask_and_keep(model, images, tmp_path, points=points)
    assert counting.seen == 24


def test_no_images_have_no_answers(tmp_path, images):
    found = ask_and_keep(python_model(Counting(), version="1"), images[:0], tmp_path)
    assert len(found.values) == len(found.reasons) == 0


def test_an_image_is_known_by_pixels_and_shape(images):
    keys = {image_key(one) for one in images}
    assert len(keys) == 24 and image_key(images[0].copy()) in keys
    assert image_key(images[0].reshape(3, 8, 32)) not in keys
    assert image_key(images[0], np.zeros((5, 2))) not in keys


def test_a_journal_cut_anywhere_keeps_all_whole_lines(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Journal(path, {"model": "x"}) as journal:
        journal.add_all({f"{k}": {"answer": k / 8, "calls": 1} for k in range(4)})
    content = path.read_bytes()
    for end in range(0, len(content) + 1, 7):
        path.write_bytes(content[:end])
        whole = max(content[:end].count(b"\n") - 1, 0)
        with Journal(path, {"model": "x"}) as journal:
            assert list(journal.entries) == [f"{k}" for k in range(whole)]
            assert journal.calls == whole
            journal.add("new", {"answer": 1.0})
        with Journal(path, {"model": "x"}) as journal:
            assert journal.entries["new"] == {"answer": 1.0} and len(journal.entries) == whole + 1


def test_a_journal_of_something_else_is_refused(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Journal(path, {"model": "x"}):
        pass
    with (
        pytest.raises(ValueError, match="answers are of .*'x'.* not of .*'y'"),
        Journal(path, {"model": "y"}),
    ):
        pass
