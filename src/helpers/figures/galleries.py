"""Images side by side, as every chapter that shows faces does."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath
from numpy.typing import ArrayLike

from helpers.figures.looks import WIDTH, as_pixels

TITLE = 10
"""Size of the letters above images, in points."""


def gallery(
    images: ArrayLike,
    ncol: int,
    titles: Sequence[str] | None = None,
    row_labels: Sequence[str] | None = None,
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
        ValueError: no images, or a number of titles or labels that fits nothing.

    Example:
        >>> import numpy as np
        >>> with plt.rc_context({"figure.constrained_layout.use": True}):
        ...     len(gallery(np.zeros((4, 3, 8, 8)), ncol=2, titles=["a", "b"]).axes)
        2
    """
    pixels = as_pixels(images)
    n, height, width = pixels.shape[:3]
    if n == 0:
        raise ValueError("a gallery needs at least one image")
    nrow = -(-n // ncol)
    titles = [_in_lines(title, 72 * WIDTH / ncol) for title in ([] if titles is None else titles)]
    row_labels = [] if row_labels is None else list(row_labels)
    if len(titles) not in (0, ncol, n) or len(row_labels) not in (0, nrow):
        raise ValueError(
            f"{n} images in {nrow} rows of {ncol} take {ncol} or {n} titles and {nrow} row "
            f"labels, got {len(titles)} and {len(row_labels)}"
        )
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
        centres = (np.arange(len(above)) + 0.5) * wide - 0.5
        axis.xaxis.tick_top()
        axis.set_xticks(centres, above, fontsize=TITLE)
        axis.set_yticks([])
        axis.tick_params(length=0)
        axis.grid(visible=False)
        axis.spines[:].set_visible(False)
    for axis, label in zip(axes.flat, row_labels, strict=False):
        axis.set_ylabel(label, fontsize=11)
    figure.get_layout_engine().set(w_pad=0.01, h_pad=0.02, wspace=0.01, hspace=0.01)
    return figure


def _in_lines(title: str, width: float) -> str:
    """A title with line breaks between words, so that no line is wider than `width` points."""
    lines: list[str] = []
    for given in title.split("\n"):
        lines.append("")
        for word in given.split():
            longer = f"{lines[-1]} {word}".strip()
            fits = TextPath((0, 0), longer, size=TITLE).get_extents().width < 0.97 * width
            if fits or not lines[-1]:
                lines[-1] = longer
            else:
                lines.append(word)
    return "\n".join(lines)
