"""CSV files as programs write them, read alike with and without pyarrow; what is no table."""

import subprocess
import sys
from pathlib import Path

import pytest

from faceaudit.utils.errors import InputError
from faceaudit.utils.tables import read_parquet, read_table, wrong_format

DECOMPOSED = "Zoe\u0308"
FILES = {
    "plain": ("a,b\n1,2\n3,4\n", {"a": ["1", "3"], "b": ["2", "4"]}),
    "no end of the last line": ("a,b\n1,2", {"a": ["1"], "b": ["2"]}),
    "a byte order mark": ("\ufeffa,b\n1,2\n", {"a": ["1"], "b": ["2"]}),
    "line ends of Windows": ("a,b\r\n1,2\r\n", {"a": ["1"], "b": ["2"]}),
    "line ends of old Macs": ("a,b\r1,2\r", {"a": ["1"], "b": ["2"]}),
    "tabs": ("a\tb\n1\t2,3\n", {"a": ["1"], "b": ["2,3"]}),
    "a comma in quotes": ('a,b\n"x,y",2\n', {"a": ["x,y"], "b": ["2"]}),
    "quotes in quotes": ('a,b\n"he ""said""",2\n', {"a": ['he "said"'], "b": ["2"]}),
    "quotes within a text": ('a,b\n5" x,1\n6" y,2\n', {"a": ['5" x', '6" y'], "b": ["1", "2"]}),
    "text behind quotes": ('a,b\n"ab"c,1\n', {"a": ["abc"], "b": ["1"]}),
    "blanks before quotes": ('a,b\n "x",1\n', {"a": [' "x"'], "b": ["1"]}),
    "line breaks in cells": ('a,b\n"x\ny",1\n"p\r\nq",2\n', {"a": ["x\ny", "p\r\nq"]}),
    "a line break in a name": ('"a\nb",c\n1,2\n', {"a\nb": ["1"], "c": ["2"]}),
    "other separators of lines": ("a,b\nx\x0b\u2028,1\n", {"a": ["x\x0b\u2028"], "b": ["1"]}),
    "missing texts": ("a,b\nNA,\nnan,#N/A\n", {"a": ["NA", "nan"], "b": ["", "#N/A"]}),
    "accents as they are": (f"a,b\nZoë,{DECOMPOSED}\n", {"a": ["Zoë"], "b": [DECOMPOSED]}),
    "blanks": ("a,b\n 1 , 2\n", {"a": [" 1 "], "b": [" 2"]}),
    "empty lines": ("a,b\n1,2\n\n3,4\n\n", {"a": ["1", "3"], "b": ["2", "4"]}),
    "an empty cell alone in its row": ('a\n1\n\n""\n2\n', {"a": ["1", "", "2"]}),
    "empty rows at the end": ("a,b\n1,2\n,\n , \n", {"a": ["1"], "b": ["2"]}),
    "names without cells": ("a,b,c\n1,2\n3,4\n", {"a": ["1", "3"], "b": ["2", "4"]}),
    "numbers of rows": (",a\n0,1\n1,2\n", {"a": ["1", "2"]}),
    "a comma behind every row": ("a,b,\n1,2,\n", {"a": ["1"], "b": ["2"]}),
    "a long cell": (f"a,b\n1,2\n1,{'x' * 200_000}\n", {"b": ["2", "x" * 200_000]}),
}


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("name", FILES)
def test_cells_are_the_texts_of_the_file(tmp_path, name):
    text, columns = FILES[name]
    table = read_table(written(tmp_path, text), "a table")
    for column, cells in columns.items():
        assert table[column].tolist() == cells
        assert [*dict.fromkeys(cells)] == list(table[column].cat.categories)[: len({*cells})]
    assert {*columns} <= {*table.columns}


def test_columns_are_read_whose_names_begin_as_the_pattern(tmp_path):
    path = written(tmp_path, b"a1,b,a2\n1,2,3\n" + b"1,2,3\n" * 5000 + b"4,\xff,6\n")
    table = read_table(path, "a table", needed=["b"], pattern="a")
    assert table.iloc[-1].to_dict() == {"a1": "4", "a2": "6"}


def test_many_rows_are_read_in_their_order(tmp_path):
    cells = [str(number % 40_000) for number in range(150_000)]
    table = read_table(written(tmp_path, "a\n" + "\n".join(cells)), "a table")
    assert table["a"].tolist() == cells


