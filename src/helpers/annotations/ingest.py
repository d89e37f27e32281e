"""From what stands in files to the tidy table and a report of everything not taken as it was.

A reader hands in assignments and their answers (`annotations.raw`); the rules for what is rejected
are applied here, once, for all formats. Chapter 6 shows them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from helpers.annotations import report
from helpers.annotations.categories import occurring
from helpers.annotations.image_names import AMBIGUOUS, MISSING, UNKNOWN, UNUSABLE
from helpers.annotations.raw import TIMES, Answer, Numbers, Source
from helpers.annotations.schema import ATTRIBUTES, COLUMNS, hash_annotator

# What is dropped, in the order of precedence (an answer is counted under its first reason), and
# what one count stands for.
DROPPED = {
    "rejected assignment": "assignment",
    "cancelled assignment": "assignment",
    "other job": "assignment",
    MISSING: "assignment",
    UNUSABLE: "assignment",
    UNKNOWN: "assignment",
    AMBIGUOUS: "assignment",
    "missing annotator": "assignment",
    "unknown attribute": "answer",
    "no readable answer": "answer",
    "several levels": "answer",
    "unknown level": "answer",
    "level outside the scale": "answer",
    "duplicate": "answer",
}
NOTED = {
    "no answer": "answer",
    "e-mail as annotator id": "assignment",
    "unreadable time": "assignment",
    "ground-truth annotation": "assignment",
    "draft": "draft",
    "failed item": "item",
    "task without annotation": "task",
    "nothing usable in a file": "file",
}

_INTEGER = re.compile(r"[+-]?\d+")
_DIGITS = 20  # no scale has a level with more; int() refuses 4,300
_OUTSIDE, _UNKNOWN, _SEVERAL, _NONE, _NOT_ASKED = -1, -2, -3, -4, -5
_UNUSABLE = {
    "unknown attribute": _NOT_ASKED,
    "no readable answer": _NONE,
    "several levels": _SEVERAL,
    "unknown level": _UNKNOWN,
    "level outside the scale": _OUTSIDE,
}


class Ingest(NamedTuple):
    """Good answers and counted problems, as every reader returns them.

    Serves chapter 01; chapter 06 explains the report.

    Attributes:
        frame: the good answers, one row each, in the files' order; columns image_id, attribute,
            level (0 is the lowest), annotator_id (a hash), seconds (of the whole assignment),
            submitted_at (UTC) and source. Texts are categories.
        report: one row per reason, also those that did not occur: `reason`, `unit` (what is
            counted: assignments or answers, say), `count`, `dropped` (False: kept and only noted),
            `answers` (that were dropped for this reason), and of the first example `file`, `place`
            (a row, or a task and an annotation) and `field`.

    Example:
        >>> from helpers import annotations
        >>> annotations.Ingest._fields
        ('frame', 'report')
    """

    frame: pd.DataFrame
    report: pd.DataFrame

    @property
    def totals(self) -> pd.Series:
        """What was read: rows (assignments), answers, people, and the answers that were kept.

        The answers that are not kept are those that the report counts as dropped.
        """
        return pd.Series(self.report.attrs["totals"], name="count")


def validate(
    sources: Sequence[Source],
    source: str,
    salt: str,
    scales: Mapping[str, tuple[str, ...]] = ATTRIBUTES,
    rename: Mapping[str, str] | None = None,
    numbered: bool = True,
) -> Ingest:
    """Sort what stands in files into good answers and counted problems.

    - A file that mixes jobs keeps the job with most assignments (the first of equals).
    - Of several answers of one annotator about one attribute of one image, the one submitted first
      is kept (the first in the files where times are equal or missing).
    - Annotators are hashed with `schema.hash_annotator`; an e-mail address is counted and, like
      every other identity, kept as a hash only.
    - Whole numbers that reach one beyond the last level and never 0 were counted from 1. Which
      level they mean is nowhere said, so all of them are outside of the scale.

    Args:
        sources: the files.
        source: name of the format.
        salt: of the annotators' hashes.
        scales: attributes that may be answered and the names of their levels, from low to high.
        rename: name of a question -> attribute, where they differ.
        numbered: a text of digits is a level's number, counted from 0.

    Raises:
        ValueError: there are no files, or nothing in them can be used; says why, by reason.
    """
    if not sources:
        raise ValueError("no files to read: at least one was expected")
    rename = dict(rename or {})
    read = _compact(sources)
    attribute, level = _meaning(read.kinds, scales, rename, numbered)
    asked, level = attribute[read.kind], level[read.kind]
    good, found = _sorted(read, asked, level)
    table = _report(sources, read, asked, good, found, scales, rename)
    if not good.any():
        raise report.nothing_usable(sources, table)
    columns = _of_answers(read.visits, read.visit[good], salt) | {
        "attribute": occurring(pd.Categorical.from_codes(asked[good], list(scales))),
        "level": level[good].astype(np.int64),
    }
    names = [f"{source}:{one.path.name}" for one in sources]
    columns["source"] = _named(columns.pop("file"), names)
    return Ingest(pd.DataFrame({name: columns[name] for name in COLUMNS}, copy=False), table)


class _Read(NamedTuple):
    """All assignments, the assignment and the kind of every answer, and the kinds."""

    visits: pd.DataFrame
    visit: np.ndarray
    kind: np.ndarray
    kinds: list[Answer]


def _sorted(
    read: _Read, asked: np.ndarray, level: np.ndarray
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Which answers are good; by reason the numbers of assignments or answers that are not."""
    taken, found = _of_visits(read.visits)
    good = taken[read.visit]
    for reason, code in _UNUSABLE.items():
        found[reason] = np.flatnonzero(good & (level == code))
    good &= level >= 0
    found["duplicate"] = _duplicates(read.visits, read.visit, asked, good)
    good[found["duplicate"]] = False
    answered = np.zeros(len(read.visits), dtype=bool)
    answered[read.visit[good]] = True
    found["e-mail as annotator id"] = np.flatnonzero(read.visits["email"])
    found["unreadable time"] = np.flatnonzero(answered & read.visits["submitted_at"].isna())
    return good, found


