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

    Several lists, one after the other, are exports that were joined by `cat`: all are read.

    Raises:
        ValueError: the text is no such list; names the file and the line.
    """
    records: list[tuple[int, dict[str, Any]]] = []
    line, counted, position = 1, 0, _skip(text, 0)
    while position < len(text):
        line, counted = line + text.count("\n", counted, position), position
        if text[position] != "[":
            found = "text after the end of the list" if records else "no JSON list"
            raise wrong_format(path, line, expected, found)
        position = _skip(text, position + 1)
        while not text.startswith("]", position):
            line, counted = line + text.count("\n", counted, position), position
            record, position = _json_record(path, text, position, line, expected)
            records.append((line, record))
            position = _next_record(path, text, position, expected)
        position = _skip(text, position + 1)
    return records


def _json_record(
    path: Path, text: str, position: int, line: int, expected: str
) -> tuple[dict[str, Any], int]:
    """The object at a position, and the position behind it."""
    try:
        record, end = _decode(text, position)
    except json.JSONDecodeError as error:
        raise wrong_format(path, error.lineno, expected, f"no JSON ({error.msg})") from None
    except ValueError as error:
        raise wrong_format(path, line, expected, str(error)) from None
    if not isinstance(record, dict):
        raise wrong_format(path, line, expected, f"a JSON {type(record).__name__}")
    return record, end


def _next_record(path: Path, text: str, position: int, expected: str) -> int:
    """Position of the next record of a list, or of the bracket that ends it."""
    position = _skip(text, position)
    if text.startswith(",", position):
        return _skip(text, position + 1)
    if not text.startswith("]", position):
        line = text.count("\n", 0, position) + 1
        raise wrong_format(path, line, expected, "a list that does not go on or end here")
    return position


def json_cell(cell: str) -> Any:
    """Content of a table's cell that holds one JSON value.

    Raises:
        ValueError: it holds something else, or JSON that is refused in a file, too.
    """
    text = cell.strip()
    value, end = _decode(text, 0)
    if end < len(text):
        raise ValueError("text after the JSON value")
    return value


def _decode(text: str, position: int) -> tuple[Any, int]:
    """The JSON value at a position, and the position behind it.

    Raises:
        ValueError: it is no JSON (`json.JSONDecodeError`), or has what cannot be held here or
            written to a file again; the message says what.
    """
    try:
        value, end = json.JSONDecoder().raw_decode(text, position)
        if "\\ud" in text[position:end].lower():  # an escape is the only way to write a surrogate
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("half a character (a lone surrogate)") from None
    except ValueError:  # the one other that the decoder raises, see sys.set_int_max_str_digits
        raise ValueError("an integer of thousands of digits") from None
    return value, end


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