@pytest.mark.parametrize(
    ("text", "place", "found"),
    [
        ("", "row 1", "an empty file"),
        ("\na,b\n1,2\n", "row 1", "an empty file"),
        ("a,b\n", "row 1", "no row below it"),
        ("a,b\n\n1,2\n", "row 1", "no row below it"),
        ("a,c\n1,2\n", "row 1", "no column b"),
        ("a,b,a\n1,2,3\n", "row 1", "the column 'a' twice"),
        ('a,b\n1,"2\n', "the whole file", "no CSV (an odd number of quotation marks)"),
        ("a,b\n1,2\n3\n4,5\n", "row 3", "Expected 2 columns, got 1: 3"),
        ("a,b\n1,2,3\n", "row 2", "Expected 2 columns, got 3: 1,2,3"),
        ("a,b\n1,2\n\n\n3,4,5\n", "row 3", "Expected 2 columns, got 3: 3,4,5"),
        ('a,b\n"x\ny",1\n"p\nq",2,7\n', "row 3", 'Expected 2 columns, got 3: "p'),
        (f"a,b\n1,2\n{'é' * 75}", "row 3", f"Expected 2 columns, got 1: {'é' * 48} ..."),
        ("a,,b\n1,,2\n3,x,4\n", "row 3", "'x' in column 2, which has no name"),
        ("a,b\n,\n", "row 2", "no text in any row below the header"),
        (
            b"a,b\n" + b"1,2\n" * 5000 + b"\xff,4\n",
            "row 5002",
            "CSV conversion error to string: invalid UTF8 data",
        ),
    ],
)
def test_what_is_no_table_is_named(tmp_path, text, place, found):
    path = written(tmp_path, text)
    with pytest.raises(InputError) as raised:
        read_table(path, "a table", ["b"])
    assert str(raised.value) == f"{path}: {place}: expected a table, found {found}"
    assert raised.value.field == f"{path}: {place}"
    assert raised.value.found == found
    assert raised.value.expected == "a table"


def test_a_file_that_is_no_parquet_file_is_refused(tmp_path):
    path = written(tmp_path, "a,b\n1,2\n")
    with pytest.raises(InputError, match=r"mine.parquet: a Parquet file was expected \(") as raised:
        read_parquet(path, "mine.parquet")
    assert raised.value.field == "mine.parquet"
    assert raised.value.expected == "a Parquet file"


def test_wrong_format_says_where_and_what():
    error = wrong_format(Path("a.csv"), "row 3", "a number", "'x'")
    assert str(error) == "a.csv: row 3: expected a number, found 'x'"
    assert (error.field, error.found, error.expected) == ("a.csv: row 3", "'x'", "a number")


PROGRAM = """
import json, sys
from pathlib import Path

class Refuses:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ImportError("pyarrow is not installed")

if sys.argv[1] == "without":
    sys.meta_path.insert(0, Refuses())

from faceaudit.frames import Rows
from faceaudit.utils.errors import InputError

def measures(rows, column):
    try:
        return repr(rows.measures(column))
    except InputError as error:
        return str(error)

for name in sys.argv[2:]:
    try:
        rows = Rows.read(name)
    except InputError as error:
        print(error, "|", error.expected, file=sys.stderr)
        continue
    texts = {column: rows.texts(column).tolist() for column in rows.frame}
    numbers = {column: measures(rows, column) for column in rows.frame}
    print(json.dumps([rows.frame.to_dict("list"), rows.as_written.to_dict("list"), texts, numbers]))
"""


def test_without_pyarrow_csv_files_read_alike_and_parquet_says_what_to_install(tmp_path):
    for number, (name, (text, _)) in enumerate(FILES.items()):
        if "missing" not in name and "empty" not in name:
            (tmp_path / f"{number}.csv").write_bytes(text.encode())
    numbers = "number 1,number 2\n1.50,1\n2.0,\u0662.0\n7,2\n2.00\x0b,3.0\n"
    (tmp_path / "numbers.csv").write_text(numbers, encoding="utf-8")
    (tmp_path / "mine.parquet").write_bytes(b"PAR1")
    paths = [str(path) for path in sorted(tmp_path.iterdir())]
    outputs = {}
    for mode in ("with", "without"):
        command = [sys.executable, "-c", PROGRAM, mode, *paths]
        outputs[mode] = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", check=False
        )
        assert outputs[mode].returncode == 0, outputs[mode].stderr
    assert outputs["with"].stdout == outputs["without"].stdout
    assert len(outputs["with"].stdout.splitlines()) == len(paths) - 1
    assert "mine.parquet: pyarrow, which reads Parquet files, is not installed; install it " in (
        outputs["without"].stderr
    )
