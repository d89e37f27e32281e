"""An audit from its file to its report, in stages that leave what they finished.

What was planned, rendered and answered lies in `artifacts/audits/<name>/` and is used again when
the audit runs again; the report lies in `build/audits/<name>/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from faceaudit.analysis import analyse
from faceaudit.answers import BlackBox, has_answers
from faceaudit.contact_sheet import Sheet, contact_sheet
from faceaudit.face_table import open_faces
from faceaudit.group_rates import analyse_pairs
from faceaudit.image_sets import open_image_set, set_index
from faceaudit.model_card import write_card
from faceaudit.model_http import FROM_ENVIRONMENT
from faceaudit.models import ask, model_of
from faceaudit.pairs import Pairs, from_pairs
from faceaudit.parts import Http, Images
from faceaudit.planning import keep_plan, make_plan
from faceaudit.plausibility import doubts_of_preparation
from faceaudit.recogniser import ask_recogniser
from faceaudit.report_html import write_html
from faceaudit.report_json import build_report, write_json
from faceaudit.report_schema import Report
from faceaudit.routes import IMAGES, PAIRS
from faceaudit.shown import show
from faceaudit.sizes import capped
from faceaudit.specification import Specification, read_specification
from faceaudit.tables import Audited, from_table, judged
from faceaudit.target import target_population, transported
from faceaudit.world import World
from helpers.artifacts import root
from helpers.artifacts.lineage import ROOT
from helpers.utils.parallel import alone

Say = Callable[[str], None]
WRITTEN = ("report.json", "report.html", "model_card.md")
REFUSED, REPORTED = "refused", "reported"
"""Mark in an audit's folder that a run was refused before a model was asked; that one ended."""


def folders(specification: Specification) -> tuple[Path, Path]:
    """Where an audit keeps what it finished, and where its report goes.

    Args:
        specification: of the audit.

    Returns:
        `artifacts/audits/<name>` and `build/audits/<name>`.

    Example:
        >>> one = Specification(name="a", question="?", axes=["gender"], design={"tolerance": 0.1})
        >>> [folder.name for folder in folders(one)]
        ['a', 'a']
    """
    return root() / "audits" / specification.name, ROOT / "build" / "audits" / specification.name


