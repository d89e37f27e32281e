"""Annotations one by one, as Label Studio's JSON_MIN, CSV and TSV exports have them.

An answer stands there among the data of its task. Chapter 6 reads such files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from helpers.annotations.image_names import ImageNames
from helpers.annotations.label_studio_tasks import (
    EMPTY,
    EXPECTED,
    FIELDS,
    level_of,
    named_by,
    shown,
    task_place,
)
from helpers.annotations.raw import Notes, seconds
from helpers.annotations.text import csv_rows, json_cell, wrong_format

FLAT_FIELDS = {
    reason: "annotator" if field == "completed_by" else field for reason, field in FIELDS.items()
} | {
    "task without annotation": "annotation_id",
}
"""Where an annotation says what makes it problematic."""


class Annotations:
    """Annotations one by one among their tasks' data, as JSON_MIN, CSV and TSV have them."""

    def __init__(
        self,
        path: Path,
        item: str,
        questions: Sequence[str] | None,
        doubtful: set[str],
        table: bool,
    ) -> None:
        self._path, self._id, self._address = path, f"{item}_id", item
        self._questions, self._doubtful, self._table = questions, doubtful, table

    def read(
        self, number: int, record: dict[str, Any], notes: Notes, images: ImageNames
    ) -> Iterator[tuple[tuple, list]]:
        """The annotation with this number in the file, as `raw.parts` takes it."""
        task = f"row {number}" if self._table else task_place(record, number)
        missing = [key for key in ("annotation_id", "annotator") if key not in record]
        if missing:
            found = f"an annotation without {missing[0]!r}"
            raise wrong_format(self._path, task, EXPECTED, found)
        annotator, email, account = named_by(record["annotator"])
        if annotator is None and record["annotation_id"] in (None, ""):
            notes.add("task without annotation", task)
            return
        here = task
        if not self._table:
            here = f"{task}, annotation {shown(record['annotation_id'], 'without id')}"
        image_id, problem, other_name = images.of(record.get(self._id), record.get(self._address))
        yield (
            (
                here,
                image_id,
                annotator,
                email,
                seconds(record.get("lead_time")),
                record.get("created_at"),
                problem,
                None,
                record.get("updated_at"),
                account,
                other_name,
            ),
            list(self._answers(task, record)),
        )

    def _answers(self, task: str, record: dict[str, Any]) -> Iterator[tuple]:
        for name in self._asked(task, record):
            for level in _flat_levels(record.get(name)):
                if level is not EMPTY:
                    yield (name, level, name)

    def _asked(self, task: str, record: dict[str, Any]) -> Iterable[str]:
        """Which of the record's names are those of questions.

        The server writes the task's data, then its `id`, the answers, `annotator` and the rest. A
        question that is called like data takes its place, so that nobody can tell which it is.
        """
        if self._table:
            return [name for name in self._questions if name in record]
        names = list(record)
        end = names.index("annotator")
        at = names.index("id") if "id" in names[:end] else None
        data = set() if at is None else set(names[:at])
        between = [] if at is None else names[at + 1 : end]
        if self._questions is None:
            if at is None:
                self._refuse(task, "no 'id' between the task's data and the answers")
            if doubtful := sorted(data & self._doubtful):
                self._refuse(task, f"{doubtful[0]!r} in the task's data, which may be an answer")
            return between
        if doubtful := sorted(data & set(self._questions)):
            self._refuse(task, f"{doubtful[0]!r} in the task's data, where no answer stands")
        return dict.fromkeys([*(name for name in self._questions if name in record), *between])

    def _refuse(self, task: str, found: str) -> None:
        hint = "give `questions`, the names in the labelling configuration"
        if self._questions is not None:
            hint = "export the full JSON, which keeps data and answers apart"
        raise ValueError(f"{self._path}: {task}: found {found}; {hint}")


def _flat_levels(value: Any) -> Iterator[Any]:
    """The levels of a question's results: one, or a list of them."""
    for one in value if isinstance(value, list) and value else [value]:
        if isinstance(one, str):
            yield one if one.strip() else EMPTY
        elif isinstance(one, dict):
            yield level_of(one)
        else:
            yield EMPTY if one is None or one == [] else None


def table_records(path: Path, stream: TextIO) -> Iterator[tuple[int, dict[str, Any]]]:
    """(row, record) of every row of a CSV or TSV export."""
    header, rows = csv_rows(path, stream, EXPECTED)
    if not {"annotation_id", "annotator"} <= set(header):
        raise wrong_format(path, "row 1", EXPECTED, f"columns {', '.join(header)[:80]!r}")
    return ((row, dict(zip(header, map(_cell, cells), strict=True))) for row, cells in rows)


def _cell(text: str) -> Any:
    """A cell's content: ratings and several choices are JSON, anything else is bare text."""
    if not text.startswith(("[", "{")):
        return text
    try:
        return json_cell(text)
    except ValueError:
        return text
