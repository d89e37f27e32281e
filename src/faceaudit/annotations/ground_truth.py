"""SageMaker Ground Truth: the folder of a labelling job, whose forms are made as MTurk's are.

A labelling job has a manifest with a line per item, with the label that the service made of all
answers; the answers themselves lie in a folder per item, which is called by the item's number,
counted from 0, and holds one file or more. They belong to the manifest's line of that number and to
no other: items without an answer have no folder.

A line of the manifest has everything that the job's input had: a job whose input was the output of
another one keeps the label of that one beside its own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from faceaudit.annotations.ingest import Ingest, RawAnswers, folded, validate
from faceaudit.annotations.mturk import of_element
from faceaudit.annotations.schema import ATTRIBUTES, KnownImages, Rename, Scales
from faceaudit.utils.errors import InputError
from faceaudit.utils.tables import wrong_format

MANIFEST_FORMAT = "a manifest of a Ground Truth labelling job (a JSON object a line)"
RESPONSES_FORMAT = "a file of Ground Truth workers' answers (JSON)"
MANIFEST = Path("manifests", "output", "output.manifest")
CATEGORIES = Path("annotation-tool", "data.json")
_METADATA = "-metadata"
_CLASSIFIERS = {"crowd-image-classifier", "crowd-image-classifier-multi-select"}


@dataclass
class Responses:
    """A file of workers' answers about an item."""

    answers: list[dict[str, Any]]


def read_ground_truth(
    path: str | Path,
    *,
    known_images: KnownImages = None,
    rename: Rename = None,
    salt: str = "helpers",
    label: str | None = None,
) -> Ingest:
    """Read the answers of all workers of a labelling job.

    The image is the file in the manifest's `source-ref`. An image classifier answers the question
    that the job's label is called by, and so does the only choice in a form, whatever its element
    is called; a form of several elements names them itself. Items that the service failed on are
    noted, and what workers answered about them is kept.

    Where lines of the manifest have labels of several jobs, the job's own is the one whose
    `job-name` is the folder's name; else the one that was made last; else the one whose levels
    workers named.

    Args:
        path: the job's folder, with `manifests` and `annotations` in it.
        known_images: ids of the images that were annotated; answers about others are counted as
            "unknown image".
        rename: name of the label or of a form's element → attribute, where they differ.
        salt: of the annotators' hashes; keep it private where the table is published.
        label: the job's own label attribute, where it cannot be told from others.

    Returns:
        The tidy table and the report of what was rejected, see `Ingest`.

    Raises:
        FileNotFoundError: the folder has no output manifest.
        InputError: a file is not what it should be; names the file, the line and what was expected.
            No answer can be used. The manifest does not say which label is the job's own.

    Example:
        >>> import json, tempfile
        >>> from pathlib import Path
        >>> from faceaudit import annotations
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
    export = RawAnswers("ground_truth")
    add_job(export, Path(path), label, ATTRIBUTES, dict(rename or {}))
    return validate(export, salt, rename, known_images)


def add_job(
    export: RawAnswers,
    path: Path,
    label: str | None = None,
    scales: Scales = ATTRIBUTES,
    rename: Mapping[str, str] | None = None,
) -> None:
    """Add what a job's folder holds, about any kind of item.

    Args:
        export: to add to.
        path: the job's folder.
        label: the job's own label attribute, where it cannot be told from others.
        scales: attributes that may be answered → names of their levels, from low to high.
        rename: name of the label or of a form's element → attribute, where they differ.
    """
    manifest = path / MANIFEST
    export.begin(path)
    lines = manifest.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines()
    items = [
        _json(manifest, number, line, MANIFEST_FORMAT, dict[str, Any])
        for number, line in enumerate(lines, start=1)
    ]
    if not items:
        raise wrong_format(manifest, "line 1", MANIFEST_FORMAT, "an empty file")
    files: dict[int, list[Path]] = {}
    for file in sorted(path.glob("annotations/worker-response/iteration-*/[0-9]*/*.json")):
        files.setdefault(int(file.parent.name), []).append(file)
    if not files:
        pattern = "annotations/worker-response/iteration-1/<number>/*.json"
        raise InputError(f"{path}: expected {pattern}", field=str(path), expected=pattern)
    answers = {number: _answers_in(item_files) for number, item_files in files.items()}
    contents = [_content(answer) for answer in chain.from_iterable(answers.values())]
    form = _Form(scales, dict(rename or {}))
    form.label = _label_of_job(path, items, contents, form, label)
    form.categories = _categories(path, items, form.label)
    for number in range(max(len(items), max(files) + 1)):
        item = items[number] if number < len(items) else {}
        metadata = item.get(form.label + _METADATA)
        if isinstance(metadata, dict) and "failure-reason" in metadata:
            export.note("failed item", f"item {number}")
        if number not in files and item:
            export.note("task without annotation", f"item {number}")
        for order, answer in enumerate(answers.get(number, ()), start=1):
            export.add(
                form.levels(_content(answer)),
                place=f"item {number}, answer {order}",
                address=item.get("source-ref"),
                annotator=answer.get("workerId"),
                seconds=answer.get("timeSpentInSeconds"),
                submitted_at=answer.get("submissionTime"),
            )


def _json(path: Path, line: int, content: bytes, expected: str, kind: Any) -> Any:
    """The value of a type that a line or a file has as JSON; InputError for anything else."""
    import msgspec  # the course does without

    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = f"something else ({error})"
        raise wrong_format(path, f"line {line}", expected, text) from None


def _answers_in(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Workers' answers about an item, which may stand in several files."""
    responses = [_json(file, 1, file.read_bytes(), RESPONSES_FORMAT, Responses) for file in files]
    return [answer for response in responses for answer in response.answers]


