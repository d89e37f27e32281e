"""Amazon Mechanical Turk batch results: CSV with one assignment per row.

27 fixed columns, then `Input.*`, `Answer.*`, `Approve` and `Reject`; as downloaded, rows end before
the last two, which a requester fills in. An answer is spelt `Answer.<attribute>`,
`Answer.<attribute>.label` (crowd elements), `Answer.<attribute>.<level>` (true or false, radio
buttons) or sits in `Answer.taskAnswers` as JSON; it is a level's name or an integer level counted
from 0. Chapters 1, 3, 13 and 14 read such files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow

from helpers.annotations.image_names import (
    AMBIGUOUS,
    CONTRADICTORY,
    MISSING,
    UNKNOWN,
    UNUSABLE,
    ImageNames,
    names_for_files,
)
from helpers.annotations.ingest import OTHER_NAME, SEVERAL_VISITS, Ingest, validate
from helpers.annotations.raw import (
    TIMES,
    YEARS,
    ZONE,
    Notes,
    Numbers,
    Part,
    Source,
    identity,
    is_email,
    iso_times,
)
from helpers.annotations.schema import ATTRIBUTES
from helpers.annotations.text import csv_rows, json_cell, opened, wrong_format

SOURCE = "mturk"
EXPECTED = "an MTurk batch results CSV"

_NEEDED = ("HITTypeId", "WorkerId", "AssignmentStatus", "SubmitTime", "WorkTimeInSeconds")
_IMAGE = ("Input.image_id", "Input.image_url")
_FILLED_IN = ("Approve", "Reject")
"""Last columns, which a requester fills in after the download."""
_PROBLEM = {"rejected": "rejected assignment"} | dict.fromkeys(("submitted", "approved"))

_PART = 10_000
"""Assignments that are held at a time."""
_FIELDS = {
    "rejected assignment": "AssignmentStatus",
    "cancelled assignment": "AssignmentStatus",
    "other job": "HITTypeId",
    **dict.fromkeys((MISSING, UNUSABLE, UNKNOWN), "Input.image_id"),
    AMBIGUOUS: "Input.image_url",
    CONTRADICTORY: "Input.image_url",
    OTHER_NAME: "Input.image_url",
    "missing annotator": "WorkerId",
    SEVERAL_VISITS: "WorkerId",
    "e-mail as annotator id": "WorkerId",
    "unreadable time": "SubmitTime",
}

# Hours from UTC of the zone tokens that MTurk prints.
_ZONES = {"UTC": 0, "GMT": 0, "EDT": -4, "EST": -5, "CDT": -5, "CST": -6}
_ZONES |= {"MDT": -6, "MST": -7, "PDT": -7, "PST": -8, "AKDT": -8, "AKST": -9, "HST": -10}
_ZONES |= {"WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "MET": 1, "MEST": 2, "EET": 2, "EEST": 3}
_ZONES |= {"JST": 9, "KST": 9, "AEST": 10, "AEDT": 11}
_TIME = (
    r"^\w{3} (\w{3} \d{1,2} \d{2}:\d{2}:\d{2}) "
    rf"(?:([A-Z]+)|(?:GMT|UTC)?({ZONE})) ({YEARS})$"
)
_STATES = {"": 0, "false": 1, "true": 2}
_OTHER = 3


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
        rename: name in an `Answer` column or its JSON -> attribute, where they differ.
        salt: of the annotators' hashes; keep it private where the table is published.

    Returns:
        The tidy table and the report of what was rejected, see `Ingest`.

    Raises:
        ValueError: a file is not such a CSV; names the file, the row and what was expected. Nothing
            in the files can be used.

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
    paths = [Path(path)] if isinstance(path, str | Path) else [Path(one) for one in path]
    images = names_for_files(known_images, len(paths))
    sources = [
        Source(one, _parts(one, names), _FIELDS, Notes())
        for one, names in zip(paths, images, strict=True)
    ]
    return validate(sources, SOURCE, salt, ATTRIBUTES, rename)


def _parts(path: Path, images: ImageNames) -> Iterator[Part]:
    """The assignments, as `validate` takes them."""
    with opened(path, EXPECTED) as stream:
        header, rows = csv_rows(path, stream, EXPECTED, _FILLED_IN)
        missing = [column for column in _NEEDED if column not in header]
        if missing or not any(column.startswith("Answer.") for column in header):
            found = f"no column {missing[0] if missing else 'Answer.*'}"
            raise wrong_format(path, "row 1", EXPECTED, found)
        kinds = Numbers()
        whole = _at_once(path, header)
        if whole is not None:
            yield _part(whole, np.arange(2, len(whole) + 2), images, kinds)
            return
        while some := list(islice(rows, _PART)):
            batch = pd.DataFrame([cells for _, cells in some], columns=header, dtype="str")
            yield _part(batch, np.array([row for row, _ in some]), images, kinds)


def _at_once(path: Path, header: list[str]) -> pd.DataFrame | None:
    """The columns that are read, by a reader that is fast; None for what it cannot vouch for.

    That reader passes over a quote that is not closed, and says of other damage less than
    `csv_rows`, which then reads the file.
    """
    with path.open("rb") as file:
        quotes = sum(block.count(b'"') for block in iter(lambda: file.read(_BLOCK), b""))
    if quotes % 2 or any("\n" in name or "\r" in name for name in header):
        return None
    wanted = [name for name in header if name in {*_NEEDED, *_IMAGE, "Reject"} or _is_answer(name)]
    few = pa.dictionary(pa.int32(), pa.string())
    kinds = {name: few if _is_answer(name) or name in _FEW else pa.string() for name in wanted}
    try:
        table = arrow.read_csv(
            path,
            arrow.ReadOptions(column_names=header, skip_rows=1, block_size=_BLOCK),
            arrow.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            arrow.ConvertOptions(include_columns=wanted, column_types=kinds),
        )
    except pa.ArrowInvalid:
        return None
    return table.to_pandas(split_blocks=True)


_BLOCK = 2**24
_FEW = {"HITTypeId", "AssignmentStatus", "WorkerId", "Reject", *_IMAGE}


def _is_answer(name: str) -> bool:
    return name.startswith("Answer.")


def _part(batch: pd.DataFrame, rows: np.ndarray, images: ImageNames, kinds: Numbers) -> Part:
    found = list(_answers(batch, kinds))
    visit = np.concatenate([visit for visit, _ in found])
    order = np.argsort(visit, kind="stable")
    code = np.concatenate([code for _, code in found])
    return Part(_visits(batch, rows, images), visit[order], code[order], kinds)


def _visits(batch: pd.DataFrame, rows: np.ndarray, images: ImageNames) -> pd.DataFrame:
    """The columns that belong to the assignment, one row each."""
    image, problem, other_name = _images(batch, images)
    status = _by_value(batch["AssignmentStatus"], _status)
    problem = problem.mask(status.notna(), status)
    if "Reject" in batch:
        rejected = _by_value(batch["Reject"], lambda text: bool(text.strip()))
        problem = problem.mask(rejected.astype(bool), "rejected assignment")
    spent = pd.to_numeric(batch["WorkTimeInSeconds"], errors="coerce").astype("float64")
    return pd.DataFrame(
        {
            "place": rows,
            "image_id": image,
            "annotator": _by_value(batch["WorkerId"], identity),
            "email": _by_value(batch["WorkerId"], is_email).astype(bool),
            "seconds": spent.where((spent >= 0) & (spent < np.inf)),
            "submitted_at": parse_times(batch["SubmitTime"]),
            "problem": problem,
            "job": _by_value(batch["HITTypeId"], lambda text: text.strip() or None),
            "updated_at": pd.Series(pd.NaT, batch.index, dtype=TIMES),
            "account": None,
            "other_name": other_name,
        }
    )


def _images(batch: pd.DataFrame, images: ImageNames) -> tuple[pd.Series, ...]:
    """The image of every assignment, why there is none, and what else it is called."""
    empty = pd.Series("", batch.index, dtype="str")
    given = [batch.get(name, empty).astype("category").cat for name in _IMAGE]
    named, address = (texts.codes.to_numpy(dtype=np.int64) for texts in given)
    texts = [list(one.categories) for one in given]
    pairs, codes = np.unique(named * len(texts[1]) + address, return_inverse=True)
    both = zip(pairs // len(texts[1]), pairs % len(texts[1]), strict=True)
    found = [images.of(texts[0][a], texts[1][b]) for a, b in both]
    columns = np.array(found, dtype="object").reshape(-1, 3)[codes].T
    return tuple(pd.Series(column, batch.index) for column in columns)


def _status(text: str) -> str | None:
    return _PROBLEM.get(text.strip().casefold(), "cancelled assignment")


def _by_value(column: pd.Series, of: Any) -> pd.Series:
    """A function of each text, which is called once for each that is different."""
    texts = column.astype("category").cat
    values = np.array([of(text) for text in texts.categories], dtype="object")
    return pd.Series(values[texts.codes], column.index, dtype="object")


def _answers(batch: pd.DataFrame, kinds: Numbers) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Assignment and kind of every answer, column by column."""
    buttons: dict[str, list[str]] = {}
    for column in filter(_is_answer, batch):
        name, _, rest = column.removeprefix("Answer.").partition(".")
        if rest not in ("", "label"):
            buttons.setdefault(name, []).append(column)
            continue
        texts = batch[column].astype("category").cat
        if name == "taskAnswers":
            answers = [list(_task_answers(text, column)) for text in texts.categories]
        else:
            answers = [[(name, text, column)] * bool(text.strip()) for text in texts.categories]
        yield _expanded(texts.codes.to_numpy(), answers, kinds)
    for name, columns in buttons.items():
        yield _expanded(*_pressed(batch[columns], name), kinds)


