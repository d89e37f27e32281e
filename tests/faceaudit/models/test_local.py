"""What models answer and how it is kept; what is no model says so in one sentence."""

import sys
import types

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx_made import means, save
from PIL import Image
from scipy.special import expit, softmax
from torch import nn

from faceaudit.checks import check_preparation
from faceaudit.file.parts import Onnx, Preparation, PythonModel
from faceaudit.models.answers import Reading, ask_and_keep, image_key
from faceaudit.models.asking import check_model
from faceaudit.models.local import local_model, weight_files
from faceaudit.utils.errors import InputError
from faceworld.networks.architectures import ResNet50, SmallNet
from faceworld.networks.onnx_export import write_onnx
from faceworld.networks.recognisers import RecognitionNet

RED = [[1.0], [0.0], [0.0]]
THREE = [[0, 4.0], [0, 0], [3.0, 0]]
IMAGES = np.random.default_rng(7).integers(0, 256, (24, 3, 16, 16)).astype(np.uint8)
SHARES = IMAGES.mean((2, 3)) / 255
VECTORS = Reading("embedding")
PLACE = sys.modules["place_of_test"] = types.ModuleType("place_of_test")


def python(function, reading=None, version="1"):
    """A model of a function; one that is not named is put where its name leads."""
    if not isinstance(function, str):
        PLACE.function = function
        function = "place_of_test:function"
    reading = reading or Reading()
    output = {"index": reading.index, "activation": reading.activation}
    output["classes"] = reading.classes
    part = {"function": function, "version": version, "input": {"size": 16}, "output": output}
    return local_model(PythonModel(kind="python", **part), gives=reading.gives)


PROVIDERS = ["CUDAExecutionProvider", "CPUExecutionProvider"]


def onnx_model(path, size=16, layout="nchw", channels="rgb", **output):
    preparation = Preparation(size=size, layout=layout, channels=channels)
    return local_model(Onnx(kind="onnx", path=path, input=preparation, output=output))


def red(ready):
    return ready[:, 0].mean((1, 2))


def test_logits_go_through_their_activation(tmp_path):
    path = means(tmp_path / "m.onnx", RED)
    sigmoid = onnx_model(path, activation="sigmoid")
    np.testing.assert_allclose(sigmoid.ask(IMAGES).values, expit(SHARES[:, 0]), atol=1e-6)
    path = means(tmp_path / "m.onnx", THREE)
    second = onnx_model(path, activation="softmax", index=1)
    expected = softmax(SHARES @ np.array(THREE), axis=1)[:, 1]
    np.testing.assert_allclose(second.ask(IMAGES).values, expected, atol=1e-6)


def test_the_hash_changes_with_all_that_answers_depend_on(tmp_path):
    path = means(tmp_path / "m.onnx", THREE)
    options = {"activation": "softmax", "index": 1}
    model = onnx_model(path, **options)
    assert onnx_model(means(tmp_path / "renamed.onnx", THREE), **options).hash == model.hash
    others = [
        onnx_model(path, **options | {"index": 0}),
        onnx_model(path, channels="bgr", **options),
        onnx_model(means(tmp_path / "b.onnx", 2 * np.array(THREE)), **options),
    ]
    assert len({model.hash, *(other.hash for other in others)}) == 4
    assert model.card()["file"] == "m.onnx" and model.card()["hash"] == model.hash


# --- several heads in one output

HEADS = np.random.default_rng(3).normal(size=(3, 7))
"""From the means of the channels: three numbers of a head, two of the classes, two of another."""


def heads(ready):
    return ready.mean((2, 3)) @ HEADS


@pytest.mark.parametrize("kind", ["onnx", "python"])
def test_softmax_runs_over_the_columns_of_the_classes(tmp_path, kind):
    def model(**output):
        if kind == "onnx":
            return onnx_model(means(tmp_path / "m.onnx", HEADS), activation="softmax", **output)
        return python(heads, Reading(activation="softmax", **output))

    numbers = SHARES @ HEADS
    expected = softmax(numbers[:, [4, 3]], axis=1)[:, 1]
    values = model(classes=(4, 3)).ask(IMAGES).values
    np.testing.assert_allclose(values, expected, atol=1e-6)
    # The second class is the positive one; its column may be named once more.
    np.testing.assert_allclose(model(classes=(3, 4)).ask(IMAGES).values, 1 - expected, atol=1e-6)
    np.testing.assert_array_equal(model(classes=(4, 3), index=3).ask(IMAGES).values, values)
    three = softmax(numbers[:, :3], axis=1)[:, 1]
    values = model(classes=(0, 1, 2), index=1).ask(IMAGES).values
    np.testing.assert_allclose(values, three, atol=1e-6)
    with pytest.raises(ValueError, match=r": 7 numbers an image for softmax .* output\.classes"):
        model(index=3).ask(IMAGES)
    with pytest.raises(ValueError, match=r"classes is \[3, 7\], but there are 7 .* from 0 to 6"):
        model(classes=(3, 7)).ask(IMAGES)
    with pytest.raises(ValueError, match=r"index is missing, the column .*, one of \[0, 1, 2\]"):
        model(classes=(0, 1, 2))


