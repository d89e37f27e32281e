"""Tables of text from CSV files as programs write them."""

import csv
import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

_TEXTS = pa.dictionary(pa.int32(), pa.string())


def read_table(
    path: Path, expected: str, needed: Iterable[str] = (), wanted: str = ""
) -> pd.DataFrame:
    """The cells of a CSV file, or of one whose cells are parted by tabs, as categories of texts.

    Columns are read whose names begin as the pattern `wanted`. Left out are names at the end of the
    header that no row has a cell for, columns without a name before the first name (programs write
    row numbers there) or without a text in any cell, and rows at the end without any text.

    Raises:
        ValueError: the text is no such table, a row has another number of cells than the others, a
            column occurs twice or one that is needed is missing; names the file and the row. A
            column without a name, behind the first name, has a text in some cell.
    """
    row, found = "row 1", ""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            mark = "\t" if "\t" in stream.readline() else ","
            stream.seek(0)
            rows = csv.reader(stream, delimiter=mark)
            header, first = next(rows, []), next(rows, [])
        header, nameless = _named_columns(header)
        lacking = [f"no column {name}" for name in needed if name not in header]
        twice = [f"the column {name!r} twice" for name in header if header.count(name) > 1]
        short = "an empty file" * (not header) or "no row below it" * (not first)
        found = [*lacking * bool(header), *twice, short][0]
        names = header[: len(first) or None]
        nameless = [name for name in nameless if name in names]
        text = {name: _TEXTS for name in names if name in nameless or re.match(wanted, name)}
        with path.open("rb") as stream:
            marks = sum(part.count(b'"') for part in iter(partial(stream.read, 2**24), b""))
        if not found and marks % 2 == 0:
            one_thread = {"use_threads": False, "block_size": 2**24}  # which counts rows
            table = pa.csv.read_csv(
                path,
                pa.csv.ReadOptions(column_names=names, skip_rows=1, **one_thread),
                pa.csv.ParseOptions(delimiter=mark, newlines_in_values=True),
                pa.csv.ConvertOptions(column_types=text, include_columns=[*text]),
            ).to_pandas()
            table = _without_empty_rows_at_end(table)
            behind = nameless[_leading(names, nameless) :]
            row, found = _text_without_name(table, behind)
            if not found:
                return table.drop(columns=nameless) if nameless else table
        else:
            row = row if found else "the whole file"
            found = found or "no CSV (an odd number of quotation marks)"
    except (csv.Error, UnicodeDecodeError, pa.ArrowInvalid) as error:
        told = re.search(r"Row #(\d+): (.*)", str(error))
        row, found = (f"row {told[1]}", told[2]) if told else (row, f"no CSV ({error})")
    raise wrong_format(path, row, expected, found)


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


def _without_empty_rows_at_end(table: pd.DataFrame) -> pd.DataFrame:
    """Rows up to the last one with a text in some cell; spreadsheets write more."""
    if table.empty or any(str(value).strip() for value in table.iloc[-1]):
        return table
    filled = pd.concat([_filled(table[name]) for name in table], axis=1).any(axis=1)
    return table.iloc[: np.flatnonzero(filled)[-1] + 1 if filled.any() else 0]


def _filled(cells: pd.Series) -> pd.Series:
    """Whether a cell of a column has a text."""
    empty = [text for text in cells.cat.categories if not text.strip()]
    return cells.notna() & ~cells.isin(empty)


def _leading(names: Sequence[str], nameless: Sequence[str]) -> int:
    """How many columns without a name stand before the first name."""
    for number, name in enumerate(names):
        if name not in nameless:
            return number
    return 0


def _text_without_name(table: pd.DataFrame, nameless: Sequence[str]) -> tuple[str, str]:
    """The place and the text of the first cell with one in columns without a name, if any."""
    if table.empty:
        return "row 2", "no text in any row below the header"
    for name in nameless:
        filled = _filled(table[name])
        if filled.any():
            row = np.flatnonzero(filled)[0]
            return f"row {row + 2}", f"{table[name].iloc[row]!r:.60} in {name}"
    return "", ""


def wrong_format(path: Path, place: str, expected: str, found: str) -> ValueError:
    """The error for a file that is not of the format."""
    return ValueError(f"{path}: {place}: expected {expected}, found {found}")
