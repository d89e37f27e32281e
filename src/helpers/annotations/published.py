"""Answers that authors published: the CausalFace tables, and the transects paper's pickle."""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from helpers.annotations.exports import Export, read_table, wrong_format
from helpers.annotations.ingest import Ingest, validate
from helpers.annotations.schema import ATTRIBUTES

TABLE = "a CausalFace table (a header; then an image and pairs of worker and score a row)"
PICKLE = "a pickled dictionary of arrays of numbers"
RENAME = {"skin_color": "skin_colour"}
"""How the published files call an attribute → its name here."""
_IMAGE = re.compile(r"seed_\d+_race_(asian|black|white)_gender_(female|male)_age_\d+\.png")
# All that numpy's own arrays ask for; whatever else a pickle names is not looked up.
_ARRAYS = {
    (module, name)
    for package in ("numpy.core", "numpy._core")
    for module, name in (
        (f"{package}.multiarray", "_reconstruct"),
        (f"{package}.multiarray", "scalar"),
        (f"{package}.numeric", "_frombuffer"),
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("_codecs", "encode"),
    )
}


def read_causalface(path: str | Path, attribute: str, *, salt: str = "helpers") -> Ingest:
    """Read the answers about one attribute, as Liang et al. (2023) published them.

    A row is `seed_<n>_race_<race>_gender_<gender>_age_0.png`, then a worker and a score, nine
    times. Times are unknown and therefore counted as unreadable.

    Args:
        path: the CSV file.
        attribute: what was asked, a key of `ATTRIBUTES`; scores are its levels, counted from 0.
        salt: of the annotators' hashes.

    Returns:
        The tidy table, images called like their files without ending, and the report of what was
        rejected, see `Ingest`.

    Raises:
        ValueError: the attribute is unknown; the file is no such table or has no header; names the
            file, the row and what was expected. Nothing in it can be used.

    Example:
        >>> import tempfile
        >>> from helpers import annotations
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("image,worker,score\\n"
        ...                    "seed_1_race_asian_gender_male_age_0.png,w1,4\\n")
        ...     file.flush()
        ...     annotations.read_causalface(file.name, "gender").frame["level"].tolist()
        [4]
    """
    if attribute not in ATTRIBUTES:
        raise ValueError(f"unknown attribute {attribute!r}, expected one of {list(ATTRIBUTES)}")
    path = Path(path)
    export, table = Export(path, [attribute]), read_table(path, TABLE, unique=False)
    if len(table.columns) < 3 or len(table.columns) % 2 == 0:
        raise wrong_format(path, "row 1", TABLE, f"{len(table.columns)} columns")
    if _IMAGE.fullmatch(table.columns[0].strip()):
        raise wrong_format(path, "row 1", TABLE, "an image where the header stands")
    for row, (name, *cells) in enumerate(table.itertuples(index=False), start=2):
        known = _IMAGE.fullmatch(name.strip())
        pairs = zip(cells[::2], cells[1::2], strict=True)
        for pair, (worker, score) in enumerate(pairs, start=1):
            if worker.strip() or score.strip():
                answers = [(attribute, score, f"score {pair}")] * bool(score.strip())
                about = {"place": f"row {row}, pair {pair}", "annotator": worker}
                export.add(answers, named=Path(name.strip()).stem if known else "?", **about)
    return validate([export], "causalface", salt)


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
    export = Export(path)
    for name, levels in _arrays(path).items():
        digits = len(str(len(levels)))
        for row, answers in enumerate(levels.tolist()):
            for column, level in enumerate(answers):
                whole = int(level) if float(level).is_integer() else None
                export.add(
                    [(name, whole, name)],
                    place=f"{name}, row {row}, column {column}",
                    named=f"{row:0{digits}d}",
                    annotator=f"{name}/{column}",
                )
    return validate([export], "published", salt, rename=RENAME if rename is None else rename)


class _Arrays(pickle.Unpickler):
    """Reads arrays, and refuses all else that a pickle may ask for."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ARRAYS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return super().find_class(module, name)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        arrays = _Arrays(io.BytesIO(path.read_bytes())).load()
    except Exception as error:  # a damaged pickle raises nearly every kind of error
        found = f"something else ({str(error).split(chr(10))[0]})"
        raise wrong_format(path, "the whole file", PICKLE, found) from None
    if not isinstance(arrays, dict):
        raise wrong_format(path, "the whole file", PICKLE, f"a {type(arrays).__name__}")
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf" or array.ndim != 2:
            found = f"{getattr(array, 'dtype', type(array))} of {np.ndim(array)} axes"
            raise wrong_format(path, repr(name), "numbers, images × raters", found)
    return arrays
