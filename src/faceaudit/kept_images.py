"""Matched images as they are kept beside a report, and the plan by which it was computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from faceaudit.designs.matched import MatchedImages
from faceaudit.effects.survey_weights import WEIGHT
from faceaudit.families import FIRST_LOOK, LOOK, Plan
from faceaudit.frames import require_complete
from faceaudit.outcomes import ERROR, NUMBER, REASONS, outcomes_of, with_outcomes
from faceaudit.report.recomputed import differences_from_rows
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
    report, data = _read(path)
    return _as_result(report, data, path)


def read_verified_audit(path: str | Path) -> AuditResult:
    """Read what an audit of matched images left, and hold its rows against its report.

    The report is computed once more from `images.csv`, as `faceaudit.verify` does, which takes as
    long as the audit took. The words of the report are not compared, since another version of
    faceaudit may word them otherwise. Who changes the rows and then makes the report anew from
    them goes unnoticed.

    Args:
        path: of the `report.json`.

    Returns:
        As `read_audit`.

    Raises:
        InputError: as `read_audit`, or the rows do not give what the report says.
    """
    path = Path(path)
    report, data = _read(path)
    _require_counts(report, data, path)
    plan = plan_of_analysis(report)
    differences = list(differences_from_rows(report, data, plan))
    if differences:
        raise _of_other_rows(path, differences[0], len(differences))
    return _as_result(report, data, path)


def _read(path: Path) -> tuple[Report, MatchedImages]:
    """The report of an audit of matched images, and its images; errors as of `read_audit`."""
    report = read_report(path)
    if report.kind != "classification":
        raise InputError(
            f"{path}: this is a report of {report.kind}, one of matched images was expected",
            field=str(path),
            found=report.kind,
            expected="a report of matched images",
        )
    return report, read_images(path.parent / IMAGES_FILE, report)


def _as_result(report: Report, data: MatchedImages, path: Path) -> AuditResult:
    """What an audit found, of its report at a path and the images beside it."""
    # As it was written, so that it is the same when it is saved again.
    images = pd.read_csv(path.parent / IMAGES_FILE, dtype=str, keep_default_na=False)
    return AuditResult(report, data.frame, images=images)


def _require_counts(report: Report, data: MatchedImages, path: Path) -> None:
    """Raise InputError unless a report has as many images and faces as there are in its rows.

    Without some of its rows, an audit may have nothing to compute from.
    """
    units = data.frame["unit"].nunique()
    for name, told, there in (
        ("images", report.data["images"], len(data.frame)),
        ("faces", report.data["units"], units),
    ):
        if told != there:
            raise _of_other_rows(path, f"the report has {told} {name}, the rows have {there}", 1)


def _of_other_rows(path: Path, difference: str, count: int) -> InputError:
    """The error that the rows beside a report do not give what it says.

    Args:
        path: of the report.
        difference: the first of them, in words.
        count: how many differences there are.
    """
    others = f" (and {count - 1} more)" if count > 1 else ""
    return InputError(
        f"{path}: the rows in {IMAGES_FILE} beside this report do not give what it says: "
        f"{difference}{others}; the report and its rows as the audit wrote them were expected",
        field=str(path),
        found=difference,
        expected="the report and its rows as the audit wrote them",
    )


def read_images(table: Path, report: Report) -> MatchedImages:
    """Read the matched images beside a report.

    Args:
        table: the path of `images.csv`.
        report: of these images.

    Returns:
        The images, with their answers.

    Raises:
        InputError: the table is missing, has other columns, a cell that is wrong, or an image
            twice, or contradicts itself.
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
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        raise InputError(
            f"{table}: this is no table: {error}", field=str(table), expected="a table of images"
        ) from None
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
    if report.monitored is not None:
        columns.append(LOOK)
    missing = [name for name in columns if name not in rows]
    if missing:
        raise missing_in_table(str(table), missing, ", ".join(rows))
    frame = rows[["image_id", "unit", *reasons]].copy()
    # Python reads a number as it was written, to the last digit.
    numbers = [*answered, WEIGHT] if WEIGHT in rows else answered
    for name in numbers:
        frame[name] = _numbers(rows, name, table)
    for name in [*placebos, LOOK] if LOOK in rows else placebos:
        frame[name] = _whole_numbers(rows, name, table)
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
    _require_each_image_once(frame, report.plan.content, table)
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
    error = _numbers(rows, "error", table)
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


def _require_each_image_once(frame: pd.DataFrame, plan: Plan, table: Path) -> None:
    """Raise InputError where an image is there twice, or no unit has a combination of levels.

    Args:
        frame: image_id, unit, and the levels of axes and placebos.
        plan: with the names of the levels.
        table: that the images were read from.
    """
    again = frame["image_id"].duplicated()
    if again.any():
        name = frame["image_id"][again].iloc[0]
        raise InputError(
            f"{table}: image {name!r} is there twice; each image once was expected",
            field="image_id",
            found=name,
            expected="each image once",
        )
    # As a spreadsheet counts its rows.
    in_rows = frame.set_axis(range(2, 2 + len(frame)))
    require_complete(in_rows, {**plan["axes"], **plan["placebos"]}, "pairs", str(table))


def _numbers(rows: pd.DataFrame, name: str, table: Path) -> pd.Series:
    """The numbers in a column of a table, NaN where a cell is empty; InputError if one is none."""
    return _converted(rows[name].replace("", "nan"), float, "a number", table)


def _whole_numbers(rows: pd.DataFrame, name: str, table: Path) -> pd.Series:
    """The whole numbers in a column of a table; InputError if a cell has none."""
    return _converted(rows[name], int, "a whole number", table)


def _converted(
    cells: pd.Series, of_text: type[int] | type[float], expected: str, table: Path
) -> pd.Series:
    """Cells with texts as numbers of a kind.

    Args:
        cells: named as their column.
        of_text: makes a number of a text.
        expected: what such a number is, in words.
        table: with the cells.

    Raises:
        InputError: a cell has no such number.
    """
    try:
        return cells.astype(of_text)
    except ValueError:
        value = next(cell for cell in cells if not _is_number(cell, of_text))
        raise InputError(
            f"{table}: column {cells.name!r} has {value!r}, {expected} was expected",
            field=str(cells.name),
            found=value,
            expected=expected,
        ) from None


def _is_number(text: str, of_text: type[int] | type[float]) -> bool:
    """Whether a text is a number of a kind."""
    try:
        of_text(text)
    except ValueError:
        return False
    return True


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
