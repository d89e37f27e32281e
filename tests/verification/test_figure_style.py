"""Marks of groups: told apart without colour; quantiles, counts and names."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers.identities import ANCESTRIES, GROUPS
from helpers.verification import figure_style as marks


def test_groups_are_told_apart_without_colour():
    assert tuple(marks.ANCESTRY_LOOKS) == ANCESTRIES
    styles = {group: marks.style(group) for group in (*GROUPS, marks.ALL)}
    looks = {(s["marker"], s["markerfacecolor"] == "white") for s in styles.values()}
    assert len(looks) == 7
    for group, style in styles.items():
        assert (style["linestyle"] == "-") == (style["markerfacecolor"] != "white")
        assert (style["linestyle"] == "-") != group.endswith(" male")
    assert len({style["color"] for style in styles.values()}) == 4


def test_groups_come_in_the_order_of_the_book_and_all_last():
    table = pd.DataFrame({"group": pd.Categorical(["all", *GROUPS[::-1]])})
    assert marks.groups(table) == [*GROUPS, "all"]
    with pytest.raises(ValueError, match="unknown 'nobody': one of"):
        marks.groups(table.astype(str).replace("all", "nobody"))


def test_ranges_are_quantiles_and_counts():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(list("xyz"), 200), "v": rng.normal(size=200)})
    table = marks.ranges(frame, ["a"], "v")
    for name in "xyz":
        values = frame["v"][frame["a"] == name]
        expected = [*np.quantile(values, [0.15, 0.5, 0.85]), len(values)]
        np.testing.assert_allclose(table.loc[name, ["low", "middle", "high", "n"]], expected)


def test_counts_are_one_number_or_a_range():
    assert marks.count(pd.Series([1600, 1600])) == "1,600"
    assert marks.count(pd.Series([0, 1600])) == "0 to 1,600"


def test_a_group_that_is_not_in_the_table_is_no_zero():
    table = pd.DataFrame({"group": ["a"], "v": [0.2], "low": [0.1], "high": [0.3], "reason": [""]})
    ax = plt.figure().gca()
    marks.intervals(ax, table, ["a", "b"], "v", dict.fromkeys("ab", marks.style(GROUPS[0])))
    assert len(ax.containers) == 1 and [t.get_text() for t in ax.texts] == ["not in the table"]
    plt.close("all")
