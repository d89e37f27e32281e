"""Figures of the verification study: what is drawn where, and what is said and not drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers import figures
from helpers.identities import GROUPS, STEPS
from helpers.verification import disparities, fixed_threshold, step_effects, vertex_bootstrap
from helpers.verification import figures as drawn

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


def spread() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    parts = [pd.DataFrame({"attribute": a, "spread": rng.uniform(0.1, 0.5, 300)}) for a in STEPS]
    return pd.concat(parts, ignore_index=True)


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
        drawn.draw_similarity(pairs, STEPS, 0.4),
        drawn.draw_ratings(pairs, ["light"], 0.3),
        drawn.draw_step_effects(effects(pairs)),
        drawn.draw_spread(spread()),
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
    figure = drawn.draw_similarity(pairs, attributes, threshold=0.4)
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
    figure = drawn.draw_ratings(some, ["age", "light"])
    assert len(figure.axes) == 4
    for row, ax in enumerate(figure.axes):
        names = [tick.get_text() for tick in figure.axes[row - row % 2].get_yticklabels()]
        assert names[0] == "same 0" and names[-1] == "different 1"
        assert all(0 <= bar[2] <= bar[1] <= bar[3] <= 1 for bar in bars(ax))


def test_spread_has_median_range_and_n():
    frame = spread()
    ax = drawn.draw_spread(frame).axes[0]
    assert [t.get_text() for t in ax.get_yticklabels()] == [f"{a}\nn = 300" for a in STEPS]
    by = frame.groupby("attribute", sort=False)["spread"]
    np.testing.assert_allclose(
        [bar[1:4] for bar in bars(ax)], np.stack([by.quantile(q) for q in (0.5, 0.15, 0.85)], 1)
    )
    assert any(set(line.get_xdata()) == {drawn.REPORTED_SPREAD} for line in ax.lines)


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
    with pytest.raises(ValueError, match="one fmr can be drawn, not 2"):
        drawn.draw_rates(tables[1])


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
        band = ax.patches[0].get_extents().transformed(ax.transData.inverted())
        np.testing.assert_allclose((band.x0, band.x1), (-0.05, 0.05))
    assert set(table["verdict"]) >= {"exceeds", "inconclusive", "within"}
    with pytest.raises(ValueError, match="one measure can be drawn, not 3"):
        drawn.draw_disparities(tables[3], 0.05)


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
    ("change", "message"),
    [
        (lambda f: f.iloc[:0], "no rows"),
        (lambda f: f.drop(columns="similarity"), r"no column \['similarity'\]"),
        (lambda f: f.assign(group="someone"), "unknown group 'someone'"),
        (lambda f: f.assign(relation="twins"), "unknown relation 'twins'"),
        (lambda f: f.assign(attribute="pose", step="60"), "unknown step of pose '60'"),
        (lambda f: f.assign(similarity=np.nan), "column 'similarity', row 0"),
    ],
)
def test_other_tables_are_refused(pairs, change, message):
    with pytest.raises(ValueError, match=message):
        drawn.draw_similarity(change(pairs), ["pose"])


def test_five_recognisers_and_unknown_names_are_refused(tables):
    held = held_at(tables)
    with pytest.raises(ValueError, match="up to four recognisers can be drawn, not 5"):
        drawn.draw_rates(pd.concat([held, held.assign(recogniser="fifth")]))
    with pytest.raises(ValueError, match="a score in .0, 1. was expected"):
        drawn.draw_perceived(perceived().assign(score=4))
    with pytest.raises(ValueError, match="unknown group or step 'tall'"):
        drawn.draw_perceived(perceived().replace("0", "tall"))
    with pytest.raises(ValueError, match="unknown attribute 'hair'"):
        drawn.draw_similarity(study(n_seeds=2), ["pose", "hair"])
