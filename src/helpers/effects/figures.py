"""Figures of chapters 12 and 13: what an audit can find, what pruning and transport change."""

from collections.abc import Mapping
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from helpers import effects, figures
from helpers.effects.labels import CONTRASTS, GENDERS
from helpers.effects.selection_bounds import ARMS
from helpers.figures.looks import Look


def draw_transport(carried: Mapping[str, pd.DataFrame]) -> Figure:
    """Rates and disparities of a population, as predicted and as observed; a panel per model.

    Args:
        carried: name of a source -> its table, drawn as one mark per row. Index model, quantity;
            columns estimate, low, high, n (see `helpers.effects.transport`).

    Returns:
        The figure.

    Example:
        >>> import pandas as pd
        >>> from helpers.effects.figures import draw_transport
        >>> index = pd.MultiIndex.from_tuples([("a", "all faces")], names=["model", "quantity"])
        >>> table = pd.DataFrame({"estimate": 0.1, "low": 0.05, "high": 0.2, "n": 90}, index)
        >>> draw_transport({"predicted": table}).legends[0].texts[0].get_text()
        'predicted, n = 90'
    """
    models = list(next(iter(carried.values())).index.unique("model"))
    size = (figures.WIDTH, 0.8 + 2.3 * ((len(models) + 1) // 2))
    figure, axes = plt.subplots((len(models) + 1) // 2, 2, figsize=size, sharey=True, sharex="row")
    for model, ax in zip(models, axes.flat, strict=False):
        for place, (source, look) in enumerate(zip(carried, figures.SPARE, strict=False)):
            rows = 100 * carried[source].loc[model, ["estimate", "low", "high"]]
            y = -np.arange(len(rows)) + 0.22 * (1 - place)
            _marks(ax, rows, y, look, f"{source}, n = {carried[source]['n'].max():,}")
        ax.axvline(0, color=figures.BLACK, linewidth=1)
        ax.set_title(model)
        ax.set_yticks(-np.arange(len(rows)), rows.index)
    figure.supxlabel("points of error rate", fontsize=12)
    return _with_legend(figure)


def draw_power(grid: pd.DataFrame, retention: Mapping[str, float], within: float) -> Figure:
    """Power against transects: formulas as lines, the simulations of `effects.power_grid` as marks.

    Args:
        grid: with one base rate; one line per difference.
        retention: name of a panel -> share of the images kept.
        within: the correlation that is drawn.

    Returns:
        The figure.

    Example:
        >>> import pandas as pd
        >>> from helpers.effects.figures import draw_power
        >>> row = {"base_rate": 0.05, "difference": 0.02, "within": 0.05, "retention": 1.0}
        >>> grid = pd.DataFrame([row | {"transects": 525, "simulated": 0.8}])
        >>> draw_power(grid, {"nothing pruned": 1.0}, 0.05).legends[0].texts[0].get_text()
        'difference of 2 points'
    """
    figure = plt.figure(figsize=(figures.WIDTH, 4.2))
    axes = figure.subplots(1, len(retention), sharey=True, squeeze=False)[0]
    sizes = np.unique(np.geomspace(20, 2000, 60).round().astype(int))
    for ax, (name, kept) in zip(axes, retention.items(), strict=True):
        part = grid[(grid["within"] == within) & np.isclose(grid["retention"], kept)]
        for look, (difference, dots) in zip(
            figures.SPARE, part.groupby("difference"), strict=False
        ):
            design = effects.Design(difference, grid["base_rate"].iloc[0], within, kept)
            refined = [effects.power(size, design) for size in sizes]
            plain = [effects.printed_power(size, design) for size in sizes]
            ax.plot(sizes, refined, color=look.colour)
            ax.plot(sizes, plain, "--", color=look.colour, linewidth=1)
            label = f"difference of {100 * difference:.0f} points"
            style = {"color": look.colour, "linestyle": "", "label": label}
            ax.plot(dots["transects"], dots["simulated"], look.marker, **style)
        ax.axhline(0.8, color=figures.BLACK, linestyle=":", linewidth=1)
        ax.set(xscale="log", title=name, xlabel="transects")
        ax.set_xticks([20, 50, 100, 200, 500, 1000, 2000], [20, 50, 100, 200, 500, 1000, 2000])
        ax.minorticks_off()
        ax.tick_params(axis="x", rotation=45)
    axes[0].set_ylabel("power")
    return _with_legend(figure)


def draw_slopes(
    versions: Mapping[str, pd.DataFrame], reference: Mapping[int, float], label: str, ylabel: str
) -> Figure:
    """Slopes by number of raters, a panel per gender level, with a line at each reference.

    Args:
        versions: name -> slopes (index gender_level, raters; columns estimate, low, high, n), side
            by side in each panel.
        reference: slope without noise of every gender level.
        label: of that slope.
        ylabel: of the vertical axis.

    Returns:
        The figure.

    Example:
        >>> import pandas as pd
        >>> from helpers.effects.figures import draw_slopes
        >>> index = pd.MultiIndex.from_product([[0, 1], [1, 2]], names=["gender_level", "raters"])
        >>> table = pd.DataFrame({"estimate": 0.1, "low": 0.0, "high": 0.2, "n": 80}, index)
        >>> draw_slopes({"measured": table}, {0: 0.1, 1: 0.2}, "truth", "slope").axes[0].get_title()
        'women, n = 80 images'
    """
    figure, axes = plt.subplots(1, 2, figsize=(figures.WIDTH, 4), sharex=True)
    for ax, (level, group) in zip(axes, GENDERS.items(), strict=True):
        places = np.linspace(-0.1, 0.1, len(versions))
        for look, place, (name, table) in zip(
            figures.SPARE, places, versions.items(), strict=False
        ):
            part = table.xs(level, level="gender_level")
            _marks(ax, part, part.index + place, look, name, upright=True, capsize=3)
        ax.axhline(reference[level], color=figures.BLACK, label=label)
        title = f"{group}, n = {part['n'].iloc[0]:,.0f} images"
        ax.set(title=title, xlabel="raters per image", xticks=part.index)
    axes[0].set_ylabel(ylabel)
    return _with_legend(figure)


def draw_pruning(table: pd.DataFrame) -> Figure:
    """Effects before and after pruning, with worst-case bounds as bars and the truth as diamonds.

    Args:
        table: a row per model, attribute, gender (level) and arm of `effects.pruning_bounds`, with
            its columns in points, and the truth.

    Returns:
        The figure.

    Example:
        >>> import pandas as pd
        >>> from helpers.effects.figures import draw_pruning
        >>> arms = ["all", "pruned", "complete transects", "worst case"]
        >>> table = pd.DataFrame({"arm": arms, "model": "a", "attribute": "skin_colour"})
        >>> values = {"estimate": 2, "low": 1, "high": 3, "lower": -9, "upper": 9, "truth": 2}
        >>> table = table.assign(gender=0, n=40, **values)
        >>> draw_pruning(table).axes[0].get_title()
        'a'
    """
    models, attributes = table["model"].unique(), table["attribute"].unique()
    size = (figures.WIDTH, 1.1 + 2.1 * len(attributes))
    figure, axes = plt.subplots(
        len(attributes), len(models), figsize=size, sharex="row", sharey=True, squeeze=False
    )
    pairs = table.groupby("arm")["n"].median()
    for (axis, model), ax in zip(product(attributes, models), axes.flat, strict=True):
        part = table[(table["model"] == model) & (table["attribute"] == axis)]
        arms = {arm: rows.set_index("gender") for arm, rows in part.groupby("arm")}
        worst = arms["worst case"]
        ax.use_sticky_edges = False
        width = worst["upper"] - worst["lower"]
        ax.barh(-worst.index, width, 0.8, worst["lower"], color="#DDDDDD", label="worst case")
        style = {"color": figures.BLACK, "markerfacecolor": "none", "markersize": 10}
        ax.plot(worst["truth"], -worst.index, "D", label="truth", **style)
        for place, (arm, look) in enumerate(zip(ARMS[:-1], figures.SPARE, strict=False)):
            y = 0.25 * (1 - place) - arms[arm].index
            _marks(ax, arms[arm], y, look, f"{arm}, n ≈ {pairs[arm]:,.0f}", markersize=5)
        ax.axvline(0, color=figures.BLACK, linewidth=1)
        ax.set(title=model if axis == attributes[0] else "")
        ax.locator_params(axis="x", nbins=4)
        ax.set_yticks([-level for level in GENDERS], GENDERS.values())
    for axis, ax in zip(attributes, axes[:, len(models) // 2], strict=True):
        ax.set_xlabel(f"{CONTRASTS[axis]}, points of error rate")
    return _with_legend(figure)


def _marks(
    ax: Axes, rows: pd.DataFrame, at: np.ndarray, look: Look, label: str, upright=False, **style
) -> None:
    """Estimates with their intervals, lying at heights `at` or upright at places."""
    whiskers = np.clip([rows["estimate"] - rows["low"], rows["high"] - rows["estimate"]], 0, None)
    style |= {"fmt": look.marker, "color": look.colour, "label": label}
    if upright:
        ax.errorbar(at, rows["estimate"], yerr=whiskers, **style)
    else:
        ax.errorbar(rows["estimate"], at, xerr=whiskers, **style)


def _with_legend(figure: Figure) -> Figure:
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncol=3)
    return figure
