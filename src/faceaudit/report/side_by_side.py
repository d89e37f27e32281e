"""`report.html` of several models, one file that needs no other but the reports of the single ones.

Its order is that of its readers: the answer for every model, their average effects in a figure and
a table, the differences between models, what each model is, and limits. All else is in the part
"Details". The words stand in `templates`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from faceaudit import words
from faceaudit.effects.verdicts import EXCEEDS
from faceaudit.outcomes import MISSING, NUMBER, TITLES, tolerance_of
from faceaudit.report import facts
from faceaudit.report.coverage import coverage_sentences
from faceaudit.report.gate import (
    BROKEN,
    FAILED,
    PASSED,
    SEVERITY,
    UNDECIDED,
    gate,
    warnings_of,
)
from faceaudit.report.page import DEPARTURES_AT_TOP, LIMITS_AT_TOP
from faceaudit.report.schema import (
    AuditedModel,
    ModelDifference,
    ModelEffect,
    ModelsReport,
    Report,
    Verdict,
)
from faceaudit.utils.files import write_text
from faceaudit.utils.formatting import capital, spaced, tolerated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Reports = Mapping[str, Report]
"""Name of a model → its own report."""
GATES = {PASSED: "passes", UNDECIDED: "undecided", FAILED: "fails", BROKEN: "contradicts itself"}
"""Exit code of a model's gate → what the page says."""
DIFFERENCES_AT_TOP = 8
"""Differences between models that the page lists before its details."""


# --- the answer


@dataclass(frozen=True)
class ModelAnswer:
    """What the report of several models answers for one of them.

    Attributes:
        name: of the model.
        verdict: of all its comparisons, adjusted over all models.
        sentences: its averages; what is missing beyond the tolerance; how many of its other
            comparisons have which verdict; and what is beyond the tolerance in its own report
            alone.
        gate: what the gate of its own report says, of `GATES`.
        warnings: its doubts, departures from its plan, and coverage that is too small.
        is_in_doubt: whether there is a doubt that its authors do not accept.
    """

    name: str
    verdict: Verdict
    sentences: list[str]
    gate: str
    warnings: list[str]
    is_in_doubt: bool


def answers_of_models(several: ModelsReport, reports: Reports) -> list[ModelAnswer]:
    """The answer for each model.

    Args:
        several: the report of all models.
        reports: their own.

    Returns:
        A row for each, in the order of the report.
    """
    return [_answer_of(model, several, reports[model.name]) for model in several.models]


@dataclass(frozen=True)
class AverageAnswer:
    """An effect over all faces in the answer for a model.

    Attributes:
        row: the comparison.
        levels: that it compares.
        several: whether its axis has other contrasts.
    """

    row: ModelEffect
    levels: facts.ContrastLevels
    several: bool


def _answer_of(model: AuditedModel, several: ModelsReport, report: Report) -> ModelAnswer:
    rows = [row for row in several.judged if row.model == model.name]
    uncovered = coverage_sentences(report, met=False)
    code, _ = gate(report)
    return ModelAnswer(
        name=model.name,
        verdict=model.verdict,
        sentences=_sentences_of(model, several, report, rows),
        gate=GATES[code],
        warnings=[*warnings_of(report), *uncovered],
        is_in_doubt=any(not doubt.accepted for doubt in report.doubts),
    )


def _sentences_of(
    model: AuditedModel, several: ModelsReport, report: Report, rows: Sequence[ModelEffect]
) -> list[str]:
    """The averages of a model, its other comparisons, and what is beyond in its own report."""
    several_contrasts = facts.axes_with_several_contrasts(report)

    def item(row: ModelEffect) -> AverageAnswer:
        return AverageAnswer(row, facts.levels_of(row.contrast), row.axis in several_contrasts)

    def place(row: ModelEffect) -> str:
        """Where a comparison is, with its levels where its axis has more than two."""
        named = f"{row.contrast}, " if row.axis in several_contrasts else ""
        return named + _place(row, model)

    averages = [row for row in several.over_all_faces if row.model == model.name]
    limit = tolerated(model.tolerance, model.outcome == NUMBER)
    title = TITLES[model.outcome]
    sentences = words.render_sentences("answer_of_model", title, limit, list(map(item, averages)))
    missing = [row for row in rows if row.outcome == MISSING and row.verdict == EXCEEDS]
    if missing:
        limit = tolerated(tolerance_of(MISSING, model.outcome, model.tolerance))
        items = list(map(item, missing))
        sentences += words.render_sentences("answer_of_model", TITLES[MISSING], limit, items)
    listed = [*averages, *missing]
    others = [row for row in rows if not any(row is one for one in listed)]
    if others:
        largest = facts.largest(facts.in_one_unit(facts.with_verdict(others, EXCEEDS)))
        where = None if largest is None else f"{spaced(largest.axis)}, {place(largest)}"
        counts = facts.verdict_counts(others)
        sentences += words.render_sentences("others", counts, largest, where)
    alone = [
        f"{spaced(row.axis)} ({place(row)})"
        for row in rows
        if row.verdict_alone == EXCEEDS and row.verdict != EXCEEDS
    ]
    return sentences + words.render_sentences("beyond_alone", alone)


