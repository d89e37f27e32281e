"""Pickles of others, read by an unpickler that knows a short list of names and no other.

A pickle is a program: it may import any function and call it. Here a name of the list gives what
the list has for it. Every other name gives an object without effect (`Inert`), so that a file loads
even though parts of it that are not needed have classes of somebody's own. numpy's own functions
are not called either: they take a type and raw bytes on trust.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

Known = Mapping[tuple[str, str], Any]
"""(Module, name) → what a pickle gets for it."""


class Inert:
    """What an unknown name becomes: it takes any call, state or element, and does nothing."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __setstate__(self, *_: Any) -> None: ...

    append = extend = add = __setitem__ = __setstate__


class _Type:
    """A type of numpy as a pickle describes it."""

    def __init__(self, code: str = "", *_: Any) -> None:
        self.code, self.order = code, "="

    def __setstate__(self, state: tuple) -> None:
        self.order = state[1]

    def numbers(self) -> np.dtype:
        found = np.dtype(self.code if self.order == "|" else self.order + self.code)
        if found.kind not in "biuf":
            raise ValueError(f"an array of something else than numbers ({self.code!r:.20})")
        return found


class _Array:
    """An array of numpy as a pickle describes it; nothing is made of it before it is asked for."""

    def __init__(self, *_: Any) -> None:
        self.parts: tuple = ()

    def __setstate__(self, state: tuple) -> None:
        _, *self.parts = state

    @classmethod
    def of(cls, content: Any, kind: _Type, shape: tuple, order: str) -> _Array:
        made = cls()
        made.parts = shape, kind, order == "F", content
        return made


def array(value: Any) -> np.ndarray:
    """An array of numbers, of what `read_pickle` gives for it; one number has the shape ().

    Raises:
        ValueError: it is no array, or one of something else than numbers, or its bytes do not fit.
    """
    if not isinstance(value, _Array) or len(value.parts) != 4:
        raise ValueError(f"a {type(value).__name__} in place of an array of numbers")
    shape, kind, by_column, content = value.parts
    found = np.frombuffer(content, kind.numbers())
    return found.reshape(shape, order="F" if by_column else "C")


def read_pickle(content: bytes, known: Known | None = None) -> Any:
    """The value of a pickle; nothing in it is run, and nothing outside of it is changed.

    Args:
        content: of the file.
        known: what names become beside those of numpy's arrays. A pickle may set attributes of
            what it gets, so these objects should be made anew for every file.

    Returns:
        What the pickle says. For arrays and numbers of numpy see `array`.

    Raises:
        ValueError: no pickle, or a damaged one.

    Example:
        >>> import os
        >>> class Planted:
        ...     def __reduce__(self):
        ...         return os.mkdir, ("never made",)
        >>> type(read_pickle(pickle.dumps(Planted()))).__name__
        'Inert'
    """
    try:
        return _Reader(content, known or {}).load()
    except Exception as error:  # a damaged pickle may raise anything
        raise ValueError(f"no pickle that can be read ({first_line(error)})") from None


def first_line(error: Exception) -> str:
    """The first line of an error's words, or else its class; 300 letters at most."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


class _Reader(pickle.Unpickler):
    def __init__(self, content: bytes, known: Known) -> None:
        super().__init__(io.BytesIO(content))
        self._known = {**_arrays(), ("collections", "OrderedDict"): OrderedDict, **known}
        self._other = type("Inert", (Inert,), {})

    def find_class(self, module: str, name: str) -> Any:
        return self._known.get((module, name), self._other)


def _arrays() -> Known:
    """What numpy's names become; classes are new for every file."""
    kind, made = type("Type", (_Type,), {}), type("Array", (_Array,), {})
    of_numpy = {
        ("multiarray", "_reconstruct"): made,
        ("multiarray", "scalar"): lambda kind, content=b"": made.of(content, kind, (), "C"),
        ("numeric", "_frombuffer"): lambda *parts: made.of(*parts),
    }
    cores = ("numpy.core", "numpy._core")
    return {
        **{(f"{core}.{room}", name): f for core in cores for (room, name), f in of_numpy.items()},
        ("numpy", "dtype"): kind,
        # Before protocol 3, bytes are written as text.
        ("_codecs", "encode"): lambda text, _="latin1": text.encode("latin1"),
    }
