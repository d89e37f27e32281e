"""`report.html`: one file that needs no other, for a manager, an analyst and a printer.

The order is that of the readers: the answer and what it does not say, then tables and figures, then
limits, then the plan and what departed from it. The words stand in `templates`.
"""

from __future__ import annotations

import base64
import io
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure
from PIL import Image

from faceaudit import wording
from faceaudit.plan import cell_name, write_text
from faceaudit.report import AtThreshold, Disparity, Effect, Report
from faceaudit.wording import ORDER, spaced
from helpers.effects.verdicts import EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE, WITHIN
from helpers.figures import BLACK, BLUE, GREY, SPARE, VERMILION

MARKS = {
    EXCEEDS: (VERMILION, "s"),
    WITHIN: (BLUE, "o"),
    INCONCLUSIVE: (GREY, "D"),
    NOT_ESTIMABLE: (GREY, "x"),
}
"""Verdict → colour and marker, told apart without colour."""
WIDE, NARROW = 7.4, 3.7
"""Width of figures in inches, for a desk and paper and for a phone; text has the same size."""
LOOK = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "svg.hashsalt": "audit",
    "svg.fonttype": "path",
}
ROWS, SIDE, GAP = 4, 96, 2
"""Faces of a contact sheet, and the height and width of an image and of the gaps, in pixels."""
Row = Effect | Disparity


class Sheet(NamedTuple):
    """A picture of some of the images, and what a reader needs to read it."""

    address: str  # data address of the picture
    columns: list[str]  # what each column shows
    alt: str


def write_html(report: Report, path: Path, sheet: Sheet | None = None) -> Path:
    """Write `report.html`, with some of the images if there is a sheet of them; gives the path."""
    return write_text(path, page(report, sheet))


def page(report: Report, sheet: Sheet | None = None) -> str:
    """The page as text."""
    axes = _by_axis(report)
    judged = [row for axis in axes for row in axis["rows"]]
    apart = report.failures_to_enrol or report.no_answer
    crossed = [row for row in report.interactions if row.estimate is not None]
    (task,) = wording.told("task", report)
    return wording.rendered(
        "report.html.j2",
        report=report,
        css=Markup((resources.files("faceaudit") / "templates/report.css").read_text("utf-8")),
        axes=axes,
        rows=[row for row in judged if _is_in(row, report.disparities or report.effects)],
        averages=[row for axis in axes for row in report.averages if row.axis == axis["of"]],
        shown=wording.shown_as(report.data.get("made_by")),
        figures=_figures(report, [row for row in judged if not _is_in(row, apart)], apart),
        task=task,
        worst=_worst(report),
        held={"cells": _held(report.effects, report.tolerance)}
        | {"averages": _held(report.averages, report.tolerance)},
        largest_interaction=_largest(crossed),
        contrasts={row.axis: row.contrast for row in report.effects},
        sheet=sheet,
    )


def contact_sheet(
    images: np.ndarray, index: pd.DataFrame, axes: Mapping[str, Sequence[str]]
) -> Sheet:
    """The first faces of an audit, a row each, at all combinations of the axes' levels.

    Args:
        images: uint8 (n, 3, height, width).
        index: with unit and `<axis>_level`; of several images at a place the first is shown, and a
            place without one stays white.
        axes: axis → names of its levels.

    Returns:
        The sheet.
    """
    places = [f"{axis}_level" for axis in axes]
    cells = sorted(set(map(tuple, index[places].to_numpy())))
    units = index["unit"].drop_duplicates().head(ROWS).tolist()
    step = SIDE + GAP
    sheet = Image.new("RGB", (step * len(cells) - GAP, step * len(units) - GAP), "white")
    shown = index[index["unit"].isin(units)].drop_duplicates(["unit", *places])
    positions = index.index.get_indexer(shown.index)
    for position, row in zip(positions, shown.to_dict("records"), strict=True):
        cell = cells.index(tuple(row[place] for place in places))
        picture = Image.fromarray(np.ascontiguousarray(images[position].transpose(1, 2, 0)))
        picture = picture.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
        sheet.paste(picture, (step * cell, step * units.index(row["unit"])))
    stream = io.BytesIO()
    sheet.save(stream, "webp", quality=85)
    data = base64.b64encode(stream.getvalue()).decode()
    columns = [cell_name(axes, dict(zip(axes, cell, strict=True))) for cell in cells]
    alt = f"{len(units)} faces, each in {len(cells)} versions: {'; '.join(columns)}."
    return Sheet(f"data:image/webp;base64,{data}", columns, alt)


