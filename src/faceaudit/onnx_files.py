"""ONNX files: networks that are read from them, a detector of faces, and the book's own as files.

onnxruntime computes on one processor thread, the same way every time. A file is read and checked
before any image is shown: which input it takes, of which size, and which outputs it has.
"""

from __future__ import annotations

import copy
import operator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from onnx import TensorProto, checker, helper, numpy_helper
from torch import fx, nn
from torch.fx.passes.shape_prop import ShapeProp
from torch.nn import functional

from faceaudit.model_input import Preparation
from helpers.artifacts import atomic, lineage

_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(uint8)": np.uint8,
}
_OF_TORCH = (".pt", ".pth", ".pt2")
_SILENT = 4
"""Severity of onnxruntime's messages from which on they are shown: none but the fatal ones."""

OPSET, IR_VERSION = 17, 8
"""Versions of ONNX that every onnxruntime from 1.15 on reads."""
STRIDES, PARTS = (8, 16, 32), ("cls", "obj", "kps")
ENOUGH = 0.6
"""Score from which on a face counts as found."""


def open_session(path: Path) -> onnxruntime.InferenceSession:
    """A session of onnxruntime on one processor thread, with deterministic kernels.

    Raises:
        ValueError: no such file, or no ONNX model.
    """
    if not path.is_file():
        raise ValueError(f"{path}: no such file; model.path must name an ONNX file")
    with path.open("rb") as stream:
        zipped = stream.read(4) == b"PK\x03\x04"  # as torch's files are, and ONNX's never
    if zipped or path.suffix.lower() in _OF_TORCH:
        raise ValueError(
            f"{path}: a file of torch, which is not opened, because reading one can run code that "
            "stands in it; export the network with torch.onnx.export, or name a function of yours "
            "under kind: python"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = _SILENT
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's have no class in common but this
        raise ValueError(
            f"{path}: no ONNX model that onnxruntime {onnxruntime.__version__} can read "
            f"({_first_line(error)})"
        ) from None


def hashes(path: Path) -> dict[str, str]:
    """SHA-256 of a file, and of the weights that large exports leave beside it."""
    beside = path.with_name(f"{path.name}.data")
    files = {"sha256": path} | ({"data_sha256": beside} if beside.is_file() else {})
    return {name: lineage.file_hash(one) for name, one in files.items()}


class OnnxNetwork:
    """One input, one output of a session: prepared images (n, …) → raw outputs (n, …).

    Args:
        session: of `open_session`.
        output: name of the output that is read, or its number.
        name: of the file, for messages.
    """

    def __init__(self, session: onnxruntime.InferenceSession, output: str | int, name: str) -> None:
        self._session, self._name = session, name
        inputs = session.get_inputs()
        if len(inputs) != 1:
            raise ValueError(
                f"{name}: {len(inputs)} inputs ({', '.join(one.name for one in inputs)}), "
                "a model of one image each was expected"
            )
        self._input = inputs[0]
        if self._input.type not in _TYPES:
            raise ValueError(
                f"{name}: input {self._input.name!r} takes {self._input.type}, "
                f"one of {', '.join(_TYPES)} was expected"
            )
        outputs = [one.name for one in session.get_outputs()]
        if output not in (*outputs, *range(len(outputs))):
            raise ValueError(
                f"{name}: no output {output!r}; output.name must be one of {', '.join(outputs)}"
            )
        self.output = output if isinstance(output, str) else outputs[output]

    def check_input(self, preparation: Preparation) -> None:
        """Raise ValueError if the network wants images of another shape or range than it gets."""
        shape, size = self._input.shape, preparation.size
        if len(shape) != 4:
            raise ValueError(
                f"{self._name}: input {self._input.name!r} has the shape {shape}, images "
                "(n, 3, height, width) or (n, height, width, 3) were expected"
            )
        channels = 1 if preparation.layout == "nchw" else 3
        gets = (3, size, size) if channels == 1 else (size, size, 3)
        wanted = [one if isinstance(one, int) else got for one, got in zip(shape[1:], gets)]  # noqa: B905
        if tuple(wanted) != gets:
            change = "input.size" if shape[channels] == 3 else "input.layout"
            raise ValueError(
                f"{self._name}: input {self._input.name!r} takes {shape}, but the preparation "
                f"gives {['n', *gets]}; change {change}"
            )
        ends = preparation.ends()
        whole = _TYPES[self._input.type] is np.uint8
        if whole and not np.allclose(ends, [[0], [255]], atol=1):  # rounded, nothing would be left
            raise ValueError(
                f"{self._name}: input {self._input.name!r} takes whole numbers from 0 to 255, but "
                f"the preparation gives {ends.min():.4g} to {ends.max():.4g}; set input.range to "
                "[0, 255], without input.mean and input.std"
            )

    def __call__(self, ready: np.ndarray) -> np.ndarray:
        kind = _TYPES[self._input.type]
        ready = (ready.round().clip(0, 255) if kind is np.uint8 else ready).astype(kind)
        fixed = self._input.shape[0]
        if not isinstance(fixed, int):
            return self._run(ready)
        # The file wants so many images at a time: the last batch is filled up with its last image.
        more = np.repeat(ready[-1:], -len(ready) % fixed, 0)
        batches = np.split(np.concatenate([ready, more]), range(fixed, len(ready), fixed))
        return np.concatenate([self._run(batch) for batch in batches])[: len(ready)]

    def _run(self, ready: np.ndarray) -> np.ndarray:
        try:
            return self._session.run([self.output], {self._input.name: ready})[0]
        except Exception as error:  # as above
            raise ValueError(
                f"{self._name}: failed on images of the shape {list(ready.shape)} "
                f"({_first_line(error)})"
            ) from None


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


class FaceDetector:
    """The five points of the most certain face in each image, by a YuNet file.

    YuNet (Wu, Peng & Yu, Machine Intelligence Research 20, 2023) in the ONNX file of OpenCV's model
    zoo: BGR, 0–255, sides that are multiples of 32 (black is added on the right and below), twelve
    outputs. The score is √(class · object). Called with uint8 images (n, 3, height, width) it
    returns points, float64 (n, 5, 2), NaN where no face is found.

    Args:
        path: of the `.onnx` file.

    Raises:
        ValueError: no readable file, or one with other outputs.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise ValueError(f"{path}: no such file; input.detector must name a YuNet file")
        self._path, self._session = path, open_session(path)
        self._outputs = [f"{part}_{stride}" for part in PARTS for stride in STRIDES]
        there = [one.name for one in self._session.get_outputs()]
        if missing := [name for name in self._outputs if name not in there]:
            raise ValueError(
                f"{path}: no output {missing[0]} among {', '.join(there)}; a YuNet file of "
                "OpenCV's model zoo was expected"
            )

    def __call__(self, images: np.ndarray) -> np.ndarray:
        height, width = images.shape[2:]
        pad = ((0, 0), (0, 0), (0, -height % 32), (0, -width % 32))
        padded = np.ascontiguousarray(np.pad(images[:, ::-1].astype(np.float32), pad))
        name = self._session.get_inputs()[0].name
        points = np.full((len(images), 5, 2), np.nan)
        for row in range(len(images)):  # the zoo's file takes one image at a time
            raw = self._session.run(self._outputs, {name: padded[[row]]})
            found = dict(zip(self._outputs, raw, strict=True))
            points[row] = _most_certain(found, padded.shape[3])
        return points

    def card(self) -> dict[str, str | float]:
        """File, SHA-256 and the score from which on a face counts."""
        return {"file": self._path.name, **hashes(self._path), "score": ENOUGH}


def _most_certain(found: dict[str, np.ndarray], width: int) -> np.ndarray:
    """Points (5, 2) of the face with the highest score; NaN if that is too low."""
    best, points = -1.0, np.full((5, 2), np.nan)
    for stride in STRIDES:
        cls, obj = (found[f"{part}_{stride}"].reshape(-1).clip(0, 1) for part in ("cls", "obj"))
        score = np.sqrt(cls * obj)
        cell = int(score.argmax())
        if score[cell] >= ENOUGH and score[cell] > best:
            row, column = divmod(cell, width // stride)
            offsets = found[f"kps_{stride}"].reshape(-1, 5, 2)[cell]
            best, points = float(score[cell]), (offsets + np.array([column, row])) * stride
    return points


# --- the book's own networks, written as files


def write_onnx(network: nn.Module, path: str | Path, size: int) -> Path:
    """Write one of the book's networks as an ONNX file with any number of images a batch.

    The file takes float32 RGB (n, 3, size, size) in [0, 1], as the network does, and gives what the
    network gives. torch's own exporter needs a package that the book does without; the book's
    networks consist of a dozen kinds of layers, which `torch.fx` lists.

    Args:
        network: for example `AuditedModel.network`.
        path: of the file.
        size: height and width of the images, pixels.

    Returns:
        The path.

    Raises:
        ValueError: a layer that this module does not know.
    """
    traced = fx.symbolic_trace(copy.deepcopy(network).cpu().eval())
    with torch.no_grad():
        ShapeProp(traced).propagate(torch.zeros(2, 3, size, size))
    to, layers, names = _Graph(), dict(traced.named_modules()), {}
    for node in traced.graph.nodes:
        if node.op == "placeholder":
            names[node] = "images"
        elif node.op == "output":
            last, shape = names[node.args[0]], node.args[0].meta["tensor_meta"].shape
        else:
            kind = layers[node.target] if node.op == "call_module" else node.target
            inputs = [names[one] if isinstance(one, fx.Node) else one for one in node.args]
            side = node.args[0].meta["tensor_meta"].shape[-1]
            names[node] = _written(to, kind, side, *inputs)
    image = helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", 3, size, size])
    output = helper.make_tensor_value_info(last, TensorProto.FLOAT, ["n", *shape[1:]])
    graph = helper.make_graph(to.nodes, type(network).__name__, [image], [output], to.numbers)
    versions = {"opset_imports": [helper.make_opsetid("", OPSET)], "ir_version": IR_VERSION}
    model = helper.make_model(graph, producer_name="helpers", **versions)
    checker.check_model(model, full_check=True)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as temporary:
        temporary.write_bytes(model.SerializeToString())
    return path


class _Graph:
    """Nodes and numbers of an ONNX file."""

    def __init__(self) -> None:
        self.nodes, self.numbers = [], []

    def __call__(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """Add a node and name its output; inputs are names of outputs, numbers, or not there."""
        given = [one for one in inputs if one is not None]
        names = [one if isinstance(one, str) else self._number(one) for one in given]
        output = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, names, [output], **attributes))
        return output

    def _number(self, value: Any) -> str:
        name = f"number_{len(self.numbers)}"
        value = torch.as_tensor(value, dtype=torch.float32).detach().numpy()
        self.numbers.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name


def _written(to: _Graph, kind: Any, side: int, x: str, *more: Any) -> str:
    """Write what a layer or a function does to maps of so many pixels a side."""
    match kind:
        case nn.Conv2d(padding_mode="zeros", padding=(_, _)):
            shape = {"kernel_shape": list(kind.kernel_size), "strides": list(kind.stride)}
            shape |= {"pads": [*kind.padding] * 2, "dilations": list(kind.dilation)}
            return to("Conv", x, kind.weight, kind.bias, group=kind.groups, **shape)
        case nn.BatchNorm2d() | nn.BatchNorm1d():
            numbers = kind.weight, kind.bias, kind.running_mean, kind.running_var
            return to("BatchNormalization", x, *numbers, epsilon=kind.eps)
        case nn.Linear():
            return to("Gemm", x, kind.weight, kind.bias, transB=1)
        case nn.MaxPool2d():
            shape = {"kernel_shape": [kind.kernel_size] * 2, "strides": [kind.stride] * 2}
            return to("MaxPool", x, pads=[kind.padding] * 4, **shape)
        case nn.AdaptiveAvgPool2d() if side % kind.output_size == 0:
            cell = [side // kind.output_size] * 2
            return to("AveragePool", x, kernel_shape=cell, strides=cell)
        case nn.AdaptiveAvgPool2d():  # cells that overlap: rows and columns are averaged in turn
            means = _means(side, kind.output_size)
            return to("MatMul", means, to("MatMul", x, means.T))
        case nn.Flatten():
            return to("Flatten", x, axis=1)
        case nn.Identity():
            return x
        case nn.ReLU() | torch.relu:
            return to("Relu", x)
        case operator.sub | operator.add | operator.truediv:
            names = {operator.sub: "Sub", operator.add: "Add", operator.truediv: "Div"}
            return to(names[kind], x, *more)
        case functional.normalize:  # as by default, division by the length
            length = to("ReduceL2", x, axes=[1], keepdims=1)
            return to("Div", x, to("Max", length, 1e-12))
        case "mean":
            return to("ReduceMean", x, axes=list(more[0]), keepdims=0)
    told = type(kind).__name__ if isinstance(kind, nn.Module) else kind
    raise ValueError(f"no ONNX is known of the layer {told}; export it with torch.onnx")


def _means(side: int, cells: int) -> np.ndarray:
    """Weights (cells, side) by which adaptive pooling averages a side."""
    start = np.arange(cells) * side // cells
    end = -(-np.arange(1, cells + 1) * side // cells)
    place = np.arange(side)
    inside = (place >= start[:, None]) & (place < end[:, None])
    return (inside / inside.sum(1, keepdims=True)).astype(np.float32)
