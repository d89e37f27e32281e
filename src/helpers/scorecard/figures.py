"""Figures of chapters 10, 11 and 14: estimates beside the truth, scores, ranges and sweeps."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from helpers import figures
from helpers.effects.labels import CONTRASTS, Z
from helpers.scorecard.figure_style import (
    apart,
    draw_dots,
    draw_path,
    legend_above,
    mean_and_middle,
    named_rows,
    panels_by,
)


def draw_cells(table: pd.DataFrame, attribute: str, models: Sequence[str]) -> Figure:
    """Effects of one attribute in each cell of the others: a panel of intervals per model.

    Args:
        table: effects named by `helpers.effects.labels.name_cells`; columns model, attribute,
            scope, cell, estimate, low, high (fractions) and n.
        attribute: whose effects are drawn.
        models: one panel each, two in a row.

    Returns:
        A figure as wide as the page, in points.

    Example:
        >>> row = {"attribute": "gender", "scope": "cell", "cell": "dark skin", "model": "null"}
        >>> effect = pd.DataFrame({**row, "estimate": 0.0, "low": -0.1, "high": 0.1, "n": 9}, [0])
        >>> draw_cells(effect, "gender", ["null"]).axes[0].get_title()
        'null'
    """
    chosen = table[(table["attribute"] == attribute) & (table["scope"] == "cell")]
    rows = -(-len(models) // 2)
    size = (figures.WIDTH, 0.4 + 3 * rows)
    figure, axes = plt.subplots(rows, 2, figsize=size, sharex=True, sharey=True, squeeze=False)
    for ax, model in zip(axes.flat, models, strict=False):
        cells = chosen[chosen["model"] == model].set_index("cell")
        figures.forest(cells, xlabel="", ax=ax)
        ax.set_title(model)
        ax.xaxis.set_major_formatter(PercentFormatter(1, symbol=""))
    figure.supxlabel(f"change in error rate, {CONTRASTS[attribute]} (points)", fontsize=12)
    return figure


def draw_ladder(ladder: pd.DataFrame, model: str) -> Figure:
    """All arms of one model side by side in every cell, over the truth: a panel per attribute.

    The black line is the truth, the grey band its 95 % Monte-Carlo interval.

    Args:
        ladder: rows of `helpers.scorecard.error_sources.compare`; marks of the arms stand in the
            order of their rows.
        model: whose effects are drawn.

    Returns:
        A figure as wide as the page, in points.

    Example:
        >>> row = {"attribute": "gender", "scope": "cell", "cell": "dark skin", "model": "null"}
        >>> numbers = {"estimate": 0.0, "low": -0.1, "high": 0.1, "truth": 0.0, "truth_se": 0.01}
        >>> ladder = pd.DataFrame([{**row, **numbers, "arm": arm} for arm in "AB"])
        >>> [text.get_text() for text in draw_ladder(ladder, "null").legends[0].get_texts()]
        ['A', 'B']
    """
    chosen = ladder[(ladder["model"] == model) & (ladder["scope"] == "cell")]
    attributes = list(chosen["attribute"].unique())
    size = (figures.WIDTH, 2.8 * len(attributes))
    figure, axes = plt.subplots(len(attributes), 1, figsize=size, squeeze=False)
    for ax, attribute in zip(axes.flat, attributes, strict=True):
        _draw_rungs(ax, chosen[chosen["attribute"] == attribute])
        ax.set_ylabel(f"{CONTRASTS[attribute]} (points)")
    arms = axes[0, 0].get_legend_handles_labels()
    figure.legend(*arms, loc="outside upper center", ncol=len(arms[0]))
    return figure


def _draw_rungs(ax: Axes, table: pd.DataFrame) -> None:
    """One attribute's cells side by side: a mark per arm, over the truth's line and band."""
    ticks, arms = list(table["cell"].unique()), list(table["arm"].unique())
    shifts = np.linspace(-0.32, 0.32, len(arms))
    for arm, shift, look in zip(arms, shifts, figures.SPARE, strict=False):
        rows = table[table["arm"] == arm]
        span = rows[["low", "high"]].sub(rows["estimate"], axis=0).abs().to_numpy().T
        places = rows["cell"].map(ticks.index) + shift
        style = {"fmt": look.marker, "color": look.colour, "markersize": 6, "capsize": 2}
        ax.errorbar(places, rows["estimate"], yerr=span, label=arm, **style)
    for place, row in enumerate(table.drop_duplicates("cell").itertuples()):
        edges, margin = (place - 0.42, place + 0.42), Z * row.truth_se
        band = row.truth - margin, row.truth + margin
        ax.fill_between(edges, *band, color="#BBBBBB", zorder=0)
        ax.plot(edges, [row.truth, row.truth], color=figures.BLACK, linewidth=1, zorder=1)
    ax.axhline(0, color=figures.GREY, linewidth=1, linestyle=":")
    ax.set_xticks(range(len(ticks)), [tick.replace(", ", "\n") for tick in ticks])
    ax.yaxis.set_major_formatter(PercentFormatter(1, symbol=""))


_POINTS = (0, 1, 3, 10, 30, 100)
_LINE = {"color": figures.BLACK, "linewidth": 1, "linestyle": "--"}
_ZERO = {"color": figures.GREY, "linewidth": 1, "linestyle": ":"}


def draw_scores(
    scores: pd.DataFrame,
    panels: Mapping[str, str],
    lines: Mapping[str, float],
    logarithmic: Sequence[str] = (),
) -> Figure:
    """Scores of every estimator (rows) and model (marks) in per cent, a panel per score.

    Args:
        scores: index (model, estimator), per score its value, `_low` and `_high` (fractions).
        panels: score → label of its axis.
        lines: score → where it should be.
        logarithmic: scores whose axis is logarithmic beyond one point.

    Example:
        >>> from helpers.scorecard.figures import draw_scores
        >>> index = pd.MultiIndex.from_tuples([("null", "pairs")], names=["model", "estimator"])
        >>> values = {f"{name}{end}": 0.1 for name in "ab" for end in ("", "_low", "_high")}
        >>> figure = draw_scores(pd.DataFrame(values, index), {"a": "A (%)", "b": "B (%)"}, {})
        >>> [ax.get_xlabel() for ax in figure.axes]
        ['A (%)', 'B (%)']
    """
    estimators = list(scores.index.unique("estimator"))
    models = list(scores.index.unique("model"))
    tall = 1.3 + len(estimators) * (0.2 + 0.12 * len(models))
    figure, axes = plt.subplots(1, len(panels), figsize=(figures.WIDTH, tall), sharey=True)
    handles = {}
    for ax, (name, label) in zip(axes, panels.items(), strict=True):
        drawn = [m for m in models if scores.loc[m, name].notna().any()]
        for model, shift in zip(drawn, apart(len(drawn)), strict=True):
            rows = scores.loc[model].reindex(estimators).astype(float)
            ends = (rows[name], rows[f"{name}_low"], rows[f"{name}_high"])
            draw_dots(ax, np.arange(len(estimators)) + shift, ends, figures.look(model), model)
        if name in lines:
            ax.axvline(100 * lines[name], **_LINE, zorder=1)
        if name in logarithmic:
            ax.set_xscale("symlog", linthresh=1, linscale=0.6)
            ax.set_xticks(_POINTS, map(str, _POINTS))
            ax.minorticks_off()
            ax.set_xlim(-0.1, 125 * scores[f"{name}_high"].max())
        ax.set_xlabel(label)
        named_rows(ax, estimators)
        handles |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    handles = {model: handles[model] for model in models}
    figure.legend(handles.values(), handles, loc="outside upper center", ncol=len(handles))
    return figure


def draw_ranges(
    table: pd.DataFrame, rows: str, marks: str | None, panels: str | None, xlabel: str
) -> Figure:
    """Where the estimates of all audits fall: mean, middle 95 %, and a diamond for the truth.

    Args:
        table: estimates with their truth (fractions), one per row.
        rows: column that tells the rows of a panel apart.
        marks: column that tells the marks in a row apart, or None.
        panels: column that tells the panels apart, or None.
        xlabel: label of the horizontal axes, in points.

    Example:
        >>> from helpers.scorecard.figures import draw_ranges
        >>> table = pd.DataFrame({"cell": ["a", "b"], "estimate": [0.1, 0.2], "truth": 0.1})
        >>> figure = draw_ranges(table, "cell", None, None, "points")
        >>> [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
        ['a', 'b']
    """
    groups = list(table.groupby(panels, sort=False)) if panels else [("", table)]
    names = list(table[rows].unique())
    kinds = list(table[marks].unique()) if marks else [None]
    across = min(len(groups), 2)
    down = -(-len(groups) // across)
    size = figures.WIDTH, 0.9 + down * (0.5 + len(names) * (0.15 + 0.21 * len(kinds)))
    figure, axes = plt.subplots(down, across, figsize=size, sharey=True, sharex=True, squeeze=False)
    places, truth = np.arange(len(names)), figures.LOOKS["truth"]
    for ax, (panel, part) in zip(axes.flat, groups, strict=True):
        for kind, shift, one in zip(kinds, apart(len(kinds)), figures.SPARE, strict=False):
            mine = part if kind is None else part[part[marks] == kind]
            look = figures.LOOKS["estimate"] if kind is None else one
            label = "estimates: mean, middle 95 %" if kind is None else kind
            ends = mean_and_middle(mine, rows).reindex(names).T.to_numpy()
            draw_dots(ax, places + shift, ends, look, label)
        true = 100 * part.groupby(rows, sort=False)["truth"].first().reindex(names)
        style = {"markerfacecolor": "none", "markeredgewidth": 1.8, "markersize": 9}
        ax.plot(true, places, truth.marker, color=truth.colour, label="truth", **style)
        if np.ptp(true) == 0:
            ax.axvline(true.iloc[0], color=truth.colour, linewidth=1, zorder=0)
        ax.axvline(0, **_ZERO, zorder=0)
        ax.set_title(panel)
        named_rows(ax, [str(name).replace(": ", ":\n") for name in names])
    figure.supxlabel(xlabel, fontsize=12)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncol=4)
    return figure


def draw_sweep(
    table: pd.DataFrame,
    x: str,
    xlabel: str,
    value: str = "value",
    ylabel: str = "departure (points)",
    scale: float = 1,
    starts: bool = False,
) -> Figure:
    """Estimates, or their departures, along a sweep: a panel per attribute, a line per model.

    Args:
        table: columns model (up to three), attribute, `x`, `value`, low, high (fractions).
        x: column of the swept condition.
        xlabel: its label.
        value: column that is drawn.
        ylabel: its label.
        scale: factor of the values of `x`.
        starts: also mark zero and, by dashed lines, every model's first value; else zero is where
            the axis begins.

    Example:
        >>> from helpers.scorecard.figures import draw_sweep
        >>> rows = pd.DataFrame({"attribute": ["gender", "hair_length"], "value": 0.1})
        >>> rows = rows.assign(model="null", raters=1, low=0.0, high=0.2)
        >>> [ax.get_title() for ax in draw_sweep(rows, "raters", "raters per image").axes]
        ['male − female', 'long − short hair']
    """
    figure, panels = panels_by(table, "attribute", 3.4 + 0.4 * starts, xlabel, ylabel)
    for ax, attribute, rows in panels:
        for (model, part), nudge in zip(
            rows.groupby("model", sort=False), (-1, 0, 1), strict=False
        ):
            look, ends = figures.look(model), (part[value], part["low"], part["high"])
            # Intervals of models that start together would cover each other.
            draw_path(ax, scale * part[x] + 1.5 * nudge * starts, ends, look, model)
            if starts:
                first = 100 * part[value].iloc[0]
                ax.axhline(first, color=look.colour, linewidth=0.8, linestyle="--")
        if starts:
            ax.axhline(0, **_ZERO)
        ax.set_title(CONTRASTS[attribute])
    if not starts:
        figure.axes[0].set_ylim(0, None)
    legend_above(figure)
    return figure


def draw_paths(table: pd.DataFrame, xlabel: str) -> Figure:
    """Estimates of all audits along a sweep over `estimator` (shares), a panel per model.

    Args:
        table: columns model, estimator (the share), estimate, truth; fractions.
        xlabel: label of the shares, in per cent.

    Example:
        >>> from helpers.scorecard.figures import draw_paths
        >>> table = pd.DataFrame({"model": ["a", "b"], "estimator": 0.5, "estimate": 0.1})
        >>> [ax.get_title() for ax in draw_paths(table.assign(truth=0.0), "").axes]
        ['a', 'b']
    """
    figure, panels = panels_by(table, "model", 3.4, xlabel, "dark − light skin (points)")
    for ax, model, rows in panels:
        spread = mean_and_middle(rows, "estimator")
        shares = 100 * spread.index.to_numpy(float)
        draw_path(ax, shares, spread.T.to_numpy(), figures.look(model), model)
        ax.axhline(100 * rows["truth"].iloc[0], **_LINE)
        ax.set_title(model)
    return figure


def draw_power(table: pd.DataFrame) -> Figure:
    """Share of audits that find an effect (marks) and the formula (lines), by size of audit.

    A cell whose power the formula cannot give is named with "marks only".

    Args:
        table: rows of `power_of_cell` with a column cell.

    Example:
        >>> from helpers.scorecard.figures import draw_power
        >>> found = {"found": [0.1, 0.5], "low": 0.0, "high": 1.0, "formula": [0.1, 0.4]}
        >>> table = pd.DataFrame({"cell": "hair", "transects": [100, 1600], **found})
        >>> [tick.get_text() for tick in draw_power(table).axes[0].get_xticklabels()]
        ['100', '1,600']
    """
    figure, ax = plt.subplots(figsize=(figures.WIDTH, 4.4))
    for (cell, part), look in zip(table.groupby("cell", sort=False), figures.SPARE, strict=False):
        ax.plot(part["transects"], 100 * part["formula"], color=look.colour, linewidth=1)
        ends = (part["found"], part["low"], part["high"])
        name = cell if part["formula"].notna().any() else f"{cell} (marks only)"
        draw_path(ax, part["transects"], ends, look, name, linestyle="none", linewidth=None)
    ax.axhline(80, **_LINE)
    ax.set_xscale("log", base=2)
    sizes = table["transects"].unique()
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.set(xlabel="transects in an audit", ylabel="audits that find it (%)", ylim=(-3, 103))
    figure.legend(loc="outside upper left", title="cell: contrast, true effect")
    return figure


def draw_coverage(study: pd.DataFrame, band: tuple[float, float]) -> Figure:
    """Coverage of the coverage study: a panel per correlation, a row per estimator.

    Args:
        study: columns estimator, correlation, kind (of attribute; two), coverage, low, high.
        band: coverage that is acceptable.

    Example:
        >>> from helpers.scorecard.figures import draw_coverage
        >>> study = pd.DataFrame({"kind": ["manipulated", "seed-level"] * 2, "estimator": "pairs"})
        >>> study = study.assign(correlation=[0.1, 0.1, 0.4, 0.4], coverage=0.95, low=0.9, high=1)
        >>> [ax.get_title() for ax in draw_coverage(study, (0.92, 0.97)).axes]
        ['correlation 0.1', 'correlation 0.4']
    """
    estimators = list(study["estimator"].unique())
    tall = 1.5 + 0.75 * len(estimators)
    figure, panels = panels_by(study, "correlation", tall, "coverage (%)", "", sharex=True)
    kinds = list(zip(study["kind"].unique(), figures.SPARE, (-1, 1), strict=False))
    for ax, correlation, rows in panels:
        ax.axvspan(100 * band[0], 100 * band[1], color="#DDDDDD", zorder=0)
        ax.axvline(95, **_LINE, zorder=1)
        for kind, look, side in kinds:
            mine = rows[rows["kind"] == kind]
            place = mine["estimator"].map(estimators.index)
            y = place + side * (0.12 + 0.1 * mine.groupby("estimator").cumcount())
            filled = look.colour if side < 0 else "none"
            ends = (mine["coverage"], mine["low"], mine["high"])
            draw_dots(ax, y, ends, look, kind, markerfacecolor=filled)
        ax.set_title(f"correlation {correlation:g}")
        named_rows(ax, estimators)
    legend_above(figure)
    return figure
