"""Answers as the authors of the transects paper published them: a pickle of arrays."""

import io
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np

from helpers.annotations.ingest import Export, Ingest, validate, wrong_format
from helpers.annotations.schema import Rename

RENAME = {"skin_color": "skin_colour"}
"""How the published files call an attribute → its name here."""
# All that numpy's own arrays ask for; whatever else a pickle names is not looked up.
_ARRAYS = re.compile(
    r"numpy\._?core\.(multiarray\.(_reconstruct|scalar)|numeric\._frombuffer)"
    r"|numpy\.(ndarray|dtype)|_codecs\.encode"
)


def read_published(path: str | Path, *, rename: Rename = None, salt: str = "helpers") -> Ingest:
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
    path, export = Path(path), Export("published")
    export.begin(path)
    for name, levels in _arrays(path).items():
        digits = len(str(len(levels)))
        for (row, column), level in np.ndenumerate(levels):
            export.add(
                [(name, int(level) if float(level).is_integer() else None, name)],
                place=f"{name}, row {row}, column {column}",
                named=f"{row:0{digits}d}",
                annotator=f"{name}/{column}",
            )
    return validate(export, salt, RENAME if rename is None else rename)


class _Arrays(pickle.Unpickler):
    """Reads arrays, and refuses all else that a pickle may ask for."""

    def find_class(self, module: str, name: str) -> Any:
        if not _ARRAYS.fullmatch(f"{module}.{name}"):
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return super().find_class(module, name)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        arrays = _Arrays(io.BytesIO(path.read_bytes())).load()
        kinds = {name: (array.dtype.kind in "iuf", array.ndim) for name, array in arrays.items()}
    except Exception as error:  # a damaged pickle raises nearly every kind of error
        found = f"something else ({str(error).split(chr(10))[0]})"
        expected = "a pickled dictionary of arrays of numbers"
        raise wrong_format(path, "the whole file", expected, found) from None
    for name, (numbers, axes) in kinds.items():
        if not numbers or axes != 2:
            found = f"{arrays[name].dtype} of {axes} axes"
            raise wrong_format(path, repr(name), "numbers, images × raters", found)
    return arrays
