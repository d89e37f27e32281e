"""What all networks share: weights on disk, a training that is taken up again, asking.

Weights are safetensors, which execute nothing on loading. The card beside them (`.json`) says what
they are and has their SHA-256, so that damage is noticed and so are files that do not belong
together. A card of a training has the settings that fix it, its curve, and a hash of both.
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
from faceaudit.utils.files import atomic
from helpers.artifacts import manifests
from helpers.artifacts.code import made_by
from helpers.parallel import processes, share_of_cores

SHIPPED_NETWORKS = Path(__file__).with_name("shipped")
"""The networks that the book's text speaks of, trained by the laptop's recipes."""
CPU_BATCH = 32  # asked at a time: of 64 pictures the C library gives memory back after each layer
GPU_BATCH = 1024
KEEP_EVERY = 300  # seconds between two checkpoints within an epoch, where there are any
FEW_STEPS = 2**14  # images times epochs that are learnt as quickly as other processes start
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


Loss = tuple[Tensor, Tensor]
Variation = tuple[np.ndarray, ...]
"""How a batch is shown, for `augment`: shifts (2, n, 1) and mirrored or not (n, 1); where colours
change, float32 factors of exposure and cast (n, 3, 1, 1) and of contrast (n, 1, 1, 1)."""
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
    """How an architecture is optimised, and, in a subclass for each kind of training, for what.

    Its `loss(network, images, labels, progress)` gives loss and accuracy (scalars) of a batch;
    `progress` grows from 0 to 1.
    """

    batch_size: int
    learning_rate: float
    weight_decay: float
    schedule: Callable[[float], float]

    recolour: ClassVar[bool] = True
    """Whether colours and exposure are augmented, see `augment`."""
    long: ClassVar[bool] = False
    """Whether an epoch may take hours. Each image is then varied by draws of its own, so that an
    epoch can be taken up in its middle; a GPU computes in bfloat16, and progress is told."""

    def order(self, labels: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Rows of one epoch, in the order in which they are shown."""
        return generator.permutation(len(labels))

    def variation(
        self, rows: np.ndarray, size: int, generator: np.random.Generator, key: tuple[int, str]
    ) -> Variation:
        """How the images of these rows are shown, by draws for the batch or, if `long`, by row."""
        if not self.long:
            return draw_variation(len(rows), size, generator, self.recolour)
        u = seeding.uniforms(*key, rows, 8)
        reach = size // 20
        moved = np.floor(u[:, :2] * (2 * reach + 1)).astype(np.int64) - reach
        exposure, cast, contrast = (
            0.8 + 0.4 * u[:, 3:4],
            0.93 + 0.14 * u[:, 4:7],
            0.8 + 0.4 * u[:, 7:],
        )
        colours = ((exposure * cast)[..., None, None], contrast[..., None, None])
        return moved.T[..., None], u[:, 2:3] < 0.5, *(c.astype(np.float32) for c in colours)


