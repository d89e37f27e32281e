"""A small audit with one planted effect, for tests."""

from itertools import product
from typing import Any

import pandas as pd

from faceaudit import make_plan
from faceaudit.designs.matched import MatchedImages
from faceaudit.file.specification import Specification
from faceaudit.utils import seeding


def pretended_table(units: int, effect: float, seed: int, base: float = 0.1) -> pd.DataFrame:
    """Images of faces with light and dark skin, perceived as female and male, and scores.

    The model errs at the rate `base`, and with dark skin at `base` + `effect` where a face is
    perceived as female.
    """
    random = seeding.rng(seed, "pretended audit")
    rows = []
    for unit in range(units):
        for skin, gender in product(("light", "dark"), ("female", "male")):
            risk = base + effect * (skin == "dark" and gender == "female")
            label = int(gender == "male")
            wrong = random.random() < risk
            score = 0.5 + (0.1 + 0.35 * random.random()) * (1 if label != wrong else -1)
            rows.append((f"{unit}-{skin}-{gender}", unit, skin, gender, label, round(score, 4)))
    columns = ["image_id", "unit", "skin", "gender", "label", "score"]
    return pd.DataFrame(rows, columns=columns)


OF_TABLE = {
    "name": "small",
    "question": "Does darker skin make the model err more often?",
    "axes": {"skin": ("light", "dark"), "gender": ("female", "male")},
    "classes": ("female", "male"),
    "images": "faces.csv",
    "design": {"tolerance": 0.05},
}
"""What an audit file says of such a table."""


def pretend(units: int, effect: float, seed: int) -> tuple[MatchedImages, dict[str, Any]]:
    """The images of `pretended_table` and a plan for them, with a tolerance of 5 points."""
    own = Specification(**OF_TABLE)
    return MatchedImages.from_table(pretended_table(units, effect, seed), own), make_plan(
        own, units
    )
