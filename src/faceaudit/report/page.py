"""`report.html`, one file that needs no other, and the model card.

The page is for a manager, an analyst and a printer. Its order is that of the readers: the answer,
the comparisons in a figure and a table, limits, and what to do next. All else is in the part
"Details", which is closed on a screen and open on paper.

The card has the sections of Mitchell et al., Model Cards for Model Reporting, FAT* 2019, section 4.
What only the makers of the model can know is left open, in so many words. Its head is the
`model-index` that model hubs read. The words of both stand in `templates`.
"""

import base64
import html
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from faceaudit import words
from faceaudit.comparisons import cell_name
from faceaudit.effects.verdicts import EXCEEDS, INCONCLUSIVE
from faceaudit.outcomes import (
    ERROR,
    MISSING,
    NUMBER,
    TITLES,
    TOLERANCE_OF_MISSING,
    is_of_number,
    outcomes_of,
)
from faceaudit.report import facts
from faceaudit.report.answer import answer_of
from faceaudit.report.coverage import coverage_sentences
from faceaudit.report.gate import warnings_of
from faceaudit.report.schema import Comparison, Disparity, Effect, Moved, Report
from faceaudit.utils import formatting
from faceaudit.utils.files import write_text
from faceaudit.utils.formatting import tolerated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEPARTURES_AT_TOP = 3
"""Departures from the plan that the first box of the page lists."""
LIMITS_AT_TOP = 4
"""Limits that the page lists before its details."""
LEAKS_OF_GATE = 12
"""Leaks that the page lists of a calibration, the largest first."""


# --- the model card


def write_card(report: Report, path: Path) -> Path:
    """Write `model_card.md`.

    Args:
        report: what the card is about.
        path: of the file.

    Returns:
        The path.
    """
    return write_text(path, card(report))


@dataclass(frozen=True)
class CardMetric:
    """A comparison as the `model-index` of a card has it.

    Attributes:
        row: the comparison.
        outcome: what is compared, in one word.
        by_tests: whether it is "within" by its 90% interval, while the 95% interval is wider.
    """

    row: Comparison
    outcome: str
    by_tests: bool


def card(report: Report) -> str:
    """The model card as text: Markdown with a head in YAML."""
    text = words.render_template(
        "model_card.md.j2",
        report=report,
        answer=answer_of(dict(report), report.tolerance),
        measured=_measured(report),
        tolerance=tolerated(report.tolerance, _is_of_number(report)),
        uncovered=coverage_sentences(report, met=False),
        is_number=_is_of_number(report),
        is_trend=facts.is_trend,
        missing_limit=_missing_limit(report),
        metrics=[
            CardMetric(
                row,
                outcome=_outcome_word(row),
                by_tests=_is_within_by_tests(report, row),
            )
            for row in report.judged
        ],
        task=_task(report),
        audited_on=facts.day(report.made),
        replaced_plans=words.render_sentences("replaced_plans", report.plan.replaced),
    )
    _, head, body = text.split("---\n", 2)
    # Names of the audit file and the table may hold tags, which a hub would show as a page's own.
    return f"---\n{head}---\n{html.escape(body, quote=False)}"


def _outcome_word(row: Comparison) -> str:
    """What a comparison is about, as the `model-index` of a card names metrics."""
    if facts.is_of_missing(row):
        return MISSING
    if isinstance(row, Disparity) or row.outcome == ERROR:
        return "error_rate"
    return row.outcome


def _task(report: Report) -> str:
    """What the model tells, and what counts as an error."""
    outcome = facts.first_outcome_of(dict(report))
    (sentences,) = words.render_sentences("task", report, outcome, TITLES[outcome])
    return sentences


# --- the page


def write_html(report: Report, path: Path, sheet: Mapping[str, Any] | None = None) -> Path:
    """Write `report.html`.

    Args:
        report: what the page is about.
        path: of the file.
        sheet: of `contact_sheet`, if some of the images are shown.

    Returns:
        The path.
    """
    return write_text(path, page(report, sheet))


@dataclass(frozen=True)
class ComparedGroup:
    """Comparisons of a table that have a head in common: an axis with its levels, or a measure."""

    rows: list[Comparison]


@dataclass(frozen=True)
class PlannedFamily:
    """A family of comparisons in the plan: its name, its size, and whether it has several."""

    name: str
    size: int
    several: bool


def page(report: Report, sheet: Mapping[str, Any] | None = None) -> str:
    """The page as text.

    Args:
        report: what the page is about.
        sheet: of `contact_sheet`, if some of the images are shown.

    Returns:
        HTML. Axes are in the order of the audit file; of each, averages come first, then cells in
        the order of their verdicts.
    """
    groups = _groups(report)
    return words.render_template(
        "report.html.j2",
        report=report,
        groups=groups,
        figure=_figure(report),
        place=partial(_place, report),
        sheet=sheet,
        **_answer_values(report),
        **_values_of_kind(report, groups),
        **_plan_values(report),
    )


