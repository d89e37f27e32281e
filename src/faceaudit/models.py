"""The model of an audit file, and its answers: an ONNX file, a function of Python or an address.

A model that computes here is called with uint8 RGB images (n, 3, height, width) and answers float64
probabilities (n,) or vectors (n, d), NaN where it found no face. It tells its card, and a hash that
stands for everything that its answers depend on. onnxruntime computes on one processor thread, the
same way every time; its files are checked before any image is shown.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd

from faceaudit import answers
from faceaudit.answers import NO_FACE, Answers, BlackBox, Points, Reading, ask_and_keep
from faceaudit.examples import make_example_model, make_example_recogniser
from faceaudit.model_http import RemoteModel
from faceaudit.model_input import Preparation
from faceaudit.parts import Http, Model, Onnx, PythonModel
from faceaudit.specification import Specification
from faceaudit.tables import check_answers
from helpers.artifacts.lineage import ROOT, file_hash
from helpers.models.training import check_images
from helpers.utils.checks import require_shape

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
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
_FATAL = 4
"""Severity of onnxruntime's messages from which on they are shown."""


# --- ONNX files


def open_session(path: Path) -> onnxruntime.InferenceSession:
    """A session of onnxruntime on one processor thread, with deterministic kernels."""
    if not path.is_file():
        raise ValueError(f"{path}: no such file; model.path must name an ONNX file")
    with path.open("rb") as stream:
        zipped = stream.read(4) == b"PK\x03\x04"  # as torch's files are, and ONNX's never
    if zipped:
        raise ValueError(
            f"{path}: a file of torch, which is not opened, because reading one can run code that "
            "stands in it; export the network with torch.onnx.export, or name a function of yours "
            "under kind: python"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = _FATAL
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's have no class in common but this
        told = f"no ONNX model that onnxruntime {onnxruntime.__version__} can read"
        raise ValueError(f"{path}: {told} ({_first_line(error)})") from None


def hashes(path: Path) -> dict[str, str]:
    """SHA-256 of a file, and of the weights that large exports leave beside it."""
    beside = path.with_name(f"{path.name}.data")
    files = {"sha256": path} | ({"data_sha256": beside} if beside.is_file() else {})
    return {name: file_hash(one) for name, one in files.items()}


class OnnxNetwork:
    """A file with one input: prepared images (n, …) → raw outputs (n, …) of one of its outputs."""

    def __init__(self, path: Path, output: str | None = None) -> None:
        self._session, self._name = open_session(path), path.name
        inputs = [one.name for one in self._session.get_inputs()]
        outputs = [one.name for one in self._session.get_outputs()]
        if len(inputs) != 1:
            told = f"{len(inputs)} inputs ({', '.join(inputs)})"
            raise ValueError(f"{path}: {told}, a model of one image each was expected")
        self.input = self._session.get_inputs()[0]
        if self.input.type not in _TYPES:
            told = f"input {inputs[0]!r} takes {self.input.type}"
            raise ValueError(f"{path}: {told}, one of {', '.join(_TYPES)} was expected")
        self.output = outputs[0] if output is None else output
        if self.output not in outputs:
            told = f"no output {output!r}; output.name must be one of {', '.join(outputs)}"
            raise ValueError(f"{path}: {told}")

    def check_input(self, preparation: Preparation) -> None:
        """Raise ValueError if the network wants images of another shape or range than it gets."""
        shape, size, where = self.input.shape, preparation.size, f"{self._name}: input"
        channels = 1 if preparation.layout == "nchw" else 3
        gets = [3, size, size] if channels == 1 else [size, size, 3]
        fits = len(shape) == 4 and all(
            wanted == got or not isinstance(wanted, int)
            for wanted, got in zip(shape[1:], gets, strict=True)
        )
        if not fits:
            layout = len(shape) != 4 or shape[channels] != 3
            raise ValueError(
                f"{where} {self.input.name!r} takes {shape}, but the preparation gives "
                f"{['n', *gets]}; change input.{'layout' if layout else 'size'}"
            )
        whole, ends = self.input.type == "tensor(uint8)", preparation.ends()
        if whole and not np.allclose(ends, [[0], [255]], atol=1):  # rounded, nothing would be left
            raise ValueError(
                f"{where} {self.input.name!r} takes whole numbers from 0 to 255, but the "
                f"preparation gives {ends.min():.4g} to {ends.max():.4g}; set input.range to "
                "[0, 255], without input.mean and input.std"
            )

    def __call__(self, ready: np.ndarray) -> np.ndarray:
        kind = _TYPES[self.input.type]
        ready = (ready.round().clip(0, 255) if kind is np.uint8 else ready).astype(kind)
        # Some files want so many images at a time: the last batch is filled up with its last image.
        fixed = self.input.shape[0] if isinstance(self.input.shape[0], int) else len(ready)
        filled = np.concatenate([ready, np.repeat(ready[-1:], -len(ready) % fixed, 0)])
        batches = np.split(filled, range(fixed, len(filled), fixed))
        try:
            raw = [self._session.run([self.output], {self.input.name: one})[0] for one in batches]
        except Exception as error:  # as above
            told = f"failed on images of the shape {list(ready.shape)} ({_first_line(error)})"
            raise ValueError(f"{self._name}: {told}") from None
        return np.concatenate(raw)[: len(ready)]


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


# --- models that compute here


@dataclass
class LocalModel(BlackBox):
    """A model that computes in this process, in batches.

    Attributes:
        compute: prepared images (m, …) → raw outputs (m, …).
        missing: whether NaN of `compute` stands for "no face found"; otherwise it is an error.
    """

    compute: Callable[[np.ndarray], np.ndarray] | None = None
    missing: bool = False

    def __post_init__(self) -> None:
        self.said = self.said | {"preparation": self.preparation.card()}

    def ask(self, images: np.ndarray, points: Points = None) -> Answers:
        """Ask about uint8 RGB images (n, 3, height, width), without keeping the answers."""
        check_images(images)
        if points is not None:
            points = np.asarray(points, float)
            require_shape(points, "points", (len(images), 5, 2))
        parts = []
        for at in range(0, len(images), BATCH):
            rows = slice(at, at + BATCH)
            given = None if points is None else points[rows]
            parts.append(self._batch(np.ascontiguousarray(images[rows]), given))
        # Of a batch without any face the width of a vector is not known.
        width = max((part.shape[1:] for part in parts), default=())
        values = np.full((len(images), *width), np.nan)
        for number, part in enumerate(parts):
            values[number * BATCH : number * BATCH + len(part)] = part
        silent = np.isnan(values.reshape(len(values), -1)).any(1)
        return Answers(values, np.where(silent, NO_FACE, ""))

    def _batch(self, images: np.ndarray, points: Points) -> np.ndarray:
        found = np.ones(len(images), bool)
        if self.preparation.by_points and points is not None:
            found = np.isfinite(points).all((1, 2))
        if not found.any():
            width = () if self.reading.gives == "probability" else (1,)
            return np.full((len(images), *width), np.nan)
        raw = self.compute(
            self.preparation(images[found], None if points is None else points[found])
        )
        given = self.reading(raw, found.sum(), self.name, self.missing)
        values = np.full((len(images), *given.shape[1:]), np.nan)
        values[found] = given
        return values

    def prepared_by(self, preparation: Preparation) -> LocalModel:
        """The same model behind another preparation."""
        return replace(self, preparation=preparation)

    def fill(
        self,
        cache: answers.AnswerCache,
        images: np.ndarray,
        points: Points,
        wanted: answers.Wanted,
        done: answers.Done,
    ) -> None:
        """Put answers about the wanted images into a cache, many at a time."""
        keys, rows = list(wanted), list(wanted.values())
        for at in range(0, len(rows), KEPT_TOGETHER):
            some = rows[at : at + KEPT_TOGETHER]
            found = self.ask(images[some], None if points is None else points[some])
            cache.add(keys[at : at + KEPT_TOGETHER], *found)
            done(len(some))


def local_model(
    given: Onnx | PythonModel, folder: Path = Path(), gives: answers.Gives = "probability"
) -> LocalModel:
    """The model that computes here which a part of an audit file in this folder describes."""
    reading = Reading(gives, given.output.activation, given.output.index)
    if isinstance(given, PythonModel):
        # What the function loads is no part of the hash: the version stands for it.
        said = {"kind": "python", "function": given.function, "version": given.version}
        call, source = _function(given.function)
        return LocalModel(given.function, said | source, reading, given.input, call, missing=True)
    path = folder / given.path
    if path.resolve() in EXAMPLES:
        EXAMPLES[path.resolve()](path)
    network = OnnxNetwork(path, given.output.name)
    network.check_input(given.input)
    said = {"kind": "onnx", "file": path.name, **hashes(path), "read": network.output}
    name = f"{path.name}, output {network.output!r}"
    return LocalModel(name, said, reading, given.input, network)


def imported(path: str, field: str) -> Any:
    """What "module:name" names."""
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"{field} {path!r} cannot be imported ({error}); {module} must lie on Python's path, "
            "for example in PYTHONPATH"
        ) from error