def _expanded(
    codes: np.ndarray, answers: list[list[tuple]], kinds: Numbers
) -> tuple[np.ndarray, np.ndarray]:
    """Assignment and kind of every answer, for the code of each assignment's list of answers."""
    counts = np.array([len(some) for some in answers], dtype=np.int64)
    flat = np.array([kinds[one] for some in answers for one in some], dtype=np.int32)
    begins = (np.cumsum(counts) - counts)[codes]
    given = counts[codes]
    visit = np.repeat(np.arange(len(codes), dtype=np.int32), given)
    within = np.arange(given.sum()) - np.repeat(np.cumsum(given) - given, given)
    return visit, flat[np.repeat(begins, given) + within]


def _pressed(columns: pd.DataFrame, name: str) -> tuple[np.ndarray, list[list[tuple]]]:
    """A code for every assignment's radio buttons, and the answers that each code stands for."""
    states = np.column_stack(
        [_by_value(columns[column], _state).to_numpy(dtype=np.int8) for column in columns]
    )
    found, codes = np.unique(states, axis=0, return_inverse=True)
    labels = [column.removeprefix("Answer.").partition(".")[2] for column in columns]
    field = f"Answer.{name}"
    answers = [
        [(None, None, field)]
        if _OTHER in some
        else _chosen(name, dict(zip(labels, some == _STATES["true"], strict=True)), field)
        for some in found
    ]
    return codes.ravel(), answers


