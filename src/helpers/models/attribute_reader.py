"""A reader of attributes, for images that nobody has described.

Of the images of a learned generator no parameters are known. A network that was trained on renders
reads the attributes off them, and simulated raters look through it (see
`helpers.annotations.crowd_by_reader`). Its training faces have every attribute spread evenly and
independently of all others: a reader of correlated faces would guess one attribute from another,
say gender from hair, and report the correlation where the audited images do not have it. How far
its reading is off is measured on other renders (`reading_error`); on images that look unlike
renders it may be farther off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional

from helpers.annotations.schema import ATTRIBUTES
from helpers.faces import populations
from helpers.faces.maths import box_mean
from helpers.faces.parameters import HAIR_STYLES, INDEX, to_frame, visible_scores
from helpers.models import checkpoints
from helpers.models.training import Recipe, check_images, data_key, fit, one_cycle, to_float
from helpers.utils import seeding
from helpers.utils.checks import require_columns
from helpers.utils.devices import resolve_device

RECIPE = Recipe(50, 1.2e-2, 1e-2, one_cycle, recolour=False)
"""Colours stay as they are: skin and hair colour are among what is read."""
ALMOST = 0.1
"""A score that is read within a tenth of the scale counts as read, on the training's curve."""
Z95 = 1.96

SCENES = "celeba-like"
"""Population whose poses, light, backgrounds, identities and ancestry the faces have."""

JUDGED: tuple[str, ...] = tuple(name for name in ATTRIBUTES if name != "fakeness")
"""What raters judge and a reader can see; renders without artefacts have one fakeness only."""
_LOOKS = ("hair_colour",)
_WORN = ("earrings", "glasses")
READ: tuple[str, ...] = (*JUDGED, *_LOOKS, *_WORN)
"""What a reader reads, all in [0, 1]."""

Attributes = Callable[[np.ndarray], pd.DataFrame]
"""Any reader: uint8 images (n, 3, height, width) → scores (n, A) in [0, 1], a column each."""

STYLES = tuple(style for style in HAIR_STYLES if style != "covered")
"""Hair styles whose length is seen."""


def decorrelated_faces(n: int, seed: int) -> Tensor:
    """Faces whose attributes are independent of each other, and uniform over their whole range.

    Earrings and glasses are worn by every second face. Scenes and identities are those of the
    population `SCENES`. Children are among the faces, and so are bearded and made-up ones: without
    them a beard would tell the age. Face i depends on the seed and i alone, not on n.

    Args:
        n: number of faces.
        seed: the draw; use different seeds for training and held-out faces.

    Returns:
        The renderer's parameters, float32 (n, P).
    """
    parameters = populations.sample(SCENES, n, seed).parameters
    drawn = (*READ, "hair_style")
    u = seeding.uniforms(seed, "decorrelated faces", range(n), len(drawn)).T
    columns = dict(zip(drawn, u, strict=True))
    columns |= {name: columns[name] < 0.5 for name in _WORN}
    styles = np.array([HAIR_STYLES.index(style) for style in STYLES])
    columns["hair_style"] = styles[(columns["hair_style"] * len(styles)).astype(int)]
    for name, values in columns.items():
        parameters[:, INDEX[name]] = torch.from_numpy(values.astype(np.float32))
    return parameters


def scores_to_read(parameters: Tensor) -> pd.DataFrame:
    """What a perfect reader would read of renders: (n, `READ`), float64 in [0, 1].

    What raters judge is as it looks (`faces.visible_scores`): tied hair looks shorter than it is.
    """
    rest = to_frame(parameters)[[*_LOOKS, *_WORN]].astype(np.float64)
    return visible_scores(parameters)[list(JUDGED)].join(rest)


def _convolutions(*channels: int) -> nn.Sequential:
    """3×3 convolutions of stride 2, batch normalised."""
    layers: list[nn.Module] = []
    for before, after in pairwise(channels):
        convolution = nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False)
        layers += [convolution, nn.BatchNorm2d(after), nn.ReLU()]
    return nn.Sequential(*layers)


