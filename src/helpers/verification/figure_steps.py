"""Figures by step of an attribute: similarities, answers, scores, effects.

Groups look as `helpers.verification.figures` says. Figure numbers are those of Liang et al. 2023.
Call `helpers.figures.style` first.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from helpers.annotations.schema import ATTRIBUTES as SCALES
from helpers.figures.looks import BLACK, GREY, WIDTH
from helpers.verification import figures as marks
from helpers.verification.consensus import ALL, PROTOTYPE
from helpers.verification.pairs import STEPS
from helpers.verification.people import GROUPS

RELATIONS = ("same seed, same group", "other seed, same group", "other seed, other group")
RANGE = {"low": 0.15, "middle": 0.5, "high": 0.85}
"""Quantiles of pairs that the paper draws in Figs 5 and 10 to 13."""

_UNITS = {"pose": "pose (degrees)", "light": "light from"}
_DASHED = {"color": BLACK, "linewidth": 1, "linestyle": "--"}
_ANSWERS = {0: "same 0", 0.25: "0.25", 0.5: "not sure 0.5", 0.75: "0.75", 1: "different 1"}


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
    groups, rows = marks.groups_of(frame), frame.astype({"step": str})
    rows = rows[rows["attribute"].isin([*attributes, PROTOTYPE])]
    relations = marks.ordered(rows["relation"], RELATIONS)
    size, shape = (WIDTH, 1.2 + 1.9 * len(attributes)), (len(attributes), len(relations))
    figure, axes = plt.subplots(*shape, figsize=size, sharex="row", sharey=True, squeeze=False)
    for line, attribute in zip(axes, attributes, strict=True):
        own, steps = rows[rows["attribute"].isin([attribute, PROTOTYPE])], _in_order(attribute)
        values = own.groupby(["relation", "group", "step"], observed=True)[value]
        ranges = pd.DataFrame({name: values.quantile(q) for name, q in RANGE.items()})
        for ax, relation in zip(line, relations, strict=True):
            of_relation = ranges.loc[relation].reset_index()
            _upright(ax, of_relation, groups, steps, "middle", 3.6)
            marks.name_ticks(ax, steps)
            ax.tick_params(axis="x", labelsize=10)
            for place in (steps.index(step) for step in {*steps} - {*of_relation["step"]}):
                words = marks.WORDS | {"ha": "center", "va": "bottom"}
                ax.text(place, 0.03, "no\npairs", transform=ax.get_xaxis_transform(), **words)
            ax.axhline(threshold, **_DASHED, zorder=1)
        line[0].set_ylabel(value)
        line[len(line) // 2].set_xlabel(_unit(attribute), fontsize=11)
    sizes = rows.groupby(["relation", "attribute", "group", "step"], observed=True).size()
    for ax, relation in zip(axes[0], relations, strict=True):
        ax.set_title(f"{relation}\nn = {marks.count(sizes[relation])} a mark", fontsize=11)
    if value == "rating":
        axes[0, 0].set_ylim(-0.06, 1.06)
        axes[0, 0].set_yticks(list(_ANSWERS), list(_ANSWERS.values()))
    dashed = {f"threshold {threshold:.3g}": Line2D([], [], **_DASHED)}
    marks.legend(figure, dict(zip(groups, groups, strict=True)), dashed)
    return figure


def draw_step_effects(table: pd.DataFrame) -> Figure:
    """What each step does to similarity, with 95 % intervals: a panel per attribute.

    Args:
        table: as `helpers.verification.step_effects`, for one recogniser: columns group (and
            "all"), attribute, step, reference, estimate, low, high, seeds and reason.
    """
    groups, attributes = marks.groups_of(table), marks.ordered(table["attribute"], STEPS)
    size = WIDTH, 0.9 + 1.75 * len(attributes)
    figure, axes = plt.subplots(len(attributes), 1, figsize=size, sharey=True, squeeze=False)
    for ax, attribute in zip(axes.flat, attributes, strict=True):
        own = table[table["attribute"] == attribute].astype({"step": str, "reference": str})
        steps = marks.ordered(own["step"], map(str, STEPS[attribute]))
        ax.axhline(0, color=BLACK, linewidth=1, zorder=1)
        _upright(ax, own, groups, steps, "estimate", 5.5)
        missing = own[own["low"].isna()].drop_duplicates("group").set_index("group")["reason"]
        marks.say_missing(ax, missing)
        against = own.drop_duplicates("step").set_index("step")["reference"][steps]
        ordered = set(against) != {PROTOTYPE}  # directions of light all start from the prototype
        from_prototype = against.replace(PROTOTYPE, "0")
        marks.name_ticks(ax, [f"{a} from {b}" if ordered else a for a, b in from_prototype.items()])
        ax.set_ylabel("change in\nsimilarity")
        ax.set_title(_unit(attribute), loc="left", fontsize=12)
    seeds = {group: marks.count(table.loc[table["group"] == group, "seeds"]) for group in groups}
    marks.legend(figure, {group: f"{group}\n{n} seeds" for group, n in seeds.items()}, {})
    return figure


def draw_perceived(frame: pd.DataFrame) -> Figure:
    """What people saw in single images, against what was to be shown (Figs 3, 9).

    Args:
        frame: one row per image, columns attribute (a panel each, in order of appearance), shown
            (the group, or the step, that the image was made for: a row each, of n images) and score
            in [0, 1]. Ends of a scale are named where `helpers.annotations` knows it.
    """
    parts = dict(list(frame.groupby("attribute", sort=False)))
    size = WIDTH, 3.15
    figure, axes = plt.subplots(1, len(parts), figsize=size, squeeze=False)
    for ax, (name, part) in zip(axes.flat, parts.items(), strict=True):
        scores = {str(shown): values for shown, values in part.groupby("shown")["score"]}
        order = GROUPS if {*GROUPS} & {*scores} else _in_order("age")
        scores = {shown: scores[shown] for shown in marks.ordered(scores, order)}
        for place, (shown, values) in enumerate(scores.items()):
            _histogram(ax, place, shown, values)
        marks.name_rows(ax, [marks.minus(shown) for shown in scores])
        ax.tick_params(axis="y", labelsize=10)
        ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"], fontsize=10)
        low, *_, high = SCALES.get(name, ("", ""))
        below = {"xytext": (0, -21), "textcoords": "offset points", "va": "top", "fontsize": 10}
        for end, word, side in ((0, low, "left"), (1, high, "right")):
            at = {"xy": (end, 0), "xycoords": ("data", "axes fraction")}
            ax.annotate(word.lower(), **at, **below, ha=side)
        ax.set_xlim(-0.05, 1.05)
        n = marks.count(pd.Series([len(values) for values in scores.values()]))
        title = "perceived gender" if name == "gender" else str(name).replace("_", " ")
        ax.set_title(f"{title}\nn = {n}", fontsize=11.5)
    return figure


def _upright(
    ax: Axes,
    rows: pd.DataFrame,
    groups: Sequence[str],
    steps: Sequence[str],
    middle: str,
    size: float,
) -> None:
    """Ranges (low to high) by step, groups beside each other, with a mark in the middle."""
    for group, shift in zip(groups, np.linspace(-0.36, 0.36, len(groups)), strict=True):
        own = rows[rows["group"] == group]
        places = own["step"].map(steps.index).to_numpy(float) + shift
        spans = own[["low", "high"]].sub(own[middle], axis=0).abs().to_numpy(float).T
        look = marks.style(group)
        still = look | {"linestyle": "none", "markersize": 8 if group == ALL else size}
        _, _, (bars,) = ax.errorbar(places, own[middle], yerr=spans, **still, elinewidth=1.3)
        bars.set_linestyle(look["linestyle"])


def _histogram(ax: Axes, place: int, shown: str, values: pd.Series) -> None:
    """Scores of one row, upwards from its lower edge, with their median."""
    edges = np.linspace(-0.025, 1.025, 22)  # a mean of five levels by several raters: 0, .05, ...
    look = marks.style(shown) if shown in GROUPS else {"color": GREY, "linestyle": "-"}
    share, base = np.histogram(values, edges)[0] / len(values), place + 0.42
    bars = {"values": base - 0.82 * share / share.max(), "edges": edges}
    bars |= {"baseline": base, "color": look["color"]}
    if look["linestyle"] == "-":
        ax.stairs(**bars, fill=True, alpha=0.45)
    ax.stairs(**bars, linewidth=1.2, linestyle=look["linestyle"])
    ax.plot([np.median(values)] * 2, [place - 0.1, base], color=BLACK, linewidth=2)


def _in_order(attribute: str) -> list[str]:
    """Steps of an attribute with the prototype's, "0", in the middle."""
    steps = list(map(str, STEPS[attribute]))
    return [*steps[:2], "0", *steps[2:]]


def _unit(attribute: str) -> str:
    return _UNITS.get(attribute, f"{attribute} (steps)")
