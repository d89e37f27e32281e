"""Train, keep, load and ask the audited gender classifiers.

A model answers P(the face is perceived as male). Transects, section 5.1: binary cross-entropy, and
"to avoid a baseline bias of predicting one gender over another, we enforced the likelihood of
sampling male and female faces during training to be equal".
"""

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.nn import functional

from helpers import keyed
from helpers.artifacts import atomic
from helpers.devices import resolve_device
from helpers.models.networks import build


def one_cycle(progress: float) -> float:
    """Factor of the peak learning rate: up over the first 30 % of the steps, then down to zero."""
    if progress < 0.3:
        return 0.04 + 0.96 * (1 - math.cos(math.pi * progress / 0.3)) / 2
    return (1 + math.cos(math.pi * (progress - 0.3) / 0.7)) / 2


def two_steps(progress: float) -> float:
    """The paper's schedule: a tenth of the rate in the second half (transects, section 5.1)."""
    return 1.0 if progress < 0.5 else 0.1


@dataclass(frozen=True)
class Recipe:
    """Optimisation settings of one architecture."""

    batch_size: int
    learning_rate: float
    weight_decay: float
    schedule: Callable[[float], float]


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
        labels: (n,) 0 for women, 1 for men.
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
    if (finished := _finished(path, training, device)) is not None:
        return finished
    network = build(architecture, seed).to(resolve_device(device))
    recipe = RECIPES[architecture]
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=recipe.weight_decay)
    checkpoint = path.with_suffix(".checkpoint")
    rows = _resume(checkpoint, training, network, optimizer)
    for epoch in range(len(rows), epochs):
        row = _train_epoch(network, optimizer, images, labels, recipe, training, epoch)
        model = AuditedModel(network, training, pd.DataFrame([*rows, row]))
        if held_out is not None:
            row |= _held_out_row(model, *held_out)
        rows.append(row)
        _write_checkpoint(checkpoint, training, network, optimizer, rows)
    model = AuditedModel(network.eval(), training, pd.DataFrame(rows))
    save(model, path)
    checkpoint.unlink(missing_ok=True)
    return model


def train_all(jobs: Sequence[dict], workers: int = 2) -> list[AuditedModel]:
    """Train several classifiers side by side, each in a process of one thread.

    Two processes of one thread are faster than one of two threads for networks this small.

    Args:
        jobs: keyword arguments of `train`, one dict a model.
    """
    return joblib.Parallel(n_jobs=workers)(joblib.delayed(_train_alone)(job) for job in jobs)


def _train_alone(job: dict) -> AuditedModel:
    torch.set_num_threads(1)
    return train(**job)


@torch.no_grad()
def predict(model: AuditedModel, images: np.ndarray, batch: int = 64) -> np.ndarray:
    """P(perceived as male) of every image, float64 (n,).

    Args:
        images: uint8 (n, 3, size, size), an array or a memory map.

    Raises:
        ValueError: images are not uint8 (n, 3, height, width).
    """
    _check_images(images)
    model.network.eval()
    logits = [
        model.network(_to_float(images[start : start + batch], model.device))[:, 0]
        for start in range(0, len(images), batch)
    ]
    return torch.cat(logits).double().sigmoid().cpu().numpy() if logits else np.empty(0)


def save(model: AuditedModel, path: Path) -> None:
    """Write the weights (`path`, safetensors) and settings, curve and weights' hash (`.json`)."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    weights = safetensors.torch.save(
        {name: value.contiguous().cpu() for name, value in model.network.state_dict().items()}
    )
    card = {
        "training": asdict(model.training),
        "curve": model.curve.to_dict("list"),
        "sha256": hashlib.sha256(weights).hexdigest(),
    }
    with atomic(path) as temporary:
        temporary.write_bytes(weights)
    with atomic(path.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(card, indent=1), encoding="utf-8")


def load(path: Path, device: str = "cpu") -> AuditedModel:
    """Read a model that `train` or `save` left at `path`, after checking it.

    Raises:
        ValueError: weights or settings are missing, damaged, or do not belong together.
    """
    path = Path(path)
    try:
        weights = path.read_bytes()
        card = json.loads(path.with_suffix(".json").read_text())
        training, curve = Training(**card["training"]), pd.DataFrame(card["curve"])
        expected = card["sha256"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: no readable model with its .json beside it ({error})") from error
    if hashlib.sha256(weights).hexdigest() != expected:
        raise ValueError(f"{path}: the weights are not those that {path.stem}.json describes")
    network = build(training.architecture)
    try:
        network.load_state_dict(safetensors.torch.load(weights))
    except (RuntimeError, SafetensorError) as error:
        raise ValueError(f"{path}: no weights of a {training.architecture!r}: {error}") from error
    return AuditedModel(network.to(resolve_device(device)).eval(), training, curve)


def data_key(images: np.ndarray, labels: np.ndarray) -> str:
    """Hash of the training data's content."""
    digest = hashlib.sha256(np.ascontiguousarray(labels, dtype=np.uint8))
    for start in range(0, len(images), 1024):
        digest.update(np.ascontiguousarray(images[start : start + 1024]))
    return digest.hexdigest()


