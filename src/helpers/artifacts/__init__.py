"""What stages leave on disk, what it was made from, and how it is read again."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