def test_columns_of_classes_are_a_part_of_the_hash(tmp_path):
    path = means(tmp_path / "m.onnx", THREE)
    options = {"activation": "softmax"}
    both = [onnx_model(path, classes=columns, **options) for columns in ((0, 1), (1, 0))]
    before = onnx_model(path, index=1, **options)
    assert len({before.hash, *(model.hash for model in both)}) == 3
    # Models that were asked before the key existed keep their hash, and their answers.
    assert set(before.card()["output"]) == {"gives", "activation", "index"}
    assert both[0].card()["output"]["classes"] == (0, 1)


# --- weights beside the graph


def with_weights_beside(folder, sign, places):
    """A model whose weights stand in files of these names, in all places that a graph has.

    The places are an initialiser, an attribute of a node, a graph inside a node, and a sparse
    initialiser. The model says `sign` times the mean of the red channel.
    """
    numbers = {
        "matrix": np.array([[sign], [0], [0]], np.float32),
        "one": np.array([sign], np.float32),
        "inside": np.array([sign], np.float32),
    }
    tensors = {name: numpy_helper.from_array(value, name) for name, value in numbers.items()}
    for name, tensor in tensors.items():
        if name in places:
            (folder / places[name]).parent.mkdir(exist_ok=True)
            (folder / places[name]).write_bytes(tensor.raw_data)
            onnx.external_data_helper.set_external_data(tensor, places[name])
            tensor.ClearField("raw_data")
    value = helper.make_tensor_value_info("chosen", TensorProto.FLOAT, None)
    held = [helper.make_node("Identity", ["inside"], ["chosen"])]
    branch = helper.make_graph(held, "branch", [], [value], [tensors["inside"]])
    nodes = [
        helper.make_node("ReduceMean", ["images"], ["means"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["means", "matrix"], ["red"]),
        helper.make_node("Constant", [], ["one"], value=tensors["one"]),
        helper.make_node("If", ["true"], ["two"], then_branch=branch, else_branch=branch),
        helper.make_node("Mul", ["red", "one"], ["first"]),
        helper.make_node("Mul", ["first", "two"], ["answer"]),
    ]
    first = helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", 3, "h", "w"])
    last = helper.make_tensor_value_info("answer", TensorProto.FLOAT, None)
    true = numpy_helper.from_array(np.array(True), "true")
    graph = helper.make_graph(nodes, "test", [first], [last], [tensors["matrix"], true])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    return folder / "m.onnx"


PLACES = [
    {"matrix": "m.onnx_data"},
    {"matrix": "m.onnx.data"},
    {"matrix": "weights/first", "inside": "weights/third"},
]


@pytest.mark.parametrize("places", PLACES)
def test_the_hash_covers_every_file_of_weights(tmp_path, places):
    path = with_weights_beside(tmp_path, 1, places)
    first = onnx_model(path, activation="sigmoid")
    values = ask_and_keep(first, IMAGES, tmp_path / "answers").values
    np.testing.assert_allclose(values, expit(SHARES[:, 0]), atol=1e-6)
    graph = path.read_bytes()
    for file in places.values():
        other = tmp_path / "other"
        other.mkdir(exist_ok=True)
        with_weights_beside(other, -1, places)
        before = (tmp_path / file).read_bytes()
        (tmp_path / file).write_bytes((other / file).read_bytes())
        assert path.read_bytes() == graph, "only weights are retrained"
        retrained = onnx_model(path, activation="sigmoid")
        assert retrained.hash != first.hash
        again = ask_and_keep(retrained, IMAGES, tmp_path / "answers").values
        np.testing.assert_allclose(again, expit(-SHARES[:, 0]), atol=1e-6)
        (tmp_path / file).write_bytes(before)
    assert onnx_model(path, activation="sigmoid").hash == first.hash


def test_weights_are_found_wherever_a_graph_may_have_them(tmp_path):
    places = {"matrix": "m.onnx_data", "one": "second", "inside": "third"}
    path = with_weights_beside(tmp_path, 1, places)
    model = onnx.load(path, load_external_data=False)
    values = TensorProto(name="sparse")
    rows = TensorProto(name="rows")
    for name, tensor in {"fourth": values, "fifth": rows}.items():
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=name)
        (tmp_path / name).touch()
    model.graph.sparse_initializer.append(onnx.SparseTensorProto(values=values, indices=rows))
    path.write_bytes(model.SerializeToString())
    names = sorted([*places.values(), "fourth", "fifth"])
    assert weight_files(path) == {name: tmp_path / name for name in names}


