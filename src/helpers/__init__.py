"""Helpers of the book *Auditing face-analysis models causally*.

The notebooks keep every step a reader must be able to defend; this package takes input and
output, batching, seeding, rendering, numerics and plot style.
"""

from helpers.utils.pins import set_pins as _set_pins

__version__ = "0.1.0"

_set_pins()  # here, before any module imports numpy, torch or numba