def _answer_values(report: Report) -> dict[str, Any]:
    """What the page shows before its details, by the names in the template."""
    departures = report.plan.departures
    limits = report.limits
    worst = _worst(report)
    by_tests = partial(_is_within_by_tests, report)
    return {
        "answer": answer_of(dict(report), report.tolerance),
        "task": _task(report),
        "model_name": facts.model_name(report),
        "audited_on": facts.day(report.made),
        "planned_on": facts.day(report.plan.made),
        "is_in_doubt": any(not doubt.accepted for doubt in report.doubts),
        "uncovered": coverage_sentences(report, met=False),
        "covered": coverage_sentences(report, met=True),
        "tolerance": tolerated(report.tolerance, _is_of_number(report)),
        "unit": "" if _is_of_number(report) else ", in points",
        "is_number": _is_of_number(report),
        "missing_limit": _missing_limit(report),
        "tolerance_was_planned": report.tolerance == report.plan.content["tolerance"],
        "replaced_plans": words.render_sentences("replaced_plans", report.plan.replaced),
        "first_departures": departures[:DEPARTURES_AT_TOP],
        "more_departures": len(departures[DEPARTURES_AT_TOP:]),
        "rates_of": facts.rates_of,
        "is_trend": facts.is_trend,
        "has_trends": any(map(facts.is_trend, report.judged)),
        "is_within_by_tests": by_tests,
        "is_beyond_alone": partial(_is_beyond_alone, report),
        "by_tests": any(by_tests(row) for row in report.judged),
        "first_limits": limits[:LIMITS_AT_TOP],
        "further_limits": limits[LIMITS_AT_TOP:],
        "measured": _measured(report),
        "shown": _shown(report),
        "title": TITLES[facts.first_outcome_of(dict(report))],
        "counts_errors": facts.first_outcome_of(dict(report)) == ERROR,
        "worst": worst,
        "worst_side": None if worst is None else facts.higher_side(worst),
        "measure_abbreviation": facts.measure_abbreviation,
        "undecided": len(facts.with_verdict(report.judged, INCONCLUSIVE)),
    }


def _values_of_kind(report: Report, groups: Sequence[ComparedGroup]) -> dict[str, Any]:
    """What the page shows of matched images or portraits, by the names in the template."""
    has_truth = facts.has_truth(report)
    values: dict[str, Any] = {
        "is_listed": facts.is_listed(report.data.get("made_by")),
        "extremes": facts.extremes(report.rates),
        "with_truth": has_truth,
        "levels_without_errors": facts.levels_without_errors,
        "has_tipping_point": facts.has_tipping_point,
        "largest_leaks": _largest_leaks(report),
    }
    if has_truth:
        values["coverage_by_cell"] = facts.coverage(report.effects)
        values["coverage_of_averages"] = facts.coverage(report.averages)
    if report.kind == "portraits":
        values["several_portraits"] = facts.has_several_portraits(report.data)
    if report.kind == "classification":
        interaction = facts.largest(report.interactions)
        is_sure = interaction is not None and facts.differs_from_zero(interaction, report.level)
        values |= {
            "matched": facts.matched_set(report),
            "groups_in_cells": _groups_of(report.effects, groups),
            "example_level": facts.example_level(report.plan.content),
            "example_cell": next((row.cell for row in report.effects if row.held), None),
            "interaction": interaction,
            "interaction_is_sure": is_sure,
            "reacting_placebos": facts.reacting_placebos(report),
            "easiest": facts.easiest_to_explain(report.effects),
            "pairs_in_cell": facts.most_pairs(report.effects),
            "pairs_in_average": facts.most_pairs(report.averages),
        }
    return values


def _is_within_by_tests(report: Report, row: Comparison) -> bool:
    """Whether the two one-sided tests alone say that a comparison is within its tolerance."""
    return _ending(report, row) == facts.Ending.WITHIN_BY_TESTS


def _is_beyond_alone(report: Report, row: Comparison) -> bool:
    """Whether a comparison is undecided though its interval lies beyond the tolerance."""
    return _ending(report, row) == facts.Ending.BEYOND_ALONE


def _ending(report: Report, row: Comparison) -> facts.Ending | None:
    """How the sentence of a comparison ends."""
    outcome = facts.first_outcome_of(dict(report))
    return facts.ending_of(row, facts.tolerance_of_row(row, outcome, report.tolerance))


