"""Train, keep, load and ask the audited classifiers of faces into two classes.

A model answers P(class 1); of a gender classifier that is P(the face is perceived as male).
Transects, section 5.1: binary cross-entropy, and "to avoid a baseline bias of predicting one gender
over another, we enforced the likelihood of sampling male and female faces during training to be
equal". Other classes, such as smiling or not, are treated alike.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional

from helpers.models import checkpoints
from helpers.models.networks import build
from helpers.models.training import (
    Recipe,
    check_images,
    data_key,
    fit,
    fit_all,
    one_cycle,
    to_float,
    two_steps,
)
from helpers.utils.devices import resolve_device

RECIPES = {
    "small": Recipe(100, 4e-3, 1e-2, one_cycle),
    "resnet50": Recipe(64, 1e-4, 0.0, two_steps),
}


@dataclass(frozen=True)
class Training:
    """What fixes a trained model: the settings, the seed and the data (by content)."""

    architecture: str
    epochs: int
    seed: int
    size: int
    images: int
    data_key: str


@dataclass(frozen=True)
class AuditedModel:
    """A trained network with its origin.

    `curve` has one row per epoch: epoch, loss, accuracy (training, as augmented) and, where
    held-out images were given, held_out_loss and held_out_accuracy.
    """

    network: nn.Module
    training: Training
    curve: pd.DataFrame

    @property
    def device(self) -> torch.device:
        return next(self.network.parameters()).device


Labelled = tuple[np.ndarray, np.ndarray]


def train(
    images: np.ndarray,
    labels: np.ndarray,
    path: Path,
    *,
    seed: int,
    epochs: int,
    architecture: str = "small",
    held_out: Labelled | None = None,
    device: str = "cpu",
) -> AuditedModel:
    """Train one classifier, finish a training that was interrupted, or read a finished one.

    Every epoch draws from its own key (seed, epoch) and leaves a checkpoint beside `path`, so an
    interruption loses at most one epoch and changes nothing in the result (bit for bit on one CPU
    thread). What other data or settings left at `path` is replaced.

    Args:
        images: uint8 (n, 3, size, size), an array or a memory map.
        labels: (n,) 0 or 1, the class; of a gender classifier 0 for women, 1 for men.
        path: where the weights go (`.safetensors`; settings and curve go to `.json` beside it).
        held_out: images and labels on which the curve is reported as well.

    Raises:
        ValueError: images or labels of another kind or shape, or a class without a single image.
    """
    labels = _checked_labels(images, labels)
    path = Path(path)
    training = Training(
        architecture, epochs, seed, images.shape[-1], len(images), data_key(images, labels)
    )
    if (finished := checkpoints.finished(load, path, training, device)) is not None:
        return finished
    network = build(architecture, seed).to(resolve_device(device))

    def after_epoch(rows: list[dict]) -> dict:
        return _held_out_row(AuditedModel(network, training, pd.DataFrame(rows)), *held_out)

    checkpoint = path.with_suffix(".checkpoint")
    task = BinaryTask(RECIPES[architecture])
    reports = after_epoch if held_out is not None else None
    rows = fit(network, images, labels, task, training, checkpoint, reports)
    model = AuditedModel(network.eval(), training, pd.DataFrame(rows))
    save(model, path)
    checkpoint.unlink(missing_ok=True)
    return model


def train_all(jobs: Sequence[dict]) -> list[AuditedModel]:
    """Train several classifiers (see `training.fit_all`).

    Args:
        jobs: keyword arguments of `train`, one dict a model.
    """
    return fit_all(train, jobs)


@torch.no_grad()
def predict(model: AuditedModel, images: np.ndarray, batch: int = 64) -> np.ndarray:
    """P(class 1) of every image, float64 (n,); of a gender classifier, P(perceived as male).

    Args:
        images: uint8 (n, 3, size, size), an array or a memory map.

    Raises:
        ValueError: images are not uint8 (n, 3, height, width).
    """
    check_images(images)
    model.network.eval()
    logits = [
        model.network(to_float(images[start : start + batch], model.device))[:, 0]
        for start in range(0, len(images), batch)
    ]
    return torch.cat(logits).double().sigmoid().cpu().numpy() if logits else np.empty(0)


def save(model: AuditedModel, path: Path) -> None:
    """Write the weights (`path`, safetensors) and settings, curve and weights' hash (`.json`)."""
    checkpoints.write(model, path)


def load(path: Path, device: str = "cpu") -> AuditedModel:
    """Read a model that `train` or `save` left at `path`, after checking it.

    Raises:
        ValueError: weights or settings are missing, damaged, or do not belong together.
    """
    card = checkpoints.read(path, "model", Training)
    architecture = card.training.architecture
    network = checkpoints.fill(build(architecture), card, repr(architecture))
    return AuditedModel(network.to(resolve_device(device)).eval(), card.training, card.curve)


def balanced_order(labels: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Indices of one epoch: as many of each class, the rarer one repeated (transects, 5.1)."""
    half = len(labels) // 2
    chosen = []
    for value in (0, 1):
        members = np.flatnonzero(labels == value)
        rounds = math.ceil(half / len(members))
        repeated = np.concatenate([generator.permutation(members) for _ in range(rounds)])
        chosen.append(repeated[:half])
    return generator.permutation(np.concatenate(chosen))


@dataclass(frozen=True)
class BinaryTask:
    """Tell two classes apart, both shown equally often (see `training.Task`)."""

    recipe: Recipe

    def order(self, labels: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        return balanced_order(labels, generator)

    def loss(
        self, network: nn.Module, images: Tensor, labels: Tensor, progress: float
    ) -> tuple[Tensor, Tensor]:
        logits = network(images)[:, 0]
        loss = functional.binary_cross_entropy_with_logits(logits, labels.float())
        return loss, ((logits > 0) == (labels > 0.5)).float().mean()


def _held_out_row(model: AuditedModel, images: np.ndarray, labels: np.ndarray) -> dict:
    labels = _checked_labels(images, labels)
    p = np.clip(predict(model, images), 1e-7, 1 - 1e-7)
    return {
        "held_out_loss": float(-np.log(np.where(labels == 1, p, 1 - p)).mean()),
        "held_out_accuracy": float(((p > 0.5) == (labels == 1)).mean()),
    }


def _checked_labels(images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    check_images(images)
    labels = np.asarray(labels)
    if labels.shape != (len(images),):
        raise ValueError(f"labels must have shape ({len(images)},), one an image: {labels.shape}")
    if set(np.unique(labels)) != {0, 1}:
        raise ValueError(f"labels must be 0 and 1, both present; found {np.unique(labels)[:5]}")
    return labels.astype(np.int64)