def _function(path: str) -> tuple[Callable[[np.ndarray], np.ndarray], dict[str, str]]:
    """The function that "module:function" names, and the SHA-256 of the file that it stands in."""
    found = imported(path, "model.function")
    if not callable(found):
        raise ValueError(f"model.function {path!r} is a {type(found).__name__}, no function")

    def call(images: np.ndarray) -> np.ndarray:
        try:
            return found(images)
        except Exception as error:
            told = f"failed on images of the shape {list(images.shape)}"
            raise ValueError(f"{path}: {told} ({type(error).__name__}: {error})") from error

    own = inspect.unwrap(found)
    own = own if inspect.isfunction(own) else type(found)  # a callable object, by its class
    try:
        return call, {"sha256": file_hash(Path(inspect.getfile(own)))}
    except (TypeError, OSError):  # built in, or typed in by hand
        return call, {}


# --- the model of an audit


def model_of(specification: Specification, given: Model | None = None) -> BlackBox:
    """The model that an audit file describes, or another one of the file, such as a reader's."""
    recogniser = given is None and specification.kind == "verification"
    given, gives = given or specification.model, "embedding" if recogniser else "probability"
    if isinstance(given, Http):
        return RemoteModel(given, Reading(gives), specification.design.seed)
    return local_model(given, specification.beside(Path()), gives)


