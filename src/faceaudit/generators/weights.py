"""Weights of networks on disk, with a card beside them.

Weights are safetensors, which execute no code on loading. The card (`.json`) says what they are and
has their SHA-256, so that damage is noticed and so are files that do not belong together.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any

import safetensors.torch
from torch import Tensor, nn

from faceaudit.utils.files import atomic

Card = dict[str, Any]


# --- weights on disk


def write_weights(network: nn.Module, path: Path, card: Card) -> None:
    """Write `path` (safetensors) and beside it the card, to which the hash is added."""
    state = {name: value.contiguous().cpu() for name, value in network.state_dict().items()}
    _write(safetensors.torch.save(state), Path(path), card)


def copy(source: Path, path: Path, /, **more: Any) -> None:
    """Copy weights with their card, to which `more` is added."""
    weights, card = read_weights(source, "network")
    _write(weights, path, card | more)


def _write(weights: bytes, path: Path, card: Card) -> None:
    card = json.dumps(card | {"sha256": hashlib.sha256(weights).hexdigest()}, indent=1)
    for place, content in ((path, weights), (path.with_suffix(".json"), f"{card}\n".encode())):
        with atomic(place) as temporary:
            temporary.write_bytes(content)


def read_weights(path: Path, kind: str) -> tuple[bytes, Card]:
    """The bytes at `path` and the card; ValueError where one is missing, damaged or another's."""
    try:
        weights = path.read_bytes()
        card = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        expected = card["sha256"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        words = f"{path}: no readable {kind} with its .json beside it ({error})"
        raise ValueError(words) from error
    if hashlib.sha256(weights).hexdigest() != expected:
        raise ValueError(f"{path}: its SHA-256 is not that of the .json: other weights, or damaged")
    return weights, card


def fill_network(network: nn.Module, state: Mapping[str, Tensor], path: Path, kind: str) -> None:
    """Give a network its weights; one that was made on the device "meta" comes to the CPU.

    Raises:
        ValueError: a weight that is missing, unknown, of another shape or not finite; the message
            names file and weight.
    """
    if any(parameter.is_meta for parameter in network.parameters()):
        network.to_empty(device="cpu")
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        words = shorten(str(error), 300)
        raise ValueError(f"{path}: no weights of a {kind}: {words}") from None
    if broken := [name for name, value in state.items() if not value.isfinite().all()]:
        raise ValueError(f"{path}: {broken[0]} holds values that are not finite")
