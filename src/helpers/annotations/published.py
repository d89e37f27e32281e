"""The annotations that the authors of the transects paper published, as they are. See chapter 6."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from helpers.annotations.ingest import Ingest, validate
from helpers.annotations.raw import Notes, Source, parts
from helpers.annotations.text import require_path
from helpers.utils.pickle_reading import array, first_line, read_pickle

SOURCE = "published"
RENAME = {"skin_color": "skin_colour"}
"""How the published files call an attribute -> its name here."""


def read_published(
    path: str | Path, *, rename: Mapping[str, str] | None = None, salt: str = "helpers"
) -> Ingest:
    """Read a pickled dictionary of arrays, images × raters, without running anything in it.

    Such a file names neither images nor people: an image is called by its row, with zeros before
    it, and an annotator is a column of one attribute, which need not be one person. Times are
    unknown and therefore counted as unreadable.

    Args:
        path: the pickle, for example `annotations.pkl`; whole numbers are levels counted from 0.
        rename: name in the dictionary -> attribute, where they differ; `RENAME` without it.
        salt: of the annotators' hashes.

    Returns:
        The tidy table and the report of what was rejected, see `Ingest`.

    Raises:
        ValueError: the file is no such pickle, has anything but arrays of numbers in it, or
            nothing that can be used; an array is empty or has not two dimensions. Names the file.

    Example:
        >>> import pickle, tempfile
        >>> import numpy as np
        >>> from helpers import annotations
        >>> with tempfile.NamedTemporaryFile("wb", suffix=".pkl") as file:
        ...     pickle.dump({"gender": np.array([[0, 4], [1, 1]])}, file)
        ...     file.flush()
        ...     annotations.read_published(file.name).frame["level"].tolist()
        [0, 4, 1, 1]
    """
    path = Path(path)
    arrays = _arrays(path)
    for name, levels in arrays.items():
        if levels.ndim != 2:
            raise ValueError(
                f"{path}: {name[:40]!r}: expected images × raters, found {levels.ndim} dimensions"
            )
        # A few bytes can say that there are a billion rows of nothing.
        if not levels.size:
            raise ValueError(f"{path}: {name[:40]!r}: expected images × raters, found no numbers")
    source = Source(path, parts(_visits(arrays)), {}, Notes())
    return validate([source], SOURCE, salt, rename=RENAME if rename is None else rename)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    require_path(path)
    content = path.read_bytes()
    try:
        found = read_pickle(content)
        if not isinstance(found, dict):
            raise ValueError(f"a {type(found).__name__} in place of a dictionary")
        if any(not isinstance(name, str) or not name.isprintable() for name in found):
            raise ValueError("an array without a name that can be printed")
        return {name: array(value) for name, value in found.items()}
    except (ValueError, TypeError, AttributeError) as error:  # the last two of a damaged array
        expected = "a pickled dictionary of arrays of numbers"
        raise ValueError(f"{path}: expected {expected}, found {first_line(error)}") from None


def _visits(arrays: Mapping[str, np.ndarray]) -> Iterator[tuple[tuple, list]]:
    for name, levels in arrays.items():
        digits = len(str(len(levels)))
        for row, answers in enumerate(levels.tolist()):
            image = f"{row:0{digits}d}"
            for column, level in enumerate(answers):
                whole = int(level) if float(level).is_integer() else None
                who, place = f"{name}/{column}", f"{name[:40]}, row {row}, column {column}"
                visit = (place, image, who, False, np.nan, None, None, None, None, None, None)
                yield visit, [(name, whole, name)]
