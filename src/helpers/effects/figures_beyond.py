"""Figures of chapter 18: doses, scores, thresholds, reliability, faces harmed and helped."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from helpers import figures
from helpers.effects.labels import Z

FOUND, TRUE = figures.LOOKS["estimate"], figures.LOOKS["truth"]
SIDES: Mapping[str, figures.Look] = {
    "harmed": figures.Look(figures.VERMILION, "", "///"),
    "helped": figures.Look(figures.BLUE, "", ""),
}
"""How pairs that turn wrong and right are drawn."""


def draw_doses(curves: pd.DataFrame, models: Sequence[str], xlabel: str) -> Figure:
    """Change of the error rate by dose, found beside true: a row per model, a column per cell.

    Args:
        curves: index model, cell, step; columns dose, estimate, low, high, true_dose, truth,
            truth_se (fractions). The lowest dose, where all changes are zero, is one of the steps.
        models: the rows.
        xlabel: what the dose is, with its unit.

    Returns:
        A figure as wide as the page, in points.

    Example:
        >>> import pandas as pd
        >>> from helpers.effects.figures_beyond import draw_doses
        >>> index = pd.MultiIndex.from_product([["a"], ["female"], [0, 1]])
        >>> row = {"dose": [0, 1], "estimate": 0.0, "low": 0.0, "high": 0.1, "true_dose": [0, 1]}
        >>> table = pd.DataFrame({**row, "truth": 0.0, "truth_se": 0.0}, index)
        >>> table = table.rename_axis(["model", "cell", "step"])
        >>> draw_doses(table, ["a"], "steps").axes[0].get_title()
        'female'
    """
    cells = list(curves.index.unique("cell"))
    size = (figures.WIDTH, 0.9 + 1.75 * len(models))
    figure, axes = plt.subplots(
        len(models), len(cells), figsize=size, sharex=True, sharey="row", squeeze=False
    )
    for row, model in zip(axes, models, strict=True):
        for ax, cell in zip(row, cells, strict=True):
            curve = curves.loc[(model, cell)]
            ax.axhline(0, color=figures.BLACK, linewidth=1)
            _band(ax, curve["dose"], curve)
            _true_marks(ax, curve["true_dose"], curve)
            ax.yaxis.set_major_formatter(PercentFormatter(1, 0, ""))
        row[0].set_ylabel(model)
    for ax, cell in zip(axes[0], cells, strict=True):
        ax.set_title(cell.replace(", ", ",\n"), fontsize=11)
    figure.supylabel("change in error rate (points)", fontsize=12)
    figure.supxlabel(xlabel, fontsize=12)
    return _with_legend(figure, axes[0, 0])


def draw_beside_truth(table: pd.DataFrame, models: Sequence[str], xlabel: str) -> Figure:
    """Estimates with their intervals beside the truth: a panel per model, a row per contrast.

    Args:
        table: index model, then names that are joined to the row's; columns estimate, low, high,
            truth, truth_se (fractions).
        models: the panels.
        xlabel: label below all of them.

    Returns:
        A figure as wide as the page, in points.

    Example:
        >>> import pandas as pd
        >>> from helpers.effects.figures_beyond import draw_beside_truth
        >>> index = pd.MultiIndex.from_tuples([("a", "skin", "female")])
        >>> row = {"estimate": 0.1, "low": 0.0, "high": 0.2, "truth": 0.1, "truth_se": 0.01}
        >>> draw_beside_truth(pd.DataFrame(row, index), ["a"], "points").axes[0].get_title()
        'a'
    """
    rows = table.loc[[models[0]]].droplevel(0).index
    size = (figures.WIDTH, 1.3 + 0.42 * len(rows))
    figure, axes = plt.subplots(1, len(models), figsize=size, sharey=True, squeeze=False)
    y = -np.arange(len(rows), dtype=float)
    for ax, model in zip(axes[0], models, strict=True):
        part = table.loc[model].reindex(rows)
        ax.axvline(0, color=figures.BLACK, linewidth=1)
        reach = np.clip([part["estimate"] - part["low"], part["high"] - part["estimate"]], 0, None)
        style = {"fmt": FOUND.marker, "color": FOUND.colour, "markersize": 5, "capsize": 2}
        ax.errorbar(part["estimate"], y + 0.15, xerr=reach, label="found", **style)
        style = {"fmt": TRUE.marker, "color": TRUE.colour, "markersize": 5, "mfc": "white"}
        ax.errorbar(part["truth"], y - 0.2, xerr=Z * part["truth_se"], label="true", **style)
        ax.set_title(model)
        ax.xaxis.set_major_formatter(PercentFormatter(1, 0, ""))
    names = [", ".join(filter(None, key)) for key in rows]
    axes[0, 0].set_yticks(y, names)
    figure.supxlabel(xlabel, fontsize=12)
    return _with_legend(figure, axes[0, 0])


def draw_thresholds(effects: pd.DataFrame, models: Sequence[str], usual: float = 0.5) -> Figure:
    """Effects at every threshold of decision: a row per contrast, a column per model.

    Args:
        effects: index contrast, model, held, threshold (in (0, 1)); columns estimate, low, high,
            truth (fractions). Two groups of `held` at most are told apart.
        models: the columns.
        usual: the threshold that is marked.

    Returns:
        A figure as wide as the page, in points, thresholds on a logistic axis.

    Example:
        >>> import pandas as pd
        >>> from helpers.effects.figures_beyond import draw_thresholds
        >>> index = pd.MultiIndex.from_product([["skin"], ["a"], ["female"], [0.2, 0.5]])
        >>> row = {"estimate": 0.1, "low": 0.0, "high": 0.2, "truth": 0.1}
        >>> table = pd.DataFrame(row, index.set_names(["contrast", "model", "held", "threshold"]))
        >>> draw_thresholds(table, ["a"]).axes[0].get_ylabel()
        'skin'
    """
    contrasts = list(effects.index.unique("contrast"))
    size = (figures.WIDTH, 1.1 + 2.3 * len(contrasts))
    figure, axes = plt.subplots(
        len(contrasts), len(models), figsize=size, sharex=True, sharey="row", squeeze=False
    )
    for row, contrast in zip(axes, contrasts, strict=True):
        for ax, model in zip(row, models, strict=True):
            part = effects.loc[(contrast, model)]
            ax.axhline(0, color=figures.BLACK, linewidth=1)
            ax.axvline(usual, color=figures.GREY, linewidth=1, linestyle=":")
            for held in part.index.unique("held"):
                curve, look = part.loc[held], figures.look(held)
                _band(ax, curve.index, curve, look, held, marks=False)
                style = {"color": look.colour, "linestyle": "--", "linewidth": 1.5}
                ax.plot(curve.index, curve["truth"], label=f"{held}, true", **style)
            ax.set_xscale("logit")
            ax.set_xticks([0.05, 0.2, 0.5, 0.8, 0.95], [".05", ".2", ".5", ".8", ".95"])
            ax.minorticks_off()
            ax.yaxis.set_major_formatter(PercentFormatter(1, 0, ""))
        row[0].set_ylabel(contrast)
    for ax, model in zip(axes[0], models, strict=True):
        ax.set_title(model)
    figure.supylabel("change in error rate (points)", fontsize=12)
    figure.supxlabel("threshold: probability above which the answer is “male”", fontsize=12)
    return _with_legend(figure, axes[0, 0], columns=2)


def draw_reliability(bins: pd.DataFrame, models: Sequence[str], few: int) -> Figure:
    """Rate of right answers against confidence: a row per answer, a column per model.

    Args:
        bins: index source ("found" or "true"), model, answer, group, bin; columns n, confidence,
            rate, low, high, as of `helpers.effects.calibration.reliability`.
        models: the columns.
        few: bins of fewer images are not drawn.

    Returns:
        A figure as wide as the page, in per cent; marks with intervals are found, lines are true.

    Example:
        >>> import pandas as pd
        >>> from helpers.effects.figures_beyond import draw_reliability
        >>> names = ["source", "model", "answer", "group", "bin"]
        >>> keys = [(source, "a", "female", "light skin", 0) for source in ("found", "true")]
        >>> row = {"n": 20, "confidence": 0.7, "rate": 0.8, "low": 0.7, "high": 0.9}
        >>> table = pd.DataFrame(row, pd.MultiIndex.from_tuples(keys, names=names))
        >>> draw_reliability(table, ["a"], 10).axes[0].get_title()
        'a'
    """
    answers = list(bins.index.unique("answer"))
    size = (figures.WIDTH, 0.9 + 2.4 * len(answers))
    figure, axes = plt.subplots(
        len(answers), len(models), figsize=size, sharex=True, sharey=True, squeeze=False
    )
    drawn = bins[bins["n"] >= few]
    for row, answer in zip(axes, answers, strict=True):
        for ax, model in zip(row, models, strict=True):
            ends = [0.5, 1.0]
            ax.plot(ends, ends, color=figures.BLACK, linewidth=1, linestyle="--")
            for group in bins.index.unique("group"):
                look = figures.look(group)
                here = drawn[[key[1:4] == (model, answer, group) for key in drawn.index]]
                found, true = (here[here.index.isin([s], "source")] for s in ("found", "true"))
                reach = np.clip([found["rate"] - found["low"], found["high"] - found["rate"]], 0, 1)
                style = {"fmt": look.marker, "color": look.colour, "capsize": 2, "markersize": 5}
                ax.errorbar(found["confidence"], found["rate"], yerr=reach, label=group, **style)
                ax.plot(true["confidence"], true["rate"], color=look.colour, label=f"{group}, true")
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(PercentFormatter(1, 0, ""))
        row[0].set_ylabel(f"answer: {answer}")
    for ax, model in zip(axes[0], models, strict=True):
        ax.set_title(model)
    figure.supylabel("right answers (%)", fontsize=12)
    figure.supxlabel("confidence in the answer (%)", fontsize=12)
    return _with_legend(figure, axes[0, 0])


def draw_flips(flips: pd.DataFrame, models: Sequence[str]) -> Figure:
    """Shares harmed to the right, helped to the left, and their difference: a panel per model.

    Args:
        flips: index model, cell; columns of `helpers.effects.flips.harmed_and_helped`, and
            true_harmed and true_helped, NaN where there is none to show.
        models: the panels.

    Returns:
        A figure as wide as the page, in per cent of pairs.

    Example:
        >>> import numpy as np
        >>> import pandas as pd
        >>> from helpers.effects.figures_beyond import draw_flips
        >>> from helpers.effects.flips import harmed_and_helped
        >>> table = harmed_and_helped(np.array([[0, 1], [1, 0]]), ["skin"])
        >>> table = table.assign(model="a", cell="all", true_harmed=0.5, true_helped=0.5)
        >>> draw_flips(table.set_index(["model", "cell"]), ["a"]).axes[0].get_title()
        'a'
    """
    cells = list(flips.index.unique("cell"))
    rows = -(-len(models) // 2)
    size = (figures.WIDTH, 0.9 + rows * (0.5 + 0.5 * len(cells)))
    figure, axes = plt.subplots(rows, 2, figsize=size, sharey=True, squeeze=False)
    y = -np.arange(len(cells), dtype=float)
    for ax, model in zip(axes.flat, models, strict=False):
        part = flips.loc[model].reindex(cells)
        ax.axvline(0, color=figures.BLACK, linewidth=1)
        for (side, look), sign in zip(SIDES.items(), (1, -1), strict=True):
            share = part[side]
            reach = np.clip([share - part[f"{side}_low"], part[f"{side}_high"] - share], 0, None)
            reach = reach if sign > 0 else reach[::-1]
            style = {"color": look.colour, "hatch": look.hatch, "edgecolor": "white"}
            ax.barh(y, sign * share, 0.6, xerr=reach, capsize=3, label=side, **style)
            label = "true" if side == "harmed" else None
            style = {"color": figures.BLACK, "markersize": 14, "linestyle": "", "label": label}
            ax.plot(sign * part[f"true_{side}"], y, "|", markeredgewidth=2, **style)
        style = {"markerfacecolor": "white", "color": figures.BLACK, "linestyle": ""}
        ax.plot(part["net"], y, "D", label="harmed − helped", markersize=6, **style)
        ax.set_title(model)
        ax.xaxis.set_major_formatter(lambda share, _: f"{100 * abs(share):.3g}")
    for ax in axes.flat[len(models) :]:
        ax.set_axis_off()
    axes[0, 0].set_yticks(y, cells)
    figure.supxlabel("helped ←   share of pairs (%)   → harmed", fontsize=12)
    return _with_legend(figure, axes[0, 0], columns=4)


def _band(
    ax: Axes,
    x: pd.Index | pd.Series,
    curve: pd.DataFrame,
    look: figures.Look = FOUND,
    label: str = "found, with its band",
    marks: bool = True,
) -> None:
    """A curve with a band from low to high around it."""
    ax.fill_between(x, curve["low"], curve["high"], color=look.colour, alpha=0.2, linewidth=0)
    marker = look.marker if marks else None
    ax.plot(x, curve["estimate"], color=look.colour, marker=marker, markersize=5, label=label)


def _true_marks(ax: Axes, x: pd.Series, curve: pd.DataFrame) -> None:
    """The truth of a curve, joined, with its own 95 % intervals."""
    style = {"fmt": f"{TRUE.marker}--", "color": TRUE.colour, "markersize": 5, "mfc": "white"}
    ax.errorbar(x, curve["truth"], yerr=Z * curve["truth_se"], label="true", **style)


def _with_legend(figure: Figure, ax: Axes, columns: int = 4) -> Figure:
    handles = ax.get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncol=columns)
    return figure
