"""What readers hand in: every assignment of a file as it stands there, with its answers.

Millions of answers name few different ones, so an answer is kept as a number, a few bytes, and what
it says once. Chapter 6 reads files through it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

PART = 10_000
"""Assignments that are held at a time as they stand in a file."""
TIMES = "datetime64[us, UTC]"
YEARS = r"(?:199\d|20\d\d)"
"""When people may have answered on a screen; programs write other years for no time at all."""
ZONE = r"[+-](?:0\d|1[0-4]):?[0-5]\d"
"""Hours and minutes from UTC; no zone is further than 14 hours away."""
_ISO = re.compile(
    rf"{YEARS}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]* ?(?:[Zz]|{ZONE}|[+-](?:0\d|1[0-4]))?", re.ASCII
)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_WHOLE = re.compile(r"(\d+)\.0+")
_WORD = re.compile(r"[^\W_]")
_MEASURED = re.compile(r"[+-]\d+|[+-]?\d*\.\d+(e[+-]?\d+)?", re.IGNORECASE)
"""A number that counts nobody: a time spent, say, where columns were mixed up."""
NO_VALUE = {"", "nan", "null", "none", "true", "false", "na", "n/a", "#n/a", "<na>", "nat"}
NO_VALUE |= {"nil", "undefined"}
"""How a missing value, or one that is no name, looks when a program has turned it into text."""
_LONGEST = 255
"""Characters of a name."""


class Visit(NamedTuple):
    """One assignment: an annotator's visit to an image.

    Attributes:
        place: where it stands, in words such as "task 17, annotation 901".
        image_id: None where there is none that can be used; `problem` says why.
        annotator: identity in clear, which leaves `ingest` only as a hash; None if it is missing.
        email: an e-mail address names the annotator.
        seconds: time spent; nan if unknown.
        submitted_at: ISO 8601 text, or anything else that is no time.
        problem: the reason why the whole assignment is dropped, or None.
        job: what identifies the job that it belongs to, or None.
        updated_at: when it got its present form, as `submitted_at`; None if the file does not say.
        account: what else identifies the annotator, in clear as well (the address beside a number,
            say), or None.
        other_name: what else the image is called, where its id and its file do not agree, or None.
    """

    place: str
    image_id: str | None
    annotator: str | None
    email: bool
    seconds: float
    submitted_at: Any
    problem: str | None
    job: str | None
    updated_at: Any
    account: str | None
    other_name: str | None


class Answer(NamedTuple):
    """What one answer says.

    Attributes:
        name: of the question, as the file has it; None where the file has no such thing.
        level: a level's name, a whole number counted from 0, a tuple of several, or None if it
            cannot be read.
        field: where an assignment has it.
    """

    name: str | None
    level: str | int | tuple | None
    field: str | None


class Part(NamedTuple):
    """Some assignments of a file and their answers.

    Attributes:
        visits: a row per assignment, columns as `Visit`; times as timestamps in UTC, and a number
            as a place is that of a row.
        visit: int32, row of every answer's assignment.
        code: int32, place of every answer in `kinds`.
        kinds: the different answers; later parts of a file may add to them.
    """

    visits: pd.DataFrame
    visit: np.ndarray
    code: np.ndarray
    kinds: Mapping[Answer | tuple, int]


@dataclass
class Notes:
    """What a file holds that is no assignment (drafts, say): how many, and where the first is."""

    found: dict[str, tuple[int, Any]] = field(default_factory=dict)

    def add(self, reason: str, place: str) -> None:
        """Count one more."""
        count, first = self.found.get(reason, (0, place))
        self.found[reason] = (count + 1, first)


class Source(NamedTuple):
    """A file that is being read.

    Attributes:
        path: of the file, for the report.
        parts: its assignments, in the file's order.
        fields: where the format says what makes a whole assignment problematic, by reason.
        notes: complete when the parts are.
        asked: names of the questions, as the file has them; None if only the answers tell.
    """

    path: Path
    parts: Iterable[Part]
    fields: Mapping[str, str]
    notes: Notes
    asked: Iterable[str] | None = None


class Numbers(dict):
    """A number for everything that is looked up, counted from 0."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number


def parts(visits: Iterable[tuple[Visit | tuple, list]]) -> Iterator[Part]:
    """Pack assignments and their lists of answers; tuples in their place cost less time."""
    visits, kinds = iter(visits), Numbers()
    while some := list(islice(visits, PART)):
        counts = [len(answers) for _, answers in some]
        code = map(kinds.__getitem__, chain.from_iterable(answers for _, answers in some))
        yield Part(
            _frame([visit for visit, _ in some]),
            np.repeat(np.arange(len(some), dtype=np.int32), counts),
            np.fromiter(code, np.int32, sum(counts)),
            kinds,
        )


def _frame(visits: list[tuple]) -> pd.DataFrame:
    columns = dict(zip(Visit._fields, zip(*visits, strict=True), strict=True))
    frame = pd.DataFrame(
        {name: pd.Series(value, dtype="object") for name, value in columns.items()}
    )
    return frame.assign(
        email=frame["email"].astype(bool),
        seconds=frame["seconds"].astype("float64"),
        submitted_at=iso_times(frame["submitted_at"]),
        updated_at=iso_times(frame["updated_at"]),
    )


def iso_times(values: pd.Series) -> pd.Series:
    """ISO 8601 texts of `YEARS` as timestamps in UTC; missing for everything else."""
    texts = [text if isinstance(text, str) and _ISO.fullmatch(text) else None for text in values]
    texts = pd.Series(texts, values.index, dtype="object")
    return pd.to_datetime(texts, utc=True, format="ISO8601", errors="coerce").astype(TIMES)


def seconds(value: Any) -> float:
    """A time spent as a number; nan where it is none, too large or negative."""
    if isinstance(value, bool):
        return math.nan
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number if 0 <= number < math.inf else math.nan


def identity(value: Any) -> str | None:
    """Who answered, as text: a number or a printable text, however it is written.

    A table that lacks some numbers writes the others as 3.0, and that is nobody new. What a program
    writes in place of a missing value is nobody.
    """
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is int:
        return str(value) if 0 <= value < 10**_LONGEST else None
    if type(value) is not str:
        return None
    text = value.strip()
    whole = _WHOLE.fullmatch(text)
    text = whole[1] if whole else text
    if text.casefold() in NO_VALUE or len(text) > _LONGEST or not text.isprintable():
        return None
    # A quotation mark is left over from a cell that lost the other one.
    odd = '"' in text or _MEASURED.fullmatch(text)
    return text if _WORD.search(text) and not odd else None


def is_email(value: object) -> bool:
    """Whether the identity is an e-mail address, which is personal data."""
    return isinstance(value, str) and _EMAIL.fullmatch(value.strip()) is not None
