"""A trained generator from a file, whichever code wrote it. Serves chapter 19."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from torch import nn

from helpers.generators import checkpoint_files

NETWORKS = {"stylegan2": "StyleGAN2", "stylegan3": "StyleGAN3", "eg3d": "EG3D"}
"""Kind, which is also the module's name → class. A module is imported when a file needs it."""


def load_checkpoint(path: str | Path) -> nn.Module:
    """Load a trained generator; nothing in the file is run, nothing is compiled.

    Serves chapter 19.

    Args:
        path: official `.pkl` of stylegan2-ada, stylegan3, EG3D or TensorFlow's StyleGAN2,
            rosinality's `.pt`, or `.safetensors` as `helpers.generators.convert` writes it.

    Returns:
        The network on the CPU in float32, with `mapping`, `synthesis`, `styles`, the attributes
        z_dim, c_dim, w_dim, num_ws and resolution, and `card`, which says where it comes from.

    Raises:
        ValueError: the file is none of these, damaged, or has options that are not known; names
            the file and what was found.

    Example:
        >>> from helpers import generators
        >>> generators.load_checkpoint("missing.pkl")
        Traceback (most recent call last):
        ValueError: missing.pkl: expected a trained generator, found no such file
    """
    checkpoint = checkpoint_files.read(path)
    module = import_module(f"helpers.generators.{checkpoint.kind}")
    try:
        network = getattr(module, NETWORKS[checkpoint.kind])(module.Config(**checkpoint.config))
    except ValueError as error:  # of an option that only the network itself knows
        raise ValueError(f"{path}: {error}") from None
    network.load_state_dict(checkpoint.tensors)
    network.card = checkpoint.card
    return network.eval().requires_grad_(False)
