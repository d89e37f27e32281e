"""Figures of what else moved along an axis, and of what it did (chapters 10 and 14)."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from helpers import figures
from helpers.effects.labels import CONTRASTS, Z


def draw_leaks(leaks: pd.DataFrame, most: int) -> Figure:
    """The largest leaks of every axis, sorted by size: a panel per axis, 95 % intervals.

    Args:
        leaks: rows of `helpers.scorecard.side_effects.leaks`, without the axes themselves.
        most: rows of a panel.

    Returns:
        A figure as wide as the page, in SD of the population.

    Example:
        >>> row = {"attribute": "gender", "parameter": "jaw_width", "effect": 0.5, "se": 0.1}
        >>> draw_leaks(pd.DataFrame([row]), 1).axes[0].get_yticklabels()[0].get_text()
        'jaw width'
    """
    axes_of = list(leaks["attribute"].unique())
    size = (figures.WIDTH, 0.8 + 0.27 * most)
    figure, panels = plt.subplots(1, len(axes_of), figsize=size, sharex=True, squeeze=False)
    for ax, axis in zip(panels.flat, axes_of, strict=True):
        rows = leaks[leaks["attribute"] == axis]
        rows = rows.sort_values("effect", key=np.abs, ascending=False, kind="stable").head(most)
        look = figures.LOOKS["estimate"]
        style = {"fmt": look.marker, "color": look.colour, "capsize": 2}
        ax.errorbar(rows["effect"], range(len(rows)), xerr=Z * rows["se"], **style)
        ax.axvline(0, color=figures.GREY, linewidth=1, linestyle=":")
        _named_rows(ax, [name.replace("_", " ") for name in rows["parameter"]])
        ax.set_title(CONTRASTS[axis], fontsize="medium")
    figure.supxlabel("change from low to high (SD of the population)", fontsize=12)
    return figure


def draw_intervals(
    table: pd.DataFrame, rows: str, marks: str, xlabel: str, panels: str | None = None
) -> Figure:
    """Estimates with intervals, in points: named rows, several marks in a row, panels.

    Args:
        table: columns `rows`, `marks`, `panels`, estimate, low, high (fractions).
        rows: column that names the rows.
        marks: column of roles or groups, each with a look of its own.
        xlabel: label of the horizontal axes.
        panels: column that tells panels apart, or None for one panel.

    Returns:
        A figure as wide as the page.

    Example:
        >>> table = pd.DataFrame({"group": ["a", "b"], "model": "plantskin", "estimate": 0.1})
        >>> figure = draw_intervals(table.assign(low=0.0, high=0.2), "group", "model", "points")
        >>> [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
        ['a', 'b']
    """
    groups: Mapping = dict(list(table.groupby(panels, sort=False))) if panels else {"": table}
    names, kinds = list(table[rows].unique()), list(table[marks].unique())
    size = (figures.WIDTH, 1.1 + len(names) * (0.14 + 0.13 * len(kinds)))
    shared = {"sharex": True, "sharey": True, "squeeze": False}
    figure, axes = plt.subplots(1, len(groups), figsize=size, **shared)
    shifts = np.linspace(-0.27, 0.27, len(kinds)) if len(kinds) > 1 else [0.0]
    handles = {}
    for ax, (title, part) in zip(axes.flat, groups.items(), strict=True):
        for number, (kind, shift) in enumerate(zip(kinds, shifts, strict=True)):
            mine = part[part[marks] == kind]
            if mine.empty:
                continue
            value, low, high = (100 * mine[name] for name in ("estimate", "low", "high"))
            look = figures.look(kind, number)
            style = {"fmt": look.marker, "color": look.colour, "markersize": 5, "elinewidth": 1.2}
            places = mine[rows].map(names.index) + shift
            ax.errorbar(value, places, xerr=[value - low, high - value], label=kind, **style)
        ax.axvline(0, color=figures.GREY, linewidth=1, linestyle=":")
        ax.set_title(title)
        _named_rows(ax, names)
        handles |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    figure.supxlabel(xlabel, fontsize=12)
    figure.legend(handles.values(), handles, loc="outside upper center", ncol=4)
    return figure


def draw_warnings(claims: pd.DataFrame, measures: Sequence[str], ylabel: str) -> Figure:
    """What sensitivity measures said of effects, against the part that was really hidden in them.

    Args:
        claims: a row per effect; columns model, part (points, at least zero) and the measures.
        measures: one panel each, on a logarithmic axis; effects without a positive value are left
            out.
        ylabel: of the parts.

    Returns:
        A figure as wide as the page.

    Example:
        >>> claims = pd.DataFrame({"model": ["plantskin", "plantskin"], "part": [1.0, 2.0]})
        >>> figure = draw_warnings(claims.assign(**{"E-value": [2.0, np.nan]}), ["E-value"], "part")
        >>> figure.axes[0].get_xlabel()
        'E-value\\n(n = 1 effects)'
    """
    size = (figures.WIDTH, 3.6)
    figure, axes = plt.subplots(1, len(measures), figsize=size, sharey=True, squeeze=False)
    for ax, measure in zip(axes.flat, measures, strict=True):
        usable = claims[np.isfinite(claims[measure]) & (claims[measure] > 0)]
        for name in claims["model"].unique():
            look, rows = figures.look(name), usable[usable["model"] == name]
            ax.plot(rows[measure], rows["part"], look.marker, color=look.colour, label=name)
        ax.set(xscale="log", xlabel=f"{measure}\n(n = {len(usable)} effects)")
        _few_plain_ticks(ax, usable[measure])
    axes[0, 0].set_ylabel(ylabel)
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncol=4)
    return figure


def _few_plain_ticks(ax: Axes, values: pd.Series) -> None:
    """Plain numbers along a log axis, few enough not to touch."""
    decades = np.log10(values.max() / values.min()) if len(values) else 0
    steps = (1, 2, 5) if decades < 1 else (1, 3) if decades < 2 else (1,)
    ax.xaxis.set_major_locator(LogLocator(subs=steps))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())


def _named_rows(ax: Axes, names: Sequence[str]) -> None:
    """Named rows from the top down, with thin lines between them."""
    for edge in range(1, len(names)):
        ax.axhline(edge - 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)
