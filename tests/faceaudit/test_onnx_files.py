"""ONNX files: read as onnxruntime computes them, and written as torch computes the network."""

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper
from onnx_made import means, save
from torch import nn

from faceaudit.examples import write_onnx
from faceaudit.model_input import TEMPLATE, Preparation
from faceaudit.models import local_model
from faceaudit.parts import Onnx
from helpers.models.networks import ResNet50, SmallNet
from helpers.models.recognisers import RecognitionNet

RED = [[1.0], [0.0], [0.0]]
IMAGES = np.random.default_rng(7).integers(0, 256, (24, 3, 16, 16)).astype(np.uint8)
RED_MEANS = IMAGES[:, 0].mean((1, 2)) / 255
SIZE = 64


def loaded(path, given=None, gives="probability", output=None):
    given, output = given or Preparation(size=16), {"name": output}
    return local_model(Onnx(kind="onnx", path=path, input=given, output=output), gives=gives)


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ({}, {}),
        ({"shape": ("n", 16, 16, 3)}, {"layout": "nhwc"}),
        ({"shape": (5, 3, 16, 16)}, {}),  # the last batch is filled up
        ({"kind": TensorProto.UINT8}, {"range": (0, 255)}),
    ],
)
def test_the_file_gets_what_it_takes(tmp_path, options, given):
    scale = 1 / 255 if "kind" in options else 1
    path = means(tmp_path / "m.onnx", np.array(RED) * scale, **options)
    model = loaded(path, Preparation(size=16, **given))
    np.testing.assert_allclose(model.ask(IMAGES).values, RED_MEANS, atol=1e-6)
    assert model.ask(IMAGES[:1]).values == pytest.approx(model.ask(IMAGES).values[:1], abs=1e-6)


def two_inputs(path):
    first = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 3, 8, 8]) for n in "ab"]
    last = helper.make_tensor_value_info("sum", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["sum"])], "g", first, [last])
    opset = [helper.make_opsetid("", 17)]
    path.write_bytes(helper.make_model(graph, opset_imports=opset).SerializeToString())


FILES = [
    (lambda path: None, {}, "m.onnx: no such file; model.path must name an ONNX file"),
    (lambda path: path.write_bytes(b""), {}, "m.onnx: no ONNX model that onnxruntime"),
    (lambda path: path.write_bytes(b"no protobuf"), {}, "m.onnx: no ONNX model that onnxruntime"),
    (lambda path: torch.save({"w": torch.zeros(2)}, path), {}, "a file of torch, .* kind: python"),
    (two_inputs, {}, r"2 inputs \(a, b\)"),
    (lambda path: means(path, RED), {"output": "logits"}, "output.name must be one of answer"),
    (
        lambda path: means(path, RED, shape=("n", 3, 112, 112)),
        {},
        r"takes \['n', 3, 112, 112\].*change input.size",
    ),
    (lambda path: means(path, RED, shape=("n", 16, 16, 3)), {}, "change input.layout"),
    (
        lambda path: means(path, RED, kind=TensorProto.UINT8),
        {},
        r"takes whole numbers .* gives 0 to 1; set input.range to \[0, 255\]",
    ),
]


@pytest.mark.parametrize(("write", "options", "told"), FILES)
def test_a_file_that_does_not_fit_is_refused_in_one_line(tmp_path, write, options, told):
    write(tmp_path / "m.onnx")
    with pytest.raises(ValueError, match=told) as raised:
        loaded(tmp_path / "m.onnx", **options)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("name", "low", "high"), [("arcface", -1, 1), ("sface", 0, 255)])
def test_a_preset_prepares_as_the_authors_do(tmp_path, name, low, high):
    # The whole image as its vector, 112 × 112 × 3 numbers, by a file of the same signature.
    flat = [("Flatten", ["images"], "fc1", {})]
    path = save(tmp_path / f"{name}.onnx", flat, ["fc1"], shape=("n", 3, 112, 112))
    model = loaded(path, Preparation(preset=name), "embedding")
    image = np.zeros((1, 3, 112, 112), np.uint8)
    image[0, 0] = 255
    seen = model.ask(image, TEMPLATE[None]).values[0].reshape(3, 112, 112)
    np.testing.assert_allclose(seen[0], high, atol=0.05)  # red comes first
    np.testing.assert_allclose(seen[1:], low, atol=0.05)


# --- written


def untrained(network):
    """Batch statistics as after training: not zero and one."""
    generator = torch.Generator().manual_seed(5)
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d | nn.BatchNorm1d):
            shape = layer.running_mean.shape
            layer.running_mean += 0.1 * torch.randn(shape, generator=generator)
            layer.running_var *= 0.5 + torch.rand(shape, generator=generator)
    return network.eval()


@pytest.mark.parametrize(
    ("kind", "size"),
    # Of recognisers maps of 4, 3 and 7 for 4 cells a side.
    [(SmallNet, 48), (ResNet50, 32), *((RecognitionNet, size) for size in (64, 48, 100))],
)
def test_networks_answer_as_in_torch(kind, size, tmp_path):
    torch.manual_seed(2)
    network = untrained(kind(identities=3) if kind is RecognitionNet else kind())
    images = np.random.default_rng(1).integers(0, 256, (6, 3, size, size)).astype(np.uint8)
    path = write_onnx(network, tmp_path / "new" / "net.onnx", size)
    model = loaded(path, Preparation(size=size))
    found = model.compute(model.preparation(images))
    with torch.no_grad():
        expected = network(torch.from_numpy(images) / 255).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5 * max(1, np.abs(expected).max()))
