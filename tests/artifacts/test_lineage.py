"""What a stage is made from: the graph that the runner and the manifests share."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

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
    monkeypatch.setattr(lineage, "SOURCE", package.parent)
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


@pytest.mark.parametrize(
    "code",
    [
        "async def f():\n    class C:\n        {}",
        "if x:\n    pass\nelif y:\n    {}",
        "for x in y:\n    pass\nelse:\n    {}",
        "while x:\n    with y:\n        {}",
        "try:\n    pass\nexcept E:\n    {}",
        "try:\n    pass\nexcept* E:\n    pass\nelse:\n    {}",
        "try:\n    pass\nfinally:\n    {}",
        "match x:\n    case 1:\n        {}",
    ],
)
def test_imports_are_found_in_every_kind_of_statement(tree, code):
    source = tree / "notebooks" / "index.py"
    source.write_text(code.format("from helpers import c"))
    assert tree / "src" / "helpers" / "c.py" in lineage.helper_modules(source)


def test_helper_modules_are_looked_for_once(tree, monkeypatch):
    source = lineage.source_of("02_second")
    before = lineage.helper_modules(source)
    monkeypatch.setattr(lineage, "_closure", None)
    assert lineage.helper_modules(source) == before


def test_a_module_that_is_imported_comes_and_goes(tree):
    package, source = tree / "src" / "helpers", lineage.source_of("02_second")
    (package / "a.py").write_text("from .d import late\n")
    before = lineage.helper_modules(source)
    (package / "d" / "late.py").write_text("from helpers import c\n")
    assert set(lineage.helper_modules(source)) - {*before} == {
        package / "d" / "late.py",
        package / "c.py",
    }
    (package / "d" / "late.py").unlink()
    assert lineage.helper_modules(source) == before


@pytest.mark.parametrize(("file", "changes"), [("e.py", True), ("c.py", False)])
def test_source_hash_follows_only_what_is_used(tree, file, changes):
    before = lineage.sources("02_second")
    (tree / "src" / "helpers" / file).write_text("y = 2\n")
    assert (lineage.sources("02_second") != before) is changes


@pytest.mark.parametrize(
    ("file", "changes"), [("survey/main.py", True), ("c.py", True), ("a.py", False)]
)
def test_a_study_is_made_from_its_module_and_its_helpers(tree, file, changes):
    before = lineage.sources("survey")
    (tree / "src" / "helpers" / file).write_text("z = 2\n")
    assert (lineage.sources("survey") != before) is changes


def test_what_only_draws_does_not_change_what_a_stage_leaves(tree):
    package = tree / "src" / "helpers"
    (package / "d" / "figures.py").write_text("")
    (package / "e.py").write_text("from helpers.d import figures\n")
    every, computing = lineage.sources("02_second"), lineage.sources("02_second", drawing=False)
    assert set(every) - set(computing) == {"src/helpers/d/figures.py"}


def test_data_beside_a_module_belong_to_it(tree):
    (tree / "src" / "helpers" / "b.weights").write_text("1")
    before = lineage.sources("02_second")
    (tree / "src" / "helpers" / "b.weights").write_text("2")
    assert lineage.sources("02_second") != before


def test_an_edit_that_keeps_the_time_is_seen(tree):
    path = tree / "src" / "helpers" / "e.py"
    before, state = lineage.sources("02_second"), path.stat()
    path.write_text("y = 2\n")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert lineage.sources("02_second") != before


def test_unknown_stage_names_those_there_are(tree):
    with pytest.raises(ValueError, match="01_first, 02_second, survey"):
        lineage.source_of("03_third")


def test_threads_parse_one_after_the_other(monkeypatch):
    """Python 3.11 counts how deep it is for all threads together, and raises where they differ."""
    inside, most = [], []

    def parse(code, filename):
        inside.append(code)
        time.sleep(0.01)
        most.append(len(inside))
        inside.remove(code)

    monkeypatch.setattr(lineage.ast, "parse", parse)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: lineage.parse(str(n), "x"), range(8)))
    assert most == [1] * 8
