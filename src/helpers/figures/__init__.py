"""The look of the book: one style, one palette by role, and the figures that chapters share.

Panels and widgets are imported by name: `from helpers.figures import panels`.
"""

from helpers.figures.charts import bars, forest, gallery, heatmap, matched_scatter, violins
from helpers.figures.looks import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LOOKS,
    ORANGE,
    PURPLE,
    SKY,
    SPARE,
    VERMILION,
    WIDTH,
    Look,
    as_pixels,
    look,
    style,
)
