"""What is measured on pictures of faces, without anybody's answer: colours, pose and proportions.

Landmarks come from dlib's predictor of 68 points (Kazemi and Sullivan 2014; learned from the iBUG
300-W pictures, whose licence excludes commercial use). No model of the study uses it. The generator
places every face alike, as FFHQ does, so that the predictor is told one place for all.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from faceaudit.images.skin_colour import lab_of_srgb
from published.places import make_importable

FACE = (0.185, 0.287, 0.791, 0.893)
"""Left, top, right and bottom of the square around a face, in shares of the picture."""
LEFT_CHEEK = (41, 31, 48, 3)
RIGHT_CHEEK = (46, 35, 54, 13)
"""Points around the cheeks: below the eye, beside the nose, corner of the mouth, and jaw."""
BRIDGE = 27
NOSE = 33
"""Top of the nose, between the eyes, and its lower end."""
FOREHEAD = 0.75
TOP_OF_HEAD = 1.75
"""How far they are above the bridge, in lengths of the nose."""
PATCH = 0.17
"""Radius of the places where colours are taken, in distances of the eyes."""
MEASURES = (
    "L",
    "a",
    "b",
    "background L",
    "background a",
    "background b",
    "hair L",
    "hair a",
    "hair b",
    "yaw",
    "pitch",
    "mouth",
    "jaw",
    "nose",
    "lips",
)
"""CIELAB of the skin, of the background's upper corners and of the hair; pose; and proportions:
opening of the mouth, width of the jaw and of the nose, height of the lips."""
SKIN = ("L", "a", "b")


class Landmarks:
    """The predictor of 68 points.

    Args:
        path: of `shape_predictor_68_face_landmarks.dat`.
    """

    def __init__(self, path: Path) -> None:
        make_importable()
        import dlib

        self._predictor = dlib.shape_predictor(str(path))
        self._rectangle = dlib.rectangle

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """Points (n, 68, 2), x and y in pixels, of uint8 images (n, 3, height, width)."""
        points = np.empty((len(images), 68, 2))
        for row, image in enumerate(images):
            pixels = np.ascontiguousarray(image.transpose(1, 2, 0))
            left, top, right, bottom = (round(share * len(pixels)) for share in FACE)
            shape = self._predictor(pixels, self._rectangle(left, top, right, bottom))
            points[row] = [(point.x, point.y) for point in shape.parts()]
        return points


def measure(images: np.ndarray, points: np.ndarray) -> pd.DataFrame:
    """The measures of images.

    Args:
        images: uint8 (n, 3, height, width).
        points: (n, 68, 2) of `Landmarks`.

    Returns:
        (n) rows, columns `MEASURES`.
    """
    rows = [_measures_of(image, face) for image, face in zip(images, points, strict=True)]
    return pd.DataFrame(rows, columns=list(MEASURES))


def skin_pixels(image: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Pixels (m, 3), uint8, of the cheeks and the forehead of an image (3, height, width)."""
    up = points[BRIDGE] - points[NOSE]
    places = [
        points[list(LEFT_CHEEK)].mean(axis=0),
        points[list(RIGHT_CHEEK)].mean(axis=0),
        points[BRIDGE] + FOREHEAD * up,
    ]
    radius = PATCH * _distance_of_eyes(points)
    return np.concatenate([_disc(image, place, radius) for place in places])


def _measures_of(image: np.ndarray, points: np.ndarray) -> Sequence[float]:
    eyes = _distance_of_eyes(points)
    up = points[BRIDGE] - points[NOSE]
    skin = np.median(lab_of_srgb(skin_pixels(image, points) / 255), axis=0)
    hair = _disc(image, points[BRIDGE] + TOP_OF_HEAD * up, PATCH * eyes)
    _, height, width = image.shape
    corners = np.concatenate(
        [
            image[:, : height // 3, : width // 8].reshape(3, -1).T,
            image[:, : height // 3, -width // 8 :].reshape(3, -1).T,
        ]
    )
    background, of_hair = (
        np.median(lab_of_srgb(pixels / 255), axis=0) for pixels in (corners, hair)
    )
    return [*skin, *background, *of_hair, *_pose_and_proportions(points)]


def _pose_and_proportions(points: np.ndarray) -> Sequence[float]:
    """yaw, pitch, mouth, jaw, nose and lips, in distances of the eyes where they are lengths."""
    eyes = _distance_of_eyes(points)
    between_eyes = points[36:48].mean(axis=0)
    mouth = points[48:68].mean(axis=0)
    down = mouth - between_eyes
    to_left = np.linalg.norm(points[NOSE] - points[1])
    to_right = np.linalg.norm(points[NOSE] - points[15])
    return [
        (to_left - to_right) / (to_left + to_right),
        (points[NOSE] - between_eyes) @ down / (down @ down),
        np.linalg.norm(points[62] - points[66]) / eyes,
        np.linalg.norm(points[4] - points[12]) / eyes,
        np.linalg.norm(points[31] - points[35]) / eyes,
        (np.linalg.norm(points[51] - points[62]) + np.linalg.norm(points[57] - points[66])) / eyes,
    ]


def _distance_of_eyes(points: np.ndarray) -> float:
    left = points[36:42].mean(axis=0)
    right = points[42:48].mean(axis=0)
    return float(np.linalg.norm(left - right))


def _disc(image: np.ndarray, place: np.ndarray, radius: float) -> np.ndarray:
    """Pixels (m, 3) of an image (3, height, width) around a place (x, y)."""
    _, height, width = image.shape
    x = np.arange(width)[None, :]
    y = np.arange(height)[:, None]
    # A place may lie outside, such as the hair of a head that is cut off; its edge is taken then.
    x0, y0 = place.clip([0, 0], [width - 1, height - 1])
    inside = (x - x0) ** 2 + (y - y0) ** 2 <= radius**2
    return image[:, inside].T
