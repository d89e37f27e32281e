"""Verification: invented people and their pairs, consensus as truth, error curves, disparities.

People and what one chapter alone uses are imported by name from their modules.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
