"""Figures of the verification study: what is drawn where, and what is said and not drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from drawn_pairs import bars, check_page, pairs_by_step, words
from matplotlib.colors import to_rgb

from helpers import figures
from helpers.identities import GROUPS
from helpers.verification import disparities, fixed_threshold, vertex_bootstrap
from helpers.verification import figure_style as marks
from helpers.verification import figures as drawn
from helpers.verification.figure_steps import RELATIONS

ATTRIBUTES = ("pose", "age")
GRID = [0.15, 0.25, 0.35, 0.45]
RECOGNISERS = {"arcface-a": 0.09, "arcface-b": 0.05, "sphereface": 0.07, "balanced": 0.0}
THRESHOLD = 0.38


pytestmark = pytest.mark.usefixtures("book_style")


def audited(n_seeds: int = 40) -> tuple[pd.DataFrame, ...]:
    """Curves, rates at fixed FMR, at a fixed threshold, and disparities, of four recognisers."""
    tables = []
    for key, (name, skew) in enumerate(RECOGNISERS.items()):
        frame = pairs_by_step(skew, n_seeds, key=key)
        frame = frame[frame["relation"] != RELATIONS[2]]
        group = pd.Categorical(frame["group"], GROUPS)
        match = (frame["relation"] == RELATIONS[0]).to_numpy()
        if key == 2:  # a group without positives, as where raters agree with no intended pair
            keep = ~((group == GROUPS[2]) & match)
            frame, group, match = frame[keep], group[keep], match[keep]
        pairs = frame["similarity"], match, group
        vertices = frame[["seed_first", "seed_second"]]
        bands = vertex_bootstrap(*pairs, vertices, n_boot=60, seed=1)
        found = disparities(
            *pairs, vertices, threshold=THRESHOLD, tolerance=0.05, n_boot=60, seed=1
        )
        parts = bands.curves, bands.at_fmr, fixed_threshold(*pairs, THRESHOLD), found
        tables.append([part.assign(recogniser=name) for part in parts])
    return tuple(pd.concat(parts, ignore_index=True) for parts in zip(*tables, strict=True))


@pytest.fixture(scope="module")
def tables() -> tuple[pd.DataFrame, ...]:
    return audited()


def held_at(tables, fmr=1e-2) -> pd.DataFrame:
    return tables[1][tables[1]["fmr"] == fmr]


def one_measure(tables) -> pd.DataFrame:
    return tables[3][tables[3]["measure"] == "FNMR at FMR"]


def test_all_are_as_wide_as_the_page_and_no_text_is_small(tables):
    check_page(drawn.draw_rates(held_at(tables)))
    check_page(drawn.draw_disparities(one_measure(tables), 0.05))


def test_rates_stand_at_their_value_or_say_why_not(tables):
    held = held_at(tables)
    for ax, (name, own) in zip(
        drawn.draw_rates(held).axes, held.groupby("recogniser", sort=False), strict=True
    ):
        assert ax.get_title() == name
        estimable = own[own["fnmr"].notna()]
        np.testing.assert_allclose(
            [bar[1:4] for bar in bars(ax)], estimable[["fnmr", "low", "high"]].to_numpy()
        )
        assert words(ax) == ("no positives" if name == "sphereface" else "")
    for ax in drawn.draw_rates(held_at(tables, 1e-3)).axes:
        assert not ax.containers and "not estimable below 1/680" in words(ax)


def test_trainings_are_marks_with_their_mean_beside_two_deviations():
    estimates = {"one set": [0.01, -0.02, 0.03], "another": [0.0, 0.01]}
    alone = pd.DataFrame(
        {"estimate": [x for own in estimates.values() for x in own]},
        np.repeat([*estimates], [len(own) for own in estimates.values()]),
    )
    alone = alone.assign(low=alone["estimate"] - 0.015, high=alone["estimate"] + 0.015)
    over = pd.DataFrame({"estimate": [0.01, 0.005], "low": -0.01, "high": 0.04}, [*estimates])
    over = over.assign(within=[0.01, 0.02], between=[0.015, 0.0])
    figure = drawn.draw_trainings(alone, over)
    check_page(figure)
    left, right = figure.axes
    assert [tick.get_text() for tick in left.get_yticklabels()] == [*estimates]
    for place, (name, own) in enumerate(estimates.items()):
        marks_of = [
            (x, line.get_markerfacecolor() != "white")
            for line in left.lines
            if line.get_marker() == "o"
            for x, y in zip(*line.get_data(), strict=True)
            if place - 0.5 < y < place
        ]
        assert sorted(marks_of) == sorted((x, abs(x) > 0.015) for x in own)
        np.testing.assert_allclose(
            bars(left)[place][1:4], over.loc[name][["estimate", "low", "high"]]
        )
    widths = np.array([patch.get_width() for patch in right.patches]).reshape(2, 2)
    np.testing.assert_allclose(widths, over[["within", "between"]])


def test_disparities_mark_verdicts_against_the_tolerance(tables):
    table = one_measure(tables).copy()
    table.loc[table.index[0], "verdict"] = "within"
    figure = drawn.draw_disparities(table, 0.05)
    for ax, (_, own) in zip(figure.axes, table.groupby("recogniser", sort=False), strict=True):
        shown = own[own["reason"] == ""]
        for bar, row in zip(bars(ax), shown.itertuples(), strict=True):
            np.testing.assert_allclose(bar[1:4], (row.estimate, row.low, row.high))
            marker, filled = drawn.VERDICTS[row.verdict]
            assert bar[4] == marker and (bar[5] != "white") == filled
        thick = [line.get_xdata() for line in ax.lines if line.get_linewidth() == 4]
        np.testing.assert_allclose(thick, shown[["low90", "high90"]].to_numpy())
        band = ax.patches[0].get_extents().transformed(ax.transData.inverted())
        np.testing.assert_allclose((band.x0, band.x1), (-0.05, 0.05))
    assert set(table["verdict"]) >= {"exceeds", "inconclusive", "within"}


# --- over thresholds


def ring(key: int, n: int = 20) -> dict[str, np.ndarray]:
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
def curve_tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Curves and rates at one threshold; one recogniser lacks the positives of a group."""
    found = []
    for key, (attribute, name) in enumerate((a, r) for a in ATTRIBUTES for r in RECOGNISERS):
        pairs = ring(key)
        if name == "sphereface":
            pairs = without_positives(pairs, GROUPS[2])
        curves = vertex_bootstrap(**pairs, n_boot=40, seed=1).curves
        del pairs["vertices"]
        fixed = fixed_threshold(**pairs, threshold=0.4)
        found.append([t.assign(attribute=attribute, recogniser=name) for t in (curves, fixed)])
    return tuple(pd.concat(parts, ignore_index=True) for parts in zip(*found, strict=True))


