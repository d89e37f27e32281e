"""Invented people: the six groups, training sets of stated composition, and their pictures.

A group is a *perceived* gender and an ancestry group (Liang et al. 2023, section 3.1, who speak of
race). The ancestry groups are three stylised reference points of the face world's ancestry plane:
they shift the shape of faces and say nothing about people, nor about skin colour. The paper audits
networks trained on three large sets of photographs (section 4); here each recogniser has a
composition by group that is known, because it was chosen (`RECOGNISERS`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

import facerender
from faceaudit.utils import seeding
from facerender.parameters import (
    ANCESTRY_REFERENCES,
    HAIR_STYLES,
    IDENTITY_LIMIT,
    INDEX,
    PARAMETERS,
    defaults,
)
from faceworld.interventions import do
from faceworld.populations import IDENTITY_PARAMETERS
from faceworld.rendering import render_to_store

if TYPE_CHECKING:
    from torch import Tensor

ANCESTRIES: tuple[str, ...] = tuple(ANCESTRY_REFERENCES)
"""Names of the ancestry groups."""
GROUPS: tuple[str, ...] = tuple(f"{a} {g}" for a in ANCESTRIES for g in ("female", "male"))
"""Order of groups everywhere: in tables, arrays and figures."""
ANCESTRY_DEPTH = 1.5
"""How far the faces of a group lie from the average of all, which is at a distance of 1 from each
reference point: half as far again, so that the groups differ more than people within one do."""
HAIR_STYLE_SHARES = {
    "straight": 0.36,
    "wavy": 0.28,
    "curly": 0.16,
    "fringe": 0.12,
    "tied back": 0.08,
}
"""Shares of hair styles, the same in all groups."""

_REFERENCES = np.array(list(ANCESTRY_REFERENCES.values()))
_GENDERS = (0.15, 0.85)  # perceived gender of women and men, on average
_HAIR_LENGTH = ((0.55, 0.15), (0.18, 0.08))  # mean and spread, women and men
_SKIN = (0.42, 0.20)  # in all groups alike: ancestry is a matter of shape here


class RecogniserDesign(NamedTuple):
    """Design of an audited recogniser.

    Attributes:
        loss: "arcface" or "sphereface".
        shares: group → its share of the identities in the training set.
    """

    loss: str
    shares: Mapping[str, float]


def _shares(african: float, east_asian: float, european: float) -> dict[str, float]:
    """Shares of `GROUPS` from those of the ancestry groups, half of each perceived as male."""
    return dict(zip(GROUPS, np.repeat((african, east_asian, european), 2) / 2, strict=True))


BALANCED = "balanced"
"""The recogniser that sees all groups equally often."""
COMPOSITIONS: dict[str, dict[str, float]] = {
    "mostly african": _shares(0.94, 0.03, 0.03),
    "mostly east asian": _shares(0.03, 0.94, 0.03),
    "mostly european": _shares(0.03, 0.03, 0.94),
    BALANCED: _shares(1 / 3, 1 / 3, 1 / 3),
}
"""Shares of the groups in a training set. Three know one ancestry group well and hardly the others,
so that a group that is hard by itself can be told from one that was rarely seen; the last is the
control. Sets of photographs are skewed less, but networks that large learn more from few.
"""
RECOGNISERS: dict[str, RecogniserDesign] = {
    "arcface-a": RecogniserDesign("arcface", COMPOSITIONS["mostly european"]),
    "arcface-b": RecogniserDesign("arcface", COMPOSITIONS["mostly east asian"]),
    "sphereface": RecogniserDesign("sphereface", COMPOSITIONS["mostly european"]),
    BALANCED: RecogniserDesign("arcface", COMPOSITIONS[BALANCED]),
}
"""The recognisers that are audited one by one. All `COMPOSITIONS` are trained several times for
`recorded_trainings`.
"""


# --- groups


def split_groups(groups: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Ancestry and perceived gender of groups, from their names.

    Args:
        groups: (n,) names.

    Returns:
        The ancestry group, str (n,), and whether male, bool (n,).
    """
    ancestry, gender = np.array([group.rsplit(" ", 1) for group in groups]).T
    return ancestry, gender == "male"


def ancestry_point(ancestry: Sequence[str]) -> np.ndarray:
    """Where faces of an ancestry group are centred.

    Args:
        ancestry: (n,) of `ANCESTRIES`.

    Returns:
        ancestry_x and ancestry_y, float64 (n, 2).
    """
    return ANCESTRY_DEPTH * _REFERENCES[[ANCESTRIES.index(name) for name in ancestry]]


def nearest_ancestry(points: ArrayLike) -> np.ndarray:
    """Ancestry group whose reference is nearest to points of the ancestry plane.

    Args:
        points: places in the ancestry plane, (…, 2).

    Returns:
        Index in `ANCESTRIES`, int (…).
    """
    # References are of one length, so the nearest is the one with the largest inner product.
    return (np.asarray(points, dtype=np.float64) @ _REFERENCES.T).argmax(axis=-1)


