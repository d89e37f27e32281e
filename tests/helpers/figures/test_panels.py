"""Charts and panels: what is drawn where, counts, empty cells, readable without colour."""

import numpy as np
import pandas as pd
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from statsmodels.stats.proportion import proportion_confint

from helpers import figures
from helpers.figures import panels

pytestmark = pytest.mark.usefixtures("book_style")

COUNTING = """
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from helpers import figures

drawn, draw = [], Figure.draw
Figure.draw = lambda *arguments: drawn.append(arguments) or draw(*arguments)
figures.style()
"""
TABLE = """
import pandas as pd
pd.DataFrame({"change": [-0.004, 0.5], "cell": ["-0.0", "b"]}).round(2)
"""


def test_a_notebook_draws_a_figure_once_and_shows_no_negative_zero():
    drawing = "plt.figure().gca()", "print(len(drawn), plt.get_fignums())", "plt.imshow([[0]])"
    cells = (COUNTING, *drawing, TABLE)
    notebook = new_notebook(cells=[new_code_cell(source) for source in cells])
    NotebookClient(notebook, kernel_name="python3").execute()
    _, shown, counted, picture, table = notebook.cells
    for cell, kind in ((shown, "svg+xml"), (picture, "jpeg")):
        assert {*cell.outputs[1].data} == {f"image/{kind}", "text/plain"}
    assert counted.outputs[0].text == "2 []\n"
    html = table.outputs[0].data["text/html"]
    assert "<td>0.0</td>" in html and html.count("-0.0") == 1  # the cell that is text


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


# --- panels

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
