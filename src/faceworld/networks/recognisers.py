"""Face recognisers: networks that map a face to a vector, near to those of the same person.

Liang et al. 2023, section 4, audits two ArcFace networks and a SphereFace network by the cosine
similarity of their vectors. The losses are those of

* ArcFace (Deng et al. 2019): cos(θ + m) instead of cos θ for a face's own identity;
* SphereFace (Liu et al. 2017) in the form of SphereFace-R (Liu et al. 2022): cos(m θ) with
  min(m, π/θ) for m, on normalised vectors. It is monotone for any m, so that it needs neither the
  piecewise ψ of 2017 nor its slow annealing from a plain softmax.

θ is the angle between a face's vector and the one learned for its identity; margins grow from none
over the first third of the training. Chapters 16 and 17 audit four of them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import det_curve
from torch import Tensor, nn
from torch.nn import functional

from faceworld.networks.architectures import halving
from faceworld.networks.training import Data, Loss, Recipe, Settings, Trained, fit_all, one_cycle

EMBEDDING = 96
SCALE = 20.0
MARGIN_COMPLETE = 0.3
"""Share of the training after which the margin has grown to its full size."""


class RecognitionNet(nn.Module):
    """Four 3×3 convolutions of stride 2 and one linear layer: images (n, 3, h, w) → (n, 96).

    The last maps are averaged to 4×4, so that images of 64 px and above fit, and where something
    is seen still counts. `identities` are the vectors learned for the people of the training.
    """

    WIDTHS = (32, 64, 96, 128)
    CELLS = 4

    def __init__(self, identities: int) -> None:
        super().__init__()
        cells = nn.AdaptiveAvgPool2d(self.CELLS)
        self.features = nn.Sequential(*halving(3, *self.WIDTHS), cells, nn.Flatten())
        last = nn.Linear(self.WIDTHS[-1] * self.CELLS**2, EMBEDDING, bias=False)
        self.head = nn.Sequential(last, nn.BatchNorm1d(EMBEDDING))
        self.identities = nn.Parameter(0.05 * torch.randn(identities, EMBEDDING))

    def forward(self, images: Tensor) -> Tensor:
        return functional.normalize(self.head(self.features(images - 0.5)))


def arcface(cosine: Tensor, share: float, margin: float = 0.25) -> Tensor:
    """cos(θ + share · margin) of the own identity's cosines (n,), up to π."""
    angle = torch.acos(cosine.clamp(-0.999, 0.999))
    return torch.cos((angle + share * margin).clamp(max=math.pi))


def sphereface(cosine: Tensor, share: float, margin: float = 1.4) -> Tensor:
    """cos(min(m, π/θ) θ) with m = 1 + share · (margin − 1), of the own identity's cosines (n,)."""
    angle = torch.acos(cosine.clamp(-0.999, 0.999))
    return torch.cos((angle * (1 + share * (margin - 1))).clamp(max=math.pi))


LOSSES = {"arcface": arcface, "sphereface": sphereface}


@dataclass(frozen=True)
class RecognitionTask(Recipe):
    """Tell the training identities apart."""

    margin: Callable[[Tensor, float], Tensor]

    def loss(self, network: nn.Module, images: Tensor, labels: Tensor, progress: float) -> Loss:
        cosine = network(images) @ functional.normalize(network.identities).T
        of_identity = cosine.gather(1, labels[:, None])
        with_margin = self.margin(of_identity, min(1.0, progress / MARGIN_COMPLETE))
        logits = SCALE * cosine.scatter(1, labels[:, None], with_margin)
        return functional.cross_entropy(logits, labels), (cosine.argmax(1) == labels).float().mean()


@dataclass(frozen=True)
class RecogniserTraining(Settings):
    """Settings that fix a trained recogniser."""

    loss: str
    identities: int

    def network(self) -> nn.Module:
        return RecognitionNet(self.identities)


