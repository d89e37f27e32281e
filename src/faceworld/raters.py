"""Ratings and measures of faces whose truth is known, to calibrate an instrument on them.

Simulated raters answer the papers' questions and a few more. Automatic measures give the parameters
that raters are not asked about. A study of a real generator puts the same questions to people, and
takes the measures from a landmark model and a measure of light.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import facerender
from faceaudit.annotations.schema import n_levels
from faceaudit.utils import seeding
from facerender.parameters import PARAMETERS
from faceworld import crowd

if TYPE_CHECKING:
    from torch import Tensor

ANNOTATED_ATTRIBUTES = (
    "gender",
    "skin_colour",
    "age",
    "hair_length",
    "facial_hair",
    "makeup",
    "smiling",
)
BORROWED_SCALES = {
    "hair_colour": "skin_colour",
    "earrings": "facial_hair",
    "glasses": "facial_hair",
}
"""Further questions, and the attribute whose scale and disagreement they borrow."""
_SHAPE = [p.name for p in PARAMETERS if p.group == "identity" and not p.name.startswith("hair")]
_ANCESTRY = ["haemoglobin", "ancestry_x", "ancestry_y"]
_SCENE = ["yaw", "pitch", "light_azimuth", "light_elevation", "light_power"]
MEASURED_PARAMETERS = _SHAPE + _ANCESTRY + _SCENE
"""Parameters that a landmark model, a measure of light and one of ancestry give."""
_UNDER_A_SCARF = ("earrings", "hair_colour")


def visible_parameter(parameters: Tensor, name: str) -> pd.Series:
    """A parameter of faces (n, P) as raters could see it: zero where a scarf covers it.

    Args:
        parameters: faces, (n, P).
        name: of the parameter.

    Returns:
        (n,) in the parameter's unit.
    """
    face = facerender.to_frame(parameters)
    values = face[name]
    if name in _UNDER_A_SCARF:
        values = values * (face["hair_style"] != facerender.HAIR_STYLES.index("covered"))
    return values.astype(float).rename(name)


def perceived_on_crops(visible: pd.DataFrame) -> pd.DataFrame:
    """Scores as perceived on crops that hide the hair; beards and makeup still move gender.

    Args:
        visible: scores as `facerender.visible_scores` gives them.

    Returns:
        The same table with the gender that raters perceive.
    """
    bare = crowd.perceived(visible.assign(hair_length=crowd.CUES["hair_length"].neutral))
    return visible.assign(gender=bare["gender"])


def loose_hair(parameters: Tensor) -> np.ndarray:
    """Which faces have hair whose length shows, since it is neither tied nor covered.

    Args:
        parameters: faces, (n, P).

    Returns:
        (n,) bool.
    """
    hidden = [facerender.HAIR_STYLES.index(style) for style in ("tied back", "covered")]
    return ~np.isin(parameters[:, facerender.INDEX["hair_style"]].cpu().numpy(), hidden)


def rate_faces(
    parameters: Tensor,
    raters: int,
    *,
    seed: int,
    stage: str,
    seen_as: Callable[[pd.DataFrame], pd.DataFrame] = perceived_on_crops,
) -> pd.DataFrame:
    """Mean scores of faces in `ANNOTATED_ATTRIBUTES` and `BORROWED_SCALES`.

    Args:
        parameters: faces, (n, P).
        raters: of every face.
        seed: of the run.
        stage: another stage gets other answers.
        seen_as: visible scores → scores as perceived; `crowd.perceived` for full pictures.

    Returns:
        (n, attributes), each from zero to one.
    """
    visible = seen_as(facerender.visible_scores(parameters)[list(ANNOTATED_ATTRIBUTES)])
    scores = crowd.mean_scores(_answers(visible, raters, seed, stage))
    for name, scale in BORROWED_SCALES.items():
        visible = visible_parameter(parameters, name).to_frame(scale)
        answers = _answers(visible, raters, seed, f"{stage} {name}")
        scores[name] = crowd.mean_scores(answers)[scale]
    return scores.reset_index(drop=True)


def rate_faces_with_error(
    parameters: Tensor, names: list[str], raters: int, *, seed: int, stage: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Mean scores of faces on crops, with their standard errors from the raters' spread.

    Args:
        parameters: faces, (n, P).
        names: of `ANNOTATED_ATTRIBUTES`.
        raters: of every face.
        seed: of the run.
        stage: another stage gets other answers.

    Returns:
        Scores, (n, names), and their squared standard errors.
    """
    visible = facerender.visible_scores(parameters)[list(ANNOTATED_ATTRIBUTES)]
    perceived = perceived_on_crops(visible)[names]
    answers = _answers(perceived, raters, seed, stage).query("status == 'accepted'")
    top_levels = [n_levels(name) - 1 for name in names]
    error = answers.groupby("image_id")[names].sem() ** 2 / np.square(top_levels)
    return crowd.mean_scores(answers)[names].reset_index(drop=True), error.reset_index(drop=True)


def measure_faces(parameters: Tensor, population: Tensor, *, seed: int, stage: str) -> pd.DataFrame:
    """Automatic measures of faces, with an error as large as faces differ.

    Args:
        parameters: faces, (n, P).
        population: sampled faces, whose mean is zero and whose standard deviation is the unit.
        seed: of the run.
        stage: another stage has other errors.

    Returns:
        (n, measures), a column for each of `MEASURED_PARAMETERS`.
    """
    columns = [facerender.INDEX[name] for name in MEASURED_PARAMETERS]
    sampled = population[:, columns]
    exact = ((parameters[:, columns] - sampled.mean(0)) / sampled.std(0)).cpu().numpy()
    noise = seeding.normals(seed, f"instrument: measures {stage}", range(len(exact)), len(columns))
    return pd.DataFrame(exact + noise, columns=MEASURED_PARAMETERS)


def _answers(visible: pd.DataFrame, raters: int, seed: int, stage: str) -> pd.DataFrame:
    """A simulated crowd's answers about faces, which are named by their number."""
    named = visible.set_axis([f"{k:06d}" for k in range(len(visible))])
    return crowd.annotate(named, raters, seed=seed, stage=stage)
