"""`report.html`: one file that needs no other, for a manager, an analyst and a printer.

The order is that of the readers: the answer and what it does not say, then tables and figures, then
limits, then the plan and what departed from it.
"""

from __future__ import annotations

import re
from importlib import resources
from itertools import count
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from faceaudit import against_truth, explaining, report_figures, summing_up, words
from faceaudit.appendix import REGULATIONS
from faceaudit.contact_sheet import Sheet
from faceaudit.report_schema import Report
from faceaudit.writing import write_text
from helpers.effects.verdicts import INCONCLUSIVE
from helpers.utils.numbers import with_minus

SYMBOLS = {"exceeds": "▲", "within": "●", "inconclusive": "◆", "not estimable": "✕"}
"""Verdict → sign, so that colour is not the only difference."""
HEADS = {
    "exceeds": "Beyond the tolerance",
    "within": "Within the tolerance",
    "inconclusive": "Undecided",
    "not estimable": "Not estimable",
}
SHORT = dict(zip(HEADS, ("beyond", "within", "undecided", "not estimable"), strict=True))
"""Verdict → how a table says it."""


def write_html(report: Report, path: Path, sheet: Sheet | None = None) -> Path:
    """Write `report.html`.

    Args:
        report: to write.
        path: of the file.
        sheet: some of the images, for the reader to see what was changed.

    Returns:
        The path.
    """
    return write_text(path, page(report, sheet))


def page(report: Report, sheet: Sheet | None = None) -> str:
    """The page as text.

    Args:
        report: to show.
        sheet: as of `write_html`.

    Returns:
        HTML.

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> report = faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan)
        >>> all(line in page(report) for line in report.answer.splitlines())
        True
    """
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: with_minus(str(value)) if isinstance(value, float) else value,
    )
    environment.filters |= {
        "points": words.points,
        "percent": words.percent,
        "tolerated": words.tolerated,
        "spaced": words.spaced,
        "p": _p,
        "number": _number,
    }
    environment.filters["hundredths"] = words.hundredths
    axes = _by_axis(report)
    judged = [row for axis in axes for row in axis["rows"]]
    main = report.disparities or report.effects
    rows = [row for row in judged if any(row is one for one in main)]
    folder = resources.files("faceaudit")
    template = environment.from_string((folder / "report.html.j2").read_text(encoding="utf-8"))
    css = (folder / "report.css").read_text(encoding="utf-8")
    return template.render(
        report=report,
        css=Markup(css),
        symbols=SYMBOLS,
        heads=HEADS,
        short=SHORT,
        axes=axes,
        rows=rows,
        averages=[row for axis in axes for row in report.averages if row.axis == axis["of"]],
        shown=words.shown_as(report.data.get("made_by")),
        figures=_figures(report, judged),
        says=summing_up,
        explains=explaining,
        truth=against_truth,
        regulations=REGULATIONS,
        sheet=sheet,
    )


def _by_axis(report: Report) -> list[dict[str, Any]]:
    """Comparisons for the first page: axes and rows in the order of their verdicts, worst first."""
    groups: dict[str, list[Any]] = {}
    for row in report.judged:
        name = row.measure if report.kind == "verification" else row.axis
        groups.setdefault(name, []).append(row)
    verification = report.kind == "verification"
    found = []
    for name, rows in groups.items():
        ordered = sorted(rows, key=_urgent)
        told = [
            row.model_dump() | {"cell": row.group if verification else _place(row, report)}
            for row in ordered
        ]
        found.append(
            {
                "of": name,
                "name": words.capital(
                    f"{words.RATES[name.split()[0]]} ({name.split()[0]})"
                    if verification
                    else words.spaced(name)
                ),
                "summary": words.axis_sentence(told),
                "rows": ordered,
                "settled": [row for row in ordered if row.verdict != INCONCLUSIVE],
                "open": [row for row in ordered if row.verdict == INCONCLUSIVE],
            }
        )
    return sorted(found, key=lambda axis: _urgent(axis["rows"][0]))


def _place(row: Any, report: Report) -> str:
    """What a comparison of an axis is about."""
    if any(row is one for one in report.no_answer):
        return "having no answer"
    return row.cell if row.held else "on average"


def _urgent(row: Any) -> tuple[int, bool, float]:
    """Key by which what asks for action comes first, and of that what is over all faces."""
    return words.ORDER.index(row.verdict), bool(getattr(row, "held", ())), -abs(row.estimate or 0)


def _figures(report: Report, judged: list[Any]) -> dict[str, Markup]:
    """Every figure twice, of which the page shows one by its width."""
    numbers = count(1)
    apart = report.failures_to_enrol or report.no_answer

    def both(draw: Any) -> Markup:
        drawn = {"wide": report_figures.WIDE, "narrow": report_figures.NARROW}
        return Markup("").join(
            Markup('<div class="{}">{}</div>').format(
                name, Markup(_own_ids(draw(width), next(numbers)))
            )
            for name, width in drawn.items()
        )

    def forest(rows: list[Any], what: str) -> Markup:
        if report.kind == "verification":
            names = [f"{row.group}: {row.measure.split()[0]}" for row in rows]
        else:
            names = [f"{words.spaced(row.axis)}: {_place(row, report)}" for row in rows]
        drawn = rows, names, report.tolerance
        return both(lambda width: report_figures.forest(*drawn, width, what))

    others = [row for row in judged if not any(row is one for one in apart)]
    found = {"forest": forest(others, "change of the error rate (points)")}
    if apart:
        found["apart"] = forest(apart, "change of the share without an answer (points)")
    if report.thresholds:
        found["thresholds"] = both(
            lambda width: report_figures.thresholds(report.thresholds, report.tolerance, width)
        )
    return found


def _own_ids(svg: str, number: int) -> str:
    """Ids of an SVG made different from those of the others in the page."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="f{number}-\1"', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\1f{number}-", svg)
    # The figure around it says what it shows; the page scales it.
    return re.sub(
        r'<svg ([^>]*?)height="[^"]*"([^>]*?)width="[^"]*"',
        r'<svg aria-hidden="true" focusable="false" \1\2',
        svg,
        count=1,
    )


def _p(value: float | None) -> str:
    return "–" if value is None else "<\u00a00.001" if value < 0.001 else f"{value:.3f}"


def _number(value: float | None) -> str:
    return "–" if value is None else with_minus(f"{value:.2f}")
