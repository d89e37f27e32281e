import numpy as np
import pytest
import torch
from scipy.linalg import sqrtm

from helpers import models
from helpers.models import sample_quality
from helpers.models.networks import SmallNet


@pytest.fixture
def clouds():
    random = np.random.default_rng(3)
    real = random.normal(size=(400, 5)) @ random.normal(size=(5, 5))
    return real, 0.8 * real[::2] + random.normal(size=(200, 5)) + 0.5


def test_frechet_distance_agrees_with_a_matrix_square_root(clouds):
    real, made = clouds
    first, second = np.cov(real.T), np.cov(made.T)
    expected = np.square(real.mean(0) - made.mean(0)).sum()
    expected += np.trace(first + second - 2 * sqrtm(first @ second).real)
    assert sample_quality.frechet_distance(real, made) == pytest.approx(expected, rel=1e-9)
    assert sample_quality.frechet_distance(real, real) == pytest.approx(0, abs=1e-9)


def test_precision_and_recall_agree_with_loops(clouds):
    real, made = clouds[0][:60], clouds[1][:40]

    def share(asked, balls):
        count = 0
        for point in asked:
            for i, centre in enumerate(balls):
                others = sorted(
                    np.linalg.norm(balls[j] - centre) for j in range(len(balls)) if j != i
                )
                if np.linalg.norm(point - centre) <= others[2]:
                    count += 1
                    break
        return count / len(asked)

    found = sample_quality.precision_recall(real, made, neighbours=3)
    assert found == pytest.approx((share(made, real), share(real, made)))


def test_samples_of_one_kind_only_have_precision_without_recall():
    random = np.random.default_rng(4)
    real = np.concatenate([random.normal(-20, 1, (200, 2)), random.normal(20, 1, (200, 2))])
    precision, recall = sample_quality.precision_recall(
        real, random.normal(20, 1, (200, 2)), neighbours=3
    )
    assert precision > 0.9
    assert recall < 0.55


def test_features_are_what_the_last_layer_sees(tmp_path):
    torch.manual_seed(1)
    network = SmallNet().eval()
    model = models.AuditedModel(network, training=None, curve=None)
    images = np.random.default_rng(5).integers(0, 256, (5, 3, 32, 32), dtype=np.uint8)
    seen = sample_quality.features(model, images, batch=2)
    with torch.no_grad():
        logits = network.head(torch.from_numpy(seen).float())
        direct = network(torch.from_numpy(images).float() / 255)
    assert seen.shape == (5, 96)
    assert torch.allclose(logits, direct, atol=1e-5)
    sample_quality.features(model, images)
    assert not network.head._forward_pre_hooks


@pytest.mark.parametrize(
    ("real", "made", "message"),
    [
        (np.zeros((9, 2)), np.zeros((9, 3)), "not \\(9, 2\\) and \\(9, 3\\)"),
        (
            np.zeros((9, 2)),
            np.full((9, 2), np.nan),
            "made: row 0, column 0 is nan, a finite number",
        ),
    ],
)
def test_sets_that_do_not_fit_are_refused(real, made, message):
    with pytest.raises(ValueError, match=message):
        sample_quality.frechet_distance(real, made)


@pytest.mark.parametrize(("n", "m", "missing"), [(9, 20, True), (20, 9, True), (20, 20, False)])
def test_a_covariance_needs_more_images_than_features(n, m, missing):
    cloud = np.random.default_rng(6).normal(size=(20, 9))
    assert np.isnan(sample_quality.frechet_distance(cloud[:n], cloud[:m])) == missing


def test_too_few_neighbours_are_refused():
    with pytest.raises(ValueError, match="more than 3 images"):
        sample_quality.precision_recall(np.zeros((3, 2)), np.zeros((9, 2)), 3)
