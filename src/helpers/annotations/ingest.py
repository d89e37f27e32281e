"""From what stands in files to the tidy table, and a report of everything not taken as it was.

A reader hands in assignments and their answers (`Export`). The rules for what is dropped are
applied here, once, for all formats: each writes its reason into the column `problem` of the
assignments or of the answers. Millions of answers name few different ones, so an answer is kept as
a number, a few bytes, and what it says once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from helpers.annotations import exports as files
from helpers.annotations.exports import Export, ImageNames, identity, iso_times, seconds
from helpers.annotations.schema import ATTRIBUTES, COLUMNS, hash_annotator, occurring

# What is dropped, in the order of precedence (an answer is counted under its first reason), and
# what one count stands for.
DROPPED = dict.fromkeys(
    (
        "older version",
        "rejected assignment",
        "cancelled assignment",
        "other job",
        files.MISSING,
        files.UNUSABLE,
        files.UNKNOWN,
        files.AMBIGUOUS,
        files.CONTRADICTORY,
        "missing annotator",
    ),
    "assignment",
) | dict.fromkeys(
    (
        "unknown attribute",
        "no readable answer",
        "several levels",
        "unknown level",
        "level outside the scale",
        "duplicate",
    ),
    "answer",
)
NOTED = {
    "no answer": "answer",
    "e-mail as annotator id": "assignment",
    "several answers of one name": "assignment",
    "image id unlike its file": "assignment",
    "unreadable time": "assignment",
    "ground-truth annotation": "assignment",
    "draft": "draft",
    "failed item": "item",
    "task without annotation": "task",
    "nothing usable in a file": "file",
}
_MEANING = ["attribute", "level", "problem"]
_EMAIL = r"[^@\s]+@[^@\s]+"


class Ingest(NamedTuple):
    """Good answers and counted problems, as every reader returns them.

    Attributes:
        frame: the good answers, one row each, in the files' order; columns image_id, attribute,
            level (0 is the lowest), annotator_id (a hash), seconds (of the whole assignment),
            submitted_at (UTC) and source. Texts are categories.
        report: one row per reason, also those that did not occur: `reason`, `unit` (what is
            counted: assignments or answers, say), `count`, `dropped` (False: kept and only noted),
            `answers` (that were dropped for this reason), and of the first example `file`, `place`
            (a row, or a task and an annotation) and, for answers, `field`, the name of the question
            in the file.
    """

    frame: pd.DataFrame
    report: pd.DataFrame

    @property
    def totals(self) -> pd.Series:
        """What was read: rows (assignments), answers, people, and the answers that were kept."""
        return pd.Series(self.report.attrs["totals"], name="count")


def validate(
    exports: Sequence[Export],
    source: str,
    salt: str,
    *,
    scales: Mapping[str, tuple[str, ...]] = ATTRIBUTES,
    rename: Mapping[str, str] | None = None,
    known: Iterable[str] | None = None,
    numbered: bool = True,
) -> Ingest:
    """Sort what stands in files into good answers and counted problems.

    - A file that mixes jobs keeps the job with most assignments (the first of equals).
    - Of several versions of one annotation (one annotator, image, job and time of creation) the one
      that was updated last counts, also where it takes the answers back.
    - Of several answers of one annotator about one attribute of one image, the one submitted first
      is kept (the first in the files where times are equal or missing).
    - An image id that stands with the file of another image is dropped: which of the two was seen
      is not known.
    - Annotators are hashed with `schema.hash_annotator`; an e-mail address is counted and, like
      every other identity, kept as a hash only.
    - Whole numbers that reach one beyond the last level and never 0 were counted from 1. Which
      level they mean is nowhere said, so all of them are outside of the scale.

    Args:
        exports: what the files hold.
        source: name of the format.
        salt: of the annotators' hashes.
        scales: attributes that may be answered and the names of their levels, from low to high.
        rename: name of a question → attribute, where they differ.
        known: ids of the images; None if any name will do.
        numbered: a text of digits is a level's number, counted from 0.

    Raises:
        ValueError: there are no files, or no answer in them can be used; says why, by reason.
    """
    if not exports:
        raise ValueError("no files to read: at least one was expected")
    rename = dict(rename or {})
    visits = _visits(exports, known)
    answers, kinds = _answers(exports, visits, scales, rename, numbered)
    late, again = _duplicates(visits, answers, len(scales))
    answers.loc[late, "problem"] = "duplicate"
    good = answers["problem"].isna().to_numpy()
    answered = np.isin(np.arange(len(visits)), answers["visit"].to_numpy()[good])
    noted = {
        "e-mail as annotator id": visits["email"],
        "several answers of one name": visits.index.isin(again),
        "image id unlike its file": answered & visits["other_name"].notna(),
        "unreadable time": answered & visits["submitted_at"].isna(),
    }
    silent = _silent(exports, visits, answers, kinds, list(scales), rename)
    report = _report(exports, visits, answers, kinds["field"], noted, silent)
    if not good.any():
        raise _nothing_usable(exports, report, scales)
    paths = [f"{source}:{export.path.name}" for export in exports]
    frame = _tidy(visits, answers[["visit", "attribute", "level"]][good], scales, paths, salt)
    return Ingest(frame, report)


def _visits(exports: Sequence[Export], known: Iterable[str] | None) -> pd.DataFrame:
    """All assignments, with the image and the reason for which one is dropped."""
    known = None if known is None else set(known)
    names, tables = ImageNames(known), []
    for number, export in enumerate(exports):
        # Every server has a known image at an address of its own.
        names = names if known is None else ImageNames(known)
        given = export.visits
        images = [names.of(*both) for both in zip(given["named"], given["address"], strict=True)]
        table = pd.DataFrame(images, columns=["image_id", "image_problem", "other_name"])
        for name in ("annotator", "email", "status", "job"):
            table[name] = pd.Series([identity(value) for value in given[name]], dtype="str")
        for name in ("submitted_at", "updated_at"):
            table[name] = iso_times(given[name])
        spent, place = seconds(given["seconds"]), list(given["place"])
        tables.append(table.assign(seconds=spent, place=place, file=np.int32(number)))
    visits = pd.concat(tables, ignore_index=True)
    for name in ("image_id", "image_problem", "other_name", "annotator", "status", "job"):
        visits[name] = visits[name].astype("str").astype("category")
    named, address = (visits[name].astype("str").str for name in ("annotator", "email"))
    visits["email"] = named.fullmatch(_EMAIL) | address.fullmatch(_EMAIL)
    rules = {
        "older version": _older(visits),
        "rejected assignment": visits["status"] == "rejected",
        "cancelled assignment": visits["status"] == "cancelled",
        "other job": _other_job(visits),
        **{reason: visits["image_problem"] == reason for reason in list(DROPPED)[4:8]},
        files.CONTRADICTORY: visits["other_name"].isin(visits["image_id"].cat.categories)
        | (visits["image_problem"] == files.CONTRADICTORY),
        "missing annotator": visits["annotator"].isna(),
    }
    first = np.select(list(rules.values()), range(len(rules)), -1)
    visits["problem"] = pd.Categorical.from_codes(first, list(DROPPED)[: len(rules)])
    return visits


def _older(visits: pd.DataFrame) -> pd.Series:
    """Assignments that are earlier states of another one; copies are no older than each other."""
    again = visits.duplicated(["image_id", "annotator"], keep=False)
    some = visits[again & visits[["image_id", "annotator", "submitted_at"]].notna().all(axis=1)]
    updated = some["updated_at"].fillna(some["submitted_at"])
    annotation = [some[name] for name in ("image_id", "annotator", "submitted_at", "job")]
    latest = updated.groupby(annotation, dropna=False, observed=True).transform("max")
    return (updated < latest).reindex(visits.index, fill_value=False)


def _other_job(visits: pd.DataFrame) -> pd.Series:
    """Assignments of another job than most of their file; the first of equals is kept."""
    jobs = visits.groupby(["file", "job"], observed=True, sort=False).size()
    most = jobs.groupby("file").idxmax().map(lambda key: key[1])
    return visits["job"].notna() & (visits["job"].astype("str") != visits["file"].map(most))


def _answers(
    exports: Sequence[Export],
    visits: pd.DataFrame,
    scales: Mapping[str, tuple[str, ...]],
    rename: Mapping[str, str],
    numbered: bool,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All answers with what they mean and why they are dropped, and the different kinds of them."""
    kinds: dict[tuple, int] = {}
    visit, kind, before = [], [], 0
    for export in exports:
        numbers = np.array([kinds.setdefault(one, len(kinds)) for one in export.kinds], np.int32)
        kind.append(numbers[np.asarray(export.kind, np.int32)])
        visit.append(np.asarray(export.visit, np.int32) + np.int32(before))
        before += len(export.visits["place"])
    visit, kind = np.concatenate(visit), np.concatenate(kind)
    table = _meanings(list(kinds), scales, rename, numbered)
    of_visit = visits["problem"].cat.codes.to_numpy()[visit]
    attribute, level, problem = (table[name].to_numpy(np.int8)[kind] for name in _MEANING)
    problem = np.where(of_visit >= 0, of_visit, problem)
    answers = {"visit": visit, "kind": kind, "attribute": attribute, "level": level}
    answers["problem"] = pd.Categorical.from_codes(problem, list(DROPPED))
    return pd.DataFrame(answers, copy=False), table


