"""Training, storing and evaluating networks, for all kinds of them.

Weights are safetensors, which execute nothing on loading. The card beside them (`.json`) describes
them and has their SHA-256, so that damage is noticed and so are files that do not belong together.
A card of a training has the settings that fix it, its curve, and a hash of both.
"""

import hashlib
import inspect
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import joblib
import numpy as np
import pandas as pd
import safetensors.torch
import torch
from torch import Tensor, nn
from tqdm import tqdm

from faceaudit.generators.weights import Card, copy, fill_network, read_weights, write_weights
from faceaudit.utils import seeding
from faceaudit.utils.arguments import check_images, resolve_device
from faceaudit.utils.errors import InputError
from faceaudit.utils.files import atomic
from helpers.artifacts import manifests
from helpers.artifacts.code import made_by
from helpers.parallel import processes, share_of_cores

SHIPPED_NETWORKS = Path(__file__).with_name("shipped")
"""Folder of the networks that the text describes, trained by the laptop's recipes."""
CPU_BATCH = 32  # of 64 pictures the C library gives memory back after each layer
GPU_BATCH = 1024
KEEP_EVERY = 300  # seconds between two checkpoints within an epoch, where there are any
FEW_STEPS = 2**14  # images times epochs; a training as short ends before other processes start
Done = TypeVar("Done")


def write_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write the state of an unfinished training: numbers, text and tensors."""
    with atomic(path) as temporary:
        torch.save(state, temporary)


def read_checkpoint(path: Path) -> dict[str, Any] | None:
    """The state that `write_checkpoint` left; None if there is none, or a damaged one."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # a damaged file may raise anything
        return None


# --- a training


def one_cycle(progress: float) -> float:
    """Factor of the peak learning rate: up over the first 30% of the steps, then down to zero.

    The rates of torch's `OneCycleLR` (tested), as a function of the progress alone: its default
    counts steps differently, and a training that is taken up again would need its state as well.
    """
    if progress < 0.3:
        return 0.04 + 0.96 * (1 - math.cos(math.pi * progress / 0.3)) / 2
    return (1 + math.cos(math.pi * (progress - 0.3) / 0.7)) / 2


def two_steps(progress: float) -> float:
    """The paper's schedule: a tenth of the rate in the second half (transects, section 5.1)."""
    return 1.0 if progress < 0.5 else 0.1


Loss = tuple[Tensor, Tensor]
Variation = tuple[np.ndarray, ...]
"""Augmentation of a batch, see `augment`: shifts (2, n, 1) and mirrored or not (n, 1); where
colours change, float32 factors of exposure and cast (n, 3, 1, 1) and of contrast (n, 1, 1, 1)."""
Data = tuple["np.ndarray | Lazy", np.ndarray]
"""Images, uint8 (n, 3, size, size), and labels (n, …)."""


@dataclass(frozen=True)
class Lazy:
    """Images of this shape, (n, 3, size, size), that are made when a network is trained on them."""

    shape: tuple[int, int, int, int]
    make: Callable[[], np.ndarray]

    def __len__(self) -> int:
        return self.shape[0]


