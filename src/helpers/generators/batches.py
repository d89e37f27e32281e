"""Sets of images of latents on disk, by any generator."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from helpers.artifacts.image_store import as_float32, content_key, fill


def synthesize_to_store(
    generator: Any,
    w: ArrayLike,
    path: str | Path,
    *,
    key: str,
    chunk: int = 64,
    workers: int = 1,
    **scene: Any,
) -> np.ndarray:
    """Images of latents by any generator (see `helpers.generators`), as a set.

    Args:
        generator: has `synthesize(w, **scene)` and `device`.
        w: latents (n, D).
        path: the `.npy` file.
        key: what identifies the generator, for example its name and the hash of its weights.
        chunk: images made at a time.
        workers: processes; more than one only on a CPU.
        scene: plain numbers or names, the same for all images, passed on to the generator.

    Returns:
        uint8 (n, 3, height, width), a read-only memory map.

    Raises:
        ValueError, OSError: as in `fill`.
    """
    w = as_float32(w)
    make = partial(_synthesize, generator=generator, scene=scene)
    with torch.no_grad():
        image_shape = tuple(make(w[[0]]).shape[1:])
    content = content_key(w, generator=key, scene=scene)
    return fill(path, w, make, image_shape, key=content, chunk=chunk, workers=workers)


def _synthesize(w: np.ndarray, generator: Any, scene: dict[str, Any]) -> torch.Tensor:
    return generator.synthesize(torch.from_numpy(w).to(generator.device), **scene)
