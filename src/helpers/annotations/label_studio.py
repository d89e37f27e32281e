"""Label Studio: the labelling configuration to import, and exports to read and to write.

The full JSON export is preferred: the others lose cancelled annotations and the project, and mix
the task's data with the answers. A choice holds a level's name; a rating is counted from 1, so
rating r is level r - 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import numpy as np
import pandas as pd

from helpers.annotations.exports import Export, identity, read_table, wrong_format
from helpers.annotations.ingest import Ingest, as_compared, validate
from helpers.annotations.schema import ATTRIBUTES, heading, require_writable

SOURCE = "label_studio"
EXPECTED = "a Label Studio export (a JSON list of tasks with annotations, JSON_MIN, CSV or TSV)"
_EMPTY = object()
"""The level of a choice or a rating that was not made."""


class Result(msgspec.Struct):
    """One answer, as the full JSON export has it."""

    value: dict[str, Any]
    from_name: str | None = None
    meta: Any = None


class Annotation(msgspec.Struct):
    """What one person answered about a task."""

    result: list[Result]
    id: Any = None
    completed_by: Any = None
    was_cancelled: bool | None = False
    ground_truth: bool | None = False
    created_at: Any = None
    updated_at: Any = None
    lead_time: Any = None


class Task(msgspec.Struct):
    """One item to annotate, and what people answered about it."""

    data: dict[str, Any]
    annotations: list[Annotation]
    id: Any = None
    project: Any = None
    drafts: Any = None


def labelling_config() -> str:
    """Write the labelling configuration: the image, and beside it a required choice per attribute.

    On a screen of 1366 × 768 pixels all eight questions stand beside the image without scrolling;
    on a lower one the image stays in sight.

    Returns:
        XML, as Label Studio's labelling interface takes it.
    """
    view = ElementTree.Element("View", style="display:flex; gap:16px; align-items:flex-start")
    left = ElementTree.SubElement(view, "View", style="flex:0 0 256px; position:sticky; top:0")
    ElementTree.SubElement(left, "Image", name="img", value="$image", width="256px")
    questions = ElementTree.SubElement(view, "View", style="flex:1; line-height:1.2")
    for attribute, labels in ATTRIBUTES.items():
        title = {"value": heading(attribute), "size": "5", "style": "margin:0"}
        ElementTree.SubElement(questions, "Header", title)
        about = {"name": attribute, "toName": "img", "choice": "single-radio", "required": "true"}
        choices = ElementTree.SubElement(questions, "Choices", about, showInline="true")
        for label in labels:
            ElementTree.SubElement(choices, "Choice", value=label)
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def read_label_studio(
    path: str | Path | Sequence[str | Path],
    *,
    questions: Iterable[str] | Mapping[str, Sequence[str]] | None = None,
    known_images: Iterable[str] | None = None,
    rename: Mapping[str, str] | None = None,
    salt: str = "helpers",
) -> Ingest:
    """Read exports: full JSON, JSON_MIN, CSV or TSV, recognised by content.

    The image is the task's `image_id`, or the file name in its `image`. An annotation counts as
    submitted when it was created.

    Args:
        path: the export, or several, which are read as one: answers that stand in two of them are
            counted as duplicates.
        questions: names of the controls in the labelling configuration. CSV and TSV do not tell an
            answer from the task's data, so they need them, and JSON_MIN where data is called like a
            question. A mapping gives their choices as well, from low to high, where these are not
            the names in `ATTRIBUTES`, for example 1 to 5.
        known_images: ids of the images that were annotated. A server renames uploads
            (`42cdb83f-00000.png`) and encodes names (`a%20b`); they are turned back into known
            ids, and answers about other images are counted as "unknown image".
        rename: name of a control in the labelling configuration → attribute, where they differ.
        salt: of the annotators' hashes; keep it private where the table is published.

    Returns:
        The tidy table and the report of what was rejected, see `Ingest`.

    Raises:
        ValueError: a file is not an export or leaves open what is an answer; names the file, the
            place and what was expected. No answer in the files can be used. A question is no
            attribute, or has another number of choices.

    Example:
        >>> import tempfile
        >>> from helpers import annotations
        >>> with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        ...     _ = file.write('[{"image_id": "a", "id": 1, "gender": "Male", "annotator": 3,'
        ...                    ' "annotation_id": 7, "created_at": "2025-10-09T07:30:20Z"}]')
        ...     file.flush()
        ...     tidy, report = annotations.read_label_studio(file.name)
        >>> tidy[["image_id", "attribute", "level"]].values.tolist()
        [['a', 'gender', 4]]
    """
    paths = [path] if isinstance(path, str | Path) else path
    scales = ATTRIBUTES if questions is None else _scales(questions, dict(rename or {}))
    asked = None if questions is None else list(questions)
    doubtful = {*ATTRIBUTES, *(rename or {})}
    exports = [read_export(Path(one), "image", asked, doubtful) for one in paths]
    about = {"scales": scales, "rename": rename, "known": known_images}
    return validate(exports, SOURCE, salt, **about, numbered=False)


def _scales(
    questions: Iterable[str] | Mapping[str, Sequence[str]], rename: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """The levels of the attributes that are asked about."""
    scales: dict[str, tuple[str, ...]] = {}
    for control in questions:
        attribute = rename.get(control, control)
        if attribute not in ATTRIBUTES:
            raise ValueError(f"question {control!r} is no attribute; `rename` says which it is")
        levels = ATTRIBUTES[attribute]
        choices = questions[control] if isinstance(questions, Mapping) else levels
        different = {as_compared(str(name)) for name in choices}
        if isinstance(choices, str) or len(different) != len(levels) or "" in different:
            raise ValueError(
                f"question {control!r}: {len(levels)} choices with different names were expected "
                f"for the levels of {attribute!r}, not {choices!r}"
            )
        scales[attribute] = tuple(map(str, choices))
    return scales


def read_export(
    path: Path, item: str, questions: Sequence[str] | None, doubtful: Iterable[str] = ()
) -> Export:
    """An export about any kind of item, whose id is `<item>_id` or the file name in `<item>`.

    `doubtful` names, in the data of a flat export, might be those of questions.
    """
    export = Export(path, questions)
    content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        raise wrong_format(path, "line 1", EXPECTED, "an empty file")
    if content.lstrip()[:1] not in (b"[", b"{"):
        if questions is None:
            raise ValueError(
                f"{path}: row 1: a CSV or TSV export does not say which columns are answers and "
                "which the task's data; give `questions`, the names in the labelling configuration"
            )
        rows = read_table(path, EXPECTED, ("annotation_id", "annotator")).to_dict("records")
        for number, row in enumerate(rows, start=2):
            record = {name: _cell(text) for name, text in row.items()}
            answers = [name for name in questions if name in record]
            _add_flat(export, f"row {number}", record, item, answers)
        return export
    try:
        records = msgspec.json.decode(content, type=list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError) as error:
        byte = re.search(r"byte (\d+)", str(error))
        end = len(content) if "truncated" in str(error) else int(byte[1]) if byte else 0
        line = content.count(b"\n", 0, end) + 1
        raise wrong_format(path, f"line {line}", EXPECTED, f"other text ({error})") from None
    if any("annotation_id" in record for _, record in _decoded(path, records[:1], dict)):
        for number, record in _decoded(path, records, dict):
            place = _task_place(record.get("id"), number)
            answers = _asked(export, place, record, set(doubtful))
            _add_flat(export, place, record, item, answers)
    else:
        for number, task in _decoded(path, records, Task):
            _add_task(export, _task_place(task.id, number), task, item)
    return export


def _decoded(path: Path, records: list[msgspec.Raw], kind: type) -> Iterator[tuple[int, Any]]:
    """The records of a list one by one: whole, millions of answers take gigabytes."""
    decode = msgspec.json.Decoder(kind).decode
    for number, record in enumerate(records, start=1):
        try:
            content = decode(record)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            place = f"task {number} of the file"
            raise wrong_format(path, place, EXPECTED, f"something else ({error})") from None
        yield number, content


def _task_place(task_id: Any, number: int) -> str:
    name = identity(task_id)
    return f"task {name}" if name else f"task {number} of the file"


def _add_task(export: Export, place: str, task: Task, item: str) -> None:
    if not task.annotations:
        export.note("task without annotation", place)
    for _ in task.drafts if isinstance(task.drafts, list) else ():
        export.note("draft", place)
    for number, annotation in enumerate(task.annotations, start=1):
        here = f"{place}, annotation {identity(annotation.id) or f'{number} of it'}"
        if annotation.ground_truth:
            export.note("ground-truth annotation", here)
        results = annotation.result
        # `write_label_studio` says in the first result who answered.
        meta = results[0].meta if results else None
        named = isinstance(meta, dict) and "annotator" in meta
        answers = ((one.from_name, _level(one.value), one.from_name) for one in results)
        export.add(
            (answer for answer in answers if answer[1] is not _EMPTY),
            place=here,
            named=task.data.get(f"{item}_id"),
            address=task.data.get(item),
            **_person(meta["annotator"] if named else annotation.completed_by),
            seconds=annotation.lead_time,
            submitted_at=annotation.created_at,
            updated_at=annotation.updated_at,
            status="cancelled" if annotation.was_cancelled else None,
            job=task.project,
        )


def _person(completed_by: Any) -> dict[str, Any]:
    """Who annotated, preferably by number, and their address."""
    if not isinstance(completed_by, dict):
        return {"annotator": completed_by}
    number, email = completed_by.get("id"), completed_by.get("email")
    return {"annotator": number if identity(number) else email, "email": email}


def _level(value: dict[str, Any]) -> Any:
    """A level's name, a level counted from 0, a tuple of several, `_EMPTY`, or None."""
    choices, rating = value.get("choices"), value.get("rating")
    if isinstance(choices, list) and rating is None:
        if not all(isinstance(label, str) for label in choices):
            return None
        return choices[0] if len(choices) == 1 else tuple(choices) or _EMPTY
    return rating - 1 if type(rating) is int and choices is None else None


