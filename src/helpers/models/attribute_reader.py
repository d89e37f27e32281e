"""A reader of attributes, for images that nobody has described.

Of the images of a learned generator no parameters are known. A network that was trained on renders
reads the attributes off them, and simulated raters look through it. Its training faces have every
attribute spread evenly and independently of all others: a reader of correlated faces would guess
one attribute from another, say gender from hair, and report the correlation where the audited
images do not have it. How far its reading is off is measured on other renders (`reading_error`); on
images that look unlike renders it may be farther off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional

from facerender.parameters import HAIR_STYLES, INDEX, to_frame, visible_scores
from helpers.annotations.schema import ATTRIBUTES
from helpers.models import checkpoints
from helpers.models.networks import box_mean, halving
from helpers.models.training import Recipe, Settings, Task, check_images, one_cycle
from helpers.utils import seeding
from helpers.utils.checks import as_score_table, require_columns
from helpers.world import populations

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
    """Draw faces whose attributes are independent, and uniform over their whole range.

    Earrings and glasses are worn by every second face. Scenes and identities are those of the
    celeba-like population. Children are among the faces, and so are bearded and made-up ones:
    without them a beard would tell the age. Face i depends on the seed and i alone, not on n.

    Args:
        n: number of faces.
        seed: the draw; use different seeds for training and held-out faces.

    Returns:
        The renderer's parameters, float32 (n, P).

    Example:
        >>> import facerender
        >>> from helpers import models
        >>> known = models.decorrelated_faces(500, seed=1)
        >>> bool(facerender.to_frame(known)[["age", "makeup"]].corr().iloc[0, 1] < 0.15)
        True
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
    """Say what a perfect reader would read of renders.

    What raters judge is as it looks (`facerender.visible_scores`): tied hair looks shorter than it
    is.

    Args:
        parameters: the renderer's, (n, P).

    Returns:
        Scores in [0, 1], float64 (n, 10): a column for each of `JUDGED`, hair colour, earrings
        and glasses.

    Example:
        >>> import facerender
        >>> from helpers import models
        >>> models.scores_to_read(facerender.defaults())["smiling"].tolist()
        [0.5]
    """
    rest = to_frame(parameters)[[*_LOOKS, *_WORN]].astype(np.float64)
    return visible_scores(parameters)[list(JUDGED)].join(rest)


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
        self.whole = nn.Sequential(*halving(3, 16, 32, 48), *_cells(self.CELLS_WHOLE))
        self.face = nn.Sequential(*halving(6, 16, 64, 96), *_cells(self.CELLS_FACE))
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


def _cells(shape: tuple[int, int]) -> tuple[nn.Module, nn.Module]:
    """Averages over as many cells, whatever the size of the image."""
    return nn.AdaptiveAvgPool2d(shape), nn.Flatten()


@dataclass(frozen=True)
class ReadingTask(Task):
    """Tell scores, by least squares in units of their spread.

    `spread` (A,) is their standard deviation: an attribute that is on or off does not count for
    more than one that lies in between.
    """

    spread: Tensor

    def loss(
        self, network: nn.Module, images: Tensor, labels: Tensor, progress: float
    ) -> tuple[Tensor, Tensor]:
        scores = network(images)
        accuracy = ((scores - labels).abs() < ALMOST).float().mean()
        return (((scores - labels) / self.spread.to(scores.device)) ** 2).mean(), accuracy


@dataclass(frozen=True)
class ReaderTraining(Settings):
    """What fixes a trained reader."""

    attributes: tuple[str, ...]


class Reader(checkpoints.Trained):
    """A trained reader with its origin; call it with images to read them.

    Called with uint8 images (n, 3, size, size) it returns scores in [0, 1], float64 (n, A), a
    column for each attribute.

    Attributes:
        network: images, float32 (n, 3, height, width) in [0, 1] → scores (n, A), not clipped.
        training: attributes, epochs, seed and the training data (by content).
        curve: one row per epoch: epoch, loss (mean squared error in units of the training scores'
            variance: the share that is not read), accuracy (share of training scores read within
            a tenth of the scale) and, where held-out images were given, held_out_loss.

    Example:
        >>> from helpers import models
        >>> models.Reader.kind
        'reader'
    """

    kind, settings = "reader", ReaderTraining

    @staticmethod
    def untrained(training: ReaderTraining) -> nn.Module:
        """A network with an output for each attribute."""
        return ReadingNet(len(training.attributes))

    def __call__(self, images: np.ndarray, batch: int = 64) -> pd.DataFrame:
        scores = self.outputs(images, batch).double().numpy().clip(0, 1)
        return pd.DataFrame(scores, columns=list(self.training.attributes))


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
        seed: of the first weights and of every epoch's draws.
        epochs: passes over the images.
        held_out: images and targets on which the curve reports the loss as well.
        device: "cpu" or "cuda".

    Returns:
        The reader, on its device.

    Raises:
        ValueError: images or targets of another kind or shape, or a score that is none.

    Example:
        >>> import numpy as np, pandas as pd, tempfile
        >>> from helpers import models
        >>> images = np.random.default_rng(0).integers(0, 256, (8, 3, 16, 16)).astype(np.uint8)
        >>> red = pd.DataFrame({"red": images[:, 0].mean((1, 2)) / 255})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     reader = models.train_reader(images, red, f"{folder}/x", seed=1, epochs=1)
        >>> reader(images[:3]).shape
        (3, 1)
    """
    scores = _checked_targets(images, targets).astype(np.float32)
    names = tuple(targets.columns)
    if held_out is not None:
        unseen, true = held_out
        require_columns(true, names)
        held_out = unseen, _checked_targets(unseen, true[list(names)])
    training = ReaderTraining.of(images, scores, epochs, seed, held_out, attributes=names)
    spread = np.where(np.ptp(scores, 0) > 0, scores.std(0), 1).astype(np.float32)

    def report(reader: Reader) -> dict:
        error = reader(held_out[0]).to_numpy() - held_out[1]
        return {"held_out_loss": float(((error / spread) ** 2).mean())}

    task = ReadingTask(RECIPE, torch.from_numpy(spread))
    reports = None if held_out is None else report
    return checkpoints.make(Reader, training, images, scores, task, path, device, reports)


def reading_error(reader: Attributes, images: np.ndarray, targets: pd.DataFrame) -> pd.DataFrame:
    """Measure how far a reader is off on images whose scores are known.

    The reader must not have been trained on them.

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

    Example:
        >>> import numpy as np, pandas as pd
        >>> from helpers import models
        >>> images = np.zeros((3, 3, 8, 8), np.uint8)
        >>> true = pd.DataFrame({"age": [0.2, 0.4, 0.6]})
        >>> models.reading_error(lambda _: true + 0.1, images, true)["bias"].round(2).tolist()
        [0.1]
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
    return as_score_table(targets)
