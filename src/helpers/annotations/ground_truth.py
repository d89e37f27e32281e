"""SageMaker Ground Truth: the output manifest of a labelling job, and what each worker answered.

The manifest has a line per item, with the label that the service made of all answers; the answers
themselves lie in a folder per item, which is called by the item's number, counted from 0, and holds
one file or more. They belong to the manifest's line of that number and to no other: items without
an answer have no folder. Chapter 6 describes the formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from helpers.annotations.image_names import AMBIGUOUS, MISSING, UNKNOWN, UNUSABLE, ImageNames
from helpers.annotations.ingest import SEVERAL_ACCOUNTS, SEVERAL_VISITS, Ingest, validate
from helpers.annotations.mturk import of_element
from helpers.annotations.raw import Notes, Source, identity, is_email, parts, seconds
from helpers.annotations.text import json_cell, opened, wrong_format

SOURCE = "ground_truth"
MANIFEST = Path("manifests", "output", "output.manifest")
RESPONSES = Path("annotations", "worker-response")
EXPECTED = "a manifest of a Ground Truth labelling job (a JSON object a line)"
EXPECTED_ANSWERS = "a file of Ground Truth workers' answers (JSON)"

_FIELDS = dict.fromkeys((MISSING, UNUSABLE, UNKNOWN, AMBIGUOUS), "source-ref")
_FIELDS |= {
    "missing annotator": "workerId",
    "e-mail as annotator id": "workerId",
    "unreadable time": "submissionTime",
    SEVERAL_VISITS: "workerId",
    SEVERAL_ACCOUNTS: "workerMetadata",
    "failed item": "failure-reason",
}
_SINGLE, _SEVERAL = "crowd-image-classifier", "crowd-image-classifier-multi-select"
_NUMBER = re.compile(r"\d{1,9}")


def read_ground_truth(
    path: str | Path,
    *,
    known_images: Iterable[str] | None = None,
    rename: Mapping[str, str] | None = None,
    salt: str = "helpers",
) -> Ingest:
    """Read the answers of all workers of a labelling job.

    The image is the file in the manifest's `source-ref`. An image classifier answers the question
    that the job's label is called by; a form of several elements names them itself. Items that the
    service failed on are noted, and what workers answered about them is kept.

    Args:
        path: the job's folder, with `manifests` and `annotations` in it.
        known_images: ids of the images that were annotated; answers about others are counted as
            "unknown image".
        rename: name of the label or of a form's element -> attribute, where they differ.
        salt: of the annotators' hashes; keep it private where the table is published.

    Returns:
        The tidy table and the report of what was rejected, see `Ingest`.

    Raises:
        FileNotFoundError: the folder has no output manifest.
        ValueError: a file is not what it should be; names the file, the line and what was expected.
            Nothing can be used.

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
    path, notes = Path(path), Notes()
    visits = _visits(path, notes, ImageNames(known_images))
    return validate([Source(path, parts(visits), _FIELDS, notes)], SOURCE, salt, rename=rename)


def _visits(path: Path, notes: Notes, images: ImageNames) -> Iterator[tuple[tuple, list]]:
    items = list(_items(path / MANIFEST))
    files = _files(path / RESPONSES)
    for number, item in enumerate(items):
        label = _label(path / MANIFEST, number, item)
        if "failure-reason" in item[f"{label}-metadata"]:
            notes.add("failed item", f"item {number}")
        if not files.get(number):  # a folder may be there, and no file in it
            notes.add("task without annotation", f"item {number}")
    for number in sorted(files):
        item = items[number] if number < len(items) else {}
        label = _label(path / MANIFEST, number, item) if item else None
        image_id, problem, other_name = images.of(None, item.get("source-ref"))
        answers = (one for file in sorted(files[number]) for one in _answers(file))
        for order, answer in enumerate(answers, start=1):
            worker = answer.get("workerId")
            yield (
                (
                    f"item {number}, answer {order}",
                    image_id,
                    identity(worker),
                    is_email(worker),
                    seconds(answer.get("timeSpentInSeconds")),
                    answer.get("submissionTime"),
                    problem,
                    None,
                    None,
                    _account(answer.get("workerMetadata")),
                    other_name,
                ),
                list(_levels(answer.get("answerContent"), label)),
            )


