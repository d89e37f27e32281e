"""Faces turned, scaled and shifted until five points lie where a recogniser was taught they lie.

The points are the centres of both eyes, the tip of the nose and both corners of the mouth, in this
order, left before right as the image shows them; pixels, x right and y down, 0 at the centre of the
first pixel. They come from a
detector (`FaceDetector`) or from a table. Chapter 20 audits recognisers that want it.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn import functional

from helpers.utils.checks import require_shape

TEMPLATE = np.array(
    [
        [38.2946, 51.6963],
        [73.5318, 51.5014],
        [56.0252, 71.7366],
        [41.5493, 92.3655],
        [70.7299, 92.2041],
    ]
)
"""Where ArcFace has the five points in its images of 112 pixels (Deng et al. 2019)."""
TEMPLATE_SIZE = 112
POINTS = (
    "eye_centre_left",
    "eye_centre_right",
    "nose_tip",
    "mouth_corner_left",
    "mouth_corner_right",
)
"""The five points by the names of `facerender.landmarks.LANDMARK_NAMES`."""


def similarity_transform(points: ArrayLike, goal: ArrayLike) -> np.ndarray:
    """The turn, scale and shift that bring points nearest to a goal, by least squares.

    Umeyama, IEEE Transactions on Pattern Analysis and Machine Intelligence 13 (1991), in the plane
    and without mirroring: with points as complex numbers it is the regression of one on the other.

    Args:
        points: (n, k, 2).
        goal: (k, 2).

    Returns:
        matrices, float64 (n, 2, 3), that take a point (x, y, 1) to its new place.

    Raises:
        ValueError: another shape, or points that all lie in one place.

    Example:
        >>> from faceaudit import black_box
        >>> square = [[0, 0], [1, 0], [1, 1]]
        >>> matrix = black_box.similarity_transform([square], [[2, 3], [4, 3], [4, 5]])[0]
        >>> (matrix @ [1, 1, 1]).round(6).tolist()
        [4.0, 5.0]
    """
    points, goal = np.asarray(points, float), np.asarray(goal, float)
    require_shape(points, "points", (-1, *goal.shape))
    here, there = points[..., 0] + 1j * points[..., 1], goal[..., 0] + 1j * goal[..., 1]
    centred = here - here.mean(1, keepdims=True)
    spread = (np.abs(centred) ** 2).sum(1)
    if not (spread > 0).all():
        row = int((~(spread > 0)).argmax())
        raise ValueError(f"points, row {row}: all lie in one place or are missing")
    turn = (centred.conj() * (there - there.mean())).sum(1) / spread
    shift = there.mean() - turn * here.mean(1)
    first = np.stack([turn.real, -turn.imag, shift.real], 1)
    second = np.stack([turn.imag, turn.real, shift.imag], 1)
    return np.stack([first, second], 1)


def aligned(images: Tensor, points: Tensor, size: int = TEMPLATE_SIZE) -> Tensor:
    """Images warped so that five points lie on ArcFace's template; black where nothing was.

    Args:
        images: float (n, 3, height, width).
        points: (n, 5, 2), pixels; see the module.
        size: of the warped images, pixels; the template is scaled with it.

    Returns:
        float32 (n, 3, size, size), interpolated bilinearly.

    Raises:
        ValueError: points of another shape, missing, or all in one place.

    Example:
        >>> import torch
        >>> from faceaudit import black_box
        >>> at_home = torch.tensor(black_box.TEMPLATE)[None]
        >>> image = torch.rand(1, 3, 112, 112)
        >>> bool((black_box.aligned(image, at_home) - image).abs().max() < 1e-4)
        True
    """
    require_shape(points, "points", (len(images), 5, 2))
    goal = (TEMPLATE + 0.5) * (size / TEMPLATE_SIZE) - 0.5
    if not len(images):
        return images.new_zeros((0, 3, size, size))
    forth = similarity_transform(points.numpy(), goal)
    # Every pixel of the result asks where it comes from.
    back = np.linalg.inv(forth[:, :, :2])
    shift = -np.einsum("nij,nj->ni", back, forth[:, :, 2])
    grid = np.stack(np.meshgrid(np.arange(size), np.arange(size)), -1).astype(float)
    source = np.einsum("nij,hwj->nhwi", back, grid) + shift[:, None, None]
    height, width = images.shape[2:]
    place = torch.from_numpy((2 * source + 1) / np.array([width, height]) - 1).float()
    return functional.grid_sample(images.float(), place, mode="bilinear", align_corners=False)
