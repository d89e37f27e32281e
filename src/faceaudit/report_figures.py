"""Figures of a report as SVG text, wide for a desk and paper, narrow for a phone."""

from __future__ import annotations

import io
from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from faceaudit.report_schema import AtThreshold, Disparity, Effect
from faceaudit.words import spaced
from helpers.effects.verdicts import EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE, WITHIN
from helpers.figures import BLACK, BLUE, GREY, SPARE, VERMILION

WIDE, NARROW = 7.4, 3.7
"""Inches; text has the same size in both."""
MARKS = {
    EXCEEDS: (VERMILION, "s"),
    WITHIN: (BLUE, "o"),
    INCONCLUSIVE: (GREY, "D"),
    NOT_ESTIMABLE: (GREY, "x"),
}
"""Verdict → colour and marker, told apart without colour."""
LOOK = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "svg.hashsalt": "audit",
    "svg.fonttype": "path",
}
Interval = Effect | Disparity


def forest(
    rows: Sequence[Interval], names: Sequence[str], tolerance: float, width: float, what: str
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

    Example:
        >>> forest([], [], 0.05, NARROW, "points")[:4]
        '<svg'
    """
    narrow = width < WIDE
    with mpl.rc_context(LOOK):
        step = 0.5 if narrow else 0.34
        figure = Figure(figsize=(width, step * max(len(rows), 1) + 0.75), layout="constrained")
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
        ax.set_ylim(-0.6, max(len(rows), 1) - (0.2 if narrow else 0.4))
        ax.set_xlabel(what)
        ax.grid(axis="x", color="#E3E3E3", lw=0.6)
        ax.set_axisbelow(True)
        return _svg(figure)


def thresholds(rows: Sequence[AtThreshold], tolerance: float, width: float) -> str:
    """Average effects at other thresholds, a line for each axis.

    Args:
        rows: effects at thresholds.
        tolerance: half the width of the band.
        width: inches.

    Returns:
        `<svg>` text.

    Example:
        >>> thresholds([], 0.05, NARROW)[:4]
        '<svg'
    """
    with mpl.rc_context(LOOK | {"axes.spines.left": True}):
        axes = list(dict.fromkeys(row.axis for row in rows))
        columns = max(len(axes), 1) if width >= WIDE else 1
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
        if axes:
            figure.legend(frameon=False, fontsize=9, ncols=columns, loc="outside upper left")
        return _svg(figure)


def _interval(ax: mpl.axes.Axes, place: float, row: Interval) -> None:
    """One row: the wide interval of the family, its own interval, the estimate and the truth."""
    if row.estimate is None or row.low is None or row.high is None:
        ax.annotate("not estimable", (0, place), va="center", fontsize=9, color="#555555")
        return
    colour, marker = MARKS[row.verdict]
    if isinstance(row, Effect) and row.low_family is not None and row.high_family is not None:
        ax.hlines(place, 100 * row.low_family, 100 * row.high_family, color=colour, lw=1)
    ax.hlines(place, 100 * row.low, 100 * row.high, color=colour, lw=3.2)
    ax.plot(100 * row.estimate, place, marker, color=colour, ms=6.5, mec="white", mew=0.6)
    if isinstance(row, Effect) and row.truth is not None:
        ax.plot(100 * row.truth, place, "|", color=BLACK, ms=13, mew=2)


def _svg(figure: Figure) -> str:
    """The figure without the head of a file, so that it can stand in a page."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    content = text.getvalue()
    return content[content.index("<svg") :]
