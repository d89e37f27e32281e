"""Figures of the verification study: similarities, ratings, error curves and their differences.

In every figure colour and marker tell the ancestry group; filled marks and solid lines mean
perceived female, open marks and dashed lines perceived male. What cannot be estimated is said in
words in its place and never drawn as 0. Figure numbers are those of Liang et al. 2023.

All functions raise ValueError for a table that is empty, lacks a column or has a missing value
where there must be none, or a name that they do not know. Call `helpers.figures.style` first.
"""

from collections.abc import Iterable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from helpers.annotations.schema import ATTRIBUTES as SCALES
from helpers.effects.verdicts import EXCEEDS, INCONCLUSIVE, WITHIN
from helpers.errors import require_columns, require_present
from helpers.figures import BLACK, BLUE, GREEN, GREY, VERMILION, WIDTH, Look
from helpers.identities import GROUPS, STEPS

# Not blue beside orange, nor purple beside green: elsewhere in the book those pairs are skin colour
# and perceived gender, which are no part of an ancestry group.
ANCESTRY_LOOKS: Mapping[str, Look] = {
    "african": Look(VERMILION, "o", ""),
    "east asian": Look(GREEN, "s", ""),
    "european": Look(BLUE, "D", ""),
}
ALL = "all"
"""A row over all groups, drawn last and in black."""
RELATIONS = ("same seed, same group", "other seed, same group", "other seed, other group")
VERDICTS: Mapping[str, tuple[str, bool]] = {
    EXCEEDS: ("X", True),
    INCONCLUSIVE: ("o", False),
    WITHIN: ("o", True),
}
"""Marker of each verdict, and whether it is filled."""
REPORTED_SPREAD = 0.3
"""Median of the standard deviations of nine ratings in the paper (Fig 13)."""

_LOW, _HIGH = 0.15, 0.85  # the range that the paper draws in Figs 5 and 10 to 13
_UNITS = {"pose": "pose (degrees)", "light": "light from", "expression": "expression (steps)"}
_DASH = (0, (3, 1.5))
_LINE = {"color": BLACK, "linewidth": 1, "linestyle": "--"}
_PERCENT = FuncFormatter(lambda value, _: f"{100 * value:.3g} %")
# GREY is too pale for words.
_WORDS = {"fontsize": 10, "color": "#555555", "style": "italic", "ha": "center", "va": "center"}


def draw_curves(curves: pd.DataFrame, fixed: pd.DataFrame) -> Figure:
    """FNMR against FMR by group with 95 % bands of the FNMR, a panel per recogniser (Fig 6, 15, 16).

    A curve ends where the FMR can no longer be told from zero, at 1 / negatives.

    Args:
        curves: as `helpers.verification.Bands.curves`: columns group, threshold, fnmr, fnmr_low,
            fnmr_high, fmr, positives, negatives and reason; and recogniser, up to four.
        fixed: rates at one threshold for all groups, as `helpers.verification.fixed_threshold`:
            columns recogniser, group, fnmr, fmr. Drawn as triangles; those that point left have an
            FMR below 1 / negatives.
    """
    columns = ["threshold", "fnmr", "fnmr_low", "fnmr_high", "fmr", "positives", "negatives"]
    groups = _groups(curves, ["recogniser", *columns, "reason"])
    require_columns(fixed, ["recogniser", "group", "fnmr", "fmr"])
    figure, panels = _panels(curves["recogniser"], 2.55)
    floors = 1 / curves["negatives"].where(curves["negatives"] > 0)
    right = max(0.5, fixed["fmr"].max())
    for name, ax in panels.items():
        ax.set(xscale="log", xlim=(0.9 * floors.min(), right), title=name)
        own, triangles = (table[table["recogniser"] == name] for table in (curves, fixed))
        missing = {}
        for place, group in enumerate(groups):
            rows = own[own["group"] == group]
            if rows[["fnmr", "fmr"]].isna().any(axis=None):
                missing[group] = rows["reason"].iloc[0]
                continue
            style = _style(group)
            path = _visible(rows)
            ends = path["fnmr_low"].astype(float), path["fnmr_high"].astype(float)
            ax.fill_between(path["fmr"], *ends, color=style["color"], alpha=0.1, linewidth=0)
            every = (0.04 + 0.05 * place, 0.33)
            ax.plot(
                path["fmr"], path["fnmr"], **style, linewidth=1.6, markersize=4.5, markevery=every
            )
            floor = floors[rows.index].min()
            for point in triangles[triangles["group"] == group].itertuples():
                below = point.fmr < floor
                ax.plot(
                    max(point.fmr, floor),
                    point.fnmr,
                    **style | {"marker": "<" if below else "^", "markeredgecolor": BLACK},
                    markersize=9,
                    clip_on=False,
                    zorder=4,
                )
        _say_missing(ax, missing)
        ax.xaxis.set_major_formatter(_PERCENT)
        ax.xaxis.set_minor_formatter(plt.NullFormatter())
        ax.yaxis.set_major_formatter(_PERCENT)
    top = np.nanmax([ax.dataLim.y1 for ax in panels.values()])
    next(iter(panels.values())).set_ylim(0, 1.03 * top if top > 0 else 1)
    figure.supxlabel("false match rate (FMR)", fontsize=12)
    figure.supylabel("false non-match rate (FNMR)", fontsize=12)
    labels = {}
    for group in groups:
        rows = curves[curves["group"] == group]
        labels[group] = f"{group}\n{_count(rows['positives'])} / {_count(rows['negatives'])}"
    triangle = Line2D([], [], color=BLACK, marker="^", linestyle="", markersize=9)
    extra = {"one threshold\nfor all groups": triangle}
    _legend(figure, labels, extra, lines=True, title="positive / negative pairs of each group")
    return figure


