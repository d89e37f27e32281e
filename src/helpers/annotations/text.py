"""Text files read record by record, so that messages can name the place.

No file is held as a whole: memory is that of a block of text, or of the longest record. The readers
of chapters 3, 6 and 16 use it.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from helpers.annotations.fast_json import undoubted


class _Refused(ValueError):
    """JSON that a program might read in one way and another program in another."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's content, in which no name stands twice."""
    content = dict(pairs)
    if len(content) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise _Refused(f"{twice[:_SHOWN]!r} twice in one object")
    return content


csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # an image may stand in a cell, as a data URL
UNWRITABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and halves of characters, which files do not keep."""
_BLANKS = re.compile(r"\s*")
_DECODER = json.JSONDecoder(object_pairs_hook=_once)
_SHOWN = 40
"""Characters of what was found that a message shows."""
_BLOCK = 2**20
"""Characters read at a time."""
_LONGEST_TOKEN = 16
"""JSON's numbers and names may be cut off this far before the place where the decoder notices."""


@contextmanager
def opened(path: Path, expected: str) -> Iterator[TextIO]:
    """Open a UTF-8 file, with or without byte order mark, to read it from its beginning.

    Yields:
        The stream; line ends are those of the file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the path cannot be one; there is nothing but blanks; or, while it is read, the
            bytes are not UTF-8.
    """
    require_path(path)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        try:
            if not first_character(stream):
                raise wrong_format(path, 1, expected, "an empty file")
            yield stream
        except UnicodeDecodeError:
            found = "bytes that are not UTF-8 text"
            raise wrong_format(path, _line_not_text(path), expected, found) from None


def require_path(path: Path) -> None:
    """Raise a ValueError for what no file can be called, on no system."""
    try:
        bad = b"\0" in os.fsencode(path)
    except UnicodeEncodeError:  # half a character
        bad = True
    if bad:
        raise ValueError(f"{str(path)!r} is no path: it has a character that no path can have")


def require_writable(values: pd.Series) -> None:
    """Raise a ValueError for the first name that a file would not give back as it is."""
    for value in values.unique():
        name = value if isinstance(value, str) else str(value)
        if pd.isna(value) or not name.strip() or name != name.strip() or UNWRITABLE.search(name):
            row = int((values.isna() if pd.isna(value) else values == value).argmax())
            raise ValueError(
                f"{values.name}: row {row}: a name without control characters, halves of "
                f"characters and blanks at its ends was expected, not {name[:_SHOWN]!r}"
            )


def first_character(stream: TextIO) -> str:
    """The first character that is not blank, or "" without one; the stream is at its beginning."""
    stream.seek(0)
    first = ""
    while not first and (block := stream.read(_BLOCK)):
        first = block.lstrip()[:1]
    stream.seek(0)
    return first


