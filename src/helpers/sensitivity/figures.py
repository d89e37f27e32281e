"""Figures of chapter 15: curves along a step, flips as bars, framed faces, parts, walks."""

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
"""Opacity of the bands."""
FRAME = 3
"""Pixels around a face."""


def curves(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """One panel per measure: a line with its 95 % band for every attribute vector, against λ.

    Source: sensitivity, Fig 5, with λ across and intervals added.

    Args:
        tables: vector → `sensitivity.curve`.

    Example:
        >>> from helpers import sensitivity
        >>> from helpers.sensitivity import figures as drawn
        >>> table = sensitivity.curve([[0.2, 0.4], [0.4, 0.6]], [0, 1], (0.3, 0.7), 0.5)
        >>> [axis.get_title() for axis in drawn.curves({"Young": table}).axes][:2]
        ['score, all codes', 'score, near the boundary']
    """
    figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 6.8), sharex=True)
    for axis, (measure, title) in zip(axes.flat, PANELS.items(), strict=True):
        for position, (name, table) in enumerate(tables.items()):
            line, look = table[table["measure"] == measure], SPARE[position % len(SPARE)]
            steps, paint = line["λ"], {"color": look.colour}
            axis.fill_between(steps, line["low"], line["high"], alpha=SHADE, linewidth=0, **paint)
            label = name.replace("_", " ")
            axis.plot(steps, line["estimate"], marker=look.marker, label=label, **paint)
        axis.axhline(0, color=BLACK, linewidth=1)
        axis.set(title=title, xlabel="step λ", ylabel="change")
    handles = axes.flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncol=3)
    return figure


def flip_bars(table: pd.DataFrame) -> Axes:
    """Joint flips to smiling (right) and away from it (left), in both directions of every vector.

    Source: sensitivity, Fig 6; workshop, Table 1.

    Args:
        table: `sensitivity.flips` stacked: index (vector, direction, measure), columns estimate,
            low, high.

    Example:
        >>> import pandas as pd
        >>> from helpers import sensitivity
        >>> from helpers.sensitivity import figures as drawn
        >>> flips = {("Young", "+"): sensitivity.flips([0.1, 0.9], [0.6, 0.9], 0.5)}
        >>> drawn.flip_bars(pd.concat(flips)).get_xlabel()
        'share of codes that flip (joint)'
    """
    rows = table.index.droplevel(2).unique()
    axis, y = _rows([f"{name.replace('_', ' ')} {way}" for name, way in rows], 1.2, 0.36)
    sides = {"01": (1, BLUE, "", "to smiling"), "10": (-1, ORANGE, "//", "away from smiling")}
    for suffix, (sign, colour, hatch, label) in sides.items():
        side = table.xs(f"joint_{suffix}", level=2).reindex(rows)
        axis.barh(
            y,
            sign * side["estimate"],
            xerr=_ends(side)[::sign],
            color=colour,
            hatch=hatch,
            edgecolor="white",
            error_kw={"ecolor": BLACK, "capsize": 3},
            label=label,
        )
    axis.xaxis.set_major_formatter(lambda value, _: f"{100 * abs(value):.3g} %")
    axis.set_xlabel("share of codes that flip (joint)")
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=2)
    return axis


def framed(images: ArrayLike, smiling: ArrayLike) -> np.ndarray:
    """Images with a frame that tells the decision: solid for smiling, dashed for not.

    Args:
        images: (n, 3, h, w) as `figures.as_pixels` takes them.
        smiling: the decision, (n,) bool.

    Returns:
        uint8 (n, 3, h + 6, w + 6).

    Example:
        >>> import numpy as np
        >>> from helpers.sensitivity import figures as drawn
        >>> drawn.framed(np.zeros((2, 3, 8, 8), np.uint8), [True, False]).shape
        (2, 3, 14, 14)
    """
    faces = as_pixels(images)
    wide = np.pad(faces, [(0, 0), (FRAME, FRAME), (FRAME, FRAME), (0, 0)])
    inside = np.pad(np.ones(faces.shape[1:3], bool), FRAME)
    rows, columns = np.indices(inside.shape)
    dash = (rows + columns) // (2 * FRAME) % 2 == 0
    solid, dashed = (np.rint(255 * np.array(to_rgb(colour))) for colour in (BLUE, ORANGE))
    for face, smiles in zip(wide, smiling, strict=True):
        frame = solid if smiles else np.where(dash[..., None], dashed, 255)
        face[~inside] = np.broadcast_to(frame, face.shape)[~inside]
    return wide.transpose(0, 3, 1, 2)