def draw_similarity(frame: pd.DataFrame, attribute: str, threshold: float | None = None) -> Figure:
    """Similarities by step of one attribute: median and middle 70 % of each group (Figs 5, 10-12).

    Args:
        frame: one row per pair, columns relation (of `RELATIONS`: a panel each), attribute, step
            (of the second image; "0" is the prototype), group (of the first) and similarity. Rows
            of other attributes are left out, those of "prototype" are taken.
        attribute: of `helpers.identities.ATTRIBUTES`.
        threshold: at which a recogniser calls a pair a match.
    """
    return _draw_pairs(frame, attribute, "similarity", threshold, 1.75)


def draw_ratings(frame: pd.DataFrame, attribute: str, threshold: float | None = None) -> Figure:
    """How different people found the faces of a pair, drawn as `draw_similarity` (Figs 4, 14).

    Args:
        frame: columns relation, attribute, step and group as there, and rating: the consensus of
            a pair, 0 (likely same) to 1 (likely different), see `helpers.verification.hcic`.
        threshold: up to which a pair counts as a match.
    """
    figure = _draw_pairs(frame, attribute, "rating", threshold, 2)
    answers = {
        0: "likely same",
        0.25: "possibly",
        0.5: "not sure",
        0.75: "possibly",
        1: "different",
    }
    for ax in figure.axes:
        ax.set_ylim(-0.06, 1.06)
        ax.set_yticks(list(answers), list(answers.values()))
    return figure


def draw_spread(frame: pd.DataFrame) -> Figure:
    """How far the ratings of a pair lie apart: median and middle 70 % by attribute (Fig 13).

    Args:
        frame: one row per pair, columns attribute and spread: the standard deviation of the pair's
            ratings, as a share of the scale.
    """
    _check(frame, ["attribute", "spread"])
    require_present(frame["spread"], "a number")
    ranges = _ranges(frame, ["attribute"], "spread").reindex(frame["attribute"].unique())
    figure, ax = plt.subplots(figsize=(WIDTH, 1.5 + 0.45 * len(ranges)))
    y = np.arange(len(ranges))
    ax.axvline(REPORTED_SPREAD, **_LINE, label="median in Liang et al. 2023", zorder=1)
    label = "median and middle 70 %"
    spans = np.stack([ranges["middle"] - ranges["low"], ranges["high"] - ranges["middle"]])
    ax.errorbar(ranges["middle"], y, xerr=spans, fmt="o", color=BLUE, capsize=4, label=label)
    for place, value in zip(y, ranges["middle"], strict=True):
        above = {"xytext": (0, 6), "textcoords": "offset points", "ha": "center"}
        ax.annotate(f"{value:.2f}", (value, place), fontsize=10, **above)
    _rows(ax, [f"{name}\nn = {n:,}" for name, n in ranges["n"].items()])
    ax.set(xlabel="standard deviation of a pair's ratings (scale = 1)", xlim=(0, None))
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncol=2)
    return figure


