"""Error rates by group, and panels of estimates, all with their 95% intervals.

`bars` and `matched_scatter` take tables as `faceaudit.effects.error_rates.stratified_errors` leaves
them. `intervals` draws panels of a table with a row per mark: columns estimate, low, high and,
where it is known, truth: fractions, which are drawn in points. Marks and panels stand in the order
of the table.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import Container
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import ArrayLike

from helpers.figures import charts
from helpers.figures.charts import (
    BLACK,
    GREY,
    INTERVAL_LINE_WIDTH,
    REFERENCE_LINE_WIDTH,
    WIDTH,
    Look,
    look,
)

DASHED = {"color": BLACK, "linewidth": REFERENCE_LINE_WIDTH, "linestyle": "--"}
"""The line of a value to compare with."""
ZERO = {"color": GREY, "linewidth": REFERENCE_LINE_WIDTH, "linestyle": ":"}
"""The line of no effect."""
REASON_TEXT = {"fontsize": 10, "color": "#555555", "style": "italic"}
"""The text in the place of a mark that is missing; `GREY` is too pale for text."""
EDGE = {"color": "#DDDDDD", "linewidth": 0.8, "zorder": 0}
"""Lines between named rows or columns."""
_PERCENT = PercentFormatter(1)


# --- rates


def bars(
    table: pd.DataFrame, ylabel: str = "error rate", ax: Axes | None = None, few: int = 0
) -> Axes:
    """Rates with their 95% intervals, and the counts under each bar.

    Args:
        table: columns n, rate, low, high (see `faceaudit.effects.error_rates.stratified_errors`),
            indexed by the group on the horizontal axis or by (group, colour). A cell without images
            is written "n = 0"; it never reads as a rate of zero.
        ylabel: label of the vertical axis.
        ax: where to draw.
        few: bars of fewer images are pale, and the axis does not stretch to hold them.

    Returns:
        The axes, in per cent.
    """
    ax = ax or plt.figure(figsize=(WIDTH, 4.2)).gca()
    # As plain objects: numbers mapped from categories would be categories again.
    groups, hues = (table.index.get_level_values(level).astype(object) for level in (0, -1))
    ticks = list(groups.unique())
    colours = list(hues.unique())
    side_by_side = len(colours) if table.index.nlevels == 2 else 1
    width = 0.8 / side_by_side
    shift = (hues.map(colours.index) - (side_by_side - 1) / 2) * width * (side_by_side > 1)
    places = pd.Series(groups.map(ticks.index) + shift, index=table.index)
    enough = table["n"] >= max(few, 1)
    pale = (table["n"] > 0) & ~enough
    for opacity, rows in ((1.0, enough), (0.35, pale)):
        limits = ax.dataLim.frozen()
        for position, name in enumerate(colours):
            bars_of_group = rows & (hues == name)
            group_look = look(name, position)
            ax.bar(
                places[bars_of_group],
                table.loc[bars_of_group, "rate"],
                0.92 * width,
                yerr=charts.whiskers(table[bars_of_group]),
                color=group_look.colour,
                hatch=group_look.hatch,
                edgecolor="white",
                alpha=opacity,
                error_kw={"alpha": opacity, "ecolor": BLACK, "capsize": 4},
                label=str(name) if opacity == 1 else None,
            )
        if opacity < 1 and enough.any():
            ax.dataLim.set(limits)
    crowded = _counts_below(ax, table["n"], places, len(ticks), width)
    ax.set_xticks(range(len(ticks)), [str(group) for group in ticks])
    ax.grid(axis="x", visible=False)
    xlabel = charts.spaced(table.index.names[0] or "") + " (n under each bar)" * crowded
    ax.set(ylabel=ylabel, xlabel=xlabel, xlim=(-0.55, len(ticks) - 0.45))
    ax.set_ylim(0, None, auto=True)  # an axis that shares this one may need more room
    ax.yaxis.set_major_formatter(_PERCENT)
    if side_by_side > 1:
        ax.legend(**charts.ABOVE, ncol=side_by_side)
    return ax


def _counts_below(ax: Axes, n: pd.Series, places: pd.Series, ticks: int, width: float) -> bool:
    """Write the counts under the bars; True if they stand without "n =", for lack of space."""
    inches = ax.bbox.width / ax.figure.dpi
    crowded = inches / len(n) < 0.8
    counts = [f"{count:,}" if count and crowded else f"n = {count:,}" for count in n]
    counts = [count.replace(" ", "") for count in counts] if len(n) > 10 else counts
    # Neighbouring counts need a digit of 10 points between them; if it is not there, two rows.
    staggered = (max(map(len, counts)) + 1) * 0.085 > inches / ticks * width
    for number, (place, count) in enumerate(zip(places, counts, strict=True)):
        lower = 12 if staggered and number % 2 else 0
        below = {"xytext": (0, -4 - lower), "textcoords": "offset points", "ha": "center"}
        ax.annotate(count, (place, 0), fontsize=10, va="top", **below)
    ax.tick_params(axis="x", length=0, pad=30 if staggered else 18)
    return bool(crowded)


def matched_scatter(pairs: pd.DataFrame) -> Axes:
    """Error rates of groups that differ in one attribute, against each other (transects, Fig 14).

    Args:
        pairs: as `faceaudit.effects.error_rates.matched_groups` leaves them for one pair of levels:
            one row per group, the two levels in first and second, and n, rate, low, high with the
            suffixes _first and _second. Eight groups at most are told apart.

    Returns:
        The axes, with one scale both ways and a dashed line where rates are equal.
    """
    ax = plt.figure(figsize=(WIDTH, 6)).gca()
    top = 1.05 * pairs[["high_first", "high_second"]].max(axis=None)
    ax.plot([0, top], [0, top], color=GREY, linestyle="--", linewidth=REFERENCE_LINE_WIDTH)
    for position, (group, n, other) in enumerate(pairs[["n_first", "n_second"]].itertuples()):
        row = pairs.iloc[[position]]
        style = {"linestyle": "none", "markersize": 8, "elinewidth": 1}
        ax.errorbar(
            row["rate_first"],
            row["rate_second"],
            yerr=charts.whiskers(row, "rate", "_second"),
            xerr=charts.whiskers(row, "rate", "_first"),
            label=f"{charts.cell_name(group)}, n = {n:,} against {other:,}",
            clip_on=False,  # a mark at a rate of 0 stands on the axis, which would hide half of it
            zorder=3,
            **charts.SPARE[position].mark | style,
        )
    ax.set(xlim=(0, top), ylim=(0, top), aspect="equal")
    for axis, side in ((ax.xaxis, "first"), (ax.yaxis, "second")):
        axis.set_label_text(f"error rate, {pairs[side].iloc[0]}")
        axis.set_major_formatter(_PERCENT)
    ax.figure.legend(loc="outside lower center", ncol=1 if len(pairs) < 4 else 2)
    return ax


# --- panels


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
        table: see above. Where there is no estimate, the text in a column reason takes its place.
        rows: column that names the rows.
        marks: column that tells the marks of a row apart, and names them; if it is `rows`, there is
            no legend.
        panels: column that tells the panels apart, or None for one panel.
        xlabel: label below all panels.
        across: panels beside each other, by default all.
        height: of the figure in inches, by default what the marks need.
        shared: panels share their scale, and have a line at zero.

    Returns:
        A figure as wide as the page.
    """
    groups = list(table.groupby(panels, sort=False)) if panels else [("", table)]
    names = list(table[rows].unique())
    kinds = list(table[marks].unique())
    across = across or len(groups)
    size = WIDTH, height or 1.1 + len(names) * (0.14 + 0.13 * len(kinds))
    grid = {"sharex": shared, "sharey": True, "squeeze": False}
    figure, axes = plt.subplots(-(-len(groups) // across), across, figsize=size, **grid)
    for ax, (title, part) in zip(axes.flat, groups, strict=True):
        known = part[part["estimate"].notna()]
        drawn = [kind for kind in kinds if kind in set(known[marks])]
        shifts = np.linspace(-0.28, 0.28, len(drawn)) if known[rows].duplicated().any() else [0.0]
        for kind, shift in zip(drawn, np.resize(shifts, len(drawn)), strict=True):
            estimates = known[known[marks] == kind]
            places = estimates[rows].map(names.index) + shift
            lying(ax, places, estimates, look(kind, kinds.index(kind)), kind)
        if "truth" in table:
            truth = part.groupby(rows, sort=False)["truth"].first().reindex(names)
            charts.diamonds(ax, 100 * truth, np.arange(len(truth)))
            if np.ptp(truth) == 0:
                truth_line = {"color": charts.VERMILION, "linewidth": REFERENCE_LINE_WIDTH}
                ax.axvline(100 * truth.iloc[0], zorder=0, **truth_line)
        if "reason" in part:
            for _, row in part[part["estimate"].isna()].iterrows():
                ax.text(
                    0.03,
                    names.index(row[rows]),
                    row["reason"],
                    transform=ax.get_yaxis_transform(),
                    va="center",
                    backgroundcolor="white",
                    **REASON_TEXT,
                )
        if shared:
            ax.axvline(0, **ZERO)
        ax.set_title(title)
        name_rows(ax, names)
    figure.supxlabel(xlabel, fontsize=12)
    return figure if marks == rows else legend_above(figure, [*kinds, "truth"])


# --- parts of panels


def lying(
    ax: Axes, y: ArrayLike, table: pd.DataFrame, group_look: Look, label: str, **options
) -> Container:
    """Horizontal intervals at heights `y`, in points; options are those of `Axes.errorbar`."""
    style = {"linestyle": "none", "markersize": 5.5, "elinewidth": INTERVAL_LINE_WIDTH}
    xerr = 100 * charts.whiskers(table, "estimate")
    options = group_look.mark | style | options
    return ax.errorbar(100 * table["estimate"], y, xerr=xerr, label=label, **options)


def upright(
    ax: Axes, x: ArrayLike, table: pd.DataFrame, group_look: Look, label: str, **options
) -> None:
    """Vertical intervals at places `x`, in points, joined by a line; options as of `lying`."""
    style = {"capsize": 3, "linewidth": INTERVAL_LINE_WIDTH}
    yerr = 100 * charts.whiskers(table, "estimate")
    options = group_look.mark | style | options
    ax.errorbar(x, 100 * table["estimate"], yerr=yerr, label=label, **options)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Named rows from the top down, with thin lines between them."""
    for edge in range(len(names) + 1):
        ax.axhline(edge - 0.5, **EDGE)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)


def legend_above(figure: Figure, order: Sequence[str] = (), columns: int = 4) -> Figure:
    """The figure with one legend for all its panels, above them.

    Args:
        figure: with labelled marks.
        order: labels that come first; those without a mark are left out.
        columns: of the legend.
    """
    handle_of: dict[str, object] = {}
    for ax in figure.axes:
        handles, labels = ax.get_legend_handles_labels()
        handle_of.update(zip(labels, handles, strict=True))
    first = [label for label in order if label in handle_of]
    labels = list(dict.fromkeys(first + list(handle_of)))
    handles = [handle_of[label] for label in labels]
    figure.legend(handles, labels, loc="outside upper center", ncol=columns)
    return figure
