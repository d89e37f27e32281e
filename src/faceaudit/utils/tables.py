"""Tables in files: CSV as programs write it, whose cells are texts, and Parquet."""

import csv
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np
import pandas as pd

from faceaudit.utils.errors import InputError, missing_in_header

csv.field_size_limit(2**31 - 1)  # an image may stand in a cell, as a data URL

_ROWS_AT_A_TIME = 2**14
"""Rows that are held as lists of texts; what is read already is held as numbers of texts."""
_LONGEST_EXCERPT = 100
"""Bytes of a row that are quoted in full in a message."""


class _RowError(Exception):
    """A row that does not fit, and what is wrong with it."""

    def __init__(self, row: int, found: str) -> None:
        super().__init__(row, found)
        self.row = row
        self.found = found


def read_table(
    path: Path, expected: str, needed: Iterable[str] = (), pattern: str = ""
) -> pd.DataFrame:
    """The cells of a CSV file, or of one whose cells are parted by tabs, as categories of texts.

    Columns are read whose names match the pattern. Left out are names at the end of the header that
    no row has a cell for, columns without a name before the first name (programs write
    row numbers there) or without a text in any cell, and rows at the end without any text.

    Args:
        path: of the file.
        expected: the format in words, for messages.
        needed: names of columns that the file must have.
        pattern: a regular expression that the names of columns to read begin with; by default all
            columns are read.

    Returns:
        A row for each row below the header, counted from 0; rows without any cell do not count.
        Every column is categorical. Its categories are the different texts, in the order in which
        they occur; a cell without a text is "".

    Raises:
        InputError: the text is no such table, a row has another number of cells than the others, a
            column occurs twice or one that is needed is missing; names the file and the row. A
            column without a name, behind the first name, has a text in some cell.
    """
    try:
        header, first, delimiter = _first_rows(path)
    except (csv.Error, UnicodeDecodeError) as error:
        raise wrong_format(path, "row 1", expected, f"no CSV ({error})") from None
    names, nameless = _named_columns(header)
    if faults := _faults_of_header(names, first, needed):
        raise wrong_format(path, "row 1", expected, faults[0])
    if _count_quotes(path) % 2:
        odd = "no CSV (an odd number of quotation marks)"
        raise wrong_format(path, "the whole file", expected, odd)
    names = names[: len(first)]
    nameless = [name for name in nameless if name in names]
    columns = [name for name in names if name in nameless or re.match(pattern, name)]
    try:
        table = _read_cells(path, delimiter, names, columns)
    except _RowError as error:
        raise wrong_format(path, f"row {error.row}", expected, error.found) from None
    table = _without_empty_rows_at_end(table)
    if table.empty:
        raise wrong_format(path, "row 2", expected, "no text in any row below the header")
    for name in nameless[_leading(names, nameless) :]:
        filled = np.flatnonzero(_has_text(table[name]))
        if filled.size:
            text = f"{table[name].iloc[filled[0]]!r:.60} in {name}"
            raise wrong_format(path, f"row {filled[0] + 2}", expected, text)
    return table.drop(columns=nameless)


