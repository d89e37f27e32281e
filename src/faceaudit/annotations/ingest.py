"""From what stands in files to the tidy table, and a report of everything not taken as it was.

A reader puts assignments and their answers, as they stand in files, into `RawAnswers`. The rules
for what is dropped are applied here, once, for all formats: each writes its reason into the column
`problem` of the assignments or of the answers. Millions of answers are of few different kinds, so
an answer is kept as the number of its kind, a few bytes, and every kind once.

Tools change the names of images on the way: a server puts eight digits before the name of an
upload, addresses encode blanks as %20, a folder on the server stands behind ?d=. A name is
therefore looked up among the known images, where these are given.
"""

import math
import re
import unicodedata
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pandas as pd

from faceaudit.annotations.schema import (
    ATTRIBUTES,
    MOST_STARS,
    TIDY_COLUMNS,
    hash_annotator,
    occurring,
)
from faceaudit.utils.errors import InputError
from faceaudit.utils.names import composed

VISIT_COLUMNS = (
    "place",
    "named",
    "address",
    "annotator",
    "email",
    "seconds",
    "submitted_at",
    "updated_at",
    "status",
    "job",
)
UTC_TIMES = "datetime64[us, UTC]"

MISSING_IMAGE = "missing image"
UNUSABLE_ID = "unusable image id"
UNKNOWN_IMAGE = "unknown image"
AMBIGUOUS_NAME = "ambiguous image name"
TWO_IMAGES = "image id and file are two images"
IMAGE_REASONS = (MISSING_IMAGE, UNUSABLE_ID, UNKNOWN_IMAGE, AMBIGUOUS_NAME, TWO_IMAGES)
"""Why it is not known which image an assignment is about."""
VISIT_REASONS = (
    "older version",
    "rejected assignment",
    "cancelled assignment",
    "other job",
    *IMAGE_REASONS,
    "missing annotator",
)
"""Why a whole assignment is dropped, in the order of precedence."""
SEVERAL_REGIONS = "several regions"
ANSWER_REASONS = (
    "unknown attribute",
    "no readable answer",
    SEVERAL_REGIONS,
    "several levels",
    "unknown level",
    "level outside the scale",
    "duplicate",
)
"""Why one answer is dropped, in the order of precedence."""
DROP_REASONS = dict.fromkeys(VISIT_REASONS, "assignment") | dict.fromkeys(ANSWER_REASONS, "answer")
"""Why something is dropped → what one count stands for.

In the order of precedence: an answer is counted under its first reason.
"""
IMPOSSIBLE_SECONDS = "seconds that cannot be"
NOTE_REASONS = {
    "no answer": "answer",
    "e-mail as annotator id": "assignment",
    "several answers of one name": "assignment",
    "unreadable time": "assignment",
    IMPOSSIBLE_SECONDS: "assignment",
    "ground-truth annotation": "assignment",
    "draft": "draft",
    "failed item": "item",
    "task without annotation": "task",
    "nothing usable in a file": "file",
}
"""Why something is noted and not dropped → what one count stands for."""
_REASON_NUMBERS = {reason: number for number, reason in enumerate(DROP_REASONS)}
"""Reason → its number, as it stands in the column `problem` of assignments and answers."""
_NO_PROBLEM = -1
"""In the column `problem`: of what is not dropped."""
_NO_NUMBER = -1
"""In the columns `attribute` and `level` of answers: of what is no attribute or no level."""
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_NO_VALUE = {"", "nan", "null", "none", "true", "false", "na", "n/a", "#n/a", "<na>", "undefined"}
"""How a missing value looks when a program has turned it into text."""
_ZONES = {
    "UTC": 0,
    "GMT": 0,
    "EDT": -4,
    "EST": -5,
    "CDT": -5,
    "CST": -6,
    "MDT": -6,
    "MST": -7,
    "PDT": -7,
    "PST": -8,
}
"""Time zones as MTurk prints them → hours from UTC."""
_ZONE = re.compile(rf" ({'|'.join(_ZONES)}) ", re.IGNORECASE)
_ZONE_BEFORE_OFFSET = re.compile(r" (?:UTC|GMT)(?=[+-])")
"""In GMT+05:30, where the offset says all."""
_SHORTEST_TIME = len("2025-10-09T07:30")
"""Characters of a time of an answer at least: a day or a year alone is none."""
_ANSWER_YEARS = (1990, 2099)
"""First and last year of an answer: programs write the year 1, 1970 or 9999 where there is none."""
MOST_SECONDS = 24 * 60 * 60
"""Longest time of an answer; a page that stays open overnight stays below a day."""
TRUTH_TEXTS = {"true": True, "t": True, "false": False, "f": False}
"""How Python, R and spreadsheets write truth values, in small letters."""
_WHOLE_DECIMAL = re.compile(r"(\d+)[.,]0+")
_UPLOAD = re.compile(r"[0-9a-f]{8}-(.+)")
# Without what no file may be called on some system, and what HTML or a formula begins with.
_NAME = re.compile(r'(?!\.+$|[=+@])[^\x00-\x1f\x7f-\x9f\ud800-\udfff<>:"/\\|?*]+')


