"""Figures of error rates, and the marks of groups in all figures of the verification study.

Colour and marker tell the ancestry group; filled marks and solid lines mean perceived female, open
marks and dashed lines perceived male. What cannot be estimated is said in words in its place and
never drawn as 0. Figure numbers are those of Liang et al. 2023. Call `helpers.figures.style` first.
"""

from collections.abc import Iterable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator, PercentFormatter

from helpers.effects.verdicts import EXCEEDS, INCONCLUSIVE, WITHIN
from helpers.figures import widgets
from helpers.figures.looks import BLACK, BLUE, GREEN, VERMILION, WIDTH
from helpers.verification.consensus import ALL
from helpers.verification.pairs import STEPS
from helpers.verification.people import GROUPS

# Not blue beside orange, nor purple beside green: elsewhere in the book those pairs are skin colour
# and perceived gender, which are no part of an ancestry group.
ANCESTRY_LOOKS = {"african": (VERMILION, "o"), "east asian": (GREEN, "s"), "european": (BLUE, "D")}
VERDICTS = {EXCEEDS: ("X", True), INCONCLUSIVE: ("o", False), WITHIN: ("o", True)}
"""Marker of each verdict, and whether it is filled."""
KINDS = {"fnmr": "positives", "fmr": "negatives"}
"""Error rates, and which pairs they are rates of."""
FRAME, FRAME_DPI = (3.4, 3.3), 130
"""Inches of a slider's frame: half of the page, the whole of a phone."""

_PERCENT = PercentFormatter(1, symbol="")
_POINTS = FuncFormatter(lambda value, _: minus(f"{100 * value:+.3g}" if value else "0"))
# GREY is too pale for words.
WORDS = {"fontsize": 10, "color": "#555555", "style": "italic"}
_EDGE = {"color": "#DDDDDD", "linewidth": 0.8, "zorder": 0}


def draw_rates(table: pd.DataFrame) -> Figure:
    """FNMR of every group at one FMR with 95 % intervals, a panel for each of four recognisers.

    Args:
        table: as `helpers.verification.Bands.at_fmr` at one FMR: columns group, fmr, fnmr, low,
            high, positives and reason; and recogniser.
    """
    figure, panels, groups = _panels(table, "positives")
    for ax, own in panels:
        _level(ax, own, "fnmr", {group: style(group) for group in groups})
        ax.xaxis.set_major_formatter(_PERCENT)
    right = max(table["high"].max(), 0.01) if table["high"].notna().any() else 1
    ax.set_xlim(-0.025 * right, 1.05 * right)
    held = f"FNMR (%) at an FMR of {100 * table['fmr'].iloc[0]:g} % in each group"
    figure.supxlabel(f"{held} (n = positive pairs)", fontsize=12)
    return figure


def draw_disparities(table: pd.DataFrame, tolerance: float) -> Figure:
    """Error rates of groups minus those of the reference, a panel for each of four recognisers.

    Thin lines are 95 % intervals, which show what "exceeds"; thick ones 90 % intervals, which show
    what is "within" (see `helpers.effects.verdict`). Marks tell the verdict.

    Args:
        table: as `helpers.verification.disparities` for one measure: columns measure, group,
            reference, estimate, low, high, low90, high90, n, verdict and reason; and recogniser.
        tolerance: against which the verdicts were made; the grey band.
    """
    figure, panels, groups = _panels(table, "n")
    for ax, own in panels:
        ax.axvspan(-tolerance, tolerance, color="#DDDDDD", linewidth=0, zorder=0)
        ax.axvline(0, color=BLACK, linewidth=1, zorder=1)
        styles = {group: style(group) for group in groups}
        for row in own.itertuples():
            look, (marker, filled) = styles[row.group], VERDICTS.get(row.verdict, ("o", False))
            look |= {"marker": marker, "markerfacecolor": look["color"] if filled else "white"}
            thick = {"color": look["color"], "linewidth": 4, "solid_capstyle": "butt"}
            ax.plot([row.low90, row.high90], [groups.index(row.group)] * 2, **thick, zorder=2.5)
        _level(ax, own, "estimate", styles)
        ax.xaxis.set_major_formatter(_POINTS)
    measure, reference = table[["measure", "reference"]].iloc[0]
    figure.supxlabel(f"{measure}, minus {reference} (points)", fontsize=12)
    look = {"color": BLACK, "linestyle": "", "markersize": 7}
    handles = [
        Line2D([], [], **look, marker=marker, markerfacecolor=BLACK if filled else "white")
        for marker, filled in VERDICTS.values()
    ]
    within = f" ±{100 * tolerance:g} points"
    names = [verdict + within * (verdict != INCONCLUSIVE) for verdict in VERDICTS]
    figure.legend(handles, names, loc="outside upper center", ncol=3)
    return figure