def _place(row: ModelEffect, model: AuditedModel) -> str:
    return facts.place_of(row, model.outcome)


def _gates_in_words(answers: Sequence[ModelAnswer]) -> dict[str, list[str]]:
    """What gates say, the most severe first → names of the models."""
    names: dict[str, list[str]] = {}
    for code in reversed(SEVERITY):
        models = [answer.name for answer in answers if answer.gate == GATES[code]]
        if models:
            names[GATES[code]] = models
    return names


@dataclass(frozen=True)
class SharedSentence:
    """What the page says of some models alike.

    Attributes:
        models: their names.
        sentence: the same of all of them.
        of_all: whether they are all models of the report.
        accepted: of a doubt, whether the authors of the audits accept it.
    """

    models: list[str]
    sentence: str
    of_all: bool
    accepted: bool = False


def _shared(
    sentences: Iterable[tuple[str, str]], reports: Reports, accepted: bool = False
) -> list[SharedSentence]:
    """Sentences by the models that they are about.

    Args:
        sentences: name of a model and a sentence about it.
        reports: of all models.
        accepted: whether the sentences are doubts that are accepted.
    """
    models: dict[str, list[str]] = {}
    for model, sentence in sentences:
        models.setdefault(sentence, []).append(model)
    return [
        SharedSentence(names, sentence, len(names) == len(reports), accepted)
        for sentence, names in models.items()
    ]


def _doubts(reports: Reports) -> list[SharedSentence]:
    """The doubts about models, first those that are not accepted."""
    shared = []
    for accepted in (False, True):
        sentences = [
            (model, doubt.sentence)
            for model, report in reports.items()
            for doubt in report.doubts
            if doubt.accepted == accepted
        ]
        shared += _shared(sentences, reports, accepted)
    return shared


def _least_covered(reports: Reports) -> list[SharedSentence]:
    """The smallest cell and the largest share without an answer, of models that have enough."""
    sentences: dict[str, list[str]] = {}
    for demand, least in (("faces", min), ("unanswered", max)):
        rows = {
            model: row
            for model, report in reports.items()
            for row in report.coverage
            if row.demand == demand and row.met
        }
        edge = least((row.found for row in rows.values()), default=None)
        for model, row in rows.items():
            if row.found == edge:
                sentences.setdefault(model, []).append(row.sentence)
    return _shared(((model, " ".join(told)) for model, told in sentences.items()), reports)


def _warned_values(reports: Reports) -> dict[str, list[SharedSentence]]:
    """What the first box says besides the answers, by the names in the template."""
    plans = {model: report.plan for model, report in reports.items()}
    return {
        "doubts": _doubts(reports),
        "uncovered": _shared(
            (
                (model, sentence)
                for model, report in reports.items()
                for sentence in coverage_sentences(report, met=False)
            ),
            reports,
        ),
        "departures": _shared(
            (
                (model, departure)
                for model, plan in plans.items()
                for departure in plan.departures[:DEPARTURES_AT_TOP]
            ),
            reports,
        ),
        "replaced_plans": _shared(
            (
                (model, sentence)
                for model, plan in plans.items()
                for sentence in words.render_sentences("replaced_plans", plan.replaced)
            ),
            reports,
        ),
        "least_covered": _least_covered(reports),
    }


# --- comparisons that have one unit and one tolerance


@dataclass(frozen=True)
class ModelGroup:
    """The comparisons of several models of one thing: an axis with its levels, and a place."""

    heading: str
    rows: list[ModelEffect]


@dataclass(frozen=True)
class ModelPanel:
    """Comparisons that have one unit and one tolerance.

    Attributes:
        outcome: that is compared.
        title: its mean over images, in words.
        tolerance: largest effect that does not matter.
        limit: the tolerance in words.
        averages: comparisons over all faces.
        outcomes: those of further outcomes.
        cells: comparisons in cells.
    """

    outcome: str
    title: str
    tolerance: float
    limit: str
    averages: list[ModelGroup]
    outcomes: list[ModelGroup]
    cells: list[ModelGroup]

    @property
    def others(self) -> list[ModelGroup]:
        """All comparisons but those of the first outcome over all faces."""
        return [*self.cells, *self.outcomes]

    @property
    def is_number(self) -> bool:
        """Whether the outcome has a unit of its own, and is no rate."""
        return self.outcome == NUMBER