@dataclass(frozen=True)
class Rating:
    """An answer in stars, counted from 1. Files do not say how many stars there were."""

    stars: int


@dataclass(frozen=True)
class Unusable:
    """An answer that cannot be used, and the reason, one of `ANSWER_REASONS`."""

    reason: str


class RawAnswers:
    """Assignments and their answers, as they stand in files.

    Attributes:
        source: name of the format.
        files: their paths, in the order in which they were begun.
        questions: of every file the names of its questions; None if only the answers say which
            there were.
        visits: a column per name in `VISIT_COLUMNS`, with an entry per assignment: its place (in
            words, or the number of a row), id and address of the image, who answered, an address
            of theirs, seconds, two times, status ("rejected", "cancelled" or None) and job; and the
            number of its file.
        visit: of every answer the number of its assignment.
        kind: of every answer its number in `kinds`.
        kinds: the different answers, (question, level, field) → number; a level is a name, a whole
            number counted from 0, a tuple of several, a `Rating`, `Unusable`, or None if it cannot
            be read.
        notes: (reason, file, place) of what is no assignment (drafts, say).
        image_keys: names under which the id and the address of an image were looked for.
        other_keys: names that the first item without these has; None if all items have one.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.files: list[Path] = []
        self.questions: list[Collection[str] | None] = []
        self.visits: dict[str, list] = {name: [] for name in (*VISIT_COLUMNS, "file")}
        self.visit = array("i")
        self.kind = array("i")
        self.kinds: dict[tuple, int] = {}
        self.notes: list[tuple[str, int, str | None]] = []
        self.image_keys: tuple[str, ...] = ()
        self.other_keys: tuple[str, ...] | None = None

    def begin(self, path: Path, questions: Collection[str] | None = None) -> None:
        """Begin a file: what is added from now on stands in it."""
        self.files.append(path)
        self.questions.append(questions)

    def add(self, answers: Iterable[tuple], **visit: Any) -> None:
        """Add an assignment, by the names in `VISIT_COLUMNS`, and its answers."""
        number = len(self.visits["file"])
        visit["file"] = len(self.files) - 1
        for name, column in self.visits.items():
            column.append(visit.get(name))
        for answer in answers:
            self.visit.append(number)
            self.kind.append(self.number_of(answer))

    def number_of(self, answer: tuple) -> int:
        """The number of an answer (question, level, field) among the different ones."""
        return self.kinds.setdefault(answer, len(self.kinds))

    def lacks_image(self, image_keys: Iterable[str], other_keys: Iterable[str]) -> None:
        """Keep the names that the first item without an image has, for the message."""
        if self.other_keys is None:
            self.image_keys = tuple(image_keys)
            self.other_keys = tuple(other_keys)

    def note(self, reason: str, place: str) -> None:
        """Count something that is no assignment."""
        self.notes.append((reason, len(self.files) - 1, place))


class Ingest(NamedTuple):
    """Good answers and counted problems, as every reader returns them.

    Attributes:
        frame: the good answers, one row each, in the files' order; columns image_id, attribute,
            level (0 is the lowest), annotator_id (a hash), seconds (of the whole assignment),
            submitted_at (UTC) and source. Texts are categories.
        report: one row per reason, also those that did not occur: `reason`, `unit` (what is
            counted: assignments or answers, say), `count`, `dropped` (False: kept and only noted),
            `answers` (that were dropped for this reason), and of the first example `file`, `place`
            (a row, or a task and an annotation) and, for answers, `field`, the name of the question
            in the file.
    """

    frame: pd.DataFrame
    report: pd.DataFrame


def validate(
    export: RawAnswers,
    salt: str,
    rename: Mapping | None = None,
    known: Iterable[str] | None = None,
    scales: Mapping[str, tuple[str, ...]] = ATTRIBUTES,
    numbered: bool = True,
    stars: Mapping[str, int] | None = None,
) -> Ingest:
    """Sort what stands in files into good answers and counted problems.

    - A file that mixes jobs keeps the job with most assignments (the first of equals).
    - Of several versions of one annotation (one annotator, image, job and time of creation) the one
      that was updated last counts, also where it takes the answers back.
    - Of several answers of one annotator about one attribute of one image, the one submitted first
      is kept (the first in the files where times are equal or missing).
    - An image id that stands with the file of another image is dropped: which of the two was seen
      is not known.
    - Annotators are hashed with `schema.hash_annotator`; an e-mail address is counted and, like
      every other identity, kept as a hash only.
    - Where somebody answered a question separately about several regions of an image, no answer to
      it is kept: which of the regions is meant is not known.
    - Stars become a place on the scale: r of n stars are the score (r - 1) / (n - 1).
    - Seconds that are negative, more than a day or no number are counted; the answer is kept
      without them.
    - Whole numbers that reach one beyond the last level and never 0 were counted from 1. Which
      level they mean is nowhere said, so all of them are outside of the scale.

    Args:
        export: what the files hold.
        salt: of the annotators' hashes.
        rename: name of a question → attribute, where they differ.
        known: ids of the images; None if any name will do.
        scales: attributes that may be answered and the names of their levels, from low to high.
        numbered: a text of digits is a level's number, counted from 0.
        stars: name of a question → how many stars could be given.

    Raises:
        InputError: there are no files, or no answer in them can be used; says why, by reason.
            Somebody gave stars, and their number is not known, or smaller than what they gave.
    """
    if not export.files:
        raise InputError(
            "no files to read: at least one was expected", field="files", expected="at least one"
        )
    rename = dict(rename or {})
    stars = dict(stars or {})
    _require_stars(export, scales, rename, stars)
    visits = _visits(export, None if known is None else {str(name) for name in known})
    kinds = _meanings(list(export.kinds), scales, rename, numbered, stars)
    answers = _all_answers(export, kinds)
    answers, late_visits = _mark_problems(visits, answers)
    good = answers[answers["problem"] == _NO_PROBLEM]
    is_useful = visits.index.isin(good["visit"])
    unanswered = _count_unanswered(export, answers, rename, scales)
    noted = _noted_visits(visits, is_useful, unanswered, late_visits)
    _note_unused_files(export, set(visits["file"][is_useful]))
    report = _report_reasons(export, visits, answers, kinds["field"], noted)
    if good.empty:
        raise _nothing_usable(export, report, scales)
    attribute = occurring(pd.Categorical.from_codes(good["attribute"], list(scales)))
    frame = _tidy(visits, good, export, salt).assign(attribute=attribute)
    return Ingest(frame[list(TIDY_COLUMNS)], report)


def _all_answers(export: RawAnswers, kinds: pd.DataFrame) -> pd.DataFrame:
    """All answers in the files' order, good or not.

    Args:
        export: what the files hold.
        kinds: of every kind of answer what it means, see `_meanings`.

    Returns:
        A row per answer: visit, the number of its assignment; kind, the number of its kind; and
        attribute, level and problem of its kind.
    """
    answers = kinds.drop(columns="field").take(np.frombuffer(export.kind, np.int32))
    answers = answers.reset_index(names="kind")
    answers.insert(0, "visit", np.frombuffer(export.visit, np.int32))
    return answers


def _mark_problems(visits: pd.DataFrame, answers: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Write the number of its reason into every answer that is dropped.

    Args:
        visits: all assignments, with the reason for which one is dropped.
        answers: all answers, with the reason that lies in the answer itself.

    Returns:
        The answers, and the numbers of assignments that answered again at another time, see
        `_duplicates`.
    """
    # The reason of a whole assignment goes before one of the answer itself.
    of_visit = visits["problem"].to_numpy()[answers["visit"]]
    first_reason = np.where(of_visit != _NO_PROBLEM, of_visit, answers["problem"])
    answers = answers.assign(problem=first_reason)
    # Each of the two looks at what is still good after the one before.
    answers.loc[_about_regions(visits, answers), "problem"] = _REASON_NUMBERS[SEVERAL_REGIONS]
    late, late_visits = _duplicates(visits, answers)
    answers.loc[late, "problem"] = _REASON_NUMBERS["duplicate"]
    return answers, late_visits