class Recogniser(Trained):
    """A trained recogniser with its origin; call it with images to get their vectors.

    Called with uint8 images (n, 3, height, width) it returns vectors of unit length, float32 (n,
    96); their dot product is the similarity of two faces (Liang et al. 2023, section 4).

    Attributes:
        network: images, float32 (n, 3, height, width) in [0, 1] → vectors (n, 96).
        training: loss, epochs, seed and the training data (by content).
        curve: one row per epoch: epoch, loss, accuracy (of training identities, as augmented).
        shipped: whether it came with the book.

    Example:
        >>> import numpy as np
        >>> from faceworld import networks
        >>> from faceworld.networks.recognisers import RecognitionNet
        >>> untrained = networks.Recogniser(RecognitionNet(identities=2), training=None, curve=None)
        >>> untrained(np.zeros((5, 3, 64, 64), np.uint8)).shape
        (5, 96)
    """

    kind = "recogniser"
    settings = RecogniserTraining

    @property
    def held_out_eer(self) -> float:
        """Equal error rate on people who are not in the training set; nan without any."""
        return self.curve["held_out_eer"].iloc[-1] if "held_out_eer" in self.curve else math.nan

    def report(self, task: Recipe, images: np.ndarray, labels: np.ndarray) -> dict:
        # All pairs of faces take a while, and only the finished network's are asked for.
        finished = len(self.curve) == self.training.epochs
        return {"held_out_eer": held_out_error(self, images, labels) if finished else math.nan}

    def __call__(self, images: np.ndarray) -> np.ndarray:
        return self.outputs(images).numpy()


def train_recogniser(
    images: np.ndarray,
    labels: np.ndarray,
    path: Path,
    *,
    loss: str,
    seed: int,
    epochs: int,
    held_out: Data | None = None,
    device: str = "cpu",
) -> Recogniser:
    """Train one recogniser, finish a training that was interrupted, or read a finished one.

    Args:
        images: uint8 (n, 3, size, size), an array or a memory map.
        labels: (n,) whole numbers, the identities.
        path: where the weights go (`.safetensors`; settings and curve go to `.json` beside it).
        loss: one of `LOSSES`.
        seed: of the first weights and of every epoch's draws.
        epochs: passes over the images.
        held_out: images and labels of other people, whose equal error rate is reported.
        device: "cpu" or "cuda".
    """
    identities, numbers = np.unique(labels, return_inverse=True)
    settings = {"loss": loss, "identities": len(identities)}
    task = RecognitionTask(100, 4e-3, 2e-3, one_cycle, LOSSES[loss])
    return Recogniser.make(
        (images, numbers.astype(np.int64)),
        path,
        task,
        settings,
        seed=seed,
        epochs=epochs,
        held_out=held_out,
        device=device,
    )


def train_recognisers(jobs: Sequence[dict]) -> list[Recogniser]:
    """Train several recognisers: side by side on a processor, in turn on a GPU.

    Args:
        jobs: keyword arguments of `recognisers.train_recogniser`, one dict each: images (uint8,
            (n, 3, size, size)), labels ((n,) identities), path, loss ("arcface" or "sphereface"),
            epochs, seed, held_out (images and labels of other people) and device.

    Returns:
        The recognisers, in the order of the jobs.

    Raises:
        ValueError: images or labels of another kind or shape.

    Example:
        >>> from faceworld import networks
        >>> networks.train_recognisers([])
        []
    """
    return fit_all(train_recogniser, jobs)


def held_out_error(
    embedder: Callable[[np.ndarray], np.ndarray], images: np.ndarray, labels: np.ndarray
) -> float:
    """Equal error rate over all pairs of held-out images.

    Between the two thresholds at which the two rates cross, their mean is taken.

    Raises:
        ValueError: fewer than two identities, or no identity with two images.
    """
    vectors = embedder(images)
    labels = np.asarray(labels)
    first, second = np.triu_indices(len(vectors), 1)
    same = labels[first] == labels[second]
    fmr, fnmr, _ = det_curve(same, (vectors @ vectors.T)[first, second])
    crossing = np.abs(fmr - fnmr).argmin()
    return float((fmr[crossing] + fnmr[crossing]) / 2)
