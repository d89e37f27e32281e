"""What models answer about images: how outputs are read, and answers kept by model and image.

Logits where probabilities were promised would pass as scores that are too certain, and a constant
as a model without bias; so both are refused by name.
"""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import expit, softmax
from tqdm import tqdm

from faceaudit.file.parts import Preparation
from faceaudit.outcomes import REASONS, WITHOUT_REASON
from faceaudit.utils.errors import InputError

OutputKind = Literal["probability", "embedding", "measures"]
PendingRows = dict[str, int]
"""Images that have no answer yet: key of the image → its row among all images."""
Progress = Callable[[int], Any]
"""Takes how many more images were asked about."""
Notify = Callable[[str], None]
"""Takes a sentence for the user."""

NO_FACE = "no face found"
ABSTAINED = "abstained"
"""Reasons of missing answers that are outcomes; any other reason is a failed call."""
ANSWERS_FOLDER = "answers"
"""Folder of an audit that keeps the answers of its models."""
ANSWERS_FILE = "answers.sqlite"
"""Name of the file in it."""
PROBABILITY_ROUNDING = 1e-5
"""How far off [0, 1] a float32 probability may be by rounding."""

# tqdm's own lock is for several processes, and a kernel that ends leaves it to the system.
tqdm.set_lock(threading.RLock())


def silent(_sentence: str) -> None:
    """Take a sentence and show it to no user."""


