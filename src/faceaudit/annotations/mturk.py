"""Amazon's Mechanical Turk: batch results to read and to write.

Batch results are a CSV with one assignment per row: 27 fixed columns, then `Input.*`,
`Answer.*`, `Approve` and `Reject`; as downloaded, rows end before the last two, which a requester
fills in. An answer is spelt `Answer.<attribute>`, `Answer.<attribute>.label` (crowd elements),
`Answer.<attribute>.<level>` (true or false, radio buttons) or sits in `Answer.taskAnswers` as JSON;
it is a level's name or an integer level counted from 0.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.annotations.ingest import TRUTH_TEXTS, Ingest, RawAnswers, validate
from faceaudit.annotations.schema import ATTRIBUTES, KnownImages, Paths, Rename
from faceaudit.utils.tables import read_table, wrong_format

MTURK_BATCH = "an MTurk batch results CSV"
_STATUS = {"approved": "", "submitted": "", "rejected": "rejected"}
_NEEDED_COLUMNS = ("HITTypeId", "WorkerId", "AssignmentStatus", "SubmitTime", "WorkTimeInSeconds")
TIME_FORMAT = "%a %b %d %H:%M:%S UTC %Y"
FIXED_COLUMNS = (
    "HITId,HITTypeId,Title,Description,Keywords,Reward,CreationTime,MaxAssignments,"
    "RequesterAnnotation,AssignmentDurationInSeconds,AutoApprovalDelayInSeconds,Expiration,"
    "NumberOfSimilarHITs,LifetimeInSeconds,AssignmentId,WorkerId,AssignmentStatus,AcceptTime,"
    "SubmitTime,AutoApprovalTime,ApprovalTime,RejectionTime,RequesterFeedback,WorkTimeInSeconds,"
    "LifetimeApprovalRate,Last30DaysApprovalRate,Last7DaysApprovalRate"
)
"""The columns that stand in every batch, in their order."""
_COLUMNS_TO_READ = "|".join([*_NEEDED_COLUMNS, "Title$", "Answer", "Input", "Reject$"])
_COLUMN_OF_VISIT = {"named": "Input.image_id", "annotator": "WorkerId"}
_COLUMN_OF_VISIT |= {"seconds": "WorkTimeInSeconds", "submitted_at": "SubmitTime"}


def read_mturk(
    path: Paths,
    *,
    known_images: KnownImages = None,
    rename: Rename = None,
    salt: str = "helpers",
    image_key: str = "image_url",
) -> Ingest:
    """Read batch results.

    The image is `Input.image_id`, or the file name in `Input.image_url`. Rows whose status is
    Rejected, or that carry a text under `Reject`, are rejected; a status that is neither Submitted
    nor Approved counts as cancelled.

    A file may hold several batches. Those of one `HITTypeId` are one job, and so are those that
    differ in it alone, as when the reward was raised: batches of one title with a question in
    common, or with the same questions about the same `Input` columns. Of several jobs in a file,
    the one with most assignments is read.

    Args:
        path: the CSV file, or several, which are read as one.
        known_images: ids of the images that were annotated; answers about others are counted as
            "unknown image".
        rename: name in an `Answer` column or its JSON → attribute, where they differ.
        salt: of the annotators' hashes; keep it private where the table is published.
        image_key: name, behind `Input.`, of the column with the images' addresses.

    Returns:
        The tidy table and the report of what was rejected, see `Ingest`.

    Raises:
        ValueError: a file is not such a CSV; names the file, the row and what was expected. No
            answer in the files can be used.

    Example:
        >>> import tempfile
        >>> from faceaudit import annotations
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("HITTypeId,WorkerId,AssignmentStatus,SubmitTime,WorkTimeInSeconds,"
        ...                    "Input.image_id,Answer.age\\n"
        ...                    "T,W1,Approved,Thu Oct 09 07:30:20 UTC 2025,12,a,Senior\\n")
        ...     file.flush()
        ...     tidy, report = annotations.read_mturk(file.name)
        >>> tidy[["image_id", "attribute", "level"]].values.tolist()
        [['a', 'age', 5]]
    """
    export = RawAnswers("mturk")
    for one in [path] if isinstance(path, str | Path) else path:
        add_batch(export, Path(one), image_key)
    return validate(export, salt, rename, known_images)


def add_batch(export: RawAnswers, path: Path, image_key: str = "image_url") -> None:
    """Add the assignments of a file, about any kind of item."""
    batch, before = (
        read_table(path, MTURK_BATCH, _NEEDED_COLUMNS, _COLUMNS_TO_READ),
        len(export.visits["file"]),
    )
    answers = [name for name in batch if name.startswith("Answer.")]
    if not answers:
        raise wrong_format(path, "row 1", MTURK_BATCH, "no column Answer.*")
    export.begin(path)
    nothing = [None] * len(batch)
    status = batch["AssignmentStatus"].map(_status).astype("object")
    if "Reject" in batch:
        status[batch["Reject"].map(str.strip) != ""] = "rejected"
    address = f"Input.{image_key.removeprefix('Input.')}"
    columns = _COLUMN_OF_VISIT | {"address": address}
    visits = {name: batch.get(column, nothing) for name, column in columns.items()}
    wanted = [columns["address"], columns["named"]]
    if not any(name in batch for name in wanted):
        export.lacks_image(wanted, [name for name in batch if name.startswith("Input.")])
    visits |= {"place": range(2, len(batch) + 2), "status": status}
    visits["file"] = [len(export.files) - 1] * len(batch)
    found = pd.concat(_answer_numbers(batch[answers], export)).sort_index(kind="stable")
    visits["job"] = _jobs(batch, found, [*export.kinds])
    for name, column in export.visits.items():
        column.extend(visits.get(name, nothing))
    export.visit.extend((found.index + before).tolist())
    export.kind.extend(found.tolist())


@dataclass
class _HitType:
    """What assignments of one `HITTypeId` have in common: a title, questions and inputs."""

    name: str
    title: str
    questions: set[str]
    inputs: set[str]

    def is_same_job(self, other: "_HitType") -> bool:
        """Whether both asked the same, so that they may differ in the reward, say."""
        same_questions = self.questions == other.questions
        in_common = same_questions or not self.questions.isdisjoint(other.questions)
        return (self.title == other.title and in_common) or (
            same_questions and self.inputs == other.inputs
        )


def _jobs(batch: pd.DataFrame, found: pd.Series, kinds: Sequence[tuple]) -> pd.Series:
    """Of every assignment its job: the first `HITTypeId` of those that asked the same."""
    names = batch["HITTypeId"]
    different = [name for name in names.unique() if name.strip()]
    if len(different) < 2:
        return names
    asked = pd.DataFrame({"name": names.astype("object")[found.index], "kind": found})
    asked = asked.drop_duplicates()
    jobs: list[list[_HitType]] = []
    for name in different:
        rows = batch[names == name]
        inputs = [one for one in rows if one.startswith("Input.")]
        one = _HitType(
            name,
            rows["Title"].iloc[0].strip() if "Title" in rows else "",
            {kinds[kind][0] for kind in asked["kind"][asked["name"] == name]},
            {column for column in inputs if (rows[column].map(str.strip) != "").any()},
        )
        same = [job for job in jobs if any(map(one.is_same_job, job))]
        jobs = [job for job in jobs if job not in same]
        jobs.append([*(member for job in same for member in job), one])
    job_of = {member.name: job[0].name for job in jobs for member in job}
    return names.map(job_of).astype("object").fillna("")


def _status(text: str) -> str:
    return _STATUS.get(text.strip().casefold(), "cancelled")


def _answer_numbers(batch: pd.DataFrame, export: RawAnswers) -> Iterator[pd.Series]:
    """For every question the numbers of the answers, indexed by assignment."""
    buttons: dict[str, list[str]] = {}
    for column in batch:
        name, _, rest = column.removeprefix("Answer.").partition(".")
        if rest in ("", "label"):
            said = _task_answers if name == "taskAnswers" else partial(of_element, name)
            yield _numbers(batch[column], partial(said, field=column), export)
        else:
            buttons.setdefault(name, []).append(column)
    for name, columns in buttons.items():
        labels = [column.removeprefix(f"Answer.{name}.") for column in columns]
        states = batch[columns].astype("str").apply(lambda one: one.str.strip().str.casefold())
        states = states.agg("|".join, axis=1).astype("category")
        yield _numbers(states, partial(_pressed, labels=labels, name=name), export)


def _numbers(texts: pd.Series, said: Callable[[str], list[tuple]], export: RawAnswers) -> pd.Series:
    """The numbers of the answers in a column of texts, of which few are different."""
    kinds = [[export.number_of(one) for one in said(text)] for text in texts.cat.categories]
    kinds = pd.Series(kinds, name="kind", dtype="object").explode().dropna()
    return texts.cat.codes.to_frame("text").join(kinds, on="text", how="inner")["kind"]


def _pressed(text: str, labels: list[str], name: str) -> list[tuple]:
    """The answer of radio buttons, of which each has a column."""
    states = text.split("|")
    known = TRUTH_TEXTS | {"": False}
    if not known.keys() >= {*states}:
        return [(None, None, f"Answer.{name}")]
    pressed = {label: known[state] for label, state in zip(labels, states, strict=True)}
    return of_element(name, pressed, f"Answer.{name}")


def _task_answers(cell: str, field: str) -> list[tuple]:
    """The answers in '[{"gender": {"label": "Male"}, "age": {"Adult": true, "Teen": false}}]'."""
    try:
        records = json.loads(cell.strip() or "[]")
        elements = [element for record in records for element in record.items()]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return [(None, None, field)]
    return [one for element in elements for one in of_element(*element, field)]


def of_element(name: str | None, value: Any, field: str) -> list[tuple]:
    """The answer of one element of a form; none if nothing is chosen."""
    if isinstance(value, dict) and value and all(type(state) is bool for state in value.values()):
        labels = tuple(label for label, pressed in value.items() if pressed)
        return [(name, labels[0] if len(labels) == 1 else labels, field)] * bool(labels)
    answer = value.get("label") if isinstance(value, dict) else value
    if isinstance(answer, str) and not answer.strip():
        return []
    return [(name, answer if type(answer) in (str, int) else None, field)]


def write_mturk(answers: pd.DataFrame, path: str | Path) -> None:
    """Write a crowd's answers as a batch results file.

    A cancelled assignment went back to the pool and leaves no row.

    Args:
        answers: a row per assignment: image_id, worker_id, visit (a number), seconds, submitted_at,
            status ("accepted", "rejected" or "cancelled"), and a column per attribute with the
            number of the level.
        path: CSV file to write.

    Example:
        >>> import pandas as pd, tempfile
        >>> from faceaudit import annotations
        >>> answers = pd.DataFrame({"image_id": ["a", "a"], "worker_id": ["A1", "B2"]})
        >>> answers = answers.assign(visit=0, seconds=9, status="accepted", age=[3, 4])
        >>> answers["submitted_at"] = pd.Timestamp("2026-01-05T12:00:00Z")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     annotations.write_mturk(answers, f"{folder}/batch.csv")
        ...     len(annotations.read_mturk(f"{folder}/batch.csv").frame)
        2
    """
    answers = answers[answers["status"] != "cancelled"].reset_index(drop=True)
    image, worker = answers["image_id"], answers["worker_id"].astype("str")
    worked = answers["seconds"].round().clip(lower=1)
    begun = answers["submitted_at"] - pd.to_timedelta(worked, unit="s")
    batch = dict.fromkeys(FIXED_COLUMNS.split(","), "") | {
        "HITId": _identifiers(image),
        "HITTypeId": "3FACEATTRIBUTES0000000000000A",
        "Title": "Describe a face",
        "AssignmentId": _identifiers(image + "/" + worker + "/" + answers["visit"].astype("str")),
        "WorkerId": worker,
        "AssignmentStatus": np.where(answers["status"] == "rejected", "Rejected", "Approved"),
        "AcceptTime": begun.dt.strftime(TIME_FORMAT),
        "SubmitTime": answers["submitted_at"].dt.strftime(TIME_FORMAT),
        "WorkTimeInSeconds": worked.astype(int),
        "Input.image_id": image,
        "Input.image_url": "images/" + image + ".png",
    }
    for attribute, levels in ATTRIBUTES.items():
        if attribute in answers:
            batch[f"Answer.{attribute}"] = answers[attribute].map(dict(enumerate(levels)))
    batch |= {"Approve": "", "Reject": ""}
    pd.DataFrame(batch, index=answers.index).to_csv(path, index=False)


def _identifiers(values: pd.Series) -> pd.Series:
    """Thirty capitals and digits in MTurk's style, equal for equal values."""
    return values.map(lambda value: "3" + blake2b(value.encode()).hexdigest()[:29].upper())
