"""Trained networks: made once, kept as weights with a card beside them, and read again.

`Trained` is what the three kinds of networks share (chapters 2, 15 and 16): classifiers,
recognisers and attribute readers. The card (`.json`) has the settings that fix the training, its
curve, and hashes of the weights and of itself, so that damage is noticed and so are files that do
not belong together.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from helpers.artifacts import manifests, weights
from helpers.models.training import Settings, Task, check_images, fit, to_float
from helpers.utils.checks import resolve_device

SHIPPED = Path(__file__).with_name("shipped")
"""The networks that the book's text speaks of, trained by the laptop's recipes."""


@dataclass(frozen=True)
class Trained:
    """A trained network, the settings that fix it, and its curve, one row per epoch."""

    network: nn.Module
    training: Any
    curve: pd.DataFrame

    kind: ClassVar[str]
    settings: ClassVar[type[Settings]]

    @staticmethod
    def untrained(training: Any) -> nn.Module:
        """The network of these settings before training."""
        raise NotImplementedError

    @property
    def device(self) -> torch.device:
        """Where the network computes."""
        return next(self.network.parameters()).device

    @torch.no_grad()
    def outputs(self, images: np.ndarray, batch: int) -> Tensor:
        """What the network makes of uint8 images (n, 3, height, width): float32 (n, outputs)."""
        check_images(images)
        network = self.network.eval()
        # No images still go through once, which gives none of the right width.
        first = network(to_float(images[:batch], self.device)).cpu()
        # Written into one place: small results between large ones keep the memory of all.
        made = first.new_empty((len(images), *first.shape[1:]))
        made[:batch] = first
        for at in range(batch, len(images), batch):
            made[at : at + batch] = network(to_float(images[at : at + batch], self.device))
        return made


Kept = TypeVar("Kept", bound=Trained)


def fresh(kind: type[Trained], training: Settings) -> nn.Module:
    """The network before training; the same seed gives the same weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(training.seed)
        network = kind.untrained(training)
    # Channels last trains a quarter faster on a CPU and no slower on a GPU.
    return network.to(memory_format=torch.channels_last)


def make(
    kind: type[Kept],
    training: Settings,
    images: np.ndarray,
    labels: np.ndarray,
    task: Task,
    path: Path,
    device: str,
    report: Callable[[Kept], dict] | None = None,
) -> Kept:
    """Take the network that ships, finish a training that was interrupted, or train.

    A network ships for a recipe: settings and seed. With `TRAIN=1` in the environment, or by
    another recipe, it is trained here.

    Args:
        images, labels: as `training.fit` takes them.
        path: where weights and card go; what other data, settings or code left there is replaced.
        report: the network so far → what to add to the curve's last row.
    """
    path, anew = Path(path), os.environ.get("TRAIN") == "1"
    kept = _finished(kind, path, device)
    if kept is not None and kept.training == training and not (anew and is_shipped(path)):
        return kept
    source = SHIPPED / path.name
    if not anew and source.is_file():
        ours = read(kind, source, device)
        if _recipe(ours.training) == _recipe(training):
            weights.copy(source, path)
            return ours
    network = fresh(kind, training).to(resolve_device(device))

    def so_far(rows: list[dict]) -> Kept:
        return kind(network, training, pd.DataFrame(rows))

    checkpoint = path.with_suffix(".checkpoint")
    after_epoch = None if report is None else lambda rows: report(so_far(rows))
    trained = so_far(fit(network, images, labels, task, training, checkpoint, after_epoch))
    network.eval()
    write(trained, path)
    checkpoint.unlink(missing_ok=True)
    return trained


def _finished(kind: type[Kept], path: Path, device: str) -> Kept | None:
    """What an earlier run left, if it is whole."""
    if not path.is_file():
        return None
    try:
        return read(kind, path, device)
    except ValueError as error:
        warnings.warn(f"{error}; it is trained again", stacklevel=2)
        return None


def _recipe(training: Settings) -> dict[str, Any]:
    """What fixes a training, but for the data and the code, which are known by their hashes."""
    return {k: v for k, v in asdict(training).items() if k not in ("data_key", "code")}


def is_shipped(path: Path) -> bool:
    """Whether the network at `path` is one that ships."""
    card = Path(path).with_suffix(".json")
    return card.is_file() and bool(json.loads(card.read_text(encoding="utf-8")).get("shipped"))


def ship(path: Path) -> None:
    """Take a network that was trained here for the one that ships."""
    weights.copy(path, SHIPPED / Path(path).name, shipped=True)


def write(trained: Trained, path: Path) -> None:
    """Write weights (`path`, safetensors) and card (`.json` beside it)."""
    card = {"training": asdict(trained.training), "curve": trained.curve.to_dict("list")}
    made = {"versions": manifests.versions(), "card_sha256": _hash(card)}
    weights.write(trained.network, path, card | made)


def _hash(card: dict[str, Any]) -> str:
    said = json.dumps([card["training"], card["curve"]])
    return hashlib.sha256(said.encode()).hexdigest()


def read(kind: type[Kept], path: Path, device: str = "cpu") -> Kept:
    """Read what `write` left at `path`.

    Raises:
        ValueError: weights or card are missing, damaged, or do not belong together.
    """
    stored, card = weights.read(path, kind.kind)
    try:
        if _hash(card) != card["card_sha256"]:
            raise ValueError("its content is not what was written")
        # JSON has lists where the settings have tuples.
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in card["training"].items()}
        training, curve = kind.settings(**values), pd.DataFrame(card["curve"])
        network = fresh(kind, training)
    except (AttributeError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: no readable {kind.kind} with its .json ({error})") from error
    network = weights.fill(network, stored, Path(path), kind.kind)
    return kind(network.to(resolve_device(device)).eval(), training, curve)
