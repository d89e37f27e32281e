"""The look of the book: one style, one palette by role, and the figures that chapters share.

Panels, causes and widgets are imported by name: `from helpers.figures import panels`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
