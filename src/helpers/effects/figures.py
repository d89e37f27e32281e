"""Figures of effects: what an audit can find, what pruning changes, what transport predicts."""

from collections.abc import Mapping
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from helpers import effects, figures
from helpers.effects.labels import CONTRASTS
from helpers.effects.planning import ARMS, GENDERS


def draw_transport(carried: Mapping[str, pd.DataFrame]) -> Figure:
    """One panel per model, a row per quantity, a mark per source (a table of `carry`)."""
    models = list(next(iter(carried.values())).index.unique("model"))
    size = (figures.WIDTH, 0.8 + 2.3 * ((len(models) + 1) // 2))
    figure, axes = plt.subplots((len(models) + 1) // 2, 2, figsize=size, sharey=True, sharex="row")
    for model, ax in zip(models, axes.flat, strict=False):
        for place, (source, look) in enumerate(zip(carried, figures.SPARE, strict=False)):
            rows = 100 * carried[source].loc[model, ["estimate", "low", "high"]]
            whiskers = [rows["estimate"] - rows["low"], rows["high"] - rows["estimate"]]
            y = -np.arange(len(rows)) + 0.22 * (1 - place)
            label = f"{source}, n = {carried[source]['n'].max():,}"
            style = {"fmt": look.marker, "color": look.colour, "label": label}
            ax.errorbar(rows["estimate"], y, xerr=np.clip(whiskers, 0, None), **style)
        ax.axvline(0, color=figures.BLACK, linewidth=1)
        ax.set_title(model)
        ax.set_yticks(-np.arange(len(rows)), rows.index)
    figure.supxlabel("points of error rate", fontsize=12)
    handles = axes.flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncol=3)
    return figure


def draw_power(grid: pd.DataFrame, retention: Mapping[str, float], within: float) -> Figure:
    """Power against transects: formulas as lines, the simulations of `effects.power_grid` as marks.

    Args:
        grid: with one base rate; one line per difference.
        retention: name of a panel -> share of the images kept.
        within: the correlation that is drawn.
    """
    base_rate = grid["base_rate"].iloc[0]
    figure, axes = plt.subplots(1, len(retention), figsize=(figures.WIDTH, 4.2), sharey=True)
    sizes = np.unique(np.geomspace(20, 2000, 60).round().astype(int))
    for ax, (name, kept) in zip(axes, retention.items(), strict=True):
        part = grid[(grid["within"] == within) & np.isclose(grid["retention"], kept)]
        for look, (difference, dots) in zip(
            figures.SPARE, part.groupby("difference"), strict=False
        ):
            design = (difference, base_rate, within, kept)
            refined = [effects.power(size, *design) for size in sizes]
            plain = [effects.printed_power(size, *design) for size in sizes]
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
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncol=3)
    return figure


def draw_slopes(
    versions: Mapping[str, pd.DataFrame], reference: Mapping[int, float], label: str, ylabel: str
) -> Figure:
    """Slopes by number of raters, a panel per gender level, with a line at each reference.

    Args:
        versions: name -> slopes (index gender_level, raters), side by side in each panel.
        reference: slope without noise of every gender level, and its `label`.
    """
    figure, axes = plt.subplots(1, 2, figsize=(figures.WIDTH, 4), sharex=True)
    for ax, (level, group) in zip(axes, GENDERS.items(), strict=True):
        places = np.linspace(-0.1, 0.1, len(versions))
        for look, place, (name, table) in zip(
            figures.SPARE, places, versions.items(), strict=False
        ):
            part = table.xs(level, level="gender_level")
            whiskers = [part["estimate"] - part["low"], part["high"] - part["estimate"]]
            style = {"fmt": look.marker, "color": look.colour, "capsize": 3, "label": name}
            ax.errorbar(part.index + place, part["estimate"], yerr=whiskers, **style)
        ax.axhline(reference[level], color=figures.BLACK, label=label)
        title = f"{group}, n = {part['n'].iloc[0]:,.0f} images"
        ax.set(title=title, xlabel="raters per image", xticks=part.index)
    axes[0].set_ylabel(ylabel)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncol=3)
    return figure


def draw_pruning(table: pd.DataFrame) -> Figure:
    """Effects before and after pruning, with worst-case bounds as bars and the truth as diamonds.

    Args:
        table: as `pruned_effects` leaves it, with a column truth, in points.
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
        for place, (arm, look) in enumerate(zip(ARMS, figures.SPARE, strict=False)):
            rows = arms[arm]
            whiskers = [rows["estimate"] - rows["low"], rows["high"] - rows["estimate"]]
            label = f"{arm}, n ≈ {pairs[arm]:,.0f}"
            style = {"fmt": look.marker, "color": look.colour, "label": label, "markersize": 5}
            ax.errorbar(rows["estimate"], 0.25 * (1 - place) - rows.index, xerr=whiskers, **style)
        ax.axvline(0, color=figures.BLACK, linewidth=1)
        ax.set(title=model if axis == attributes[0] else "")
        ax.locator_params(axis="x", nbins=4)
        ax.set_yticks([-level for level in GENDERS], GENDERS.values())
    for axis, ax in zip(attributes, axes[:, len(models) // 2], strict=True):
        ax.set_xlabel(f"{CONTRASTS[axis]}, points of error rate")
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncol=3)
    return figure
