"""Hyperplanes that were fitted to people's answers, from a file that the user names."""

from pathlib import Path

import numpy as np

from faceaudit.datasets.published import read_published_planes
from faceaudit.latents.directions import Hyperplanes
from faceaudit.utils.errors import InputError


def read_planes(path: Path) -> Hyperplanes:
    """Read hyperplanes.

    Args:
        path: an `.npz` with names, normals and intercepts, or the folder of the published pickles,
            which are read without being executed.

    Raises:
        InputError: there is no such file, or it holds something else.
    """
    if path.is_dir():
        return Hyperplanes.from_arrays(read_published_planes(path))
    expected = "an .npz with names, normals and intercepts, or a folder of pickles"
    if path.suffix != ".npz" or not path.is_file():
        raise InputError(
            f"{path} is no file of hyperplanes; {expected} was expected",
            field="planes",
            found=path,
            expected=expected,
        )
    with np.load(path) as arrays:
        return Hyperplanes.from_arrays({"scores": np.nan, **arrays})