def balanced_order(labels: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Indices of one epoch: as many women as men, the rarer class repeated (transects, 5.1)."""
    half = len(labels) // 2
    chosen = []
    for value in (0, 1):
        members = np.flatnonzero(labels == value)
        rounds = math.ceil(half / len(members))
        repeated = np.concatenate([generator.permutation(members) for _ in range(rounds)])
        chosen.append(repeated[:half])
    return generator.permutation(np.concatenate(chosen))


def augment(images: np.ndarray, generator: np.random.Generator) -> Tensor:
    """Random mirror, shift by up to 1/20 of the width, exposure, contrast and colour cast.

    Args:
        images: uint8 (n, 3, size, size).

    Returns:
        float32 (n, 3, size, size) in [0, 1].
    """
    count, _, _, size = images.shape
    reach = size // 20
    pixels = np.arange(size)
    down, right = generator.integers(-reach, reach + 1, (2, count, 1))
    rows = np.clip(pixels + down, 0, size - 1)
    columns = np.clip(pixels + right, 0, size - 1)
    mirrored = generator.random((count, 1)) < 0.5
    columns = np.where(mirrored, columns[:, ::-1], columns)
    # Axes before and after the slice are indexed together, so the channels come out last.
    moved = images[np.arange(count)[:, None, None], :, rows[:, :, None], columns[:, None, :]]
    x = torch.from_numpy(np.moveaxis(moved, -1, 1).astype(np.float32) / 255)
    exposure = generator.uniform(0.8, 1.2, (count, 1, 1, 1))
    cast = generator.uniform(0.93, 1.07, (count, 3, 1, 1))
    contrast = torch.from_numpy(generator.uniform(0.8, 1.2, (count, 1, 1, 1)).astype(np.float32))
    x = x * torch.from_numpy((exposure * cast).astype(np.float32))
    mean = x.mean((1, 2, 3), keepdim=True)
    return ((x - mean) * contrast + mean).clamp(0, 1)


def _train_epoch(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    images: np.ndarray,
    labels: np.ndarray,
    recipe: Recipe,
    training: Training,
    epoch: int,
) -> dict:
    generator = keyed.generator(training.seed, "training", epoch)
    order = balanced_order(labels, generator)
    size = min(recipe.batch_size, len(order))
    batches = order[: len(order) // size * size].reshape(-1, size)
    device = next(network.parameters()).device
    network.train()
    losses, hits = [], []
    for step, batch in enumerate(batches):
        progress = (epoch + step / len(batches)) / training.epochs
        optimizer.param_groups[0]["lr"] = recipe.learning_rate * recipe.schedule(progress)
        target = torch.from_numpy(labels[batch]).to(device, torch.float32)
        logits = network(augment(images[batch], generator).to(device))[:, 0]
        loss = functional.binary_cross_entropy_with_logits(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        hits.append(((logits > 0) == (target > 0.5)).float().mean())
    return {
        "epoch": epoch + 1,
        "loss": torch.stack(losses).mean().item(),
        "accuracy": torch.stack(hits).mean().item(),
    }


def _held_out_row(model: AuditedModel, images: np.ndarray, labels: np.ndarray) -> dict:
    labels = _checked_labels(images, labels)
    p = np.clip(predict(model, images), 1e-7, 1 - 1e-7)
    return {
        "held_out_loss": float(-np.log(np.where(labels == 1, p, 1 - p)).mean()),
        "held_out_accuracy": float(((p > 0.5) == (labels == 1)).mean()),
    }


def _finished(path: Path, training: Training, device: str) -> AuditedModel | None:
    """The model at `path` if it is whole and came out of this very training."""
    try:
        model = load(path, device)
    except ValueError:
        return None
    return model if model.training == training else None


def _write_checkpoint(
    path: Path,
    training: Training,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    rows: list[dict],
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    state = {
        "training": asdict(training),
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
        "rows": rows,
    }
    with atomic(path) as temporary:
        torch.save(state, temporary)


def _resume(
    path: Path, training: Training, network: nn.Module, optimizer: torch.optim.Optimizer
) -> list[dict]:
    """Restore the last finished epoch of the same training; returns the curve so far."""
    if not path.exists():
        return []
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        if state["training"] != asdict(training):
            return []
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
        return state["rows"]
    except Exception as error:  # torch.load documents no closed list of what damage raises
        raise ValueError(
            f"{path}: damaged checkpoint ({error}); delete it to train from the start"
        ) from error


def _to_float(images: np.ndarray, device: torch.device) -> Tensor:
    # The copy makes a read-only memory map writable, which torch asks for.
    return torch.from_numpy(np.array(images)).to(device).float() / 255


def _check_images(images: np.ndarray) -> None:
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1] != 3:
        raise ValueError(
            f"images must be uint8 (n, 3, height, width), not {images.dtype} {images.shape}"
        )


def _checked_labels(images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    _check_images(images)
    labels = np.asarray(labels)
    if labels.shape != (len(images),):
        raise ValueError(f"labels must have shape ({len(images)},), one an image: {labels.shape}")
    if set(np.unique(labels)) != {0, 1}:
        raise ValueError(f"labels must be 0 and 1, both present; found {np.unique(labels)[:5]}")
    return labels.astype(np.int64)
