"""Files that appear whole, their hashes, and a lock that one process holds."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any


@contextmanager
def alone(path: Path, tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the lock at `path`; a second process waits for the first.

    Args:
        path: of the lock's file; its folder is made.
        tell: takes a sentence where this process has to wait. Leave it out in a chapter, whose page
            would have the sentence.
    """
    from filelock import FileLock, Timeout  # which an audit of a table does without

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0).lock.release()
    except Timeout:
        if tell:
            tell(f"waiting: another process uses {path.parent}")
    with lock:
        yield


State = tuple[int, ...]


def hash_of_hashes(hashed: Mapping[str, str]) -> str:
    """One SHA-256 over names and hashes."""
    lines = "".join(f"{name} {value}\n" for name, value in hashed.items())
    return hashlib.sha256(lines.encode()).hexdigest()


def hash_of_content(content: Mapping[str, Any]) -> str:
    """SHA-256 of what a JSON object holds, without its own entry `sha256`, in any order of keys."""
    hashed = {name: value for name, value in content.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 of a file; in one process, a file is read again only after a change."""
    return _file_hash(path, state(path))


def state(path: Path) -> State:
    """Numbers of a file that change with every edit; of a folder, with every file in it or gone.

    Among them is the time at which the file's entry changed, because programs can set that of its
    content.

    Returns:
        Empty where there is no file.
    """
    try:
        entry = path.stat()
    except FileNotFoundError:
        return ()
    return entry.st_ino, entry.st_mtime_ns, entry.st_ctime_ns, entry.st_size


@cache
def _file_hash(path: Path, _: State) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


# --- files that appear whole


@contextmanager
def atomic(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """Give a temporary path beside `path` to write to; it replaces `path` only on success.

    Args:
        path: of the file that is to appear whole or not at all; its folder is made.
        durable: whether a power cut leaves the old file or the new. Waiting for the disk takes
            milliseconds a file, so thousands of files that are easily written again go without;
            a power cut can then leave an empty file.

    Yields:
        The temporary path.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        if durable:
            with temporary.open("rb") as stream:
                os.fsync(stream.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write plain values to a file that appears whole."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def write_text(path: Path, text: str) -> Path:
    """Write a text whole or not at all, with the folder for it; gives the path."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return path
