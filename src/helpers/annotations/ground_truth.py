"""SageMaker Ground Truth: the output manifest of a labelling job, and what each worker answered.

The manifest has a line per item, with the label that the service made of all answers; the answers
themselves lie in a folder per item, which is called by the item's number, counted from 0, and holds
one file or more. They belong to the manifest's line of that number and to no other: items without
an answer have no folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from helpers.annotations.exports import Export, wrong_format
from helpers.annotations.ingest import Ingest, validate
from helpers.annotations.mturk import of_element

SOURCE = "ground_truth"
MANIFEST = Path("manifests", "output", "output.manifest")
RESPONSES = Path("annotations", "worker-response")
EXPECTED = "a manifest of a Ground Truth labelling job (a JSON object a line)"
EXPECTED_ANSWERS = "a file of Ground Truth workers' answers (JSON)"
_SINGLE, _SEVERAL = "crowd-image-classifier", "crowd-image-classifier-multi-select"


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
    export = Export(Path(path))
    manifest, responses = export.path / MANIFEST, export.path / RESPONSES
    lines = manifest.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines()
    items = [_item(manifest, *line) for line in enumerate(lines, start=1)]
    if not items:
        raise wrong_format(manifest, "line 1", EXPECTED, "an empty file")
    files = _files(responses)
    for number, (label, item) in enumerate(items):
        if "failure-reason" in item[f"{label}-metadata"]:
            export.note("failed item", f"item {number}")
        if not files.get(number):  # a folder may be there, and no file in it
            export.note("task without annotation", f"item {number}")
    for number in sorted(files):
        label, item = items[number] if number < len(items) else (None, {})
        answers = (one for file in sorted(files[number]) for one in _answers(file))
        for order, answer in enumerate(answers, start=1):
            export.add(
                _levels(answer.get("answerContent"), label),
                place=f"item {number}, answer {order}",
                address=item.get("source-ref"),
                annotator=answer.get("workerId"),
                seconds=answer.get("timeSpentInSeconds"),
                submitted_at=answer.get("submissionTime"),
            )
    return validate([export], SOURCE, salt, rename=rename, known=known_images)


def _json(path: Path, line: int, text: bytes | str, kind: Any, expected: str) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        found = f"something else ({error})"
        raise wrong_format(path, f"line {line}", expected, found) from None


def _item(manifest: Path, number: int, line: bytes) -> tuple[str, dict[str, Any]]:
    """A line of the manifest, and the name of its label: the one that has metadata."""
    item = _json(manifest, number, line, dict[str, Any], EXPECTED)
    ends = "-metadata"
    labels = [name for name in item if name.endswith(ends) and isinstance(item[name], dict)]
    if len(labels) != 1:
        found = f"{len(labels)} labels with metadata"
        raise wrong_format(manifest, f"line {number}", EXPECTED, found)
    return labels[0].removesuffix(ends), item


def _files(responses: Path) -> dict[int, list[Path]]:
    """The files of answers by the number of their item."""
    found: dict[int, list[Path]] = {}
    for folder in filter(Path.is_dir, responses.glob("iteration-*/*")):
        if not folder.name.isdecimal():
            raise ValueError(f"{folder}: expected a folder called by an item's number")
        found.setdefault(int(folder.name), []).extend(folder.glob("*.json"))
    if not found:
        raise ValueError(f"{responses}: expected iteration-1/<item's number>/<time>.json in it")
    return found


def _answers(path: Path) -> Iterator[dict[str, Any]]:
    """The workers' answers in a file, as a job or as the request to consolidate them has them."""
    content = _json(path, 1, path.read_bytes(), Any, EXPECTED_ANSWERS)
    for record in content if isinstance(content, list) else [content]:
        answers = isinstance(record, dict) and record.get("answers", record.get("annotations"))
        if not isinstance(answers, list) or not all(isinstance(one, dict) for one in answers):
            raise wrong_format(path, "line 1", EXPECTED_ANSWERS, "no list of answers")
        for answer in answers:
            data = answer.get("annotationData")
            packed = data.get("content") if isinstance(data, dict) else answer.get("answerContent")
            if isinstance(packed, str):
                packed = _json(path, 1, packed, Any, EXPECTED_ANSWERS)
            yield answer | {"answerContent": packed}


def _levels(content: Any, label: str | None) -> list[tuple]:
    """The answers in what a worker sent."""
    if not isinstance(content, dict):
        return [(None, None, "answerContent")]
    found = []
    for name, value in content.items():
        if name == _SEVERAL and isinstance(value, dict):
            labels = value.get("labels")
            value = dict.fromkeys(labels, True) if isinstance(labels, list) else None
            found += of_element(label, value, name) if value != {} else []
        else:
            found += of_element(label if name == _SINGLE else name, value, name)
    return found