def draw_curves(curves: pd.DataFrame, fixed: pd.DataFrame) -> Figure:
    """FNMR against FMR by group with 95 % bands of the FNMR (Figs 6, 15, 16).

    A row per attribute and a column per recogniser, all on the same axes. A curve ends where the
    FMR can no longer be told from zero, at 1 / negatives.

    Args:
        curves: as `helpers.verification.Bands.curves`, with attribute and recogniser.
        fixed: rates at one threshold for all groups, as `helpers.verification.fixed_threshold`,
            with attribute and recogniser. Drawn as triangles; those that point left have an FMR
            below 1 / negatives.
    """
    groups, attributes = groups_of(curves), ordered(curves["attribute"], STEPS)
    names = list(curves["recogniser"].unique())
    size, shape = (WIDTH, 1.35 + 1.6 * len(attributes)), (len(attributes), len(names))
    figure, axes = plt.subplots(*shape, figsize=size, sharex=True, sharey=True, squeeze=False)
    ax = axes[0, 0]
    floor = 0.9 / curves["negatives"].max()
    ax.set(xscale="log", xlim=(floor, max(0.5, fixed["fmr"].max())))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}")
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.yaxis.set_major_formatter(_PERCENT)
    place = ["attribute", "recogniser", "group"]
    own, at = (dict(list(table.groupby(place, observed=True))) for table in (curves, fixed))
    for row, attribute in zip(axes, attributes, strict=True):
        for ax, name in zip(row, names, strict=True):
            missing = {}
            for number, group in enumerate(groups):
                rows = own[attribute, name, group]
                if rows["reason"].iloc[0]:
                    missing[group] = rows["reason"].iloc[0]
                if not rows[["fnmr", "fmr"]].isna().any(axis=None):
                    _curve(ax, number, group, rows, at[attribute, name, group].iloc[0])
            say_missing(ax, missing)
        counts = curves[curves["attribute"] == attribute]
        n = " / ".join(count(counts[kind]) for kind in KINDS.values())
        # Wider than its panel, which must not matter; an empty title keeps its place.
        row[0].set_title(f"{attribute}, n = {n}", loc="left", fontsize=11).set_in_layout(False)
        row[0].set_title(" ", fontsize=11)
        row[0].set_ylabel("FNMR (%)")
    for ax, below, name in zip(axes[0], axes[-1], names, strict=True):
        ax.set_title(f"{name}\n", fontsize=12)
        below.set_xlabel("FMR (%)")
    top = np.nanmax([ax.dataLim.y1 for ax in axes.flat])
    axes[0, 0].set_ylim(0, 1.03 * top if top > 0 else 1)
    triangle = Line2D([], [], color=BLACK, marker="^", linestyle="", markersize=7)
    title = "FNMR against FMR by group; n = positive / negative pairs of a group"
    extra = {"one threshold\nfor all groups": triangle}
    legend(figure, dict(zip(groups, groups, strict=True)), extra, lines=True, title=title)
    return figure