def _report(
    sources: Sequence[Source],
    read: _Read,
    asked: np.ndarray,
    good: np.ndarray,
    found: Mapping[str, np.ndarray],
    scales: Mapping[str, tuple[str, ...]],
    rename: Mapping[str, str],
) -> pd.DataFrame:
    counted = report.Counted(sources, read.visits, read.visit, read.kind, read.kinds)
    taken = np.ones(len(read.visits), dtype=bool)
    for reason, unit in DROPPED.items():
        if unit == "assignment":
            taken[found[reason]] = False
    for reason, unit in (DROPPED | NOTED).items():
        if reason == "no answer":
            silent = _silent(sources, read, asked, taken, list(scales), rename)
            counted.silence(reason, silent, _fields(read, asked, list(scales)))
        elif unit == "file":
            counted.of_files(reason, read.visit[good])
        elif reason not in found:
            counted.of_notes(reason, unit)
        elif unit == "answer":
            counted.of_answers(reason, found[reason])
        else:
            counted.of_visits(reason, reason in DROPPED, found[reason])
    return counted.table(kept=int(good.sum()))


def _compact(sources: Sequence[Source]) -> _Read:
    """What stands in the files, in few bytes."""
    visits, numbers, codes, kinds, seen = [], [], [], Numbers(), 0
    for file, one in enumerate(sources):
        for part in one.parts:
            own = part.visits
            words = [name for name in _WORDS if own[name].dtype.kind not in "iu"]
            texts = {name: own[name].astype("str") for name in words}
            groups = {name: own[name].astype("str").astype("category") for name in _GROUPS}
            visits.append(own.assign(file=np.int32(file), **texts, **groups))
            merged = np.array([kinds[kind] for kind in part.kinds], dtype=np.int32)
            codes.append(merged[part.code] if len(merged) else part.code)
            numbers.append(part.visit + np.int32(seen))
            seen += len(own)
    different = [Answer(*kind) for kind in kinds]
    return _Read(_joined(visits), _together(numbers), _together(codes), different)


