"""Networks of the book as ONNX files."""

import copy
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.onnx import symbolic_helper

from faceaudit.utils.files import atomic

OPSET = 17
"""Version of ONNX that every onnxruntime from 1.15 on reads."""


def write_onnx(network: nn.Module, path: Path, size: int) -> Path:
    """Write one of the book's networks as an ONNX file with any number of images a batch.

    The file takes float32 RGB (n, 3, size, size) in [0, 1], as the network does, and gives what the
    network gives.
    """
    torch.onnx.register_custom_op_symbolic("aten::adaptive_avg_pool2d", _pooled, OPSET)
    network = copy.deepcopy(network).cpu().eval()
    with atomic(path) as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network,
            (torch.zeros(2, 3, size, size),),
            str(temporary),
            # torch's new exporter needs a package that the book does without; this one warns of its
            # age.
            dynamo=False,
            opset_version=OPSET,
            dynamic_axes={"images": {0: "n"}, "answer": {0: "n"}},
            input_names=["images"],
            output_names=["answer"],
        )
    return path


@symbolic_helper.parse_args("v", "is")
def _pooled(graph: Any, maps: Any, cells: list[int]) -> Any:
    """Adaptive pooling to cells that may overlap: rows and columns are averaged in turn."""
    means = functional.adaptive_avg_pool1d(torch.eye(maps.type().varyingSizes()[-1]), cells[0])
    columns = graph.op("Constant", value_t=means)
    rows = graph.op("Constant", value_t=means.T.contiguous())
    return graph.op("MatMul", rows, graph.op("MatMul", maps, columns))