def _curve(ax: Axes, place: int, group: str, rows: pd.DataFrame, fixed: pd.Series) -> None:
    """Curve, band and triangle of one group: points from 1 / negatives on, as many as are seen."""
    # Of thresholds with one FMR the lowest has the lowest FNMR, and is the one to use.
    path = rows[rows["fmr"] > 0].sort_values("threshold")
    path = path[~np.log10(path["fmr"]).round(2).duplicated()]
    look, ends = style(group), (path["fnmr_low"], path["fnmr_high"])
    ax.fill_between(path["fmr"], *ends, color=look["color"], alpha=0.1, linewidth=0)
    every = (0.04 + 0.05 * place, 0.4)
    ax.plot(path["fmr"], path["fnmr"], **look, linewidth=1.3, markersize=3.5, markevery=every)
    floor = 1 / rows["negatives"].iloc[0]
    triangle = look | {"marker": "<" if fixed["fmr"] < floor else "^", "markeredgewidth": 1.4}
    at = max(fixed["fmr"], floor), fixed["fnmr"]
    ax.plot(*at, **triangle, markersize=6.5, clip_on=False, zorder=4)


def draw_frames(rates: pd.DataFrame) -> np.ndarray:
    """FNMR and FMR of every group with 95 % intervals, a frame per threshold, for a slider.

    Rates stand on a square-root scale from 0 to 100 %, which leaves room for small ones.

    Args:
        rates: as `helpers.verification.Bands.curves` at thresholds that all groups have in common.

    Returns:
        uint8 (thresholds, 3, h, w), in the order of the table.
    """
    styles = {group: style(group) for group in groups_of(rates)}
    figure = Figure(figsize=FRAME, dpi=FRAME_DPI, layout="constrained")
    canvas, axes = FigureCanvasAgg(figure), figure.subplots(1, 2, sharey=True)
    for ax, (rate, kind) in zip(axes, KINDS.items(), strict=True):
        # The root of a margin below 0 continues the scale on the other side.
        scale = lambda x: np.sign(x) * np.sqrt(np.abs(x)), lambda x: np.sign(x) * np.square(x)
        ax.set_xscale("function", functions=scale)
        ax.set(xlim=(scale[1](-0.06), scale[1](1.06)))
        ticks = (0, 0.05, 0.25, 0.5, 1)
        ax.set_xticks(ticks, [f"{100 * tick:g}" for tick in ticks], fontsize=10)
        ax.set_title(f"{rate.upper()} (%)", fontsize=11)
        ax.set_xlabel(f"{count(rates[kind])}\n{kind}", fontsize=10)
        name_rows(ax, ["\n".join(group.rsplit(" ", 1)) for group in styles])
    heading = figure.suptitle(" ", fontsize=11)
    canvas.draw()
    # All frames share one layout.
    figure.set_layout_engine("none")
    thresholds, frames = rates["threshold"].dropna().unique(), []
    for threshold, label in zip(thresholds, name_thresholds(thresholds), strict=True):
        heading.set_text(f"threshold {label}")
        own, moving = rates[~(rates["threshold"] != threshold)], []
        for ax, rate in zip(axes, KINDS, strict=True):
            ends = {"low": own[f"{rate}_low"], "high": own[f"{rate}_high"]}
            moving += _level(ax, own.assign(**ends), rate, styles)
        canvas.draw()
        frames.append(widgets.as_frame(canvas))
        for bar in moving:
            bar.remove()
    return np.stack(frames)


def name_thresholds(thresholds: Sequence[float]) -> list[str]:
    """Thresholds with as many decimals, two or more, as tell them apart.

    Example:
        >>> name_thresholds([0.9991, 0.9993])
        ['0.9991', '0.9993']
    """
    for decimals in range(2, 9):
        names = [f"{threshold:.{decimals}f}" for threshold in thresholds]
        if len({*names}) == len({*thresholds}):
            break
    return [minus(name) for name in names]


