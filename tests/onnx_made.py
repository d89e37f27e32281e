"""Small ONNX files, made here: real ones, of which it is known what they compute."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


def save(path, nodes, outputs, numbers=None, shape=("n", 3, "h", "w"), kind=TensorProto.FLOAT):
    """Write nodes (operator, inputs, output, attributes) behind an input `images`."""
    made = [helper.make_node(op, ins, [out], **attributes) for op, ins, out, attributes in nodes]
    first = helper.make_tensor_value_info("images", kind, list(shape))
    last = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    held = [numpy_helper.from_array(np.asarray(v), k) for k, v in (numbers or {}).items()]
    graph = helper.make_graph(made, "test", [first], last, held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def means(path, matrix, more=(), outputs=("answer",), **options):
    """Write a file that multiplies the channels' means with a matrix (3, k)."""
    axes = [1, 2] if options.get("shape", (0, 3))[1] != 3 else [2, 3]
    nodes = [
        ("Cast", ["images"], "floats", {"to": TensorProto.FLOAT}),
        ("ReduceMean", ["floats"], "means", {"axes": axes, "keepdims": 0}),
        ("MatMul", ["means", "matrix"], "answer", {}),
    ]
    numbers = {"matrix": np.asarray(matrix, np.float32)}
    return save(path, [*nodes, *more], outputs, numbers, **options)
