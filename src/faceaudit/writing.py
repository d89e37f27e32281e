"""Text files of an audit, which appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

from helpers.artifacts import atomic


def write_text(path: Path, text: str) -> Path:
    """Write a text, with the folder for it.

    Args:
        path: of the file.
        text: that it will hold.

    Returns:
        The path.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_text(Path(folder, "new", "a.txt"), "whole").read_text()
        'whole'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return path
