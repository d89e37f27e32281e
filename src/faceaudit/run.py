"""An audit from its file to its report, in stages that leave what they finished.

What was planned, rendered and answered is kept in one folder and is used again when the audit runs
again; the report goes to another one (`Folders`).
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from faceaudit import words
from faceaudit.checks import examine
from faceaudit.designs.matched import (
    MatchedImages,
    analyse,
    from_table,
    judged,
    target_population,
    transport_to_target,
)
from faceaudit.designs.pairs import Pairs, analyse_pairs, ask_recogniser, from_pairs, open_faces
from faceaudit.designs.portraits import (
    Portraits,
    analyse_portraits,
    ask_about_portraits,
    from_portraits,
)
from faceaudit.file.parts import Http, ImageFolder
from faceaudit.file.specification import Specification, read_specification
from faceaudit.frames import with_level_names
from faceaudit.models.answers import Say
from faceaudit.models.asking import ask, model_of
from faceaudit.models.http import FROM_ENVIRONMENT
from faceaudit.plans import keep_plan, make_plan
from faceaudit.report.build import build_report
from faceaudit.report.page import contact_sheet, write_card, write_html
from faceaudit.report.schema import Report, write_report
from faceaudit.utils import errors
from faceaudit.utils.files import alone, write_text

if TYPE_CHECKING:  # with torch
    from faceaudit.images.faces import Pictures

REPORT_FILES = ("report.json", "report.html", "model_card.md", "images.csv")
FINISHED = "reported"
"""Mark in an audit's folder that a run ended."""
FULL_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of the system: a full disk, a quota that is used up, a file larger than may be."""


@dataclass(frozen=True)
class Folders:
    """Where an audit leaves its files.

    Attributes:
        report: for the report.
        kept: for what is finished and used again.
    """

    report: Path
    kept: Path

    @classmethod
    def beside(cls, specification: Specification) -> Folders:
        """Folders beside the audit file, by the name of the audit."""
        report = specification.path.parent / specification.name
        return cls(report, report / "kept")


@contextmanager
def explain_full_disk(what: str, folder: Path) -> Iterator[None]:
    """Say in one sentence that a disk is full.

    Args:
        what: is written meanwhile.
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
            f"{place}: no room on the disk for {what} ({error.strerror or error}); what is "
            "finished is kept: make room there and run the same command again, which goes on from "
            "there"
        ) from error


