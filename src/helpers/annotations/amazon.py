"""Amazon's Mechanical Turk and SageMaker Ground Truth, whose forms are made of the same elements.

MTurk's batch results are a CSV with one assignment per row: 27 fixed columns, then `Input.*`,
`Answer.*`, `Approve` and `Reject`; as downloaded, rows end before the last two, which a requester
fills in. An answer is spelt `Answer.<attribute>`, `Answer.<attribute>.label` (crowd elements),
`Answer.<attribute>.<level>` (true or false, radio buttons) or sits in `Answer.taskAnswers` as JSON;
it is a level's name or an integer level counted from 0.

A labelling job of Ground Truth has a manifest with a line per item, with the label that the service
made of all answers; the answers themselves lie in a folder per item, which is called by the item's
number, counted from 0, and holds one file or more. They belong to the manifest's line of that
number and to no other: items without an answer have no folder.
"""

from collections.abc import Callable, Iterator
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from helpers.annotations.ingest import Export, Ingest, read_table, validate, wrong_format
from helpers.annotations.schema import ATTRIBUTES, Known, Paths, Rename

BATCH = "an MTurk batch results CSV"
ITEMS = "a manifest of a Ground Truth labelling job (a JSON object a line)"
RESPONSES = "a file of Ground Truth workers' answers (JSON)"
MANIFEST = Path("manifests", "output", "output.manifest")
_STATUS = {"approved": "", "submitted": "", "rejected": "rejected"}
_NEEDED = ("HITTypeId", "WorkerId", "AssignmentStatus", "SubmitTime", "WorkTimeInSeconds")
TIME = "%a %b %d %H:%M:%S UTC %Y"
FIXED = (
    "HITId,HITTypeId,Title,Description,Keywords,Reward,CreationTime,MaxAssignments,"
    "RequesterAnnotation,AssignmentDurationInSeconds,AutoApprovalDelayInSeconds,Expiration,"
    "NumberOfSimilarHITs,LifetimeInSeconds,AssignmentId,WorkerId,AssignmentStatus,AcceptTime,"
    "SubmitTime,AutoApprovalTime,ApprovalTime,RejectionTime,RequesterFeedback,WorkTimeInSeconds,"
    "LifetimeApprovalRate,Last30DaysApprovalRate,Last7DaysApprovalRate"
)
"""The columns that stand in every batch, in their order."""
_WANTED = "|".join([*_NEEDED, "Answer", "Input.image", "Reject$"])
_COLUMNS = {"named": "Input.image_id", "address": "Input.image_url", "annotator": "WorkerId"}
_COLUMNS |= {"seconds": "WorkTimeInSeconds", "submitted_at": "SubmitTime", "job": "HITTypeId"}
_SINGLE = "crowd-image-classifier"


class Responses(msgspec.Struct):
    """A file of workers' answers about an item."""

    answers: list[dict[str, Any]]


