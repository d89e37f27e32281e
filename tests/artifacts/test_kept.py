"""Finished work that is kept: read whole or not at all, and known by the code that made it."""

import pytest

from helpers.artifacts import kept, lineage, manifests


def test_what_was_written_is_read(tmp_path):
    path = tmp_path / "folder" / "a.part"
    assert kept.read(path) is None
    kept.write(path, b"work")
    assert kept.read(path) == b"work"


@pytest.mark.parametrize("at", [0, 5, -1])
def test_a_changed_byte_is_noticed(tmp_path, at):
    path = tmp_path / "a.part"
    kept.write(path, b"work")
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    with pytest.warns(UserWarning, match="a.part is damaged; what it held is made again"):
        assert kept.read(path) is None


@pytest.mark.parametrize("length", [0, 5, 34])
def test_a_truncated_file_is_noticed(tmp_path, length):
    path = tmp_path / "a.part"
    kept.write(path, b"work")
    path.write_bytes(path.read_bytes()[:length])
    with pytest.warns(UserWarning, match="a.part is damaged"):
        assert kept.read(path) is None


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package: `rooms/work.py` takes names from two modules and from the face of a third room."""
    package = tmp_path / "src" / "helpers"
    files = {
        "rooms/__init__.py": "from helpers.rooms import work\nfrom helpers.rooms import other\n",
        "rooms/work.py": "from helpers.rooms.part import x\nfrom helpers.face import y\n"
        "from helpers.artifacts import stage\nfrom helpers.rooms import figures\n",
        "rooms/part.py": "",
        "rooms/part.json": "{}",
        "rooms/other.py": "",
        "rooms/figures.py": "",
        "face/__init__.py": "from helpers.face.inside import y\n",
        "face/inside.py": "y = 1\n",
        "artifacts/stage.py": "",
    }
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    monkeypatch.setattr(lineage, "ROOT", tmp_path)
    monkeypatch.setattr(lineage, "SOURCE", package.parent)
    monkeypatch.setattr(lineage, "PACKAGE", package)
    return package


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("rooms/work.py", True),
        ("rooms/part.py", True),
        ("rooms/part.json", True),
        ("face/__init__.py", True),
        ("face/inside.py", True),
        ("rooms/__init__.py", False),
        ("rooms/other.py", False),
        ("rooms/figures.py", False),
        ("artifacts/stage.py", False),
    ],
)
def test_code_that_computes_counts_and_no_other(package, file, counts):
    before = kept.made_by(package / "rooms" / "work.py")
    (package / file).write_text("z = 2\n")
    assert (kept.made_by(package / "rooms" / "work.py") != before) is counts


def test_versions_count_of_what_is_called(package, monkeypatch):
    before = kept.made_by(package / "rooms" / "work.py")
    other = manifests.versions() | {"pandas": "0"}
    monkeypatch.setattr(manifests, "versions", lambda: other)
    assert kept.made_by(package / "rooms" / "work.py") == before
    monkeypatch.setattr(manifests, "versions", lambda: other | {"torch": "0"})
    assert kept.made_by(package / "rooms" / "work.py") != before


def test_code_of_somebody_else_counts_with_what_it_takes_from_here(package, tmp_path):
    renderer = tmp_path.parent / "renderer.py"
    renderer.write_text("from .sibling import a\nfrom helpers.face import y\n")
    before = kept.made_by(renderer)
    (package / "face" / "inside.py").write_text("y = 2\n")
    assert kept.made_by(renderer) != before
