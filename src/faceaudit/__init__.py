"""Causal audits of face-analysis models: the method by subject, and the audit of one file."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
