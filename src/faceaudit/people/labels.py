"""Who says what images show: people who answer in a tool, a classifier in their place, or a table.

An image is called by a hash that tells neither the face it belongs to nor its levels, and tasks are
in the order of these names, so that nobody who answers sees which images belong together. Where
there is no export yet, tasks are written and the audit stops; the next run reads what lies in the
place that the sentence names.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit import annotations, words
from faceaudit.annotations.ground_truth import MANIFEST
from faceaudit.annotations.schema import ATTRIBUTES
from faceaudit.effects import error_rates
from faceaudit.file.parts import AnnotationTool, Reader, TableOfLabels
from faceaudit.file.specification import Specification
from faceaudit.frames import InputTables
from faceaudit.models.answers import BlackBox, Say
from faceaudit.models.asking import ask, model_of
from faceaudit.people.tasks import PROJECT, Questionnaire
from faceaudit.utils import errors
from faceaudit.utils.files import file_hash
from faceaudit.verification.prototypes import is_match

PROJECT["enable_empty_annotation"] = False
"""Of Label Studio's, besides the questions."""
READ = {"ground-truth": annotations.read_ground_truth, "mturk": annotations.read_mturk}


@dataclass(frozen=True)
class Labels:
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


def ask_for_labels(
    specification: Specification,
    images: np.ndarray,
    attributes: Sequence[str],
    folder: Path,
    model: BlackBox,
    say: Say,
    stage: str = "",
    device: str = "cpu",
    tables: InputTables | None = None,
) -> Labels:
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
        tables: of the audit file; without them, they are read.

    Raises:
        PeopleNeeded: people have to answer first.
        ValueError: a fault of the table, an export or a reader.
    """
    people = specification.people
    if isinstance(people, TableOfLabels):
        said = _in_table(specification, tables or InputTables(specification))
        who = "labels stand in the table"
    elif isinstance(people, Reader):
        models = people.models
        readers = {name: model_of(specification, models[name], device) for name in attributes}
        for name in [name for name, reader in readers.items() if reader.hash == model.hash]:
            raise errors.fault("own_judge", specification.path, name)
        said = _read_off(images, readers, specification, folder / "answers")
        who = "a classifier read the images in their place"
    else:
        said = labels_by_people(images, attributes, specification, folder, stage)
        who = f"{said.about['people']} people gave {said.about['answers']:,} answers"
    say(f"people: {who}")
    return said


def _in_table(specification: Specification, tables: InputTables) -> Labels:
    """Labels (as scores of 0 and 1) and annotated scores that stand in the table of images."""
    rows = tables.rows(specification.generator.table)
    labelled = specification.columns.answers or [specification.columns.label]
    rows.require([*labelled, *specification.annotated])
    scores = rows.shares(specification.annotated)
    scores[specification.attribute] = rows.labels(labelled, specification.classes)
    return Labels(pd.DataFrame(scores).reset_index(drop=True), {"kind": "table"})


def _read_off(
    images: np.ndarray, readers: dict[str, BlackBox], specification: Specification, kept: Path
) -> Labels:
    """What classifiers read off images; their own threshold becomes the middle of the scale."""
    scores = {}
    for name, reader in readers.items():
        scale = [0, specification.people.models[name].score_threshold, 1]
        scores[name] = np.interp(ask(reader, images, kept), scale, [0, 0.5, 1])
    about = {"kind": "reader", "readers": {name: one.hash for name, one in readers.items()}}
    return Labels(pd.DataFrame(scores), about, words.render_sentences("read_off", [*readers]))


def labels_by_people(
    images: np.ndarray, attributes: Sequence[str], audit: Specification, folder: Path, stage=""
) -> Labels:
    """Answers of people who work in a tool; where they lack, tasks and a sentence on what to do.

    Images that are in no task, since they were made anew, get tasks of their own.

    Raises:
        PeopleNeeded: there is no export yet, or too many images have no answer in it.
        ValueError: an export that is none, in one sentence.
    """
    questions = {one: ATTRIBUTES[one] for one in attributes}
    asked = Questionnaire(images, questions, audit, folder, stage)
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
    limits = words.render_sentences("unanswered", silent.sum()[lambda counts: counts > 0].to_dict())
    answered, counts = annotations.count_tensor(frame)
    squared = {n: annotations.standard_deviation(c) ** 2 / c.sum(axis=1) for n, c in counts.items()}
    error = pd.DataFrame(squared, answered).reindex(names)
    columns = ["images", "raters", "sd", "alpha", "alpha_low", "alpha_high", "reason"]
    agreement = annotations.agreement_table(counts)[columns].reset_index().to_dict("records")
    number = frame["annotator_id"].nunique()
    about = _about(audit.people, ingest.report, number, len(frame), files)
    return Labels(scores, about | {"agreement": agreement}, limits, error)


def pair_labels_by_people(
    images: np.ndarray, drawn: pd.DataFrame, audit: Specification, folder: Path
) -> tuple[np.ndarray, dict[str, Any]]:
    """Whether people take the two faces of a pair for one person, by the HCIC of Liang et al. 2023.

    A pair is of one person if its consensus, a trimmed mean of all ratings, is at most
    `design.consensus`. Both faces are shown in one picture.

    Args:
        images: uint8 (n, 3, height, width).
        drawn: pairs, as of `faceaudit.designs.pairs.draw_pairs`; `same` is what was meant.
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

    people, asked = (
        audit.people,
        Questionnaire(side_by_side(images, drawn), PAIR_SCALES, audit, folder, ""),
    )
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


def _about(
    people: AnnotationTool, report: pd.DataFrame, number: int, answers: int, files: list[Path]
) -> dict[str, Any]:
    """What the report says of so many people, their answers and what was dropped of these."""
    found = report.query("count > 0")[["reason", "unit", "count", "dropped"]].to_dict("records")
    files = [files[0] / MANIFEST] if people.kind == "ground-truth" else files
    about = {"kind": people.kind, "people": number, "answers": answers, "wanted": people.raters}
    return about | {"ingest": found, "files": {file.name: file_hash(file) for file in files}}
