"""Label Studio: the labelling configuration to import, and exports to read and to write.

The full JSON export is preferred: the others lose cancelled annotations and the project, and mix
the task's data with the answers. A choice holds a level's name. A rating is a number of stars,
counted from 1; an export does not say how many there were.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from faceaudit.annotations.ingest import (
    SEVERAL_REGIONS,
    Export,
    Ingest,
    Rating,
    Unusable,
    folded,
    validate,
)
from faceaudit.annotations.schema import ATTRIBUTES, Known, Paths, Rename, Scales, heading
from faceaudit.utils.tables import read_table, wrong_format

EXPECTED = "a Label Studio export (a JSON list of tasks with annotations, JSON_MIN, CSV or TSV)"


@dataclass(slots=True)
class Result:
    """One answer, as the full JSON export has it."""

    value: dict[str, Any]
    from_name: str | None = None
    meta: Any = None
    id: Any = None


@dataclass(slots=True)
class Annotation:
    """What one person answered about a task."""

    result: list[Result]
    id: Any = None
    completed_by: Any = None
    created_at: Any = None
    updated_at: Any = None
    lead_time: Any = None
    was_cancelled: bool | None = False
    ground_truth: bool | None = False


@dataclass(slots=True)
class Task:
    """One item to annotate, and what people answered about it."""

    data: dict[str, Any]
    annotations: list[Annotation]
    id: Any = None
    project: Any = None
    drafts: Any = ()


SHOWN = 256
"""Height of an image on the screen, pixels; a picture of two faces is wider."""


def labelling_config(questions: Scales = ATTRIBUTES, width: int = SHOWN) -> str:
    """Write the labelling configuration: the image, and beside it a required choice per question.

    On a screen of 1366 × 768 pixels all eight questions stand beside the image without scrolling;
    on a lower one the image stays in sight.

    Args:
        questions: attribute → names of its levels from low to high.
        width: of the image on the screen, pixels.

    Returns:
        XML, as Label Studio's labelling interface takes it.
    """
    view = ElementTree.Element("View", style="display:flex; gap:16px; align-items:flex-start")
    left = ElementTree.SubElement(view, "View", style=f"flex:0 0 {width}px; position:sticky; top:0")
    ElementTree.SubElement(left, "Image", name="img", value="$image", width=f"{width}px")
    right = ElementTree.SubElement(view, "View", style="flex:1; line-height:1.2")
    for attribute, labels in questions.items():
        title = {"value": heading(attribute), "size": "5", "style": "margin:0"}
        ElementTree.SubElement(right, "Header", title)
        about = {"name": attribute, "toName": "img", "choice": "single-radio", "required": "true"}
        choices = ElementTree.SubElement(right, "Choices", about, showInline="true")
        for label in labels:
            ElementTree.SubElement(choices, "Choice", value=label)
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def read_label_studio(
    path: Paths,
    *,
    questions: Iterable[str] | Mapping[str, Sequence[str]] | None = None,
    known_images: Known = None,
    rename: Rename = None,
    salt: str = "helpers",
    stars: Mapping[str, int] | None = None,
    image_key: str = "image",
) -> Ingest:
    """Read exports: full JSON, JSON_MIN, CSV or TSV, recognised by content.

    The image is the task's `image_id`, or the file name in its `image`. An annotation counts as
    submitted when it was created.

    A question may be asked separately about regions that people draw. Where somebody drew several
    regions in an image, no answer about them is kept: they may be several people. They are counted
    as "several regions". So are answers of a task about upright rectangles that do not overlap, of
    whichever annotators; only the full JSON export says which rectangle an answer is about.

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
        stars: name of a control that is a rating → its `maxRating` in the labelling configuration,
            which no export says. A rating r of n stars is the score (r - 1) / (n - 1); where the
            scale has another number of levels, `level` falls between them. Without it, and with a
            rating above it, the file is refused. `labelling_config` asks for choices alone.
        image_key: name in the tasks' data of the image's address, as in `value="$image"` in the
            labelling configuration.

    Returns:
        The tidy table and the report of what was rejected, see `Ingest`.

    Raises:
        ValueError: a file is not an export or leaves open what is an answer; names the file, the
            place and what was expected. No answer in the files can be used. A question is no
            attribute, or has another number of choices. A rating has no number of stars.

    Example:
        >>> import tempfile
        >>> from faceaudit import annotations
        >>> with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        ...     _ = file.write('[{"image_id": "a", "id": 1, "gender": "Male", "annotator": 3,'
        ...                    ' "annotation_id": 7, "created_at": "2025-10-09T07:30:20Z"}]')
        ...     file.flush()
        ...     tidy, report = annotations.read_label_studio(file.name)
        >>> tidy[["image_id", "attribute", "level"]].values.tolist()
        [['a', 'gender', 4]]
    """
    scales = ATTRIBUTES if questions is None else _scales(questions, dict(rename or {}))
    asked, export = None if questions is None else [*questions], Export("label_studio")
    for one in [path] if isinstance(path, str | Path) else path:
        doubtful = {*ATTRIBUTES, *(rename or {})}
        read_export(export, Path(one), "image", asked, doubtful, image_key)
    return validate(export, salt, rename, known_images, scales, numbered=False, stars=stars)


def _scales(questions: Iterable[str], rename: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The levels of the attributes that are asked about."""
    scales: dict[str, tuple[str, ...]] = {}
    for control in questions:
        attribute = rename.get(control, control)
        if attribute not in ATTRIBUTES:
            raise ValueError(f"question {control!r} is no attribute; `rename` says which it is")
        levels = ATTRIBUTES[attribute]
        choices = [*questions[control]] if isinstance(questions, Mapping) else levels
        scales[attribute] = tuple(map(str, choices))
        if len({folded(name) for name in scales[attribute]} - {""}) != len(levels):
            raise ValueError(
                f"question {control!r}: {len(levels)} choices with different names were expected "
                f"for the levels of {attribute!r}, not {choices!r}"
            )
    return scales


