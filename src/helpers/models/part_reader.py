"""A reader of parts: has a picture of a face two eyes and a mouth?

A generator that draws smears in their place can pass measures that look at a picture as a whole. So
a network learns to tell renders from the same renders with parts missing: filled in from the skin
around them, or blurred until only a stain is left. A part counts as found where it reads that more
likely than not. How often it is right is told by renders it has not seen, whole and with a part
missing. Chapter 15 asks it about the learned generator's samples.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.ndimage import gaussian_filter
from torch import Tensor

import facerender
from helpers.models.attribute_reader import Reader, train_reader
from helpers.models.training import check_images
from helpers.utils import seeding

PARTS: tuple[str, ...] = ("left eye", "right eye", "mouth")
"""What is looked for; left and right are the image's."""
READ = ("two eyes", "mouth")
"""What is read. Training mirrors images, so that one eye cannot be told from the other."""
FOUND = 0.5
"""What is read as at least this much is found."""

_AROUND = {
    "left eye": ("eye_inner_left", "eye_outer_left", "eye_centre_left"),
    "right eye": ("eye_inner_right", "eye_outer_right", "eye_centre_right"),
    "mouth": ("mouth_corner_left", "mouth_corner_right", "upper_lip", "lower_lip"),
}
_MARGIN = 0.025
"""Of the image's size, around the landmarks of a part."""
_STAIN = 0.06
"""Standard deviation of the blur, of the image's size."""


def without_parts(
    images: np.ndarray, parameters: Tensor, missing: pd.DataFrame, seed: int
) -> np.ndarray:
    """Take parts out of renders.

    Every second part that is missing is filled in from the edges of its place, the others are
    blurred.

    Args:
        images: renders, uint8 (n, 3, size, size).
        parameters: those that they show, (n, P).
        missing: bool, a row for each image and a column for each of `PARTS`.
        seed: which are filled in.

    Returns:
        uint8 (n, 3, size, size).

    Raises:
        ValueError: images of another kind, or as many rows of something else.

    Example:
        >>> import numpy as np, pandas as pd
        >>> import facerender
        >>> from helpers.models import part_reader
        >>> one = (255 * facerender.render(facerender.defaults(), 64).image).byte().numpy()
        >>> missing = pd.DataFrame([[False, False, True]], columns=part_reader.PARTS)
        >>> other = part_reader.without_parts(one, facerender.defaults(), missing, seed=1)
        >>> bool((one == other).all()), bool((one == other)[..., :40, :].all())
        (False, True)
    """
    check_images(images)
    if not len(images) == len(parameters) == len(missing):
        raise ValueError(
            f"expected as many images, parameters and rows of missing parts, got {len(images)}, "
            f"{len(parameters)} and {len(missing)}"
        )
    size = images.shape[-1]
    places = _places(parameters, size)
    stained = seeding.uniforms(seed, "missing parts", range(len(images)), len(PARTS)) < 0.5
    made = images.copy()
    for row, column in np.argwhere(missing[list(PARTS)].to_numpy()):
        image, (top, bottom, left, right) = made[row], places[row, column]
        here = np.s_[:, top:bottom, left:right]
        if stained[row, column]:
            image[here] = gaussian_filter(image.astype(float), (0, *2 * [_STAIN * size]))[here]
        else:
            image[here] = _filled(image.astype(float), top, bottom, left, right)
    return made


def _places(parameters: Tensor, size: int) -> np.ndarray:
    """Rows and columns that the parts take: top, bottom, left, right, int (n, parts, 4)."""
    points = facerender.landmarks_of(parameters, size)
    places = []
    for names in _AROUND.values():
        few = points[:, [facerender.LANDMARK_NAMES.index(name) for name in names]]
        low, high = few.min(1) - _MARGIN * size, few.max(1) + _MARGIN * size
        ends = [low[:, 1], high[:, 1], low[:, 0], high[:, 0]]
        places.append(np.stack(ends, 1).round().astype(int).clip(1, size - 1))
    return np.stack(places, 1)


