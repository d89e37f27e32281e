"""Images in memory as the files and the table that an audit of a recogniser reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from faceaudit.plan import write_text


def write_faces(images: np.ndarray, frame: pd.DataFrame, path: Path) -> Path:
    """Write images as PNG files with a table beside them, as an audit reads them.

    Args:
        images: uint8 (n, 3, height, width).
        frame: columns of the table, a row per image.
        path: of the `.csv`; the files lie in a folder of its name. It is written last.

    Returns:
        The path.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     one = pd.DataFrame({"identity": ["a"]})
        ...     path = write_faces(np.zeros((1, 3, 8, 8), np.uint8), one, Path(folder, "f.csv"))
        ...     path.read_text().split()
        ['file,identity', 'f/0.png,a']
    """
    folder = path.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    files = [f"{folder.name}/{number}.png" for number in range(len(images))]
    for image, file in zip(images, files, strict=True):
        Image.fromarray(image.transpose(1, 2, 0)).save(path.parent / file)
    return write_text(path, frame.assign(file=files)[["file", *frame]].to_csv(index=False))