def _add_flat(
    export: Export, place: str, record: dict[str, Any], item: str, questions: Iterable[str]
) -> None:
    """Add an annotation that stands among the data of its task, in JSON_MIN or a table."""
    missing = [key for key in ("annotation_id", "annotator") if key not in record]
    if missing:
        raise wrong_format(export.path, place, EXPECTED, f"an annotation without {missing[0]!r}")
    number, person = record["annotation_id"], record["annotator"]
    if person in (None, "") and number in (None, ""):
        export.note("task without annotation", place)
        return
    answers = ((name, level, name) for name in questions for level in _levels(record.get(name)))
    export.add(
        (answer for answer in answers if answer[1] is not _EMPTY),
        place=place if place.startswith("row") else f"{place}, annotation {number}",
        named=record.get(f"{item}_id"),
        address=record.get(item),
        **_person(person),
        seconds=record.get("lead_time"),
        submitted_at=record.get("created_at"),
        updated_at=record.get("updated_at"),
    )


def _asked(export: Export, place: str, record: dict[str, Any], doubtful: set[str]) -> Iterable[str]:
    """Which names of a JSON_MIN record are those of questions.

    The server writes the task's data, then its `id`, the answers, `annotator` and the rest. A
    question that is called like data takes its place, so that the two cannot be told apart.
    """
    names = list(record)
    begin = names.index("id") if "id" in names else -1
    end = names.index("annotator") if "annotator" in names else len(names)
    data, between = set(names[: max(begin, 0)]), names[begin + 1 : end]
    asked = export.asked
    confused = sorted(data & (doubtful if asked is None else set(asked)))
    if confused or (begin < 0 and asked is None):
        hint = "give `questions`, the names in the labelling configuration"
        if asked is not None:
            hint = "export the full JSON, which keeps data and answers apart"
        found = "no 'id' between the task's data and the answers"
        if confused:
            found = f"{confused[0]!r} in the task's data, which may be an answer"
        raise ValueError(f"{export.path}: {place}: found {found}; {hint}")
    own = [name for name in asked or () if name in record]
    return dict.fromkeys([*own, *(between if begin >= 0 else ())])