def _noted_visits(
    visits: pd.DataFrame, is_useful: np.ndarray, unanswered: np.ndarray, late_visits: np.ndarray
) -> dict[str, np.ndarray]:
    """Assignments that are noted and not dropped.

    Args:
        visits: all assignments.
        is_useful: whether an answer of an assignment is kept, bool (assignments,).
        unanswered: questions of an assignment without an answer, int (assignments,).
        late_visits: numbers of assignments that answered again at another time.

    Returns:
        Reason → numbers of the assignments, one as often as it counts.
    """
    is_good = visits["problem"] == _NO_PROBLEM
    return {
        "no answer": visits.index.repeat(unanswered * is_good),
        "e-mail as annotator id": np.flatnonzero(visits["email"]),
        "several answers of one name": np.unique(late_visits),
        "unreadable time": np.flatnonzero(is_useful & visits["submitted_at"].isna()),
        IMPOSSIBLE_SECONDS: np.flatnonzero(is_useful & visits["impossible_seconds"]),
    }


def _note_unused_files(export: RawAnswers, useful_files: Collection[int]) -> None:
    """Note the files of which no answer is kept; `useful_files` are the numbers of the others."""
    for number in range(len(export.files)):
        if number not in useful_files:
            export.notes.append(("nothing usable in a file", number, None))


