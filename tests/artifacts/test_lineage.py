"""The graph that make and the manifests share."""

import subprocess
import sys

import pytest

from helpers.artifacts import lineage


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small repository: two notebooks, helpers a -> b (relative), c, package d, a study."""
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
        "from helpers import a\n"
        'stage.load("01_first", "x.npy")\nstage.load(name, "y")\nstage.load("survey", "z.json")\n'
    )
    (package / "survey").mkdir()
    (package / "survey" / "__init__.py").write_text("")
    (package / "survey" / "main.py").write_text("from helpers import c\n")
    (notebooks / "01_first.py").write_text("import math\n")
    (notebooks / "index.py").write_text("")
    monkeypatch.setattr(lineage, "ROOT", tmp_path)
    monkeypatch.setattr(lineage, "NOTEBOOKS", notebooks)
    monkeypatch.setattr(lineage, "PACKAGE", package)
    monkeypatch.setattr(lineage, "STUDIES", {"survey": "survey.main"})
    return tmp_path


def test_stages_are_numbered_notebooks_and_studies(tree):
    assert lineage.stages() == ["01_first", "02_second", "survey"]


def test_inputs_are_the_literal_stage_names_loaded(tree):
    assert lineage.inputs(lineage.source_of("02_second")) == ["01_first", "survey"]


def test_several_models_loaded_at_once_count_as_read(tree):
    source = tree / "notebooks" / "03_third.py"
    source.write_text('models.load_all(stage, "02_second", NAMES)\nstage.path("01_first")\n')
    assert lineage.inputs(source) == ["02_second"]


def test_helper_modules_are_closed_over_imports(tree):
    found = lineage.helper_modules(lineage.source_of("02_second"))
    names = {str(p.relative_to(tree / "src" / "helpers")) for p in found}
    assert names == {"__init__.py", "a.py", "b.py", "d/__init__.py", "d/part.py", "e.py"}


@pytest.mark.parametrize(("file", "changes"), [("e.py", True), ("c.py", False)])
def test_source_hash_follows_only_what_is_used(tree, file, changes):
    before = lineage.source_hash("02_second")
    (tree / "src" / "helpers" / file).write_text("y = 2\n")
    assert (lineage.source_hash("02_second") != before) is changes


@pytest.mark.parametrize(
    ("file", "changes"), [("survey/main.py", True), ("c.py", True), ("a.py", False)]
)
def test_a_study_is_made_from_its_module_and_its_helpers(tree, file, changes):
    before = lineage.source_hash("survey")
    (tree / "src" / "helpers" / file).write_text("z = 2\n")
    assert (lineage.source_hash("survey") != before) is changes


def test_a_chapter_waits_for_the_study_it_reads(tree):
    rules = dict(line.split(":", 1) for line in lineage.make_rules().splitlines())
    assert rules["STUDIES "] == "= survey"
    assert "survey" not in rules["PAGES "]
    study = rules["$(ARTIFACTS)/survey/manifest.json"].split()
    assert study == [f"src/helpers/{name}.py" for name in ("survey/main", "__init__", "c")]
    chapter = rules["$(ARTIFACTS)/02_second/02_second.ipynb"].split()
    assert chapter[-2:] == [
        "$(ARTIFACTS)/01_first/01_first.ipynb",
        "$(ARTIFACTS)/survey/manifest.json",
    ]


def test_unknown_stage_names_those_there_are(tree):
    with pytest.raises(ValueError, match="01_first, 02_second, survey"):
        lineage.source_of("03_third")


def test_rules_of_the_real_repository_need_no_packages(repository):
    rules = subprocess.run(
        [sys.executable, "-I", "-S", "src/helpers/artifacts/lineage.py"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "$(ARTIFACTS)/05_transect_generation/05_transect_generation.ipynb:" in rules
    assert "src/helpers/transects.py" in rules
    assert (
        "$(ARTIFACTS)/coverage_study/manifest.json: src/helpers/scorecard/coverage_study.py"
        in rules
    )
