"""Who says what images show: people who answer in a tool, a classifier in their place, or a table.

An image is called by a hash that tells neither the face it belongs to nor its levels, and tasks are
in the order of these names, so that nobody who answers sees which images belong together. Where
there is no export yet, tasks are written and the audit stops; the next run reads what lies in the
place that the sentence names.
"""

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from faceaudit import annotations, wording
from faceaudit.annotations.ground_truth import MANIFEST
from faceaudit.annotations.label_studio import SHOWN, labelling_config
from faceaudit.annotations.rating_page import write_pages
from faceaudit.annotations.schema import ATTRIBUTES, hidden_names
from faceaudit.answers import BlackBox, Say
from faceaudit.effects import error_rates
from faceaudit.models import ask, model_of
from faceaudit.parts import Export, InTable, Reader
from faceaudit.plan import write_text
from faceaudit.specification import Specification
from faceaudit.tables import Rows
from faceaudit.utils.files import atomic, file_hash
from faceaudit.verification.prototypes import is_match

SERVED = "/data/local-files/?d=faces/"
"""Where Label Studio serves the images of a task from."""
Questions = Mapping[str, Sequence[str]]
ENDINGS = {"label-studio": "*.json", "page": "*.json", "mturk": "*.csv"}
PROJECT = {"title": "What do you see?", "sampling": "Uniform sampling"}
PROJECT["enable_empty_annotation"] = False
"""Of Label Studio's, besides the questions."""
READ = {"ground-truth": annotations.read_ground_truth, "mturk": annotations.read_mturk}
UNANSWERED = 0.1
"""Share of images that may stay without an answer ("cannot say"); with more, people are missing."""


class PeopleNeeded(Exception):
    """An audit waits for people; its text says what was written and what to do."""


@dataclass(frozen=True)
class Said:
    """What people, or a classifier in their place, said of images.

    Attributes:
        scores: a row per image, a column per attribute that was asked about, mean answers in
            [0, 1]; NaN where nobody answered.
        about: of the part `people` of the report.
        limits: of the report, a sentence each.
        error: squared standard errors of scores of people; NaN where an image has no two answers.
    """

    scores: pd.DataFrame
    about: dict[str, Any] = field(default_factory=dict)
    limits: list[str] = field(default_factory=list)
    error: pd.DataFrame = field(default_factory=pd.DataFrame)

    def labelled(self, index: pd.DataFrame, specification: Specification) -> pd.DataFrame:
        """The images with their labels (majority of the attribute) and annotated columns."""
        scores = self.scores[specification.attribute].set_axis(index.index)
        label = error_rates.majority(scores.dropna()).reindex(index.index).astype(float)
        more = {name: self.scores[name].to_numpy() for name in specification.annotated}
        return index.assign(label=label, **more)


def said_of(
    specification: Specification,
    images: np.ndarray,
    attributes: Sequence[str],
    folder: Path,
    model: BlackBox,
    say: Say,
    stage: str = "",
    device: str = "cpu",
) -> Said:
    """What people, a reader or the table of an audit say of images.

    Args:
        specification: of the audit.
        images: uint8 (n, 3, height, width), as people see them.
        attributes: that are asked about.
        folder: of the audit's artifacts.
        model: under audit, which may not be its own judge.
        say: takes a sentence on who it was.
        stage: of an audit that asks several times, such as "samples" and "transects".
        device: on which a reader's file computes.

    Raises:
        PeopleNeeded: people have to answer first.
        ValueError: a fault of the table, an export or a reader.
    """
    people = specification.people
    if isinstance(people, InTable):
        said, who = _in_table(specification), "labels stand in the table"
    elif isinstance(people, Reader):
        models = people.models
        readers = {name: model_of(specification, models[name], device) for name in attributes}
        for name in [name for name, reader in readers.items() if reader.hash == model.hash]:
            raise wording.fault("own_judge", specification.path, name)
        said = _read_off(images, readers, specification, folder / "answers")
        who = "a classifier read the images in their place"
    else:
        said = people_said(images, attributes, specification, folder, stage)
        who = f"{said.about['people']} people gave {said.about['answers']:,} answers"
    say(f"people: {who}")
    return said


def _in_table(specification: Specification) -> Said:
    """Labels (as scores of 0 and 1) and annotated scores that stand in the table of images."""
    rows = Rows.read(specification.beside(specification.generator.table))
    labelled = specification.columns.answers or [specification.columns.label]
    rows.require([*labelled, *specification.annotated])
    scores = rows.shares(specification.annotated)
    scores[specification.attribute] = rows.labels(labelled, specification.classes)
    return Said(pd.DataFrame(scores).reset_index(drop=True), {"kind": "table"})


