"""Figures of the verification study: similarities, ratings, error rates and their differences.

Groups look as `helpers.verification.figure_style` says. What cannot be estimated is said in words
in its place and never drawn as 0. Figure numbers are those of Liang et al. 2023; curves over
thresholds (Figs 6, 15, 16) are in `helpers.verification.rate_figures`.

All functions raise ValueError for a table that is empty, lacks a column or has a missing value
where there must be none, or a name that they do not know. Call `helpers.figures.style` first.
"""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, PercentFormatter

from helpers.annotations.schema import ATTRIBUTES as SCALES
from helpers.effects.equivalence import EXCEEDS, INCONCLUSIVE, WITHIN
from helpers.figures.looks import BLACK, BLUE, GREY, WIDTH
from helpers.identities import GROUPS, STEPS
from helpers.utils.checks import require_present
from helpers.verification import figure_style as marks

RELATIONS = ("same seed, same group", "other seed, same group", "other seed, other group")
VERDICTS: Mapping[str, tuple[str, bool]] = {
    EXCEEDS: ("X", True),
    INCONCLUSIVE: ("o", False),
    WITHIN: ("o", True),
}
"""Marker of each verdict, and whether it is filled."""
REPORTED_SPREAD = 0.3
"""Median of the standard deviations of nine ratings in the paper (Fig 13)."""

_UNITS = {"pose": "pose (degrees)", "light": "light from", "expression": "expression (steps)"}
_LINE = {"color": BLACK, "linewidth": 1, "linestyle": "--"}
_POINTS = FuncFormatter(lambda value, _: marks.minus(f"{100 * value:+.3g}" if value else "0"))


def draw_similarity(
    frame: pd.DataFrame, attributes: Sequence[str], threshold: float | None = None
) -> Figure:
    """Similarities by step: median and middle 70 % of each group (Figs 5, 10-12).

    A row per attribute and a column per relation, all on the same scale.

    Args:
        frame: one row per pair, columns relation (of `RELATIONS`), attribute, step (of the second
            image; "0" is the prototype), group (of the first) and similarity. Rows of other
            attributes are left out, those of "prototype" are taken.
        attributes: of `helpers.identities.ATTRIBUTES`.
        threshold: at which a recogniser calls a pair a match.
    """
    return _draw_pairs(frame, attributes, "similarity", threshold)


def draw_ratings(
    frame: pd.DataFrame, attributes: Sequence[str], threshold: float | None = None
) -> Figure:
    """How different people found the faces of a pair, drawn as `draw_similarity` (Figs 4, 14).

    Args:
        frame: columns relation, attribute, step and group as there, and rating: the consensus of
            a pair, 0 (likely same) to 1 (likely different), see `helpers.verification.hcic`.
        attributes: as there.
        threshold: up to which a pair counts as a match.
    """
    figure = _draw_pairs(frame, attributes, "rating", threshold)
    words = {0: "same 0", 0.25: "0.25", 0.5: "not sure 0.5", 0.75: "0.75", 1: "different 1"}
    for ax in figure.axes:
        ax.set_ylim(-0.06, 1.06)
        ax.set_yticks(list(words), list(words.values()))
    return figure


def draw_spread(frame: pd.DataFrame) -> Figure:
    """How far the ratings of a pair lie apart: median and middle 70 % by attribute (Fig 13).

    Args:
        frame: one row per pair, columns attribute and spread: the standard deviation of the pair's
            ratings, as a share of the scale.
    """
    marks.check(frame, ["attribute", "spread"])
    require_present(frame["spread"], "a number")
    ranges = marks.ranges(frame, ["attribute"], "spread").reindex(frame["attribute"].unique())
    figure, ax = plt.subplots(figsize=(WIDTH, 1.5 + 0.45 * len(ranges)))
    y = np.arange(len(ranges))
    ax.axvline(REPORTED_SPREAD, **_LINE, label="median in Liang et al. 2023", zorder=1)
    label = "median and middle 70 %"
    spans = np.stack([ranges["middle"] - ranges["low"], ranges["high"] - ranges["middle"]])
    ax.errorbar(ranges["middle"], y, xerr=spans, fmt="o", color=BLUE, capsize=4, label=label)
    for place, row in enumerate(ranges.itertuples()):
        beside = {"xytext": (8, 0), "textcoords": "offset points", "va": "center"}
        ax.annotate(f"{row.middle:.2f}", (row.high, place), fontsize=10, **beside)
    marks.rows(ax, [f"{name}\nn = {n:,}" for name, n in ranges["n"].items()])
    ax.set(
        xlabel="standard deviation of a pair's ratings (scale = 1)",
        xlim=(0, 1.12 * ranges["high"].max()),
    )
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncol=2)
    return figure


