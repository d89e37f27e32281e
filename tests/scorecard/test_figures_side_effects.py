"""Figures of leaks and parts: what is drawn, in which order, where."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers import figures
from helpers.scorecard.figures_side_effects import draw_intervals, draw_leaks, draw_warnings


@pytest.fixture(autouse=True)
def styled():
    with plt.rc_context():
        figures.style()
        yield
        plt.close("all")


def names_of(ax: plt.Axes) -> list[str]:
    return [tick.get_text() for tick in ax.get_yticklabels()]


def test_leaks_are_sorted_by_size_and_only_the_largest_are_drawn():
    rows = [
        {"attribute": axis, "parameter": name, "effect": effect, "se": 0.01}
        for axis in ("skin_colour", "gender")
        for name, effect in {"jaw_width": 0.2, "hair_colour": -0.9, "iris": 0.01}.items()
    ]
    drawn = draw_leaks(pd.DataFrame(rows), most=2)
    assert [ax.get_title() for ax in drawn.axes] == ["dark − light skin", "male − female"]
    assert names_of(drawn.axes[0]) == ["hair colour", "jaw width"]
    line = drawn.axes[0].containers[0].lines[0]
    assert line.get_xdata().tolist() == [-0.9, 0.2]


def test_intervals_stand_in_named_rows_a_mark_for_each_kind():
    table = pd.DataFrame(
        {
            "group": ["a", "b", "a", "b"],
            "model": ["celeba-like", "celeba-like", "plantskin", "plantskin"],
            "estimate": [0.1, 0.2, -0.1, 0.0],
            "low": [0.0, 0.1, -0.3, 0.0],
            "high": [0.2, 0.4, 0.0, 0.1],
        }
    )
    drawn = draw_intervals(table, "group", "model", "points")
    (ax,) = drawn.axes
    assert names_of(ax) == ["a", "b"]
    first, second = ax.containers
    assert list(first.lines[0].get_xdata()) == pytest.approx([10, 20])
    assert list(second.lines[0].get_xdata()) == pytest.approx([-10, 0])
    ends = np.array([segment[:, 0] for segment in second.lines[2][0].get_segments()], float)
    np.testing.assert_allclose(ends, [[-30, 0], [0, 10]])
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == [
        "celeba-like",
        "plantskin",
    ]
    panels = draw_intervals(table.assign(part=["x", "x", "y", "y"]), "group", "model", "", "part")
    assert [ax.get_title() for ax in panels.axes] == ["x", "y"]


def test_warnings_leave_out_effects_without_a_positive_value():
    claims = pd.DataFrame({"model": ["celeba-like"] * 3 + ["plantskin"], "part": [1.0, 2, 3, 4]})
    claims["E-value"], claims["Γ"] = [2.0, np.inf, 0.0, 30.0], [np.nan, 1.5, 2.5, np.nan]
    drawn = draw_warnings(claims, ["E-value", "Γ"], "part")
    assert [ax.get_xlabel() for ax in drawn.axes] == [
        "E-value\n(n = 2 effects)",
        "Γ\n(n = 2 effects)",
    ]
    shown = [[line.get_ydata().tolist() for line in ax.lines] for ax in drawn.axes]
    assert shown == [[[1.0], [4.0]], [[2.0, 3.0], []]]
    assert {ax.get_xscale() for ax in drawn.axes} == {"log"}
