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
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from faceaudit.annotations.ingest import (
    SEVERAL_REGIONS,
    Ingest,
    Rating,
    RawAnswers,
    Unusable,
    folded,
    validate,
)
from faceaudit.annotations.schema import ATTRIBUTES, KnownImages, Paths, Rename, Scales, heading
from faceaudit.utils.arguments import require_columns, require_present
from faceaudit.utils.errors import InputError
from faceaudit.utils.tables import read_table, wrong_format

LABEL_STUDIO_EXPORT = (
    "a Label Studio export (a JSON list of tasks with annotations, JSON_MIN, CSV or TSV)"
)


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


IMAGE_HEIGHT = 256
"""Height of an image on the screen, pixels; a picture of two faces is wider."""


def labelling_config(questions: Scales = ATTRIBUTES, width: int = IMAGE_HEIGHT) -> str:
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
    sticky = f"flex:0 0 {width}px; position:sticky; top:0"
    image_column = ElementTree.SubElement(view, "View", style=sticky)
    ElementTree.SubElement(image_column, "Image", name="img", value="$image", width=f"{width}px")
    question_column = ElementTree.SubElement(view, "View", style="flex:1; line-height:1.2")
    for attribute, labels in questions.items():
        title = {"value": heading(attribute), "size": "5", "style": "margin:0"}
        ElementTree.SubElement(question_column, "Header", title)
        about = {"name": attribute, "toName": "img", "choice": "single-radio", "required": "true"}
        choices = ElementTree.SubElement(question_column, "Choices", about, showInline="true")
        for label in labels:
            ElementTree.SubElement(choices, "Choice", value=label)
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def read_label_studio(
    path: Paths,
    *,
    questions: Iterable[str] | Mapping[str, Sequence[str]] | None = None,
    known_images: KnownImages = None,
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
        InputError: a file is not an export or leaves open what is an answer; names the file, the
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
    export = RawAnswers("label_studio")
    scales: Scales = ATTRIBUTES
    question_names = None
    if questions is not None:
        scales = _scales(questions, dict(rename or {}))
        question_names = list(questions)
    # In JSON_MIN and without `questions`, answers are told from the task's data by their place
    # alone, and an answer whose question is called like data stands in the place of the data. So
    # where data has one of these names, it may be an answer, and the file is refused.
    doubtful = {*ATTRIBUTES, *(rename or {})}
    for file in [path] if isinstance(path, str | Path) else path:
        read_export(export, Path(file), "image", question_names, doubtful, image_key)
    return validate(export, salt, rename, known_images, scales, numbered=False, stars=stars)


def _scales(questions: Iterable[str], rename: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The levels of the attributes that are asked about."""
    scales: dict[str, tuple[str, ...]] = {}
    for control in questions:
        attribute = rename.get(control, control)
        if attribute not in ATTRIBUTES:
            raise InputError(
                f"question {control!r} is no attribute; `rename` says which it is",
                field="questions",
                found=control,
                expected="an attribute",
            )
        levels = ATTRIBUTES[attribute]
        choices = list(questions[control]) if isinstance(questions, Mapping) else levels
        scales[attribute] = tuple(map(str, choices))
        if len({folded(name) for name in scales[attribute]} - {""}) != len(levels):
            expected = f"{len(levels)} choices with different names"
            raise InputError(
                f"question {control!r}: {expected} were expected for the levels of "
                f"{attribute!r}, not {choices!r}",
                field=f"question {control!r}",
                found=choices,
                expected=expected,
            )
    return scales


QuestionNames = Sequence[str] | None
"""Names of the questions; None where only the answers tell."""


def read_export(
    export: RawAnswers,
    path: Path,
    item: str,
    questions: QuestionNames,
    doubtful: Iterable[str] = (),
    image_key: str = "image",
) -> None:
    """Add an export about any kind of item, whose id is `<item>_id` or the file name in `<item>`.

    Where items were shown as images, `image_key` and `image_id` stand in the place of the item.

    Args:
        export: to add to.
        path: of the file: full JSON, JSON_MIN, CSV or TSV.
        item: kind of the items, such as "image" or "pair".
        questions: names of the questions; None where only the answers tell.
        doubtful: names that, in the data of a flat export, might be those of questions.
        image_key: name in the tasks' data of the image's address.

    Raises:
        InputError: the file is no export, or leaves open which of its names are questions.
    """
    image_key = image_key.removeprefix("$")  # as the labelling configuration writes it
    export.begin(path, questions)
    content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    start = content[: 2**16].lstrip()[:1]
    if not start:
        raise wrong_format(path, "line 1", LABEL_STUDIO_EXPORT, "an empty file")
    if start in b"[{":
        tasks = _in_json(path, content, questions, doubtful)
    elif questions is not None:
        tasks = _in_table(path, questions)
    else:
        raise InputError(
            f"{path}: row 1: a CSV or TSV export does not say which columns are answers and "
            "which the task's data; give `questions`, the names in the labelling configuration",
            field="questions",
            expected="the names in the labelling configuration",
        )
    for place, task in tasks:
        _add_task(export, place, task, item, image_key)


def _in_table(path: Path, questions: Sequence[str]) -> Iterator[tuple[str, Task]]:
    """The rows of a CSV or TSV export as tasks, and their places."""
    rows = read_table(path, LABEL_STUDIO_EXPORT, ("annotation_id", "annotator")).to_dict("records")
    for number, row in enumerate(rows, start=2):
        yield f"row {number}", _as_task(row, questions)


def _in_json(
    path: Path, content: bytes, questions: QuestionNames, doubtful: Iterable[str]
) -> Iterator[tuple[str, Task]]:
    """The tasks, or flat records, and their places, one by one: whole they take gigabytes."""
    import msgspec  # the course does without

    try:
        records = msgspec.json.decode(content, type=list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError) as error:
        place = f"line {_line_of_error(content, str(error))}"
        text = f"other text ({error})"
        raise wrong_format(path, place, LABEL_STUDIO_EXPORT, text) from None
    first = bytes(records[0]) if records else b""
    flat = b"_id" in first and b'"annotations"' not in first
    decoder = msgspec.json.Decoder(dict if flat else Task)
    for number, content_of_task in enumerate(records, start=1):
        place = f"task {number} of the file"
        if flat:
            record: dict[str, Any] = _decode(decoder, content_of_task, path, place)
            place = _place_of_task(record.get("id"), place)
            names = _question_names(path, place, record, questions, doubtful)
            yield place, _as_task(record, names)
        else:
            task: Task = _decode(decoder, content_of_task, path, place)
            yield _place_of_task(task.id, place), task


def _decode(decoder: Any, content: Any, path: Path, place: str) -> Any:
    """What a decoder of msgspec makes of a part of a file; InputError for anything else."""
    import msgspec

    try:
        return decoder.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = f"something else ({error})"
        raise wrong_format(path, place, LABEL_STUDIO_EXPORT, text) from None


def _place_of_task(task_id: Any, place: str) -> str:
    """The place of a task by its id; where it has none, by its number in the file."""
    return place if task_id is None else f"task {task_id}"


def _line_of_error(content: bytes, error: str) -> int:
    """The number of the line of a fault, from what msgspec says about it."""
    if "truncated" in error:
        end = len(content)
    else:
        byte = re.search(r"byte (\d+)", error)
        end = int(byte[1]) if byte else 0
    return content.count(b"\n", 0, end) + 1


def _question_names(
    path: Path,
    place: str,
    record: dict[str, Any],
    questions: QuestionNames,
    doubtful: Iterable[str],
) -> Iterable[str]:
    """Which names of a JSON_MIN record are those of questions.

    The server writes the task's data, then its `id`, the answers, `annotator` and the rest. A
    question that is called like data takes its place, so that the two cannot be told apart.
    """
    names = list(record)
    for key in ("annotation_id", "annotator"):
        if key not in record:
            text = f"an annotation without {key!r}"
            raise wrong_format(path, place, LABEL_STUDIO_EXPORT, text)
    data = []
    answered = []
    if "id" in names:
        data = names[: names.index("id")]
        answered = names[names.index("id") + 1 : names.index("annotator")]
    confused = [name for name in data if name in (doubtful if questions is None else questions)]
    if not confused and ("id" in names or questions is not None):
        return dict.fromkeys([*(questions or ()), *answered])
    if confused:
        ambiguity = f"{confused[0]!r} in the task's data, which may be an answer"
    else:
        ambiguity = "no 'id' between the task's data and the answers"
    raise InputError(
        f"{path}: {place}: found {ambiguity}; give `questions`, the names in the labelling "
        "configuration, or export the full JSON, which keeps data and answers apart",
        field=f"{path}: {place}",
        found=ambiguity,
        expected="the names of the questions, or the full JSON",
    )


def _as_task(record: dict[str, Any], questions: Iterable[str]) -> Task:
    """The task of a flat record, in which an annotation stands among the data."""
    results = []
    questions = dict.fromkeys(questions)
    for name in questions:
        cell = _of_cell(record.get(name))
        answers = cell if isinstance(cell, list) else [cell]
        # Flat exports leave the region out where the answer is a choice, and keep the order.
        regions = _regions_in(record) if len(answers) > 1 else []
        for order, answer in enumerate(answers):
            blank = answer is None or (isinstance(answer, str) and not answer.strip())
            value = {"choices": [] if blank else [answer]}
            if len(regions) > 1:
                value |= regions[order % len(regions)]
            results.append(Result(answer if isinstance(answer, dict) else value, name))
    number, person, *times = (record.get(name) for name in _VISIT_KEYS)
    visits = [Annotation(results, number, person, *times)] if number or person else []
    data = {
        name: cell
        for name, cell in record.items()
        if name not in questions and name not in _VISIT_KEYS
    }
    task_id = data.pop("id", None)
    return Task(data, visits, task_id)


def _of_cell(cell: Any) -> Any:
    """What a cell of a table says, which holds JSON where it is more than a text."""
    if isinstance(cell, str) and cell.startswith(("[", "{")):
        with suppress(ValueError, RecursionError):
            return json.loads(cell)
    return cell


_VISIT_KEYS = ("annotation_id", "annotator", "created_at", "updated_at", "lead_time")
_ANSWER_KEYS = (
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
    drawn = {name: part for name, part in value.items() if name not in _ANSWER_KEYS}
    place = {name: part for name, part in drawn.items() if not name.endswith("labels")}
    return place or drawn


def _regions_in(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The different regions in the columns of a flat record."""
    regions = []
    for cell in map(_of_cell, record.values()):
        for value in cell if isinstance(cell, list) else ():
            region = _region(value) if isinstance(value, dict) else {}
            if region and region not in regions:
                regions.append(region)
    return regions


def _about_several_regions(results: Sequence[Result]) -> set[str | None]:
    """Names of the questions that somebody answered about regions of an image with several.

    The image has several regions where one question has answers about two of them, or where two
    were drawn with one control, though the answers may be about one of them.
    """
    shapes = [_region(result.value) for result in results]
    if not any(shapes):
        return set()
    drawn, answered = _regions_by_name(results, shapes)
    in_several: set[str] = set()  # regions besides which the same control drew others
    for regions in drawn.values():
        if len(regions) > 1:
            in_several |= regions
    questions = set()
    for question, regions in answered.items():
        if len(regions) > 1 or not regions.isdisjoint(in_several):
            questions.add(question)
    return questions


RegionsByName = dict[str | None, set[str]]
"""Name of a control → regions, each by its id or, without one, by its place."""


def _regions_by_name(
    results: Sequence[Result], shapes: Sequence[Mapping[str, Any]]
) -> tuple[RegionsByName, RegionsByName]:
    """The regions that were drawn with every control, and those that every question is about.

    An answer about a region has the region's id, and says where it lies as the region does.

    Args:
        results: of one annotation.
        shapes: of `_region`, of every result; empty where it is about the whole image.
    """
    pairs = list(zip(results, shapes, strict=True))
    region_ids = {result.id for result, shape in pairs if shape and result.id}
    drawn: RegionsByName = {}
    answered: RegionsByName = {}
    for result, shape in pairs:
        if shape or result.id in region_ids:
            regions = answered if _is_answer(result) else drawn
            regions.setdefault(result.from_name, set()).add(str(result.id or shape))
    return drawn, answered


def _is_answer(result: Result) -> bool:
    """Whether a result answers a question, and does not only draw a region."""
    return "choices" in result.value or "rating" in result.value


def _rectangle(value: Mapping[str, Any]) -> tuple[float, float, float, float] | None:
    """Left, top, right and bottom of an upright rectangle, in percent of the image."""
    sides = []
    for name in ("x", "y", "width", "height"):
        side = value.get(name)
        if not isinstance(side, int | float):
            return None
        sides.append(side)
    if value.get("rotation"):
        return None
    left, top, width, height = sides
    return left, top, left + width, top + height


def _about_places_apart(annotations: Sequence[Annotation]) -> set[str | None]:
    """Names of the questions that people answered about rectangles of which two do not overlap."""
    places: dict[str | None, list[tuple[float, float, float, float]]] = {}
    for annotation in annotations:
        if annotation.was_cancelled:
            continue
        pairs = [(result, _rectangle(result.value)) for result in annotation.result]
        # An answer may have the id of its region alone.
        drawn = {
            str(result.id): rectangle for result, rectangle in pairs if rectangle and result.id
        }
        for result, rectangle in pairs:
            place = rectangle or drawn.get(str(result.id))
            if place and _is_answer(result):
                places.setdefault(result.from_name, []).append(place)
    apart = set()
    for question, rectangles in places.items():
        left, top, right, bottom = zip(*rectangles, strict=True)
        # Upright rectangles of which every two overlap have a point in common.
        if max(left) >= min(right) or max(top) >= min(bottom):
            apart.add(question)
    return apart


def _add_task(export: RawAnswers, place: str, task: Task, item: str, image_key: str) -> None:
    """Add what people answered about a task; see `read_export` for the names of its image."""
    if not task.annotations:
        export.note("task without annotation", place)
    for _ in task.drafts or ():
        export.note("draft", place)
    id_keys = dict.fromkeys([f"{item}_id", "image_id"])
    address_keys = dict.fromkeys([item, image_key] if item != "image" else [image_key])
    image_keys = [*address_keys, *id_keys]
    if task.annotations and not any(name in task.data for name in image_keys):
        export.lacks_image(image_keys, task.data)
    image_id = next((task.data[name] for name in id_keys if name in task.data), None)
    address = next((task.data[name] for name in address_keys if name in task.data), None)
    apart = _about_places_apart(task.annotations)
    for number, annotation in enumerate(task.annotations, start=1):
        if place.startswith("row"):
            visit_place = place
        else:
            visit_place = f"{place}, annotation {annotation.id or f'{number} of it'}"
        if annotation.ground_truth:
            export.note("ground-truth annotation", visit_place)
        person, email = _annotator(annotation)
        unclear = _about_several_regions(annotation.result) | apart
        answers = []
        for result in annotation.result:
            level = _level_of_value(result.value)
            if result.from_name in unclear:
                level = Unusable(SEVERAL_REGIONS)
            if level != ():
                answers.append((result.from_name, level, result.from_name))
        export.add(
            answers,
            place=visit_place,
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


def _annotator(annotation: Annotation) -> tuple[Any, Any]:
    """Who answered, and an e-mail address of theirs, None if there is none."""
    # `write_label_studio` says in the first result who answered.
    meta = annotation.result[0].meta if annotation.result else None
    person = annotation.completed_by
    if isinstance(meta, dict) and "annotator" in meta:
        person = meta["annotator"]
    if not isinstance(person, dict):
        return person, None
    email = person.get("email")
    return person.get("id") or email, email


def _level_of_value(value: dict[str, Any]) -> Any:
    """A level's name, a rating, a tuple of several names or none, or None if unreadable."""
    choices = value.get("choices")
    rating = value.get("rating")
    if isinstance(choices, list) and rating is None:
        if not all(isinstance(label, str) for label in choices):
            return None
        return choices[0] if len(choices) == 1 else tuple(choices)
    if type(rating) is int and choices is None:
        return Rating(rating)
    return None


def write_label_studio(answers: pd.DataFrame, path: str | Path) -> None:
    """Write a crowd's answers about images, as `write_export` does about any kind of item.

    Args:
        answers: as `crowd.annotate` returns them, see `write_export`; with the column image_id.
        path: JSON file to write.

    Raises:
        InputError: as `write_export`.
    """
    require_columns(answers, ["image_id"])
    names = answers["image_id"].unique()
    data = {name: {"image": f"images/{name}.png", "image_id": name} for name in names}
    write_export(answers, path, item="image", to_name="img", scales=ATTRIBUTES, data=data)


def write_export(
    answers: pd.DataFrame,
    path: str | Path,
    *,
    item: str,
    to_name: str,
    scales: Scales,
    data: Mapping[str, Mapping[str, Any]],
) -> None:
    """Write answers about any kind of item as a full JSON export, one task a line.

    Label Studio has no rejected assignments: they are written as cancelled ones that keep their
    answers, the crowd's cancelled ones without. A server has no accounts for a simulated crowd, and
    refuses an import that names one. Who answered therefore stands in the `meta` of the first
    result, which a server keeps; only its full JSON export then says again who answered.

    Args:
        answers: a row per assignment, as `crowd.annotate` returns them, with the columns
            `<item>_id`; rater, a number; worker_id, a text, which is written as an e-mail address
            where it has an @; seconds; submitted_at (UTC); status ("accepted", "rejected" or
            "cancelled"); and, for one attribute of `scales` or more, the number of the level.
        path: JSON file to write.
        item: kind of the items, such as "image" or "pair".
        to_name: the object of the labelling configuration that choices are about.
        scales: attribute → names of its levels, from low to high.
        data: id of an item → its task's data.

    Raises:
        InputError: `answers` lacks a column, or has one for no attribute; an id is missing.
    """
    item_id = f"{item}_id"
    require_columns(answers, [item_id, "rater", "worker_id", "seconds", "submitted_at", "status"])
    require_present(answers[item_id], "an id")
    asked = {name: levels for name, levels in scales.items() if name in answers}
    if not asked:
        raise InputError(
            f"the frame has no column of answers, at least one of {list(scales)} was expected",
            field="answers",
            found=list(answers),
            expected=f"at least one of {list(scales)}",
        )
    rows = answers.assign(number=np.arange(len(answers)) + 1)
    rows["created"] = answers["submitted_at"].dt.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    # All rows at once, since dicts of a frame per task take eight times as long.
    records = pd.Series(rows.to_dict("records"))
    tasks = records.groupby(answers[item_id].to_numpy(), sort=False)
    with Path(path).open("w", encoding="utf-8") as file:
        file.write("[")
        # One task a line, so that a line number finds a record.
        for number, (name, visits) in enumerate(tasks, start=1):
            annotations = [_annotation(visit, to_name, asked) for visit in visits]
            task = {"id": number, "project": 1, "data": data[name], "annotations": annotations}
            if number > 1:
                file.write(",\n")
            file.write(json.dumps(task, ensure_ascii=False))
        file.write("]\n")


def _annotation(visit: Mapping, to_name: str, asked: Scales) -> dict[str, Any]:
    """An assignment, as the full JSON export has it.

    Args:
        visit: column → value, see `write_export`.
        to_name: the object of the labelling configuration that choices are about.
        asked: attributes that it has a level of, at least one, and the names of their levels.
    """
    results: list[dict[str, Any]] = []
    for name, levels in asked.items():
        results.append(
            {
                "id": f"{visit['number']}-{name}",
                "from_name": name,
                "to_name": to_name,
                "type": "choices",
                "value": {"choices": [levels[visit[name]]]},
            }
        )
    worker = visit["worker_id"]
    person = {"id": visit["rater"], "email": worker} if "@" in worker else visit["rater"]
    results[0]["meta"] = {"annotator": person}
    return {
        "id": visit["number"],
        "was_cancelled": visit["status"] != "accepted",
        "ground_truth": False,  # a server takes an import that does not say for the truth
        "created_at": visit["created"],
        "updated_at": visit["created"],
        "lead_time": visit["seconds"],
        "result": [] if visit["status"] == "cancelled" else results,
    }
