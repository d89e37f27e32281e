"""Whether the parts of a report agree: a gate trusts no verdict that its own rows contradict.

All that follows from the rows is derived from them once more: verdicts from adjusted p-values,
sentences from numbers, the answer from the rows that are judged, whether the coverage is enough,
and the hash of the plan.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from faceaudit import families
from faceaudit.checks import find_threshold_doubts
from faceaudit.effects.verdicts import EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE, WITHIN
from faceaudit.report import facts
from faceaudit.report.answer import answer_of
from faceaudit.report.build import comparison_sentence
from faceaudit.report.coverage import is_met, worst_case_sentence
from faceaudit.report.schema import (
    ADJUSTED_COLUMNS,
    PARTS_OF_MODELS,
    Comparison,
    Effect,
    ModelEffect,
    ModelsReport,
    Report,
    WorstCase,
)
from faceaudit.utils.files import hash_of_content


def contradictions(report: Report) -> list[str]:
    """What in a report contradicts another part of it.

    Args:
        report: of any kind of audit.

    Returns:
        A sentence for each contradiction; none for a report as it was written.
    """
    return list(_contradictions(report))


def contradictions_of_models(several: ModelsReport, reports: Mapping[str, Report]) -> list[str]:
    """What in a report of several models contradicts another part of it, or the single reports.

    Args:
        several: the report of all models.
        reports: name of a model → its own report.

    Returns:
        A sentence for each contradiction; none for a report as it was written.
    """
    return list(_contradictions_of_models(several, reports))


def _contradictions_of_models(
    several: ModelsReport, reports: Mapping[str, Report]
) -> Iterator[str]:
    judged = len(several.judged)
    for model in several.models:
        report = reports[model.name]
        if model.verdict_alone != report.verdict:
            yield f"the verdict of {model.name} alone is not that of its own report"
        rows_of_model = [row for row in several.judged if row.model == model.name]
        if model.verdict != facts.overall_verdict(rows_of_model):
            yield f"the verdict of {model.name} is not what its rows give"
        own_rows = [row for part in PARTS_OF_MODELS for row in getattr(report, part)]
        if [_unadjusted(row) for row in rows_of_model] != [_unadjusted(row) for row in own_rows]:
            yield f"the comparisons of {model.name} are not those of its own report"
            continue
        for row, own in zip(rows_of_model, own_rows, strict=True):
            if row.verdict_alone != own.verdict:
                yield f"the verdict alone is not that of the report of {model.name}: {row.sentence}"
        for row in rows_of_model:
            yield from _contradictions_of_row(row, report, judged)


def _unadjusted(row: Effect) -> dict[str, Any]:
    """A comparison without what depends on the number of models."""
    of_models = ModelEffect.model_fields.keys() - Effect.model_fields.keys()
    return row.model_dump(exclude={*ADJUSTED_COLUMNS, "sentence", *of_models})


def _contradictions_of_row(row: Comparison, report: Report, judged: int) -> Iterator[str]:
    """What in a comparison contradicts the rest of it.

    Args:
        row: the comparison.
        report: whose tolerance and level it was judged by.
        judged: how many comparisons are judged together.
    """
    # What sentences take from the audit file, as it was at the run.
    plan = {
        "tolerance": report.tolerance,
        "generator": {"kind": report.data.get("made_by")},
        "outcomes": [facts.first_outcome_of(dict(report))],
    }
    tolerance = facts.tolerance_of_row(row, facts.first_outcome_of(dict(report)), report.tolerance)
    if not _follows(row, tolerance, report.level):
        yield f"the verdict {row.verdict!r} does not follow from its row: {row.sentence}"
    elif row.sentence != comparison_sentence(row, plan, judged):
        yield f"the sentence does not say what its row has: {row.sentence}"


def _contradictions(report: Report) -> Iterator[str]:
    for row in report.judged:
        yield from _contradictions_of_row(row, report, len(report.judged))
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
    for row in report.worst_cases:
        if not _follows(row, report.tolerance, report.level):
            yield f"the verdict {row.verdict!r} does not follow from its row: {row.sentence}"
        elif row.sentence != worst_case_sentence(row):
            yield f"the sentence does not say what its row has: {row.sentence}"
    if _threshold_doubts(report) != [
        doubt.sentence for doubt in report.doubts if doubt.name == "thresholds"
    ]:
        yield "the doubts about other thresholds do not follow from their rows"
    if not report.plan.departures:
        yield from _silent_departures(report)


def _threshold_doubts(report: Report) -> list[str]:
    """The doubts about other thresholds that follow from the rows."""
    rows = [*report.effects, *report.averages]
    rows += [row for row in report.gaps if row.family in families.FAMILIES_OF_ERRORS]
    axes_beyond = {row.axis for row in rows if row.verdict == EXCEEDS}
    doubts = find_threshold_doubts(report.thresholds, axes_beyond, report.threshold, report.level)
    return [sentence for _, sentence in doubts]


def _silent_departures(report: Report) -> Iterator[str]:
    """What a report without departures has otherwise than its plan."""
    planned = report.plan.content
    if report.tolerance != planned["tolerance"]:
        yield "the tolerance is not the planned one, and no departure says so"
    policy = dict(planned["policy"])
    if policy.pop("monitor", False) != (report.monitored is not None):
        yield "whether the gate is monitored is not as planned, and no departure says so"
    if {row.demand: row.limit for row in report.coverage} != policy:
        yield "the demands on coverage are not the planned ones, and no departure says so"
    for doubt in report.doubts:
        if doubt.accepted and doubt.name not in planned["accept"]:
            yield f"the plan does not accept the doubt {doubt.name!r}, and no departure says so"


def _follows(row: Comparison | WorstCase, tolerance: float, level: float) -> bool:
    """Whether the verdict of a comparison is one that its numbers allow."""
    p = row.p_beyond_holm
    if p is None or row.estimate is None:
        return row.verdict == NOT_ESTIMABLE
    if p < level:
        return row.verdict == EXCEEDS and abs(row.estimate) > tolerance
    # Two one-sided tests at 5% are the 90% interval.
    interval = facts.interval90_of(row)
    is_inside = interval is not None and interval.is_inside(tolerance)
    return row.verdict == (WITHIN if is_inside else INCONCLUSIVE)
