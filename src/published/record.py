"""The record of the study: answers of all models, and what they were made with."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.utils.errors import InputError
from faceaudit.utils.files import file_hash, write_text
from published.places import FITTED_PLANES, RECORD
from published.plan import PLAN
from published.study import ANSWERED, COLUMNS, STUDIES

ANSWERS = RECORD / "answers.csv"
MANIFEST = RECORD / "manifest.json"
STEPS = RECORD / "steps.csv"
KEY = ["image", "model", "outcome"]
DECIDED_AT = 0.5
NEAR_DECISION = 0.01
"""Answers this near to the threshold may fall on its other side on another machine."""
NEAR_AGE = 1.0
"""Years by which an age may differ on another machine."""


def require_whole() -> None:
    """Raise InputError where a file of the record is missing, or is not the one of the manifest."""
    _require(MANIFEST, "what the record was made with")
    try:
        hashes = manifest()
    except ValueError:
        hashes = {}
    for name, path in {"answers": ANSWERS, "steps": STEPS, "measures": FITTED_PLANES}.items():
        _require(path, f"the {name} of the record")
        if file_hash(path) != hashes.get(name):
            raise InputError(
                f"{path} is not the file that {MANIFEST} names; take both from the repository",
                field=str(path),
                found=file_hash(path),
                expected=hashes.get(name),
            )


def read() -> pd.DataFrame:
    """The recorded rows.

    Raises:
        InputError: there is no record.
    """
    _require(ANSWERS, "the recorded answers")
    return pd.read_csv(ANSWERS, keep_default_na=False, na_values={"value": [""]})


def _require(path: Path, content: str) -> None:
    """Raise InputError where a file of the record is missing."""
    if not path.is_file():
        raise InputError(
            f"{path} is missing; python -m published --write makes it",
            field=str(path),
            expected=content,
        )


def steps_of(part: str, faces: Sequence[int]) -> pd.DataFrame:
    """The recorded steps of faces of a part, of `published.study.SteeredFaces`.

    Args:
        part: `MEASURED` or `REPEATED`.
        faces: their numbers.

    Raises:
        InputError: there is no record.
    """
    _require(STEPS, "the recorded steps of faces")
    steps = pd.read_csv(STEPS)
    chosen = steps[(steps["study"] == part) & steps["transect"].isin(faces)]
    return chosen.drop(columns="study").reset_index(drop=True)


def write(
    rows: pd.DataFrame, steps: Mapping[str, pd.DataFrame], made_with: Mapping[str, Any]
) -> None:
    """Write parts of the study into the record; what it has of other parts stays.

    Args:
        rows: with `COLUMNS`, of all studies of the parts.
        steps: part whose faces are steered → `published.study.SteeredFaces.steps`.
        made_with: generator, models, fitted planes, and a card for each part.

    Raises:
        InputError: the parts that stay were made with other models or another generator.
    """
    steered = [table.assign(study=name) for name, table in steps.items()]
    parts = {
        name: {"made": datetime.now(UTC).isoformat(timespec="seconds"), **card}
        for name, card in made_with["parts"].items()
    }
    if MANIFEST.is_file():
        before = manifest()
        staying = {name: card for name, card in before["parts"].items() if name not in parts}
        if staying:
            _require_same(before, made_with, staying)
            studies = [study for name in staying for study in STUDIES[name]]
            recorded = read()
            rows = pd.concat([recorded[recorded["study"].isin(studies)], rows])
            parts = {**staying, **parts}
            if STEPS.is_file():
                recorded_steps = pd.read_csv(STEPS)
                steered.insert(0, recorded_steps[recorded_steps["study"].isin(staying)])
    write_text(ANSWERS, rows[COLUMNS].to_csv(index=False, lineterminator="\n"))
    hashes = {"answers": file_hash(ANSWERS), "measures": file_hash(FITTED_PLANES)}
    if steered:
        table = pd.concat(steered)
        table.insert(0, "study", table.pop("study"))
        write_text(STEPS, table.to_csv(index=False, lineterminator="\n"))
        hashes["steps"] = file_hash(STEPS)
    content = {
        "plan": json.loads(PLAN.read_text(encoding="utf-8"))["sha256"],
        **hashes,
        "rows": len(rows),
        **made_with,
        "parts": parts,
    }
    write_text(MANIFEST, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _require_same(
    before: Mapping[str, Any], made_with: Mapping[str, Any], staying: Mapping[str, Any]
) -> None:
    """Raise InputError unless two runs had the same generator, models and fitted planes."""
    for name in ("generator", "models", "fitted"):
        now = json.loads(json.dumps(made_with[name]))
        if now != before[name]:
            raise InputError(
                f"{MANIFEST}: {name} differs from what the parts {', '.join(staying)} were made "
                "with; write all parts anew",
                field=name,
                found=now,
                expected=before[name],
            )


def manifest() -> dict[str, Any]:
    """What the record was made with."""
    return json.loads(MANIFEST.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Comparison:
    """How a run agrees with the record.

    Attributes:
        compared: rows of the run that the record has.
        unknown: rows of the run that it lacks.
        differing: rows with another state, another decision (but for those near the threshold) or
            another age.
        largest: difference of two values at most, by outcome.
    """

    compared: int
    unknown: int
    differing: pd.DataFrame
    largest: Mapping[str, float]

    def __str__(self) -> str:
        largest = ", ".join(f"{name} {value:.3g}" for name, value in self.largest.items())
        lines = [
            f"{self.compared} answers compared with the record, {self.unknown} are not in it",
            f"largest differences: {largest}",
            f"{len(self.differing)} decisions or ages differ",
        ]
        if len(self.differing):
            lines.append(self.differing.head(10).to_string(index=False))
        return "\n".join(lines)


def compare(rows: pd.DataFrame, recorded: pd.DataFrame) -> Comparison:
    """Hold the rows of a run against the recorded ones."""
    both = rows.merge(recorded, how="left", on=KEY, suffixes=("", "_recorded"), indicator=True)
    known = both[both["_merge"] == "both"]
    another_state = known["state"] != known["state_recorded"]
    is_age = known["outcome"] == "age"
    decision = known["value"] > DECIDED_AT
    decision_recorded = known["value_recorded"] > DECIDED_AT
    near = (known["value_recorded"] - DECIDED_AT).abs() <= NEAR_DECISION
    answered = known["state"] == ANSWERED
    another_decision = answered & ~is_age & ~near & (decision != decision_recorded)
    difference = (known["value"] - known["value_recorded"]).abs()
    another_age = answered & is_age & (difference > NEAR_AGE)
    shown = [*KEY, "value", "value_recorded", "state", "state_recorded"]
    return Comparison(
        compared=len(known),
        unknown=len(both) - len(known),
        differing=known.loc[another_state | another_decision | another_age, shown],
        largest=difference.groupby(known["outcome"]).max().to_dict(),
    )


def recorded_faces(part: str, count: int | None = None) -> Sequence[int]:
    """Numbers of the first faces of a part of the record, or of all."""
    return list(np.asarray(manifest()["parts"][part]["faces"])[:count])