def _panels(several: ModelsReport) -> list[ModelPanel]:
    """The comparisons of answers, a panel for each first outcome and tolerance of models."""
    averages = several.over_all_faces
    cells = [row for row in several.effects if row.held]
    return [
        ModelPanel(
            outcome=outcome,
            title=TITLES[outcome],
            tolerance=tolerance,
            limit=tolerated(tolerance, outcome == NUMBER),
            averages=_groups(averages, models, with_place=False),
            outcomes=_groups(several.outcomes, models, with_place=True),
            cells=_groups(cells, models, with_place=True),
        )
        for (outcome, tolerance), models in _models_by_decisions(several, of_missing=False).items()
    ]


def _panels_of_missing(several: ModelsReport) -> list[ModelPanel]:
    """The comparisons of what is missing, a panel for each tolerance."""
    panels = []
    for (outcome, tolerance), models in _models_by_decisions(several, of_missing=True).items():
        groups = _groups(several.missing, models, with_place=False)
        if groups:
            limit = tolerated(tolerance)
            panels.append(ModelPanel(outcome, TITLES[outcome], tolerance, limit, [], [], groups))
    return panels


def _models_by_decisions(
    several: ModelsReport, of_missing: bool
) -> dict[tuple[str, float], list[AuditedModel]]:
    """The models by the outcome that is compared, and by their tolerance for it.

    Args:
        several: the report of all models.
        of_missing: whether what is missing is compared, and not the first outcome.
    """
    models: dict[tuple[str, float], list[AuditedModel]] = {}
    for model in several.models:
        outcome = MISSING if of_missing else model.outcome
        tolerance = tolerance_of(outcome, model.outcome, model.tolerance)
        models.setdefault((outcome, tolerance), []).append(model)
    return models


def _groups(
    rows: Iterable[ModelEffect], models: Sequence[AuditedModel], with_place: bool
) -> list[ModelGroup]:
    """The comparisons of some models by what is compared, in the order of the models."""
    by_name = {model.name: model for model in models}
    groups: dict[str, list[ModelEffect]] = {}
    for row in rows:
        if row.model in by_name:
            heading = f"{capital(spaced(row.axis))}: {row.contrast}"
            if with_place:
                heading = f"{heading} ({_place(row, by_name[row.model])})"
            groups.setdefault(heading, []).append(row)
    return [ModelGroup(heading, rows) for heading, rows in groups.items()]


def figure_of_models(several: ModelsReport) -> Figure:
    """The forest of several models: their average effects on each outcome, by what is compared."""
    return _figure_of(_panels(several))


def _figure_of(panels: Sequence[ModelPanel]) -> Figure:
    """The forest of some panels, one below the other."""
    from faceaudit.report.figure import MODEL_ROW_HEIGHT, Panel, forest  # with matplotlib

    drawn = []
    for panel in panels:
        entries: list[tuple[str, ModelEffect | None]] = []
        of_first = f" ({panel.title})" if panel.outcomes else ""
        for group in panel.averages:
            entries.append((group.heading + of_first, None))
            entries += [(row.model, row) for row in group.rows]
        for group in panel.outcomes:
            entries.append((group.heading, None))
            entries += [(row.model, row) for row in group.rows]
        scale = 1 if panel.is_number else 100
        drawn.append(Panel(entries, panel.tolerance, _label(panel), scale))
    return forest(drawn, MODEL_ROW_HEIGHT)


def _label(panel: ModelPanel) -> str:
    """What the scale of a panel shows; headings name the outcome where there are several."""
    if panel.outcomes:
        return "change (points)"
    return f"change of the {panel.title}" + ("" if panel.is_number else " (points)")


# --- the page


def write_models_html(several: ModelsReport, reports: Reports, path: Path) -> Path:
    """Write `report.html` of several models.

    Args:
        several: what the page is about.
        reports: of the single models, which the page links to.
        path: of the file.

    Returns:
        The path.
    """
    return write_text(path, models_page(several, reports))


@dataclass(frozen=True)
class ModelFacts:
    """What the page says of what a model is.

    Attributes:
        model: as the report has it.
        title: its first outcome in words.
        is_number: whether that has a unit of its own.
        limit: its tolerance in words.
        own: its own report.
        answers: what it answers, and what is counted of it.
        planned_on: day of its plan.
    """

    model: AuditedModel
    title: str
    is_number: bool
    limit: str
    own: Report
    answers: str
    planned_on: str


