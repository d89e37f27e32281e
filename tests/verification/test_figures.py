"""Figures of the verification study: what is drawn where, and what is said and not drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from helpers import figures
from helpers.identities import GROUPS, STEPS
from helpers.verification import disparities, fixed_threshold, step_effects, vertex_bootstrap
from helpers.verification import figure_style as marks
from helpers.verification import figures as drawn

ATTRIBUTES = ("pose", "age")
GRID = [0.15, 0.25, 0.35, 0.45]
RECOGNISERS = {"arcface-a": 0.09, "arcface-b": 0.05, "sphereface": 0.07, "balanced": 0.0}
DISADVANTAGE = dict(zip(GROUPS, (1.0, 0.75, 0.6, 0.45, 0.25, 0.0), strict=True))
THRESHOLD = 0.38


pytestmark = pytest.mark.usefixtures("book_style")


def study(skew: float = 0.09, n_seeds: int = 40, groups=GROUPS, key: int = 0) -> pd.DataFrame:
    """Pairs as `identities.pairs` with a relation, a similarity and a rating each."""
    rng = np.random.default_rng(key)
    steps = [("prototype", "0"), *((a, str(s)) for a in STEPS for s in STEPS[a])]
    tables = []
    for relation, level in zip(drawn.RELATIONS, (0.62, 0.14, 0.04), strict=True):
        variants = steps[1:] if relation.startswith("same") else steps
        for group in groups:
            first = np.repeat(np.arange(n_seeds), len(variants))
            far = np.array([2 if s in ("-30", "30", "-2", "2") else s != "0" for _, s in variants])
            weight = np.array([0.09 if a == "pose" else 0.04 for a, _ in variants])
            bias = skew * DISADVANTAGE[group] * (-1 if relation.startswith("same") else 1)
            person = rng.normal(0, 0.07, n_seeds)[first]
            mean = level + bias - np.tile(far * weight, n_seeds) * (level > 0.5)
            seen = 0.12 if relation.startswith("same") else 0.8
            table = pd.DataFrame(variants * n_seeds, columns=["attribute", "step"])
            tables.append(
                table.assign(
                    relation=relation,
                    group=group,
                    seed_first=first,
                    seed_second=first if level > 0.5 else (first + 1) % n_seeds,
                    similarity=mean + person + rng.normal(0, 0.07, len(first)),
                    rating=(seen + rng.normal(0, 0.15, len(first))).clip(0, 1).round(2),
                )
            )
    return pd.concat(tables, ignore_index=True)


def audited(n_seeds: int = 40) -> tuple[pd.DataFrame, ...]:
    """Curves, rates at fixed FMR, at a fixed threshold, and disparities, of four recognisers."""
    tables = []
    for key, (name, skew) in enumerate(RECOGNISERS.items()):
        frame = study(skew, n_seeds, key=key)
        frame = frame[frame["relation"] != drawn.RELATIONS[2]]
        group = pd.Categorical(frame["group"], GROUPS)
        match = (frame["relation"] == drawn.RELATIONS[0]).to_numpy()
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


@pytest.fixture(scope="module")
def pairs() -> pd.DataFrame:
    return study()


def perceived() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    levels = {"age": ("2", "0", "-2", "1", "-1"), "gender": GROUPS[::-1], "fakeness": GROUPS}
    rows = [
        pd.DataFrame({"attribute": a, "shown": name, "score": rng.choice(21, 50) / 20})
        for a, names in levels.items()
        for name in names
    ]
    return pd.concat(rows, ignore_index=True)


def held_at(tables, fmr=1e-2) -> pd.DataFrame:
    return tables[1][tables[1]["fmr"] == fmr]


def one_measure(tables) -> pd.DataFrame:
    return tables[3][tables[3]["measure"] == "FNMR at FMR"]


def effects(pairs) -> pd.DataFrame:
    own = pairs[pairs["relation"] == drawn.RELATIONS[0]]
    return step_effects(own.assign(group=pd.Categorical(own["group"], GROUPS)))


def words(ax) -> str:
    return "\n".join(text.get_text() for text in ax.texts)


def bars(ax) -> list[tuple]:
    """(place, middle, low, high, marker, face) of every drawn error bar, upright or level."""
    found = []
    for container in ax.containers:
        line, _, (whiskers,) = container
        for x, y, ends in zip(*line.get_data(), whiskers.get_segments(), strict=True):
            across = int(np.ptp(ends[:, 1]) > np.ptp(ends[:, 0]))
            middle, place = (y, x) if across else (x, y)
            low, high = sorted(ends[:, across])
            found.append((place, middle, low, high, line.get_marker(), line.get_markerfacecolor()))
    return found


def test_all_are_as_wide_as_the_page_and_no_text_is_small(tables, pairs):
    drawings = [
        drawn.draw_rates(held_at(tables)),
        drawn.draw_disparities(one_measure(tables), 0.05),
        drawn.draw_pairs(pairs, STEPS, "similarity", 0.4),
        drawn.draw_pairs(pairs, ["light"], "rating", 0.3),
        drawn.draw_step_effects(effects(pairs)),
        drawn.draw_perceived(perceived()),
    ]
    for figure in drawings:
        assert figure.get_figwidth() == figures.WIDTH and figure.get_figheight() < 9
        figure.draw_without_rendering()
        shown = [t for t in figure.findobj(plt.Text) if t.get_visible() and t.get_text()]
        assert len(shown) > 5 and min(text.get_fontsize() for text in shown) >= 10
        for text in _legends(figure):
            box = text.get_window_extent()
            assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1, text


def _legends(figure) -> list:
    return [text for legend in figure.legends for text in legend.get_texts()]


def cells(pairs, relation, attribute) -> list[tuple]:
    """(place, median and ends of the middle 70 %) of every group and step that has pairs."""
    steps = [*map(str, STEPS[attribute][:2]), "0", *map(str, STEPS[attribute][2:])]
    found = []
    for group in GROUPS:
        for place, step in enumerate(steps):
            cell = pairs[
                (pairs["relation"] == relation)
                & (pairs["group"] == group)
                & pairs["attribute"].isin([attribute, "prototype"])
                & (pairs["step"] == step)
            ]["similarity"]
            if len(cell):
                found.append((place, *np.quantile(cell, [0.5, 0.15, 0.85])))
    return found


@pytest.mark.parametrize("attributes", [("pose",), ("pose", "light", "expression", "age")])
def test_similarity_shows_medians_and_the_middle_of_each_cell(pairs, attributes):
    figure = drawn.draw_pairs(pairs, attributes, "similarity", 0.4)
    titles = [ax.get_title() for ax in figure.axes[:3]]
    sizes = ("40", "40", "40")
    assert titles == [f"{r}\nn = {n} a mark" for r, n in zip(drawn.RELATIONS, sizes, strict=True)]
    places = [(attribute, relation) for attribute in attributes for relation in drawn.RELATIONS]
    for ax, (attribute, relation) in zip(figure.axes, places, strict=True):
        names = [tick.get_text() for tick in ax.get_xticklabels()]
        known = {"pose": "−30 −15 0 15 30", "light": "up down 0 left right"}
        assert names == known.get(attribute, "−2 −1 0 1 2").split()
        assert (words(ax) == "no\npairs") == relation.startswith("same seed")
        assert any(line.get_ydata()[0] == 0.4 for line in ax.lines if line.get_linestyle() == "--")
        found = np.array([bar[:4] for bar in bars(ax)])
        found[:, 0] = found[:, 0].round()
        expected = np.array(cells(pairs, relation, attribute))
        order = [np.lexsort((t[:, 1], t[:, 0])) for t in (found, expected)]
        np.testing.assert_allclose(found[order[0]], expected[order[1]])
    units = [ax.get_xlabel() for ax in figure.axes if ax.get_xlabel()]
    assert units == [drawn._UNITS.get(name, "age (steps)") for name in attributes]


def test_ratings_have_the_scale_in_words(pairs):
    some = pairs[pairs["relation"] != drawn.RELATIONS[2]]
    figure = drawn.draw_pairs(some, ["age", "light"], "rating", 0.3)
    assert len(figure.axes) == 4
    for row, ax in enumerate(figure.axes):
        names = [tick.get_text() for tick in figure.axes[row - row % 2].get_yticklabels()]
        assert names[0] == "same 0" and names[-1] == "different 1"
        assert all(0 <= bar[2] <= bar[1] <= bar[3] <= 1 for bar in bars(ax))


def test_perceived_scores_are_rows_of_histograms_in_order():
    frame = perceived()
    age, gender, _ = drawn.draw_perceived(frame).axes
    assert [t.get_text() for t in age.get_yticklabels()] == ["−2", "−1", "0", "1", "2"]
    assert [t.get_text() for t in gender.get_yticklabels()] == list(GROUPS)
    assert age.get_title() == "age\nn = 50" and words(age) == "child\nsenior"
    assert gender.get_title() == "perceived gender\nn = 50"
    medians = [line.get_xdata()[0] for line in gender.lines if line.get_linewidth() == 2]
    own = frame[frame["attribute"] == "gender"]
    assert medians == list(own.groupby("shown")["score"].median()[list(GROUPS)])
    filled = [patch.get_fill() for patch in gender.patches]
    assert filled.count(True) == 3 and filled.count(False) == 6


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


def test_step_effects_name_what_a_step_is_compared_with(pairs):
    table = effects(pairs)
    single = table["group"].eq(GROUPS[4]) & table["attribute"].eq("age")
    table.loc[single, ["low", "high"]] = np.nan
    table.loc[single, "reason"] = "one seed"
    figure = drawn.draw_step_effects(table)
    pose, light, _, age = figure.axes
    names = [t.get_text() for t in pose.get_xticklabels()]
    assert names == ["−30 from −15", "−15 from 0", "15 from 0", "30 from 15"]
    assert [t.get_text() for t in light.get_xticklabels()] == list(STEPS["light"])
    assert words(age) == f"{GROUPS[4]}: one seed" and words(pose) == ""
    own = table[table["attribute"] == "pose"]
    found = sorted(bar[1:4] for bar in bars(pose))
    expected = own[["estimate", "low", "high"]].sort_values("estimate").to_numpy()
    np.testing.assert_allclose(found, expected)
    assert len(found) == 4 * 7


@pytest.mark.parametrize(
    ("column", "name"),
    [("group", "someone"), ("relation", "twins"), ("step", "60")],
)
def test_unknown_names_are_refused(pairs, column, name):
    some = pairs[pairs["attribute"] == "pose"]
    with pytest.raises(ValueError, match=f"unknown '{name}': one of"):
        drawn.draw_pairs(some.assign(**{column: name}), ["pose"], "similarity", 0.4)
    with pytest.raises(ValueError, match="unknown 'hair': one of"):
        drawn.draw_pairs(some, ["pose", "hair"], "similarity", 0.4)


def test_what_was_shown_is_a_group_or_a_step():
    with pytest.raises(ValueError, match="unknown 'tall': one of"):
        drawn.draw_perceived(perceived().replace("0", "tall"))


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
