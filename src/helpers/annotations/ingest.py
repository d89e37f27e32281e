"""From raw records to the tidy table and a report of everything that was not taken as it was.

A reader turns its format into *raw records*, a table with one row per answer (`RAW_COLUMNS`); the
rules for what is rejected are applied here, once, for all formats. Chapter 6 shows them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from helpers.annotations.categories import occurring
from helpers.annotations.schema import ATTRIBUTES, COLUMNS, hash_annotator

# image_id      str, or missing
# attribute     str, or missing for an assignment that holds no answer at all
# answer        a level's name, an integer level counted from 0, a tuple of several, or missing
# annotator     identity in clear; it leaves this module only as a hash
# email         True where the record names its annotator by an e-mail address
# seconds, submitted_at   float; timestamp in UTC or missing
# status        "accepted", "rejected" or "cancelled"
# job           whatever identifies the job that the record belongs to, or missing
# assignment    int, one per annotator's visit to an image
# line, field   where the answer stands in the file
RAW_COLUMNS = ("image_id", "attribute", "answer", "annotator", "email", "seconds", "submitted_at")
RAW_COLUMNS += ("status", "job", "assignment", "line", "field")

# What is dropped, in the order of precedence (an answer is counted under its first reason), and
# what one count stands for.
DROPPED = {
    "rejected assignment": "assignment",
    "cancelled assignment": "assignment",
    "other job": "assignment",
    "missing image": "assignment",
    "missing annotator": "assignment",
    "unknown attribute": "answer",
    "no readable answer": "answer",
    "several levels": "answer",
    "unknown level": "answer",
    "level outside the scale": "answer",
    "duplicate": "answer",
}
NOTED = {"e-mail as annotator id": "assignment", "unreadable time": "assignment"}

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
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
_OF_VISIT = ("image_id", "annotator", "email", "seconds", "submitted_at", "status", "job", "line")


class Ingest(NamedTuple):
    """Good answers and counted problems, as every reader returns them.

    Serves chapter 01; chapter 06 explains the report.

    Attributes:
        frame: the good answers, one row each, in the file's order; columns image_id, attribute,
            level (0 is the lowest), annotator_id (a hash), seconds (of the whole assignment),
            submitted_at (UTC) and source. Texts are categories.
        report: one row per reason, also those that did not occur: `reason`, `unit` (what is
            counted: assignments or answers), `count`, `dropped` (False: kept and only noted), and
            of the first example `file`, `line`, `field`.

    Example:
        >>> from helpers import annotations
        >>> annotations.Ingest._fields
        ('frame', 'report')
    """

    frame: pd.DataFrame
    report: pd.DataFrame


def is_email(identity: object) -> bool:
    """Whether the identity is an e-mail address, which is personal data."""
    return isinstance(identity, str) and _EMAIL.fullmatch(identity.strip()) is not None


def image_id_of(data: Mapping[str, Any], id_key: str, url_key: str) -> str | None:
    """The image's id, or without one the name of its file without extension."""
    if data.get(id_key) not in (None, ""):
        return str(data[id_key])
    url = str(data.get(url_key) or "").split("?d=")[-1].split("?")[0]
    return Path(url).stem or None


