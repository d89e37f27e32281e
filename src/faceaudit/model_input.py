"""What an image goes through before a network sees it, and whether another way suits it better.

A network that gets BGR for RGB, or 0–255 for 0–1, still answers, only worse, and perhaps worse for
some faces than for others. So nothing is assumed: size, channels, range, mean, spread and layout
stand in a `Preparation`, and `check_preparation` tries the others.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError
from scipy.stats import norm, rankdata

from faceaudit.wording import told

if TYPE_CHECKING:
    from faceaudit.models import LocalModel

RANGES = {"0 to 255": (0.0, 255.0), "0 to 1": (0.0, 1.0), "−1 to 1": (-1.0, 1.0)}
"""The usual ones."""
FALSE_ALARMS = 0.01
"""How often a right preparation is warned of, at most, over all that are tried."""


class Strict(BaseModel):
    """A part of the file: unknown keys are errors, and nothing changes after reading.

    Messages of faults begin with the key; what stands before it is added by `in_words`.
    """

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, content: Any) -> Any:
        known = cls.model_fields
        for key in content if isinstance(content, dict) else []:
            if key not in known:
                close = difflib.get_close_matches(str(key), known, 1)
                hint = f" (did you mean {close[0]}?)" if close else ""
                raise ValueError(f"{key} is no key here{hint}; allowed are {', '.join(known)}")
        return content


def such(fits: Callable[[Any], Any], expected: str) -> AfterValidator:
    """A check whose failure is told by what was expected."""

    def checked(value: Any) -> Any:
        if not fits(value):
            raise PydanticCustomError("unfit", expected)
        return value

    return AfterValidator(checked)


Span = Annotated[tuple[float, float], such(lambda ends: ends[0] < ends[1], "the lower end first")]
Numbers = float | tuple[float, float, float]
"""One for all channels, or one for each."""


class Preparation(Strict):
    """How uint8 RGB images become what a network takes; the block `input` of an audit file.

    Pixels of 0 to 255 are brought to `range`; then `mean` is subtracted, and `std` divides. Mean
    and spread stand in the network's order of channels.

    Raises:
        ValueError: a field that is none, by name.

    Example:
        >>> ready = Preparation(size=32, range=(-1, 1))(np.zeros((2, 3, 64, 64), np.uint8))
        >>> ready.shape, float(ready[0, 0, 0, 0])
        ((2, 3, 32, 32), -1.0)
    """

    size: int = Field(gt=0)  # height and width, pixels
    channels: Literal["rgb", "bgr"] = "rgb"
    layout: Literal["nchw", "nhwc"] = "nchw"
    range: Span = (0.0, 1.0)  # what pixels of 0 to 255 become, before the mean
    mean: Numbers = 0.0
    std: Annotated[Numbers, such(lambda std: np.min(std) > 0, "positive numbers")] = 1.0

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """Prepare uint8 RGB images (n, 3, height, width).

        Args:
            images: what is prepared.

        Returns:
            float32 (n, 3, size, size), or (n, size, size, 3) where the layout is "nhwc".
        """
        import torch  # an audit of a table does without
        from torch.nn import functional

        pixels = torch.from_numpy(images.astype(np.float32))
        if pixels.shape[2:] != (self.size, self.size):
            how = {"mode": "bilinear", "antialias": True}
            pixels = functional.interpolate(pixels, (self.size, self.size), **how).clamp(0, 255)
        if self.channels == "bgr":
            pixels = pixels.flip(1)
        scale, *ends = self._scaling()
        mean, std = (torch.tensor(v).expand(3).view(3, 1, 1) for v in ends)
        ready = (pixels * scale - mean) / std
        ready = ready.permute(0, 2, 3, 1) if self.layout == "nhwc" else ready
        return np.ascontiguousarray(ready.numpy(), dtype=np.float32)

    def ends(self) -> np.ndarray:
        """What pixels of 0 and of 255 become, (2, 3): a row for each, a column per channel."""
        scale, mean, std = self._scaling()
        return np.broadcast_to((np.array([[0.0], [255.0]]) * scale - mean) / std, (2, 3))

    def _scaling(self) -> tuple[float, Any, Any]:
        """What pixels of 0 to 255 are multiplied by, what is subtracted then, and what divides."""
        low, high = self.range
        return (high - low) / 255, (np.asarray(self.mean, float) - low).tolist(), self.std


def check_preparation(model: LocalModel, images: np.ndarray, groups: ArrayLike) -> pd.DataFrame:
    """Try a model behind other channels and ranges: does one of them separate better?

    Separation is the probability that a face of class 1 scores higher than one of class 0 (of a
    recogniser: that two images of one person are more similar than images of two). Differences are
    judged by a jackknife over faces (people), with Bonferroni's correction.

    Args:
        model: one that computes here.
        images: uint8 (n, 3, height, width), fifty or more, of known class or person.
        groups: (n,) 0 or 1, the class; of a recogniser, whose face it is: three people or more,
            some with several images.

    Returns:
        One row per preparation, the declared one first: channels, pixels (the range), separation,
        gain over the declared one, and its one-sided lower limit `low`. Where a model refuses to
        answer, separation is missing.
    """
    rows, found, of_people = [], [], model.reading.gives == "embedding"
    for name, preparation in _preparations(model.preparation):
        try:
            values, _ = replace(model, preparation=preparation).ask(images)
            found.append(_separations(values, np.asarray(groups), of_people))
        except ValueError:  # a model may refuse what was not declared
            if not rows:
                raise
            found.append(np.full_like(found[0], np.nan))
        rows.append({"channels": preparation.channels, "pixels": name, "separation": found[-1][0]})
    table, gain = pd.DataFrame(rows), np.array(found) - found[0]
    table["gain"], without = gain[:, 0], gain[:, 1:]
    error = np.sqrt((without.shape[1] - 1) * without.var(axis=1))
    table["low"] = table["gain"] - norm.isf(FALSE_ALARMS / max(len(rows) - 1, 1)) * error
    return table


def better_preparation(table: pd.DataFrame) -> str:
    """Say which row of `check_preparation` separates better than the declared one, or ""."""
    better = table[table["low"] > 0]
    if better.empty:
        return ""
    best = better.loc[better["separation"].idxmax()]
    return told("better_preparation", best, table.iloc[0])[0]


def _preparations(declared: Preparation) -> Iterator[tuple[str, Preparation]]:
    """The declared one, then those that differ in channels or range."""
    other = {"rgb": "bgr", "bgr": "rgb"}[declared.channels]
    both = [declared, declared.model_copy(update={"channels": other})]
    yield from (("as declared", one) for one in both)
    for one in both:
        for name, ends in RANGES.items():
            tried = one.model_copy(update={"range": ends, "mean": 0.0, "std": 1.0})
            if not np.allclose(tried.ends(), one.ends()):
                yield name, tried


def _separations(values: np.ndarray, groups: np.ndarray, of_people: bool) -> np.ndarray:
    """The separation by all answers, then without each face; of a recogniser, each person."""
    first = second = unit = np.arange(len(values))
    scores, ones = values, groups == 1
    if of_people:
        unit = np.unique(groups, return_inverse=True)[1]
        first, second = np.triu_indices(len(values), 1)
        direction = values / np.linalg.norm(values, axis=1, keepdims=True).clip(1e-12)
        scores, ones = (direction @ direction.T)[first, second], unit[first] == unit[second]
    known = np.isfinite(scores)
    without = (known & (unit[first] != one) & (unit[second] != one) for one in np.unique(unit))
    return np.array([separation(scores[used], ones[used]) for used in (known, *without)])


def separation(scores: ArrayLike, ones: np.ndarray) -> float:
    """P(score of a one > score of another), NaN without both; ties are a half (Mann–Whitney U)."""
    n, others = ones.sum(), (~ones).sum()
    if not n or not others:
        return np.nan
    return (rankdata(scores)[ones].sum() - n * (n + 1) / 2) / (n * others)
