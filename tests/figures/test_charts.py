"""The book's figures: what is drawn where, counts, empty cells, readable without colour."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import seaborn as sns
from matplotlib.colors import to_rgb
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


def test_every_text_is_at_least_ten_points():
    sizes = {
        key: value for key, value in plt.rcParams.items() if key.endswith(("size", "labelsize"))
    }
    points = [v for k, v in sizes.items() if k.startswith(("font", "axes.", "legend.font"))]
    assert all(size >= 10 for size in points if isinstance(size, int | float))
    assert plt.rcParams["xtick.labelsize"] >= 10


def test_looks_differ_in_marker_and_hatch_or_lightness():
    for pair in (("light", "dark"), ("female", "male"), ("short", "long")):
        one, other = (figures.look(name) for name in pair)
        assert one.marker != other.marker and one.hatch != other.hatch
    assert len({look.colour for look in figures.SPARE}) == len(figures.SPARE)
    assert all(to_rgb(look.colour) for look in figures.LOOKS.values())


def test_look_knows_roles_in_longer_names_and_falls_back_in_order():
    assert figures.look("Dark skin") == figures.LOOKS["dark"]
    assert figures.look("light-skinned women") == figures.LOOKS["light"]
    assert figures.look("CelebA-like") == figures.LOOKS["celeba-like"]
    assert figures.look("something", len(figures.SPARE) + 1) == figures.SPARE[1]


def test_as_pixels_rounds_floats_and_keeps_uint8():
    images = np.zeros((2, 3, 4, 5), np.float32)
    images[:, 0] = 0.5
    pixels = figures.as_pixels(images)
    assert pixels.shape == (2, 4, 5, 3) and pixels.dtype == np.uint8
    assert (pixels[..., 0] == 128).all() and (pixels[..., 1] == 0).all()
    raw = np.arange(60, dtype=np.uint8).reshape(3, 4, 5)
    np.testing.assert_array_equal(figures.as_pixels(raw)[0], raw.transpose(1, 2, 0))


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (np.zeros((4, 4, 3)), r"\(n, 3, h, w\)"),
        (np.full((1, 3, 2, 2), 7.0), r"\[0, 1\]"),
        (np.full((1, 3, 2, 2), np.nan), r"\[0, 1\]"),
    ],
)
def test_as_pixels_refuses_other_arrays(images, words):
    with pytest.raises(ValueError, match=words):
        figures.as_pixels(images)


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


def test_gallery_titles_every_image():
    figure = figures.gallery(np.zeros((5, 3, 8, 8)), 3, titles=list("abcde"))
    above = [[tick.get_text() for tick in axis.get_xticklabels()] for axis in figure.axes]
    assert above == [["a", "b", "c"], ["d", "e"]]
    figure.draw_without_rendering()
    first, second = figure.axes
    lowest = min(tick.get_window_extent().y0 for tick in second.get_xticklabels())
    highest = max(tick.get_window_extent().y1 for tick in second.get_xticklabels())
    assert second.bbox.y1 <= lowest and highest <= first.bbox.y0


@pytest.mark.parametrize("wrong", [{"titles": ["a"]}, {"row_labels": ["a"]}])
def test_gallery_refuses_labels_that_fit_nothing(wrong):
    with pytest.raises(ValueError, match="6 images in 2 rows of 3"):
        figures.gallery(np.zeros((6, 3, 4, 4)), 3, **wrong)


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


def test_bars_of_one_grouping_take_the_look_of_each_group():
    table = rates(pd.Index(["light", "dark"], name="skin_colour"), [50, 40], [5, 8])
    axes = figures.bars(table)
    assert axes.get_xlabel() == "skin colour" and axes.get_legend() is None
    assert [text.xy[0] for text in axes.texts] == [0, 1]
    colours = [patch.get_facecolor()[:3] for patch in axes.patches]
    assert colours == [to_rgb(figures.LOOKS[name].colour) for name in ("light", "dark")]


def test_bars_take_the_categories_that_stratified_errors_leaves():
    categories = CELLS.set_levels([pd.CategoricalIndex(level) for level in CELLS.levels])
    plain = figures.bars(rates(CELLS, [40, 30, 40, 20], [1, 6, 2, 3]))
    drawn = figures.bars(rates(categories, [40, 30, 40, 20], [1, 6, 2, 3]))
    assert [p.get_x() for p in drawn.patches] == [p.get_x() for p in plain.patches]
    assert texts(drawn) == texts(plain)


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


def test_bars_refuse_three_groupings():
    index = pd.MultiIndex.from_tuples([("a", "b", "c")])
    with pytest.raises(ValueError, match="one or two groupings"):
        figures.bars(rates(index, [3], [1]))


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


def test_matched_scatter_names_few_groups_with_their_counts():
    axes = figures.matched_scatter(pairs(2))
    labels = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert labels == ["g0, n = 100 against 60", "g1, n = 101 against 60"]
    assert axes.get_xlabel() == "error rate, light" and axes.get_ylabel() == "error rate, dark"


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


def test_matched_scatter_takes_one_pair_of_levels():
    table = pairs(2)
    table.loc["g1", "second"] = "black"
    with pytest.raises(ValueError, match="got 2"):
        figures.matched_scatter(table)


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
    faces = axes.collections[0].get_facecolors()[[*range(10), *range(11, 21)]]
    for text, face in zip(axes.texts, faces, strict=True):
        both = sorted(sns.utils.relative_luminance(c) for c in (text.get_color(), face))
        assert (both[1] + 0.05) / (both[0] + 0.05) > 4.5, text.get_text()


def test_heatmap_prints_every_value():
    matrix = pd.DataFrame([[1.0, -0.25], [-0.001, 1.0]], ["a_b", "c"], ["a_b", "c"])
    axes = figures.heatmap(matrix)
    assert texts(axes) == ["+1.00", "−0.25", "+0.00", "+1.00"]
    assert axes.get_yticklabels()[0].get_text() == "a b"
