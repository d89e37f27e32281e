"""The graph that make and the manifests share."""

import subprocess
import sys

import pytest

from helpers import lineage


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small repository: one stage, helpers a -> b (relative), c unused, package d."""
    package, notebooks = tmp_path / "src" / "helpers", tmp_path / "notebooks"
    (package / "d").mkdir(parents=True)
    notebooks.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("def f():\n    from . import b\n    return b\n")
    (package / "b.py").write_text("from helpers.d import part\n")
    (package / "c.py").write_text("")
    (package / "d" / "__init__.py").write_text("from .part import x\n")
    (package / "d" / "part.py").write_text("from ..e import y\nx = 1\n")
    (package / "e.py").write_text("y = 1\n")
    (notebooks / "02_second.py").write_text(
        'from helpers import a\nstage.load("01_first", "x.npy")\nstage.load(name, "y")\n'
    )
    (notebooks / "01_first.py").write_text("import math\n")
    (notebooks / "index.py").write_text("")
    monkeypatch.setattr(lineage, "ROOT", tmp_path)
    monkeypatch.setattr(lineage, "NOTEBOOKS", notebooks)
    monkeypatch.setattr(lineage, "PACKAGE", package)
    return tmp_path


def test_stages_are_numbered_notebooks(tree):
    assert lineage.stages() == ["01_first", "02_second"]


def test_inputs_are_the_literal_stage_names_loaded(tree):
    assert lineage.inputs(lineage.notebook("02_second")) == ["01_first"]


def test_helper_modules_are_closed_over_imports(tree):
    found = lineage.helper_modules(lineage.notebook("02_second"))
    names = {str(p.relative_to(tree / "src" / "helpers")) for p in found}
    assert names == {"__init__.py", "a.py", "b.py", "d/__init__.py", "d/part.py", "e.py"}


@pytest.mark.parametrize(("file", "changes"), [("e.py", True), ("c.py", False)])
def test_source_hash_follows_only_what_is_used(tree, file, changes):
    before = lineage.source_hash("02_second")
    (tree / "src" / "helpers" / file).write_text("y = 2\n")
    assert (lineage.source_hash("02_second") != before) is changes


def test_unknown_stage_names_those_there_are(tree):
    with pytest.raises(ValueError, match="01_first, 02_second"):
        lineage.notebook("03_third")


def test_rules_of_the_real_repository_need_no_packages(repository):
    rules = subprocess.run(
        [sys.executable, "-I", "-S", "src/helpers/lineage.py"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "$(ARTIFACTS)/05_transect_generation/05_transect_generation.ipynb:" in rules
    assert "src/helpers/transects.py" in rules