def draw_perceived(frame: pd.DataFrame) -> Figure:
    """What people saw in single images, against what was to be shown (Figs 3, 9).

    Args:
        frame: one row per image, columns attribute (a panel each, in order of appearance), shown
            (the group, or the step, that the image was made for: a row each, of n images) and score
            in [0, 1]. Ends of a scale are named where `helpers.annotations` knows it.
    """
    marks.check(frame, ["attribute", "shown", "score"])
    require_present(frame["score"].where(frame["score"].between(0, 1)), "a score in [0, 1]")
    parts = [(name, _shown(part)) for name, part in frame.groupby("attribute", sort=False)]
    across = min(len(parts), 3 if len(parts) == 3 else 2)
    down = -(-len(parts) // across)
    figure, axes = plt.subplots(down, across, figsize=(WIDTH, 0.2 + 2.95 * down), squeeze=False)
    for ax in axes.flat[len(parts) :]:
        ax.remove()
    edges = np.linspace(-0.025, 1.025, 22)  # a mean of five levels by several raters: 0, .05, ...
    for ax, (name, scores) in zip(axes.flat, parts, strict=False):
        for place, (shown, values) in enumerate(scores.items()):
            style = marks.style(shown) if shown in GROUPS else {"color": GREY, "linestyle": "-"}
            share = np.histogram(values, edges)[0] / len(values)
            heights = place + 0.42 - 0.82 * share / max(share.max(), 1e-9)
            filled = style["linestyle"] == "-"
            outline = {"color": style["color"], "linewidth": 1.2, "linestyle": style["linestyle"]}
            base = place + 0.42
            if filled:
                pale = {"fill": True, "color": style["color"], "alpha": 0.45}
                ax.stairs(heights, edges, baseline=base, **pale)
            ax.stairs(heights, edges, baseline=base, **outline)
            ax.plot([np.median(values)] * 2, [place - 0.1, base], color=BLACK, linewidth=2)
        marks.rows(ax, [marks.minus(shown) for shown in scores])
        ax.tick_params(axis="y", labelsize=10)
        low, *_, high = SCALES.get(name, ("", ""))
        ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"], fontsize=10)
        for end, word, side in ((0, low, "left"), (1, high, "right")):
            below = {"xytext": (0, -21), "textcoords": "offset points", "va": "top", "ha": side}
            at = (end, 0)
            ax.annotate(word.lower(), at, xycoords=("data", "axes fraction"), fontsize=10, **below)
        ax.set_xlim(-0.05, 1.05)
        n = marks.count(pd.Series([len(values) for values in scores.values()]))
        title = "perceived gender" if name == "gender" else str(name).replace("_", " ")
        ax.set_title(f"{title}\nn = {n}", fontsize=11.5)
    return figure


def draw_rates(table: pd.DataFrame) -> Figure:
    """FNMR of every group at one FMR with 95 % intervals, a panel per recogniser.

    Args:
        table: as `helpers.verification.Bands.at_fmr` at one FMR: columns group, fmr, fnmr, low,
            high, positives and reason; and recogniser, up to four.
    """
    groups = marks.groups(
        table, ["recogniser", "fmr", "fnmr", "low", "high", "positives", "reason"]
    )
    _require_one(table, "fmr")
    figure, panels = marks.panels(table["recogniser"], 0.38 * len(groups))
    for name, ax in panels.items():
        own = table[table["recogniser"] == name]
        marks.intervals(ax, own, groups, "fnmr", {group: marks.style(group) for group in groups})
        marks.rows(ax, _named(table, groups, "positives"))
        ax.set_title(name)
        ax.xaxis.set_major_formatter(PercentFormatter(1, symbol=""))
    right = max(table["high"].max(), 0.01) if table["high"].notna().any() else 1
    next(iter(panels.values())).set_xlim(-0.025 * right, 1.05 * right)
    held = f"{100 * table['fmr'].iloc[0]:g} %"
    figure.supxlabel(
        f"FNMR (%) at an FMR of {held} in each group (n = positive pairs)", fontsize=12
    )
    return figure


def draw_disparities(table: pd.DataFrame, tolerance: float) -> Figure:
    """Error rates of groups minus those of the reference, with verdicts, a panel per recogniser.

    Args:
        table: as `helpers.verification.disparities` for one measure: columns measure, group,
            reference, estimate, low, high, n, verdict and reason; and recogniser, up to four.
        tolerance: against which the verdicts were made; the grey band.
    """
    columns = ["measure", "reference", "estimate", "low", "high", "n", "verdict", "reason"]
    groups = marks.groups(table, ["recogniser", *columns])
    for column in ("measure", "reference"):
        _require_one(table, column)
    figure, panels = marks.panels(table["recogniser"], 0.38 * len(groups))
    for name, ax in panels.items():
        own = table[table["recogniser"] == name]
        ax.axvspan(-tolerance, tolerance, color="#DDDDDD", linewidth=0, zorder=0)
        ax.axvline(0, color=BLACK, linewidth=1, zorder=1)
        verdicts = own.set_index("group")["verdict"]
        styles = {}
        for group in groups:
            marker, filled = VERDICTS.get(verdicts.get(group), ("o", False))
            colour = marks.style(group)["color"]
            face = {"marker": marker, "markerfacecolor": colour if filled else "white"}
            styles[group] = marks.style(group) | face
        marks.intervals(ax, own, groups, "estimate", styles)
        marks.rows(ax, _named(table, groups, "n"))
        ax.set_title(name)
        ax.xaxis.set_major_formatter(_POINTS)
    measure, reference = table[["measure", "reference"]].iloc[0]
    figure.supxlabel(f"{measure}, minus {reference} (points)", fontsize=12)
    handles = {
        f"{verdict} ±{100 * tolerance:g} points" if verdict != INCONCLUSIVE else verdict: Line2D(
            [],
            [],
            color=BLACK,
            marker=marker,
            linestyle="",
            markersize=7,
            markerfacecolor=BLACK if filled else "white",
        )
        for verdict, (marker, filled) in VERDICTS.items()
    }
    figure.legend(handles.values(), handles, loc="outside upper center", ncol=3)
    return figure


def draw_step_effects(table: pd.DataFrame) -> Figure:
    """What each step does to similarity, with 95 % intervals: a panel per attribute.

    Args:
        table: as `helpers.verification.step_effects`, for one recogniser: columns group (and
            "all"), attribute, step, reference, estimate, low, high, seeds and reason.
    """
    columns = ["attribute", "step", "reference", "estimate", "low", "high", "seeds", "reason"]
    groups = marks.groups(table, columns)
    attributes = marks.known(table["attribute"], STEPS, "attribute")
    size = WIDTH, 0.9 + 1.75 * len(attributes)
    figure, axes = plt.subplots(len(attributes), 1, figsize=size, sharey=True, squeeze=False)
    for ax, attribute in zip(axes.flat, attributes, strict=True):
        own = table[table["attribute"] == attribute].astype({"step": str, "reference": str})
        steps = marks.known(own["step"], map(str, STEPS[attribute]), f"step of {attribute}")
        ax.axhline(0, color=BLACK, linewidth=1, zorder=1)
        missing = {}
        for group, shift in zip(groups, marks.shifts(len(groups)), strict=True):
            rows = own[own["group"] == group]
            if rows["low"].isna().any():
                missing[group] = rows.loc[rows["low"].isna(), "reason"].iloc[0]
            places = rows["step"].map(steps.index).to_numpy(float) + shift
            marks.mark(ax, places, rows, "estimate", marks.style(group))
        marks.say_missing(ax, missing)
        against = own.drop_duplicates("step").set_index("step")["reference"]
        pairs = zip(steps, against[steps].replace("prototype", "0"), strict=True)
        ordered = set(against) != {"prototype"}  # directions of light all start from the prototype
        marks.ticks(ax, [marks.minus(f"{a} from {b}" if ordered else a) for a, b in pairs])
        ax.set_ylabel("change in\nsimilarity")
        ax.set_title(_UNITS.get(attribute, f"{attribute} (steps)"), loc="left", fontsize=12)
    seeds = {group: table.loc[table["group"] == group, "seeds"] for group in groups}
    marks.legend(
        figure, {group: f"{group}\n{marks.count(n)} seeds" for group, n in seeds.items()}, {}
    )
    return figure


def _draw_pairs(
    frame: pd.DataFrame, attributes: Sequence[str], value: str, threshold: float | None
) -> Figure:
    """Ranges of a value of pairs by step, a mark per group."""
    groups = marks.groups(frame, ["relation", "attribute", "step", value])
    require_present(frame[value], "a number")
    attributes = marks.known(attributes, STEPS, "attribute")
    rows = frame[frame["attribute"].isin([*attributes, "prototype"])].astype({"step": str})
    relations = marks.known(rows["relation"], RELATIONS, "relation")
    size = WIDTH, 1.2 + 1.9 * len(attributes)
    figure, axes = plt.subplots(
        len(attributes), len(relations), figsize=size, sharex="row", sharey=True, squeeze=False
    )
    for line, attribute in zip(axes, attributes, strict=True):
        own = rows[rows["attribute"].isin([attribute, "prototype"])]
        steps = _in_order(STEPS[attribute])
        marks.known(own["step"], steps, f"step of {attribute}")
        ranges = marks.ranges(own, ["relation", "group", "step"], value)
        for ax, relation in zip(line, relations, strict=True):
            _draw_panel(ax, ranges.loc[relation].reset_index(), groups, steps)
            marks.ticks(ax, [marks.minus(step) for step in steps])
            ax.tick_params(axis="x", labelsize=10)
        line[0].set_ylabel(value)
        line[len(line) // 2].set_xlabel(_UNITS.get(attribute, f"{attribute} (steps)"), fontsize=11)
    for ax, relation in zip(axes[0], relations, strict=True):
        n = marks.ranges(rows[rows["relation"] == relation], ["attribute", "group", "step"], value)
        ax.set_title(f"{relation}\nn = {marks.count(n['n'])} a mark", fontsize=11)
    if threshold is not None:
        for ax in axes.flat:
            ax.axhline(threshold, **_LINE, zorder=1)
    dashed = {} if threshold is None else {f"threshold {threshold:.3g}": Line2D([], [], **_LINE)}
    marks.legend(figure, {group: group for group in groups}, dashed)
    return figure


def _draw_panel(ax: Axes, ranges: pd.DataFrame, groups: Sequence[str], steps: list[str]) -> None:
    for group, shift in zip(groups, marks.shifts(len(groups)), strict=True):
        part = ranges[ranges["group"] == group]
        places = part["step"].map(steps.index).to_numpy(float) + shift
        marks.mark(ax, places, part, "middle", marks.style(group), small=True)
    words = marks.WORDS | {"va": "bottom"}
    for place in [place for place, step in enumerate(steps) if step not in set(ranges["step"])]:
        ax.text(place, 0.03, "no\npairs", transform=ax.get_xaxis_transform(), **words)


def _require_one(table: pd.DataFrame, column: str) -> None:
    if len(values := table[column].unique()) != 1:
        raise ValueError(f"one {column} can be drawn, not {len(values)}: {list(values)}")


def _named(table: pd.DataFrame, groups: Sequence[str], count: str) -> list[str]:
    """Groups with their counts, which may differ between recognisers."""
    return [
        f"{group}\nn = {marks.count(table.loc[table['group'] == group, count])}" for group in groups
    ]


def _in_order(steps: Sequence) -> list[str]:
    """Steps of an attribute with the prototype's, "0", in the middle."""
    return [*map(str, steps[:2]), "0", *map(str, steps[2:])]


def _shown(part: pd.DataFrame) -> dict[str, pd.Series]:
    """Scores by what was to be shown: groups in their order, or steps."""
    scores = {str(shown): values for shown, values in part.groupby("shown", sort=False)["score"]}
    steps = max(map(_in_order, STEPS.values()), key=lambda order: len({*order} & {*scores}))
    order = GROUPS if {*GROUPS} & {*scores} else steps
    return {shown: scores[shown] for shown in marks.known(scores, order, "group or step")}
