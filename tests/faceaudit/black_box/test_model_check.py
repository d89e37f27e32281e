"""What is no model says so: every kind of bad output, in one sentence with a remedy."""

import numpy as np
import pytest
import torch
from onnx import helper

from faceaudit.black_box import Preparation, check_model, onnx_model, python_model
from faceaudit.black_box.alignment import TEMPLATE

RED = [[1.0], [0.0], [0.0]]


def asked(function, images, **options):
    model = python_model(function, version="1", **options)
    check_model(model, images)
    return model(images)


def red(images):
    return images[:, 0].mean((1, 2)) / 255


def test_a_good_model_passes(onnx_file, images):
    check_model(onnx_model(onnx_file(RED), Preparation()), images)
    check_model(python_model(red, version="1"), images)
    fixed = onnx_model(onnx_file(RED, (5, 3, 16, 16), name="fixed.onnx"), Preparation(16))
    check_model(fixed, images)


def test_logits_for_probabilities(onnx_file, images):
    model = onnx_model(onnx_file([[9.0], [-9.0], [0.0]]), Preparation())
    with pytest.raises(ValueError, match=r"model.onnx, output 'answer': answers from -.* set it"):
        check_model(model, images)


def test_not_a_number(onnx_file, images):
    logarithm = helper.make_node("Log", ["minus"], ["nothing"])
    minus = helper.make_node("Neg", ["answer"], ["minus"])
    path = onnx_file(RED, nodes=[minus, logarithm], outputs=("nothing",))
    with pytest.raises(ValueError, match="'nothing': the answer for image 0 .* is nan, finite"):
        check_model(onnx_model(path, Preparation()), images)


def test_a_constant(onnx_file, images):
    model = onnx_model(onnx_file(0 * np.array(RED)), Preparation(), activation="sigmoid")
    with pytest.raises(ValueError, match="the answer is 0.5 for all of 24 different images"):
        check_model(model, images)
    vectors = onnx_model(onnx_file(np.zeros((3, 4))), Preparation(), gives="embedding")
    with pytest.raises(ValueError, match="the answer is one vector for all"):
        check_model(vectors, images)


def test_one_image_many_times_is_no_constant(images):
    check_model(python_model(red, version="1"), np.repeat(images[:1], 5, 0))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: np.full((len(x), 2), 0.5), r"2 numbers an image; say which .* \(output.index"),
        (lambda x: np.full(len(x) + 1, 0.5), r"shape \(25,\) for 24 images, 24 rows"),
        (lambda x: 0.5, r"shape \(\) for 24 images"),
        (lambda x: np.empty((len(x), 0)), "holds no answer"),
        (lambda x: ["male"] * len(x), "answers of type list, numbers were expected"),
        (lambda x: np.full(len(x), np.inf), "is inf, finite numbers"),
        (lambda x: 1 / 0, "failed on images .*ZeroDivisionError"),
    ],
)
def test_wrong_shapes_and_kinds(function, message, images):
    with pytest.raises(ValueError, match=message):
        asked(function, images)


def test_an_index_that_is_not_there_and_a_softmax_of_one(onnx_file, images):
    path = onnx_file([[1.0, 0], [0, 1], [0, 0]])
    with pytest.raises(ValueError, match="output.index is 2, but there are 2 numbers"):
        onnx_model(path, Preparation(), index=2)(images)
    with pytest.raises(ValueError, match="softmax always makes 1; set output.activation"):
        onnx_model(onnx_file(RED, name="b.onnx"), Preparation(), activation="softmax")(images)
    with pytest.raises(ValueError, match="output.activation is 'relu', one of none, sigmoid"):
        onnx_model(path, Preparation(), activation="relu")


def test_two_answers_for_one_image(images):
    chance = np.random.default_rng(1)
    with pytest.raises(ValueError, match="for the same image .* turn off dropout"):
        asked(lambda x: chance.random(len(x)), images)
    # The statistics of a batch: what else is in it counts.
    with pytest.raises(ValueError, match="for the same image"):
        asked(lambda x: red(x) - red(x[:1]) + 0.5, images)


@pytest.mark.parametrize("n", [2, 7, 64])
def test_answers_that_hang_on_the_whole_batch(n):
    images = np.random.default_rng(n).integers(0, 256, (n, 3, 8, 8)).astype(np.uint8)
    with pytest.raises(ValueError, match="for the same image .number .* batch statistics"):
        asked(lambda x: (red(x) - red(x).mean() + 1) / 2, images)


def test_a_network_in_its_training_mode(images):
    network = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Flatten())

    @torch.no_grad()
    def vectors(ready):
        return network(torch.from_numpy(ready)).numpy()

    options = {"preparation": Preparation(16), "gives": "embedding"}
    with pytest.raises(ValueError, match="two vectors for the same image"):
        asked(vectors, images, **options)
    network.eval()
    asked(vectors, images, **options)


def test_a_batch_without_any_face_is_of_no_width(images):
    def find(some):
        points = np.tile(TEMPLATE, (len(some), 1, 1))
        points[some[:, 0, 0, 0] < 128] = np.nan
        return points

    images[-3:, 0, 0, 0], images[0, 0, 0, 0] = 0, 255
    preparation = Preparation(112, align="arcface")
    means = lambda x: x.mean((2, 3))  # noqa: E731
    model = python_model(means, preparation, version="1", gives="embedding", find=find)
    check_model(model, images)


def test_no_face_in_any_image(images):
    with pytest.raises(ValueError, match="no face found in any of 24 images"):
        asked(lambda x: np.full(len(x), np.nan), images)


def test_no_face_in_some_images_is_an_answer(images):
    found = asked(lambda x: np.where(x[:, 0, 0, 0] > 127, red(x), np.nan), images)
    assert (np.isnan(found) == (images[:, 0, 0, 0] <= 127)).all() and np.isnan(found).any()


def test_probabilities_behind_an_activation_are_warned_of(onnx_file, images):
    model = onnx_model(onnx_file(RED), Preparation(), activation="sigmoid")
    with pytest.warns(UserWarning, match="all outputs lie in .* set it to none"):
        check_model(model, images)


def test_a_number_is_no_vector(onnx_file, images):
    with pytest.raises(ValueError, match="one number an image is no vector"):
        onnx_model(onnx_file(RED), Preparation(), gives="embedding")(images)


def test_images_of_another_kind_are_refused(onnx_file, images):
    with pytest.raises(ValueError, match="images must be uint8"):
        onnx_model(onnx_file(RED), Preparation())(images / 255)
