"""The gate: whether a model may pass, as an exit code."""

from collections import Counter
from pathlib import Path

from faceaudit import words
from faceaudit.report.schema import Report, read_report

PASSED, FAILED, UNDECIDED, BROKEN = 0, 1, 2, 3
"""Exit codes of the gate; the last where a run or a report is none."""
STATES = ("exceeds", "inconclusive")
"""Verdicts on which a gate may be told to fail."""


def gate(
    report: Report | str | Path, fail_on: str = "exceeds", allow_departures: bool = False
) -> tuple[int, list[str]]:
    """Whether a model may pass: a report in, an exit code out.

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
        >>> from faceaudit import gate
        >>> gate("nowhere/report.json")
        (3, ['nowhere/report.json: no such report'])
    """
    if fail_on not in STATES:
        raise ValueError(f"fail-on is {fail_on!r}, one of {', '.join(STATES)} was expected")
    try:
        report = report if isinstance(report, Report) else read_report(report)
    except ValueError as error:
        return BROKEN, [str(error)]
    judged, asked = report.judged, fail_on == "inconclusive"
    if not judged:
        return BROKEN, [f"{report.name}: the report has no comparison to judge"]
    beyond = [f"exceeds: {row.sentence}" for row in judged if row.verdict == "exceeds"]
    undecided = [row for row in judged if row.verdict in ("inconclusive", "not estimable")]
    lines = beyond + [f"{row.verdict}: {row.sentence}" for row in undecided if asked]
    lines += warnings_of(report, allow_departures)
    doubted = any(not one.accepted for one in report.doubts)
    if beyond or doubted or (report.plan.departures and not allow_departures):
        return FAILED, lines
    if asked and undecided:
        return UNDECIDED, lines
    told = words.render_sentences(
        "undecided", Counter(row.verdict for row in undecided), len(judged)
    )
    return PASSED, [*lines, f"passed ({told[0]})" if told else "passed"]


def warnings_of(report: Report, allow_departures: bool = False) -> list[str]:
    """A line for each doubt, and for each departure from the plan."""
    return words.render_sentences(
        "warnings", report.doubts, report.plan.departures, allow_departures
    )
