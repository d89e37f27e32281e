"""Answers and planes as the authors of the transects paper published them with `matching`: pickles.

The folder `data/annotations_stylegan2` of github.com/csinva/matching-with-gans has both.
"""

import io
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from faceaudit.annotations.ingest import Ingest, RawAnswers, validate
from faceaudit.utils.tables import wrong_format

_Content = TypeVar("_Content")
ATTRIBUTE_OF_ARRAY = {
    "skin_color": "skin_colour",
    "skin-color": "skin_colour",
    "hair-length": "hair_length",
    "facial-hair": "facial_hair",
}
"""Name of an array in the published file → its attribute, where the two differ."""
ATTRIBUTE_OF_PLANE = {
    "A": "age",
    "B": "facial_hair",
    "C": "skin_colour",
    "E": "eyeglasses",
    "G": "gender",
    "H": "hair_length",
    "M": "makeup",
    "S": "smiling",
    "W": "earrings",
}
"""First letter of the name of a published plane's file → its attribute."""
# All that numpy's own arrays ask for; whatever else a pickle names is not looked up.
_ARRAYS = re.compile(
    r"numpy\._?core\.(multiarray\.(_reconstruct|scalar)|numeric\._frombuffer)"
    r"|numpy\.(ndarray|dtype)|_codecs\.encode"
)
_MODELS = re.compile(r"sklearn\.(linear_model\._?ridge\.Ridge|svm\._?classes\.LinearSVC)")


# --- answers


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
    path = Path(path)
    export = RawAnswers("published")
    export.begin(path)
    arrays = _read_pickle(path, "a pickled dictionary of arrays", _as_arrays)
    for name, levels in arrays.items():
        if levels.dtype.kind not in "iuf" or levels.ndim != 2:
            array = f"{levels.dtype} of {levels.ndim} axes"
            raise wrong_format(path, repr(name), "numbers, images × raters", array)
        digits = len(str(len(levels)))
        for (row, column), number in np.ndenumerate(levels):
            level = int(number) if float(number).is_integer() else None
            export.add(
                [(name, level, name)],
                place=f"{name}, row {row}, column {column}",
                named=f"{row:0{digits}d}",
                annotator=f"{name}/{column}",
            )
    return validate(export, "helpers", ATTRIBUTE_OF_ARRAY)


# --- planes


def read_published_planes(folder: str | Path) -> dict[str, np.ndarray]:
    """Read the published hyperplanes, a pickled model of scikit-learn each, without running them.

    A file holds a ridge regression or a linear SVM of one attribute on style codes of StyleGAN2
    that learned from FFHQ. The planes are those of the files: zero is where the model says zero.

    Args:
        folder: that holds files such as `A_W.pkl`; `ATTRIBUTE_OF_PLANE` says what a letter
            stands for.

    Returns:
        names (k), normals (k, D), intercepts (k) and scores (k, unknown), in the order of
        `ATTRIBUTE_OF_PLANE`, as `directions.Hyperplanes.from_arrays` takes them; and `missing`, its
        attributes whose file is not in the folder.

    Raises:
        ValueError: no such file in the folder, one that is no such model, or one whose plane has
            another length than the first. Names the file.
    """
    paths = {name: Path(folder, f"{letter}_W.pkl") for letter, name in ATTRIBUTE_OF_PLANE.items()}
    files = {name: path for name, path in paths.items() if path.is_file()}
    if not files:
        raise ValueError(f"{folder}: no file such as A_W.pkl is there")
    expected = "a pickled Ridge or LinearSVC of scikit-learn"
    planes = {name: _read_pickle(path, expected, _as_plane) for name, path in files.items()}
    first_name, first_plane = next(iter(planes.items()))
    length = len(first_plane.normal)
    for name, plane in planes.items():
        if len(plane.normal) != length:
            expected = f"{length} numbers, as in {files[first_name].name}"
            raise wrong_format(files[name], "the normal", expected, f"{len(plane.normal)}")
    return {
        "names": np.array(list(planes)),
        "normals": np.stack([plane.normal for plane in planes.values()]),
        "intercepts": np.array([plane.intercept for plane in planes.values()]),
        "missing": np.array([name for name in paths if name not in files], str),
        "scores": np.full(len(planes), np.nan),
    }


class _Plane(NamedTuple):
    """A hyperplane of one attribute.

    Attributes:
        normal: (D,).
        intercept: a number.
    """

    normal: np.ndarray
    intercept: float


# --- pickles


class _ModelNumbers:
    """Stands for a linear model of scikit-learn: unpickling gives it the attributes of one."""

    coef_: Any
    intercept_: Any


class _ArrayUnpickler(pickle.Unpickler):
    """Reads arrays and numbers of models, and refuses all else that a pickle may ask for."""

    def find_class(self, module: str, name: str) -> Any:
        if _MODELS.fullmatch(f"{module}.{name}"):
            return _ModelNumbers
        if not _ARRAYS.fullmatch(f"{module}.{name}"):
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return super().find_class(module, name)


def _read_pickle(path: Path, expected: str, convert: Callable[[Any], _Content]) -> _Content:
    """Read a pickle without running anything in it.

    Args:
        path: of the file.
        expected: what the file should be, for the error.
        convert: makes what is returned of what the pickle holds; whatever it raises means that the
            file is something else.

    Raises:
        ValueError: the file is something else.
    """
    try:
        return convert(_ArrayUnpickler(io.BytesIO(path.read_bytes())).load())
    except Exception as error:  # a damaged pickle raises nearly every kind of error
        reason = str(error).split("\n")[0]
        content = f"something else ({reason})"
        raise wrong_format(path, "the whole file", expected, content) from None


def _as_arrays(content: dict) -> dict[str, np.ndarray]:
    return {name: np.asarray(levels) for name, levels in content.items()}


def _as_plane(model: _ModelNumbers) -> _Plane:
    normal = np.asarray(model.coef_, float).ravel()
    intercept = np.asarray(model.intercept_, float).item()
    return _Plane(normal, intercept)
