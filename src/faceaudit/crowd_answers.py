"""What people said of images: their export read, counted, and turned into labels.

Where there is no export yet, tasks are written and the audit stops; the next run reads what lies in
the place that the sentence names.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from faceaudit.crowd_tasks import PeopleNeeded, asked_about, hidden_names, write_tasks
from faceaudit.parts import Export
from faceaudit.specification import Specification
from helpers import annotations, errors
from helpers.annotations import ground_truth
from helpers.annotations.ingest import Ingest
from helpers.artifacts.lineage import file_hash

ENDINGS = {"label-studio": "*.json", "page": "*.json", "mturk": "*.csv"}
UNANSWERED = 0.1
"""Share of images that may stay without an answer ("cannot say"); with more, people are missing."""


@dataclass(frozen=True)
class Said:
    """What people, or a classifier in their place, said of images.

    Attributes:
        scores: a row per image, a column per attribute that was asked about, mean answers in
            [0, 1]; NaN where nobody answered.
        about: of the part `people` of the report.
        limits: of the report, a sentence each.

    Example:
        >>> Said(pd.DataFrame({"age": [0.5]})).limits
        []
    """

    scores: pd.DataFrame
    about: dict[str, Any] = field(default_factory=dict)
    limits: list[str] = field(default_factory=list)

    def labelled(self, index: pd.DataFrame, specification: Specification) -> pd.DataFrame:
        """The images with their labels (majority of the attribute) and annotated columns."""
        scores = self.scores[specification.attribute].reset_index(drop=True)
        label = pd.Series(np.nan, index.index)
        known = scores.notna().to_numpy()
        label[known] = errors.majority(scores[known]).to_numpy()
        more = {name: self.scores[name].to_numpy() for name in specification.annotated}
        return index.assign(label=label, **more)


def people_said(
    images: np.ndarray,
    attributes: Sequence[str],
    specification: Specification,
    folder: Path,
    stage: str = "",
) -> Said:
    """Answers of people about images, or the tasks and a sentence where there are none yet.

    Args:
        images: uint8 (n, 3, height, width), as people see them.
        attributes: that they are asked about.
        specification: of the audit, whose people answer in a tool.
        folder: of the audit's artifacts; tasks go to `people/tasks` in it.
        stage: of an audit that asks people twice, a folder of tasks and of exports of its own.

    Returns:
        Mean answers, and what the report says of them.

    Raises:
        PeopleNeeded: there is no export yet, or too many images have no answer in it; those that
            are in no task, since they were made anew, get tasks.
        ValueError: an export that is none, in one sentence.

    Example:
        >>> import tempfile
        >>> one = Specification(
        ...     name="mine", question="?", axes=["gender"], design={"tolerance": 0.1},
        ...     people={"kind": "page"},
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     try:
        ...         people_said(np.zeros((1, 3, 8, 8), np.uint8), ["gender"], one, Path(folder))
        ...     except PeopleNeeded as stop:
        ...         str(stop).startswith("people: tasks for 1 images")
        True
    """
    people = specification.people
    assert isinstance(people, Export)
    own = folder / "people" / stage
    place = own / "answers"
    if people.export is not None:
        place = Path(os.path.normpath(specification.beside(people.export))) / stage
    names = hidden_names(images)
    files = _exports(people.kind, place)
    if not files:
        told = write_tasks(images, names, attributes, people, own / "tasks")
        if people.export is None:
            place.mkdir(parents=True, exist_ok=True)
        raise PeopleNeeded(
            f"people: tasks for {len(set(names))} images are in {own / 'tasks'}: {told}; put what "
            f"you get into {place}{_no_export(people.kind, place)}, then run the same command again"
        )
    asked = asked_about(own / "tasks")
    try:
        ingest = _read(people.kind, files, names)
    except ValueError:
        if asked and asked.isdisjoint(names):
            _ask_anew(images, names, attributes, people, own / "tasks", place)
        raise
    frame = ingest.frame[ingest.frame["attribute"].isin(attributes)]
    scores = annotations.scores(frame).reindex(index=names, columns=[*attributes])
    silent = scores.isna()
    worst = silent.mean().idxmax()
    if silent[worst].mean() > UNANSWERED:
        rows = np.flatnonzero(silent[worst])
        lacking = [names[row] for row in rows]
        if asked and not asked.issuperset(lacking):
            if _is_one(people.kind, place):  # of all images
                rows, lacking = np.arange(len(names)), names
            _ask_anew(images[rows], lacking, attributes, people, own / "tasks", place)
        raise PeopleNeeded(
            f"people: {silent[worst].sum()} of {len(names)} images have no answer about {worst} in "
            f"{place} yet: let people go on in the tool, put the export there in place of an "
            "earlier one of these tasks, then run the same command again"
        )
    return Said(scores, _about(people, ingest, frame, files), _limits(silent))


def _ask_anew(
    images: np.ndarray,
    names: Sequence[str],
    attributes: Sequence[str],
    people: Export,
    tasks: Path,
    place: Path,
) -> NoReturn:
    """Write tasks for images that are in none yet, though people have answered about others."""
    told = write_tasks(images, names, attributes, people, tasks)
    where = "in place of" if _is_one(people.kind, place) else "beside"
    raise PeopleNeeded(
        f"people: {place} has answers about other images than those of the audit as it is now, "
        "whose file, generator or earlier answers were changed; undo that, or go on: tasks for "
        f"{len(set(names))} images are in {tasks}: {told}; put what you get "
        f"{where} what is there, then run the same command again"
    )


def _is_one(kind: str, place: Path) -> bool:
    """Whether the place takes a single export, not a folder of several."""
    return kind == "ground-truth" or not place.is_dir()


def _no_export(kind: str, place: Path) -> str:
    """What lies in the place of exports though it is none, in brackets."""
    others = sorted(path.name for path in place.glob("[!.]*")) if kind in ENDINGS else []
    return f" ({others[0]} in it is no {ENDINGS[kind]})" if others else ""


def _exports(kind: str, place: Path) -> list[Path]:
    """The files of an export, or the folder of a job; none where nothing is there yet."""
    if kind == "ground-truth":
        return [place] if (place / ground_truth.MANIFEST).is_file() else []
    if place.is_file():
        return [place]
    # Systems leave files that begin with a dot beside those that are copied.
    return sorted(place.glob(f"[!.]{ENDINGS[kind]}"))


def _read(kind: str, files: list[Path], known: Sequence[str]) -> Ingest:
    if kind == "ground-truth":
        return annotations.read_ground_truth(files[0], known_images=known)
    if kind == "mturk":
        return annotations.read_mturk(files, known_images=known)
    return annotations.read_label_studio(files, known_images=known)


def _about(
    people: Export, ingest: Ingest, frame: pd.DataFrame, files: list[Path]
) -> dict[str, Any]:
    """What the report says of the people."""
    counts = annotations.count_tensor(frame)[1]
    columns = ["images", "raters", "sd", "alpha", "alpha_low", "alpha_high", "reason"]
    agreement = annotations.agreement_table(counts)[columns].reset_index()
    found = ingest.report.query("count > 0")[["reason", "unit", "count", "dropped"]]
    if people.kind == "ground-truth":
        files = [files[0] / ground_truth.MANIFEST]
    return {
        "kind": people.kind,
        "people": int(frame["annotator_id"].nunique()),
        "answers": len(frame),
        "wanted": people.raters,
        "ingest": found.to_dict("records"),
        "agreement": agreement.to_dict("records"),
        "files": {file.name: file_hash(file) for file in files},
    }


def _limits(silent: pd.DataFrame) -> list[str]:
    if not silent.to_numpy().any():
        return []
    told = ", ".join(
        f"{count} about {name.replace('_', ' ')}" for name, count in silent.sum().items() if count
    )
    return [f"People left images without an answer: {told}."]
