"""Annotations: external formats at the edge, one tidy table inside.

The simulated crowd and pairs of faces are imported by name.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
