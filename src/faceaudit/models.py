"""The model of an audit file, and its answers: an ONNX file, a function of Python or an address.

A model that computes here is called with uint8 RGB images (n, 3, height, width) and answers float64
probabilities (n,) or vectors (n, d), NaN where it found no face. It tells its card, and a hash that
stands for everything that its answers depend on.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.answers import NO_FACE, AnswerCache, Answers, BlackBox, Reading, ask_and_keep
from faceaudit.examples import make_example_model, make_example_recogniser
from faceaudit.model_http import RemoteModel
from faceaudit.model_input import Preparation
from faceaudit.onnx_files import FaceDetector, OnnxNetwork, hashes, open_session
from faceaudit.parts import Http, Model, Onnx
from faceaudit.specification import Specification
from faceaudit.tables import check_answers
from helpers.artifacts.lineage import ROOT, file_hash
from helpers.models.training import check_images
from helpers.utils.checks import require_shape

Find = Callable[[np.ndarray], np.ndarray]
"""uint8 images (n, 3, height, width) → five points a face, float (n, 5, 2); NaN: no face found."""
EXAMPLES = {
    ROOT / "build" / "audits" / "example.onnx": make_example_model,
    ROOT / "build" / "audits" / "example-recogniser.onnx": make_example_recogniser,
}
"""Models of the files that ship: the run makes them if there are none yet."""
BATCH, KEPT_TOGETHER = 64, 256
"""Images that are computed at a time, and between two writes of what was answered."""
TRIED = 64
"""Images that a model is tried on; a recogniser on some from all parts of the table."""
SAME = 1e-4
"""Answers for one image may differ by so much: a batch of another size rounds otherwise."""


class LocalModel(BlackBox):
    """A model that computes in this process, in batches.

    Args:
        name, said, reading: as of `BlackBox`.
        compute: prepared images (m, …) → raw outputs (m, …).
        preparation: what images go through.
        find: where the faces are, for `align` "arcface", if calls bring no points.
        missing: whether NaN of `compute` stands for "no face found"; otherwise it is an error.
    """

    def __init__(
        self,
        name: str,
        said: dict[str, Any],
        compute: Callable[[np.ndarray], np.ndarray],
        preparation: Preparation,
        reading: Reading,
        *,
        find: FaceDetector | None = None,
        missing: bool = False,
    ) -> None:
        said = said | {"preparation": preparation.card()} | ({"find": find.card()} if find else {})
        super().__init__(name, said, reading, preparation)
        self._compute, self._find, self._missing = compute, find, missing

    def ask(self, images: np.ndarray, points: np.ndarray | None = None) -> Answers:
        """Ask about uint8 RGB images (n, 3, height, width), without keeping the answers.

        Args:
            images: that are asked about.
            points: float (n, 5, 2) for "arcface", NaN where no face was found.

        Returns:
            Answers and reasons, a row for each image.

        Raises:
            ValueError: what the model puts out is no answer.
        """
        check_images(images)
        if points is not None:
            points = np.asarray(points, float)
            require_shape(points, "points", (len(images), 5, 2))
        parts = []
        for at in range(0, len(images), BATCH):
            rows = slice(at, at + BATCH)
            given = None if points is None else points[rows]
            parts.append(self._batch(np.ascontiguousarray(images[rows]), given))
        if not parts:
            return Answers(np.empty(0), np.array([], str))
        # Of a batch without any face the width of a vector is not known.
        width = max((part.shape[1:] for part in parts), default=())
        filled = [part if part.shape[1:] == width else _blank(len(part), width) for part in parts]
        values = np.concatenate(filled)
        silent = np.isnan(values.reshape(len(values), -1)).any(1)
        return Answers(values, np.where(silent, NO_FACE, ""))

    def _batch(self, images: np.ndarray, points: np.ndarray | None) -> np.ndarray:
        found = np.ones(len(images), bool)
        if self.preparation.by_points:
            points = self._find(images) if points is None and self._find else points
            found = found if points is None else np.isfinite(points).all((1, 2))
        if not found.any():
            return _blank(len(images), () if self.reading.gives == "probability" else (1,))
        raw = self.raw(images[found], None if points is None else points[found])
        n, name = found.sum(), self.name
        given = np.mean([self.reading(one, n, name, self._missing) for one in raw], 0)
        values = _blank(len(images), given.shape[1:])
        values[found] = given
        return values

    def raw(self, images: np.ndarray, points: np.ndarray | None = None) -> list[np.ndarray]:
        """Outputs before they are read: of the images and, where averaged, of their mirrors."""
        ready = self.preparation(images, points)
        mirrors = [self.preparation.mirrored(ready)] if self.preparation.flip_average else []
        return [self._compute(one) for one in (ready, *mirrors)]

    def prepared_by(self, preparation: Preparation) -> LocalModel:
        """The same model behind another preparation."""
        rest = {"find": self._find, "missing": self._missing}
        return LocalModel(self.name, self.said, self._compute, preparation, self.reading, **rest)

    def fill(
        self,
        cache: AnswerCache,
        images: np.ndarray,
        points: np.ndarray | None,
        wanted: dict[str, int],
        done: Callable[[int], Any],
    ) -> None:
        """Put answers into a cache, many at a time; see `BlackBox`."""
        keys, rows = list(wanted), list(wanted.values())
        for at in range(0, len(rows), KEPT_TOGETHER):
            some = rows[at : at + KEPT_TOGETHER]
            answers = self.ask(images[some], None if points is None else points[some])
            cache.add(keys[at : at + KEPT_TOGETHER], *answers)
            done(len(some))


def _blank(n: int, width: tuple[int, ...]) -> np.ndarray:
    return np.full((n, *width), np.nan)


def onnx_model(
    path: str | Path,
    preparation: Preparation,
    reading: Reading,
    *,
    output: str | int = 0,
    find: FaceDetector | None = None,
) -> LocalModel:
    """Load a model from an ONNX file.

    Args:
        path: of the `.onnx` file; weights beside it in `<path>.data` belong to it.
        preparation: what images go through before the network.
        reading: how its output is read.
        output: the output that is read, by its name or its number.
        find: finds five points of the faces, for `align` "arcface".

    Returns:
        The model.

    Raises:
        ValueError: no readable ONNX file, no such output, several inputs, or an input that the
            preparation does not fit.
    """
    path = Path(path)
    network = OnnxNetwork(open_session(path), output, path.name)
    network.check_input(preparation)
    said = {"kind": "onnx", "file": path.name, **hashes(path), "read": network.output}
    name = f"{path.name}, output {network.output!r}"
    return LocalModel(name, said, network, preparation, reading, find=find)


def python_model(
    function: str | Callable[[np.ndarray], np.ndarray],
    preparation: Preparation,
    reading: Reading,
    *,
    version: str,
    find: FaceDetector | None = None,
) -> LocalModel:
    """Take a function of Python for a model.

    NaN in its answer means that it found no face.

    Args:
        function: `module:function`, imported from the path of Python, or the function itself.
        preparation: what images go through before.
        reading: how its output is read.
        version: of the model, in your words. Its file's SHA-256 is part of the card, but not what
            it loads: change the version when its weights change, or kept scores are used again.
        find: finds five points of the faces, for `align` "arcface".

    Returns:
        The model.

    Raises:
        ValueError: no such module or function.

    Example:
        >>> reddish = lambda ready: ready[:, 0].mean((1, 2))
        >>> model = python_model(reddish, Preparation(size=8), Reading(), version="1")
        >>> model.ask(np.full((1, 3, 8, 8), 255, np.uint8)).values.tolist()
        [1.0]
    """
    named = _imported(function) if isinstance(function, str) else function
    name = (
        function
        if isinstance(function, str)
        else getattr(named, "__qualname__", type(named).__name__)
    )

    def call(images: np.ndarray) -> np.ndarray:
        try:
            return named(images)
        except Exception as error:
            raise ValueError(
                f"{name}: failed on images of the shape {list(images.shape)} "
                f"({type(error).__name__}: {error})"
            ) from error

    said = {"kind": "python", "function": name, "version": version, **_source(named)}
    return LocalModel(name, said, call, preparation, reading, find=find, missing=True)


def _imported(path: str) -> Callable:
    """The function that "module:function" names."""
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise ValueError(
            f"model.function {path!r}: {module} cannot be imported ({error}); it must lie on "
            "Python's path, for example in PYTHONPATH"
        ) from error
    if found is None:
        raise ValueError(f"model.function {path!r}: {module} has no {name}")
    if not callable(found):
        raise ValueError(f"model.function {path!r} is a {type(found).__name__}, no function")
    return found


def _source(function: Callable) -> dict[str, str]:
    """SHA-256 of the file that a function, or the class of a callable object, stands in."""
    for one in (inspect.unwrap(function), type(function)):
        try:
            return {"sha256": file_hash(Path(inspect.getfile(one)))}
        except (TypeError, OSError):  # built in, or typed in by hand
            continue
    return {}


def model_of(specification: Specification, given: Model | None = None) -> BlackBox:
    """The model that an audit file describes, ready to be asked.

    Args:
        specification: of the audit.
        given: another model of the file, such as a reader's; by default the one that is audited.

    Returns:
        The model; `ask` and `embed` ask it.

    Raises:
        ValueError: the file or function cannot be loaded, or does not fit its preparation.

    Example:
        >>> one = Specification(
        ...     name="mine", question="?", axes=["gender"], design={"tolerance": 0.1},
        ...     model={"kind": "onnx", "path": "nowhere.onnx", "input": {"size": 48}},
        ... )
        >>> model_of(one)
        Traceback (most recent call last):
        ValueError: nowhere.onnx: no such file; model.path must name an ONNX file
    """
    recogniser = given is None and specification.kind == "verification"
    given, gives = given or specification.model, "embedding" if recogniser else "probability"
    if isinstance(given, Http):
        told = given.model_dump(exclude={"kind", "size", "threshold", "fmr"})
        return RemoteModel(**told, gives=gives, seed=specification.design.seed)
    reading = Reading(gives, given.output.activation, given.output.index)
    detector = given.input.detector
    find = None if detector is None else FaceDetector(specification.beside(detector))
    if isinstance(given, Onnx):
        path = specification.beside(given.path)
        if path.resolve() in EXAMPLES:
            EXAMPLES[path.resolve()](path)
        output = 0 if given.output.name is None else given.output.name
        return onnx_model(path, given.input, reading, output=output, find=find)
    return python_model(given.function, given.input, reading, version=given.version, find=find)


def ask(model: BlackBox, images: np.ndarray, folder: Path) -> np.ndarray:
    """Ask a model about images; what it said before is not asked again.

    Args:
        model: of `model_of`.
        images: uint8 (n, 3, height, width).
        folder: where answers are kept.

    Returns:
        Probabilities (n,), NaN where there is no answer.

    Raises:
        ValueError: a constant answer, or none at all.
    """
    score, _ = ask_and_keep(model, images, folder)
    check_answers(pd.Series(score), model.name)
    return score


def embed(
    model: BlackBox, images: np.ndarray, folder: Path, points: np.ndarray | None = None
) -> Answers:
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
    """
    if isinstance(model, LocalModel):
        some = np.unique(np.linspace(0, len(images) - 1, TRIED).astype(int))
        check_model(model, images[some], None if points is None else points[some])
    vectors, reasons = ask_and_keep(model, images, folder, points)
    found = vectors[reasons == ""]
    if not len(found):
        raise ValueError(f"{model.name} has no embedding of any image; is it the right model?")
    if len(found) > 1 and np.ptp(found, axis=0).max() == 0:
        raise ValueError(
            f"{model.name} is one vector for all of {len(found)} images; a constant answer shows "
            "nothing, is it the right model output?"
        )
    return Answers(vectors, reasons)


