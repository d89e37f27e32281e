"""Weights of networks on disk: safetensors, which execute nothing on loading, and a card in JSON.

The card beside the weights (`.json`) says what they are and has their SHA-256, so that files that
do not belong together are noticed. Checkpoints are for going on after an interruption. Classifiers
(chapter 2), the learned generator (15) and recognisers (16) are kept this way.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import nn

from helpers.artifacts import atomic, kept


def write(network: nn.Module, path: Path, card: dict[str, Any]) -> None:
    """Write `path` (safetensors) and beside it the card, to which the hash is added."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    state = {name: value.contiguous().cpu() for name, value in network.state_dict().items()}
    weights = safetensors.torch.save(state)
    card = card | {"sha256": hashlib.sha256(weights).hexdigest()}
    with atomic(path) as temporary:
        temporary.write_bytes(weights)
    with atomic(path.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")


def read(path: Path, kind: str) -> tuple[bytes, dict[str, Any]]:
    """The bytes that `write` left at `path`, and the card.

    Args:
        kind: what it is, for the message.

    Raises:
        ValueError: weights or card are missing, damaged, or do not belong together.
    """
    path = Path(path)
    try:
        weights = path.read_bytes()
        card = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        expected = card["sha256"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"{path}: no readable {kind} with its .json beside it ({error})"
        ) from error
    if (found := hashlib.sha256(weights).hexdigest()) != expected:
        raise ValueError(
            f"{path}: the weights are not those that {path.stem}.json describes: their SHA-256 is "
            f"{found[:12]}…, expected {str(expected)[:12]}…"
        )
    return weights, card


def copy(source: Path, path: Path, **more: Any) -> None:
    """Copy weights with their card, to which `more` is added."""
    path.parent.mkdir(parents=True, exist_ok=True)
    card = json.loads(source.with_suffix(".json").read_text(encoding="utf-8")) | more
    with atomic(path) as temporary:
        temporary.write_bytes(source.read_bytes())
    with atomic(path.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")


def fill(network: nn.Module, weights: bytes, path: Path, kind: str) -> nn.Module:
    """The network with these weights in it.

    Raises:
        ValueError: not safetensors, or a weight that is missing, unknown, of another shape or type
            or not finite; the message names file and weight.
    """
    try:
        state = safetensors.torch.load(weights)
    except SafetensorError as error:
        raise ValueError(f"{path}: no weights of a {kind}: {error}") from error
    return fill_state(network, state, path, kind)


def fill_state(
    network: nn.Module, state: Mapping[str, torch.Tensor], path: Path, kind: str
) -> nn.Module:
    """The same for weights by name; a network on the device "meta" comes to the CPU.

    Raises:
        ValueError: see `fill`.
    """
    for problem in _problems(state, network.state_dict()):
        raise ValueError(f"{path}: no weights of a {kind}: {problem}")
    if any(parameter.is_meta for parameter in network.parameters()):
        network.to_empty(device="cpu")
    network.load_state_dict(state)
    return network


def write_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write the state of an unfinished training: numbers, text and tensors."""
    content = io.BytesIO()
    torch.save(state, content)
    kept.write(path, content.getvalue())


def read_checkpoint(path: Path) -> dict[str, Any] | None:
    """The state that `write_checkpoint` left; None if there is none, or a damaged one."""
    content = kept.read(path)
    if content is None:
        return None
    return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)


def _problems(
    state: Mapping[str, torch.Tensor], wanted: Mapping[str, torch.Tensor]
) -> Iterator[str]:
    for name, weight in wanted.items():
        if name not in state:
            yield f"{name} is missing"
        elif state[name].shape != weight.shape:
            yield f"{name} has shape {tuple(state[name].shape)}, expected {tuple(weight.shape)}"
        elif state[name].dtype != weight.dtype:
            yield f"{name} has type {state[name].dtype}, expected {weight.dtype}"
        elif not torch.isfinite(state[name]).all():
            yield f"{name} holds values that are not finite"
    yield from (f"{name} is unknown" for name in sorted(state.keys() - wanted.keys()))
