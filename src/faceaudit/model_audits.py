"""Audits that ask a model about images, in one call each.

The same audits are described by a file, too (`faceaudit.file.specification`): these functions make
of their arguments what the file would say, and then go through the steps of `faceaudit.run`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from narwhals.typing import IntoDataFrame

from faceaudit.api import (
    NAME,
    AuditPlan,
    Axes,
    TableSettings,
    as_pandas,
    question_about_axes,
    specification_of_table,
)
from faceaudit.designs.portraits import Portraits
from faceaudit.file.parts import name_of_object
from faceaudit.file.specification import Specification
from faceaudit.frames import InputTables, Rows, read_matched_images
from faceaudit.models.answers import Notify
from faceaudit.outcomes import ERROR
from faceaudit.plans import bound_rows, read_plan
from faceaudit.results import AuditResult
from faceaudit.run import (
    PLAN_FILE,
    OpenedAudit,
    audit_in_folder,
    conclude,
    explain_full_disk,
    open_audit,
    plan_as_it_is,
)
from faceaudit.utils.errors import InputError

if TYPE_CHECKING:  # an audit of a table does without
    from faceaudit.images.faces import MakeImages

Images = str | Path | Mapping[str, np.ndarray]
"""A folder with the files of pictures; or name of a picture → its pixels, uint8 (height, width, 3).
"""
Model = Callable[[np.ndarray], Any] | str | Path
"""A function, or the path of an ONNX file."""
Block = Mapping[str, Any]
"""A part of an audit file: its keys with their values. Where the file names a function or a
generator of Python by "module:name", the object may stand itself."""
VERSION_NOT_GIVEN = "not given"
"""Version of a function whose answers are not kept, where the caller gives none."""


def classifier(
    model: Model,
    images: Images,
    table: IntoDataFrame,
    *,
    unit: str | None,
    axes: Axes,
    tolerance: float,
    input: Block,
    label: str | None = None,
    output: Block | None = None,
    version: str | None = None,
    outcomes: Sequence[str] = (ERROR,),
    attribute: str | None = None,
    image: str = "file",
    threshold: float = 0.5,
    classes: Sequence[Any] = (0, 1),
    placebos: Axes = (),
    covariates: Sequence[str] = (),
    annotated: Sequence[str] = (),
    incomplete: str = "refuse",
    contrasts: str = "reference",
    policy: Mapping[str, Any] | None = None,
    ignore: Mapping[str, Sequence[Any]] | None = None,
    accept: Sequence[str] = (),
    plan: AuditPlan | str | Path | None = None,
    name: str = NAME,
    question: str | None = None,
    seed: int = 1,
    folder: str | Path | None = None,
    device: str = "cpu",
    say: Notify = print,
) -> AuditResult:
    """Ask a classifier about pictures, and audit its answers.

    Matched images (`unit` names what several images share) give effects, found portraits
    (`unit=None`) differences, as in `table`. Needs the extra `onnx` for a file.

    The model is tried first: it has to give different answers to different images, and the same
    answer to an image in every batch. Unless it takes pixels as they are, it is also asked about
    other preparations of some images; one that suits it better is a doubt of the report.

    Args:
        model: a function, or the path of an ONNX file. A function takes a batch of images as
            `input` says, float32 (n, 3, height, width), and gives n probabilities of the second
            class, or what `output` makes them of; NaN where it found no face.
        images: folder of the pictures; or name of a picture → its pixels, uint8
            (height, width, 3). Pictures are of one size.
        table: a row per picture; a frame of pandas, polars, or another library that narwhals reads.
        unit: column of the matched face that a picture shows; None: portraits that were found.
        axes: attributes whose effects are asked for, as of `table`.
        tolerance: largest effect that does not matter, a fraction.
        input: how pictures are prepared, with the keys of `Preparation` of `faceaudit.file.parts`.
            A function that does this itself takes `{"size": 512, "range": [0, 255]}`.
        label: column of the right answers, 0 or 1, or one of `classes`.
        output: where the answer is, with the keys of `Output` of `faceaudit.file.parts`.
        version: of the model, in your words. A function whose answers are kept needs one, which
            changes when its answers do.
        outcomes: what is counted, as of `table`.
        attribute: what the model tells; None: what the column of labels is called.
        image: column of the names of the pictures.
        threshold: probability above which the model says the second class.
        classes: the two answers, as they are in the column of labels.
        placebos: axes, given likewise, that no model should react to.
        covariates: of portraits, columns that differences are adjusted for besides the axes.
        annotated: columns of scores in [0, 1] that say what else an axis moves.
        incomplete: "refuse" or "pairs", where units may lack images.
        contrasts: of axes with more than two levels, as of `table`.
        policy: what must be there before the model may pass; see `CoveragePolicy` of
            `faceaudit.file.parts`.
        ignore: of portraits, column → values whose rows are left out on purpose.
        accept: names of doubts that do not close the gate.
        plan: that counts, or the path that it was saved to; departures from it are reported. None:
            the plan in `folder`, which the first run writes there before the model is asked.
        name: of the audit.
        question: what the audit asks, in words.
        seed: of the audit.
        folder: keeps the plan, the pictures and the answers: no picture is asked about again.
            None: they are kept until the call ends.
        device: "cpu" or "cuda", where the network of a file computes.
        say: takes a sentence after every stage.

    Returns:
        What was found.

    Raises:
        InputError: an argument, a cell, a picture or an answer that cannot be used; the message
            names it.
        OSError: the disk is full; what is finished in `folder` stays.

    Example:
        >>> import faceaudit
        >>> import numpy as np
        >>> import pandas as pd
        >>> rows = []
        >>> pictures = {}
        >>> for face in range(60):
        ...     for skin, loss in (("light", 0), ("dark", 60)):
        ...         rows.append((f"{face}-{skin}", face, skin, int(face >= 30)))
        ...         pixels = np.full((8, 8, 3), 70 + 2 * face - loss)
        ...         pictures[f"{face}-{skin}"] = pixels.astype(np.uint8)
        >>> frame = pd.DataFrame(rows, columns=["file", "face", "skin", "smiling"])
        >>> audit = faceaudit.classifier(
        ...     lambda batch: batch.mean((1, 2, 3)) / 255, pictures, frame, unit="face",
        ...     axes={"skin": ["light", "dark"]}, label="smiling", tolerance=0.05,
        ...     input={"size": 8, "range": [0, 255]},
        ... )
        faces: 120 images of 60 matched faces
        people: labels stand in the table
        model: 120 answers, 0 images without one
        >>> audit.verdict, round(audit.averages["estimate"].item(), 3), audit.gate()
        ('exceeds', 0.467, 1)
    """
    rows = Rows.read(as_pandas(table), first_row=0)
    settings = TableSettings(
        unit=unit,
        axes=axes,
        tolerance=tolerance,
        label=label,
        score="score",  # of the model, which no column has yet
        outcomes=outcomes,
        image=image,
        threshold=threshold,
        classes=classes,
        placebos=placebos,
        covariates=covariates,
        annotated=annotated,
        incomplete=incomplete,
        contrasts=contrasts,
        policy=policy or {},
        ignore=ignore or {},
        accept=accept,
        name=name,
        seed=seed,
    )
    if question is not None:
        settings["question"] = question
    block = _model_block(model, version, kept=folder is not None)
    block |= {"input": input, "output": output or {}, "threshold": threshold}
    of_table = specification_of_table(settings, rows.frame)
    specification = _asking(of_table, block, attribute)
    pictures = None
    if isinstance(images, Mapping):
        pictures = images
    else:
        specification = specification.in_folder(Path(images))
    tables = InputTables(specification, {of_table.table_of_images: rows}, pictures)
    opened = open_audit(specification, tables, _bound_by_plan(rows, specification))
    return _audited(opened, folder, plan, say, device)


def generator(
    generator: Block,
    *,
    people: Block,
    model: Block,
    axes: Mapping[str, Sequence[str]] | Sequence[str],
    tolerance: float,
    folder: str | Path,
    calibration: Block | None = None,
    outcomes: Sequence[str] = (ERROR,),
    attribute: str = "gender",
    classes: Sequence[str] = ("0", "1"),
    placebos: Mapping[str, Sequence[str]] | Sequence[str] = (),
    annotated: Sequence[str] = (),
    transects: int | None = None,
    power: float = 0.8,
    policy: Mapping[str, Any] | None = None,
    accept: Sequence[str] = (),
    plan: AuditPlan | str | Path | None = None,
    name: str = NAME,
    question: str | None = None,
    seed: int = 1,
    device: str = "cpu",
    say: Notify = print,
    pictures: MakeImages | None = None,
) -> AuditResult:
    """Audit a classifier on the matched faces of a generator, whose labels people give.

    Needs the extra `torch`. The blocks have the keys that they have in an audit file, and their
    paths count from the current folder. A class or an object of yours may stand in them:
    `generator={"kind": "python", "object": MyGenerator, "version": "1"}`,
    `model={"kind": "python", "function": predict, "version": "1", "input": {"size": 224}}`.

    Args:
        generator: of the faces, by kind; see `GeneratorSettings` of `faceaudit.file.parts`.
        people: who says what the faces show, by kind; see `PeopleSettings` there.
        model: that is audited, by kind; see `AskedModel` there.
        axes: attribute → its low and its high level; or names of attributes of
            `faceaudit.annotations.ATTRIBUTES`.
        tolerance: largest effect that does not matter, a fraction.
        folder: keeps the plan, images, tasks for people and all answers, which the next call uses.
        calibration: rounds of answers before the model is asked; see `Calibration` there.
        outcomes: what is counted, as of `table`.
        attribute: what the model tells, which people are asked about too.
        classes: names of the model's answers 0 and 1.
        placebos: axes, given likewise, that no model should react to.
        annotated: attributes that people are asked about, to see what else an axis moves.
        transects: number of matched faces; None: as many as the verdicts ask for.
        power: the chance that an effect of twice the tolerance is called beyond it.
        policy: as of `classifier`.
        accept: as of `classifier`.
        plan: as of `classifier`.
        name: of the audit.
        question: what the audit asks, in words.
        seed: of the audit.
        device: "cpu" or "cuda", where networks of files make images and answer.
        say: takes a sentence after every stage.
        pictures: makes the images of a world of faces, `generator={"kind": "known-truth"}`.

    Returns:
        What was found.

    Raises:
        InputError: a block, an image or an answer that cannot be used; the message names it.
        OSError: the disk is full; what is finished stays.
        PeopleNeeded: people have to answer first; the text says where their tasks are, and where
            their answers go. The same call goes on from there.
    """
    content: dict[str, Any] = {
        "name": name,
        "question": question or question_about_axes(list(axes), outcomes[0]),
        "outcomes": list(outcomes),
        "axes": _mapping_or_list(axes),
        "attribute": attribute,
        "classes": classes,
        "placebos": _mapping_or_list(placebos),
        "annotated": list(annotated),
        "generator": dict(generator),
        "people": dict(people),
        "model": dict(model),
        "design": {"tolerance": tolerance, "transects": transects, "power": power, "seed": seed},
        "policy": dict(policy or {}),
        "accept": list(accept),
    }
    if calibration is not None:
        content["calibration"] = dict(calibration)
    opened = open_audit(Specification(**content))
    return _audited(opened, folder, plan, say, device, pictures)


def _mapping_or_list(axes: Mapping[str, Sequence[str]] | Sequence[str]) -> Any:
    """Axes as an audit file has them; a text stays one, and is refused there."""
    if isinstance(axes, Mapping):
        return dict(axes)
    return axes if isinstance(axes, str) else list(axes)


def _model_block(model: Model, version: str | None, kept: bool) -> dict[str, Any]:
    """The part `model` of an audit file, without how images are prepared and answers are read.

    Args:
        model: a function, or the path of an ONNX file.
        version: of the model.
        kept: whether its answers are kept.

    Raises:
        InputError: a function without a version, whose answers are kept.
    """
    if isinstance(model, str | Path):
        block: dict[str, Any] = {"kind": "onnx", "path": Path(model).absolute()}
        return block if version is None else {**block, "version": version}
    if version is None and kept:
        raise InputError(
            f"version is missing: folder keeps the answers of {name_of_object(model)} under its "
            "version; give one in your words, which changes when the answers do",
            field="version",
            expected="a text",
        )
    return {"kind": "python", "function": model, "version": version or VERSION_NOT_GIVEN}


def _asking(of_table: Specification, model: Block, attribute: str | None) -> Specification:
    """The audit of a table of answers, as one whose model is asked.

    Args:
        of_table: of `specification_of_table`.
        model: part of the audit file.
        attribute: that the model tells; None: what the column of labels is called.
    """
    columns = of_table.columns
    content = {key: getattr(of_table, key) for key in of_table.model_fields_set}
    content["model"] = model
    content["columns"] = {
        key: getattr(columns, key) for key in columns.model_fields_set if key != "score"
    }
    if of_table.kind == "classification":
        content["generator"] = {"kind": "images", "table": content.pop("images")}
        content["people"] = {"kind": "table"}
        content["attribute"] = attribute or columns.label
    return Specification(**content)


def _bound_by_plan(rows: Rows, specification: Specification) -> dict[str, Any]:
    """What the plan binds of the table of pictures, of `bound_rows`."""
    if specification.kind == "portraits":
        frame = Portraits.from_table(rows, specification).frame
    else:
        columns = specification.columns
        labels = [columns.label] if specification.has_labels else []
        needed = [*labels, *specification.annotated]
        frame = read_matched_images(rows, columns.image, specification, needed)
        if labels:
            frame["label"] = rows.labels(labels, specification.classes)
        frame = frame.assign(**rows.shares(specification.annotated))
    return bound_rows(frame, specification, Path(rows.source))


def _audited(
    opened: OpenedAudit,
    folder: str | Path | None,
    plan: AuditPlan | str | Path | None,
    say: Notify,
    device: str,
    pictures: MakeImages | None = None,
) -> AuditResult:
    """Go through an audit that was opened, in a folder, or in one that is there for the call."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as spare:
        if isinstance(plan, AuditPlan):
            plan = plan.save(Path(spare) / PLAN_FILE)
        plan_file = None if plan is None else Path(plan)
        planned = None if plan_file is None else read_plan(plan_file)
        if folder is not None:
            return audit_in_folder(
                opened, Path(folder), say, device, plan_file=plan_file, pictures=pictures
            )
        now = plan_as_it_is(opened)
        with explain_full_disk("images and answers", Path(spare)):
            return conclude(opened, planned or now, now, say, device, Path(spare), pictures)
