"""The figures of reports: comparisons with their intervals around the tolerance."""

import io
import textwrap
from collections.abc import Sequence
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
BAND = ("#3A6EA5", 0.18)
GRID = ("#777777", 0.25)
"""Colours that let the page shine through, so that they can be seen on a bright and a dark one."""
WIDTH = 5.2
"""Of figures in inches, so that their text can be read on a phone as on paper."""
ROW_HEIGHT = 0.5
"""Of a comparison with a name of one line, in inches."""
MODEL_ROW_HEIGHT = 0.38
"""Of a line of a forest of several models, which has many."""
AXIS_HEIGHT = 0.75
"""Of the scale below a forest, in inches."""
LETTERS_A_LINE = 58
"""Of a name; a longer one has several lines."""
LINE_OF_NAME = 0.36
"""Height of a line of a name, in heights of a row."""
ZERO_BELOW, ZERO_ABOVE = 0.32, 0.14
"""How far the line at zero reaches below and above a comparison, without touching a name."""
LOOK: dict["RcKeyType", Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "font.size": 10,
    "svg.hashsalt": "audit",
    "svg.fonttype": "path",
}
"""Settings of matplotlib."""


@dataclass(frozen=True)
class Panel:
    """Comparisons that have one unit and one tolerance.

    Attributes:
        entries: names and their comparisons, from top to bottom; a heading has no comparison.
        tolerance: largest difference that does not matter.
        xlabel: label of the axis.
        scale: of the axis: differences of rates are shown in points, numbers as they are.
    """

    entries: Sequence[tuple[str, Comparison | None]]
    tolerance: float
    xlabel: str
    scale: float = 100

    @property
    def names(self) -> list[list[str]]:
        """Lines of every name."""
        return [_lines_of_name(row, name) for name, row in self.entries]


def forest(panels: Sequence[Panel], row_height: float = ROW_HEIGHT) -> Figure:
    """Estimates with their intervals, one below the other, around the band of the tolerance.

    The thick interval is that of the comparison, the thin one that of its family, and the upright
    black line the truth. A short black line is at zero. Upright ticks are the ends of the 90%
    interval, where it alone is within the tolerance.

    Args:
        panels: from top to bottom.
        row_height: of a comparison with a name of one line, in inches.

    Returns:
        The figure.
    """
    inches = [row_height * _heights(panel.names)[0] + AXIS_HEIGHT for panel in panels]
    with mpl.rc_context(LOOK):
        figure = Figure((WIDTH, sum(inches)), layout="constrained")
        column = figure.subplots(len(panels), squeeze=False, height_ratios=inches)[:, 0]
        for ax, panel in zip(column, panels, strict=True):
            _draw_panel(ax, panel)
    return figure


def _draw_panel(ax: Axes, panel: Panel) -> None:
    """Draw comparisons below their names."""
    top, *heights = _heights(panel.names)
    _draw_axis(ax, panel.tolerance, panel.scale, panel.xlabel, top)
    for height, name, (_, row) in zip(heights, panel.names, panel.entries, strict=True):
        if row is None:
            _write_name(ax, height, name, weight="bold")
        else:
            _draw_comparison(ax, height, row, panel.tolerance, panel.scale)
            _write_name(ax, height, name)


def _draw_axis(ax: Axes, tolerance: float, scale: float, xlabel: str, top: float) -> None:
    """Draw the band of the tolerance and the scale of a forest with this upper end."""
    ax.axvspan(-scale * tolerance, scale * tolerance, color=BAND, lw=0)
    ax.set(xlabel=xlabel, yticks=[], ylim=(-0.6, top - 0.2), axisbelow=True)
    ax.grid(axis="x", color=GRID, lw=0.6)


def _lines_of_name(row: Comparison | None, name: str) -> list[str]:
    """The name of a comparison as the figure has it, in lines that are not too long."""
    text = name if row is None or facts.is_comparable(row) else f"{name}: not estimable"
    return textwrap.wrap(text, LETTERS_A_LINE)


def _heights(names: Sequence[Sequence[str]]) -> list[float]:
    """The upper end of a forest, and its comparisons from top to bottom, from 0 on.

    Each has room for the lines of its name above it.
    """
    heights = [0.0]
    for lines in reversed(names):
        heights.append(heights[-1] + 1 + LINE_OF_NAME * (len(lines) - 1))
    return heights[::-1]


def _draw_comparison(
    ax: Axes, height: float, row: Comparison, tolerance: float, scale: float
) -> None:
    """Draw one comparison of a forest at a height, and the line at zero beside it."""
    ax.vlines(0, height - ZERO_BELOW, height + ZERO_ABOVE, color=BLACK, lw=0.8)
    interval = facts.interval_of(row)
    if row.estimate is not None and interval is not None:
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


def _write_name(ax: Axes, height: float, lines: Sequence[str], weight: str = "normal") -> None:
    """Write the name of a comparison above what is drawn of it, or a heading."""
    ax.annotate(
        "\n".join(lines),
        (0, height),
        xycoords=("axes fraction", "data"),
        xytext=(0, 10),
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
