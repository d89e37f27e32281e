"""The look of the book: one style, one palette by role, and the figures that chapters share.

Panels and widgets are imported by name: `from helpers.figures import panels`.
"""

from helpers.figures.charts import (
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
    as_pixels,
    forest,
    gallery,
    heatmap,
    look,
    style,
)
from helpers.figures.panels import bars, matched_scatter
