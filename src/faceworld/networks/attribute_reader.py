"""A reader of attributes, for images without annotations.

Of the images of a learned generator no parameters are known. A network that was trained on renders
reads the attributes off them, and simulated raters look through it. Its training faces have every
attribute spread evenly and independently of all others: a reader of correlated faces would guess
one attribute from another, say gender from hair, and report the correlation where the audited
images do not have it. On images that look unlike renders
it may be farther off than on others.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional

from faceaudit.annotations.schema import ATTRIBUTES
from faceaudit.utils import seeding
from faceaudit.utils.arguments import as_score_table
from facerender.parameters import HAIR_STYLES
from faceworld import populations
from faceworld.interventions import do
from faceworld.networks.architectures import box_mean, halving
from faceworld.networks.training import Loss, Recipe, Settings, Trained, one_cycle

READ_TOLERANCE = 0.1
"""A score that is read within a tenth of the scale counts as read, on the training's curve."""

SCENES = "celeba-like"
"""Population whose poses, light, backgrounds, identities and ancestry the faces have."""

RATED_ATTRIBUTES: tuple[str, ...] = tuple(name for name in ATTRIBUTES if name != "fakeness")
"""Attributes that raters rate and a reader can see; renders without artefacts have one fakeness."""
WORN_ATTRIBUTES = ("earrings", "glasses")
READ_ATTRIBUTES: tuple[str, ...] = (*RATED_ATTRIBUTES, "hair_colour", *WORN_ATTRIBUTES)
"""Attributes that a reader reads, all in [0, 1]."""

VISIBLE_HAIR_STYLES = tuple(style for style in HAIR_STYLES if style != "covered")
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
        >>> from faceworld import networks
        >>> known = networks.decorrelated_faces(500, seed=1)
        >>> bool(facerender.to_frame(known)[["age", "makeup"]].corr().iloc[0, 1] < 0.15)
        True
    """
    parameters = populations.sample(SCENES, n, seed).parameters
    drawn = (*READ_ATTRIBUTES, "hair_style")
    u = seeding.uniforms(seed, "decorrelated faces", range(n), len(drawn)).T
    columns = dict(zip(drawn, u, strict=True))
    columns |= {name: columns[name] < 0.5 for name in WORN_ATTRIBUTES}
    styles = np.array([HAIR_STYLES.index(style) for style in VISIBLE_HAIR_STYLES])
    columns["hair_style"] = styles[(columns["hair_style"] * len(styles)).astype(int)]
    return do(parameters, **columns)


class ReadingNet(nn.Module):
    """Reads the whole image at half its resolution, and the face in it at full: (n, scores).

    A mouth is a few pixels of 64, and most of what varies in a picture is hair, skin, light and
    background. So the face is cut out, which aligned faces allow, and is shown a second time
    without its local mean, which leaves the details. Where something is seen counts.
    """

    DOWN = (0.375, 0.875)
    """Top and bottom of the face, in parts of the height."""
    ACROSS = (0.2, 0.8)
    """Left and right side of the face, in parts of the width."""
    CELLS_WHOLE = (4, 4)
    CELLS_FACE = (4, 5)
    LOCAL = 3
    """Radius of the local mean, in pixels."""
    CONTRAST = 5.0
    """Factor of the details, which are the face less its local mean."""
    HIDDEN = 128

    def __init__(self, scores: int) -> None:
        super().__init__()
        self.whole = nn.Sequential(*halving(3, 16, 32, 48), *_average_cells(self.CELLS_WHOLE))
        self.face = nn.Sequential(*halving(6, 16, 64, 96), *_average_cells(self.CELLS_FACE))
        width = 48 * math.prod(self.CELLS_WHOLE) + 96 * math.prod(self.CELLS_FACE)
        hidden = nn.Linear(width, self.HIDDEN, bias=False), nn.BatchNorm1d(self.HIDDEN), nn.ReLU()
        self.head = nn.Sequential(*hidden, nn.Linear(self.HIDDEN, scores))

    def forward(self, images: Tensor) -> Tensor:
        images = images - 0.5
        height, width = images.shape[2:]
        top, bottom = (round(part * height) for part in self.DOWN)
        start, end = (round(part * width) for part in self.ACROSS)
        face = images[:, :, top:bottom, start:end]
        details = torch.cat([face, self.CONTRAST * (face - box_mean(face, self.LOCAL))], 1)
        half = functional.avg_pool2d(images, 2)
        return self.head(torch.cat([self.whole(half), self.face(details)], 1))


def _average_cells(shape: tuple[int, int]) -> tuple[nn.Module, nn.Module]:
    """Layers that average maps over a grid of cells, for images of any size."""
    return nn.AdaptiveAvgPool2d(shape), nn.Flatten()


@dataclass(frozen=True)
class ReadingTask(Recipe):
    """Learn to read scores, by least squares in units of their spread.

    `spread` (A,) is their standard deviation: an attribute that is on or off does not count for
    more than one that lies in between.
    """

    spread: Tensor

    recolour = False
    """Colours stay as they are: skin and hair colour are among what is read."""

    def loss(self, network: nn.Module, images: Tensor, labels: Tensor, progress: float) -> Loss:
        scores = network(images)
        accuracy = ((scores - labels).abs() < READ_TOLERANCE).float().mean()
        return (((scores - labels) / self.spread.to(scores.device)) ** 2).mean(), accuracy


@dataclass(frozen=True)
class ReaderTraining(Settings):
    """Settings that fix a trained reader."""

    attributes: tuple[str, ...]

    def network(self) -> nn.Module:
        return ReadingNet(len(self.attributes))


class Reader(Trained):
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
        >>> from faceworld import networks
        >>> Reader.kind
        'reader'
    """

    kind = "reader"
    settings = ReaderTraining

    def report(self, task: ReadingTask, images: np.ndarray, labels: np.ndarray) -> dict:
        error = self(images).to_numpy() - labels
        return {"held_out_loss": float(((error / task.spread.numpy()) ** 2).mean())}

    def __call__(self, images: np.ndarray) -> pd.DataFrame:
        scores = self.outputs(images).double().numpy().clip(0, 1)
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

    As `networks.train_classifier`: every epoch leaves a checkpoint, and a network of other data or
    settings at `path` is replaced.

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
        >>> from faceworld import networks
        >>> images = np.random.default_rng(0).integers(0, 256, (8, 3, 16, 16)).astype(np.uint8)
        >>> red = pd.DataFrame({"red": images[:, 0].mean((1, 2)) / 255})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     reader = networks.train_reader(images, red, f"{folder}/x", seed=1, epochs=1)
        >>> reader(images[:3]).shape
        (3, 1)
    """
    scores = as_score_table(targets).astype(np.float32)
    names = tuple(targets.columns)
    if held_out is not None:
        held_out_images, held_out_targets = held_out
        held_out = held_out_images, as_score_table(held_out_targets[list(names)])
    spread = np.where(np.ptp(scores, 0) > 0, scores.std(0), 1).astype(np.float32)
    task = ReadingTask(50, 1.2e-2, 1e-2, one_cycle, torch.from_numpy(spread))
    return Reader.make(
        (images, scores),
        path,
        task,
        {"attributes": names},
        seed=seed,
        epochs=epochs,
        held_out=held_out,
        device=device,
    )
