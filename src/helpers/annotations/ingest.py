"""From what stands in files to the tidy table and a report of everything not taken as it was.

A reader hands in assignments and their answers (`annotations.raw`); the rules for what is rejected
are applied here, once, for all formats. Chapter 6 shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from helpers.annotations import report
from helpers.annotations.categories import occurring
from helpers.annotations.gathered import Gathered, gathered
from helpers.annotations.image_names import AMBIGUOUS, CONTRADICTORY, MISSING, UNKNOWN, UNUSABLE
from helpers.annotations.meanings import NO_LEVEL, meanings
from helpers.annotations.people import told_apart
from helpers.annotations.raw import Source
from helpers.annotations.repeats import duplicates, older_versions
from helpers.annotations.schema import ATTRIBUTES, COLUMNS, hash_annotator

OLDER = "older version"
SEVERAL_VISITS = "several answers of one name"
SEVERAL_ACCOUNTS = "one name of several accounts"
OTHER_NAME = "image id unlike its file"
"""Reasons that are found in all files together."""
_REPEATED = ["image_id", "annotator", "seconds", "submitted_at", "file"]
"""Columns of an assignment that each of its answers repeats."""

# What is dropped, in the order of precedence (an answer is counted under its first reason), and
# what one count stands for.
DROPPED = {
    OLDER: "assignment",
    "rejected assignment": "assignment",
    "cancelled assignment": "assignment",
    "other job": "assignment",
    MISSING: "assignment",
    UNUSABLE: "assignment",
    UNKNOWN: "assignment",
    AMBIGUOUS: "assignment",
    CONTRADICTORY: "assignment",
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
    SEVERAL_ACCOUNTS: "assignment",
    SEVERAL_VISITS: "assignment",
    OTHER_NAME: "assignment",
    "unreadable time": "assignment",
    "ground-truth annotation": "assignment",
    "draft": "draft",
    "failed item": "item",
    "task without annotation": "task",
    "nothing usable in a file": "file",
}


class Ingest(NamedTuple):
    """Good answers and counted problems, as every reader returns them.

    Attributes:
        frame: the good answers, one row each, in the files' order; columns image_id, attribute,
            level (0 is the lowest), annotator_id (a hash), seconds (of the whole assignment),
            submitted_at (UTC) and source. Texts are categories.
        report: one row per reason, also those that did not occur: `reason`, `unit` (what is
            counted: assignments or answers, say), `count`, `dropped` (False: kept and only noted),
            `answers` (that were dropped for this reason), and of the first example `file`, `place`
            (a row, or a task and an annotation) and `field`.
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
    - Of several versions of one annotation (`repeats.older_versions`) the last one counts, also
      where it takes the answers back.
    - Of several answers of one annotator about one attribute of one image, the one submitted first
      is kept (the first in the files where times are equal or missing).
    - A name that stands with several accounts is that of several people. Where nothing tells them
      apart, one name that answered again at another time is one person, and noted.
    - An image id that stands with the file of another image is dropped: nobody knows which of the
      two was seen.
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
    read, accounts = _known_people(gathered(sources))
    attribute, level = meanings(read.kinds, scales, rename, numbered)
    asked, level = attribute[read.kind], level[read.kind]
    good, found = _sorted(read, asked, level)
    found[SEVERAL_ACCOUNTS] = accounts
    table = _report(sources, read, asked, good, found, scales, rename)
    if not good.any():
        raise report.nothing_usable(sources, table, scales)
    visits, visit = read.visits[_REPEATED], read.visit[good]
    del read  # the table of the answers takes more than all of this
    names = [f"{source}:{one.path.name}" for one in sources]
    columns = _of_answers(visits, visit, names, salt) | {
        "attribute": occurring(pd.Categorical.from_codes(asked[good], list(scales))),
        "level": level[good].astype(np.int64),
    }
    return Ingest(pd.DataFrame({name: columns[name] for name in COLUMNS}, copy=False), table)


def _known_people(read: Gathered) -> tuple[Gathered, np.ndarray]:
    """The assignments with names of one account each, and those whose name several accounts had."""
    names, shared = told_apart(read.visits)
    return read._replace(visits=read.visits.assign(annotator=names)), shared


def _sorted(
    read: Gathered, asked: np.ndarray, level: np.ndarray
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Which answers are good; by reason the numbers of assignments or answers that are not."""
    taken, found = _of_visits(read.visits)
    good = taken[read.visit]
    for reason, code in NO_LEVEL.items():
        found[reason] = np.flatnonzero(good & (level == code))
    good &= level >= 0
    repeated = duplicates(read.visits, read.visit, asked, good)
    found["duplicate"], found[SEVERAL_VISITS] = repeated
    good[found["duplicate"]] = False
    answered = np.zeros(len(read.visits), dtype=bool)
    answered[read.visit[good]] = True
    found["e-mail as annotator id"] = np.flatnonzero(read.visits["email"])
    found[OTHER_NAME] = np.flatnonzero(answered & read.visits["other_name"].notna())
    found["unreadable time"] = np.flatnonzero(answered & read.visits["submitted_at"].isna())
    return good, found


def _report(
    sources: Sequence[Source],
    read: Gathered,
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


def _of_visits(visits: pd.DataFrame) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Which assignments are good, and the numbers of the others by reason."""
    checks = {
        reason: (visits["problem"] == reason).to_numpy()
        for reason, unit in DROPPED.items()
        if unit == "assignment"
    }
    checks[OLDER] = older_versions(visits)
    checks["other job"] = _other_job(visits)
    another = visits["other_name"].isin(visits["image_id"].cat.categories).to_numpy()
    checks[CONTRADICTORY] = checks[CONTRADICTORY] | another
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
        counts = job.value_counts(sort=False)
        order = list(job.dropna().unique())
        if order:
            most = max(order, key=counts.__getitem__)  # the first of equals
            other[job.index] = (job.notna() & (job != most)).to_numpy()
    return other


def _silent(
    sources: Sequence[Source],
    read: Gathered,
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


def _fields(read: Gathered, attribute: np.ndarray, names: list[str]) -> list[str]:
    """How the files call the attributes."""
    fields = list(names)
    for number in range(len(names)):
        answers = attribute == number
        if answers.any():
            fields[number] = read.kinds[read.kind[answers.argmax()]].field or names[number]
    return fields


def _of_answers(
    visits: pd.DataFrame, visit: np.ndarray, names: Sequence[str], salt: str
) -> dict[str, Any]:
    """Columns of the tidy table that repeat those of assignments, for the answers' `visit`."""
    answered = np.zeros(len(visits), dtype=bool)
    answered[visit] = True
    row = np.take((answered.cumsum() - 1).astype(np.int32), visit, out=visit)  # in its place
    visits = visits[answered]
    annotator = visits["annotator"].array
    hashes = [hash_annotator(name, salt) for name in annotator.categories]
    columns = {
        "image_id": occurring(visits["image_id"].array),
        "annotator_id": occurring(annotator.rename_categories(hashes)),
        "seconds": visits["seconds"].to_numpy(),
        "submitted_at": visits["submitted_at"].array,
        "source": _named(visits["file"].to_numpy(), names),
    }
    return {name: column.take(row) for name, column in columns.items()}


def _named(file: np.ndarray, names: Sequence[str]) -> pd.Categorical:
    """The files' names, of which two may be equal, for their numbers."""
    different = sorted(set(names))
    code = np.array([different.index(name) for name in names], dtype=np.int32)
    return occurring(pd.Categorical.from_codes(code[file], different))