def validate(
    parts: Iterable[pd.DataFrame],
    path: Path,
    source: str,
    salt: str,
    fields: Mapping[str, str],
    scales: Mapping[str, tuple[str, ...]] = ATTRIBUTES,
) -> Ingest:
    """Sort raw records into good answers and counted problems.

    - A file that mixes jobs keeps the job with most assignments (the first of equals).
    - Of several answers of one annotator about one attribute of one image, the one submitted first
      is kept (the first in the file where times are equal or missing).
    - Annotators are hashed with `schema.hash_annotator`; an e-mail address is counted and, like
      every other identity, kept as a hash only.

    The parts are there because raw records weigh many times what is kept of them: a few bytes an
    answer and, once, what belongs to an assignment.

    Args:
        parts: the raw records, columns `RAW_COLUMNS`, in the file's order; an assignment is whole
            in one part, and its number need differ only from others of that part.
        path: file the records come from, for the report.
        source: name of the format.
        salt: of the annotators' hashes.
        fields: where the format says what makes a whole assignment problematic, by reason.
        scales: attributes that may be answered and the names of their levels, from low to high.
    """
    visits, answers = _compact(parts, scales)
    checks = {
        "rejected assignment": visits["status"] == "rejected",
        "cancelled assignment": visits["status"] == "cancelled",
        "other job": _other_job(visits["job"]),
        "missing image": visits["image_id"].isna(),
        "missing annotator": visits["annotator"].isna(),
    }
    taken = np.ones(len(visits), dtype=bool)
    of_visits = {}  # reason -> numbers of the assignments
    for reason, check in checks.items():
        of_visits[reason] = np.flatnonzero(taken & check)
        taken &= ~check.to_numpy()

    level, visit = answers["level"].to_numpy(), answers["visit"].to_numpy()
    good = taken[visit]
    of_answers = {  # reason -> numbers of the answers
        reason: np.flatnonzero(good & (level == code)) for reason, code in _UNUSABLE.items()
    }
    good &= level >= 0
    of_answers["duplicate"] = _duplicates(visits, answers, good)
    good[of_answers["duplicate"]] = False
    of_visits["e-mail as annotator id"] = np.flatnonzero(visits["email"])
    answered = np.zeros(len(visits), dtype=bool)
    answered[visit[good]] = True
    of_visits["unreadable time"] = np.flatnonzero(answered & visits["submitted_at"].isna())

    report = _report(visits["line"].to_numpy(), of_visits, answers, of_answers, path, fields)
    attribute, level, visit = answers["attribute"].array[good], level[good], visit[good]
    del answers, good  # the tidy table needs the room
    row = (answered.cumsum() - 1).astype(np.int32)[visit]
    del visit
    columns = {
        "attribute": occurring(attribute),
        "level": level.astype(np.int64),
        "source": pd.Categorical.from_codes(np.zeros(len(row), np.int8), [f"{source}:{path.name}"]),
        **_of_assignments(visits[answered], row, salt),
    }
    return Ingest(pd.DataFrame({name: columns[name] for name in COLUMNS}, copy=False), report)


