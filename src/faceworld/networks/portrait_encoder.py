"""Encoder of portraits into codes of the known-truth generator, which then can be edited.

To change one attribute of a portrait, one needs a code from which the generator draws it. For a
StyleGAN such a code is found by projection, or by an encoder such as pSp (Richardson et al., CVPR
2021). Here a network is trained on renders of random codes, whose latent coordinates are known.

The codes are drawn wider than the generator samples them, and their coordinates are independent of
each other. An encoder that was trained on the generator's own samples would guess one attribute
from another, say makeup from hair, and the portraits of another population need not have that
correlation.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from faceaudit.utils import seeding
from facerender.parameters import HAIR_STYLES, INDEX
from faceworld.known_truth import HAIR_STYLE_LEVELS, LATENTS, LINKS, KnownTruthGenerator
from faceworld.networks.architectures import box_mean, halving
from faceworld.networks.training import (
    Data,
    Lazy,
    Loss,
    Recipe,
    Settings,
    Trained,
    Variation,
    one_cycle,
)

READ_LATENTS: tuple[str, ...] = tuple(
    name for name in LATENTS if name not in ("hair_style", "texture_seed")
)
"""Latents whose coordinates are read: a hair style is a class, a texture's seed no amount."""
SPREAD = 1.3
"""Standard deviation of drawn coordinates; the generator samples them with 1."""
FAR = 2.4
"""Coordinates are read up to so many standard deviations: an item that is worn has no upper end."""
DRAWN_STYLES = {
    "covered": 0.03,
    "afro": 0.10,
    "wavy": 0.20,
    "straight": 0.25,
    "fringe": 0.15,
    "curly": 0.15,
    "braids": 0.06,
    "tied back": 0.06,
}
"""Shares of the hair styles among the faces that are drawn: no style is as rare as in samples."""
WORN = {"earrings": (0.3, 0.6), "glasses": (0.3, 0.6)}
"""Least distance from the coordinate at which an item is half worn, and the scale beyond it: half
of the faces wear it, and few wear it by half."""


def style_coordinates() -> np.ndarray:
    """A latent coordinate for each of `HAIR_STYLES`, in the middle of the style's interval.

    Returns:
        float64 (styles,). The outermost intervals end at about three standard deviations.
    """
    ends = [*HAIR_STYLE_LEVELS.values()]
    low = dict(zip(HAIR_STYLE_LEVELS, [-3.2, *ends[:-1]], strict=True))
    high = dict(zip(HAIR_STYLE_LEVELS, [*ends[:-1], 3.0], strict=True))
    return np.array([(low[style] + high[style]) / 2 for style in HAIR_STYLES])


def draw_coordinates(n: int, seed: int) -> np.ndarray:
    """Draw latent coordinates of faces to learn from; face i depends on the seed and i alone.

    Args:
        n: number of faces.
        seed: the draw; use different seeds for training and held-out faces.

    Returns:
        float64 (n, latents), a column for each of `LATENTS`.

    Example:
        >>> from faceworld.networks.portrait_encoder import draw_coordinates
        >>> few, many = (draw_coordinates(n, seed=1) for n in (3, 9))
        >>> bool((few == many[:3]).all())
        True
    """
    normal = seeding.normals(seed, "encoder: coordinates", range(n), len(LATENTS))
    coordinates = SPREAD * normal
    coordinates[:, INDEX["artefacts"]] = normal[:, INDEX["artefacts"]]
    for name, (least, scale) in WORN.items():
        away = normal[:, INDEX[name]]
        coordinates[:, INDEX[name]] = (
            LINKS[name].centre + np.sign(away) * least + scale * SPREAD * away
        )
    u = seeding.uniforms(seed, "encoder: styles", range(n), 1)[:, 0]
    ends = np.cumsum([DRAWN_STYLES[style] for style in HAIR_STYLES])
    drawn = np.searchsorted(ends[:-1], u, side="right")
    coordinates[:, INDEX["hair_style"]] = style_coordinates()[drawn]
    return coordinates


