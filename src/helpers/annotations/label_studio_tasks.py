"""Tasks with their annotations, as Label Studio's full JSON export has them.

Chapter 6 reads such files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helpers.annotations.image_names import ImageNames
from helpers.annotations.raw import Notes, identity, is_email, seconds
from helpers.annotations.text import wrong_format

EXPECTED = "a Label Studio export (a JSON list of tasks with annotations, JSON_MIN, CSV or TSV)"

FIELDS = {
    "cancelled assignment": "was_cancelled",
    "other job": "project",
    "missing annotator": "completed_by",
    "e-mail as annotator id": "completed_by",
    "unreadable time": "created_at",
    "older version": "updated_at",
    "several answers of one name": "completed_by",
    "one name of several accounts": "completed_by",
    "ground-truth annotation": "ground_truth",
    "draft": "drafts",
    "task without annotation": "annotations",
}
"""Where an annotation says what makes it problematic."""
EMPTY = object()
"""The level of a choice or a rating that was not made."""
_LONGEST_ID = 40
"""Characters of an id that messages and reports show."""
_PLAIN = re.compile(r"[\w.@ -]+")


class Tasks:
    """Tasks with their annotations, as the full JSON export has them."""

    def __init__(self, path: Path, item: str) -> None:
        self._path, self._id, self._address = path, f"{item}_id", item

    def read(
        self, number: int, task: dict[str, Any], notes: Notes, images: ImageNames
    ) -> Iterator[tuple[tuple, list]]:
        """The annotations of the task with this number in the file, as `raw.parts` takes them."""
        place = task_place(task, number)
        data, annotations = task.get("data"), task.get("annotations")
        if not isinstance(data, dict) or not isinstance(annotations, list):
            self._refuse(place, "a task without data and annotations")
        if not annotations:
            notes.add("task without annotation", place)
        drafts = task.get("drafts")
        for _ in drafts if isinstance(drafts, list) else ():
            notes.add("draft", place)
        image_id, problem, other_name = images.of(data.get(self._id), data.get(self._address))
        job = identity(task.get("project"))
        for order, annotation in enumerate(annotations, start=1):
            if not isinstance(annotation, dict) or not isinstance(annotation.get("result"), list):
                where = f"{place}, annotation {order} of it"
                self._refuse(where, "an annotation without a list of results")
            here = f"{place}, annotation {shown(annotation.get('id'), f'{order} of it')}"
            if annotation.get("ground_truth") is True:
                notes.add("ground-truth annotation", here)
            cancelled = annotation.get("was_cancelled", False) is not False
            results = annotation["result"]
            annotator, email, account = _annotator(annotation, results)
            yield (
                (
                    here,
                    image_id,
                    annotator,
                    email,
                    seconds(annotation.get("lead_time")),
                    annotation.get("created_at"),
                    "cancelled assignment" if cancelled else problem,
                    job,
                    annotation.get("updated_at"),
                    account,
                    other_name,
                ),
                [answer for answer in map(_result, results) if answer is not None],
            )

    def _refuse(self, place: str, found: str) -> None:
        raise wrong_format(self._path, place, EXPECTED, found)


def task_place(record: dict[str, Any], number: int) -> str:
    """How a message names a task: by its id, or by its number in the file."""
    return f"task {shown(record.get('id'), f'{number} of the file')}"


def shown(value: Any, otherwise: str) -> str:
    """An id, if it is one that a message can show."""
    if type(value) is int and abs(value) < 10**_LONGEST_ID:
        return str(value)
    name = identity(value)
    return name if name and len(name) <= _LONGEST_ID and _PLAIN.fullmatch(name) else otherwise


def _annotator(annotation: dict[str, Any], results: list) -> tuple[str | None, bool, str | None]:
    """Who annotated; `label_studio_writing` says so in the first result."""
    first = results[0] if results and isinstance(results[0], dict) else {}
    meta = first.get("meta")
    if isinstance(meta, dict) and "annotator" in meta:
        return named_by(meta["annotator"])
    return named_by(annotation.get("completed_by"))


def named_by(completed_by: Any) -> tuple[str | None, bool, str | None]:
    """Who annotated, preferably by number; whether an e-mail address names them; and that address.

    The address stands apart where there is a number, which people of two servers may share.
    """
    if not isinstance(completed_by, dict):
        return identity(completed_by), is_email(completed_by), None
    email, number = completed_by.get("email"), identity(completed_by.get("id"))
    address = identity(email)
    account = address.casefold() if number and address else None
    return number or address, is_email(email) or is_email(number), account


def _result(result: Any) -> tuple | None:
    """The `raw.Answer` in a result, None in an empty one."""
    if type(result) is not dict:
        return (None, None, None)
    name, value = result.get("from_name"), result.get("value")
    name = name if type(name) is str else None
    if type(value) is not dict:
        return (name, None, name)
    level = level_of(value)
    return None if level is EMPTY else (name, level, name)


def level_of(value: dict[str, Any]) -> Any:
    """A level's name, a level counted from 0, a tuple of several, EMPTY or None."""
    choices = value.get("choices")
    if "choices" in value and "rating" in value:
        return None  # two answers, of which nobody knows which is meant
    if type(choices) is list:
        if len(choices) == 1 and type(choices[0]) is str:
            return choices[0]
        if not all(type(label) is str for label in choices):
            return None
        return tuple(choices) if choices else EMPTY
    rating = value.get("rating")
    return rating - 1 if type(rating) is int else None  # True is an int, too