def plan_audit(
    path: str | Path, say: Say = print, profile: str | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write the plan of an audit, before any model is asked; keep the one that is there.

    Args:
        path: of the audit file.
        say: takes a sentence for the user.
        profile: that caps the sizes, see `faceaudit.sizes.capped`.

    Returns:
        The plan that was made first, and what it would be by the file as it is now.

    Raises:
        ValueError: the file or its table has a fault.

    Example:
        >>> plan_audit("nowhere.yml")
        Traceback (most recent call last):
        ValueError: nowhere.yml: no such audit file; audits/example.yml is one to copy
    """
    specification = _read(path, profile)
    now = _plan(specification)
    place = folders(specification)[0] / "plan.json"
    # A fault that was mended before anything was asked is no departure.
    if (mended := place.with_name(REFUSED)).exists():
        place.unlink(missing_ok=True)
        mended.unlink()
    new = not place.exists()
    plan = keep_plan(now, place)
    say(f"plan: {'written to' if new else 'kept as it was,'} {place} ({plan['sha256'][:12]})")
    return plan, now


def run_audit(
    path: str | Path,
    say: Say = print,
    card: dict[str, Any] | None = None,
    profile: str | None = None,
    device: str = "cpu",
) -> Report:
    """Run an audit to the end: plan, images, people, model, verdicts, report.

    Args:
        path: of the audit file.
        say: takes a sentence for the user after every stage.
        card: of the model that gave the scores of a table, for the report.
        profile: that caps the sizes, see `faceaudit.sizes.capped`.
        device: "cpu" or "cuda", where the images of a network's file are made.

    Returns:
        The report; `report.html`, `report.json` and `model_card.md` are written.

    Raises:
        ValueError: a fault in the file, a table or the model's answers, in one sentence; what was
            finished stays.
        PeopleNeeded: people have to answer first; the sentence says what was written for them.

    Example:
        >>> run_audit("nowhere.yml")
        Traceback (most recent call last):
        ValueError: nowhere.yml: no such audit file; audits/example.yml is one to copy
    """
    specification = _read(path, profile)
    _require_a_model(specification)
    kept, written = folders(specification)
    with alone(kept / ".lock", say):
        plan, now = plan_audit(path, say, profile)
        for name in WRITTEN:  # of an earlier run, which a gate would take for one of this
            (written / name).unlink(missing_ok=True)
        try:
            return _run(specification, plan, now, say, card, device)
        except ValueError:
            if not _asked(kept):
                (kept / REFUSED).touch()
            raise


def _run(
    specification: Specification,
    plan: dict[str, Any],
    now: dict[str, Any],
    say: Say,
    card: dict[str, Any] | None,
    device: str,
) -> Report:
    for sentence in powers(specification):
        say(sentence)
    sheet = None
    data: Audited | Pairs
    more: dict[str, Any] = {"model": card}
    if specification.kind == "verification":
        if specification.route == PAIRS:
            data = from_pairs(specification.beside(specification.pairs), specification)
        else:
            data, more = ask_recogniser(specification, folders(specification)[0], say)
        tables = analyse_pairs(data, now)
    else:
        if specification.images is not None:
            data = from_table(specification.beside(specification.images), specification)
        else:
            data, more, sheet = _with_a_model(specification, now, say, device)
        tables = analyse(data, now)
        if specification.target is not None:
            people = target_population(specification)
            tables["target"] = transported(data.frame, now, people, specification.target.by)
    report = build_report(data, tables, plan, now, **more)
    return _written(report, sheet, specification, say)


def powers(specification: Specification) -> Iterator[str]:
    """What an audit file makes this machine do besides computing, to be said before it is done.

    Args:
        specification: of the audit.

    Returns:
        A sentence for each function that is imported, and each address that images are sent to.

    Example:
        >>> one = Specification(
        ...     name="a", question="?", axes=["gender"], design={"tolerance": 0.1},
        ...     model={"kind": "python", "function": "a:b", "version": "1", "input": {"size": 8}},
        ... )
        >>> [*powers(one)]
        ['code: this audit file imports a:b, which runs with all your rights']
    """
    models = [specification.model, *getattr(specification.people, "models", {}).values()]
    named = [getattr(one, "function", None) for one in models]
    for name in filter(None, [*named, getattr(specification.generator, "object", None)]):
        yield f"code: this audit file imports {name}, which runs with all your rights"
    for one in models:
        if isinstance(one, Http):
            named = [name for name, value in one.headers.items() if FROM_ENVIRONMENT in value]
            secrets = ", ".join(f"{name} ({one.headers[name]})" for name in named)
            told = f", with the headers {secrets}" if secrets else ""
            yield f"network: images are sent to {urlsplit(one.url).hostname}{told}"


def _read(path: str | Path, profile: str | None) -> Specification:
    specification = read_specification(path)
    return specification if profile is None else capped(specification, profile)


def _written(report: Report, sheet: Sheet | None, specification: Specification, say: Say) -> Report:
    kept, folder = folders(specification)
    (kept / REPORTED).touch()
    write_json(report, folder / "report.json")
    write_card(report, folder / "model_card.md")
    say(f"report: {write_html(report, folder / 'report.html', sheet)}")
    return report


def _plan(specification: Specification) -> dict[str, Any]:
    """The plan by the file as it is now."""
    inputs = [specification.path] if specification.path.is_file() else []
    units = None
    if specification.route == PAIRS:
        inputs.append(specification.beside(specification.pairs))
        from_pairs(inputs[-1], specification)
    elif specification.route == IMAGES:
        open_faces(specification)  # the pairs follow from the table, before the model is asked
        inputs.append(specification.beside(specification.images))
    elif specification.images is not None:
        inputs.append(specification.beside(specification.images))
        # The table is read for its faces alone; its answers do not enter the plan.
        units = from_table(inputs[-1], specification).frame["unit"].nunique()
    elif isinstance(specification.generator, Images):
        inputs.append(specification.beside(specification.generator.table))
        units = set_index(open_image_set(specification))["unit"].nunique()
    if specification.target is not None:
        target_population(specification)  # a fault in it is told before the model is asked
        inputs.append(specification.beside(specification.target.table))
    return make_plan(specification, units, inputs)


def _asked(kept: Path) -> bool:
    """Whether there was a report, or a model has given an answer that is kept."""
    return (kept / REPORTED).exists() or has_answers(kept / "answers")


def _require_a_model(specification: Specification) -> None:
    """Say in one sentence that images without a table need a model that can be asked."""
    from_files = specification.kind == "verification" or specification.images is not None
    if not from_files and specification.model.kind == "table":
        raise ValueError(
            f"{specification.path}: model.kind is table, but no table is given; name one under "
            "images, or a model of kind onnx, python or http"
        )


def _with_a_model(
    specification: Specification, plan: dict[str, Any], say: Say, device: str
) -> tuple[Audited, dict[str, Any], Sheet]:
    """Images, people's labels and the model's answers; what the report has besides; some images."""
    kept = folders(specification)[0]
    model = model_of(specification)
    shown = show(specification, plan, kept, model, say, device)
    labels = shown.labelled["label"]
    doubts = [*shown.doubts, *doubts_of_preparation(model, shown.images, labels, plan["seed"])]
    score = ask(model, shown.images, kept / "answers")
    silent = int(np.isnan(score).sum())
    say(f"model: {len(score) - silent:,} answers, {silent:,} images without one")
    scored = shown.labelled.assign(score=score)
    data = judged(scored, plan["threshold"], True, shown.source)
    more: dict[str, Any] = {"model": model.card(), "people": shown.people}
    more |= {"generator": shown.generator, "told": shown.told, "doubts": doubts}
    if shown.world is not None:
        more["truth"] = _truth(specification, shown.world, model, plan["threshold"], kept)
        say(f"truth: {specification.generator.base_faces} other faces, by intervention")
    sheet = contact_sheet(shown.images, shown.labelled, specification.axes)
    return data, more, sheet


def _truth(
    specification: Specification,
    world: World,
    model: BlackBox,
    threshold: float,
    kept: Path,
) -> pd.DataFrame:
    """The effects by intervention, on other faces of the world."""
    return world.truth(
        lambda images: ask(model, images, kept / "answers"),
        threshold,
        specification.generator.base_faces,
        specification.size,
        specification.attribute,
        kept / "truth.npy",
        [*specification.axes],
    )
