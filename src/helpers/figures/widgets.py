"""Sliders over precomputed frames that work in a page without a kernel.

Every frame travels in the widget's saved state, and the links are made in the front end (`jslink`),
so a published page needs no Python. Keep frames small: a page should stay below 1.5 MB of state.
Without JavaScript a page shows no widget: draw the first and last frame with `gallery` too.
"""

import base64
import io
import json
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from IPython.display import HTML as Markup
from ipywidgets import HTML, Box, Dropdown, Layout, SelectionSlider, Stack, VBox, jslink
from numpy.typing import ArrayLike
from PIL import Image

from helpers.figures.charts import as_pixels

QUALITY = 82
"""Of the WebP frames; a rendered face of 128 pixels takes about 3 kB."""
_WHOLE = {"style": {"description_width": "initial"}}


def side_by_side(
    frames: Mapping[str, ArrayLike],
    labels: Sequence[str],
    description: str,
    alt: str,
    width: int = 320,
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
    share = "48%" if len(frames) > 1 else "100%"
    columns = []
    for caption, images in frames.items():
        stack_alt = f"{alt}, {caption}" if caption else alt
        stack = _stack(as_pixels(images), labels, stack_alt, below or [()] * len(labels))
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
        side_by_side({"": images}, labels[name], name, f"{alt}, {name}", width, texts[name], start)
        for name, images in frames.items()
    ]
    menu = Dropdown(options=list(frames), description="attribute", **_WHOLE)
    pages = Stack(sliders, selected_index=0)
    jslink((menu, "index"), (pages, "selected_index"))
    return VBox([menu, pages])


def explorable(kind: str, without: str, /, **content: object) -> Markup:
    """Something to try out without a kernel: sliders, a drawing and a sentence.

    Args:
        kind: which of those in `book/_static/try.js`.
        without: what it shows, for a page without JavaScript.
        content: what that kind takes, as JSON; `guess` has question, options, right and because.

    Returns:
        HTML for the end of a cell.
    """
    attributes = f'data-kind="{kind}" data-content="{escape(json.dumps(content))}"'
    return Markup(f'<figure class="explorable" {attributes}><p>{escape(without)}</p></figure>')


def sheet(faces: ArrayLike) -> str:
    """One image of faces (rows, columns, 3, h, w), float in [0, 1] or uint8, as a data address."""
    down, across, *_, height, width = np.shape(faces)
    pixels = as_pixels(np.reshape(faces, (-1, 3, height, width)))
    rows = pixels.reshape(down, across, height, width, 3).swapaxes(1, 2)
    return encode(rows.reshape(down * height, across * width, 3))


def _stack(pixels: np.ndarray, labels: Sequence[str], alt: str, texts: Sequence) -> Stack:
    """Frames of which one is shown, each with its alt text and the texts below it."""
    full_width = Layout(width="100%")
    children = []
    for frame, label, text in zip(pixels, labels, texts, strict=True):
        frame_alt = escape(f"{alt}: {label}")
        # An img element rather than ipywidgets.Image, which has no alt text.
        image = f'<img src="{encode(frame)}" alt="{frame_alt}" style="width: 100%">'
        children.append(HTML(image + _in_shares(text), layout=full_width))
    return Stack(children, selected_index=0, layout=full_width)


def encode(image: np.ndarray) -> str:
    """One image, uint8 (h, w, 3), as the data address of a WebP file."""
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "webp", quality=QUALITY, method=4)
    return "data:image/webp;base64," + base64.b64encode(stream.getvalue()).decode()


def _in_shares(texts: Sequence[str]) -> str:
    """Texts side by side, each in the middle of an equal share of the width."""
    if not texts:
        return ""
    shares = (f'<span style="flex: 1; text-align: center">{escape(text)}</span>' for text in texts)
    return f'<div style="display: flex">{"".join(shares)}</div>'
