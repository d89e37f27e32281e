"""SageMaker Ground Truth: the folder of a labelling job, whose forms are made as MTurk's are.

A labelling job has a manifest with a line per item, with the label that the service made of all
answers; the answers themselves lie in a folder per item, which is called by the item's number,
counted from 0, and holds one file or more. They belong to the manifest's line of that number and to
no other: items without an answer have no folder.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.annotations.ingest import Export, Ingest, validate, wrong_format
from helpers.annotations.mturk import of_element
from helpers.annotations.schema import Known, Rename

ITEMS = "a manifest of a Ground Truth labelling job (a JSON object a line)"
RESPONSES = "a file of Ground Truth workers' answers (JSON)"
MANIFEST = Path("manifests", "output", "output.manifest")
_SINGLE = "crowd-image-classifier"


@dataclass
class Responses:
    """A file of workers' answers about an item."""

    answers: list[dict[str, Any]]


def read_ground_truth(
    path: str | Path, *, known_images: Known = None, rename: Rename = None, salt: str = "helpers"
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
    export = Export("ground_truth")
    add_job(export, Path(path))
    return validate(export, salt, rename, known_images)


def add_job(export: Export, path: Path) -> None:
    """Add what a job's folder holds, about any kind of item."""
    manifest = path / MANIFEST
    export.begin(path)
    lines = manifest.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines()
    items = [_item(manifest, *line) for line in enumerate(lines, start=1)]
    if not items:
        raise wrong_format(manifest, "line 1", ITEMS, "an empty file")
    files: dict[int, list[Path]] = {}
    for file in sorted(path.glob("annotations/worker-response/iteration-*/[0-9]*/*.json")):
        files.setdefault(int(file.parent.name), []).append(file)
    if not files:
        raise ValueError(
            f"{path}: expected annotations/worker-response/iteration-1/<number>/*.json"
        )
    for number in range(max(len(items), max(files) + 1)):
        label, item = items[number] if number < len(items) else (None, {})
        if "failure-reason" in item.get(f"{label}-metadata", ()):
            export.note("failed item", f"item {number}")
        if number not in files and item:
            export.note("task without annotation", f"item {number}")
        said = [
            _json(one, 1, one.read_bytes(), RESPONSES, Responses) for one in files.get(number, ())
        ]
        answers = [answer for one in said for answer in one.answers]
        for order, answer in enumerate(answers, start=1):
            export.add(
                _levels(answer.get("answerContent"), label),
                place=f"item {number}, answer {order}",
                address=item.get("source-ref"),
                annotator=answer.get("workerId"),
                seconds=answer.get("timeSpentInSeconds"),
                submitted_at=answer.get("submissionTime"),
            )


def _json(path: Path, line: int, text: bytes, expected: str, kind: Any) -> Any:
    import msgspec  # the course does without

    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        found = f"something else ({error})"
        raise wrong_format(path, f"line {line}", expected, found) from None


def _item(manifest: Path, number: int, line: bytes) -> tuple[str, dict[str, Any]]:
    """A line of the manifest, and the name of its label: the one that has metadata."""
    item, end = _json(manifest, number, line, ITEMS, dict[str, Any]), "-metadata"
    labels = [name for name in item if name.endswith(end) and isinstance(item[name], dict)]
    if len(labels) != 1:
        found = f"{len(labels)} labels with metadata"
        raise wrong_format(manifest, f"line {number}", ITEMS, found)
    return labels[0].removesuffix(end), item


def _levels(content: Any, label: str | None) -> list[tuple]:
    """The answers in what a worker sent."""
    if not isinstance(content, dict):
        return [(None, None, "answerContent")]
    named = [(label if name == _SINGLE else name, value, name) for name, value in content.items()]
    return [one for element in named for one in of_element(*element)]
