"""Tables as they come, and the sentences that say what is wrong in them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

EMPTY = ""


def read_table(table: str | Path | pd.DataFrame, source: str) -> pd.DataFrame:
    """A table whose rows are counted as a spreadsheet does: the header is row 1.

    Args:
        table: a `.csv` or `.parquet` file, or a frame.
        source: its name in messages.

    Returns:
        The rows; of a `.csv` as text, with None for an empty cell.

    Raises:
        ValueError: no such table, one that cannot be read, one without rows, two columns of one
            name, or a row that is shorter or longer than the header.

    Example:
        >>> read_table(pd.DataFrame({"score": [0.5]}), "faces.csv").index.tolist()
        [2]
    """
    if isinstance(table, pd.DataFrame):
        frame = table.set_axis(range(2, len(table) + 2))
    elif not Path(table).is_file():
        raise ValueError(f"{source}: no such table; the path is relative to the audit file")
    elif Path(table).suffix == ".parquet":
        with pq.ParquetFile(table) as file:  # pandas would take no table with two columns of a name
            frame = file.read().to_pandas()
        frame = frame.set_axis(range(2, len(frame) + 2))
    elif Path(table).suffix == ".csv":
        frame = _comma_separated(Path(table), source)
    else:
        raise ValueError(f"{source}: a .csv or .parquet file was expected")
    if frame.empty:
        raise ValueError(f"{source}: the table has no rows")
    doubled = frame.columns[frame.columns.duplicated()]
    if len(doubled):
        raise ValueError(f"{source}: two columns are named {doubled[0]!r}; rename or remove one")
    return frame


def _comma_separated(table: Path, source: str) -> pd.DataFrame:
    """A table as text; pandas would fill a row that was cut, and rename a second column."""
    try:
        with table.open(newline="", encoding="utf-8-sig") as file:
            lines = enumerate(csv.reader(file, strict=True), 1)
            rows = {number: row for number, row in lines if "".join(row).strip()}
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(
            f"{source}: no table of comma-separated values in UTF-8 ({error})"
        ) from None
    header = [name.strip() for name in rows.pop(min(rows, default=0), [])]
    other = next((one for one in ";\t" if one in "".join(header)), None)
    if len(header) == 1 and other:
        raise ValueError(f"{source}: columns are separated by {other!r}, commas were expected")
    for number, row in rows.items():
        if len(row) != len(header):
            raise ValueError(
                f"{source}: row {number} has {len(row)} cells, {len(header)} were expected"
            )
    frame = pd.DataFrame([*rows.values()], [*rows], header, dtype="str")
    # A column without a name, such as one of row numbers, is of no use.
    frame = frame.loc[:, frame.columns != ""]
    # An empty cell is no answer, but the word "nan" is a fault of what wrote it.
    return frame.apply(lambda column: column.str.strip()).replace(EMPTY, None)


def require_named(raw: pd.DataFrame, needed: Sequence[str], source: str) -> None:
    """Raise ValueError where a table lacks a column that the audit file names.

    Args:
        raw: the table.
        needed: names of columns.
        source: of the table.

    Example:
        >>> require_named(pd.DataFrame({"score": [0.5]}), ["score"], "faces.csv")
    """
    missing = [name for name in needed if name not in raw.columns]
    if missing:
        raise ValueError(
            f"{source}: no column {', '.join(map(repr, missing))}; it has "
            f"{', '.join(map(str, raw.columns))}; the names are set under columns and axes"
        )


def refuse_rows(bad: pd.Series, values: pd.Series, source: str, expected: str) -> None:
    """Raise the ValueError that names the first bad value of a column, if any.

    Args:
        bad: which rows are.
        values: of the column.
        source: of the table.
        expected: what should stand there.

    Example:
        >>> values = pd.Series([0.5], [2], name="score")
        >>> refuse_rows(values > 1, values, "faces.csv", "a score from 0 to 1")
    """
    if bad.any():
        first, more = bad.idxmax(), int(bad.sum())
        found = values[bad].tolist()[0]
        shown = "empty" if pd.isna(found) else repr(found)
        number = f" ({more} such rows)" if more > 1 else ""
        raise ValueError(
            f"{source}: column {values.name!r}, row {first} is {shown}, {expected} was expected"
            f"{number}"
        )


def coded(values: pd.Series, names: Sequence[str], source: str, expected: str = "{}") -> pd.Series:
    """Cells that say 0 or 1, or name one of two things, as numbers; names come before codes.

    Args:
        values: of a column.
        names: of what 0 and 1 stand for.
        source: of the table.
        expected: what should stand there, with a place for names and codes.

    Returns:
        0.0 and 1.0, NaN for an empty cell.

    Raises:
        ValueError: a cell that says something else.

    Example:
        >>> coded(pd.Series(["dark", 0, None]), ("light", "dark"), "faces.csv").tolist()
        [1.0, 0.0, nan]
    """
    codes = _codes(names)
    code = {f"{one}.0": level % 2.0 for level, one in enumerate([*codes, *names])}
    code |= dict(zip([*codes, *names], (0.0, 1.0, 0.0, 1.0), strict=True))
    found = values.astype(str).str.strip().map(code)
    refuse_rows(found.isna() & values.notna(), values, source, expected.format(_either(names)))
    return found


def _either(names: Sequence[str]) -> str:
    """What a cell may say of two things."""
    codes = zip(names, _codes(names), strict=True)
    return " or ".join(f"{name!r}" + f" ({code})" * (code != name) for name, code in codes)


def _codes(names: Sequence[str]) -> Sequence[str]:
    """What stands for two names besides; if one of them is "0" or "1" itself, only the names."""
    plain = [name.removesuffix(".0") for name in names]
    return plain if {"0", "1"} & {*plain} else ("0", "1")


def as_levels(values: pd.Series, names: Sequence[str], source: str) -> pd.Series:
    """Levels 0 and 1 of an axis, given as such or by their names.

    Args:
        values: of a column.
        names: of the low and the high level.
        source: of the table.

    Returns:
        0 and 1.

    Raises:
        ValueError: a value that is neither.

    Example:
        >>> as_levels(pd.Series(["dark", "0"]), ("light", "dark"), "faces.csv").tolist()
        [1, 0]
    """
    refuse_rows(values.isna(), values, source, _either(names))
    return coded(values, names, source).astype(int)
