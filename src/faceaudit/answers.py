"""What models answer about images: how outputs are read, and answers kept by model and image.

Logits where probabilities were promised would pass as scores that are too certain, and a constant
as a model without bias; so both are refused by name.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import expit, softmax
from tqdm import tqdm

from faceaudit.model_input import Preparation
from helpers.models.training import check_images

Activation = Literal["none", "sigmoid", "softmax"]
Gives = Literal["probability", "embedding"]

NO_FACE = "no face found"
"""The reason of a missing answer that is an outcome; any other reason is a failed call."""
ROUNDING = 1e-5
"""How far off [0, 1] a float32 probability may be by rounding."""
ENOUGH_TO_WONDER = 20
"""Logits of so many images hardly all lie in [0, 1]."""

# tqdm's own lock is for several processes, and a kernel that ends leaves it to the system.
tqdm.set_lock(threading.RLock())


class Answers(NamedTuple):
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
        gives: "probability" of the positive class, or "embedding".
        activation: "none" if the outputs are probabilities already; "sigmoid" or "softmax" (over
            the classes) if they are logits.
        index: which column is the positive class, from 0; None if there is but one.
    """

    gives: Gives = "probability"
    activation: Activation = "none"
    index: int | None = None

    def __call__(self, raw: Any, n: int, name: str, missing: bool = False) -> np.ndarray:
        """Answers about n images, float64 (n,) or (n, d); `missing`: NaN stands for "no face".

        Raises:
            ValueError: outputs of another shape, or that are no probabilities or no vectors.
        """
        try:
            rows = np.asarray(raw).astype(np.float64)
        except (TypeError, ValueError):
            kind = getattr(raw, "dtype", type(raw).__name__)
            raise ValueError(f"{name}: answers of type {kind}, numbers were expected") from None
        if rows.ndim == 0 or len(rows) != n or not rows.size:
            raise ValueError(f"{name}: shape {rows.shape} for {n} images, {n} rows were expected")
        rows = rows.reshape(n, -1)
        silent = np.isnan(rows).all(1) if missing else np.zeros(n, bool)
        if (bad := ~np.isfinite(rows) & ~silent[:, None]).any():
            row, column = np.argwhere(bad)[0]
            raise ValueError(
                f"{name}: the answer for image {row} of the batch is {rows[row, column]}, "
                "finite numbers were expected"
            )
        if self.gives == "probability":
            return self._score(rows, name)
        if rows.shape[1] < 2:
            raise ValueError(f"{name}: one number an image is no vector of a face")
        return rows

    def _score(self, rows: np.ndarray, name: str) -> np.ndarray:
        classes = rows.shape[1]
        if self.index is None and classes > 1:
            raise ValueError(
                f"{name}: {classes} numbers an image; say which one is the positive class "
                f"(output.index, 0 to {classes - 1})"
            )
        index = self.index or 0
        if not 0 <= index < classes:
            raise ValueError(
                f"{name}: output.index is {index}, but there are {classes} numbers an image"
            )
        if self.activation == "softmax":
            if classes < 2:
                raise ValueError(
                    f"{name}: one number an image, which softmax always makes 1; "
                    "set output.activation to sigmoid"
                )
            return softmax(rows, axis=1)[:, index]
        score = rows[:, index]
        return expit(score) if self.activation == "sigmoid" else as_promised(score, name)

    def warn_of_probabilities(self, raw: np.ndarray, name: str) -> None:
        """Warn if an activation is applied to what look like probabilities already."""
        rows = np.asarray(raw, float).reshape(len(raw), -1)
        inside = rows.min() >= 0 and rows.max() <= 1
        sums = np.allclose(rows.sum(1), 1, atol=1e-3) or self.activation == "sigmoid"
        if self.activation != "none" and inside and sums and len(rows) >= ENOUGH_TO_WONDER:
            warnings.warn(
                f"{name}: all outputs lie in [0, 1], as probabilities do, and output.activation is "
                f"{self.activation}; if they are probabilities, set it to none",
                stacklevel=3,
            )


def as_promised(score: np.ndarray, name: str) -> np.ndarray:
    """Probabilities, as they are; NaN stays. ValueError for numbers outside [0, 1]."""
    if ((score < -ROUNDING) | (score > 1 + ROUNDING)).any():
        low, high = np.nanmin(score), np.nanmax(score)
        raise ValueError(
            f"{name}: answers from {low:.4g} to {high:.4g}, probabilities in [0, 1] were promised "
            "(output.activation none); set it to sigmoid or softmax if they are logits"
        )
    return score.clip(0, 1)


