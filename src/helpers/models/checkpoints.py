"""How trained networks are kept: weights in one file, and a card beside it that describes them.

The weights are in safetensors; the card (`.json`) has the settings that fix the training, its
curve, and the weights' hash, so that files that do not belong together are noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pandas as pd
from torch import nn

from helpers.artifacts import weights


class Trained(Protocol):
    """A network with the settings of its training (a frozen dataclass) and its curve."""

    network: nn.Module
    training: Any
    curve: pd.DataFrame


Kept = TypeVar("Kept", bound=Trained)


@dataclass(frozen=True)
class Card:
    """What lies at a path: the weights, as bytes, and what the card says of them."""

    path: Path
    weights: bytes
    training: Any
    curve: pd.DataFrame
    more: dict[str, Any]


def write(trained: Trained, path: Path, **more: Any) -> None:
    """Write weights (`path`) and card (`.json` beside it); `more` goes onto the card as it is."""
    training, curve = asdict(trained.training), trained.curve.to_dict("list")
    weights.write(trained.network, path, {"training": training, "curve": curve, **more})


def read(path: Path, kind: str, settings: Callable[..., Any], *more: str) -> Card:
    """Read what `write` left at `path`.

    Args:
        kind: what it is, for the message.
        settings: the dataclass of the training's settings.
        more: names of what else is on the card.

    Raises:
        ValueError: weights or card are missing, damaged, or do not belong together.
    """
    kept, card = weights.read(path, kind)
    try:
        training, curve = settings(**card["training"]), pd.DataFrame(card["curve"])
        others = {name: card[name] for name in more}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path}: no readable {kind} with its .json beside it ({error})"
        ) from error
    return Card(Path(path), kept, training, curve, others)


def fill(network: nn.Module, card: Card, kind: str) -> nn.Module:
    """The network with the card's weights in it.

    Raises:
        ValueError: they are the weights of another network.
    """
    return weights.fill(network, card.weights, card.path, kind)


def finished(
    load: Callable[[Path, str], Kept], path: Path, training: Any, device: str
) -> Kept | None:
    """What `load` finds at `path` if it is whole and came out of this very training, else None."""
    try:
        kept = load(path, device)
    except ValueError:
        return None
    return kept if kept.training == training else None
