"""Write every notebook's paired .ipynb from its .py source, without outputs.

    python tools/pair.py

Cells keep their ids from the pair there was, so that an edit changes only the lines it changed.
"""

from pathlib import Path

import jupytext
from jupytext.combine import combine_inputs_with_outputs

from helpers.artifacts import lineage


def write(source: Path) -> None:
    """Write the pair of one source, if it changes."""
    pair, notebook = source.with_suffix(".ipynb"), jupytext.read(source)
    if pair.is_file():
        notebook = combine_inputs_with_outputs(notebook, jupytext.read(pair))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata.pop("widgets", None)
    text = jupytext.writes(notebook, fmt="ipynb").rstrip("\n") + "\n"
    if not pair.is_file() or pair.read_text(encoding="utf-8") != text:
        pair.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for source in lineage.notebooks().values():
        write(source)
