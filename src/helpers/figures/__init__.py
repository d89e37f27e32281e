"""The look of the book: one style, one palette by role, and the figures that chapters share.

Widgets and the cover's figure are imported by name: `from helpers.figures import widgets`.
"""

from helpers.figures.charts import bars, forest, heatmap, matched_scatter, violins
from helpers.figures.galleries import gallery
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
    YELLOW,
    Look,
    as_pixels,
    look,
    style,
)
