"""What the JSON of an endpoint says: where the answer stands in it, and whether it is one.

Chapter 20 reads endpoints with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from faceaudit.black_box.answers import as_promised

Read = Callable[[Any], Any]
"""An answer → a probability or a vector; None: no face was found; LookupError: it has neither."""


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def field(path: str) -> Read:
    """A reader of what stands at "a.0.b" in an answer.

    Raises:
        ValueError: no such path can be.
    """
    if not path or not all(path.split(".")):
        raise ValueError(f"model.read is {path!r}, names and numbers with dots were expected")

    def read(answer: Any) -> Any:
        value = answer
        for part in path.split("."):
            if value is None or (isinstance(value, list) and not value):
                return None
            if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
                value = value[int(part)]
            elif isinstance(value, dict) and part in value:
                value = value[part]
            else:
                raise KeyError(f"the answer has nothing at {path!r}: no {part!r} in {_told(value)}")
        return value

    return read


def _told(value: Any) -> str:
    """A part of an answer, in a few words and without its values, which may repeat a key."""
    if isinstance(value, dict):
        return f"the fields {', '.join(map(str, value)) or '(none)'}"
    return f"a list of {len(value)}" if isinstance(value, list) else f"a {type(value).__name__}"


def as_value(found: Any, vector: bool, name: str) -> np.ndarray:
    """What was read, as float64: () or (d,).

    Raises:
        ValueError: it is no probability, or no vector.
    """
    several = isinstance(found, list | tuple | np.ndarray)
    numbers = found if several else [found]
    if vector != several or not len(numbers) or not all(_is_number(one) for one in numbers):
        wanted = "a list of finite numbers" if vector else "one finite number"
        kind = f"of type {type(found).__name__}"
        told = found if isinstance(found, float) else kind  # a text may repeat a key
        raise ValueError(f"{name}: the answer is {told}, {wanted} was expected")
    if vector:
        return np.array(found, float)
    try:
        return as_promised(np.array(float(found)), name)
    except ValueError:
        raise ValueError(
            f"{name}: the answer is {found:g}, a probability in [0, 1] was expected; "
            "model.read may be a function that converts it"
        ) from None
