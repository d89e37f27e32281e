"""The charts that chapters share: rates, intervals, pairs, distributions, matrices, images.

Tables come in as `helpers.errors.stratified_errors` and the effect estimators leave them: one row
per cell, with counts and 95 % intervals. Where no `ax` is given, a chart is a figure of its own, as
wide as the page.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath
from numpy.typing import ArrayLike

from helpers.figures.looks import BLACK, GREY, LOOKS, SPARE, WIDTH, as_pixels, look

EVEN = 0.179
"""The relative luminance on which black and white have the same contrast (WCAG 2, 1.4.3)."""
TITLE = 10
"""Size of the letters above images, in points."""
_ABOVE = {"loc": "lower center", "bbox_to_anchor": (0.5, 1)}


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

    Raises:
        ValueError: an index of more than two levels.
    """
    if table.index.nlevels > 2:
        raise ValueError(f"bars take one or two groupings, got {list(table.index.names)}")
    ax = ax or plt.figure(figsize=(WIDTH, 4.2)).gca()
    # As plain objects: numbers mapped from categories would be categories again.
    groups, hues = (table.index.get_level_values(level).astype(object) for level in (0, -1))
    ticks, colours = list(groups.unique()), list(hues.unique())
    side_by_side = len(colours) if table.index.nlevels == 2 else 1
    width = 0.8 / side_by_side
    shift = (hues.map(colours.index) - (side_by_side - 1) / 2) * width * (side_by_side > 1)
    places = pd.Series(groups.map(ticks.index) + shift, index=table.index)
    enough = table["n"] >= max(few, 1)
    pale = (table["n"] > 0) & ~enough

    def draw(chosen: np.ndarray, position: int, strength: float, label: str | None = None) -> None:
        rows, one = table[chosen], look(colours[position], position)
        style = {"color": one.colour, "hatch": one.hatch, "edgecolor": "white", "alpha": strength}
        style["error_kw"] = {"alpha": strength, "ecolor": BLACK, "capsize": 4}
        whiskers = _whiskers(rows, "rate")
        ax.bar(places[chosen], rows["rate"], 0.92 * width, yerr=whiskers, label=label, **style)

    for position, name in enumerate(colours):
        draw(enough & (hues == name), position, 1.0, str(name))
    limits = ax.dataLim.frozen()
    for position, name in enumerate(colours):
        if (pale & (hues == name)).any():
            draw(pale & (hues == name), position, 0.35)
    if enough.any():
        ax.dataLim.set(limits)
    crowded = _counts_below(ax, table["n"], places, len(ticks), width)
    ax.set_xticks(range(len(ticks)), [str(group) for group in ticks])
    ax.grid(axis="x", visible=False)
    counted = " (n under each bar)" if crowded else ""
    ax.set(ylabel=ylabel, xlabel=_spaced(table.index.names[0] or "") + counted)
    ax.set_xlim(-0.55, len(ticks) - 0.45)
    ax.set_ylim(0, None, auto=True)  # an axis that shares this one may need more room
    ax.yaxis.set_major_formatter(_percent)
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
    return crowded


def forest(
    table: pd.DataFrame,
    truth: pd.Series | None = None,
    xlabel: str = "risk difference",
    ax: Axes | None = None,
) -> Axes:
    """One 95 % interval per cell, around a line at zero.

    Args:
        table: columns estimate, low, high and, if counts are to be shown, n; indexed by cell.
        truth: the true value of each cell, on the same index; drawn as a diamond.
        xlabel: label of the horizontal axis, in the table's unit.
        ax: where to draw.

    Returns:
        The axes, with the first cell on top.
    """
    ax = ax or plt.figure(figsize=(WIDTH, 1.4 + 0.42 * len(table))).gca()
    y, mark = np.arange(len(table))[::-1], LOOKS["estimate"]
    ax.axvline(0, color=BLACK, linewidth=1)
    style = {"fmt": mark.marker, "color": mark.colour, "capsize": 4, "markersize": 7}
    style |= {"xerr": _whiskers(table, "estimate"), "label": "estimate, 95 % interval"}
    ax.errorbar(table["estimate"], y, **style)
    if truth is not None:
        mark = LOOKS["truth"]
        style = {"color": mark.colour, "markerfacecolor": "none", "markeredgewidth": 2}
        style |= {"markersize": 9, "label": "truth"}
        ax.plot(truth.reindex(table.index), y, mark.marker, **style)
        ax.legend(**_ABOVE, ncol=2)
    names = [_cell(cell) for cell in table.index]
    if "n" in table:
        names = [f"{name}\nn = {n:,}" for name, n in zip(names, table["n"], strict=True)]
    ax.set_yticks(y, names)
    ax.set(xlabel=xlabel, ylim=(-0.7, len(table) - 0.3))
    ax.grid(axis="y", visible=False)
    return ax