class ReadingNet(nn.Module):
    """Reads the whole image at half its resolution, and the face in it at full: (n, scores).

    A mouth is a few pixels of 64, and most of what varies in a picture is hair, skin, light and
    background. So the face is cut out, which aligned faces allow, and is shown a second time
    without its local mean, which leaves the details. Where something is seen counts.
    """

    DOWN, ACROSS = (0.375, 0.875), (0.2, 0.8)
    """Where the face is, in parts of the height and the width."""
    CELLS_WHOLE, CELLS_FACE = (4, 4), (4, 5)
    LOCAL, CONTRAST = 3, 5.0
    """How many pixels around one its local mean takes in, and how much the details are raised."""
    HIDDEN = 128

    def __init__(self, scores: int) -> None:
        super().__init__()
        self.whole = nn.Sequential(_convolutions(3, 16, 32, 48), _cells(self.CELLS_WHOLE))
        self.face = nn.Sequential(_convolutions(6, 16, 64, 96), _cells(self.CELLS_FACE))
        width = 48 * math.prod(self.CELLS_WHOLE) + 96 * math.prod(self.CELLS_FACE)
        self.head = nn.Sequential(
            nn.Linear(width, self.HIDDEN, bias=False),
            nn.BatchNorm1d(self.HIDDEN),
            nn.ReLU(),
            nn.Linear(self.HIDDEN, scores),
        )

    def forward(self, images: Tensor) -> Tensor:
        images = images - 0.5
        height, width = images.shape[2:]
        top, bottom = (round(part * height) for part in self.DOWN)
        left, right = (round(part * width) for part in self.ACROSS)
        face = images[:, :, top:bottom, left:right]
        details = torch.cat([face, self.CONTRAST * (face - box_mean(face, self.LOCAL))], 1)
        half = functional.avg_pool2d(images, 2)
        return self.head(torch.cat([self.whole(half), self.face(details)], 1))


