"""The cover's figure: both audits are drawn, with their numbers where they belong."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers.figures import cover

CELLS = pd.MultiIndex.from_product(
    [["female", "male"], ["light", "dark"]], names=["gender", "skin"]
)
KEYS = [("skin_colour", cell) for cell in cover.SKIN_CELLS.values()]
KEYS += [("hair_length", cell) for cell in cover.HAIR_CELLS.values()]


@pytest.fixture
def figure():
    counted = pd.DataFrame(
        {"n": 12345, "rate": [0.1, 0.3, 0.0, 0.02], "low": 0.0, "high": 0.4}, index=CELLS
    )
    effects = pd.DataFrame(
        {"estimate": 0.02, "low": -0.01, "high": 0.05, "truth": 0.03, "n": range(70, 76)},
        index=pd.MultiIndex.from_tuples(KEYS, names=["attribute", "cell"]),
    )
    faces = np.full((4, 3, 8, 8), 0.5)
    yield cover.two_audits(counted, effects, faces, faces)
    plt.close("all")


def axes_with(figure, words):
    (found,) = [ax for ax in figure.get_axes() if words in ax.get_title()]
    return found


def test_effects_stand_in_points_beside_the_truth(figure):
    skin = axes_with(figure, "dark − light skin")
    truth = next(line for line in skin.lines if line.get_label() == "truth")
    np.testing.assert_allclose(truth.get_xdata(), 3)
    assert [label.get_text() for label in skin.get_yticklabels()] == list(cover.SKIN_CELLS)
    assert "n = 70 to 73 pairs" in skin.get_title()
    assert "n = 74 to 75 pairs" in axes_with(figure, "long − short hair").get_title()


def test_bars_of_the_count_and_eight_faces_are_drawn(figure):
    heights = [patch.get_height() for ax in figure.get_axes() for patch in ax.patches]
    assert sorted(heights) == [0.0, 0.02, 0.1, 0.3]
    assert sum(len(ax.images) for ax in figure.get_axes()) == 8


def test_counts_of_neighbouring_bars_do_not_touch(figure):
    figure.canvas.draw()
    (bars,) = (ax for ax in figure.get_axes() if ax.get_xlabel() == "perceived gender")
    boxes = [text.get_window_extent() for text in bars.texts]
    assert len(boxes) == 4
    assert not any(one.overlaps(other) for one, other in pairwise(boxes))