def _meanings(
    kinds: Sequence[tuple],
    scales: Mapping[str, tuple[str, ...]],
    rename: Mapping[str, str],
    numbered: bool,
) -> pd.DataFrame:
    """Of every kind of answer its field, the numbers of attribute and reason, and the level."""
    reasons, names = list(DROPPED), list(scales)
    numbers: dict[str, set[int | None]] = {}
    for name, answer, _ in kinds:
        numbers.setdefault(rename.get(name, name), set()).add(_whole(answer))
    rows = []
    for name, answer, field in kinds:
        name = rename.get(name, name)
        if name not in scales:
            level = "no readable answer" if name is None else "unknown attribute"
            rows.append((field, -1, -1, reasons.index(level)))
            continue
        level = _level(answer, scales[name], numbered)
        from_one = 0 not in numbers[name] and len(scales[name]) in numbers[name]
        if numbered and from_one and _whole(answer) is not None:
            level = "level outside the scale"
        wrong = isinstance(level, str)
        meaning = (-1, reasons.index(level)) if wrong else (level, -1)
        rows.append((field, names.index(name), *meaning))
    return pd.DataFrame(rows, columns=["field", *_MEANING])


def as_compared(label: str) -> str:
    """A level's name without what makes no difference between an answer and a level."""
    return label.strip().casefold()