def read_mturk(
    path: Paths, *, known_images: Known = None, rename: Rename = None, salt: str = "helpers"
) -> Ingest:
    """Read batch results.

    The image is `Input.image_id`, or the file name in `Input.image_url`. Rows whose status is
    Rejected, or that carry a text under `Reject`, are rejected; a status that is neither Submitted
    nor Approved counts as cancelled. Jobs are told apart by `HITTypeId`.

    Args:
        path: the CSV file, or several, which are read as one.
        known_images: ids of the images that were annotated; answers about others are counted as
            "unknown image".
        rename: name in an `Answer` column or its JSON → attribute, where they differ.
        salt: of the annotators' hashes; keep it private where the table is published.

    Returns:
        The tidy table and the report of what was rejected, see `Ingest`.

    Raises:
        ValueError: a file is not such a CSV; names the file, the row and what was expected. No
            answer in the files can be used.

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
    export = Export("mturk")
    for one in [path] if isinstance(path, str | Path) else path:
        _add_batch(export, Path(one))
    return validate(export, salt, rename, known_images)


def _add_batch(export: Export, path: Path) -> None:
    batch, before = read_table(path, BATCH, _NEEDED, _WANTED), len(export.visits["file"])
    answers = [name for name in batch if name.startswith("Answer.")]
    if not answers:
        raise wrong_format(path, "row 1", BATCH, "no column Answer.*")
    export.begin(path)
    nothing = [None] * len(batch)
    status = batch["AssignmentStatus"].map(
        lambda text: _STATUS.get(text.strip().casefold(), "cancelled")
    )
    status = [
        "rejected" if why and why.strip() else told
        for told, why in zip(status, batch.get("Reject", nothing), strict=True)
    ]
    visits = {name: batch.get(column, nothing) for name, column in _COLUMNS.items()}
    visits |= {"place": range(2, len(batch) + 2), "status": status}
    visits["file"] = [len(export.files) - 1] * len(batch)
    for name, column in export.visits.items():
        column.extend(visits.get(name, nothing))
    found = pd.concat(_answers(batch[answers], export)).sort_index(kind="stable")
    export.visit.extend((found.index + before).tolist())
    export.kind.extend(found.tolist())


def _answers(batch: pd.DataFrame, export: Export) -> Iterator[pd.Series]:
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


def _numbers(texts: pd.Series, said: Callable[[str], list[tuple]], export: Export) -> pd.Series:
    """The numbers of the answers in a column of texts, of which few are different."""
    kinds = [[export.number_of(one) for one in said(text)] for text in texts.cat.categories]
    kinds = pd.Series(kinds, name="kind", dtype="object").explode().dropna()
    return texts.cat.codes.to_frame("text").join(kinds, on="text", how="inner")["kind"]


def _pressed(text: str, labels: list[str], name: str) -> list[tuple]:
    """The answer of radio buttons, of which each has a column."""
    states = text.split("|")
    if not {"", "false", "true"}.issuperset(states):
        return [(None, None, f"Answer.{name}")]
    pressed = {label: state == "true" for label, state in zip(labels, states, strict=True)}
    return of_element(name, pressed, f"Answer.{name}")


def _task_answers(cell: str, field: str) -> list[tuple]:
    """The answers in '[{"gender": {"label": "Male"}, "age": {"Adult": true, "Teen": false}}]'."""
    try:
        records = msgspec.json.decode(cell.strip() or "[]", type=list[dict[str, Any]])
    except (msgspec.DecodeError, RecursionError):
        return [(None, None, field)]
    elements = [element for record in records for element in record.items()]
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


def read_ground_truth(
    path: str | Path, *, known_images: Known = None, rename: Rename = None, salt: str = "helpers"
) -> Ingest:
    """Read the answers of all workers of a labelling job.

    The image is the file in the manifest's `source-ref`. An image classifier answers the question
    that the job's label is called by; a form of several elements names them itself. Items that the
    service failed on are noted, and what workers answered about them is kept.

    Args:
        path: the job's folder, with `manifests` and `annotations` in it.
        known_images: ids of the images that were annotated; answers about others are counted as
            "unknown image".
        rename: name of the label or of a form's element → attribute, where they differ.
        salt: of the annotators' hashes; keep it private where the table is published.

    Returns:
        The tidy table and the report of what was rejected, see `Ingest`.

    Raises:
        FileNotFoundError: the folder has no output manifest.
        ValueError: a file is not what it should be; names the file, the line and what was expected.
            No answer can be used.

    Example:
        >>> import json, tempfile
        >>> from pathlib import Path
        >>> from helpers import annotations
        >>> item = {"source-ref": "s3://b/1.jpg", "gender": 4, "gender-metadata": {}}
        >>> answer = {"crowd-image-classifier": {"label": "Male"}}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     manifest = Path(folder, "manifests/output/output.manifest")
        ...     answers = Path(folder, "annotations/worker-response/iteration-1/0/a.json")
        ...     for file in (manifest, answers):
        ...         file.parent.mkdir(parents=True)
        ...     _ = manifest.write_text(json.dumps(item))
        ...     record = {"answers": [{"workerId": "w", "answerContent": answer}]}
        ...     _ = answers.write_text(json.dumps(record))
        ...     annotations.read_ground_truth(folder).frame["level"].tolist()
        [4]
    """
    export, manifest = Export("ground_truth"), Path(path, MANIFEST)
    export.begin(Path(path))
    lines = manifest.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines()
    items = [_item(manifest, *line) for line in enumerate(lines, start=1)]
    if not items:
        raise wrong_format(manifest, "line 1", ITEMS, "an empty file")
    files: dict[int, list[Path]] = {}
    for file in sorted(Path(path).glob("annotations/worker-response/iteration-*/*/*.json")):
        if not file.parent.name.isdecimal():
            raise ValueError(f"{file.parent}: expected a folder called by an item's number")
        files.setdefault(int(file.parent.name), []).append(file)
    if not files:
        raise ValueError(
            f"{path}: expected annotations/worker-response/iteration-1/<number>/*.json"
        )
    for number in range(max(len(items), max(files) + 1)):
        label, item = items[number] if number < len(items) else (None, {})
        if "failure-reason" in item.get(f"{label}-metadata", ()):
            export.note("failed item", f"item {number}")
        if number not in files and item:
            export.note("task without annotation", f"item {number}")
        said = [
            _json(one, 1, one.read_bytes(), RESPONSES, Responses) for one in files.get(number, ())
        ]
        answers = [answer for one in said for answer in one.answers]
        for order, answer in enumerate(answers, start=1):
            export.add(
                _levels(answer.get("answerContent"), label),
                place=f"item {number}, answer {order}",
                address=item.get("source-ref"),
                annotator=answer.get("workerId"),
                seconds=answer.get("timeSpentInSeconds"),
                submitted_at=answer.get("submissionTime"),
            )
    return validate(export, salt, rename, known_images)


def _json(path: Path, line: int, text: bytes, expected: str, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        found = f"something else ({error})"
        raise wrong_format(path, f"line {line}", expected, found) from None


def _item(manifest: Path, number: int, line: bytes) -> tuple[str, dict[str, Any]]:
    """A line of the manifest, and the name of its label: the one that has metadata."""
    item, end = _json(manifest, number, line, ITEMS, dict[str, Any]), "-metadata"
    labels = [name for name in item if name.endswith(end) and isinstance(item[name], dict)]
    if len(labels) != 1:
        found = f"{len(labels)} labels with metadata"
        raise wrong_format(manifest, f"line {number}", ITEMS, found)
    return labels[0].removesuffix(end), item


def _levels(content: Any, label: str | None) -> list[tuple]:
    """The answers in what a worker sent."""
    if not isinstance(content, dict):
        return [(None, None, "answerContent")]
    named = [(label if name == _SINGLE else name, value, name) for name, value in content.items()]
    return [one for element in named for one in of_element(*element)]


def write_mturk(answers: pd.DataFrame, path: str | Path) -> None:
    """Write a crowd's answers as a batch results file.

    A cancelled assignment went back to the pool and leaves no row.

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
    image, worker = answers["image_id"], answers["worker_id"].astype("str")
    worked = answers["seconds"].round().clip(lower=1)
    begun = answers["submitted_at"] - pd.to_timedelta(worked, unit="s")
    batch = dict.fromkeys(FIXED.split(","), "") | {
        "HITId": _identifiers(image),
        "HITTypeId": "3FACEATTRIBUTES0000000000000A",
        "Title": "Describe a face",
        "AssignmentId": _identifiers(image + "/" + worker + "/" + answers["visit"].astype("str")),
        "WorkerId": worker,
        "AssignmentStatus": np.where(answers["status"] == "rejected", "Rejected", "Approved"),
        "AcceptTime": begun.dt.strftime(TIME),
        "SubmitTime": answers["submitted_at"].dt.strftime(TIME),
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
