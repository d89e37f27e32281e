"""Face recognisers: networks that map a face to a vector, near to those of the same person.

Liang et al. 2023, section 4, audits two ArcFace networks and a SphereFace network by the cosine
similarity of their vectors. The losses are those of

* ArcFace (Deng et al. 2019): cos(θ + m) instead of cos θ for a face's own identity;
* SphereFace (Liu et al. 2017) in the form of SphereFace-R (Liu et al. 2022): cos(m θ) with
  min(m, π/θ) for m, on normalised vectors. It is monotone for any m, so that it needs neither the
  piecewise ψ of 2017 nor its slow annealing from a plain softmax.

θ is the angle between a face's vector and the one learned for its identity; margins grow from none
over the first third of the training.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import det_curve
from torch import Tensor, nn
from torch.nn import functional

from helpers.models import checkpoints
from helpers.models.training import (
    Recipe,
    check_images,
    data_key,
    fit,
    fit_all,
    one_cycle,
    to_float,
)
from helpers.utils.devices import resolve_device

RECIPE = Recipe(batch_size=100, learning_rate=4e-3, weight_decay=2e-3, schedule=one_cycle)
EMBEDDING = 96
SCALE = 20.0
MARGIN_COMPLETE = 0.3
"""Share of the training after which the margin has grown to its full size."""

Embedder = Callable[[np.ndarray], np.ndarray]
"""Any recogniser: uint8 images (n, 3, height, width) → vectors (n, d)."""


class RecognitionNet(nn.Module):
    """Four 3×3 convolutions of stride 2 and one linear layer: images (n, 3, h, w) → (n, 96).

    The last maps are averaged to 4×4, so that images of 64 px and above fit, and where something
    is seen still counts.
    """

    WIDTHS = (32, 64, 96, 128)
    CELLS = 4

    def __init__(self) -> None:
        super().__init__()
        channels = (3, *self.WIDTHS)
        layers: list[nn.Module] = []
        for before, after in pairwise(channels):
            convolution = nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False)
            layers += [convolution, nn.BatchNorm2d(after), nn.ReLU()]
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(self.CELLS), nn.Flatten())
        self.head = nn.Sequential(
            nn.Linear(channels[-1] * self.CELLS**2, EMBEDDING, bias=False),
            nn.BatchNorm1d(EMBEDDING),
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.features(images - 0.5))


def arcface(cosine: Tensor, share: float, margin: float = 0.25) -> Tensor:
    """cos(θ + share · margin) of the own identity's cosines (n,), up to π."""
    angle = torch.acos(cosine.clamp(-0.999, 0.999))
    return torch.cos((angle + share * margin).clamp(max=math.pi))


def sphereface(cosine: Tensor, share: float, margin: float = 1.4) -> Tensor:
    """cos(min(m, π/θ) θ) with m = 1 + share · (margin − 1), of the own identity's cosines (n,)."""
    angle = torch.acos(cosine.clamp(-0.999, 0.999))
    return torch.cos((angle * (1 + share * (margin - 1))).clamp(max=math.pi))


LOSSES: dict[str, Callable[[Tensor, float], Tensor]] = {
    "arcface": arcface,
    "sphereface": sphereface,
}


