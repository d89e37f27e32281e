"""Finished work that is kept, so that nothing is done twice: by which code, and whole.

Work may be taken up again only if the code that it was made by is the code of now. Sets of renders
(from chapter 1 on), trained networks (chapters 2, 15 and 16) and studies have `made_by` in their
keys. Checkpoints of trainings and parts of studies are files with a hash of their content.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable
from pathlib import Path

from helpers.artifacts import lineage, manifests
from helpers.artifacts.stage import atomic

PINS = lineage.PACKAGE / "utils" / "pins.py"
"""On whose values all numbers hang."""
_HASH_BYTES = hashlib.sha256().digest_size


def made_by(source: Path, packages: Iterable[str] = ("torch", "numpy")) -> str:
    """One SHA-256 over the code that computes something, and the versions of what it calls.

    Of this package those files count that names are taken from, by the source or by one of them,
    and the pins of the processor.
    What only draws, and this room, which keeps what others compute, do not change it.

    Args:
        source: the module that computes.
        packages: whose versions count, of those that manifests record.
    """
    source = source.resolve()
    modules = [source, PINS, *lineage.helper_modules(source, executed=False)]
    keeping = lineage.PACKAGE / "artifacts"
    hashed = lineage.hashes([path for path in modules if path.parent != keeping], drawing=False)
    return lineage.digest(hashed | {name: manifests.versions()[name] for name in packages})


def write(path: Path, content: bytes) -> None:
    """Keep the content, with its hash before it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as temporary:
        temporary.write_bytes(hashlib.sha256(content).digest() + content)


def read(path: Path) -> bytes | None:
    """What `write` left there; None if there is nothing, or nothing whole, of which it warns."""
    try:
        stored = path.read_bytes()
    except FileNotFoundError:
        return None
    content = stored[_HASH_BYTES:]
    if hashlib.sha256(content).digest() == stored[:_HASH_BYTES]:
        return content
    warnings.warn(f"{path} is damaged; what it held is made again", stacklevel=3)
    return None