def _visits(export: RawAnswers, known: set[str] | None) -> pd.DataFrame:
    """All assignments, with the image and the number of the reason for which one is dropped."""
    columns = export.visits
    visits = pd.DataFrame({"file": np.asarray(columns["file"], np.int32)})
    visits["place"] = pd.Series(columns["place"], dtype="object")
    for name in ("named", "address", "annotator", "email", "status", "job"):
        visits[name] = pd.Categorical([_plain(value) for value in columns[name]])
    for name in ("submitted_at", "updated_at"):
        visits[name] = times(columns[name])
    seconds = pd.Series([_seconds(value) for value in columns["seconds"]], dtype=float)
    visits["impossible_seconds"] = seconds == _IMPOSSIBLE
    visits["seconds"] = seconds.where(seconds != _IMPOSSIBLE)
    texts = [*visits["annotator"].cat.categories, *visits["email"].cat.categories]
    addresses = [text for text in texts if _EMAIL.fullmatch(text)]
    visits["email"] = visits["annotator"].isin(addresses) | visits["email"].isin(addresses)
    people = visits["annotator"].map(identity)
    # pandas before 3 makes a text of a missing value as well.
    visits["annotator"] = people.astype("str").where(people.notna()).astype("category")
    visits = _with_images(visits, known)
    holds = {reason: visits["image_problem"] == reason for reason in IMAGE_REASONS}
    holds["older version"] = _older(visits)
    holds["rejected assignment"] = visits["status"] == "rejected"
    holds["cancelled assignment"] = visits["status"] == "cancelled"
    holds["other job"] = _other_job(visits)
    holds["missing annotator"] = visits["annotator"].isna()
    conditions = [holds[reason] for reason in VISIT_REASONS]
    numbers = [_REASON_NUMBERS[reason] for reason in VISIT_REASONS]
    return visits.assign(problem=np.select(conditions, numbers, _NO_PROBLEM).astype(np.int8))


def _plain(value: Any) -> str:
    """A name or a number as text, empty where there is none; "?" for what names nothing."""
    if value is None:
        return ""
    return str(value).strip() if type(value) in (str, int, float) else "?"


def identity(text: str) -> str | None:
    """Who answered: a printable text; None where a program wrote no value.

    A spreadsheet writes a number as 3.0 or 3,0, and that is no new person.
    """
    names_somebody = text.isprintable() and re.search(r"[^\W_]", text) and _is_value(text)
    if not names_somebody:
        return None
    number = _WHOLE_DECIMAL.fullmatch(text)
    return number[1] if number else text


def times(values: Sequence) -> pd.Series:
    """Texts like 2025-10-09T07:30:20Z or Thu Oct 09 07:30:20 PDT 2025 as timestamps in UTC.

    Missing for all that is no time of an answer.
    """
    is_long = [isinstance(value, str) and len(value) >= _SHORTEST_TIME for value in values]
    texts = pd.Series(values, dtype="object").where(is_long).astype("str")
    read = partial(pd.to_datetime, utc=True, errors="coerce")
    stamps = read(texts, format="ISO8601")
    unread = texts[stamps.isna() & texts.notna()]
    unread = unread.str.replace(_ZONE, _as_offset, regex=True)
    unread = unread.str.replace(_ZONE_BEFORE_OFFSET, " ", regex=True)
    stamps = stamps.fillna(read(unread, format="%a %b %d %H:%M:%S %z %Y")).astype(UTC_TIMES)
    return stamps.where(stamps.dt.year.between(*_ANSWER_YEARS))


def _as_offset(zone: re.Match[str]) -> str:
    """What `_ZONE` matches as hours and minutes from UTC: -0700 for PDT."""
    return f" {_ZONES[zone[1].upper()] * 100:+05d} "


_IMPOSSIBLE = -1.0
"""Stands for seconds that no answer takes."""


def _seconds(value: Any) -> float:
    """Time spent as a number; NaN where there is none, and `_IMPOSSIBLE` for what is no time."""
    if value is None or (isinstance(value, str) and value.strip().casefold() in _NO_VALUE):
        return math.nan
    if type(value) not in (int, float, str):
        return _IMPOSSIBLE
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return _IMPOSSIBLE
    return seconds if math.isnan(seconds) or 0 <= seconds <= MOST_SECONDS else _IMPOSSIBLE


