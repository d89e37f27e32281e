"""Preparations of public face models, and a detector; nothing of them is shipped (chapter 20).

What stands here is what their authors' own programs do. Files that go by the same names are about
with other scales, so try them with `check_preparation` all the same. See to the licences: YuNet
(MIT) and SFace (Apache 2.0) may be used freely; InsightFace's weights are for research without
commerce.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faceaudit.black_box.onnx_models import hashes, open_session
from faceaudit.black_box.preparation import Preparation
from helpers.utils.checks import check_range

ARCFACE = Preparation(size=112, scale=1 / 127.5, mean=1.0, align="arcface")
"""InsightFace's recognisers: RGB, (x − 127.5) / 127.5, five points."""
SFACE = Preparation(size=112, scale=1.0, align="arcface")
"""OpenCV's SFace: RGB, 0–255, five points; vectors of 128 numbers (Zhong et al. 2021)."""
PRESETS: dict[str, Preparation] = {"arcface": ARCFACE, "sface": SFACE}
"""By the names that an audit's file uses."""

STRIDES = (8, 16, 32)
MULTIPLE = 32
"""YuNet takes images whose sides are multiples of it."""
PARTS = ("cls", "obj", "kps")
ENOUGH = 0.6
"""Score from which on a face counts as found."""


def preset(name: str) -> Preparation:
    """The preparation of a public model.

    Args:
        name: "arcface" or "sface".

    Returns:
        The preparation.

    Raises:
        ValueError: no such preset.

    Example:
        >>> from faceaudit import black_box
        >>> black_box.preset("sface").scale
        1.0
    """
    if name not in PRESETS:
        raise ValueError(f"input.preset is {name!r}, one of {', '.join(PRESETS)} was expected")
    return PRESETS[name]


class FaceDetector:
    """The five points of the most certain face in each image, by a YuNet file.

    YuNet (Wu, Peng & Yu, Machine Intelligence Research 20, 2023) in the ONNX file of OpenCV's model
    zoo: BGR, 0–255, sides that are multiples of 32 (black is added on the right and below), twelve
    outputs. The score is √(class · object). Called with uint8 images (n, 3, height, width) it
    returns points, float64 (n, 5, 2), NaN where no face is found.

    Args:
        path: of the `.onnx` file.
        score: from which on a face counts as found, in [0, 1].

    Raises:
        ValueError: no readable file, or one with other outputs.

    Example:
        >>> from faceaudit import black_box
        >>> black_box.FaceDetector("nowhere.onnx")
        Traceback (most recent call last):
        ValueError: nowhere.onnx: no such file; model.path must name an ONNX file
    """

    def __init__(self, path: str | Path, score: float = ENOUGH) -> None:
        self.path, self.score = Path(path), check_range("score", score, 0, 1)
        self._session = open_session(self.path)
        self._outputs = [f"{part}_{stride}" for part in PARTS for stride in STRIDES]
        there = [one.name for one in self._session.get_outputs()]
        if missing := [name for name in self._outputs if name not in there]:
            raise ValueError(
                f"{path}: no output {missing[0]} among {', '.join(there)}; a YuNet file of "
                "OpenCV's model zoo was expected"
            )
        self._input = self._session.get_inputs()[0].name

    def __call__(self, images: np.ndarray) -> np.ndarray:
        padded = _padded(images[:, ::-1].astype(np.float32))
        points = np.full((len(images), 5, 2), np.nan)
        for row in range(len(images)):  # the zoo's file takes one image at a time
            raw = self._session.run(self._outputs, {self._input: padded[[row]]})
            found = dict(zip(self._outputs, raw, strict=True))
            points[row] = _best(found, padded.shape[3], self.score)
        return points

    def card(self) -> dict[str, str | float]:
        """File, SHA-256 and score."""
        return {"file": self.path.name, **hashes(self.path), "score": self.score}


def _padded(images: np.ndarray) -> np.ndarray:
    height, width = images.shape[2:]
    pad = ((0, 0), (0, 0), (0, -height % MULTIPLE), (0, -width % MULTIPLE))
    return np.ascontiguousarray(np.pad(images, pad))


def _best(found: dict[str, np.ndarray], width: int, least: float) -> np.ndarray:
    """Points (5, 2) of the face with the highest score; NaN if that is too low."""
    best, points = -1.0, np.full((5, 2), np.nan)
    for stride in STRIDES:
        cls, obj = (found[f"{part}_{stride}"].reshape(-1).clip(0, 1) for part in PARTS[:2])
        score = np.sqrt(cls * obj)
        cell = int(score.argmax())
        if score[cell] >= least and score[cell] > best:
            row, column = divmod(cell, width // stride)
            offsets = found[f"kps_{stride}"].reshape(-1, 5, 2)[cell]
            best, points = float(score[cell]), (offsets + np.array([column, row])) * stride
    return points