def _items(manifest: Path) -> Iterator[dict[str, Any]]:
    """The manifest's lines."""
    with opened(manifest, EXPECTED) as stream:
        for number, line in enumerate(stream, start=1):
            item = _json(manifest, number, line, EXPECTED)
            if not isinstance(item, dict):
                raise wrong_format(manifest, number, EXPECTED, f"a JSON {type(item).__name__}")
            yield item


def _json(path: Path, line: int, text: str, expected: str) -> Any:
    try:
        return json_cell(text)
    except ValueError as error:
        raise wrong_format(path, line, expected, f"no JSON ({error})") from None


def _label(manifest: Path, number: int, item: Mapping[str, Any]) -> str:
    """The name of an item's label: the one that has metadata."""
    ends = "-metadata"
    names = [
        name.removesuffix(ends)
        for name, value in item.items()
        if name.endswith(ends) and isinstance(value, dict)
    ]
    if len(names) != 1:
        found = f"{len(names)} labels with metadata"
        raise wrong_format(manifest, number + 1, EXPECTED, found)
    return names[0]


def _files(responses: Path) -> dict[int, list[Path]]:
    """The files of answers by the number of their item."""
    found: dict[int, list[Path]] = {}
    for folder in responses.glob("iteration-*/*"):
        if not folder.is_dir():
            continue
        if not _NUMBER.fullmatch(folder.name):
            raise ValueError(f"{folder}: expected a folder called by an item's number")
        found.setdefault(int(folder.name), []).extend(folder.glob("*.json"))
    if not found:
        raise ValueError(f"{responses}: expected iteration-1/<item's number>/<time>.json in it")
    return found


def _answers(path: Path) -> Iterator[dict[str, Any]]:
    """The workers' answers in a file, as a job or as the request to consolidate them has them."""
    with opened(path, EXPECTED_ANSWERS) as stream:
        content = _json(path, 1, stream.read(), EXPECTED_ANSWERS)
    for record in content if isinstance(content, list) else [content]:
        answers = record.get("answers", record.get("annotations")) if type(record) is dict else None
        if not isinstance(answers, list) or not all(type(answer) is dict for answer in answers):
            raise wrong_format(path, 1, EXPECTED_ANSWERS, "no list of answers")
        for answer in answers:
            data = answer.get("annotationData")
            packed = data.get("content") if isinstance(data, dict) else answer.get("answerContent")
            if isinstance(packed, str):
                packed = _json(path, 1, packed, EXPECTED_ANSWERS)
            yield answer | {"answerContent": packed}


def _account(metadata: Any) -> str | None:
    """The worker's account with whoever vouches for it: one for each team that they work in."""
    data = metadata.get("identityData") if isinstance(metadata, dict) else None
    return identity(data.get("sub")) if isinstance(data, dict) else None


def _levels(content: Any, label: str | None) -> Iterator[tuple]:
    """The answers in what a worker sent."""
    if not isinstance(content, dict):
        yield (None, None, "answerContent")
        return
    for name, value in content.items():
        if name == _SEVERAL:
            labels = value.get("labels") if isinstance(value, dict) else None
            yield from _several(labels, label)
        else:
            yield from of_element(label if name == _SINGLE else name, value, name)


def _several(labels: Any, label: str | None) -> list[tuple]:
    """The answer of a classifier that takes several labels: none if none was taken."""
    if not isinstance(labels, list) or not all(type(one) is str for one in labels):
        return [(label, None, _SEVERAL)]
    level = labels[0] if len(labels) == 1 else tuple(labels)
    return [(label, level, _SEVERAL)] * bool(labels)