Asked = Sequence[str] | None
"""Names of the questions; None where only the answers tell."""


def read_export(
    export: Export,
    path: Path,
    item: str,
    asked: Asked,
    doubtful: Iterable[str] = (),
    image_key: str = "image",
) -> None:
    """Add an export about any kind of item, whose id is `<item>_id` or the file name in `<item>`.

    Where items were shown as images, `image_key` and `image_id` stand in the place of the item.
    `doubtful` names, in the data of a flat export, might be those of questions.
    """
    image_key = image_key.removeprefix("$")  # as the labelling configuration writes it
    export.begin(path, asked)
    content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    start = content[: 2**16].lstrip()[:1]
    if not start:
        raise wrong_format(path, "line 1", EXPECTED, "an empty file")
    if start in b"[{":
        tasks = _in_json(path, content, asked, doubtful)
    elif asked is not None:
        rows = read_table(path, EXPECTED, ("annotation_id", "annotator")).to_dict("records")
        tasks = (
            (f"row {number}", _as_task(row, asked)) for number, row in enumerate(rows, start=2)
        )
    else:
        raise ValueError(
            f"{path}: row 1: a CSV or TSV export does not say which columns are answers and "
            "which the task's data; give `questions`, the names in the labelling configuration"
        )
    for place, task in tasks:
        _add(export, place, task, item, image_key)


