"""What all trainings share: optimisation, augmentation, and going on after an interruption.

Chapters 2, 15 and 16 train classifiers, a reader of attributes and recognisers with it.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import torch
from joblib import delayed
from torch import Tensor, nn

from helpers.artifacts import kept, weights
from helpers.utils import seeding
from helpers.utils.parallel import processes, share_of_cores

Trained = TypeVar("Trained")

FEW_STEPS = 2**14  # images times epochs that are learnt as quickly as other processes start


def one_cycle(progress: float) -> float:
    """Factor of the peak learning rate: up over the first 30 % of the steps, then down to zero.

    The rates of torch's `OneCycleLR` (tested), as a function of the progress alone: its default
    counts steps differently, and a training that is taken up again would need its state as well.
    """
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
    recolour: bool = True  # whether colours and exposure are augmented, see `augment`


@dataclass(frozen=True)
class Task:
    """What is particular to a kind of training."""

    recipe: Recipe

    def order(self, labels: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Rows of one epoch, in the order in which they are shown."""
        return generator.permutation(len(labels))

    def loss(
        self, network: nn.Module, images: Tensor, labels: Tensor, progress: float
    ) -> tuple[Tensor, Tensor]:
        """Loss and accuracy (scalars) of a batch; `progress` grows from 0 to 1."""
        raise NotImplementedError


@dataclass(frozen=True)
class Settings:
    """What fixes a trained network and its curve: settings, seed, data and code (by content).

    A kind of training has its own subclass, in the module that defines its recipe and its network.
    """

    epochs: int
    seed: int
    size: int
    images: int
    data_key: str
    code: str

    _code: ClassVar[str]

    def __init_subclass__(cls) -> None:
        # On import: a file that is edited while a chapter runs is not what trains in it.
        cls._code = kept.made_by(Path(inspect.getfile(cls)))

    @classmethod
    def of(
        cls,
        images: np.ndarray,
        labels: np.ndarray,
        epochs: int,
        seed: int,
        held_out: tuple[np.ndarray, np.ndarray] | None = None,
        **more: Any,
    ) -> Self:
        """The settings of a training with these images; `more` are a subclass's own fields.

        Images that are held out do not change the network, but what its curve reports.
        """
        key = data_key(images, labels, *(held_out or ()))
        return cls(epochs, seed, images.shape[-1], len(images), key, cls._code, **more)