def _state(text: str) -> int:
    return _STATES.get(text.strip().casefold(), _OTHER)


def _chosen(name: str, pressed: Mapping[str, Any], field: str) -> list[tuple]:
    """The answer of radio buttons: none if no button is pressed."""
    labels = tuple(label for label, state in pressed.items() if state)
    return [(name, labels[0] if len(labels) == 1 else labels, field)] * bool(labels)


def _task_answers(cell: str, field: str) -> Iterator[tuple]:
    """The answers in '[{"gender": {"label": "Male"}, "age": {"Adult": true, "Teen": false}}]'."""
    if not cell.strip():
        return
    try:
        content = json_cell(cell)
    except ValueError:
        yield (None, None, field)
        return
    for record in content if isinstance(content, list) else [content]:
        if not isinstance(record, dict):
            yield (None, None, field)
            continue
        for name, value in record.items():
            yield from of_element(name, value, field)


def of_element(name: str, value: Any, field: str) -> list[tuple]:
    """The answer of one element of a form."""
    if isinstance(value, dict) and value and all(type(state) is bool for state in value.values()):
        return _chosen(name, value, field)
    answer = value.get("label") if isinstance(value, dict) else value
    if answer == "":
        return []
    return [(name, answer if type(answer) in (str, int) else None, field)]


def parse_times(text: pd.Series) -> pd.Series:
    """Times like "Thu Oct 09 07:30:20 UTC 2025", or ISO 8601, in UTC; missing if unreadable."""
    texts = pa.array(text.astype("str"))
    times = pc.strptime(texts, format=_USUAL, unit="s", error_is_null=True)
    # What no calendar has is counted on: 30 February would be 2 March.
    day = pc.utf8_slice_codeunits(texts, len("Thu Oct "), len("Thu Oct 09"))
    times = pc.if_else(pc.equal(day, pc.strftime(times, format="%d")), times, None)
    in_years = pc.match_substring_regex(texts, f" {YEARS}$")
    times = pc.if_else(in_years, times, None)
    times = pd.Series(times.to_pandas().to_numpy(), text.index).dt.tz_localize("UTC").astype(TIMES)
    odd = times.isna()
    return times.mask(odd, _odd_times(text[odd])) if odd.any() else times


_USUAL = "%a %b %d %H:%M:%S UTC %Y"


def _odd_times(text: pd.Series) -> pd.Series:
    """Times of other zones, or in ISO 8601."""
    parts = text.astype("str").str.extract(_TIME)
    local = pd.to_datetime(parts[0] + " " + parts[3], format="%b %d %H:%M:%S %Y", errors="coerce")
    hours = parts[1].map(_ZONES).fillna(pd.to_numeric(parts[2].str[:3]))
    minutes = pd.to_numeric(parts[2].str[-2:]).fillna(0)
    minutes = minutes.mask(parts[2].str.startswith("-", na=False), -minutes)
    offset = pd.to_timedelta(hours, unit="h") + pd.to_timedelta(minutes, unit="m")
    return (local - offset).dt.tz_localize("UTC").astype(TIMES).fillna(iso_times(text))