def _level(answer: Any, labels: Sequence[str], numbered: bool) -> int | str:
    """The level that an answer gives, or why it gives none."""
    if answer is None or (isinstance(answer, str) and not answer.strip()):
        return "no readable answer"
    if isinstance(answer, tuple):
        return "several levels"
    names = [as_compared(label) for label in labels]
    if isinstance(answer, str) and as_compared(answer) in names:
        return names.index(as_compared(answer))
    number = _whole(answer) if numbered or isinstance(answer, int) else None
    if number is None:
        return "unknown level"
    return number if 0 <= number < len(labels) else "level outside the scale"


def _whole(answer: Any) -> int | None:
    """The whole number that an answer is, or that its text gives."""
    if isinstance(answer, str) and re.fullmatch(r"\s*[+-]?\d{1,9}\s*", answer):
        return int(answer)
    return answer if isinstance(answer, int) else None


def _duplicates(
    visits: pd.DataFrame, answers: pd.DataFrame, n_attributes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Answers to a question that their annotator answered before, and who came at another time.

    The assignments that gave such an answer at another time than the one that is kept are those of
    one person who came back, or of two who have one name. Assignments of one time are copies.
    """
    pairs = visits.groupby(["image_id", "annotator"], observed=True, dropna=False)
    pair = pairs.ngroup().to_numpy(np.int64)
    good = np.flatnonzero(answers["problem"].isna())
    visit, attribute = (answers[name].to_numpy()[good] for name in ("visit", "attribute"))
    question = pd.Series(pair[visit] * n_attributes + attribute, index=good)
    again = question[question.duplicated(keep=False)].to_frame("question")
    again["visit"] = answers["visit"].to_numpy()[again.index]
    again["time"] = visits["submitted_at"].array[again["visit"]]
    again = again.sort_values("time", kind="stable")
    late = again[again["question"].duplicated()]
    first = again.drop_duplicates("question").set_index("question").loc[late["question"]]
    other = late["visit"].to_numpy() != first["visit"].to_numpy()
    other &= late["time"].to_numpy() != first["time"].to_numpy()
    return late.index.to_numpy(), late["visit"].to_numpy()[other]


def _silent(
    exports: Sequence[Export],
    visits: pd.DataFrame,
    answers: pd.DataFrame,
    kinds: pd.DataFrame,
    attributes: list[str],
    rename: Mapping[str, str],
) -> pd.DataFrame:
    """Good assignments and questions that were asked in their file, and not answered there."""
    given = np.zeros((len(visits), len(attributes) + 1), dtype=bool)
    given[answers["visit"], answers["attribute"]] = True  # the last column takes other questions
    given = given[:, :-1]
    asked = np.zeros((len(exports), len(attributes)), dtype=bool)
    for number, export in enumerate(exports):
        if export.asked is None:
            asked[number] = given[visits["file"] == number].any(axis=0)
        else:
            asked[number] = np.isin(attributes, [rename.get(name, name) for name in export.asked])
    silent = asked[visits["file"]] & ~given & visits["problem"].isna().to_numpy()[:, None]
    visit, attribute = np.nonzero(silent)
    fields = dict(enumerate(attributes))
    fields |= kinds.drop_duplicates("attribute").set_index("attribute")["field"].to_dict()
    return pd.DataFrame({"visit": visit, "field": [fields[number] for number in attribute]})


def _report(
    exports: Sequence[Export],
    visits: pd.DataFrame,
    answers: pd.DataFrame,
    fields: pd.Series,
    noted: Mapping[str, Any],
    silent: pd.DataFrame,
) -> pd.DataFrame:
    """Every reason: how often it was found, and where first."""
    table = pd.DataFrame({"unit": DROPPED | NOTED})
    wrong = answers[answers["problem"].isin(table.index[table["unit"] == "answer"])]
    wrong = wrong.assign(field=fields.to_numpy()[wrong["kind"]])
    dropped = visits[["problem"]].dropna().assign(visit=lambda rows: rows.index)
    found = [dropped, wrong[["problem", "visit", "field"]], silent.assign(problem="no answer")]
    for reason, where in noted.items():
        found.append(pd.DataFrame({"problem": reason, "visit": np.flatnonzero(where)}))
    found = pd.concat([one.astype({"problem": "object"}) for one in found])
    first = found.drop_duplicates("problem").set_index("problem")
    paths = [export.path.name for export in exports]
    places = visits["place"].iloc[first["visit"]]
    first["place"] = [one if isinstance(one, str) else f"row {one}" for one in places]
    first["file"] = [paths[number] for number in visits["file"].iloc[first["visit"]]]
    table["count"] = found["problem"].value_counts()
    table["dropped"] = table.index.isin(list(DROPPED))
    table["answers"] = answers["problem"].value_counts()
    table[["file", "place", "field"]] = first.reindex(columns=["file", "place", "field"]).astype(
        "object"
    )
    useful = set(visits["file"].iloc[answers["visit"][answers["problem"].isna()].unique()])
    for number, (name, export) in enumerate(zip(paths, exports, strict=True)):
        notes = dict(export.notes)
        if number not in useful:
            notes["nothing usable in a file"] = [None]
        for reason, where in notes.items():
            if pd.isna(table.loc[reason, "count"]):
                table.loc[reason, ["count", "file", "place"]] = 0, name, where[0]
            table.loc[reason, "count"] += len(where)
    table = table.fillna({"count": 0, "answers": 0}).astype({"count": int, "answers": int})
    table = table.astype(dict.fromkeys(("file", "place", "field"), "object"))
    table = table.rename_axis("reason").reset_index()
    table.attrs["totals"] = {
        "rows": len(visits),
        "answers": len(answers),
        "people": visits["annotator"].nunique(),
        "kept": int(answers["problem"].isna().sum()),
    }
    return table


def _nothing_usable(
    exports: Sequence[Export], report: pd.DataFrame, attributes: Iterable[str]
) -> ValueError:
    """The error for files of which nothing is kept: how many of what, and where the first is."""
    found = report[(report["count"] > 0) & (report["unit"] != "file")][:5]
    why = [f"{row.count} × {row.reason} (first at {row.place})" for row in found.itertuples()]
    unknown = found[found["reason"] == "unknown attribute"]
    for row in unknown.itertuples():
        known = ", ".join(attributes)
        why.append(f"the first unknown attribute is {row.field}; known are {known}")
    rows, more = report.attrs["totals"]["rows"], len(exports) - 1
    return ValueError(
        f"{exports[0].path}{f' and {more} more' * (more > 0)}: nothing usable in {rows} "
        f"assignment{'s' * (rows != 1)}" + (f": {'; '.join(why)}" if why else "")
    )


def _tidy(
    visits: pd.DataFrame,
    answers: pd.DataFrame,
    scales: Iterable[str],
    sources: Sequence[str],
    salt: str,
) -> pd.DataFrame:
    """The tidy table; `answers` are the good ones."""
    answered = np.unique(answers["visit"])
    row = np.searchsorted(answered, answers["visit"]).astype(np.int32)
    visits = visits.iloc[answered]
    people = visits["annotator"].cat.remove_unused_categories()
    hashes = [hash_annotator(name, salt) for name in people.cat.categories]
    different = sorted(set(sources))
    file = np.array([different.index(name) for name in sources])[visits["file"]]
    columns = {
        "image_id": occurring(visits["image_id"].array).take(row),
        "attribute": occurring(pd.Categorical.from_codes(answers["attribute"], list(scales))),
        "level": answers["level"].to_numpy(np.int64),
        "annotator_id": occurring(people.cat.rename_categories(hashes).array).take(row),
        "seconds": visits["seconds"].to_numpy()[row],
        "submitted_at": visits["submitted_at"].array.take(row),
        "source": occurring(pd.Categorical.from_codes(file, different)).take(row),
    }
    return pd.DataFrame({name: columns[name] for name in COLUMNS}, copy=False)
