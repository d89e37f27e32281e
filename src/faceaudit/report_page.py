"""`report.html`: one file that needs no other, for a manager, an analyst and a printer.

The order is that of the readers: the answer and what it does not say, then tables and figures, then
limits, then the plan and what departed from it. The words stand in `templates`.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
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
from helpers.figures.widgets import encode

MARKS = {
    EXCEEDS: (VERMILION, "s"),
    WITHIN: (BLUE, "o"),
    INCONCLUSIVE: (GREY, "D"),
    NOT_ESTIMABLE: (GREY, "x"),
}
"""Verdict → colour and marker, told apart without colour."""
WIDTH = 5.2
"""Of figures in inches, so that their text can be read on a phone as on paper."""
LOOK = dict.fromkeys((f"axes.spines.{side}" for side in ("top", "right", "left")), False)
LOOK |= {"font.size": 10, "svg.hashsalt": "audit", "svg.fonttype": "path"}
BAND = {"color": "#E8EEF4", "lw": 0}
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
    rank = {axis["of"]: k for k, axis in enumerate(axes)}

    def ordered(rows: Sequence[Row]) -> list[Row]:
        return sorted(rows, key=lambda row: (rank[_subject(row)], *_urgent(row)))

    effects = report.disparities or report.effects
    (task,) = wording.told("task", report)
    return wording.rendered(
        "report.html.j2",
        report=report,
        css=Markup((resources.files("faceaudit") / "templates/report.css").read_text("utf-8")),
        axes=axes,
        rows=ordered(effects),
        averages=sorted(report.averages, key=lambda row: rank[row.axis]),
        shown=wording.shown_as(report.data.get("made_by")),
        figures=_figures(report, ordered([*report.averages, *effects])),
        task=task,
        worst=_worst(report),
        held={"cells": _held(report.effects, report.tolerance)}
        | {"averages": _held(report.averages, report.tolerance)},
        largest_interaction=_largest(report.interactions),
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
    sheet = np.full((step * len(units) - GAP, step * len(cells) - GAP, 3), 255, np.uint8)
    shown = index.assign(position=range(len(index)))[index["unit"].isin(units)]
    for row in shown.drop_duplicates(["unit", *places]).to_dict("records"):
        pixels = np.ascontiguousarray(images[row["position"]].transpose(1, 2, 0))
        picture = Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.LANCZOS)
        top, left = units.index(row["unit"]), cells.index(tuple(row[place] for place in places))
        sheet[step * top :, step * left :][:SIDE, :SIDE] = picture
    columns = [cell_name(axes, dict(zip(axes, cell, strict=True))) for cell in cells]
    alt = f"{len(units)} faces, each in {len(cells)} versions: {'; '.join(columns)}."
    return Sheet(encode(sheet), columns, alt)


# --- figures


def forest(rows: Sequence[Row], names: Sequence[str], tolerance: float, what: str) -> Figure:
    """Estimates with their intervals, one below the other, around the band of the tolerance.

    The thin interval is that of the family, the upright line the truth; `what` changes.
    """
    figure = Figure((WIDTH, 0.5 * len(rows) + 0.75), layout="constrained")
    ax = figure.subplots()
    ax.axvspan(-100 * tolerance, 100 * tolerance, **BAND)
    ax.axvline(0, color=BLACK, lw=0.8)
    numbers = ["estimate", "low", "high", "low_family", "high_family", "truth"]
    table = pd.DataFrame([row.model_dump() for row in rows]).reindex(columns=["verdict", *numbers])
    table[numbers] = 100 * table[numbers].astype(float)
    table["place"] = np.arange(len(rows))[::-1]
    for verdict, mine in table[table["low"].notna()].groupby("verdict"):
        colour, marker = MARKS[verdict]
        ax.hlines(mine["place"], mine["low_family"], mine["high_family"], color=colour, lw=1)
        ax.hlines(mine["place"], mine["low"], mine["high"], color=colour, lw=3.2)
        style = {"color": colour, "ms": 6.5, "mec": "white", "mew": 0.6}
        ax.plot(mine["estimate"], mine["place"], marker, **style)
    ax.plot(table["truth"], table["place"], "|", color=BLACK, ms=13, mew=2)
    at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    for place, name, low in zip(table["place"], names, table["low"], strict=True):
        told = f"{name}: not estimable" if np.isnan(low) else name
        ax.annotate(told, (0, place), xytext=(0, 6), fontsize=9.5, **at)
    ax.set(xlabel=what, yticks=[], ylim=(-0.6, len(rows) - 0.2))
    ax.grid(axis="x", color="#E3E3E3", lw=0.6)
    ax.set_axisbelow(True)
    return figure


def _thresholds(rows: Sequence[AtThreshold], tolerance: float) -> Figure:
    """Average effects at other thresholds, a line for each axis."""
    table = pd.DataFrame([row.model_dump() for row in rows])
    axes, thresholds = table["axis"].unique(), table["threshold"].unique()
    # The legend stands above the data.
    figure = Figure((WIDTH, 2.9 + 0.2 * len(axes)), layout="constrained")
    ax = figure.subplots()
    ax.spines["left"].set_visible(True)
    ax.axhspan(-100 * tolerance, 100 * tolerance, **BAND)
    ax.axhline(0, color=BLACK, lw=0.8)
    for number, (axis, look) in enumerate(zip(axes, SPARE, strict=False)):
        own = table[table["axis"] == axis].set_index("threshold")
        own = 100 * own[["estimate", "low", "high"]].astype(float).dropna()
        x = own.index + 0.008 * (number - (len(axes) - 1) / 2)
        ax.vlines(x, own["low"], own["high"], color=look.colour, lw=1.4)
        ax.plot(x, own["estimate"], f"{look.marker}-", color=look.colour, lw=1, label=spaced(axis))
    ax.set(xlabel="threshold of the score", ylabel="change of the\nerror rate (points)")
    ax.set_xticks(sorted(thresholds))
    figure.legend(frameon=False, fontsize=9, loc="outside upper left")
    return figure


def _figures(report: Report, rows: Sequence[Row]) -> dict[str, Markup]:
    def drawn(rows: Sequence[Row], of: str) -> Figure:
        names = [_name(row, report) for row in rows]
        return forest(rows, names, report.tolerance, f"change of the {of} (points)")

    with mpl.rc_context(LOOK):
        figures = {"forest": drawn(rows, "error rate")}
        if apart := report.failures_to_enrol or report.no_answer:
            figures["apart"] = drawn(apart, "share without an answer")
        if report.thresholds:
            figures["thresholds"] = _thresholds(report.thresholds, report.tolerance)
        return {name: _svg(figure, name) for name, figure in figures.items()}


def _svg(figure: Figure, name: str) -> Markup:
    """The figure as a part of a page, which scales it and says what it is; its ids are its own."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    _, _, content = text.getvalue().partition("<svg")
    content = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{name}-", content)
    return Markup(f'<svg aria-hidden="true"{content}')


