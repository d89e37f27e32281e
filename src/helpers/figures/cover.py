"""The figure on the book's first page: one classifier, audited by counting and by experiment.

The page `index` draws it from what chapters 1, 5 and 10 leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from helpers import figures

SKIN_CELLS: Mapping[str, str] = {
    "women, short hair": "female, short hair",
    "women, long hair": "female, long hair",
    "men, short hair": "male, short hair",
    "men, long hair": "male, long hair",
}
HAIR_CELLS: Mapping[str, str] = {"women": "female", "men": "male"}
"""Name in the figure -> cell, as `helpers.effects.labels.name_cells` writes it."""


def two_audits(
    counted: pd.DataFrame, effects: pd.DataFrame, portraits: np.ndarray, pairs: np.ndarray
) -> Figure:
    """Errors on portraits as they come, beside matched effects with the truth.

    Args:
        counted: one model's errors, as `helpers.errors.stratified_errors` leaves them, by
            perceived gender and skin.
        effects: columns estimate, low, high, truth, n; index (attribute, cell) with the cells of
            `SKIN_CELLS` for skin_colour and of `HAIR_CELLS` for hair_length.
        portraits: (4, 3, h, w), two light- and two dark-skinned faces of the test set.
        pairs: (4, 3, h, w), two faces, each with light and then with dark skin.

    Returns:
        One figure as wide as the page.

    Example:
        >>> rate = pd.DataFrame({"n": 9, "rate": 0.1, "low": 0.0, "high": 0.2}, ["light", "dark"])
        >>> cells = [("skin_colour", cell) for cell in SKIN_CELLS.values()]
        >>> cells += [("hair_length", cell) for cell in HAIR_CELLS.values()]
        >>> index = pd.MultiIndex.from_tuples(cells)
        >>> numbers = {"estimate": 0.1, "low": 0.0, "high": 0.2, "truth": 0.1, "n": 9}
        >>> some = np.zeros((4, 3, 8, 8))
        >>> figure = two_audits(rate, pd.DataFrame(numbers, index), some, some)
        >>> len(figure.subfigs)
        2
    """
    figure = plt.figure(figsize=(figures.WIDTH, 5.8))
    faces, numbers = figure.subfigures(2, 1, height_ratios=[1, 3])
    left, right = faces.subfigures(1, 2, wspace=0.05)
    _strip(portraits, ("light", "light", "dark", "dark"), "Counting: faces as they come", left)
    _strip(pairs, ("light", "→ dark") * 2, "Experiment: faces made to order", right)
    left, right = numbers.subfigures(1, 2, width_ratios=[1, 1.25], wspace=0.05)
    bars = figures.bars(counted, ylabel="error rate", ax=left.subplots())
    bars.set_xlabel("perceived gender")
    skin, hair = right.subplots(2, 1, sharex=True, height_ratios=[4.2, 2.2])
    _effects(effects.loc["skin_colour"], SKIN_CELLS, "dark − light skin", skin)
    _effects(effects.loc["hair_length"], HAIR_CELLS, "long − short hair", hair)
    hair.set_xlabel("change in errors, points")
    right.legend(*skin.get_legend_handles_labels(), loc="outside lower center", ncol=2)
    return figure


def _strip(images: np.ndarray, titles: Sequence[str], heading: str, figure: SubFigure) -> None:
    """Faces in a row, each under its title."""
    figure.suptitle(heading, weight="bold", fontsize=12)
    pixels = figures.as_pixels(images)
    axes = figure.subplots(1, len(titles), gridspec_kw={"wspace": 0.02})
    for axis, picture, title in zip(axes, pixels, titles, strict=True):
        axis.imshow(picture)
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
        axis.set_title(title, fontsize=10, pad=3)


def _effects(table: pd.DataFrame, cells: Mapping[str, str], title: str, ax: Axes) -> None:
    """Intervals of one attribute's effects in points, and how many pairs they rest on."""
    named = table.loc[list(cells.values())].set_axis(list(cells))
    percent = 100 * named[["estimate", "low", "high"]]
    figures.forest(percent, 100 * named["truth"], xlabel="", ax=ax).get_legend().remove()
    counts = " to ".join(f"{n:,}" for n in sorted({named["n"].min(), named["n"].max()}))
    ax.set_title(f"{title}\nn = {counts} pairs", fontsize=11)