class BlackBox(ABC):
    """A model of which nothing is known but its answers.

    Args:
        name: for messages, for example the file's.
        said: what the model is, for the card: whatever changes its answers.
        reading: how its outputs are read.
        preparation: what images go through before; None: it is not ours to say.
    """

    def __init__(
        self,
        name: str,
        said: dict[str, Any],
        reading: Reading,
        preparation: Preparation | None = None,
    ) -> None:
        self.name, self.said, self.reading, self.preparation = name, said, reading, preparation

    @property
    def hash(self) -> str:
        """SHA-256 of all that the answers depend on; the name of a file is no part of it."""
        matters = {name: part for name, part in self.said.items() if name != "file"}
        said = json.dumps([matters, asdict(self.reading)], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()

    def card(self) -> dict[str, Any]:
        """What the model is, as JSON takes it: kind, file, SHA-256, preparation, output, hash."""
        return {"name": self.name, **self.said, "output": asdict(self.reading), "hash": self.hash}

    @abstractmethod
    def fill(
        self,
        cache: AnswerCache,
        images: np.ndarray,
        points: np.ndarray | None,
        wanted: dict[str, int],
        done: Callable[[int], Any],
    ) -> None:
        """Put answers into a cache.

        Args:
            cache: that keeps them.
            images: uint8 (n, 3, height, width).
            points: float (n, 5, 2), or None.
            wanted: row by key, of the images that lack an answer.
            done: is told how many more of them are done.
        """


def image_key(image: np.ndarray, points: np.ndarray | None = None) -> str:
    """SHA-256 of an image's pixels and shape, and of the points that it is aligned by.

    Not of its PNG: the same pixels give other bytes with another version of zlib, and would be
    asked about, and paid for, again.

    Args:
        image: uint8 (3, height, width).
        points: (5, 2), if the model is given any.
    """
    digest = hashlib.sha256(f"{image.dtype} {image.shape} ".encode())
    digest.update(np.ascontiguousarray(image))
    if points is not None:
        digest.update(np.asarray(points, "<f8").tobytes())
    return digest.hexdigest()


class AnswerCache:
    """One model's answers by image, in a SQLite file that models and processes may share.

    Each call is a row that is written when `add` returns, so that a kill at any moment loses no
    answer; a power cut may lose the last ones. Rows hold the numbers that were read and a reason of
    our own words, and nothing else of what an endpoint said, which may repeat a key.

    Args:
        folder: of the file `answers.sqlite`.
        model: hash of the model.

    Attributes:
        calls: how often the model was asked, failed calls included.
    """

    def __init__(self, folder: Path, model: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self._model = folder / "answers.sqlite", model
        self._base = sqlite3.connect(self.path, timeout=60)
        # Nothing waits for the disk: the system writes on when this process is killed.
        self._base.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        self._base.execute(
            "CREATE TABLE IF NOT EXISTS calls (model TEXT, image TEXT, value BLOB, reason TEXT, "
            "time TEXT DEFAULT CURRENT_TIMESTAMP)"
        )
        self._base.execute("CREATE INDEX IF NOT EXISTS by_model ON calls (model)")
        self._found: dict[str, tuple[bytes | None, str]] = {}
        self.calls = 0
        rows = "SELECT image, value, reason FROM calls WHERE model = ? ORDER BY rowid"
        for row in self._base.execute(rows, [model]):
            self._take(*row)

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def add(self, keys: Sequence[str], values: Sequence[Any], reasons: Sequence[str]) -> None:
        """Keep one row for each image; a value counts where the reason is ""."""
        rows = [
            (key, None if reason else np.asarray(value, "<f8").tobytes(), str(reason))
            for key, value, reason in zip(keys, values, reasons, strict=True)
        ]
        with self._base:
            insert = "INSERT INTO calls (model, image, value, reason) VALUES (?, ?, ?, ?)"
            self._base.executemany(insert, [(self._model, *row) for row in rows])
        for row in rows:
            self._take(*row)

    def has(self, key: str) -> bool:
        """Whether an image has an answer; a failed call is none."""
        return key in self._found and self._found[key][1] in ("", NO_FACE)

    @property
    def answered(self) -> bool:
        """Whether any image has an answer."""
        return any(map(self.has, self._found))

    def answers(self, keys: Sequence[str]) -> Answers:
        """What is kept of images, in their order."""
        values = [np.frombuffer(self._found[key][0] or b"", "<f8") for key in keys]
        width = max(map(len, values), default=0)
        if odd := [len(value) for value in values if len(value) not in (0, width)]:
            raise ValueError(
                f"{self.path}: vectors of {odd[0]} and of {width} numbers, one length was expected"
            )
        filled = np.full((len(keys), max(width, 1)), np.nan)
        for row, value in enumerate(values):
            filled[row, : len(value)] = value
        reasons = np.array([self._found[key][1] for key in keys], str)
        return Answers(filled if width > 1 else filled[:, 0], reasons)

    def _take(self, key: str, value: bytes | None, reason: str) -> None:
        self.calls += 1
        if not self.has(key) or reason in ("", NO_FACE):
            self._found[key] = value, reason


def has_answers(folder: Path) -> bool:
    """Whether a model was asked and something is kept of it, in a folder of answers."""
    path = folder / "answers.sqlite"
    if not path.is_file():
        return False
    with closing(sqlite3.connect(path)) as base:
        return bool(base.execute("SELECT EXISTS (SELECT * FROM calls)").fetchone()[0])


def ask_and_keep(
    model: BlackBox, images: np.ndarray, folder: str | Path, points: np.ndarray | None = None
) -> Answers:
    """Ask a model about images that it has not answered yet, and keep what it says.

    Args:
        model: the one that is asked.
        images: uint8 (n, 3, height, width), an array or a memory map; the same image is asked
            about once.
        folder: where answers are kept. What another version of the model answered is not used.
        points: (n, 5, 2), for `align` "arcface"; other points are another image.

    Returns:
        Answers and reasons of all images, in their order.

    Raises:
        ValueError: as of the model; what it answered before is kept.
    """
    check_images(images)
    given = [None] * len(images) if points is None else list(np.asarray(points, float))
    keys = [image_key(*both) for both in zip(images, given, strict=True)]
    with closing(AnswerCache(Path(folder), model.hash)) as cache:
        wanted: dict[str, int] = {}
        for row, key in enumerate(keys):
            if not cache.has(key):
                wanted.setdefault(key, row)
        # Silent, unless somebody looks at a terminal.
        look = {"unit": " images", "disable": None, "leave": False, "delay": 1}
        with tqdm(total=len(wanted), desc=model.name, **look) as bar:
            model.fill(cache, images, points, wanted, bar.update)
        return cache.answers(keys)
