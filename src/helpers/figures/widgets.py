"""Pictures: galleries, and sliders over precomputed frames that work in a page without a kernel.

Every frame travels in the widget's saved state, and the links are made in the front end (`jslink`),
so a published page needs no Python. Keep frames small: a page should stay below 1.5 MB of state.
Without JavaScript a page shows no widget: draw the first and last frame with `gallery` too.
"""

import base64
import io
from collections.abc import Mapping, Sequence
from html import escape
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from ipywidgets import HTML, Box, Dropdown, Layout, SelectionSlider, Stack, VBox, jslink
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from PIL import Image

from helpers.figures.panels import WIDTH

QUALITY = 82
"""Of the WebP frames; a rendered face of 128 pixels takes about 3 kB."""
LETTER = 6.2
"""Points of a usual letter of size 10, as they stand above images."""
_WHOLE = {"style": {"description_width": "initial"}}


# --- galleries


def gallery(
    images: ArrayLike, ncol: int, titles: Sequence = (), row_labels: Sequence = ()
) -> Figure:
    """Images in rows, as wide as the page.

    Args:
        images: (n, 3, h, w), float in [0, 1] or uint8.
        ncol: images in a row; the last row may be shorter.
        titles: one above each image, or, when there are `ncol` of them, one above each column;
            a line that is wider than its image goes on in the next.
        row_labels: one at the left of each row.

    Returns:
        A figure with one axes per row.

    Raises:
        ValueError: a number of titles or labels that fits nothing.
    """
    pixels = as_pixels(images)
    n, height, width = pixels.shape[:3]
    nrow = -(-n // ncol)
    titles = [_in_lines(title, int(72 * WIDTH / ncol / LETTER)) for title in titles]
    if len(titles) not in (0, ncol, n) or len(row_labels) not in (0, nrow):
        given = f"{len(titles)} titles and {len(row_labels)} row labels"
        raise ValueError(f"{given} do not fit {n} images in {nrow} rows of {ncol}")
    lines = max((title.count("\n") + 1 for title in titles), default=0)
    titled_rows = nrow if len(titles) > ncol else min(len(titles), 1)
    tall = nrow * WIDTH / ncol * height / width + 0.22 * lines * titled_rows
    figure, axes = plt.subplots(nrow, 1, figsize=(WIDTH, tall), squeeze=False)
    # A row is one picture: axes of their own for many small images take seconds to draw.
    gap = -(-width // 100)
    wide = width + 2 * gap
    rows = np.pad(pixels, ((0, -n % ncol), (0, 0), (gap, gap), (0, 0)), constant_values=255)
    rows = rows.reshape(nrow, ncol, height, wide, 3).swapaxes(1, 2)
    for number, axis in enumerate(axes.flat):
        axis.imshow(rows[number].reshape(height, ncol * wide, 3))
        above = titles[number * ncol : (number + 1) * ncol]
        axis.xaxis.tick_top()
        axis.set_xticks((np.arange(len(above)) + 0.5) * wide - 0.5, above, fontsize=10)
        axis.set_yticks([])
        axis.tick_params(length=0)
        axis.grid(visible=False)
        axis.spines[:].set_visible(False)
    for axis, label in zip(axes.flat, row_labels, strict=False):
        axis.set_ylabel(label, fontsize=11)
    figure.get_layout_engine().set(w_pad=0.01, h_pad=0.02, wspace=0.01, hspace=0.01)
    return figure


def _in_lines(title: str, letters: int) -> str:
    """A title with line breaks between words, so that no line is wider than so many letters."""
    return "\n".join(fill(line, letters, break_long_words=False) for line in title.split("\n"))


def as_pixels(images: ArrayLike) -> np.ndarray:
    """Images as pixels, ready to be shown or encoded.

    Args:
        images: (n, 3, h, w) or one (3, h, w); array or CPU tensor; float in [0, 1] or uint8.

    Returns:
        uint8 (n, h, w, 3).

    Raises:
        ValueError: floats outside [0, 1] by more than rounding.
    """
    batch = np.asarray(images)
    batch = batch[None] if batch.ndim == 3 else batch
    if batch.dtype != np.uint8:
        if not (np.abs(batch - 0.5) <= 0.501).all():
            raise ValueError("expected float images in [0, 1]")
        batch = np.rint(np.clip(batch, 0, 1) * 255).astype(np.uint8)
    return batch.transpose(0, 2, 3, 1)


# --- sliders


def side_by_side(
    frames: Mapping[str, ArrayLike],
    labels: Sequence[str],
    description: str,
    alt: str,
    width: int = 320,
    charts: bool = False,
    below: Sequence[Sequence[str]] | None = None,
    start: int = 0,
) -> VBox:
    """Several stacks of frames, each under its caption, moved by one slider.

    Args:
        frames: caption -> (n, 3, h, w), float in [0, 1] or uint8; n is at least 2. One stack may
            have an empty caption. Captions are plain text, no HTML.
        labels: one per frame, shown beside the slider; short, for a phone leaves little room there.
        description: what the slider changes; also its name for screen readers.
        alt: what the frames show; a frame's text is `alt`, then the caption, then its label.
        width: of each stack on the page, in CSS pixels; a phone shows it smaller.
        charts: the frames are drawings. They keep every pixel, which takes less space than it does
            for faces, and stand below each other where the page is too narrow for their text.
        below: for every frame, texts that stand under it, each in the middle of an equal share.
        start: the frame that is shown first.

    Returns:
        The slider above the stacks.

    Raises:
        ValueError: frames, labels and texts that differ in number.
    """
    wide = Layout(width="100%", max_width=f"{max(width, 380)}px")
    options = {"options": list(labels), "index": start, "description": description}
    slider = SelectionSlider(**options, **_WHOLE, layout=wide)
    # Two columns of faces fit beside each other on a phone.
    share = "48%" if len(frames) > 1 and not charts else "100%"
    columns = []
    for caption, images in frames.items():
        shown = f"{alt}, {caption}" if caption else alt
        stack = _stack(as_pixels(images), labels, shown, charts, below or [()] * len(labels))
        stack.selected_index = start
        jslink((slider, "index"), (stack, "selected_index"))
        parts = [HTML(escape(caption)), stack] if caption else [stack]
        columns.append(VBox(parts, layout=Layout(width=f"{width}px", max_width=share)))
    return VBox([slider, Box(columns, layout=Layout(flex_flow="row wrap", grid_gap="8px"))])


def attribute_explorer(
    frames: Mapping, labels: Mapping, alt: str, width: int = 320, below=None, start: int = 0
) -> VBox:
    """A menu of attributes, each with a slider of its own.

    Args:
        frames: attribute -> (n, 3, h, w), float in [0, 1] or uint8; n is at least 2.
        labels: attribute -> one label per frame.
        alt: what the frames show; a frame's text is `alt`, then attribute and label.
        width: of the frames on the page, in CSS pixels; a phone shows them smaller.
        below: attribute -> texts as in `side_by_side`.
        start: the frame that every slider shows first.

    Returns:
        The menu above the chosen attribute's slider.
    """
    texts = below or dict.fromkeys(frames)
    sliders = [
        side_by_side(
            {"": images}, labels[name], name, f"{alt}, {name}", width, False, texts[name], start
        )
        for name, images in frames.items()
    ]
    menu = Dropdown(options=list(frames), description="attribute", **_WHOLE)
    pages = Stack(sliders, selected_index=0)
    jslink((menu, "index"), (pages, "selected_index"))
    return VBox([menu, pages])


def _stack(
    pixels: np.ndarray, labels: Sequence[str], alt: str, lossless: bool, texts: Sequence
) -> Stack:
    """Frames of which one is shown, each with its alt text and what stands below it."""
    # An img element rather than ipywidgets.Image, which has no alt text.
    shown, wide = [], Layout(width="100%")
    for frame, label, text in zip(pixels, labels, texts, strict=True):
        told = f'alt="{escape(f"{alt}: {label}")}" style="width: 100%"'
        source = encode(frame, lossless)
        shown.append(HTML(f'<img src="{source}" {told}>{_in_shares(text)}', layout=wide))
    return Stack(shown, selected_index=0, layout=wide)


def encode(image: np.ndarray, lossless: bool = False) -> str:
    """One image, uint8 (h, w, 3), as the data address of a WebP file."""
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "webp", quality=QUALITY, method=4, lossless=lossless)
    return "data:image/webp;base64," + base64.b64encode(stream.getvalue()).decode()


def _in_shares(texts: Sequence[str]) -> str:
    """Texts side by side, each in the middle of an equal share of the width."""
    shares = (f'<span style="flex: 1; text-align: center">{escape(text)}</span>' for text in texts)
    return f'<div style="display: flex">{"".join(shares)}</div>' if texts else ""
