"""What a stage is made from, and profiles: what the runner and the manifests share."""

import ast
import os

import pytest

from helpers.artifacts import kept, lineage


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
    monkeypatch.setattr(kept, "PINS", package / "__init__.py")
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
        ("d/__init__.py", False),
        ("d/figures.py", False),
        ("artifacts/stage.py", False),
    ],
)
def test_kept_work_is_known_by_the_code_that_computes_it_and_no_other(tree, file, counts):
    with (tree / "a.py").open("a") as stream:
        stream.write("from helpers.artifacts import stage\n")
    before = kept.made_by(tree / "a.py")
    (tree / file).write_text("z = 2\n")
    assert (kept.made_by(tree / "a.py") != before) is counts


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
