"""An audit from its file to its report, in stages that leave what they finished.

What was planned, rendered and answered is kept in one folder and is used again when the audit runs
again; the report goes to another one (`Folders`).
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pandas as pd

from faceaudit import words
from faceaudit.designs.matched import MatchedImages, target_population, transport_to_target
from faceaudit.designs.pairs import Pairs, open_faces
from faceaudit.designs.portraits import Portraits
from faceaudit.file.parts import FROM_ENVIRONMENT, Http, ImageFolder, NodePackage
from faceaudit.file.specification import (
    PORTRAITS,
    VERIFICATION_OF_IMAGES,
    Specification,
    read_specification,
)
from faceaudit.frames import InputTables
from faceaudit.looks import read_look, with_looks
from faceaudit.models.answers import ANSWERS_FOLDER, Notify
from faceaudit.models.asking import has_rows
from faceaudit.plans import bound_rows, keep_plan, make_plan, naming_former, replace_plan
from faceaudit.report.build import build_report
from faceaudit.report.schema import Report
from faceaudit.results import IMAGES_FILE, REPORT_FILES, AuditResult, table_of_images
from faceaudit.utils.errors import InputError
from faceaudit.utils.files import alone, file_hash, write_text

if TYPE_CHECKING:  # an audit of a table does without
    from faceaudit.images.faces import MakeImages

PLAN_FILE = "plan.json"
"""Name of the plan in the folder of what is kept."""
FINISHED = "reported"
"""Name of the file in an audit's folder that marks that a run ended; it holds the plan of it."""
NAME_LINE = r"""^name:\s*["']?(?P<name>[a-z0-9][a-z0-9-]*)"""
"""The line of an audit file that names the audit."""
FULL_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of the system: a full disk, a quota that is used up, a file larger than may be."""


@dataclass(frozen=True)
class Folders:
    """Where an audit leaves its files.

    Attributes:
        report: for the report.
        artifacts: for what is finished and used again.
    """

    report: Path
    artifacts: Path

    @classmethod
    def beside(cls, specification: Specification) -> Folders:
        """Folders beside the audit file, by the name of the audit."""
        report = specification.path.parent / specification.name
        return cls(report, report / "kept")


@dataclass(frozen=True)
class OpenedAudit:
    """An audit file and its tables, which are read once a run and checked before the plan.

    Attributes:
        specification: what the file says.
        tables: that the file names.
        data: images, pairs or portraits whose answers are in a table; None where a model is asked.
        table: with these answers; None where a model is asked.
        units: number of matched faces in the table of images; None of other audits.
        target: the people of the target population; None where the file names none.
        bound: of `faceaudit.plans.bound_rows`, where a model is asked about the images of a table
            that is no file, whose hash the plan could have.
        previous: of a monitored audit, the look before.
    """

    specification: Specification
    tables: InputTables
    data: MatchedImages | Pairs | Portraits | None
    table: Path | None
    units: int | None
    target: pd.DataFrame | None
    bound: dict[str, Any] | None = None
    previous: AuditResult | None = None


@contextmanager
def explain_full_disk(content: str, folder: Path) -> Iterator[None]:
    """Explain in one sentence that a disk is full.

    Args:
        content: what is written meanwhile, for the sentence.
        folder: that it is written to, where the error names no file.

    Raises:
        OSError: the disk is full; the sentence says what was written, where, and how to go on.
    """
    try:
        yield
    except OSError as error:
        # An array of numpy that was written in part comes without a number.
        written_in_part = error.errno is None and "requested and" in str(error)
        if error.errno not in FULL_DISK_ERRORS and not written_in_part:
            raise
        place = Path(error.filename).parent if isinstance(error.filename, str) else folder
        raise OSError(
            f"{place}: no room on the disk for {content} ({error.strerror or error}); what is "
            "finished is kept: make room there and run the same command again, which goes on from "
            "there"
        ) from error


def open_audit(
    specification: Specification,
    tables: InputTables | None = None,
    bound: dict[str, Any] | None = None,
    previous: AuditResult | None = None,
) -> OpenedAudit:
    """Read the tables of an audit file and check them.

    Args:
        specification: of the audit.
        tables: where some are no files.
        bound: what the plan binds of such a table, see `OpenedAudit`.
        previous: of a monitored audit, the look before, in place of the one that the file names.

    Raises:
        InputError: a table has a fault, or the look before.
    """
    tables = tables or InputTables(specification)
    answers_in_table = specification.model.kind == "table"
    data = None
    units = None
    if isinstance(specification.generator, ImageFolder):
        from faceaudit.images.faces import open_images  # an audit of a table does without

        index, _ = open_images(specification, tables)
        units = index["unit"].nunique()
    elif specification.route == VERIFICATION_OF_IMAGES:
        open_faces(specification, tables)
    elif specification.pairs is not None:
        data = Pairs.from_table(tables.rows(specification.pairs), specification)
    elif specification.route == PORTRAITS:
        rows = tables.rows(specification.table_of_images)
        portraits = Portraits.from_table(rows, specification, tables)
        if answers_in_table:
            data = portraits
    elif specification.images is not None:
        data = MatchedImages.from_table(tables.rows(specification.images), specification)
        units = data.frame["unit"].nunique()
    target = None
    if specification.target is not None:
        target = target_population(specification.target, specification.axes, tables)
    table = None
    if data is not None:
        table = specification.beside(specification.pairs or specification.table_of_images)
    if specification.previous is not None:
        previous = read_look(specification.beside(specification.previous), specification)
    return OpenedAudit(specification, tables, data, table, units, target, bound, previous)


def plan_audit(
    audit: str | Path | Specification,
    say: Notify = print,
    *,
    folders: Folders | None = None,
    plan_file: Path | None = None,
    replace: bool = False,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write the plan of an audit, before any model is asked; keep the one that is there.

    Args:
        audit: path of the audit file, or what was read from it.
        say: takes a sentence for the user.
        folders: where files go, by default beside the audit file.
        plan_file: of the plan, by default `plan.json` in the folder of what is kept.
        replace: whether a new plan takes the place of the one that is there, which it names.

    Returns:
        The plan that counts, and what it would be by the file as it is now.

    Raises:
        InputError: the file or its table has a fault.
        OSError: the disk is full.
    """
    specification = _specification(audit)
    opened = open_audit(specification)
    return _write_plan(opened, say, folders or Folders.beside(specification), plan_file, replace)