@dataclass(frozen=True)
class Recipe:
    """How an architecture is optimised.

    A kind of training has its own subclass with `loss(network, images, labels, progress)`, which
    returns loss and accuracy (scalars) of a batch; `progress` grows from 0 to 1.
    """

    batch_size: int
    learning_rate: float
    weight_decay: float
    schedule: Callable[[float], float]

    recolour: ClassVar[bool] = True
    """Whether colours and exposure are augmented, see `augment`."""
    long: ClassVar[bool] = False
    """Whether an epoch may take hours. Each image is then varied by draws of its own, so that an
    epoch can be resumed in its middle; a GPU computes in bfloat16, and a progress bar is shown."""

    def order(self, labels: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Rows of one epoch, in the order in which they are shown."""
        return generator.permutation(len(labels))

    def variation(
        self, rows: np.ndarray, size: int, generator: np.random.Generator, key: tuple[int, str]
    ) -> Variation:
        """Augmentation of the images of these rows, drawn for the batch or, if `long`, by row."""
        if not self.long:
            return draw_variation(len(rows), size, generator, self.recolour)
        u = seeding.uniforms(*key, rows, 8)
        reach = size // 20
        moved = np.floor(u[:, :2] * (2 * reach + 1)).astype(np.int64) - reach
        exposure = 0.8 + 0.4 * u[:, 3:4]
        cast = 0.93 + 0.14 * u[:, 4:7]
        contrast = 0.8 + 0.4 * u[:, 7:]
        return (
            moved.T[..., None],
            u[:, 2:3] < 0.5,
            (exposure * cast)[..., None, None].astype(np.float32),
            contrast[..., None, None].astype(np.float32),
        )


@dataclass(frozen=True)
class Settings:
    """Settings that fix a trained network and its curve: seed, data and code (by content), others.

    A kind of training has its own subclass, in the module that defines its recipe and its network;
    `network()` is the latter before training.
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
        cls._code = made_by(Path(inspect.getfile(cls)))


@dataclass(frozen=True)
class Trained:
    """A trained network, the settings that fix it, and its curve, one row per epoch.

    A kind of network has its own subclass. Its `report(task, images, labels)` returns the columns
    that the curve has for held-out images.
    """

    network: nn.Module
    training: Any
    curve: pd.DataFrame
    shipped: bool = False

    kind: ClassVar[str]
    settings: ClassVar[type[Settings]]

    @property
    def device(self) -> torch.device:
        """Device of the network."""
        return next(self.network.parameters()).device

    @torch.no_grad()
    def outputs(self, images: np.ndarray) -> Tensor:
        """Outputs of the network for uint8 images (n, 3, height, width): float32 (n, outputs)."""
        check_images(images)
        network = self.network.eval()
        device = self.device
        size = CPU_BATCH if device.type == "cpu" else GPU_BATCH
        outputs = []
        # Even no images go through once, so that the outputs have the right width.
        for start in range(0, max(len(images), 1), size):
            batch = fill_batch(images[start : start + size], size)
            outputs.append(network(torch.tensor(batch, device=device).float() / 255).cpu())
        return torch.cat(outputs)[: len(images)]

    @classmethod
    def fresh(cls, training: Settings) -> nn.Module:
        """The network before training; the same seed gives the same weights."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(training.seed)
            network = training.network()
        # Channels last trains a quarter faster on a CPU and no slower on a GPU.
        return network.to(memory_format=torch.channels_last)

    @classmethod
    def read(cls, path: Path, device: str = "cpu") -> Self:
        """Read a network that `write` stored.

        Raises:
            ValueError: weights or card are missing or damaged, or do not fit each other.
        """
        weights, card = read_weights(Path(path), cls.kind)
        recorded = card.get("card_sha256")
        computed = _hash(card)
        if computed != recorded:
            raise InputError(
                f"{path}: the content of its .json is not what was written",
                field="card_sha256",
                found=computed,
                expected=recorded,
            )
        # JSON has lists where the settings have tuples.
        settings = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in card["training"].items()
        }
        training = cls.settings(**settings)
        network = cls.fresh(training)
        fill_network(network, safetensors.torch.load(weights), path, cls.kind)
        network = network.to(resolve_device(device)).eval()
        return cls(network, training, pd.DataFrame(card["curve"]), card.get("shipped", False))

    def write(self, path: Path) -> None:
        """Write weights (`path`, safetensors) and card (`.json` beside it)."""
        card = {"training": asdict(self.training), "curve": self.curve.to_dict("list")}
        card |= {"versions": manifests.versions(), "card_sha256": _hash(card)}
        write_weights(self.network, path, card)

    @classmethod
    def make(
        cls,
        data: Data,
        path: Path,
        task: Recipe,
        more: dict[str, Any],
        *,
        seed: int,
        epochs: int,
        held_out: Data | None = None,
        device: str = "cpu",
    ) -> Self:
        """Take the network that ships, finish a training that was interrupted, or train.

        A network ships for a recipe, which is all its settings but the data and the code. With
        `TRAIN=1` in the environment, or by another recipe, it is trained here, with a checkpoint
        after every epoch. A network of other data, settings or code at `path` is replaced.

        Args:
            data: images, uint8 (n, 3, size, size), and labels, (n, …).
            path: where the weights go (`.safetensors`; the card goes to `.json` beside it).
            task: recipe of the training.
            more: fields of the settings that only this kind of training has.
            seed: of the first weights and of every epoch's draws.
            epochs: passes over the images.
            held_out: images and labels on which the curve reports.
            device: "cpu" or "cuda".
        """
        path = Path(path)
        images, labels = data
        if len(labels) != len(images):
            raise ValueError(f"{len(labels)} labels of {len(images)} images")
        recipe = {
            **more,
            "epochs": epochs,
            "seed": seed,
            "size": images.shape[-1],
            "images": len(images),
        }
        shipped = cls._shipped_for(recipe, path.name, device)
        stored = None
        with suppress(ValueError):  # missing, or damaged
            stored = cls.read(path, device)
        trained_here = stored is not None and not stored.shipped
        if trained_here or shipped is None:
            images = images.make() if isinstance(images, Lazy) else images
            check_images(images)
            key = joblib.hash([images, labels, *(held_out or ())], coerce_mmap=True)
            training = cls.settings(**recipe, data_key=key, code=cls.settings._code)
            if trained_here and stored.training == training:
                return stored
        if shipped is None:
            return cls._trained(training, (images, labels), task, path, device, held_out)
        copy(SHIPPED_NETWORKS / path.name, path)
        return shipped

    @classmethod
    def _shipped_for(cls, recipe: dict[str, Any], name: str, device: str) -> Self | None:
        """The network of that file name that ships, if it was trained by this recipe."""
        path = SHIPPED_NETWORKS / name
        if os.environ.get("TRAIN") == "1" or not path.is_file():
            return None
        network = cls.read(path, device)
        return network if recipe.items() <= asdict(network.training).items() else None

    @classmethod
    def _trained(
        cls,
        training: Settings,
        data: Data,
        task: Recipe,
        path: Path,
        device: str,
        unseen: Data | None,
    ) -> Self:
        """Train, from where an interrupted training of the same settings stopped."""
        network = cls.fresh(training).to(resolve_device(device))
        # Fused: its square roots are rounded alike on all processors, those of the default are not.
        decay = task.weight_decay
        optimizer = torch.optim.AdamW(network.parameters(), weight_decay=decay, fused=True)
        rows: list[dict] = []
        seen: list[Tensor] = []
        checkpoint = path.with_suffix(".checkpoint")
        if (saved := read_checkpoint(checkpoint)) and saved["training"] == asdict(training):
            rows = saved["rows"]
            seen = [step.to(device) for step in saved["seen"]]
            network.load_state_dict(saved["network"])
            optimizer.load_state_dict(saved["optimizer"])
        kept_at = time.monotonic()

        def keep(every: float = 0.0) -> None:
            nonlocal kept_at
            if time.monotonic() - kept_at < every:
                return
            state = {
                "network": network.state_dict(),
                "optimizer": optimizer.state_dict(),
                "training": asdict(training),
                "rows": rows,
                "seen": seen,
            }
            write_checkpoint(checkpoint, state)
            kept_at = time.monotonic()

        for epoch in range(len(rows), training.epochs):
            rows.append(train_epoch(network, optimizer, data, task, training, epoch, seen, keep))
            seen.clear()  # the list that `keep` writes, not a new one
            if unseen is not None:
                rows[-1] |= cls(network, training, pd.DataFrame(rows)).report(task, *unseen)
            keep()
        trained = cls(network.eval(), training, pd.DataFrame(rows))
        trained.write(path)
        checkpoint.unlink(missing_ok=True)
        return trained


def _hash(card: Card) -> str:
    """SHA-256 of the settings and the curve of a card."""
    return hashlib.sha256(json.dumps([card["training"], card["curve"]]).encode()).hexdigest()


def ship(path: Path) -> None:
    """Replace the network that ships with one that was trained here."""
    copy(path, SHIPPED_NETWORKS / path.name, shipped=True)


def fit_all(train: Callable[..., Done], jobs: Sequence[dict]) -> list[Done]:
    """Train several networks, side by side on a processor, one after another on a GPU.

    Two processes of one thread are faster than one of two threads for networks this small. A job
    has the keyword arguments of `train`.
    """
    if any(job.get("device", "cpu") != "cpu" for job in jobs):
        return [train(**job) for job in jobs]
    few = sum(len(job["images"]) * job["epochs"] for job in jobs) <= FEW_STEPS
    if few:
        return [_alone(train, job) for job in jobs]
    return processes(min(len(jobs), share_of_cores()))(
        joblib.delayed(_alone)(train, j) for j in jobs
    )


def _alone(train: Callable[..., Done], job: dict) -> Done:
    """Train in one thread, whichever process it is: the number of threads changes rounding."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return train(**job)
    finally:
        torch.set_num_threads(threads)


def train_epoch(
    network: nn.Module,
    optimizer: Any,
    data: Data,
    task: Recipe,
    settings: Settings,
    epoch: int,
    seen: list[Tensor],
    keep: Callable[[float], None],
) -> dict:
    """One pass, or the rest of it after the steps `seen`; its draws depend on (seed, epoch) alone.

    Loss and accuracy of each step are added to `seen`; in a long task `keep` is called after it,
    with the seconds that may go by between two checkpoints.

    Returns:
        epoch (from 1), loss and accuracy: means over the steps.
    """
    images, labels = data
    generator = seeding.rng(settings.seed, "training", epoch)
    order = task.order(labels, generator)
    size = min(task.batch_size, len(order))
    batches = order[: len(order) // size * size].reshape(-1, size)
    device = next(network.parameters()).device
    on_gpu = device.type == "cuda"
    key = (settings.seed, f"training: images of epoch {epoch}")
    network.train()
    steps = range(len(seen), len(batches))
    if task.long:
        steps = tqdm(
            steps,
            desc=f"epoch {epoch + 1} of {settings.epochs}",
            total=len(batches),
            initial=len(seen),
            unit=" images",
            unit_scale=size,
            mininterval=1 if sys.stderr.isatty() else 60,
        )
    for step in steps:
        batch = batches[step]
        progress = (epoch + step / len(batches)) / settings.epochs
        rate = task.learning_rate * task.schedule(progress)
        optimizer.param_groups[0]["lr"] = rate
        target = torch.from_numpy(labels[batch]).to(device)
        pixels = torch.from_numpy(images[batch])
        if on_gpu:  # it takes pinned memory while it still computes the step before
            pixels = pixels.pin_memory().to(device, non_blocking=True)
        x = augment(pixels, task.variation(batch, images.shape[-1], generator, key))
        with torch.autocast(device.type, torch.bfloat16, enabled=on_gpu and task.long):
            loss, accuracy = task.loss(network, x, target, progress)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(torch.stack([loss.detach(), accuracy.detach()]))
        if task.long:
            if step % 50 == 0:  # a GPU waits for it
                steps.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
            keep(KEEP_EVERY)
    losses, accuracies = zip(*seen, strict=True)
    return {
        "epoch": epoch + 1,
        "loss": torch.stack(losses).mean().item(),
        "accuracy": torch.stack(accuracies).mean().item(),
    }


def draw_variation(
    count: int, size: int, generator: np.random.Generator, recolour: bool = True
) -> Variation:
    """Draw the augmentation of `count` images; without `recolour` colours stay, see `augment`."""
    reach = size // 20
    moved = generator.integers(-reach, reach + 1, (2, count, 1))
    mirrored = generator.random((count, 1)) < 0.5
    if not recolour:
        return moved, mirrored
    exposure = generator.uniform(0.8, 1.2, (count, 1, 1, 1))
    cast = generator.uniform(0.93, 1.07, (count, 3, 1, 1))
    contrast = generator.uniform(0.8, 1.2, (count, 1, 1, 1))
    return moved, mirrored, (exposure * cast).astype(np.float32), contrast.astype(np.float32)


def augment(images: Tensor, variation: Variation) -> Tensor:
    """Mirror, shift by up to 1/20 of the width, change exposure, contrast and colour cast.

    The last three are left out for tasks in which colour is learned.

    Args:
        images: uint8 (n, 3, size, size).
        variation: of every image.

    Returns:
        float32 (n, 3, size, size) in [0, 1], on the device of the images.
    """
    count, _, _, size = images.shape
    (down, right), mirrored, *colours = variation
    pixels = np.arange(size)
    rows = np.clip(pixels + down, 0, size - 1)
    columns = np.clip(pixels + right, 0, size - 1)
    columns = np.where(mirrored, columns[:, ::-1], columns)
    rows, columns, *colours = (
        torch.from_numpy(array).to(images.device) for array in (rows, columns, *colours)
    )
    # Pixels with their channels, which come out last, are the rows that one gather takes.
    first = torch.arange(count, device=images.device)[:, None, None] * size
    place = (first + rows[:, :, None]) * size + columns[:, None, :]
    moved = images.permute(0, 2, 3, 1).reshape(-1, 3).index_select(0, place.ravel())
    x = moved.reshape(count, size, size, 3).permute(0, 3, 1, 2).float().div_(255)
    if not colours:
        return x
    factors, contrast = colours
    x.mul_(factors)
    mean = x.mean((1, 2, 3), keepdim=True)
    return x.sub_(mean).mul_(contrast).add_(mean).clamp_(0, 1)


def fill_batch(part: Any, size: int) -> Any:
    """A batch, filled up with its last item; networks round small batches differently."""
    return part[np.minimum(np.arange(size), len(part) - 1)] if len(part) else part