def _with_images(visits: pd.DataFrame, known: set[str] | None) -> pd.DataFrame:
    """Add which image was seen, or the reason why that is not known."""
    key = ["file", "named", "address"]
    pairs = visits[key].drop_duplicates()
    names = set(visits["named"].cat.categories) - {""} if known is None else known
    ids = {composed(name): name for name in sorted(names)}  # → as the caller spells it
    stored: dict[str, list[str]] = {}  # name of an upload on a server → images
    decomposed: dict[str, list[str]] = {}  # the same, of files whose accents are decomposed
    for name in ids:
        stored.setdefault(_stored(name), []).append(name)
        decomposed.setdefault(_stored(unicodedata.normalize("NFD", name)), []).append(name)
    uploads = decomposed | stored
    rows = []
    for name, address in zip(pairs["named"], pairs["address"], strict=True):
        image, problem, path = _image(name, address, ids, uploads, known is None)
        # An image that is not known is missing; of others, the caller's spelling is kept.
        rows.append((None if image is None else ids.get(image, image), problem, path))
    images = pd.DataFrame(rows, pairs.index, ["image_id", "image_problem", "path"], dtype="str")
    # Every server has a known image at an address of its own.
    server = pairs["file"] * (known is not None)
    first = images.groupby(["image_id", server])["path"].transform("first")
    elsewhere = images["path"].notna() & (images["path"] != first)
    images.loc[elsewhere, ["image_id", "image_problem"]] = None, AMBIGUOUS_NAME
    return visits.merge(pairs.join(images.astype("category")), "left", key)


def _image(
    name: str, address: str, ids: Collection[str], stored: Mapping[str, list[str]], any_name: bool
) -> tuple[str | None, str | None, str | None]:
    """The image with this id and the file at this address.

    Names are compared after Unicode's NFC.

    Args:
        name: the id, "" if there is none.
        address: of the file, "" if there is none.
        ids: of the images.
        stored: name of an upload on a server → the images that may be called so.
        any_name: the images are not known, so that any name will do.

    Returns:
        The image's id, None if it is not known; why it is not known; the path of the file where
        that alone names the image.
    """
    name = composed(name)
    path, files = _file_names(address)
    files = [composed(file) for file in files]
    by_address = [file for file in files if file in ids]
    uploads = []
    if any_name:
        by_id = name or None
        if not name:
            by_address = files[:1]
    else:
        by_id = next((text for text in (name, composed(unquote(name))) if text in ids), None)
        if not by_address:
            uploads = _uploaded(files, stored)
    candidates = by_address or uploads
    if not by_id and not candidates:
        return None, UNKNOWN_IMAGE if name or files else MISSING_IMAGE, None
    image = by_id or candidates[0]
    if any_name and not (_is_value(image) and _NAME.fullmatch(image)):
        return None, UNUSABLE_ID, None
    if by_id and candidates and by_id not in candidates:
        return None, TWO_IMAGES, None
    if not by_id and len(uploads) > 1:
        return None, AMBIGUOUS_NAME, None
    return image, None, None if by_id else composed(path)


def _uploaded(files: Iterable[str], stored: Mapping[str, list[str]]) -> list[str]:
    """The images of which a server may have made a file of one of these names."""
    images = []
    for file in files:
        upload = _UPLOAD.fullmatch(file)
        if upload:
            images += stored.get(upload[1], ())
    return images


def _is_value(text: str) -> bool:
    return len(text) <= 255 and text.casefold() not in _NO_VALUE


def _file_names(address: str) -> tuple[str, list[str]]:
    """The path in an address, and what the image there may be called, without ending first."""
    before, query, folder = address.partition("?d=")
    path = folder.split("&")[0] if query else re.split(r"[?#]", before)[0]
    path = PurePosixPath(unquote(path).replace("\\", "/"))
    # In view?id=17 no part is the name of a file, and behind data: stands the image itself.
    if not path.name or address[:5].lower() == "data:" or ("?" in before and not path.suffix):
        return str(path), []
    return str(path), [path.stem, path.name, str(path), str(path.with_suffix(""))]


def _stored(name: str) -> str:
    """The name under which a server keeps an upload: as Django's `get_valid_filename` makes it."""
    return re.sub(r"[^-\w.]", "", name.strip().replace(" ", "_"))


def _older(visits: pd.DataFrame) -> pd.Series:
    """Assignments that are earlier states of another one; copies are no older than each other."""
    annotation = ["image_id", "annotator", "submitted_at", "job"]
    repeated = visits.duplicated(annotation, keep=False) & visits[annotation].notna().all(axis=1)
    versions = visits[repeated]
    updated = versions["updated_at"].fillna(versions["submitted_at"])
    keys = [versions[name] for name in annotation]
    latest = updated.groupby(keys, observed=True).transform("max")
    return (updated < latest).reindex(visits.index, fill_value=False)


