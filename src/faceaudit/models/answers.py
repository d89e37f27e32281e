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
from faceaudit.utils.errors import fault

OutputKind = Literal["probability", "embedding", "measures"]
PendingRows, Progress, Notify = dict[str, int], Callable[[int], Any], Callable[[str], None]
"""Row of every image by its key; what is told how many more of them have an answer; what takes a
sentence for the user."""

NO_FACE = "no face found"
"""The reason of a missing answer that is an outcome; any other reason is a failed call."""
PROBABILITY_ROUNDING = 1e-5
"""How far off [0, 1] a float32 probability may be by rounding."""

# tqdm's own lock is for several processes, and a kernel that ends leaves it to the system.
tqdm.set_lock(threading.RLock())


class ModelAnswers(NamedTuple):
    """What a model answered, with a reason where it did not.

    Attributes:
        values: float64, (n,) probabilities in [0, 1] or (n, d) vectors; NaN where there is no
            answer.
        reasons: (n,) words: "" where there is an answer, `NO_FACE`, or why the call failed.
    """

    values: np.ndarray
    reasons: np.ndarray


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
    def positive(self) -> int | None:
        """The column of the positive class; None where it is not given."""
        if self.index is None and self.classes is not None and len(self.classes) == 2:
            return self.classes[1]
        return self.index

    def card(self) -> dict[str, Any]:
        """How outputs are read, as JSON takes it; without `classes` where there are none."""
        said = asdict(self)
        if self.classes is None:  # models that were asked before there was this key keep their hash
            del said["classes"]
        return said

    def __call__(self, raw: Any, n: int, name: str, missing: bool = False) -> np.ndarray:
        """Answers about n images, float64 (n,) or (n, d); `missing`: NaN stands for "no face"."""
        if hasattr(raw, "detach"):  # a tensor of torch, which NumPy takes without gradients alone
            raw = raw.detach().cpu()
        try:
            rows = np.asarray(raw, np.float64)
        except (TypeError, ValueError, RuntimeError):
            raise ValueError(f"{name}: the answers are no numbers") from None
        if rows.ndim == 0 or len(rows) != n or not rows.size:
            raise ValueError(f"{name}: shape {rows.shape} for {n} images, {n} rows were expected")
        rows = rows.reshape(n, -1)
        silent = np.isnan(rows).all(1) & missing
        if (bad := ~np.isfinite(rows) & ~silent[:, None]).any():
            raise fault("not_finite", name, rows[bad][0], bad.any(1).argmax())
        if self.gives == "probability":
            return self._score(rows, name)
        if self.gives == "embedding" and (rows.shape[1] < 2 or not rows.any(axis=1).all()):
            raise ValueError(f"{name}: one number an image is no vector of a face, nor are zeros")
        return rows

    def _score(self, rows: np.ndarray, name: str) -> np.ndarray:
        numbers = rows.shape[1]
        if self.classes is not None and max(self.classes) >= numbers:
            raise ValueError(
                f"{name}: output.classes is {[*self.classes]}, but there are {numbers} numbers an "
                f"image; columns from 0 to {numbers - 1} were expected"
            )
        if self.activation == "softmax" and self.classes is None and numbers > 2:
            raise ValueError(
                f"{name}: {numbers} numbers an image for softmax over two classes; give "
                "output.classes, the columns of the classes, such as [8, 7], where the second is "
                "the positive class"
            )
        index = 0 if self.positive is None and numbers == 1 else self.positive
        if index is None or not 0 <= index < numbers:
            raise fault("no_index", name, index, numbers)
        if self.activation == "softmax":
            columns = [*range(numbers)] if self.classes is None else [*self.classes]
            return softmax(rows[:, columns], axis=1)[:, columns.index(index)]
        if self.activation == "sigmoid":
            return expit(rows[:, index])
        score = rows[:, index]
        if ((score < -PROBABILITY_ROUNDING) | (score > 1 + PROBABILITY_ROUNDING)).any():
            raise fault("no_probabilities", name, np.nanmin(score), np.nanmax(score))
        return score.clip(0, 1)