def _plan_values(report: Report) -> dict[str, Any]:
    """What the page shows of the plan, by the names in the template."""
    content = report.plan.content
    return {
        "void": facts.void_comparisons(report),
        "pairs_were_drawn": "impostors" in content,
        "chances": words.render_sentences("chances", content),
        "people_asked": words.render_sentences("answers", content.get("sizes", {})),
        "planned_families": [
            PlannedFamily(name, len(comparisons), len(comparisons) != 1)
            for name, comparisons in content["families"].items()
        ],
    }


def _groups(report: Report) -> list[ComparedGroup]:
    """The comparisons that are judged, as the tables of the page have them."""
    groups: dict[tuple[str, ...], list[Comparison]] = {}
    for row in report.judged:
        groups.setdefault(_head(row), []).append(row)

    first_outcome = facts.first_outcome_of(dict(report))

    def rank(row: Comparison) -> tuple[bool, int, int, float]:
        """Averages before cells: the first outcome, further ones, what is missing; then urgency."""
        in_a_cell = not isinstance(row, Disparity) and bool(row.held)
        urgency = facts.VERDICT_ORDER.index(row.verdict)
        size = -abs(row.estimate or 0)
        return in_a_cell, facts.rank_of_outcome(row, first_outcome), urgency, size

    return [ComparedGroup(sorted(rows, key=rank)) for rows in groups.values()]


def _head(row: Comparison) -> tuple[str, ...]:
    """What a comparison has in common with those of its group."""
    if isinstance(row, Disparity):
        return (row.measure,)
    return (row.axis, row.contrast) if isinstance(row, Effect) else (row.axis, row.group)


def _rows(groups: Sequence[ComparedGroup]) -> list[Comparison]:
    """The comparisons of groups, one after the other."""
    return [row for group in groups for row in group.rows]


def _groups_of(rows: Sequence[Comparison], groups: Sequence[ComparedGroup]) -> list[ComparedGroup]:
    """Groups with some comparisons of a report alone, in the same order."""
    # By identity: an equal row can stand in another family.
    wanted = {id(row) for row in rows}
    some = [[row for row in group.rows if id(row) in wanted] for group in groups]
    return [ComparedGroup(rows) for rows in some if rows]


def _place(report: Report, row: Comparison) -> str:
    """What a comparison of an axis or a measure is about; beside numbers with its unit."""
    place = facts.place_of(row, facts.first_outcome_of(dict(report)))
    in_points = _is_of_number(report) and not is_of_number(row)
    return f"{place}, in points" if in_points else place


def _worst(report: Report) -> Comparison | None:
    """The comparison beyond the tolerance to ask about first.

    A group that fares worse than the reference is more urgent than one that fares better.
    """
    beyond = facts.with_verdict(report.judged, EXCEEDS)
    if report.kind == "verification":
        worse = [row for row in beyond if row.estimate is not None and row.estimate > 0]
        return facts.largest(worse or beyond)
    return facts.foremost(beyond, facts.first_outcome_of(dict(report)))


def _largest_leaks(report: Report) -> list[Moved]:
    """The largest leaks at the gate of a calibration; none without a calibration."""
    if report.calibration is None:
        return []
    leaks = sorted(report.calibration.leaks, key=_upper_limit, reverse=True)
    return leaks[:LEAKS_OF_GATE]


def _upper_limit(leak: Moved) -> float:
    """The upper limit of a leak; below all others where it cannot be estimated."""
    return -np.inf if leak.upper is None else leak.upper


# --- some of the images

FACES_OF_SHEET = 4
"""Faces of a contact sheet."""
TILE_PIXELS = 96
"""Height and width of an image on it."""
GAP_PIXELS = 2
"""Between two images, in white."""
WEBP_QUALITY = 82
"""From 0 to 100."""


