"""Audits that ask a model about images, in one call each.

The same audits are described by a file, too (`faceaudit.file.specification`): these functions make
of their arguments what the file would say, and then go through the steps of `faceaudit.run`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from narwhals.typing import IntoDataFrame

from faceaudit.api import (
    NAME,
    AuditPlan,
    Axes,
    as_pandas,
    content_of,
    names_of_arguments,
    power_of,
    unfit_type,
)
from faceaudit.designs.portraits import Portraits
from faceaudit.families import LOOK, REGRESSION
from faceaudit.file.specification import Specification
from faceaudit.frames import InputTables, Rows, read_matched_images
from faceaudit.looks import looks_of_faces, read_look
from faceaudit.models.answers import Notify
from faceaudit.outcomes import ERROR
from faceaudit.planned_audits import (
    ARGUMENTS_OF_CLASSIFIER,
    ARGUMENTS_OF_GENERATOR,
    Block,
    ClassifierSettings,
    GeneratorSettings,
    Model,
    NamedAxes,
    specification_of_classifier,
    specification_of_generator,
)
from faceaudit.plans import bound_rows
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

if TYPE_CHECKING:  # an audit of a table does without
    from faceaudit.images.faces import MakeImages

Images = str | Path | Mapping[str, np.ndarray]
"""A folder with the files of pictures; or name of a picture → its pixels, uint8 (height, width, 3).
"""


def classifier(
    model: Model,
    images: Images,
    table: IntoDataFrame,
    *,
    unit: str | None,
    axes: Axes,
    tolerance: float,
    input: Block,
    label: str | Sequence[str] | None = None,
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
    adjustment: str = REGRESSION,
    policy: Mapping[str, Any] | None = None,
    previous: AuditResult | str | Path | None = None,
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

    The model is tried first, in every call: it has to give the same answer to an image in every
    batch. For this it is asked twice about 64 pictures. Unless it takes pixels as they are, it is
    also asked about up to 200 pictures, prepared as `input` says and in other ways; a preparation
    that suits it better is a doubt of the report. The answers of these trials are not kept. Those
    about the 64 pictures are held against the answers that `folder` keeps: a model that answers
    otherwise now is refused, until it has another version.

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
        label: column of the right answers, or columns of what raters answered, as of `table`.
        output: where the answer is, with the keys of `Output` of `faceaudit.file.parts`.
        version: of the model, in your words. A function whose answers are kept needs one, which
            changes when its answers do.
        outcomes: what is counted, as of `table`.
        attribute: what the model tells; None: what the column of labels is called, or "label".
        image: column of the names of the pictures.
        threshold: probability above which the model says the second class.
        classes: the two answers, as they are in the column of labels.
        placebos: axes, given likewise, that no model should react to.
        covariates: of portraits, columns that differences are adjusted for besides the axes; none
            that has labels.
        annotated: columns of scores in [0, 1] that say what else an axis moves.
        incomplete: "refuse" or "pairs", where units may lack images.
        contrasts: of axes with more than two levels, as of `table`.
        adjustment: of portraits, as of `table`.
        policy: what must be there before the model may pass; see `CoveragePolicy` of
            `faceaudit.file.parts`.
        previous: of a monitored audit, the look before, as of `table`.
        ignore: of portraits, column → values whose rows are left out on purpose.
        accept: names of doubts that do not close the gate.
        plan: that counts, or the path that it was saved to; departures from it are reported. None:
            the plan in `folder`, which the first run writes there before the model is asked.
        name: of the audit.
        question: what the audit asks, in words.
        seed: of the audit.
        folder: keeps the plan, the pictures and the answers. The next call takes the answers from
            there, and asks the model for its trials alone. None: they are kept until the call ends.
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
    settings = ClassifierSettings(
        model=model,
        input=input,
        output=output,
        version=version,
        attribute=attribute,
        unit=unit,
        axes=axes,
        tolerance=tolerance,
        label=label,
        outcomes=outcomes,
        image=image,
        threshold=threshold,
        classes=classes,
        placebos=placebos,
        covariates=covariates,
        annotated=annotated,
        incomplete=incomplete,
        contrasts=contrasts,
        adjustment=adjustment,
        policy=policy,
        ignore=ignore,
        accept=accept,
        name=name,
        question=question,
        seed=seed,
    )
    power = power_of(content_of(plan if plan is not None else _plan_in(folder)))
    kept = folder is not None
    specification = specification_of_classifier(settings, rows, power=power, kept=kept)
    pictures = None
    if isinstance(images, Mapping):
        pictures = images
    elif isinstance(images, str | Path):
        specification = specification.in_folder(Path(images))
    else:
        raise unfit_type("images", images, "a folder, or a mapping from name to picture,")
    tables = InputTables(specification, {Path(rows.source): rows}, pictures)
    with names_of_arguments(ARGUMENTS_OF_CLASSIFIER):
        before = read_look(previous, specification)
        bound = _bound_by_plan(rows, specification, before)
        opened = open_audit(specification, tables, bound, before)
        return _audited(opened, folder, plan, say, device)


def generator(
    generator: Block,
    *,
    people: Block,
    model: Block,
    axes: NamedAxes,
    tolerance: float,
    folder: str | Path,
    calibration: Block | None = None,
    outcomes: Sequence[str] = (ERROR,),
    attribute: str = "gender",
    classes: Sequence[str] = ("0", "1"),
    placebos: NamedAxes = (),
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
    settings = GeneratorSettings(
        generator=generator,
        people=people,
        model=model,
        axes=axes,
        tolerance=tolerance,
        calibration=calibration,
        outcomes=outcomes,
        attribute=attribute,
        classes=classes,
        placebos=placebos,
        annotated=annotated,
        transects=transects,
        power=power,
        policy=policy,
        accept=accept,
        name=name,
        question=question,
        seed=seed,
    )
    specification = specification_of_generator(settings)
    with names_of_arguments(ARGUMENTS_OF_GENERATOR):
        return _audited(open_audit(specification), folder, plan, say, device, pictures)


def _plan_in(folder: str | Path | None) -> Path | None:
    """The plan that a folder keeps; None where there is none yet."""
    path = None if folder is None else Path(folder) / PLAN_FILE
    return path if path is not None and path.exists() else None


def _bound_by_plan(
    rows: Rows, specification: Specification, previous: AuditResult | None
) -> dict[str, Any]:
    """What the plan binds of the table of pictures, of `bound_rows`."""
    if specification.kind == "portraits":
        frame = Portraits.from_table(rows, specification).frame
    else:
        columns = specification.columns
        labels = []
        if specification.has_labels:
            labels = columns.answers or [columns.label]
        needed = [*labels, *specification.annotated]
        frame = read_matched_images(rows, columns.image, specification, needed)
        if labels:
            frame["label"] = rows.labels(labels, specification.classes)
        frame = frame.assign(**rows.shares(specification.annotated))
        if previous is not None:
            frame[LOOK] = looks_of_faces(frame, previous)
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
        planned = content_of(plan_file)
        if folder is not None:
            return audit_in_folder(
                opened, Path(folder), say, device, plan_file=plan_file, pictures=pictures
            )
        now = plan_as_it_is(opened)
        with explain_full_disk("images and answers", Path(spare)):
            return conclude(opened, planned or now, now, say, device, Path(spare), pictures)
