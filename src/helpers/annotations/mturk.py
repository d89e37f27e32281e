"""Amazon Mechanical Turk batch results: CSV with one assignment per row.

27 fixed columns, then `Input.*`, `Answer.*`, `Approve` and `Reject`; as downloaded, rows end before
the last two, which a requester fills in. An answer is spelt `Answer.<attribute>`,
`Answer.<attribute>.label` (crowd elements), `Answer.<attribute>.<level>` (true or false, radio
buttons) or sits in `Answer.taskAnswers` as JSON; it is a level's name or an integer level counted
from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from helpers.annotations.exports import TIMES, Export, iso_times, read_table, wrong_format
from helpers.annotations.ingest import Ingest, validate
from helpers.annotations.schema import ATTRIBUTES, require_writable

SOURCE = "mturk"
EXPECTED = "an MTurk batch results CSV"

_NEEDED = ("HITTypeId", "WorkerId", "AssignmentStatus", "SubmitTime", "WorkTimeInSeconds")
_STATUS = {"approved": None, "submitted": None, "rejected": "rejected"}
_USUAL = "%a %b %d %H:%M:%S {} %Y"
# Hours from UTC of the zone tokens that MTurk prints.
_ZONES = {"GMT": 0, "EDT": -4, "EST": -5, "CDT": -5, "CST": -6, "MDT": -6, "MST": -7, "PDT": -7}
_ZONES |= {"PST": -8, "AKDT": -8, "AKST": -9, "HST": -10, "WET": 0, "WEST": 1, "CET": 1, "CEST": 2}
_ZONES |= {"MET": 1, "MEST": 2, "EET": 2, "EEST": 3, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11}


def read_mturk(
    path: str | Path | Sequence[str | Path],
    *,
    known_images: Iterable[str] | None = None,
    rename: Mapping[str, str] | None = None,
    salt: str = "helpers",
) -> Ingest:
    """Read batch results.

    The image is `Input.image_id`, or the file name in `Input.image_url`. Rows whose status is
    Rejected, or that carry a text under `Reject`, are rejected; a status that is neither Submitted
    nor Approved counts as cancelled. Jobs are told apart by `HITTypeId`.

    Args:
        path: the CSV file, or several, which are read as one.
        known_images: ids of the images that were annotated; answers about others are counted as
            "unknown image".
        rename: name in an `Answer` column or its JSON → attribute, where they differ.
        salt: of the annotators' hashes; keep it private where the table is published.

    Returns:
        The tidy table and the report of what was rejected, see `Ingest`.

    Raises:
        ValueError: a file is not such a CSV; names the file, the row and what was expected. No
            answer in the files can be used.

    Example:
        >>> import tempfile
        >>> from helpers import annotations
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("HITTypeId,WorkerId,AssignmentStatus,SubmitTime,WorkTimeInSeconds,"
        ...                    "Input.image_id,Answer.age\\n"
        ...                    "T,W1,Approved,Thu Oct 09 07:30:20 UTC 2025,12,a,Senior\\n")
        ...     file.flush()
        ...     tidy, report = annotations.read_mturk(file.name)
        >>> tidy[["image_id", "attribute", "level"]].values.tolist()
        [['a', 'age', 5]]
    """
    paths = [path] if isinstance(path, str | Path) else path
    exports = [_export(Path(one)) for one in paths]
    return validate(exports, SOURCE, salt, rename=rename, known=known_images)


def _export(path: Path) -> Export:
    """The assignments, as `validate` takes them."""
    batch, export = read_table(path, EXPECTED, _NEEDED), Export(path)
    empty = pd.Series("", batch.index)
    status = batch["AssignmentStatus"].str.strip().str.casefold()
    status = status.map(lambda text: _STATUS.get(text, "cancelled"))
    export.visits |= {
        "place": np.arange(2, len(batch) + 2),
        "named": batch.get("Input.image_id", empty),
        "address": batch.get("Input.image_url", empty),
        "annotator": batch["WorkerId"],
        "seconds": batch["WorkTimeInSeconds"],
        "submitted_at": parse_times(batch["SubmitTime"]),
        "status": status.mask(batch.get("Reject", empty).str.strip() != "", "rejected"),
        "job": batch["HITTypeId"],
    }
    for name in ("email", "updated_at"):
        export.visits[name] = [None] * len(batch)
    columns = [name for name in batch if name.startswith("Answer.")]
    if not columns:
        raise wrong_format(path, "row 1", EXPECTED, "no column Answer.*")
    answers = pd.concat(_answers(batch[columns], export)).sort_index(kind="stable")
    export.visit, export.kind = answers.index.to_numpy(np.int32), answers.to_numpy(np.int32)
    return export


def _answers(batch: pd.DataFrame, export: Export) -> list[pd.Series]:
    """For every question the numbers of the answers, indexed by assignment."""
    found, buttons = [], {}
    for column in batch:
        name, _, rest = column.removeprefix("Answer.").partition(".")
        if rest not in ("", "label"):
            buttons.setdefault(name, []).append(column)
            continue
        said = _task_answers if name == "taskAnswers" else partial(_plain, name=name)
        found.append(_numbers(batch[column], partial(said, field=column), export))
    for name, columns in buttons.items():
        labels = [column.removeprefix(f"Answer.{name}.") for column in columns]
        states = batch[columns].apply(lambda column: column.str.strip().str.casefold())
        states = states.agg("|".join, axis=1)
        found.append(_numbers(states, partial(_pressed, labels=labels, name=name), export))
    return found


def _numbers(texts: pd.Series, said: Callable[[str], list[tuple]], export: Export) -> pd.Series:
    """The numbers of the answers in a column of texts, of which few are different."""
    answers = {text: [export.number_of(one) for one in said(text)] for text in texts.unique()}
    return texts.map(answers.get).explode().dropna()


def _plain(text: str, name: str, field: str) -> list[tuple]:
    return [(name, text, field)] if text.strip() else []


def _pressed(text: str, labels: list[str], name: str) -> list[tuple]:
    """The answer of radio buttons, of which each has a column."""
    states, field = text.split("|"), f"Answer.{name}"
    if not {"", "false", "true"}.issuperset(states):
        return [(None, None, field)]
    pressed = {label: state == "true" for label, state in zip(labels, states, strict=True)}
    return of_element(name, pressed, field)


def _task_answers(cell: str, field: str) -> list[tuple]:
    """The answers in '[{"gender": {"label": "Male"}, "age": {"Adult": true, "Teen": false}}]'."""
    try:
        content = msgspec.json.decode(cell) if cell.strip() else []
    except (msgspec.DecodeError, RecursionError):
        return [(None, None, field)]
    found = []
    for record in content if isinstance(content, list) else [content]:
        elements = record.items() if isinstance(record, dict) else [(None, None)]
        found += [one for name, value in elements for one in of_element(name, value, field)]
    return found


def of_element(name: str | None, value: Any, field: str) -> list[tuple]:
    """The answer of one element of a form; none if no button of several is pressed."""
    if isinstance(value, dict) and value and all(type(state) is bool for state in value.values()):
        labels = tuple(label for label, pressed in value.items() if pressed)
        return [(name, labels[0] if len(labels) == 1 else labels, field)] * bool(labels)
    answer = value.get("label") if isinstance(value, dict) else value
    if answer == "":
        return []
    return [(name, answer if type(answer) in (str, int) else None, field)]


def parse_times(text: pd.Series) -> pd.Series:
    """Times like "Thu Oct 09 07:30:20 UTC 2025", or ISO 8601, in UTC; missing if unreadable."""
    times = pd.to_datetime(text, format=_USUAL.format("UTC"), errors="coerce", utc=True)
    odd = times.isna()
    if odd.any():
        zones = {rf" {name} ": f" {hours * 100:+05d} " for name, hours in _ZONES.items()}
        other = (
            text[odd]
            .replace(zones, regex=True)
            .str.replace(r" (?:GMT|UTC)(?=[+-])", " ", regex=True)
        )
        other = pd.to_datetime(other, format=_USUAL.format("%z"), errors="coerce", utc=True)
        times = times.mask(odd, other.fillna(iso_times(text[odd].to_list()).set_axis(other.index)))
    return times.astype(TIMES).where(times.dt.year.between(1990, 2099))


def write_mturk(answers: pd.DataFrame, path: str | Path) -> None:
    """Write a crowd's answers as a batch results file.

    A cancelled assignment went back to the pool and leaves no row.

    Args:
        answers: as `crowd.annotate` returns them.
        path: CSV file to write.

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
        ...     annotations.write_mturk(answers, f"{folder}/batch.csv")
        ...     len(annotations.read_mturk(f"{folder}/batch.csv").frame)
        2
    """
    for column in ("image_id", "worker_id"):
        require_writable(answers[column])
    answers = answers[answers["status"] != "cancelled"].reset_index(drop=True)
    answers = answers.astype({"worker_id": "str"})
    rejected = answers["status"] == "rejected"
    submitted = answers["submitted_at"]
    reviewed = _time_text(submitted + pd.Timedelta(days=1))
    worked = answers["seconds"].round().clip(lower=1)
    visits = answers["image_id"] + "/" + answers["worker_id"] + "/" + answers["visit"].astype("str")
    batch = {
        "HITId": _identifiers(answers["image_id"]),
        "HITTypeId": "3FACEATTRIBUTES0000000000000A",
        "Title": "Describe a face",
        "Description": "Look at one face and answer eight questions",
        "Keywords": "face, image, attributes",
        "Reward": "$0.10",
        "CreationTime": _time_text(submitted.dt.floor("D")),
        "MaxAssignments": answers.groupby("image_id")["image_id"].transform("size"),
        "RequesterAnnotation": "BatchId:1;",
        "AssignmentDurationInSeconds": 600,
        "AutoApprovalDelayInSeconds": 259200,
        "Expiration": _time_text(submitted.dt.floor("D") + pd.Timedelta(days=7)),
        "NumberOfSimilarHITs": "",
        "LifetimeInSeconds": "",
        "AssignmentId": _identifiers(visits),
        "WorkerId": answers["worker_id"],
        "AssignmentStatus": np.where(rejected, "Rejected", "Approved"),
        "AcceptTime": _time_text(submitted - pd.to_timedelta(worked, unit="s")),
        "SubmitTime": _time_text(submitted),
        "AutoApprovalTime": _time_text(submitted + pd.Timedelta(days=3)),
        "ApprovalTime": reviewed.where(~rejected, ""),
        "RejectionTime": reviewed.where(rejected, ""),
        "RequesterFeedback": np.where(rejected, "Answers do not match the image", ""),
        "WorkTimeInSeconds": worked.astype(int),
        "LifetimeApprovalRate": "",
        "Last30DaysApprovalRate": "",
        "Last7DaysApprovalRate": "",
        "Input.image_id": answers["image_id"],
        "Input.image_url": "images/" + answers["image_id"] + ".png",
    }
    for attribute, levels in ATTRIBUTES.items():
        if attribute in answers:
            batch[f"Answer.{attribute}"] = answers[attribute].map(dict(enumerate(levels)))
    batch |= {"Approve": "", "Reject": ""}
    pd.DataFrame(batch, index=answers.index).to_csv(path, index=False)


def _time_text(times: pd.Series) -> pd.Series:
    return times.dt.strftime("%a %b %d %H:%M:%S UTC %Y")


def _identifiers(values: pd.Series) -> pd.Series:
    """Thirty capitals and digits in MTurk's style, equal for equal values."""
    names = {value: "3" + blake2b(value.encode()).hexdigest()[:29].upper() for value in values}
    return values.map(names)
