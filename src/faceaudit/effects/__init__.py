"""Effects of attributes on errors: estimates, intervals and what may be concluded from them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
