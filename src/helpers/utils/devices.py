"""Which device to compute on, and a clear word when it is not there."""

from __future__ import annotations

import torch


def resolve_device(device: str | torch.device) -> torch.device:
    """The torch device of a name such as "cpu", "cuda" or "cuda:1".

    Raises:
        ValueError: no such device, or a GPU is asked for and torch sees none.

    Example:
        >>> resolve_device("cpu")
        device(type='cpu')
    """
    try:
        resolved = torch.device(device)
    except RuntimeError:
        raise ValueError(f"unknown DEVICE={device}: expected cpu or cuda") from None
    if resolved.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"DEVICE={device} asked for, but torch sees no GPU; run with DEVICE=cpu")
    return resolved
