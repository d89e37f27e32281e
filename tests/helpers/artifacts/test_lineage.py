"""What a stage is made from, and profiles: what the runner and the manifests share."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from faceaudit.utils.errors import InputError
from helpers.artifacts import code, lineage, pages


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small repository: two notebooks, helpers a -> b, c, package d, a study."""
    package, notebooks = tmp_path / "src" / "helpers", tmp_path / "notebooks"
    files = {
        "__init__.py": "",
        "a.py": "def f():\n    from helpers import b\n    return b\n",
        "b.py": "try:\n    pass\nexcept E:\n    from helpers.d import part\n",
        "b.weights": "1",
        "c.py": "",
        "d/__init__.py": "from helpers.d.part import x\nfrom helpers import c\n",
        "d/part.py": "from helpers.e import y\nfrom helpers.d import figures\nx = 1\n",
        "d/figures.py": "",
        "e.py": "y = 1\n",
        "artifacts/stage.py": "",
        "survey/__init__.py": "",
        "survey/main.py": "from helpers import c\nfrom helpers.artifacts import stage\n",
    }
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    notebooks.mkdir()
    (notebooks / "01_first.py").write_text("import math\n")
    (notebooks / "02_second.py").write_text(
        'from helpers import a\nstage.load("01_first", "x.npy")\nstage.load(name, "y")\n'
        'models.load_all(stage, "survey", NAMES)\nstage.path("00_none")\n'
    )
    (notebooks / "index.py").write_text("")
    places = {"ROOT": tmp_path, "NOTEBOOKS": notebooks, "SOURCE": package.parent}
    for name, value in {**places, "PACKAGE": package, "STUDIES": {"survey": "survey.main"}}.items():
        monkeypatch.setattr(lineage, name, value)
    monkeypatch.setattr(code, "PINS_FILE", package / "__init__.py")
    return package


@pytest.mark.parametrize(
    ("stage", "file", "changes"),
    [
        ("02_second", "e.py", True),
        ("02_second", "b.weights", True),
        ("02_second", "d/figures.py", True),
        ("02_second", "survey/main.py", False),
        ("survey", "survey/main.py", True),
        ("survey", "c.py", True),
        ("survey", "a.py", False),
    ],
)
def test_hashes_follow_what_is_used_whatever_the_time_of_an_edit(tree, stage, file, changes):
    path, before = tree / file, lineage.sources(stage)
    state = path.stat()
    path.write_text("y = 2\n")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert (lineage.sources(stage) != before) is changes


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("b.py", True),
        ("b.weights", True),
        ("d/part.py", True),
        ("__init__.py", True),  # the pins
        ("d/__init__.py", True),  # it has code of its own
        ("d/figures.py", False),
        ("artifacts/stage.py", False),
    ],
)
def test_kept_work_is_known_by_the_code_that_computes_it_and_no_other(tree, file, counts):
    with (tree / "a.py").open("a") as stream:
        stream.write("from helpers.artifacts import stage\n")
    before = code.made_by(tree / "a.py")
    (tree / file).write_text("z = 2\n")
    assert (code.made_by(tree / "a.py") != before) is counts


LAZY_EXPORTS = """import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
"""


@pytest.fixture
def room(tree):
    """A package that exports x and y, which two modules define, and a module; it has one more."""
    stub = "from . import fourth\nfrom .first import x as x\nfrom .second import y as y\n"
    files = {
        "__init__.py": LAZY_EXPORTS,
        "__init__.pyi": stub,
        "first.py": "x = 1\n",
        "second.py": "from helpers import c\ny = 2\n",
        "third.py": "x = 3\n",
        "fourth.py": "x = 4\n",
    }
    (tree / "room").mkdir()
    for name, text in files.items():
        (tree / "room" / name).write_text(text)
    (tree / "other.py").write_text("from helpers import room\n")
    return tree / "room"


