"""The records of a large JSON list, fast, as long as nothing in them is doubtful.

msgspec finds where records begin and end at a gigabyte a second, and turns each into dictionaries.
Of a name that stands twice in an object it keeps the last, in silence; that is found out by
counting. Whatever is doubtful is left to the strict reader in `annotations.text`, which says what
is wrong with it. Chapter 6 reads exports with it.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

_MARK = b"\xef\xbb\xbf"
_BLANKS = b" \t\r\n"
_DOUBT = (msgspec.MsgspecError, RecursionError, ValueError, OSError)


def undoubted(path: Path) -> Iterator[dict[str, Any] | None]:
    """The records of the list in a file, and None in place of the first that is doubtful."""
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        begin = len(_MARK) if content[: len(_MARK)] == _MARK else 0
        found = msgspec.json.decode(memoryview(content)[begin:], type=list[msgspec.Raw])
    except _DOUBT:
        yield None
        return
    decode, encode = msgspec.json.Decoder().decode, msgspec.json.encode
    for raw in found:
        text = bytes(raw)
        try:
            record = decode(text)
            once = _colons(text) == (_names(record) if b"\\" in text else _colons(encode(record)))
        except _DOUBT:
            record, once = None, False
        if not once or not isinstance(record, dict):
            yield None
            return
        yield record


def _colons(text: bytes) -> int:
    """How often a colon follows a quotation mark: once a name, and where a text looks like that.

    Without an escape, texts look alike before they are decoded and when they are encoded again.
    """
    return text.translate(None, _BLANKS).count(b'":')


def _names(value: Any) -> int:
    """How many names the objects in a JSON value have; slower, and always right."""
    inside = value.values() if type(value) is dict else value
    count = len(value) if type(value) is dict else 0
    for one in inside:
        if type(one) is dict or type(one) is list:
            count += _names(one)
    return count
