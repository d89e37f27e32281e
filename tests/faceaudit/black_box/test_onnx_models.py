"""Real ONNX files: what they answer, and what is no such file."""

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper
from scipy.special import expit, softmax

from faceaudit.black_box import Preparation, onnx_model

RED = [[1.0], [0.0], [0.0]]
THREE = [[0, 4.0], [0, 0], [3.0, 0]]


def means(images):
    return images.mean((2, 3)) / 255


def test_it_answers_what_the_file_computes(onnx_file, images):
    path = onnx_file(RED)
    model = onnx_model(path, Preparation())
    found = model(images)
    assert found.dtype == np.float64 and model.reasons.tolist() == [""] * 24
    np.testing.assert_allclose(found, means(images)[:, 0], atol=1e-6)
    bgr = onnx_model(path, Preparation(channels="bgr", scale=1 / 510))
    np.testing.assert_allclose(bgr(images), means(images)[:, 2] / 2, atol=1e-6)
    logits = onnx_model(path, Preparation(), activation="sigmoid")
    np.testing.assert_allclose(logits(images), expit(means(images)[:, 0]), atol=1e-6)


def test_classes_go_through_softmax(onnx_file, images):
    path = onnx_file(THREE)
    model = onnx_model(path, Preparation(), index=1, activation="softmax")
    expected = softmax(means(images) @ np.array(THREE), axis=1)[:, 1]
    np.testing.assert_allclose(model(images), expected, atol=1e-6)


def test_layout_and_types_of_the_input_are_kept(onnx_file, images):
    nhwc = onnx_model(onnx_file(RED, ("n", 16, 16, 3)), Preparation(16, layout="nhwc"))
    np.testing.assert_allclose(nhwc(images), means(images)[:, 0], atol=1e-6)
    raw = onnx_file(np.array(RED) / 255, kind=TensorProto.UINT8)
    np.testing.assert_allclose(
        onnx_model(raw, Preparation(scale=1.0))(images), means(images)[:, 0], atol=1e-6
    )


@pytest.mark.parametrize(
    ("preparation", "gives"),
    [
        (Preparation(), "0 to 1"),
        (Preparation(scale=1.0, std=(1.0, 1.0, 2.0)), "0 to 255"),
        (Preparation(scale=1.0, mean=127.5), "-127.5 to 127.5"),
    ],
)
def test_whole_numbers_are_not_made_of_another_range(onnx_file, preparation, gives):
    path = onnx_file(RED, kind=TensorProto.UINT8)
    message = rf"takes whole numbers .* gives {gives}; set input.range to \[0, 255\]"
    with pytest.raises(ValueError, match=message):
        onnx_model(path, preparation)


def test_what_is_a_file_of_torch_is_named(tmp_path):
    for name in ("net.pt", "net.pth", "net.pt2"):
        (tmp_path / name).write_bytes(b"anything")
        with pytest.raises(ValueError, match=f"{name}: a file of torch, .*kind: python"):
            onnx_model(tmp_path / name, Preparation())
    torch.save({"weight": torch.zeros(2)}, tmp_path / "net.onnx")
    with pytest.raises(ValueError, match="net.onnx: a file of torch, .*torch.onnx.export"):
        onnx_model(tmp_path / "net.onnx", Preparation())


def test_a_fixed_batch_is_filled_up(onnx_file, images):
    path = onnx_file(RED, (5, 3, 16, 16))
    found = onnx_model(path, Preparation(16))(images)
    np.testing.assert_allclose(found, means(images)[:, 0], atol=1e-6)
    assert onnx_model(path, Preparation(16))(images[:0]).shape == (0,)


def test_the_batch_changes_nothing_and_a_second_call_neither(onnx_file, images):
    path = onnx_file(RED)
    one, many = (onnx_model(path, Preparation(8), batch=n) for n in (1, 64))
    np.testing.assert_allclose(one(images), many(images), atol=1e-6)
    assert (many(images) == many(images)).all()


def test_mirror_images_are_averaged(onnx_file, images):
    # The first pixel alone: its mirror image is the last of its row.
    first = helper.make_node("Slice", ["floats", "from", "to"], ["pixel"])
    constants = [
        helper.make_node("Constant", [], [name], value_ints=value)
        for name, value in {"from": [0, 0, 0, 0], "to": [99, 1, 1, 1]}.items()
    ]
    path = onnx_file(RED, nodes=[*constants, first], outputs=("pixel",))
    model = onnx_model(path, Preparation(flip_average=True))
    both = (images[:, 0, 0, 0].astype(float) + images[:, 0, 0, -1]) / 510
    np.testing.assert_allclose(model(images), both, atol=1e-6)


def test_the_card_tells_everything_and_the_hash_changes_with_it(onnx_file, images):
    path = onnx_file(THREE)
    model = onnx_model(path, Preparation(), index=1, activation="softmax")
    card = model.card()
    assert card["file"] == "model.onnx" and len(card["sha256"]) == 64
    assert card["preparation"]["channels"] == "rgb" and card["output"]["index"] == 1
    again = onnx_model(onnx_file(THREE, name="renamed.onnx"), Preparation(), index=1,
                       activation="softmax")  # fmt: skip
    assert again.hash == model.hash == card["hash"]
    others = [
        onnx_model(path, Preparation(), index=0, activation="softmax"),
        onnx_model(path, Preparation(channels="bgr"), index=1, activation="softmax"),
        onnx_model(onnx_file(2 * np.array(THREE), name="b.onnx"), Preparation(), index=1,
                   activation="softmax"),
    ]  # fmt: skip
    assert len({model.hash, *(other.hash for other in others)}) == 4


def test_an_output_is_chosen_by_name_or_number(onnx_file, images):
    twice = helper.make_node("Neg", ["answer"], ["minus"])
    path = onnx_file(RED, nodes=[twice], outputs=("minus", "answer"))
    named, numbered = (onnx_model(path, Preparation(), output=which) for which in ("answer", 1))
    np.testing.assert_array_equal(named(images), numbered(images))
    assert named.hash == numbered.hash
    for wrong in ("logits", 2, -1, True):
        with pytest.raises(ValueError, match="output.name must be one of minus, answer"):
            onnx_model(path, Preparation(), output=wrong)


def test_what_the_input_does_not_take_is_said_before_any_image(onnx_file):
    path = onnx_file(RED, ("n", 3, 112, 112))
    with pytest.raises(ValueError, match=r"takes \['n', 3, 112, 112\].*change input.size"):
        onnx_model(path, Preparation(64))
    with pytest.raises(ValueError, match="change input.layout"):
        onnx_model(path, Preparation(112, layout="nhwc"))


def test_images_of_the_wrong_size_are_an_error_of_one_line(onnx_file, images):
    path = onnx_file(RED, ("n", 3, 112, 112))
    with pytest.raises(ValueError, match=r"model.onnx: failed on images of the shape \[24, 3, 16"):
        onnx_model(path, Preparation())(images)


@pytest.mark.parametrize("content", [b"", b"no protobuf at all", b"\x08\x08"])
def test_what_is_no_onnx_file_is_named(tmp_path, content):
    path = tmp_path / "broken.onnx"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="broken.onnx: no ONNX model that onnxruntime") as error:
        onnx_model(path, Preparation())
    assert "\n" not in str(error.value)


def test_two_inputs_are_refused(tmp_path):
    entries = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 3, 8, 8]) for n in "ab"]
    last = helper.make_tensor_value_info("sum", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["sum"])], "g", entries, [last])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "two.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match=r"two.onnx: 2 inputs \(a, b\)"):
        onnx_model(path, Preparation())
