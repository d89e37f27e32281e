"""Label Studio: the labelling configuration to import, the exports to write and to read.

The full JSON export is preferred: JSON_MIN and CSV lose cancelled annotations and the project.
A choice holds a level's name; a rating is counted from 1, so rating r is level r - 1. Chapter 6
writes and reads them, and chapter 16 those about pairs (`helpers.annotations.pairs`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, TextIO
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from helpers.annotations.ingest import Ingest, image_id_of, is_email, raw_frame, validate
from helpers.annotations.schema import ATTRIBUTES
from helpers.annotations.text import (
    csv_rows,
    first_character,
    json_cell,
    json_records,
    opened,
    wrong_format,
)

SOURCE = "label_studio"
EXPECTED = "a Label Studio export (a JSON list of tasks with annotations, JSON_MIN or CSV)"

_FIELDS = {
    "cancelled assignment": "was_cancelled",
    "other job": "project",
    "missing annotator": "completed_by",
    "e-mail as annotator id": "completed_by",
    "unreadable time": "created_at",
}
_TASKS, _ANNOTATIONS = 1_000, 10_000
"""Written and read at a time: a task to write is as large as ten annotations that are read."""
_FLAT_FIELDS = _FIELDS | {"missing annotator": "annotator", "e-mail as annotator id": "annotator"}

# What JSON_MIN and CSV say about an annotation itself; other keys are answers or the task's data.
_ABOUT = {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time"}


def labelling_config() -> str:
    """Write the labelling configuration: the image, and beside it a required choice per attribute.

    On a screen of 1366 × 768 pixels all eight questions stand beside the image without scrolling;
    on a lower one the image stays in sight. Introduced in chapter 06.

    Returns:
        XML, as Label Studio's labelling interface takes it.

    Example:
        >>> from helpers import annotations
        >>> annotations.labelling_config().splitlines()[2].strip()
        '<Image name="img" value="$image" width="256px" />'
    """
    view = ElementTree.Element("View", style="display:flex; gap:16px; align-items:flex-start")
    left = ElementTree.SubElement(view, "View", style="flex:0 0 256px; position:sticky; top:0")
    ElementTree.SubElement(left, "Image", name="img", value="$image", width="256px")
    questions = ElementTree.SubElement(view, "View", style="flex:1; line-height:1.2")
    for attribute, labels in ATTRIBUTES.items():
        title = attribute.replace("_", " ").capitalize()
        ElementTree.SubElement(questions, "Header", value=title, size="5", style="margin:0")
        about = {"name": attribute, "toName": "img", "choice": "single-radio", "required": "true"}
        choices = ElementTree.SubElement(questions, "Choices", about, showInline="true")
        for label in labels:
            ElementTree.SubElement(choices, "Choice", value=label)
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def write_label_studio(answers: pd.DataFrame, path: str | Path) -> None:
    """Write a crowd's answers as a full JSON export, one task a line.

    Label Studio has no rejected assignments: they are written as cancelled ones that keep their
    answers, the crowd's cancelled ones without. Introduced in chapter 06.

    Args:
        answers: as `crowd.annotate` returns them.
        path: JSON file to write.

    Example:
        >>> import pandas as pd, tempfile
        >>> from helpers import annotations
        >>> from helpers.annotations import crowd
        >>> shown = pd.DataFrame({"age": [0.5]}, index=["a"])
        >>> answers = crowd.annotate(shown, 2, seed=1, stage="example")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     annotations.write_label_studio(answers, f"{folder}/export.json")
        ...     len(annotations.read_label_studio(f"{folder}/export.json").frame)
        2
    """
    write_export(answers, path, "image", "img", ATTRIBUTES, _task_data)


def write_export(
    answers: pd.DataFrame,
    path: str | Path,
    item: str,
    to_name: str,
    scales: Mapping[str, tuple[str, ...]],
    data: Callable[[str], Mapping[str, str]],
) -> None:
    """Write answers about any kind of item as `write_label_studio` does about images.

    Args:
        answers: as `crowd.annotate` returns them, with a column `<item>_id`.
        path: JSON file to write.
        item: what is annotated, for example "image".
        to_name: name of the object in the labelling configuration that the choices are about.
        scales: names of the levels of every attribute.
        data: an item's id -> its task's data.
    """
    tasks = _tasks(answers, item, to_name, scales, data)
    with Path(path).open("w", encoding="utf-8") as file:
        file.write("[")
        # One task a line, so that a line number finds a record.
        for number, task in enumerate(tasks):
            file.write(",\n" * (number > 0) + json.dumps(task, ensure_ascii=False))
        file.write("]\n")


def read_label_studio(
    path: str | Path, *, rename: Mapping[str, str] | None = None, salt: str = "helpers"
) -> Ingest:
    """Read an export: full JSON, JSON_MIN or CSV, recognised by content.

    The image is the task's `image_id`, or the file name in its `image`. An annotation counts as
    submitted when it was created. JSON exports that were joined into one file, one list after the
    other, are read as one. Introduced in chapter 06.

    Args:
        path: the export.
        rename: name of a control in the labelling configuration -> attribute, where they differ.
        salt: of the annotators' hashes; keep it private where the table is published.

    Returns:
        The tidy table and the report of what was rejected, see `Ingest`. In JSON_MIN and CSV a
        bare text under an unknown name cannot be told from the task's data and is passed over.

    Raises:
        ValueError: the file is not an export; names the file, the line and what was expected.

    Example:
        >>> import tempfile
        >>> from helpers import annotations
        >>> with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        ...     _ = file.write('[{"annotation_id": 1, "annotator": "x", "image_id": "a",'
        ...                    ' "gender": "Male", "created_at": "2025-10-09T07:30:20Z"}]')
        ...     file.flush()
        ...     tidy, report = annotations.read_label_studio(file.name)
        >>> tidy[["image_id", "attribute", "level"]].values.tolist()
        [['a', 'gender', 4]]
    """
    path, rename = Path(path), dict(rename or {})
    parts, fields = read_export(path, "image", {*ATTRIBUTES, *rename})
    named = (raw.assign(attribute=raw["attribute"].replace(rename)) for raw in parts)
    return validate(named, path, SOURCE, salt, fields)


def read_export(
    path: Path, item: str, controls: set[str]
) -> tuple[Iterator[pd.DataFrame], dict[str, str]]:
    """Raw records of an export, as `validate` takes them, and the `fields` that it asks for.

    Args:
        path: the export.
        item: what is annotated; its id is the task's `<item>_id`, or the file name in `<item>`.
        controls: names in the labelling configuration; in JSON_MIN and CSV, bare texts under other
            names are the task's data.

    Raises:
        ValueError: the file is not an export; names the file, the line and what was expected.
    """
    with opened(path, EXPECTED) as stream:
        _, first = next(_records(path, stream), (0, {}))
    flat = "annotation_id" in first
    fields = _FLAT_FIELDS if flat else _FIELDS
    return _parts(path, item, controls, flat), fields | {"missing image": f"{item}_id"}


def _records(path: Path, stream: TextIO) -> Iterator[tuple[int, dict[str, Any]]]:
    if first_character(stream) in "[{":
        return json_records(path, stream, EXPECTED)
    return _csv_records(path, stream)


def _parts(path: Path, item: str, controls: set[str], flat: bool) -> Iterator[pd.DataFrame]:
    with opened(path, EXPECTED) as stream:
        records = _records(path, stream)
        if flat:
            found = (_flat(path, line, record, item, controls) for line, record in records)
        else:
            found = (visit for line, task in records for visit in _full(path, line, task, item))
        yield raw_frame(list(_answers(islice(found, _ANNOTATIONS))))
        while part := list(islice(found, _ANNOTATIONS)):
            yield raw_frame(list(_answers(part)))


# Reading. An assignment is (line, item's id, annotator, named by e-mail, seconds, time, status,
# job, [(control, answer), ...]).


def _answers(assignments: Iterable[tuple]) -> Iterator[tuple]:
    """Rows of `ingest.RAW_COLUMNS`; an assignment without answers leaves one row."""
    for number, (line, item_id, *who_when, status, job, results) in enumerate(assignments):
        for control, answer in results or [(None, None)]:
            yield (item_id, control, answer, *who_when, status, job, number, line, control)


def _full(path: Path, line: int, task: dict[str, Any], item: str) -> Iterator[tuple]:
    data, annotations = task.get("data"), task.get("annotations")
    if not isinstance(data, dict) or not isinstance(annotations, list):
        raise wrong_format(path, line, EXPECTED, "a task without data and annotations")
    item_id = image_id_of(data, f"{item}_id", item)
    for annotation in annotations:
        if not isinstance(annotation, dict) or not isinstance(annotation.get("result"), list):
            raise wrong_format(path, line, EXPECTED, "an annotation without a list of results")
        annotator, email = _identity(annotation.get("completed_by"))
        yield (
            line,
            item_id,
            annotator,
            email,
            annotation.get("lead_time"),
            annotation.get("created_at"),
            "cancelled" if annotation.get("was_cancelled") else "accepted",
            _text(task.get("project")),
            [_result(result) for result in annotation["result"] if isinstance(result, dict)],
        )


def _identity(completed_by: Any) -> tuple[str | None, bool]:
    """Who annotated, preferably by number, and whether an e-mail address names them."""
    if not isinstance(completed_by, dict):
        return _text(completed_by), is_email(completed_by)
    email = completed_by.get("email")
    identity = completed_by.get("id")
    return _text(email if identity is None else identity), is_email(email) or is_email(identity)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _result(result: dict[str, Any]) -> tuple[str | None, Any]:
    value = result.get("value")
    return _text(result.get("from_name")), _answer(value) if isinstance(value, dict) else None


def _answer(value: dict[str, Any]) -> Any:
    """A level's name, a level counted from 0, a tuple of several, or None."""
    if "rating" in value:
        rating = value["rating"]
        return rating - 1 if type(rating) is int else f"rating {rating}"  # True is an int, too
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices:
        return None
    return str(choices[0]) if len(choices) == 1 else tuple(map(str, choices))


