"""Weights of networks on disk: safetensors, which execute nothing on loading, and a card in JSON.

The card says how the weights were made and what their SHA-256 is.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import nn

from helpers.artifacts import atomic


def write_weights(network: nn.Module, path: Path, recipe: dict[str, Any]) -> None:
    """Write `path` (safetensors) and beside it the card (`.json`)."""
    state = {name: value.contiguous().cpu() for name, value in network.state_dict().items()}
    weights = safetensors.torch.save(state)
    card = {"sha256": hashlib.sha256(weights).hexdigest(), "recipe": recipe}
    with atomic(path) as temporary:
        temporary.write_bytes(weights)
    with atomic(path.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")


def read_weights(path: Path, network: nn.Module) -> dict[str, Any]:
    """Load weights into a network, in place; returns the recipe of their card.

    Raises:
        ValueError: a file is missing or damaged, the hash is not the card's, a weight is missing,
            of another shape, unknown or not finite; the message names file and weight.
    """
    path = Path(path)
    try:
        weights = path.read_bytes()
        card = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        expected, recipe = card["sha256"], card["recipe"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: no readable weights with their .json ({error})") from error
    if (found := hashlib.sha256(weights).hexdigest()) != expected:
        raise ValueError(
            f"{path}: SHA-256 {found[:12]}… is not {expected[:12]}…, which {path.stem}.json names"
        )
    try:
        state = safetensors.torch.load(weights)
    except SafetensorError as error:
        raise ValueError(f"{path}: not a safetensors file ({error})") from error
    _check(path, state, network.state_dict())
    network.load_state_dict(state)
    return recipe


def _check(path: Path, state: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> None:
    for name, weight in wanted.items():
        if name not in state:
            raise ValueError(f"{path}: no weight {name}")
        if state[name].shape != weight.shape:
            found, expected = tuple(state[name].shape), tuple(weight.shape)
            raise ValueError(f"{path}: weight {name} has shape {found}, expected {expected}")
        if not torch.isfinite(state[name]).all():
            raise ValueError(f"{path}: weight {name} holds values that are not finite")
    if unknown := sorted(state.keys() - wanted.keys()):
        raise ValueError(f"{path}: unknown weight {unknown[0]}")
