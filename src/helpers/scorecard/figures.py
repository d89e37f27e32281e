"""Figures of the scorecard: scores, ranges of estimates, and sweeps."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter

from helpers import figures
from helpers.effects import labels
from helpers.effects.labels import CONTRASTS, Z
from helpers.scorecard.scores import ends_of


def draw_parts(parts: pd.DataFrame, n: int) -> Axes:
    """The measured against the expected part of a hidden attribute in each effect, in points.

    Args:
        parts: columns model, effect, se, expected; one row per effect.
        n: transects that the measurement rests on.
    """
    axis = plt.figure(figsize=(figures.WIDTH, 4.8)).gca()
    for model, rows in parts.groupby("model", sort=False):
        look = figures.look(model)
        axis.errorbar(
            100 * rows["expected"],
            100 * rows["effect"],
            100 * labels.Z * rows["se"],
            fmt=look.marker,
            color=look.colour,
            label=model,
        )
    axis.axline((0, 0), slope=1, color=figures.GREY, linestyle="--")
    counted = f"measured (points, n = {n:,} transects)"
    axis.set(xlabel="leakage × effect (points)", ylabel=counted)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=4)
    return axis


def draw_warnings(claims: pd.DataFrame, measures: Sequence[str], part: str) -> Figure:
    """What sensitivity measures said of each effect against the part that was really hidden.

    Args:
        claims: one row per effect; columns model, the measures and `part`.
        measures: columns on the horizontal axes; effects without a finite value are left out.
        part: column on the vertical axis, in points.
    """
    size = (figures.WIDTH, 3.6)
    figure, panels = plt.subplots(1, len(measures), figsize=size, sharey=True)
    for axis, measure in zip(panels, measures, strict=True):
        usable = claims[np.isfinite(claims[measure]) & (claims[measure] > 0)]
        for model, rows in claims.groupby("model", sort=False):
            look, rows = figures.look(model), usable[usable["model"] == model]
            label = model if axis is panels[0] else None
            axis.plot(rows[measure], rows[part], look.marker, color=look.colour, label=label)
        axis.set(xscale="log", xlabel=f"{measure}\n(n = {len(usable)} effects)")
        _label_plainly(axis, usable[measure])
    panels[0].set_ylabel("hidden part (points)")
    figure.legend(loc="outside upper center", ncol=4)
    return figure


def _label_plainly(axis: Axes, values: pd.Series) -> None:
    """Ticks of a log axis as plain numbers, few enough not to touch."""
    decades = np.log10(values.max() / values.min()) if len(values) else 0
    steps = (1, 2, 5) if decades < 1 else (1, 3) if decades < 2 else (1,)
    axis.xaxis.set_major_locator(LogLocator(subs=steps))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())


def draw_cells(table: pd.DataFrame, attribute: str, models: Sequence[str]) -> Figure:
    """Effects of one attribute in each cell of the others: a panel of intervals per model.

    Introduced in chapter 10.

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

    Introduced in chapter 10.

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


def draw_scores(
    scores: pd.DataFrame,
    panels: Mapping[str, str],
    lines: Mapping[str, float],
    logarithmic: Sequence[str] = (),
) -> Figure:
    """Scores of every estimator (rows) and model (marks) in per cent, a panel per score.

    Args:
        scores: index (model, estimator), per score its value, `_low` and `_high`.
        panels: score → label of its axis.
        lines: score → where it should be.
        logarithmic: scores whose axis is logarithmic beyond one point.
    """
    estimators = list(scores.index.unique("estimator"))
    models = list(scores.index.unique("model"))
    tall = 1.3 + len(estimators) * (0.2 + 0.12 * len(models))
    figure, axes = plt.subplots(1, len(panels), figsize=(figures.WIDTH, tall), sharey=True)
    for ax, (name, label) in zip(axes, panels.items(), strict=True):
        drawn = [m for m in models if scores.loc[m, name].notna().any()]
        for model, shift in zip(drawn, _shifts(len(drawn)), strict=True):
            rows = 100 * scores.loc[model].reindex(estimators)[list(ends_of(name))].astype(float)
            y = np.arange(len(estimators)) + shift
            one = figures.look(model)
            _mark(ax, rows[name], y, rows[f"{name}_low"], rows[f"{name}_high"], one, model)
        if name in lines:
            ax.axvline(100 * lines[name], **_LINE, zorder=1)
        if name in logarithmic:
            ax.set_xscale("symlog", linthresh=1, linscale=0.6)
            ax.set_xticks(_POINTS, map(str, _POINTS))
            ax.minorticks_off()
            ax.set_xlim(-0.1, 125 * scores[f"{name}_high"].max())
        ax.set_xlabel(label)
        _rows(ax, estimators)
    handles = {}
    for ax in axes:
        handles |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    handles = {model: handles[model] for model in models}
    figure.legend(handles.values(), handles, loc="outside upper center", ncol=len(handles))
    return figure