def ask(model: BlackBox, images: np.ndarray, folder: Path) -> np.ndarray:
    """Probabilities (n,) of images, NaN where there is no answer; none is asked about again."""
    score, _ = ask_and_keep(model, images, folder)
    check_answers(pd.Series(score), model.name)
    return score


def embed(model: BlackBox, images: np.ndarray, folder: Path, points: Points = None) -> Answers:
    """Ask a recogniser about images, after trying it; what it said before is not asked again.

    A model on the network is not tried, and its answers are judged as they come.
    """
    if isinstance(model, LocalModel):
        some = np.unique(np.linspace(0, len(images) - 1, TRIED).astype(int))
        check_model(model, images[some], None if points is None else points[some])
    vectors, reasons = ask_and_keep(model, images, folder, points)
    found = vectors[reasons == ""]
    if not len(found):
        raise ValueError(f"{model.name} has no embedding of any image; is it the right model?")
    _refuse_constant(found, len(found), model.name)
    return Answers(vectors, reasons)


def check_model(model: LocalModel, images: np.ndarray, points: Points = None) -> None:
    """Ask a model about the first 64 images twice, in other company, and refuse what is no model.

    The second time the images come in batches of one, two, three …, from the last to the first.
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
        if np.isnan(again).all():  # then the width of a vector is not known
            again = np.full_like(first[rows], np.nan)
        same = first[rows].shape == again.shape and np.allclose(
            again, first[rows], rtol=SAME, atol=SAME, equal_nan=True
        )
        if not same:
            raise ValueError(
                f"{model.name}: two answers for the same image (among {rows.min()} to "
                f"{rows.max()}); a model under audit must answer the same every time: turn off "
                "dropout, batch statistics and random augmentation"
            )
    distinct = len(np.unique(images[found].reshape(found.sum(), -1), axis=0))
    _refuse_constant(first[found], distinct, model.name)


def _refuse_constant(found: np.ndarray, images: int, name: str) -> None:
    if images > 1 and np.ptp(found, axis=0).max() == 0:
        what = f"{found[0]:g}" if found.ndim == 1 else "one vector"
        raise ValueError(
            f"{name}: the answer is {what} for all of {images} different images; a wrong output, "
            "index or preparation does that, and so does a network without its weights"
        )