def _in_json(
    path: Path, content: bytes, asked: Asked, doubtful: Iterable[str]
) -> Iterator[tuple[str, Task]]:
    """The tasks, or flat records, and their places, one by one: whole they take gigabytes."""
    import msgspec  # the course does without

    try:
        records = msgspec.json.decode(content, type=list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError) as error:
        byte = re.search(r"byte (\d+)", str(error))
        end = len(content) if "truncated" in str(error) else int(byte[1]) if byte else 0
        line = content.count(b"\n", 0, end) + 1
        raise wrong_format(path, f"line {line}", EXPECTED, f"other text ({error})") from None
    flat = any(b'"annotations"' not in bytes(one) for one in records[:1] if b"_id" in bytes(one))
    decode = msgspec.json.Decoder(dict if flat else Task).decode
    for number, record in enumerate(records, start=1):
        place = f"task {number} of the file"
        try:
            task = decode(record)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise wrong_format(path, place, EXPECTED, f"something else ({error})") from None
        task_id = task.get("id") if flat else task.id
        place = place if task_id is None else f"task {task_id}"
        yield place, _as_task(task, _asked(path, place, task, asked, doubtful)) if flat else task


def _asked(
    path: Path, place: str, record: dict[str, Any], asked: Asked, doubtful: Iterable[str]
) -> Iterable[str]:
    """Which names of a JSON_MIN record are those of questions.

    The server writes the task's data, then its `id`, the answers, `annotator` and the rest. A
    question that is called like data takes its place, so that the two cannot be told apart.
    """
    names = [*record]
    if missing := [key for key in ("annotation_id", "annotator") if key not in record]:
        raise wrong_format(path, place, EXPECTED, f"an annotation without {missing[0]!r}")
    begin = names.index("id") if "id" in names else -1
    between = names[begin + 1 : names.index("annotator")] if begin >= 0 else []
    data = names[: max(begin, 0)]
    confused = [name for name in data if name in (doubtful if asked is None else asked)]
    if not confused and (begin >= 0 or asked is not None):
        return dict.fromkeys([*(asked or ()), *between])
    found = "no 'id' between the task's data and the answers"
    if confused:
        found = f"{confused[0]!r} in the task's data, which may be an answer"
    raise ValueError(
        f"{path}: {place}: found {found}; give `questions`, the names in the labelling "
        "configuration, or export the full JSON, which keeps data and answers apart"
    )


def _as_task(record: dict[str, Any], asked: Iterable[str]) -> Task:
    """The task of a flat record, in which an annotation stands among the data."""
    results = []
    asked = dict.fromkeys(asked)
    for name in asked:
        given = _of_cell(record.get(name))
        given = given if isinstance(given, list) else [given]
        # Flat exports leave the region out where the answer is a choice, and keep the order.
        regions = _regions_in(record) if len(given) > 1 else []
        for order, one in enumerate(given):
            blank = one is None or (isinstance(one, str) and not one.strip())
            value = {"choices": [] if blank else [one]}
            if len(regions) > 1:
                value |= regions[order % len(regions)]
            results.append(Result(one if isinstance(one, dict) else value, name))
    number, person, *times = (record.get(name) for name in _ABOUT)
    visits = [Annotation(results, number, person, *times)] if number or person else []
    data = {name: record[name] for name in record if name not in asked and name not in _ABOUT}
    task_id = data.pop("id", None)
    return Task(data, visits, task_id)


def _of_cell(given: Any) -> Any:
    """What a cell of a table says, which holds JSON where it is more than a text."""
    if isinstance(given, str) and given.startswith(("[", "{")):
        with suppress(ValueError, RecursionError):
            return json.loads(given)
    return given


_ABOUT = ("annotation_id", "annotator", "created_at", "updated_at", "lead_time")
_ANSWERS = (
    "choices",
    "rating",
    "text",
    "number",
    "datetime",
    "taxonomy",
    "selected",
    "ranker",
    "pairwise",
)
"""What values hold that are answers; the rest of a value says which region it is about."""


def _region(value: Mapping[str, Any]) -> dict[str, Any]:
    """Where the region lies that a value is about; empty where it is about the whole image.

    A region is no list of known shapes, since Label Studio gets new ones. Where a value says
    nothing of the place, the region's labels stand for it (`rectanglelabels`, `bitmasklabels`).
    """
    drawn = {name: part for name, part in value.items() if name not in _ANSWERS}
    where = {name: part for name, part in drawn.items() if not name.endswith("labels")}
    return where or drawn


