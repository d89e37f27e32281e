"""Estimators held against the truth: one audit many times over, and every estimate scored."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