def draw_ranges(
    table: pd.DataFrame, rows: str, marks: str | None, panels: str | None, xlabel: str
) -> Figure:
    """Where the estimates of all audits fall: mean, middle 95 %, and a diamond for the truth.

    Args:
        table: estimates with their truth, one per row.
        rows, marks, panels: columns that tell the rows of a panel, the marks in a row and the
            panels apart.
        xlabel: label of the horizontal axes, in points.
    """
    groups = list(table.groupby(panels, sort=False)) if panels else [("", table)]
    names = list(table[rows].unique())
    kinds = list(table[marks].unique()) if marks else [None]
    across = min(len(groups), 2)
    down = -(-len(groups) // across)
    size = figures.WIDTH, 0.9 + down * (0.5 + len(names) * (0.15 + 0.21 * len(kinds)))
    figure, axes = plt.subplots(down, across, figsize=size, sharey=True, sharex=True, squeeze=False)
    for ax, (panel, part) in zip(axes.flat, groups, strict=True):
        for kind, shift, one in zip(kinds, _shifts(len(kinds)), figures.SPARE, strict=False):
            mine = part if kind is None else part[part[marks] == kind]
            spread = _spread(mine, rows).reindex(names)
            look = figures.LOOKS["estimate"] if kind is None else one
            y = np.arange(len(names)) + shift
            label = "estimates: mean, middle 95 %" if kind is None else kind
            _mark(ax, spread["mean"], y, spread["low"], spread["high"], look, label)
        true = 100 * part.groupby(rows, sort=False)["truth"].first().reindex(names)
        _diamonds(ax, true, np.arange(len(names)))
        if np.ptp(true) == 0:
            ax.axvline(true.iloc[0], color=figures.LOOKS["truth"].colour, linewidth=1, zorder=0)
        ax.axvline(0, color=figures.GREY, linewidth=1, linestyle=":", zorder=0)
        ax.set_title(panel)
        _rows(ax, [str(name).replace(": ", ":\n") for name in names])
    figure.supxlabel(xlabel, fontsize=12)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncol=4)
    return figure


def draw_sweep(table: pd.DataFrame, x: str, xlabel: str, scale: float = 1) -> Figure:
    """Departures from the truth along a sweep: a panel per attribute, a line per model.

    Args:
        table: columns model, attribute, `x`, value, low, high (fractions).
        x: column of the swept condition.
        xlabel: its label.
        scale: factor of the values of `x`.
    """
    attributes = list(table["attribute"].unique())
    size = figures.WIDTH, 3.4
    figure, axes = plt.subplots(1, len(attributes), figsize=size, sharey=True)
    for ax, attribute in zip(axes, attributes, strict=True):
        for model, part in table[table["attribute"] == attribute].groupby("model", sort=False):
            _path(ax, scale * part[x], part, "value", figures.look(model), model)
        ax.set_title(CONTRASTS[attribute])
    axes[0].set_ylabel("departure (points)")
    axes[0].set_ylim(0, None)
    figure.supxlabel(xlabel, fontsize=12)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncol=4)
    return figure


def draw_paths(table: pd.DataFrame, xlabel: str) -> Figure:
    """Estimates of all audits along a sweep over `estimator` (shares), a panel per model."""
    groups = list(table.groupby("model", sort=False))
    figure, axes = plt.subplots(1, len(groups), figsize=(figures.WIDTH, 3.4), sharey=True)
    for ax, (model, part) in zip(axes, groups, strict=True):
        spread = _spread(part, "estimator").rename(columns={"mean": "value"}) / 100
        _path(ax, 100 * spread.index.to_numpy(float), spread, "value", figures.look(model), model)
        ax.axhline(100 * part["truth"].iloc[0], **_LINE)
        ax.set_title(model)
    axes[0].set_ylabel("dark − light skin (points)")
    figure.supxlabel(xlabel, fontsize=12)
    return figure


def draw_power(table: pd.DataFrame) -> Figure:
    """Share of audits that find an effect (marks) and the formula (lines), by size of audit.

    Args:
        table: rows of `power_of_cell` with a column cell.
    """
    figure, ax = plt.subplots(figsize=(figures.WIDTH, 4.4))
    for (cell, part), look in zip(table.groupby("cell", sort=False), figures.SPARE, strict=False):
        low, high = (100 * part[end] for end in ("low", "high"))
        spans = np.stack([100 * part["found"] - low, high - 100 * part["found"]]).clip(0)
        ax.plot(part["transects"], 100 * part["formula"], color=look.colour, linewidth=1)
        ax.errorbar(
            part["transects"],
            100 * part["found"],
            yerr=spans,
            fmt=look.marker,
            color=look.colour,
            capsize=3,
            label=cell,
        )
    ax.axhline(80, **_LINE)
    ax.set_xscale("log", base=2)
    sizes = table["transects"].unique()
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.set(xlabel="transects in an audit", ylabel="audits that find it (%)", ylim=(-3, 103))
    figure.legend(loc="outside upper left", title="cell: contrast, true effect")
    return figure