# --- training sets


def group_counts(shares: Mapping[str, float], n: int) -> dict[str, int]:
    """Whole numbers of identities by group, n together, by largest remainders.

    Args:
        shares: of all `GROUPS`, together 1.
        n: identities of the set.

    Returns:
        Group → number of identities.
    """
    exact = n * np.array([shares[group] for group in GROUPS], dtype=np.float64)
    counts = np.floor(exact).astype(int)
    largest = np.argsort(-(exact - counts), kind="stable")[: n - counts.sum()]
    counts[largest] += 1
    return dict(zip(GROUPS, counts.tolist(), strict=True))


def identity_set(
    counts: Mapping[str, int], images_each: int, *, seed: int
) -> tuple[Tensor, np.ndarray, np.ndarray]:
    """Faces of invented people, each in several images, to train or to test a recogniser.

    A person has identity parameters, a perceived group, skin and hair colour, hair style, usual
    hair length and age. Pose, light, expression, apparent age, hair length, makeup, beard and
    glasses change from image to image. Only shape tells the ancestry groups apart
    (skin colour is spread alike in all), so the groups are meant to be equally hard. Draws are
    keyed by the identity's number within its group, so a larger set begins with the smaller one's
    people.

    Args:
        counts: group → number of identities.
        images_each: images of each.
        seed: of the draws.

    Returns:
        parameters float32 (n, P), the number of the identity (n,) and its group (n,). Rows of an
        identity are consecutive.
    """
    groups = np.repeat(list(counts), list(counts.values()))
    within = np.concatenate([np.arange(count) for count in counts.values()])
    ancestry, male = split_groups(groups)
    items = within * len(GROUPS) + pd.Index(GROUPS).get_indexer(groups)
    people = _people(ancestry, male, items, seed).repeat_interleave(images_each, 0)
    image = np.tile(np.arange(images_each), len(groups))
    parameters = _varied(people, np.repeat(items, images_each) * 2**16 + image, seed)
    labels = np.repeat(np.arange(len(groups)), images_each)
    return parameters, labels, groups[labels]


def _people(ancestry: np.ndarray, male: np.ndarray, items: np.ndarray, seed: int) -> Tensor:
    """Parameters (n, P) of persons; those that change from image to image have their default."""
    normals = ["gender", "skin", "length", "x", "y", *IDENTITY_PARAMETERS]
    z = _draws(seeding.normals, normals, "identities: people", items, seed)
    uniforms = ["style", "hair_colour", "haemoglobin", "texture", "age", "makeup", "beard"]
    u = _draws(seeding.uniforms, uniforms, "identities: looks", items, seed)
    point = ancestry_point(ancestry)
    skin = _SKIN[0] + _SKIN[1] * z["skin"]
    length_of_women, length_of_men = (mean + sd * z["length"] for mean, sd in _HAIR_LENGTH)
    length = np.where(male, length_of_men, length_of_women)
    style = np.searchsorted(
        np.cumsum(list(HAIR_STYLE_SHARES.values()))[:-1], u["style"], side="right"
    )
    columns = {
        "gender": np.where(male, _GENDERS[1], _GENDERS[0]) + 0.08 * z["gender"],
        "ancestry_x": point[:, 0] + 0.15 * z["x"],
        "ancestry_y": point[:, 1] + 0.15 * z["y"],
        "skin_colour": skin,
        "hair_length": length,
        "hair_style": np.array([HAIR_STYLES.index(name) for name in HAIR_STYLE_SHARES])[style],
        "hair_colour": u["hair_colour"] * (1 - 0.6 * skin.clip(0, 1)),
        "haemoglobin": u["haemoglobin"],
        "texture_seed": u["texture"],
        "age": 0.32 + 0.30 * u["age"],
        "makeup": ~male * 0.6 * u["makeup"],
        "facial_hair": (male & (u["beard"] < 0.3)) * (0.3 + 2 * u["beard"]),
    } | {name: z[name].clip(-IDENTITY_LIMIT, IDENTITY_LIMIT) for name in IDENTITY_PARAMETERS}
    return _filled(defaults(len(items)), columns)


def _varied(parameters: Tensor, items: np.ndarray, seed: int) -> Tensor:
    """Parameters of images, from those of the person in each row: scene and look are drawn anew."""
    normals = ["pitch", "age", "length", "makeup"]
    z = _draws(seeding.normals, normals, "identities: images", items, seed)
    uniforms = ["yaw", "azimuth", "elevation", "power", "smile", "beard", "glasses"]
    u = _draws(seeding.uniforms, uniforms, "identities: scenes", items, seed)
    person = {name: parameters[:, INDEX[name]].numpy().astype(np.float64) for name in INDEX}
    woman = person["gender"] < 0.5
    columns = {
        "yaw": -32 + 64 * u["yaw"],
        "pitch": (6 * z["pitch"]).clip(-15, 15),
        "light_azimuth": -80 + 160 * u["azimuth"],
        "light_elevation": -40 + 110 * u["elevation"],
        "light_power": 0.2 + 0.6 * u["power"],
        "smiling": u["smile"],
        "age": (person["age"] + 0.12 * z["age"]).clip(0.12, 0.95),
        "hair_length": person["hair_length"] + 0.08 * z["length"],
        "makeup": woman * (person["makeup"] + 0.12 * z["makeup"]),
        "facial_hair": person["facial_hair"] * (0.5 + 0.7 * u["beard"]),
        "glasses": (u["glasses"] < 0.08).astype(float),
    }
    return _filled(parameters, columns)


