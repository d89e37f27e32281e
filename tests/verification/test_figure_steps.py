"""Figures by step of an attribute: what is drawn where, and what is said and not drawn."""

import numpy as np
import pandas as pd
import pytest
from drawn_pairs import bars, check_page, pairs_by_step, words

from helpers.identities import GROUPS, STEPS
from helpers.verification import figure_steps as drawn
from helpers.verification import step_effects

pytestmark = pytest.mark.usefixtures("book_style")


@pytest.fixture(scope="module")
def pairs() -> pd.DataFrame:
    return pairs_by_step()


def perceived() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    levels = {"age": ("2", "0", "-2", "1", "-1"), "gender": GROUPS[::-1], "fakeness": GROUPS}
    rows = [
        pd.DataFrame({"attribute": a, "shown": name, "score": rng.choice(21, 50) / 20})
        for a, names in levels.items()
        for name in names
    ]
    return pd.concat(rows, ignore_index=True)


def effects(pairs) -> pd.DataFrame:
    own = pairs[pairs["relation"] == drawn.RELATIONS[0]]
    return step_effects(own.assign(group=pd.Categorical(own["group"], GROUPS)))


def test_all_are_as_wide_as_the_page_and_no_text_is_small(pairs):
    drawings = [
        drawn.draw_pairs(pairs, STEPS, "similarity", 0.4),
        drawn.draw_pairs(pairs, ["light"], "rating", 0.3),
        drawn.draw_step_effects(effects(pairs)),
        drawn.draw_perceived(perceived()),
    ]
    for figure in drawings:
        check_page(figure)


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