def contact_sheet(
    images: np.ndarray, index: pd.DataFrame, axes: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """The first faces of an audit, a row each, at all combinations of the axes' levels.

    Of several images of a face at a combination the first is shown; without one the place is white.

    Args:
        images: uint8 (n, 3, height, width).
        index: a row per image, with unit and `<axis>_level` of every axis.
        axes: axis → names of its low and high level.

    Returns:
        address (data address of the picture), columns (what each of them shows) and alt (the
        alternative text).
    """
    level_columns = [f"{axis}_level" for axis in axes]
    numbered = index.assign(row=range(len(index)))
    table = numbered.pivot_table("row", "unit", level_columns, aggfunc="first")
    table = table.reindex(index["unit"].unique()[:FACES_OF_SHEET])
    side = TILE_PIXELS + GAP_PIXELS
    tiles = np.full((*table.shape, side, side, 3), 255, np.uint8)
    for place, row in np.ndenumerate(table):
        if not np.isnan(row):
            tiles[place][:TILE_PIXELS, :TILE_PIXELS] = _tile(images[int(row)])
    sheet = np.concatenate(np.concatenate(tiles, axis=1), axis=1)[:-GAP_PIXELS, :-GAP_PIXELS]
    columns = []
    for levels in table:
        held = dict(zip(axes, np.atleast_1d(levels), strict=True))
        columns.append(cell_name(axes, held))
    alt = f"{len(table)} faces, each in {len(columns)} versions: {'; '.join(columns)}."
    return {"address": data_address(sheet), "columns": columns, "alt": alt}


def _tile(image: np.ndarray) -> np.ndarray:
    """An image (3, height, width) as a contact sheet has it: uint8 (pixels, pixels, 3)."""
    from PIL import Image  # for the reports that show faces

    picture = Image.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0)))
    return np.asarray(picture.resize((TILE_PIXELS, TILE_PIXELS), Image.Resampling.LANCZOS))


def data_address(image: np.ndarray) -> str:
    """One image, uint8 (h, w, 3), as the data address of a WebP file."""
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "webp", quality=WEBP_QUALITY, method=4)
    return "data:image/webp;base64," + base64.b64encode(stream.getvalue()).decode()


# --- the figure


def _name(row: Comparison, several: Collection[str]) -> str:
    """The measure or the axis of a comparison, of axes with several contrasts with its levels."""
    if isinstance(row, Disparity):
        return row.measure
    axis = formatting.spaced(row.axis)
    return f"{axis}, {facts.contrast_of(row)}" if row.axis in several else axis


def figure_of(report: Report) -> "Figure":
    """The forest of a report, in the order of the page's table.

    Numbers have a unit of their own, so that what is missing has a panel below them, in points.
    """
    from faceaudit.report.figure import Panel, forest  # with matplotlib, for what is drawn alone

    rows = _rows(_groups(report))
    quantity = "change" if report.effects else "difference"
    if not _is_of_number(report):
        entries = _entries(report, rows)
        return forest([Panel(entries, report.tolerance, _label_of_rates(report, rows, quantity))])
    numbers, shares = ([row for row in rows if is_of_number(row) is own] for own in (True, False))
    label = f"{quantity} of {_measured(report)}"
    panels = [Panel(_entries(report, numbers), report.tolerance, label, scale=1)]
    if shares:
        label = f"{quantity} of the share of what is missing (points)"
        panels.append(Panel(_entries(report, shares), TOLERANCE_OF_MISSING, label))
    return forest(panels)


def _entries(report: Report, rows: Sequence[Comparison]) -> list[tuple[str, Comparison]]:
    """Comparisons behind their names in the forest."""
    several = facts.axes_with_several_contrasts(report)
    return [(f"{_name(row, several)}: {_place(report, row)}", row) for row in rows]


def _label_of_rates(report: Report, rows: Sequence[Comparison], quantity: str) -> str:
    """The label of a scale in points.

    Names of rows say what they are of, where there are several outcomes or measures.
    """
    answers = [row for row in rows if not facts.is_of_missing(row)]
    kinds = {row.measure if isinstance(row, Disparity) else row.outcome for row in answers}
    if len(kinds) > 1:
        return f"{quantity} (points)"
    also_missing = ", or of what is missing" if len(answers) < len(rows) else ""
    return f"{quantity} of {_measured(report)}{also_missing} (points)"


def _shown(report: Report) -> str:
    """What the forest shows, in words."""
    several = len(outcomes_of(report.plan.content)) > 1
    shown = "each outcome" if several else _measured(report)
    if any(facts.is_of_missing(row) for row in report.judged):
        return f"{shown} and of what is missing"
    return shown


def _is_of_number(report: Report) -> bool:
    return facts.first_outcome_of(dict(report)) == NUMBER


def _missing_limit(report: Report) -> str | None:
    return facts.tolerance_of_missing(report.judged, facts.first_outcome_of(dict(report)))


def _measured(report: Report) -> str:
    """What the comparisons of a report are changes of; the others have names in the figure."""
    return f"the {TITLES[facts.first_outcome_of(dict(report))]}"


def _figure(report: Report) -> Markup:
    """The forest as a part of the page."""
    from faceaudit.report.figure import as_svg  # with matplotlib

    return Markup(as_svg(figure_of(report)))


def answer_html(report: Report) -> str:
    """The answer and the forest as a part of a page, which a notebook shows."""
    return words.render_template(
        "result.html.j2",
        answer=answer_of(dict(report), report.tolerance),
        figure=_figure(report),
        warnings=warnings_of(report),
        uncovered=coverage_sentences(report, met=False),
    )