def _flat(path: Path, line: int, record: dict[str, Any], item: str, controls: set[str]) -> tuple:
    missing = [key for key in ("annotation_id", "annotator") if key not in record]
    if missing:
        raise wrong_format(path, line, EXPECTED, f"an annotation without {missing[0]!r}")
    return (
        line,
        image_id_of(record, f"{item}_id", item),
        *_identity(record["annotator"]),
        record.get("lead_time"),
        record.get("created_at"),
        "accepted",
        None,
        list(_flat_answers(record, controls)),
    )


def _flat_answers(record: dict[str, Any], controls: set[str]) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if key in _ABOUT:
            continue
        if isinstance(value, list) and value and isinstance(value[0], dict):
            value = value[0]
        if isinstance(value, dict) and ("rating" in value or "choices" in value):
            yield key, _answer(value)
        elif key in controls:
            yield key, value if isinstance(value, str) else None


def _csv_records(path: Path, stream: TextIO) -> Iterator[tuple[int, dict[str, Any]]]:
    header, rows = csv_rows(path, stream, EXPECTED)
    if not {"annotation_id", "annotator"} <= set(header):
        raise wrong_format(path, 1, EXPECTED, f"columns {', '.join(header)[:80]}")
    return ((line, dict(zip(header, map(_cell, cells), strict=True))) for line, cells in rows)


