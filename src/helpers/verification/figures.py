"""Figures of the verification study: error rates by group, and what each step of an attribute does.

Colour and marker tell the ancestry group; filled marks and solid lines mean perceived female, open
marks and dashed lines perceived male. What cannot be estimated is said in words in its place and
never drawn as 0. Figure numbers are those of Liang et al. 2023. Call `helpers.figures.style` first.
"""

from collections.abc import Mapping, Sequence
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullLocator, PercentFormatter

from helpers.figures.charts import BLACK, WIDTH, look
from helpers.figures.panels import DASHED, EDGE, WORDS
from helpers.verification.pairs import ALL, PROTOTYPE, STEPS

RELATIONS = ("same seed, same group", "other seed, same group", "other seed, other group")
RANGE = {"low": 0.15, "estimate": 0.5, "high": 0.85}
"""Quantiles of pairs that the paper draws in Figs 5 and 10 to 13."""

_UNITS = {name: f"{name} (steps)" for name in STEPS}
_UNITS |= {"pose": "pose (degrees)", "light": "light from"}
_ANSWERS = {0: "same 0", 0.25: "0.25", 0.5: "not sure 0.5", 0.75: "0.75", 1: "different 1"}


def draw_curves(curves: pd.DataFrame, fixed: pd.DataFrame) -> Figure:
    """FNMR against FMR by group with 95 % bands of the FNMR (Figs 6, 15, 16).

    A row per attribute and a column per recogniser, all on the same axes. A curve ends where the
    FMR can no longer be told from zero, at 1 / negatives.

    Args:
        curves: as `Bands.curves` of `vertex_bootstrap`, with attribute and recogniser.
        fixed: rates at one threshold for all groups, as `helpers.verification.fixed_threshold`,
            with attribute and recogniser. Drawn as triangles; those that point left have an FMR
            below 1 / negatives.
    """
    attributes, names = curves["attribute"].unique(), curves["recogniser"].unique()
    size, shape = (WIDTH, 1.35 + 1.6 * len(attributes)), (len(attributes), len(names))
    figure, axes = plt.subplots(*shape, figsize=size, sharex=True, sharey=True, squeeze=False)
    ax, right = axes[0, 0], max(0.5, fixed["fmr"].max())
    ax.set(xscale="log", xlim=(0.9 / curves["negatives"].max(), right))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}")
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.yaxis.set_major_formatter(PercentFormatter(1, symbol=""))
    by, at = ["attribute", "recogniser"], fixed.set_index(["attribute", "recogniser", "group"])
    parts = dict(list(curves.groupby(by, sort=False)))
    for ax, place in zip(axes.flat, product(attributes, names), strict=True):
        groups = list(parts[place].groupby("group", sort=False))
        for number, (group, rows) in enumerate(groups):
            if not rows[["fnmr", "fmr"]].isna().any(axis=None):
                _curve(ax, number, group, rows, at.loc[(*place, group)])
        _say_missing(ax, {group: rows["reason"].iloc[0] for group, rows in groups})
    for row, attribute in zip(axes[:, 0], attributes, strict=True):
        counts = curves[curves["attribute"] == attribute]
        n = " / ".join(_count(counts[kind]) for kind in ("positives", "negatives"))
        # Wider than its panel, which must not matter; an empty title keeps its place.
        row.set_title(f"{attribute}, n = {n}", loc="left", fontsize=11).set_in_layout(False)
        row.set_title(" ", fontsize=11)
        row.set_ylabel("FNMR (%)")
    for top, below, name in zip(axes[0], axes[-1], names, strict=True):
        top.set_title(f"{name}\n", fontsize=12)
        below.set_xlabel("FMR (%)")
    axes[0, 0].set_ylim(0)
    triangle = Line2D([], [], color=BLACK, marker="^", linestyle="", markersize=7)
    title = "FNMR against FMR by group; n = positive / negative pairs of a group"
    _legend(figure, curves["group"].unique(), {"one threshold\nfor all groups": triangle}, title)
    return figure


