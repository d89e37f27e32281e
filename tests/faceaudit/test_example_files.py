"""Examples that are copied into a folder: whole, and never over a file."""

import pytest

from faceaudit.__main__ import main
from faceaudit.example_files import copy_examples
from faceaudit.file.specification import read_specification
from faceaudit.report.gate import BROKEN, PASSED
from faceaudit.run import input_files


def test_an_example_is_an_audit_file_with_its_tables(tmp_path, capsys):
    folder = tmp_path / "a new" / "folder"
    assert main(["example", str(folder)]) == PASSED
    printed = capsys.readouterr().out
    for path in folder.glob("*.yml"):
        assert str(path) in printed
        _, *tables = input_files(read_specification(path))
        assert tables and all(table.is_file() for table in tables)
        assert all(table.name.startswith("invented-") for table in tables)


@pytest.mark.parametrize("name", ["table.yml", "invented-pairs.csv"])
def test_no_example_is_written_over_a_file(tmp_path, capsys, name):
    (tmp_path / name).write_text("mine")
    assert main(["example", str(tmp_path)]) == BROKEN
    (said,) = capsys.readouterr().err.splitlines()
    assert f"{name}: there is such a file already" in said
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_file_in_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(OSError, match="mine"):
        copy_examples(tmp_path / "mine")