def plan_audit(
    path: str | Path, say: Say = print, *, folders: Folders | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write the plan of an audit, before any model is asked; keep the one that is there.

    Args:
        path: of the audit file.
        say: takes a sentence for the user.
        folders: where files go, by default beside the audit file.

    Returns:
        The plan that was made first, and what it would be by the file as it is now.

    Raises:
        ValueError: the file or its table has a fault.
        OSError: the disk is full.
    """
    specification = read_specification(path)
    return _planned(specification, say, folders or Folders.beside(specification))


def _planned(
    specification: Specification, say: Say, folders: Folders
) -> tuple[dict[str, Any], dict[str, Any]]:
    now = _plan(specification)
    place = folders.kept / "plan.json"
    told = "kept as it was," if place.exists() else "written to"
    with explain_full_disk("the plan", place.parent):
        plan = keep_plan(now, place)
    say(f"plan: {told} {place} ({plan['sha256'][:12]})")
    for sentence in words.render_sentences("answers", now.get("sizes", {})):
        say(sentence)
    return plan, now


def run_audit(
    path: str | Path,
    say: Say = print,
    device: str = "cpu",
    *,
    folders: Folders | None = None,
    pictures: Pictures | None = None,
) -> Report:
    """Run an audit to the end: plan, images, people, model, verdicts, report.

    Args:
        path: of the audit file.
        say: takes a sentence for the user after every stage.
        device: "cpu" or "cuda", where networks of files make images and answer.
        folders: where files go, by default beside the audit file.
        pictures: makes the images where the audit file names a world of faces.

    Returns:
        The report; `report.html`, `report.json` and `model_card.md` are written.

    Raises:
        ValueError: a fault in the file, a table or the model's answers, in one sentence; what was
            finished stays.
        OSError: the disk is full; what was finished stays, and another run goes on from there.
        PeopleNeeded: people have to answer first; the sentence says what was written for them.
    """
    specification = read_specification(path)
    if specification.model.kind == "table" and not (specification.images or specification.pairs):
        raise errors.fault("no_table", path)
    folders = folders or Folders.beside(specification)
    kept = folders.kept
    written = folders.report
    with explain_full_disk("images, tasks and answers", kept), alone(kept / ".lock", say):
        plan, now = _planned(specification, say, folders)
        for name in REPORT_FILES:  # of an earlier run, which a gate would take for one of this
            (written / name).unlink(missing_ok=True)
        try:
            report, sheet = _build_report(specification, plan, now, say, device, folders, pictures)
        except ValueError:
            # To mend a fault before anything was asked is no departure: the next plan is the first.
            if not ((kept / FINISHED).exists() or (kept / "answers").exists()):
                (kept / "plan.json").unlink()
            raise
        (kept / FINISHED).touch()
        with explain_full_disk("the report", written):
            write_report(report, written / "report.json")
            write_card(report, written / "model_card.md")
            page = write_html(report, written / "report.html", sheet)
        say(f"report: {page}")
    return report


def _build_report(
    specification: Specification,
    plan: dict[str, Any],
    now: dict[str, Any],
    say: Say,
    device: str,
    folders: Folders,
    pictures: Pictures | None,
) -> tuple[Report, dict[str, Any] | None]:
    for sentence in announced_side_effects(specification):
        say(sentence)
    data, more, sheet, own = _tabled(specification), {}, None, specification
    asks = {"verification": ask_recogniser, "portraits": ask_about_portraits}
    if data is None and own.kind in asks:
        data, more = asks[own.kind](own, folders.kept, say, device)
    elif data is None:
        data, more, sheet = _with_a_model(own, now, say, device, folders.kept, pictures)
    analyses = {Pairs: analyse_pairs, Portraits: analyse_portraits}
    tables = analyses.get(type(data), analyse)(data, now)
    if isinstance(data, MatchedImages):  # which an audit of portraits can be held against
        images = with_level_names(data.frame, own.axes)
        with explain_full_disk("the table of images", folders.report):
            write_text(
                folders.report / REPORT_FILES[-1], images.to_csv(index=False, lineterminator="\n")
            )
    if own.target is not None:
        tables["target"] = transport_to_target(data.frame, own)
    return build_report(data, tables, plan, now, **more), sheet


def _tabled(own: Specification) -> MatchedImages | Pairs | Portraits | None:
    """What stands in the file's table, if the answers do."""
    if own.pairs is not None:
        return from_pairs(own.beside(own.pairs), own)
    if own.images is not None and own.model.kind == "table":
        read = from_portraits if own.kind == "portraits" else from_table
        return read(own.beside(own.images), own)
    return None


def _with_a_model(
    specification: Specification,
    plan: dict[str, Any],
    say: Say,
    device: str,
    kept: Path,
    pictures: Pictures | None,
) -> tuple[MatchedImages, dict[str, Any], dict[str, Any]]:
    """Images, people's labels and the model's answers; what the report has besides; some images."""
    from faceaudit.images.faces import show  # with torch

    threshold = plan["threshold"]
    model = model_of(specification, device=device)
    shown = show(specification, plan, kept, model, say, device, pictures)
    images, labelled = shown.images, shown.labelled
    answers, told = examine(model, images, labelled["label"], kept, say, plan["seed"])
    doubts = [*shown.more.get("doubts", ()), *told["doubts"]]
    more = shown.more | told | {"doubts": doubts}
    data = judged(labelled.assign(score=answers.values), threshold, True, shown.source)
    if shown.truth is not None:
        asked = partial(ask, model, folder=kept / "answers")
        more["truth"] = shown.truth(asked, threshold)
        say(f"truth: {specification.generator.base_faces} other faces, by intervention")
    return data, more, contact_sheet(images, labelled, specification.axes)


def announced_side_effects(specification: Specification) -> Iterator[str]:
    """What an audit file makes this machine do besides computing, to be said before it is done.

    A sentence for each function that is imported, and each address that images are sent to.
    """
    models = [specification.model, *getattr(specification.people, "models", {}).values()]
    models += specification.calibration.readers if specification.calibration else []
    for one in [*models, specification.generator]:
        if name := getattr(one, "function", getattr(one, "object", None)):
            yield f"code: this audit file imports {name}, which runs with all your rights"
        if isinstance(one, Http):
            secret = [f"{k} ({v})" for k, v in one.headers.items() if FROM_ENVIRONMENT in v]
            yield from words.render_sentences("network", urlsplit(one.url).hostname, secret)


def _plan(own: Specification) -> dict[str, Any]:
    """The plan by the file as it is now; faults of its tables are told before a model is asked."""
    tables, units = [own.images or own.pairs], None
    if isinstance(own.generator, ImageFolder):
        from faceaudit.images.faces import open_images  # with torch

        tables, units = [own.generator.table], open_images(own)[0]["unit"].nunique()
    elif own.images is not None and own.kind == "verification":
        open_faces(own)
    elif own.kind == "portraits":
        from_portraits(own.beside(own.images), own)
        tables.append(own.transects)
    elif isinstance(data := _tabled(own), MatchedImages):
        # The table is read for its faces alone; its answers do not enter the plan.
        units = data.frame["unit"].nunique()
    if own.target is not None:
        target_population(own)
        tables.append(own.target.table)
    return make_plan(own, units, [own.path, *(own.beside(table) for table in tables if table)])