def forest(
    rows: Sequence[Row], names: Sequence[str], tolerance: float, width: float, what: str
) -> str:
    """Estimates with their intervals, one below the other, around the band of the tolerance.

    Args:
        rows: comparisons.
        names: of the rows.
        tolerance: half the width of the band.
        width: inches.
        what: changes.

    Returns:
        `<svg>` text.
    """
    narrow, n = width < WIDE, max(len(rows), 1)
    with mpl.rc_context(LOOK):
        height = (0.5 if narrow else 0.34) * n + 0.75
        figure = Figure(figsize=(width, height), layout="constrained")
        ax = figure.subplots()
        ax.axvspan(-100 * tolerance, 100 * tolerance, color="#E8EEF4", lw=0)
        ax.axvline(0, color=BLACK, lw=0.8)
        places = np.arange(len(rows))[::-1]
        for place, row in zip(places, rows, strict=True):
            _interval(ax, place, row)
        for place, name in zip(places, names, strict=True):
            if narrow:
                at = {"xycoords": ("axes fraction", "data"), "xytext": (0, 6)}
                ax.annotate(name, (0, place), textcoords="offset points", fontsize=9.5, **at)
        ax.set_yticks(places, [""] * len(rows) if narrow else names)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(-0.6, n - (0.2 if narrow else 0.4))
        ax.set_xlabel(what)
        ax.grid(axis="x", color="#E3E3E3", lw=0.6)
        ax.set_axisbelow(True)
        return _svg(figure)


def _interval(ax: mpl.axes.Axes, place: float, row: Row) -> None:
    """One row: the wide interval of the family, its own interval, the estimate and the truth."""
    if row.estimate is None or row.low is None:
        ax.annotate("not estimable", (0, place), va="center", fontsize=9, color="#555555")
        return
    colour, marker = MARKS[row.verdict]
    if isinstance(row, Effect) and row.low_family is not None:
        ax.hlines(place, 100 * row.low_family, 100 * row.high_family, color=colour, lw=1)
    ax.hlines(place, 100 * row.low, 100 * row.high, color=colour, lw=3.2)
    ax.plot(100 * row.estimate, place, marker, color=colour, ms=6.5, mec="white", mew=0.6)
    if isinstance(row, Effect) and row.truth is not None:
        ax.plot(100 * row.truth, place, "|", color=BLACK, ms=13, mew=2)


def _thresholds(rows: Sequence[AtThreshold], tolerance: float, width: float) -> str:
    """Average effects at other thresholds, a line for each axis."""
    with mpl.rc_context(LOOK | {"axes.spines.left": True}):
        axes = list(dict.fromkeys(row.axis for row in rows))
        columns = len(axes) if width >= WIDE else 1
        height = 2.9 + 0.2 * len(axes) / columns  # the legend stands above the data
        figure = Figure(figsize=(width, height), layout="constrained")
        ax = figure.subplots()
        ax.axhspan(-100 * tolerance, 100 * tolerance, color="#E8EEF4", lw=0)
        ax.axhline(0, color=BLACK, lw=0.8)
        for number, (axis, look) in enumerate(zip(axes, SPARE, strict=False)):
            own = [row for row in rows if row.axis == axis and row.estimate is not None]
            x = np.array([row.threshold for row in own]) + 0.008 * (number - (len(axes) - 1) / 2)
            y = 100 * np.array([row.estimate for row in own])
            ends = 100 * np.array([[row.low, row.high] for row in own], dtype=float)
            ax.vlines(x, *ends.reshape(-1, 2).T, color=look.colour, lw=1.4)
            ax.plot(x, y, look.marker, color=look.colour, ls="-", lw=1, label=spaced(axis))
        ax.set(xlabel="threshold of the score", ylabel="change of the\nerror rate (points)")
        ax.set_xticks(sorted({row.threshold for row in rows}))
        figure.legend(frameon=False, fontsize=9, ncols=columns, loc="outside upper left")
        return _svg(figure)


