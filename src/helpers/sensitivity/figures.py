"""Figures of the chapter on sensitivity flips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from ipywidgets import VBox
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from helpers import figures
from helpers.figures import widgets
from helpers.figures.looks import BLACK, BLUE, GREY, ORANGE, SPARE, WIDTH, as_pixels

PANELS = {
    "score sensitivity": "score, all codes",
    "near the boundary": "score, near the boundary",
    "net": "net flips, all codes",
    "net near the boundary": "net flips, near the boundary",
}
"""Measures of `sensitivity.curve` that the paper draws, with titles."""
SHADE = 0.15
FRAME = 3  # pixels around a face


def curves(tables: Mapping[str, pd.DataFrame], measures: Mapping[str, str] = PANELS) -> Figure:
    """One panel per measure: a line with its 95 % band for every attribute vector, against λ.

    Sensitivity, Fig 5, with λ across and intervals added.

    Args:
        tables: vector → `sensitivity.curve`.
        measures: measure → title of its panel.
    """
    figure, axes = plt.subplots(
        -(-len(measures) // 2), 2, figsize=(WIDTH, 3.4 * -(-len(measures) // 2)), sharex=True
    )
    for axis, (measure, title) in zip(np.ravel(axes), measures.items(), strict=False):
        for position, (name, table) in enumerate(tables.items()):
            line, look = table[table["measure"] == measure], SPARE[position % len(SPARE)]
            axis.fill_between(
                line["λ"], line["low"], line["high"], color=look.colour, alpha=SHADE, linewidth=0
            )
            axis.plot(
                line["λ"],
                line["estimate"],
                color=look.colour,
                marker=look.marker,
                label=name.replace("_", " "),
            )
        axis.axhline(0, color=BLACK, linewidth=1)
        axis.set(title=title, xlabel="step λ", ylabel="change")
    for axis in np.ravel(axes)[len(measures) :]:
        axis.remove()
    handles = np.ravel(axes)[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncol=3)
    return figure


def flip_bars(table: pd.DataFrame, kind: str = "joint") -> Axes:
    """Flips to smiling (right) and away from it (left), in both directions of every vector.

    Sensitivity, Fig 6; workshop, Table 1.

    Args:
        table: `sensitivity.flips` stacked: index (vector, direction, measure), columns estimate,
            low, high.
        kind: "joint" or "conditional".
    """
    rows = table.index.droplevel(2).unique()
    axis = plt.figure(figsize=(WIDTH, 1.2 + 0.36 * len(rows))).gca()
    y = np.arange(len(rows))[::-1]
    sides = {"01": (1, BLUE, "", "to smiling"), "10": (-1, ORANGE, "//", "away from smiling")}
    for suffix, (sign, colour, hatch, label) in sides.items():
        side = table.xs(f"{kind}_{suffix}", level=2).reindex(rows)
        ends = np.stack([side["estimate"] - side["low"], side["high"] - side["estimate"]]).clip(0)
        axis.barh(
            y,
            sign * side["estimate"],
            xerr=ends if sign > 0 else ends[::-1],
            color=colour,
            hatch=hatch,
            edgecolor="white",
            error_kw={"ecolor": BLACK, "capsize": 3},
            label=label,
        )
    axis.axvline(0, color=BLACK, linewidth=1)
    axis.set_yticks(y, [f"{name.replace('_', ' ')} {way}" for name, way in rows])
    axis.xaxis.set_major_formatter(lambda value, _: f"{100 * abs(value):.3g} %")
    axis.set(xlabel=f"share of codes that flip ({kind})", ylim=(-0.7, len(rows) - 0.3))
    axis.grid(axis="y", visible=False)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=2)
    return axis


def framed(images: ArrayLike, smiling: ArrayLike) -> np.ndarray:
    """Images with a frame that tells the decision: solid for smiling, dashed for not.

    Args:
        images: (n, 3, h, w) as `figures.as_pixels` takes them.
        smiling: the decision, (n,) bool.

    Returns:
        uint8 (n, 3, h + 6, w + 6).
    """
    pixels = as_pixels(images)
    smiling = np.asarray(smiling, bool)
    n, height, width, _ = pixels.shape
    solid, dashed = (np.array(_rgb(colour), np.uint8) for colour in (BLUE, ORANGE))
    wide = np.full((n, height + 2 * FRAME, width + 2 * FRAME, 3), 255, np.uint8)
    wide[smiling] = solid
    rows, columns = np.indices(wide.shape[1:3])
    dash = (rows + columns) // (2 * FRAME) % 2 == 0
    wide[np.ix_(np.flatnonzero(~smiling))] = np.where(dash[..., None], dashed, 255)
    wide[:, FRAME:-FRAME, FRAME:-FRAME] = pixels
    return wide.transpose(0, 3, 1, 2)


def parts(tables: Mapping[str, pd.DataFrame], names: Sequence[str]) -> Axes:
    """Total change of the score, what the perceived smile accounts for, and the rest, by vector.

    Args:
        tables: vector → `sensitivity.explained`.
        names: the vectors, from top to bottom.
    """
    axis = plt.figure(figsize=(WIDTH, 1.4 + 0.6 * len(names))).gca()
    looks = {"total": (BLACK, "o"), "explained": (GREY, "s"), "rest": (BLUE, "D")}
    labels = {"explained": "accounted for by the perceived smile", "rest": "the rest"}
    for shift, (part, (colour, marker)) in zip((0.24, 0, -0.24), looks.items(), strict=True):
        rows = pd.DataFrame({name: tables[name].loc[part] for name in names}).T
        y = np.arange(len(names))[::-1] + shift
        ends = np.stack([rows["estimate"] - rows["low"], rows["high"] - rows["estimate"]]).clip(0)
        axis.errorbar(
            rows["estimate"],
            y,
            xerr=ends,
            fmt=marker,
            color=colour,
            capsize=3,
            label=labels.get(part, part),
        )
    axis.axvline(0, color=BLACK, linewidth=1)
    axis.set_yticks(np.arange(len(names))[::-1], [name.replace("_", " ") for name in names])
    axis.set(xlabel="change of the score", ylim=(-0.7, len(names) - 0.3))
    axis.grid(axis="y", visible=False)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=3)
    return axis


def _rgb(colour: str) -> tuple[int, int, int]:
    return tuple(round(255 * part) for part in to_rgb(colour))


def walks(images: Mapping[str, np.ndarray]) -> Figure:
    """Codes (columns) at the steps of several vectors (blocks of rows).

    Sensitivity, Fig 4.

    Args:
        images: vector → uint8 (n, L, 3, h, w), L odd and ascending, the codes themselves in the
            middle.
    """
    rows, labels = [], []
    for name, walk in images.items():
        half = walk.shape[1] // 2
        rows.append(walk.swapaxes(0, 1).reshape(-1, *walk.shape[2:]))
        named = f"{name.replace('_', ' ')}\nas is"
        labels += [*["less"] * half, named, *["more"] * half]
    return figures.gallery(np.concatenate(rows), len(walk), row_labels=labels)


def walk_slider(
    walks: Mapping[str, np.ndarray], scores: Mapping[str, np.ndarray], lambdas: Sequence[float]
) -> VBox:
    """A menu of vectors, and for each a slider of the step, with every face's score below it.

    Args:
        walks: vector → uint8 (n, L, 3, h, w) along `lambdas`; the n faces stand side by side.
        scores: vector → (n or more, L).
        lambdas: (L,) steps; the slider starts at the one nearest to zero.
    """
    frames, below = {}, {}
    for name, walk in walks.items():
        shown = name.replace("_", " ")
        frames[shown] = np.concatenate([*walk], axis=3)
        below[shown] = [[f"{one:.0%}" for one in row] for row in scores[name][: len(walk)].T]
    steps = [f"λ {step:+.1f}" for step in lambdas]
    start = int(np.abs(lambdas).argmin())
    return widgets.attribute_explorer(
        frames, dict.fromkeys(frames, steps), "samples", 384, below, start
    )
