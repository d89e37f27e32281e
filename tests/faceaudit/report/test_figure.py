"""The figure of a report: what it draws, and that names can be read beside it."""

import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.text import Annotation
from pretended_audits import pretended_table

import faceaudit
from faceaudit.report.page import figure_of, page
from faceaudit.utils import seeding


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


def test_the_figure_of_images_and_of_portraits_has_what_is_missing():
    table = pretended_table(60, 0.3, seed=1)
    table.loc[table.index % 9 == 0, "score"] = None
    settings = {"axes": {"skin": ["light", "dark"], "gender": ["female", "male"]}}
    settings |= {"label": "gender", "classes": ["female", "male"], "score": "score"}
    settings |= {"image": "image_id", "tolerance": 0.05}
    for unit, quantity in (("unit", "change"), (None, "difference")):
        audit = faceaudit.table(table, unit=unit, **settings)
        figure = audit.plot()
        drawn = [text.get_text() for text in names_of(figure)]
        assert len(drawn) == len(audit.report.judged)
        assert {"skin: missing", "perceived gender: missing"} < set(drawn)
        expected = f"{quantity} of the error rate, or of what is missing (points)"
        assert figure.axes[0].get_xlabel() == expected
        assert "of the error rate and of what is missing" in page(audit.report)


def test_what_is_missing_has_a_scale_of_its_own_beside_numbers():
    table = pretended_table(60, 0.0, seed=1)
    table = table.assign(off=3.0 * table["score"]).set_index("image_id", drop=False)
    table.loc[table.index[::9], "off"] = None
    axes = {"skin": ["light", "dark"]}
    settings = {"axes": axes, "placebos": {"gender": ["female", "male"]}, "image": "image_id"}
    numbers, shares = (
        faceaudit.table(table, unit="unit", outcome="off", tolerance=1.0, **settings).plot().axes
    )
    assert [text.get_text() for text in numbers.texts] == ["skin: on average"]
    assert [text.get_text() for text in shares.texts] == ["skin: missing, in points"]
    assert numbers.get_xlabel() == "change of the mean"
    assert shares.get_xlabel() == "change of the share of what is missing (points)"
    for panel, tolerance in ((numbers, 1.0), (shares, 5.0)):
        (band,) = panel.patches
        assert (band.get_x(), band.get_width()) == (-tolerance, 2 * tolerance)


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
