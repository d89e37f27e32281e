"""What an image goes through before a network sees it, and whether another way suits it better.

A network that gets BGR for RGB, or 0–255 for 0–1, still answers, only worse, and perhaps worse for
some faces than for others. So nothing is assumed: size, channels, range, mean, spread, layout and
alignment stand in a `Preparation`, and `check_preparation` tries the others.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, Field, model_validator
from scipy.stats import norm, rankdata
from torch import Tensor
from torch.nn import functional

from helpers.utils.checks import require_shape

if TYPE_CHECKING:
    from faceaudit.models import LocalModel

_X = [38.2946, 73.5318, 56.0252, 41.5493, 70.7299]
_Y = [51.6963, 51.5014, 71.7366, 92.3655, 92.2041]
TEMPLATE = np.column_stack([_X, _Y])
"""Where ArcFace has the centres of both eyes, the tip of the nose and both corners of the mouth in
its images of 112 pixels (Deng et al. 2019). Left is left as the image shows it; x right and y down,
0 at the centre of the first pixel."""
TEMPLATE_SIZE = 112

# What the authors' own programs do. Files that go by the same names are about with other scales, so
# try them with `check_preparation` all the same. See to the licences: YuNet (MIT) and SFace (Apache
# 2.0) may be used freely; InsightFace's weights are for research without commerce.
PRESETS: dict[str, dict[str, Any]] = {
    "arcface": {"size": 112, "range": (-1.0, 1.0), "align": "arcface"},
    "sface": {"size": 112, "range": (0.0, 255.0), "align": "arcface"},
}
"""Preparations of public recognisers; nothing of them is shipped."""

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

    size: int | None = Field(None, gt=0)  # height and width, pixels
    channels: Literal["rgb", "bgr"] = "rgb"
    layout: Literal["nchw", "nhwc"] = "nchw"
    range: tuple[float, float] = (0.0, 1.0)  # what pixels of 0 to 255 become, before the mean
    mean: float | tuple[float, float, float] = 0.0
    std: float | tuple[float, float, float] = 1.0
    align: Literal["none", "arcface"] = "none"  # five points on the template
    preset: Literal["arcface", "sface"] | None = None  # a public recogniser's, for all of these

    @model_validator(mode="after")
    def _consistent(self) -> Preparation:
        if self.preset is not None:
            if other := self.model_fields_set - {"preset"}:
                told = f"{min(other)} is set by preset {self.preset}"
                raise ValueError(f"{told}; leave one of them out")
            self.__dict__.update(PRESETS[self.preset])
        if self.size is None:
            raise ValueError("size is missing, it, or the preset of a recogniser, was expected")
        fits = {
            "range": (self.range[0] < self.range[1], "the lower end first"),
            "std": (np.min(self.std) > 0, "positive numbers"),
        }
        for name, (fit, expected) in fits.items():
            if not fit:
                raise ValueError(f"{name} is {getattr(self, name)}, {expected} was expected")
        return self

    @property
    def by_points(self) -> bool:
        """Whether faces are aligned by five points."""
        return self.align == "arcface"

    @property
    def scale(self) -> float:
        """What pixels of 0 to 255 are multiplied by."""
        return (self.range[1] - self.range[0]) / 255

    @property
    def subtracted(self) -> float | list[float]:
        """What is subtracted from scaled pixels: one number, or three."""
        return (np.asarray(self.mean, float) - self.range[0]).tolist()

    def __call__(self, images: np.ndarray, points: np.ndarray | None = None) -> np.ndarray:
        """Prepare uint8 RGB images (n, 3, height, width).

        Args:
            images: what is prepared.
            points: for "arcface", five points of every face, float (n, 5, 2), see `aligned`.

        Returns:
            float32 (n, 3, size, size), or (n, size, size, 3) where the layout is "nhwc".

        Raises:
            ValueError: "arcface" without points.
        """
        pixels = self._cut(torch.from_numpy(np.ascontiguousarray(images)).float(), points)
        if self.channels == "bgr":
            pixels = pixels.flip(1)
        mean, std = (torch.tensor(v).expand(3).view(3, 1, 1) for v in (self.subtracted, self.std))
        ready = (pixels * self.scale - mean) / std
        ready = ready.permute(0, 2, 3, 1) if self.layout == "nhwc" else ready
        return np.ascontiguousarray(ready.numpy(), dtype=np.float32)

    def ends(self) -> np.ndarray:
        """What pixels of 0 and of 255 become, (2, 3): a row for each, a column per channel."""
        pixels = np.array([[0.0], [255.0]])
        return np.broadcast_to((pixels * self.scale - np.array(self.subtracted)) / self.std, (2, 3))

    def card(self) -> dict[str, Any]:
        """What is done to images, as JSON takes it."""
        fields = {"size": self.size, "channels": self.channels}
        fields |= {"scale": self.scale, "mean": self.subtracted}
        fields |= {name: getattr(self, name) for name in ("std", "layout", "align")}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in fields.items()}

    def _cut(self, pixels: Tensor, points: np.ndarray | None) -> Tensor:
        """The part of the images that the network sees, at its size, still 0–255."""
        if self.by_points:
            if points is None:
                raise ValueError(
                    "input.align is arcface, which needs five points of every face: name columns "
                    "with the points (columns.points)"
                )
            return aligned(pixels, np.asarray(points, float), self.size)
        shape, how = (self.size, self.size), {"mode": "bilinear", "antialias": True}
        if pixels.shape[2:] == shape:
            return pixels
        return functional.interpolate(pixels, shape, **how).clamp(0, 255)


def similarity_transform(points: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The turn (with scale) and the shift that bring points nearest to a goal, by least squares.

    Umeyama, IEEE Transactions on Pattern Analysis and Machine Intelligence 13 (1991), in the plane
    and without mirroring: with points (n, k, 2) as complex numbers x + iy it is the regression of
    the goal (k, 2) on them. Both are complex, (n,): a point z goes to turn · z + shift.
    """
    here, there = points[..., 0] + 1j * points[..., 1], goal[..., 0] + 1j * goal[..., 1]
    centred = here - here.mean(1, keepdims=True)
    spread = (np.abs(centred) ** 2).sum(1)
    if not (spread > 0).all():
        row = int((~(spread > 0)).argmax())
        raise ValueError(f"points, row {row}: all lie in one place or are missing")
    turn = (centred.conj() * (there - there.mean())).sum(1) / spread
    return turn, there.mean() - turn * here.mean(1)


