"""Arrays of numbers from a pickle, without running it. Readers of published files use it.

The pickle is read by a machine that cannot import or call anything (`utils.pickle_reading`), and
the arrays are put together from what it noted (`utils.pickled_numbers`). A file that asks for
anything else is refused.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from helpers.utils.pickle_reading import DAMAGE, read_pickle, refusal
from helpers.utils.pickled_numbers import array, misplaced

EXPECTED = "a pickled dictionary of arrays of numbers"
_LARGEST = 2**31
"""Bytes of a file that is still read."""


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays in a pickled dictionary; nothing in the file is run.

    Raises:
        ValueError: the file is no such pickle, or asks for anything but arrays of numbers; names
            the file and the byte.
    """
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"{path}: expected {EXPECTED}, found more than {_LARGEST:,} bytes")
    content = io.BytesIO(path.read_bytes())
    try:
        found = read_pickle(content)
        if not isinstance(found, dict):
            raise misplaced(found, "a dictionary")
        return {_text(name): array(value) for name, value in found.items()}
    except DAMAGE as error:
        raise refusal(path, EXPECTED, error) from None


def _text(name: Any) -> str:
    if not isinstance(name, str) or not name.isprintable():
        raise ValueError("an array without a name that can be printed")
    return name