class ModelAnswers(NamedTuple):
    """What a model answered, with a reason where it did not.

    Attributes:
        values: float64, (n,) probabilities in [0, 1] or (n, d) vectors; NaN where there is no
            answer.
        reasons: (n,) words: "" where there is an answer, `NO_FACE`, `ABSTAINED`, or why the call
            failed.
    """

    values: np.ndarray
    reasons: np.ndarray

    def by_name(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Values (n,) of a model that tells several things of an image, by their names.

        Where no image has an answer, there is but one column, of NaN.
        """
        columns = self.values.reshape(len(self.values), -1)
        table = np.broadcast_to(columns, (len(columns), len(names)))
        return dict(zip(names, table.T, strict=True))

    @property
    def reasons_in_tables(self) -> np.ndarray:
        """(n,) the reasons as tables of an audit have them, see `faceaudit.outcomes.REASONS`."""
        no_face = self.reasons == NO_FACE
        abstained = self.reasons == ABSTAINED
        failed = (self.reasons != WITHOUT_REASON) & ~no_face & ~abstained
        choices = [REASONS["no_face"], REASONS["abstention"], REASONS["failed_call"]]
        return np.select([no_face, abstained, failed], choices, WITHOUT_REASON)


@dataclass(frozen=True)
class Reading:
    """How raw outputs (n, …) are read: which class, through which activation, as what.

    Args:
        gives: "probability" of the positive class, "embedding", or "measures", which are taken as
            they are.
        activation: "none" if the outputs are probabilities already; "sigmoid" or "softmax" (over
            the classes) if they are logits.
        index: which column is the positive class, from 0; None if there is but one, or if it is the
            second of two `classes`.
        classes: the columns that softmax runs over, where the output has others too; the second
            of two is the positive class.
    """

    gives: OutputKind = "probability"
    activation: Literal["none", "sigmoid", "softmax"] = "none"
    index: int | None = None
    classes: tuple[int, ...] | None = None

    @property
    def positive_column(self) -> int | None:
        """The column of the positive class; None where the audit file does not say which."""
        if self.index is None and self.classes is not None and len(self.classes) == 2:
            return self.classes[1]
        return self.index

    def card(self) -> dict[str, Any]:
        """How outputs are read, as JSON takes it; without `classes` where there are none."""
        card = asdict(self)
        if self.classes is None:  # models that were asked before there was this key keep their hash
            del card["classes"]
        return card

    def __call__(
        self, raw: Any, n_images: int, name: str, allow_missing: bool = False
    ) -> np.ndarray:
        """Read the answers about images.

        Args:
            raw: output of the model (n_images, …), an array, a tensor or a list.
            n_images: how many images the model was shown.
            name: of the model, for messages.
            allow_missing: whether a row of NaN alone stands for "no face found".

        Returns:
            float64, (n_images,) probabilities or (n_images, d) vectors; NaN where no face was
            found.

        Raises:
            InputError: the output has another shape, is not finite, or is not of the kind that
                `gives` says.
        """
        if hasattr(raw, "detach"):  # a tensor of torch, which NumPy takes without gradients alone
            raw = raw.detach().cpu()
        try:
            rows = np.asarray(raw, np.float64)
        except (TypeError, ValueError, RuntimeError):
            raise InputError(
                f"{name}: the answers are no numbers", field=name, expected="numbers"
            ) from None
        if rows.ndim == 0 or len(rows) != n_images or not rows.size:
            raise InputError(
                f"{name}: shape {rows.shape} for {n_images} images, {n_images} rows were expected",
                field=name,
                found=rows.shape,
                expected=f"{n_images} rows",
            )
        rows = rows.reshape(n_images, -1)
        without_face = np.logical_and(np.isnan(rows).all(axis=1), allow_missing)
        self._require_finite(rows, without_face, name)
        if self.gives == "probability":
            return self._probabilities(rows, name)
        if self.gives == "embedding" and (rows.shape[1] < 2 or not rows.any(axis=1).all()):
            raise InputError(
                f"{name}: one number an image is no vector of a face, nor are zeros",
                field=name,
                expected="a vector of each face",
            )
        return rows

    @staticmethod
    def _require_finite(rows: np.ndarray, without_face: np.ndarray, name: str) -> None:
        """Raise InputError where an image (n, d) with a face has an answer that is not finite."""
        bad = ~np.isfinite(rows) & ~without_face[:, None]
        if bad.any():
            value = rows[bad][0]
            image = bad.any(axis=1).argmax()
            raise InputError(
                f"{name}: the answer is {value} for image {image} of the batch, finite numbers "
                "were expected",
                field=f"{name}, image {image} of the batch",
                found=float(value),
                expected="finite numbers",
            )

    def _probabilities(self, rows: np.ndarray, name: str) -> np.ndarray:
        """Probabilities (n,) of the positive class, from outputs (n, columns)."""
        columns = rows.shape[1]
        self._require_classes(columns, name)
        positive = self.positive_column
        if positive is None and columns == 1:
            positive = 0
        if positive is None or not 0 <= positive < columns:
            raise InputError(
                f"{name}: output.index is {'missing' if positive is None else positive}, but there "
                f"are {columns} numbers an image; say which one is the positive class, from 0",
                field="output.index",
                found=positive,
                expected=f"a column from 0 to {columns - 1}",
            )
        if self.activation == "softmax":
            classes = list(range(columns)) if self.classes is None else list(self.classes)
            return softmax(rows[:, classes], axis=1)[:, classes.index(positive)]
        scores = rows[:, positive]
        if self.activation == "sigmoid":
            return expit(scores)
        outside = (scores < -PROBABILITY_ROUNDING) | (scores > 1 + PROBABILITY_ROUNDING)
        if outside.any():
            least = np.nanmin(scores)
            most = np.nanmax(scores)
            raise InputError(
                f"{name}: answers from {least:.4g} to {most:.4g}, probabilities in [0, 1]; "
                "set output.activation to sigmoid or softmax if they are logits",
                field="output.activation",
                found=(float(least), float(most)),
                expected="probabilities in [0, 1]",
            )
        return scores.clip(0, 1)

    def _require_classes(self, columns: int, name: str) -> None:
        """Raise InputError where `classes` do not fit an output of so many columns."""
        if self.classes is not None and max(self.classes) >= columns:
            raise InputError(
                f"{name}: output.classes is {list(self.classes)}, but there are {columns} numbers "
                f"an image; columns from 0 to {columns - 1} were expected",
                field="output.classes",
                found=self.classes,
                expected=f"columns from 0 to {columns - 1}",
            )
        if self.activation == "softmax" and self.classes is None and columns > 2:
            raise InputError(
                f"{name}: {columns} numbers an image for softmax over two classes; give "
                "output.classes, the columns of the classes, such as [8, 7], where the second is "
                "the positive class",
                field="output.classes",
                expected="the columns of the classes",
            )


@dataclass
class BlackBox:
    """A model of which only the answers are known; each kind of model has a `fill_cache`.

    Attributes:
        name: for messages, for example the file's.
        description: what the model is, for the card: whatever changes its answers.
        reading: how its outputs are read.
        preparation: what is done to images before the model gets them; None where the model does
            that itself.
    """

    name: str
    description: dict[str, Any]
    reading: Reading
    preparation: Preparation | None = None

    @property
    def hash(self) -> str:
        """SHA-256 of all that the answers depend on; the name of a file is no part of it."""
        hashed = {key: value for key, value in self.description.items() if key != "file"}
        content = json.dumps([hashed, self.reading.card()], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def card(self) -> dict[str, Any]:
        """What the model is, as JSON takes it: kind, file, SHA-256, preparation, output, hash."""
        return {
            "name": self.name,
            **self.description,
            "output": self.reading.card(),
            "hash": self.hash,
        }

    def identify(self, images: np.ndarray) -> None:
        """Find out which version answers, where the model says so itself; it joins the hash.

        Args:
            images: whole images (n, 3, height, width), of which one is asked about.
        """

    def fill_cache(
        self, cache: "AnswerCache", images: np.ndarray, pending: PendingRows, progress: Progress
    ) -> None:
        """Put answers about pending images (of n, 3, height, width) into a cache."""
        raise NotImplementedError

    def told(self, answers: ModelAnswers) -> ModelAnswers:
        """What an audit reads of answers that were kept; a model may keep more."""
        return answers

    def cut_images(self, images: np.ndarray) -> np.ndarray:
        """The part of images (n, 3, height, width) that the model sees, before it is scaled."""
        return images if self.preparation is None else self.preparation.cut(images)


def image_key(image: np.ndarray) -> str:
    """SHA-256 of an image's pixels and shape.

    Not of its PNG: the same pixels give other bytes with another version of zlib, and would be
    asked about, and paid for, again.
    """
    digest = hashlib.sha256(f"{image.dtype} {image.shape} ".encode())
    digest.update(np.ascontiguousarray(image).data)
    return digest.hexdigest()


class AnswerCache:
    """One model's answers by image, in a SQLite file that models and processes may share.

    Each call is a row that is written when `add` returns, so that a kill at any moment loses no
    answer; a power cut may lose the last ones. Rows hold the numbers that were read and a reason of
    our own words, and nothing else of what an endpoint said, which may repeat a key. `calls` says
    how often the model was asked, failed calls included.

    Raises:
        OSError: the file cannot be read or written, for example because the disk is full. What was
            added before is kept.
    """

    def __init__(self, folder: Path, model: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / ANSWERS_FILE
        self.calls = 0
        self._model = model
        # Key of an image → the bytes of its answer and the reason, as in the table.
        self._answers: dict[str, tuple[bytes | None, str]] = {}
        with self._errors_with_advice():
            self._connection = sqlite3.connect(self.path, timeout=60)
            self.close = self._connection.close
            try:
                # Nothing waits for the disk: the system writes on when this process is killed.
                self._connection.executescript(
                    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                    "CREATE TABLE IF NOT EXISTS calls (model TEXT, image TEXT, value BLOB, "
                    "reason TEXT, time TEXT DEFAULT CURRENT_TIMESTAMP); "
                    "CREATE INDEX IF NOT EXISTS by_model ON calls (model)"
                )
                query = "SELECT image, value, reason FROM calls WHERE model = ? ORDER BY rowid"
                self._remember(self._connection.execute(query, [model]))
            except sqlite3.Error:
                self.close()
                raise

    def add(
        self,
        keys: Sequence[str],
        values: Sequence[Any] | np.ndarray,
        reasons: Sequence[str] | np.ndarray,
    ) -> None:
        """Write one row for each image; a value counts where the reason is ""."""
        rows = [
            (key, None if reason else np.asarray(value, "<f8").tobytes(), str(reason))
            for key, value, reason in zip(keys, values, reasons, strict=True)
        ]
        with self._errors_with_advice(), self._connection:
            insert = "INSERT INTO calls (model, image, value, reason) VALUES (?, ?, ?, ?)"
            self._connection.executemany(insert, [(self._model, *row) for row in rows])
        self._remember(rows)

    @contextmanager
    def _errors_with_advice(self) -> Iterator[None]:
        """Turn an error of SQLite into an OSError that says how to go on."""
        try:
            yield
        except sqlite3.OperationalError as error:
            # The low byte is the kind of error. A quota, or a limit on the size of a file, shows
            # as an error of input and output.
            kind = error.sqlite_errorcode & 0xFF
            disk_is_full = kind in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
            advice = "make room there" if disk_is_full else "see that this folder can be written to"
            raise OSError(
                f"{self.path.parent}: the answers of the model cannot be kept there ({error}); "
                f"what was answered before is kept: {advice} and run the same command again, "
                "which goes on from there"
            ) from error

    def has(self, key: str) -> bool:
        """Whether an image has an answer; a failed call is none."""
        return key in self._answers and _is_answer(self._answers[key][1])

    def has_failed(self, key: str) -> bool:
        """Whether an image was asked about, and every call about it failed."""
        return key in self._answers and not self.has(key)

    def has_answers(self) -> bool:
        """Whether the model ever answered about an image."""
        return any(self.has(key) for key in self._answers)

    def answers(self, keys: Sequence[str]) -> ModelAnswers:
        """The answers about images that were asked about, in the order of the keys."""
        values = []
        reasons = []
        for key in keys:
            content, reason = self._answers[key]
            values.append(np.frombuffer(content or b"", "<f8"))
            reasons.append(reason)
        width = max([1, *map(len, values)])
        missing = [np.nan] * width
        rows = [value if len(value) else missing for value in values]
        table = np.reshape(rows, (len(rows), width))
        return ModelAnswers(table if width > 1 else table[:, 0], np.array(reasons, str))

    def _remember(self, rows: Iterable[tuple[str, bytes | None, str]]) -> None:
        """Take rows of the table over: key, bytes and reason; no failure replaces an answer."""
        for key, content, reason in rows:
            self.calls += 1
            if _is_answer(reason) or not self.has(key):
                self._answers[key] = (content, reason)


def _is_answer(reason: str) -> bool:
    """Whether a reason is that of an answer, and not of a failed call."""
    return reason in ("", NO_FACE)


def require_answers(values: np.ndarray, source: str) -> None:
    """Refuse a model that answers nothing (NaN everywhere), or the same to every image.

    Args:
        values: answers, (n,) or (n, d).
        source: which answers these are, for the message.

    Raises:
        InputError: there is no answer, or all are equal.
    """
    is_missing = np.isnan(values.reshape(len(values), -1)).any(axis=1)
    answers = values[~is_missing]
    if not len(answers):
        raise InputError(
            f"{source} has no answer at all; is it the right column or model?", field=source
        )
    if len(answers) > 1 and np.ptp(answers, axis=0).max() == 0:
        constant = "one vector" if answers.ndim > 1 else f"{answers[0]:g}"
        raise InputError(
            f"{source} is {constant} for every image; a constant answer shows nothing, is it the "
            "right column, output, index or preparation, and has the network its weights?",
            field=source,
            found=constant,
            expected="answers that differ between images",
        )


def ask_and_keep(model: BlackBox, images: np.ndarray, folder: str | Path) -> ModelAnswers:
    """Ask a model about images (n, 3, height, width) that it has not answered yet, and keep all.

    Args:
        model, images, folder: as of `kept_answers`.

    Returns:
        What is read of the answers, in the order of the images.
    """
    return model.told(kept_answers(model, images, folder))


def kept_answers(model: BlackBox, images: np.ndarray, folder: str | Path) -> ModelAnswers:
    """All that a model answers about images, which it is asked about where it has not answered yet.

    The same image is asked about once, and what the model does not see of an image is no part of
    it. What another version of the model answered is not used.

    Args:
        model: to ask.
        images: whole images (n, 3, height, width), as the model takes them.
        folder: of the cache of answers, which other models may share.

    Returns:
        The answers, in the order of the images.
    """
    model.identify(images)
    keys = [image_key(image) for image in model.cut_images(images)]
    with closing(AnswerCache(Path(folder), model.hash)) as cache:
        pending = {key: row for row, key in enumerate(keys) if not cache.has(key)}
        bar = tqdm(
            total=len(pending),
            desc=model.name,
            unit=" images",
            disable=None,  # silent, unless somebody looks at a terminal
            leave=False,
            delay=1,
        )
        with bar:
            # Not cut, as the model prepares images itself: only the keys are of what it sees.
            model.fill_cache(cache, images, pending, bar.update)
        return cache.answers(keys)


def answers_kept_before(
    model: BlackBox, images: np.ndarray, folder: str | Path
) -> tuple[np.ndarray, ModelAnswers]:
    """The answers of a model that are kept already; the model is not asked.

    Args:
        model, images, folder: as of `kept_answers`.

    Returns:
        Whether each image has an answer there (n,), and what is read of those answers.
    """
    if not (Path(folder) / ANSWERS_FILE).is_file():
        return np.zeros(len(images), bool), ModelAnswers(np.empty(0), np.empty(0, str))
    model.identify(images)
    keys = [image_key(image) for image in model.cut_images(images)]
    with closing(AnswerCache(Path(folder), model.hash)) as cache:
        were_kept = np.array([cache.has(key) for key in keys], bool)
        kept = cache.answers([key for key in keys if cache.has(key)])
    return were_kept, model.told(kept)
