"""Models and faces of the audit files that ship, made in the run where there are none yet.

The classifier of `audits/example.yml` is trained on faces of the face world as photo collections
show them: few men with long hair, few women with dark skin. So it errs where hair and gender do
not go together as it learnt. The recogniser of `audits/verification.yml` learns invented people,
nearly all of one ancestry group. It is audited on other people, of all groups alike, who are known
to it by nothing but their pictures.
"""

import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch import nn
from torch.nn import functional
from torch.onnx import symbolic_helper

from faceaudit.utils.files import atomic
from faceworld import networks, populations
from faceworld import people as invented
from faceworld.rendering import render_to_store
from helpers.artifacts import lineage

CLASSIFIER_SIZE, CLASSIFIER_SEED = 48, 20
COMPOSITION, TAUGHT, IMAGES_TAUGHT = "mostly european", 300, 8
SIZE, SEED = 64, 21
PEOPLE, IMAGES = 60, 5
"""People of each group that the recogniser is audited on, and images of each of them."""
OPSET = 17
"""Version of ONNX that every onnxruntime from 1.15 on reads."""


def make_example(path: Path) -> None:
    """Make a file that an audit file names, if it is one of the examples'."""
    if make := EXAMPLES.get(path.resolve()):
        make(path)


def make_example_model(path: Path) -> Path:
    """Train the classifier and write it as ONNX, with weights and images beside it."""
    drawn = populations.sample("celeba-like", 2000, CLASSIFIER_SEED)
    images = render_to_store(drawn.parameters, CLASSIFIER_SIZE, path.with_suffix(".npy"))
    labels, weights = drawn.frame["gender"].to_numpy(), path.with_suffix(".safetensors")
    trained = networks.train(images, labels, weights, seed=CLASSIFIER_SEED, epochs=10)
    return write_onnx(trained.network, path, CLASSIFIER_SIZE)


def make_example_recogniser(path: Path) -> Path:
    """Train the recogniser and write it as ONNX, with weights and images beside it."""
    wanted = invented.group_counts(invented.COMPOSITIONS[COMPOSITION], TAUGHT)
    store, settings = path.with_suffix(".npy"), {"seed": SEED, "device": "cpu"}
    taught = invented.render_people(wanted, IMAGES_TAUGHT, SIZE, store, **settings)
    job = {"images": taught.images, "labels": taught.person, "loss": "arcface", "epochs": 14}
    job |= {"path": path.with_suffix(".safetensors"), **settings}
    (trained,) = networks.train_recognisers([job])
    return write_onnx(trained.network, path, SIZE)


def make_example_faces(path: Path) -> Path:
    """Draw people and write their pictures, with a table at the path, a `.csv`."""
    wanted = dict.fromkeys(invented.GROUPS, PEOPLE)
    store = path.with_suffix(".npy")
    people = invented.render_people(wanted, IMAGES, SIZE, store, seed=SEED + 1, device="cpu")
    frame = pd.DataFrame({"identity": people.person, "group": people.group})
    return write_faces(people.images, frame, path)


def write_faces(images: np.ndarray, frame: pd.DataFrame, path: Path) -> Path:
    """Write images (n, 3, height, width) as PNG files, and at last the frame as a table beside."""
    folder = path.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    files = [f"{folder.name}/{number}.png" for number in range(len(images))]
    for image, file in zip(images, files, strict=True):
        Image.fromarray(image.transpose(1, 2, 0)).save(path.parent / file)
    frame.assign(file=files)[["file", *frame]].to_csv(path, index=False, lineterminator="\n")
    return path


def write_onnx(network: nn.Module, path: Path, size: int) -> Path:
    """Write one of the book's networks as an ONNX file with any number of images a batch.

    The file takes float32 RGB (n, 3, size, size) in [0, 1], as the network does, and gives what the
    network gives.
    """
    images, many = torch.zeros(2, 3, size, size), {"images": {0: "n"}, "answer": {0: "n"}}
    # torch's new exporter needs a package that the book does without; this one warns of its age.
    form = {"dynamo": False, "opset_version": OPSET, "dynamic_axes": many}
    form |= {"input_names": ["images"], "output_names": ["answer"]}
    torch.onnx.register_custom_op_symbolic("aten::adaptive_avg_pool2d", _pooled, OPSET)
    network = copy.deepcopy(network).cpu().eval()
    with atomic(path) as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, (images,), str(temporary), **form)
    return path


@symbolic_helper.parse_args("v", "is")
def _pooled(graph: Any, maps: Any, cells: list[int]) -> Any:
    """Adaptive pooling to cells that may overlap: rows and columns are averaged in turn."""
    means = functional.adaptive_avg_pool1d(torch.eye(maps.type().varyingSizes()[-1]), cells[0])
    columns, rows = (graph.op("Constant", value_t=one) for one in (means, means.T.contiguous()))
    return graph.op("MatMul", rows, graph.op("MatMul", maps, columns))


EXAMPLES = {
    lineage.ROOT / "build" / "audits" / "example.onnx": make_example_model,
    lineage.ROOT / "build" / "audits" / "example-recogniser.onnx": make_example_recogniser,
    lineage.ROOT / "build" / "audits" / "example-faces.csv": make_example_faces,
}
