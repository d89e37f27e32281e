"""The diagram of two reasons why skin and errors go together, without and with the answer.

Chapter 1 asks with it, and the tour answers.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from helpers.figures.charts import BLACK, VERMILION

NARROW = 4.8
"""Inches: letters of ten points can then be read on a phone."""
_BOXES = {
    "who is in\nthe test set": (0.5, 0.92),
    "skin colour": (0.14, 0.5),
    "hair length": (0.86, 0.5),
    "error": (0.5, 0.06),
}


def two_causes(tie: str, skin: str, hair: str, beside_hair: str = "", known: bool = False) -> Axes:
    """Draw that the test set ties hair to skin, and that either may change the errors.

    Args:
        tie: what is written between skin and hair.
        skin, hair: what is written beside the arrows from skin and from hair to the errors.
        beside_hair: a smaller text below that of hair.
        known: the arrows to the errors are solid instead of dashed.

    Returns:
        The axes, without a title.
    """
    axis = plt.figure(figsize=(NARROW, 4.4)).gca()
    top, left, right, bottom = _BOXES.values()
    _arrows(axis, top, [left, right], BLACK, "-")
    _arrows(axis, bottom, [right, left], VERMILION, "-" if known else "--", backwards=True)
    for name, place in _BOXES.items():
        box = {"boxstyle": "round,pad=0.5", "facecolor": "white", "edgecolor": BLACK}
        middle = {"ha": "center", "va": "center", "multialignment": "center"}
        axis.text(*place, name, fontsize=11, bbox=box, **middle)
    axis.text(0.5, 0.5, tie, ha="center", va="center", fontsize=10)
    in_red = {"fontsize": 10, "color": VERMILION, "va": "center"}
    axis.text(0.77, 0.27, hair, **in_red)
    axis.text(0.77, 0.15, beside_hair, fontsize=10, va="center")
    axis.text(0.24, 0.27, skin, ha="right", **in_red)
    axis.set(xlim=(-0.02, 1.12), ylim=(-0.04, 1.04))
    axis.axis("off")
    return axis


def _arrows(
    axis: Axes,
    end: tuple[float, float],
    others: Sequence[tuple[float, float]],
    colour: str,
    line: str,
    backwards: bool = False,
) -> None:
    """Arrows between a place and each of some others: to these or, if `backwards`, from them."""
    how = {"arrowstyle": "-|>", "lw": 2.5, "linestyle": line, "shrinkA": 26, "shrinkB": 26}
    for other in others:
        start, tip = (other, end) if backwards else (end, other)
        axis.annotate("", tip, start, arrowprops=how | {"color": colour})
