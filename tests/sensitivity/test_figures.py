"""Figures of sensitivity flips: what is drawn where, labels, frames, and what a slider says."""

import base64
import io
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from ipywidgets import Dropdown, SelectionSlider, Stack
from matplotlib.colors import to_rgb
from matplotlib.container import BarContainer
from PIL import Image

from helpers import figures
from helpers.sensitivity import curve, explained
from helpers.sensitivity import figures as drawn
from helpers.sensitivity import flips as flips_of

pytestmark = pytest.mark.usefixtures("book_style")

VECTORS = ("Heavy_Makeup", "Young", "Smiling")
LAMBDAS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
INTERVAL = ["estimate", "low", "high"]


@pytest.fixture(scope="module")
def scores() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    start = rng.random((60, 1))
    slopes = dict(zip(VECTORS, (0.2, -0.1, 0.4), strict=True))
    return {
        name: np.clip(start + slope * LAMBDAS + rng.normal(0, 0.05, (60, 5)), 0, 1)
        for name, slope in slopes.items()
    }


@pytest.fixture(scope="module")
def tables(scores) -> dict[str, pd.DataFrame]:
    return {name: curve(one, LAMBDAS, (0.3, 0.7), 0.5) for name, one in scores.items()}


def stacked(scores) -> pd.DataFrame:
    """Flips under the first and the last step of every vector; the middle one is none."""
    ways = {
        (name, way): flips_of(one[:, one.shape[1] // 2], one[:, column], 0.5)
        for name, one in scores.items()
        for way, column in {"−": 0, "+": -1}.items()
    }
    return pd.concat(ways, names=["vector", "direction", "measure"])


@pytest.fixture(scope="module")
def flips(scores) -> pd.DataFrame:
    return stacked(scores)


@pytest.fixture(scope="module")
def shares() -> dict[str, pd.DataFrame]:
    changes = np.random.default_rng(1).normal(0.2, 0.1, (3, 4, 40))
    return {
        name: explained(*change, n_boot=40, seed=1)
        for name, change in zip(VECTORS, changes, strict=True)
    }


def in_pixels(n: int) -> dict[str, np.ndarray]:
    """Two walks of flat images, whose level tells vector, code and step: (n, 5, 3, 8, 8)."""
    level = 40 * np.arange(n)[:, None] + np.arange(5) * 5
    walk = np.tile(level[..., None, None, None], (3, 8, 8)).astype(np.uint8)
    return {"Heavy_Makeup": walk, "Young": walk + 2}


def legend(one) -> list[str]:
    return [text.get_text() for text in one.get_texts()]


def bars(axis) -> list[np.ndarray]:
    """Middles with the ends of their whiskers (n, 3) of every set of error bars that is drawn."""
    found = []
    for container in axis.containers:
        if container[0] is None:  # whiskers of bars, which come with the bars
            continue
        if isinstance(container, BarContainer):
            middle, errors = [bar.get_width() for bar in container], container.errorbar
        else:
            middle, errors = container[0].get_xdata(), container
        segments = errors[2][0].get_segments()
        # Whiskers without an end are empty.
        ends = [one[:, 0] if len(one) else (np.nan, np.nan) for one in segments]
        found.append(np.column_stack([np.asarray(middle, float), ends]))
    return found


def test_all_are_as_wide_as_the_page_and_no_text_is_small(tables, flips, shares):
    drawings = [
        drawn.curves(tables),
        drawn.flip_bars(flips).figure,
        drawn.parts(shares, VECTORS).figure,
        drawn.walks({"Young": in_pixels(6)["Young"][:, 1:4]}),
    ]
    for figure in drawings:
        assert figure.get_figwidth() == figures.WIDTH
        figure.draw_without_rendering()
        shown = [t for t in figure.findobj(plt.Text) if t.get_visible() and t.get_text()]
        assert len(shown) >= 3 and min(text.get_fontsize() for text in shown) >= 10


def test_curves_have_a_panel_per_measure_and_a_band_per_vector(tables):
    figure = drawn.curves(tables)
    assert [axis.get_title() for axis in figure.axes] == list(drawn.PANELS.values())
    assert {(a.get_xlabel(), a.get_ylabel()) for a in figure.axes} == {("step λ", "change")}
    assert legend(figure.legends[0]) == ["Heavy Makeup", "Young", "Smiling"]
    for axis, measure in zip(figure.axes, drawn.PANELS, strict=True):
        *lines, zero = axis.lines
        assert set(zero.get_ydata()) == {0} and zero.get_color() == figures.BLACK
        assert len({line.get_marker() for line in lines}) == len(VECTORS)
        drawings = zip(lines, axis.collections, tables.values(), strict=True)
        for line, band, table in drawings:
            expected = table[table["measure"] == measure]
            np.testing.assert_allclose(line.get_xdata(), LAMBDAS)
            np.testing.assert_allclose(line.get_ydata(), expected["estimate"])
            corners = band.get_paths()[0].vertices
            for step, low, high in expected[["λ", "low", "high"]].to_numpy():
                heights = corners[np.isclose(corners[:, 0], step), 1]
                np.testing.assert_allclose([heights.min(), heights.max()], [low, high])


def test_bars_go_right_for_flips_to_smiling_and_left_for_others(flips):
    axis = drawn.flip_bars(flips)
    rows = [(name, way) for name in VECTORS for way in "−+"]
    right, left = bars(axis)
    up, down = (
        np.array([flips.loc[(*row, f"joint_{way}"), INTERVAL] for row in rows], float)
        for way in ("01", "10")
    )
    np.testing.assert_allclose(right, up, atol=1e-15)
    np.testing.assert_allclose(left, -down[:, [0, 2, 1]], atol=1e-15)
    ends = [bar.get_y() + bar.get_height() / 2 for bar in axis.containers[-1]]
    np.testing.assert_allclose(ends, axis.get_yticks())
    assert list(axis.get_yticks()) == [5, 4, 3, 2, 1, 0]
    labels = [tick.get_text() for tick in axis.get_yticklabels()]
    assert labels[:3] == ["Heavy Makeup −", "Heavy Makeup +", "Young −"]
    assert legend(axis.get_legend()) == ["to smiling", "away from smiling"]
    assert axis.get_xlabel() == "share of codes that flip (joint)"


def test_bars_say_per_cent_on_both_sides_and_differ_without_colour(flips):
    axis = drawn.flip_bars(flips)
    told = [axis.xaxis.get_major_formatter()(value, 0) for value in (-0.25, 0, 0.125)]
    assert told == ["25 %", "0 %", "12.5 %"]
    assert [bar.get_hatch() for bar in axis.patches] == [""] * 6 + ["//"] * 6
    assert any(set(line.get_xdata()) == {0} for line in axis.lines)


def test_frames_are_solid_for_smiling_and_dashed_otherwise():
    images = np.random.default_rng(0).integers(0, 256, (3, 3, 16, 20), dtype=np.uint8)
    shown = drawn.framed(images, [True, False, True])
    edge = drawn.FRAME
    assert shown.shape == (3, 3, 16 + 2 * edge, 20 + 2 * edge) and shown.dtype == np.uint8
    np.testing.assert_array_equal(shown[:, :, edge:-edge, edge:-edge], images)
    border = np.ones(shown.shape[2:], bool)
    border[edge:-edge, edge:-edge] = False
    blue, orange = (np.rint(255 * np.array(to_rgb(c))) for c in (figures.BLUE, figures.ORANGE))
    for frame, colours in zip(shown, ([blue], [orange, [255] * 3], [blue]), strict=True):
        found = {tuple(pixel) for pixel in frame[:, border].T}
        assert found == {tuple(colour) for colour in colours}
    white = (shown[1] == 255).all(0)
    sides = [white[0], white[-1], white[:, 0], white[:, -1]]
    assert all(0.3 < side.mean() < 0.7 for side in sides)  # dashes on all four


def test_frames_take_floats_and_decisions_of_one_kind():
    images = np.full((2, 3, 8, 8), 0.5, np.float32)
    for smiling in (np.ones(2, bool), np.zeros(2, bool)):
        assert (drawn.framed(images, smiling)[:, :, 3:-3, 3:-3] == 128).all()
    with pytest.raises(ValueError, match=r"images of shape \(n, 3, h, w\)"):
        drawn.framed(images[:, :2], [True, True])


def test_parts_are_three_intervals_by_vector(shares):
    names = ("Young", "Heavy_Makeup")
    axis = drawn.parts(shares, names)
    labels = ["total", "accounted for by the perceived smile", "the rest"]
    assert legend(axis.get_legend()) == labels
    shown = [tick.get_text() for tick in axis.get_yticklabels()]
    assert shown == ["Young", "Heavy Makeup"] and list(axis.get_yticks()) == [1, 0]
    found = bars(axis)
    heights = [container[0].get_ydata() for container in axis.containers]
    assert len({container[0].get_marker() for container in axis.containers}) == 3
    for number, part in enumerate(("total", "explained", "rest")):
        expected = [shares[name].loc[part, INTERVAL].astype(float) for name in names]
        np.testing.assert_allclose(found[number], expected)
        np.testing.assert_allclose(heights[number].round(), [1, 0])
    assert (heights[0] > heights[1]).all() and (heights[1] > heights[2]).all()


def test_parts_that_are_not_estimable_are_not_drawn(shares):
    table = shares["Young"].copy()
    table.loc[["explained", "rest"]] = np.nan
    axis = drawn.parts({"Young": table}, ["Young"])
    axis.figure.draw_without_rendering()
    total, *others = bars(axis)
    assert np.isfinite(total).all() and all(np.isnan(part).all() for part in others)


def test_walks_have_a_row_per_step_and_a_column_per_code():
    figure = drawn.walks(in_pixels(3))
    named = [name + "\nas is" for name in ("Heavy Makeup", "Young")]
    expected = [["less", "less", name, "more", "more"] for name in named]
    assert [axis.get_ylabel() for axis in figure.axes] == expected[0] + expected[1]
    walks = np.concatenate([walk.swapaxes(0, 1) for walk in in_pixels(3).values()])
    for axis, row in zip(figure.axes, walks, strict=True):
        picture = axis.images[0].get_array()
        centres = picture[4, 5::10, 0]
        np.testing.assert_array_equal(centres, row[:, 0, 0, 0])


def test_slider_tells_step_and_scores_and_moves_the_faces(scores):
    walks = in_pixels(3)
    menu, pages = drawn.walk_slider(walks, scores, LAMBDAS).children
    assert isinstance(menu, Dropdown) and menu.options == ("Heavy Makeup", "Young")
    for page, (name, walk) in zip(pages.children, walks.items(), strict=True):
        slider, stack = page.children[0], page.children[1].children[0].children[0]
        assert isinstance(slider, SelectionSlider) and isinstance(stack, Stack)
        assert slider.description == name.replace("_", " ")
        assert LAMBDAS[slider.index] == 0 and stack.selected_index == slider.index
        for step, label in enumerate(slider.options):
            assert label == f"λ {LAMBDAS[step]:+.1f}"
            shown = stack.children[step].value
            assert f"samples, {slider.description}: {label}" in shown
            told = [f"{scores[name][code, step]:.0%}" for code in range(3)]
            assert re.findall(r"<span[^>]*>([^<]*)</span>", shown) == told
            data = re.search(r"base64,([^\"]+)", shown)[1]
            pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))
            assert pixels.shape == (8, 24, 3)
            np.testing.assert_allclose(pixels[4, 4::8, 0], walk[:, step, 0, 4, 4], atol=4)


def test_slider_takes_one_step_per_frame(scores):
    with pytest.raises(ValueError, match="5 frames, 4 labels"):
        drawn.walk_slider(in_pixels(3), scores, LAMBDAS[:-1])
