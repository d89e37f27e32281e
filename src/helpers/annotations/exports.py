"""What readers of exports share: assignments as they stand in a file, image names, people, times.

Tools change the names of images on the way: a server puts eight digits before the name of an
upload, addresses encode blanks as %20, a folder on the server stands behind ?d=. A name is
therefore looked up among the known images, where these are given. An id and a file that do not
agree are told.
"""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pandas as pd

csv.field_size_limit(2**31 - 1)  # an image may stand in a cell, as a data URL

VISIT = ("place", "named", "address", "annotator", "email", "seconds", "submitted_at")
VISIT += ("updated_at", "status", "job")
TIMES = "datetime64[us, UTC]"
MISSING, UNUSABLE = "missing image", "unusable image id"
UNKNOWN, AMBIGUOUS = "unknown image", "ambiguous image name"
CONTRADICTORY = "image id and file are two images"

NO_VALUE = {"", "nan", "null", "none", "true", "false", "na", "n/a", "#n/a", "<na>", "undefined"}
"""How a missing value looks when a program has turned it into text."""
LONGEST = 255
"""Characters of a name."""
_UPLOAD = re.compile(r"[0-9a-f]{8}-(.+)")
# What no file may be called on one system or another, and what HTML or a formula begins with.
_NO_NAME = re.compile(r'.*[\x00-\x1f\x7f-\x9f\ud800-\udfff<>:"/\\|?*].*|[=+@].*|\.+', re.DOTALL)


class Export:
    """What a reader finds in one file, as it stands there.

    Attributes:
        path: of the file.
        asked: names of the questions; None if only the answers tell.
        visits: a column per name in `VISIT`, with an entry per assignment: its place (in words, or
            the number of a row), id and address of the image, who answered, an address of theirs,
            seconds, two times, status ("rejected", "cancelled" or None) and job.
        visit, kind: int32, the assignment of every answer, and its number in `kinds`.
        kinds: the different answers, (question, level, field) → number; a level is a name, a whole
            number counted from 0, a tuple of several, or None if it cannot be read.
        notes: reason → places of what is no assignment (drafts, say).
    """

    def __init__(self, path: Path, asked: Iterable[str] | None = None) -> None:
        self.path, self.asked = path, asked
        self.visits: dict[str, Any] = {name: [] for name in VISIT}
        self.visit, self.kind = array("i"), array("i")
        self.kinds: dict[tuple, int] = {}
        self.notes: dict[str, list[str]] = {}

    def add(self, answers: Iterable[tuple], **visit: Any) -> None:
        """Add an assignment and its answers."""
        number = len(self.visits["place"])
        for name, column in self.visits.items():
            column.append(visit.get(name))
        for answer in answers:
            self.visit.append(number)
            self.kind.append(self.number_of(answer))

    def number_of(self, answer: tuple) -> int:
        """The number of what an answer says."""
        return self.kinds.setdefault(answer, len(self.kinds))

    def note(self, reason: str, place: str) -> None:
        """Count something that is no assignment."""
        self.notes.setdefault(reason, []).append(place)


class Found(NamedTuple):
    """An image; None and the reason; and what else it is called where id and file disagree."""

    image_id: str | None
    problem: str | None = None
    other_name: str | None = None


class ImageNames:
    """The images of assignments, found by id and address.

    Args:
        known: ids that images may have; None if any name will do.
    """

    def __init__(self, known: Iterable[str] | None = None) -> None:
        self._known = None if known is None else {str(name) for name in known}
        self._stored: dict[str, list[str]] = {}  # name of an upload on a server → known images
        for name in self._known or ():
            self._stored.setdefault(_stored(name), []).append(name)
        self._found: dict[tuple, Found] = {}
        self._path: dict[str, str] = {}  # image → path of the first file that it was seen with

    def of(self, named: Any, address: Any) -> Found:
        """Which image has this id and the file at this address, a URL or a path."""
        if named is not None and type(named) not in (str, int):  # a list, or true, is no id
            return Found(None, UNUSABLE)
        name = "" if named is None else str(named).strip()
        address = address.strip() if isinstance(address, str) else ""
        if (name, address) not in self._found:
            self._found[name, address] = self._find(name, address)
        return self._found[name, address]

    def _find(self, name: str, address: str) -> Found:
        path, files = _file_names(address)
        uploads = [_UPLOAD.fullmatch(file)[1] for file in files if _UPLOAD.fullmatch(file)]
        shown = [file for file in files if file in (self._known or ())]
        shown = shown or [image for file in uploads for image in self._stored.get(file, ())]
        image = self._named(name)
        if name and self._known is None and image is None:
            return Found(None, UNUSABLE)
        if image is None:  # only the file can say which it is
            if not files:
                return Found(None, UNKNOWN if name else MISSING)
            if self._known is None:
                shown = files[:1] if usable(files[0]) else []
            if not shown:
                return Found(None, UNUSABLE if self._known is None else UNKNOWN)
            other = self._path.setdefault(shown[0], path) != path
            if other or (len(set(shown)) > 1 and shown[0] not in files):
                return Found(None, AMBIGUOUS)
            return Found(shown[0], None, name or None)
        if shown and image not in shown:
            return Found(None, CONTRADICTORY)
        spellings = {one.casefold() for one in (image, unquote(image), _stored(image))}
        if files and spellings.isdisjoint(one.casefold() for one in (*files, *uploads)):
            return Found(image, None, files[0][:LONGEST])
        same = not files or self._path.setdefault(image, path) == path
        return Found(image, None, None if same else path[:LONGEST])

    def _named(self, name: str) -> str | None:
        if self._known is None:
            return name if usable(name) else None
        return next((one for one in (name, unquote(name)) if one in self._known), None)


