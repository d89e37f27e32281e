"""Matched images as they are kept beside a report, and the plan by which it was computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from faceaudit.designs.matched import MatchedImages
from faceaudit.effects.survey_weights import WEIGHT
from faceaudit.families import FIRST_LOOK, LOOK, Plan
from faceaudit.outcomes import ERROR, NUMBER, REASONS, outcomes_of, with_outcomes
from faceaudit.report.schema import Report, read_report
from faceaudit.results import IMAGES_FILE, AuditResult
from faceaudit.utils.errors import InputError, missing_in_table


def read_audit(path: str | Path) -> AuditResult:
    """Read what an audit of matched images left: `report.json`, and `images.csv` beside it.

    Args:
        path: of the `report.json`.

    Returns:
        What the audit found; the contact sheet stays in the page of that audit alone.

    Raises:
        InputError: a file is missing or damaged, or the report is not of matched images.
    """
    path = Path(path)
    report = read_report(path)
    if report.kind != "classification":
        raise InputError(
            f"{path}: this is a report of {report.kind}, one of matched images was expected",
            field=str(path),
            found=report.kind,
            expected="a report of matched images",
        )
    table = path.parent / IMAGES_FILE
    data = read_images(table, report)
    # As it was written, so that it is the same when it is saved again.
    images = pd.read_csv(table, dtype=str, keep_default_na=False)
    return AuditResult(report, data.frame, images=images)


def read_images(table: Path, report: Report) -> MatchedImages:
    """Read the matched images beside a report.

    Args:
        table: the path of `images.csv`.
        report: of these images.

    Returns:
        The images, with their answers.

    Raises:
        InputError: the table is missing, has other columns, or contradicts itself.
    """
    if not table.is_file():
        raise InputError(
            f"{table}: the rows of the report are not there; run the audit again to have them",
            field=str(table),
            expected="the table of images beside the report",
        )
    try:
        rows = pd.read_csv(table, dtype=str, keep_default_na=False)
    except pd.errors.EmptyDataError:
        rows = pd.DataFrame()
    if rows.empty:
        raise InputError(f"{table}: the table has no rows", field=str(table), expected="rows")
    axes = report.plan.content["axes"]
    placebos = [f"{placebo}_level" for placebo in report.plan.content["placebos"]]
    outcomes = outcomes_of(report.plan.content)
    counts_errors = outcomes[0] == ERROR
    # A table of errors alone has neither labels nor scores.
    answered = [name for name in ("label", "score", NUMBER) if name in rows]
    known = ["error"] if counts_errors else []
    has_reasons = not REASONS.keys().isdisjoint(outcomes)
    reasons = ["reason"] if has_reasons else []
    columns = ["image_id", "unit", *known, *axes, "no_answer", *answered, *reasons, *placebos]
    missing = [name for name in columns if name not in rows]
    if missing:
        raise missing_in_table(str(table), missing, ", ".join(rows))
    frame = rows[["image_id", "unit", *reasons]].copy()
    # Python reads a number as it was written, to the last digit.
    numbers = [*answered, WEIGHT] if WEIGHT in rows else answered
    for name in numbers:
        frame[name] = rows[name].replace("", "nan").astype(float)
    for name in [*placebos, LOOK] if LOOK in rows else placebos:
        frame[name] = rows[name].astype(int)
    for axis, names in axes.items():
        levels = rows[axis].map({name: level for level, name in enumerate(names)})
        unknown = levels.isna()
        if unknown.any():
            value = rows[axis][unknown].iloc[0]
            raise InputError(
                f"{table}: column {axis!r} has {value!r}, one of {', '.join(names)} was expected",
                field=axis,
                found=value,
                expected=f"one of {', '.join(names)}",
            )
        frame[f"{axis}_level"] = levels.astype(int)
    source = str(report.data["source"])
    scored = bool(report.thresholds)
    classes = len(report.plan.content["classes"])
    if outcomes == [NUMBER]:
        frame = frame.assign(no_answer=frame[NUMBER].isna().astype(float))
        return MatchedImages(frame, False, source)
    if not counts_errors:
        return MatchedImages(
            with_outcomes(frame, outcomes, report.threshold, classes), scored, source
        )
    error = rows["error"].replace("", "nan").astype(float)
    if not answered:
        frame = frame.assign(error=error, no_answer=error.isna().astype(float))
        for name in outcomes[1:]:
            frame[name] = (frame["reason"] == REASONS[name]).astype(float)
        return MatchedImages(frame, False, source)
    data = MatchedImages(with_outcomes(frame, outcomes, report.threshold, classes), scored, source)
    other = data.frame["error"].fillna(-1) != error.fillna(-1)
    if other.any():
        image = rows["image_id"][other].iloc[0]
        raise InputError(
            f"{table}: the error of the image {image} does not follow from its score and its label "
            f"({other.sum()} such images)",
            field="error",
            found=image,
            expected="an error where score and label differ",
        )
    return data


def plan_of_analysis(report: Report) -> Plan:
    """The plan of a report, with what the report says that it was computed by.

    Where these differ from the plan, the report lists departures, or contradicts itself.

    Args:
        report: of any kind of audit.
    """
    plan = dict(report.plan.content)
    plan["tolerance"] = report.tolerance
    plan["level"] = report.level
    policy: dict[str, Any] = {row.demand: row.limit for row in report.coverage}
    policy["faces"] = int(policy["faces"])
    plan["policy"] = policy
    if report.monitored is not None:
        plan["policy"]["monitor"] = True
        plan["monitored"] = report.monitored.model_dump(include=set(FIRST_LOOK))
    if not plan.get("fmr"):
        plan["threshold"] = report.threshold
    if report.kind == "classification":
        # The table has no answers about other attributes.
        plan |= {"annotated": [], "attribute": None}
    return plan