def fit(
    network: nn.Module,
    images: np.ndarray,
    labels: np.ndarray,
    task: Task,
    settings: Settings,
    checkpoint: Path,
    after_epoch: Callable[[list[dict]], dict] | None = None,
) -> list[dict]:
    """Train a network in place, from where an interrupted training of the same settings stopped.

    Args:
        images: uint8 (n, 3, size, size).
        labels: (n, ...), what the task's `order` and `loss` take; int64 (n,) of a classifier.
        checkpoint: rewritten after every epoch; the caller removes it once the network is kept.
        after_epoch: rows of the curve so far → what to add to the last one.

    Returns:
        The curve: one dict per epoch with epoch, loss, accuracy and what `after_epoch` adds.
    """
    # Fused: its square roots are rounded alike on all processors, those of the default are not.
    decay = task.recipe.weight_decay
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=decay, fused=True)
    rows = _resume(checkpoint, settings, network, optimizer)
    for epoch in range(len(rows), settings.epochs):
        rows.append(train_epoch(network, optimizer, images, labels, task, settings, epoch))
        if after_epoch is not None:
            rows[-1] |= after_epoch(rows)
        state = {"training": asdict(settings), "rows": rows}
        state |= {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
        weights.write_checkpoint(checkpoint, state)
    return rows


def fit_all(train: Callable[..., Trained], jobs: Sequence[dict]) -> list[Trained]:
    """Train several networks, side by side on a processor, one after another on a GPU.

    Two processes of one thread are faster than one of two threads for networks this small.

    Args:
        train: trains one network; takes `images`, `epochs` and perhaps `device`.
        jobs: its keyword arguments, one dict a network.
    """
    few = sum(len(job["images"]) * job["epochs"] for job in jobs) <= FEW_STEPS
    if few or any(job.get("device", "cpu") != "cpu" for job in jobs):
        return [train(**job) for job in jobs]
    number = min(len(jobs), share_of_cores())
    return processes(number)(delayed(_fit_alone)(train, job) for job in jobs)


def _fit_alone(train: Callable[..., Trained], job: dict) -> Trained:
    """Train in one thread, whichever process it is: the number of threads changes rounding."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return train(**job)
    finally:
        torch.set_num_threads(threads)


def train_epoch(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    images: np.ndarray,
    labels: np.ndarray,
    task: Task,
    settings: Settings,
    epoch: int,
) -> dict:
    """One pass; its draws depend on (seed, epoch) alone."""
    generator = seeding.rng(settings.seed, "training", epoch)
    order = task.order(labels, generator)
    size = min(task.recipe.batch_size, len(order))
    batches = order[: len(order) // size * size].reshape(-1, size)
    device = next(network.parameters()).device
    network.train()
    losses, hits = [], []
    for step, batch in enumerate(batches):
        progress = (epoch + step / len(batches)) / settings.epochs
        rate = task.recipe.learning_rate * task.recipe.schedule(progress)
        optimizer.param_groups[0]["lr"] = rate
        target = torch.from_numpy(labels[batch]).to(device)
        x = augment(images[batch], generator, task.recipe.recolour).to(device)
        loss, accuracy = task.loss(network, x, target, progress)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        hits.append(accuracy.detach())
    return {
        "epoch": epoch + 1,
        "loss": torch.stack(losses).mean().item(),
        "accuracy": torch.stack(hits).mean().item(),
    }


def augment(images: np.ndarray, generator: np.random.Generator, recolour: bool = True) -> Tensor:
    """Random mirror, shift by up to 1/20 of the width, exposure, contrast and colour cast.

    Args:
        images: uint8 (n, 3, size, size).
        recolour: False leaves the last three out, for tasks in which colour is what is asked.

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
    # Pixels with their channels, which come out last, are the rows that one gather takes.
    place = (np.arange(count)[:, None, None] * size + rows[:, :, None]) * size + columns[:, None, :]
    shown = torch.from_numpy(images).permute(0, 2, 3, 1).reshape(-1, 3)
    moved = shown.index_select(0, torch.from_numpy(place.ravel()))
    x = moved.reshape(count, size, size, 3).permute(0, 3, 1, 2).float().div_(255)
    if not recolour:
        return x
    exposure = generator.uniform(0.8, 1.2, (count, 1, 1, 1))
    cast = generator.uniform(0.93, 1.07, (count, 3, 1, 1))
    contrast = torch.from_numpy(generator.uniform(0.8, 1.2, (count, 1, 1, 1)).astype(np.float32))
    x.mul_(torch.from_numpy((exposure * cast).astype(np.float32)))
    mean = x.mean((1, 2, 3), keepdim=True)
    return x.sub_(mean).mul_(contrast).add_(mean).clamp_(0, 1)


def data_key(*data: np.ndarray) -> str:
    """Hash of the data's content: images, labels."""
    digest = hashlib.sha256()
    for array in map(np.asarray, data):
        digest.update(f"{array.dtype.str} {array.shape}".encode())
        for start in range(0, len(array), 1024):
            digest.update(np.ascontiguousarray(array[start : start + 1024]))
    return digest.hexdigest()


def to_float(images: np.ndarray, device: torch.device) -> Tensor:
    """Images as the networks take them: float32 in [0, 1] on their device."""
    # The copy makes a read-only memory map writable, which torch asks for.
    return torch.from_numpy(np.array(images)).to(device).float() / 255


def check_images(images: np.ndarray) -> None:
    """Raise ValueError unless images are uint8 (n, 3, height, width)."""
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1] != 3:
        raise ValueError(
            f"images must be uint8 (n, 3, height, width), not {images.dtype} {images.shape}"
        )


def _resume(
    path: Path, settings: Settings, network: nn.Module, optimizer: torch.optim.Optimizer
) -> list[dict]:
    """Restore the last finished epoch of the same training; returns the curve so far."""
    state = weights.read_checkpoint(path)
    if state is None or state["training"] != asdict(settings):
        return []
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    return state["rows"]