def usable(name: str) -> bool:
    """Whether a text may name an image: every system would take it as the name of a file."""
    within = len(name) <= LONGEST and name.casefold() not in NO_VALUE
    return within and _NO_NAME.fullmatch(name) is None


def _file_names(address: str) -> tuple[str, list[str]]:
    """The path in an address, and what the image there may be called, without ending first."""
    before, asked, folder = address.partition("?d=")
    path = folder.split("&")[0] if asked else re.split(r"[?#]", before)[0]
    path = PurePosixPath(unquote(path).replace("\\", "/"))
    # In view?id=17 no part is the name of a file, and behind data: stands the image itself.
    nameless = "?" in before and not path.suffix
    if not path.name or address.startswith("data:") or nameless:
        return str(path), []
    return str(path), [path.stem, path.name, str(path), str(path.with_suffix(""))]


def _stored(name: str) -> str:
    """The name under which a server keeps an upload: as Django's `get_valid_filename` makes it."""
    return re.sub(r"[^-\w.]", "", name.strip().replace(" ", "_"))


def identity(value: Any) -> str | None:
    """Who answered, as text: a number or a printable text, None where a program wrote no value.

    A table that lacks some numbers writes the others as 3.0, and that is no new person.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value).strip().removesuffix(".0")
    named = text.isprintable() and re.search(r"[^\W_]", text) and len(text) <= LONGEST
    odd = text.casefold() in NO_VALUE or re.fullmatch(r"[+-]\d+|[+-]?\d*\.\d+", text)
    return text if named and not odd else None


def iso_times(values: Sequence) -> pd.Series:
    """ISO 8601 texts as timestamps in UTC; missing for all that is no time of an answer."""
    if isinstance(values, pd.Series) and values.dtype == TIMES:
        return values
    texts = [text if isinstance(text, str) and len(text) > 15 else None for text in values]
    texts = pd.Series(texts, dtype="str")
    times = pd.to_datetime(texts, utc=True, format="ISO8601", errors="coerce").astype(TIMES)
    # Programs write the year 1 or 1970 for no time at all.
    return times.where(times.dt.year.between(1990, 2099))


def seconds(values: Iterable) -> pd.Series:
    """Times spent as numbers; missing where one is none, or negative."""

    def number(value: Any) -> float:
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            return math.nan

    numbers = pd.Series([number(value) for value in values], dtype="float64")
    return numbers.where((numbers >= 0) & (numbers < np.inf))


def read_table(
    path: Path, expected: str, needed: Iterable[str] = (), unique: bool = True
) -> pd.DataFrame:
    """The cells of a CSV file, or of one whose cells are parted by tabs, as texts.

    Names at the end of the header that no row has a cell for are left out.

    Raises:
        ValueError: the text is no such table, a row has another number of cells than the others, a
            column occurs twice or one that is needed is missing; names the file and the row.
    """
    row = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            mark = "\t" if "\t" in stream.readline() else ","
            stream.seek(0)
            rows = csv.reader(stream, strict=True, delimiter=mark)
            header, row = next(rows, []), 1
            missing = [name for name in needed if name not in header]
            twice = [name for name in header if unique and header.count(name) > 1]
            if missing or twice or not header:
                found = f"no column {missing[0]}" if missing else f"the column {twice} twice"
                raise wrong_format(path, "row 1", expected, found if header else "an empty file")
            width = 0
            for row, cells in enumerate(rows, start=2):
                width = width or len(cells)
                if (cells and len(cells) != width) or width > len(header):
                    found = f"{len(cells)} cells under {width or len(header)} column names"
                    raise wrong_format(path, f"row {row}", expected, found)
    except (csv.Error, UnicodeDecodeError) as error:
        raise wrong_format(path, f"row {row + 1}", expected, f"no CSV ({error})") from None
    style = {"sep": mark, "dtype": "str", "keep_default_na": False, "encoding": "utf-8-sig"}
    return pd.read_csv(path, usecols=range(width or len(header)), index_col=False, **style)


def wrong_format(path: Path, place: str, expected: str, found: str) -> ValueError:
    """The error for a file that is not of the format."""
    return ValueError(f"{path}: {place}: expected {expected}, found {found}")
