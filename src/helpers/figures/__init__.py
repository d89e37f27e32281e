"""The look of the book: one style, one palette by role, and the figures that chapters share.

Panels and widgets are imported by name: `from helpers.figures import panels`.
"""

from helpers.figures.panels import (
    BLACK,
    BLUE,
    GREY,
    LOOKS,
    ORANGE,
    SKY,
    SPARE,
    VERMILION,
    WIDTH,
    Look,
    bars,
    forest,
    heatmap,
    look,
    matched_scatter,
    style,
    violins,
)
from helpers.figures.widgets import as_pixels, gallery
