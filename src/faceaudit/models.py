"""The model of an audit file, and its answers: an ONNX file, a function of Python or an address.

A model that computes here is called with uint8 RGB images (n, 3, height, width) and answers float64
probabilities (n,) or vectors (n, d), NaN where it found no face. It tells its card, and a hash that
stands for everything that its answers depend on. onnxruntime computes on one processor thread, the
same way every time, or on a GPU; its files are checked before any image is shown.
"""

import pkgutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit import answers
from faceaudit.answers import NO_FACE, AnswerCache, Answers, BlackBox, Done, Reading, Say, Wanted
from faceaudit.model_http import RemoteModel
from faceaudit.parts import Http, Model, Onnx, PythonModel
from faceaudit.plausibility import doubts_of_preparation
from faceaudit.specification import Specification
from faceaudit.wording import fault
from helpers.artifacts.lineage import file_hash

BATCH, KEPT_TOGETHER = 64, 256
"""Images that are computed at a time, and between two writes of what was answered."""
TRIED = 64
"""Images that a model is tried on, from all parts of the audit."""
SAME = 1e-4
"""Answers for one image may differ by so much: a batch of another size rounds otherwise."""
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


# --- ONNX files


def open_session(path: Path, device: str = "cpu") -> Any:
    """A session of onnxruntime on one processor thread or a GPU, with deterministic kernels."""
    import onnxruntime  # an audit without an ONNX file does without

    if not path.is_file():
        raise ValueError(f"{path}: no such file; model.path must name an ONNX file")
    if _PROVIDERS[device] not in onnxruntime.get_available_providers():
        raise fault("no_provider", path, _PROVIDERS[device])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 4  # of messages: fatal ones alone are shown
    try:
        # What a GPU has no kernel for, the processor computes.
        providers = [*dict.fromkeys([_PROVIDERS[device], _PROVIDERS["cpu"]])]
        return onnxruntime.InferenceSession(path, options, providers=providers)
    except Exception as error:  # onnxruntime's have no class in common but this
        raise fault("no_onnx", path, onnxruntime.__version__, _first_line(error)) from None


class OnnxNetwork:
    """A file with one input: prepared images (n, …) → raw outputs (n, …) of one of its outputs."""

    def __init__(self, path: Path, output: str | None = None, device: str = "cpu") -> None:
        self._session, self._name = open_session(path, device), path.name
        (self.input, *more), outputs = self._session.get_inputs(), self._session.get_outputs()
        if more or self.input.type not in _TYPES:
            raise fault("inputs", path, [self.input, *more], _TYPES)
        names = [one.name for one in outputs]
        self.output = names[0] if output is None else output
        if self.output not in names:
            raise fault("no_output", path, output, names)

    def __call__(self, ready: np.ndarray) -> np.ndarray:
        ready = ready.astype(_TYPES[self.input.type])
        # Some files want so many images at a time: the last batch is filled up with its last image.
        fixed = self.input.shape[0] if isinstance(self.input.shape[0], int) else len(ready)
        filled = np.concatenate([ready, np.repeat(ready[-1:], -len(ready) % fixed, 0)])
        batches = np.split(filled, range(fixed, len(filled), fixed))
        try:
            raw = [self._session.run([self.output], {self.input.name: one})[0] for one in batches]
        except Exception as error:  # as above
            shapes = self.input.shape, [*ready.shape]
            raise fault("no_answers", self._name, *shapes, _first_line(error)) from None
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
        self.said = self.said | {"preparation": self.preparation.model_dump(mode="json")}

    def ask(self, images: np.ndarray) -> Answers:
        """Ask about uint8 RGB images (n, 3, height, width), without keeping the answers."""
        from helpers.models.training import check_images  # with torch

        check_images(images)
        parts = []
        for at in range(0, len(images), BATCH):
            some = np.ascontiguousarray(images[at : at + BATCH])
            raw = self.compute(self.preparation(some))
            parts.append(self.reading(raw, len(some), self.name, self.missing))
        values = np.concatenate(parts)
        silent = np.isnan(values.reshape(len(values), -1)).any(1)
        return Answers(values, np.where(silent, NO_FACE, ""))

    def fill(self, cache: AnswerCache, images: np.ndarray, wanted: Wanted, done: Done) -> None:
        """Put answers about the wanted images into a cache, many at a time."""
        keys, rows = list(wanted), list(wanted.values())
        for at in range(0, len(rows), KEPT_TOGETHER):
            some = rows[at : at + KEPT_TOGETHER]
            cache.add(keys[at : at + KEPT_TOGETHER], *self.ask(images[some]))
            done(len(some))


