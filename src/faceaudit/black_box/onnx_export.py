"""The book's own networks as ONNX files, so that an audit of a file can be shown without one.

torch's exporter needs a package that the book does without. The book's networks consist of a dozen
kinds of layers, which `torch.fx` lists and this module writes down, one node each. Chapter 20
writes the classifier that its example audits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import fx, nn
from torch.fx.passes.shape_prop import ShapeProp
from torch.nn import functional

from helpers.artifacts.stage import atomic

OPSET, IR_VERSION = 17, 8
"""Versions of ONNX that every onnxruntime from 1.15 on reads."""


def write_onnx(network: nn.Module, path: str | Path, size: int) -> Path:
    """Write one of the book's networks as an ONNX file with any number of images a batch.

    The file takes float32 RGB (n, 3, size, size) in [0, 1], as the network does, and gives what the
    network gives.

    Args:
        network: for example `AuditedModel.network`; in its evaluation mode.
        path: of the file.
        size: height and width of the images, pixels.

    Returns:
        The path.

    Raises:
        ValueError: a layer that this module does not know.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from faceaudit import black_box
        >>> from helpers.models.networks import SmallNet
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = black_box.write_onnx(SmallNet(), f"{folder}/small.onnx", size=32)
        ...     model = black_box.onnx_model(path, black_box.Preparation(32), activation="sigmoid")
        >>> model(np.zeros((2, 3, 32, 32), np.uint8)).shape
        (2,)
    """
    from onnx import checker, helper, numpy_helper  # takes long to import

    was_training = network.training
    try:
        graph = fx.symbolic_trace(network.eval())
        with torch.no_grad():
            ShapeProp(graph).propagate(torch.zeros(2, 3, size, size, device=_device(network)))
        written = _Written(graph)
    finally:
        network.train(was_training)
    nodes = [
        helper.make_node(kind, inputs, [output], **attributes)
        for kind, inputs, output, attributes in written.nodes
    ]
    image = helper.make_tensor_value_info("images", _FLOAT, ["n", 3, size, size])
    output = helper.make_tensor_value_info(written.output, _FLOAT, ["n", *written.shape[1:]])
    numbers = [numpy_helper.from_array(value, name) for name, value in written.numbers.items()]
    drawn = helper.make_graph(nodes, type(network).__name__, [image], [output], numbers)
    versions = {"opset_imports": [helper.make_opsetid("", OPSET)], "ir_version": IR_VERSION}
    model = helper.make_model(drawn, producer_name="helpers", **versions)
    checker.check_model(model, full_check=True)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as temporary:
        temporary.write_bytes(model.SerializeToString())
    return path


_FLOAT = 1
"""TensorProto.FLOAT of ONNX."""


def _device(network: nn.Module) -> torch.device:
    return next(network.parameters()).device


class _Written:
    """Nodes and numbers of a traced network, as ONNX names them."""

    def __init__(self, graph: fx.GraphModule) -> None:
        self.nodes: list[tuple[str, list[str], str, dict[str, Any]]] = []
        self.numbers: dict[str, np.ndarray] = {}
        self._modules = dict(graph.named_modules())
        for node in graph.graph.nodes:
            self._write(node)

    def _write(self, node: fx.Node) -> None:
        if node.op == "placeholder":
            self._names = {node: "images"}
        elif node.op == "output":
            last = node.args[0]
            self.output, self.shape = self._names[last], tuple(last.meta["tensor_meta"].shape)
        elif node.op == "call_module":
            self._module(node, self._modules[node.target])
        elif (write := _FUNCTIONS.get(node.target)) is not None:
            self._names[node] = write(self, node)
        else:
            raise ValueError(f"no ONNX is known of {node.target!r}; export it with torch.onnx")

    def _module(self, node: fx.Node, layer: nn.Module) -> None:
        write = _LAYERS.get(type(layer))
        if write is None:
            raise ValueError(
                f"no ONNX is known of the layer {type(layer).__name__}; export it with torch.onnx"
            )
        self._names[node] = write(self, node, layer)

    def add(self, kind: str, node: fx.Node, *inputs: str, **attributes: Any) -> str:
        """One more node, behind what the traced one's first argument is."""
        names = [self._names[node.args[0]], *inputs]
        name = f"{node.name}_{len(self.nodes)}"
        self.nodes.append((kind, names, name, attributes))
        return name

    def then(self, kind: str, before: str, *inputs: str, **attributes: Any) -> str:
        """One more node, behind another."""
        name = f"{before}_{kind}"
        self.nodes.append((kind, [before, *inputs], name, attributes))
        return name

    def after(self, kind: str, first: str, before: str) -> str:
        """One more node, whose second input is what came before."""
        name = f"{before}_{kind}"
        self.nodes.append((kind, [first, before], name, {}))
        return name

    def number(self, node: fx.Node, what: str, value: Any) -> str:
        """Numbers that the graph holds."""
        if isinstance(value, torch.Tensor):
            value = value.detach().cpu().numpy()
        name = f"{node.name}.{what}"
        self.numbers[name] = np.ascontiguousarray(value)
        return name

    def operand(self, node: fx.Node, value: Any) -> str:
        """A node's second argument: another node, or a number."""
        if isinstance(value, fx.Node):
            return self._names[value]
        return self.number(node, "operand", np.float32(value))