def test_weights_that_are_missing_are_named(tmp_path):
    path = with_weights_beside(tmp_path, 1, {"matrix": "m.onnx_data"})
    (tmp_path / "m.onnx_data").unlink()
    with pytest.raises(
        ValueError, match=r"m\.onnx: its weights are in the file m\.onnx_data"
    ) as raised:
        onnx_model(path)
    assert "\n" not in str(raised.value)


# --- ONNX files


def reshaped(path, shape, **options):
    """A file with a number of images fixed inside, though its header takes any."""
    nodes = [
        ("ReduceMean", ["images"], "means", {"axes": [2, 3], "keepdims": 0}),
        ("Reshape", ["means", "shape"], "flat", {}),
        *options.pop("more", [("MatMul", ["flat", "matrix"], "answer", {})]),
    ]
    numbers = {"shape": np.array(shape), "matrix": np.array(RED, np.float32)}
    return save(path, nodes, ["answer"], numbers, **options)


INSIDE = [
    ((1, 3), {}),  # refuses several images
    ((1, -1), {"more": [("ReduceMax", ["flat"], "answer", {"axes": [1]})]}),  # mixes them
    ((3,), {"more": [("MatMul", ["flat", "matrix"], "answer", {})]}),  # has no axis of images
]


@pytest.mark.parametrize(("shape", "options"), INSIDE)
def test_a_file_that_takes_one_image_inside_is_asked_one_at_a_time(tmp_path, shape, options):
    model = onnx_model(reshaped(tmp_path / "m.onnx", shape, **options))
    expected = SHARES.max(1) if options.get("more", [[""]])[0][0] == "ReduceMax" else SHARES[:, 0]
    np.testing.assert_allclose(model.ask(IMAGES).values, expected, atol=1e-6)
    assert model.card()["asked"] == "one image at a time"
    check_model(model, IMAGES, tmp_path)


SQUEEZED = ("Squeeze", ["answer"], "squeezed", {})
FLAT = ("Reshape", ["answer", "shape"], "squeezed", {})


@pytest.mark.parametrize("images", ["n", 1])
@pytest.mark.parametrize(("matrix", "last"), [(RED, SQUEEZED), (THREE, SQUEEZED), (THREE, FLAT)])
def test_a_file_that_squeezes_its_answer_is_asked_about_a_lone_image(
    tmp_path, images, matrix, last
):
    nodes = [
        ("ReduceMean", ["images"], "means", {"axes": [2, 3], "keepdims": 0}),
        ("MatMul", ["means", "matrix"], "answer", {}),
        last,
    ]
    numbers = {"matrix": np.array(matrix, np.float32), "shape": np.array([-1])}
    shape = (images, 3, "h", "w")
    path = save(tmp_path / "m.onnx", nodes, ["squeezed"], numbers, shape=shape)
    column = len(matrix[0]) - 1
    model = onnx_model(path, activation="sigmoid", index=column)
    expected = expit(SHARES @ np.array(matrix)[:, column])
    np.testing.assert_allclose(model.ask(IMAGES).values, expected, atol=1e-6)
    np.testing.assert_allclose(model.ask(IMAGES[:1]).values, expected[:1], atol=1e-6)
    check_model(model, IMAGES, tmp_path)


