"""Hyperplanes that were fitted to people's answers, from a file that the user names."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from faceaudit.datasets.published import read_published_planes
from faceaudit.latents.directions import Hyperplanes
from faceaudit.utils.errors import InputError

UNREADABLE = (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile)
"""What NumPy and `Hyperplanes` raise about files of another kind; no pickle is executed."""


def read_planes(path: Path, axes: Sequence[str], length: int) -> Hyperplanes:
    """Read hyperplanes.

    Args:
        path: an `.npz` with names, normals and intercepts, or the folder of the published pickles,
            which are read without being executed.
        axes: attributes that must have one.
        length: of the generator's codes.

    Raises:
        InputError: there is no such file, or it holds something else: planes of another generator,
            or none of an axis.
    """
    planes = _read(path)
    found = planes.normals.shape[1]
    if found != length:
        raise InputError(
            f"{path} has planes of codes with {found} numbers, the generator's codes have {length}",
            field="planes",
            found=found,
            expected=length,
        )
    missing = [axis for axis in axes if axis not in planes.names]
    if missing:
        raise InputError(
            f"{path} has no plane of {', '.join(missing)}; it has {', '.join(planes.names)}",
            field="planes",
            found=planes.names,
            expected=axes,
        )
    return planes


def _read(path: Path) -> Hyperplanes:
    expected = "an .npz with names, normals and intercepts, or a folder of pickles"
    if not path.is_dir() and (path.suffix != ".npz" or not path.is_file()):
        raise InputError(
            f"{path} is no file of hyperplanes; {expected} was expected",
            field="planes",
            found=path,
            expected=expected,
        )
    try:
        if path.is_dir():
            return Hyperplanes.from_arrays(read_published_planes(path))
        with np.load(path) as arrays:
            content = {name: np.asarray(arrays[name]) for name in arrays.files}
        return Hyperplanes.from_arrays({"scores": np.nan, **content})
    except UNREADABLE as error:
        reason = str(error) if isinstance(error, InputError) else type(error).__name__
        raise InputError(
            f"{path} cannot be read as hyperplanes ({reason}); {expected} was expected",
            field="planes",
            found=path,
            expected=expected,
        ) from None
