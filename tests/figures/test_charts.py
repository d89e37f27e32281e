"""The book's figures: what is drawn where, counts, empty cells, readable without colour."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import seaborn as sns
from statsmodels.stats.proportion import proportion_confint

from helpers import figures

pytestmark = pytest.mark.usefixtures("book_style")


def rates(index: pd.Index, n: list[int], errors: list[int]) -> pd.DataFrame:
    table = pd.DataFrame({"n": n, "errors": errors}, index=index)
    counted = table["n"].where(table["n"] > 0)
    table["rate"] = table["errors"] / counted
    table["low"], table["high"] = proportion_confint(table["errors"], counted, method="wilson")
    return table


CELLS = pd.MultiIndex.from_product(
    [["female", "male"], ["light", "dark"]], names=["gender", "skin_colour"]
)


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_gallery_places_images_titles_and_row_labels():
    images = np.stack([np.full((3, 8, 8), k / 5) for k in range(5)])
    figure = figures.gallery(images, 3, titles=["a", "b", "c"], row_labels=["raw", "dual"])
    assert len(figure.axes) == 2
    for axis, levels in zip(figure.axes, ((0, 51, 102), (153, 204, 255)), strict=True):
        picture = axis.images[0].get_array()
        assert picture.shape == (8, 3 * 10, 3) and (picture[:, [0, 9, 10, 29]] == 255).all()
        for place, level in enumerate(levels):
            assert (picture[:, 10 * place + 1 : 10 * place + 9] == level).all()
    above = [[tick.get_text() for tick in axis.get_xticklabels()] for axis in figure.axes]
    assert above == [["a", "b", "c"], []]
    np.testing.assert_allclose(figure.axes[0].get_xticks(), [4.5, 14.5, 24.5])
    assert [axis.get_ylabel() for axis in figure.axes] == ["raw", "dual"]
    assert figure.get_figwidth() == figures.WIDTH


def test_bars_show_rates_intervals_and_counts():
    table = rates(CELLS, [500, 120, 430, 0], [20, 24, 0, 0])
    axes = figures.bars(table)
    heights = [patch.get_height() for patch in axes.patches]
    np.testing.assert_allclose(heights, [20 / 500, 0, 24 / 120])
    assert texts(axes) == ["n = 500", "n = 120", "n = 430", "n = 0"]
    whiskers = axes.collections[0].get_segments()[0][:, 1]
    np.testing.assert_allclose(whiskers, table.loc[("female", "light"), ["low", "high"]])
    left, right = axes.get_xlim()
    assert all(left < text.xy[0] < right for text in axes.texts)
    assert [patch.get_hatch() for patch in axes.patches] == ["", "", "///"]


def test_bars_that_share_an_axis_all_fit_and_write_short_counts():
    _, (low, high) = plt.subplots(1, 2, figsize=(figures.WIDTH, 3), sharey=True)
    figures.bars(rates(CELLS, [40, 30, 40, 20], [1, 2, 2, 3]), ax=low)
    figures.bars(rates(CELLS, [40, 30, 40, 20], [39, 2, 2, 3]), ax=high)
    bottom, top = low.get_ylim()
    assert bottom == 0 and top > max(patch.get_height() for patch in high.patches)
    assert texts(low) == ["40", "30", "40", "20"] and "n under each bar" in low.get_xlabel()


def test_bars_of_few_images_are_pale_and_do_not_stretch_the_axis():
    counts, errors = [400, 300, 5, 200], [10, 12, 5, 6]
    all_alike = figures.bars(rates(CELLS, counts, errors)).get_ylim()[1]
    axes = figures.bars(rates(CELLS, counts, errors), few=10)
    assert all_alike > 1 > 0.2 > axes.get_ylim()[1]
    assert sorted(patch.get_alpha() for patch in axes.patches)[0] < 0.5
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["light", "dark"]
    assert "n = 5" in texts(axes)


def test_forest_marks_estimates_intervals_and_truth():
    table = pd.DataFrame(
        {"estimate": [0.01, -0.05], "low": [-0.02, -0.09], "high": [0.04, -0.01], "n": [40, 1200]},
        index=pd.Index(["female", "male"]),
    )
    truth = pd.Series({"male": -0.03, "female": 0.0})
    axes = figures.forest(table, truth)
    diamonds = axes.lines[-1]
    np.testing.assert_allclose(diamonds.get_xdata(), [0.0, -0.03])
    np.testing.assert_allclose(diamonds.get_ydata(), [1, 0])
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "female\nn = 40",
        "male\nn = 1,200",
    ]


def pairs(groups: int) -> pd.DataFrame:
    index = pd.Index([f"g{k}" for k in range(groups)])
    light = rates(index, [100 + k for k in range(groups)], [5] * groups)
    dark = rates(index, [60] * groups, [9] * groups)
    table = light.add_suffix("_first").join(dark.add_suffix("_second"))
    return table.assign(first="light", second="dark")


def test_matched_scatter_shows_the_whole_of_a_mark_at_zero():
    table = pairs(2)
    table.loc["g0", ["rate_first", "low_first"]] = 0
    axes = figures.matched_scatter(table)
    (line, *_), *_ = axes.containers
    assert line.get_xdata() == [0] and not line.get_clip_on()
    axes.figure.canvas.draw()
    painted = np.asarray(axes.figure.canvas.buffer_rgba())[..., :3]
    x, y = axes.transData.transform(line.get_xydata()[0]).round().astype(int)
    row = painted[painted.shape[0] - 1 - y]
    # On either side of the axis, and at equal distances.
    assert (row[x - 4] == row[x + 4]).all() and (row[x - 4] < 255).any()


def test_violins_show_counts_and_hatches():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "skin_colour": rng.random(60),
            "data": np.repeat(["transects", "PPB-like"], [40, 20]),
            "gender": np.tile(["female", "male"], 30),
        }
    )
    axes = figures.violins(frame, "skin_colour", "data", hue="gender")
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["transects\nn = 40", "PPB-like\nn = 20"]
    assert axes.get_ylabel() == "skin colour"
    assert [body.get_hatch() for body in axes.collections] == ["", "...", "", "..."]


def test_gallery_titles_stay_above_their_image():
    long = "high makeup\nperceived very long word"
    figure = figures.gallery(np.zeros((8, 3, 8, 8)), 8, titles=[long] * 8)
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels()]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    assert figure.axes[0].get_xticklabels()[0].get_text().split() == long.split()


def test_heatmap_values_can_be_read_on_every_colour():
    axes = figures.heatmap(pd.DataFrame([np.linspace(-1, 1, 21)]).mask(lambda m: m.abs() < 0.05))
    assert len(axes.texts) == 20  # an empty cell has no text
    assert texts(axes)[0] == "−1.00" and texts(axes)[-1] == "+1.00"
    faces = axes.collections[0].get_facecolors()[[*range(10), *range(11, 21)]]
    for text, face in zip(axes.texts, faces, strict=True):
        both = sorted(sns.utils.relative_luminance(c) for c in (text.get_color(), face))
        assert (both[1] + 0.05) / (both[0] + 0.05) > 4.5, text.get_text()
