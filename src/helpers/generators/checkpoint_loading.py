"""A trained generator from a file, whichever code wrote it."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from helpers.generators import checkpoint_files, eg3d, stylegan2, stylegan3

NETWORKS = {
    "stylegan2": (stylegan2.Config, stylegan2.StyleGAN2),
    "stylegan3": (stylegan3.Config, stylegan3.StyleGAN3),
    "eg3d": (eg3d.Config, eg3d.EG3D),
}
"""Kind → classes of its options and of its network."""


def load_checkpoint(path: str | Path, kind: str | None = None) -> nn.Module:
    """Load a trained generator; nothing in the file is run, nothing is compiled.

    Args:
        path: official `.pkl` of stylegan2-ada, stylegan3, EG3D or TensorFlow's StyleGAN2,
            rosinality's `.pt`, or `.safetensors` as `helpers.generators.convert` writes it.
        kind: what is expected, one of `NETWORKS`; by default any is taken.

    Returns:
        The network on the CPU in float32, with `mapping`, `synthesis`, `styles`, the attributes
        z_dim, c_dim, w_dim, num_ws and resolution, and `card`, which says where it comes from.

    Raises:
        ValueError: the file is none of these, damaged, of another kind, or has options that are
            not known; names the file and what was found.

    Example:
        >>> from helpers import generators
        >>> generators.load_checkpoint("missing.pkl")
        Traceback (most recent call last):
        ValueError: missing.pkl: expected a trained generator, found no such file
    """
    checkpoint = checkpoint_files.read(path)
    if kind not in (None, checkpoint.kind):
        raise ValueError(f"{path}: a {kind} network was expected, found {checkpoint.kind}")
    options, network_of = NETWORKS[checkpoint.kind]
    try:
        network = network_of(options(**checkpoint.config))
    except ValueError as error:  # of an option that only the network itself knows
        raise ValueError(f"{path}: {error}") from None
    network.load_state_dict(checkpoint.tensors)
    network.card = checkpoint.card
    return network.eval().requires_grad_(False)