def _other_job(visits: pd.DataFrame) -> pd.Series:
    """Assignments of another job than most of their file; the first of equals is kept."""
    has_job = visits["job"] != ""
    sizes = visits[has_job].groupby(["file", "job"], observed=True, sort=False).size()
    largest = sizes.groupby("file").idxmax().map(lambda key: key[1])
    return has_job & (visits["job"].astype("str") != visits["file"].map(largest))


def _require_stars(
    export: RawAnswers, scales: Mapping, rename: Mapping[str, str], stars: Mapping[str, int]
) -> None:
    """Raise InputError for stars about an attribute whose number is not known or not possible."""
    for question, number in stars.items():
        if type(number) is not int or not 2 <= number <= MOST_STARS:
            expected = f"a whole number from 2 to {MOST_STARS}"
            raise InputError(
                f"stars of {question!r}: {expected} was expected, not {number!r}",
                field=f"stars of {question!r}",
                found=number,
                expected=expected,
            )
    for (question, answer, _), kind in export.kinds.items():
        if not isinstance(answer, Rating) or rename.get(question, question) not in scales:
            continue
        number = stars.get(question)
        if number is not None and answer.stars <= number:
            continue
        visit = export.visit[export.kind.index(kind)]
        path = export.files[export.visits["file"][visit]]
        place = export.visits["place"][visit]
        scale = f"of {number} stars" if number else "and does not say of how many stars"
        raise InputError(
            f"{path}: {place}: question {question!r} has a rating of {answer.stars} {scale}; say "
            f"how many stars its scale has, for example stars={{{question!r}: 10}}, because "
            "without that number a rating cannot be turned into levels",
            field=f"{path}: {place}: question {question!r}",
            found=answer.stars,
            expected="a rating of a number of stars that `stars` gives",
        )


def _meanings(
    kinds: Sequence[tuple],
    scales: Mapping,
    rename: Mapping[str, str],
    numbered: bool,
    stars: Mapping[str, int],
) -> pd.DataFrame:
    """What every kind of answer means.

    Args:
        kinds: the different answers (question, level, field), see `RawAnswers.kinds`.
        scales, rename, numbered, stars: as of `validate`.

    Returns:
        A row per kind with the columns field, the name of the question in the file; attribute, its
        number among `scales`, and level, counted from 0, which are `_NO_NUMBER` where an answer
        names none; and problem, the number of the reason that lies in the answer itself, or
        `_NO_PROBLEM`.
    """
    numbers_given: dict[str, set[int | None]] = {}
    for question, answer, _ in kinds:
        name = rename.get(question, question)
        numbers_given.setdefault(name, set()).add(_whole(answer, numbered))
    attributes = list(scales)
    rows = []
    for question, answer, field in kinds:
        name = rename.get(question, question)
        if name in scales:
            attribute = attributes.index(name)
            from_one = numbered and _counts_from_one(numbers_given[name], len(scales[name]))
            level, reason = _level_and_reason(
                question, answer, scales[name], numbered, from_one, stars
            )
        else:
            attribute = _NO_NUMBER
            level = _NO_NUMBER
            reason = "no readable answer" if name is None else "unknown attribute"
        problem = _NO_PROBLEM if reason is None else _REASON_NUMBERS[reason]
        rows.append((field, attribute, level, problem))
    meanings = pd.DataFrame(rows, columns=["field", "attribute", "level", "problem"])
    whole = (meanings["level"] % 1 == 0).all()
    level_type = np.int8 if whole else np.float64
    return meanings.astype({"attribute": np.int8, "problem": np.int8, "level": level_type})


def _counts_from_one(numbers: Collection[int | None], levels: int) -> bool:
    """Whether the numbers that were given for a scale of some levels were counted from 1."""
    return 0 not in numbers and levels in numbers


def _level_and_reason(
    question: str,
    answer: Any,
    labels: Sequence[str],
    numbered: bool,
    from_one: bool,
    stars: Mapping[str, int],
) -> tuple[int | float, str | None]:
    """The level that an answer about an attribute gives, and None; or `_NO_NUMBER` and why not.

    Args:
        question: its name in the file.
        answer: as in `RawAnswers.kinds`.
        labels: names of the attribute's levels, from low to high.
        numbered, from_one: as of `_level_of_answer`.
        stars: name of a question → how many stars could be given.
    """
    if isinstance(answer, Rating):
        level = _level_of_stars(answer.stars, stars[question], len(labels))
    else:
        level = _level_of_answer(answer, labels, numbered, from_one)
    if isinstance(level, str):
        return _NO_NUMBER, level
    return level, None


