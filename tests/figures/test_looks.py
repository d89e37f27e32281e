"""The book's style in a notebook."""

from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

COUNTING = """
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from helpers import figures

drawn, draw = [], Figure.draw
Figure.draw = lambda *arguments: drawn.append(arguments) or draw(*arguments)
figures.style()
"""


def test_a_figure_is_laid_out_and_drawn_once():
    cells = (COUNTING, "plt.figure().gca()", "print(len(drawn), plt.get_fignums())")
    notebook = new_notebook(cells=[new_code_cell(source) for source in cells])
    NotebookClient(notebook, kernel_name="python3").execute()
    _, shown, counted = notebook.cells
    assert "image/png" in shown.outputs[1].data
    assert counted.outputs[0].text == "2 []\n"
