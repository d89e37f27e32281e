"""A wrong preparation is noticed by what another one separates; a right one is left alone."""

import warnings

import numpy as np
import pytest

from faceaudit.black_box import (
    LocalModel,
    Preparation,
    Reading,
    better_preparation,
    check_preparation,
    python_model,
)


def coloured(n, seed):
    """Faces of class 1 are redder on the whole, and darker."""
    chance = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    colour = chance.normal(110, 25, (n, 3, 1, 1))
    colour[:, 0, 0, 0] += 30 * labels
    noise = chance.normal(0, 20, (n, 3, 8, 8))
    return (colour + noise).clip(0, 255).astype(np.uint8), labels


def network(ready):
    """Trained on RGB in [0, 1]: its unit is saturated by 0–255, and not by −1–1."""
    means = ready.mean((2, 3))
    return np.tanh(3 * (means[:, 0] - 0.5 * means[:, 1] - 0.5 * means[:, 2]))


def model(preparation):
    return LocalModel("faces.onnx", {}, network, preparation, Reading(activation="sigmoid"))


def test_the_right_preparation_is_left_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(5):
            table = check_preparation(model(Preparation()), *coloured(100, seed))
            assert table["gain"].iloc[0] == table["low"].iloc[0] == 0
            assert better_preparation(table) == ""
    assert len(table) == 6 and table["separation"].iloc[0] > 0.7


def test_exchanged_channels_are_warned_of():
    images, labels = coloured(100, 9)
    with pytest.warns(UserWarning, match="faces.onnx: with the preparation rgb, pix") as warned:
        table = check_preparation(model(Preparation(channels="bgr")), images, labels)
    sentence = better_preparation(table)
    assert str(warned[0].message) == f"faces.onnx: {sentence}"
    assert warned[0].filename == __file__
    assert "check input.channels and input.range against" in sentence
    best = table.loc[table["separation"].idxmax()]
    assert best["channels"] == "rgb" and best["low"] > 0.05


def test_another_scale_is_warned_of():
    images, labels = coloured(200, 9)
    wrong = model(Preparation(scale=1.0))
    with pytest.warns(UserWarning, match="separates faces better"):
        table = check_preparation(wrong, images, labels)
    best = table.loc[table["separation"].idxmax()]
    assert best["pixels"] in ("0 to 1", "−1 to 1") and best["channels"] == "rgb"


def test_a_recogniser_is_judged_by_people():
    chance = np.random.default_rng(4)
    people = np.repeat(np.arange(12), 5)
    looks = chance.uniform(20, 235, (12, 3, 1, 1))[people]
    images = (looks + chance.normal(0, 12, (60, 3, 8, 8))).clip(0, 255).astype(np.uint8)

    def vectors(ready):  # what lies beyond [−1, 1] is lost
        return np.concatenate([ready.mean((2, 3)).clip(-1, 1), np.full((len(ready), 1), 0.2)], 1)

    def asked(scale, mean):
        return LocalModel(
            "r.onnx", {}, vectors, Preparation(scale=scale, mean=mean), Reading(gives="embedding")
        )

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_preparation(asked(1 / 127.5, 1.0), images, people)
    with pytest.warns(UserWarning, match="preparation rgb, pixels .*1, it separates"):
        table = check_preparation(asked(1.0, 0.0), images, people)
    assert table["separation"].iloc[0] == pytest.approx(0.5)
    with pytest.raises(ValueError, match="three people or more"):
        check_preparation(asked(1.0, 0.0), images, people > 5)


def test_the_separation_is_the_area_under_the_curve():
    from sklearn.metrics import roc_auc_score

    images, labels = coloured(60, 2)
    asked = model(Preparation())
    table = check_preparation(asked, images, labels)
    expected = roc_auc_score(labels, asked(images))
    assert table["separation"].iloc[0] == pytest.approx(expected)


def test_a_preparation_that_the_model_refuses_has_no_separation():
    def picky(ready):
        if ready.max() > 1:
            raise RuntimeError("too bright")
        return ready.mean((1, 2, 3))

    images, labels = coloured(40, 1)
    table = check_preparation(python_model(picky, Preparation(), version="1"), images, labels)
    assert table["separation"].isna().any() and np.isfinite(table["separation"].iloc[0])


def test_questions_that_cannot_be_answered_are_refused():
    images, labels = coloured(10, 1)
    with pytest.raises(ValueError, match="two faces or more of each class"):
        check_preparation(model(Preparation()), images, 0 * labels)
    with pytest.raises(ValueError, match="takes images as they are"):
        check_preparation(python_model(network, version="1"), images, labels)
