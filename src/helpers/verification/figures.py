"""Figures of chapter 17: error rates of recognisers and their differences.

Groups look as `helpers.verification.figure_style` says. What cannot be estimated is said in words
in its place and never drawn as 0. Figure numbers are those of Liang et al. 2023. Names that are no
group or attribute raise ValueError. Call `helpers.figures.style` first.
"""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator, PercentFormatter

from helpers.effects.verdicts import EXCEEDS, INCONCLUSIVE, WITHIN
from helpers.figures import widgets
from helpers.figures.looks import BLACK, BLUE, WIDTH
from helpers.identities import ATTRIBUTES
from helpers.verification import figure_style as marks

VERDICTS: Mapping[str, tuple[str, bool]] = {
    EXCEEDS: ("X", True),
    INCONCLUSIVE: ("o", False),
    WITHIN: ("o", True),
}
"""Marker of each verdict, and whether it is filled."""
KINDS = {"fnmr": "positives", "fmr": "negatives"}
"""Error rates, and which pairs they are rates of."""
FRAME, FRAME_DPI = (3.4, 3.3), 130
"""Inches of a slider's frame: half of the page, the whole of a phone."""

_PERCENT = PercentFormatter(1, symbol="")
_POINTS = FuncFormatter(lambda value, _: marks.minus(f"{100 * value:+.3g}" if value else "0"))
_FRAME_TICKS = (0, 0.05, 0.25, 0.5, 1)


def draw_rates(table: pd.DataFrame) -> Figure:
    """FNMR of every group at one FMR with 95 % intervals, a panel per recogniser.

    Args:
        table: as `helpers.verification.Bands.at_fmr` at one FMR: columns group, fmr, fnmr, low,
            high, positives and reason; and recogniser, up to four.

    Example:
        >>> import pandas as pd
        >>> from helpers.verification import figures
        >>> rate = {"recogniser": "one", "group": "european male", "fmr": [0.01], "fnmr": 0.2}
        >>> rate |= {"low": 0.1, "high": 0.3, "positives": 40, "reason": ""}
        >>> figures.draw_rates(pd.DataFrame(rate)).axes[0].get_title()
        'one'
    """
    groups = marks.groups(table)
    figure, panels = marks.panels(table["recogniser"], 0.38 * len(groups))
    styles = {group: marks.style(group) for group in groups}
    for name, ax in panels.items():
        marks.intervals(ax, table[table["recogniser"] == name], groups, "fnmr", styles)
        marks.rows(ax, marks.counted(table, groups, "positives"))
        ax.xaxis.set_major_formatter(_PERCENT)
    right = max(table["high"].max(), 0.01) if table["high"].notna().any() else 1
    next(iter(panels.values())).set_xlim(-0.025 * right, 1.05 * right)
    held = f"FNMR (%) at an FMR of {100 * table['fmr'].iloc[0]:g} % in each group"
    figure.supxlabel(f"{held} (n = positive pairs)", fontsize=12)
    return figure


def draw_disparities(table: pd.DataFrame, tolerance: float) -> Figure:
    """Error rates of groups minus those of the reference, with verdicts, a panel per recogniser.

    Thin lines are 95 % intervals, which show what "exceeds"; thick ones 90 % intervals, which show
    what is "within" (see `helpers.effects.verdict`).

    Args:
        table: as `helpers.verification.disparities` for one measure: columns measure, group,
            reference, estimate, low, high, low90, high90, n, verdict and reason; and recogniser,
            up to four.
        tolerance: against which the verdicts were made; the grey band.

    Example:
        >>> import pandas as pd
        >>> from helpers.verification import figures
        >>> gap = {"recogniser": "one", "group": "african female", "measure": ["FMR at threshold"]}
        >>> gap |= {"reference": "european male", "estimate": 0.1, "low": 0.06, "high": 0.14}
        >>> gap |= {"low90": 0.07, "high90": 0.13, "n": 40, "verdict": "exceeds", "reason": ""}
        >>> figures.draw_disparities(pd.DataFrame(gap), 0.05).axes[0].get_title()
        'one'
    """
    groups = marks.groups(table)
    figure, panels = marks.panels(table["recogniser"], 0.38 * len(groups))
    for name, ax in panels.items():
        own = table[table["recogniser"] == name]
        ax.axvspan(-tolerance, tolerance, color="#DDDDDD", linewidth=0, zorder=0)
        ax.axvline(0, color=BLACK, linewidth=1, zorder=1)
        styles = {group: marks.style(group) for group in groups}
        for group, verdict in zip(own["group"], own["verdict"], strict=True):
            marker, filled = VERDICTS.get(verdict, ("o", False))
            face = styles[group]["color"] if filled else "white"
            styles[group] |= {"marker": marker, "markerfacecolor": face}
        marks.intervals(ax, own, groups, "estimate", styles)
        for row in own.dropna(subset=["low90", "high90"]).itertuples():
            thick = {"color": styles[row.group]["color"], "linewidth": 4, "solid_capstyle": "butt"}
            ax.plot([row.low90, row.high90], [groups.index(row.group)] * 2, **thick, zorder=2.5)
        marks.rows(ax, marks.counted(table, groups, "n"))
        ax.xaxis.set_major_formatter(_POINTS)
    measure, reference = table[["measure", "reference"]].iloc[0]
    figure.supxlabel(f"{measure}, minus {reference} (points)", fontsize=12)
    look = {"color": BLACK, "linestyle": "", "markersize": 7}
    faces = {True: BLACK, False: "white"}
    handles = [
        Line2D([], [], **look, marker=marker, markerfacecolor=faces[filled])
        for marker, filled in VERDICTS.values()
    ]
    within = f" ±{100 * tolerance:g} points"
    names = [verdict + within * (verdict != INCONCLUSIVE) for verdict in VERDICTS]
    figure.legend(handles, names, loc="outside upper center", ncol=3)
    return figure


