"""Arrays of numbers from a pickle, without running it. Readers of published files use it.

A pickle is a program: its opcodes may import any function and call it. Here they are read one by
one by a machine that cannot import or call anything. It knows the few names by which numpy and
Python describe an array and its bytes, puts these together itself, and refuses every other one.
"""

from __future__ import annotations

import pickletools
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from helpers.annotations.text import require_path

EXPECTED = "a pickled dictionary of arrays of numbers"
_NUMBERS = re.compile(r"[iuf][1248]|b1")
_LARGEST = 2**31
"""Bytes of a file that is still read."""
_BEGIN = 1_000
"""Bytes by which a text is known."""


class _Name(NamedTuple):
    """What a pickle wants to import: it stays a name."""

    module: str
    name: str


class _Kind:
    """The type of an array's elements."""

    def __init__(self, code: Any) -> None:
        if not (isinstance(code, str) and _NUMBERS.fullmatch(code)):
            raise ValueError(f"an array of something else than numbers ({str(code)[:20]!r})")
        self.code, self.order = code, "<"

    def build(self, state: Any) -> None:
        """Take over the order of bytes."""
        if state[1] not in ("<", ">", "|", "="):
            raise ValueError("an array whose bytes have an unknown order")
        self.order = state[1]


class _Array:
    """An array that is being put together."""

    def __init__(self) -> None:
        self.value: np.ndarray | None = None

    def build(self, state: Any) -> None:
        """Take over shape, type and bytes."""
        _, shape, kind, by_column, content = state
        self.fill(content, kind, shape, "F" if by_column else "C")

    def fill(self, content: Any, kind: Any, shape: Any, order: Any) -> None:
        """Make the array from its bytes."""
        if not (isinstance(kind, _Kind) and isinstance(content, bytes | bytearray)):
            raise ValueError("an array without type or bytes")
        found = np.frombuffer(content, np.dtype(kind.order + kind.code))
        self.value = found.reshape(shape, order="F" if order == "F" else "C")


def _reconstruct(*_: Any) -> _Array:
    return _Array()


def _kind(code: Any, *_: Any) -> _Kind:
    return _Kind(code)


def _encode(text: Any, *_: Any) -> bytes:
    return text.encode("latin1")


def _from_buffer(content: Any, kind: Any, shape: Any, order: Any) -> _Array:
    array = _Array()
    array.fill(content, kind, shape, order)
    return array


_NUMPY = ("numpy.core.", "numpy._core.")
_KNOWN: dict[_Name, Callable] = {
    **{_Name(f"{numpy}multiarray", "_reconstruct"): _reconstruct for numpy in _NUMPY},
    **{_Name(f"{numpy}numeric", "_frombuffer"): _from_buffer for numpy in _NUMPY},
    _Name("numpy", "dtype"): _kind,
    _Name("_codecs", "encode"): _encode,
}
"""What a pickle of arrays asks for, and what is done in its place."""

_VALUES = {
    *("BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "FLOAT", "BINFLOAT"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES"),
    *("BINBYTES8", "BYTEARRAY8", "STRING", "BINSTRING", "SHORT_BINSTRING"),
}
"""Opcodes that put their argument on the stack."""
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_SKIPPED = {"PROTO", "FRAME", "STOP"}
_MARK = object()


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays in a pickled dictionary; nothing in the file is run.

    Raises:
        ValueError: the file is no such pickle, or asks for anything but arrays of numbers; names
            the file and the byte.
    """
    require_path(path)
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"{path}: expected {EXPECTED}, found more than {_LARGEST:,} bytes")
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    place = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of damaged escapes in old texts
            for opcode, argument, position in pickletools.genops(path.read_bytes()):
                place = position or 0
                _step(opcode.name, argument, stack, memo)
        (content,) = stack
        return {_text(name): _array(value) for name, value in content.items()}
    # Damage may show at any step, as a value of the wrong type or as one that is not there.
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        found = str(error) if type(error) is ValueError else "an operation on nothing"
        if not place:  # what begins otherwise than a pickle
            found = f"{'text' if _is_text(path) else 'bytes'} that is no pickle ({found})"
        raise ValueError(f"{path}: byte {place}: expected {EXPECTED}, found {found}") from None


def _is_text(path: Path) -> bool:
    """Whether a file begins like a text that people write."""
    with path.open("rb") as file:
        begin = file.read(_BEGIN)
    return not any(byte < 32 and byte not in b"\t\n\r" for byte in begin) and begin.isascii()


def _text(name: Any) -> str:
    if not isinstance(name, str) or not name.isprintable():
        raise ValueError("an array without a name that can be printed")
    return name


def _array(value: Any) -> np.ndarray:
    if not isinstance(value, _Array) or value.value is None:
        raise ValueError("something else than an array")
    return value.value


def _step(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    """One opcode."""
    if name in _VALUES:
        stack.append(argument)
    elif name in _CONSTANTS:
        stack.append(_CONSTANTS[name])
    elif name in _EMPTY:
        stack.append(_EMPTY[name]())
    elif name in _TUPLES:
        count = _TUPLES[name]
        stack[-count:] = [tuple(stack[-count:])]
    elif name == "MARK":
        stack.append(_MARK)
    elif name == "TUPLE":
        stack.append(tuple(_from_mark(stack)))
    elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
        memo[argument] = stack[-1]
    elif name == "MEMOIZE":
        memo[len(memo)] = stack[-1]
    elif name in ("BINGET", "LONG_BINGET", "GET"):
        stack.append(memo[argument])
    elif name == "GLOBAL":
        stack.append(_Name(*argument.split(" ", 1)))
    elif name == "STACK_GLOBAL":
        stack[-2:] = [_Name(*stack[-2:])]
    elif name == "REDUCE":
        stack[-2:] = [_made(*stack[-2:])]
    elif name == "BUILD":
        state = stack.pop()
        if not isinstance(stack[-1], _Array | _Kind):
            raise ValueError("a state of something else than an array")
        stack[-1].build(state)
    elif name in ("SETITEM", "SETITEMS"):
        items = _from_mark(stack) if name == "SETITEMS" else [stack.pop(-2), stack.pop()]
        _put(stack[-1], items)
    elif name not in _SKIPPED:
        raise ValueError(f"the operation {name}")


def _from_mark(stack: list[Any]) -> list[Any]:
    """What lies above the last mark, taken from the stack with it."""
    above: list[Any] = []
    while (value := stack.pop()) is not _MARK:
        above.append(value)
    return above[::-1]


def _put(into: Any, items: list[Any]) -> None:
    if not isinstance(into, dict):
        raise ValueError("items of something else than a dictionary")
    for name, value in zip(items[::2], items[1::2], strict=True):
        if _text(name) in into:
            raise ValueError(f"two arrays called {name[:40]!r}")
        into[name] = value


def _made(name: Any, arguments: Any) -> Any:
    """What a call would have made, if it is one of those that are known."""
    if not isinstance(name, _Name) or name not in _KNOWN:
        wanted = ".".join(map(str, name)) if isinstance(name, _Name) else "what is no name"
        raise ValueError(f"a call of {wanted[:80]!r}, which is not run")
    return _KNOWN[name](*arguments)
