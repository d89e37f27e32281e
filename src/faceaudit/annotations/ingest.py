"""From what stands in files to the tidy table, and a report of everything not taken as it was.

A reader puts assignments and their answers, as they stand in files, into an `Export`. The rules for
what is dropped are applied here, once, for all formats: each writes its reason into the column
`problem` of the assignments or of the answers. Millions of answers name few different ones, so an
answer is kept as a number, a few bytes, and what it says once.

Tools change the names of images on the way: a server puts eight digits before the name of an
upload, addresses encode blanks as %20, a folder on the server stands behind ?d=. A name is
therefore looked up among the known images, where these are given.
"""

import csv
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

from faceaudit.annotations.schema import ATTRIBUTES, COLUMNS, MOST_STARS, hash_annotator, occurring
from faceaudit.utils.names import composed

csv.field_size_limit(2**31 - 1)  # an image may stand in a cell, as a data URL

VISIT = ("place", "named", "address", "annotator", "email", "seconds", "submitted_at")
VISIT += ("updated_at", "status", "job")
TIMES = "datetime64[us, UTC]"
MISSING, UNUSABLE, UNKNOWN = "missing image", "unusable image id", "unknown image"
AMBIGUOUS, CONTRADICTORY = "ambiguous image name", "image id and file are two images"
OF_VISITS = ("older version", "rejected assignment", "cancelled assignment", "other job", MISSING)
OF_VISITS += (UNUSABLE, UNKNOWN, AMBIGUOUS, CONTRADICTORY, "missing annotator")
SEVERAL_REGIONS = "several regions"
IMPOSSIBLE_SECONDS = "seconds that cannot be"
OF_ANSWERS = ("unknown attribute", "no readable answer", SEVERAL_REGIONS, "several levels")
OF_ANSWERS += ("unknown level", "level outside the scale", "duplicate")
DROPPED = dict.fromkeys(OF_VISITS, "assignment") | dict.fromkeys(OF_ANSWERS, "answer")
"""What is dropped, in the order of precedence (an answer is counted under its first reason), and
what one count stands for."""
NOTED = {"no answer": "answer", "e-mail as annotator id": "assignment"}
NOTED |= {"several answers of one name": "assignment", "unreadable time": "assignment"}
NOTED |= {IMPOSSIBLE_SECONDS: "assignment"}
NOTED |= {"ground-truth annotation": "assignment", "draft": "draft", "failed item": "item"}
NOTED |= {"task without annotation": "task", "nothing usable in a file": "file"}
_NUMBERS = {reason: number for number, reason in enumerate(DROPPED)}
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_NO_VALUE = {"", "nan", "null", "none", "true", "false", "na", "n/a", "#n/a", "<na>", "undefined"}
"""How a missing value looks when a program has turned it into text."""
# Hours from UTC of the zone tokens that MTurk prints.
_ZONES = {"GMT": 0, "EDT": -4, "EST": -5, "CDT": -5, "CST": -6, "MDT": -6, "MST": -7}
_ZONES |= {"PDT": -7, "PST": -8}
MOST_SECONDS = 24 * 60 * 60
"""That an answer may take. A page that stays open overnight stays below a day."""
TRUTH = {"true": True, "t": True, "false": False, "f": False}
"""How Python, R and spreadsheets write truth values, in small letters."""
_WHOLE_NUMBER = re.compile(r"(\d+)[.,]0+")
_UPLOAD = re.compile(r"[0-9a-f]{8}-(.+)")
# Without what no file may be called on some system, and what HTML or a formula begins with.
_NAME = re.compile(r'(?!\.+$|[=+@])[^\x00-\x1f\x7f-\x9f\ud800-\udfff<>:"/\\|?*]+')


@dataclass(frozen=True)
class Rating:
    """An answer in stars, counted from 1. Files do not say how many stars there were."""

    stars: int


@dataclass(frozen=True)
class Unusable:
    """An answer that cannot be used, and the reason, one of `OF_ANSWERS`."""

    reason: str