def panels(figure) -> list[tuple]:
    """(axes, attribute, recogniser), row by row."""
    names = [(attribute, name) for attribute in ATTRIBUTES for name in RECOGNISERS]
    return [(ax, *name) for ax, name in zip(figure.axes, names, strict=True)]


def of(table: pd.DataFrame, attribute: str, name: str) -> pd.DataFrame:
    return table[(table["attribute"] == attribute) & (table["recogniser"] == name)]


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts if text.get_text()]


def test_grid_is_as_wide_as_the_page_and_no_text_is_small(curve_tables):
    figure = drawn.draw_curves(*curve_tables)
    figure.draw_without_rendering()
    assert figure.get_figwidth() == figures.WIDTH and figure.get_figheight() < 9
    shown = [t for t in figure.findobj(plt.Text) if t.get_visible() and t.get_text().strip()]
    assert min(text.get_fontsize() for text in shown) >= 10
    legend = [text for one in figure.legends for text in one.get_texts()]
    for text in [*legend, *(text for ax in figure.axes for text in ax.texts)]:
        box = text.get_window_extent()
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1, text


def test_curves_hold_exact_points_down_to_one_false_match(curve_tables):
    curves, fixed = curve_tables
    for ax, attribute, name in panels(drawn.draw_curves(curves, fixed)):
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