@pytest.mark.parametrize("count", [24, 1])
def test_a_table_that_is_turned_round_is_refused(tmp_path, count):
    turned = [("Transpose", ["answer"], "turned", {})]
    path = means(tmp_path / "m.onnx", THREE, more=turned, outputs=("turned",))
    model = onnx_model(path, activation="softmax", index=1)
    with pytest.raises(ValueError, match=rf"\({2 * count}, 1\) for {count} images, {count} rows"):
        model.ask(IMAGES[:count])


def test_a_file_that_takes_many_images_is_not_slowed(tmp_path):
    model = onnx_model(means(tmp_path / "m.onnx", RED))
    assert "asked" not in model.card() and not model.compute.one_at_a_time


def test_a_message_on_shapes_knows_of_one_image_at_a_time(tmp_path):
    with pytest.raises(ValueError, match=r"\[1, 3, 16, 16\] \(several images at a time failed too"):
        more = [("ReduceMax", ["flat"], "answer", {"axes": [1]})]
        onnx_model(reshaped(tmp_path / "m.onnx", (1, 5), more=more))


def test_a_network_of_another_height_than_width_is_asked(tmp_path):
    path = means(tmp_path / "m.onnx", RED, shape=("n", 3, 16, 12))
    model = onnx_model(path, size=[16, 12])
    middle = IMAGES[:, :, :, 2:14].mean((2, 3)) / 255
    np.testing.assert_allclose(model.ask(IMAGES).values, middle[:, 0], atol=1e-6)
    with pytest.raises(ValueError, match=r"input\.size \(one number, or height and width as"):
        onnx_model(path, size=16)


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        (("n", 3, "h", "w"), "nchw"),
        (("n", 16, 16, 3), "nhwc"),
        ((5, 3, 16, 16), "nchw"),  # the last batch is filled up
    ],
)
def test_the_file_gets_what_it_takes(tmp_path, shape, layout):
    model = onnx_model(means(tmp_path / "m.onnx", RED, shape=shape), layout=layout)
    np.testing.assert_allclose(model.ask(IMAGES).values, SHARES[:, 0], atol=1e-6)
    assert model.ask(IMAGES[:1]).values == pytest.approx(SHARES[:1, 0], abs=1e-6)


def test_on_a_gpu_another_provider_answers(tmp_path, monkeypatch):
    path = means(tmp_path / "m.onnx", RED)
    preparation = Preparation(size=16)
    file = Onnx(kind="onnx", path=path, input=preparation)
    providers_used = []
    with pytest.raises(ValueError, match="has no CUDAExecutionProvider; install onnxruntime-gpu"):
        local_model(file, device="cuda")
    on_cpu = local_model(file)
    session = onnxruntime.InferenceSession
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: list(PROVIDERS))
    monkeypatch.setattr(
        onnxruntime,
        "InferenceSession",
        lambda file, options, providers: providers_used.append(providers) or session(file, options),
    )
    on_gpu = local_model(file, device="cuda")
    assert providers_used == [PROVIDERS] and on_gpu.card()["device"] == "cuda"
    assert on_gpu.hash != on_cpu.hash  # answers of one are not taken for those of the other
    np.testing.assert_array_equal(on_gpu.ask(IMAGES).values, on_cpu.ask(IMAGES).values)


class Planted:
    """Ends the process when it is unpickled."""

    def __reduce__(self):
        return sys.exit, ("unpickled",)


WEIGHED = ("Conv", ["images", "kernel"], "answer", {})
ONE_CHANNEL = {"kernel": np.ones((1, 1, 16, 16), np.float32)}
FILES = [
    (lambda path: None, {}, "m.onnx: no such file; model.path must name an ONNX file"),
    (lambda path: torch.save(Planted(), path), {}, "no ONNX model .* torch.onnx.export, .* python"),
    (lambda path: means(path, RED), {"name": "logits"}, "output.name must be one of answer"),
    (
        lambda path: means(path, RED, shape=("n", 3, 112, 112)),
        {},
        r"takes \['n', 3, 112, 112\], and failed on .* \[1, 3, 16, 16\] .* change input.size",
    ),
    (lambda path: means(path, RED, kind=3), {}, r"images of tensor\(int8\); one input of"),
    (lambda path: means(path, RED, kind=2), {}, r"takes pixels .* write input.range: \[0, 255\]"),
    (
        lambda path: save(path, [WEIGHED], ["answer"], ONE_CHANNEL, shape=("n", 1, 16, 16)),
        {},
        r"takes \['n', 1, 16, 16\].* or input.layout, and set input.grey to true",
    ),
]