def _first_rows(path: Path) -> tuple[list[str], list[str], str]:
    """The header, the row below it, and the mark that parts their cells."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        delimiter = "\t" if "\t" in stream.readline() else ","
        stream.seek(0)
        rows = csv.reader(stream, delimiter=delimiter)
        header = next(rows, [])
        first = next(rows, [])
    return header, first, delimiter


def _named_columns(header: list[str]) -> tuple[list[str], list[str]]:
    """A header in which every column has a name, and the names of those that had none."""
    names = []
    nameless = []
    for number, name in enumerate(header, start=1):
        if name.strip():
            names.append(name)
        else:
            nameless.append(f"column {number}, which has no name")
            names.append(nameless[-1])
    return names, nameless


def _faults_of_header(names: list[str], first: list[str], needed: Iterable[str]) -> list[str]:
    """What is wrong with the names of columns, or with the row below them, if anything."""
    if not names:
        return ["an empty file"]
    faults = [missing_in_header(name) for name in needed if name not in names]
    faults += [f"the column {name!r} twice" for name in names if names.count(name) > 1]
    if not first:
        faults.append("no row below it")
    return faults


def _count_quotes(path: Path) -> int:
    """How many quotation marks a file has."""
    with path.open("rb") as stream:
        return sum(part.count(b'"') for part in iter(partial(stream.read, 2**24), b""))


def _read_cells(path: Path, delimiter: str, names: list[str], columns: list[str]) -> pd.DataFrame:
    """The cells below the header, of some of the columns.

    Texts of columns that are not read need not be UTF-8.

    Args:
        path: of the file.
        delimiter: the mark between cells.
        names: of all columns.
        columns: names of those to read.

    Raises:
        _RowError: a row with another number of cells, or with a text that is not UTF-8.
    """
    places = {name: names.index(name) for name in columns}
    codes_of = {name: array("i") for name in columns}  # of every cell the number of its text
    texts_of: dict[str, dict[str, int]] = {name: {} for name in columns}  # text → its number
    with _open_text(path) as stream:
        reader = csv.reader(stream, delimiter=delimiter)
        next(reader)  # the header
        while chunk := list(islice(reader, _ROWS_AT_A_TIME)):
            lengths = set(map(len, chunk))
            if lengths - {0, len(names)}:
                raise _first_row_error(path, delimiter, len(names))
            rows = [row for row in chunk if row]  # without empty lines
            for name in columns:
                place = places[name]
                numbers = texts_of[name]
                codes_of[name].extend(
                    [numbers.setdefault(row[place], len(numbers)) for row in rows]
                )
    table = {}
    for name in columns:
        codes = np.frombuffer(codes_of[name], np.int32)
        texts = list(texts_of[name])
        _require_utf8(texts, codes)
        table[name] = pd.Categorical.from_codes(codes, pd.Index(texts, dtype="str"))
    return pd.DataFrame(table)


def _open_text(path: Path) -> TextIO:
    """Open a file whose bytes, where they are not UTF-8, are kept as surrogates."""
    return path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")


def _first_row_error(path: Path, delimiter: str, cells: int) -> _RowError:
    """The error for the first row with another number of cells, with an excerpt of its text."""
    lines = []

    def recorded(stream: Iterable[str]) -> Iterator[str]:
        for line in stream:
            lines.append(line)
            yield line

    with _open_text(path) as stream:
        reader = csv.reader(recorded(stream), delimiter=delimiter)
        number = 0  # of the row; empty lines do not count
        for row in reader:
            if row:
                number += 1
                if number > 1 and len(row) != cells:
                    break
            lines.clear()
    excerpt = _excerpt("".join(lines))
    return _RowError(number, f"Expected {cells} columns, got {len(row)}: {excerpt}")


def _excerpt(text: str) -> str:
    """The first line of a row, shortened where the row is long."""
    row = text.rstrip("\r\n").encode("utf-8", "surrogateescape")
    if len(row) > _LONGEST_EXCERPT:
        row = row[: _LONGEST_EXCERPT - 4] + b" ..."
    return row.decode("utf-8", "ignore").split("\n")[0]


def _require_utf8(texts: Sequence[str], codes: np.ndarray) -> None:
    """Raise _RowError for the first text with bytes that are not UTF-8.

    Args:
        texts: the different texts of a column.
        codes: of every row below the header the number of its text.
    """
    for number, text in enumerate(texts):
        try:
            text.encode()
        except UnicodeEncodeError:
            row = int(np.flatnonzero(codes == number)[0]) + 2
            raise _RowError(row, "CSV conversion error to string: invalid UTF8 data") from None


def _without_empty_rows_at_end(table: pd.DataFrame) -> pd.DataFrame:
    """Rows up to the last one with a text in some cell; spreadsheets write more."""
    if table.empty or any(str(value).strip() for value in table.iloc[-1]):
        return table
    filled = pd.concat([_has_text(table[name]) for name in table], axis=1).any(axis=1)
    filled_rows = np.flatnonzero(filled)
    return table.iloc[: filled_rows[-1] + 1] if filled_rows.size else table.iloc[:0]


def _has_text(cells: pd.Series) -> pd.Series:
    """Whether a cell of a column has a text."""
    empty = [text for text in cells.cat.categories if not text.strip()]
    return ~cells.isin(empty)


def _leading(names: Sequence[str], nameless: Sequence[str]) -> int:
    """How many columns without a name stand before the first name."""
    for number, name in enumerate(names):
        if name not in nameless:
            return number
    return 0


def read_parquet(path: Path, source: str) -> pd.DataFrame:
    """The table in a Parquet file.

    Args:
        path: of the file.
        source: its name in messages.

    Raises:
        InputError: the file is no Parquet file, or pyarrow, which reads them, is not installed.
    """
    try:
        return pd.read_parquet(path)
    except ImportError:
        raise InputError(
            f"{source}: pyarrow, which reads Parquet files, is not installed; install it "
            "(pip install pyarrow), or give the table as a .csv file",
            field=source,
            expected="pyarrow, or a .csv file",
        ) from None
    except ValueError as error:  # those of pyarrow are, and they do not name the file
        raise InputError(
            f"{source}: a Parquet file was expected ({error})",
            field=source,
            found=str(error),
            expected="a Parquet file",
        ) from None


def wrong_format(path: str | Path, place: str, expected: str, found: str) -> InputError:
    """The error for a file that is not of the format.

    Args:
        path: of the file.
        place: of the fault in it, such as "row 3".
        expected: what should stand there, in words.
        found: what stands there, in words.
    """
    return InputError(
        f"{path}: {place}: expected {expected}, found {found}",
        field=f"{path}: {place}",
        found=found,
        expected=expected,
    )
