"""Marks and panels that the scorecard's figures share (chapter 11); values are fractions."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from helpers import figures


def panels_by(
    table: pd.DataFrame, by: str, height: float, xlabel: str, ylabel: str, sharex: bool = False
) -> tuple[Figure, list[tuple[Axes, object, pd.DataFrame]]]:
    """A figure with axes side by side: one axis, its name and its rows for each group."""
    groups = list(table.groupby(by, sort=False))
    size = figures.WIDTH, height
    shared = {"sharex": sharex, "sharey": True, "squeeze": False}
    figure, (axes,) = plt.subplots(1, len(groups), figsize=size, **shared)
    axes[0].set_ylabel(ylabel)
    figure.supxlabel(xlabel, fontsize=12)
    return figure, [(ax, *group) for ax, group in zip(axes, groups, strict=True)]


def legend_above(figure: Figure) -> None:
    """The legend of the first axes, above all of them."""
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncol=4)


def apart(count: int) -> np.ndarray:
    """How far marks of one row stand off its middle (count,)."""
    return np.linspace(-0.28, 0.28, count) if count > 1 else np.zeros(1)


def mean_and_middle(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Mean and middle 95 % of the estimates."""
    estimates = table.groupby(by, sort=False)["estimate"]
    ends = {"low": estimates.quantile(0.025), "high": estimates.quantile(0.975)}
    return pd.DataFrame({"mean": estimates.mean(), **ends})


def _whiskers(ends: Sequence[ArrayLike]) -> np.ndarray:
    """Lengths (2, n) below and above, in points, from values and their low and high ends."""
    value, low, high = ends
    return 100 * np.stack([value - low, high - value]).astype(float).clip(0)


def draw_dots(
    ax: Axes, y: ArrayLike, ends: Sequence, look: figures.Look, label: str, **more: object
) -> None:
    """Horizontal intervals, of fractions in points."""
    style = {"fmt": look.marker, "color": look.colour, "markersize": 5.5, "elinewidth": 1.2}
    ax.errorbar(100 * ends[0], y, xerr=_whiskers(ends), label=label, **style | more)


def draw_path(
    ax: Axes, x: ArrayLike, ends: Sequence, look: figures.Look, label: str, **more: object
) -> None:
    """Vertical intervals joined by a line, of fractions in points."""
    style = {"marker": look.marker, "color": look.colour, "capsize": 3, "linewidth": 1.2}
    ax.errorbar(x, 100 * ends[0], yerr=_whiskers(ends), label=label, **style | more)


def named_rows(ax: Axes, names: Sequence[str]) -> None:
    """Named rows from the top down, with thin lines between them."""
    for edge in range(len(names) + 1):
        ax.axhline(edge - 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)
