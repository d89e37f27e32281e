"""Write every notebook's paired .ipynb from its .py source, without outputs.

    python tools/pair.py

Cells keep their ids from the pair there was, so that an edit changes only the lines it changed.
"""

from __future__ import annotations

from pathlib import Path

import jupytext
import nbformat
from jupytext.combine import combine_inputs_with_outputs

from helpers.artifacts.lineage import NOTEBOOKS


def paired(source: Path) -> nbformat.NotebookNode:
    """The notebook as its .py says, with the cell ids of the present pair and no outputs."""
    notebook = jupytext.read(source)
    pair = source.with_suffix(".ipynb")
    if pair.is_file():
        notebook = combine_inputs_with_outputs(notebook, jupytext.read(pair))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata.pop("widgets", None)
    return notebook


def write(source: Path) -> None:
    """Write the pair of one source, if it changes."""
    pair = source.with_suffix(".ipynb")
    text = jupytext.writes(paired(source), fmt="ipynb").rstrip("\n") + "\n"
    if not pair.is_file() or pair.read_text(encoding="utf-8") != text:
        pair.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for source in sorted(NOTEBOOKS.glob("*.py")):
        write(source)
