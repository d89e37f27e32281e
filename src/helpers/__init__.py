"""Helpers of the book *Auditing face-analysis models causally*.

The notebooks keep every step a reader must be able to defend; this package takes input and
output, batching, seeding, rendering, numerics and plot style.
"""

__version__ = "0.1.0"
