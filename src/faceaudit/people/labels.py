"""Who says what images show: people who answer in a tool, a classifier in their place, or a table.

An image is called by a hash that tells neither the face it belongs to nor its levels, and tasks are
in the order of these names, so that nobody who answers sees which images belong together. Where
there is no export yet, tasks are written and the audit stops; the next run reads the export from
the folder that the sentence names.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit import annotations, words
from faceaudit.annotations.schema import ATTRIBUTES
from faceaudit.effects import error_rates
from faceaudit.file.parts import ImageFolder, Reader, TableOfLabels
from faceaudit.file.specification import Specification
from faceaudit.frames import InputTables
from faceaudit.models.answers import ANSWERS_FOLDER, BlackBox, Notify
from faceaudit.models.asking import ask, model_of
from faceaudit.people.tasks import Questionnaire
from faceaudit.utils.errors import InputError
from faceaudit.utils.files import file_hash
from faceaudit.verification.prototypes import is_match

AGREEMENT_COLUMNS = ["images", "raters", "sd", "alpha", "alpha_low", "alpha_high", "reason"]
"""Columns of the table of agreement that the report has."""


@dataclass(frozen=True)
class Labels:
    """What people, or a classifier in their place, said of images.

    Attributes:
        scores: a row per image, a column per attribute that was asked about, mean answers in
            [0, 1]; NaN where nobody answered.
        people_record: row of the part `people` of the report.
        limits: of the report, a sentence each.
        squared_errors: squared standard errors of scores of people; NaN where an image has no two
            answers.
    """

    scores: pd.DataFrame
    people_record: dict[str, Any] = field(default_factory=dict)
    limits: list[str] = field(default_factory=list)
    squared_errors: pd.DataFrame = field(default_factory=pd.DataFrame)

    def add_to(self, index: pd.DataFrame, specification: Specification) -> pd.DataFrame:
        """Add labels and annotated scores to a table of the same images.

        Args:
            index: a row per image, in the order of the scores.
            specification: of the audit, with the attribute and what is annotated.

        Returns:
            The table with a column for each annotated attribute, and where errors are counted a
            column `label` (majority of the attribute, 0 or 1; NaN for a tie).
        """
        annotated = {name: self.scores[name].to_numpy() for name in specification.annotated}
        labelled = index.assign(**annotated)
        if not specification.has_labels:
            return labelled
        scores = self.scores[specification.attribute].set_axis(index.index)
        label = error_rates.majority(scores.dropna()).reindex(index.index).astype(float)
        labelled.insert(len(index.columns), "label", label)
        return labelled


def ask_for_labels(
    specification: Specification,
    images: np.ndarray,
    attributes: Sequence[str],
    folder: Path,
    model: BlackBox,
    say: Notify,
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
        InputError: a fault of the table, an export or a reader.
    """
    people = specification.people
    if isinstance(people, TableOfLabels):
        labels = _labels_in_table(specification, tables or InputTables(specification))
        if specification.has_labels:
            say("people: labels stand in the table")
    elif isinstance(people, Reader):
        readers = _open_readers(specification, people, attributes, model, device)
        labels = _labels_by_readers(images, readers, people, folder / ANSWERS_FOLDER)
        say("people: a classifier read the images in their place")
    else:
        labels = labels_by_people(images, attributes, specification, folder, stage)
        record = labels.people_record
        say(f"people: {record['people']} people gave {record['answers']:,} answers")
    return labels


def _labels_in_table(specification: Specification, tables: InputTables) -> Labels:
    """Labels (as scores of 0 and 1) and annotated scores that stand in the table of images.

    Where no errors are counted, there are no labels.
    """
    source = specification.generator
    # Labels stand in the table of a folder of images, and nowhere else: `Specification` checks it.
    assert isinstance(source, ImageFolder)
    rows = tables.rows(source.table)
    rows.require(specification.annotated)
    scores = rows.shares(specification.annotated)
    if specification.has_labels:
        label_columns = specification.columns.answers or [specification.columns.label]
        rows.require(label_columns)
        scores[specification.attribute] = rows.labels(label_columns, specification.classes)
    return Labels(pd.DataFrame(scores).reset_index(drop=True), {"kind": "table"})


def _open_readers(
    specification: Specification,
    people: Reader,
    attributes: Sequence[str],
    model: BlackBox,
    device: str,
) -> dict[str, BlackBox]:
    """The classifiers that read attributes; InputError where one is the model under audit."""
    models = people.models
    readers = {name: model_of(specification, models[name], device) for name in attributes}
    for name, reader in readers.items():
        if reader.hash == model.hash:
            raise InputError(
                f"{specification.place}people.models.{name} is the model under audit, which would "
                "agree with itself everywhere; give another classifier, or people",
                field=f"people.models.{name}",
                found="the model under audit",
                expected="another classifier",
            )
    return readers


def _labels_by_readers(
    images: np.ndarray, readers: dict[str, BlackBox], people: Reader, folder: Path
) -> Labels:
    """Scores by classifiers, whose own threshold becomes 0.5; the folder keeps their answers."""
    scores = {}
    for name, reader in readers.items():
        threshold = people.models[name].score_threshold
        scores[name] = np.interp(ask(reader, images, folder), [0, threshold, 1], [0, 0.5, 1])
    hashes = {name: reader.hash for name, reader in readers.items()}
    record = {"kind": "reader", "readers": hashes}
    limits = words.render_sentences("read_off", list(readers))
    return Labels(pd.DataFrame(scores), record, limits)


