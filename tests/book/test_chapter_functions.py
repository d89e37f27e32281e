"""Functions that chapter 11 defines in its own cells, taken from its source."""

import ast
from itertools import product

import numpy as np
import pandas as pd
import pytest

from helpers.artifacts.lineage import NOTEBOOKS

AXES = ["skin_colour", "hair_length", "gender"]


def chapter_functions() -> dict:
    """`step_errors` of the chapter, with what it uses; `sampled` is for the test to set."""
    source = (NOTEBOOKS / "11_who_was_right.py").read_text(encoding="utf-8")
    names = {"np": np, "pd": pd, "product": product, "AXES": AXES}
    names["levels"] = [f"{name}_level" for name in AXES]
    for statement in ast.parse(source).body:
        if getattr(statement, "name", "") in ("face_influences", "step_errors"):
            exec(ast.unparse(statement), names)
    cells = source.partition("cells_of_axes = []")
    exec(cells[1] + cells[2].partition("# %%")[0], names)
    return names


def grid_frame(errors: np.ndarray, names: np.ndarray) -> pd.DataFrame:
    """Images of faces (n, 2, 2, 2) with their levels and the faces' names."""
    places = np.indices(errors.shape).reshape(4, -1)
    levels = {f"{axis}_level": places[k + 1] for k, axis in enumerate(AXES)}
    return pd.DataFrame({"face": names[places[0]], "error": errors.ravel(), **levels})


def one_step(table: pd.DataFrame, arm_name: str) -> pd.Series:
    rows = table[(table["arm"] == arm_name) & (table["attribute"] == "skin_colour")]
    (row,) = rows[rows["hair_length"].eq(0) & rows["gender"].eq(0)].to_dict("records")
    return pd.Series(row)


def test_steps_of_arms_that_share_some_faces_and_lack_some_images_have_honest_errors():
    """The standard error is the spread of the step over repeated experiments."""
    chapter = chapter_functions()
    random = np.random.default_rng(2)
    steps, ses = [], []
    for _ in range(120):
        liking = random.random((70, 1, 1, 1))  # a face's own chance of an error
        errors = (random.random((70, 2, 2, 2)) < liking).astype(float)
        lost = random.random((45, 2, 2, 2)) < 0.15
        later = np.where(random.random((45, 2, 2, 2)) < 0.3, 0, errors[25:])
        frames = {
            "A": grid_frame(errors[:50], np.arange(50)),
            "B": grid_frame(later, 25 + np.arange(45))[~lost.ravel()],
        }
        chapter["sampled"] = frames
        row = one_step(chapter["step_errors"]("error"), "B")
        steps.append(row["change"])
        ses.append(row["se"])
    assert np.std(steps) == pytest.approx(np.mean(ses), rel=0.18)
