"""Pixels for `memory.py`, in place of rendered ones, which take hours."""

from types import SimpleNamespace

import torch
from torch import Tensor


def noise(parameters: Tensor, size: int, supersampling: int = 1) -> SimpleNamespace:
    """Pixels that follow from an image's own parameters, as of `facerender.render`."""
    seeds = parameters.double().sum(dim=1, keepdim=True)
    values = torch.frac(seeds * torch.arange(1, 3 * size * size + 1) * 0.618).abs()
    return SimpleNamespace(image=values.float().reshape(-1, 3, size, size))
