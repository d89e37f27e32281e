"""Error rates of the verification study over thresholds: the grids of curves and a slider's frames.

Groups look as `helpers.verification.figure_style` says. What cannot be estimated is said in words
in its place and never drawn as 0. Call `helpers.figures.style` first.
"""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullLocator, PercentFormatter

from helpers.figures import widgets
from helpers.figures.looks import BLACK, WIDTH
from helpers.identities import ATTRIBUTES
from helpers.utils.checks import require_columns
from helpers.verification import figure_style as marks

KINDS = {"fnmr": "positives", "fmr": "negatives"}
"""Error rates, and which pairs they are rates of."""
FRAME, FRAME_DPI = (3.4, 3.3), 130
"""Inches of a frame: half of the page, the whole of a phone."""

_TICKS = (0, 0.05, 0.25, 0.5, 1)
_RATES = ["fnmr", "fnmr_low", "fnmr_high", "fmr"]


def draw_curves(curves: pd.DataFrame, fixed: pd.DataFrame) -> Figure:
    """FNMR against FMR by group with 95 % bands of the FNMR (Liang et al. 2023, Figs 6, 15, 16).

    A row per attribute and a column per recogniser, all on the same axes. A curve ends where the
    FMR can no longer be told from zero, at 1 / negatives.

    Args:
        curves: as `helpers.verification.Bands.curves`: columns group, threshold, fnmr, fnmr_low,
            fnmr_high, fmr, positives, negatives and reason; and attribute and recogniser, up to
            four of each.
        fixed: rates at one threshold for all groups, as `helpers.verification.fixed_threshold`:
            columns attribute, recogniser, group, fnmr, fmr. Drawn as triangles; those that point
            left have an FMR below 1 / negatives.

    Raises:
        ValueError: a table that is empty or lacks a column, an unknown group or attribute, or more
            than four recognisers.
    """
    place = ["attribute", "recogniser"]
    groups = marks.groups(
        curves, [*place, "threshold", *_RATES, "positives", "negatives", "reason"]
    )
    require_columns(fixed, [*place, "group", "fnmr", "fmr"])
    attributes = marks.known(curves["attribute"], ATTRIBUTES, "attribute")
    names = marks.recognisers(curves["recogniser"])
    size = WIDTH, 1.35 + 1.6 * len(attributes)
    figure, axes = plt.subplots(
        len(attributes), len(names), figsize=size, sharex=True, sharey=True, squeeze=False
    )
    ax = axes[0, 0]
    floor = 0.9 / curves["negatives"].max()
    ax.set(xscale="log", xlim=(floor, max(0.5, fixed["fmr"].max())))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}")
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.yaxis.set_major_formatter(PercentFormatter(1, symbol=""))
    parts = [
        dict(list(table.groupby([*place, "group"], observed=True))) for table in (curves, fixed)
    ]
    for row, attribute in zip(axes, attributes, strict=True):
        for ax, name in zip(row, names, strict=True):
            _draw_panel(
                ax, *({g: part.get((attribute, name, g)) for g in groups} for part in parts)
            )
        counts = curves[curves["attribute"] == attribute]
        n = " / ".join(marks.count(counts[kind]) for kind in ("positives", "negatives"))
        # Beside the names of the columns, or alone; wider than its panel, which must not matter.
        over = row[0].annotate(
            f"{attribute}, n = {n}", (0, 1), (0, 4), "axes fraction", textcoords="offset points"
        )
        over.set(fontsize=11, in_layout=False)
    for ax, name in zip(axes[0], names, strict=True):
        ax.set_title(f"{name}\n", fontsize=12)
    for ax in axes[1:, 0]:
        ax.set_title(" ", fontsize=11)
    for ax in axes[-1]:
        ax.set_xlabel("FMR (%)")
    for ax in axes[:, 0]:
        ax.set_ylabel("FNMR (%)")
    top = np.nanmax([ax.dataLim.y1 for ax in axes.flat])
    axes[0, 0].set_ylim(0, 1.03 * top if top > 0 else 1)
    triangle = Line2D([], [], color=BLACK, marker="^", linestyle="", markersize=7)
    title = "FNMR against FMR by group; n = positive / negative pairs of a group"
    extra = {"one threshold\nfor all groups": triangle}
    marks.legend(figure, {group: group for group in groups}, extra, lines=True, title=title)
    return figure


