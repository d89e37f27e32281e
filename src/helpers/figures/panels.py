"""Estimates with their intervals, and the truth, in panels.

A table has a row per mark, with the columns estimate, low and high and, where it is known, truth:
fractions, which are drawn in points. Marks and panels stand in the order of the table.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy.stats import norm

from helpers.figures.looks import BLACK, GREY, LOOKS, SPARE, WIDTH, Look, look

DASHED = {"color": BLACK, "linewidth": 1, "linestyle": "--"}
"""The line of a value to compare with."""
ZERO = {"color": GREY, "linewidth": 1, "linestyle": ":"}
"""The line of no effect."""
Z = norm.ppf(0.975)
"""Standard errors on either side of an estimate in a 95 % interval."""


def intervals(
    table: pd.DataFrame,
    rows: str,
    marks: str,
    panels: str | None = None,
    xlabel: str = "",
    *,
    across: int | None = None,
    height: float | None = None,
    shared: bool = True,
) -> Figure:
    """Horizontal intervals in named rows, several marks in a row; a diamond for the truth of a row.

    Args:
        table: see above.
        rows: column that names the rows.
        marks: column that tells the marks of a row apart, and names them.
        panels: column that tells the panels apart, or None for one panel.
        xlabel: label below all panels.
        across: panels beside each other, by default all.
        height: of the figure in inches, by default what the marks need.
        shared: panels share their scale, and have a line at zero.

    Returns:
        A figure as wide as the page.
    """
    groups = list(table.groupby(panels, sort=False)) if panels else [("", table)]
    names, kinds = list(table[rows].unique()), list(table[marks].unique())
    across = across or len(groups)
    size = WIDTH, height or 1.1 + len(names) * (0.14 + 0.13 * len(kinds))
    grid = {"sharex": shared, "sharey": True, "squeeze": False}
    figure, axes = plt.subplots(-(-len(groups) // across), across, figsize=size, **grid)
    for ax, (title, part) in zip(axes.flat, groups, strict=True):
        known = part[part["estimate"].notna()]
        drawn = [kind for kind in kinds if kind in set(known[marks])]
        shifts = np.linspace(-0.28, 0.28, len(drawn)) if len(drawn) > 1 else [0.0]
        for kind, shift in zip(drawn, shifts, strict=False):
            mine = known[known[marks] == kind]
            places = mine[rows].map(names.index) + shift
            lying(ax, places, mine, look(kind, kinds.index(kind)), kind)
        if "truth" in table:
            _diamonds(ax, part.groupby(rows, sort=False)["truth"].first().reindex(names))
        if shared:
            ax.axvline(0, **ZERO)
        ax.set_title(title)
        name_rows(ax, names)
    figure.supxlabel(xlabel, fontsize=12)
    return legend_above(figure, [*kinds, "truth"])


def paths(
    table: pd.DataFrame,
    x: str,
    marks: str,
    panels: str,
    xlabel: str,
    ylabel: str,
    *,
    height: float = 3.4,
    nudge: float = 0.0,
) -> Figure:
    """Upright intervals along a condition, joined by lines, panels side by side.

    Args:
        table: see above; a truth is the same in a whole panel.
        x: column of the condition.
        marks: column that tells the lines of a panel apart; if it is `panels`, there is no legend.
        panels: column that tells the panels apart, and names them.
        xlabel: label below all panels.
        ylabel: label beside them.
        height: of the figure in inches.
        nudge: by which lines are moved apart, so that equal intervals do not cover each other.

    Returns:
        A figure as wide as the page.
    """
    groups = list(table.groupby(panels, sort=False))
    size = WIDTH, height
    figure, (axes,) = plt.subplots(1, len(groups), figsize=size, sharey=True, squeeze=False)
    for ax, (title, part) in zip(axes, groups, strict=True):
        for number, (kind, mine) in enumerate(part.groupby(marks, sort=False)):
            upright(ax, mine[x] + nudge * (number - 1), mine, look(kind, number), str(kind))
        if "truth" in table:
            ax.axhline(100 * part["truth"].iloc[0], **DASHED)
        ax.set_title(title)
    axes[0].set_ylabel(ylabel)
    figure.supxlabel(xlabel, fontsize=12)
    return figure if marks == panels else legend_above(figure)


def rungs(table: pd.DataFrame, ticks: str, marks: str, panels: str) -> Figure:
    """Marks side by side at every tick, over the truth and its 95 % band; a column of panels.

    Args:
        table: see above, with truth_se, the truth's standard error.
        ticks: column that names the ticks; a name has a line break after ", ".
        marks: column that tells the marks at a tick apart.
        panels: column that tells the panels apart, and is their label in front of "(points)".

    Returns:
        A figure as wide as the page.
    """
    groups, kinds = list(table.groupby(panels, sort=False)), list(table[marks].unique())
    size = WIDTH, 2.8 * len(groups)
    figure, axes = plt.subplots(len(groups), 1, figsize=size, squeeze=False)
    shifts = np.linspace(-0.32, 0.32, len(kinds))
    style = {"linestyle": "none", "linewidth": None, "markersize": 6, "capsize": 2}
    for ax, (label, part) in zip(axes.flat, groups, strict=True):
        names = list(part[ticks].unique())
        for kind, shift, one in zip(kinds, shifts, SPARE, strict=False):
            mine = part[part[marks] == kind]
            upright(ax, mine[ticks].map(names.index) + shift, mine, one, kind, **style)
        for place, row in enumerate(part.drop_duplicates(ticks).itertuples()):
            edges, margin = (place - 0.42, place + 0.42), Z * row.truth_se
            band = 100 * (row.truth - margin), 100 * (row.truth + margin)
            ax.fill_between(edges, *band, color="#BBBBBB", zorder=0)
            ax.plot(edges, [100 * row.truth] * 2, color=BLACK, linewidth=1, zorder=1)
        ax.axhline(0, **ZERO)
        ax.set_xticks(range(len(names)), [name.replace(", ", "\n") for name in names])
        ax.set_ylabel(f"{label} (points)")
    return legend_above(figure, columns=len(kinds))


# --- parts of panels


def lying(
    ax: Axes, y: ArrayLike, table: pd.DataFrame, one: Look, label: str, **style: object
) -> None:
    """Horizontal intervals at heights `y`, in points."""
    style = {"fmt": one.marker, "color": one.colour, "markersize": 5.5, "elinewidth": 1.2} | style
    ax.errorbar(100 * table["estimate"], y, xerr=_whiskers(table), label=label, **style)


def upright(
    ax: Axes, x: ArrayLike, table: pd.DataFrame, one: Look, label: str, **style: object
) -> None:
    """Vertical intervals at places `x`, in points, joined by a line."""
    style = {"marker": one.marker, "color": one.colour, "capsize": 3, "linewidth": 1.2} | style
    ax.errorbar(x, 100 * table["estimate"], yerr=_whiskers(table), label=label, **style)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Named rows from the top down, with thin lines between them."""
    for edge in range(len(names) + 1):
        ax.axhline(edge - 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)


def legend_above(figure: Figure, order: Sequence[str] = (), columns: int = 4) -> Figure:
    """The figure with one legend of what its panels show, above them, first as in `order`."""
    handles: dict[str, object] = {}
    for ax in figure.axes:
        handles |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    names = [name for name in dict.fromkeys([*order, *handles]) if name in handles]
    shown = [handles[name] for name in names]
    figure.legend(shown, names, loc="outside upper center", ncol=columns)
    return figure


def _whiskers(table: pd.DataFrame) -> np.ndarray:
    """Lengths (2, n) below and above, in points."""
    below, above = table["estimate"] - table["low"], table["high"] - table["estimate"]
    return 100 * np.stack([below, above]).astype(float).clip(0)


def _diamonds(ax: Axes, truth: pd.Series) -> None:
    """The truth of every row, and a line where it is the same in all."""
    mark = LOOKS["truth"]
    style = {"markerfacecolor": "none", "markeredgewidth": 1.8, "markersize": 9}
    ax.plot(
        100 * truth, np.arange(len(truth)), mark.marker, color=mark.colour, label="truth", **style
    )
    if np.ptp(truth) == 0:
        ax.axvline(100 * truth.iloc[0], color=mark.colour, linewidth=1, zorder=0)