def needed(room, text):
    """Names of the files that a source with this text needs."""
    source = room.parents[2] / "notebooks" / "03_third.py"
    source.write_text(text)
    return [
        path.relative_to(room.parent).as_posix() for path in lineage.dependencies(source).modules
    ]


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("from helpers.room import x", ["room/first.py"]),
        ("from helpers import room", []),
        ("from helpers import room\nroom.x", ["room/first.py"]),
        ("from helpers import room as r\nprint(r.x.real)", ["room/first.py"]),
        ("import helpers.room as r\nr.y", ["c.py", "room/second.py"]),
        ("import helpers.room\nhelpers.room.x", ["room/first.py"]),
        ("def f():\n    from helpers.room import x", ["room/first.py"]),
        ("from helpers.room import third", ["room/third.py"]),
        ("from helpers import room\nroom.third.x", ["room/third.py"]),
        ("from helpers import room\nroom.fourth.x", ["room/fourth.py"]),
        ("from helpers import other\nother.room.x", ["other.py", "room/first.py"]),
        ("from helpers.other import room\nroom.x", ["other.py", "room/first.py"]),
    ],
)
def test_names_lead_to_the_modules_that_define_them(room, text, modules):
    assert needed(room, text) == modules


@pytest.mark.parametrize(
    "text",
    [
        "from helpers.room import *",
        "from helpers import room\nshow(room)",
        "from helpers import room\nother = room\nother.x",
        "from helpers import room\ngetattr(room, name)",
        "from helpers import room\nroom.__dict__[name]",
        "import helpers.room as r\nvars(r)[name]",
    ],
)
def test_a_package_that_is_used_otherwise_counts_whole(room, text):
    files = ["c.py", *(f"room/{name}.py" for name in ("first", "fourth", "second", "third"))]
    assert needed(room, text) == files


@pytest.mark.parametrize(
    ("file", "text", "changes"),
    [
        ("__init__.pyi", "from .first import x as x\n", False),  # y is not taken
        ("__init__.pyi", "from .second import x as x\n", True),
        ("__init__.py", f'"""Another docstring."""\n{LAZY_EXPORTS}', False),
        ("__init__.py", f"{LAZY_EXPORTS}print()\n", True),
        ("second.py", "y = 3\n", False),
        ("first.py", "x = 2\n", True),
    ],
)
def test_of_a_room_counts_where_the_names_lead_that_are_taken(room, file, text, changes):
    (room / "second.py").write_text("x = y = 2\n")
    # Both modules are needed, and the name x is taken from the first.
    (room.parent / "a.py").write_text("from helpers.room import x\n")
    if file == "__init__.pyi":
        (room.parent / "a.py").write_text("from helpers.room import second, x\n")
    stage, module = lineage.sources("02_second"), code.made_by(room.parent / "a.py")
    (room / file).write_text(text)
    assert (lineage.sources("02_second") != stage) is changes
    assert (code.made_by(room.parent / "a.py") != module) is changes


def stale_after_an_edit_of(module: str) -> set[str]:
    """Pages and stages that are made from a module, below `src`."""
    file = lineage.SOURCE / module
    assert file.is_file()
    name = os.path.relpath(file, lineage.ROOT)
    steps = {*lineage.notebooks(), *lineage.stages()}
    return {step for step in steps if name in lineage.sources(step)}


@pytest.mark.parametrize(
    ("module", "pages_that_use_it"),
    [
        ("faceaudit/datasets/published.py", {"n11_real_data"}),
        ("faceaudit/generators/realism.py", {"n05_learned_generator", "n08_real_generators"}),
        (
            "faceaudit/effects/planning.py",
            {
                "16_planning",
                "18_audit_your_model",
                "19_published_models",
                "n02_when_transects_fail",
                "n11_real_data",
            },
        ),
    ],
)
def test_an_edit_makes_those_pages_stale_that_use_the_module(module, pages_that_use_it):
    assert stale_after_an_edit_of(module) == pages_that_use_it


def test_modules_that_an_audit_file_names_count_for_the_page_that_shows_it():
    """The reader does not see them, so the page must need them anyway."""
    named = 0
    for page, source in lineage.notebooks().items():
        audit_files = [path for path in pages.named_files(source) if path.suffix == ".yml"]
        for path in audit_files:
            for module in re.findall(r"\bobject: (faceworld[.\w]+):", path.read_text("utf-8")):
                assert f"src/{module.replace('.', '/')}.py" in lineage.sources(page)
                named += 1
    assert named > 0


