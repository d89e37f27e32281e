"""The images of an audit, from a folder or a generator, and the labels that people give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.file.parts import (
    KINDS_WITH_DIRECTIONS,
    AnnotationTool,
    ImageFolder,
    KnownTruth,
    SimulatedCrowd,
    one_of,
)
from faceaudit.file.specification import Specification
from faceaudit.frames import InputTables, read_matched_images
from faceaudit.images.pictures import FILE_COLUMN, ImageSet, pictures_of
from faceaudit.models.answers import BlackBox, Notify
from faceaudit.models.asking import check_model
from faceaudit.people.labels import ask_for_labels
from faceaudit.utils.errors import InputError

ScoreImages = Callable[[np.ndarray], np.ndarray]
"""Images → a score of each, NaN where there is no answer."""


@dataclass(frozen=True)
class AuditImages:
    """Images, and what is known of them before people and the model are asked.

    Attributes:
        index: a row per image: image_id, unit and `<axis>_level` of every axis and placebo.
        images: uint8 (n, 3, height, width), in the order of the rows.
        source: of the images, for the report.
        description: of the images, in words, such as "40 faces, 64 pixels wide".
        labelled: the index with labels and annotated columns, where they are known without asking
            people; else None.
        images_for_people: makes the images that people see, where these are others than the
            model's.
        truth: gives the effects by intervention, of the scores and the threshold of a model, where
            they can be computed (`faceworld.scorecard.truth.true_effects`).
        card: of the generator, for the report.
    """

    index: pd.DataFrame
    images: np.ndarray
    source: str
    description: str
    labelled: pd.DataFrame | None = None
    images_for_people: Callable[[], np.ndarray] | None = None
    truth: Callable[[ScoreImages, float], pd.DataFrame] | None = None
    card: Mapping[str, Any] | None = None


MakeImages = Callable[[Specification, int, Path], AuditImages]
"""Audit file, number of matched faces and a folder to keep images in → the images."""


@dataclass(frozen=True)
class LabelledImages:
    """Images of an audit with their labels.

    Attributes:
        labelled: a row per image: image_id, unit, levels, label, annotated columns; of a
            generator's images mean answers about all that was asked of them.
        images: uint8 (n, 3, height, width), in the order of the rows.
        source: of the images, for the report.
        truth: as of `AuditImages`.
        report_arguments: of `build_report`, what the report has of the images, by name.
    """

    labelled: pd.DataFrame
    images: np.ndarray
    source: str
    truth: Callable[[ScoreImages, float], pd.DataFrame] | None = None
    report_arguments: dict[str, Any] = field(default_factory=dict)


def make_labelled_images(
    specification: Specification,
    plan: dict,
    folder: Path,
    model: BlackBox,
    say: Notify,
    device: str,
    pictures: MakeImages | None = None,
    tables: InputTables | None = None,
) -> LabelledImages:
    """Make or read the images of an audit, and get their labels.

    The model under audit is tried on some of the images before people are asked.

    Args:
        specification: of the audit.
        plan: of the audit, with the number of faces and the floor of directions.
        folder: of the audit's artifacts.
        model: under audit.
        say: takes a sentence after every stage.
        device: "cpu" or "cuda", where networks of files compute.
        pictures: makes the images of the kind known-truth.
        tables: of the audit file; without them, they are read.

    Raises:
        InputError: the audit file names a world of faces, and there are no `pictures` of one; or
            a fault of the images, the model, a reader or an export.
        PeopleNeeded: people have to answer first.
    """
    source = specification.generator
    units = plan["sizes"]["units"]
    if isinstance(source, ImageFolder):
        tables = tables or InputTables(specification)
        faces = _images_of_folder(specification, folder, tables)
    elif not isinstance(source, KnownTruth):
        from faceaudit.images.generated_faces import images_of_generator  # with torch

        return images_of_generator(specification, plan, folder, model, say, device)
    elif pictures is not None:
        faces = pictures(specification, units, folder)
    else:
        raise InputError(
            f"{specification.place}generator.kind is known-truth, whose faces are no part of this "
            "package; in a checkout of the book `python -m faceworld.audit run FILE` has them",
            field="generator.kind",
            found="known-truth",
            expected=one_of(["images", *KINDS_WITH_DIRECTIONS]),
        )
    say(f"faces: {len(faces.index):,} images of {faces.description}")
    people_follow = isinstance(specification.people, AnnotationTool)
    check_model(model, faces.images, folder, people_follow)
    if faces.labelled is not None:
        people = specification.people
        assert isinstance(people, SimulatedCrowd)  # whose answers alone come with the faces
        say(f"people: {people.raters} simulated raters looked at every image")
        return LabelledImages(faces.labelled, faces.images, faces.source, faces.truth)
    images_for_people = faces.images
    if faces.images_for_people is not None:
        images_for_people = faces.images_for_people()
    labels = ask_for_labels(
        specification,
        images_for_people,
        specification.rated_attributes,
        folder,
        model,
        say,
        device=device,
        tables=tables,
    )
    records = []
    if specification.has_labels:
        records.append(labels.people_record | {"stage": "matched images"})
    report_arguments = {
        "people": records,
        "generator": faces.card,
        "input_limits": labels.limits,
    }
    labelled = labels.add_to(faces.index, specification)
    return LabelledImages(labelled, faces.images, faces.source, faces.truth, report_arguments)


def _images_of_folder(
    specification: Specification, folder: Path, tables: InputTables
) -> AuditImages:
    """The pictures on disk that an audit file names; the folder keeps them as one array."""
    index, pictures = open_images(specification, tables)
    return AuditImages(
        index=index,
        images=pictures.to_store(np.arange(len(index)), folder / "images.npy"),
        source=_table_of_images(specification).name,
        description=f"{index['unit'].nunique()} matched faces",
        card=pictures.card,
    )


def open_images(specification: Specification, tables: InputTables) -> tuple[pd.DataFrame, ImageSet]:
    """The pictures on disk that an audit file names: a row per image, and the pictures.

    Their table has a column `file` (or `columns.image`), the column of units (`columns.unit`), and
    one for each axis and placebo, with its levels by name.
    """
    table = _table_of_images(specification)
    rows = tables.rows(table)
    columns = specification.columns
    file = columns.image if "image" in columns.model_fields_set else FILE_COLUMN
    index = read_matched_images(rows, file, specification).reset_index(drop=True)
    path = specification.beside(table)
    return index, pictures_of(specification, path, file, rows, tables.pictures)


def _table_of_images(specification: Specification) -> Path:
    """The table of pictures on disk, as the audit file names it."""
    source = specification.generator
    assert isinstance(source, ImageFolder)  # other audits have no pictures to open
    return source.table