def test_rows_and_columns_are_named_and_counted_and_gaps_are_said(curve_tables):
    figure = drawn.draw_curves(*curve_tables)
    assert [ax.get_title().strip() for ax in figure.axes[:4]] == list(RECOGNISERS)
    for ax, attribute, name in panels(figure):
        said = [f"{attribute}, n = 0 to 20 / 60"] if name == "arcface-a" else []
        said += [f"{GROUPS[2]}: no positives"] if name == "sphereface" else []
        assert sorted(texts(ax)) == sorted(said)


def test_triangles_stand_where_one_threshold_puts_each_group(curve_tables):
    curves, fixed = curve_tables
    fixed = fixed.copy()
    fixed.loc[0, "fmr"] = 0.0  # no false match at all: fewer than one can tell from 1 / 60
    for ax, attribute, name in panels(drawn.draw_curves(curves, fixed)):
        points = [line for line in ax.lines if len(line.get_xdata()) == 1]
        found = [(*line.get_xydata()[0], line.get_marker()) for line in points]
        rows = of(fixed, attribute, name)
        expected = [
            (row.fmr, row.fnmr, "^") if row.fmr >= 1 / 60 else (1 / 60, row.fnmr, "<")
            for row in rows[rows["fnmr"].notna()].itertuples()
        ]
        assert found == expected and len(found) == (5 if name == "sphereface" else 6)
    assert fixed.loc[0, ["attribute", "recogniser"]].tolist() == ["pose", "arcface-a"]


def swept(pairs: dict) -> pd.DataFrame:
    return vertex_bootstrap(**pairs, n_boot=40, seed=1, thresholds=GRID).curves


def columns_of(frame: np.ndarray, colour: str) -> np.ndarray:
    """Columns of a frame that hold pixels of a colour."""
    near = np.abs(frame - 255 * np.array(to_rgb(colour))[:, None, None]).max(0) < 4
    return np.flatnonzero(near.any(0))


def test_frames_move_every_mark_with_its_rate():
    rates = swept(ring(0))
    frames = drawn.draw_frames(rates)
    assert frames.dtype == np.uint8 and frames.shape[:2] == (len(GRID), 3)
    assert frames.shape[3] < 500
    half = frames.shape[3] * 0.62  # between the two panels
    for ancestry in ("african", "east asian", "european"):
        colour = marks.ANCESTRY_LOOKS[ancestry].colour
        places = [columns_of(frame, colour) for frame in frames]
        fnmr = [columns[columns < half].mean() for columns in places]
        fmr = [columns[columns > half].mean() for columns in places]
        assert (np.diff(fnmr) > 0).all() and (np.diff(fmr) < 0).all()
    # All that does not move is the same in all frames.
    assert (frames[:, :, -60:] == frames[0, :, -60:]).all()


def test_frames_say_what_cannot_be_estimated():
    whole = swept(ring(0))
    gap = swept(without_positives(ring(0), GROUPS[2]))
    frames = [drawn.draw_frames(rates) for rates in (whole, gap)]
    marks = [[columns_of(f, figures.GREEN) for f in some[:, :, :210]] for some in frames]
    assert all(len(a) > len(b) for a, b in zip(*marks, strict=True))
    assert plt.get_fignums() == []  # nothing is left for the page to show


def test_thresholds_are_named_so_that_they_differ():
    assert drawn.name_thresholds([-0.1, 0.25, 0.5]) == ["−0.10", "0.25", "0.50"]
    assert drawn.name_thresholds([0.9991, 0.9993]) == ["0.9991", "0.9993"]
    assert drawn.name_thresholds([0.5, 0.5]) == ["0.50", "0.50"]
