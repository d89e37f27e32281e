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
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.annotations.ingest import TRUTH_TEXTS, Ingest, RawAnswers, validate
from faceaudit.annotations.schema import ATTRIBUTES, KnownImages, Paths, Rename
from faceaudit.utils.errors import missing_in_header
from faceaudit.utils.tables import read_table, wrong_format

MTURK_BATCH = "an MTurk batch results CSV"
TIME_FORMAT = "%a %b %d %H:%M:%S UTC %Y"
FIXED_COLUMNS = (
    "HITId",
    "HITTypeId",
    "Title",
    "Description",
    "Keywords",
    "Reward",
    "CreationTime",
    "MaxAssignments",
    "RequesterAnnotation",
    "AssignmentDurationInSeconds",
    "AutoApprovalDelayInSeconds",
    "Expiration",
    "NumberOfSimilarHITs",
    "LifetimeInSeconds",
    "AssignmentId",
    "WorkerId",
    "AssignmentStatus",
    "AcceptTime",
    "SubmitTime",
    "AutoApprovalTime",
    "ApprovalTime",
    "RejectionTime",
    "RequesterFeedback",
    "WorkTimeInSeconds",
    "LifetimeApprovalRate",
    "Last30DaysApprovalRate",
    "Last7DaysApprovalRate",
)
"""The columns that stand in every batch, in their order."""
_NEEDED_COLUMNS = ("HITTypeId", "WorkerId", "AssignmentStatus", "SubmitTime", "WorkTimeInSeconds")
_COLUMNS_TO_READ = "|".join([*_NEEDED_COLUMNS, "Title$", "Answer", "Input", "Reject$"])
"""A pattern of how the names of columns begin that are read."""
_COLUMN_OF_VISIT = {
    "named": "Input.image_id",
    "annotator": "WorkerId",
    "seconds": "WorkTimeInSeconds",
    "submitted_at": "SubmitTime",
}
"""Column of `RawAnswers.visits` → column of a batch."""
_STATUS = {"approved": "", "submitted": "", "rejected": "rejected"}
"""Status of an assignment in a batch, in small letters → its status in `RawAnswers.visits`."""


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
        InputError: a file is not such a CSV; names the file, the row and what was expected. No
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
    for file in [path] if isinstance(path, str | Path) else path:
        add_batch(export, Path(file), image_key)
    return validate(export, salt, rename, known_images)


def add_batch(export: RawAnswers, path: Path, image_key: str = "image_url") -> None:
    """Add the assignments of a file, about any kind of item."""
    batch = read_table(path, MTURK_BATCH, _NEEDED_COLUMNS, _COLUMNS_TO_READ)
    answer_columns = [name for name in batch if name.startswith("Answer.")]
    if not answer_columns:
        raise wrong_format(path, "row 1", MTURK_BATCH, missing_in_header("Answer.*"))
    visits_before = len(export.visits["file"])
    export.begin(path)
    status = batch["AssignmentStatus"].map(_status).astype("object")
    if "Reject" in batch:
        status[batch["Reject"].map(str.strip) != ""] = "rejected"
    columns = _COLUMN_OF_VISIT | {"address": f"Input.{image_key.removeprefix('Input.')}"}
    image_keys = [columns["address"], columns["named"]]
    if not any(name in batch for name in image_keys):
        inputs = [name for name in batch if name.startswith("Input.")]
        export.lacks_image(image_keys, inputs)
    answers = pd.concat(_answer_numbers(batch[answer_columns], export))
    answers = answers.sort_index(kind="stable")
    empty = [None] * len(batch)
    visits = {name: batch.get(column, empty) for name, column in columns.items()}
    visits["place"] = range(2, len(batch) + 2)
    visits["status"] = status
    visits["file"] = [len(export.files) - 1] * len(batch)
    visits["job"] = _jobs(batch, answers, list(export.kinds))
    for name, column in export.visits.items():
        column.extend(visits.get(name, empty))
    export.visit.extend((answers.index + visits_before).tolist())
    export.kind.extend(answers.tolist())


@dataclass
class _HitType:
    """What assignments of one `HITTypeId` have in common: a title, questions and inputs."""

    name: str
    title: str
    questions: set[str | None]
    inputs: set[str]

    def is_same_job(self, other: "_HitType") -> bool:
        """Whether both asked the same, so that they may differ in the reward, say."""
        same_questions = self.questions == other.questions
        in_common = same_questions or not self.questions.isdisjoint(other.questions)
        return (self.title == other.title and in_common) or (
            same_questions and self.inputs == other.inputs
        )


