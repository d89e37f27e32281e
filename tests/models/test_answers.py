"""Answers in chunks: asked once, asked again where something changed, refused where they misfit."""

import numpy as np
import pandas as pd
import pytest

from helpers.models.answers import answers_about

IMAGES = np.random.default_rng(0).integers(0, 256, (7, 3, 4, 4), dtype=np.uint8)


class Model:
    """Says how bright images are, and remembers how many it saw."""

    def __init__(self, fails=False):
        self.seen, self.fails = [], fails

    def __call__(self, images):
        if self.fails and self.seen:
            raise ConnectionError("gone")
        self.seen.append(len(images))
        return images.mean((1, 2, 3)) / 255


def ask(folder, model, images=IMAGES, version="1"):
    return answers_about(images, model, folder, version=version, chunk=3)


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.delenv("SCHEDULER", raising=False)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")


def test_every_chunk_is_asked_once_also_after_an_interruption(tmp_path):
    with pytest.raises(ConnectionError):
        ask(tmp_path, Model(fails=True))
    model = Model()
    found = ask(tmp_path, model)
    np.testing.assert_array_equal(found["answer"], IMAGES.mean((1, 2, 3)) / 255)
    pd.testing.assert_frame_equal(ask(tmp_path, model), found)
    assert sorted(model.seen) == [1, 3]


def test_only_what_changed_is_asked_again(tmp_path):
    ask(tmp_path, Model())
    other = IMAGES.copy()
    other[4] = 0
    model = Model()
    assert ask(tmp_path, model, other)["answer"][4] == 0
    assert model.seen == [3]
    model = Model()
    ask(tmp_path, model, other, version="2")
    assert sorted(model.seen) == [1, 3, 3]
    assert len(list(tmp_path.iterdir())) == 3


def test_what_misfits_is_refused(tmp_path):
    assert list(ask(tmp_path, lambda images: np.zeros((len(images), 2)))) == [
        "answer_0",
        "answer_1",
    ]
    with pytest.raises(ValueError, match="an answer about each of 3 images, got 1"):
        ask(tmp_path / "other", lambda images: np.zeros(1))
    with pytest.raises(ValueError, match="uint8"):
        ask(tmp_path, Model(), IMAGES / 255)
