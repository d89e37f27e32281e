"""Panels: what is drawn where, in points, and what the legend and the rows are called."""

import numpy as np
import pandas as pd
import pytest

from helpers import figures
from helpers.figures import panels

pytestmark = pytest.mark.usefixtures("book_style")

ROWS = pd.DataFrame(
    {
        "group": ["a", "b", "a", "b"],
        "model": ["celeba-like", "celeba-like", "plantskin", "plantskin"],
        "estimate": [0.1, 0.2, -0.1, np.nan],
        "low": [0.0, 0.1, -0.3, np.nan],
        "high": [0.2, 0.4, 0.0, np.nan],
        "truth": [0.1, 0.05, 0.1, 0.05],
        "truth_se": 0.01,
    }
)


def ends(container) -> np.ndarray:
    """Ends of horizontal or vertical whiskers (n, 2)."""
    segments = np.array([s for s in container.lines[2][0].get_segments() if len(s)], float)
    return segments[..., 0] if np.ptp(segments[0, :, 0]) else segments[..., 1]


def legend(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_intervals_stand_in_named_rows_a_mark_for_each_kind_beside_the_truth():
    figure = panels.intervals(ROWS, "group", "model", xlabel="points")
    (ax,) = figure.axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b"]
    first, second = ax.containers
    assert list(first.lines[0].get_xdata()) == pytest.approx([10, 20])
    np.testing.assert_allclose(ends(first), [[0, 20], [10, 40]])
    np.testing.assert_allclose(ends(second), [[-30, 0]])  # where there is an estimate
    assert first.lines[0].get_ydata()[0] < 0 < second.lines[0].get_ydata()[0]
    truth = next(line for line in ax.lines if line.get_label() == "truth")
    assert list(truth.get_xdata()) == pytest.approx([10, 5])
    assert legend(figure) == ["celeba-like", "plantskin", "truth"]


def test_panels_of_intervals_share_a_scale_or_have_their_own():
    parts = pd.concat([ROWS.assign(part="x"), ROWS.assign(part="y", estimate=0.9, high=1.0)])
    figure = panels.intervals(parts, "group", "model", "part", across=1, height=5)
    assert [ax.get_title() for ax in figure.axes] == ["x", "y"]
    assert figure.get_figheight() == 5 and figure.get_figwidth() == figures.WIDTH
    low, high = (ax.get_xlim() for ax in figure.axes)
    assert low == high
    own = panels.intervals(parts, "group", "model", "part", shared=False).axes
    assert own[0].get_xlim() != own[1].get_xlim()


def test_a_truth_that_all_rows_share_is_a_line():
    shared = panels.intervals(ROWS.assign(truth=0.07), "group", "model").axes[0]
    lines = [line.get_xdata() for line in shared.lines if len(line.get_xdata()) == 2]
    assert any(np.allclose(x, 7) for x in lines)


def test_paths_have_a_line_per_mark_and_may_stand_apart():
    figure = panels.paths(ROWS, "truth", "model", "group", "x", "points", nudge=0.5)
    assert [ax.get_title() for ax in figure.axes] == ["a", "b"]
    first, second = figure.axes[0].containers
    assert first.lines[0].get_xdata()[0] == pytest.approx(second.lines[0].get_xdata()[0] - 0.5)
    np.testing.assert_allclose(ends(second), [[-30, 0]])
    assert figure.axes[0].lines[-1].get_ydata()[0] == pytest.approx(10)  # the truth
    alone = panels.paths(ROWS, "truth", "model", "model", "x", "points")
    assert not alone.legends and len(alone.axes) == 2


def test_rungs_stand_over_the_band_of_the_truth():
    table = ROWS.assign(cell=ROWS["group"] + ", long hair", contrast="dark − light skin")
    figure = panels.rungs(table, "cell", "model", "contrast")
    (ax,) = figure.axes
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a\nlong hair", "b\nlong hair"]
    band = ax.collections[-2].get_paths()[0].get_extents()
    assert (band.y0, band.y1) == pytest.approx((10 - 1.959964, 10 + 1.959964), abs=1e-5)
    np.testing.assert_allclose(ends(ax.containers[1])[0], [-30, 0])
    assert ax.get_ylabel() == "dark − light skin (points)" and legend(figure)[0] == "celeba-like"
