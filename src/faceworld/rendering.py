"""Sets of rendered faces on disk, made on all cores of a processor."""

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

import facerender
from faceaudit.generators.image_cache import as_float32, content_key, fill_image_store
from faceaudit.utils.arguments import check_whole, resolve_device
from helpers.artifacts.code import made_by

_CHUNK_PIXELS = 2**21  # about a second's work, and 30 MB of images
# On import: a file that is edited while a chapter runs is not what renders in it.
_CODE = made_by(Path(__file__), ("numba", "numpy", "torch"))


def render_to_store(
    parameters: ArrayLike,
    size: int,
    path: str | Path,
    *,
    device: str | torch.device = "cpu",
    render: Callable[..., Any] = facerender.render,
) -> np.ndarray:
    """Render faces into a set of images, on all cores of a processor.

    The key covers the parameters, the settings, the renderer's source and the versions of numba,
    torch and numpy, but not how many threads share the work.

    Args:
        parameters: (n, P), as `facerender.render` takes them.
        size: height and width in pixels.
        path: the `.npy` file.
        device: "cpu" or "cuda", where `render` finds the parameters; `facerender.render` computes
            on the processor either way.
        render: a function that stands in for `facerender.render`; its module is in the key.

    Returns:
        uint8 (n, 3, size, size), a read-only memory map.

    Raises:
        ValueError: parameters that no face has (see `facerender.render`); a size that is no
            positive integer; a GPU is asked for and there is none; other images than expected
            come back, or some that are not numbers.
        OSError: the disk is full; the message says how much is needed and where.

    Example:
        >>> import tempfile
        >>> import facerender
        >>> from faceworld.rendering import render_to_store
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     render_to_store(facerender.defaults(2), 16, f"{folder}/faces.npy").shape
        (2, 3, 16, 16)
    """
    device = resolve_device(device)
    check_whole("size", size, 1)
    parameters = as_float32(parameters)
    facerender.validate(torch.from_numpy(parameters))
    code = [_CODE]
    if render is not facerender.render:
        code.append(made_by(Path(inspect.getmodule(render).__file__)))
    make = partial(_render, render=render, size=size, device=device)
    key = content_key(parameters, size=size, code=code)
    chunk = max(1, _CHUNK_PIXELS // size**2)
    return fill_image_store(path, parameters, make, (3, size, size), key=key, chunk=chunk)


@torch.no_grad()
def _render(faces: np.ndarray, render: Callable, size: int, device: torch.device) -> np.ndarray:
    """Images of a chunk of faces, uint8."""
    image = render(torch.from_numpy(faces).to(device), size).image
    if not torch.isfinite(image).all():
        raise ValueError("the renderer gave images with values that are not numbers")
    return image.clamp(0, 1).mul(255).round().to(torch.uint8).cpu().numpy()