def _content(answer: Mapping[str, Any]) -> Any:
    """What a worker sent, by the names of the form's elements.

    Responses have it as `answerContent`; what the service hands to a consolidation has it as JSON
    in a text, in `annotationData`.
    """
    import msgspec

    content = answer.get("answerContent")
    data = answer.get("annotationData")
    if content is None and isinstance(data, dict):
        content = data.get("content")
    if isinstance(content, str):
        try:
            return msgspec.json.decode(content)
        except (msgspec.DecodeError, RecursionError):
            return None
    return content


# --- which label is the job's own


def _label_of_job(
    path: Path, items: list[dict], contents: list, form: "_Form", label: str | None
) -> str:
    """The name of the label that this job made, among all that its manifest has.

    Args:
        path: the job's folder.
        items: lines of the manifest.
        contents: what workers sent.
        form: what may be asked.
        label: the name, where the caller gives it.

    Raises:
        InputError: there is no such label, or the manifest does not say which one it is.
    """
    manifest = path / MANIFEST
    metadata: dict[str, list[dict]] = {}
    for item in items:
        for name, value in item.items():
            if name.endswith(_METADATA) and isinstance(value, dict):
                metadata.setdefault(name.removesuffix(_METADATA), []).append(value)
    if label is not None:
        if label not in metadata:
            labels = f"labels {_quote_names(metadata)}"
            raise wrong_format(manifest, "line 1", f"the label {label!r}", labels)
        return label
    # An input may have metadata of its own, which no labelling job wrote.
    of_jobs = {
        name: records for name, records in metadata.items() if any(map(_is_of_a_job, records))
    }
    candidates = of_jobs or metadata
    if not candidates:
        raise wrong_format(manifest, "line 1", MANIFEST_FORMAT, "0 labels with metadata")
    for rule in (_named_as_the_folder, _made_last, _with_the_levels_named):
        if len(candidates) > 1:
            chosen = rule(candidates, path, contents, form)
            candidates = {name: candidates[name] for name in chosen} or candidates
    if len(candidates) > 1:
        names = _quote_names(candidates)
        raise InputError(
            f"{manifest}: line 1: {len(candidates)} labels with metadata, {names}; "
            "give `label`, the label attribute of this job",
            field="label",
            found=list(candidates),
            expected="the label attribute of this job",
        )
    return next(iter(candidates))


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "nothing"


def _is_of_a_job(metadata: Mapping[str, Any]) -> bool:
    """Whether a labelling job wrote it: it says which one, the type of task, or why it failed."""
    return (
        "job-name" in metadata
        or "failure-reason" in metadata
        or str(metadata.get("type")).startswith("groundtruth/")
    )


def _named_as_the_folder(
    candidates: Mapping[str, list[dict]], path: Path, contents: list, form: "_Form"
) -> list[str]:
    """The labels of the job that has the folder's name: the service calls the folder so."""
    folder = path.resolve().name.casefold()
    names = []
    for name, metadata in candidates.items():
        jobs = {str(record.get("job-name")).rpartition("/")[2].casefold() for record in metadata}
        if folder in jobs:
            names.append(name)
    return names


def _made_last(
    candidates: Mapping[str, list[dict]], path: Path, contents: list, form: "_Form"
) -> list[str]:
    """The label that was made after all others: one from the job's input was made before."""
    dates = {
        name: sorted(
            str(record["creation-date"]) for record in metadata if "creation-date" in record
        )
        for name, metadata in candidates.items()
    }
    if not all(dates.values()):
        return []
    last = []
    for name, of_label in dates.items():
        others = [of_other for other, of_other in dates.items() if other != name]
        if all(of_other[-1] < of_label[0] for of_other in others):
            last.append(name)
    return last


def _with_the_levels_named(
    candidates: Mapping[str, list[dict]], path: Path, contents: list, form: "_Form"
) -> list[str]:
    """The labels of which workers named levels: a classifier asks about the job's own label."""
    levels = set()
    for content in contents:
        levels.update(folded(level) for level in form.named_levels(content))
    return [name for name in candidates if not levels.isdisjoint(form.levels_of(name))]


# --- what workers answered