def _cell(text: str) -> Any:
    """A cell's content: ratings and several choices are JSON, anything else is bare text."""
    if not text.startswith(("[", "{")):
        return text
    try:
        return json_cell(text)
    except ValueError:
        return text


# Writing.


def _task_data(image_id: str) -> dict[str, str]:
    return {"image": f"images/{image_id}.png", "image_id": image_id}


def _tasks(
    answers: pd.DataFrame,
    item: str,
    to_name: str,
    scales: Mapping[str, tuple[str, ...]],
    data: Callable[[str], Mapping[str, str]],
) -> Iterator[dict[str, Any]]:
    attributes = [name for name in scales if name in answers]
    codes, items = pd.factorize(answers[f"{item}_id"])
    rows = np.argsort(codes, kind="stable")
    bounds = np.append(0, np.bincount(codes, minlength=len(items)).cumsum())
    for start in range(0, len(items), _TASKS):
        some = bounds[start : start + _TASKS + 1]
        part = rows[some[0] : some[-1]]
        visits = list(_annotations(answers.iloc[part], part + 1, attributes, to_name, scales))
        for number, (first, last) in enumerate(pairwise(some - some[0]), start):
            yield {
                "id": number + 1,
                "project": 1,
                "data": data(items[number]),
                "annotations": visits[first:last],
                "predictions": [],
            }


def _annotations(
    answers: pd.DataFrame,
    numbers: np.ndarray,
    attributes: list[str],
    to_name: str,
    scales: Mapping[str, tuple[str, ...]],
) -> Iterator[dict[str, Any]]:
    labels = [[scales[name][level] for level in answers[name]] for name in attributes]
    created = answers["submitted_at"].dt.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    records = answers[["rater", "worker_id", "seconds", "status"]].itertuples(index=False)
    chosen = zip(*labels, strict=True)
    for number, record, time, names in zip(numbers, records, created, chosen, strict=True):
        yield _annotation(int(number), record, time, to_name, zip(attributes, names, strict=True))


def _annotation(
    number: int, record: Any, created: str, to_name: str, answers: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    email = {"id": record.rater, "email": record.worker_id}
    results = [
        {
            "id": f"{number}-{attribute}",
            "from_name": attribute,
            "to_name": to_name,
            "type": "choices",
            "value": {"choices": [label]},
        }
        for attribute, label in answers
    ]
    return {
        "id": number,
        "completed_by": email if is_email(record.worker_id) else record.rater,
        "was_cancelled": record.status != "accepted",
        "ground_truth": False,
        "created_at": created,
        "updated_at": created,
        "lead_time": record.seconds,
        "result": [] if record.status == "cancelled" else results,
    }