@dataclass(frozen=True)
class DifferenceGroup:
    """The differences of all pairs of models in one quantity."""

    heading: str
    rows: list[ModelDifference]


def models_page(several: ModelsReport, reports: Reports) -> str:
    """The page as text: HTML.

    Args:
        several: what the page is about.
        reports: of the single models.
    """
    answers = answers_of_models(several, reports)
    panels = _panels(several)
    sure = [row for row in several.differences if _is_sure(row, several.level)]
    first_differences = _first_differences(several.differences, sure)
    return words.render_template(
        "models.html.j2",
        report=several,
        answers=answers,
        made_on=facts.day(several.made),
        tone="inconclusive" if any(answer.is_in_doubt for answer in answers) else _worst(several),
        **_warned_values(reports),
        more_departures={
            model: len(report.plan.departures[DEPARTURES_AT_TOP:])
            for model, report in reports.items()
            if report.plan.departures[DEPARTURES_AT_TOP:]
        },
        panels=panels,
        has_outcomes=any(panel.outcomes for panel in panels),
        # One for each, so that a printer can put them on several sheets.
        figures=[_svg([panel]) for panel in panels],
        missing=_panels_of_missing(several),
        first_differences=_difference_groups(first_differences),
        shown_differences=len(first_differences),
        all_differences=(
            []
            if len(first_differences) == len(several.differences)
            else _difference_groups(several.differences)
        ),
        sure_differences=len(sure),
        is_sure=lambda row: _is_sure(row, several.level),
        models=[_facts_of(model, reports[model.name]) for model in several.models],
        rates_of=facts.rates_of,
        with_truth=any(row.truth is not None for row in several.over_all_faces),
        gates=_gates_in_words(answers),
        first_limits=several.limits[:LIMITS_AT_TOP],
        further_limits=several.limits[LIMITS_AT_TOP:],
    )


def models_html(several: ModelsReport, reports: Reports) -> str:
    """The answers and the forest as a part of a page, which a notebook shows."""
    answers = answers_of_models(several, reports)
    return words.render_template(
        "models_result.html.j2",
        answers=answers,
        warned=[answer for answer in answers if answer.warnings],
        judged=len(several.judged),
        figure=_svg(_panels(several)),
    )


def _svg(panels: Sequence[ModelPanel]) -> Markup:
    """The forest of some panels as a part of a page."""
    from faceaudit.report.figure import as_svg  # with matplotlib

    return Markup(as_svg(_figure_of(panels)))


def _worst(several: ModelsReport) -> str:
    """The verdict of all comparisons of all models."""
    return facts.overall_verdict(several.judged)


def _facts_of(model: AuditedModel, report: Report) -> ModelFacts:
    is_number = model.outcome == NUMBER
    (answers,) = words.render_sentences("task", report, model.outcome, TITLES[model.outcome])
    return ModelFacts(
        model=model,
        title=TITLES[model.outcome],
        is_number=is_number,
        limit=tolerated(model.tolerance, is_number),
        own=report,
        answers=answers,
        planned_on=facts.day(report.plan.made),
    )


def _first_differences(
    rows: Sequence[ModelDifference], sure: Sequence[ModelDifference]
) -> Sequence[ModelDifference]:
    """The differences before the details: all if they are few, else the surest ones.

    Args:
        rows: all differences.
        sure: those that are not zero.
    """
    if len(rows) <= DIFFERENCES_AT_TOP:
        return rows
    surest = sorted(sure, key=lambda row: (row.p_holm or 0.0, -abs(row.estimate or 0.0)))
    shown = surest[:DIFFERENCES_AT_TOP]
    return [row for row in rows if any(row is one for one in shown)]


def _difference_groups(rows: Iterable[ModelDifference]) -> list[DifferenceGroup]:
    """The differences by quantity: means of an outcome, and effects of each contrast on it."""
    groups: dict[str, list[ModelDifference]] = {}
    for row in rows:
        heading = capital(TITLES[row.outcome])
        if row.axis:
            heading = f"Effect on the {TITLES[row.outcome]} of {spaced(row.axis)}: {row.contrast}"
        groups.setdefault(heading, []).append(row)
    return [DifferenceGroup(heading, rows) for heading, rows in groups.items()]


def _is_sure(row: ModelDifference, level: float) -> bool:
    """Whether a difference is not zero, adjusted over all of them."""
    return row.p_holm is not None and row.p_holm < level