def parts(tables: Mapping[str, pd.DataFrame], names: Sequence[str]) -> Axes:
    """Total change of the score, what the perceived smile accounts for, and the rest, by vector.

    Args:
        tables: vector → `sensitivity.explained`.
        names: the vectors, from top to bottom.

    Example:
        >>> import pandas as pd
        >>> from helpers.sensitivity import figures as drawn
        >>> index, columns = ["total", "explained", "rest"], ["estimate", "low", "high"]
        >>> table = pd.DataFrame([[0.3, 0.2, 0.4]] * 3, index, columns)
        >>> drawn.parts({"Young": table}, ["Young"]).get_xlabel()
        'change of the score'
    """
    axis, places = _rows([name.replace("_", " ") for name in names], 1.4, 0.6)
    looks = {
        "total": ("total", 0.24, BLACK, "o"),
        "explained": ("accounted for by the perceived smile", 0, GREY, "s"),
        "rest": ("the rest", -0.24, BLUE, "D"),
    }
    for part, (label, shift, colour, marker) in looks.items():
        rows = pd.DataFrame({name: tables[name].loc[part] for name in names}).T
        y, look = places + shift, {"fmt": marker, "color": colour, "label": label}
        axis.errorbar(rows["estimate"], y, xerr=_ends(rows), capsize=3, **look)
    axis.set_xlabel("change of the score")
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=3)
    return axis


def walks(images: Mapping[str, np.ndarray]) -> Figure:
    """Codes (columns) at the steps of several vectors (blocks of rows).

    Source: sensitivity, Fig 4.

    Args:
        images: vector → uint8 (n, L, 3, h, w), L odd and ascending, the codes themselves in the
            middle.

    Example:
        >>> import numpy as np
        >>> from helpers import figures
        >>> from helpers.sensitivity import figures as drawn
        >>> figures.style()
        >>> figure = drawn.walks({"Young": np.zeros((2, 3, 3, 8, 8), np.uint8)})
        >>> [axis.get_ylabel() for axis in figure.axes]
        ['less', 'Young\\nas is', 'more']
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

    Example:
        >>> import numpy as np
        >>> from helpers.sensitivity import figures as drawn
        >>> walks, scores = np.zeros((2, 3, 3, 8, 8), np.uint8), np.full((2, 3), 0.5)
        >>> menu = drawn.walk_slider({"Young": walks}, {"Young": scores}, [-1, 0, 1]).children[0]
        >>> menu.options
        ('Young',)
    """
    frames, below = {}, {}
    for name, walk in walks.items():
        shown = name.replace("_", " ")
        frames[shown] = np.concatenate([*walk], axis=3)
        below[shown] = [[f"{one:.0%}" for one in row] for row in scores[name][: len(walk)].T]
    steps = [f"λ {step:+.1f}" for step in lambdas]
    start, labels = int(np.abs(lambdas).argmin()), dict.fromkeys(frames, steps)
    return widgets.attribute_explorer(frames, labels, "samples", 384, below, start)


def _rows(labels: Sequence[str], margin: float, height: float) -> tuple[Axes, np.ndarray]:
    """Axes with a line at zero and a labelled row for each name, and the rows' places."""
    axis = plt.figure(figsize=(WIDTH, margin + height * len(labels))).gca()
    y = np.arange(len(labels))[::-1]
    axis.axvline(0, color=BLACK, linewidth=1)
    axis.set_yticks(y, labels)
    axis.set_ylim(-0.7, len(labels) - 0.3)
    axis.grid(axis="y", visible=False)
    return axis, y


def _ends(table: pd.DataFrame) -> np.ndarray:
    """Lengths (2, n) of the whiskers below and above."""
    return np.stack([table["estimate"] - table["low"], table["high"] - table["estimate"]]).clip(0)
