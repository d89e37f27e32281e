"""Every parameter of a profile changes something in a notebook that declares it."""

import ast
from collections.abc import Iterator

import jupytext
import pytest
import yaml

from helpers.artifacts.lineage import PROFILES, notebooks

VALUES = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in PROFILES.glob("*.yml")}


def changing(node: ast.AST) -> Iterator[str]:
    """Names that are read, but not in assertions, which compute nothing, nor in slices.

    A slice takes a part of what was drawn: where it ends beyond that, it changes nothing.
    """
    of_slice = isinstance(node, ast.Call) and ast.unparse(node.func) == "slice"
    if of_slice or isinstance(node, ast.Assert | ast.Slice):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from changing(child)


@pytest.fixture(scope="module")
def used() -> set[str]:
    """Names that a notebook has in its parameters cell and uses in another one."""
    found = set()
    for path in notebooks().values():
        declared, others = set(), set()
        for cell in jupytext.read(path).cells:
            if "parameters" in cell.metadata.get("tags", []):
                declared |= {line.partition(" = ")[0] for line in cell.source.splitlines()}
            elif cell.cell_type == "code":
                others |= {*changing(ast.parse(cell.source))}
        found |= declared & others
    return found


@pytest.mark.parametrize("profile", VALUES)
def test_every_parameter_changes_something(used, profile):
    assert VALUES[profile].keys() == VALUES["laptop"].keys()
    assert VALUES[profile].keys() - used == set()
