"""What betrays a generated image: local warps, ringing, blotches, a water-drop ring."""

from __future__ import annotations

import torch
import torch.nn.functional as functional
from torch import Tensor

from helpers.faces.maths import box_mean, mix, smoothstep
from helpers.faces.textures import lookup, mottle


def add_artefacts(image: Tensor, amount: Tensor, seed: Tensor) -> Tensor:
    """Images (n, 3, size, size) with artefacts of `amount` (n, 1) in [0, 1].

    Images whose amount is 0 are returned unchanged; `seed` (n, 1) places the artefacts.
    """
    affected = (amount[:, 0] > 0).nonzero()[:, 0]
    if len(affected) == 0:
        return image
    result = image.clone()
    result[affected] = _spoil(image[affected], amount[affected], seed[affected])
    return result


def _spoil(image: Tensor, amount: Tensor, seed: Tensor) -> Tensor:
    size = image.shape[-1]
    steps = torch.linspace(-1, 1, size, device=image.device)
    y, x = torch.meshgrid(steps, steps, indexing="ij")
    weight = amount[:, :, None, None]

    def noise(layer: int, frequency: float) -> Tensor:
        u = x.reshape(1, -1) * frequency + seed * (layer + 1.3)
        v = y.reshape(1, -1) * frequency + seed * (layer * 0.7 + 0.4)
        return lookup(mottle(image.device), u, v).reshape(-1, 1, size, size)

    torn = 0.10 * (smoothstep(0.3, 1.5, noise(1, 0.25)) * weight)[:, 0]
    flow = torch.stack([x + torn * noise(2, 0.35)[:, 0], y + torn * noise(3, 0.35)[:, 0]], -1)
    warped = functional.grid_sample(image, flow, align_corners=True, padding_mode="reflection")

    blurred = box_mean(warped, 2)
    ringing = warped + 1.6 * weight * (warped - blurred)

    tint = 0.22 * torch.cat([noise(layer, 0.1) for layer in (5, 6, 7)], 1) + blurred
    blotched = mix(ringing, tint, 0.75 * weight * smoothstep(1.0, 1.7, noise(4, 0.22)))

    centre_x = 0.6 * torch.sin(11 * seed)[:, :, None]
    centre_y = 0.6 * torch.cos(7 * seed)[:, :, None]
    radius = torch.sqrt((x - centre_x) ** 2 + (y - centre_y) ** 2)[:, None]
    drop = torch.sin(34 * radius) * torch.exp(-((radius / 0.28) ** 2))
    return (blotched + 0.28 * weight * drop).clamp(0, 1)