def _compact(
    parts: Iterable[pd.DataFrame], scales: Mapping[str, tuple[str, ...]]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The assignments, and their answers: number of the assignment, attribute, level, field."""
    visits, answers, seen = [], [], 0
    for raw in parts:
        number, numbers = pd.factorize(raw["assignment"])
        asked = pd.Index(list(scales)).get_indexer(raw["attribute"])
        again = raw["assignment"][raw.duplicated(["assignment", "attribute"])]
        own = raw.loc[~raw["assignment"].duplicated(), ["assignment", *_OF_VISIT]]
        visits.append(
            own.assign(
                image_id=_strip(own["image_id"]).astype("str"),
                annotator=_strip(own["annotator"]).astype("str").astype("category"),
                status=own["status"].astype("str").astype("category"),
                job=own["job"].astype("str"),
                seconds=own["seconds"].astype(np.float64),
                asks_again=own["assignment"].isin(again),
            )
        )
        answer = {
            "visit": (seen + number).astype(np.int32),
            "attribute": pd.Categorical.from_codes(asked, list(scales)),
            "level": _levels(raw["attribute"], raw["answer"], scales).astype(np.int8),
            "field": raw["field"].astype("str").astype("category").array,
        }
        answers.append(pd.DataFrame(answer))
        seen += len(numbers)
    return _joined(visits), _joined(answers)


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all parts, which are emptied; categories are those of any part."""
    columns = {}
    for name in list(parts[0]):
        pieces = [part.pop(name) for part in parts]
        if isinstance(pieces[0].dtype, pd.CategoricalDtype):
            columns[name] = union_categoricals(pieces)
        else:
            columns[name] = pd.concat(pieces, ignore_index=True)
    return pd.DataFrame(columns)


def _of_assignments(visits: pd.DataFrame, row: np.ndarray, salt: str) -> dict[str, Any]:
    """Columns of the tidy table that repeat those of assignments; `row` of every answer's."""
    hashes = [hash_annotator(name, salt) for name in visits["annotator"].cat.categories]
    columns = {
        "image_id": visits["image_id"].astype("category").array,
        "annotator_id": occurring(visits["annotator"].array.rename_categories(hashes)),
        "seconds": visits["seconds"].to_numpy(),
        "submitted_at": visits["submitted_at"].array,
    }
    return {name: column.take(row) for name, column in columns.items()}


def _strip(values: pd.Series) -> pd.Series:
    """The values as text without surrounding blanks; missing where nothing is left."""
    uniques = {value: str(value).strip() or None for value in values.dropna().unique()}
    return values.map(uniques).astype("object")


def _levels(
    attribute: pd.Series, answer: pd.Series, scales: Mapping[str, tuple[str, ...]]
) -> np.ndarray:
    """Level of each answer, or the negative code of what is wrong with it."""
    levels = np.where(attribute.isna() | attribute.isin(list(scales)), _NONE, _NOT_ASKED)
    for name, labels in scales.items():
        asked = attribute == name
        scale = {label.casefold(): level for level, label in enumerate(labels)}
        answers = answer[asked]
        known = {value: _level(value, scale) for value in answers.dropna().unique()}
        levels[asked] = answers.map(known).fillna(_NONE).astype("int64")
    return levels


def _level(answer: Hashable, scale: dict[str, int]) -> int:
    if isinstance(answer, tuple):
        return _SEVERAL
    if type(answer) is int:  # its text may be too long for Python to write
        return answer if 0 <= answer < len(scale) else _OUTSIDE
    text = str(answer).strip().casefold()
    if not text:
        return _NONE
    if text in scale:
        return scale[text]
    if not _INTEGER.fullmatch(text):
        return _UNKNOWN
    if len(text) > _DIGITS:
        return _OUTSIDE
    return int(text) if 0 <= int(text) < len(scale) else _OUTSIDE


def _other_job(job: pd.Series) -> pd.Series:
    jobs = job.value_counts(sort=False)
    if jobs.empty:
        return job.notna()
    return job.notna() & (job != jobs.idxmax())


def _duplicates(visits: pd.DataFrame, answers: pd.DataFrame, good: np.ndarray) -> np.ndarray:
    """Numbers of the good answers that their annotators had given before."""
    # Few assignments repeat another one or a question: only their answers are compared.
    again = visits.duplicated(["image_id", "annotator"], keep=False) | visits["asks_again"]
    visit = answers["visit"].to_numpy()
    number = np.flatnonzero(good & again.to_numpy()[visit])
    found = visits.loc[visit[number], ["image_id", "annotator", "submitted_at"]]
    found = found.set_axis(number).assign(attribute=answers["attribute"].array[number])
    ordered = found.sort_values("submitted_at", kind="stable")
    repeated = ordered.duplicated(["image_id", "attribute", "annotator"])
    return np.sort(ordered.index[repeated])


def _report(
    line: np.ndarray,
    of_visits: Mapping[str, np.ndarray],
    answers: pd.DataFrame,
    of_answers: Mapping[str, np.ndarray],
    path: Path,
    fields: Mapping[str, str],
) -> pd.DataFrame:
    """A row per reason, with the problem that stands first in the file; `line` of assignments."""
    rows: list[dict[str, Any]] = []
    for reason, unit in (DROPPED | NOTED).items():
        found = of_visits[reason] if unit == "assignment" else of_answers[reason]
        row = {"reason": reason, "unit": unit, "count": len(found), "dropped": reason in DROPPED}
        if len(found):
            field = fields.get(reason)
            if unit == "answer":
                found = answers.iloc[found]
                first = line[found["visit"]].argmin()
                found, field = found["visit"], found["field"].iloc[first]
            row |= {"file": path.name, "line": line[found].min(), "field": field}
        rows.append(row)
    columns = ["reason", "unit", "count", "dropped", "file", "line", "field"]
    report = pd.DataFrame(rows, columns=columns)
    return report.astype({"line": "Int64", "file": "object", "field": "object"})


def raw_frame(records: list[tuple]) -> pd.DataFrame:
    """Raw records from tuples in the order of `RAW_COLUMNS`, times as ISO 8601 text."""
    raw = pd.DataFrame(records, columns=list(RAW_COLUMNS), dtype="object")
    texts = raw["submitted_at"].map(lambda time: time if isinstance(time, str) else None)
    times = pd.to_datetime(texts, utc=True, format="ISO8601", errors="coerce")
    seconds = raw["seconds"].map(_number)
    raw = raw.assign(submitted_at=times, seconds=seconds)
    return raw.astype({"email": bool, "assignment": int, "line": int, "seconds": "float64"})


def _number(value: Any) -> float:
    """The value as a number, nan where it is none or too large."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