def json_records(path: Path, stream: TextIO, expected: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number, record) of every object in a JSON list of objects, counted from 1.

    Several lists, one after the other, are exports that were joined by `cat`: all are read. A list
    alone is read fast, as far as nothing in it is doubtful.

    Raises:
        ValueError: the text is no such list, or goes on behind it; names the file and the line.
    """
    number = 0
    for number, record in enumerate(undoubted(path), start=1):
        if record is None:
            break
        yield number, record
    else:
        if number:
            return
    yield from islice(strict_records(path, stream, expected), max(number - 1, 0), None)


def strict_records(
    path: Path, stream: TextIO, expected: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """As `json_records`, of which this is the slow part, with the place of whatever is wrong."""
    text, found, number = _Window(stream), "no JSON list", 0
    while first := text.next():
        if first != "[":
            raise wrong_format(path, text.line(), expected, found)
        text.position += 1
        for record in _of_list(path, text, expected):
            number += 1
            yield number, record
        text.position += 1
        found = "text after the end of the list"


def _of_list(path: Path, text: _Window, expected: str) -> Iterator[dict[str, Any]]:
    """Records up to the bracket that ends the list."""
    while text.next() != "]":
        line = text.line()
        try:
            record = text.decode()
        except json.JSONDecodeError as error:
            at = text.line(error.pos)
            raise wrong_format(path, at, expected, f"no JSON ({error.msg})") from None
        except ValueError as error:
            raise wrong_format(path, line, expected, str(error)) from None
        if not isinstance(record, dict):
            raise wrong_format(path, line, expected, f"a JSON {type(record).__name__}")
        yield record
        if text.next() == ",":
            text.position += 1
            if text.next() == "]":
                raise wrong_format(path, text.line(), expected, "a comma before the end of a list")
        elif text.next() != "]":
            found = "a list that does not go on or end here"
            raise wrong_format(path, text.line(), expected, found)


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
        value, end = _DECODER.raw_decode(text, position)
        # An escape is the only way to write a surrogate.
        if text.find("\\u", position, end) >= 0:
            json.dumps(value, ensure_ascii=False).encode()
    except (json.JSONDecodeError, _Refused):
        raise
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("half a character (a lone surrogate)") from None
    except ValueError:  # the one other that the decoder raises, see sys.set_int_max_str_digits
        raise ValueError("an integer of thousands of digits") from None
    return value, end


class _Window:
    """The part of a text that is being decoded; what lies before `position` may be forgotten."""

    def __init__(self, stream: TextIO) -> None:
        self.position = 0
        self._stream, self._text = stream, ""
        self._counted, self._line = 0, 1  # lines are counted up to a place, and how many they are

    def next(self) -> str:
        """Move to the next character that is not blank; "" at the end of the text."""
        while True:
            self.position = _BLANKS.match(self._text, self.position).end()
            if self.position < len(self._text):
                return self._text[self.position]
            if not self._more():
                return ""

    def decode(self) -> Any:
        """The JSON value at `position`, which moves behind it.

        Raises:
            ValueError: as `_decode`; with the place in the window, where it is no JSON.
        """
        while True:
            try:
                value, self.position = _decode(self._text, self.position)
                return value
            except json.JSONDecodeError as error:
                near_end = error.pos > len(self._text) - _LONGEST_TOKEN
                cut_off = near_end or error.msg.startswith("Unterminated string")
                if not (cut_off and self._more()):
                    raise

    def line(self, position: int | None = None) -> int:
        """Number of the line of `position`, or of a later place in the window."""
        position = self.position if position is None else position
        self._line += self._text.count("\n", self._counted, position)
        self._counted = position
        return self._line

    def _more(self) -> bool:
        """Forget what is done and read on; False at the end of the file."""
        # As much again as is waiting: a record of many blocks is not decoded once for each.
        block = self._stream.read(max(_BLOCK, len(self._text) - self.position))
        if block:
            self.line()
            self._text, self.position = self._text[self.position :] + block, 0
            self._counted = 0
        return bool(block)


def csv_rows(
    path: Path, stream: TextIO, expected: str, left_out: Sequence[str] = (), unique: bool = True
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Header, and (row, cells) of every row; blank lines are passed over.

    Rows are counted as a spreadsheet counts them: the header is row 1. A header with a tab is that
    of a table whose cells are parted by tabs.

    Args:
        path: of the file, for messages.
        stream: at its beginning.
        expected: what the file should be.
        left_out: last names of the header that no row may have a cell for.
        unique: no two columns may have one name.

    Raises:
        ValueError: the text is no CSV, a row has another number of cells than the header, or two
            columns one name although they must not; names the file and the row.
    """
    delimiter = "\t" if "\t" in stream.readline() else ","
    stream.seek(0)
    rows = _csv_rows(path, stream, expected, delimiter)
    _, header = next(rows)
    if unique and len(set(header)) < len(header):
        repeated = min(name for name, count in Counter(header).items() if count > 1)
        found = f"the column {repeated[:_SHOWN]!r} more than once"
        raise wrong_format(path, "row 1", expected, found)
    first = next(rows, None)
    ends = len(header) - len(left_out)
    if first is not None and left_out and header[ends:] == list(left_out):
        header = header[: len(first[1])] if len(first[1]) == ends else header

    def checked() -> Iterator[tuple[int, list[str]]]:
        for row, cells in rows if first is None else chain([first], rows):
            if len(cells) != len(header):
                found = f"{len(cells)} cells under {len(header)} column names"
                raise wrong_format(path, f"row {row}", expected, found)
            yield row, cells

    return header, checked()


def _csv_rows(
    path: Path, stream: TextIO, expected: str, delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    reader, row = csv.reader(stream, strict=True, delimiter=delimiter), 0
    try:
        for row, cells in enumerate(reader, start=1):
            if cells:
                yield row, cells
    except csv.Error as error:
        raise wrong_format(path, f"row {row + 1}", expected, f"no CSV ({error})") from None


def _line_not_text(path: Path) -> int:
    """Number of the first line that is not UTF-8."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    raise ValueError(f"{path} is UTF-8 text")


def wrong_format(path: Path, place: int | str, expected: str, found: str) -> ValueError:
    """The error for a file that is not of the format; a number as a place is that of a line."""
    place = place if isinstance(place, str) else f"line {place}"
    return ValueError(f"{path}: {place}: expected {expected}, found {found}")