def folded(label: str) -> str:
    """A level's name without what makes no difference between an answer and a level."""
    return label.strip().casefold()


def _level_of_stars(rating: int, stars: int, levels: int) -> int | float | str:
    """The level, counted from 0, of a rating on a scale of stars, or why it gives none."""
    if rating < 1:
        return "level outside the scale"
    level = Fraction((rating - 1) * (levels - 1), stars - 1)
    return int(level) if level.denominator == 1 else float(level)


def _level_of_answer(
    answer: Any, labels: Sequence[str], numbered: bool, from_one: bool
) -> int | str:
    """The number of the level that an answer gives, or why it gives none.

    Args:
        answer: as in `RawAnswers.kinds`, but for a `Rating`.
        labels: names of the levels, from low to high.
        numbered: a text of digits is a level's number.
        from_one: the numbers of this question were counted from 1, so that they give no level.
    """
    if isinstance(answer, Unusable):
        return answer.reason
    if isinstance(answer, tuple):
        return "several levels"
    names = [folded(label) for label in labels]
    if isinstance(answer, str) and folded(answer) in names:
        return names.index(folded(answer))
    number = _whole(answer, numbered)
    if number is None:
        is_text = isinstance(answer, str) and answer.strip()
        return "unknown level" if is_text else "no readable answer"
    return number if 0 <= number < len(labels) and not from_one else "level outside the scale"


def _whole(answer: Any, numbered: bool) -> int | None:
    """The whole number that an answer is, or that its text gives."""
    if numbered and isinstance(answer, str):
        number = re.fullmatch(r"\s*([+-]?\d{1,9})(?:[.,]0+)?\s*", answer)
        if number:
            return int(number[1])
    return answer if isinstance(answer, int) else None


def _about_regions(visits: pd.DataFrame, answers: pd.DataFrame) -> np.ndarray:
    """Usable answers to a question that somebody answered about several regions of the image."""
    of_regions = answers["problem"].to_numpy() == _REASON_NUMBERS[SEVERAL_REGIONS]
    if not of_regions.any():
        return of_regions
    image = visits["image_id"].cat.codes.to_numpy(np.int64)[answers["visit"]]
    question = image * 128 + answers["attribute"].to_numpy()
    return (answers["problem"].to_numpy() == _NO_PROBLEM) & np.isin(question, question[of_regions])


