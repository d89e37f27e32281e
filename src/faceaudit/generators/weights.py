"""Weights of networks on disk, with a card beside them.

Weights are safetensors, which execute no code on loading. The card (`.json`) describes them and has
their SHA-256, so that a damaged file, or a card of other weights, is noticed.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any

import safetensors.torch
from torch import Tensor, nn

from faceaudit.utils.errors import InputError
from faceaudit.utils.files import atomic

Card = dict[str, Any]


# --- weights on disk


def write_weights(network: nn.Module, path: Path, card: Card) -> None:
    """Write a network's weights to `path` (safetensors), with the card and their hash beside it."""
    state = {name: value.contiguous().cpu() for name, value in network.state_dict().items()}
    _write_with_card(safetensors.torch.save(state), Path(path), card)


def copy(source: Path, path: Path, /, **more: Any) -> None:
    """Copy weights with their card, to which `more` is added."""
    weights, card = read_weights(source, "network")
    _write_with_card(weights, path, card | more)


def _write_with_card(weights: bytes, path: Path, card: Card) -> None:
    text = json.dumps(card | {"sha256": hashlib.sha256(weights).hexdigest()}, indent=1)
    with atomic(path) as temporary:
        temporary.write_bytes(weights)
    with atomic(path.with_suffix(".json")) as temporary:
        temporary.write_bytes(f"{text}\n".encode())


def read_weights(path: Path, kind: str) -> tuple[bytes, Card]:
    """Read weights and their card.

    Args:
        path: the weights; the card is beside them.
        kind: what the weights are of, for messages.

    Returns:
        The bytes at `path`, and the card.

    Raises:
        InputError: a file that is missing or cannot be read, or weights whose hash is not the
            card's.
    """
    try:
        weights = path.read_bytes()
        card = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        expected = card["sha256"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: no readable {kind} with its .json beside it ({error})",
            field=str(path),
            found=str(error),
            expected=f"a {kind} with its .json beside it",
        ) from error
    digest = hashlib.sha256(weights).hexdigest()
    if digest != expected:
        raise InputError(
            f"{path}: its SHA-256 is not that of the .json: other weights, or damaged",
            field=str(path),
            found=digest,
            expected=str(expected),
        )
    return weights, card


def fill_network(network: nn.Module, state: Mapping[str, Tensor], path: Path, kind: str) -> None:
    """Give a network its weights; one that was made on the device "meta" comes to the CPU.

    Args:
        network: which gets the weights.
        state: name → weight.
        path: of the file, for messages.
        kind: what the weights are of, for messages.

    Raises:
        InputError: a weight that is missing, unknown, of another shape or not finite; the message
            names file and weight.
    """
    if any(parameter.is_meta for parameter in network.parameters()):
        network.to_empty(device="cpu")
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        mismatch = shorten(str(error), 300)
        raise InputError(
            f"{path}: no weights of a {kind}: {mismatch}",
            field=str(path),
            found=mismatch,
            expected=f"weights of a {kind}",
        ) from None
    for name, value in state.items():
        if not value.isfinite().all():
            raise InputError(
                f"{path}: {name} holds values that are not finite",
                field=f"{path}: {name}",
                expected="finite values",
            )
