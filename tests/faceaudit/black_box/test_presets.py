"""Files with the signatures of public models, made here: what goes in, and what is read out."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from faceaudit.black_box import FaceDetector, onnx_model, preset
from faceaudit.black_box.alignment import TEMPLATE

SIZE = 64


def save(path, nodes, shape, outputs, numbers=()):
    first = helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)
    last = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    numbers = [numpy_helper.from_array(value, name) for name, value in dict(numbers).items()]
    graph = helper.make_graph(nodes, "g", [first], last, numbers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize(("name", "low", "high"), [("arcface", -1, 1), ("sface", 0, 255)])
def test_a_recogniser_gets_what_its_preset_says(tmp_path, name, low, high):
    # The whole image as its vector, 112 × 112 × 3 numbers, by a file of the same signature.
    flat = helper.make_node("Flatten", ["input"], ["fc1"])
    path = save(tmp_path / f"{name}.onnx", [flat], ["n", 3, 112, 112], ["fc1"])
    model = onnx_model(path, preset(name), gives="embedding")
    image = np.zeros((1, 3, 112, 112), np.uint8)
    image[0, 0] = 255
    seen = model(image, TEMPLATE[None])[0].reshape(3, 112, 112)
    np.testing.assert_allclose(seen[0], high, atol=0.05)  # red comes first
    np.testing.assert_allclose(seen[1:], low, atol=0.05)


@pytest.fixture
def yunet(tmp_path):
    """As OpenCV's: one image, BGR, 0–255. It finds faces where blue is bright, at stride 8.

    The class score of a cell is the blue at its corner over 255, the object score 0.81; the five
    points are offsets from the cell. Other strides find nothing.
    """

    def build(size=SIZE, drop=()):
        nodes, numbers, outputs = [], {}, []
        numbers |= {"start": np.array([0, 0, 0]), "end": np.array([1, 9999, 9999])}
        numbers |= {"axes": np.array([1, 2, 3]), "steps": np.array([1, 8, 8])}
        nodes += [
            helper.make_node("Slice", ["input", "start", "end", "axes", "steps"], ["blue"]),
            helper.make_node("Div", ["blue", "most"], ["bright"]),
            helper.make_node("Reshape", ["bright", "column"], ["cls_8"]),
        ]
        numbers |= {"most": np.float32(255), "column": np.array([1, -1, 1])}
        offsets = np.array([[0.5, 1], [2.5, 1], [1.5, 2], [0.75, 3], [2.25, 3]], np.float32)
        for stride in (8, 16, 32):
            cells = (size // stride) ** 2
            fixed = {"obj": np.full((1, cells, 1), 0.81), "bbox": np.zeros((1, cells, 4))}
            fixed["kps"] = np.broadcast_to(offsets.reshape(10), (1, cells, 10))
            if stride > 8:
                fixed["cls"] = np.zeros((1, cells, 1))
            for part, value in fixed.items():
                numbers[f"value_{part}_{stride}"] = np.ascontiguousarray(value, np.float32)
                names = [f"value_{part}_{stride}"], [f"{part}_{stride}"]
                nodes.append(helper.make_node("Identity", *names))
            outputs += [f"{part}_{stride}" for part in ("cls", "obj", "bbox", "kps")]
        outputs = [name for name in outputs if name not in drop]
        return save(tmp_path / "yunet.onnx", nodes, [1, 3, size, size], outputs, numbers)

    build.offsets = np.array([[0.5, 1], [2.5, 1], [1.5, 2], [0.75, 3], [2.25, 3]])
    return build


def test_the_most_certain_face_is_found_in_pixels(yunet):
    images = np.zeros((3, 3, SIZE, SIZE), np.uint8)
    images[0, 2, 16, 40] = 255  # blue, in row 2 and column 5 of the cells
    images[0, 2, 8, 8] = 200
    images[1, 0] = 255  # red is nothing to it
    images[2, 2, 0, 0] = 100  # √(100/255 · 0.81) is below 0.6
    points = FaceDetector(yunet())(images)
    np.testing.assert_allclose(points[0], np.add(yunet.offsets, (5, 2)) * 8, atol=1e-4)
    assert np.isnan(points[1:]).all()
    assert np.isfinite(FaceDetector(yunet(), score=0.5)(images)[2]).all()


def test_sides_are_filled_up_to_multiples_of_32(yunet):
    images = np.zeros((1, 3, 50, 60), np.uint8)
    images[0, 2, 48, 56] = 255
    points = FaceDetector(yunet())(images)
    np.testing.assert_allclose(points[0], np.add(yunet.offsets, (7, 6)) * 8, atol=1e-4)


def test_another_file_is_no_detector(yunet):
    with pytest.raises(ValueError, match="yunet.onnx: no output kps_16 among cls_8.* YuNet file"):
        FaceDetector(yunet(drop=["kps_16"]))
    with pytest.raises(ValueError, match="input.preset is 'facenet', one of arcface, sface"):
        preset("facenet")


def test_detector_and_recogniser_together(yunet, tmp_path):
    images = np.zeros((2, 3, SIZE, SIZE), np.uint8)
    images[0, 2, 8, 8] = 255
    images[0, 1] = 60
    flat = helper.make_node("Flatten", ["input"], ["fc1"])
    path = save(tmp_path / "sface.onnx", [flat], ["n", 3, 112, 112], ["fc1"])
    model = onnx_model(path, preset("sface"), gives="embedding", find=FaceDetector(yunet()))
    assert np.isnan(model(images)).all(1).tolist() == [False, True]
    assert model.reasons.tolist() == ["", "no face found"]