def draw_trainings(alone: pd.DataFrame, over: pd.DataFrame) -> Figure:
    """Effects of compositions: networks one by one, over trainings, and how far they lie apart.

    On the left a mark per network, filled where its own 95 % interval excludes zero, and below them
    the mean over trainings with its interval; on the right two standard deviations: what an audit
    of one network takes for its error, and what lies between trainings.

    Args:
        alone: estimate, low and high of every network (see `composition_effects`), whose index
            names the composition.
        over: a row per composition, as `helpers.verification.training_effects`: columns estimate,
            low, high, within and between.

    Example:
        >>> import pandas as pd
        >>> from helpers.verification import figures
        >>> one = pd.DataFrame({"estimate": [0.02, 0.04], "low": [-0.01, 0.01], "high": 0.06})
        >>> mean = {"estimate": [0.03], "low": 0.0, "high": 0.06, "within": 0.01, "between": 0.014}
        >>> mean = pd.DataFrame(mean, ["mostly european"])
        >>> figure = figures.draw_trainings(one.set_axis(["mostly european"] * 2), mean)
        >>> [ax.get_xlabel() for ax in figure.axes]
        ['effect of the composition (points)', 'spread (points)']
    """
    size, ratio = (WIDTH, 1.6 + 0.72 * len(over)), {"width_ratios": [3, 2]}
    figure, (left, right) = plt.subplots(1, 2, figsize=size, sharey=True, gridspec_kw=ratio)
    left.axvline(0, color=BLACK, linewidth=1, zorder=1)
    mark = {"color": BLUE, "marker": "o", "linestyle": "none", "markersize": 6}
    mean = {"color": BLACK, "marker": "D", "linestyle": "none", "markersize": 7}
    bars = {"within": {"color": "white", "edgecolor": BLACK}, "between": {"color": BLUE}}
    for place, (name, row) in enumerate(over.iterrows()):
        own = alone.loc[[name]].sort_values("estimate")
        clear = (own["low"] > 0) | (own["high"] < 0)
        # In turns a little higher, so that like marks do not hide each other.
        heights = place - 0.2 - 0.09 * (np.arange(len(own)) % 2)
        for some, face in ((clear, BLUE), (~clear, "white")):
            left.plot(own["estimate"][some], heights[some], **mark, markerfacecolor=face)
        ends = [[row["estimate"] - row["low"]], [row["high"] - row["estimate"]]]
        left.errorbar([row["estimate"]], [place + 0.2], xerr=ends, **mean, capsize=3)
        for shift, (column, look) in zip((-0.18, 0.18), bars.items(), strict=True):
            right.barh(place + shift, row[column], 0.3, linewidth=1, **look)
    marks.rows(left, [str(name) for name in over.index])
    left.set_xlabel("effect of the composition (points)")
    right.set_xlabel("spread (points)")
    right.grid(axis="y", visible=False)
    left.xaxis.set_major_formatter(_POINTS)
    right.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}")
    shown = {
        "one network": Line2D([], [], **mark, markerfacecolor="white"),
        "one network, interval clear of zero": Line2D([], [], **mark),
        "over trainings and faces, 95 %": Line2D([], [], **mean),
        "standard error of one network's audit": Patch(facecolor="white", edgecolor=BLACK),
        "between trainings": Patch(color=BLUE),
    }
    figure.legend(shown.values(), shown, loc="outside upper left", ncol=2, fontsize=10)
    return figure


