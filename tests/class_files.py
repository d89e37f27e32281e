"""A record, pictures and a class's files that are made here: of no network and no person."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from faceaudit.utils import seeding
from published.class_labels import QUESTIONS
from published.class_page import name_of
from published.faces import LEVELS
from published.study import COLUMNS

FACES = [3, 8, 9, 12, 15, 20, 21, 22, 30, 41, 42, 57, 58, 60, 61, 70, 71, 77]
NETWORKS = ("made-up", "also-made-up", "silent")


def made_record() -> pd.DataFrame:
    """What three networks that do not exist say of a few images."""
    rows = []
    for number, face in enumerate(FACES):
        draws = seeding.rng(0, "made record", face)
        images = {name_of(face, level): ("measured", level) for level in LEVELS}
        images[f"random-{face:05d}"] = ("random", "")
        images[f"placebo-{face:05d}-low-darkened"] = ("placebo", "low")
        for network in NETWORKS:
            for image, (study, skin) in images.items():
                male = np.clip(0.6 * (number % 2) + draws.normal(0.2, 0.3), 0, 1)
                for outcome, value in (("P(male)", male), ("age", draws.uniform(22, 70))):
                    state = "answered"
                    if network == "silent":
                        state = "abstained"
                    elif draws.random() < 0.05:
                        state = "no face"
                    row = {"study": study, "transect": face, "image": image, "skin": skin}
                    row |= {"model": network, "outcome": outcome, "state": state}
                    row["value"] = value if state == "answered" else np.nan
                    rows.append(row)
    table = pd.DataFrame(rows).assign(hair="", gender="", exposure="")
    return table.assign(lightness=50.0, ita=20.0)[COLUMNS]


def made_pictures(faces: list[int], side: int = 8) -> dict[tuple[int, str], np.ndarray]:
    """Small pictures that differ."""
    draws = seeding.rng(0, "made pictures")
    return {
        (face, level): draws.integers(0, 256, (side, side, 3), np.uint8)
        for face in faces
        for level in LEVELS
    }


def pictures_on(page: Path) -> list[str]:
    """Ids of the pictures of a page."""
    text = page.read_text(encoding="utf-8")
    study = re.search(r'<script type="application/json" id="study">(.*)</script>', text)
    return [one for one, _ in json.loads(study[1])["images"]]


def write_answers(path: Path, person: str, levels: Mapping[str, Mapping[str, int]]) -> Path:
    """Write what a page saves: picture → question → level."""
    tasks = [
        {
            "id": number,
            "data": {"image_id": picture},
            "annotations": [
                {
                    "id": number,
                    "completed_by": person,
                    "was_cancelled": False,
                    "created_at": "2026-11-30T12:00:00Z",
                    "updated_at": "2026-11-30T12:00:00Z",
                    "lead_time": 4.0,
                    "result": [
                        {
                            "id": question,
                            "from_name": question,
                            "to_name": "img",
                            "type": "choices",
                            "value": {"choices": [QUESTIONS[question][level]]},
                        }
                        for question, level in answers.items()
                    ],
                }
            ],
        }
        for number, (picture, answers) in enumerate(levels.items(), start=1)
    ]
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return path