def draw_perceived(frame: pd.DataFrame) -> Figure:
    """What people saw in single images, against what was to be shown (Figs 3, 9).

    Args:
        frame: one row per image, columns attribute (a panel each, in order of appearance), shown
            (the group, or the step, that the image was made for) and score in [0, 1]. Ends of a
            scale are named where `helpers.annotations` knows it.
    """
    _check(frame, ["attribute", "shown", "score"])
    require_present(frame["score"], "a score")
    parts = [(name, _shown(part)) for name, part in frame.groupby("attribute", sort=False)]
    down = -(-len(parts) // 2)
    figure, axes = plt.subplots(
        down, min(2, len(parts)), figsize=(WIDTH, 0.2 + 2.75 * down), squeeze=False
    )
    for ax in axes.flat[len(parts) :]:
        ax.remove()
    edges = np.linspace(-0.025, 1.025, 22)  # a mean of five levels by several raters: 0, .05, ...
    for ax, (name, scores) in zip(axes.flat, parts, strict=False):
        for place, (shown, values) in enumerate(scores.items()):
            style = _style(shown) if shown in GROUPS else {"color": GREY, "linestyle": "-"}
            share = np.histogram(values, edges)[0] / len(values)
            heights = place + 0.42 - 0.82 * share / max(share.max(), 1e-9)
            filled = style["linestyle"] == "-"
            outline = {"color": style["color"], "linewidth": 1.2, "linestyle": style["linestyle"]}
            if filled:
                ax.stairs(
                    heights,
                    edges,
                    baseline=place + 0.42,
                    fill=True,
                    color=style["color"],
                    alpha=0.45,
                )
            ax.stairs(heights, edges, baseline=place + 0.42, **outline)
            ax.plot([np.median(values)] * 2, [place - 0.1, place + 0.42], color=BLACK, linewidth=2)
        _rows(ax, [_minus(shown) for shown in scores])
        ax.tick_params(axis="y", labelsize=10)
        low, *_, high = SCALES.get(name, ("", ""))
        ax.set_xticks([0, 0.5, 1], [f"0\n{low.lower()}", "0.5", f"1\n{high.lower()}"], fontsize=10)
        ax.set_xlim(-0.05, 1.05)
        n = _count(pd.Series([len(values) for values in scores.values()]))
        ax.set_title(f"{str(name).replace('_', ' ')}, n = {n} a row", fontsize=11.5)
    return figure


def draw_rates(table: pd.DataFrame) -> Figure:
    """FNMR of every group at one FMR with 95 % intervals, a panel per recogniser.

    Args:
        table: as `helpers.verification.Bands.at_fmr` at one FMR: columns group, fmr, fnmr, low,
            high, positives and reason; and recogniser, up to four.
    """
    groups = _groups(table, ["recogniser", "fmr", "fnmr", "low", "high", "positives", "reason"])
    if table["fmr"].nunique() != 1:
        raise ValueError(f"one FMR can be drawn, not {table['fmr'].unique().tolist()}")
    figure, panels = _panels(table["recogniser"], 0.42 * len(groups))
    for name, ax in panels.items():
        own = table[table["recogniser"] == name]
        _intervals(ax, own, groups, "fnmr", {group: _style(group) for group in groups})
        _rows(ax, _named(table, groups, "positives"))
        ax.set_title(name)
        ax.xaxis.set_major_formatter(_PERCENT)
    next(iter(panels.values())).set_xlim(0, None)
    held = f"{100 * table['fmr'].iloc[0]:g} %"
    figure.supxlabel(f"FNMR at an FMR of {held} in each group (n = positive pairs)", fontsize=12)
    return figure


def draw_disparities(table: pd.DataFrame, tolerance: float) -> Figure:
    """Error rates of groups minus those of the reference, with verdicts, a panel per recogniser.

    Args:
        table: as `helpers.verification.disparities` for one measure: columns measure, group,
            reference, estimate, low, high, n, verdict and reason; and recogniser, up to four.
        tolerance: against which the verdicts were made; the grey band.
    """
    columns = ["measure", "reference", "estimate", "low", "high", "n", "verdict", "reason"]
    groups = _groups(table, ["recogniser", *columns])
    for column in ("measure", "reference"):
        if table[column].nunique() != 1:
            raise ValueError(f"one {column} can be drawn, not {table[column].unique().tolist()}")
    figure, panels = _panels(table["recogniser"], 0.42 * len(groups))
    for name, ax in panels.items():
        own = table[table["recogniser"] == name]
        ax.axvspan(-tolerance, tolerance, color="#DDDDDD", linewidth=0, zorder=0)
        ax.axvline(0, color=BLACK, linewidth=1, zorder=1)
        verdicts = own.set_index("group")["verdict"]
        styles = {}
        for group in groups:
            marker, filled = VERDICTS.get(verdicts.get(group), ("o", False))
            colour = _style(group)["color"]
            face = {"marker": marker, "markerfacecolor": colour if filled else "white"}
            styles[group] = _style(group) | face
        _intervals(ax, own, groups, "estimate", styles)
        _rows(ax, _named(table, groups, "n"))
        ax.set_title(name)
        ax.xaxis.set_major_formatter(
            FuncFormatter(lambda value, _: f"{100 * value:+.3g}".replace("-", "−"))
        )
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
    groups = _groups(table, columns)
    attributes = _known(table["attribute"], STEPS, "attribute")
    size = WIDTH, 0.9 + 1.75 * len(attributes)
    figure, axes = plt.subplots(len(attributes), 1, figsize=size, sharey=True, squeeze=False)
    for ax, attribute in zip(axes.flat, attributes, strict=True):
        own = table[table["attribute"] == attribute].astype({"step": str, "reference": str})
        steps = _known(own["step"], map(str, STEPS[attribute]), f"step of {attribute}")
        ax.axhline(0, color=BLACK, linewidth=1, zorder=1)
        missing = {}
        for group, shift in zip(groups, _shifts(len(groups)), strict=True):
            rows = own[own["group"] == group]
            unknown = rows["low"].isna()
            missing |= {group: reason for reason in rows["reason"][unknown].unique()}
            places = rows["step"].map(steps.index).to_numpy(float) + shift
            _mark(ax, places, rows, "estimate", _style(group))
        _say_missing(ax, missing)
        against = own.drop_duplicates("step").set_index("step")["reference"]
        zero = "" if set(against) == {"prototype"} else "from 0"
        words = [
            zero if other == "prototype" else f"from {_minus(other)}" for other in against[steps]
        ]
        _ticks(ax, [f"{_minus(step)} {word}" for step, word in zip(steps, words, strict=True)])
        ax.set_title(_UNITS.get(attribute, f"{attribute} (steps)"), loc="left", fontsize=12)
    figure.supylabel("change in similarity", fontsize=12)
    seeds = {group: table.loc[table["group"] == group, "seeds"] for group in groups}
    _legend(figure, {group: f"{group}\n{_count(n)} seeds" for group, n in seeds.items()}, {})
    return figure


def _draw_pairs(
    frame: pd.DataFrame, attribute: str, value: str, threshold: float | None, tall: float
) -> Figure:
    """A panel per relation: ranges of a value of pairs by step, a mark per group."""
    groups = _groups(frame, ["relation", "attribute", "step", value])
    require_present(frame[value], "a number")
    _known([attribute], STEPS, "attribute")
    rows = frame[frame["attribute"].isin([attribute, "prototype"])].astype({"step": str})
    steps = list(map(str, STEPS[attribute]))
    steps = [*steps[:2], "0", *steps[2:]]
    _known(rows["step"], steps, f"step of {attribute}")
    relations = _known(rows["relation"], RELATIONS, "relation")
    ranges = _ranges(rows, ["relation", "group", "step"], value)
    size = WIDTH, 1.3 + tall * len(relations)
    figure, axes = plt.subplots(
        len(relations), 1, figsize=size, sharex=True, sharey=True, squeeze=False
    )
    for ax, relation in zip(axes.flat, relations, strict=True):
        own = ranges.loc[relation].reset_index()
        for group, shift in zip(groups, _shifts(len(groups)), strict=True):
            part = own[own["group"] == group]
            places = part["step"].map(steps.index).to_numpy(float) + shift
            _mark(ax, places, part, "middle", _style(group))
        for place in [place for place, step in enumerate(steps) if step not in set(own["step"])]:
            ax.text(place, 0.5, "no pairs", transform=ax.get_xaxis_transform(), **_WORDS)
        if threshold is not None:
            ax.axhline(threshold, **_LINE, zorder=1)
        _ticks(ax, [_minus(step) for step in steps])
        ax.set_title(f"{relation} (n = {_count(own['n'])} a mark)", loc="left", fontsize=12)
    axes[-1, 0].set_xlabel(_UNITS.get(attribute, f"{attribute} (steps)"))
    figure.supylabel(value, fontsize=12)
    dashed = {} if threshold is None else {f"threshold\n{threshold:.3g}": Line2D([], [], **_LINE)}
    _legend(figure, {group: group for group in groups}, dashed)
    return figure


def _check(table: pd.DataFrame, columns: Sequence[str]) -> None:
    require_columns(table, columns)
    if table.empty:
        raise ValueError("there is nothing to draw: the table has no rows")


def _known(names: Iterable[str], known: Iterable[str], what: str) -> list[str]:
    """The known ones among names, in their own order; all must be known."""
    names, known = set(names), list(known)
    if unknown := sorted(map(str, names - set(known))):
        raise ValueError(f"unknown {what} {unknown[0]!r}: one of {known} was expected")
    return [name for name in known if name in names]


def _groups(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Groups of a table that has the columns, in the order of `GROUPS`, then "all"."""
    _check(table, ["group", *columns])
    return _known(table["group"], (*GROUPS, ALL), "group")


def _style(group: str) -> dict[str, object]:
    """Of a line with marks."""
    if group == ALL:
        look, female = Look(BLACK, "*", ""), True
    else:
        ancestry, gender = group.rsplit(" ", 1)
        look, female = ANCESTRY_LOOKS[ancestry], gender == "female"
    return {
        "color": look.colour,
        "marker": look.marker,
        "markerfacecolor": look.colour if female else "white",
        "markeredgecolor": look.colour,
        "linestyle": "-" if female else _DASH,
    }


def _panels(names: pd.Series, tall: float) -> tuple[Figure, dict[str, Axes]]:
    """A panel of a given height per recogniser, two abreast, with common axes."""
    names = list(names.unique())
    if len(names) > 4:
        raise ValueError(f"up to four recognisers can be drawn, not {len(names)}: {names}")
    across = min(2, len(names))
    down = -(-len(names) // across)
    size = WIDTH, 1.3 + (tall + 0.25) * down
    figure, axes = plt.subplots(down, across, figsize=size, sharex=True, sharey=True, squeeze=False)
    for ax in axes.flat[len(names) :]:
        ax.remove()
        axes[-2, -1].tick_params(labelbottom=True)
    return figure, dict(zip(names, axes.flat, strict=False))


def _ranges(frame: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """Median and middle 70 % of a column: low, middle, high, and n."""
    rows = frame.groupby(by, observed=True, sort=False)[value]
    table = rows.quantile([_LOW, 0.5, _HIGH]).unstack().set_axis(["low", "middle", "high"], axis=1)
    return table.assign(n=rows.size())


def _visible(rows: pd.DataFrame) -> pd.DataFrame:
    """Points of a curve from 1 / negatives on, as many as can be seen.

    Of thresholds with one FMR the lowest has the lowest FNMR, and is the one to use.
    """
    rows = rows[rows["fmr"] > 0].sort_values("threshold")
    return rows.groupby(np.log10(rows["fmr"].to_numpy()).round(2), sort=True).first()


def _mark(
    ax: Axes, places: np.ndarray, rows: pd.DataFrame, middle: str, style: Mapping[str, object]
) -> None:
    """Upright ranges (low to high) with a mark in the middle."""
    spans = rows[["low", "high"]].sub(rows[middle], axis=0).abs().to_numpy(float).T
    marks = dict(style) | {"linestyle": "none", "markersize": 5.5 if style["marker"] != "*" else 8}
    _, _, (bars,) = ax.errorbar(places, rows[middle], yerr=spans, **marks, elinewidth=1.3)
    bars.set_linestyle(style["linestyle"])


def _intervals(
    ax: Axes,
    table: pd.DataFrame,
    groups: Sequence[str],
    middle: str,
    styles: Mapping[str, Mapping[str, object]],
) -> None:
    """A level interval per group, or why there is none, from the top down."""
    table = table.set_index("group")
    for place, group in enumerate(groups):
        row = (
            table.loc[group] if group in table.index else pd.Series({"reason": "not in the table"})
        )
        if row["reason"]:
            words = _WORDS | {"ha": "left"}
            ax.text(0.03, place, row["reason"], transform=ax.get_yaxis_transform(), **words)
            continue
        spans = np.abs([[row["low"] - row[middle]], [row["high"] - row[middle]]])
        marks = dict(styles[group]) | {"linestyle": "none", "markersize": 7, "capsize": 3}
        ax.errorbar([row[middle]], [place], xerr=spans, **marks, elinewidth=1.5)


def _say_missing(ax: Axes, missing: Mapping[str, str]) -> None:
    lines = [f"{group}: {reason}" for group, reason in missing.items()]
    words = _WORDS | {"ha": "right", "va": "top"}
    ax.text(0.98, 0.97, "\n".join(lines), transform=ax.transAxes, **words)


def _named(table: pd.DataFrame, groups: Sequence[str], count: str) -> list[str]:
    """Groups with their counts, which may differ between recognisers."""
    return [f"{group}\nn = {_count(table.loc[table['group'] == group, count])}" for group in groups]


def _count(n: pd.Series) -> str:
    low, high = int(n.min()), int(n.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _shown(part: pd.DataFrame) -> dict[str, pd.Series]:
    """Scores by what was to be shown: groups in their order, or steps."""
    scores = {str(shown): values for shown, values in part.groupby("shown", sort=False)["score"]}
    steps = next((s for s in STEPS.values() if {*map(str, s), "0"} >= set(scores)), None)
    if steps is not None:
        order = [*map(str, steps[:2]), "0", *map(str, steps[2:])]
    else:
        order = GROUPS
    return {shown: scores[shown] for shown in _known(scores, order, "group or step")}


def _rows(ax: Axes, names: Sequence[str]) -> None:
    """Named rows from the top down, with thin lines between them."""
    for edge in range(len(names) + 1):
        ax.axhline(edge - 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(names)), names, fontsize=10)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)


def _ticks(ax: Axes, names: Sequence[str]) -> None:
    """Named columns, with thin lines between them."""
    for edge in range(1, len(names)):
        ax.axvline(edge - 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)
    ax.set_xticks(range(len(names)), names)
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.grid(axis="x", visible=False)
    ax.tick_params(axis="x", length=0)


def _shifts(count: int) -> np.ndarray:
    return np.linspace(-0.36, 0.36, count) if count > 1 else np.zeros(1)


def _minus(text: str) -> str:
    return str(text).replace("-", "−")


def _legend(
    figure: Figure,
    labels: Mapping[str, str],
    extra: Mapping[str, Line2D],
    lines: bool = False,
    title: str | None = None,
) -> None:
    """Groups beneath the figure, the two perceived genders of an ancestry group in one column."""
    handles = []
    for group in labels:
        style = _style(group) if lines else _style(group) | {"linestyle": "none"}
        handles.append(Line2D([], [], **style, markersize=6))
    names = [*labels.values(), *extra]
    columns = -(-len(names) // 2)
    where = {"loc": "outside lower center", "ncol": columns, "fontsize": 10, "title": title}
    figure.legend([*handles, *extra.values()], names, **where, columnspacing=1.2, handletextpad=0.5)
