"""Pictures from files: how a file is decoded, and which part of a picture a network is shown.

Training and audits both call these functions. So a model is audited on pictures that are turned and
cut as those that it learned from.
"""

from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image, ImageOps


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


def cut(picture: Image.Image, shape: tuple[int, int] = (1, 1)) -> Image.Image:
    """Cut a picture to its `middle`, by default to a square."""
    rows, columns = middle(picture.height, picture.width, shape)
    return picture.crop((columns.start, rows.start, columns.stop, rows.stop))
