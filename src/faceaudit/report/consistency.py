"""Whether the parts of a report agree: a gate trusts no verdict that its own rows contradict.

All that follows from the rows is derived from them once more: verdicts from adjusted p-values,
sentences from numbers, the answer from the rows that are judged, whether the coverage is enough,
and the hash of the plan.
"""

from collections.abc import Iterator

from faceaudit import plans
from faceaudit.checks import find_threshold_doubts
from faceaudit.effects.verdicts import EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE, WITHIN
from faceaudit.report import facts
from faceaudit.report.answer import answer_of
from faceaudit.report.build import comparison_sentence
from faceaudit.report.coverage import is_met
from faceaudit.report.schema import JUDGED_PARTS, Comparison, Report
from faceaudit.utils.files import hash_of_content


def contradictions(report: Report) -> list[str]:
    """What in a report contradicts another part of it.

    Args:
        report: of any kind of audit.

    Returns:
        A sentence for each contradiction; none for a report as it was written.
    """
    return list(_contradictions(report))


def _contradictions(report: Report) -> Iterator[str]:
    judged = len(report.judged)
    # What sentences take from the audit file, as it was at the run.
    first_outcome = facts.first_outcome_of(dict(report))
    plan = {
        "tolerance": report.tolerance,
        "generator": {"kind": report.data.get("made_by")},
        "outcomes": [first_outcome],
    }
    for part in JUDGED_PARTS:
        for row in getattr(report, part):
            if not _follows(row, report):
                yield f"the verdict {row.verdict!r} does not follow from its row: {row.sentence}"
            elif row.sentence != comparison_sentence(row, plan, judged):
                yield f"the sentence does not say what its row has: {row.sentence}"
    derived = answer_of(dict(report), report.tolerance)
    if report.verdict != derived.verdict:
        yield f"the verdict of the audit is {report.verdict!r}, its rows give {derived.verdict!r}"
    elif report.answer != derived.text:
        yield "the answer does not say what the rows have"
    if report.plan.kept == bool(report.plan.departures):
        yield "plan.kept does not agree with the list of departures"
    if report.plan.sha256 != hash_of_content(report.plan.content):
        yield "the plan was changed after it was made: its hash is another one"
    for row in report.coverage:
        if row.met != is_met(row.demand, row.found, row.limit):
            yield f"whether coverage is enough does not follow from its row: {row.sentence}"
    if _threshold_doubts(report) != [
        doubt.sentence for doubt in report.doubts if doubt.name == "thresholds"
    ]:
        yield "the doubts about other thresholds do not follow from their rows"
    if not report.plan.departures:
        yield from _silent_departures(report)


def _threshold_doubts(report: Report) -> list[str]:
    """The doubts about other thresholds that follow from the rows."""
    rows = [*report.effects, *report.averages]
    rows += [row for row in report.gaps if row.family in plans.FAMILIES_OF_ERRORS]
    axes_beyond = {row.axis for row in rows if row.verdict == EXCEEDS}
    doubts = find_threshold_doubts(report.thresholds, axes_beyond, report.threshold, report.level)
    return [sentence for _, sentence in doubts]


def _silent_departures(report: Report) -> Iterator[str]:
    """What a report without departures has otherwise than its plan."""
    planned = report.plan.content
    if report.tolerance != planned["tolerance"]:
        yield "the tolerance is not the planned one, and no departure says so"
    if {row.demand: row.limit for row in report.coverage} != planned["policy"]:
        yield "the demands on coverage are not the planned ones, and no departure says so"
    for doubt in report.doubts:
        if doubt.accepted and doubt.name not in planned["accept"]:
            yield f"the plan does not accept the doubt {doubt.name!r}, and no departure says so"


def _follows(row: Comparison, report: Report) -> bool:
    """Whether the verdict of a comparison is one that its numbers allow."""
    tolerance = facts.tolerance_of_row(row, facts.first_outcome_of(dict(report)), report.tolerance)
    p = row.p_beyond_holm
    if p is None or row.estimate is None:
        return row.verdict == NOT_ESTIMABLE
    if p < report.level:
        return row.verdict == EXCEEDS and abs(row.estimate) > tolerance
    # Two one-sided tests at 5 % are the 90 % interval.
    interval = facts.interval90_of(row)
    is_inside = interval is not None and interval.is_inside(tolerance)
    return row.verdict == (WITHIN if is_inside else INCONCLUSIVE)
