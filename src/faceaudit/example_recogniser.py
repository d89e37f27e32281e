"""The faces and the recogniser of `audits/verification.yml`, made in the run.

The recogniser learns invented people of the face world, nearly all of one ancestry group. It is
audited on other people, of all groups alike, who are known to it by nothing but their pictures.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from faceaudit.face_files import write_faces
from faceaudit.onnx_files import write_onnx
from helpers import models, verification

COMPOSITION, LOSS, TAUGHT, IMAGES_TAUGHT, EPOCHS = "mostly european", "arcface", 300, 8, 14
PEOPLE, IMAGES, SIZE, SEED = 60, 5, 64, 21
"""People of each group, images of each of them, and their size in pixels."""


def make_example_recogniser(path: Path) -> Path:
    """Train the recogniser and write it as ONNX; what is left of the same code is taken.

    Args:
        path: of the `.onnx` file. Weights and images are kept beside it.

    Returns:
        The path.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    wanted = verification.group_counts(verification.COMPOSITIONS[COMPOSITION], TAUGHT)
    settings = {"seed": SEED, "device": "cpu"}
    taught = verification.render_people(
        wanted, IMAGES_TAUGHT, SIZE, path.with_suffix(".npy"), **settings
    )
    job = {"images": taught.images, "labels": taught.person, "loss": LOSS, "epochs": EPOCHS}
    job |= {"path": path.with_suffix(".safetensors"), **settings}
    (trained,) = models.train_recognisers([job])
    return write_onnx(trained.network, path, SIZE)


def make_example_faces(path: Path) -> Path:
    """Draw other people and write their pictures with a table.

    Args:
        path: of the `.csv`; the files lie in a folder of its name.

    Returns:
        The path.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    wanted = dict.fromkeys(verification.GROUPS, PEOPLE)
    store = path.with_suffix(".npy")
    people = verification.render_people(wanted, IMAGES, SIZE, store, seed=SEED + 1, device="cpu")
    frame = pd.DataFrame({"identity": people.person, "group": people.group})
    return write_faces(people.images, frame, path)
