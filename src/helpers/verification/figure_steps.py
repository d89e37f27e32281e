"""Figures of chapter 16: similarities, answers and scores by step of an attribute.

Groups look as `helpers.verification.figure_style` says. What cannot be estimated is said in words
in its place and never drawn as 0. Figure numbers are those of Liang et al. 2023. Names that are no
group, attribute, relation or step raise ValueError. Call `helpers.figures.style` first.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from helpers.annotations.schema import ATTRIBUTES as SCALES
from helpers.figures.looks import BLACK, WIDTH
from helpers.identities import ATTRIBUTES, GROUPS, STEPS
from helpers.verification import figure_style as marks

RELATIONS = ("same seed, same group", "other seed, same group", "other seed, other group")

_UNITS = {"pose": "pose (degrees)", "light": "light from", "expression": "expression (steps)"}
_LINE = {"color": BLACK, "linewidth": 1, "linestyle": "--"}
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
        attributes: of `helpers.identities.ATTRIBUTES`.
        value: "similarity", or "rating": the consensus of a pair, see `helpers.verification.hcic`.
        threshold: from which, or up to which, a pair counts as a match; a dashed line.

    Example:
        >>> import pandas as pd
        >>> from helpers.verification import figure_steps
        >>> pair = {"relation": figure_steps.RELATIONS[0], "group": "european male"}
        >>> pair |= {"attribute": "pose", "step": ["-15", "15"], "similarity": [0.7, 0.8]}
        >>> len(figure_steps.draw_pairs(pd.DataFrame(pair), ["pose"], "similarity", 0.5).axes)
        1
    """
    groups, attributes = marks.groups(frame), marks.ordered(attributes, ATTRIBUTES)
    rows = frame[frame["attribute"].isin([*attributes, "prototype"])].astype({"step": str})
    relations = marks.ordered(rows["relation"], RELATIONS)
    size, shape = (WIDTH, 1.2 + 1.9 * len(attributes)), (len(attributes), len(relations))
    figure, axes = plt.subplots(*shape, figsize=size, sharex="row", sharey=True, squeeze=False)
    for line, attribute in zip(axes, attributes, strict=True):
        own, steps = rows[rows["attribute"].isin([attribute, "prototype"])], _in_order(attribute)
        marks.ordered(own["step"], steps)
        ranges = marks.ranges(own, ["relation", "group", "step"], value)
        for ax, relation in zip(line, relations, strict=True):
            _draw_steps(ax, ranges.loc[relation].reset_index(), groups, steps)
            ax.axhline(threshold, **_LINE, zorder=1)
        line[0].set_ylabel(value)
        line[len(line) // 2].set_xlabel(_UNITS.get(attribute, f"{attribute} (steps)"), fontsize=11)
    sizes = rows.groupby(["relation", "attribute", "group", "step"], observed=True).size()
    for ax, relation in zip(axes[0], relations, strict=True):
        ax.set_title(f"{relation}\nn = {marks.count(sizes[relation])} a mark", fontsize=11)
    if value == "rating":
        axes[0, 0].set_ylim(-0.06, 1.06)
        axes[0, 0].set_yticks(list(_ANSWERS), list(_ANSWERS.values()))
    dashed = {f"threshold {threshold:.3g}": Line2D([], [], **_LINE)}
    marks.legend(figure, {group: group for group in groups}, dashed)
    return figure


def draw_perceived(frame: pd.DataFrame) -> Figure:
    """What people saw in single images, against what was to be shown (Figs 3, 9).

    Args:
        frame: one row per image, columns attribute (a panel each, in order of appearance), shown
            (the group, or the step, that the image was made for: a row each, of n images) and score
            in [0, 1]. Ends of a scale are named where `helpers.annotations` knows it.

    Example:
        >>> import pandas as pd
        >>> from helpers.verification import figure_steps
        >>> seen = {"attribute": "age", "shown": ["-1", "0"] * 2, "score": [0.2, 0.4, 0.3, 0.5]}
        >>> figure_steps.draw_perceived(pd.DataFrame(seen)).axes[0].get_title()
        'age\\nn = 2'
    """
    parts = {name: _shown(part) for name, part in frame.groupby("attribute", sort=False)}
    across = 3 if len(parts) == 3 else min(len(parts), 2)
    down = -(-len(parts) // across)
    figure, axes = plt.subplots(down, across, figsize=(WIDTH, 0.2 + 2.95 * down), squeeze=False)
    for ax in axes.flat[len(parts) :]:
        ax.remove()
    for ax, (name, scores) in zip(axes.flat, parts.items(), strict=False):
        for place, (shown, values) in enumerate(scores.items()):
            marks.histogram(ax, place, shown, values)
        marks.rows(ax, [marks.minus(shown) for shown in scores])
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


def draw_step_effects(table: pd.DataFrame) -> Figure:
    """What each step does to similarity, with 95 % intervals: a panel per attribute.

    Args:
        table: as `helpers.verification.step_effects`, for one recogniser: columns group (and
            "all"), attribute, step, reference, estimate, low, high, seeds and reason.

    Example:
        >>> import pandas as pd
        >>> from helpers.verification import figure_steps
        >>> step = {"group": "all", "attribute": "pose", "step": [15, 30], "reason": "", "seeds": 8}
        >>> step |= {"reference": ["prototype", 15], "estimate": -0.2, "low": -0.3, "high": -0.1}
        >>> len(figure_steps.draw_step_effects(pd.DataFrame(step)).axes)
        1
    """
    groups, attributes = marks.groups(table), marks.ordered(table["attribute"], ATTRIBUTES)
    size = WIDTH, 0.9 + 1.75 * len(attributes)
    figure, axes = plt.subplots(len(attributes), 1, figsize=size, sharey=True, squeeze=False)
    for ax, attribute in zip(axes.flat, attributes, strict=True):
        own = table[table["attribute"] == attribute].astype({"step": str, "reference": str})
        steps = marks.ordered(own["step"], map(str, STEPS[attribute]))
        ax.axhline(0, color=BLACK, linewidth=1, zorder=1)
        for group, shift in marks.shifts(groups):
            rows = own[own["group"] == group]
            places = rows["step"].map(steps.index).to_numpy(float) + shift
            marks.mark(ax, places, rows, "estimate", group, 5.5)
        missing = own[own["low"].isna()].drop_duplicates("group").set_index("group")["reason"]
        marks.say_missing(ax, missing)
        against = own.drop_duplicates("step").set_index("step")["reference"][steps]
        ordered = set(against) != {"prototype"}  # directions of light all start from the prototype
        from_prototype = against.replace("prototype", "0")
        marks.ticks(ax, [f"{a} from {b}" if ordered else a for a, b in from_prototype.items()])
        ax.set_ylabel("change in\nsimilarity")
        ax.set_title(_UNITS.get(attribute, f"{attribute} (steps)"), loc="left", fontsize=12)
    seeds = {group: marks.count(table.loc[table["group"] == group, "seeds"]) for group in groups}
    marks.legend(figure, {group: f"{group}\n{n} seeds" for group, n in seeds.items()}, {})
    return figure


def _draw_steps(ax: Axes, ranges: pd.DataFrame, groups: Sequence[str], steps: list[str]) -> None:
    for group, shift in marks.shifts(groups):
        part = ranges[ranges["group"] == group]
        places = part["step"].map(steps.index).to_numpy(float) + shift
        marks.mark(ax, places, part, "middle", group, 3.6)
    words = marks.WORDS | {"va": "bottom"}
    for place in [place for place, step in enumerate(steps) if step not in set(ranges["step"])]:
        ax.text(place, 0.03, "no\npairs", transform=ax.get_xaxis_transform(), **words)
    marks.ticks(ax, steps)
    ax.tick_params(axis="x", labelsize=10)


def _in_order(attribute: str) -> list[str]:
    """Steps of an attribute with the prototype's, "0", in the middle."""
    steps = list(map(str, STEPS[attribute]))
    return [*steps[:2], "0", *steps[2:]]


def _shown(part: pd.DataFrame) -> dict[str, pd.Series]:
    """Scores by what was to be shown: groups in their order, or steps."""
    scores = {str(shown): values for shown, values in part.groupby("shown", sort=False)["score"]}
    steps = max(map(_in_order, STEPS), key=lambda order: len({*order} & {*scores}))
    order = GROUPS if {*GROUPS} & {*scores} else steps
    return {shown: scores[shown] for shown in marks.ordered(scores, order)}