def aligned(images: Tensor, points: np.ndarray, size: int = TEMPLATE_SIZE) -> Tensor:
    """Images warped so that five points lie on ArcFace's template; black where nothing was.

    Images are float (n, 3, height, width), points (n, 5, 2) in pixels, in the order and by the axes
    of `TEMPLATE`, which is scaled to the size. Bilinear.
    """
    require_shape(points, "points", (len(images), 5, 2))
    turn, shift = similarity_transform(points, (TEMPLATE + 0.5) * (size / TEMPLATE_SIZE) - 0.5)
    # Every pixel of the result asks where it comes from.
    grid = np.arange(size) + 1j * np.arange(size)[:, None]
    source = (grid - shift[:, None, None]) / turn[:, None, None]
    sides = np.array([images.shape[3], images.shape[2]])
    place = (2 * np.stack([source.real, source.imag], -1) + 1) / sides - 1
    place = torch.from_numpy(place).float()
    return functional.grid_sample(images.float(), place, mode="bilinear", align_corners=False)


def check_preparation(
    model: LocalModel, images: np.ndarray, groups: ArrayLike, points: np.ndarray | None = None
) -> pd.DataFrame:
    """Try a model behind other channels and ranges: does one of them separate better?

    Separation is the probability that a face of class 1 scores higher than one of class 0 (of a
    recogniser: that two images of one person are more similar than images of two). Differences are
    judged by a jackknife over faces (people), with Bonferroni's correction.

    Args:
        model: one that computes here.
        images: uint8 (n, 3, height, width), fifty or more, of known class or person.
        groups: (n,) 0 or 1, the class; of a recogniser, whose face it is: three people or more,
            some with several images.
        points: (n, 5, 2), for `align` "arcface".

    Returns:
        One row per preparation, the declared one first: channels, pixels (the range), separation,
        gain over the declared one, and its one-sided lower limit `low`. Where a model refuses to
        answer, separation is missing.
    """
    n, units = len(images), np.unique(groups, return_inverse=True)[1]
    person = units if model.reading.gives == "embedding" else None
    labels, units = np.asarray(groups), np.arange(n) if person is None else units
    left_out = [np.ones(n, bool), *(units != unit for unit in range(units.max() + 1))]
    rows, found = [], []
    for name, preparation in _preparations(model.preparation):
        try:
            values, _ = model.prepared_by(preparation).ask(images, points)
            found.append([_separation(values, labels, person, used) for used in left_out])
        except ValueError:  # a model may refuse what was not declared
            if not rows:
                raise
            found.append([np.nan] * len(left_out))
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
    best, first = better.loc[better["separation"].idxmax()], table.iloc[0]
    return (
        f"with the preparation {best['channels']}, pixels {best['pixels']}, it separates faces "
        f"better ({best['separation']:.3f}) than with the declared one "
        f"({first['separation']:.3f}, {first['channels']}); check input.channels and input.range "
        "against the model's training"
    )


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


def _separation(
    values: np.ndarray, labels: np.ndarray, person: np.ndarray | None, used: np.ndarray
) -> float:
    """P(score of class 1 > score of class 0), or P(similarity within a person > between two)."""
    used = used & np.isfinite(values.reshape(len(values), -1)).all(1)
    values, labels = values[used], labels[used]
    if person is not None:
        person = person[used]
        unit = values / np.linalg.norm(values, axis=1, keepdims=True).clip(1e-12)
        first, second = np.triu_indices(len(unit), 1)
        values, labels = (unit @ unit.T)[first, second], person[first] == person[second]
    ones, zeros = (labels == 1).sum(), (labels == 0).sum()
    if not ones or not zeros:
        return np.nan
    # Ties are a half: Mann and Whitney's U.
    return (rankdata(values)[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * zeros)
