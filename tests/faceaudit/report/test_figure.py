"""The figure of a report: what it draws, and whether it can be read on any page."""

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.text import Annotation

import faceaudit
from faceaudit.report.page import figure_of, write_html
from faceaudit.utils import seeding

LEAST_CONTRAST = 1.2
"""Of the band of the tolerance and the page around it."""


def names_of(figure):
    (axes,) = figure.axes
    return [text for text in axes.texts if isinstance(text, Annotation)]


def pairs_with_missing_ones():
    random = seeding.rng(1, "pairs of the figure")
    rows = []
    for group in ("a", "b"):
        for first in range(12):
            for second in range(first, 12):
                same = int(first == second)
                similarity = random.normal(0.3 + 0.4 * same, 0.1)
                rows.append((group, f"{group}{first}", f"{group}{second}", same, similarity))
    pairs = pd.DataFrame(rows, columns=["group", "first", "second", "same", "similarity"])
    is_missing = (pairs["group"] == "b") & (random.random(len(pairs)) < 0.3)
    return pairs.assign(similarity=pairs["similarity"].mask(is_missing))


def test_the_figure_of_pairs_has_a_row_for_every_comparison():
    columns = {name: name for name in ("group", "first", "second", "same", "similarity")}
    audit = faceaudit.pairs(
        pairs_with_missing_ones(), **columns, reference="a", threshold=0.5, tolerance=0.05
    )
    figure = audit.plot()
    drawn = {text.get_text() for text in names_of(figure)}
    assert len(drawn) == len(audit.report.judged) == 4
    assert {"missing positives: b", "missing negatives: b"} < drawn
    assert figure.axes[0].get_xlabel() == "difference (points)"


def crowded(report):
    """The report with intervals, family intervals and truths that reach below every name."""
    wide = {"low": -0.9, "high": 0.9, "low_family": -1.0, "high_family": 1.0, "truth": -0.9}
    name = "a value of an axis that has a long name, and another one beside it"
    rows = [row.model_copy(update=wide | {"cell": name}) for row in report.effects]
    averages = [row.model_copy(update=wide) for row in report.averages]
    return report.model_copy(update={"effects": rows, "averages": averages})


def test_names_touch_nothing_that_is_drawn(report):
    figure = figure_of(crowded(report))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # which sets the layout
    renderer = canvas.get_renderer()
    (axes,) = figure.axes
    names = [text.get_window_extent(renderer) for text in names_of(figure)]
    assert any("\n" in text.get_text() for text in names_of(figure)), "none is long"
    to_pixels = figure.dpi / 72
    drawn = []
    for line in axes.lines:
        half = line.get_markersize() * to_pixels / 2
        drawn += [(y - half, y + half) for _, y in axes.transData.transform(line.get_xydata())]
    for lines in axes.collections:
        assert isinstance(lines, LineCollection)
        half = lines.get_linewidth().max() * to_pixels / 2
        for segment in lines.get_segments():
            heights = axes.transData.transform(segment)[:, 1]
            drawn.append((heights.min() - half, heights.max() + half))
    assert drawn and names
    for name in names:
        assert name.x0 >= 0 and name.x1 <= figure.bbox.width
        touched = [(low, high) for low, high in drawn if low < name.y1 and name.y0 < high]
        assert not touched


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_band_of_the_tolerance_stands_out_from_the_page(report, tmp_path, chromium, scheme):
    from PIL import Image

    path = write_html(report, tmp_path / "report.html")
    with chromium.new_page() as tab:
        tab.emulate_media(color_scheme=scheme)
        tab.goto(path.as_uri())
        picture = tab.locator("figure svg").screenshot()
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")) / 255
    linear = np.where(pixels <= 0.04045, pixels / 12.92, ((pixels + 0.055) / 1.055) ** 2.4)
    # A row of pixels above the first name has the page and the band, besides thin lines.
    luminance = linear[9] @ np.array([0.2126, 0.7152, 0.0722])
    values, counts = np.unique(luminance.round(4), return_counts=True)
    page, band = values[np.argsort(counts)[:-3:-1]]
    lighter, darker = max(page, band), min(page, band)
    assert (lighter + 0.05) / (darker + 0.05) > LEAST_CONTRAST
