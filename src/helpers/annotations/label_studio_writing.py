"""Label Studio exports as they are written: answers about images or about pairs of them.

A server has no accounts for a simulated crowd, and refuses an import that names one. Who answered
therefore stands in the `meta` of the first result, which a server keeps and exports again, and not
in `completed_by`. Chapter 6 writes such files, and chapter 16 those about pairs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.annotations.raw import is_email
from helpers.annotations.schema import ATTRIBUTES
from helpers.annotations.text import require_writable

_TASKS = 1_000
"""Tasks that are written at a time."""


def write_label_studio(answers: pd.DataFrame, path: str | Path) -> None:
    """Write a crowd's answers as a full JSON export, one task a line.

    Label Studio has no rejected assignments: they are written as cancelled ones that keep their
    answers, the crowd's cancelled ones without. A server takes the file as an import; only its full
    JSON export then says again who answered.

    Args:
        answers: as `crowd.annotate` returns them.
        path: JSON file to write.

    Raises:
        ValueError: an image or a worker has no name that a file can keep; names the row, counted
            from 0.

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
    for column in (f"{item}_id", "worker_id"):
        require_writable(answers[column])
    tasks = _tasks(answers, item, to_name, scales, data)
    with Path(path).open("w", encoding="utf-8") as file:
        file.write("[")
        # One task a line, so that a line number finds a record.
        for number, task in enumerate(tasks):
            file.write(",\n" * (number > 0) + json.dumps(task, ensure_ascii=False))
        file.write("]\n")


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
    annotator = email if is_email(record.worker_id) else record.rater
    results: list[dict[str, Any]] = [
        {
            "id": f"{number}-{attribute}",
            "from_name": attribute,
            "to_name": to_name,
            "type": "choices",
            "value": {"choices": [label]},
        }
        for attribute, label in answers
    ]
    results[0]["meta"] = {"annotator": annotator}
    return {
        "id": number,
        "was_cancelled": record.status != "accepted",
        "ground_truth": False,
        "created_at": created,
        "updated_at": created,
        "lead_time": record.seconds,
        "result": [] if record.status == "cancelled" else results,
    }
