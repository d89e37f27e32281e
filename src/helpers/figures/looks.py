"""The look of the book: one style, and one palette by role (all chapters with figures).

Colours are those of Okabe and Ito, told apart by colour-blind readers; every role also has its
own marker and hatch, so that each figure reads in grey.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from IPython import get_ipython
from numpy.typing import ArrayLike

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
"""Colours of Okabe and Ito, as hexadecimal RGB."""
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#777777"
"""The other colours, and a grey for what is not to stand out."""

WIDTH = 7.0
"""Inches: the width of the text column; at this width no text is smaller than 10 points."""


class Look(NamedTuple):
    """How one group is drawn, in colour and without it.

    Attributes:
        colour: hexadecimal RGB.
        marker: of matplotlib's.
        hatch: of matplotlib's, empty for none.
    """

    colour: str
    marker: str
    hatch: str


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
}
"""Roles that keep their look through the whole book: name in small letters → `Look`."""

SPARE = (
    Look(BLUE, "o", ""),
    Look(ORANGE, "s", "///"),
    Look(GREEN, "^", "..."),
    Look(PURPLE, "D", "xxx"),
    Look(SKY, "v", "\\\\\\"),
    Look(VERMILION, "P", "++"),
    Look(GREY, "X", "oo"),
    Look(BLACK, "*", "--"),
)
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
        html.for_type(pd.DataFrame, lambda table: without_negative_zeros(table)._repr_html_())
    sns.set_theme(
        context="notebook",
        style="ticks",
        palette=[look.colour for look in SPARE],
        rc={
            "figure.figsize": (WIDTH, 4.2),
            "figure.dpi": 130,
            "figure.constrained_layout.use": True,
            "font.size": 12,
            "axes.titlesize": 13,
            "axes.labelsize": 12,
            "xtick.labelsize": 11,
            "ytick.labelsize": 11,
            "legend.fontsize": 11,
            "legend.title_fontsize": 11,
            "legend.frameon": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#E3E3E3",
            "hatch.linewidth": 0.6,
            "hatch.color": "white",
            "image.interpolation": "lanczos",
        },
    )


def without_negative_zeros(table: pd.DataFrame) -> pd.DataFrame:
    """The table with 0.0 for -0.0.

    A format of numbers as text does the same with a z, as in "{:+z.1f}".
    """
    floats = np.flatnonzero([pd.api.types.is_float_dtype(kind) for kind in table.dtypes])
    table = table.copy()
    table.isetitem(floats, table.iloc[:, floats] + 0.0)
    return table


def _lay_out_figures() -> None:
    """Lay out the figures that are open, as drawing them does first."""
    for figure in map(plt.figure, plt.get_fignums()):
        if engine := figure.get_layout_engine():
            engine.execute(figure)


def look(name: object, position: int = 0) -> Look:
    """The look of a role, matched without regard to case; otherwise a spare one.

    A name such as "dark skin" or "light-skinned" takes the look of its first word that is a role.

    Args:
        name: of a group, in words.
        position: of the group among those without a role; picks the spare look.

    Returns:
        Colour, marker and hatch.
    """
    text = str(name).lower()
    for word in (text, *re.split(r"[\s,]+", text), *re.split(r"[\s,_-]+", text)):
        if word in LOOKS:
            return LOOKS[word]
    return SPARE[position % len(SPARE)]


def as_pixels(images: ArrayLike) -> np.ndarray:
    """Images as pixels, ready to be shown or encoded.

    Args:
        images: (n, 3, h, w) or one (3, h, w); array or CPU tensor; float in [0, 1] or uint8.

    Returns:
        uint8 (n, h, w, 3).

    Raises:
        ValueError: another shape, or floats outside [0, 1] by more than rounding.
    """
    batch = np.asarray(images)
    batch = batch[None] if batch.ndim == 3 else batch
    if batch.ndim != 4 or batch.shape[1] != 3:
        raise ValueError(f"expected images of shape (n, 3, h, w), got {np.shape(images)}")
    if batch.dtype != np.uint8:
        if batch.size and not (batch.min() >= -1e-3 and batch.max() <= 1 + 1e-3):
            raise ValueError(
                f"expected float images in [0, 1], got {batch.min():.3g} to {batch.max():.3g}"
            )
        batch = np.rint(np.clip(batch, 0, 1) * 255).astype(np.uint8)
    return batch.transpose(0, 2, 3, 1)