def labels_by_people(
    images: np.ndarray,
    attributes: Sequence[str],
    audit: Specification,
    folder: Path,
    stage: str = "",
) -> Labels:
    """Read the answers of people who work in a tool, or write tasks for them.

    Images that are in no task, since they were made anew, get tasks of their own.

    Args:
        images: uint8 (n, 3, height, width), as people see them.
        attributes: that are asked about.
        audit: whose `people` are asked.
        folder: of the audit's artifacts.
        stage: of an audit that asks several times.

    Raises:
        PeopleNeeded: there is no export yet, or too many images have no answer in it.
        InputError: the export cannot be read, or the people of the audit answer in no tool.
    """
    questions = {name: ATTRIBUTES[name] for name in attributes}
    questionnaire = Questionnaire(images, questions, audit, folder, stage)
    names = questionnaire.names
    files = questionnaire.files
    if not files:
        all_missing = np.ones(len(names), bool)
        raise questionnaire.people_needed(all_missing, "images", attributes[0])
    ingest = questionnaire.tool.read_export(files, names)
    answers = ingest.frame[ingest.frame["attribute"].isin(attributes)]
    scores = annotations.scores(answers).reindex(index=names, columns=list(attributes))
    is_missing = scores.isna()
    least_answered = is_missing.mean().idxmax()
    questionnaire.require(is_missing[least_answered].to_numpy(), "images", least_answered)
    missing_counts = is_missing.sum()
    missing_counts = missing_counts[missing_counts > 0].to_dict()
    limits = words.render_sentences("unanswered", missing_counts)
    answered_images, counts = annotations.count_tensor(answers)
    squared_errors = {
        name: annotations.standard_deviation(count) ** 2 / count.sum(axis=1)
        for name, count in counts.items()
    }
    agreement = annotations.agreement_table(counts)[AGREEMENT_COLUMNS].reset_index()
    record = _people_record(
        questionnaire, ingest.report, answers["annotator_id"].nunique(), len(answers)
    )
    record["agreement"] = agreement.to_dict("records")
    return Labels(
        scores, record, limits, pd.DataFrame(squared_errors, answered_images).reindex(names)
    )


def pair_labels_by_people(
    images: np.ndarray, drawn: pd.DataFrame, audit: Specification, folder: Path
) -> tuple[np.ndarray, dict[str, Any]]:
    """Whether people take the two faces of a pair for one person, by the HCIC of Liang et al. 2023.

    A pair is of one person if its consensus, a trimmed mean of all ratings, is at most
    `design.consensus`. Both faces are shown in one picture.

    Args:
        images: uint8 (n, 3, height, width).
        drawn: pairs, as of `faceaudit.designs.pairs.draw_pairs`; `same` says by their identities
            whether a pair is of one person.
        audit: whose `people` are asked.
        folder: of the audit's artifacts.

    Returns:
        1 or 0 of each pair (m,), NaN where fewer people answered than were asked for; and the row
        of the part `people` of the report.

    Raises:
        PeopleNeeded: too many pairs have too few ratings.
        InputError: the export cannot be read, or its ratings are reversed.
    """
    from faceaudit.annotations.pair_ratings import (  # with torch
        PAIR_SCALES,
        read_pair_export,
        side_by_side,
    )

    questionnaire = Questionnaire(side_by_side(images, drawn), PAIR_SCALES, audit, folder, stage="")
    people = questionnaire.people
    names = questionnaire.names
    files = questionnaire.files
    if not files:
        all_missing = np.ones(len(names), bool)
        raise questionnaire.people_needed(all_missing, "pairs", "the two faces")
    kinds = pd.Series(np.where(drawn["same"] == 1, "positive", "negative"), names)
    kinds = kinds[~kinds.index.duplicated()]
    ratings, report, n_people = read_pair_export(
        files, kinds.to_frame("kind"), people.raters, people.kind
    )
    matches = pd.Series(is_match(ratings, audit.design.consensus), ratings.index)
    same = matches.astype(float).reindex(names).to_numpy()
    questionnaire.require(np.isnan(same), "pairs", "the two faces")
    record = _people_record(questionnaire, report, n_people, ratings.size)
    return same, record | {"stage": "pairs of images"}


def _people_record(
    questionnaire: Questionnaire, report: pd.DataFrame, n_people: int, n_answers: int
) -> dict[str, Any]:
    """The row of the part `people` of the report.

    Args:
        questionnaire: that people answered.
        report: of the ingest, with what was dropped and why.
        n_people: who answered.
        n_answers: that were used.
    """
    people = questionnaire.people
    ingest = report.query("count > 0")[["reason", "unit", "count", "dropped"]]
    files = questionnaire.tool.files_to_hash(questionnaire.files)
    return {
        "kind": people.kind,
        "people": n_people,
        "answers": n_answers,
        "wanted": people.raters,
        "ingest": ingest.to_dict("records"),
        "files": {file.name: file_hash(file) for file in files},
    }