def _curve(ax: Axes, place: int, group: str, rows: pd.DataFrame, fixed: pd.Series) -> None:
    """Curve, band and triangle of one group: points from 1 / negatives on, as many as are seen."""
    # Of thresholds with one FMR the lowest has the lowest FNMR, and is the one to use.
    path = rows[rows["fmr"] > 0].sort_values("threshold")
    path = path[~(30 * np.log10(path["fmr"])).round().duplicated()]
    mark, ends = look(group).mark, (path["fnmr_low"], path["fnmr_high"])
    ax.fill_between(path["fmr"], *ends, fc=mark["color"], alpha=0.1, linewidth=0, rasterized=True)
    path = path[path["fnmr"].diff().ne(0) | path["fnmr"].diff(-1).ne(0)]  # corners are enough
    ax.plot(path["fmr"], path["fnmr"], **mark, lw=1.3, ms=3.5, markevery=(0.04 + 0.05 * place, 0.4))
    floor = 1 / rows["negatives"].iloc[0]
    mark |= {"marker": "<" if fixed["fmr"] < floor else "^", "markeredgewidth": 1.4}
    ax.plot(max(fixed["fmr"], floor), fixed["fnmr"], **mark, markersize=6.5, clip_on=False)


def draw_pairs(
    frame: pd.DataFrame, attributes: Sequence[str], value: str, threshold: float
) -> Figure:
    """A value of pairs by step: median and middle 70 % of each group (Figs 4, 5, 10-12, 14).

    A row per attribute and a column per relation, all on the same scale.

    Args:
        frame: one row per pair, columns relation (of `RELATIONS`), attribute, step (of the second
            image; "0" is the prototype), group (of the first) and the value. Rows of other
            attributes are left out, those of "prototype" are taken.
        attributes: of `helpers.verification.ATTRIBUTES`.
        value: "similarity", or "rating": the consensus of a pair, see `helpers.verification.hcic`.
        threshold: from which, or up to which, a pair counts as a match; a dashed line.
    """
    rows = frame[frame["attribute"].isin([*attributes, PROTOTYPE])].astype({"step": str})
    relations = [one for one in RELATIONS if one in set(rows["relation"])]
    size, shape = (WIDTH, 1.2 + 1.9 * len(attributes)), (len(attributes), len(relations))
    figure, axes = plt.subplots(*shape, figsize=size, sharex="row", sharey=True, squeeze=False)
    for line, attribute in zip(axes, attributes, strict=True):
        before, after = np.split(np.array(STEPS[attribute], str), 2)
        steps, own = [*before, "0", *after], rows["attribute"].isin([attribute, PROTOTYPE])
        values = rows[own].groupby(["relation", "group", "step"], observed=True)[value]
        ranges = pd.DataFrame({name: values.quantile(q) for name, q in RANGE.items()})
        for ax, relation in zip(line, relations, strict=True):
            of_relation = ranges.loc[relation].reset_index()
            _beside(ax, of_relation, steps, steps, 3.6)
            for place in (steps.index(step) for step in {*steps} - {*of_relation["step"]}):
                words = WORDS | {"ha": "center", "va": "bottom"}
                ax.text(place, 0.03, "no\npairs", transform=ax.get_xaxis_transform(), **words)
            ax.axhline(threshold, **DASHED, zorder=1)
        line[0].set_ylabel(value)
        line[len(line) // 2].set_xlabel(_UNITS[attribute], fontsize=11)
    sizes = rows.groupby(["relation", "attribute", "group", "step"], observed=True).size()
    for ax, relation in zip(axes[0], relations, strict=True):
        ax.set_title(f"{relation}\nn = {_count(sizes[relation])} a mark", fontsize=11)
    if value == "rating":
        axes[0, 0].set_ylim(-0.06, 1.06)
        axes[0, 0].set_yticks(list(_ANSWERS), list(_ANSWERS.values()))
    dashed = {f"threshold {threshold:.4f}": Line2D([], [], **DASHED)}
    _legend(figure, frame["group"].unique(), dashed)
    return figure


def draw_step_effects(table: pd.DataFrame) -> Figure:
    """What each step does to similarity, with 95 % intervals: a panel per attribute.

    Args:
        table: as `helpers.verification.pairs.step_effects`, for one recogniser: columns group (and
            "all"), attribute, step, reference, estimate, low, high, seeds and reason.
    """
    parts = list(table.astype({"step": str, "reference": str}).groupby("attribute", sort=False))
    size = WIDTH, 0.9 + 1.75 * len(parts)
    figure, axes = plt.subplots(len(parts), 1, figsize=size, sharey=True, squeeze=False)
    for ax, (attribute, own) in zip(axes.flat, parts, strict=True):
        from_step = own.drop_duplicates("step").set_index("step")["reference"]
        steps = [step for step in map(str, STEPS[attribute]) if step in from_step]
        # Directions of light all start from the prototype.
        ordered = set(from_step) != {PROTOTYPE}
        against = from_step.replace(PROTOTYPE, "0")[steps]
        ax.axhline(0, color=BLACK, linewidth=1, zorder=1)
        names = [f"{step} from {other}" if ordered else step for step, other in against.items()]
        _beside(ax, own, steps, names, 5.5)
        _say_missing(ax, own.drop_duplicates("group").set_index("group")["reason"])
        ax.set_ylabel("change in\nsimilarity")
        ax.set_title(_UNITS[attribute], loc="left", fontsize=12)
    _legend(figure, (table["group"] + "\n" + counted(table, "seeds", "{} seeds")).unique(), {})
    return figure


# --- what figures share


def counted(table: pd.DataFrame, kind: str, form: str = "{group}\nn = {}") -> pd.Series:
    """Names of the rows' groups with how many there are of a kind, from which to which."""
    told = {
        group: form.format(_count(n), group=group)
        for group, n in table.groupby("group", sort=False)[kind]
    }
    return table["group"].map(told)


def _count(n: pd.Series) -> str:
    low, high = int(n.min()), int(n.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _beside(
    ax: Axes, rows: pd.DataFrame, steps: Sequence[str], names: Sequence[str], size: float
) -> None:
    """Ranges (low to high) by step, which has a name; groups beside each other."""
    groups = list(rows.groupby("group", sort=False, observed=True))
    for (group, own), shift in zip(groups, np.linspace(-0.36, 0.36, len(groups)), strict=True):
        places, one = own["step"].map(steps.index).to_numpy(float) + shift, look(group, 7)
        spans = own[["low", "high"]].sub(own["estimate"], axis=0).abs().to_numpy(float).T
        still = one.mark | {"linestyle": "none", "markersize": 8 if group == ALL else size}
        _, _, (lines,) = ax.errorbar(places, own["estimate"], yerr=spans, **still, elinewidth=1.3)
        lines.set_linestyle(one.mark["linestyle"])
    for edge in range(1, len(names)):
        ax.axvline(edge - 0.5, **EDGE)
    ax.set_xticks(range(len(names)), [name.replace("-", "−") for name in names], fontsize=10)
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.grid(axis="x", visible=False)
    ax.tick_params(axis="x", length=0)


def _say_missing(ax: Axes, reasons: Mapping[str, str]) -> None:
    """Why groups are not in a panel, in its upper right corner."""
    lines = [f"{group}: {reason}" for group, reason in reasons.items() if reason]
    words = WORDS | {"ha": "right", "va": "top"}
    ax.text(0.98, 0.97, "\n".join(lines), transform=ax.transAxes, **words)


def _legend(
    figure: Figure, groups: Sequence[str], extra: Mapping[str, Line2D], title: str | None = None
) -> None:
    """Groups beneath the figure, the two perceived genders of an ancestry group in one column."""
    marks = [look(group, 7).mark | ({} if title else {"linestyle": "none"}) for group in groups]
    handles = [*(Line2D([], [], **mark, markersize=6) for mark in marks), *extra.values()]
    where = {"loc": "outside lower center", "ncol": -(-len(handles) // 2), "fontsize": 10}
    names = [*groups, *extra]
    figure.legend(handles, names, **where, title=title, columnspacing=1.2, handletextpad=0.5)
