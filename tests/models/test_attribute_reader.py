"""The attribute reader: faces without correlations, training that learns and resumes, its error."""

import numpy as np
import pandas as pd
import pytest
import torch

import facerender
from facerender.parameters import PARAMETERS
from helpers import models
from helpers.models import attribute_reader, training
from helpers.models.attribute_reader import READ

COLOURS = ["red", "blue"]


def patches(n, seed=0):
    """Images whose mean red and blue are the scores: learnable in seconds."""
    generator = np.random.default_rng(seed)
    targets = pd.DataFrame(generator.random((n, 2)), columns=COLOURS)
    images = generator.integers(0, 56, (n, 3, 16, 16)).astype(float)
    images[:, [0, 2]] += 200 * targets.to_numpy()[:, :, None, None]
    return images.astype(np.uint8), targets


# Faces


@pytest.fixture(scope="module")
def drawn():
    return models.decorrelated_faces(4000, seed=5)


def test_attributes_are_uniform_and_independent(drawn):
    frame = facerender.to_frame(drawn)
    names = [name for name in READ if name not in ("earrings", "glasses")]
    for name in names:
        deciles = np.histogram(frame[name], 10, (0, 1))[0]
        assert deciles.sum() == 4000 and abs(deciles - 400).max() < 90, name
    for name in ("earrings", "glasses"):
        assert set(frame[name]) == {0, 1} and frame[name].mean() == pytest.approx(0.5, abs=0.03)
    others = [p.name for p in PARAMETERS if frame[p.name].std() > 0 and p.name not in READ]
    correlation = frame[[*READ, *others]].corr().loc[list(READ)]
    for name in READ:
        correlation.loc[name, name] = 0
    assert correlation.abs().max(axis=None) < 0.075  # 5 standard errors of 10 × 44 correlations


def test_a_face_depends_on_seed_and_number_alone(drawn):
    torch.testing.assert_close(models.decorrelated_faces(7, seed=5), drawn[:7], rtol=0, atol=0)
    assert not torch.equal(models.decorrelated_faces(7, seed=6), drawn[:7])
    facerender.render(drawn[:1], 16)  # valid parameters
    assert drawn.dtype == torch.float32


# Training


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("reader") / "toy.safetensors"
    held_out = patches(60, seed=1)
    return models.train_reader(*patches(600), path, seed=3, epochs=6, held_out=held_out), path


def test_training_learns_to_read(trained):
    found, _ = trained
    assert found.curve["epoch"].tolist() == [1, 2, 3, 4, 5, 6]
    assert found.curve["held_out_loss"].iloc[-1] < found.curve["held_out_loss"].iloc[0]
    images, targets = patches(60, seed=2)
    unread = ((found(images) - targets) ** 2).mean() / targets.var()
    assert (unread < 0.4).all()
    assert found.training.attributes == ("red", "blue") and found.training.images == 600


def test_the_loss_is_the_unread_share_and_accuracy_what_is_almost_right():
    network = torch.nn.Flatten()
    images = torch.tensor([[0.0, 0.5], [0.4, 1.0]]).reshape(2, 2, 1, 1)
    targets = torch.tensor([[0.05, 0.3], [0.9, 1.0]])
    task = attribute_reader.ReadingTask(1, 1, 1, None, torch.tensor([0.5, 0.25]))
    loss, accuracy = task.loss(network, images, targets, 0.5)
    assert loss.item() == pytest.approx((0.1**2 + 0.8**2 + 1.0**2) / 4)
    assert accuracy.item() == 0.5


def test_colours_are_left_alone_where_they_are_read():
    images = np.random.default_rng(0).integers(0, 256, (30, 3, 40, 40)).astype(np.uint8)
    images[:] = images[:, :, :1, :1]  # one colour an image, so that moving changes nothing
    kept = training.augment(images, np.random.default_rng(0), recolour=False)
    np.testing.assert_array_equal(kept.numpy(), images.astype(np.float32) / 255)
    assert not np.allclose(training.augment(images, np.random.default_rng(0)), kept)
    assert not attribute_reader.ReadingTask.recolour


def test_reading_is_clipped_and_does_not_depend_on_the_batch(trained):
    found, _ = trained
    extreme = np.concatenate([patches(30, seed=4)[0], np.full((2, 3, 16, 16), 255, np.uint8)])
    scores = found(extreme)
    assert ((scores >= 0) & (scores <= 1)).all(axis=None)
    np.testing.assert_allclose(scores, found(extreme, batch=7), atol=1e-5)


def test_bad_targets_are_named(tmp_path):
    images, targets = patches(6)
    settings = {"path": tmp_path / "x.safetensors", "seed": 0, "epochs": 1}
    with pytest.raises(ValueError, match="images must be uint8"):
        models.train_reader(images / 255, targets, **settings)
    with pytest.raises(ValueError, match="6 labels of 4 images"):
        models.train_reader(images[:4], targets, **settings)
    with pytest.raises(ValueError, match=r"'red', row 0 is 1\.\d+, a score in"):
        models.train_reader(images, targets + 1, **settings)
