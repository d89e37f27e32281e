"""An audit from its file to its report, in stages that leave what they finished.

What was planned, rendered and answered lies in `artifacts/audits/<name>/` and is used again when
the audit runs again; the report lies in `build/audits/<name>/`. Serves chapter 20.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.artifacts import root
from helpers.artifacts.lineage import ROOT
from helpers.audit.analysis import analyse
from helpers.audit.asking import ask, model_of
from helpers.audit.model_card import write_card
from helpers.audit.pairs import Pairs, analyse_pairs, from_pairs
from helpers.audit.parts import KnownTruth, Simulated
from helpers.audit.planning import keep_plan, make_plan
from helpers.audit.report_html import write_html
from helpers.audit.report_json import build_report, write_json
from helpers.audit.report_schema import Report
from helpers.audit.sizes import capped
from helpers.audit.specification import Specification, read_specification
from helpers.audit.tables import Audited, from_table, judged
from helpers.audit.target import target_population, transported
from helpers.audit.world import World, render_faces, simulated_answers
from helpers.models import black_box

Say = Callable[[str], None]


def folders(specification: Specification) -> tuple[Path, Path]:
    """Where an audit keeps what it finished, and where its report goes.

    Serves chapter 20.

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

    Serves chapter 20.

    Args:
        path: of the audit file.
        say: takes a sentence for the user.
        profile: that caps the sizes, see `helpers.audit.sizes.capped`.

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
    new = not place.exists()
    plan = keep_plan(now, place)
    say(f"plan: {'written to' if new else 'kept as it was,'} {place} ({plan['sha256'][:12]})")
    return plan, now


def run_audit(
    path: str | Path,
    say: Say = print,
    card: dict[str, Any] | None = None,
    profile: str | None = None,
) -> Report:
    """Run an audit to the end: plan, images, people, model, verdicts, report.

    Serves chapter 20.

    Args:
        path: of the audit file.
        say: takes a sentence for the user after every stage.
        card: of the model that gave the scores of a table, for the report.
        profile: that caps the sizes, see `helpers.audit.sizes.capped`.

    Returns:
        The report; `report.html`, `report.json` and `model_card.md` are written.

    Raises:
        ValueError: a fault in the file, a table or the model's answers, in one sentence; what was
            finished stays.
        NotImplementedError: a generator or people of a kind that this version cannot run.

    Example:
        >>> run_audit("nowhere.yml")
        Traceback (most recent call last):
        ValueError: nowhere.yml: no such audit file; audits/example.yml is one to copy
    """
    specification = _read(path, profile)
    _require_supported(specification)
    plan, now = plan_audit(path, say, profile)
    truth = None
    data: Audited | Pairs
    if specification.kind == "verification":
        data = from_pairs(specification.beside(specification.pairs), specification)
        tables = analyse_pairs(data, now)
    else:
        if specification.images is not None:
            data = from_table(specification.beside(specification.images), specification)
        else:
            data, truth, card = _in_the_world(specification, now, say)
        tables = analyse(data, now)
        if specification.target is not None:
            people = target_population(specification)
            tables["target"] = transported(data.frame, now, people, specification.target.by)
    report = build_report(data, tables, plan, now, truth, card)
    return _written(report, folders(specification)[1], say)


def _read(path: str | Path, profile: str | None) -> Specification:
    specification = read_specification(path)
    return specification if profile is None else capped(specification, profile)


def _written(report: Report, folder: Path, say: Say) -> Report:
    write_json(report, folder / "report.json")
    write_card(report, folder / "model_card.md")
    say(f"report: {write_html(report, folder / 'report.html')}")
    return report


def _plan(specification: Specification) -> dict[str, Any]:
    """The plan by the file as it is now."""
    inputs = [specification.path] if specification.path.is_file() else []
    units = None
    if specification.kind == "verification":
        inputs.append(specification.beside(specification.pairs))
        from_pairs(inputs[-1], specification)
    elif specification.images is not None:
        inputs.append(specification.beside(specification.images))
        # The table is read for its faces alone; its answers do not enter the plan.
        units = from_table(inputs[-1], specification).frame["unit"].nunique()
    if specification.target is not None:
        target_population(specification)  # a fault in it is told before the model is asked
        inputs.append(specification.beside(specification.target.table))
    return make_plan(specification, units, inputs)


def _require_supported(specification: Specification) -> None:
    """Say in one sentence what this version cannot run yet."""
    if specification.kind == "verification" or specification.images is not None:
        return
    generator, people = specification.generator, specification.people
    if not isinstance(generator, KnownTruth):
        raise NotImplementedError(
            f"{specification.path}: generator.kind is {generator.kind}, which this version reads "
            "but cannot run; make the images and the scores yourself and bring a table (images)"
        )
    if not isinstance(people, Simulated):
        raise NotImplementedError(
            f"{specification.path}: people.kind is {people.kind}, which this version reads but "
            "cannot run with the face world; bring a table with the raters' answers (images)"
        )
    if specification.model.kind == "table":
        raise ValueError(
            f"{specification.path}: model.kind is table, but no table is given; name one under "
            "images, or a model of kind onnx, torch, python or http"
        )


def _in_the_world(
    specification: Specification, plan: dict[str, Any], say: Say
) -> tuple[Audited, pd.DataFrame, dict[str, Any]]:
    """Images, people's labels and the model's answers in the face world, and the truth."""
    kept = folders(specification)[0]
    model, size = model_of(specification, kept / "answers"), specification.size
    world = World.of(specification)
    index, parameters = world.faces(plan["sizes"]["units"])
    images = render_faces(parameters, size, kept)
    say(f"faces: {len(index):,} images of {plan['sizes']['units']} faces, {size} pixels wide")
    labelled = simulated_answers(index, parameters, specification)
    say(f"people: {specification.people.raters} simulated raters looked at every image")
    if isinstance(model, black_box.LocalModel):
        black_box.check_model(model, images)
    labelled["score"] = ask(model, images, kept / "answers")
    silent = int(np.isnan(labelled["score"]).sum())
    say(f"model: {len(index) - silent:,} answers, {silent:,} images without one")
    data = judged(labelled, plan["threshold"], True, "the known-truth face world")
    truth = world.truth(
        lambda shown: ask(model, shown, kept / "answers"),
        plan["threshold"],
        specification.generator.base_faces,
        size,
        specification.attribute,
        kept / "truth.npy",
        [*specification.axes],
    )
    say(f"truth: {specification.generator.base_faces} other faces, by intervention")
    return data, truth, model.card()
