"""Pictures from files: how a file is decoded, and which part of a picture a network is shown.

Training and audits both call these functions. So a model is audited on pictures that are turned and
cut as those that it learned from.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

if TYPE_CHECKING:  # an audit of a table reads no picture
    from PIL import Image


class UnreadablePicture(ValueError):
    """A file that gives no picture.

    Attributes:
        reason: a few words that are the same for all files with this fault, to be counted.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


def read_picture(file: str | Path | BinaryIO) -> Image.Image:
    """Decode a picture, turn it upright as its EXIF tag says, and make it RGB.

    Args:
        file: a path, or a file that is open for reading bytes.

    Returns:
        The picture, of the mode RGB.

    Raises:
        FileNotFoundError: there is no such file.
        UnreadablePicture: the file is damaged or no image, has more than 8 bits for a pixel's
            channel, or is transparent in places. The message goes on after the file's name.
    """
    from PIL import Image, ImageOps

    try:
        with Image.open(file) as image:
            mode = image.mode
            upright = ImageOps.exif_transpose(image)
    except FileNotFoundError:
        raise
    except (OSError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        message = f"is no readable image ({error})"
        raise UnreadablePicture(message, "damaged or no image") from error
    if mode.startswith(("I", "F")):
        message = f"has {mode} pixels, expected 8 bits each"
        raise UnreadablePicture(message, "pixels of more than 8 bits")
    if upright.has_transparency_data:
        opacity = np.asarray(upright.convert("RGBA").getchannel("A"))
        if opacity.min() < 255:
            message = "is transparent in places; put it on a background first"
            raise UnreadablePicture(message, "transparent in places")
    return upright.convert("RGB")


def middle(height: int, width: int, shape: tuple[int, int] = (1, 1)) -> tuple[slice, slice]:
    """Find the largest part in the middle of a picture that has the proportions of a shape.

    Args:
        height: of the picture, pixels.
        width: of the picture, pixels.
        shape: height and width whose proportions the part has; by default it is a square.

    Returns:
        The rows and the columns of the part, whole pixels. Where an odd number of them is left out,
        one more is left out below or on the right.

    Example:
        >>> middle(218, 178)
        (slice(20, 198, None), slice(0, 178, None))
        >>> middle(112, 112, (112, 96))
        (slice(0, 112, None), slice(8, 104, None))
    """
    shape_height, shape_width = shape
    rows = min(height, max(1, round(width * shape_height / shape_width)))
    columns = min(width, max(1, round(height * shape_width / shape_height)))
    top = (height - rows) // 2
    left = (width - columns) // 2
    return slice(top, top + rows), slice(left, left + columns)


def box(height: int, width: int, shares: tuple[float, float, float, float]) -> tuple[slice, slice]:
    """Find a part of a picture that is given in shares of its width and height.

    Args:
        height: of the picture, pixels.
        width: of the picture, pixels.
        shares: left, top, right and bottom, from 0 to 1.

    Returns:
        The rows and the columns of the part: its edges are rounded to whole pixels, and it has at
        least one.

    Example:
        >>> box(200, 100, (0, 0.1, 0.9, 0.9))
        (slice(20, 180, None), slice(0, 90, None))
    """
    left, top, right, bottom = shares
    first_row = min(round(top * height), height - 1)
    first_column = min(round(left * width), width - 1)
    rows = slice(first_row, max(round(bottom * height), first_row + 1))
    return rows, slice(first_column, max(round(right * width), first_column + 1))


def fitted(height: int, width: int, shape: tuple[int, int]) -> tuple[slice, slice]:
    """Find the place in a shape that a whole picture takes once it is scaled until it fits.

    It lies in the middle, as `PIL.ImageOps.pad` puts it.

    Args:
        height: of the picture.
        width: of the picture.
        shape: height and width of what the picture is to fit into, pixels.

    Returns:
        The rows and the columns of the place, whole pixels, at least one.

    Example:
        >>> fitted(218, 178, (64, 64))
        (slice(0, 64, None), slice(6, 58, None))
    """
    shape_height, shape_width = shape
    rows = min(shape_height, max(1, round(height / width * shape_width)))
    columns = min(shape_width, max(1, round(width / height * shape_height)))
    top = round((shape_height - rows) / 2)
    left = round((shape_width - columns) / 2)
    return slice(top, top + rows), slice(left, left + columns)


def to_grey(images: np.ndarray) -> np.ndarray:
    """Grey pictures by the luma of ITU-R BT.601, as `convert("L")` of Pillow makes them.

    Args:
        images: uint8 RGB (n, 3, height, width).

    Returns:
        uint8 (n, 1, height, width).

    Example:
        >>> to_grey(np.array([255, 0, 0], np.uint8).reshape(1, 3, 1, 1)).item()
        76
    """
    # Pillow's shares .299, .587 and .114 of 65,536, and a half to round.
    shares = np.array([19595, 38470, 7471], np.int32)
    luma = np.einsum("nchw,c->nhw", images, shares) + 32768
    return (luma[:, None] >> 16).astype(np.uint8)


def scaled(pixels: np.ndarray, sides: tuple[int, int]) -> np.ndarray:
    """Scale pictures as Pillow does with BILINEAR, without its rounding to whole grey levels.

    Args:
        pixels: float32 (n, channels, height, width), from 0 to 255.
        sides: height and width of the result, pixels.

    Returns:
        float32 (n, channels, *sides), from 0 to 255.

    Example:
        >>> scaled(np.array([0, 30], np.float32).reshape(1, 1, 1, 2), (1, 4)).tolist()
        [[[[0.0, 7.5, 22.5, 30.0]]]]
    """
    from PIL import Image

    height, width = sides
    planes = pixels.reshape(-1, *pixels.shape[2:])
    result = np.empty((len(planes), height, width), np.float32)
    for number, plane in enumerate(planes):
        picture = Image.fromarray(plane).resize((width, height), Image.Resampling.BILINEAR)
        result[number] = np.asarray(picture)
    return result.clip(0, 255).reshape(*pixels.shape[:2], height, width)


def cut(picture: Image.Image, shape: tuple[int, int] = (1, 1)) -> Image.Image:
    """Cut a picture to its `middle`, by default to a square."""
    rows, columns = middle(picture.height, picture.width, shape)
    return picture.crop((columns.start, rows.start, columns.stop, rows.stop))