def _cells(shape: tuple[int, int]) -> nn.Sequential:
    """Averages over as many cells, whatever the size of the image."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(shape), nn.Flatten())


def _build(scores: int, seed: int = 0) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ReadingNet(scores).to(memory_format=torch.channels_last)


@dataclass(frozen=True)
class ReadingTask:
    """Tell scores, by least squares in units of their spread (see `training.Task`).

    `spread` (A,) is their standard deviation: an attribute that is on or off does not count for
    more than one that lies in between.
    """

    spread: Tensor
    recipe: Recipe = RECIPE

    def order(self, labels: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        return generator.permutation(len(labels))

    def loss(
        self, network: nn.Module, images: Tensor, labels: Tensor, progress: float
    ) -> tuple[Tensor, Tensor]:
        scores = network(images)
        accuracy = ((scores - labels).abs() < ALMOST).float().mean()
        return (((scores - labels) / self.spread.to(scores.device)) ** 2).mean(), accuracy


@dataclass(frozen=True)
class ReaderTraining:
    """What fixes a trained reader: the settings, the seed and the data (by content)."""

    attributes: tuple[str, ...]
    epochs: int
    seed: int
    size: int
    images: int
    data_key: str


@dataclass(frozen=True)
class Reader:
    """A trained reader with its origin; call it with images to read them.

    `curve` has one row per epoch: epoch, loss (mean squared error in units of the training
    scores' variance: the share that is not read), accuracy (share of training scores read within
    `ALMOST`) and, where held-out images were given, held_out_loss.
    """

    network: nn.Module
    training: ReaderTraining
    curve: pd.DataFrame

    def __call__(self, images: np.ndarray) -> pd.DataFrame:
        return read(self, images)


def train_reader(
    images: np.ndarray,
    targets: pd.DataFrame,
    path: Path,
    *,
    seed: int,
    epochs: int,
    held_out: tuple[np.ndarray, pd.DataFrame] | None = None,
    device: str = "cpu",
) -> Reader:
    """Train one reader, finish a training that was interrupted, or read a finished one.

    As `models.train`: every epoch leaves a checkpoint, what other data or settings left at `path`
    is replaced.

    Args:
        images: uint8 (n, 3, size, size), an array or a memory map.
        targets: (n, A) scores in [0, 1], one row an image, a column for everything to be read.
        path: where the weights go (`.safetensors`; settings and curve go to `.json` beside it).
        held_out: images and targets on which the curve reports the loss as well.

    Raises:
        ValueError: images or targets of another kind or shape, or a score that is none.
    """
    scores = _checked_targets(images, targets).astype(np.float32)
    path, names = Path(path), tuple(targets.columns)
    if held_out is not None:
        require_columns(held_out[1], names)
        wanted = _checked_targets(held_out[0], held_out[1][list(names)])
    training = ReaderTraining(
        names, epochs, seed, images.shape[-1], len(images), data_key(images, scores)
    )
    if (finished := checkpoints.finished(load_reader, path, training, device)) is not None:
        return finished
    network = _build(len(names), seed).to(resolve_device(device))
    spread = np.where(np.ptp(scores, 0) > 0, scores.std(0), 1).astype(np.float32)

    def after_epoch(rows: list[dict]) -> dict:
        found = read(Reader(network, training, pd.DataFrame(rows)), held_out[0])
        error = found.to_numpy() - wanted
        return {"held_out_loss": float(((error / spread) ** 2).mean())}

    checkpoint = path.with_suffix(".checkpoint")
    task = ReadingTask(torch.from_numpy(spread))
    reports = after_epoch if held_out is not None else None
    rows = fit(network, images, scores, task, training, checkpoint, reports)
    reader = Reader(network.eval(), training, pd.DataFrame(rows))
    checkpoints.write(reader, path)
    checkpoint.unlink(missing_ok=True)
    return reader


@torch.no_grad()
def read(reader: Reader, images: np.ndarray, batch: int = 64) -> pd.DataFrame:
    """Scores of every image, float64 (n, A) in [0, 1], a column for each attribute.

    Args:
        images: uint8 (n, 3, size, size), an array or a memory map.

    Raises:
        ValueError: images are not uint8 (n, 3, height, width).
    """
    check_images(images)
    network = reader.network.eval()
    device = next(network.parameters()).device
    scores = np.empty((len(images), len(reader.training.attributes)))
    for start in range(0, len(images), batch):
        part = slice(start, start + batch)
        scores[part] = network(to_float(images[part], device)).cpu().numpy()
    return pd.DataFrame(scores.clip(0, 1), columns=list(reader.training.attributes))


def load_reader(path: Path, device: str = "cpu") -> Reader:
    """Read a reader that `train_reader` left at `path`, after checking it.

    Raises:
        ValueError: weights or settings are missing, damaged, or do not belong together.
    """
    card = checkpoints.read(path, "reader", ReaderTraining)
    training = replace(card.training, attributes=tuple(card.training.attributes))  # JSON has lists
    network = checkpoints.fill(_build(len(training.attributes)), card, "reader")
    return Reader(network.to(resolve_device(device)).eval(), training, card.curve)


def reading_error(reader: Attributes, images: np.ndarray, targets: pd.DataFrame) -> pd.DataFrame:
    """How far a reader is off on images whose scores are known, and which it was not trained on.

    Args:
        reader: a `Reader`, or any function from images to scores.
        images: uint8 (n, 3, size, size).
        targets: (n, A) scores in [0, 1]; columns that the reader reads.

    Returns:
        One row per attribute (index attribute): n; bias, the mean of read − true, with its 95 %
        interval bias_low, bias_high; rmse, the root of the mean squared error, with rmse_low,
        rmse_high (normal, of the mean square); r2, the share of the variance of the true scores
        that is read, 1 − mean square / variance; slope of the read score on the true one. r2 and
        slope are missing where the true scores do not vary.

    Raises:
        ValueError: images or targets of another kind or shape, fewer than 2 images, or a target
            that the reader does not read, or has no score for.
    """
    true = _checked_targets(images, targets)
    if len(true) < 2:
        raise ValueError(f"a reading error needs 2 images or more, got {len(true)}")
    found = reader(images)
    if unread := [name for name in targets if name not in found]:
        raise ValueError(f"the reader does not read {unread[0]!r}, only {list(found)}")
    if len(found) != len(true) or found.isna().any(axis=None):
        raise ValueError(f"the reader must give a score for each of {len(true)} images")
    error = found[list(targets.columns)].to_numpy() - true
    centred = true - true.mean(0)
    root = np.sqrt(len(true))
    half_bias = Z95 * error.std(0, ddof=1) / root
    square, half_square = (error**2).mean(0), Z95 * (error**2).std(0, ddof=1) / root
    # A variance of 0 leaves nothing to explain; missing, not a division by it.
    variance = np.where(np.ptp(true, 0) > 0, (centred**2).mean(0), np.nan)
    return pd.DataFrame(
        {
            "n": len(true),
            "bias": error.mean(0),
            "bias_low": error.mean(0) - half_bias,
            "bias_high": error.mean(0) + half_bias,
            "rmse": np.sqrt(square),
            "rmse_low": np.sqrt((square - half_square).clip(0)),
            "rmse_high": np.sqrt(square + half_square),
            "r2": 1 - square / variance,
            "slope": 1 + (centred * error).mean(0) / variance,
        },
        index=pd.Index(targets.columns, name="attribute"),
    )


def _checked_targets(images: np.ndarray, targets: pd.DataFrame) -> np.ndarray:
    """The scores, float64 (n, A)."""
    check_images(images)
    if len(targets) != len(images) or not len(targets.columns):
        raise ValueError(
            f"targets must have a row for each of {len(images)} images and a column for each "
            f"attribute, not the shape {targets.shape}"
        )
    scores = targets.to_numpy(np.float64)
    bad = ~((scores >= 0) & (scores <= 1))  # true for a missing score too
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"target {targets.columns[column]!r}, row {targets.index[row]!r}: "
            f"{targets.iloc[row, column]} where a score in [0, 1] was expected"
        )
    return scores
