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

from helpers.annotations.text import require_path
from helpers.utils.pickle_reading import DAMAGE, PickleError, read_pickle, refusal
from helpers.utils.pickled_numbers import array, misplaced

EXPECTED = "a pickled dictionary of arrays of numbers"
_LARGEST = 2**31
"""Bytes of a file that is still read."""
_BEGIN = 1_000
"""Bytes by which a text is known."""


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays in a pickled dictionary; nothing in the file is run.

    Raises:
        ValueError: the file is no such pickle, or asks for anything but arrays of numbers; names
            the file and the byte.
    """
    require_path(path)
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"{path}: expected {EXPECTED}, found more than {_LARGEST:,} bytes")
    content = io.BytesIO(path.read_bytes())
    try:
        found = read_pickle(content)
        if not isinstance(found, dict):
            raise misplaced(found, "a dictionary")
        return {_text(name): array(value) for name, value in found.items()}
    except DAMAGE as error:
        if isinstance(error, PickleError) and not error.place:  # it begins otherwise than a pickle
            kind = "text" if _is_text(path) else "bytes"
            error = PickleError(f"{kind} that is no pickle ({error})", 0)
        raise refusal(path, EXPECTED, error) from None


def _is_text(path: Path) -> bool:
    """Whether a file begins like a text that people write."""
    with path.open("rb") as file:
        begin = file.read(_BEGIN)
    return not any(byte < 32 and byte not in b"\t\n\r" for byte in begin) and begin.isascii()


def _text(name: Any) -> str:
    if not isinstance(name, str) or not name.isprintable():
        raise ValueError("an array without a name that can be printed")
    return name