def local_model(
    given: Onnx | PythonModel,
    folder: Path = Path(),
    gives: answers.Gives = "probability",
    device: str = "cpu",
) -> LocalModel:
    """The model that computes here which a part of an audit file in this folder describes.

    A file computes on the device; a function has a device of its own.
    """
    reading = Reading(gives, given.output.activation, given.output.index)
    if isinstance(given, PythonModel):
        # What the function loads is no part of the hash: the version stands for it.
        said = {"kind": "python", "function": given.function, "version": given.version}
        call, source = _function(given.function)
        return LocalModel(given.function, said | source, reading, given.input, call, missing=True)
    from faceaudit.examples import make_example  # with torch

    path = folder / given.path
    make_example(path)
    network = OnnxNetwork(path, given.output.name, device)
    network(given.input(np.zeros((1, 3, 1, 1), np.uint8)))  # which fails where shapes differ
    said = {"kind": "onnx", "file": path.name, "sha256": file_hash(path), "read": network.output}
    if device != "cpu":  # answers of another device differ in their last digits
        said["device"] = device
    if (beside := path.with_name(f"{path.name}.data")).is_file():  # weights of large exports
        said["data_sha256"] = file_hash(beside)
    name = f"{path.name}, output {network.output!r}"
    return LocalModel(name, said, reading, given.input, network)


def imported(path: str, field: str) -> Any:
    """What "module:name" names."""
    try:
        return pkgutil.resolve_name(path)
    except (ImportError, AttributeError) as error:
        raise fault("no_import", field, path, error, path.partition(":")[0]) from error


def _function(path: str) -> tuple[Callable[[np.ndarray], np.ndarray], dict[str, str]]:
    """The function that "module:function" names, and the SHA-256 of the module's file."""
    found = imported(path, "model.function")

    def call(images: np.ndarray) -> np.ndarray:
        try:
            return found(images)
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            raise fault("failed", path, list(images.shape), told) from error

    file = getattr(sys.modules[path.partition(":")[0]], "__file__", None)
    return call, {"sha256": file_hash(Path(file))} if file else {}


# --- the model of an audit


def model_of(
    specification: Specification, given: Model | None = None, device: str = "cpu"
) -> BlackBox:
    """The model that an audit file describes, or another one of the file, such as a reader's."""
    recogniser = given is None and specification.kind == "verification"
    given, gives = given or specification.model, "embedding" if recogniser else "probability"
    if isinstance(given, Http):
        return RemoteModel(given, Reading(gives), specification.design.seed)
    return local_model(given, specification.beside(Path()), gives, device)


def ask(model: BlackBox, images: np.ndarray, folder: Path) -> np.ndarray:
    """Probabilities (n,) of images, NaN where there is no answer; none is asked about again."""
    score, _ = answers.ask_and_keep(model, images, folder)
    answers.require_answers(score, model.name)
    return score


def examine(
    model: BlackBox, images: np.ndarray, groups: pd.Series, folder: Path, say: Say, seed: int
) -> tuple[Answers, dict[str, Any]]:
    """Answers of the model under audit about all images, and what the report says of it.

    Args:
        model: that was tried by `check_model`.
        images: uint8 (n, 3, height, width).
        groups: (n,) as of `faceaudit.plausibility.doubts_of_preparation`.
        folder: of the audit, which keeps the answers.
        say: takes a sentence on how many answers there are.
        seed: of the audit.
    """
    found = answers.ask_and_keep(model, images, folder / "answers")
    answers.require_answers(found.values, model.name)
    silent = int((found.reasons != "").sum())
    say(f"model: {len(images) - silent:,} answers, {silent:,} images without one")
    doubts = doubts_of_preparation(model, images, groups, seed)
    return found, {"model": model.card(), "doubts": [*doubts]}


def check_model(model: BlackBox, images: np.ndarray) -> None:
    """Ask a model about 64 of the images twice, in other company, and refuse what is no model.

    The second time the images come in batches of one, two, three …, from the last to the first. A
    model on the network is not tried, and its answers are judged as they come.
    """
    if not isinstance(model, LocalModel):
        return
    images = images[np.unique(np.linspace(0, len(images) - 1, TRIED).astype(int))]
    first, _ = model.ask(images)
    answers.require_answers(first, model.name)
    starts = np.arange(1, len(images)).cumsum()
    for rows in np.split(np.arange(len(images))[::-1], starts[starts < len(images)]):
        again, _ = model.ask(images[rows])
        close = {"rtol": SAME, "atol": SAME, "equal_nan": True}
        if again.shape != first[rows].shape or not np.allclose(again, first[rows], **close):
            raise fault("two_answers", model.name)
