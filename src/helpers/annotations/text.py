"""Text files read with the line of every record, so that messages can name it.

The readers of chapters 3, 6 and 16 use it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

_BLANKS = re.compile(r"\s*")


def read_text(path: Path, expected: str) -> str:
    """Content of a UTF-8 file, with or without byte order mark.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the bytes are not UTF-8, or there is nothing but blanks.
    """
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise wrong_format(path, line, expected, "bytes that are not UTF-8 text") from None
    if not text.strip():
        raise wrong_format(path, 1, expected, "an empty file")
    return text


def json_records(path: Path, text: str, expected: str) -> list[tuple[int, dict[str, Any]]]:
    """(line, record) of every object in a JSON list of objects.

    Raises:
        ValueError: the text is no such list; names the file and the line.
    """
    decoder, records = json.JSONDecoder(), []
    line, counted, position = 1, 0, _skip(text, 0)
    if text[position] != "[":
        raise wrong_format(path, 1, expected, "no JSON list")
    position = _skip(text, position + 1)
    while not text.startswith("]", position):
        line, counted = line + text.count("\n", counted, position), position
        try:
            record, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise wrong_format(path, error.lineno, expected, f"no JSON ({error.msg})") from None
        if not isinstance(record, dict):
            raise wrong_format(path, line, expected, f"a JSON {type(record).__name__}")
        records.append((line, record))
        position = _skip(text, position)
        if text.startswith(",", position):
            position = _skip(text, position + 1)
        elif not text.startswith("]", position):
            at = text.count("\n", 0, position) + 1
            raise wrong_format(path, at, expected, "a list that does not go on or end here")
    return records


def _skip(text: str, position: int) -> int:
    """Position of the next character that is not blank."""
    return _BLANKS.match(text, position).end()


def csv_rows(path: Path, text: str, expected: str) -> tuple[list[str], list[list[str]], list[int]]:
    """Header, rows and the line each row ends on; blank lines are passed over.

    Raises:
        ValueError: the text is no CSV, a row has another number of cells than the header, or two
            columns one name; names the file and the line.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        (_, header), *records = [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        raise wrong_format(path, reader.line_num, expected, f"no CSV ({error})") from None
    if repeated := sorted({name for name in header if header.count(name) > 1}):
        raise wrong_format(path, 1, expected, f"the column {repeated[0]!r} more than once")
    for line, cells in records:
        if len(cells) != len(header):
            found = f"{len(cells)} cells under {len(header)} column names"
            raise wrong_format(path, line, expected, found)
    return header, [cells for _, cells in records], [line for line, _ in records]


def wrong_format(path: Path, line: int, expected: str, found: str) -> ValueError:
    """The error for a file that is not of the format at all."""
    return ValueError(f"{path}: line {line}: expected {expected}, found {found}")
