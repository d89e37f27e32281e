"""Answers that are kept: one file that only grows, so that a kill at any moment loses no answer.

A line holds a checksum and a JSON object with the key of an image. It is written with one call
before the next image is asked about. What a kill cut off is the last line; it is taken away when
the file is opened again. Chapter 20 keeps the answers of endpoints and of models here.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import warnings
import zlib
from pathlib import Path
from typing import Any, Self

import numpy as np


def image_key(image: np.ndarray, points: np.ndarray | None = None) -> str:
    """SHA-256 of an image's pixels and shape, and of the points that it is aligned by.

    Not of its PNG: the same pixels give other bytes with another version of zlib, and would be
    asked about, and paid for, again.

    Args:
        image: uint8 (3, height, width).
        points: (5, 2), if the model is given any.

    Returns:
        64 hexadecimal digits.

    Example:
        >>> import numpy as np
        >>> from faceaudit.black_box.journal import image_key
        >>> image_key(np.zeros((3, 8, 8), np.uint8))[:8]
        'c645a5e7'
    """
    digest = hashlib.sha256(f"{image.dtype} {image.shape} ".encode())
    digest.update(np.ascontiguousarray(image))
    if points is not None:
        digest.update(np.asarray(points, "<f8").tobytes())
    return digest.hexdigest()


class Journal:
    """A growing file of objects, the last one of a key counting; one process at a time has it open.

    Args:
        path: of the file; its folder is made. It begins with `about`.
        about: what the objects belong to; a file that begins with something else is refused.

    Attributes:
        entries: key → its last object.
        calls: the sum of all objects' `calls`, the overwritten ones' too.

    Raises:
        ValueError: another process has the file open, or it belongs to something else.

    Example:
        >>> import pathlib, tempfile
        >>> from faceaudit.black_box.journal import Journal
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "answers.jsonl")
        ...     with Journal(path, {"model": "x"}) as journal:
        ...         journal.add("key", {"answer": 0.25})
        ...     with Journal(path, {"model": "x"}) as journal:
        ...         journal.entries
        {'key': {'answer': 0.25}}
    """

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self.path, self._about = Path(path), about
        self.entries: dict[str, dict[str, Any]] = {}
        self.calls = 0

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = self.path.open("a+b", buffering=0)
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read()
        except BlockingIOError:
            self._stream.close()
            raise ValueError(
                f"{self.path}: another process asks the same model; wait until it has finished"
            ) from None
        except BaseException:
            self._stream.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def add(self, key: str, entry: dict[str, Any]) -> None:
        """Keep one object, on the disk when this returns."""
        self.add_all({key: entry})

    def add_all(self, entries: dict[str, dict[str, Any]]) -> None:
        """Keep several."""
        lines = b"".join(_line({"key": key} | entry) for key, entry in entries.items())
        self._write(lines)
        for key, entry in entries.items():
            self._take(key, entry)

    def _take(self, key: str, entry: dict[str, Any]) -> None:
        self.entries[key] = entry
        self.calls += entry.get("calls", 0)

    def _write(self, lines: bytes) -> None:
        while lines:  # a file without a buffer may take a part
            lines = lines[self._stream.write(lines) :]
        os.fsync(self._stream.fileno())

    def _read(self) -> None:
        self._stream.seek(0)
        content = self._stream.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            self._stream.truncate(whole)  # what a kill cut off
        lines = content[:whole].splitlines()
        if not lines:
            self._write(_line(self._about))
            return
        if (head := _parsed(lines[0])) != self._about:
            raise ValueError(
                f"{self.path}: these answers are of {head or 'something unreadable'}, not of "
                f"{self._about}; name another folder, or delete the file"
            )
        found = [_parsed(line) for line in lines[1:]]
        for entry in filter(None, found):
            self._take(entry.pop("key"), entry)
        if damaged := found.count(None):
            warnings.warn(
                f"{self.path}: {damaged} lines are damaged; their images are asked about again",
                stacklevel=4,
            )


def _line(entry: dict[str, Any]) -> bytes:
    said = json.dumps(entry, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(said), said)


def _parsed(line: bytes) -> dict[str, Any] | None:
    """What a line says; None if it is not what was written."""
    said = line[9:]
    return json.loads(said) if line[:9] == b"%08x " % zlib.crc32(said) else None