def draw_curves(curves: pd.DataFrame, fixed: pd.DataFrame) -> Figure:
    """FNMR against FMR by group with 95 % bands of the FNMR (Figs 6, 15, 16).

    A row per attribute and a column per recogniser, all on the same axes. A curve ends where the
    FMR can no longer be told from zero, at 1 / negatives.

    Args:
        curves: as `helpers.verification.Bands.curves`: columns group, threshold, fnmr, fnmr_low,
            fnmr_high, fmr, positives, negatives and reason; and attribute and recogniser, up to
            four of each.
        fixed: rates at one threshold for all groups, as `helpers.verification.fixed_threshold`:
            columns attribute, recogniser, group, fnmr, fmr. Drawn as triangles; those that point
            left have an FMR below 1 / negatives.

    Example:
        >>> import pandas as pd
        >>> from helpers.verification import figures
        >>> at = {"attribute": "pose", "recogniser": "one", "group": "european male", "reason": ""}
        >>> at |= {"positives": 4, "negatives": 4, "threshold": [0.2, 0.4], "fmr": [0.5, 0.25]}
        >>> curve = pd.DataFrame(at | {"fnmr": [0.0, 0.5], "fnmr_low": 0.0, "fnmr_high": 0.9})
        >>> len(figures.draw_curves(curve, curve[:1]).axes)
        1
    """
    groups, attributes = marks.groups(curves), marks.ordered(curves["attribute"], ATTRIBUTES)
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
                key = attribute, name, group
                rows = own.get(key, pd.DataFrame({"reason": ["not in the table"]}))
                if rows["reason"].iloc[0]:
                    missing[group] = rows["reason"].iloc[0]
                if "fnmr" in rows and not rows[["fnmr", "fmr"]].isna().any(axis=None):
                    marks.curve(ax, number, group, rows, at.get(key))
            marks.say_missing(ax, missing)
        counts = curves[curves["attribute"] == attribute]
        n = " / ".join(marks.count(counts[kind]) for kind in ("positives", "negatives"))
        # Beside the names of the columns, or alone; wider than its panel, which must not matter.
        over = row[0].annotate(
            f"{attribute}, n = {n}", (0, 1), (0, 4), "axes fraction", textcoords="offset points"
        )
        over.set(fontsize=11, in_layout=False)
        row[0].set_title(" ", fontsize=11)
        row[0].set_ylabel("FNMR (%)")
    for ax, name in zip(axes[0], names, strict=True):
        ax.set_title(f"{name}\n", fontsize=12)
    for ax in axes[-1]:
        ax.set_xlabel("FMR (%)")
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

    Example:
        >>> import pandas as pd
        >>> from helpers.verification import figures
        >>> at = {"group": "european male", "threshold": [0.2, 0.4], "reason": ""}
        >>> at |= {f"{rate}{end}": 0.1 for rate in figures.KINDS for end in ("", "_low", "_high")}
        >>> figures.draw_frames(pd.DataFrame(at | {"positives": 4, "negatives": 4})).shape[:2]
        (2, 3)
    """
    groups = marks.groups(rates)
    figure = Figure(figsize=FRAME, dpi=FRAME_DPI, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    moving = []
    for ax, (rate, kind) in zip(figure.subplots(1, 2, sharey=True), KINDS.items(), strict=True):
        # The root of a margin below 0 continues the scale on the other side.
        scale = lambda x: np.sign(x) * np.sqrt(np.abs(x)), lambda x: np.sign(x) * np.square(x)
        ax.set_xscale("function", functions=scale)
        ax.set(xlim=(scale[1](-0.06), scale[1](1.06)))
        ax.set_xticks(_FRAME_TICKS, [f"{100 * tick:g}" for tick in _FRAME_TICKS], fontsize=10)
        ax.set_title(f"{rate.upper()} (%)", fontsize=11)
        ax.set_xlabel(f"{marks.count(rates[kind])}\n{kind}", fontsize=10)
        marks.rows(ax, ["\n".join(group.rsplit(" ", 1)) for group in groups])
        moving += marks.moving(ax, rates, rate, groups)
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


def name_thresholds(thresholds: Sequence[float]) -> list[str]:
    """Thresholds with as many decimals, two or more, as tell them apart.

    Example:
        >>> from helpers.verification import figures
        >>> figures.name_thresholds([0.9991, 0.9993])
        ['0.9991', '0.9993']
    """
    for decimals in range(2, 9):
        names = [f"{threshold:.{decimals}f}" for threshold in thresholds]
        if len({*names}) == len({*thresholds}):
            break
    return [marks.minus(name) for name in names]