# Imports what each source names, with our packages not imported before, and takes what it uses.
# Modules run anew for each source, and are parsed and compiled once.
EXECUTED = """
import ast, functools, json, sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

compiled, compile_module = {}, SourceFileLoader.get_code

def compile_once(loader, name):
    if name not in compiled:
        compiled[name] = compile_module(loader, name)
    return compiled[name]

SourceFileLoader.get_code = compile_once
ast.parse = functools.cache(ast.parse)
executed = {}
for source in sys.argv[1:]:
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("helpers", "facerender", "faceaudit", "faceworld", "course"):
            del sys.modules[name]
    tree, names = ast.parse(Path(source).read_text(encoding="utf-8")), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            exec(ast.unparse(node), names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if isinstance(module := names.get(node.value.id), ModuleType):
                getattr(module, node.attr, None)
    files = [getattr(module, "__file__", None) for module in sys.modules.values()]
    executed[source] = [file for file in files if file]
print(json.dumps(executed))  # `json.dump` would write every name by itself
"""


@pytest.mark.slow
def test_no_module_that_runs_is_missed():
    """In one process, whose modules of ours are forgotten before the next page."""
    sources = [lineage.source_of(step) for step in {*lineage.notebooks(), *lineage.stages()}]
    command = [sys.executable, "-c", EXECUTED, *map(str, sources)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    executed = json.loads(done.stdout)
    assert len(executed) == len(sources)
    for source, files in executed.items():
        counted = {Path(source), *lineage.dependencies(Path(source)).modules}
        ours = {Path(file) for file in files if Path(file).is_relative_to(lineage.SOURCE)}
        assert len(ours) > 2
        missed = [path for path in ours - counted if not only_exports(path)]
        assert missed == [], source


def only_exports(path):
    """Whether a file is a package's `__init__.py` with no code but its lazy exports."""
    code = ast.parse(path.read_text(encoding="utf-8")).body[1:]
    return path.name == "__init__.py" and ast.unparse(code) in (
        "",
        ast.unparse(ast.parse(LAZY_EXPORTS)),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "unknown profile 'mine'"),
        ("a: [1\n", r"mine\.yml is no YAML of names: .*line 2"),
        ("seed: 1\n", "image_size is None, a whole number of at least 1 was expected"),
        ("n_bot: 3\n", "n_bot is 3, no such name was expected"),
    ],
)
def test_a_profile_that_is_not_whole_is_named(tmp_path, text, message):
    whole = (lineage.PROFILES / "laptop.yml").read_text()
    if text:
        more = ": " in text and text != "seed: 1\n" and "[" not in text
        (tmp_path / "mine.yml").write_text(whole + text if more else text)
    with pytest.raises(ValueError, match=message):
        lineage.load_profile("mine", tmp_path)


def test_an_error_about_a_profile_names_the_field_what_stands_there_and_what_should(tmp_path):
    sizes = (lineage.PROFILES / "laptop.yml").read_text(encoding="utf-8")
    (tmp_path / "mine.yml").write_text(sizes.replace("n_raters: 5", "n_raters: some"))
    with pytest.raises(InputError, match="n_raters is 'some', a whole number of at") as refused:
        lineage.load_profile("mine", tmp_path)
    assert refused.value.field == "n_raters"
    assert refused.value.found == "some"
    assert refused.value.expected == "a whole number of at least 1"


def test_notebook_defaults_are_the_laptop_profile(repository):
    laptop = vars(lineage.load_profile("laptop")) | {"profile": "laptop", "device": "cpu"}
    found = 0
    for source in (repository / "notebooks").glob("*.py"):
        cell = source.read_text().split('tags=["parameters"', 1)[1].split("\n", 1)[1]
        for node in ast.parse(cell.split("# %%", 1)[0]).body:
            # A chapter may have a parameter of its own, which no profile sets.
            if isinstance(node, ast.Assign) and (name := node.targets[0].id) in laptop:
                assert laptop[name] == ast.literal_eval(node.value), f"{source.name}: {name}"
                found += 1
    assert found > 50
