"""The look of the book, charts of one table (estimates, distributions, a matrix) and galleries.

Colours are those of Okabe and Ito, told apart by colour-blind readers; every role also has its
own marker and hatch, so that each figure reads in grey. Without an `ax` charts are figures of their
own, as wide as the page.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from IPython import get_ipython
from IPython.core.pylabtools import print_figure
from matplotlib import rc_params_from_file
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike

# The colours of Okabe and Ito, as hexadecimal RGB.
BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#777777"  # not of theirs, for marks that are not to stand out

WIDTH = 7.0
"""Inches: the width of the text column; at this width no text is smaller than 10 points."""
REFERENCE_LINE_WIDTH = 1
"""Points: lines at a value to compare with, such as no effect, equal rates or the truth."""
INTERVAL_LINE_WIDTH = 1.2
"""Points: intervals in panels, and the lines that join them."""
EVEN = 0.179
"""The relative luminance on which black and white have the same contrast (WCAG 2, 1.4.3)."""
LETTER = 6.2
"""Points of a usual letter of size 10, as they stand above images."""
SHARP = {"dpi": 190, "pil_kwargs": {"quality": 84}}
"""How figures with pictures are printed: twice as fine as a screen, with lines that stay clean."""
_SETTINGS = Path(__file__).with_suffix(".mplstyle")
OUTLINE = 2.5
"""Points: width of the outline of intervals on bars."""
ABOVE = {"loc": "lower center", "bbox_to_anchor": (0.5, 1)}
"""Where the legend of a chart stands."""


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
    "medium skin": Look(SKY, "v", ""),
    "dimmed light": Look(ORANGE, "o", "", filled=False),
    "plane's faces dimmed": Look(ORANGE, "^", "", filled=False),
    "a step at random": Look(GREY, "X", ""),
    "people's skin plane": Look(PURPLE, "D", ""),
    "longer hair": Look(VERMILION, "P", ""),
    "female": Look(PURPLE, "D", ""),
    "male": Look(GREEN, "^", "..."),
    "short": Look(SKY, "v", ""),
    "long": Look(VERMILION, "P", "xxx"),
    "celeba-like": Look(VERMILION, "o", ""),
    "fairface-like": Look(BLUE, "s", "///"),
    "plantskin": Look(PURPLE, "D", "..."),
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
    if "inline" in (backend := plt.get_backend()):
        plt.switch_backend(backend)  # the first figure would, and forget how figures are shown
        # pyplot draws the figures of a cell unseen before the notebook draws them once more. Only
        # the layout is needed twice: the second one starts from the first.
        plt.draw_all = _lay_out_figures
    if shell := get_ipython():
        formatters = shell.display_formatter.formatters
        formatters["text/html"].for_type(pd.DataFrame, _table_as_html)
        # Charts are sharp at any size; a figure with pictures would take megabytes as SVG.
        formatters["image/png"].for_type(Figure, lambda _: None)
        formatters["image/svg+xml"].for_type(Figure, _chart_as_svg)
        formatters["image/jpeg"].for_type(Figure, _pictures_as_jpeg)
    settings = rc_params_from_file(_SETTINGS, use_default_template=False)
    sns.set_theme("notebook", "ticks", _COLOURS, rc=settings)


def _keeps_colours(figure: Figure) -> bool:
    """Whether a figure has pictures, or a scale of colours: turned round for the dark, a scale says
    something else, since its middle is no longer the white that captions speak of.
    """
    return bool(figure.findobj(AxesImage) or figure.findobj(QuadMesh))


def _chart_as_svg(figure: Figure) -> str | None:
    """SVG of a figure whose colours may change; None for another, which is shown as JPEG."""
    if _keeps_colours(figure):
        return None
    for axes in figure.axes:
        _outline_intervals_on_bars(axes)
    # Two decimals of a point are all that is seen. Only attributes are cut, no texts.
    return re.sub('"[^"]*"', _two_decimals, print_figure(figure, "svg"))


def _outline_intervals_on_bars(axes: Axes) -> None:
    """Give intervals on bars a white outline: turned round for the dark, both would be pale."""
    for bars in axes.containers:
        if isinstance(bars, BarContainer) and bars.errorbar:
            _, caps, lines = bars.errorbar
            for line in (*caps, *lines):
                line.set_path_effects([withStroke(linewidth=OUTLINE, foreground="white")])


def _two_decimals(attribute: re.Match) -> str:
    return re.sub(r"(\d\.\d\d)\d+", r"\1", attribute[0])


def _pictures_as_jpeg(figure: Figure) -> bytes | None:
    """JPEG of a figure that keeps its colours; None for another, which is shown as SVG."""
    if not _keeps_colours(figure):
        return None
    return print_figure(figure, "jpeg", **SHARP)


def _table_as_html(table: pd.DataFrame) -> str:
    return table.apply(_without_negative_zero)._repr_html_()


def _without_negative_zero(column: pd.Series) -> pd.Series:
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


def forest(
    table: pd.DataFrame, truth=None, xlabel: str = "risk difference", ax: Axes | None = None
) -> Axes:
    """One 95% interval per cell, around a line at zero.

    Args:
        table: columns estimate, low, high and, if counts are to be shown, n; indexed by cell.
        truth: a Series, the true value of each cell, on the same index; drawn as a diamond.
        xlabel: label of the horizontal axis, in the table's unit.
        ax: where to draw.

    Returns:
        The axes, with the first cell on top.
    """
    ax = ax or plt.figure(figsize=(WIDTH, 1.4 + 0.42 * len(table))).gca()
    y = np.arange(len(table))[::-1]
    ax.axvline(0, color=BLACK, linewidth=REFERENCE_LINE_WIDTH)
    ax.errorbar(
        table["estimate"],
        y,
        xerr=whiskers(table, "estimate"),
        label="estimate, 95% interval",
        **LOOKS["estimate"].mark | {"linestyle": "none", "markersize": 7, "capsize": 4},
    )
    if truth is not None:
        diamonds(ax, truth.reindex(table.index), y)
        ax.legend(**ABOVE, ncol=2)
    names = [cell_name(cell) for cell in table.index]
    if "n" in table:
        names = [f"{name}\nn = {n:,}" for name, n in zip(names, table["n"], strict=True)]
    ax.set_yticks(y, names)
    ax.set(xlabel=xlabel, ylim=(-0.7, len(table) - 0.3))
    ax.grid(axis="y", visible=False)
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
    sns.heatmap(
        matrix.rename(index=spaced, columns=spaced),
        vmin=-limit,
        vmax=limit,
        cmap="PuOr",
        linewidths=1,
        cbar=False,
        annot=True,
        fmt="+z.2f",
        annot_kws={"fontsize": 10},
        ax=ax,
    )
    cells = ax.collections[0]
    empty = np.ma.getmaskarray(cells.get_array()).ravel()
    for text, colour in zip(ax.texts, cells.get_facecolors()[~empty], strict=True):
        readable = BLACK if sns.utils.relative_luminance(colour) > EVEN else "white"
        text.set(color=readable, text=text.get_text().replace("-", "−"))
    ax.tick_params(axis="x", rotation=40, length=0)
    ax.tick_params(axis="y", rotation=0, length=0)
    plt.setp(ax.get_xticklabels(), ha="right", rotation_mode="anchor")
    return ax


def cell_name(key: object) -> str:
    """A row's key, plain or of several levels, in words."""
    levels = key if isinstance(key, tuple) else (key,)
    return ", ".join(map(spaced, levels))