# --- what the page says first


def _by_axis(report: Report) -> list[dict[str, Any]]:
    """Comparisons for the first page: axes and rows in the order of their verdicts, worst first."""
    found = []
    for name in dict.fromkeys(map(_subject, report.judged)):
        rows = sorted((row for row in report.judged if _subject(row) == name), key=_urgent)
        counts, largest = Counter(row.verdict for row in rows), _largest(rows)
        about = {"of": name, "rows": rows, "largest": largest}
        about["counts"] = [(one, counts[one]) for one in ORDER if counts[one]]
        found.append(about | {"place": largest and _place(largest, report)})
    return sorted(found, key=lambda axis: _urgent(axis["rows"][0]))


def _subject(row: Row) -> str:
    return row.measure if isinstance(row, Disparity) else row.axis


def _place(row: Row, report: Report) -> str:
    """What a comparison of an axis or a rate is about."""
    if isinstance(row, Disparity):
        return row.group
    if any(row is one for one in report.no_answer):  # an equal one can stand in another family
        return "having no answer"
    return row.cell if row.held else "on average"


def _name(row: Row, report: Report) -> str:
    if isinstance(row, Disparity):
        return f"{row.group}: {row.measure.split()[0]}"
    return f"{spaced(row.axis)}: {_place(row, report)}"


def _urgent(row: Any) -> tuple[int, bool, float]:
    """Key by which what asks for action comes first, and of that what is over all faces."""
    return ORDER.index(row.verdict), bool(getattr(row, "held", ())), -abs(row.estimate or 0)


def _largest(rows: Sequence[Any]) -> Any:
    known = [row for row in rows if row.estimate is not None]
    return max(known, key=lambda row: abs(row.estimate), default=None)


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
    beyond = [row for row in known if abs(row.truth) > tolerance]
    # What was found beyond the tolerance is confirmed by a truth on the same side only.
    true = [row for row in beyond if row.verdict != EXCEEDS or row.truth * row.estimate > 0]
    n, own = (Counter(row.verdict for row in some) for some in (known, true))
    return {
        "n": len(known),
        "held": sum(row.low <= row.truth <= row.high for row in known),
        "se": max((row.truth_se or 0 for row in known), default=0),
        "beyond": [(one, own[one], n[one]) for one in (EXCEEDS, INCONCLUSIVE, WITHIN) if n[one]],
    }