def _convolution(to: _Written, node: fx.Node, layer: nn.Conv2d) -> str:
    if layer.padding_mode != "zeros" or isinstance(layer.padding, str):
        raise ValueError(f"no ONNX is known of the padding {layer.padding_mode}, {layer.padding}")
    weight = [to.number(node, "weight", layer.weight)]
    bias = [] if layer.bias is None else [to.number(node, "bias", layer.bias)]
    return to.add(
        "Conv",
        node,
        *weight,
        *bias,
        kernel_shape=list(layer.kernel_size),
        strides=list(layer.stride),
        pads=[*layer.padding, *layer.padding],
        dilations=list(layer.dilation),
        group=layer.groups,
    )


def _batch_norm(to: _Written, node: fx.Node, layer: nn.Module) -> str:
    parts = {
        "weight": layer.weight,
        "bias": layer.bias,
        "mean": layer.running_mean,
        "var": layer.running_var,
    }
    names = [to.number(node, what, value) for what, value in parts.items()]
    return to.add("BatchNormalization", node, *names, epsilon=layer.eps)


def _linear(to: _Written, node: fx.Node, layer: nn.Linear) -> str:
    weight = [to.number(node, "weight", layer.weight)]
    bias = [] if layer.bias is None else [to.number(node, "bias", layer.bias)]
    return to.add("Gemm", node, *weight, *bias, transB=1)


def _max_pool(to: _Written, node: fx.Node, layer: nn.MaxPool2d) -> str:
    kernel, stride, pad = (_pair(v) for v in (layer.kernel_size, layer.stride, layer.padding))
    return to.add("MaxPool", node, kernel_shape=kernel, strides=stride, pads=pad + pad)


def _cells(to: _Written, node: fx.Node, layer: nn.AdaptiveAvgPool2d) -> str:
    shape = node.args[0].meta["tensor_meta"].shape[2:]
    cells = _pair(layer.output_size)
    if any(side % n for side, n in zip(shape, cells, strict=True)):
        # Cells that overlap: every side is averaged by a matrix of its own.
        rows, columns = (_means(*both) for both in zip(shape, cells, strict=True))
        across = to.add("MatMul", node, to.number(node, "columns", columns.T))
        return to.after("MatMul", to.number(node, "rows", rows), across)
    kernel = [side // n for side, n in zip(shape, cells, strict=True)]
    return to.add("AveragePool", node, kernel_shape=kernel, strides=kernel)


def _means(side: int, cells: int) -> np.ndarray:
    """Weights (cells, side) by which adaptive pooling averages a side."""
    start = np.arange(cells) * side // cells
    end = -(-np.arange(1, cells + 1) * side // cells)
    place = np.arange(side)
    inside = (place >= start[:, None]) & (place < end[:, None])
    return (inside / inside.sum(1, keepdims=True)).astype(np.float32)


def _pair(value: int | tuple[int, int]) -> list[int]:
    return [value, value] if isinstance(value, int) else list(value)


def _mean(to: _Written, node: fx.Node) -> str:
    return to.add("ReduceMean", node, axes=list(node.args[1]), keepdims=0)


def _unit(to: _Written, node: fx.Node) -> str:
    """Division by the length, as `functional.normalize` does by default."""
    length = to.add("ReduceL2", node, axes=[1], keepdims=1)
    least = to.number(node, "least", np.float32(1e-12))
    return to.add("Div", node, to.then("Max", length, least))


def _binary(kind: str) -> Callable[[_Written, fx.Node], str]:
    return lambda to, node: to.add(kind, node, to.operand(node, node.args[1]))


_LAYERS: dict[type[nn.Module], Callable[[_Written, fx.Node, Any], str]] = {
    nn.Conv2d: _convolution,
    nn.BatchNorm2d: _batch_norm,
    nn.BatchNorm1d: _batch_norm,
    nn.Linear: _linear,
    nn.MaxPool2d: _max_pool,
    nn.AdaptiveAvgPool2d: _cells,
    nn.ReLU: lambda to, node, layer: to.add("Relu", node),
    nn.Flatten: lambda to, node, layer: to.add("Flatten", node, axis=1),
    nn.Identity: lambda to, node, layer: to.add("Identity", node),
}
_FUNCTIONS: dict[Any, Callable[[_Written, fx.Node], str]] = {
    operator.sub: _binary("Sub"),
    operator.add: _binary("Add"),
    operator.truediv: _binary("Div"),
    torch.relu: lambda to, node: to.add("Relu", node),
    functional.normalize: _unit,
    "mean": _mean,
}