def draw_leaks(table: pd.DataFrame, xlabel: str) -> Figure:
    """Estimates along a planted leak (rows of `leaking`): panels by attribute, lines by model."""
    groups = list(table.groupby("attribute", sort=False))
    figure, axes = plt.subplots(1, len(groups), figsize=(figures.WIDTH, 3.8), sharey=True)
    for ax, (attribute, rows) in zip(axes, groups, strict=True):
        for (model, part), nudge in zip(rows.groupby("model", sort=False), (-1, 0, 1), strict=True):
            look = figures.look(model)
            _path(ax, 100 * part["share"] + 1.5 * nudge, part, "estimate", look, model)
            start = 100 * part["estimate"].iloc[0]
            ax.axhline(start, color=look.colour, linewidth=0.8, linestyle="--")
        ax.axhline(0, color=figures.GREY, linewidth=1, linestyle=":")
        ax.set_title(CONTRASTS[attribute])
    axes[0].set_ylabel("effect on women's errors (points)")
    figure.supxlabel(xlabel, fontsize=12)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncol=3)
    return figure


def draw_coverage(study: pd.DataFrame, band: tuple[float, float]) -> Figure:
    """Coverage of the coverage study: a panel per correlation, a row per estimator.

    Args:
        study: columns estimator, correlation, kind (of attribute), coverage, low, high.
        band: coverage that is acceptable.
    """
    estimators = list(study["estimator"].unique())
    groups = list(study.groupby("correlation"))
    size = figures.WIDTH, 1.5 + 0.75 * len(estimators)
    figure, axes = plt.subplots(1, len(groups), figsize=size, sharey=True, sharex=True)
    kinds = dict(zip(study["kind"].unique(), figures.SPARE, strict=False))
    for ax, (correlation, rows) in zip(axes, groups, strict=True):
        ax.axvspan(100 * band[0], 100 * band[1], color="#DDDDDD", zorder=0)
        ax.axvline(95, **_LINE, zorder=1)
        for (kind, look), side in zip(kinds.items(), (-1, 1), strict=True):
            mine = rows[rows["kind"] == kind]
            place = np.array([estimators.index(name) for name in mine["estimator"]])
            order = mine.groupby("estimator").cumcount()
            y = place + side * (0.12 + 0.1 * order)
            value, low, high = (100 * mine[name] for name in ("coverage", "low", "high"))
            filled = look.colour if side < 0 else "none"
            _mark(ax, value, y, low, high, look, kind, markerfacecolor=filled)
        ax.set_title(f"correlation {correlation:g}")
        _rows(ax, estimators)
    figure.supxlabel("coverage (%)", fontsize=12)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncol=2)
    return figure


def _shifts(count: int) -> np.ndarray:
    return np.linspace(-0.28, 0.28, count) if count > 1 else np.zeros(1)


def _spread(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Mean and middle 95 % of the estimates, in points."""
    groups = 100 * table.groupby(by, sort=False)["estimate"].agg(
        mean="mean", low=lambda v: v.quantile(0.025), high=lambda v: v.quantile(0.975)
    )
    return groups


def _mark(
    ax: Axes,
    value: pd.Series,
    y: np.ndarray,
    low: pd.Series,
    high: pd.Series,
    look: figures.Look,
    label: str,
    **more: object,
) -> None:
    spans = np.stack([value - low, high - value]).astype(float).clip(0)
    style = {"fmt": look.marker, "color": look.colour, "markersize": 5.5, "elinewidth": 1.2}
    ax.errorbar(value, y, xerr=spans, label=label, **style | more)


def _diamonds(ax: Axes, value: pd.Series, y: np.ndarray) -> None:
    mark = figures.LOOKS["truth"]
    style = {"markerfacecolor": "none", "markeredgewidth": 1.8, "markersize": 9}
    ax.plot(value, y, mark.marker, color=mark.colour, label="truth", **style)


def _rows(ax: Axes, names: Sequence[str]) -> None:
    """Named rows from the top down, with thin lines between them."""
    for edge in range(len(names) + 1):
        ax.axhline(edge - 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)


def _path(
    ax: Axes, x: pd.Series, table: pd.DataFrame, value: str, look: figures.Look, label: str
) -> None:
    middle = 100 * table[value]
    spans = np.stack([middle - 100 * table["low"], 100 * table["high"] - middle]).clip(0)
    style = {"marker": look.marker, "color": look.colour, "capsize": 3, "linewidth": 1.2}
    ax.errorbar(x, middle, yerr=spans, label=label, **style)
