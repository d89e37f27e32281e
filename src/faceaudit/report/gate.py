"""The gate: whether a model may pass, as an exit code."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from faceaudit import words
from faceaudit.effects.verdicts import EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE
from faceaudit.report import facts
from faceaudit.report.consistency import contradictions, contradictions_of_models
from faceaudit.report.coverage import coverage_sentences
from faceaudit.report.schema import (
    Comparison,
    ModelsReport,
    Report,
    is_of_models,
    read_models_report,
    read_report,
)
from faceaudit.utils.errors import InputError

# Exit codes of the gate.
PASSED = 0
FAILED = 1
UNDECIDED = 2
BROKEN = 3  # A run or a report is missing or damaged.
SEVERITY = (PASSED, UNDECIDED, FAILED, BROKEN)
"""Exit codes from the one that lets a model pass to the one that says least of it."""
STATES = (EXCEEDS, INCONCLUSIVE)
"""Verdicts on which alone a gate may be told to fail."""
UNDECIDED_VERDICTS = (INCONCLUSIVE, NOT_ESTIMABLE)


def gate(
    report: Report | str | Path, fail_on: str | None = None, allow_departures: bool = False
) -> tuple[int, list[str]]:
    """Whether a model may pass: a report in, an exit code out.

    Args:
        report: the report, or the path of its `report.json`; of several models in one report, the
            path alone, and the worst of them decides.
        fail_on: by default the gate asks for a decision: every average over all faces must be
            decided, the coverage must be that of the audit file's policy, and no average may be
            beyond the tolerance only because missing answers count as errors. "inconclusive": every
            comparison in a cell must be decided as well. "exceeds": only a comparison beyond the
            tolerance stands in the way, however little is known.
        allow_departures: whether a model may pass though the plan was not kept.

    Returns:
        The exit code, and a line for each thing that stands in the way, or that the model passed.
        0: passed; 1: a comparison of any judged family is beyond the tolerance, the analysis
        departed from the plan, or there is a doubt that the audit file does not accept; 2: none of
        this, but too little is known; 3: the report is missing or damaged, or its parts contradict
        each other.

    Raises:
        InputError: another word in `fail_on`.

    Example:
        >>> from faceaudit import gate
        >>> gate("nowhere/report.json")
        (3, ['nowhere/report.json: no such report'])
    """
    _require_state(fail_on)
    try:
        if not isinstance(report, Report) and is_of_models(report):
            return gate_of_models(*read_models_report(report), fail_on, allow_departures)
        report = report if isinstance(report, Report) else read_report(report)
    except ValueError as error:
        return BROKEN, [str(error)]
    if not report.judged:
        return BROKEN, [f"{report.name}: the report has no comparison to judge"]
    contradicted = contradictions(report)
    if contradicted:
        return BROKEN, [f"{report.name}: {line}" for line in contradicted]
    beyond = facts.with_verdict(report.judged, EXCEEDS)
    unknown = [] if fail_on == EXCEEDS else _too_little_known(report, fail_on == INCONCLUSIVE)
    lines = [f"{row.verdict}: {row.sentence}" for row in beyond]
    lines += unknown
    lines += warnings_of(report, allow_departures)
    departed = bool(report.plan.departures) and not allow_departures
    if beyond or departed or not all(doubt.accepted for doubt in report.doubts):
        return FAILED, lines
    if unknown:
        return UNDECIDED, lines
    return PASSED, [*lines, _passed(report)]


def _require_state(fail_on: str | None) -> None:
    if fail_on is not None and fail_on not in STATES:
        expected = f"one of {', '.join(map(repr, STATES))} or None"
        raise InputError(
            f"fail_on is {fail_on!r}, {expected} was expected",
            field="fail_on",
            found=fail_on,
            expected=expected,
        )


def gate_of_models(
    several: ModelsReport,
    reports: Mapping[str, Report],
    fail_on: str | None = None,
    allow_departures: bool = False,
) -> tuple[int, list[str]]:
    """Whether all models of one report may pass: the worst of them decides, by its own report.

    Args:
        several: the report of all models.
        reports: name of a model → its own report.
        fail_on, allow_departures: as of `gate`, for each model.

    Returns:
        The exit code, and the lines of `gate` for each model behind its name. 3 as well where the
        report of all models contradicts itself or those of the single ones.

    Raises:
        InputError: another word in `fail_on`.
    """
    _require_state(fail_on)
    contradicted = contradictions_of_models(several, reports)
    if contradicted:
        return BROKEN, [f"{several.name}: {line}" for line in contradicted]
    worst = PASSED
    lines = []
    for model in several.models:
        code, lines_of_model = gate(reports[model.name], fail_on, allow_departures)
        worst = max(worst, code, key=SEVERITY.index)
        lines += [f"{model.name}: {line}" for line in lines_of_model]
    return worst, lines


def _too_little_known(report: Report, every_comparison: bool) -> list[str]:
    """A line for each thing that is not known well enough.

    Args:
        report: that is judged.
        every_comparison: whether all comparisons must be decided; else all averages must.
    """
    lines = coverage_warnings(report)
    if every_comparison:
        undecided = [row for row in report.judged if row.verdict in UNDECIDED_VERDICTS]
    else:
        undecided = _undecided_averages(report)
    return lines + [f"{row.verdict}: {row.sentence}" for row in undecided]


def _undecided_averages(report: Report) -> list[Comparison]:
    """The comparisons over all faces or portraits that are not decided.

    One that is decided says little of another axis, level or outcome. Those of what is missing are
    asked for as well, if there are any. A further outcome that cannot be estimated, such as false
    positives where an axis moves the label, does not stand in the way: the coverage already asks
    for answers in every cell.
    """
    parts = dict(report)
    # A recogniser is compared between groups, and over all of them there is nothing to compare.
    averages = facts.averages(parts) or report.disparities
    further = facts.of_further_outcomes(report.judged, facts.first_outcome_of(parts))
    undecided = [row for row in averages if row.verdict in UNDECIDED_VERDICTS]
    of_missing = [row for row in report.judged if facts.is_of_missing(row)]
    return undecided + facts.with_verdict([*further, *of_missing], INCONCLUSIVE)


def _passed(report: Report) -> str:
    """The line of a model that passed, with the number of comparisons that are undecided."""
    counts = Counter(row.verdict for row in report.judged)
    undecided = words.render_sentences("undecided", counts, len(report.judged))
    return f"passed ({undecided[0]})" if undecided else "passed"


def coverage_warnings(report: Report) -> list[str]:
    """A line for each demand of the coverage policy that is not met."""
    return [f"coverage: {sentence}" for sentence in coverage_sentences(report, met=False)]


def warnings_of(report: Report, allow_departures: bool = False) -> list[str]:
    """A line for each doubt, for each departure from the plan, and for each plan it replaced.

    Args:
        report: with doubts, departures and the plan.
        allow_departures: whether the lines say that departures are allowed.

    Returns:
        The lines; none without doubts, departures and replaced plans.
    """
    plan = report.plan
    return words.render_sentences(
        "warnings", report.doubts, plan.departures, allow_departures, plan.replaced
    )
