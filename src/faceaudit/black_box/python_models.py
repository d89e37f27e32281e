"""Models that are functions of Python (chapter 20)."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np

from faceaudit.black_box.answers import Activation, Gives, Reading
from faceaudit.black_box.local_models import Find, LocalModel
from faceaudit.black_box.preparation import Preparation
from helpers.artifacts import lineage


def python_model(
    function: str | Callable[[np.ndarray], np.ndarray],
    preparation: Preparation | None = None,
    *,
    version: str,
    index: int | None = None,
    activation: Activation = "none",
    gives: Gives = "probability",
    find: Find | None = None,
    batch: int = 64,
) -> LocalModel:
    """Take a function of Python for a model.

    NaN in its answer means that it found no face.

    Args:
        function: `module:function`, imported from the path of Python, or the function itself.
        preparation: what images go through; None: the function takes uint8 RGB (n, 3, h, w).
        version: of the model, in your words. Its file's SHA-256 is part of the card, but not what
            it loads: change the version when its weights change, or kept scores are used again.
        index: the column of the positive class, from 0; None if there is but one.
        activation: "none", "sigmoid" or "softmax", if it answers logits.
        gives: "probability", or "embedding" of a recogniser.
        find: finds five points of the faces, for `align` "arcface".
        batch: images at a time.

    Returns:
        The model; see `BlackBox`.

    Raises:
        ValueError: no such module or function.

    Example:
        >>> import numpy as np
        >>> from faceaudit import black_box
        >>> def reddish(images):
        ...     return images[:, 0].mean((1, 2)) / 255
        >>> model = black_box.python_model(reddish, version="1")
        >>> model(np.full((1, 3, 8, 8), 255, np.uint8)).tolist(), model.card()["function"]
        ([1.0], 'reddish')
    """
    named = _imported(function) if isinstance(function, str) else function
    if not callable(named):
        raise ValueError(f"model.function {function!r} is a {type(named).__name__}, no function")
    if not str(version).strip():
        raise ValueError("model.version is empty; say which version of the model is audited")
    name = (
        function
        if isinstance(function, str)
        else getattr(named, "__qualname__", type(named).__name__)
    )
    said = {"kind": "python", "function": name, "version": str(version), **_source(named)}
    reading = Reading(gives, activation, index)
    call = _named_errors(named, name)
    return LocalModel(name, said, call, preparation, reading, find=find, batch=batch, missing=True)


def _imported(path: str) -> Callable:
    """The function that "module:function" names."""
    module, colon, name = path.partition(":")
    if not (module and colon and name):
        raise ValueError(f"model.function is {path!r}, module:function was expected")
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(
            f"model.function {path!r}: {module} cannot be imported ({error}); it must lie on "
            "Python's path, for example in PYTHONPATH"
        ) from error
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        raise ValueError(f"model.function {path!r}: {module} has no {name}") from None
    return found


def _source(function: Callable) -> dict[str, str]:
    """SHA-256 of the file that a function stands in, if it does in one."""
    try:
        path = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:
        path = inspect.getsourcefile(type(function)) if _has_file(type(function)) else None
    if path is None or not Path(path).is_file():
        return {}
    return {"sha256": lineage.file_hash(Path(path))}


def _has_file(kind: type) -> bool:
    return kind.__module__ not in ("builtins", "functools")


def _named_errors(function: Callable, name: str) -> Callable[[np.ndarray], np.ndarray]:
    def call(images: np.ndarray) -> np.ndarray:
        try:
            return function(images)
        except Exception as error:
            raise ValueError(
                f"{name}: failed on images of the shape {list(images.shape)} "
                f"({type(error).__name__}: {error})"
            ) from error

    return call
