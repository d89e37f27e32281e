"""The model of an audit file, and its answers, each image asked once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from faceaudit import black_box
from faceaudit.examples import make_example_model, make_example_recogniser
from faceaudit.parts import Http, Input, Model, Onnx
from faceaudit.progress import Counted, counting
from faceaudit.specification import Specification
from faceaudit.tables import check_answers
from helpers.artifacts.lineage import ROOT

EXAMPLES = {
    ROOT / "build" / "audits" / "example.onnx": make_example_model,
    ROOT / "build" / "audits" / "example-recogniser.onnx": make_example_recogniser,
}
"""Models of the files that ship: the run makes them if there are none yet."""
TRIED = 64
"""Images that a recogniser is tried on, from all parts of the table."""


def model_of(
    specification: Specification, folder: Path, given: Model | None = None
) -> black_box.BlackBox:
    """The model that an audit file describes, ready to be asked.

    Args:
        specification: of the audit.
        folder: where the answers of a model on the network are kept.
        given: another model of the file, such as a reader's; by default the one that is audited.

    Returns:
        A callable: uint8 RGB images (n, 3, height, width) → probabilities (n,), or vectors (n, d)
        of a recogniser, NaN for no answer.

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
    recogniser = given is None and specification.kind == "verification"
    given, gives = given or specification.model, "embedding" if recogniser else "probability"
    if isinstance(given, Http):
        return _remote(specification, given, gives, folder)
    preparation = prepared(given.input)
    reading = {"index": given.output.index, "activation": given.output.activation, "gives": gives}
    if given.input.detector is not None:
        reading["find"] = _detector(specification.beside(given.input.detector))
    if isinstance(given, Onnx):
        path = specification.beside(given.path)
        if path.resolve() in EXAMPLES:
            EXAMPLES[path.resolve()](path)
        output = 0 if given.output.name is None else given.output.name
        return black_box.onnx_model(path, preparation, output=output, **reading)
    return black_box.python_model(given.function, preparation, version=given.version, **reading)


def prepared(given: Input) -> black_box.Preparation:
    """What images go through before the model.

    Args:
        given: of the audit file.

    Returns:
        The preparation.

    Example:
        >>> prepared(Input(size=48, range=(-1, 1))).mean
        1.0
    """
    if given.preset is not None:
        return replace(black_box.preset(given.preset), flip_average=given.flip_average)
    low, high = given.range
    mean = np.asarray(given.mean, dtype=float) - low
    rest = given.model_dump(exclude={"range", "mean", "preset", "detector"})
    return black_box.Preparation(scale=(high - low) / 255, mean=mean.tolist(), **rest)


def ask(model: black_box.BlackBox, images: np.ndarray, folder: Path) -> np.ndarray:
    """Ask a model about images; what it said before is not asked again.

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
        answers, _ = _asked(model, images, folder)
    check_answers(pd.Series(answers), model.name)
    return answers


def embed(
    model: black_box.BlackBox, images: np.ndarray, folder: Path, points: np.ndarray | None = None
) -> black_box.Answers:
    """Ask a recogniser about images, after trying it; what it said before is not asked again.

    A model on the network is not tried, and its answers are judged as they come.

    Args:
        model: of `model_of`.
        images: uint8 (n, 3, height, width).
        folder: where answers are kept.
        points: five points of every face, (n, 5, 2), NaN where none was found; for models that
            are aligned by them and find none themselves.

    Returns:
        Embeddings (n, d), NaN where there is none, with the reasons.

    Raises:
        ValueError: outputs that are no vectors, one vector for all images, none at all, or two for
            one image.

    Example:
        >>> import tempfile
        >>> model = black_box.python_model(
        ...     lambda x: x.mean((2, 3)), version="1", gives="embedding"
        ... )
        >>> images = np.stack([np.full((3, 8, 8), value, np.uint8) for value in (1, 255)])
        >>> with tempfile.TemporaryDirectory() as place:
        ...     embed(model, images, Path(place)).values.shape
        (2, 3)
    """
    if isinstance(model, black_box.RemoteModel):
        answers = model.ask(images)
    else:
        some = np.unique(np.linspace(0, len(images) - 1, TRIED).astype(int))
        black_box.check_model(model, images[some], None if points is None else points[some])
        answers = _asked(model, images, folder, points)
    vectors, reasons = answers
    found = vectors[reasons == ""]
    if not len(found):
        raise ValueError(f"{model.name} has no embedding of any image; is it the right model?")
    if len(found) > 1 and np.ptp(found, axis=0).max() == 0:
        raise ValueError(
            f"{model.name} is one vector for all of {len(found)} images; a constant answer shows "
            "nothing, is it the right model output?"
        )
    return answers


def _asked(
    model: black_box.LocalModel, images: np.ndarray, folder: Path, points: np.ndarray | None = None
) -> black_box.Answers:
    """Answers of a model that computes here, kept, and counted on a bar."""
    folder.mkdir(parents=True, exist_ok=True)
    watched = Counted(model, len(images))
    try:
        return black_box.ask_and_keep(watched, images, folder, points=points)
    finally:
        watched.close()


def _detector(path: Path) -> black_box.FaceDetector:
    if not path.is_file():
        raise ValueError(f"{path}: no such file; input.detector must name a YuNet file")
    return black_box.FaceDetector(path)


def _remote(
    specification: Specification, given: Http, gives: black_box.Gives, folder: Path
) -> black_box.RemoteModel:
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
        gives=gives,
        seed=specification.design.seed,
        progress=counting(black_box.Endpoint(given.url).address),
    )