def _regions_in(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The different regions in the columns of a flat record."""
    regions = []
    for given in map(_of_cell, record.values()):
        for one in given if isinstance(given, list) else ():
            shape = _region(one) if isinstance(one, dict) else {}
            if shape and shape not in regions:
                regions.append(shape)
    return regions


def _about_several_regions(results: Sequence[Result]) -> set[str | None]:
    """Names of the questions that somebody answered about regions of an image with several.

    An answer about a region has the region's id, and says where it lies as the region does.
    """
    shapes = [_region(result.value) for result in results]
    if not any(shapes):
        return set()
    ids = {one.id for one, shape in zip(results, shapes, strict=True) if shape and one.id}
    drawn: dict[str | None, set[str]] = {}
    asked: dict[str | None, set[str]] = {}
    for result, shape in zip(results, shapes, strict=True):
        if shape or result.id in ids:
            answered = "choices" in result.value or "rating" in result.value
            regions = asked if answered else drawn
            regions.setdefault(result.from_name, set()).add(str(result.id or shape))
    crowded = {one for regions in drawn.values() if len(regions) > 1 for one in regions}
    return {
        question
        for question, regions in asked.items()
        if len(regions) > 1 or not regions.isdisjoint(crowded)
    }


def _rectangle(value: Mapping[str, Any]) -> tuple[float, float, float, float] | None:
    """Left, top, right and bottom of an upright rectangle, in percent of the image."""
    sides = [value.get(name) for name in ("x", "y", "width", "height")]
    if value.get("rotation") or not all(isinstance(side, int | float) for side in sides):
        return None
    left, top, width, height = sides
    return left, top, left + width, top + height


def _about_places_apart(annotations: Sequence[Annotation]) -> set[str | None]:
    """Names of the questions that people answered about rectangles of which two do not overlap."""
    asked: dict[str | None, list[tuple[float, float, float, float]]] = {}
    for annotation in annotations:
        if annotation.was_cancelled:
            continue
        placed = [(result, _rectangle(result.value)) for result in annotation.result]
        # An answer may have the id of its region alone.
        drawn = {str(result.id): where for result, where in placed if where and result.id}
        for result, where in placed:
            rectangle = where or drawn.get(str(result.id))
            if rectangle and ("choices" in result.value or "rating" in result.value):
                asked.setdefault(result.from_name, []).append(rectangle)
    apart = set()
    for question, rectangles in asked.items():
        left, top, right, bottom = zip(*rectangles, strict=True)
        # Upright rectangles of which every two overlap have a point in common.
        if max(left) >= min(right) or max(top) >= min(bottom):
            apart.add(question)
    return apart


def _add(export: Export, place: str, task: Task, item: str, image_key: str) -> None:
    if not task.annotations:
        export.note("task without annotation", place)
    for _ in task.drafts or ():
        export.note("draft", place)
    ids = dict.fromkeys([f"{item}_id", "image_id"])
    addresses = dict.fromkeys([item, image_key] if item != "image" else [image_key])
    wanted = [*addresses, *ids]
    image_id = next((task.data[name] for name in ids if name in task.data), None)
    address = next((task.data[name] for name in addresses if name in task.data), None)
    if task.annotations and not any(name in task.data for name in wanted):
        export.lacks_image(wanted, task.data)
    apart = _about_places_apart(task.annotations)
    for number, annotation in enumerate(task.annotations, start=1):
        here = f"{place}, annotation {annotation.id or f'{number} of it'}"
        here = place if place.startswith("row") else here
        if annotation.ground_truth:
            export.note("ground-truth annotation", here)
        # `write_label_studio` says in the first result who answered.
        meta = annotation.result[0].meta if annotation.result else None
        named = isinstance(meta, dict) and "annotator" in meta
        person, email = meta["annotator"] if named else annotation.completed_by, None
        if isinstance(person, dict):
            email = person.get("email")
            person = person.get("id") or email
        unclear = _about_several_regions(annotation.result) | apart
        answers = []
        for one in annotation.result:
            level = _level(one.value)
            if one.from_name in unclear:
                level = Unusable(SEVERAL_REGIONS)
            if level != ():
                answers.append((one.from_name, level, one.from_name))
        export.add(
            answers,
            place=here,
            named=image_id,
            address=address,
            annotator=person,
            email=email,
            seconds=annotation.lead_time,
            submitted_at=annotation.created_at,
            updated_at=annotation.updated_at,
            status="cancelled" if annotation.was_cancelled else None,
            job=task.project,
        )


def _level(value: dict[str, Any]) -> Any:
    """A level's name, a rating, a tuple of several names or none, or None if unreadable."""
    choices, rating = value.get("choices"), value.get("rating")
    if isinstance(choices, list) and rating is None:
        if not all(isinstance(label, str) for label in choices):
            return None
        return choices[0] if len(choices) == 1 else tuple(choices)
    return Rating(rating) if type(rating) is int and choices is None else None


def write_label_studio(answers: pd.DataFrame, path: str | Path) -> None:
    """Write a crowd's answers as a full JSON export, one task a line.

    Label Studio has no rejected assignments: they are written as cancelled ones that keep their
    answers, the crowd's cancelled ones without. A server has no accounts for a simulated crowd, and
    refuses an import that names one. Who answered therefore stands in the `meta` of the first
    result, which a server keeps; only its full JSON export then says again who answered.

    Args:
        answers: as `crowd.annotate` returns them.
        path: JSON file to write.
    """
    names = answers["image_id"].unique()
    data = {name: {"image": f"images/{name}.png", "image_id": name} for name in names}
    write_export(answers, path, "image", "img", ATTRIBUTES, data)


def write_export(
    answers: pd.DataFrame, path: str | Path, item: str, to_name: str, scales: Scales, data: Mapping
) -> None:
    """Write answers about any kind of item as `write_label_studio` does about images.

    Choices are about the object `to_name` of the labelling configuration; `data` has the task's
    data of every item in the column `<item>_id`.
    """
    rows = answers.assign(number=np.arange(len(answers)) + 1)
    rows["created"] = answers["submitted_at"].dt.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    order = np.argsort(pd.factorize(answers[f"{item}_id"])[0], kind="stable")
    tasks = groupby(rows.iloc[order].itertuples(index=False), attrgetter(f"{item}_id"))
    with Path(path).open("w", encoding="utf-8") as file:
        file.write("[")
        # One task a line, so that a line number finds a record.
        for number, (name, some) in enumerate(tasks):
            annotations = [_annotation(row, to_name, scales) for row in some]
            task = {"id": number + 1, "project": 1, "data": data[name], "annotations": annotations}
            file.write(",\n" * (number > 0) + json.dumps(task, ensure_ascii=False))
        file.write("]\n")


def _annotation(row: Any, to_name: str, scales: Scales) -> dict[str, Any]:
    about, results = {"to_name": to_name, "type": "choices"}, []
    for name, levels in scales.items():
        if hasattr(row, name):
            value = {"choices": [levels[getattr(row, name)]]}
            results.append(
                {"id": f"{row.number}-{name}", "from_name": name, **about, "value": value}
            )
    person = {"id": row.rater, "email": row.worker_id} if "@" in row.worker_id else row.rater
    results[0]["meta"] = {"annotator": person}
    return {
        "id": row.number,
        "was_cancelled": row.status != "accepted",
        "ground_truth": False,  # a server takes an import that does not say for the truth
        "created_at": row.created,
        "updated_at": row.created,
        "lead_time": row.seconds,
        "result": [] if row.status == "cancelled" else results,
    }
