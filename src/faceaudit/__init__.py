"""Causal audits of face-analysis models: the method by subject, and the audit of one file."""

import lazy_loader

_exported, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """What the package exports, and its version, each at its first use.

    Args:
        name: of an export, or `__version__`.

    Returns:
        The export, or the version of the distribution as a text.
    """
    if name == "__version__":
        from importlib import metadata  # which takes longer than the rest of this file

        return metadata.version(__name__)
    return _exported(name)