@dataclass(frozen=True)
class RecognitionTask:
    """Tell the training identities apart (see `training.Task`)."""

    margin: Callable[[Tensor, float], Tensor]
    recipe: Recipe = RECIPE

    def order(self, labels: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        return generator.permutation(len(labels))

    def loss(
        self, network: nn.Module, images: Tensor, labels: Tensor, progress: float
    ) -> tuple[Tensor, Tensor]:
        cosine = network(images) @ functional.normalize(network.identities).T
        own = cosine.gather(1, labels[:, None])
        harder = self.margin(own, min(1.0, progress / MARGIN_COMPLETE))
        logits = SCALE * cosine.scatter(1, labels[:, None], harder)
        return functional.cross_entropy(logits, labels), (cosine.argmax(1) == labels).float().mean()


class _Trained(nn.Module):
    """A recogniser together with the vectors of its training identities, which are not kept."""

    def __init__(self, identities: int) -> None:
        super().__init__()
        self.backbone = RecognitionNet()
        self.identities = nn.Parameter(0.05 * torch.randn(identities, EMBEDDING))

    def forward(self, images: Tensor) -> Tensor:
        return functional.normalize(self.backbone(images))


@dataclass(frozen=True)
class RecogniserTraining:
    """What fixes a trained recogniser: the settings, the seed and the data (by content)."""

    loss: str
    epochs: int
    seed: int
    size: int
    images: int
    identities: int
    data_key: str


@dataclass(frozen=True)
class Recogniser:
    """A trained recogniser with its origin; call it with images to embed them.

    `curve` has one row per epoch: epoch, loss, accuracy (of training identities, as augmented).
    `held_out_eer` is the equal error rate on people it has never seen, where such were given.
    """

    network: nn.Module
    training: RecogniserTraining
    curve: pd.DataFrame
    held_out_eer: float | None = None

    def __call__(self, images: np.ndarray) -> np.ndarray:
        return embed(self, images)


def train_recogniser(
    images: np.ndarray,
    labels: np.ndarray,
    path: Path,
    *,
    loss: str,
    epochs: int,
    seed: int,
    held_out: tuple[np.ndarray, np.ndarray] | None = None,
    device: str = "cpu",
) -> Recogniser:
    """Train one recogniser, finish a training that was interrupted, or read a finished one.

    As `models.train`: every epoch leaves a checkpoint, what other data or settings left at `path`
    is replaced.

    Args:
        images: uint8 (n, 3, size, size), an array or a memory map.
        labels: (n,) whole numbers, the identities.
        path: where the weights go (`.safetensors`; settings and curve go to `.json` beside it).
        loss: one of `LOSSES`.
        held_out: images and labels of other identities, whose equal error rate is reported.

    Raises:
        ValueError: an unknown loss, or images or labels of another kind or shape.
    """
    if loss not in LOSSES:
        raise ValueError(f"loss {loss!r} is not one of {sorted(LOSSES)}")
    labels = _checked_labels(images, labels)
    path, size, count = Path(path), images.shape[-1], int(labels.max()) + 1
    settings = RecogniserTraining(
        loss, epochs, seed, size, len(images), count, data_key(images, labels)
    )
    if (finished := checkpoints.finished(load_recogniser, path, settings, device)) is not None:
        return finished
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = _Trained(count)
    network = network.to(resolve_device(device), memory_format=torch.channels_last)

    checkpoint = path.with_suffix(".checkpoint")
    rows = fit(network, images, labels, RecognitionTask(LOSSES[loss]), settings, checkpoint)
    recogniser = Recogniser(network.backbone.eval(), settings, pd.DataFrame(rows))
    if held_out is not None:
        recogniser = replace(recogniser, held_out_eer=held_out_error(recogniser, *held_out))
    save_recogniser(recogniser, path)
    checkpoint.unlink(missing_ok=True)
    return recogniser


def train_recognisers(jobs: Sequence[dict]) -> list[Recogniser]:
    """Train several recognisers (see `training.fit_all`).

    Args:
        jobs: keyword arguments of `train_recogniser`, one dict each.
    """
    return fit_all(train_recogniser, jobs)


@torch.no_grad()
def embed(recogniser: Recogniser, images: np.ndarray, batch: int = 128) -> np.ndarray:
    """Vectors of unit length of every image, float32 (n, 96).

    Args:
        images: uint8 (n, 3, size, size), an array or a memory map.

    Raises:
        ValueError: images are not uint8 (n, 3, height, width).
    """
    check_images(images)
    network = recogniser.network.eval()
    device = next(network.parameters()).device
    vectors = [
        functional.normalize(network(to_float(images[start : start + batch], device))).cpu()
        for start in range(0, len(images), batch)
    ]
    return torch.cat(vectors).numpy() if vectors else np.empty((0, EMBEDDING), np.float32)


def held_out_error(embedder: Embedder, images: np.ndarray, labels: np.ndarray) -> float:
    """Equal error rate over all pairs of held-out images.

    Between the two thresholds at which the two rates cross, their mean is taken.

    Raises:
        ValueError: fewer than two identities, or no identity with two images.
    """
    vectors, labels = embedder(images), np.asarray(labels)
    first, second = np.triu_indices(len(vectors), 1)
    same = labels[first] == labels[second]
    if same.all() or not same.any():
        raise ValueError("the held-out faces must show two people or more, one of them twice")
    fmr, fnmr, _ = det_curve(same, (vectors @ vectors.T)[first, second])
    crossing = np.abs(fmr - fnmr).argmin()
    return float((fmr[crossing] + fnmr[crossing]) / 2)


def save_recogniser(recogniser: Recogniser, path: Path) -> None:
    """Write the weights (`path`, safetensors) and settings, curve and weights' hash (`.json`)."""
    checkpoints.write(recogniser, path, held_out_eer=recogniser.held_out_eer)


def load_recogniser(path: Path, device: str = "cpu") -> Recogniser:
    """Read a recogniser that `train_recogniser` left at `path`, after checking it.

    Raises:
        ValueError: weights or settings are missing, damaged, or do not belong together.
    """
    card = checkpoints.read(path, "recogniser", RecogniserTraining, "held_out_eer")
    network = checkpoints.fill(RecognitionNet(), card, "recogniser")
    network = network.to(resolve_device(device), memory_format=torch.channels_last)
    return Recogniser(network.eval(), card.training, card.curve, card.more["held_out_eer"])


def onnx_recogniser(path: str | Path) -> Embedder:
    """Anybody's recogniser in an ONNX file, which takes float32 images (n, 3, h, w) in [0, 1].

    A network that wants another scale is wrapped by a function of one's own: any callable that
    maps images to vectors can stand in for a recogniser.

    Raises:
        ValueError: onnxruntime is not installed.
    """
    try:
        import onnxruntime
    except ImportError:
        raise ValueError(f"{path}: reading ONNX needs `pip install onnxruntime`") from None
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name

    def embedder(images: np.ndarray) -> np.ndarray:
        check_images(images)
        return session.run(None, {name: images.astype(np.float32) / 255})[0]

    return embedder


def _checked_labels(images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Identities numbered from 0."""
    check_images(images)
    labels = np.asarray(labels)
    if labels.shape != (len(images),) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be whole numbers of shape ({len(images)},), one an image: "
            f"{labels.dtype} {labels.shape}"
        )
    names, numbers = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"labels must name two identities or more; found {names}")
    return numbers.astype(np.int64)
