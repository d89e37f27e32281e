"""The model of an audit file, and its answers, each image asked once.

Serves chapter 20.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from helpers.audit.example_model import make_example_model
from helpers.audit.parts import Http, Input, Model, Onnx, Torch
from helpers.audit.progress import Counted, counting
from helpers.audit.specification import Specification
from helpers.audit.tables import check_answers
from helpers.models import black_box

EXAMPLE = "example.onnx"
"""Of a file of this name, the run makes the book's example model if there is none yet."""


def model_of(
    specification: Specification, folder: Path, given: Model | None = None
) -> black_box.BlackBox:
    """The model that an audit file describes, ready to be asked.

    Introduced in chapter 20.

    Args:
        specification: of the audit.
        folder: where the answers of a model on the network are kept.
        given: another model of the file, such as a reader's; by default the one that is audited.

    Returns:
        A callable: uint8 RGB images (n, 3, height, width) → probabilities (n,), NaN for no answer.

    Raises:
        ValueError: the file or function cannot be loaded, or does not fit its preparation.

    Example:
        >>> one = Specification(
        ...     name="mine", question="?", axes=["gender"], design={"tolerance": 0.1},
        ...     model={"kind": "onnx", "path": "nowhere.onnx", "input": {"size": 48}},
        ... )
        >>> model_of(one, Path("answers"))
        Traceback (most recent call last):
        ValueError: nowhere.onnx: no such file; model.path must name an ONNX file
    """
    given = specification.model if given is None else given
    if isinstance(given, Http):
        return _remote(specification, given, folder)
    preparation = prepared(given.input)
    reading = {"index": given.output.index, "activation": given.output.activation}
    if isinstance(given, Onnx):
        path = specification.beside(given.path)
        if path.name == EXAMPLE:
            make_example_model(path)
        output = 0 if given.output.name is None else given.output.name
        return black_box.onnx_model(path, preparation, output=output, **reading)
    if isinstance(given, Torch):
        return black_box.torch_model(specification.beside(given.path), preparation, **reading)
    return black_box.python_model(given.function, preparation, version=given.version, **reading)


def prepared(given: Input) -> black_box.Preparation:
    """What images go through before the model.

    Serves chapter 20.

    Args:
        given: of the audit file.

    Returns:
        The preparation.

    Example:
        >>> prepared(Input(size=48, range=(-1, 1))).mean
        1.0
    """
    low, high = given.range
    mean = np.asarray(given.mean, dtype=float) - low
    rest = given.model_dump(exclude={"range", "mean"})
    return black_box.Preparation(scale=(high - low) / 255, mean=mean.tolist(), **rest)


def ask(model: black_box.BlackBox, images: np.ndarray, folder: Path) -> np.ndarray:
    """Ask a model about images; what it said before is not asked again.

    Introduced in chapter 20.

    Args:
        model: of `model_of`.
        images: uint8 (n, 3, height, width).
        folder: where answers are kept.

    Returns:
        Probabilities (n,), NaN where there is no answer.

    Raises:
        ValueError: a constant answer, or none at all.

    Example:
        >>> import tempfile
        >>> model = black_box.python_model(lambda x: x.mean((1, 2, 3)) / 255, version="1")
        >>> images = np.stack([np.full((3, 8, 8), value, np.uint8) for value in (0, 255)])
        >>> with tempfile.TemporaryDirectory() as place:
        ...     ask(model, images, Path(place)).tolist()
        [0.0, 1.0]
    """
    if isinstance(model, black_box.RemoteModel):  # which keeps its answers itself
        answers = model(images)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        watched = Counted(model, len(images))
        try:
            answers, _ = black_box.ask_and_keep(watched, images, folder)
        finally:
            watched.close()
    check_answers(pd.Series(answers), model.name)
    return answers


def _remote(specification: Specification, given: Http, folder: Path) -> black_box.RemoteModel:
    """A model on the network, within its limits."""
    limits = black_box.CallLimits(max_calls=given.max_calls, per_second=given.per_second)
    return black_box.remote_model(
        given.url,
        given.read,
        folder,
        version=given.version,
        limits=limits,
        headers=given.headers,
        timeout=given.timeout,
        seed=specification.design.seed,
        progress=counting(given.url),
    )
