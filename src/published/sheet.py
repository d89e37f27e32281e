"""A sheet of the first faces of the study, which the chapter and the pages show."""

import numpy as np
from PIL import Image

from published.places import RECORD
from published.study import Images

SHEET = RECORD / "faces.jpg"
"""A row for each face: light, medium and dark skin, a step at random, and dimmed light."""
FACES = 8
LEFT_OUT = (1,)
"""Faces with part of another head beside them, distorted and of an age that cannot be told."""
SIDE = 192
"""Pixels of a face."""


def write(images: Images) -> list[int]:
    """Write the sheet of the first faces of a part.

    Returns:
        Their numbers, from the top down.
    """
    numbers = dict.fromkeys(images.table["transect"])
    first = [number for number in numbers if number not in LEFT_OUT][:FACES]
    rows = []
    for number in first:
        of_face = np.flatnonzero(images.table["transect"] == number)
        pictures = [Image.fromarray(pixels.transpose(1, 2, 0)) for pixels in images.pixels[of_face]]
        rows.append(np.hstack([picture.resize((SIDE, SIDE)) for picture in pictures]))
    Image.fromarray(np.vstack(rows)).save(SHEET, quality=88)
    return first
