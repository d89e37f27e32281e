"""StyleGAN2 as rosinality's PyTorch code writes it, under the official names.

Each weight has one counterpart there, with the same numbers in the same order and another shape. A
file has no options: they follow from the shapes. Its images are not clamped.
"""

from __future__ import annotations

import argparse
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

LR_MULTIPLIER = 0.01
"""Of the mapping network; rosinality's training knows no other."""
KERNEL = torch.outer(torch.tensor([1.0, 3, 3, 1]), torch.tensor([1.0, 3, 3, 1])) / 16
"""The filter between resolutions, with the factor 4 of a doubled one in it."""


def read_rosinality(content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options, and the weights of `g_ema` under rosinality's names, of a file's bytes.

    Raises:
        ValueError: the file has no such network.
        Exception: of torch, if the file is damaged or asks for anything but weights.
    """
    # Files of a training have its options in them, as the command line gave them.
    with torch.serialization.safe_globals([argparse.Namespace]):
        found = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    if not isinstance(found, Mapping) or "g_ema" not in found:
        raise ValueError("no entry 'g_ema', in which rosinality keeps the generator")
    state = dict(found["g_ema"])
    config = _config(state)
    mean = {"mapping.w_avg": found["latent_avg"]} if "latent_avg" in found else {}
    return config, state | mean


def translated(state: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights under their official names, in the shapes of a network's state dict."""
    names, found = dict(_names(wanted)), {}
    for there, values in state.items():
        here = names.get(there, there)
        fits = here in wanted and values.numel() == wanted[here].numel()
        found[here] = values.reshape(wanted[here].shape) if fits else values
    return found


def for_rosinality(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The entries of `g_ema` for rosinality's code.

    Args:
        weights: the state dict of a StyleGAN2 without conditions; official name → tensor.
    """
    state = {}
    for there, here in _names(weights):
        values = weights[here]
        if there == "input.input" or there.endswith(".conv.weight"):
            values = values[None]
        elif there.startswith("noises."):
            values = values[None, None]
        elif there.endswith("noise.weight"):
            values = values.reshape(1)
        elif re.fullmatch(r"to_rgb[\w.]*\d\.bias", there):
            values = values[None, :, None, None]
        state[there] = values
    for block in range(_blocks(weights)):
        state[f"convs.{2 * block}.conv.blur.kernel"] = KERNEL.clone()
        state[f"to_rgbs.{block}.upsample.kernel"] = KERNEL.clone()
    return state


def _config(state: Mapping[str, Tensor]) -> dict[str, Any]:
    """Options that give tensors of these shapes, if any do."""
    layers = sum(re.fullmatch(r"style\.\d+\.weight", name) is not None for name in state)
    convolutions = sum(re.fullmatch(r"convs\.\d+\.conv\.weight", one) is not None for one in state)
    if convolutions % 2 or convolutions > 18 or not layers:
        raise ValueError(f"{convolutions} convolutions and {layers} layers of the mapping network")
    resolution = 4 * 2 ** (convolutions // 2)
    w_dim, z_dim = state["style.1.weight"].shape
    last = f"convs.{convolutions - 1}.conv.weight" if convolutions else "conv1.conv.weight"
    return {
        "z_dim": z_dim,
        "c_dim": 0,
        "w_dim": w_dim,
        "resolution": resolution,
        "channel_base": state[last].shape[1] * resolution,
        "channel_max": state["conv1.conv.weight"].shape[1],
        "mapping_layers": layers,
        "lr_multiplier": LR_MULTIPLIER,
    }


def _blocks(official: Mapping[str, Tensor]) -> int:
    """How many blocks double the size."""
    return sum(name.endswith("conv0.weight") for name in official)


def _names(official: Mapping[str, Tensor]) -> Iterator[tuple[str, str]]:
    """Name in rosinality → official name, of all weights of a network."""
    for number in range(sum(name.startswith("mapping.fc") for name in official) // 2):
        for part in ("weight", "bias"):
            yield f"style.{number + 1}.{part}", f"mapping.fc{number}.{part}"
    yield "input.input", "synthesis.b4.const"
    yield from _layer("conv1", "synthesis.b4.conv1", 0)
    yield from _layer("to_rgb1", "synthesis.b4.torgb")
    for block in range(_blocks(official)):
        here = f"synthesis.b{2 ** (block + 3)}"
        yield from _layer(f"convs.{2 * block}", f"{here}.conv0", 2 * block + 1)
        yield from _layer(f"convs.{2 * block + 1}", f"{here}.conv1", 2 * block + 2)
        yield from _layer(f"to_rgbs.{block}", f"{here}.torgb")


def _layer(there: str, here: str, noise: int | None = None) -> Iterator[tuple[str, str]]:
    yield f"{there}.conv.weight", f"{here}.weight"
    for part in ("weight", "bias"):
        yield f"{there}.conv.modulation.{part}", f"{here}.affine.{part}"
    if noise is None:
        yield f"{there}.bias", f"{here}.bias"
        return
    yield f"{there}.activate.bias", f"{here}.bias"
    yield f"{there}.noise.weight", f"{here}.noise_strength"
    yield f"noises.noise_{noise}", f"{here}.noise_const"
