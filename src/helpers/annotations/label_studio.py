"""Label Studio: the labelling configuration to import, and the exports to read.

The full JSON export is preferred: the others lose cancelled annotations and the project, and mix
the task's data with the answers. A choice holds a level's name; a rating is counted from 1, so
rating r is level r - 1. Chapter 6 reads them, and chapter 16 those about pairs
(`helpers.annotations.pairs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO
from xml.etree import ElementTree

from helpers.annotations.image_names import (
    AMBIGUOUS,
    CONTRADICTORY,
    MISSING,
    UNKNOWN,
    UNUSABLE,
    ImageNames,
    names_for_files,
)
from helpers.annotations.ingest import OTHER_NAME, Ingest, validate
from helpers.annotations.label_studio_flat import FLAT_FIELDS, Annotations, table_records
from helpers.annotations.label_studio_tasks import EXPECTED, FIELDS, Tasks
from helpers.annotations.meanings import as_compared
from helpers.annotations.raw import Notes, Source, parts
from helpers.annotations.schema import ATTRIBUTES, heading
from helpers.annotations.text import first_character, json_records, opened, strict_records

SOURCE = "label_studio"


def labelling_config() -> str:
    """Write the labelling configuration: the image, and beside it a required choice per attribute.

    On a screen of 1366 × 768 pixels all eight questions stand beside the image without scrolling;
    on a lower one the image stays in sight.

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
    submitted when it was created. JSON exports that were joined into one file, one list after the
    other, are read as one.

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
        rename: name of a control in the labelling configuration -> attribute, where they differ.
        salt: of the annotators' hashes; keep it private where the table is published.

    Returns:
        The tidy table and the report of what was rejected, see `Ingest`.

    Raises:
        ValueError: a file is not an export or leaves open what is an answer; names the file, the
            place and what was expected. Nothing in the files can be used. A question is no
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
    paths = [Path(path)] if isinstance(path, str | Path) else [Path(one) for one in path]
    scales = _scales(questions, dict(rename or {}))
    images = names_for_files(known_images, len(paths))
    asked = None if questions is None else list(questions)
    doubtful = {*ATTRIBUTES, *(rename or {})}
    sources = [
        read_export(one, "image", asked, names, doubtful)
        for one, names in zip(paths, images, strict=True)
    ]
    return validate(sources, SOURCE, salt, scales, rename, numbered=False)


def _scales(
    questions: Iterable[str] | Mapping[str, Sequence[str]] | None, rename: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """The levels of the attributes that are asked about."""
    if questions is None:
        return ATTRIBUTES
    if isinstance(questions, str):
        raise ValueError(f"questions: a list of names was expected, not the text {questions!r}")
    scales: dict[str, tuple[str, ...]] = {}
    for control in questions:
        attribute = rename.get(control, control)
        if attribute not in ATTRIBUTES:
            raise ValueError(f"question {control!r} is no attribute; `rename` says which it is")
        levels = ATTRIBUTES[attribute]
        if isinstance(questions, Mapping):
            levels = _choices(control, questions[control], attribute)
        if scales.setdefault(attribute, levels) != levels:
            raise ValueError(
                f"question {control!r}: another one about {attribute!r} has other choices"
            )
    return scales


def _choices(control: str, choices: Sequence[str], attribute: str) -> tuple[str, ...]:
    """A control's choices, each of which is one level of the attribute."""
    if isinstance(choices, str):
        raise ValueError(f"question {control!r}: a list of choices was expected, not {choices!r}")
    names = tuple(map(str, choices))
    if len(names) != len(ATTRIBUTES[attribute]):
        raise ValueError(
            f"question {control!r} has {len(names)} choices, "
            f"{attribute!r} {len(ATTRIBUTES[attribute])} levels"
        )
    alike = [as_compared(name) for name in names]
    if len(set(alike)) < len(alike) or "" in alike:
        raise ValueError(
            f"question {control!r}: choices with different names were expected, not {names}"
        )
    return names


def read_export(
    path: Path,
    item: str,
    questions: Sequence[str] | None,
    images: ImageNames,
    doubtful: Iterable[str] = (),
) -> Source:
    """An export, as `validate` takes it.

    Args:
        path: the export.
        item: what is annotated; its id is the task's `<item>_id`, or the file name in `<item>`.
        questions: names of the controls in the labelling configuration, if they are known.
        images: which items there are.
        doubtful: names that, in a flat export's data, might be those of questions.

    Raises:
        ValueError: the file is not an export; names the file, the place and what was expected.
    """
    with opened(path, EXPECTED) as stream:
        table = first_character(stream) not in "[{"
        records = table_records(path, stream) if table else strict_records(path, stream, EXPECTED)
        _, first = next(records, (0, {}))
    flat = "annotation_id" in first
    if table and questions is None:
        raise ValueError(
            f"{path}: row 1: a CSV or TSV export does not say which columns are answers and which "
            "the task's data; give `questions`, the names in the labelling configuration"
        )
    notes = Notes()
    reader = Annotations(path, item, questions, set(doubtful), table) if flat else Tasks(path, item)
    fields = FLAT_FIELDS if flat else FIELDS
    fields = fields | dict.fromkeys((MISSING, UNUSABLE, UNKNOWN), f"{item}_id")
    fields |= dict.fromkeys((AMBIGUOUS, CONTRADICTORY, OTHER_NAME), item)
    visits = _visits(path, reader, notes, images)
    return Source(path, parts(visits), fields, notes, questions)


def _visits(
    path: Path, reader: Tasks | Annotations, notes: Notes, images: ImageNames
) -> Iterator[tuple[tuple, list]]:
    with opened(path, EXPECTED) as stream:
        for number, record in _records(path, stream):
            yield from reader.read(number, record, notes, images)


def _records(path: Path, stream: TextIO) -> Iterator[tuple[int, dict[str, Any]]]:
    if first_character(stream) in "[{":
        return json_records(path, stream, EXPECTED)
    return table_records(path, stream)