def _read_off(
    images: np.ndarray, readers: dict[str, BlackBox], specification: Specification, kept: Path
) -> Said:
    """What classifiers read off images; their own threshold becomes the middle of the scale."""
    scores = {}
    for name, reader in readers.items():
        scale = [0, specification.people.models[name].cut, 1]
        scores[name] = np.interp(ask(reader, images, kept), scale, [0, 0.5, 1])
    about = {"kind": "reader", "readers": {name: one.hash for name, one in readers.items()}}
    return Said(pd.DataFrame(scores), about, wording.told("read_off", [*readers]))


# --- people's answers


class Asked:
    """What people are asked about images (n, 3, height, width), and the place of their answers.

    Attributes:
        names: of the images.
        files: of the export; none where there is none yet.
    """

    def __init__(
        self, images: np.ndarray, asks: Questions, audit: Specification, folder: Path, stage: str
    ) -> None:
        self.people, self._images, self._questions = audit.people, images, asks
        self._own = folder / "people" / stage
        self._place, self.names = self._own / "answers", hidden_names(images)
        if self.people.export is not None:
            self._place = Path(os.path.normpath(audit.beside(self.people.export))) / stage
        self.files = _exports(self.people.kind, self._place, {*self.names})

    def require(self, silent: np.ndarray, *what: str) -> None:
        """Stop with tasks for what has no answer (n,), where that is too much.

        `what` says what they are, and what is asked about.
        """
        if silent.mean() <= UNANSWERED:
            return
        people, place, tasks = self.people, self._place, self._own / "tasks"
        if people.export is None:
            place.mkdir(parents=True, exist_ok=True)
        # An export of one file is of all images.
        single = people.kind == "ground-truth" or not place.is_dir()
        rows = np.arange(len(silent)) if single else np.flatnonzero(silent)
        names = [self.names[row] for row in rows]
        todo = write_tasks(self._images[rows], names, self._questions, people, tasks)
        counts = int(silent.sum()), len(silent), *what
        old = single and self.files
        raise PeopleNeeded(*wording.told("people_needed", counts, tasks, todo, place, old))


def people_said(
    images: np.ndarray, attributes: Sequence[str], audit: Specification, folder: Path, stage=""
) -> Said:
    """Answers of people who work in a tool; where they lack, tasks and a sentence on what to do.

    Images that are in no task, since they were made anew, get tasks of their own.

    Raises:
        PeopleNeeded: there is no export yet, or too many images have no answer in it.
        ValueError: an export that is none, in one sentence.
    """
    questions = {one: ATTRIBUTES[one] for one in attributes}
    asked = Asked(images, questions, audit, folder, stage)
    kind, names, files = audit.people.kind, asked.names, asked.files
    scores = pd.DataFrame(index=names, columns=[*attributes])
    if files:
        read = READ.get(kind, annotations.read_label_studio)
        ingest = read(files[0] if kind == "ground-truth" else files, known_images=names)
        frame = ingest.frame[ingest.frame["attribute"].isin(attributes)]
        scores = annotations.scores(frame).reindex(index=names, columns=[*attributes])
    silent = scores.isna()
    worst = silent.mean().idxmax()
    asked.require(silent[worst].to_numpy(), "images", worst)
    limits = wording.told("unanswered", silent.sum()[lambda counts: counts > 0].to_dict())
    answered, counts = annotations.count_tensor(frame)
    squared = {n: annotations.standard_deviation(c) ** 2 / c.sum(axis=1) for n, c in counts.items()}
    error = pd.DataFrame(squared, answered).reindex(names)
    columns = ["images", "raters", "sd", "alpha", "alpha_low", "alpha_high", "reason"]
    agreement = annotations.agreement_table(counts)[columns].reset_index().to_dict("records")
    number = frame["annotator_id"].nunique()
    about = _about(audit.people, ingest.report, number, len(frame), files)
    return Said(scores, about | {"agreement": agreement}, limits, error)