class Export:
    """What a reader finds in files, as it stands there.

    Attributes:
        source: name of the format.
        files: their paths, in the order in which they were begun.
        asked: of every file the names of the questions; None if only the answers tell.
        visits: a column per name in `VISIT`, with an entry per assignment: its place (in words, or
            the number of a row), id and address of the image, who answered, an address of theirs,
            seconds, two times, status ("rejected", "cancelled" or None) and job; and its file.
        visit, kind: of every answer its assignment, and its number in `kinds`.
        kinds: the different answers, (question, level, field) → number; a level is a name, a whole
            number counted from 0, a tuple of several, a `Rating`, `Unusable`, or None if it cannot
            be read.
        notes: (reason, file, place) of what is no assignment (drafts, say).
        image_keys: names under which the id and the address of an image were looked for.
        other_keys: names that the first item had which has none of these; None if all have one.
    """

    def __init__(self, source: str) -> None:
        self.source, self.files = source, []
        self.asked: list[Collection[str] | None] = []
        self.visits: dict[str, list] = {name: [] for name in (*VISIT, "file")}
        self.visit, self.kind = array("i"), array("i")
        self.kinds: dict[tuple, int] = {}
        self.notes: list[tuple[str, int, str]] = []
        self.image_keys: tuple[str, ...] = ()
        self.other_keys: tuple[str, ...] | None = None

    def begin(self, path: Path, asked: Collection[str] | None = None) -> None:
        """What is added from here on stands in this file."""
        self.files.append(path)
        self.asked.append(asked)

    def add(self, answers: Iterable[tuple], **visit: Any) -> None:
        """Add an assignment and its answers."""
        number, visit["file"] = len(self.visits["file"]), len(self.files) - 1
        for name, column in self.visits.items():
            column.append(visit.get(name))
        for answer in answers:
            self.visit.append(number)
            self.kind.append(self.number_of(answer))

    def number_of(self, answer: tuple) -> int:
        """The number of what an answer says."""
        return self.kinds.setdefault(answer, len(self.kinds))

    def lacks_image(self, wanted: Iterable[str], found: Iterable[str]) -> None:
        """Keep which names an item has that has none of the wanted ones; the first one counts."""
        if self.other_keys is None:
            self.image_keys = tuple(wanted)
            self.other_keys = tuple(found)

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
    export: Export,
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
        ValueError: there are no files, or no answer in them can be used; says why, by reason.
            Somebody gave stars, and their number is not known, or smaller than what they gave.
    """
    if not export.files:
        raise ValueError("no files to read: at least one was expected")
    rename = dict(rename or {})
    stars = dict(stars or {})
    _require_stars(export, scales, rename, stars)
    visits = _visits(export, None if known is None else {str(name) for name in known})
    kinds = _meanings([*export.kinds], scales, rename, numbered, stars)
    answers = kinds.drop(columns="field").take(np.frombuffer(export.kind, np.int32))
    answers = answers.reset_index(names="kind")
    answers.insert(0, "visit", np.frombuffer(export.visit, np.int32))
    of_visit = visits["problem"].to_numpy()[answers["visit"]]
    answers["problem"] = np.where(of_visit >= 0, of_visit, answers["problem"])
    answers.loc[_about_regions(visits, answers), "problem"] = _NUMBERS[SEVERAL_REGIONS]
    late, again = _duplicates(visits, answers)
    answers.loc[late, "problem"] = _NUMBERS["duplicate"]
    good = answers[answers["problem"] < 0]
    answered = visits.index.isin(good["visit"])
    given = np.zeros((len(visits), len(scales) + 1), dtype=bool)
    given[answers["visit"], answers["attribute"]] = True  # the last column takes other questions
    silent = _silent(export, given[:, :-1], rename, scales) * (visits["problem"] < 0)
    noted = {
        "no answer": visits.index.repeat(silent),
        "e-mail as annotator id": np.flatnonzero(visits["email"]),
        "several answers of one name": np.unique(again),
        "unreadable time": np.flatnonzero(answered & visits["submitted_at"].isna()),
        IMPOSSIBLE_SECONDS: np.flatnonzero(answered & visits["impossible_seconds"]),
    }
    useful = {*visits["file"][answered]}
    unused = [number for number in range(len(export.files)) if number not in useful]
    export.notes += [("nothing usable in a file", number, None) for number in unused]
    report = _report(export, visits, answers, kinds["field"], noted)
    if good.empty:
        raise _nothing_usable(export, report, scales)
    attribute = occurring(pd.Categorical.from_codes(good["attribute"], [*scales]))
    frame = _tidy(visits, good, export, salt).assign(attribute=attribute)
    return Ingest(frame[[*COLUMNS]], report)


def _visits(export: Export, known: set[str] | None) -> pd.DataFrame:
    """All assignments, with the image and the number of the reason for which one is dropped."""
    given = export.visits
    visits = pd.DataFrame({"file": np.asarray(given["file"], np.int32)})
    visits["place"] = pd.Series(given["place"], dtype="object")
    for name in ("named", "address", "annotator", "email", "status", "job"):
        visits[name] = pd.Categorical([_plain(value) for value in given[name]])
    for name in ("submitted_at", "updated_at"):
        visits[name] = times(given[name])
    seconds = pd.Series([_seconds(value) for value in given["seconds"]], dtype=float)
    visits["impossible_seconds"] = seconds == _IMPOSSIBLE
    visits["seconds"] = seconds.where(seconds != _IMPOSSIBLE)
    both = [visits[name] for name in ("annotator", "email")]
    mails = [one for names in both for one in names.cat.categories if _EMAIL.fullmatch(one)]
    visits["email"] = both[0].isin(mails) | both[1].isin(mails)
    visits["annotator"] = visits["annotator"].map(identity).astype("str").astype("category")
    visits = _with_images(visits, known)
    rules = [_older(visits)]
    rules += [visits["status"] == status for status in ("rejected", "cancelled")]
    rules += [_other_job(visits)]
    rules += [visits["image_problem"] == reason for reason in OF_VISITS[4:9]]
    rules += [visits["annotator"].isna()]
    return visits.assign(problem=np.select(rules, range(len(rules)), -1).astype(np.int8))


def _plain(value: Any) -> str:
    """A name or a number as text, empty where there is none; "?" for what names nothing."""
    return "" if value is None else str(value).strip() if type(value) in (str, int, float) else "?"


def identity(text: str) -> str | None:
    """Who answered: a printable text; None where a program wrote no value.

    A spreadsheet writes a number as 3.0 or 3,0, and that is no new person.
    """
    named = text.isprintable() and re.search(r"[^\W_]", text) and _is_value(text)
    if not named:
        return None
    number = _WHOLE_NUMBER.fullmatch(text)
    return number[1] if number else text


def times(values: Sequence) -> pd.Series:
    """Texts like 2025-10-09T07:30:20Z or Thu Oct 09 07:30:20 PDT 2025 as timestamps in UTC.

    Missing for all that is no time of an answer: programs write the year 1 or 1970 for none.
    """
    texts = [text if isinstance(text, str) and len(text) > 15 else None for text in values]
    texts = pd.Series(texts, dtype="str")
    read = partial(pd.to_datetime, utc=True, errors="coerce")
    found = read(texts, format="ISO8601")
    found = found.fillna(read(texts[found.isna()], format="%a %b %d %H:%M:%S UTC %Y"))
    zones = {rf" {name} ": f" {hours * 100:+05d} " for name, hours in _ZONES.items()}
    zones[r" (?:GMT|UTC)(?=[+-])"] = " "
    other = texts[found.isna() & texts.notna()].replace(zones, regex=True)
    found = found.fillna(read(other, format="%a %b %d %H:%M:%S %z %Y")).astype(TIMES)
    return found.where(found.dt.year.between(1990, 2099))


_IMPOSSIBLE = -1.0


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
    ids = {*visits["named"].cat.categories} - {""} if known is None else known
    ids = {composed(name): name for name in sorted(ids)}  # → as the caller spells it
    stored: dict[str, list[str]] = {}  # name of an upload on a server → images
    decomposed: dict[str, list[str]] = {}  # the same, of files whose accents are decomposed
    for name in ids:
        stored.setdefault(_stored(name), []).append(name)
        decomposed.setdefault(_stored(unicodedata.normalize("NFD", name)), []).append(name)
    find = partial(_image, ids=ids, stored=decomposed | stored, any_name=known is None)
    found = [find(*both) for both in zip(pairs["named"], pairs["address"], strict=True)]
    found = [(ids.get(image, image), *more) for image, *more in found]
    found = pd.DataFrame(found, pairs.index, ["image_id", "image_problem", "path"], dtype="str")
    # Every server has a known image at an address of its own.
    server = pairs["file"] * (known is not None)
    first = found.groupby(["image_id", server])["path"].transform("first")
    other = found["path"].notna() & (found["path"] != first)
    found.loc[other, ["image_id", "image_problem"]] = None, AMBIGUOUS
    return visits.merge(pairs.join(found.astype("category")), "left", key)


def _image(name: str, address: str, ids: Mapping, stored: dict, any_name: bool) -> tuple:
    """The image with this id and the file at this address; why there is none; the file's path.

    Names are compared after Unicode's NFC.
    """
    name = composed(name)
    path, files = _file_names(address)
    path = composed(path)
    files = [composed(file) for file in files]
    shown = [file for file in files if file in ids]
    uploads = [upload[1] for upload in map(_UPLOAD.fullmatch, files) if upload and not shown]
    uploads = [image for file in uploads for image in stored.get(file, ())]
    named = next((one for one in (name, composed(unquote(name))) if one in ids), None)
    if any_name:
        uploads, named = [], name or None
        shown = shown if name else files[:1]
    image = named or [*shown, *uploads, None][0]
    reason = UNKNOWN if name or files else MISSING
    if image is not None:
        other = named and (shown or uploads) and named not in (*shown, *uploads)
        unusable = any_name and not (_is_value(image) and _NAME.fullmatch(image))
        several = not named and len(uploads) > 1
        reason = UNUSABLE * unusable or CONTRADICTORY * bool(other) or AMBIGUOUS * several or None
    return (None, reason, None) if reason else (image, None, None if named else path)


def _is_value(text: str) -> bool:
    return len(text) <= 255 and text.casefold() not in _NO_VALUE


def _file_names(address: str) -> tuple[str, list[str]]:
    """The path in an address, and what the image there may be called, without ending first."""
    before, asked, folder = address.partition("?d=")
    path = folder.split("&")[0] if asked else re.split(r"[?#]", before)[0]
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
    again = visits.duplicated(annotation, keep=False) & visits[annotation].notna().all(axis=1)
    some = visits[again]
    updated = some["updated_at"].fillna(some["submitted_at"])
    latest = updated.groupby([some[name] for name in annotation], observed=True).transform("max")
    return (updated < latest).reindex(visits.index, fill_value=False)


def _other_job(visits: pd.DataFrame) -> pd.Series:
    """Assignments of another job than most of their file; the first of equals is kept."""
    given = visits["job"] != ""
    jobs = visits[given].groupby(["file", "job"], observed=True, sort=False).size()
    most = jobs.groupby("file").idxmax().map(lambda key: key[1])
    return given & (visits["job"].astype("str") != visits["file"].map(most))


def _require_stars(
    export: Export, scales: Mapping, rename: Mapping[str, str], stars: Mapping[str, int]
) -> None:
    """Refuse stars about an attribute, if it is not said how many there were, or was said wrong."""
    for question, number in stars.items():
        if type(number) is not int or not 2 <= number <= MOST_STARS:
            raise ValueError(
                f"stars of {question!r}: a whole number from 2 to {MOST_STARS} was expected, "
                f"not {number!r}"
            )
    for (question, answer, _), kind in export.kinds.items():
        if not isinstance(answer, Rating) or rename.get(question, question) not in scales:
            continue
        number = stars.get(question)
        if number is not None and answer.stars <= number:
            continue
        visit = export.visit[export.kind.index(kind)]
        path, place = export.files[export.visits["file"][visit]], export.visits["place"][visit]
        said = f"of {number} stars" if number else "and does not say of how many stars"
        raise ValueError(
            f"{path}: {place}: question {question!r} has a rating of {answer.stars} {said}; say "
            f"how many stars its scale has, for example stars={{{question!r}: 10}}, because "
            "without that number a rating cannot be turned into levels"
        )


def _meanings(
    kinds: Sequence[tuple],
    scales: Mapping,
    rename: Mapping[str, str],
    numbered: bool,
    stars: Mapping[str, int],
) -> pd.DataFrame:
    """Of every kind of answer its field, and the numbers of attribute, level and reason."""
    numbers: dict[str, set[int | None]] = {}
    for name, answer, _ in kinds:
        numbers.setdefault(rename.get(name, name), set()).add(_whole(answer, numbered))
    rows, attributes = [], [*scales]
    for question, answer, field in kinds:
        name = rename.get(question, question)
        level = "no readable answer" if name is None else "unknown attribute"
        if name in scales:
            from_one = numbered and 0 not in numbers[name] and len(scales[name]) in numbers[name]
            if isinstance(answer, Rating):
                level = _level_of_stars(answer.stars, stars[question], len(scales[name]))
            else:
                level = _level(answer, scales[name], numbered, from_one)
        meaning = (-1, _NUMBERS[level]) if isinstance(level, str) else (level, -1)
        rows.append((field, attributes.index(name) if name in scales else -1, *meaning))
    meanings = pd.DataFrame(rows, columns=["field", "attribute", "level", "problem"])
    whole = (meanings["level"] % 1 == 0).all()
    kinds_of_numbers = {"attribute": np.int8, "problem": np.int8}
    return meanings.astype(kinds_of_numbers | {"level": np.int8 if whole else np.float64})


def folded(label: str) -> str:
    """A level's name without what makes no difference between an answer and a level."""
    return label.strip().casefold()


