"""How groups of the verification study are marked in its figures, and what those figures share.

Colour and marker tell the ancestry group; filled marks and solid lines mean perceived female, open
marks and dashed lines perceived male.
"""

from collections.abc import Iterable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from helpers.figures.looks import BLACK, BLUE, GREEN, GREY, VERMILION, WIDTH, Look
from helpers.identities import GROUPS

# Not blue beside orange, nor purple beside green: elsewhere in the book those pairs are skin colour
# and perceived gender, which are no part of an ancestry group.
ANCESTRY_LOOKS: Mapping[str, Look] = {
    "african": Look(VERMILION, "o", ""),
    "east asian": Look(GREEN, "s", ""),
    "european": Look(BLUE, "D", ""),
}
ALL = "all"
"""A row over all groups, drawn last and in black."""
# GREY is too pale for words.
WORDS = {"fontsize": 10, "color": "#555555", "style": "italic", "ha": "center", "va": "center"}
MIDDLE = (0.15, 0.85)
"""The range of pairs that the paper draws in Figs 5 and 10 to 13."""

_DASH = (0, (3, 1.5))


def ordered(names: Iterable[str], order: Iterable[str]) -> list[str]:
    """Those of `order` that are among the names; ValueError for a name that is not in it."""
    names, order = set(names), list(order)
    if unknown := sorted(map(str, names - set(order))):
        raise ValueError(f"unknown {unknown[0]!r}: one of {order} was expected")
    return [name for name in order if name in names]


def groups(table: pd.DataFrame) -> list[str]:
    """Groups of a table in the order of `GROUPS`, then "all"."""
    return ordered(table["group"], (*GROUPS, ALL))


def style(group: str) -> dict[str, object]:
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


