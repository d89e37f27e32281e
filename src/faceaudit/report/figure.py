"""The figures of reports: comparisons with their intervals around the tolerance."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from faceaudit.effects.verdicts import EXCEEDS, INCONCLUSIVE, WITHIN
from faceaudit.report import facts
from faceaudit.report.schema import Comparison, Effect

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

BLACK = "#000000"
BLUE = "#0072B2"
GREY = "#777777"
VERMILION = "#D55E00"
MARKS = {EXCEEDS: (VERMILION, "s"), WITHIN: (BLUE, "o"), INCONCLUSIVE: (GREY, "D")}
"""Verdict → colour and marker, which can be told apart without colour."""
WIDTH = 5.2
"""Of figures in inches, so that their text can be read on a phone as on paper."""
ROW_HEIGHT = 0.5
"""Of a line of a forest, in inches."""
MODEL_ROW_HEIGHT = 0.38
"""Of a line of a forest of several models, which has many."""
AXIS_HEIGHT = 0.75
"""Of the scale below a forest, in inches."""
LOOK: dict["RcKeyType", Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "font.size": 10,
    "svg.hashsalt": "audit",
    "svg.fonttype": "path",
}
"""Settings of matplotlib."""


def forest(
    rows: Sequence[Comparison],
    names: Sequence[str],
    tolerance: float,
    xlabel: str,
    scale: float = 100,
) -> Figure:
    """Estimates with their intervals, one below the other, around the band of the tolerance.

    The thick interval is that of the comparison, the thin one that of its family, and the upright
    black line the truth. Upright ticks are the ends of the 90 % interval, where it alone is within
    the tolerance.

    Args:
        rows: the comparisons, from top to bottom.
        names: of the rows.
        tolerance: largest difference that does not matter.
        xlabel: label of the axis.
        scale: of the axis: differences of rates are shown in points, numbers as they are.

    Returns:
        The figure.
    """
    with mpl.rc_context(LOOK):
        figure = Figure((WIDTH, ROW_HEIGHT * len(rows) + AXIS_HEIGHT), layout="constrained")
        ax = figure.subplots()
        _draw_axis(ax, tolerance, scale, xlabel, len(rows))
        heights = range(len(rows))[::-1]
        for height, row, name in zip(heights, rows, names, strict=True):
            _draw_comparison(ax, height, row, name, tolerance, scale)
    return figure


@dataclass(frozen=True)
class Panel:
    """Comparisons of several models that have one unit and one tolerance.

    Attributes:
        groups: heading → the comparisons under it, by the names of their models.
        tolerance: largest difference that does not matter.
        xlabel: label of the axis.
        scale: of the axis, as of `forest`.
    """

    groups: Mapping[str, Mapping[str, Comparison]]
    tolerance: float
    xlabel: str
    scale: float

    @property
    def lines(self) -> int:
        """How many lines it has: one for each heading and each comparison."""
        return len(self.groups) + sum(map(len, self.groups.values()))


def forest_of_models(panels: Sequence[Panel]) -> Figure:
    """Estimates of several models with their intervals, by what is compared.

    Marks, bars and the band are as of `forest`.

    Args:
        panels: from top to bottom.

    Returns:
        The figure.
    """
    inches = [MODEL_ROW_HEIGHT * panel.lines + AXIS_HEIGHT for panel in panels]
    with mpl.rc_context(LOOK):
        figure = Figure((WIDTH, sum(inches)), layout="constrained")
        column = figure.subplots(len(panels), squeeze=False, height_ratios=inches)[:, 0]
        for ax, panel in zip(column, panels, strict=True):
            _draw_panel(ax, panel)
    return figure


def _draw_panel(ax: Axes, panel: Panel) -> None:
    """Draw headings with the comparisons of all models below each."""
    _draw_axis(ax, panel.tolerance, panel.scale, panel.xlabel, panel.lines)
    height = panel.lines
    for heading, rows in panel.groups.items():
        height -= 1
        _write(ax, height, heading, weight="bold")
        for model, row in rows.items():
            height -= 1
            _draw_comparison(ax, height, row, model, panel.tolerance, panel.scale)


def _draw_axis(ax: Axes, tolerance: float, scale: float, xlabel: str, lines: int) -> None:
    """Draw zero, the band of the tolerance and the scale of a forest with so many lines."""
    ax.axvspan(-scale * tolerance, scale * tolerance, color="#E8EEF4", lw=0)
    ax.axvline(0, color=BLACK, lw=0.8)
    ax.set(xlabel=xlabel, yticks=[], ylim=(-0.6, lines - 0.2), axisbelow=True)
    ax.grid(axis="x", color="#E3E3E3", lw=0.6)


def _draw_comparison(
    ax: Axes, height: int, row: Comparison, name: str, tolerance: float, scale: float
) -> None:
    """Draw one comparison of a forest at a height, with its name above."""
    label = f"{name}: not estimable"
    interval = facts.interval_of(row)
    if row.estimate is not None and interval is not None:
        label = name
        colour, marker = MARKS[row.verdict]
        if isinstance(row, Effect) and row.low_family is not None and row.high_family is not None:
            ax.hlines(height, scale * row.low_family, scale * row.high_family, color=colour, lw=1)
        ax.hlines(height, scale * interval.low, scale * interval.high, color=colour, lw=3.2)
        interval90 = facts.interval90_of(row)
        if facts.is_within_by_tests(row, tolerance) and interval90 is not None:
            ends = [scale * interval90.low, scale * interval90.high]
            ax.plot(ends, [height, height], "|", color=colour, ms=11, mew=1.6)
        ax.plot(scale * row.estimate, height, marker, color=colour, ms=6.5, mec="white", mew=0.6)
    if isinstance(row, Effect) and row.truth is not None:
        ax.plot(scale * row.truth, height, "|", color=BLACK, ms=13, mew=2)
    _write(ax, height, label)


def _write(ax: Axes, height: int, text: str, weight: str = "normal") -> None:
    """Write a name or a heading above the line at a height."""
    ax.annotate(
        text,
        (0, height),
        xycoords=("axes fraction", "data"),
        xytext=(0, 6),
        textcoords="offset points",
        fontsize=9.5,
        weight=weight,
        parse_math=False,
    )


def as_svg(figure: Figure) -> str:
    """A figure as an element of a page, which scales it and says what it is."""
    svg = io.StringIO()
    with mpl.rc_context(LOOK):
        # The page shines through, and in the dark turns the colours of the drawing.
        figure.savefig(svg, format="svg", metadata={"Date": None}, transparent=True)
    _, _, drawing = svg.getvalue().partition("<svg")
    return f'<svg aria-hidden="true"{drawing}'
