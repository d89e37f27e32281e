"""Figures over thresholds: what stands where in the grid of curves and in a slider's frames."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from helpers import figures
from helpers.identities import GROUPS
from helpers.verification import figure_style, fixed_threshold, rate_figures, vertex_bootstrap

ATTRIBUTES = ("pose", "age")
RECOGNISERS = ("arcface-a", "arcface-b", "sphereface", "balanced")
THRESHOLD = 0.4
GRID = [0.15, 0.25, 0.35, 0.45]


pytestmark = pytest.mark.usefixtures("book_style")


def study(key: int, n: int = 20) -> dict[str, np.ndarray]:
    """Pairs of n seeds in six groups, of which the last ones are harder."""
    rng = np.random.default_rng(key)
    first = np.tile(np.arange(n), 4 * 6)
    match = np.tile(np.repeat([1, 0, 0, 0], n), 6)
    apart = np.where(match, 0, np.tile(np.repeat([0, 1, 2, 3], n), 6))
    group = np.repeat(GROUPS, 4 * n)
    level = 0.15 + 0.35 * match - 0.02 * np.repeat(np.arange(6), 4 * n) * match
    return {
        "similarity": level + rng.normal(0, 0.15, len(first)),
        "is_match": match,
        "group": pd.Categorical(group, GROUPS),
        "vertices": np.stack([first, (first + apart) % n], 1),
    }


def without_positives(pairs: dict, group: str) -> dict:
    keep = ~((pairs["group"] == group) & (pairs["is_match"] == 1))
    return {name: values[keep] for name, values in pairs.items()}


@pytest.fixture(scope="module")
def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Curves and rates at one threshold; one recogniser lacks the positives of a group."""
    found = []
    for key, (attribute, name) in enumerate((a, r) for a in ATTRIBUTES for r in RECOGNISERS):
        pairs = study(key)
        if name == "sphereface":
            pairs = without_positives(pairs, GROUPS[2])
        curves = vertex_bootstrap(**pairs, n_boot=40, seed=1).curves
        del pairs["vertices"]
        fixed = fixed_threshold(**pairs, threshold=THRESHOLD)
        found.append([t.assign(attribute=attribute, recogniser=name) for t in (curves, fixed)])
    return tuple(pd.concat(parts, ignore_index=True) for parts in zip(*found, strict=True))


def panels(figure) -> list[tuple]:
    """(axes, attribute, recogniser), row by row."""
    names = [(attribute, name) for attribute in ATTRIBUTES for name in RECOGNISERS]
    return [(ax, *name) for ax, name in zip(figure.axes, names, strict=True)]


def of(table: pd.DataFrame, attribute: str, name: str) -> pd.DataFrame:
    return table[(table["attribute"] == attribute) & (table["recogniser"] == name)]


def words(ax) -> list[str]:
    return [text.get_text() for text in ax.texts if text.get_text()]


def test_grid_is_as_wide_as_the_page_and_no_text_is_small(tables):
    figure = rate_figures.draw_curves(*tables)
    figure.draw_without_rendering()
    assert figure.get_figwidth() == figures.WIDTH and figure.get_figheight() < 9
    shown = [t for t in figure.findobj(plt.Text) if t.get_visible() and t.get_text().strip()]
    assert min(text.get_fontsize() for text in shown) >= 10
    legend = [text for one in figure.legends for text in one.get_texts()]
    for text in [*legend, *(text for ax in figure.axes for text in ax.texts)]:
        box = text.get_window_extent()
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1, text


def test_curves_hold_exact_points_down_to_one_false_match(tables):
    curves, fixed = tables
    for ax, attribute, name in panels(rate_figures.draw_curves(curves, fixed)):
        own = of(curves, attribute, name)
        estimable = [g for g in GROUPS if own.loc[own["group"] == g, "fnmr"].notna().all()]
        lines = [line for line in ax.lines if len(line.get_xdata()) > 1]
        assert len(lines) == len(ax.collections) == len(estimable)
        for line, group in zip(lines, estimable, strict=True):
            rows = own[(own["group"] == group) & (own["fmr"] > 0)]
            fmr, fnmr = line.get_data()
            assert fmr.min() == 1 / 60 and fmr.max() == 1
            best = rows.groupby("fmr")["fnmr"].min()
            np.testing.assert_array_equal(best[fmr], fnmr)
            assert (line.get_linestyle() == "-") == group.endswith("female")


