"""Errors about what a user gave."""

from typing import Any

from faceaudit.words import told


def fault(macro: str, *values: Any) -> ValueError:
    """What is refused, in the words of a macro of `faults.j2`."""
    return ValueError("\n".join(told(macro, *values, of="faults.j2")))
