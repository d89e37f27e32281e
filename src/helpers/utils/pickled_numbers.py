"""Arrays and numbers of numpy, put together from what a pickle says.

numpy describes an array by a few calls (`_reconstruct`, `dtype`, `scalar`, …). None of them is
made: type, shape and bytes are taken from the notes of `pickle_reading` and checked against each
other, so that no array is larger than its bytes in the file.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from helpers.utils.pickle_reading import Name, Note, PickleError

_NUMBERS = re.compile(r"[iuf][1248]|b1")
_ORDERS = ("<", ">", "|", "=")
_NUMPY = ("numpy.core", "numpy._core")
_DTYPE, _ENCODE = Name("numpy", "dtype"), Name("_codecs", "encode")
_RECONSTRUCT = {Name(f"{numpy}.multiarray", "_reconstruct") for numpy in _NUMPY}
_FROM_BUFFER = {Name(f"{numpy}.numeric", "_frombuffer") for numpy in _NUMPY}
_SCALAR = {Name(f"{numpy}.multiarray", "scalar") for numpy in _NUMPY}
_SIMPLE = (bool, int, float, str, type(None))


def is_call(value: Any, *names: Name) -> bool:
    """Whether this notes a call of one of the names.

    Example:
        >>> is_call(Note(Name("numpy", "dtype"), ("f4",), 0), Name("numpy", "dtype"))
        True
    """
    return isinstance(value, Note) and isinstance(value.called, Name) and value.called in names


def simple(value: Any) -> bool | int | float | str | None:
    """A plain value, also if it was one of numpy's numbers.

    Raises:
        ValueError: it is none.

    Example:
        >>> simple("skip")
        'skip'
    """
    if is_call(value, *_SCALAR):
        return array(value).item()
    if type(value) not in _SIMPLE:
        raise misplaced(value, "a plain value")
    return value


def array(value: Any) -> np.ndarray:
    """An array of numbers, which shares the memory of the bytes in the pickle; () for one number.

    Raises:
        ValueError: it is no array of numbers, or shape, type and bytes do not fit.

    Example:
        >>> import io, pickle
        >>> from helpers.utils.pickle_reading import read_pickle
        >>> array(read_pickle(io.BytesIO(pickle.dumps(np.eye(2), protocol=4)))).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    if is_call(value, *_RECONSTRUCT) and value.state is not None:
        _, shape, kind, by_column, content = value.state
        order = "F" if by_column else "C"
    elif is_call(value, *_FROM_BUFFER):
        content, kind, shape, order = value.arguments
    elif is_call(value, *_SCALAR):
        (kind, content), shape, order = value.arguments, (), "C"
    else:
        raise misplaced(value, "an array")
    if type(shape) is not tuple or any(type(side) is not int or side < 0 for side in shape):
        raise ValueError("an array without a shape")
    code, order = dtype(kind), "F" if order == "F" else "C"
    return np.frombuffer(raw_bytes(content), code).reshape(shape, order=order)


def dtype(value: Any) -> np.dtype:
    """A type of numbers.

    Raises:
        ValueError: a type of something else than numbers, or no type.

    Example:
        >>> dtype(Note(Name("numpy", "dtype"), ("f4", False, True), 0))
        dtype('float32')
    """
    if not is_call(value, _DTYPE):
        raise misplaced(value, "a type of numbers")
    code, order = value.arguments[0], "<" if value.state is None else value.state[1]
    if not isinstance(code, str):
        raise misplaced(code, "the name of a type")
    if not _NUMBERS.fullmatch(code):
        raise ValueError(f"an array of something else than numbers ({code[:20]!r})")
    if order not in _ORDERS:
        raise ValueError("an array whose bytes have an unknown order")
    return np.dtype(order + code)


def raw_bytes(value: Any) -> bytes | bytearray:
    """Bytes; before protocol 3 they are written as text in latin-1.

    Raises:
        ValueError: something else than bytes.

    Example:
        >>> raw_bytes(Note(Name("_codecs", "encode"), ("\\xff", "latin1"), 0))
        b'\\xff'
    """
    if is_call(value, _ENCODE) and isinstance(value.arguments, tuple):
        text, *encoding = value.arguments
        if type(text) is str and encoding == ["latin1"]:
            return text.encode("latin1")
    if not isinstance(value, bytes | bytearray):
        raise misplaced(value, "bytes")
    return value


def misplaced(value: Any, wanted: str) -> ValueError:
    """The error for a value that stands where another kind of value is wanted.

    Args:
        value: what stands there.
        wanted: what was expected, with its article.

    Example:
        >>> misplaced([1], "a number")
        ValueError('a list in place of a number')
    """
    if isinstance(value, Note):
        return PickleError(f"{value!r}, in place of {wanted}", value.place)
    found = f"the name {str(value)!r}" if isinstance(value, Name) else f"a {type(value).__name__}"
    return ValueError(f"{found} in place of {wanted}")