def _jobs(batch: pd.DataFrame, answers: pd.Series, kinds: Sequence[tuple]) -> pd.Series:
    """Of every assignment its job: the first `HITTypeId` of those that asked the same.

    Args:
        batch: the assignments.
        answers: the number of the kind of every answer, indexed by assignment.
        kinds: (question, level, field) of every kind.
    """
    names = batch["HITTypeId"]
    different = [name for name in names.unique() if name.strip()]
    if len(different) < 2:
        return names
    names_of_answers = names.astype("object")[answers.index]
    kinds_of_names = pd.DataFrame({"name": names_of_answers, "kind": answers}).drop_duplicates()
    jobs: list[list[_HitType]] = []
    for name in different:
        rows = batch[names == name]
        numbers = kinds_of_names["kind"][kinds_of_names["name"] == name]
        hit_type = _HitType(
            name,
            rows["Title"].iloc[0].strip() if "Title" in rows else "",
            {kinds[int(number)][0] for number in numbers},
            _filled_inputs(rows),
        )
        same = [job for job in jobs if any(map(hit_type.is_same_job, job))]
        jobs = [job for job in jobs if job not in same]
        jobs.append([*chain.from_iterable(same), hit_type])
    job_of = {hit_type.name: job[0].name for job in jobs for hit_type in job}
    return names.map(job_of).astype("object").fillna("")


def _filled_inputs(rows: pd.DataFrame) -> set[str]:
    """The `Input` columns with a text in some of the rows."""
    inputs = [name for name in rows if name.startswith("Input.")]
    return {name for name in inputs if (rows[name].map(str.strip) != "").any()}


def _status(text: str) -> str:
    """The status of an assignment, "" if its answers count."""
    return _STATUS.get(text.strip().casefold(), "cancelled")


def _answer_numbers(batch: pd.DataFrame, export: RawAnswers) -> Iterator[pd.Series]:
    """For every question the numbers of the answers, indexed by assignment."""
    buttons: dict[str, list[str]] = {}
    for column in batch:
        name, _, rest = column.removeprefix("Answer.").partition(".")
        if rest in ("", "label"):
            parse = _task_answers if name == "taskAnswers" else partial(of_element, name)
            yield _numbers(batch[column], partial(parse, field=column), export)
        else:
            buttons.setdefault(name, []).append(column)
    for name, columns in buttons.items():
        labels = [column.removeprefix(f"Answer.{name}.") for column in columns]
        states = batch[columns].astype("str").apply(_small_letters)
        states = states.agg("|".join, axis=1).astype("category")
        yield _numbers(states, partial(_pressed, labels=labels, name=name), export)


def _small_letters(texts: pd.Series) -> pd.Series:
    """Texts in small letters, without blanks around them."""
    return texts.str.strip().str.casefold()


def _numbers(
    texts: pd.Series, parse: Callable[[str], list[tuple]], export: RawAnswers
) -> pd.Series:
    """The numbers of the answers in a column of texts, of which few are different.

    Args:
        texts: categories of cells, indexed by assignment.
        parse: gives the answers in a text.
        export: numbers the answers.
    """
    kinds = [[export.number_of(answer) for answer in parse(text)] for text in texts.cat.categories]
    kinds = pd.Series(kinds, name="kind", dtype="object").explode().dropna()
    return texts.cat.codes.to_frame("text").join(kinds, on="text", how="inner")["kind"]


def _pressed(text: str, labels: list[str], name: str) -> list[tuple]:
    """The answer of radio buttons, of which each has a column."""
    states = text.split("|")
    truth_values = TRUTH_TEXTS | {"": False}
    if not truth_values.keys() >= set(states):
        return [(None, None, f"Answer.{name}")]
    pressed = {label: truth_values[state] for label, state in zip(labels, states, strict=True)}
    return of_element(name, pressed, f"Answer.{name}")


def _task_answers(cell: str, field: str) -> list[tuple]:
    """The answers in '[{"gender": {"label": "Male"}, "age": {"Adult": true, "Teen": false}}]'."""
    try:
        records = json.loads(cell.strip() or "[]")
        elements = [element for record in records for element in record.items()]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return [(None, None, field)]
    answers = []
    for name, value in elements:
        answers += of_element(name, value, field)
    return answers


def of_element(name: str | None, value: Any, field: str) -> list[tuple]:
    """The answer of one element of a form, in a list that is empty if nothing is chosen.

    Args:
        name: of the question.
        value: what the form sends of the element: a text, a number, {"label": …}, or whether each
            of several buttons is pressed.
        field: name of the question in the file.
    """
    if isinstance(value, dict) and value and all(type(state) is bool for state in value.values()):
        labels = tuple(label for label, pressed in value.items() if pressed)
        if not labels:
            return []
        return [(name, labels[0] if len(labels) == 1 else labels, field)]
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
    image = answers["image_id"]
    worker = answers["worker_id"].astype("str")
    worked = answers["seconds"].round().clip(lower=1)
    begun = answers["submitted_at"] - pd.to_timedelta(worked, unit="s")
    batch = dict.fromkeys(FIXED_COLUMNS, "") | {
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
    batch["Approve"] = ""
    batch["Reject"] = ""
    pd.DataFrame(batch, index=answers.index).to_csv(path, index=False)


def _identifiers(values: pd.Series) -> pd.Series:
    """Thirty capitals and digits in MTurk's style, equal for equal values."""
    return values.map(lambda value: "3" + blake2b(value.encode()).hexdigest()[:29].upper())
