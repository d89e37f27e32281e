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

from helpers.figures.looks import BLACK, BLUE, GREEN, VERMILION, WIDTH, Look
from helpers.identities import GROUPS
from helpers.utils.checks import require_columns

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

_LOW, _HIGH = 0.15, 0.85  # the range that the paper draws in Figs 5 and 10 to 13
_DASH = (0, (3, 1.5))


def check(table: pd.DataFrame, columns: Sequence[str]) -> None:
    require_columns(table, columns)
    if table.empty:
        raise ValueError("there is nothing to draw: the table has no rows")


def known(names: Iterable[str], known: Iterable[str], what: str) -> list[str]:
    """The known ones among names, in their own order; all must be known."""
    names, known = set(names), list(known)
    if unknown := sorted(map(str, names - set(known))):
        raise ValueError(f"unknown {what} {unknown[0]!r}: one of {known} was expected")
    return [name for name in known if name in names]


def groups(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Groups of a table that has the columns, in the order of `GROUPS`, then "all"."""
    check(table, ["group", *columns])
    return known(table["group"], (*GROUPS, ALL), "group")


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


def recognisers(names: pd.Series) -> list[str]:
    """Names in order of appearance, of which there is room for four."""
    names = list(names.unique())
    if len(names) > 4:
        raise ValueError(f"up to four recognisers can be drawn, not {len(names)}: {names}")
    return names


def panels(names: pd.Series, tall: float) -> tuple[Figure, dict[str, Axes]]:
    """A panel of a given height per recogniser, two abreast, with common axes."""
    names = recognisers(names)
    across = min(2, len(names))
    down = -(-len(names) // across)
    size = WIDTH, 1.3 + (tall + 0.25) * down
    figure, axes = plt.subplots(down, across, figsize=size, sharex=True, sharey=True, squeeze=False)
    for ax in axes.flat[len(names) :]:
        ax.remove()
        axes[-2, -1].tick_params(labelbottom=True)
    return figure, dict(zip(names, axes.flat, strict=False))


def ranges(frame: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """Median and middle 70 % of a column: low, middle, high, and n."""
    rows = frame.groupby(by, observed=True, sort=False)[value]
    quantiles = {"low": _LOW, "middle": 0.5, "high": _HIGH}
    return pd.DataFrame(
        {name: rows.quantile(q) for name, q in quantiles.items()} | {"n": rows.size()}
    )


def mark(
    ax: Axes,
    places: np.ndarray,
    rows: pd.DataFrame,
    middle: str,
    style: Mapping[str, object],
    small: bool = False,
) -> None:
    """Upright ranges (low to high) with a mark in the middle."""
    spans = rows[["low", "high"]].sub(rows[middle], axis=0).abs().to_numpy(float).T
    size = 3.6 if small else 8 if style["marker"] == "*" else 5.5
    look = dict(style) | {"linestyle": "none", "markersize": size}
    _, _, (bars,) = ax.errorbar(places, rows[middle], yerr=spans, **look, elinewidth=1.3)
    bars.set_linestyle(style["linestyle"])


def intervals(
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
            say(ax, place, row["reason"])
            continue
        spans = np.abs([[row["low"] - row[middle]], [row["high"] - row[middle]]])
        look = dict(styles[group]) | {
            "linestyle": "none",
            "markersize": 7,
            "capsize": 3,
            "zorder": 3,
        }
        ax.errorbar([row[middle]], [place], xerr=spans, **look, elinewidth=1.5)


def say(ax: Axes, place: int, reason: str) -> None:
    """Why there is nothing in one of the rows."""
    words = WORDS | {"ha": "left", "backgroundcolor": "white"}
    ax.text(0.03, place, reason, transform=ax.get_yaxis_transform(), **words)


def say_missing(ax: Axes, missing: Mapping[str, str]) -> None:
    lines = [f"{group}: {reason}" for group, reason in missing.items()]
    words = WORDS | {"ha": "right", "va": "top"}
    ax.text(0.98, 0.97, "\n".join(lines), transform=ax.transAxes, **words)


def count(n: pd.Series) -> str:
    low, high = int(n.min()), int(n.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def label(ax: Axes, x: str, y: str) -> None:
    """Name the axes of one panel of a grid where its ticks have labels."""
    if ax.xaxis.get_tick_params()["labelbottom"]:
        ax.set_xlabel(x)
    if ax.yaxis.get_tick_params()["labelleft"]:
        ax.set_ylabel(y)


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
    ax.set_xticks(range(len(names)), names)
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.grid(axis="x", visible=False)
    ax.tick_params(axis="x", length=0)


def shifts(count: int) -> np.ndarray:
    return np.linspace(-0.36, 0.36, count) if count > 1 else np.zeros(1)


def minus(text: str) -> str:
    return str(text).replace("-", "−")


def legend(
    figure: Figure,
    labels: Mapping[str, str],
    extra: Mapping[str, Line2D],
    lines: bool = False,
    title: str | None = None,
) -> None:
    """Groups beneath the figure, the two perceived genders of an ancestry group in one column."""
    handles = []
    for group in labels:
        look = style(group) if lines else style(group) | {"linestyle": "none"}
        handles.append(Line2D([], [], **look, markersize=6))
    names = [*labels.values(), *extra]
    columns = -(-len(names) // 2)
    where = {"loc": "outside lower center", "ncol": columns, "fontsize": 10, "title": title}
    figure.legend([*handles, *extra.values()], names, **where, columnspacing=1.2, handletextpad=0.5)
