"""Real ONNX files, made here, and images."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture
def images():
    return np.random.default_rng(7).integers(0, 256, (24, 3, 16, 16)).astype(np.uint8)


@pytest.fixture
def onnx_file(tmp_path):
    """Writes a file that multiplies the channels' means with a matrix (3, k): `save(matrix, …)`."""

    def save(
        matrix,
        shape=("n", 3, "h", "w"),
        kind=TensorProto.FLOAT,
        name="model.onnx",
        outputs=("answer",),
        nodes=(),
    ):
        matrix = np.asarray(matrix, np.float32)
        axes = [2, 3] if shape[1] == 3 else [1, 2]
        numbers = [numpy_helper.from_array(matrix, "matrix")]
        made = [
            helper.make_node("Cast", ["images"], ["floats"], to=TensorProto.FLOAT),
            helper.make_node("ReduceMean", ["floats"], ["means"], axes=axes, keepdims=0),
            helper.make_node("MatMul", ["means", "matrix"], ["answer"]),
            *nodes,
        ]
        first = helper.make_tensor_value_info("images", kind, list(shape))
        last = [helper.make_tensor_value_info(one, TensorProto.FLOAT, None) for one in outputs]
        graph = helper.make_graph(made, "test", [first], last, numbers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path = tmp_path / name
        path.write_bytes(model.SerializeToString())
        return path

    return save
