"""The look of the book: one style, one palette, and a look for every role.

Colours are those of Okabe and Ito, told apart by colour-blind readers; every role also has its
own marker and hatch, so that each figure reads in grey.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from IPython import get_ipython

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