def matched_scatter(pairs: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Error rates of groups that differ in one attribute, against each other (transects, Fig 14).

    Args:
        pairs: as `helpers.errors.matched_groups` leaves them: one row per group, the two levels
            in first and second, and n, rate, low, high with the suffixes _first and _second.
            Eight groups at most are told apart.
        ax: where to draw.

    Returns:
        The axes, with one scale both ways and a dashed line where rates are equal.

    Raises:
        ValueError: more than one pair of levels.
    """
    levels = pairs[["first", "second"]].drop_duplicates()
    if len(levels) != 1:
        raise ValueError(f"one pair of levels fits on the two axes, got {len(levels)}")
    ax = ax or plt.figure(figsize=(WIDTH, 6)).gca()
    top = 1.05 * pairs[["high_first", "high_second"]].max(axis=None)
    ax.plot([0, top], [0, top], color=GREY, linestyle="--", linewidth=1)
    for position, (group, n, other) in enumerate(pairs[["n_first", "n_second"]].itertuples()):
        row, one = pairs.iloc[[position]], SPARE[position % len(SPARE)]
        whiskers = (_whiskers(row, f"rate{end}", end) for end in ("_first", "_second"))
        style = dict(zip(("xerr", "yerr"), whiskers, strict=True))
        style |= {"fmt": one.marker, "color": one.colour, "markersize": 8, "elinewidth": 1}
        # A mark at a rate of 0 stands on the axis, which would hide half of it.
        style |= {"clip_on": False, "zorder": 3}
        label = f"{_cell(group)}, n = {n:,} against {other:,}"
        ax.errorbar(row["rate_first"], row["rate_second"], label=label, **style)
    ax.set(xlim=(0, top), ylim=(0, top), aspect="equal")
    first, second = levels.iloc[0]
    ax.set(xlabel=f"error rate, {first}", ylabel=f"error rate, {second}")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(_percent)
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
    how = {"split": True, "inner": "quart", "cut": 0, "density_norm": "width"}
    how |= {"linewidth": 1, "saturation": 1, "legend": "full"}
    palette = {name: one.colour for name, one in looks.items()}
    sns.violinplot(frame, **what, **how, palette=palette, ax=ax)
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
    look = {"vmin": -limit, "vmax": limit, "cmap": "PuOr", "linewidths": 1, "cbar": False}
    named = matrix.rename(index=_spaced, columns=_spaced)
    sns.heatmap(named, annot=True, fmt="+z.2f", annot_kws={"fontsize": 10}, ax=ax, **look)
    cells = ax.collections[0]
    shown = cells.get_facecolors()[~np.ma.getmaskarray(cells.get_array()).ravel()]
    for text, colour in zip(ax.texts, shown, strict=True):
        bright = sns.utils.relative_luminance(colour) > EVEN
        text.set_color(BLACK if bright else "white")
        text.set_text(text.get_text().replace("-", "−"))
    ax.tick_params(axis="x", rotation=40, length=0)
    ax.tick_params(axis="y", rotation=0, length=0)
    plt.setp(ax.get_xticklabels(), ha="right", rotation_mode="anchor")
    return ax


def gallery(
    images: ArrayLike,
    ncol: int,
    titles: Sequence[str] | None = None,
    row_labels: Sequence[str] | None = None,
) -> Figure:
    """Images in rows, as wide as the page.

    Args:
        images: (n, 3, h, w), float in [0, 1] or uint8.
        ncol: images in a row; the last row may be shorter.
        titles: one above each image, or, when there are `ncol` of them, one above each column;
            a line that is wider than its image goes on in the next.
        row_labels: one at the left of each row.

    Returns:
        A figure with one axes per row.

    Raises:
        ValueError: no images, or a number of titles or labels that fits nothing.
    """
    pixels = as_pixels(images)
    n, height, width = pixels.shape[:3]
    if n == 0:
        raise ValueError("a gallery needs at least one image")
    nrow = -(-n // ncol)
    titles = [_in_lines(title, 72 * WIDTH / ncol) for title in ([] if titles is None else titles)]
    row_labels = [] if row_labels is None else list(row_labels)
    if len(titles) not in (0, ncol, n) or len(row_labels) not in (0, nrow):
        raise ValueError(
            f"{n} images in {nrow} rows of {ncol} take {ncol} or {n} titles and {nrow} row "
            f"labels, got {len(titles)} and {len(row_labels)}"
        )
    lines = max((title.count("\n") + 1 for title in titles), default=0)
    titled_rows = nrow if len(titles) > ncol else min(len(titles), 1)
    tall = nrow * WIDTH / ncol * height / width + 0.22 * lines * titled_rows
    figure, axes = plt.subplots(nrow, 1, figsize=(WIDTH, tall), squeeze=False)
    # A row is one picture: axes of their own for many small images take seconds to draw.
    gap = -(-width // 100)
    wide = width + 2 * gap
    rows = np.pad(pixels, ((0, -n % ncol), (0, 0), (gap, gap), (0, 0)), constant_values=255)
    rows = rows.reshape(nrow, ncol, height, wide, 3).swapaxes(1, 2)
    for number, axis in enumerate(axes.flat):
        axis.imshow(rows[number].reshape(height, ncol * wide, 3))
        above = titles[number * ncol : (number + 1) * ncol]
        centres = (np.arange(len(above)) + 0.5) * wide - 0.5
        axis.xaxis.tick_top()
        axis.set_xticks(centres, above, fontsize=TITLE)
        axis.set_yticks([])
        axis.tick_params(length=0)
        axis.grid(visible=False)
        axis.spines[:].set_visible(False)
    for axis, label in zip(axes.flat, row_labels, strict=False):
        axis.set_ylabel(label, fontsize=11)
    figure.get_layout_engine().set(w_pad=0.01, h_pad=0.02, wspace=0.01, hspace=0.01)
    return figure


def _in_lines(title: str, width: float) -> str:
    """A title with line breaks between words, so that no line is wider than `width` points."""
    lines: list[str] = []
    for given in title.split("\n"):
        lines.append("")
        for word in given.split():
            longer = f"{lines[-1]} {word}".strip()
            fits = TextPath((0, 0), longer, size=TITLE).get_extents().width < 0.97 * width
            if fits or not lines[-1]:
                lines[-1] = longer
            else:
                lines.append(word)
    return "\n".join(lines)


def _whiskers(table: pd.DataFrame, centre: str, suffix: str = "") -> np.ndarray:
    """Lengths (2, n) below and above; clipped because a Wilson interval may round past its rate."""
    below, above = (table[centre] - table["low" + suffix], table["high" + suffix] - table[centre])
    return np.clip(np.stack([below, above]).astype(float), 0, None)


def _cell(key: object) -> str:
    """A row's key, plain or of several levels, as readers should see it."""
    return ", ".join(map(_spaced, key if isinstance(key, tuple) else (key,)))


def _levels(column: pd.Series) -> list:
    """What occurs in a column, in the order of its categories or else as it comes."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return list(column.cat.categories)
    return list(column.drop_duplicates())


def _spaced(name: object) -> str:
    return str(name).replace("_", " ")


def _percent(value: float, _position: int | None = None) -> str:
    """A rate as a tick's label."""
    return f"{100 * value:.3g} %"
