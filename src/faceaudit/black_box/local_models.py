"""Models that compute here: what is the same for ONNX files and functions of Python.

Chapter 20 audits them. A model is called with uint8 RGB images (n, 3, height, width) and answers
float64 probabilities (n,) or vectors (n, d), NaN where it found no face; it tells its card and a
hash that stands for everything that its answers depend on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from faceaudit.black_box.answers import NO_FACE, Answers, Reading
from faceaudit.black_box.descriptions import described
from faceaudit.black_box.preparation import Preparation
from helpers.models.training import check_images
from helpers.utils.checks import check_whole, require_shape

Find = Callable[[np.ndarray], np.ndarray]
"""uint8 images (n, 3, height, width) → five points a face, float (n, 5, 2); NaN: no face found."""


class BlackBox:
    """A model of which nothing is known but its answers; the loaders of this room return them.

    Call it with uint8 RGB images (n, 3, height, width): float64 probabilities (n,), or vectors (n,
    d). A row is NaN where there is no answer, and `reasons` then says why for each image of the
    last call; `ask` returns both at once.

    Args:
        name: for messages, for example the file's.
        said: what the model is, for the card: whatever changes its answers.
        reading: how its outputs are read.

    Attributes:
        reasons: of the last call, (n,): "" where there is an answer.
    """

    def __init__(self, name: str, said: dict[str, Any], reading: Reading) -> None:
        self.name, self.reading = name, reading
        self._said = said
        self.reasons = np.array([], str)

    def ask(self, images: np.ndarray, points: np.ndarray | None = None) -> Answers:
        """Answers with reasons; see the class."""
        raise NotImplementedError

    def __call__(self, images: np.ndarray, points: np.ndarray | None = None) -> np.ndarray:
        answers = self.ask(images, points)
        self.reasons = answers.reasons
        return answers.values

    @property
    def hash(self) -> str:
        """SHA-256 of all that the answers depend on; the name of a file is no part of it."""
        matters = {name: part for name, part in self._said.items() if name != "file"}
        said = json.dumps([matters, self.reading.card()], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()

    def card(self) -> dict[str, Any]:
        """What the model is, as JSON takes it: kind, file, SHA-256, preparation, output, hash."""
        return {"name": self.name, **self._said, "output": self.reading.card(), "hash": self.hash}


class LocalModel(BlackBox):
    """A model that computes in this process, in batches.

    Args:
        name, said, reading: as of `BlackBox`.
        compute: prepared images (m, …) → raw outputs (m, …).
        preparation: what images go through; None: `compute` takes uint8 RGB as it comes.
        find: where the faces are, for `align` "arcface", if calls bring no points.
        batch: images at a time; it changes nothing but memory and rounding.
        missing: whether NaN of `compute` stands for "no face found"; otherwise it is an error.

    Example:
        >>> import numpy as np
        >>> from faceaudit import black_box
        >>> mean = lambda images: images.mean((1, 2, 3))
        >>> bright = black_box.LocalModel("bright", {}, mean, black_box.Preparation())
        >>> bright(np.full((2, 3, 8, 8), 255, np.uint8)).tolist()
        [1.0, 1.0]
    """

    def __init__(
        self,
        name: str,
        said: dict[str, Any],
        compute: Callable[[np.ndarray], np.ndarray],
        preparation: Preparation | None = None,
        reading: Reading | None = None,
        *,
        find: Find | None = None,
        batch: int = 64,
        missing: bool = False,
    ) -> None:
        check_whole("batch", batch, least=1)
        before = {"preparation": preparation.card()} if preparation else {}
        before |= {"find": described(find)} if find else {}
        super().__init__(name, {**said, **before}, reading or Reading())
        self.preparation, self._compute, self._find = preparation, compute, find
        self._batch, self._missing = batch, missing

    def ask(self, images: np.ndarray, points: np.ndarray | None = None) -> Answers:
        """Answers with reasons; `points` (n, 5, 2) for "arcface", NaN where no face was found."""
        check_images(images)
        if points is not None:
            points = np.asarray(points, float)
            require_shape(points, "points", (len(images), 5, 2))
        parts = []
        for at in range(0, len(images), self._batch):
            rows = slice(at, at + self._batch)
            some = np.ascontiguousarray(images[rows])
            parts.append(self._some(some, self._points(some, points, rows)))
        if not parts:
            return Answers(np.empty(0), np.array([], str))
        # Of a batch without any face the width of a vector is not known.
        width = max((part.shape[1:] for part in parts), default=())
        filled = [part if part.shape[1:] == width else _blank(len(part), width) for part in parts]
        values = np.concatenate(filled)
        silent = np.isnan(values.reshape(len(values), -1)).any(1)
        return Answers(values, np.where(silent, NO_FACE, ""))

    def _points(
        self, images: np.ndarray, points: np.ndarray | None, rows: slice
    ) -> np.ndarray | None:
        """The points of one batch, if they are wanted: those that were passed, or found."""
        if self.preparation is None or self.preparation.align != "arcface":
            return None
        if points is not None:
            return points[rows]
        return None if self._find is None else self._find(images)

    def _some(self, images: np.ndarray, points: np.ndarray | None) -> np.ndarray:
        """Answers for one batch."""
        found = (
            np.isfinite(points).all((1, 2)) if points is not None else np.ones(len(images), bool)
        )
        if not found.any():
            return _blank(len(images), () if self.reading.gives == "probability" else (1,))
        given = self.answer(
            self.raw(images[found], None if points is None else points[found]), found.sum()
        )
        values = _blank(len(images), given.shape[1:])
        values[found] = given
        return values

    def raw(self, images: np.ndarray, points: np.ndarray | None = None) -> list[np.ndarray]:
        """Outputs before they are read: of the images and, where averaged, of their mirrors."""
        if self.preparation is None:
            return [self._compute(images)]
        ready = self.preparation(images, points)
        mirrors = [self.preparation.mirrored(ready)] if self.preparation.flip_average else []
        return [self._compute(one) for one in (ready, *mirrors)]

    def answer(self, raw: list[np.ndarray], n: int) -> np.ndarray:
        """Outputs of `raw` for n images, read and averaged."""
        return np.mean([self.reading(one, n, self.name, self._missing) for one in raw], 0)

    def prepared_by(self, preparation: Preparation) -> LocalModel:
        """The same model behind another preparation."""
        before = ("preparation", "find")
        said = {name: part for name, part in self._said.items() if name not in before}
        return LocalModel(
            self.name,
            said,
            self._compute,
            preparation,
            self.reading,
            find=self._find,
            batch=self._batch,
            missing=self._missing,
        )


def _blank(n: int, width: tuple[int, ...]) -> np.ndarray:
    return np.full((n, *width), np.nan)