@pytest.mark.parametrize(("write", "output", "message"), FILES)
def test_a_file_that_does_not_fit_is_refused_in_one_line(tmp_path, write, output, message):
    write(tmp_path / "m.onnx")
    with pytest.raises(ValueError, match=message) as raised:
        onnx_model(tmp_path / "m.onnx", **output)
    assert "\n" not in str(raised.value)


PIXELS = {"size": 16, "range": (0, 255)}


def whole_means(path, shape):
    """A file that answers the mean of all channels."""
    nodes = [("ReduceMean", ["images"], "answer", {"axes": [1, 2, 3], "keepdims": 0})]
    return save(path, nodes, ["answer"], shape=shape)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_a_file_that_takes_pixels_is_given_them_as_they_are(tmp_path, layout):
    shape = ("n", 3, 16, 16) if layout == "nchw" else ("n", 16, 16, 3)
    path = means(tmp_path / "m.onnx", [[1 / 255], [0], [0]], kind=TensorProto.UINT8, shape=shape)
    for preparation in ({}, {"mean": 127.5, "std": 127.5}, {"std": 255.0}):
        given = Preparation(**{"size": 16, "range": (-1, 1)} | preparation)
        with pytest.raises(ValueError, match=r"tensor\(uint8\)"):
            local_model(Onnx(kind="onnx", path=path, input=given))
    given = Preparation(**PIXELS, layout=layout, mean=(0, 0, 0), std=(1, 1, 1))
    model = local_model(Onnx(kind="onnx", path=path, input=given))
    np.testing.assert_allclose(model.ask(IMAGES).values, SHARES[:, 0], atol=1e-6)
    # Other orders of channels are tried, and no other range.
    table = check_preparation(model, IMAGES, np.arange(24) % 2)
    assert table["channels"].tolist() == ["rgb", "bgr"] and table["separation"].notna().all()


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("channels", [1, 3, "c"])
def test_a_file_takes_grey_images_in_one_channel_or_in_three_equal_ones(tmp_path, channels, layout):
    shape = ("n", channels, 16, 16) if layout == "nchw" else ("n", 16, 16, channels)
    path = whole_means(tmp_path / "m.onnx", shape)
    given = Preparation(size=16, grey=True, layout=layout)
    model = local_model(Onnx(kind="onnx", path=path, input=given))
    grey = [Image.fromarray(image.transpose(1, 2, 0)).convert("L") for image in IMAGES]
    expected = [np.asarray(image).mean() / 255 for image in grey]
    np.testing.assert_allclose(model.ask(IMAGES).values, expected, atol=1e-6)
    table = check_preparation(model, IMAGES, np.arange(24) % 2)
    assert set(table["channels"]) == {"grey"} and len(table) == 3


@pytest.mark.parametrize(
    ("kind", "size"),
    # Of recognisers maps of 4, 3 and 7 for 4 cells a side.
    [(SmallNet, 48), (ResNet50, 32), *((RecognitionNet, size) for size in (64, 48, 100))],
)
def test_networks_answer_as_in_torch(kind, size, tmp_path):
    torch.manual_seed(2)
    network = (kind(identities=3) if kind is RecognitionNet else kind()).eval()
    for layer in network.modules():  # batch statistics as after training: not zero and one
        if isinstance(layer, nn.BatchNorm2d | nn.BatchNorm1d):
            layer.running_mean += 0.1 * torch.randn(layer.running_mean.shape)
            layer.running_var *= 0.5 + torch.rand(layer.running_var.shape)
    images = np.random.default_rng(1).integers(0, 256, (6, 3, size, size)).astype(np.uint8)
    model = onnx_model(write_onnx(network, tmp_path / "new" / "net.onnx", size), size)
    values = model.compute(model.preparation(images))
    with torch.no_grad():
        expected = network(torch.from_numpy(images) / 255).numpy()
    np.testing.assert_allclose(values, expected, atol=1e-5 * max(1, np.abs(expected).max()))


def test_a_function_may_return_a_tensor_with_gradients():
    def with_gradients(x):
        return torch.from_numpy(red(x)).requires_grad_()

    answers = python(with_gradients, Reading()).ask(IMAGES)
    np.testing.assert_array_equal(answers.values, python(red, Reading()).ask(IMAGES).values)


# --- what is refused

chance = np.random.default_rng(1)


