"""Profiles are typed, and the notebooks' defaults are the laptop profile."""

import ast
from dataclasses import asdict

import pytest

from helpers.artifacts import profiles


@pytest.mark.parametrize("name", profiles.names())
def test_every_profile_is_complete(name):
    assert profiles.load(name).n_transects > 0


def write(folder, **changes):
    values = asdict(profiles.load("laptop")) | changes
    text = "\n".join(f"{k}: {v}" for k, v in values.items() if v is not None)
    (folder / "mine.yml").write_text(text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_boot": None}, "missing n_boot"),
        ({"n_bot": 3}, "unknown n_bot"),
        ({"n_boot": "many"}, "n_boot must be int, got 'many'"),
        ({"n_boot": -5}, "n_boot must be at least 1, got -5"),
        ({"n_boot": "1.5"}, "n_boot must be int, got 1.5"),
    ],
)
def test_bad_profile_is_named(tmp_path, changes, message):
    write(tmp_path, **changes)
    with pytest.raises(ValueError, match=message) as error:
        profiles.load("mine", tmp_path)
    assert "mine.yml" in str(error.value)


def test_an_edited_profile_is_read_again(tmp_path):
    write(tmp_path, n_boot=7)
    assert profiles.load("mine", tmp_path).n_boot == 7
    write(tmp_path, n_boot=8)
    assert profiles.load("mine", tmp_path).n_boot == 8


def test_unknown_profile_lists_those_there_are():
    with pytest.raises(ValueError, match=r"unknown profile 'lapdog'.*laptop"):
        profiles.load("lapdog")


@pytest.mark.parametrize(
    ("content", "where"),
    [(b"a: [1\n", "line 2"), (b"a: \xff", "position 3"), (b"\0", "position 0")],
)
def test_not_yaml(tmp_path, content, where):
    (tmp_path / "mine.yml").write_bytes(content)
    with pytest.raises(ValueError, match=rf"mine\.yml is not YAML: .*{where}"):
        profiles.load("mine", tmp_path)


def test_not_a_mapping(tmp_path):
    (tmp_path / "mine.yml").write_text("- 1\n")
    with pytest.raises(ValueError, match="expected `name: value` lines"):
        profiles.load("mine", tmp_path)


def test_notebook_defaults_are_the_laptop_profile(repository):
    laptop = asdict(profiles.load("laptop")) | {"profile": "laptop", "device": "cpu"}
    sources = list((repository / "notebooks").glob("*.py"))
    assert sources
    for source in sources:
        cell = (
            source.read_text()
            .split('tags=["parameters"', 1)[1]
            .split("\n", 1)[1]
            .split("# %%", 1)[0]
        )
        for node in ast.parse(cell).body:
            # A chapter may have a parameter of its own, which no profile sets.
            if isinstance(node, ast.Assign) and (name := node.targets[0].id) in laptop:
                assert laptop[name] == ast.literal_eval(node.value), f"{source.name}: {name}"