def people_compared(
    images: np.ndarray, drawn: pd.DataFrame, audit: Specification, folder: Path
) -> tuple[np.ndarray, dict[str, Any]]:
    """Whether people take the two faces of a pair for one person, by the HCIC of Liang et al. 2023.

    A pair is of one person if its consensus, a trimmed mean of all ratings, is at most
    `design.consensus`. Both faces are shown in one picture.

    Args:
        images: uint8 (n, 3, height, width).
        drawn: pairs, as of `faceaudit.pairs.draw_pairs`; `same` is what was meant.
        audit: whose `people` are asked.
        folder: of the audit's artifacts.

    Returns:
        1 or 0 of each pair (m,), NaN where fewer people answered than were asked for; and what the
        report says of the people.

    Raises:
        PeopleNeeded: too many pairs have too few ratings.
        ValueError: an export that is none, or whose ratings are reversed.
    """
    from faceaudit.annotations.pair_ratings import (  # with torch
        PAIR_SCALES,
        read_pair_export,
        side_by_side,
    )

    people, asked = audit.people, Asked(side_by_side(images, drawn), PAIR_SCALES, audit, folder, "")
    names, files = asked.names, asked.files
    meant = pd.Series(np.where(drawn["same"] == 1, "positive", "negative"), names)
    same, about = np.full(len(names), np.nan), {}
    if files:
        table = meant[~meant.index.duplicated()].to_frame("kind")
        ratings, report, answered = read_pair_export(files, table, people.raters, people.kind)
        found = pd.Series(is_match(ratings, audit.design.consensus), ratings.index)
        same = found.astype(float).reindex(names).to_numpy()
        about = _about(people, report, answered, ratings.size, files)
    asked.require(np.isnan(same), "pairs", "the two faces")
    return same, about | {"stage": "pairs of images"}


def _exports(kind: str, place: Path, names: set[str]) -> list[Path]:
    """The files of an export, or the folder of a job; none where nothing is there yet.

    Of a folder, files with one of these images: answers about earlier ones may stay there.
    """
    if (place / MANIFEST if kind == "ground-truth" else place).is_file():
        return [place]
    # Systems leave files that begin with a dot beside those that are copied.
    found = [] if kind == "ground-truth" else sorted(place.glob(f"[!.]{ENDINGS[kind]}"))
    return [one for one in found if names & {*re.findall(r"\w+", one.read_text("utf8", "replace"))}]


def _about(
    people: Export, report: pd.DataFrame, number: int, answers: int, files: list[Path]
) -> dict[str, Any]:
    """What the report says of so many people, their answers and what was dropped of these."""
    found = report.query("count > 0")[["reason", "unit", "count", "dropped"]].to_dict("records")
    files = [files[0] / MANIFEST] if people.kind == "ground-truth" else files
    about = {"kind": people.kind, "people": number, "answers": answers, "wanted": people.raters}
    return about | {"ingest": found, "files": {file.name: file_hash(file) for file in files}}


# --- people's tasks


def write_tasks(
    images: np.ndarray, names: list[str], questions: Questions, people: Export, folder: Path
) -> str:
    """Write what people need to answer about images (n, 3, height, width), for the file's tool.

    Returns what to do with the files, as the middle of a sentence.
    """
    rows = {name: row for row, name in enumerate(names)}
    shown = {name: images[rows[name]].transpose(1, 2, 0) for name in sorted(rows)}
    pages = 0
    if people.kind == "page":
        pages = write_pages(shown, questions, folder)
    else:
        # Label Studio finds images in a folder below the one that it may serve, not in that itself.
        served = "served/faces" if people.kind == "label-studio" else "images"
        for name, image in shown.items():
            path = folder / served / f"{name}.png"
            if not path.exists():  # an earlier run that was interrupted wrote it whole
                with atomic(path) as temporary:
                    Image.fromarray(np.ascontiguousarray(image)).save(temporary, "png")
        width = SHOWN * images.shape[3] // images.shape[2]  # two faces have twice the room
        for name, text in _task_files([*shown], questions, people, width).items():
            write_text(folder / name, text)
    root = shlex.quote(str((folder / "served").resolve()))
    return wording.told("tasks", people, root, pages)[0]


def _task_files(
    names: list[str], questions: Questions, people: Export, width: int
) -> dict[str, str]:
    """The files of a tool besides images: name → text."""
    form = partial(wording.rendered, "form.html.j2", questions=questions)
    if people.kind == "label-studio":
        tasks = [{"data": {"image": f"{SERVED}{name}.png", "image_id": name}} for name in names]
        config = labelling_config(questions, width)
        project = PROJECT | {"label_config": config, "maximum_annotations": people.raters}
        texts = {"tasks.json": json.dumps(tasks, indent=1), "config.xml": config}
        return texts | {"project.json": json.dumps(project, indent=1)}
    addresses = [f"{people.address}{name}.png" for name in names]
    if people.kind == "mturk":
        batch = pd.DataFrame({"image_id": names, "image_url": addresses})
        return {"tasks.csv": batch.to_csv(index=False), "layout.html": form(source="${image_url}")}
    lines = "".join(json.dumps({"source-ref": address}) + "\n" for address in addresses)
    source = "{{ task.input.taskObject | grant_read_access }}"
    return {"input.manifest": lines, "template.liquid.html": form(source=source)}
