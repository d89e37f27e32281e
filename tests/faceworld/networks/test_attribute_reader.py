"""The attribute reader: faces without correlations, training that learns and resumes, its error."""

import numpy as np
import pandas as pd
import pytest

import facerender
from facerender.parameters import PARAMETERS
from faceworld import networks
from faceworld.networks.attribute_reader import READ_ATTRIBUTES

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
    return networks.decorrelated_faces(4000, seed=5)


def test_attributes_are_uniform_and_independent(drawn):
    frame = facerender.to_frame(drawn)
    names = [name for name in READ_ATTRIBUTES if name not in ("earrings", "glasses")]
    for name in names:
        deciles = np.histogram(frame[name], 10, (0, 1))[0]
        assert deciles.sum() == 4000 and abs(deciles - 400).max() < 90, name
    for name in ("earrings", "glasses"):
        assert set(frame[name]) == {0, 1} and frame[name].mean() == pytest.approx(0.5, abs=0.03)
    others = [
        p.name for p in PARAMETERS if frame[p.name].std() > 0 and p.name not in READ_ATTRIBUTES
    ]
    correlation = frame[[*READ_ATTRIBUTES, *others]].corr().loc[list(READ_ATTRIBUTES)]
    for name in READ_ATTRIBUTES:
        correlation.loc[name, name] = 0
    assert correlation.abs().max(axis=None) < 0.075  # 5 standard errors of 10 × 44 correlations


# Training


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("reader") / "toy.safetensors"
    held_out = patches(60, seed=1)
    return networks.train_reader(*patches(600), path, seed=3, epochs=6, held_out=held_out), path


def test_training_learns_to_read(trained):
    found, _ = trained
    assert found.curve["epoch"].tolist() == [1, 2, 3, 4, 5, 6]
    assert found.curve["held_out_loss"].iloc[-1] < found.curve["held_out_loss"].iloc[0]
    images, targets = patches(60, seed=2)
    unread = ((found(images) - targets) ** 2).mean() / targets.var()
    assert (unread < 0.4).all()
    assert found.training.attributes == ("red", "blue") and found.training.images == 600


def test_bad_targets_are_named(tmp_path):
    images, targets = patches(6)
    settings = {"path": tmp_path / "x.safetensors", "seed": 0, "epochs": 1}
    with pytest.raises(ValueError, match=r"'red', row 0 is 1\.\d+, a score in"):
        networks.train_reader(images, targets + 1, **settings)