def _specification(audit: str | Path | Specification) -> Specification:
    return audit if isinstance(audit, Specification) else read_specification(audit)


def _write_plan(
    opened: OpenedAudit,
    say: Notify,
    folders: Folders,
    plan_file: Path | None = None,
    replace: bool = False,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The plan that counts, and what it would be now."""
    now = plan_as_it_is(opened)
    path = plan_file or folders.artifacts / PLAN_FILE
    reported = _plan_of_report(folders.artifacts)
    with explain_full_disk("the plan", path.parent):
        if replace and path.exists():
            state = "replaced in"
            plan = replace_plan(now, path, reported is not None)
        elif path.exists():
            state = "kept as it was,"
            plan = keep_plan(now, path)
        else:
            state = "written to"
            # The plan of an earlier report is gone, or lies somewhere else.
            new = now if reported is None else naming_former(now, reported, after_report=True)
            plan = keep_plan(new, path)
    if plan["kind"] != now["kind"]:
        raise InputError(
            f"{path}: the plan is of an audit of the kind {plan['kind']}, and the audit file says "
            f"{now['kind']}; give the audit another name, or make a new plan by the command plan "
            "with --replace",
            field="kind",
            found=now["kind"],
            expected=plan["kind"],
        )
    say(f"plan: {state} {path} ({plan['sha256'][:12]})")
    sentences = words.render_sentences("replaced_plans", plan.get("replaces", []))
    sentences += words.render_sentences("chances", now)
    sentences += words.render_sentences("answers", now.get("sizes", {}))
    for sentence in sentences:
        say(sentence)
    return plan, now


def plan_as_it_is(opened: OpenedAudit) -> dict[str, Any]:
    """The plan by the audit file and its tables as they are now.

    The answers of a table do not enter it.
    """
    specification = opened.specification
    rows = opened.bound
    if opened.data is not None and opened.table is not None:
        data = opened.data
        if isinstance(data, MatchedImages):
            data, _ = with_looks(data, specification, opened.previous)
        rows = bound_rows(data.frame, specification, opened.table)
    return make_plan(specification, opened.units, input_files(specification), rows)


def _plan_of_report(artifacts: Path) -> dict[str, Any] | None:
    """The plan of the last report; None where there was none."""
    path = artifacts / FINISHED
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return json.loads(text) if text else None


def input_files(specification: Specification) -> list[Path]:
    """The audit file first, and its tables, whose hashes the plan has."""
    if isinstance(specification.generator, ImageFolder):
        tables = [specification.generator.table]
    else:
        tables = [specification.images or specification.pairs, specification.transects]
    if specification.target is not None:
        tables.append(specification.target.table)
    named_tables = [table for table in tables if table is not None]
    return [specification.path, *map(specification.beside, named_tables)]


def run_audit(
    audit: str | Path | Specification,
    say: Notify = print,
    device: str = "cpu",
    *,
    folders: Folders | None = None,
    plan_file: Path | None = None,
    model_version: str | None = None,
    pictures: MakeImages | None = None,
) -> Report:
    """Run an audit to the end: plan, images, people, model, verdicts, report.

    Args:
        audit: path of the audit file, or what was read from it.
        say: takes a sentence for the user after every stage.
        device: "cpu" or "cuda", where networks of files make images and answer.
        folders: where files go, by default beside the audit file.
        plan_file: of the plan, by default `plan.json` in the folder of what is kept.
        model_version: of the model, in place of the audit file's `model.version`.
        pictures: makes the images where the audit file names a world of faces.

    Returns:
        The report; `report.html`, `report.json` and `model_card.md` are written.

    Raises:
        InputError: a fault in the file, a table or the model's answers, in one sentence; what was
            finished stays.
        OSError: the disk is full; what was finished stays, and another run goes on from there.
        PeopleNeeded: people have to answer first; the sentence says what was written for them.
    """
    if isinstance(audit, Specification):
        specification = audit
    else:
        path = Path(audit)
        specification = read_to_run(path, folders.report if folders else None)
    folders = folders or Folders.beside(specification)
    _refuse_to_overwrite(specification, folders.report)
    _remove_report(folders.report)
    if model_version is not None:
        specification = specification.of_version(model_version)
    _require_answers(specification)
    artifacts = folders.artifacts
    with (
        explain_full_disk("images, tasks and answers", artifacts),
        alone(artifacts / ".lock", say),
    ):
        opened = open_audit(specification)
        plan, now = _write_plan(opened, say, folders, plan_file)
        # Another process may have written its report while this one waited.
        _remove_report(folders.report)
        (folders.report / IMAGES_FILE).unlink(missing_ok=True)
        with _marking_the_end(artifacts, plan, plan_file is not None):
            result = conclude(opened, plan, now, say, device, artifacts, pictures)
        with explain_full_disk("the report", folders.report):
            page = result.save(folders.report)
        say(f"report: {page}")
    return result.report


def audit_in_folder(
    opened: OpenedAudit,
    folder: Path,
    say: Notify,
    device: str = "cpu",
    *,
    plan_file: Path | None = None,
    pictures: MakeImages | None = None,
) -> AuditResult:
    """Go through an audit that was opened, as `run_audit` does, without writing its report.

    Args:
        opened: the audit.
        folder: for what is finished and used again: the plan, images, tasks and answers.
        say, device, plan_file, pictures: as of `run_audit`.

    Returns:
        What was found.

    Raises:
        InputError, OSError, PeopleNeeded: as of `run_audit`.
    """
    _require_answers(opened.specification)
    with (
        explain_full_disk("images, tasks and answers", folder),
        alone(folder / ".lock", say),
    ):
        plan, now = _write_plan(opened, say, Folders(folder, folder), plan_file)
        with _marking_the_end(folder, plan, plan_file is not None):
            return conclude(opened, plan, now, say, device, folder, pictures)


def _require_answers(specification: Specification) -> None:
    """Raise InputError where there is neither a table of answers nor a model to ask."""
    if specification.model.kind == "table" and not (specification.images or specification.pairs):
        raise InputError(
            f"{specification.place}model.kind is table, but no table is given; name one under "
            "images, or a model of kind onnx, python or http",
            field="images",
            expected="a table, or a model of kind onnx, python or http",
        )


@contextmanager
def _marking_the_end(artifacts: Path, plan: dict[str, Any], own_plan_file: bool) -> Iterator[None]:
    """Mark in the folder of what is kept that a run ended, and by which plan.

    Args:
        artifacts: the folder.
        plan: that counts.
        own_plan_file: whether the plan lies where the user named a file for it.
    """
    try:
        yield
    except (ValueError, ImportError):
        # To mend a fault before anything was asked is no departure: the next plan is the first.
        finished_once = (artifacts / FINISHED).exists()
        if not finished_once and not has_rows(artifacts / ANSWERS_FOLDER) and not own_plan_file:
            (artifacts / PLAN_FILE).unlink()
        raise
    # The whole plan: where its file is deleted, the next plan can still say what changed.
    write_text(artifacts / FINISHED, json.dumps(plan) + "\n")


def read_to_run(
    path: Path, report_folder: Path | None = None, parent: Path | None = None
) -> Specification:
    """Read an audit file that is about to run.

    Args:
        path: of the file.
        report_folder: of the report; None: the folder with the audit's name in `parent`.
        parent: of the folders of reports, by default the folder of the file.

    Raises:
        InputError: the file cannot be read. The report of an earlier run is gone by then, since a
            gate would take it for one of this run.
    """
    try:
        return read_specification(path)
    except InputError:
        _remove_report(report_folder or (parent or path.parent) / _name_of_audit(path))
        raise


def _refuse_to_overwrite(specification: Specification, folder: Path) -> None:
    """Raise InputError where the report's table of images has the place of an input."""
    table = folder / IMAGES_FILE
    for path in input_files(specification):
        if table.is_file() and path.is_file() and table.samefile(path):
            raise InputError(
                f"{path}: the report has a file of this name in the same folder; give another "
                "folder to --out, or rename the table",
                field=str(path),
                expected="another folder of the report",
            )
    if specification.previous is None:
        return
    previous = specification.beside(specification.previous)
    place = previous if previous.is_dir() else previous.parent
    if place.resolve() == folder.resolve():
        raise InputError(
            f"{previous}: the look before lies in the folder of the report, which this run "
            "replaces; give another folder to --out, or keep the look before in another one",
            field="previous",
            found=str(previous),
            expected="another folder than that of the report",
        )


def _name_of_audit(path: Path) -> str:
    """The name in an audit file that may have a fault; without one, that of the file."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    line = re.search(NAME_LINE, text, re.MULTILINE)
    return line["name"] if line else path.stem


def _remove_report(folder: Path) -> None:
    """Remove the report of an earlier run."""
    for name in REPORT_FILES:
        (folder / name).unlink(missing_ok=True)


def conclude(
    opened: OpenedAudit,
    plan: dict[str, Any],
    now: dict[str, Any],
    say: Notify,
    device: str,
    artifacts: Path,
    pictures: MakeImages | None = None,
) -> AuditResult:
    """Ask the model of an audit, if it has one, and analyse the answers.

    Args:
        opened: the audit.
        plan: that counts.
        now: the plan by the audit as it is now.
        say: takes a sentence for the user after every stage.
        device: "cpu" or "cuda", where networks of files make images and answer.
        artifacts: the folder for images, tasks and answers.
        pictures: makes the images where the audit names a world of faces.

    Returns:
        What was found, with a contact sheet where images were made or read.

    Raises:
        InputError, PeopleNeeded: as of `run_audit`.
    """
    specification = opened.specification
    for sentence in announced_side_effects(specification):
        say(sentence)
    data = opened.data
    about: dict[str, Any] = {}
    if opened.table is not None:
        about["model"] = _card_of_table(specification, opened.table)
    sheet = None
    tables_of_file = opened.tables
    if data is None and specification.kind == "verification":
        data, about = Pairs.from_model(specification, tables_of_file, artifacts, say, device)
    elif data is None and specification.kind == "portraits":
        data, about = Portraits.from_model(specification, tables_of_file, artifacts, say, device)
    elif data is None:
        data, about, sheet = MatchedImages.from_model(
            specification, now, tables_of_file, artifacts, say, device, pictures
        )
    images = None
    if isinstance(data, MatchedImages):
        data, monitored = with_looks(data, specification, opened.previous)
        now = {**now, **monitored}
    tables = data.analyse(now)
    if isinstance(data, MatchedImages):
        images = table_of_images(data.frame, specification)
    if specification.target is not None and opened.target is not None:
        tables["target"] = transport_to_target(
            data.frame, opened.target, specification.target, specification.axes
        )
    report = build_report(data, tables, plan, now, **about)
    return AuditResult(report, data.frame, images=images, sheet=sheet)


def _card_of_table(specification: Specification, table: Path) -> dict[str, Any]:
    """What is known of a model whose answers are in a table."""
    card = {"kind": "table", "file": table.name, "sha256": file_hash(table)}
    assert not isinstance(specification.model, NodePackage)  # whose answers are in no table
    version = specification.model.version
    return card if version is None else {**card, "version": version}


def announced_side_effects(specification: Specification) -> Iterator[str]:
    """What an audit file makes this machine do besides computing, to be announced beforehand.

    A sentence for each function that is imported, and each address that images are sent to.
    """
    models = [specification.model, *getattr(specification.people, "models", {}).values()]
    if specification.calibration:
        models.extend(specification.calibration.readers)
    for part in [*models, specification.generator]:
        name = getattr(part, "function", getattr(part, "object", None))
        if isinstance(name, str):
            yield f"code: this audit file imports {name}, which runs with all your rights"
        if isinstance(part, NodePackage):
            yield f"code: this audit file runs {part.package} of npm, with all your rights"
        if isinstance(part, Http):
            from_environment = [
                f"{header} ({value})"
                for header, value in part.headers.items()
                if FROM_ENVIRONMENT in value
            ]
            yield from words.render_sentences(
                "network", urlsplit(part.url).hostname, from_environment
            )