_WORDS = ("place", "image_id", "annotator")
_GROUPS = ("problem", "job")
_EMPTY = {"place": "object", "image_id": "str", "annotator": "str", "email": "bool"}
_EMPTY |= {"seconds": "float64", "submitted_at": TIMES}
_EMPTY |= {"problem": "category", "job": "category", "file": "int32"}


def _together(pieces: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.empty(0, np.int32), *pieces])


def _joined(pieces: list[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all parts, which are emptied; categories are those of any part."""
    if not pieces:
        return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _EMPTY.items()})
    columns = {}
    for name in list(pieces[0]):
        values = [piece.pop(name) for piece in pieces]
        if name in _GROUPS:
            columns[name] = union_categoricals(values)
        else:
            columns[name] = pd.concat(values, ignore_index=True)
    return pd.DataFrame(columns)


def _meaning(
    kinds: Sequence[Answer],
    scales: Mapping[str, tuple[str, ...]],
    rename: Mapping[str, str],
    numbered: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Of every kind of answer the attribute's number, or -1, and the level, or what is wrong."""
    number = {name: place for place, name in enumerate(scales)}
    levels = {
        name: {label.casefold(): level for level, label in enumerate(labels)}
        for name, labels in scales.items()
    }
    attribute, level = np.full(len(kinds), -1, np.int8), np.full(len(kinds), _NONE, np.int8)
    for place, (name, answer, _) in enumerate(kinds):
        name = rename.get(name, name)
        if name in number:
            attribute[place] = number[name]
            level[place] = _level(answer, levels[name], len(scales[name]), numbered)
        elif name is not None:
            level[place] = _NOT_ASKED
    for code, labels in enumerate(scales.values()):
        own = np.flatnonzero(attribute == code)
        counted = {place: _whole(kinds[place].level) for place in own}
        found = {value for value in counted.values() if value is not None}
        if numbered and 0 not in found and len(labels) in found:
            level[[place for place, value in counted.items() if value is not None]] = _OUTSIDE
    return attribute, level


def _level(
    answer: str | int | tuple | None, levels: Mapping[str, int], n_levels: int, numbered: bool
) -> int:
    if answer is None:
        return _NONE
    if isinstance(answer, tuple):
        return _SEVERAL
    if type(answer) is int:  # its text may be too long for Python to write
        return answer if 0 <= answer < n_levels else _OUTSIDE
    text = answer.strip().casefold()
    if not text:
        return _NONE
    if text in levels:
        return levels[text]
    if not (numbered and _INTEGER.fullmatch(text)):
        return _UNKNOWN
    value = _whole(text)
    return value if value is not None and 0 <= value < n_levels else _OUTSIDE


def _whole(answer: Any) -> int | None:
    """The whole number that an answer is or its text gives, unless it is beyond all scales."""
    if type(answer) is int:
        return answer
    if not isinstance(answer, str):
        return None
    text = answer.strip()
    return int(text) if len(text) <= _DIGITS and _INTEGER.fullmatch(text) else None


def _of_visits(visits: pd.DataFrame) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Which assignments are good, and the numbers of the others by reason."""
    checks = {
        reason: (visits["problem"] == reason).to_numpy()
        for reason, unit in DROPPED.items()
        if unit == "assignment"
    }
    checks["other job"] = _other_job(visits)
    checks["missing annotator"] = visits["annotator"].isna().to_numpy()
    taken, found = np.ones(len(visits), dtype=bool), {}
    for reason, check in checks.items():
        found[reason] = np.flatnonzero(taken & check)
        taken &= ~check
    return taken, found


def _other_job(visits: pd.DataFrame) -> np.ndarray:
    """Assignments of another job than most of their file."""
    other = np.zeros(len(visits), dtype=bool)
    for _, job in visits["job"].groupby(visits["file"]):
        counts = job.astype("object").value_counts(sort=False)
        if len(counts):
            other[job.index] = (job.notna() & (job != counts.idxmax())).to_numpy()
    return other


def _duplicates(
    visits: pd.DataFrame, visit: np.ndarray, attribute: np.ndarray, good: np.ndarray
) -> np.ndarray:
    """Numbers of the good answers that their annotators had given before."""
    # Few assignments repeat another one or a question: only their answers are compared.
    again = visits.duplicated(["image_id", "annotator"], keep=False).to_numpy(copy=True)
    again[visit[_asked_again(visit, attribute)]] = True
    number = np.flatnonzero(good & again[visit])
    found = visits.loc[visit[number], ["image_id", "annotator", "submitted_at"]]
    found = found.set_axis(number).assign(attribute=attribute[number])
    ordered = found.sort_values("submitted_at", kind="stable")
    repeated = ordered.duplicated(["image_id", "attribute", "annotator"])
    return np.sort(ordered.index[repeated].to_numpy(dtype=np.int64))


def _asked_again(visit: np.ndarray, attribute: np.ndarray) -> np.ndarray:
    """Which answers belong to a question that an assignment has answered already."""
    key = visit.astype(np.int64) * 128 + attribute
    if (np.diff(key) > 0).all():
        return np.zeros(len(key), dtype=bool)
    return pd.Series(key).duplicated().to_numpy()


def _silent(
    sources: Sequence[Source],
    read: _Read,
    attribute: np.ndarray,
    taken: np.ndarray,
    names: list[str],
    rename: Mapping[str, str],
) -> np.ndarray:
    """Good assignments × attributes: that were asked in their file, and not answered there."""
    given = np.zeros((len(read.visits), len(names)), dtype=bool)
    known = attribute >= 0
    given[read.visit[known], attribute[known]] = True
    file = read.visits["file"].to_numpy()
    asked = np.zeros((len(sources), len(names)), dtype=bool)
    for number, one in enumerate(sources):
        if one.asked is None:
            asked[number] = given[file == number].any(axis=0)
        else:
            wanted = {rename.get(name, name) for name in one.asked}
            asked[number] = [name in wanted for name in names]
    return asked[file] & ~given & taken[:, None]


def _fields(read: _Read, attribute: np.ndarray, names: list[str]) -> list[str]:
    """How the files call the attributes."""
    fields = list(names)
    for number in range(len(names)):
        answers = attribute == number
        if answers.any():
            fields[number] = read.kinds[read.kind[answers.argmax()]].field or names[number]
    return fields


def _of_answers(visits: pd.DataFrame, visit: np.ndarray, salt: str) -> dict[str, Any]:
    """Columns of the tidy table that repeat those of assignments, for the answers' `visit`."""
    answered = np.zeros(len(visits), dtype=bool)
    answered[visit] = True
    row = (answered.cumsum() - 1).astype(np.int32)[visit]
    visits = visits[answered]
    annotator = visits["annotator"].astype("category").array
    hashes = [hash_annotator(name, salt) for name in annotator.categories]
    columns = {
        "image_id": visits["image_id"].astype("category").array,
        "annotator_id": occurring(annotator.rename_categories(hashes)),
        "seconds": visits["seconds"].to_numpy(),
        "submitted_at": visits["submitted_at"].array,
        "file": visits["file"].to_numpy(),
    }
    return {name: column.take(row) for name, column in columns.items()}


def _named(file: np.ndarray, names: list[str]) -> pd.Categorical:
    """The files' names, of which two may be equal, for their numbers."""
    different = sorted(set(names))
    code = np.array([different.index(name) for name in names], dtype=np.int32)
    return occurring(pd.Categorical.from_codes(code[file], different))
