"""Gates for continuous integration: a report in, an exit code out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from faceaudit import words
from faceaudit.report_json import read_json
from faceaudit.report_schema import Report

PASSED, FAILED, UNDECIDED, BROKEN = 0, 1, 2, 3
"""Exit codes; the last where a run or a report is none."""
STATES = ("exceeds", "inconclusive")


def gate(
    report: Report | str | Path, fail_on: str = "exceeds", allow_departures: bool = False
) -> tuple[int, list[str]]:
    """Whether a model may pass.

    Args:
        report: or the path of its `report.json`.
        fail_on: "exceeds": fail where a comparison is beyond the tolerance; "inconclusive": where
            one is, or is not known to be within.
        allow_departures: whether a model may pass though the plan was not kept.

    Returns:
        The exit code, and a line for each thing that stands in the way, or that the model passed.
        0: passed; 1: a comparison of any judged family is beyond the tolerance, the analysis
        departed from the plan, or there is a doubt that the audit file does not accept; 2: with
        "inconclusive", none of this, but some comparisons are undecided or not estimable; 3: the
        report is missing or damaged.

    Raises:
        ValueError: another word in `fail_on`.

    Example:
        >>> from faceaudit.gates import gate
        >>> gate("nowhere/report.json")
        (3, ['nowhere/report.json: no such report'])
    """
    if fail_on not in STATES:
        raise ValueError(f"fail-on is {fail_on!r}, one of {', '.join(STATES)} was expected")
    if not isinstance(report, Report):
        try:
            report = read_json(report)
        except ValueError as error:
            return BROKEN, [str(error)]
    judged = report.judged
    if not judged:
        return BROKEN, [f"{report.name}: the report has no comparison to judge"]
    beyond = [f"exceeds: {row.sentence}" for row in judged if row.verdict == "exceeds"]
    undecided = [row for row in judged if row.verdict in ("inconclusive", "not estimable")]
    doubts, departures = warnings_of(report, allow_departures)
    asked = fail_on == "inconclusive"
    lines = beyond + [f"{row.verdict}: {row.sentence}" for row in undecided if asked]
    lines += doubts + departures
    doubted = any(not one.accepted for one in report.doubts)
    if beyond or doubted or (departures and not allow_departures):
        return FAILED, lines
    if asked and undecided:
        return UNDECIDED, lines
    told = words.undecided(Counter(row.verdict for row in undecided), len(judged))
    return PASSED, [*lines, f"passed ({told})" if told else "passed"]


def warnings_of(report: Report, allow_departures: bool = False) -> tuple[list[str], list[str]]:
    """A line for each doubt, and for each departure from the plan.

    Args:
        report: of an audit.
        allow_departures: as of `gate`.

    Returns:
        Both.

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> warnings_of(faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan))
        ([], [])
    """
    doubts = [
        f"doubt{' (accepted)' if one.accepted else ''}, {one.name}: {one.sentence}"
        for one in report.doubts
    ]
    allowed = " (allowed)" if allow_departures else ""
    return doubts, [f"departure{allowed}: {one}" for one in report.plan.departures]