def draw_frames(rates: pd.DataFrame) -> np.ndarray:
    """FNMR and FMR of every group with 95 % intervals, a frame per threshold, for a slider.

    Rates stand on a square-root scale from 0 to 100 %, which leaves room for small ones.

    Args:
        rates: as `helpers.verification.Bands.curves` at thresholds that all groups have in common:
            columns group, threshold, fnmr, fnmr_low, fnmr_high, fmr, fmr_low, fmr_high, positives,
            negatives and reason.

    Returns:
        uint8 (thresholds, 3, h, w), in the order of the table.

    Raises:
        ValueError: a table that is empty or lacks a column, or an unknown group.
    """
    columns = [f"{rate}{end}" for rate in KINDS for end in ("", "_low", "_high")]
    groups = marks.groups(rates, ["threshold", *columns, *KINDS.values(), "reason"])
    figure = Figure(figsize=FRAME, dpi=FRAME_DPI, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    moving = []
    for ax, (rate, count) in zip(figure.subplots(1, 2, sharey=True), KINDS.items(), strict=True):
        ax.set_xscale("function", functions=(_root, _square))
        ax.set(xlim=(_square(-0.06), _square(1.06)))
        ax.set_xticks(_TICKS, [f"{100 * tick:g}" for tick in _TICKS], fontsize=10)
        ax.set_title(f"{rate.upper()} (%)", fontsize=11)
        ax.set_xlabel(f"{marks.count(rates[count])}\n{count}", fontsize=10)
        marks.rows(ax, ["\n".join(group.rsplit(" ", 1)) for group in groups])
        moving += _place_marks(ax, rates, rate, groups)
    heading = figure.suptitle(" ", fontsize=11)
    canvas.draw()
    # All frames share one layout and all that does not move.
    figure.set_layout_engine("none")
    empty, frames = canvas.copy_from_bbox(figure.bbox), []
    for number, label in enumerate(name_thresholds(rates["threshold"].unique())):
        canvas.restore_region(empty)
        heading.set_text(f"threshold {label}")
        figure.draw_artist(heading)
        for line, values in moving:
            line.set_xdata(values[number])
            figure.draw_artist(line)
        frames.append(widgets.as_frame(canvas))
    return np.stack(frames)


def _place_marks(
    ax: Axes, rates: pd.DataFrame, rate: str, groups: Sequence[str]
) -> list[tuple[Line2D, np.ndarray]]:
    """Lines of every group with what their x becomes at each threshold, (k, points).

    A group whose rates cannot be estimated has none, and the reason is written in their place.
    """
    lines = []
    for place, group in enumerate(groups):
        own, style = rates[rates["group"] == group], marks.style(group)
        if reason := own["reason"].iloc[0]:
            marks.say(ax, place, reason)
            continue
        bar = {"color": style["color"], "marker": "|", "markersize": 8, "linewidth": 1.5}
        looks = {(f"{rate}_low", f"{rate}_high"): bar, (rate,): style | {"markersize": 7}}
        for columns, look in looks.items():
            (line,) = ax.plot([0] * len(columns), [place] * len(columns), **look, animated=True)
            lines.append((line, own[[*columns]].to_numpy()))
    return lines


def name_thresholds(thresholds: Sequence[float]) -> list[str]:
    """Thresholds with as many decimals, two or more, as tell them apart."""
    for decimals in range(2, 9):
        names = [f"{threshold:.{decimals}f}" for threshold in thresholds]
        if len({*names}) == len({*thresholds}):
            break
    return [marks.minus(name) for name in names]


def _root(share: np.ndarray) -> np.ndarray:
    return np.sign(share) * np.sqrt(np.abs(share))


def _square(root: np.ndarray) -> np.ndarray:
    return np.sign(root) * np.square(root)


def _draw_panel(
    ax: Axes, curves: Mapping[str, pd.DataFrame | None], fixed: Mapping[str, pd.DataFrame | None]
) -> None:
    """Curves, bands and triangles of the groups, for one recogniser and one attribute."""
    missing = {}
    for place, (group, rows) in enumerate(curves.items()):
        if rows is None or rows["reason"].iloc[0]:
            missing[group] = "not in the table" if rows is None else rows["reason"].iloc[0]
        if rows is None or rows[["fnmr", "fmr"]].isna().any(axis=None):
            continue
        style, path = marks.style(group), _visible(rows)
        ends = path["fnmr_low"], path["fnmr_high"]
        ax.fill_between(path["fmr"], *ends, color=style["color"], alpha=0.1, linewidth=0)
        every = (0.04 + 0.05 * place, 0.4)
        ax.plot(path["fmr"], path["fnmr"], **style, linewidth=1.3, markersize=3.5, markevery=every)
        if fixed[group] is None:
            continue
        floor, (fnmr, fmr) = 1 / rows["negatives"].iloc[0], fixed[group][["fnmr", "fmr"]].iloc[0]
        triangle = style | {"marker": "<" if fmr < floor else "^", "markeredgewidth": 1.4}
        ax.plot(max(fmr, floor), fnmr, **triangle, markersize=6.5, clip_on=False, zorder=4)
    marks.say_missing(ax, missing)


def _visible(rows: pd.DataFrame) -> pd.DataFrame:
    """Points of a curve from 1 / negatives on, as many as can be seen.

    Of thresholds with one FMR the lowest has the lowest FNMR, and is the one to use.
    """
    rows = rows[rows["fmr"] > 0].sort_values("threshold")
    return rows[~np.log10(rows["fmr"]).round(2).duplicated()]
