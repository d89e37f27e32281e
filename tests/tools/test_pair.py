"""Pairs follow their source, keep cell ids and lose outputs."""

import nbformat
import pair

SOURCE = "# %% [markdown]\n# # Title\n\n# %%\n1 + 1\n"


def test_outputs_of_a_run_in_place_are_stripped_and_ids_stay(tmp_path):
    source = tmp_path / "01_one.py"
    source.write_text(SOURCE)
    pair.write(source)
    path = source.with_suffix(".ipynb")
    before = path.stat().st_mtime_ns
    pair.write(source)
    assert path.stat().st_mtime_ns == before  # what is unchanged is not touched
    notebook = nbformat.read(path, as_version=4)
    ids = [cell.id for cell in notebook.cells]
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="2")]
    notebook.cells[1].execution_count = 1
    nbformat.write(notebook, path)
    source.write_text(SOURCE + "\n# %%\n2 + 2\n")
    pair.write(source)
    after = nbformat.read(path, as_version=4)
    assert after.cells[1].outputs == [] and after.cells[1].execution_count is None
    assert [cell.id for cell in after.cells[:2]] == ids
    assert [cell.source for cell in after.cells] == ["# Title", "1 + 1", "2 + 2"]
