"""From raw records to the tidy table and a report of everything that was not taken as it was.

A reader turns its format into *raw records*, a table with one row per answer (`RAW_COLUMNS`); the
rules for what is rejected are applied here, once, for all formats. Chapter 6 shows them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

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
_OUTSIDE, _UNKNOWN, _SEVERAL, _NONE = -1, -2, -3, -4


class Ingest(NamedTuple):
    """Good answers and counted problems, as every reader returns them.

    Serves chapter 01; chapter 06 explains the report.

    Attributes:
        frame: the good answers, one row each, in the file's order; columns image_id, attribute,
            level (0 is the lowest), annotator_id (a hash), seconds (of the whole assignment),
            submitted_at (UTC) and source.
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
    raw: pd.DataFrame,
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

    Args:
        raw: columns `RAW_COLUMNS`.
        path: file the records come from, for the report.
        source: name of the format.
        salt: of the annotators' hashes.
        fields: where the format says what makes a whole assignment problematic, by reason.
        scales: attributes that may be answered and the names of their levels, from low to high.
    """
    raw = raw.reset_index(drop=True)
    level = _levels(raw["attribute"], raw["answer"], scales)
    raw["annotator"] = _strip(raw["annotator"])
    raw["image_id"] = _strip(raw["image_id"])
    checks = {
        "rejected assignment": raw["status"] == "rejected",
        "cancelled assignment": raw["status"] == "cancelled",
        "other job": _other_job(raw),
        "missing image": raw["image_id"].isna(),
        "missing annotator": raw["annotator"].isna(),
        "unknown attribute": raw["attribute"].notna() & ~raw["attribute"].isin(list(scales)),
        "no readable answer": level == _NONE,
        "several levels": level == _SEVERAL,
        "unknown level": level == _UNKNOWN,
        "level outside the scale": level == _OUTSIDE,
    }
    good = pd.Series(True, raw.index)
    problems = {}
    for reason, check in checks.items():
        problems[reason] = check & good
        good &= ~check
    problems["duplicate"] = _duplicates(raw, good)
    good &= ~problems["duplicate"]
    problems["e-mail as annotator id"] = raw["email"]
    problems["unreadable time"] = good & raw["submitted_at"].isna()

    frame = raw[good].assign(level=level[good], source=f"{source}:{path.name}")
    identities = frame["annotator"].unique()
    hashes = {identity: hash_annotator(identity, salt) for identity in identities}
    frame["annotator_id"] = frame["annotator"].map(hashes).astype("str")
    frame = frame.astype({"image_id": "str", "attribute": "str", "seconds": "float64"})
    report = _report(raw, problems, path, fields)
    return Ingest(frame[list(COLUMNS)].reset_index(drop=True), report)


def _strip(values: pd.Series) -> pd.Series:
    """The values as text without surrounding blanks; missing where nothing is left."""
    uniques = {value: str(value).strip() or None for value in values.dropna().unique()}
    return values.map(uniques).astype("object")


def _levels(
    attribute: pd.Series, answer: pd.Series, scales: Mapping[str, tuple[str, ...]]
) -> pd.Series:
    """Level of each answer, or the negative code of what is wrong with it."""
    levels = pd.Series(_NONE, attribute.index, dtype="int64")
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


def _other_job(raw: pd.DataFrame) -> pd.Series:
    jobs = raw.drop_duplicates("assignment")["job"].value_counts(sort=False)
    if jobs.empty:
        return pd.Series(False, raw.index)
    return raw["job"].notna() & (raw["job"] != jobs.idxmax())


def _duplicates(raw: pd.DataFrame, good: pd.Series) -> pd.Series:
    ordered = raw[good].sort_values("submitted_at", kind="stable")
    repeated = ordered.duplicated(["image_id", "attribute", "annotator"])
    return repeated.reindex(raw.index, fill_value=False)


def _report(
    raw: pd.DataFrame, problems: dict[str, pd.Series], path: Path, fields: Mapping[str, str]
) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for reason, unit in (DROPPED | NOTED).items():
        found = raw[problems[reason]]
        count = found["assignment"].nunique() if unit == "assignment" else len(found)
        row = {"reason": reason, "unit": unit, "count": count, "dropped": reason in DROPPED}
        if count:
            first = found.loc[found["line"].idxmin()]
            field = first["field"] if unit == "answer" else fields[reason]
            row |= {"file": path.name, "line": first["line"], "field": field}
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
