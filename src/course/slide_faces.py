"""The faces on the slides: drawn when slides are built, so that students need no renderer."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

import facerender
from faceaudit.utils import seeding
from faceworld import do
from faceworld.known_truth import KnownTruthGenerator
from helpers import figures
from helpers.artifacts import lineage

FOLDER = "faces"
"""Beside the slides' notebooks; a slide shows `faces/<number of the session>.jpg`."""
SHEET_OF_THE_RECORD = lineage.ROOT / "audits" / "published" / "faces.jpg"
COLUMNS_OF_THE_SHEET = 5
SHOWN_OF_THE_SHEET = 3
"""Rows of it, which are faces."""
SIZE = 160
"""Height and width of a face, pixels."""
GAP = 6
"""White between two faces, pixels."""
LIGHT = 0.2
DARK = 0.8
SHORT = 0.12
LONG = 0.75
FEMALE = 0.1
MALE = 0.9
SHAPE = [
    facerender.INDEX[parameter.name]
    for parameter in facerender.PARAMETERS
    if parameter.group == "identity"
]
"""Columns of the proportions of a face."""
PLAIN = {"age": 0.5, "artefacts": 0.0, "glasses": 0.0, "facial_hair": 0.0}
SHARE_OF_SHAPE = 0.5
"""Of how far a drawn face's proportions are from the average: slides show ordinary faces."""
SMILING = facerender.INDEX["smiling"]
EXPRESSIONS = (0.35, 0.75)
"""Calm ones."""
STRAIGHT = {"hair_style": 0.0}
"""Of hair whose length can be seen."""


def draw(folder: Path) -> None:
    """Write the faces of every deck into a folder, as `NN.jpg`."""
    folder.mkdir(parents=True, exist_ok=True)
    for session, rows_of_faces in ROWS.items():
        write(rows_of_faces(), folder / f"{session}.jpg")
    with Image.open(SHEET_OF_THE_RECORD) as sheet:
        side = sheet.width // COLUMNS_OF_THE_SHEET
        first_rows = (0, 0, sheet.width, SHOWN_OF_THE_SHEET * side)
        sheet.convert("RGB").crop(first_rows).save(folder / "11.jpg")


def write(rows: Sequence[Tensor], path: Path) -> None:
    """Write faces (n, P) of each row, from left to right, as one picture."""
    columns = max(len(row) for row in rows)
    side = SIZE + GAP
    picture = np.full((side * len(rows), side * columns, 3), 255, np.uint8)
    for number, row in enumerate(rows):
        faces = figures.as_pixels(facerender.render(row, SIZE).image)
        for column, face in enumerate(faces):
            top = number * side
            start = column * side
            picture[top : top + SIZE, start : start + SIZE] = face
    Image.fromarray(picture).save(path)


def people(n: int, session: str) -> Tensor:
    """Random adults (n, P), drawn by the number of the session alone."""
    generator = KnownTruthGenerator()
    seed = int(seeding.rng(0, f"faces of slides/{session}").integers(2**31))
    parameters = generator.parameters(generator.sample(n, seed))
    parameters[:, SHAPE] *= SHARE_OF_SHAPE
    parameters[:, SMILING] = parameters[:, SMILING].clamp(*EXPRESSIONS)
    return do(parameters, **PLAIN)


def along(face: Tensor, name: str, values: Sequence[float], **others: Sequence[float]) -> Tensor:
    """One face (1, P) at several values of a parameter, and of others that go with it."""
    count = len(values)
    moved = {key: torch.tensor(list(column)) for key, column in {name: values, **others}.items()}
    return do(face.repeat(count, 1), **moved)


def a_collection() -> list[Tensor]:
    """Faces as they come."""
    faces = people(12, "01")
    return [faces[:6], faces[6:]]


def skin_set_by_hand() -> list[Tensor]:
    """Five faces with light skin, and the same faces with dark skin."""
    faces = people(5, "02")
    return [do(faces, skin_colour=LIGHT), do(faces, skin_colour=DARK)]


def skin_and_what_came_along(session: str, gender: float, hair: float) -> list[Tensor]:
    """One face: skin alone is moved, and skin with the colour of the hair."""
    face = do(people(1, session), gender=gender, hair_length=hair, **STRAIGHT)
    skins = np.linspace(LIGHT, DARK, 5)
    alone = along(face, "skin_colour", skins, hair_colour=[0.6] * 5)
    together = along(face, "skin_colour", skins, hair_colour=np.linspace(0.6, 0.0, 5))
    return [alone, together]


def hard_to_call() -> list[Tensor]:
    """Faces in the middle of the scale of perceived gender."""
    return [do(people(6, "04"), gender=0.5, makeup=0.0)]


def lengths_of_hair() -> list[Tensor]:
    """Two faces, whose hair grows."""
    lengths = np.linspace(SHORT, LONG, 6)
    faces = do(people(2, "05"), **STRAIGHT)
    return [along(face[None], "hair_length", lengths) for face in faces]


def groups() -> list[Tensor]:
    """Women in four groups, by skin and hair, other faces in each."""
    faces = do(people(12, "06"), gender=FEMALE, **STRAIGHT)
    rows = []
    for skin, start in ((LIGHT, 0), (DARK, 6)):
        short = do(faces[start : start + 3], skin_colour=skin, hair_length=SHORT)
        long = do(faces[start + 3 : start + 6], skin_colour=skin, hair_length=LONG)
        rows.append(torch.cat([short, long]))
    return rows


def pairs() -> list[Tensor]:
    """Five faces with short hair, and the same faces with long hair."""
    faces = do(people(5, "07"), **STRAIGHT)
    return [do(faces, hair_length=SHORT), do(faces, hair_length=LONG)]


def a_transect() -> list[Tensor]:
    """One face at all combinations of perceived gender, skin and hair."""
    face = do(people(1, "08"), hair_colour=0.15, yaw=0.0, **STRAIGHT)
    rows = []
    for gender in (FEMALE, MALE):
        skins = [LIGHT, LIGHT, DARK, DARK]
        hairs = [SHORT, LONG, SHORT, LONG]
        rows.append(along(face, "skin_colour", skins, hair_length=hairs, gender=[gender] * 4))
    return rows


def many_faces() -> list[Tensor]:
    """Base faces of a study."""
    faces = do(people(21, "09"), **STRAIGHT)
    return [faces[start : start + 7] for start in range(0, 21, 7)]


ROWS: Mapping[str, Callable[[], list[Tensor]]] = {
    "01": a_collection,
    "02": skin_set_by_hand,
    "03": partial(skin_and_what_came_along, "03", FEMALE, LONG),
    "04": hard_to_call,
    "05": lengths_of_hair,
    "06": groups,
    "07": pairs,
    "08": a_transect,
    "09": many_faces,
    "10": partial(skin_and_what_came_along, "10", MALE, SHORT),
}
"""Number of a session → the faces of its deck, in rows; session 11 shows those of the record."""