def _levels(value: Any) -> Iterator[Any]:
    """The levels of a question's results in a flat export: one, or a list of them."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            yield _level(one)
        elif isinstance(one, str):
            yield one if one.strip() else _EMPTY
        else:
            yield _EMPTY if one is None else None


def _cell(text: str) -> Any:
    """A cell's content: ratings and several choices are JSON, all other cells bare text."""
    try:
        return msgspec.json.decode(text) if text.startswith(("[", "{")) else text
    except (msgspec.DecodeError, RecursionError):
        return text


def write_label_studio(answers: pd.DataFrame, path: str | Path) -> None:
    """Write a crowd's answers as a full JSON export, one task a line.

    Label Studio has no rejected assignments: they are written as cancelled ones that keep their
    answers, the crowd's cancelled ones without. A server has no accounts for a simulated crowd, and
    refuses an import that names one. Who answered therefore stands in the `meta` of the first
    result, which a server keeps; only its full JSON export then says again who answered.

    Args:
        answers: as `crowd.annotate` returns them.
        path: JSON file to write.

    Raises:
        ValueError: an image or a worker has no name that a file can keep; names the row, counted
            from 0.
    """
    names = answers["image_id"].unique()
    data = {name: {"image": f"images/{name}.png", "image_id": name} for name in names}
    write_export(answers, path, "image", "img", ATTRIBUTES, data)


