"""Names of images come from a reader's own files: tables on the pages show them as text."""

import ast
from unittest.mock import Mock

import jupytext
import numpy as np
import pandas as pd
import pytest

HOSTILE = "<script>alert(1)</script>"


def value_of(cell: str, names: dict):
    """What a notebook's cell displays: the value of its last line."""
    module = ast.parse(cell)
    last = ast.Expression(module.body.pop().value)
    exec(compile(module, "cell", "exec"), names)
    return eval(compile(last, "cell", "eval"), names)


@pytest.mark.parametrize("chapter", ["06_annotation_ingestion", "07_pruning"])
def test_heads_that_are_names_of_images_are_escaped(repository, chapter):
    cells = jupytext.read(repository / "notebooks" / f"{chapter}.py").cells
    (cell,) = [one.source for one in cells if ".head(" in one.source and ".style" in one.source]
    axes = ["skin_colour", "hair_length", "gender"]
    columns = ["transect", *axes, *(f"{axis}_level" for axis in axes), "fakeness"]
    table = pd.DataFrame(np.ones((1, len(columns))), [HOSTILE], columns)
    names = {"frame": table, "index": table, "tidy": [], "answers": [], "stage": Mock()}
    names["annotations"] = Mock(scores=Mock(return_value=table))
    names |= {"errors": Mock(majority=Mock(return_value=1)), "spoken": {}}
    shown = value_of(cell, names).to_html()
    assert "<script" not in shown and "&lt;script&gt;" in shown
