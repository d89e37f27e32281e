"""Tables as they come, and the sentences that say what is wrong in them.

Serves chapter 20.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

EMPTY = ""


def read_table(table: str | Path | pd.DataFrame, source: str) -> pd.DataFrame:
    """A table whose rows are counted as a spreadsheet does: the header is row 1.

    Serves chapter 20.

    Args:
        table: a `.csv` or `.parquet` file, or a frame.
        source: its name in messages.

    Returns:
        The rows; of a `.csv` as text, with None for an empty cell.

    Raises:
        ValueError: no such table, one that cannot be read, or one without rows.

    Example:
        >>> read_table(pd.DataFrame({"score": [0.5]}), "faces.csv").index.tolist()
        [2]
    """
    if isinstance(table, pd.DataFrame):
        frame = table.reset_index(drop=True)
    elif not Path(table).is_file():
        raise ValueError(f"{source}: no such table; the path is relative to the audit file")
    elif Path(table).suffix == ".parquet":
        frame = pd.read_parquet(table)
    elif Path(table).suffix == ".csv":
        try:
            # An empty cell is no answer, but the word "nan" is a fault of what wrote it.
            frame = pd.read_csv(table, dtype=str, keep_default_na=False, encoding="utf-8-sig")
        except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise ValueError(f"{source}: no table of comma-separated values ({error})") from None
        frame = frame.apply(lambda column: column.str.strip()).replace(EMPTY, None)
    else:
        raise ValueError(f"{source}: a .csv or .parquet file was expected")
    if frame.empty:
        raise ValueError(f"{source}: the table has no rows")
    return frame.set_axis(range(2, len(frame) + 2))


def require_named(raw: pd.DataFrame, needed: Sequence[str], source: str) -> None:
    """Raise ValueError where a table lacks a column that the audit file names.

    Serves chapter 20.

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

    Serves chapter 20.

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
        found = values[first]
        shown = "empty" if pd.isna(found) else repr(found)
        number = f" ({more} such rows)" if more > 1 else ""
        raise ValueError(
            f"{source}: column {values.name!r}, row {first} is {shown}, {expected} was expected"
            f"{number}"
        )


def coded(values: pd.Series, names: Sequence[str]) -> pd.Series:
    """Cells that say 0 or 1, or name one of two things, as numbers.

    Serves chapter 20.

    Args:
        values: of a column.
        names: of what 0 and 1 stand for.

    Returns:
        0.0 and 1.0, NaN for everything else.

    Example:
        >>> coded(pd.Series(["dark", 0, "grey"]), ("light", "dark")).tolist()
        [1.0, 0.0, nan]
    """
    code = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, names[0]: 0.0, names[1]: 1.0}
    return values.astype(str).str.strip().map(code)


def as_levels(values: pd.Series, names: Sequence[str], source: str) -> pd.Series:
    """Levels 0 and 1 of an axis, given as such or by their names.

    Serves chapter 20.

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
    found = coded(values, names)
    refuse_rows(found.isna(), values, source, f"{names[0]!r} (0) or {names[1]!r} (1)")
    return found.astype(int)
