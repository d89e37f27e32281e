"""Recognisers: losses by hand, and training that learns and resumes."""

import itertools
import math

import numpy as np
import pytest
import torch

from faceworld.networks import recognisers


def people(identities, each, seed=0):
    """Noisy pictures of as many random colour patterns, 32 px."""
    generator = np.random.default_rng(seed)
    faces_ = generator.integers(40, 215, (identities, 3, 4, 4)).repeat(8, 2).repeat(8, 3)
    images = faces_.repeat(each, 0) + generator.integers(-40, 40, (identities * each, 3, 32, 32))
    return images.clip(0, 255).astype(np.uint8), np.repeat(np.arange(identities), each)


# Losses


def test_margins_are_the_published_ones():
    angle = torch.linspace(0.1, 3.0, 30)
    full = recognisers.arcface(torch.cos(angle), 1.0)
    torch.testing.assert_close(
        full, torch.cos((angle + 0.25).clamp(max=math.pi)), atol=2e-3, rtol=0
    )
    full = recognisers.sphereface(torch.cos(angle), 1.0)
    expected = [math.cos(min(1.4, math.pi / a) * a) for a in angle.tolist()]
    torch.testing.assert_close(full, torch.tensor(expected), atol=2e-3, rtol=0)


def test_the_loss_is_cross_entropy_with_the_margin_on_the_own_identity():
    torch.manual_seed(0)
    network = recognisers.RecognitionNet(5)
    images, labels = torch.rand(4, 3, 32, 32), torch.tensor([0, 3, 3, 1])
    task = recognisers.RecognitionTask(1, 1, 1, None, recognisers.arcface)
    loss, accuracy = task.loss(network.eval(), images, labels, 1.0)
    vectors = network(images)
    directions = network.identities / network.identities.norm(dim=1, keepdim=True)
    total, hits = 0.0, 0
    for vector, label in zip(vectors, labels.tolist(), strict=True):
        angles = torch.acos(directions @ vector)
        hits += int(angles.argmin() == label)
        angles[label] += 0.25
        total -= torch.log_softmax(20 * torch.cos(angles), 0)[label]
    assert loss.item() == pytest.approx(total.item() / 4, rel=1e-4)
    assert accuracy.item() == hits / 4


# Training


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("recognition") / "toy.safetensors"
    images, labels = people(20, 10)
    recogniser = recognisers.train_recogniser(
        images, labels, path, loss="arcface", epochs=4, seed=3, held_out=people(10, 5, seed=1)
    )
    return recogniser, path


def test_training_learns_to_recognise_people_it_has_not_seen(trained):
    recogniser, _ = trained
    assert recogniser.curve["epoch"].tolist() == [1, 2, 3, 4]
    assert recogniser.curve["accuracy"].iloc[-1] > recogniser.curve["accuracy"].iloc[0]
    assert recogniser.held_out_eer < 0.2
    assert recogniser.training.identities == 20


def test_vectors_have_unit_length_and_do_not_depend_on_the_batch(trained):
    recogniser, _ = trained
    images, _ = people(6, 2, seed=2)
    vectors = recogniser(images)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(
        vectors, np.concatenate([recogniser(images[:5]), recogniser(images[5:])]), atol=1e-5
    )


def test_equal_error_rate_is_that_of_a_brute_force_search():
    generator = np.random.default_rng(0)
    labels = np.repeat(np.arange(8), 4)
    vectors = generator.normal(size=(8, 5))[labels] + 1.2 * generator.normal(size=(32, 5))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    images = np.zeros((32, 3, 16, 16), np.uint8)
    found = recognisers.held_out_error(lambda _: vectors, images, labels)
    pairs = list(itertools.combinations(range(32), 2))
    similar = np.array([vectors[i] @ vectors[j] for i, j in pairs])
    same = np.array([labels[i] == labels[j] for i, j in pairs])
    rates = [((similar[~same] >= t).mean(), (similar[same] < t).mean()) for t in similar]
    best = min(rates, key=lambda rate: abs(rate[0] - rate[1]))
    assert 0.05 < found < 0.5 and found == pytest.approx(sum(best) / 2, abs=1e-3)
