"""The look of the book: one style, one palette by role, and the figures that chapters share.

Widgets are imported by name: `from helpers.figures import widgets`.
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
from helpers.figures.panels import (
    DASHED,
    ZERO,
    intervals,
    legend_above,
    lying,
    name_rows,
    paths,
    rungs,
    upright,
)
