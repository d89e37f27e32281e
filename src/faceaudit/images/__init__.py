"""Images of an audit: on disk, from a generator, rated by people."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
