"""What a network puts out, made into answers, and what cannot be one, said in one sentence.

An answer is a probability in [0, 1], or the vector of a face. Logits where probabilities were
promised would pass as scores that are too certain, and a constant as a model without bias; so both
are refused by name. Chapter 20 asks models through it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.special import expit, softmax

from helpers.utils.checks import check_whole

Activation = Literal["none", "sigmoid", "softmax"]
Gives = Literal["probability", "embedding"]

NO_FACE = "no face found"
"""The reason of a missing answer that is an outcome; any other reason is a failed call."""
ROUNDING = 1e-5
"""How far off [0, 1] a float32 probability may be by rounding."""
ENOUGH_TO_WONDER = 20
"""Logits of so many images hardly all lie in [0, 1]."""


class Answers(NamedTuple):
    """What a model answered, with a reason where it did not.

    Attributes:
        values: float64, (n,) probabilities in [0, 1] or (n, d) vectors; NaN where there is no
            answer.
        reasons: (n,) words: "" where there is an answer, `NO_FACE`, or why the call failed.

    Example:
        >>> import numpy as np
        >>> from faceaudit import black_box
        >>> answers = black_box.Answers(np.array([0.2, np.nan]), np.array(["", black_box.NO_FACE]))
        >>> answers.reasons.tolist()
        ['', 'no face found']
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

    Raises:
        ValueError: another activation, or an index that is none.

    Example:
        >>> import numpy as np
        >>> from faceaudit import black_box
        >>> reading = black_box.Reading(activation="softmax", index=1)
        >>> reading(np.array([[0.0, 0.0], [-50.0, 50.0]]), n=2, name="model.onnx").tolist()
        [0.5, 1.0]
    """

    gives: Gives = "probability"
    activation: Activation = "none"
    index: int | None = None

    def __post_init__(self) -> None:
        for field, kind in (("gives", Gives), ("activation", Activation)):
            if (found := getattr(self, field)) not in get_args(kind):
                allowed = ", ".join(get_args(kind))
                raise ValueError(f"output.{field} is {found!r}, one of {allowed} was expected")
        if self.index is not None:
            check_whole("output.index", self.index, least=0)
        if self.gives == "embedding" and (self.activation != "none" or self.index is not None):
            raise ValueError("output.activation and output.index are of no use for an embedding")

    def __call__(self, raw: np.ndarray, n: int, name: str, missing: bool = False) -> np.ndarray:
        """Answers of raw outputs, float64 (n,) or (n, d).

        Args:
            raw: what the model put out.
            n: how many images it was asked about.
            name: of the model and its output, for messages.
            missing: whether NaN may stand for "no answer".

        Raises:
            ValueError: outputs of another shape, or that are no probabilities or no vectors.
        """
        raw = _numbers(raw, name)
        if raw.ndim == 0 or len(raw) != n:
            raise ValueError(f"{name}: shape {raw.shape} for {n} images, {n} rows were expected")
        rows = raw.reshape(n, -1) if raw.size else raw.reshape(n, 0)
        if not rows.shape[1] and n:
            raise ValueError(f"{name}: shape {raw.shape} holds no answer")
        silent = np.isnan(rows).all(1) if missing else np.zeros(n, bool)
        if (bad := ~np.isfinite(rows) & ~silent[:, None]).any():
            row, column = np.argwhere(bad)[0]
            raise ValueError(
                f"{name}: the answer for image {row} of the batch is {rows[row, column]}, "
                "finite numbers were expected"
            )
        return self._vectors(rows, name) if self.gives == "embedding" else self._score(rows, name)

    def card(self) -> dict[str, Any]:
        """All fields, as JSON takes them."""
        return {"gives": self.gives, "activation": self.activation, "index": self.index}

    def _vectors(self, rows: np.ndarray, name: str) -> np.ndarray:
        if rows.shape[1] < 2 and len(rows):
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
        if index >= classes:
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
        if self.activation == "none":
            return
        rows = np.asarray(raw, float).reshape(len(raw), -1)
        inside = rows.min() >= 0 and rows.max() <= 1
        sums = np.allclose(rows.sum(1), 1, atol=1e-3) or self.activation == "sigmoid"
        if inside and sums and len(rows) >= ENOUGH_TO_WONDER:
            warnings.warn(
                f"{name}: all outputs lie in [0, 1], as probabilities do, and output.activation is "
                f"{self.activation}; if they are probabilities, set it to none",
                stacklevel=3,
            )


def as_promised(score: np.ndarray, name: str) -> np.ndarray:
    """Probabilities, as they are; NaN stays.

    Raises:
        ValueError: numbers outside [0, 1].
    """
    outside = (score < -ROUNDING) | (score > 1 + ROUNDING)
    if outside.any():
        low, high = np.nanmin(score), np.nanmax(score)
        raise ValueError(
            f"{name}: answers from {low:.4g} to {high:.4g}, probabilities in [0, 1] were promised "
            "(output.activation none); set it to sigmoid or softmax if they are logits"
        )
    return score.clip(0, 1)


def _numbers(raw: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(raw).astype(np.float64)
    except (TypeError, ValueError):
        kind = getattr(raw, "dtype", type(raw).__name__)
        raise ValueError(f"{name}: answers of type {kind}, numbers were expected") from None
