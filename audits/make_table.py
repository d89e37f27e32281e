"""The table of the example `table.yml`: an audit in the face world, without its pictures.

    python audits/make_table.py

makes it again: faces, simulated people and the model of `audits/example.yml`, with another seed. A
hundred faces at two levels of three axes, three raters' answers each, and the model's score. The
darkest three in a hundred pictures have no score, as if a detector had found no face in them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from torch import Tensor

import facerender
from faceaudit.annotations.schema import LEVEL_NAMES, n_levels
from faceaudit.example_files import EXAMPLES
from faceaudit.file.specification import Specification
from faceaudit.models.asking import ask, model_of
from faceworld.audit import World
from faceworld.crowd import annotate, perceived
from faceworld.rendering import render_to_store

UNITS, RATERS, SEED, DARKEST = 100, 3, 7, 0.03
AXES = ["skin_colour", "hair_length", "gender"]
MODEL = Path(__file__).parents[1] / "build" / "audits" / "example.onnx"


def make_example_table() -> None:
    """Write the table into the package."""
    specification = Specification(
        name="table",
        question="?",
        axes=AXES,
        model={
            "kind": "onnx",
            "path": MODEL,
            "input": {"size": 48},
            "output": {"activation": "sigmoid"},
        },
        design={"tolerance": 0.05, "seed": SEED},
    )
    index, parameters = World.of(specification).faces(UNITS)
    with tempfile.TemporaryDirectory() as folder:
        images = render_to_store(parameters, specification.size, Path(folder) / "images.npy")
        score = ask(model_of(specification), np.asarray(images), Path(folder))
        brightness = np.asarray(images).mean((1, 2, 3)) / 255
    table = pd.DataFrame({"image_id": index["image_id"], "face": index["unit"]})
    for axis in AXES:
        table[axis] = np.take(LEVEL_NAMES[axis], index[f"{axis}_level"])
    table = table.join(_answers(parameters, index["image_id"]), on="image_id")
    table["p_male"] = pd.Series(score).round(4).where(brightness > np.quantile(brightness, DARKEST))
    table.to_csv(EXAMPLES / "invented-faces.csv", index=False)


def _answers(parameters: Tensor, image_id: pd.Series) -> pd.DataFrame:
    """What every rater says, "female" or "male"; empty where they chose the middle of the scale."""
    seen = perceived(facerender.visible_scores(parameters)).set_index(image_id)
    found = annotate(seen[["gender"]], RATERS, seed=SEED, stage="audit/table")
    found = found[(found["status"] == "accepted") & (found["visit"] == 0)]
    middle = (n_levels("gender") - 1) / 2
    said = np.select([found["gender"] < middle, found["gender"] > middle], ["female", "male"], "")
    number = found.groupby("image_id").cumcount() + 1
    wide = found.assign(said=said, rater="rater_" + number.astype(str))
    return wide.pivot_table("said", "image_id", "rater", aggfunc="first", observed=True)


if __name__ == "__main__":
    make_example_table()
