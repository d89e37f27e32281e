"""Chapters with DEVICE=cuda on a pretended GPU, one after another in this process.

    python tests/chapters_on_gpu.py smoke 12_hidden_attributes 13_sensitivity_flips

As in a kernel, what a cell says is printed; figures are made but not drawn, and no page comes of
it. Artifacts are read from and go to the folder named by `HELPERS_ARTIFACTS`.
"""

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import execute
import matplotlib
import pretended_gpu
from matplotlib import pyplot as plt

from helpers.artifacts import lineage


def be(step: str, profile: str) -> None:
    """Run the cells of a chapter as papermill would."""
    values = vars(lineage.load_profile(profile)) | {"profile": profile, "device": "cuda"}
    content = execute.parameterised(lineage.source_of(step), values)
    names = {"__name__": "__main__"}
    for number, cell in enumerate(content.cells):
        if cell.cell_type == "code":
            exec(compile(cell.source, f"{step}, cell {number}", "exec"), names)
            plt.close("all")


if __name__ == "__main__":
    matplotlib.use("agg")
    os.chdir(lineage.NOTEBOOKS)
    chosen, *steps = sys.argv[1:]
    for step in steps:
        with pretended_gpu.present():
            be(step, chosen)
