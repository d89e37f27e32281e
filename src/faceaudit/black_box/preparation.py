"""What an image goes through before a network sees it, written down in the model's card.

A network that gets BGR for RGB, or 0–255 for 0–1, still answers, only worse, and perhaps worse for
some faces than for others. So nothing is assumed: size, channels, scale, mean, spread, layout and
alignment stand in a `Preparation`, and `check_preparation` (chapter 20) tries the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from faceaudit.black_box.alignment import aligned
from helpers.utils.checks import check_number, check_positive, check_whole

Channels = Literal["rgb", "bgr"]
Layout = Literal["nchw", "nhwc"]
Align = Literal["none", "crop", "arcface"]


@dataclass(frozen=True)
class Preparation:
    """How uint8 RGB images become what a network takes: `(pixels · scale − mean) / std`.

    Args:
        size: height and width that the network takes, pixels; None: as the images are.
        channels: the order that the network takes, "rgb" or "bgr".
        scale: what pixels of 0 to 255 are multiplied by: 1/255 for 0–1, 1 for 0–255.
        mean: subtracted after scaling: one number, or three in the network's order of channels.
        std: divided by then, likewise; positive.
        layout: "nchw" or "nhwc".
        align: "none"; "crop", the part of every image that `box` says; "arcface", turned, scaled
            and shifted so that five points of the face lie on the template of ArcFace.
        box: left, top, right and bottom of the crop, in parts of the width and the height.
        flip_average: whether the answers for an image and its mirror image are averaged.

    Raises:
        ValueError: a field that is none of these, by name.

    Example:
        >>> import numpy as np
        >>> from faceaudit import black_box
        >>> prepare = black_box.Preparation(size=32, scale=1 / 127.5, mean=1.0)
        >>> ready = prepare(np.zeros((2, 3, 64, 64), np.uint8))
        >>> ready.shape, float(ready[0, 0, 0, 0])
        ((2, 3, 32, 32), -1.0)
    """

    size: int | None = None
    channels: Channels = "rgb"
    scale: float = 1 / 255
    mean: float | tuple[float, float, float] = 0.0
    std: float | tuple[float, float, float] = 1.0
    layout: Layout = "nchw"
    align: Align = "none"
    box: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)
    flip_average: bool = False

    def __post_init__(self) -> None:
        if self.size is not None:
            check_whole("preparation.size", self.size, least=1)
        for name, kind in (("channels", Channels), ("layout", Layout), ("align", Align)):
            if (found := getattr(self, name)) not in get_args(kind):
                raise ValueError(
                    f"preparation.{name} is {found!r}, one of {', '.join(get_args(kind))} was "
                    "expected"
                )
        check_positive("preparation.scale", self.scale)
        for name in ("mean", "std"):
            object.__setattr__(self, name, _per_channel(name, getattr(self, name)))
        if min(np.atleast_1d(self.std)) <= 0:
            raise ValueError(f"preparation.std is {self.std}, positive numbers were expected")
        object.__setattr__(self, "box", _checked_box(self.box))
        if self.align == "arcface" and self.size is None:
            raise ValueError("preparation.align is arcface, which needs a size, 112 as a rule")
        if not isinstance(self.flip_average, bool):
            raise ValueError(
                f"preparation.flip_average is {self.flip_average!r}, true or false was expected"
            )

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
        mean, std = (torch.tensor(v).expand(3).view(3, 1, 1) for v in (self.mean, self.std))
        ready = (pixels * self.scale - mean) / std
        ready = ready.permute(0, 2, 3, 1) if self.layout == "nhwc" else ready
        return np.ascontiguousarray(ready.numpy(), dtype=np.float32)

    def mirrored(self, ready: np.ndarray) -> np.ndarray:
        """Prepared images, left and right exchanged."""
        return np.ascontiguousarray(np.flip(ready, 3 if self.layout == "nchw" else 2))

    def ends(self) -> np.ndarray:
        """What pixels of 0 and of 255 become, (2, 3): a row for each, a column per channel."""
        pixels = np.array([[0.0], [255.0]])
        return np.broadcast_to((pixels * self.scale - np.array(self.mean)) / self.std, (2, 3))

    def card(self) -> dict[str, Any]:
        """All fields, as JSON takes them."""
        fields = asdict(self)
        return {name: list(v) if isinstance(v, tuple) else v for name, v in fields.items()}

    def _cut(self, pixels: Tensor, points: np.ndarray | None) -> Tensor:
        """The part of the images that the network sees, at its size, still 0–255."""
        if self.align == "arcface":
            if points is None:
                raise ValueError(
                    "preparation.align is arcface, which needs five points of every face: pass "
                    "`points`, or give the model something that finds them"
                )
            return aligned(pixels, torch.from_numpy(np.asarray(points, float)), self.size)
        if self.align == "crop":
            height, width = pixels.shape[2:]
            left, top, right, bottom = self.box
            rows = slice(round(top * height), max(round(bottom * height), round(top * height) + 1))
            columns = slice(round(left * width), max(round(right * width), round(left * width) + 1))
            pixels = pixels[:, :, rows, columns]
        if self.size is None or pixels.shape[2:] == (self.size, self.size):
            return pixels
        shape = (self.size, self.size)
        resized = functional.interpolate(
            pixels, shape, mode="bilinear", antialias=True, align_corners=False
        )
        return resized.clamp(0, 255)


def _per_channel(name: str, value: Any) -> float | tuple[float, ...]:
    """One finite number, or three."""
    parts = list(value) if isinstance(value, Sequence | np.ndarray) else [value]
    if len(parts) not in (1, 3) or isinstance(value, str):
        raise ValueError(f"preparation.{name} is {value!r}, one number or three were expected")
    for part in parts:
        if not math.isfinite(check_number(f"preparation.{name}", part)):
            raise ValueError(f"preparation.{name} is {value!r}, finite numbers were expected")
    return float(parts[0]) if len(parts) == 1 else tuple(float(part) for part in parts)


def _checked_box(box: Any) -> tuple[float, ...]:
    try:
        left, top, right, bottom = (float(side) for side in box)
        good = 0 <= left < right <= 1 and 0 <= top < bottom <= 1
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ValueError(
            f"preparation.box is {box!r}; left, top, right and bottom in parts of the image were "
            "expected, 0 ≤ left < right ≤ 1 and 0 ≤ top < bottom ≤ 1"
        )
    return left, top, right, bottom
