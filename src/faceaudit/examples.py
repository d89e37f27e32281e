"""Models and faces of the audit files that ship, made in the run where there are none yet.

The classifier of `audits/example.yml` is trained on faces of the face world as photo collections
show them: few men with long hair, few women with dark skin. So it errs where hair and gender do
not go together as it learnt. The recogniser of `audits/verification.yml` learns invented people,
nearly all of one ancestry group. It is audited on other people, of all groups alike, who are known
to it by nothing but their pictures.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from faceaudit.onnx_files import write_onnx
from helpers import models, verification
from helpers.world import populations
from helpers.world.batches import render_to_store

CLASSIFIER_SIZE, CLASSIFIER_SEED = 48, 20
COMPOSITION, TAUGHT, IMAGES_TAUGHT = "mostly european", 300, 8
SIZE, SEED = 64, 21
PEOPLE, IMAGES = 60, 5
"""People of each group that the recogniser is audited on, and images of each of them."""


def make_example_model(path: Path) -> Path:
    """Train the classifier and write it as ONNX, with weights and images beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = populations.sample("celeba-like", 2000, CLASSIFIER_SEED)
    images = render_to_store(drawn.parameters, CLASSIFIER_SIZE, path.with_suffix(".npy"))
    labels, weights = drawn.frame["gender"].to_numpy(), path.with_suffix(".safetensors")
    trained = models.train(images, labels, weights, seed=CLASSIFIER_SEED, epochs=10)
    return write_onnx(trained.network, path, CLASSIFIER_SIZE)


def make_example_recogniser(path: Path) -> Path:
    """Train the recogniser and write it as ONNX, with weights and images beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    wanted = verification.group_counts(verification.COMPOSITIONS[COMPOSITION], TAUGHT)
    settings = {"seed": SEED, "device": "cpu"}
    taught = verification.render_people(
        wanted, IMAGES_TAUGHT, SIZE, path.with_suffix(".npy"), **settings
    )
    job = {"images": taught.images, "labels": taught.person, "loss": "arcface", "epochs": 14}
    job |= {"path": path.with_suffix(".safetensors"), **settings}
    (trained,) = models.train_recognisers([job])
    return write_onnx(trained.network, path, SIZE)


def make_example_faces(path: Path) -> Path:
    """Draw people and write their pictures, with a table at the path, a `.csv`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    wanted = dict.fromkeys(verification.GROUPS, PEOPLE)
    store = path.with_suffix(".npy")
    people = verification.render_people(wanted, IMAGES, SIZE, store, seed=SEED + 1, device="cpu")
    frame = pd.DataFrame({"identity": people.person, "group": people.group})
    return write_faces(people.images, frame, path)


def write_faces(images: np.ndarray, frame: pd.DataFrame, path: Path) -> Path:
    """Write images as PNG files with a table beside them, as an audit reads them.

    Args:
        images: uint8 (n, 3, height, width).
        frame: columns of the table, a row per image.
        path: of the `.csv`; the files lie in a folder of its name. It is written last.

    Returns:
        The path.
    """
    folder = path.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    files = [f"{folder.name}/{number}.png" for number in range(len(images))]
    for image, file in zip(images, files, strict=True):
        Image.fromarray(image.transpose(1, 2, 0)).save(path.parent / file)
    frame.assign(file=files)[["file", *frame]].to_csv(path, index=False, lineterminator="\n")
    return path
