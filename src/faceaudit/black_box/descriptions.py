"""Functions in cards: by a name, and by what changes when they are edited (chapter 20)."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from typing import Any


def described(function: str | Callable[..., Any]) -> Any:
    """What stands for a function in a card: its own `card`, or its name and its source's hash."""
    if isinstance(function, str):
        return function
    if hasattr(function, "card"):
        return function.card()
    name = getattr(function, "__qualname__", type(function).__qualname__)
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        source = name
    return f"{name} {hashlib.sha256(source.encode()).hexdigest()[:16]}"
