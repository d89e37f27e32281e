"""Colour: sRGB transfer, hue, pigment ramps and the tone map. All shading is in linear light."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from helpers.faces.maths import mix, smoothstep

SKIN_ANCHORS = (
    (252, 226, 208),
    (238, 200, 172),
    (216, 168, 132),
    (176, 124, 88),
    (124, 82, 58),
    (72, 48, 38),
)
"""sRGB albedo of Fitzpatrick types I to VI."""

HAIR_ANCHORS = (
    (22, 19, 20),
    (48, 34, 28),
    (92, 60, 40),
    (140, 84, 48),
    (196, 150, 92),
    (232, 200, 140),
)
IRIS_ANCHORS = ((38, 22, 14), (74, 44, 24), (112, 78, 40), (98, 110, 72), (92, 124, 150))


@cache
def constant(values: tuple[float, ...], device: torch.device) -> Tensor:
    """A colour (or any tuple) as a tensor (1, len, 1), kept per device."""
    return torch.tensor(values, dtype=torch.float32, device=device)[None, :, None]


@cache
def _log_anchors(anchors: tuple[tuple[int, ...], ...], device: torch.device) -> Tensor:
    srgb = torch.tensor(anchors, dtype=torch.float32, device=device) / 255
    return to_linear(srgb).clamp_min(1e-3).log()


def to_linear(srgb: Tensor) -> Tensor:
    """sRGB in [0, 1] to linear light."""
    return torch.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def to_srgb(linear: Tensor) -> Tensor:
    """Linear light to sRGB, clipped to [0, 1]."""
    linear = linear.clamp(0, 1)
    curve = 1.055 * linear.clamp_min(1e-6) ** (1 / 2.4) - 0.055
    return torch.where(linear <= 0.0031308, 12.92 * linear, curve)


def tone_map(linear: Tensor) -> Tensor:
    """Soft shoulder that keeps bright skin from clipping."""
    return 1.187 * linear * (1 + 0.02 * linear) / (1 + 0.55 * linear)


def ramp(anchors: tuple[tuple[int, ...], ...], position: Tensor) -> Tensor:
    """Linear-light colour (n, 3, 1) at `position` (n, 1) in [0, 1], log-linear between anchors."""
    logs = _log_anchors(anchors, position.device)
    place = position[:, 0].clamp(0, 1) * (len(anchors) - 1)
    lower = place.floor().clamp(0, len(anchors) - 2).long()
    weight = (place - lower)[:, None]
    return torch.exp(mix(logs[lower], logs[lower + 1], weight))[:, :, None]


def hsv(hue: Tensor, saturation: Tensor | float, value: Tensor | float) -> Tensor:
    """Linear-light colour (n, 3, 1) from hue, saturation, value, each (n, 1) or a number."""
    offsets = hue.new_tensor([0.0, 4.0, 2.0])
    wheel = (((hue * 6 + offsets) % 6 - 3).abs() - 1).clamp(0, 1)
    return to_linear((value * (1 + saturation * (wheel - 1))).clamp(0, 1))[:, :, None]


def hair_colour(position: Tensor, age: Tensor) -> Tensor:
    """Linear-light hair colour (n, 3, 1), greying from middle age on."""
    grey = constant((0.42, 0.42, 0.43), position.device)
    return mix(ramp(HAIR_ANCHORS, position), grey, 0.9 * smoothstep(0.58, 1.0, age)[:, :, None])