def spaced(name: object) -> str:
    """A name with spaces in place of underscores."""
    return str(name).replace("_", " ")


def whiskers(table: pd.DataFrame, centre: str = "rate", suffix: str = "") -> np.ndarray:
    """Lengths (2, n) below and above; clipped because a Wilson interval may round past its rate."""
    middle = table[centre + suffix]
    below = middle - table["low" + suffix]
    above = table["high" + suffix] - middle
    return np.clip(np.stack([below, above]).astype(float), 0, None)


def diamonds(ax: Axes, truth: pd.Series, places: ArrayLike) -> None:
    """Open diamonds for true values, at heights `places`."""
    look = {"color": VERMILION, "markerfacecolor": "none", "markeredgewidth": 1.8}
    ax.plot(truth, places, "D", **look, markersize=9, label="truth")


# --- images


def gallery(
    images: ArrayLike, ncol: int, titles: Sequence = (), row_labels: Sequence = ()
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
        ValueError: a number of titles or labels that does not fit.
    """
    pixels = as_pixels(images)
    n, height, width = pixels.shape[:3]
    nrow = -(-n // ncol)
    titles = [_in_lines(title, int(72 * WIDTH / ncol / LETTER)) for title in titles]
    if len(titles) not in (0, ncol, n) or len(row_labels) not in (0, nrow):
        raise ValueError(
            f"{len(titles)} titles and {len(row_labels)} row labels do not fit {n} images in "
            f"{nrow} rows of {ncol}"
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
        axis.xaxis.tick_top()
        axis.set_xticks((np.arange(len(above)) + 0.5) * wide - 0.5, above, fontsize=10)
        axis.set_yticks([])
        axis.tick_params(length=0)
        axis.grid(visible=False)
        axis.spines[:].set_visible(False)
    for axis, label in zip(axes.flat, row_labels, strict=False):
        axis.set_ylabel(label, fontsize=11)
    figure.get_layout_engine().set(w_pad=0.01, h_pad=0.02, wspace=0.01, hspace=0.01)
    return figure


def _in_lines(title: str, letters: int) -> str:
    """A title with line breaks between words, so that no line is wider than so many letters."""
    return "\n".join(fill(line, letters, break_long_words=False) for line in title.split("\n"))


def as_pixels(images: ArrayLike) -> np.ndarray:
    """Images as pixels, ready to be shown or encoded.

    Args:
        images: (n, 3, h, w) or one (3, h, w); array or CPU tensor; float in [0, 1] or uint8.

    Returns:
        uint8 (n, h, w, 3).

    Raises:
        ValueError: floats outside [0, 1] by more than rounding.
    """
    batch = np.asarray(images)
    batch = batch[None] if batch.ndim == 3 else batch
    if batch.dtype != np.uint8:
        if not (np.abs(batch - 0.5) <= 0.501).all():
            raise ValueError("expected float images in [0, 1]")
        batch = np.rint(np.clip(batch, 0, 1) * 255).astype(np.uint8)
    return batch.transpose(0, 2, 3, 1)
