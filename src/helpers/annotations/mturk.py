"""Amazon Mechanical Turk batch results: CSV with one assignment per row.

27 fixed columns, then `Input.*`, `Answer.*`, `Approve` and `Reject`. An answer is spelt
`Answer.<attribute>`, `Answer.<attribute>.label` (crowd elements) or sits in `Answer.taskAnswers` as
JSON; it is a level's name or an integer level counted from 0. Chapters 1, 3, 13 and 14 write and
read such files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.annotations.ingest import RAW_COLUMNS, Ingest, image_id_of, is_email, validate
from helpers.annotations.schema import ATTRIBUTES
from helpers.annotations.text import csv_rows, json_cell, opened, wrong_format

SOURCE = "mturk"
EXPECTED = "an MTurk batch results CSV"

_NEEDED = ("HITTypeId", "WorkerId", "AssignmentStatus", "SubmitTime", "WorkTimeInSeconds")
_STATUS = {"submitted": "accepted", "approved": "accepted", "rejected": "rejected"}

_PART = 10_000
"""Assignments that are held at a time."""
_FIELDS = {
    "rejected assignment": "AssignmentStatus",
    "cancelled assignment": "AssignmentStatus",
    "other job": "HITTypeId",
    "missing image": "Input.image_id",
    "missing annotator": "WorkerId",
    "e-mail as annotator id": "WorkerId",
    "unreadable time": "SubmitTime",
}

# Hours from UTC of the zone tokens that MTurk prints.
_ZONES = {"UTC": 0, "GMT": 0, "EDT": -4, "EST": -5, "CDT": -5, "CST": -6}
_ZONES |= {"MDT": -6, "MST": -7, "PDT": -7, "PST": -8}
_TIME = r"^\w{3} (\w{3} \d{1,2} \d{2}:\d{2}:\d{2}) (\w+) (\d{4})$"


def read_mturk(
    path: str | Path, *, rename: Mapping[str, str] | None = None, salt: str = "helpers"
) -> Ingest:
    """Read a batch results file.

    The image is `Input.image_id`, or the file name in `Input.image_url`. Rows whose status is
    Rejected, or that carry a text under `Reject`, are rejected; a status that is neither Submitted
    nor Approved counts as cancelled. Jobs are told apart by `HITTypeId`. Introduced in chapter 01.

    Args:
        path: the CSV file.
        rename: name in an `Answer` column or its JSON -> attribute, where they differ.
        salt: of the annotators' hashes; keep it private where the table is published.

    Returns:
        The tidy table and the report of what was rejected, see `Ingest`.

    Raises:
        ValueError: the file is not such a CSV; names the file, the line and what was expected.

    Example:
        >>> import tempfile
        >>> from helpers import annotations
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("HITTypeId,WorkerId,AssignmentStatus,SubmitTime,WorkTimeInSeconds,"
        ...                    "Input.image_id,Answer.age\\n"
        ...                    "T,W1,Approved,Thu Oct 09 07:30:20 UTC 2025,12,a,Senior\\n")
        ...     file.flush()
        ...     tidy, report = annotations.read_mturk(file.name)
        >>> tidy[["image_id", "attribute", "level"]].values.tolist()
        [['a', 'age', 5]]
    """
    path = Path(path)
    return validate(_parts(path, dict(rename or {})), path, SOURCE, salt, _FIELDS)


def _parts(path: Path, rename: Mapping[str, str]) -> Iterator[pd.DataFrame]:
    """The raw records, as `validate` takes them."""
    with opened(path, EXPECTED) as stream:
        header, rows = csv_rows(path, stream, EXPECTED)
        missing = [column for column in _NEEDED if column not in header]
        if missing or not any(column.startswith("Answer.") for column in header):
            found = f"no column {missing[0] if missing else 'Answer.*'}"
            raise wrong_format(path, 1, EXPECTED, found)
        yield _raw(header, list(islice(rows, _PART)), rename)
        while part := list(islice(rows, _PART)):
            yield _raw(header, part, rename)


def _raw(
    header: list[str], rows: list[tuple[int, list[str]]], rename: Mapping[str, str]
) -> pd.DataFrame:
    batch = pd.DataFrame([cells for _, cells in rows], columns=header, dtype="object")
    answers = pd.concat(list(_answer_columns(batch, rename)))
    lines = np.array([line for line, _ in rows], dtype=int)
    raw = _assignments(batch, lines).join(answers).reset_index(drop=True)
    return raw[list(RAW_COLUMNS)]


def parse_times(text: pd.Series) -> pd.Series:
    """Times like "Thu Oct 09 07:30:20 UTC 2025" as timestamps in UTC; missing if unreadable."""
    parts = text.str.extract(_TIME)
    local = pd.to_datetime(parts[0] + " " + parts[2], format="%b %d %H:%M:%S %Y", errors="coerce")
    return (local - pd.to_timedelta(parts[1].map(_ZONES), unit="h")).dt.tz_localize("UTC")


def write_mturk(answers: pd.DataFrame, path: str | Path) -> None:
    """Write a crowd's answers as a batch results file.

    A cancelled assignment went back to the pool and leaves no row. Introduced in chapter 01.

    Args:
        answers: as `crowd.annotate` returns them.
        path: CSV file to write.

    Example:
        >>> import pandas as pd, tempfile
        >>> from helpers import annotations
        >>> from helpers.annotations import crowd
        >>> shown = pd.DataFrame({"age": [0.5]}, index=["a"])
        >>> answers = crowd.annotate(shown, 2, seed=1, stage="example")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     annotations.write_mturk(answers, f"{folder}/batch.csv")
        ...     len(annotations.read_mturk(f"{folder}/batch.csv").frame)
        2
    """
    answers = answers[answers["status"] != "cancelled"].reset_index(drop=True)
    answers = answers.astype({"worker_id": "str"})
    rejected = answers["status"] == "rejected"
    submitted = answers["submitted_at"]
    reviewed = _time_text(submitted + pd.Timedelta(days=1))
    worked = answers["seconds"].round().clip(lower=1)
    visits = answers["image_id"] + "/" + answers["worker_id"] + "/" + answers["visit"].astype("str")
    batch = {
        "HITId": _identifiers(answers["image_id"]),
        "HITTypeId": "3FACEATTRIBUTES0000000000000A",
        "Title": "Describe a face",
        "Description": "Look at one face and answer eight questions",
        "Keywords": "face, image, attributes",
        "Reward": "$0.10",
        "CreationTime": _time_text(submitted.dt.floor("D")),
        "MaxAssignments": answers.groupby("image_id")["image_id"].transform("size"),
        "RequesterAnnotation": "BatchId:1;",
        "AssignmentDurationInSeconds": 600,
        "AutoApprovalDelayInSeconds": 259200,
        "Expiration": _time_text(submitted.dt.floor("D") + pd.Timedelta(days=7)),
        "NumberOfSimilarHITs": "",
        "LifetimeInSeconds": "",
        "AssignmentId": _identifiers(visits),
        "WorkerId": answers["worker_id"],
        "AssignmentStatus": np.where(rejected, "Rejected", "Approved"),
        "AcceptTime": _time_text(submitted - pd.to_timedelta(worked, unit="s")),
        "SubmitTime": _time_text(submitted),
        "AutoApprovalTime": _time_text(submitted + pd.Timedelta(days=3)),
        "ApprovalTime": reviewed.where(~rejected, ""),
        "RejectionTime": reviewed.where(rejected, ""),
        "RequesterFeedback": np.where(rejected, "Answers do not match the image", ""),
        "WorkTimeInSeconds": worked.astype(int),
        "LifetimeApprovalRate": "",
        "Last30DaysApprovalRate": "",
        "Last7DaysApprovalRate": "",
        "Input.image_id": answers["image_id"],
        "Input.image_url": "images/" + answers["image_id"] + ".png",
    }
    for attribute, levels in ATTRIBUTES.items():
        if attribute in answers:
            batch[f"Answer.{attribute}"] = answers[attribute].map(dict(enumerate(levels)))
    batch |= {"Approve": "", "Reject": ""}
    pd.DataFrame(batch, index=answers.index).to_csv(path, index=False)


def _assignments(batch: pd.DataFrame, lines: np.ndarray) -> pd.DataFrame:
    """The raw columns that belong to the assignment, one row each."""
    status = batch["AssignmentStatus"].str.strip().str.casefold().map(_STATUS).fillna("cancelled")
    if "Reject" in batch:
        status = status.mask(batch["Reject"].str.strip() != "", "rejected")
    worker = batch["WorkerId"]
    emails = {identity: is_email(identity) for identity in worker.unique()}
    return pd.DataFrame(
        {
            "image_id": _image_ids(batch),
            "annotator": worker,
            "email": worker.map(emails).astype(bool),
            "seconds": pd.to_numeric(batch["WorkTimeInSeconds"], errors="coerce"),
            "submitted_at": parse_times(batch["SubmitTime"]),
            "status": status,
            "job": batch["HITTypeId"].where(batch["HITTypeId"].str.strip() != ""),
            "assignment": np.arange(len(batch)),
            "line": lines,
        }
    )


def _image_ids(batch: pd.DataFrame) -> list[str | None]:
    keys = ("Input.image_id", "Input.image_url")
    inputs = batch[[key for key in keys if key in batch]]
    return [image_id_of(row, *keys) for row in inputs.to_dict("records")]


def _answer_columns(batch: pd.DataFrame, rename: Mapping[str, str]) -> Iterator[pd.DataFrame]:
    """Columns attribute, answer and field of each answer column, indexed by row of the batch."""
    for column in (name for name in batch if name.startswith("Answer.")):
        name = column.removeprefix("Answer.").removesuffix(".label")
        if name == "taskAnswers":
            rows, names, answers = _task_answers(batch[column])
        else:
            rows, names, answers = batch.index, [name] * len(batch), batch[column]
        attributes = pd.Series(names, rows, dtype="object").replace(rename)
        yield pd.DataFrame({"attribute": attributes, "answer": list(answers), "field": column})


def _task_answers(cells: pd.Series) -> tuple[list[int], list[str | None], list[Any]]:
    """Row, name and answer of everything in the JSON cells; nothing readable gives one None."""
    found = []
    for row, cell in cells.items():
        pairs = list(_json_answers(cell))
        found += [(row, name, answer) for name, answer in pairs or [(None, None)]]
    rows, names, answers = map(list, zip(*found, strict=True)) if found else ([], [], [])
    return rows, names, answers


def _json_answers(cell: str) -> Iterator[tuple[str, Any]]:
    """(name, answer) pairs in '[{"gender": {"label": "Male"}, "age": "Adult"}]'."""
    try:
        content = json_cell(cell)
    except ValueError:
        return
    for record in content if isinstance(content, list) else [content]:
        for name, value in record.items() if isinstance(record, dict) else ():
            answer = value.get("label") if isinstance(value, dict) else value
            yield name, answer if isinstance(answer, str | int) else None


def _time_text(times: pd.Series) -> pd.Series:
    return times.dt.strftime("%a %b %d %H:%M:%S UTC %Y")


def _identifiers(values: pd.Series) -> pd.Series:
    """Thirty capitals and digits in MTurk's style, equal for equal values."""
    names = {value: "3" + blake2b(value.encode()).hexdigest()[:29].upper() for value in values}
    return values.map(names)
