"""Answers and planes as the authors of the transects paper published them with `matching`: pickles.

The folder `data/annotations_stylegan2` of github.com/csinva/matching-with-gans has both.
"""

import io
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from faceaudit.annotations.ingest import Ingest, RawAnswers, validate
from faceaudit.utils.tables import wrong_format

RENAME = {
    **{"skin_color": "skin_colour", "skin-color": "skin_colour"},
    **{"hair-length": "hair_length", "facial-hair": "facial_hair"},
}
"""How the published files call an attribute → its name here."""
PLANES = {
    **{"A": "age", "B": "facial_hair", "C": "skin_colour", "E": "eyeglasses", "G": "gender"},
    **{"H": "hair_length", "M": "makeup", "S": "smiling", "W": "earrings"},
}
"""First letter of a published plane's file → its attribute here."""
# All that numpy's own arrays ask for; whatever else a pickle names is not looked up.
_ARRAYS = re.compile(
    r"numpy\._?core\.(multiarray\.(_reconstruct|scalar)|numeric\._frombuffer)"
    r"|numpy\.(ndarray|dtype)|_codecs\.encode"
)
_MODELS = re.compile(r"sklearn\.(linear_model\._?ridge\.Ridge|svm\._?classes\.LinearSVC)")


def read_published(path: str | Path) -> Ingest:
    """Read a pickled dictionary of arrays, images × raters, without running anything in it.

    Such a file names neither images nor people: an image is called by its row, with zeros before
    it, and an annotator is a column of one attribute, which need not be one person. Times are
    unknown and therefore counted as unreadable.

    Args:
        path: the pickle, for example `annotations.pkl`; whole numbers are levels counted from 0.

    Returns:
        The tidy table and the report of what was rejected, see `Ingest`.

    Raises:
        ValueError: the file is no such pickle, has anything but arrays of numbers in it, or
            nothing that can be used; an array is empty or has not two dimensions. Names the file.

    Example:
        >>> import pickle, tempfile
        >>> import numpy as np
        >>> from faceaudit import datasets
        >>> with tempfile.NamedTemporaryFile("wb", suffix=".pkl") as file:
        ...     pickle.dump({"gender": np.array([[0, 4], [1, 1]])}, file)
        ...     file.flush()
        ...     datasets.read_published(file.name).frame["level"].tolist()
        [0, 4, 1, 1]
    """
    path, export = Path(path), RawAnswers("published")
    export.begin(path)
    for name, levels in _loaded(path, "a pickled dictionary of arrays", _arrays).items():
        if levels.dtype.kind not in "iuf" or levels.ndim != 2:
            found = f"{levels.dtype} of {levels.ndim} axes"
            raise wrong_format(path, repr(name), "numbers, images × raters", found)
        digits = len(str(len(levels)))
        for (row, column), level in np.ndenumerate(levels):
            export.add(
                [(name, int(level) if float(level).is_integer() else None, name)],
                place=f"{name}, row {row}, column {column}",
                named=f"{row:0{digits}d}",
                annotator=f"{name}/{column}",
            )
    return validate(export, "helpers", RENAME)


def read_published_planes(folder: str | Path) -> dict[str, np.ndarray]:
    """Read the published hyperplanes, a pickled model of scikit-learn each, without running them.

    A file holds a ridge regression or a linear SVM of one attribute on style codes of StyleGAN2
    that learned from FFHQ. The planes are those of the files: zero is where the model says zero.

    Args:
        folder: that holds files such as `A_W.pkl`; `PLANES` says what a letter stands for.

    Returns:
        names (k), normals (k, D), intercepts (k) and scores (k, unknown), in the order of
        `PLANES`, as `directions.Hyperplanes.from_arrays` takes them; and `missing`, the attributes
        of `PLANES` whose file is not in the folder.

    Raises:
        ValueError: no such file in the folder, one that is no such model, or one whose plane has
            another length than the first. Names the file.
    """
    wanted = {name: Path(folder, f"{letter}_W.pkl") for letter, name in PLANES.items()}
    files = {name: path for name, path in wanted.items() if path.is_file()}
    if not files:
        raise ValueError(f"{folder}: no file such as A_W.pkl is there")
    expected = "a pickled Ridge or LinearSVC of scikit-learn"
    models = {name: _loaded(path, expected, _plane) for name, path in files.items()}
    first, length = next((files[name].name, len(normal)) for name, (normal, _) in models.items())
    for name, (normal, _) in models.items():
        if len(normal) != length:
            expected = f"{length} numbers, as in {first}"
            raise wrong_format(files[name], "the normal", expected, f"{len(normal)}")
    missing = np.array([name for name in wanted if name not in files], str)
    normals, intercepts = zip(*models.values(), strict=True)
    arrays = {"normals": np.stack(normals), "intercepts": np.array(intercepts), "missing": missing}
    return {"names": np.array([*models]), **arrays, "scores": np.full(len(models), np.nan)}


class _Model:
    """What is left of a model of scikit-learn: its numbers."""


class _Arrays(pickle.Unpickler):
    """Reads arrays and numbers of models, and refuses all else that a pickle may ask for."""

    def find_class(self, module: str, name: str) -> Any:
        if _MODELS.fullmatch(f"{module}.{name}"):
            return _Model
        if not _ARRAYS.fullmatch(f"{module}.{name}"):
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return super().find_class(module, name)


def _loaded(path: Path, expected: str, take: Callable[[Any], Any]) -> Any:
    """What is taken of the pickle in a file."""
    try:
        return take(_Arrays(io.BytesIO(path.read_bytes())).load())
    except Exception as error:  # a damaged pickle raises nearly every kind of error
        found = f"something else ({str(error).split(chr(10))[0]})"
        raise wrong_format(path, "the whole file", expected, found) from None


def _arrays(found: dict) -> dict[str, np.ndarray]:
    return {name: np.asarray(levels) for name, levels in found.items()}


def _plane(model: _Model) -> tuple[np.ndarray, float]:
    """The normal (D,) and the intercept."""
    normal, intercept = (np.asarray(v, float) for v in (model.coef_, model.intercept_))
    return normal.ravel(), intercept.item()
