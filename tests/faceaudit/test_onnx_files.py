"""ONNX files: read as onnxruntime computes them, and written as torch computes the network."""

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper
from onnx_made import means, save
from torch import nn

from faceaudit.answers import Reading
from faceaudit.model_input import TEMPLATE, Preparation
from faceaudit.models import onnx_model
from faceaudit.onnx_files import FaceDetector, write_onnx
from helpers import models
from helpers.models.networks import ResNet50, SmallNet
from helpers.models.recognisers import RecognitionNet

RED = [[1.0], [0.0], [0.0]]
IMAGES = np.random.default_rng(7).integers(0, 256, (24, 3, 16, 16)).astype(np.uint8)
RED_MEANS = IMAGES[:, 0].mean((1, 2)) / 255
SIZE = 64


def loaded(path, given=None, reading=None, **options):
    return onnx_model(path, given or Preparation(size=16), reading or Reading(), **options)


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


def test_an_output_is_chosen_by_name_or_number(tmp_path):
    minus = ("Neg", ["answer"], "minus", {})
    path = means(tmp_path / "m.onnx", RED, [minus], ("minus", "answer"))
    named, numbered = (loaded(path, output=which) for which in ("answer", 1))
    assert named.hash == numbered.hash
    np.testing.assert_allclose(named.ask(IMAGES).values, RED_MEANS, atol=1e-6)


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
    (lambda path: means(path, RED), {"output": 1}, "output.name must be one of answer"),
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


@pytest.fixture
def yunet(tmp_path):
    """As OpenCV's: one image, BGR, 0–255. It finds faces where blue is bright, at stride 8.

    The class score of a cell is the blue at its corner over 255, the object score 0.81; the five
    points are offsets from the cell. Other strides find nothing.
    """
    numbers = {"start": [0, 0, 0], "end": [1, 9999, 9999], "axes": [1, 2, 3], "steps": [1, 8, 8]}
    numbers |= {"most": np.float32(255), "column": [1, -1, 1]}
    nodes = [
        ("Slice", ["images", "start", "end", "axes", "steps"], "blue", {}),
        ("Div", ["blue", "most"], "bright", {}),
        ("Reshape", ["bright", "column"], "cls_8", {}),
    ]
    for stride in (8, 16, 32):
        cells = (SIZE // stride) ** 2
        fixed = {"obj": np.full((1, cells, 1), 0.81), "bbox": np.zeros((1, cells, 4))}
        fixed["kps"] = np.broadcast_to(OFFSETS.reshape(10), (1, cells, 10))
        fixed |= {"cls": np.zeros((1, cells, 1))} if stride > 8 else {}
        for part, value in fixed.items():
            numbers[f"value_{part}_{stride}"] = np.ascontiguousarray(value, np.float32)
            nodes.append(("Identity", [f"value_{part}_{stride}"], f"{part}_{stride}", {}))
    outputs = [f"{part}_{k}" for k in (8, 16, 32) for part in ("cls", "obj", "bbox", "kps")]
    return save(tmp_path / "yunet.onnx", nodes, outputs, numbers, (1, 3, SIZE, SIZE))


OFFSETS = np.array([[0.5, 1], [2.5, 1], [1.5, 2], [0.75, 3], [2.25, 3]])


def test_the_most_certain_face_is_found_in_pixels(yunet):
    images = np.zeros((3, 3, SIZE, SIZE), np.uint8)
    images[0, 2, 16, 40] = 255  # blue, in row 2 and column 5 of the cells
    images[0, 2, 8, 8] = 200
    images[1, 0] = 255  # red is nothing to it
    images[2, 2, 0, 0] = 100  # √(100/255 · 0.81) is below 0.6
    points = FaceDetector(yunet)(images)
    np.testing.assert_allclose(points[0], np.add(OFFSETS, (5, 2)) * 8, atol=1e-4)
    assert np.isnan(points[1:]).all()
    odd = np.zeros((1, 3, 50, 60), np.uint8)  # filled up to multiples of 32
    odd[0, 2, 48, 56] = 255
    np.testing.assert_allclose(FaceDetector(yunet)(odd)[0], np.add(OFFSETS, (7, 6)) * 8, atol=1e-4)


@pytest.mark.parametrize(("name", "low", "high"), [("arcface", -1, 1), ("sface", 0, 255)])
def test_detector_and_preset_prepare_as_the_authors_do(yunet, tmp_path, name, low, high):
    # The whole image as its vector, 112 × 112 × 3 numbers, by a file of the same signature.
    flat = [("Flatten", ["images"], "fc1", {})]
    path = save(tmp_path / f"{name}.onnx", flat, ["fc1"], shape=("n", 3, 112, 112))
    model = loaded(path, Preparation(preset=name), Reading("embedding"))
    image = np.zeros((1, 3, 112, 112), np.uint8)
    image[0, 0] = 255
    seen = model.ask(image, TEMPLATE[None]).values[0].reshape(3, 112, 112)
    np.testing.assert_allclose(seen[0], high, atol=0.05)  # red comes first
    np.testing.assert_allclose(seen[1:], low, atol=0.05)
    images = np.zeros((2, 3, SIZE, SIZE), np.uint8)
    images[0, 2, 8, 8] = 255
    found = FaceDetector(yunet)
    answers = loaded(path, Preparation(preset=name), Reading("embedding"), find=found).ask(images)
    assert answers.reasons.tolist() == ["", "no face found"] and np.isnan(answers.values[1]).all()


def test_another_file_is_no_detector(tmp_path):
    with pytest.raises(ValueError, match="m.onnx: no output cls_8 among answer; a YuNet file"):
        FaceDetector(means(tmp_path / "m.onnx", RED))


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
    (found,) = loaded(path, Preparation(size=size)).raw(images)
    with torch.no_grad():
        expected = network(torch.from_numpy(images) / 255).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5 * max(1, np.abs(expected).max()))


def test_a_trained_classifier_answers_as_predict(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (16, 3, 32, 32)).astype(np.uint8)
    trained = models.train(images, np.arange(16) % 2, tmp_path / "m", seed=1, epochs=1)
    path = write_onnx(trained.network, tmp_path / "m.onnx", 32)
    model = loaded(path, Preparation(size=32), Reading(activation="sigmoid"))
    np.testing.assert_allclose(model.ask(images).values, models.predict(trained, images), atol=1e-5)


def test_a_layer_that_is_not_known_is_named(tmp_path):
    with pytest.raises(ValueError, match="no ONNX is known of the layer GELU"):
        write_onnx(nn.Sequential(nn.Conv2d(3, 2, 3), nn.GELU()), tmp_path / "net.onnx", 8)
    assert not (tmp_path / "net.onnx").exists()