def _svg(figure: Figure) -> str:
    """The figure without the head of a file, so that it can stand in a page."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    content = text.getvalue()
    return content[content.index("<svg") :]


def _figures(report: Report, rows: Sequence[Row], apart: Sequence[Row]) -> dict[str, Markup]:
    """Every figure twice, of which the page shows one by its width."""

    def drawn(rows: Sequence[Row], what: str) -> Callable[[float], str]:
        names = [
            f"{row.group}: {row.measure.split()[0]}"
            if isinstance(row, Disparity)
            else f"{spaced(row.axis)}: {_place(row, report)}"
            for row in rows
        ]
        return lambda width: forest(rows, names, report.tolerance, width, what)

    draw = {"forest": drawn(rows, "change of the error rate (points)")}
    if apart:
        draw["apart"] = drawn(apart, "change of the share without an answer (points)")
    if report.thresholds:
        draw["thresholds"] = lambda width: _thresholds(report.thresholds, report.tolerance, width)
    numbers, sizes = count(1), {"wide": WIDE, "narrow": NARROW}
    return {
        name: Markup(
            "".join(
                f'<div class="{size}">{_own_ids(figure(width), next(numbers))}</div>'
                for size, width in sizes.items()
            )
        )
        for name, figure in draw.items()
    }


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


def _by_axis(report: Report) -> list[dict[str, Any]]:
    """Comparisons for the first page: axes and rows in the order of their verdicts, worst first."""
    groups: dict[str, list[Any]] = {}
    for row in report.judged:
        groups.setdefault(row.measure if isinstance(row, Disparity) else row.axis, []).append(row)
    found = []
    for name, rows in groups.items():
        ordered = sorted(rows, key=_urgent)
        counts = Counter(row.verdict for row in rows)
        largest = _largest([row for row in ordered if row.estimate is not None])
        found.append(
            {
                "of": name,
                "rows": ordered,
                "counts": [(one, counts[one]) for one in ORDER if counts[one]],
                "largest": largest,
                "place": largest and _place(largest, report),
            }
        )
    return sorted(found, key=lambda axis: _urgent(axis["rows"][0]))


def _place(row: Row, report: Report) -> str:
    """What a comparison of an axis or a rate is about."""
    if isinstance(row, Disparity):
        return row.group
    if _is_in(row, report.no_answer):
        return "having no answer"
    return row.cell if row.held else "on average"


def _urgent(row: Any) -> tuple[int, bool, float]:
    """Key by which what asks for action comes first, and of that what is over all faces."""
    return ORDER.index(row.verdict), bool(getattr(row, "held", ())), -abs(row.estimate or 0)


def _is_in(row: Any, rows: Sequence[Any]) -> bool:
    """Whether a row is one of these; two equal ones can stand in two families."""
    return any(row is one for one in rows)


def _largest(rows: Sequence[Any]) -> Any:
    return max(rows, key=lambda row: abs(row.estimate or 0), default=None)


def _worst(report: Report) -> Row | None:
    """The comparison beyond the tolerance to ask about first.

    A group that fares worse than the reference is more urgent than one that fares better.
    """
    beyond = [row for row in report.judged if row.verdict == EXCEEDS]
    worse = [row for row in beyond if (row.estimate or 0) > 0]
    return _largest(worse if report.kind == "verification" and worse else beyond)


def _held(rows: Sequence[Effect], tolerance: float) -> dict[str, Any]:
    """How many intervals hold the truth, and by verdict how often it is beyond the tolerance."""
    known = [row for row in rows if row.truth is not None and row.low is not None]
    beyond = []
    for verdict in (EXCEEDS, INCONCLUSIVE, WITHIN):
        own = [row for row in known if row.verdict == verdict]
        # What was found beyond the tolerance is confirmed by a truth on the same side only.
        true = [
            row
            for row in own
            if abs(row.truth) > tolerance and (verdict != EXCEEDS or row.truth * row.estimate > 0)
        ]
        beyond += [(verdict, len(true), len(own))] * bool(own)
    return {
        "n": len(known),
        "held": sum(row.low <= row.truth <= row.high for row in known),
        "se": max((row.truth_se or 0 for row in known), default=0),
        "beyond": beyond,
    }
