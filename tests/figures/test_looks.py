"""The book's style: roles and their looks, pixels, and what it does in a notebook."""

import numpy as np
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from helpers import figures

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


def test_roles_differ_without_colour_and_are_known_in_longer_names():
    for pair in (("light", "dark"), ("female", "male"), ("short", "long")):
        one, other = (figures.look(name) for name in pair)
        assert one.marker != other.marker and one.hatch != other.hatch
    assert figures.look("Dark skin") == figures.LOOKS["dark"]
    assert figures.look("light-skinned women") == figures.LOOKS["light"]
    assert figures.look("CelebA-like") == figures.LOOKS["celeba-like"]
    assert figures.look("something", len(figures.SPARE) + 1) == figures.SPARE[1]


def test_pixels_round_floats_and_keep_uint8():
    images = np.zeros((2, 3, 4, 5), np.float32)
    images[:, 0] = 0.5
    pixels = figures.as_pixels(images)
    assert pixels.shape == (2, 4, 5, 3) and pixels.dtype == np.uint8
    assert (pixels[..., 0] == 128).all() and (pixels[..., 1] == 0).all()
    raw = np.arange(60, dtype=np.uint8).reshape(3, 4, 5)
    np.testing.assert_array_equal(figures.as_pixels(raw)[0], raw.transpose(1, 2, 0))


def test_a_notebook_draws_a_figure_once_and_shows_no_negative_zero():
    cells = (COUNTING, "plt.figure().gca()", "print(len(drawn), plt.get_fignums())", TABLE)
    notebook = new_notebook(cells=[new_code_cell(source) for source in cells])
    NotebookClient(notebook, kernel_name="python3").execute()
    _, shown, counted, table = notebook.cells
    assert "image/png" in shown.outputs[1].data
    assert counted.outputs[0].text == "2 []\n"
    html = table.outputs[0].data["text/html"]
    assert "<td>0.0</td>" in html
    assert html.count("-0.0") == 1  # the cell that is text
