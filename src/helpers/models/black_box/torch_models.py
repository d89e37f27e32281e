"""Models as torch modules or in files of torch (chapter 20).

A `.pt2` file of `torch.export` holds a graph and numbers. A TorchScript file holds a program, which
runs with all rights of whoever opens it; so it is opened only if one says that it is trusted.
"""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import nn

from helpers.artifacts import lineage
from helpers.models.black_box.answers import Activation, Gives, Reading
from helpers.models.black_box.local_models import Find, LocalModel
from helpers.models.black_box.preparation import Preparation


def torch_model(
    source: str | Path | nn.Module,
    preparation: Preparation,
    *,
    index: int | None = None,
    activation: Activation = "none",
    gives: Gives = "probability",
    find: Find | None = None,
    batch: int = 64,
    trusted: bool = False,
) -> LocalModel:
    """Load a model from a file of torch, or take a module.

    Introduced in chapter 20.

    Args:
        source: a `.pt2` file of `torch.export.save`, a TorchScript file, or a module, which is put
            into its evaluation mode.
        preparation: what images go through before the network.
        index: the column of the positive class, from 0; None if there is but one.
        activation: "none", "sigmoid" or "softmax", if the output is logits.
        gives: "probability", or "embedding" of a recogniser.
        find: finds five points of the faces, for `align` "arcface".
        batch: images at a time; a `.pt2` that was exported for one size of batch needs that one.
        trusted: whether a TorchScript file may run its program here.

    Returns:
        The model; see `BlackBox`.

    Raises:
        ValueError: no readable file, or a TorchScript file that is not trusted.

    Example:
        >>> import numpy as np
        >>> from helpers.models import black_box
        >>> from helpers.models.networks import SmallNet
        >>> model = black_box.torch_model(SmallNet(), black_box.Preparation(), activation="sigmoid")
        >>> model(np.zeros((2, 3, 16, 16), np.uint8)).shape
        (2,)
    """
    if isinstance(source, nn.Module):
        network, name = source.eval(), type(source).__qualname__
        said = {"kind": "torch", "module": name, "sha256": _hash(network)}
    else:
        path = Path(source)
        network, name = _opened(path, trusted), path.name
        said = {"kind": "torch", "file": name, "sha256": lineage.file_hash(path)}

    @torch.no_grad()
    def compute(ready: np.ndarray) -> np.ndarray:
        try:
            found = network(torch.from_numpy(ready))
        except (RuntimeError, AssertionError, TypeError) as error:
            words = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
            raise ValueError(
                f"{name}: failed on images of the shape {list(ready.shape)} ({words})"
            ) from None
        if not isinstance(found, torch.Tensor):
            raise ValueError(f"{name}: answers a {type(found).__name__}, one tensor was expected")
        return found.float().cpu().numpy()

    reading = Reading(gives, activation, index)
    return LocalModel(name, said, compute, preparation, reading, find=find, batch=batch)


def _opened(path: Path, trusted: bool) -> torch.nn.Module:
    if not path.is_file():
        raise ValueError(f"{path}: no such file; model.path must name a .pt2 file")
    if path.suffix == ".pt2":
        try:
            return torch.export.load(path).module()
        except Exception as error:  # torch raises many kinds
            raise ValueError(
                f"{path}: no program that torch {torch.__version__} can read "
                f"({type(error).__name__}); write it with torch.export.save"
            ) from None
    if not trusted:
        raise ValueError(
            f"{path}: a TorchScript file is a program that runs with all your rights; export it as "
            ".pt2 or ONNX, or set model.trusted to true if you know where it comes from"
        )
    try:
        with warnings.catch_warnings():
            # TorchScript is on its way out, which is what the advice above says.
            warnings.simplefilter("ignore", DeprecationWarning)
            return torch.jit.load(str(path), map_location="cpu").eval()
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"{path}: no TorchScript file ({type(error).__name__})") from None


def _hash(network: nn.Module) -> str:
    """SHA-256 of a module's class and numbers."""
    digest = hashlib.sha256(repr(network).encode())
    for name, value in network.state_dict().items():
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
