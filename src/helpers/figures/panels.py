"""The look of the book, and its charts: rates, intervals with the truth, pairs, distributions.

Colours are those of Okabe and Ito, told apart by colour-blind readers; every role also has its
own marker and hatch, so that each figure reads in grey.

`intervals` and `rungs` draw panels of a table with a row per mark: columns estimate, low,
high and, where it is known, truth: fractions, which are drawn in points. Marks and panels stand in
the order of the table. The other charts take tables as `helpers.errors.stratified_errors` and the
effect estimators leave them; without an `ax` they are figures of their own, as wide as the page.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from IPython import get_ipython
from matplotlib.axes import Axes
from matplotlib.container import Container
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import ArrayLike
from scipy.stats import norm

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
"""Colours of Okabe and Ito, as hexadecimal RGB."""
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#777777"
"""The other colours, and a grey for what is not to stand out."""

WIDTH = 7.0
"""Inches: the width of the text column; at this width no text is smaller than 10 points."""
DASHED = {"color": BLACK, "linewidth": 1, "linestyle": "--"}
"""The line of a value to compare with."""
ZERO = {"color": GREY, "linewidth": 1, "linestyle": ":"}
"""The line of no effect."""
WORDS = {"fontsize": 10, "color": "#555555", "style": "italic"}
"""What is said in the place of a mark; grey is too pale for words."""
EDGE = {"color": "#DDDDDD", "linewidth": 0.8, "zorder": 0}
"""Lines between named rows or columns."""
Z = norm.ppf(0.975)
"""Standard errors on either side of an estimate in a 95 % interval."""
EVEN = 0.179
"""The relative luminance on which black and white have the same contrast (WCAG 2, 1.4.3)."""
_PERCENT = PercentFormatter(1, symbol=" %")
_ABOVE = {"loc": "lower center", "bbox_to_anchor": (0.5, 1)}


class Look(NamedTuple):
    """How one group is drawn, in colour and without it.

    Attributes:
        colour: hexadecimal RGB.
        marker: of matplotlib's.
        hatch: of matplotlib's, empty for none.
        filled: marks are filled and lines solid; else they are open and dashed.
    """

    colour: str
    marker: str
    hatch: str
    filled: bool = True

    @property
    def mark(self) -> dict[str, object]:
        """Arguments of a line with marks."""
        look = {"color": self.colour, "marker": self.marker, "markeredgecolor": self.colour}
        if self.filled:
            return look | {"markerfacecolor": self.colour, "linestyle": "-"}
        return look | {"markerfacecolor": "white", "linestyle": (0, (3, 1.5))}


# Not blue beside orange, nor purple beside green: those pairs are skin colour and perceived gender,
# which are no part of an ancestry group.
_ANCESTRY = {"african": (VERMILION, "o"), "east asian": (GREEN, "s"), "european": (BLUE, "D")}
LOOKS: Mapping[str, Look] = {
    "light": Look(ORANGE, "o", ""),
    "dark": Look(BLUE, "s", "///"),
    "female": Look(PURPLE, "D", ""),
    "male": Look(GREEN, "^", "..."),
    "short": Look(SKY, "v", ""),
    "long": Look(VERMILION, "P", "xxx"),
    "celeba-like": Look(VERMILION, "o", ""),
    "fairface-like": Look(BLUE, "s", "///"),
    "plantskin": Look(ORANGE, "D", "..."),
    "null": Look(GREY, "X", "xxx"),
    "estimate": Look(BLUE, "o", ""),
    "truth": Look(VERMILION, "D", ""),
    "exceeds": Look(VERMILION, "X", ""),
    "inconclusive": Look(GREY, "o", "", filled=False),
    "within": Look(BLUE, "o", ""),
} | {
    f"{ancestry} {gender}": Look(*look, "", filled=gender == "female")
    for ancestry, look in _ANCESTRY.items()
    for gender in ("female", "male")
}
"""Roles that keep their look through the whole book: name in small letters → `Look`."""

_COLOURS = BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, GREY, BLACK
_HATCHES = "", "///", "...", "xxx", "\\\\\\", "++", "oo", "--"
SPARE = tuple(map(Look, _COLOURS, "os^DvPX*", _HATCHES))
"""Looks for groups that have no role, taken in order."""


def style() -> None:
    """Set the book's look for every figure and table shown from here on.

    A table shows 0.0 where rounding left -0.0.
    """
    if "inline" in plt.get_backend():
        # pyplot draws a cell's figures, which nobody sees, before the notebook draws them to show
        # them. Only the layout is needed twice: the second one starts from the first.
        plt.draw_all = _lay_out_figures
    if shell := get_ipython():
        html = shell.display_formatter.formatters["text/html"]
        html.for_type(
            pd.DataFrame, lambda table: table.apply(_without_negative_zeros)._repr_html_()
        )
    settings = {
        "figure.figsize": (WIDTH, 4.2),
        "figure.dpi": 130,
        "figure.constrained_layout.use": True,
        "axes.titlesize": 13,
        "legend.frameon": False,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#E3E3E3",
        "hatch.linewidth": 0.6,
        "hatch.color": "white",
        "image.interpolation": "lanczos",
    }
    sns.set_theme("notebook", "ticks", _COLOURS, rc=settings)


def _without_negative_zeros(column: pd.Series) -> pd.Series:
    return column + 0.0 if pd.api.types.is_float_dtype(column) else column


def _lay_out_figures() -> None:
    """Lay out the figures that are open, as drawing them does first."""
    for figure in map(plt.figure, plt.get_fignums()):
        if engine := figure.get_layout_engine():
            engine.execute(figure)


def look(name: object, position: int = 0) -> Look:
    """The look of a role, matched without regard to case; otherwise a spare one.

    A name such as "dark skin" or "light-skinned" takes the look of its first word that is a role.

    Args:
        name: of a group, in words; lines after the first do not count.
        position: of the group among those without a role; picks the spare look.

    Returns:
        Colour, marker and hatch.
    """
    text = str(name).lower().partition("\n")[0]
    for word in (text, *re.split(r"[\s,]+", text), *re.split(r"[\s,_-]+", text)):
        if word in LOOKS:
            return LOOKS[word]
    return SPARE[position % len(SPARE)]


# --- charts


def bars(
    table: pd.DataFrame, ylabel: str = "error rate", ax: Axes | None = None, few: int = 0
) -> Axes:
    """Rates with their 95 % intervals, and the counts under each bar.

    Args:
        table: columns n, rate, low, high (see `helpers.errors.stratified_errors`), indexed by
            the group on the horizontal axis or by (group, colour). A cell without images is
            written "n = 0"; it never reads as a rate of zero.
        ylabel: label of the vertical axis.
        ax: where to draw.
        few: bars of fewer images are pale, and the axis does not stretch to hold them.

    Returns:
        The axes, in per cent.
    """
    ax = ax or plt.figure(figsize=(WIDTH, 4.2)).gca()
    # As plain objects: numbers mapped from categories would be categories again.
    groups, hues = (table.index.get_level_values(level).astype(object) for level in (0, -1))
    ticks, colours = list(groups.unique()), list(hues.unique())
    side_by_side = len(colours) if table.index.nlevels == 2 else 1
    width = 0.8 / side_by_side
    shift = (hues.map(colours.index) - (side_by_side - 1) / 2) * width * (side_by_side > 1)
    places = pd.Series(groups.map(ticks.index) + shift, index=table.index)
    enough = table["n"] >= max(few, 1)
    for strength, chosen in ((1.0, enough), (0.35, (table["n"] > 0) & ~enough)):
        limits = ax.dataLim.frozen()
        for position, name in enumerate(colours):
            here, one = chosen & (hues == name), look(name, position)
            how = {"color": one.colour, "hatch": one.hatch, "edgecolor": "white", "alpha": strength}
            how["error_kw"] = {"alpha": strength, "ecolor": BLACK, "capsize": 4}
            how |= {"label": str(name) if strength == 1 else None, "yerr": _whiskers(table[here])}
            ax.bar(places[here], table.loc[here, "rate"], 0.92 * width, **how)
        if strength < 1 and enough.any():
            ax.dataLim.set(limits)
    crowded = _counts_below(ax, table["n"], places, len(ticks), width)
    ax.set_xticks(range(len(ticks)), [str(group) for group in ticks])
    ax.grid(axis="x", visible=False)
    named = _spaced(table.index.names[0] or "") + " (n under each bar)" * crowded
    ax.set(ylabel=ylabel, xlabel=named, xlim=(-0.55, len(ticks) - 0.45))
    ax.set_ylim(0, None, auto=True)  # an axis that shares this one may need more room
    ax.yaxis.set_major_formatter(_PERCENT)
    if side_by_side > 1:
        ax.legend(**_ABOVE, ncol=side_by_side)
    return ax


def _counts_below(ax: Axes, n: pd.Series, places: pd.Series, ticks: int, width: float) -> bool:
    """Write the counts under the bars; whether there is no room for the letter n."""
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


def forest(
    table: pd.DataFrame, truth=None, xlabel: str = "risk difference", ax: Axes | None = None
) -> Axes:
    """One 95 % interval per cell, around a line at zero.

    Args:
        table: columns estimate, low, high and, if counts are to be shown, n; indexed by cell.
        truth: a Series, the true value of each cell, on the same index; drawn as a diamond.
        xlabel: label of the horizontal axis, in the table's unit.
        ax: where to draw.

    Returns:
        The axes, with the first cell on top.
    """
    ax = ax or plt.figure(figsize=(WIDTH, 1.4 + 0.42 * len(table))).gca()
    y, label = np.arange(len(table))[::-1], "estimate, 95 % interval"
    ax.axvline(0, color=BLACK, linewidth=1)
    shown = table[["estimate", "low", "high"]].astype(float) / 100  # drawn in the table's unit
    lying(ax, y, shown, LOOKS["estimate"], label, capsize=4, markersize=7, elinewidth=None)
    if truth is not None:
        _diamonds(ax, truth.reindex(table.index), y)
        ax.legend(**_ABOVE, ncol=2)
    names = [_cell(cell) for cell in table.index]
    if "n" in table:
        names = [f"{name}\nn = {n:,}" for name, n in zip(names, table["n"], strict=True)]
    ax.set_yticks(y, names)
    ax.set(xlabel=xlabel, ylim=(-0.7, len(table) - 0.3))
    ax.grid(axis="y", visible=False)
    return ax


def matched_scatter(pairs: pd.DataFrame) -> Axes:
    """Error rates of groups that differ in one attribute, against each other (transects, Fig 14).

    Args:
        pairs: as `helpers.errors.matched_groups` leaves them for one pair of levels: one row per
            group, the two levels in first and second, and n, rate, low, high with the suffixes
            _first and _second. Eight groups at most are told apart.

    Returns:
        The axes, with one scale both ways and a dashed line where rates are equal.
    """
    ax = plt.figure(figsize=(WIDTH, 6)).gca()
    top = 1.05 * pairs[["high_first", "high_second"]].max(axis=None)
    ax.plot([0, top], [0, top], color=GREY, linestyle="--", linewidth=1)
    for position, (group, n, other) in enumerate(pairs[["n_first", "n_second"]].itertuples()):
        row, how = pairs.iloc[[position]], SPARE[position].mark | {"linestyle": "none"}
        xerr, yerr = (_whiskers(row, "rate", end) for end in ("_first", "_second"))
        # A mark at a rate of 0 stands on the axis, which would hide half of it.
        how |= {"markersize": 8, "elinewidth": 1, "clip_on": False, "zorder": 3}
        how["label"] = f"{_cell(group)}, n = {n:,} against {other:,}"
        ax.errorbar(row["rate_first"], row["rate_second"], yerr, xerr, **how)
    ax.set(xlim=(0, top), ylim=(0, top), aspect="equal")
    for axis, side in ((ax.xaxis, "first"), (ax.yaxis, "second")):
        axis.set_label_text(f"error rate, {pairs[side].iloc[0]}")
        axis.set_major_formatter(_PERCENT)
    ax.figure.legend(loc="outside lower center", ncol=1 if len(pairs) < 4 else 2)
    return ax


def violins(frame: pd.DataFrame, value: str, by: str, hue: str, ax: Axes | None = None) -> Axes:
    """Distribution of one column by group, with quartiles and the counts under each group.

    Args:
        frame: one row per image.
        value: column of the vertical axis.
        by: column of the groups; categories keep their order.
        hue: a column with two levels; they are drawn as the halves of each violin.
        ax: where to draw.

    Returns:
        The axes, with the two levels in a legend above.
    """
    ax = ax or plt.figure(figsize=(WIDTH, 4.2)).gca()
    order, hues = _levels(frame[by]), _levels(frame[hue])
    looks = {name: look(name, position) for position, name in enumerate(hues)}
    what = {"x": by, "y": value, "hue": hue, "order": order, "hue_order": hues}
    how = {"split": True, "inner": "quart", "cut": 0, "density_norm": "width", "legend": "full"}
    how["palette"] = {name: one.colour for name, one in looks.items()}
    sns.violinplot(frame, **what, **how, linewidth=1, saturation=1, ax=ax)
    counts = frame[by].value_counts()
    ax.set_xticks(range(len(order)), [f"{name}\nn = {counts[name]:,}" for name in order])
    ax.set(xlabel="", ylabel=value.replace("_", " "))
    ax.grid(axis="x", visible=False)
    for position, body in enumerate(c for c in ax.collections if len(c.get_paths())):
        body.set_hatch(looks[hues[position % len(hues)]].hatch)
    for handle, name in zip(ax.get_legend().get_patches(), hues, strict=True):
        handle.set_hatch(looks[name].hatch)
    sns.move_legend(ax, **_ABOVE, ncol=len(hues), title=None)
    return ax


def heatmap(matrix: pd.DataFrame, limit: float = 1.0, ax: Axes | None = None) -> Axes:
    """A signed matrix (cosines, leakage) with every value printed, white at zero.

    Args:
        matrix: rows and columns carry their names; NaN cells stay empty.
        limit: the value of full colour.
        ax: where to draw; by default a new figure as tall as the matrix needs.

    Returns:
        The axes.
    """
    ax = ax or plt.figure(figsize=(WIDTH, min(0.75 * len(matrix) + 1.2, 6.5))).gca()
    how = {"vmin": -limit, "vmax": limit, "cmap": "PuOr", "linewidths": 1, "cbar": False}
    named = matrix.rename(index=_spaced, columns=_spaced)
    sns.heatmap(named, annot=True, fmt="+z.2f", annot_kws={"fontsize": 10}, ax=ax, **how)
    cells = ax.collections[0]
    shown = cells.get_facecolors()[~np.ma.getmaskarray(cells.get_array()).ravel()]
    for text, colour in zip(ax.texts, shown, strict=True):
        readable = BLACK if sns.utils.relative_luminance(colour) > EVEN else "white"
        text.set(color=readable, text=text.get_text().replace("-", "−"))
    ax.tick_params(axis="x", rotation=40, length=0)
    ax.tick_params(axis="y", rotation=0, length=0)
    plt.setp(ax.get_xticklabels(), ha="right", rotation_mode="anchor")
    return ax


def _cell(key: object) -> str:
    """A row's key, plain or of several levels, as readers should see it."""
    return ", ".join(map(_spaced, key if isinstance(key, tuple) else (key,)))