@dataclass(frozen=True)
class Settings:
    """What fixes a trained network and its curve: settings, seed, data and code (by content).

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

    A kind of network has its own subclass. Its `report(task, images, labels)` says of images that
    are held out what the curve is to have in addition.
    """

    network: nn.Module
    training: Any
    curve: pd.DataFrame
    shipped: bool = False

    kind: ClassVar[str]
    settings: ClassVar[type[Settings]]

    @property
    def device(self) -> torch.device:
        """Where the network computes."""
        return next(self.network.parameters()).device

    @torch.no_grad()
    def outputs(self, images: np.ndarray) -> Tensor:
        """What the network makes of uint8 images (n, 3, height, width): float32 (n, outputs)."""
        check_images(images)
        network, device = self.network.eval(), self.device
        # No images still go through once, which gives none of the right width.
        each = CPU_BATCH if device.type == "cpu" else GPU_BATCH
        starts = range(0, max(len(images), 1), each)
        parts = (
            torch.tensor(fill_batch(images[k : k + each], each), device=device) for k in starts
        )
        return torch.cat([network(part.float() / 255).cpu() for part in parts])[: len(images)]

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
        """Read what `write` left; ValueError where weights or card are damaged or do not fit."""
        weights, card = read_weights(Path(path), cls.kind)
        if _hash(card) != card.get("card_sha256"):
            raise ValueError(f"{path}: the content of its .json is not what was written")
        # JSON has lists where the settings have tuples.
        said = {k: tuple(v) if isinstance(v, list) else v for k, v in card["training"].items()}
        training = cls.settings(**said)
        network = cls.fresh(training)
        fill_network(network, safetensors.torch.load(weights), path, cls.kind)
        curve, shipped = pd.DataFrame(card["curve"]), card.get("shipped", False)
        return cls(network.to(resolve_device(device)).eval(), training, curve, shipped)

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
        after every epoch. What other data, settings or code left at `path` is replaced.

        Args:
            data: images, uint8 (n, 3, size, size), and labels, (n, …).
            path: where the weights go (`.safetensors`; the card goes to `.json` beside it).
            task: what is learned.
            more: the settings' own fields.
            seed: of the first weights and of every epoch's draws.
            epochs: passes over the images.
            held_out: images and labels on which the curve reports.
            device: "cpu" or "cuda".
        """
        path, anew = Path(path), os.environ.get("TRAIN") == "1"
        (images, labels), ships, found = data, None, None
        if len(labels) != len(images):
            raise ValueError(f"{len(labels)} labels of {len(images)} images")
        more |= {"epochs": epochs, "seed": seed, "size": images.shape[-1], "images": len(images)}
        if not anew and (shipped := SHIPPED_NETWORKS / path.name).is_file():
            ours = cls.read(shipped, device)
            ships = ours if more.items() <= asdict(ours.training).items() else None
        with suppress(ValueError):  # missing, or damaged
            found = cls.read(path, device)
        if (found is not None and not found.shipped) or ships is None:
            images = images.make() if isinstance(images, Lazy) else images
            check_images(images)
            key = joblib.hash([images, labels, *(held_out or ())], coerce_mmap=True)
            training = cls.settings(**more, data_key=key, code=cls.settings._code)
            if found is not None and found.training == training and not found.shipped:
                return found
        if ships is None:
            return cls._trained(training, (images, labels), task, path, device, held_out)
        copy(shipped, path)
        return ships

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
        rows, seen, checkpoint = [], [], path.with_suffix(".checkpoint")
        if (saved := read_checkpoint(checkpoint)) and saved["training"] == asdict(training):
            rows, seen = saved["rows"], [step.to(device) for step in saved["seen"]]
            network.load_state_dict(saved["network"])
            optimizer.load_state_dict(saved["optimizer"])
        kept_at = time.monotonic()

        def keep(every: float = 0.0) -> None:
            nonlocal kept_at
            if time.monotonic() - kept_at < every:
                return
            state = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
            state |= {"training": asdict(training), "rows": rows, "seen": seen}
            write_checkpoint(checkpoint, state)
            kept_at = time.monotonic()

        for epoch in range(len(rows), training.epochs):
            rows.append(train_epoch(network, optimizer, data, task, training, epoch, seen, keep))
            seen = []
            if unseen is not None:
                rows[-1] |= cls(network, training, pd.DataFrame(rows)).report(task, *unseen)
            keep()
        trained = cls(network.eval(), training, pd.DataFrame(rows))
        trained.write(path)
        checkpoint.unlink(missing_ok=True)
        return trained


def _hash(card: Card) -> str:
    return hashlib.sha256(json.dumps([card["training"], card["curve"]]).encode()).hexdigest()


def ship(path: Path) -> None:
    """Take a network that was trained here for the one that ships."""
    copy(path, SHIPPED_NETWORKS / path.name, shipped=True)


def fit_all(train: Callable[..., Done], jobs: Sequence[dict]) -> list[Done]:
    """Train several networks, side by side on a processor, one after another on a GPU.

    Two processes of one thread are faster than one of two threads for networks this small. A job
    has the keyword arguments of `train`.
    """
    few = sum(len(job["images"]) * job["epochs"] for job in jobs) <= FEW_STEPS
    if few or any(job.get("device", "cpu") != "cpu" for job in jobs):
        return [train(**job) for job in jobs]
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

    What each step saw (loss and accuracy) is added to `seen`; in a long task `keep` is called after
    it, with the seconds that may go by between two checkpoints.
    """
    images, labels = data
    generator = seeding.rng(settings.seed, "training", epoch)
    order = task.order(labels, generator)
    size = min(task.batch_size, len(order))
    batches = order[: len(order) // size * size].reshape(-1, size)
    device = next(network.parameters()).device
    on_gpu, key = device.type == "cuda", (settings.seed, f"training: images of epoch {epoch}")
    network.train()
    steps = range(len(seen), len(batches))
    if task.long:
        bar = {"desc": f"epoch {epoch + 1} of {settings.epochs}", "total": len(batches)}
        bar |= {"initial": len(seen), "unit": " images", "unit_scale": size}
        steps = tqdm(steps, **bar, mininterval=1 if sys.stderr.isatty() else 60)
    for step in steps:
        batch = batches[step]
        progress = (epoch + step / len(batches)) / settings.epochs
        rate = task.learning_rate * task.schedule(progress)
        optimizer.param_groups[0]["lr"] = rate
        target = torch.from_numpy(labels[batch]).to(device)
        shown = torch.from_numpy(images[batch])
        if on_gpu:  # it takes pinned memory while it still computes the step before
            shown = shown.pin_memory().to(device, non_blocking=True)
        x = augment(shown, task.variation(batch, images.shape[-1], generator, key))
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
    loss, accuracy = (torch.stack(each).mean().item() for each in zip(*seen, strict=True))
    return {"epoch": epoch + 1, "loss": loss, "accuracy": accuracy}


def draw_variation(
    count: int, size: int, generator: np.random.Generator, recolour: bool = True
) -> Variation:
    """Random variation of so many images; without `recolour` colours stay, see `augment`."""
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

    Images are uint8 (n, 3, size, size), what comes of them float32 in [0, 1], on their device.
    The last three are left out for tasks in which colour is what is asked.
    """
    count, _, _, size = images.shape
    (down, right), mirrored, *colours = variation
    pixels = np.arange(size)
    rows = np.clip(pixels + down, 0, size - 1)
    columns = np.clip(pixels + right, 0, size - 1)
    columns = np.where(mirrored, columns[:, ::-1], columns)
    here = (torch.from_numpy(each).to(images.device) for each in (rows, columns, *colours))
    rows, columns, *colours = here
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
    """A batch, filled up with its last item: networks round few items otherwise than many."""
    return part[np.minimum(np.arange(size), len(part) - 1)] if len(part) else part
