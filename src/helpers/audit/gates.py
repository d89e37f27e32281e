"""Gates for continuous integration: a report in, an exit code out.

Serves chapter 20.
"""

from __future__ import annotations

from pathlib import Path

from helpers.audit.report_json import read_json
from helpers.audit.report_schema import Report

PASSED, FAILED, UNDECIDED = 0, 1, 2
"""Exit codes; 2 stands for a damaged report as well, of which nothing is known either."""
STATES = ("exceeds", "inconclusive")


def gate(report: Report | str | Path, fail_on: str = "exceeds") -> tuple[int, list[str]]:
    """Whether a model may pass.

    Introduced in chapter 20.

    Args:
        report: or the path of its `report.json`.
        fail_on: "exceeds": fail where a comparison is beyond the tolerance; "inconclusive": where
            one is, or is not known to be within.

    Returns:
        The exit code and a line per comparison that stands in the way. 0: passed; 1: some are
        beyond the tolerance; 2: the report is missing or damaged, or, with "inconclusive", none is
        beyond but some are undecided or not estimable.

    Raises:
        ValueError: another word in `fail_on`.

    Example:
        >>> from helpers.audit.gates import gate
        >>> gate("nowhere/report.json")
        (2, ['nowhere/report.json: no such report'])
    """
    if fail_on not in STATES:
        raise ValueError(f"fail-on is {fail_on!r}, one of {', '.join(STATES)} was expected")
    if not isinstance(report, Report):
        try:
            report = read_json(report)
        except ValueError as error:
            return UNDECIDED, [str(error)]
    if not report.judged:
        return UNDECIDED, [f"{report.name}: the report has no comparison to judge"]
    beyond = [row for row in report.judged if row.verdict == "exceeds"]
    open_ones = [row for row in report.judged if row.verdict in ("inconclusive", "not estimable")]
    if fail_on == "exceeds":
        open_ones = []
    lines = [f"{row.verdict}: {row.sentence}" for row in [*beyond, *open_ones]]
    return (FAILED if beyond else UNDECIDED if open_ones else PASSED), lines