def check_model(model: LocalModel, images: np.ndarray, points: np.ndarray | None = None) -> None:
    """Ask a model about a few images twice, in other company, and refuse what is no model.

    The second time the images come in batches of one, two, three …, from the last to the first.
    Warns if the outputs look like probabilities though an activation is to make them so.

    Args:
        model: one that computes here.
        images: uint8 (n, 3, height, width), two different ones at least; the first 64 are used.
        points: (n, 5, 2), for `align` "arcface".

    Raises:
        ValueError: outputs of another shape, NaN, logits for probabilities, the same answer for
            all images, no face in any of them, or two answers for one image.
    """
    images = images[:TRIED]
    points = None if points is None else np.asarray(points, float)[:TRIED]
    first, reasons = model.ask(images, points)
    found = reasons != NO_FACE
    if len(images) and not found.any():
        raise ValueError(f"{model.name}: no face found in any of {len(images)} images")
    starts = np.arange(1, len(images)).cumsum()
    for rows in np.split(np.arange(len(images))[::-1], starts[starts < len(images)]):
        again, _ = model.ask(images[rows], None if points is None else points[rows])
        _refuse_two_answers(model.name, first[rows], again, rows)
    distinct = len(np.unique(images[found].reshape(found.sum(), -1), axis=0))
    values = first[found]
    if distinct > 1 and np.ptp(values, axis=0).max() == 0:
        what = f"{values[0]:g}" if values.ndim == 1 else "one vector"
        raise ValueError(
            f"{model.name}: the answer is {what} for all of {distinct} different images; a wrong "
            "output, index or preparation does that, and so does a network without its weights"
        )
    if points is not None or not model.preparation.by_points:
        given = None if points is None else points[found]
        for raw in model.raw(np.ascontiguousarray(images[found]), given):
            model.reading.warn_of_probabilities(raw, model.name)


def _refuse_two_answers(name: str, first: np.ndarray, second: np.ndarray, rows: np.ndarray) -> None:
    """Raise ValueError at the first image with two answers."""
    # Where no face is found in any of them, the width of a vector is not known.
    if first.shape != second.shape and not np.isnan(second).all():
        raise ValueError(f"{name}: vectors of {first.shape[1:]}, then of {second.shape[1:]}")
    scale = np.maximum(1, np.abs(np.nan_to_num(first)))
    far = np.abs(first - second) > SAME * scale
    changed = (far | (np.isnan(first) != np.isnan(second))).reshape(len(first), -1).any(1)
    if changed.any():
        row = int(changed.argmax())
        both = f"{first[row]:.4g} and {second[row]:.4g}" if first.ndim == 1 else "two vectors"
        raise ValueError(
            f"{name}: {both} for the same image (number {rows[row]}); a model under audit must "
            "answer the same every time: turn off dropout, batch statistics and random augmentation"
        )
