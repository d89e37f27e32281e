"""Which attribute an answer is about, and which level it gives. Chapter 6 reads answers so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from helpers.annotations.raw import Answer

_INTEGER = re.compile(r"[+-]?\d+")
_DIGITS = 20  # no scale has a level with more; int() refuses 4,300
_OUTSIDE, _UNKNOWN, _SEVERAL, _NONE, _NOT_ASKED = -1, -2, -3, -4, -5
NO_LEVEL = {
    "unknown attribute": _NOT_ASKED,
    "no readable answer": _NONE,
    "several levels": _SEVERAL,
    "unknown level": _UNKNOWN,
    "level outside the scale": _OUTSIDE,
}
"""Why an answer gives no level -> the number in a level's place."""


def meanings(
    kinds: Sequence[Answer],
    scales: Mapping[str, tuple[str, ...]],
    rename: Mapping[str, str],
    numbered: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Of every kind of answer the attribute's number, or -1, and the level, or what is wrong."""
    number = {name: place for place, name in enumerate(scales)}
    levels = {
        name: {as_compared(label): level for level, label in enumerate(labels)}
        for name, labels in scales.items()
    }
    attribute, level = np.full(len(kinds), -1, np.int8), np.full(len(kinds), _NONE, np.int8)
    for place, (name, answer, _) in enumerate(kinds):
        name = rename.get(name, name)
        if name in number:
            attribute[place] = number[name]
            level[place] = _level(answer, levels[name], len(scales[name]), numbered)
        elif name is not None:
            level[place] = _NOT_ASKED
    for code, labels in enumerate(scales.values()):
        own = np.flatnonzero(attribute == code)
        counted = {place: _whole(kinds[place].level) for place in own}
        found = {value for value in counted.values() if value is not None}
        if numbered and 0 not in found and len(labels) in found:
            level[[place for place, value in counted.items() if value is not None]] = _OUTSIDE
    return attribute, level


def as_compared(label: str) -> str:
    """A level's name without what makes no difference between an answer and a level."""
    return label.strip().casefold()


def _level(
    answer: str | int | tuple | None, levels: Mapping[str, int], n_levels: int, numbered: bool
) -> int:
    if answer is None:
        return _NONE
    if isinstance(answer, tuple):
        return _SEVERAL
    if type(answer) is int:  # its text may be too long for Python to write
        return answer if 0 <= answer < n_levels else _OUTSIDE
    text = as_compared(answer)
    if not text:
        return _NONE
    if text in levels:
        return levels[text]
    if not (numbered and _INTEGER.fullmatch(text)):
        return _UNKNOWN
    value = _whole(text)
    return value if value is not None and 0 <= value < n_levels else _OUTSIDE


def _whole(answer: Any) -> int | None:
    """The whole number that an answer is or its text gives, unless it is beyond all scales."""
    if type(answer) is int:
        return answer
    if not isinstance(answer, str):
        return None
    text = answer.strip()
    return int(text) if len(text) <= _DIGITS and _INTEGER.fullmatch(text) else None