@dataclass
class BlackBox:
    """A model of which nothing is known but its answers, which its `fill` puts into a cache.

    Attributes:
        name: for messages, for example the file's.
        said: what the model is, for the card: whatever changes its answers.
        reading: how its outputs are read.
        preparation: what images go through before; None: it is not ours to say.
    """

    name: str
    said: dict[str, Any]
    reading: Reading
    preparation: Preparation | None = None

    @property
    def hash(self) -> str:
        """SHA-256 of all that the answers depend on; the name of a file is no part of it."""
        matters = {name: part for name, part in self.said.items() if name != "file"}
        said = json.dumps([matters, self.reading.card()], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()

    def card(self) -> dict[str, Any]:
        """What the model is, as JSON takes it: kind, file, SHA-256, preparation, output, hash."""
        return {"name": self.name, **self.said, "output": self.reading.card(), "hash": self.hash}

    def seen(self, images: np.ndarray) -> np.ndarray:
        """The part of images (n, 3, height, width) that the model sees, before it is scaled."""
        return images if self.preparation is None else self.preparation.cut(images)


def image_key(image: np.ndarray) -> str:
    """SHA-256 of an image's pixels and shape.

    Not of its PNG: the same pixels give other bytes with another version of zlib, and would be
    asked about, and paid for, again.
    """
    digest = hashlib.sha256(f"{image.dtype} {image.shape} ".encode())
    digest.update(np.ascontiguousarray(image))
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
        self.path, self._model = folder / "answers.sqlite", model
        self._found: dict[str, tuple[bytes | None, str]] = {}
        self.calls = 0
        with self._faults_in_words():
            self._base = sqlite3.connect(self.path, timeout=60)
            self.close = self._base.close
            try:
                # Nothing waits for the disk: the system writes on when this process is killed.
                self._base.executescript(
                    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                    "CREATE TABLE IF NOT EXISTS calls (model TEXT, image TEXT, value BLOB, "
                    "reason TEXT, time TEXT DEFAULT CURRENT_TIMESTAMP); "
                    "CREATE INDEX IF NOT EXISTS by_model ON calls (model)"
                )
                rows = "SELECT image, value, reason FROM calls WHERE model = ? ORDER BY rowid"
                self._take(self._base.execute(rows, [model]))
            except sqlite3.Error:
                self.close()
                raise

    def add(self, keys: Sequence[str], values: Sequence[Any], reasons: Sequence[str]) -> None:
        """Keep one row for each image; a value counts where the reason is ""."""
        rows = [
            (key, None if reason else np.asarray(value, "<f8").tobytes(), str(reason))
            for key, value, reason in zip(keys, values, reasons, strict=True)
        ]
        with self._faults_in_words(), self._base:
            insert = "INSERT INTO calls (model, image, value, reason) VALUES (?, ?, ?, ?)"
            self._base.executemany(insert, [(self._model, *row) for row in rows])
        self._take(rows)

    @contextmanager
    def _faults_in_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            # The low byte is the kind of error. A quota, or a limit on the size of a file, shows
            # as an error of input and output.
            no_room = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
            advice = "make room there" if no_room else "see that this folder can be written to"
            raise OSError(
                f"{self.path.parent}: the answers of the model cannot be kept there ({error}); "
                f"what was answered before is kept: {advice} and run the same command again, "
                "which goes on from there"
            ) from error

    def has(self, key: str) -> bool:
        """Whether an image has an answer; a failed call is none."""
        return key in self._found and self._found[key][1] in ("", NO_FACE)

    def has_failed(self, key: str) -> bool:
        """Whether an image was asked about, and every call about it failed."""
        return key in self._found and not self.has(key)

    def has_answers(self) -> bool:
        """Whether the model ever answered about an image."""
        return any(map(self.has, self._found))

    def answers(self, keys: Sequence[str]) -> ModelAnswers:
        """What is kept of images, in their order."""
        values = [np.frombuffer(self._found[key][0] or b"", "<f8") for key in keys]
        width = max([1, *map(len, values)])
        filled = np.array([value if len(value) else [np.nan] * width for value in values])
        reasons = np.array([self._found[key][1] for key in keys], str)
        return ModelAnswers(filled if width > 1 else filled[:, 0], reasons)

    def _take(self, rows: Iterable[tuple[str, bytes | None, str]]) -> None:
        for key, value, reason in rows:
            self.calls += 1
            if not self.has(key) or reason in ("", NO_FACE):
                self._found[key] = value, reason


def require_answers(values: np.ndarray, where: str) -> None:
    """Raise ValueError where a model answered nothing (NaN), or the same to every image."""
    found = values[~np.isnan(values.reshape(len(values), -1)).any(1)]
    if not len(found):
        raise ValueError(f"{where} has no answer at all; is it the right column or model?")
    if len(found) > 1 and np.ptp(found, axis=0).max() == 0:
        raise fault("constant", where, found[0] if found.ndim == 1 else None)


def ask_and_keep(model: BlackBox, images: np.ndarray, folder: str | Path) -> ModelAnswers:
    """Ask a model about images (n, 3, height, width) that it has not answered yet, and keep all.

    The same image is asked about once, and what the model does not see of an image is no part of
    it. What another version of the model answered is not used.
    """
    keys = [*map(image_key, model.seen(images))]
    with closing(AnswerCache(Path(folder), model.hash)) as cache:
        wanted = {key: row for row, key in enumerate(keys) if not cache.has(key)}
        # Silent, unless somebody looks at a terminal.
        look = {"unit": " images", "disable": None, "leave": False, "delay": 1}
        with tqdm(total=len(wanted), desc=model.name, **look) as bar:
            model.fill(cache, images, wanted, bar.update)
        return cache.answers(keys)
