"""Some of the images of an audit in one picture, so that a reader sees what was changed."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from PIL import Image

from faceaudit.planning import cell_name

ROWS, SIDE, GAP = 4, 96, 2
"""Faces that are shown, and the height and width of an image and of the gaps, in pixels."""


@dataclass(frozen=True)
class Sheet:
    """The picture, and what a reader needs to read it.

    Attributes:
        address: data address of the picture.
        columns: what each column shows.
        alt: what it shows, in words.

    Example:
        >>> Sheet("data:", ["female", "male"], "two faces").columns
        ['female', 'male']
    """

    address: str
    columns: list[str]
    alt: str


def contact_sheet(
    images: np.ndarray, index: pd.DataFrame, axes: Mapping[str, Sequence[str]]
) -> Sheet:
    """The first faces of an audit, a row each, at all combinations of the axes' levels.

    Args:
        images: uint8 (n, 3, height, width).
        index: with unit and `<axis>_level`; of several images at a place the first is shown, and a
            place without one stays white.
        axes: axis → names of its levels.

    Returns:
        The sheet.

    Example:
        >>> index = pd.DataFrame({"unit": [*"aabb"], "skin_level": [0, 1, 0, 1]})
        >>> images = np.zeros((4, 3, 8, 8), np.uint8)
        >>> contact_sheet(images, index, {"skin": ("light", "dark")}).columns
        ['light', 'dark']
    """
    places = [f"{axis}_level" for axis in axes]
    cells = sorted(set(map(tuple, index[places].to_numpy())))
    units = index["unit"].drop_duplicates().head(ROWS).tolist()
    step = SIDE + GAP
    sheet = Image.new("RGB", (step * len(cells) - GAP, step * len(units) - GAP), "white")
    shown = index[index["unit"].isin(units)].drop_duplicates(["unit", *places])
    positions = index.index.get_indexer(shown.index)
    for position, row in zip(positions, shown.to_dict("records"), strict=True):
        cell = cells.index(tuple(row[place] for place in places))
        picture = Image.fromarray(np.ascontiguousarray(images[position].transpose(1, 2, 0)))
        picture = picture.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
        sheet.paste(picture, (step * cell, step * units.index(row["unit"])))
    stream = io.BytesIO()
    sheet.save(stream, "webp", quality=85)
    data = base64.b64encode(stream.getvalue()).decode()
    columns = [cell_name(axes, dict(zip(axes, cell, strict=True))) for cell in cells]
    alt = f"{len(units)} faces, each in {len(cells)} versions: {'; '.join(columns)}."
    return Sheet(f"data:image/webp;base64,{data}", columns, alt)
