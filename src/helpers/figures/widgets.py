"""Sliders over precomputed frames that work in a static page, without a kernel.

Every frame travels in the widget's saved state, and the links are made in the front end (`jslink`),
so a published page needs no Python. Keep frames small: a page should stay below 1.5 MB of state.
Without JavaScript a page shows no widget: draw the first and last frame with `figures.gallery` too.
Chapters 2, 4, 5 and 15 to 17 use them.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from ipywidgets import HTML, Box, Dropdown, Layout, SelectionSlider, Stack, VBox, jslink
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.typing import ArrayLike
from PIL import Image as Pillow

from helpers.figures.looks import as_pixels

QUALITY = 82
"""Of the WebP frames; a rendered face of 128 pixels takes about 3 kB."""


def encode(image: np.ndarray, lossless: bool = False) -> str:
    """One image as the data address of a WebP file.

    Args:
        image: uint8 (h, w, 3).
        lossless: keep every pixel, as drawings need.
    """
    stream = io.BytesIO()
    Pillow.fromarray(image).save(stream, "webp", quality=QUALITY, method=4, lossless=lossless)
    return "data:image/webp;base64," + base64.b64encode(stream.getvalue()).decode()


def as_frame(canvas: FigureCanvasAgg) -> np.ndarray:
    """What is drawn on a canvas as a frame, uint8 (3, h, w), without its transparency."""
    return np.asarray(canvas.buffer_rgba())[..., :3].transpose(2, 0, 1).copy()


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
        ValueError: frames, labels and texts that differ in number, or fewer than two frames.
    """
    stacks = {
        caption: _stack(images, labels, f"{alt}, {caption}" if caption else alt, charts, below)
        for caption, images in frames.items()
    }
    slider = SelectionSlider(
        options=list(labels),
        index=start,
        description=description,
        style={"description_width": "initial"},
        layout=Layout(width="100%", max_width=f"{max(width, 380)}px"),
    )
    # Two columns of faces fit beside each other on a phone.
    share = "48%" if len(stacks) > 1 and not charts else "100%"
    columns = []
    for caption, stack in stacks.items():
        stack.selected_index = start
        jslink((slider, "index"), (stack, "selected_index"))
        parts = [HTML(escape(caption)), stack] if caption else [stack]
        columns.append(VBox(parts, layout=Layout(width=f"{width}px", max_width=share)))
    row = Box(columns, layout=Layout(flex_flow="row wrap", grid_gap="8px"))
    return VBox([slider, row])


def attribute_explorer(
    frames: Mapping[str, ArrayLike],
    labels: Mapping[str, Sequence[str]],
    alt: str,
    width: int = 320,
    below: Mapping[str, Sequence[Sequence[str]]] | None = None,
    start: int = 0,
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

    Raises:
        ValueError: see `side_by_side`.
    """
    texts = below or dict.fromkeys(frames)
    sliders = [
        side_by_side(
            {"": images}, labels[name], name, f"{alt}, {name}", width, False, texts[name], start
        )
        for name, images in frames.items()
    ]
    menu = Dropdown(
        options=list(frames), description="attribute", style={"description_width": "initial"}
    )
    pages = Stack(sliders, selected_index=0)
    jslink((menu, "index"), (pages, "selected_index"))
    return VBox([menu, pages])


def _stack(
    frames: ArrayLike,
    labels: Sequence[str],
    alt: str,
    lossless: bool,
    below: Sequence[Sequence[str]] | None,
) -> Stack:
    """Frames of which one is shown, each with its alt text and what stands below it."""
    pixels = as_pixels(frames)
    texts = [()] * len(pixels) if below is None else below
    if not len(pixels) == len(labels) == len(texts) or len(pixels) < 2:
        raise ValueError(
            f"expected one label per frame and at least two, got {len(pixels)} frames, "
            f"{len(labels)} labels and {len(texts)} texts"
        )
    # An img element rather than ipywidgets.Image, which has no alt text.
    shown = [
        HTML(
            f'<img src="{encode(frame, lossless)}" alt="{escape(f"{alt}: {label}")}" '
            f'style="width: 100%">{_in_shares(text)}',
            layout=Layout(width="100%"),
        )
        for frame, label, text in zip(pixels, labels, texts, strict=True)
    ]
    return Stack(shown, selected_index=0, layout=Layout(width="100%"))


def _in_shares(texts: Sequence[str]) -> str:
    """Texts side by side, each in the middle of an equal share of the width."""
    shares = (f'<span style="flex: 1; text-align: center">{escape(text)}</span>' for text in texts)
    return f'<div style="display: flex">{"".join(shares)}</div>' if texts else ""