def _filled(image: np.ndarray, top: int, bottom: int, left: int, right: int) -> np.ndarray:
    """A place filled in from its four edges, in straight lines across and down."""
    down = np.linspace(0, 1, bottom - top)[:, None]
    across = np.linspace(0, 1, right - left)
    rows, columns = np.s_[:, top:bottom], np.s_[:, :, left:right]
    above, below = (image[columns][:, [line]] for line in (top - 1, bottom))
    before, after = (image[rows][:, :, [line]] for line in (left - 1, right))
    vertical = above + (below - above) * down
    horizontal = before + (after - before) * across
    return (vertical + horizontal) / 2


def train_part_reader(
    images: np.ndarray,
    parameters: Tensor,
    path: Path,
    *,
    seed: int,
    epochs: int,
    device: str = "cpu",
) -> Reader:
    """Train a reader of parts on renders, half of which lack a mouth, and half an eye or both.

    As `models.train_reader`.

    Args:
        images: renders, uint8 (n, 3, size, size).
        parameters: those that they show, (n, P).
        path: where the weights go.
        seed: of what is missing, of the first weights and of every epoch's draws.
        epochs: passes over the images.
        device: "cpu" or "cuda".

    Example:
        >>> import tempfile
        >>> import facerender
        >>> from helpers.models import part_reader
        >>> known = facerender.defaults(8)
        >>> images = (255 * facerender.render(known, 32).image).byte().numpy()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     reader = part_reader.train_part_reader(
        ...         images, known, f"{folder}/x", seed=1, epochs=1
        ...     )
        >>> reader(images[:2]).columns.tolist()
        ['two eyes', 'mouth']
    """
    drawn = seeding.uniforms(seed, "parts to learn", range(len(images)), len(PARTS))
    missing = pd.DataFrame(drawn < [0.3, 0.3, 0.5], columns=list(PARTS))  # half lack an eye
    seen = without_parts(images, parameters, missing, seed)
    eyes = ~missing[["left eye", "right eye"]].any(axis=1)
    targets = pd.DataFrame({"two eyes": eyes, "mouth": ~missing["mouth"]}).astype(float)
    return train_reader(seen, targets, path, seed=seed, epochs=epochs, device=device)


def all_found(reader: Reader, images: np.ndarray) -> np.ndarray:
    """Whether both eyes and the mouth are found in images, bool (n,).

    Example:
        >>> import numpy as np, pandas as pd
        >>> from helpers.models import part_reader
        >>> def half_sure(images):
        ...     return pd.DataFrame(0.4, range(len(images)), part_reader.READ)
        >>> part_reader.all_found(half_sure, np.zeros((2, 3, 64, 64), np.uint8)).tolist()
        [False, False]
    """
    return (reader(images)[list(READ)] >= FOUND).all(axis=1).to_numpy()


def with_and_without(images: np.ndarray, parameters: Tensor, seed: int) -> dict[str, np.ndarray]:
    """Renders as they are, and without one part each: what a reader of parts is tested on.

    Args:
        images, parameters: renders that the reader has not seen, and what they show.
        seed: how parts are taken out.

    Returns:
        Images by the name of their set; "no left eye" and so on miss one part.

    Example:
        >>> import facerender
        >>> from helpers.models import part_reader
        >>> one = (255 * facerender.render(facerender.defaults(), 64).image).byte().numpy()
        >>> list(part_reader.with_and_without(one, facerender.defaults(), seed=1))
        ['renders', 'no left eye', 'no right eye', 'no mouth']
    """
    sets = {"renders": images}
    for part in PARTS:
        missing = pd.DataFrame(False, range(len(images)), PARTS).assign(**{part: True})
        sets[f"no {part}"] = without_parts(images, parameters, missing, seed)
    return sets