def _panels(
    table: pd.DataFrame, counted: str
) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]], list[str]]:
    """A panel per recogniser with a row per group, and the recogniser's part of the table."""
    groups, panels = groups_of(table), []
    labels = [
        f"{group}\nn = {count(table.loc[table['group'] == group, counted])}" for group in groups
    ]
    size = WIDTH, 1.8 + 0.76 * len(groups)
    figure, axes = plt.subplots(2, 2, figsize=size, sharex=True, sharey=True)
    for ax, (name, own) in zip(axes.flat, table.groupby("recogniser", sort=False), strict=True):
        ax.set_title(name)
        name_rows(ax, labels)
        panels.append((ax, own))
    return figure, panels, groups


def _level(
    ax: Axes, table: pd.DataFrame, middle: str, styles: Mapping[str, dict]
) -> list[ErrorbarContainer]:
    """A level interval per group from the top down, or in words why there is none."""
    drawn, places = [], list(styles)
    for row in table.to_dict("records"):
        place, look = places.index(row["group"]), styles[row["group"]]
        if row["reason"]:
            words = WORDS | {"va": "center", "backgroundcolor": "white"}
            ax.text(0.03, place, row["reason"], transform=ax.get_yaxis_transform(), **words)
            continue
        spans = np.abs([[row["low"] - row[middle]], [row["high"] - row[middle]]])
        look = look | {"linestyle": "none", "markersize": 7, "capsize": 3, "elinewidth": 1.5}
        drawn.append(ax.errorbar([row[middle]], [place], xerr=spans, **look, zorder=3))
    return drawn


# --- what figures share


def ordered(names: Iterable[str], order: Iterable[str]) -> list[str]:
    names = set(names)
    return [name for name in order if name in names]


def groups_of(table: pd.DataFrame) -> list[str]:
    """Groups of a table in the order of `GROUPS`, then "all"."""
    return ordered(table["group"], (*GROUPS, ALL))


def style(group: str) -> dict[str, object]:
    """Of a line with marks."""
    ancestry, _, gender = group.rpartition(" ")
    colour, marker = ANCESTRY_LOOKS.get(ancestry, (BLACK, "*"))
    return {
        "color": colour,
        "marker": marker,
        "markerfacecolor": "white" if gender == "male" else colour,
        "markeredgecolor": colour,
        "linestyle": (0, (3, 1.5)) if gender == "male" else "-",
    }


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Named rows from the top down, with thin lines between them."""
    for edge in range(len(names) + 1):
        ax.axhline(edge - 0.5, **_EDGE)
    ax.set_yticks(range(len(names)), names, fontsize=10)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)


def name_ticks(ax: Axes, names: Sequence[str]) -> None:
    """Named columns, with thin lines between them."""
    for edge in range(1, len(names)):
        ax.axvline(edge - 0.5, **_EDGE)
    ax.set_xticks(range(len(names)), map(minus, names))
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.grid(axis="x", visible=False)
    ax.tick_params(axis="x", length=0)


def say_missing(ax: Axes, missing: Mapping[str, str]) -> None:
    """Why groups are not in a panel, in its upper right corner."""
    lines = [f"{group}: {reason}" for group, reason in missing.items()]
    words = WORDS | {"ha": "right", "va": "top"}
    ax.text(0.98, 0.97, "\n".join(lines), transform=ax.transAxes, **words)


def count(n: pd.Series) -> str:
    """One number, or from which to which."""
    low, high = int(n.min()), int(n.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def minus(text: object) -> str:
    """With a minus sign instead of a hyphen."""
    return str(text).replace("-", "−")


def legend(
    figure: Figure,
    labels: Mapping[str, str],
    extra: Mapping[str, Line2D],
    lines: bool = False,
    title: str | None = None,
) -> None:
    """Groups beneath the figure, the two perceived genders of an ancestry group in one column."""
    plain = {} if lines else {"linestyle": "none"}
    handles = [Line2D([], [], **(style(group) | plain), markersize=6) for group in labels]
    names = [*labels.values(), *extra]
    where = {"loc": "outside lower center", "ncol": -(-len(names) // 2), "fontsize": 10}
    handles = [*handles, *extra.values()]
    figure.legend(handles, names, **where, title=title, columnspacing=1.2, handletextpad=0.5)