def panels(names: pd.Series, tall: float) -> tuple[Figure, dict[str, Axes]]:
    """A panel of a given height per recogniser, two abreast, with common axes."""
    names = list(names.unique())
    across = min(2, len(names))
    down = -(-len(names) // across)
    size = WIDTH, 1.3 + (tall + 0.25) * down
    figure, axes = plt.subplots(down, across, figsize=size, sharex=True, sharey=True, squeeze=False)
    for ax in axes.flat[len(names) :]:
        ax.remove()
        axes[-2, -1].tick_params(labelbottom=True)
    for name, ax in zip(names, axes.flat, strict=False):
        ax.set_title(name)
    return figure, dict(zip(names, axes.flat, strict=False))


def ranges(frame: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """Median and middle 70 % of a column: low, middle, high, and n."""
    rows = frame.groupby(by, observed=True, sort=False)[value]
    quantiles = {"low": MIDDLE[0], "middle": 0.5, "high": MIDDLE[1]}
    return pd.DataFrame(
        {name: rows.quantile(q) for name, q in quantiles.items()} | {"n": rows.size()}
    )


def mark(
    ax: Axes, places: np.ndarray, rows: pd.DataFrame, middle: str, group: str, size: float
) -> None:
    """Upright ranges (low to high) of a group with a mark in the middle."""
    spans = rows[["low", "high"]].sub(rows[middle], axis=0).abs().to_numpy(float).T
    look = style(group)
    still = look | {"linestyle": "none", "markersize": 8 if group == ALL else size}
    _, _, (bars,) = ax.errorbar(places, rows[middle], yerr=spans, **still, elinewidth=1.3)
    bars.set_linestyle(look["linestyle"])


def intervals(
    ax: Axes,
    table: pd.DataFrame,
    groups: Sequence[str],
    middle: str,
    styles: Mapping[str, Mapping[str, object]],
) -> None:
    """A level interval per group, or why there is none, from the top down."""
    missing = {"reason": "not in the table"}
    table = table.set_index("group")
    for place, group in enumerate(groups):
        row = table.loc[group] if group in table.index else missing
        if row["reason"]:
            say(ax, place, row["reason"])
            continue
        spans = np.abs([[row["low"] - row[middle]], [row["high"] - row[middle]]])
        look = dict(styles[group]) | {"linestyle": "none", "markersize": 7}
        ax.errorbar([row[middle]], [place], xerr=spans, **look, capsize=3, zorder=3, elinewidth=1.5)


def curve(ax: Axes, place: int, group: str, rows: pd.DataFrame, fixed: pd.DataFrame | None) -> None:
    """Curve, band and triangle of one group: points from 1 / negatives on, as many as are seen."""
    # Of thresholds with one FMR the lowest has the lowest FNMR, and is the one to use.
    path = rows[rows["fmr"] > 0].sort_values("threshold")
    path = path[~np.log10(path["fmr"]).round(2).duplicated()]
    look, ends = style(group), (path["fnmr_low"], path["fnmr_high"])
    ax.fill_between(path["fmr"], *ends, color=look["color"], alpha=0.1, linewidth=0)
    every = (0.04 + 0.05 * place, 0.4)
    ax.plot(path["fmr"], path["fnmr"], **look, linewidth=1.3, markersize=3.5, markevery=every)
    if fixed is not None:
        floor, (fnmr, fmr) = 1 / rows["negatives"].iloc[0], fixed[["fnmr", "fmr"]].iloc[0]
        triangle = look | {"marker": "<" if fmr < floor else "^", "markeredgewidth": 1.4}
        ax.plot(max(fmr, floor), fnmr, **triangle, markersize=6.5, clip_on=False, zorder=4)


def histogram(ax: Axes, place: int, shown: str, values: pd.Series) -> None:
    """Scores of one row, upwards from its lower edge, with their median."""
    edges = np.linspace(-0.025, 1.025, 22)  # a mean of five levels by several raters: 0, .05, ...
    look = style(shown) if shown in GROUPS else {"color": GREY, "linestyle": "-"}
    share, base = np.histogram(values, edges)[0] / len(values), place + 0.42
    bars = {"values": base - 0.82 * share / max(share.max(), 1e-9), "edges": edges}
    bars |= {"baseline": base, "color": look["color"]}
    if look["linestyle"] == "-":
        ax.stairs(**bars, fill=True, alpha=0.45)
    ax.stairs(**bars, linewidth=1.2, linestyle=look["linestyle"])
    ax.plot([np.median(values)] * 2, [place - 0.1, base], color=BLACK, linewidth=2)


def moving(
    ax: Axes, rates: pd.DataFrame, rate: str, groups: Sequence[str]
) -> list[tuple[Line2D, np.ndarray]]:
    """Lines of every group with what their x becomes at each threshold, (k, points).

    A group whose rates cannot be estimated has none, and the reason is written in their place.
    """
    lines = []
    for place, group in enumerate(groups):
        own, look = rates[rates["group"] == group], style(group)
        if reason := own["reason"].iloc[0]:
            say(ax, place, reason)
            continue
        bar = {"color": look["color"], "marker": "|", "markersize": 8, "linewidth": 1.5}
        looks = {(f"{rate}_low", f"{rate}_high"): bar, (rate,): look | {"markersize": 7}}
        for columns, form in looks.items():
            (line,) = ax.plot([0] * len(columns), [place] * len(columns), **form, animated=True)
            lines.append((line, own[[*columns]].to_numpy()))
    return lines


def say(ax: Axes, place: int, reason: str) -> None:
    """Why there is nothing in one of the rows."""
    words = WORDS | {"ha": "left", "backgroundcolor": "white"}
    ax.text(0.03, place, reason, transform=ax.get_yaxis_transform(), **words)


def say_missing(ax: Axes, missing: Mapping[str, str]) -> None:
    """Why groups are not in a panel, in its upper right corner."""
    lines = [f"{group}: {reason}" for group, reason in missing.items()]
    words = WORDS | {"ha": "right", "va": "top"}
    ax.text(0.98, 0.97, "\n".join(lines), transform=ax.transAxes, **words)


def count(n: pd.Series) -> str:
    """One number, or from which to which."""
    low, high = int(n.min()), int(n.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def counted(table: pd.DataFrame, groups: Sequence[str], column: str) -> list[str]:
    """Groups with their counts, which may differ between recognisers."""
    counts = {group: table.loc[table["group"] == group, column] for group in groups}
    return [f"{group}\nn = {count(n)}" for group, n in counts.items()]


def rows(ax: Axes, names: Sequence[str]) -> None:
    """Named rows from the top down, with thin lines between them."""
    for edge in range(len(names) + 1):
        ax.axhline(edge - 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(names)), names, fontsize=10)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)


def ticks(ax: Axes, names: Sequence[str]) -> None:
    """Named columns, with thin lines between them."""
    for edge in range(1, len(names)):
        ax.axvline(edge - 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)
    ax.set_xticks(range(len(names)), map(minus, names))
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.grid(axis="x", visible=False)
    ax.tick_params(axis="x", length=0)


def shifts(groups: Sequence[str]) -> zip:
    """Groups, and where their marks stand beside the middle of a step."""
    width = 0.36 * (len(groups) > 1)
    return zip(groups, np.linspace(-width, width, len(groups)), strict=True)


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