def _draws(draw, names: list[str], key: str, items: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Keyed draws of every item, by name."""
    return dict(zip(names, draw(seed, key, items, len(names)).T, strict=True))


def _filled(parameters: Tensor, columns: Mapping[str, np.ndarray]) -> Tensor:
    """Parameters with columns written, clipped to their ranges."""
    clipped = {}
    for name, values in columns.items():
        limits = PARAMETERS[INDEX[name]]
        clipped[name] = np.clip(values, limits.low, limits.high)
    return do(parameters, **clipped)


# --- pictures


def render_heads(parameters: Tensor, size: int) -> facerender.Rendering:
    """`facerender.render` with background, neck and shoulders made white (Liang et al. 2023, 3.3).

    The paper uses a segmentation network; the face world knows which pixels are head. A mask
    between 0 and 1, at the outline, mixes.

    Args:
        parameters: of the faces, as `facerender.render` takes them.
        size: height and width in pixels.

    Returns:
        Images with white backgrounds, masks and landmarks.
    """
    rendering = facerender.render(parameters, size)
    image = 1 - (1 - rendering.image) * rendering.head_mask[:, None]
    return replace(rendering, image=image)


def store_heads(parameters: Tensor, size: int, path: Path, device: str) -> np.ndarray:
    """Render heads on white into a file, or map the images that it holds already.

    Args:
        parameters: of the renderer, (n, P).
        size: height and width in pixels.
        path: the `.npy` file that keeps the images.
        device: "cpu" or "cuda", where parameters lie; the processor renders either way.

    Returns:
        uint8 (n, 3, size, size), a memory map of the file.
    """
    return render_to_store(parameters, size, path, device=device, render=render_heads)


class People(NamedTuple):
    """Invented people in several images each, a row per image.

    Attributes:
        images: uint8 (n, 3, size, size), heads on white.
        person: (n,) number of the identity.
        group: (n,) one of `GROUPS`.
    """

    images: np.ndarray
    person: np.ndarray
    group: np.ndarray


def render_people(
    counts: Mapping[str, int], images_each: int, size: int, path: Path, *, seed: int, device: str
) -> People:
    """Draw identities and render them.

    Args:
        counts: group → number of identities.
        images_each: images of each.
        size: height and width in pixels.
        path: the `.npy` file that keeps the images.
        seed: of the draws.
        device: "cpu" or "cuda", where parameters lie; the processor renders either way.

    Returns:
        Their images, a row each, with person and group.
    """
    parameters, person, group = identity_set(counts, images_each, seed=seed)
    return People(store_heads(parameters, size, path, device), person, group)


NEUTRAL: Mapping[str, float] = {
    "yaw": 0.0,
    "pitch": 0.0,
    "light_azimuth": 0.0,
    "glasses": 0.0,
    "hair_style": 0.0,
    "light_elevation": 20.0,
    "light_power": 0.5,
}
"""The scene of all prototypes, with one hair style, or hair would tell the seeds apart."""


def neutral(parameters: Tensor) -> Tensor:
    """The same faces in the scene that all prototypes share (`NEUTRAL`).

    Args:
        parameters: float32 (n, P) of the renderer.

    Returns:
        float32 (n, P).
    """
    return do(parameters, **NEUTRAL)


TRAININGS_RECORD = Path(__file__).with_suffix(".trainings.parquet")
"""Which pairs each network of `benchmarks/training_runs.py` accepts."""
PAIR_COLUMNS = ["kind", "group", "seed_first", "seed_second", "match"]
"""Columns of the record that describe the pairs; the others are networks."""


def recorded_trainings() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The recorded trainings: pairs, and which of them each network accepts.

    A network is one draw of what its training set can lead to: another training of the same
    composition sees other people, in another order, from other weights. The pairs are those of
    chapter 14 in the laptop profile.

    Returns:
        A row per pair with kind, group, seed_first, seed_second and match (whether people hold both
        for one person); and booleans, rows as there, whose columns have the levels composition (of
        `COMPOSITIONS`) and training.
    """
    table = pd.read_parquet(TRAININGS_RECORD)
    accepted = table.drop(columns=PAIR_COLUMNS)
    names = [name.split(", ") for name in accepted]
    accepted.columns = pd.MultiIndex.from_tuples(names, names=["composition", "training"])
    return table[PAIR_COLUMNS], accepted