def _categories(path: Path, items: list[dict], label: str) -> dict[int, str]:
    """Number of a category in the job's list → its name; what the manifest says without the list.

    A classifier's label is the number of its category, counted from 0, or its name.
    """
    file = path / CATEGORIES
    if file.is_file():
        content = _json(file, 1, file.read_bytes(), "a list of labels (JSON)", dict[str, Any])
        labels = content.get("labels") or ()
        names = [label.get("label") for label in labels if isinstance(label, dict)]
        return {number: name for number, name in enumerate(names) if isinstance(name, str)}
    names = {}
    for item in items:
        metadata = item.get(label + _METADATA)
        name = metadata.get("class-name") if isinstance(metadata, dict) else None
        if type(item.get(label)) is int and isinstance(name, str):
            names[item[label]] = name
    return names


class _Form:
    """What a job asks, and how its answers are understood.

    Attributes:
        label: the job's own label attribute.
        categories: number of a category → its name.
    """

    def __init__(self, scales: Scales, rename: Mapping[str, str]) -> None:
        self.scales = scales
        self.rename = rename
        self.label = ""
        self.categories: dict[int, str] = {}

    def levels_of(self, label: str) -> list[str]:
        """Names of the levels that a label may have, from low to high."""
        return [folded(name) for name in self.scales.get(self.rename.get(label, label), ())]

    def named_levels(self, content: Any) -> list[str]:
        """The names in what a worker sent of a classifier."""
        if not isinstance(content, dict):
            return []
        names = []
        for element, value in content.items():
            if element in _CLASSIFIERS and isinstance(value, dict):
                labels = value.get("labels")
                names += labels if isinstance(labels, list) else [value.get("label")]
        return [name for name in names if isinstance(name, str)]

    def levels(self, content: Any) -> list[tuple]:
        """The answers (question, level, field) in what a worker sent."""
        if not isinstance(content, dict):
            return [(None, None, "answerContent")]
        questions = {}  # name of an element → its question and its value
        others = {}
        for name, value in content.items():
            if name in _CLASSIFIERS or name == self.label:
                questions[name] = self.label, self._category(value)
            elif self.rename.get(name, name) in self.scales:
                questions[name] = name, value
            else:
                others[name] = value
        if not questions:
            questions, others = self._only_choice(others)
        questions |= {name: (name, value) for name, value in others.items()}
        answers = []
        for element, (question, value) in questions.items():
            answers += of_element(question, value, element)
        return answers

    def _only_choice(self, elements: dict[str, Any]) -> tuple[dict[str, tuple], dict[str, Any]]:
        """The only choice among elements with names of no question, as a question, and the rest."""
        buttons = {}
        levels = self.levels_of(self.label)
        for name, value in elements.items():
            if isinstance(value, dict) and len(value) == 1:
                ((key, state),) = value.items()
                level_names = [text for text in (key, name) if folded(text) in levels]
                if type(state) is bool and level_names:
                    buttons[name] = level_names[0], state
        choices = [name for name, value in elements.items() if _is_choice(value)]
        if len(buttons) > 1:
            # Buttons that stand alone in a form have a name each: {"Female": {"on": true}, …}.
            pressed = dict(buttons.values())
            rest = {name: value for name, value in elements.items() if name not in buttons}
            return {next(iter(buttons)): (self.label, pressed)}, rest
        if len(choices) == 1:
            (name,) = choices
            rest = {other: value for other, value in elements.items() if other != name}
            return {name: (self.label, self._category(elements[name]))}, rest
        return {}, elements

    def _category(self, value: Any) -> Any:
        """The value of an element, with names in place of numbers of categories.

        Of a job whose category number 4 is "Male" and 0 is "Female":

        - {"label": 4} → {"label": "Male"}: a classifier for one category;
        - {"labels": [4]} → "Male": one for several, in which one was chosen;
        - {"labels": [0, 4]} → {"Female": True, "Male": True}: two were chosen, like two buttons;
        - {"labels": []} → "": none was chosen, like a field that was left empty;
        - {"Male": True, "Female": False} and "Male" stay: buttons, or a text, have names already.
        """
        if not isinstance(value, dict):
            return value
        if isinstance(value.get("labels"), list) and "label" not in value:
            labels = [self._name(label) for label in value["labels"]]
            if not labels:
                return ""
            if len(labels) == 1:
                return labels[0]
            return {str(label): True for label in labels}
        if "label" in value:
            return {"label": self._name(value["label"])}
        return value

    def _name(self, label: Any) -> Any:
        """The name of a category that is given by its number, if the two are known to differ."""
        if type(label) is not int:
            return label
        if label in self.categories:
            return self.categories[label]
        levels = dict(enumerate(self.levels_of(self.label)))
        alike = all(levels.get(key) == folded(name) for key, name in self.categories.items())
        return label if alike else None


def _is_choice(value: Any) -> bool:
    """Whether an element is a choice: a label, several, or buttons that are pressed or not."""
    if not isinstance(value, dict) or not value:
        return False
    if "label" in value or "labels" in value:
        return True
    return all(type(state) is bool for state in value.values())