def write_export(
    answers: pd.DataFrame,
    path: str | Path,
    item: str,
    to_name: str,
    scales: Mapping[str, tuple[str, ...]],
    data: Mapping[str, Mapping[str, str]],
) -> None:
    """Write answers about any kind of item as `write_label_studio` does about images.

    Choices are about the object `to_name` of the labelling configuration; `data` has the task's
    data of every item in the column `<item>_id`.
    """
    for column in (f"{item}_id", "worker_id"):
        require_writable(answers[column])
    order = np.argsort(pd.factorize(answers[f"{item}_id"])[0], kind="stable")
    written = _annotations(answers, order, to_name, scales)
    visits = zip(answers[f"{item}_id"].iloc[order], written, strict=True)
    with Path(path).open("w", encoding="utf-8") as file:
        file.write("[")
        # One task a line, so that a line number finds a record.
        for number, (name, some) in enumerate(groupby(visits, key=lambda visit: visit[0])):
            task = {"id": number + 1, "project": 1, "data": data[name]}
            task |= {"annotations": [annotation for _, annotation in some], "predictions": []}
            file.write(",\n" * (number > 0) + json.dumps(task, ensure_ascii=False))
        file.write("]\n")


def _annotations(
    answers: pd.DataFrame, order: np.ndarray, to_name: str, scales: Mapping[str, tuple[str, ...]]
) -> Iterator[dict[str, Any]]:
    """The annotations in an order of the answers' rows, called by their rows' numbers from 1."""
    answers = answers.iloc[order]
    attributes = [name for name in scales if name in answers]
    created = answers["submitted_at"].dt.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    for number, time, row in zip(order + 1, created, answers.itertuples(index=False), strict=True):
        annotator = row.rater
        if "@" in row.worker_id:
            annotator = {"id": row.rater, "email": row.worker_id}
        results: list[dict[str, Any]] = [
            {
                "id": f"{number}-{attribute}",
                "from_name": attribute,
                "to_name": to_name,
                "type": "choices",
                "value": {"choices": [scales[attribute][getattr(row, attribute)]]},
            }
            for attribute in attributes
        ]
        results[0]["meta"] = {"annotator": annotator}
        yield {
            "id": int(number),
            "was_cancelled": row.status != "accepted",
            "ground_truth": False,
            "created_at": time,
            "updated_at": time,
            "lead_time": row.seconds,
            "result": [] if row.status == "cancelled" else results,
        }