def test_rows_and_columns_are_named_and_counted_and_gaps_are_said(tables):
    figure = rate_figures.draw_curves(*tables)
    assert [ax.get_title().strip() for ax in figure.axes[:4]] == list(RECOGNISERS)
    for ax, attribute, name in panels(figure):
        said = [f"{attribute}, n = 0 to 20 / 60"] if name == RECOGNISERS[0] else []
        said += [f"{GROUPS[2]}: no positives"] if name == "sphereface" else []
        assert sorted(words(ax)) == sorted(said)


def test_triangles_stand_where_one_threshold_puts_each_group(tables):
    curves, fixed = tables
    fixed = fixed.copy()
    fixed.loc[0, "fmr"] = 0.0  # no false match at all: fewer than one can tell from 1 / 60
    for ax, attribute, name in panels(rate_figures.draw_curves(curves, fixed)):
        points = [line for line in ax.lines if len(line.get_xdata()) == 1]
        found = [(*line.get_xydata()[0], line.get_marker()) for line in points]
        rows = of(fixed, attribute, name)
        expected = [
            (row.fmr, row.fnmr, "^") if row.fmr >= 1 / 60 else (1 / 60, row.fnmr, "<")
            for row in rows[rows["fnmr"].notna()].itertuples()
        ]
        assert found == expected and len(found) == (5 if name == "sphereface" else 6)
    assert fixed.loc[0, ["attribute", "recogniser"]].tolist() == ["pose", "arcface-a"]


def test_other_tables_are_refused(tables):
    curves, fixed = tables
    with pytest.raises(ValueError, match="unknown attribute 'hair'"):
        rate_figures.draw_curves(curves.replace("pose", "hair"), fixed)
    with pytest.raises(ValueError, match="up to four recognisers can be drawn, not 5"):
        more = curves[curves["recogniser"] == "balanced"].assign(recogniser="fifth")
        rate_figures.draw_curves(pd.concat([curves, more]), fixed)
    with pytest.raises(ValueError, match=r"no column \['fnmr_low'\]"):
        rate_figures.draw_frames(curves.drop(columns="fnmr_low"))


def swept(pairs: dict) -> pd.DataFrame:
    return vertex_bootstrap(**pairs, n_boot=40, seed=1, thresholds=GRID).curves


def columns_of(frame: np.ndarray, colour: str) -> np.ndarray:
    """Columns of a frame that hold pixels of a colour."""
    near = np.abs(frame - 255 * np.array(to_rgb(colour))[:, None, None]).max(0) < 4
    return np.flatnonzero(near.any(0))


def test_frames_move_every_mark_with_its_rate():
    rates = swept(study(0))
    frames = rate_figures.draw_frames(rates)
    assert frames.dtype == np.uint8 and frames.shape[:2] == (len(GRID), 3)
    assert frames.shape[3] < 500
    half = frames.shape[3] * 0.62  # between the two panels
    for ancestry in ("african", "east asian", "european"):
        colour = figure_style.ANCESTRY_LOOKS[ancestry].colour
        places = [columns_of(frame, colour) for frame in frames]
        fnmr = [columns[columns < half].mean() for columns in places]
        fmr = [columns[columns > half].mean() for columns in places]
        assert (np.diff(fnmr) > 0).all() and (np.diff(fmr) < 0).all()
    # All that does not move is the same in all frames.
    assert (frames[:, :, -60:] == frames[0, :, -60:]).all()


def test_frames_say_what_cannot_be_estimated():
    whole = swept(study(0))
    gap = swept(without_positives(study(0), GROUPS[2]))
    frames = [rate_figures.draw_frames(rates) for rates in (whole, gap)]
    marks = [[columns_of(f, figures.GREEN) for f in some[:, :, :210]] for some in frames]
    assert all(len(a) > len(b) for a, b in zip(*marks, strict=True))
    assert plt.get_fignums() == []  # nothing is left for the page to show


def test_thresholds_are_named_so_that_they_differ():
    assert rate_figures.name_thresholds([-0.1, 0.25, 0.5]) == ["−0.10", "0.25", "0.50"]
    assert rate_figures.name_thresholds([0.9991, 0.9993]) == ["0.9991", "0.9993"]
    assert rate_figures.name_thresholds([0.5, 0.5]) == ["0.50", "0.50"]