def _levels(column: pd.Series) -> list:
    """What occurs in a column, in the order of its categories or else as it comes."""
    categories = isinstance(column.dtype, pd.CategoricalDtype)
    return list(column.cat.categories if categories else column.unique())


def _spaced(name: object) -> str:
    return str(name).replace("_", " ")


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
        table: see above. Where there is no estimate, a column reason is told in its place.
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
    names, kinds = list(table[rows].unique()), list(table[marks].unique())
    across = across or len(groups)
    size = WIDTH, height or 1.1 + len(names) * (0.14 + 0.13 * len(kinds))
    grid = {"sharex": shared, "sharey": True, "squeeze": False}
    figure, axes = plt.subplots(-(-len(groups) // across), across, figsize=size, **grid)
    for ax, (title, part) in zip(axes.flat, groups, strict=True):
        known = part[part["estimate"].notna()]
        drawn = [kind for kind in kinds if kind in set(known[marks])]
        shifts = np.linspace(-0.28, 0.28, len(drawn)) if known[rows].duplicated().any() else [0.0]
        for kind, shift in zip(drawn, np.resize(shifts, len(drawn)), strict=True):
            mine = known[known[marks] == kind]
            places = mine[rows].map(names.index) + shift
            lying(ax, places, mine, look(kind, kinds.index(kind)), kind)
        if "truth" in table:
            truth = part.groupby(rows, sort=False)["truth"].first().reindex(names)
            _diamonds(ax, 100 * truth, np.arange(len(truth)))
            if np.ptp(truth) == 0:
                ax.axvline(100 * truth.iloc[0], color=VERMILION, linewidth=1, zorder=0)
        for _, row in part[part["estimate"].isna()].iterrows() if "reason" in part else ():
            at = {"transform": ax.get_yaxis_transform(), "va": "center", "backgroundcolor": "white"}
            ax.text(0.03, names.index(row[rows]), row["reason"], **at, **WORDS)
        if shared:
            ax.axvline(0, **ZERO)
        ax.set_title(title)
        name_rows(ax, names)
    figure.supxlabel(xlabel, fontsize=12)
    return figure if marks == rows else legend_above(figure, [*kinds, "truth"])


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
    how = {"linestyle": "none", "linewidth": None, "markersize": 6, "capsize": 2}
    for ax, (label, part) in zip(axes.flat, groups, strict=True):
        names = list(part[ticks].unique())
        for kind, shift, one in zip(kinds, shifts, SPARE, strict=False):
            mine = part[part[marks] == kind]
            upright(ax, mine[ticks].map(names.index) + shift, mine, one, kind, **how)
        known, places = part.drop_duplicates(ticks), np.arange(len(names))
        truth, reach = 100 * known["truth"], 100 * Z * known["truth_se"]
        ax.bar(places, 2 * reach, 0.84, truth - reach, color="#BBBBBB", zorder=0)
        ax.hlines(truth, places - 0.42, places + 0.42, color=BLACK, linewidth=1, zorder=1)
        ax.axhline(0, **ZERO)
        ax.set_xticks(range(len(names)), [name.replace(", ", "\n") for name in names])
        ax.set_ylabel(f"{label} (points)")
    return legend_above(figure, columns=len(kinds))


# --- parts of panels


def lying(ax: Axes, y: ArrayLike, table: pd.DataFrame, one: Look, label: str, **how) -> Container:
    """Horizontal intervals at heights `y`, in points."""
    how = one.mark | {"linestyle": "none", "markersize": 5.5, "elinewidth": 1.2} | how
    xerr = 100 * _whiskers(table, "estimate")
    return ax.errorbar(100 * table["estimate"], y, xerr=xerr, label=label, **how)


def upright(ax: Axes, x: ArrayLike, table: pd.DataFrame, one: Look, label: str, **how) -> None:
    """Vertical intervals at places `x`, in points, joined by a line."""
    how = one.mark | {"capsize": 3, "linewidth": 1.2} | how
    yerr = 100 * _whiskers(table, "estimate")
    ax.errorbar(x, 100 * table["estimate"], yerr=yerr, label=label, **how)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Named rows from the top down, with thin lines between them."""
    for edge in range(len(names) + 1):
        ax.axhline(edge - 0.5, **EDGE)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)


def legend_above(figure: Figure, order: Sequence[str] = (), columns: int = 4) -> Figure:
    """The figure with one legend of what its panels show, above them, first as in `order`."""
    handles: dict[str, object] = {}
    for ax in figure.axes:
        handles |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    shown = {name: handles[name] for name in [*order, *handles] if name in handles}
    figure.legend([*shown.values()], [*shown], loc="outside upper center", ncol=columns)
    return figure


def _whiskers(table: pd.DataFrame, centre: str = "rate", suffix: str = "") -> np.ndarray:
    """Lengths (2, n) below and above; clipped because a Wilson interval may round past its rate."""
    middle = table[centre + suffix]
    below, above = middle - table["low" + suffix], table["high" + suffix] - middle
    return np.clip(np.stack([below, above]).astype(float), 0, None)


def _diamonds(ax: Axes, truth: pd.Series, places: ArrayLike) -> None:
    look = {"color": VERMILION, "markerfacecolor": "none", "markeredgewidth": 1.8}
    ax.plot(truth, places, "D", **look, markersize=9, label="truth")