def _level_of_stars(given: int, stars: int, levels: int) -> int | float | str:
    """Where stars stand among the levels, counted from 0, or why they give none."""
    if given < 1:
        return "level outside the scale"
    level = Fraction((given - 1) * (levels - 1), stars - 1)
    return int(level) if level.denominator == 1 else float(level)


def _level(answer: Any, labels: Sequence[str], numbered: bool, from_one: bool) -> int | str:
    """The level that an answer gives, or why it gives none."""
    if isinstance(answer, Unusable):
        return answer.reason
    names, number = [folded(label) for label in labels], _whole(answer, numbered)
    if isinstance(answer, tuple):
        return "several levels"
    if isinstance(answer, str) and folded(answer) in names:
        return names.index(folded(answer))
    if number is None:
        said = isinstance(answer, str) and answer.strip()
        return "unknown level" if said else "no readable answer"
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
    of_regions = answers["problem"].to_numpy() == _NUMBERS[SEVERAL_REGIONS]
    if not of_regions.any():
        return of_regions
    image = visits["image_id"].cat.codes.to_numpy(np.int64)[answers["visit"]]
    question = image * 128 + answers["attribute"].to_numpy()
    return (answers["problem"].to_numpy() < 0) & np.isin(question, question[of_regions])


def _duplicates(visits: pd.DataFrame, answers: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Answers to a question that their annotator answered before, and who came at another time.

    The assignments that gave such an answer at another time than the one that is kept are those of
    one person who came back, or of two who have one name. Assignments of one time are copies.
    """
    pair = visits.groupby(["image_id", "annotator"], observed=True, dropna=False).ngroup()
    good = answers[answers["problem"] < 0]
    question = pair.to_numpy(np.int64)[good["visit"]] * 128 + good["attribute"]
    again = question[question.duplicated(keep=False)].to_frame("question")
    again["visit"] = good["visit"][again.index]
    again["time"] = visits["submitted_at"].array[again["visit"]]
    again = again.sort_values("time", kind="stable")
    late = again[again["question"].duplicated()]
    first = again.drop_duplicates("question").set_index("question").loc[late["question"]]
    other = late["visit"].to_numpy() != first["visit"].to_numpy()
    other &= late["time"].to_numpy() != first["time"].to_numpy()
    return late.index.to_numpy(), late["visit"].to_numpy()[other]


def _silent(export: Export, given: np.ndarray, rename: Mapping, scales: Mapping) -> np.ndarray:
    """Of every assignment the number of questions of its file that were not answered."""
    file = np.asarray(export.visits["file"], int)
    asked = np.zeros((len(export.files), len(scales)), dtype=bool)
    for number, names in enumerate(export.asked):
        asked[number] = given[file == number].any(axis=0)
        if names is not None:
            asked[number] = np.isin([*scales], [rename.get(name, name) for name in names])
    return (asked[file] & ~given).sum(axis=1)


def _report(
    export: Export, visits: pd.DataFrame, answers: pd.DataFrame, fields: pd.Series, noted: Mapping
) -> pd.DataFrame:
    """Every reason: how often it was found, and where first."""
    rows = []
    for reason, unit in (DROPPED | NOTED).items():
        number = _NUMBERS.get(reason, len(DROPPED))
        lost, field = np.flatnonzero(answers["problem"] == number), None
        visit = noted.get(reason, np.flatnonzero(visits["problem"] == number))
        if reason in OF_ANSWERS and len(lost):
            visit, field = answers["visit"].to_numpy()[lost], fields[answers["kind"][lost[0]]]
        notes = [(file, place) for why, file, place in export.notes if why == reason]
        first = [(visits["file"][one], visits["place"][one]) for one in visit[:1]] + notes[:1]
        file, place = first[0] if first else (None, None)
        name = None if file is None else export.files[file].name
        place = f"row {place}" if isinstance(place, int) else place
        counts = len(visit) + len(notes), reason in DROPPED, len(lost)
        rows.append((reason, unit, *counts, name, place, field))
    columns = ["reason", "unit", "count", "dropped", "answers", "file", "place", "field"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[5:], "object"))


def _nothing_usable(export: Export, report: pd.DataFrame, known: Iterable[str]) -> ValueError:
    """The error for files of which nothing is kept: how many of what, and where the first is."""
    found = report[(report["count"] > 0) & (report["unit"] != "file")][:5]
    why = [f"{row.count} × {row.reason} (first at {row.place})" for row in found.itertuples()]
    for field in found["field"][found["reason"] == "unknown attribute"]:
        why.append(f"the first unknown attribute is {field}; known are {', '.join(known)}")
    if MISSING in [*found["reason"]]:
        why += _why_no_image(export)
    rows, more = len(export.visits["file"]), len(export.files) - 1
    return ValueError(
        f"{export.files[0]}{f' and {more} more' * (more > 0)}: nothing usable in {rows} "
        f"assignment{'s' * (rows != 1)}" + ": " * bool(why) + "; ".join(why)
    )


def _why_no_image(export: Export) -> list[str]:
    """What an item without an image has in its place."""
    if export.other_keys is not None:
        return [
            f"the first item without an image has {_listed(export.other_keys)} where "
            f"{_listed(export.image_keys)} was looked for; `image_key` takes another name"
        ]
    inside = [one for one in export.visits["address"] if str(one).lstrip()[:5].lower() == "data:"]
    if inside:
        return ["the image stands in the file itself (data:…), so give its name as image_id"]
    return []


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"


def _tidy(visits: pd.DataFrame, answers: pd.DataFrame, export: Export, salt: str) -> pd.DataFrame:
    """The tidy table, but for the attributes; `answers` are the good ones."""
    answered = np.unique(answers["visit"])
    row = np.searchsorted(answered, answers["visit"]).astype(np.int32)
    visits = visits.iloc[answered]
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
    columns |= {name: visits[name].array.take(row) for name in ("seconds", "submitted_at")}
    return pd.DataFrame(columns, copy=False)
