"""StyleGAN2 as rosinality's PyTorch code writes it, under the official names.

Each weight has one counterpart there, with the same numbers in the same order and another shape, so
that a network can go there and back bit for bit. A file has no options: they follow from the
shapes. Its images are not clamped.
"""

from __future__ import annotations

import argparse
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor

from helpers.utils import seeding

LR_MULTIPLIER = 0.01
"""Of the mapping network; rosinality's training knows no other."""
MEAN = "mapping.w_avg"
CODES = 10_000
"""Normal codes by which a mean style code is estimated that a file does not have."""
ESTIMATED = f"estimated from {CODES:,} keyed normal codes"
_PART = 1000
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
    return config, state | ({MEAN: found["latent_avg"]} if "latent_avg" in found else {})


def translated(
    state: Mapping[str, Tensor], wanted: Mapping[str, Tensor], config: Mapping[str, Any]
) -> dict[str, Tensor]:
    """Weights under their official names, in the shapes of a network's state dict.

    Args:
        state: name in rosinality → tensor.
        wanted: the state dict of a network of these options.
        config: the options.
    """
    names = dict(_names(config["resolution"], config["mapping_layers"]))
    found = {}
    for there, values in state.items():
        here = names.get(there, there)
        shape = wanted[here].shape if here in wanted else values.shape
        if values.shape == _shape_there(there, shape):
            values = values.reshape(shape)
        found[here] = values
    return found


def for_rosinality(weights: dict[str, Tensor], config: dict[str, Any]) -> dict[str, Tensor]:
    """The entries of `g_ema` for rosinality's code, from official weights.

    Args:
        weights: official name → tensor.
        config: the network's options.

    Raises:
        ValueError: a network that is conditional, or whose mapping network was trained with
            another multiplier than rosinality's, of which its files say nothing.

    Example:
        >>> config = {"resolution": 4, "mapping_layers": 1, "c_dim": 0, "lr_multiplier": 0.01}
        >>> weights = {"mapping.fc0.bias": torch.ones(8), "synthesis.b4.const": torch.ones(8, 4, 4)}
        >>> {name: tuple(x.shape) for name, x in for_rosinality(weights, config).items()}
        {'style.1.bias': (8,), 'input.input': (1, 8, 4, 4)}
    """
    if config["c_dim"]:
        raise ValueError("a conditional network, which rosinality's code does not have")
    if (rate := config["lr_multiplier"]) != LR_MULTIPLIER:
        raise ValueError(f"lr_multiplier is {rate}, rosinality's code has {LR_MULTIPLIER} alone")
    state = {}
    for there, here in _names(config["resolution"], config["mapping_layers"]):
        if here in weights:
            state[there] = weights[here].reshape(_shape_there(there, weights[here].shape))
    for block in range(config["resolution"].bit_length() - 3):
        state[f"convs.{2 * block}.conv.blur.kernel"] = KERNEL.clone()
        state[f"to_rgbs.{block}.upsample.kernel"] = KERNEL.clone()
    return state


def mean_style(weights: dict[str, Tensor], config: dict[str, Any]) -> Tensor:
    """The mean style code of `CODES` keyed normal codes, float32 (w_dim,).

    The mapping network of Karras et al. 2019 (section 2), for a network without conditions.

    Args:
        weights: official name → tensor.
        config: the network's options.
    """
    total = torch.zeros(config["w_dim"], dtype=torch.float64)
    for start in range(0, CODES, _PART):
        items = range(start, start + _PART)
        normals = seeding.normals(0, "mean style", items, config["z_dim"])
        x = torch.from_numpy(normals).float()
        x = x * (x.square().mean(1, keepdim=True) + 1e-8).rsqrt()
        for layer in range(config["mapping_layers"]):
            weight, bias = (weights[f"mapping.fc{layer}.{part}"] for part in ("weight", "bias"))
            gain = config["lr_multiplier"]
            x = functional.linear(x, weight * (gain / weight.shape[1] ** 0.5), bias * gain)
            x = functional.leaky_relu(x, 0.2) * 2**0.5
        total += x.double().sum(0)
    return (total / CODES).float()


def _config(state: Mapping[str, Tensor]) -> dict[str, Any]:
    """Options that give tensors of these shapes, if any do."""
    layers = sum(re.fullmatch(r"style\.\d+\.weight", name) is not None for name in state)
    convolutions = sum(re.fullmatch(r"convs\.\d+\.conv\.weight", one) is not None for one in state)
    if convolutions % 2 or convolutions > 18 or not 1 <= layers <= 64:
        raise ValueError(f"{convolutions} convolutions and {layers} layers of the mapping network")
    resolution = 4 * 2 ** (convolutions // 2)
    w_dim, z_dim = state["style.1.weight"].shape
    last = f"convs.{convolutions - 1}.conv.weight" if convolutions else "conv1.conv.weight"
    widths = [state["conv1.conv.weight"].shape[1], state[last].shape[1]]
    return {
        "z_dim": z_dim,
        "c_dim": 0,
        "w_dim": w_dim,
        "resolution": resolution,
        "image_channels": 3,
        "channel_base": widths[1] * resolution,
        "channel_max": widths[0],
        "conv_clamp": None,
        "mapping_layers": layers,
        "lr_multiplier": LR_MULTIPLIER,
    }


def _names(resolution: int, layers: int) -> Iterator[tuple[str, str]]:
    """Name in rosinality → official name."""
    for number in range(layers):
        for part in ("weight", "bias"):
            yield f"style.{number + 1}.{part}", f"mapping.fc{number}.{part}"
    yield "input.input", "synthesis.b4.const"
    yield from _layer("conv1", "synthesis.b4.conv1", 0)
    yield from _layer("to_rgb1", "synthesis.b4.torgb")
    for block in range(resolution.bit_length() - 3):
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


def _shape_there(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that rosinality's code gives to a tensor."""
    if name == "input.input" or name.endswith(".conv.weight"):
        return (1, *shape)
    if name.startswith("noises."):
        return (1, 1, *shape)
    if name.endswith("noise.weight"):
        return (1,)
    return (1, *shape, 1, 1) if re.fullmatch(r"to_rgb[\w.]*\d\.bias", name) else tuple(shape)