def codes_of(world: KnownTruthGenerator, coordinates: np.ndarray) -> np.ndarray:
    """The shortest codes that have these latent coordinates, float64 (n, 512).

    Args:
        world: the generator.
        coordinates: (n, latents), a column for each of `LATENTS`.
    """
    return coordinates @ world.exact_directions(LATENTS)


def targets_of(coordinates: np.ndarray) -> np.ndarray:
    """What the encoder learns to say of faces.

    Args:
        coordinates: (n, latents), of `draw_coordinates`.

    Returns:
        float32 (n, read latents + 1): coordinates in standard deviations, and last the hair style's
        index.
    """
    centre, scale = _standard()
    read = coordinates[:, [INDEX[name] for name in READ_LATENTS]]
    amounts = ((read - centre) / scale).clip(-FAR, FAR)
    away = np.abs(coordinates[:, [INDEX["hair_style"]]] - style_coordinates())
    return np.column_stack([amounts, away.argmin(axis=1)]).astype(np.float32)


def _standard() -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the drawn coordinates of `READ_LATENTS`."""
    centre = np.zeros(len(READ_LATENTS))
    scale = np.full(len(READ_LATENTS), SPREAD)
    for name, (least, spread) in WORN.items():
        place = READ_LATENTS.index(name)
        centre[place] = LINKS[name].centre
        scale[place] = least + spread * SPREAD
    return centre, scale


class PortraitNet(nn.Module):
    """Looks at the whole picture at half its resolution, and at head and hair at full.

    Where something is seen counts, so maps are flattened and not averaged. Local details are shown
    a second time without their mean, as the attribute reader has them.
    """

    DOWN = (0.25, 0.94)
    """Top and bottom of the part that is seen at full resolution, in parts of the height."""
    ACROSS = (0.125, 0.875)
    """Its left and right side, in parts of the width."""
    LOCAL = 3
    """Radius of the local mean, in pixels."""
    CONTRAST = 5.0
    """Factor of the details."""
    HIDDEN = 192

    def __init__(self) -> None:
        super().__init__()
        self.whole = nn.Sequential(*halving(3, 24, 48, 64), nn.AdaptiveAvgPool2d(4), nn.Flatten())
        self.head = nn.Sequential(*halving(6, 24, 64, 96), nn.AdaptiveAvgPool2d(6), nn.Flatten())
        width = 64 * 4 * 4 + 96 * 6 * 6
        hidden = nn.Linear(width, self.HIDDEN, bias=False), nn.BatchNorm1d(self.HIDDEN), nn.ReLU()
        outputs = len(READ_LATENTS) + len(HAIR_STYLES)
        self.reading = nn.Sequential(*hidden, nn.Linear(self.HIDDEN, outputs))

    def forward(self, images: Tensor) -> Tensor:
        images = images - 0.5
        height, width = images.shape[2:]
        top, bottom = (round(part * height) for part in self.DOWN)
        left, right = (round(part * width) for part in self.ACROSS)
        near = images[:, :, top:bottom, left:right]
        details = torch.cat([near, self.CONTRAST * (near - box_mean(near, self.LOCAL))], 1)
        half = functional.avg_pool2d(images, 2)
        return self.reading(torch.cat([self.whole(half), self.head(details)], 1))


@dataclass(frozen=True)
class EncodingTask(Recipe):
    """Learn coordinates by least squares, and the hair style by cross-entropy."""

    WEIGHT_OF_STYLE = 0.1

    def variation(
        self, rows: np.ndarray, size: int, generator: np.random.Generator, key: tuple[int, str]
    ) -> Variation:
        """Images as they are: a mirrored face has another pose and light."""
        return np.zeros((2, len(rows), 1), np.int64), np.zeros((len(rows), 1), bool)

    def loss(self, network: nn.Module, images: Tensor, labels: Tensor, progress: float) -> Loss:
        amounts, styles = network(images).split([len(READ_LATENTS), len(HAIR_STYLES)], 1)
        style = labels[:, -1].long()
        missed = functional.mse_loss(amounts, labels[:, :-1])
        hit = (styles.argmax(1) == style).float().mean()
        return missed + self.WEIGHT_OF_STYLE * functional.cross_entropy(styles, style), hit


@dataclass(frozen=True)
class EncoderTraining(Settings):
    """Settings that fix a trained encoder."""

    def network(self) -> nn.Module:
        return PortraitNet()


class PortraitEncoder(Trained):
    """A trained encoder with its origin; `encode` gives codes of portraits.

    Attributes:
        network: images, float32 (n, 3, height, width) in [0, 1] → coordinates in standard
            deviations and a number for each hair style, (n, read latents + styles).
        training: epochs, seed and the training data (by content).
        curve: one row per epoch: epoch, loss (squared error of a coordinate, in units of its
            variance, plus the cross-entropy of the styles), accuracy (share of styles that are
            read), and held_out_loss (the squared error alone) where held-out images were given.
        shipped: whether it came with the book.

    Example:
        >>> from faceworld.networks.portrait_encoder import PortraitEncoder
        >>> PortraitEncoder.kind
        'encoder'
    """

    kind = "encoder"
    settings = EncoderTraining

    def write(self, path: Path) -> None:
        """Write weights and card, and round the network to the half precision of the file.

        So the network is the one that is read, and ships with half the size.
        """
        self.network.half()
        super().write(path)
        self.network.float()

    def report(self, task: EncodingTask, images: np.ndarray, labels: np.ndarray) -> dict:
        amounts = self.outputs(images)[:, : len(READ_LATENTS)].numpy()
        return {"held_out_loss": float(((amounts - labels[:, :-1]) ** 2).mean())}

    def encode(self, world: KnownTruthGenerator, images: np.ndarray) -> np.ndarray:
        """Codes from which the generator draws these portraits, as well as they can be read.

        Args:
            world: the generator.
            images: uint8 (n, 3, size, size).

        Returns:
            float64 (n, 512).
        """
        outputs = self.outputs(images).double().numpy()
        centre, scale = _standard()
        coordinates = np.zeros((len(images), len(LATENTS)))
        read = [INDEX[name] for name in READ_LATENTS]
        amounts = outputs[:, : len(READ_LATENTS)].clip(-FAR, FAR)
        coordinates[:, read] = centre + scale * amounts
        style = outputs[:, len(READ_LATENTS) :].argmax(axis=1)
        coordinates[:, INDEX["hair_style"]] = style_coordinates()[style]
        return codes_of(world, coordinates)


def train_encoder(
    images: np.ndarray | Lazy,
    targets: np.ndarray,
    path: Path,
    *,
    seed: int,
    epochs: int,
    held_out: Data | None = None,
    device: str = "cpu",
) -> PortraitEncoder:
    """Train an encoder, finish a training that was interrupted, or read a finished one.

    As `networks.train_classifier`: every epoch leaves a checkpoint, and a network of other data or
    settings at `path` is replaced.

    Args:
        images: uint8 (n, 3, size, size), an array or a memory map.
        targets: float32 (n, read latents + 1), of `targets_of`.
        path: where the weights go (`.safetensors`; settings and curve go to `.json` beside it).
        seed: of the first weights and of every epoch's draws.
        epochs: passes over the images.
        held_out: images and targets on which the curve reports as well.
        device: "cpu" or "cuda".

    Returns:
        The encoder, on its device.
    """
    return PortraitEncoder.make(
        (images, targets),
        path,
        EncodingTask(64, 6e-3, 1e-2, one_cycle),
        {},
        seed=seed,
        epochs=epochs,
        held_out=held_out,
        device=device,
    )