REFUSED = [
    (lambda x: 9 * red(x), Reading(), "answers from .* to sigmoid or softmax"),
    (lambda x: np.ones((len(x), 2)), Reading(), "output.index is missing, but there are 2"),
    (lambda x: ["male"] * len(x), Reading(), "the answers are no numbers"),
    (lambda x: 1 / 0, Reading(), "failed on images .*ZeroDivisionError"),
    (red, VECTORS, "one number an image is no vector"),
    (lambda x: np.zeros((len(x), 4)), VECTORS, "no vector of a face, nor are zeros"),
    (lambda x: np.ones((len(x), 4)), VECTORS, "is one vector for every image"),
    (lambda x: np.full(len(x), np.nan), Reading(), "has no answer at all"),
    (lambda x: chance.random(len(x)), Reading(), "for the same image .* turn off dropout"),
    # The statistics of a batch: what else is in it counts.
    (lambda x: (red(x) - red(x).mean() + 1) / 2, Reading(), "for the same image .*batch stat"),
    ("no_such_module:score", Reading(), "no_such_module:score' cannot be imported .* PYTHONPATH"),
]


@pytest.mark.parametrize(("function", "reading", "message"), REFUSED)
def test_what_is_no_model_is_refused(tmp_path, function, reading, message):
    with pytest.raises(ValueError, match=message):
        check_model(python(function, reading), IMAGES, tmp_path)


def test_people_are_not_asked_for_labels_of_a_model_that_says_the_same_of_all_images(tmp_path):
    constant = python(lambda x: np.full(len(x), 0.5), Reading())
    check_model(constant, IMAGES, tmp_path)  # a report of labels that are there names it
    with pytest.raises(InputError, match=r"is 0\.5 for every image; a constant"):
        check_model(constant, IMAGES, tmp_path, people_follow=True)


def test_an_error_names_the_field_and_what_was_expected(tmp_path):
    with pytest.raises(InputError) as raised:
        python(lambda x: np.ones((len(x), 2))).ask(IMAGES)
    error = raised.value
    assert (error.field, error.found, error.expected) == (
        "output.index",
        None,
        "a column from 0 to 1",
    )
    path = means(tmp_path / "m.onnx", RED)
    with pytest.raises(InputError) as raised:
        onnx_model(path, name="logits")
    error = raised.value
    assert (error.field, error.found, error.expected) == (
        "output.name",
        "logits",
        "one of answer",
    )


# --- kept answers


class Counting:
    """A model that counts the images it sees, and breaks at some call."""

    def __init__(self, breaks_at=None):
        self.seen = 0
        self.calls = 0
        self.breaks_at = breaks_at

    def __call__(self, images):
        self.calls += 1
        if self.calls == self.breaks_at:
            raise KeyboardInterrupt
        self.seen += len(images)
        return np.where(images[:, 0, 0, 0] < 0.1, np.nan, images.mean((1, 2, 3)))


def test_what_was_answered_is_not_asked_again_even_after_an_interrupt(tmp_path, monkeypatch):
    monkeypatch.setattr("faceaudit.models.local.WRITE_BATCH_SIZE", 5)
    images = np.concatenate([IMAGES, IMAGES[:6]])
    images[3] = 0
    breaking = Counting(breaks_at=3)
    going_on = Counting()
    with pytest.raises(KeyboardInterrupt):
        ask_and_keep(python(breaking), images, tmp_path)
    answers = ask_and_keep(python(going_on), images, tmp_path)
    assert breaking.seen == 10 and breaking.seen + going_on.seen == len({*map(image_key, images)})
    expected = python(Counting()).ask(images)
    np.testing.assert_array_equal(answers.values, expected.values)
    assert answers.reasons.tolist() == expected.reasons.tolist()
    assert answers.reasons[3] == "no face found"
    seen = going_on.seen
    ask_and_keep(python(going_on), images[::-1], tmp_path)
    assert going_on.seen == seen
    ask_and_keep(python(going_on, version="2"), images, tmp_path)
    assert going_on.seen > seen


def test_vectors_come_back_as_they_were(tmp_path):
    def thirds(ready):
        return np.where(ready[:, :1, 0, 0] < 0.1, np.nan, ready[:, :, 0, 0].astype(float) / 3)

    model = python(thirds, VECTORS)
    for _ in range(2):
        answers = ask_and_keep(model, IMAGES, tmp_path)
        np.testing.assert_array_equal(answers.values, model.ask(IMAGES).values)
    assert {*answers.reasons} == {"", "no face found"}