def _duplicates(visits: pd.DataFrame, answers: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Answers to a question that their annotator answered before, and who came at another time.

    The assignments that gave such an answer at another time than the one that is kept are those of
    one person who came back, or of two who have one name. Assignments of one time are copies.

    Returns:
        The rows of `answers` that are dropped, and the numbers of those assignments.
    """
    pair = visits.groupby(["image_id", "annotator"], observed=True, dropna=False).ngroup()
    good = answers[answers["problem"] == _NO_PROBLEM]
    question = pair.to_numpy(np.int64)[good["visit"]] * 128 + good["attribute"]
    again = question[question.duplicated(keep=False)].to_frame("question")
    again["visit"] = good["visit"][again.index]
    again["time"] = visits["submitted_at"].array[again["visit"]]
    again = again.sort_values("time", kind="stable")
    late = again[again["question"].duplicated()]
    first = again.drop_duplicates("question").set_index("question").loc[late["question"]]
    other_visit = late["visit"].to_numpy() != first["visit"].to_numpy()
    other_time = late["time"].to_numpy() != first["time"].to_numpy()
    return late.index.to_numpy(), late["visit"].to_numpy()[other_visit & other_time]


def _count_unanswered(
    export: RawAnswers, answers: pd.DataFrame, rename: Mapping[str, str], scales: Mapping
) -> np.ndarray:
    """Of every assignment the number of questions of its file that were not answered.

    Args:
        export: the files and the names of their questions.
        answers: all answers, also those that are dropped: their questions were answered.
        rename: name of a question → attribute.
        scales: by attribute, whose number is its place among them.
    """
    # Whether an assignment answers a question about an attribute, bool (assignments, attributes).
    # `_NO_NUMBER` leads to a last column, which takes answers to other questions, and goes.
    is_answered = np.zeros((len(export.visits["file"]), len(scales) + 1), dtype=bool)
    is_answered[answers["visit"], answers["attribute"]] = True
    is_answered = is_answered[:, :-1]
    file = np.asarray(export.visits["file"], int)
    is_asked = np.zeros((len(export.files), len(scales)), dtype=bool)
    for number, questions in enumerate(export.questions):
        if questions is None:
            is_asked[number] = is_answered[file == number].any(axis=0)
        else:
            names = [rename.get(question, question) for question in questions]
            is_asked[number] = np.isin(list(scales), names)
    return (is_asked[file] & ~is_answered).sum(axis=1)


def _report_reasons(
    export: RawAnswers,
    visits: pd.DataFrame,
    answers: pd.DataFrame,
    fields: pd.Series,
    noted: Mapping[str, np.ndarray],
) -> pd.DataFrame:
    """How often every reason occurs, and where first: `Ingest.report`.

    Args:
        export: what the files hold.
        visits: all assignments.
        answers: all answers.
        fields: of every kind of answer the name of the question in the file.
        noted: reason → numbers of the assignments that are noted for it and not dropped.
    """
    rows = []
    for reason, unit in (DROP_REASONS | NOTE_REASONS).items():
        number = _REASON_NUMBERS.get(reason, len(DROP_REASONS))
        dropped_answers = np.flatnonzero(answers["problem"] == number)
        field = None
        if reason in noted:
            numbers = noted[reason]
        elif reason in ANSWER_REASONS:
            numbers = answers["visit"].to_numpy()[dropped_answers]
            if len(numbers):
                field = fields[answers["kind"][dropped_answers[0]]]
        else:
            numbers = np.flatnonzero(visits["problem"] == number)
        notes = [(file, place) for noted_as, file, place in export.notes if noted_as == reason]
        file = None
        place = None
        if len(numbers):
            file = visits["file"][numbers[0]]
            place = visits["place"][numbers[0]]
        elif notes:
            file, place = notes[0]
        rows.append(
            {
                "reason": reason,
                "unit": unit,
                "count": len(numbers) + len(notes),
                "dropped": reason in DROP_REASONS,
                "answers": len(dropped_answers),
                "file": None if file is None else export.files[file].name,
                "place": f"row {place}" if isinstance(place, int) else place,
                "field": field,
            }
        )
    return pd.DataFrame(rows).astype({"file": "object", "place": "object", "field": "object"})


def _nothing_usable(export: RawAnswers, report: pd.DataFrame, known: Iterable[str]) -> InputError:
    """The error for files of which nothing is kept: how many of what, and where the first is."""
    occurring_reasons = report[(report["count"] > 0) & (report["unit"] != "file")][:5]
    why = [
        f"{row.count} × {row.reason} (first at {row.place})"
        for row in occurring_reasons.itertuples()
    ]
    is_attribute = occurring_reasons["reason"] == "unknown attribute"
    for field in occurring_reasons["field"][is_attribute]:
        why.append(f"the first unknown attribute is {field}; known are {', '.join(known)}")
    if MISSING_IMAGE in occurring_reasons["reason"].tolist():
        why += _why_no_image(export)
    path = export.files[0]
    others = len(export.files) - 1
    more = f" and {others} more" if others else ""
    visits = len(export.visits["file"])
    assignments = "1 assignment" if visits == 1 else f"{visits} assignments"
    reasons = ": " + "; ".join(why) if why else ""
    return InputError(
        f"{path}{more}: nothing usable in {assignments}{reasons}",
        field=str(path),
        found=why,
        expected="an answer that can be used",
    )


def _why_no_image(export: RawAnswers) -> list[str]:
    """What an item without an image has in its place."""
    if export.other_keys is not None:
        return [
            f"the first item without an image has {_join_names(export.other_keys)} where "
            f"{_join_names(export.image_keys)} was looked for; `image_key` takes another name"
        ]
    for address in export.visits["address"]:
        if str(address).lstrip()[:5].lower() == "data:":
            return ["the image stands in the file itself (data:…), so give its name as image_id"]
    return []


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"


def _tidy(
    visits: pd.DataFrame, answers: pd.DataFrame, export: RawAnswers, salt: str
) -> pd.DataFrame:
    """The tidy table, but for the attributes; `answers` are the good ones."""
    useful = np.unique(answers["visit"])
    row = np.searchsorted(useful, answers["visit"]).astype(np.int32)
    visits = visits.iloc[useful]
    people = visits["annotator"].cat.remove_unused_categories()
    hashes = [hash_annotator(name, salt) for name in people.cat.categories]
    sources = np.array([f"{export.source}:{path.name}" for path in export.files], object)
    texts = {
        "image_id": visits["image_id"].array,
        "annotator_id": people.cat.rename_categories(hashes).array,
        "source": pd.Categorical(sources[visits["file"]]),
    }
    columns = {name: occurring(column).take(row) for name, column in texts.items()}
    whole = np.issubdtype(answers["level"].dtype, np.integer)
    columns["level"] = answers["level"].to_numpy(np.int64 if whole else np.float64)
    for name in ("seconds", "submitted_at"):
        columns[name] = visits[name].array.take(row)
    return pd.DataFrame(columns, copy=False)
