"""What a finished audit says about the next one: planning values, reach, noise, pruning.

The numbers come from `helpers.effects`; here they are arranged for the book, and drawn.
"""

from collections.abc import Mapping, Sequence
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
from matplotlib.figure import Figure

from helpers import effects, figures
from helpers.ladder import CONTRASTS, LEVEL_NAMES

GENDERS = {
    level: {"female": "women", "male": "men"}[name]
    for level, name in enumerate(LEVEL_NAMES["gender"])
}
ARMS = ("all", "pruned", "complete transects")


def planning_values(
    frame: pd.DataFrame, outcome: str, attributes: Sequence[str], transect: str = "transect"
) -> pd.DataFrame:
    """What the errors of a finished audit say about the pairs along each axis.

    Index axis; columns low, high (error rates at the levels), differ (share of pairs in which one
    image is an error and the other is not), within (correlation of the errors of a pair) and
    between (mean correlation of the differences of two pairs of a transect). Complete pairs only.
    """
    rows = {}
    for axis in attributes:
        others = _others(axis, attributes)
        pairs = frame.pivot_table(outcome, [transect, *others], f"{axis}_level").dropna()
        change = (pairs[1] - pairs[0]).rename("change").reset_index()
        alike = change.pivot_table("change", transect, others).corr().to_numpy()
        rows[axis] = {
            "low": pairs[0].mean(),
            "high": pairs[1].mean(),
            "differ": (pairs[0] != pairs[1]).mean(),
            "within": pairs[0].corr(pairs[1]),
            "between": np.nanmean(alike[np.triu_indices(len(alike), 1)]),
        }
    return pd.DataFrame(rows).T.rename_axis("axis")


def detectable(
    frame: pd.DataFrame, outcome: str, attributes: Sequence[str], transect: str = "transect"
) -> pd.DataFrame:
    """Minimum detectable effects of an audit, in points, by axis.

    Index axis; columns average (over all cells) and cell (the least precise one).
    """
    rows = {}
    for axis in attributes:
        for name, by in {"average": [], "cell": _others(axis, attributes)}.items():
            table = effects.matched_effects(frame, outcome, f"{axis}_level", by, transect)
            rows.setdefault(axis, {})[name] = 100 * table["mde"].max()
    return pd.DataFrame(rows).T.rename_axis("axis")


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


def slopes(
    frame: pd.DataFrame,
    outcome: str,
    scores: Mapping[int, pd.Series],
    by: str,
    cluster: str = "transect",
) -> pd.DataFrame:
    """Change of the error rate per unit of a score, by group and number of raters behind the score.

    Least squares with 95 % intervals from the cluster sandwich. `scores` are on the index of
    `frame`. Index `by`, raters; columns estimate, low, high and n images.
    """
    rows = {}
    for (group, part), (raters, score) in product(frame.groupby(by), scores.items()):
        fit = sm.OLS(part[outcome], sm.add_constant(score[part.index].to_numpy())).fit(
            cov_type="cluster", cov_kwds={"groups": part[cluster]}
        )
        low, high = fit.conf_int().iloc[1]
        estimate = fit.params.iloc[1]
        rows[group, raters] = {"estimate": estimate, "low": low, "high": high, "n": len(part)}
    return pd.DataFrame(rows).T.rename_axis([by, "raters"])


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


def pruned_effects(
    frame: pd.DataFrame, kept: str, models: Sequence[str], attributes: Sequence[str]
) -> pd.DataFrame:
    """`effects.pruning_bounds` of several models and axes by gender level, in points.

    Columns model, attribute, gender, arm, and estimate, low, high, lower, upper, n.
    """
    tables = {
        (model, axis): effects.pruning_bounds(
            frame, kept, f"error_{model}", f"{axis}_level", ["gender_level"], "transect"
        )
        for model, axis in product(models, attributes)
    }
    table = pd.concat(tables, names=["model", "attribute", "arm", "gender"]).reset_index()
    limits = ["estimate", "low", "high", "lower", "upper"]
    table[limits] *= 100
    return table[["model", "attribute", "gender", "arm", *limits, "n"]]


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


def _others(axis: str, attributes: Sequence[str]) -> list[str]:
    return [f"{other}_level" for other in attributes if other != axis]
