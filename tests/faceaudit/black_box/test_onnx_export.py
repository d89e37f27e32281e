"""The book's networks as files: they answer what torch answers, to 1e-5."""

import numpy as np
import pytest
import torch
from torch import nn

from faceaudit.black_box import Preparation, onnx_model, write_onnx
from helpers import models
from helpers.models.networks import ResNet50, SmallNet
from helpers.models.recognisers import RecognitionNet


def untrained(network):
    """Batch statistics as after training: not zero and one."""
    generator = torch.Generator().manual_seed(5)
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d | nn.BatchNorm1d):
            shape = layer.running_mean.shape
            layer.running_mean += 0.1 * torch.randn(shape, generator=generator)
            layer.running_var *= 0.5 + torch.rand(shape, generator=generator)
    return network.eval()


@pytest.mark.parametrize(("kind", "size"), [(SmallNet, 64), (SmallNet, 48), (ResNet50, 32)])
def test_classifiers_answer_as_in_torch(kind, size, tmp_path):
    torch.manual_seed(2)
    network = untrained(kind())
    images = np.random.default_rng(1).integers(0, 256, (6, 3, size, size)).astype(np.uint8)
    path = write_onnx(network, tmp_path / "new" / "net.onnx", size)
    file = onnx_model(path, Preparation(size), activation="sigmoid")
    with torch.no_grad():
        logits = network(torch.from_numpy(images) / 255)[:, 0]
    np.testing.assert_allclose(file(images), logits.sigmoid(), atol=1e-5)
    raw = file.raw(images)[0][:, 0]
    np.testing.assert_allclose(raw, logits, atol=1e-5 * max(1, float(logits.abs().max())))


@pytest.mark.parametrize("size", [64, 48, 72, 100])  # maps of 4, 3, 5 and 7 for 4 cells a side
def test_recognisers_answer_as_in_torch(size, tmp_path):
    torch.manual_seed(2)
    network = untrained(RecognitionNet(identities=3))
    images = np.random.default_rng(1).integers(0, 256, (6, 3, size, size)).astype(np.uint8)
    path = write_onnx(network, tmp_path / "net.onnx", size)
    file = onnx_model(path, Preparation(size), gives="embedding")
    with torch.no_grad():
        vectors = network(torch.from_numpy(images) / 255)
    np.testing.assert_allclose(file(images), vectors, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(file(images), axis=1), 1, atol=1e-5)


def test_a_trained_classifier_answers_as_predict(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (16, 3, 32, 32)).astype(np.uint8)
    trained = models.train(images, np.arange(16) % 2, tmp_path / "m", seed=1, epochs=1)
    path = write_onnx(trained.network, tmp_path / "m.onnx", 32)
    found = onnx_model(path, Preparation(32), activation="sigmoid")(images)
    np.testing.assert_allclose(found, models.predict(trained, images), atol=1e-5)
    assert write_onnx(trained.network, tmp_path / "n.onnx", 32).read_bytes() == path.read_bytes()


def test_training_goes_on_as_before(tmp_path):
    network = SmallNet().train()
    write_onnx(network, tmp_path / "net.onnx", 32)
    assert network.training


def test_a_layer_that_is_not_known_is_named(tmp_path):
    with pytest.raises(ValueError, match="no ONNX is known of the layer GELU"):
        write_onnx(nn.Sequential(nn.Conv2d(3, 2, 3), nn.GELU()), tmp_path / "net.onnx", 8)
    assert not (tmp_path / "net.onnx").exists()
