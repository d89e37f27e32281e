"""Figures of power, slopes, pruning and transport show every panel and series."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers import effects
from helpers.effects.figures import draw_power, draw_pruning, draw_slopes, draw_transport
from helpers.effects.selection_bounds import ARMS


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def intervals(index: pd.MultiIndex) -> pd.DataFrame:
    estimate = np.linspace(0.1, 0.5, len(index))
    return pd.DataFrame(
        {"estimate": estimate, "low": estimate - 0.1, "high": estimate + 0.2}, index
    )


def legend(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].texts]


def test_power_has_a_panel_per_share_kept():
    grid = {"base_rate": [0.05], "difference": [0.05], "within": [0.05], "retention": [1.0, 2 / 3]}
    table = effects.power_grid(grid | {"target": [0.8]}, n_simulations=50)
    figure = draw_power(table, {"all kept": 1.0, "some kept": 2 / 3}, 0.05)
    assert [ax.get_title() for ax in figure.axes] == ["all kept", "some kept"]
    assert legend(figure) == ["difference of 5 points"]
    refined, plain, marks = figure.axes[0].lines[:3]
    assert refined.get_ydata()[-1] == pytest.approx(1, abs=0.01)
    assert len(plain.get_xdata()) == len(refined.get_xdata())
    assert marks.get_ydata().tolist() == table["simulated"].iloc[:1].tolist()


def test_slopes_have_a_panel_per_gender_and_a_line_at_the_reference():
    index = pd.MultiIndex.from_product([[0, 1], [1, 2]], names=["gender_level", "raters"])
    table = intervals(index).assign(n=800.0)
    figure = draw_slopes({"measured": table}, {0: 0.1, 1: 0.2}, "without noise", "slope")
    assert [ax.get_title() for ax in figure.axes] == [
        "women, n = 800 images",
        "men, n = 800 images",
    ]
    assert set(legend(figure)) == {"measured", "without noise"}
    assert [ax.lines[-1].get_ydata()[0] for ax in figure.axes] == [0.1, 0.2]


def test_pruning_has_a_panel_per_axis_and_model():
    levels = [["a", "b"], ["skin_colour", "hair_length"], [0, 1], list(ARMS)]
    index = pd.MultiIndex.from_product(levels, names=["model", "attribute", "gender", "arm"])
    table = intervals(index).assign(lower=-0.2, upper=0.9, n=40, truth=0.3).reset_index()
    figure = draw_pruning(table)
    assert len(figure.axes) == 4
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["women", "men"]
    assert {"worst case", "truth", "pruned, n ≈ 40"} <= set(legend(figure))


def test_transport_has_a_panel_per_model_and_a_mark_per_source():
    index = pd.MultiIndex.from_product([["a", "b"], ["rate", "gap"]], names=["model", "quantity"])
    table = intervals(index).assign(n=6000)
    figure = draw_transport({"predicted": table, "observed": table})
    assert [ax.get_title() for ax in figure.axes] == ["a", "b"]
    assert legend(figure) == ["predicted, n = 6,000", "observed, n = 6,000"]
