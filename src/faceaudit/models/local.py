"""Models that compute here, and their answers: an ONNX file or a function of Python.

A model that computes here is called with uint8 RGB images (n, 3, height, width) and answers float64
probabilities (n,) or vectors (n, d), NaN where it found no face. It tells its card, and a hash that
stands for everything that its answers depend on. onnxruntime computes on one processor thread, the
same way every time, or on a GPU; its files are checked before any image is shown.
"""

import pkgutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faceaudit.file.parts import Onnx, PythonModel
from faceaudit.models import answers
from faceaudit.models.answers import (
    NO_FACE,
    AnswerCache,
    BlackBox,
    ModelAnswers,
    PendingRows,
    Progress,
    Reading,
)
from faceaudit.utils.errors import fault
from faceaudit.utils.files import file_hash, hash_of_hashes
from faceaudit.utils.names import paths_on_disk

ANSWER_BATCH_SIZE, WRITE_BATCH_SIZE = 64, 256
"""Images that are computed at a time, and between two writes of what was answered."""
CHECKED_IMAGES = 64
"""Images that a model is tried on, from all parts of the audit."""
ANSWER_TOLERANCE = 1e-4
"""Answers for one image may differ by so much: a batch of another size rounds otherwise."""
_INPUT_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
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


def weight_files(path: Path) -> dict[str, Path]:
    """Find the files beside an ONNX file that hold tensors of its graph.

    Large exports keep their weights in `<name>.onnx.data`, in `<name>.onnx_data`, or in a file for
    each tensor. The graph names them; no tensor is read here.

    Args:
        path: of the ONNX file.

    Returns:
        Name in the graph → file, in the order of the names; empty where all is in the one file.

    Raises:
        ValueError: a file that the graph names is missing.
    """
    import onnx  # an audit without an ONNX file does without
    from google.protobuf.message import DecodeError

    if not path.is_file():
        return {}
    try:
        model = onnx.load(path, format="protobuf", load_external_data=False)
    except DecodeError:  # onnxruntime says what is wrong with the file
        return {}
    names = set()
    for tensor in _onnx_tensors(model):
        if onnx.external_data_helper.uses_external_data(tensor):
            names |= {entry.value for entry in tensor.external_data if entry.key == "location"}
    files = {name: path.parent / name for name in sorted(names)}
    for name, file in files.items():
        if not file.is_file():
            raise ValueError(
                f"{path}: its weights are in the file {name}, and {path.parent} has no such file; "
                f"put {name} there, as it was written with {path.name}"
            )
    return files


def _onnx_tensors(message: Any) -> Iterator[Any]:
    """All tensors of a model of onnx, or of a part of it, wherever they stand."""
    import onnx
    from google.protobuf.message import Message

    if isinstance(message, onnx.TensorProto):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if isinstance(value, Message) else value:
                yield from _onnx_tensors(part)


class OnnxNetwork:
    """A file with one input: prepared images (n, …) → raw outputs (n, …) of one of its outputs.

    Attributes:
        input: of the file, as onnxruntime describes it.
        output: the name of the output that is read.
        weight_files: of `weight_files`.
        one_at_a_time: whether the file refused several images at once, though its header takes any
            number of them, and answered about each alone. Exports have such a number fixed inside.
    """

    def __init__(self, path: Path, output: str | None = None, device: str = "cpu") -> None:
        self.weight_files = weight_files(path)
        self.one_at_a_time = False
        self._session, self._name = open_session(path, device), path.name
        (self.input, *more), outputs = self._session.get_inputs(), self._session.get_outputs()
        if more or self.input.type not in _INPUT_TYPES:
            raise fault("inputs", path, [self.input, *more], _INPUT_TYPES)
        names = [one.name for one in outputs]
        self.output = names[0] if output is None else output
        if self.output not in names:
            raise fault("no_output", path, output, names)

    def __call__(self, ready: np.ndarray) -> np.ndarray:
        ready = ready.astype(_INPUT_TYPES[self.input.type])
        fixed = self.input.shape[0]
        if isinstance(fixed, int):
            # So many images at a time: the last batch is filled up with its last image.
            filled = np.concatenate([ready, np.repeat(ready[-1:], -len(ready) % fixed, 0)])
            batches = np.split(filled, range(fixed, len(filled), fixed))
            return np.concatenate([self._run(batch) for batch in batches])[: len(ready)]
        if len(ready) > 1 and not self.one_at_a_time:
            try:
                raw = self._run(ready)
            except ValueError:
                self.one_at_a_time = True
            else:
                if raw.shape[:1] == (len(ready),):
                    return raw
                self.one_at_a_time = True
        return np.concatenate([self._run(ready[row : row + 1]) for row in range(len(ready))])

    def _run(self, batch: np.ndarray) -> np.ndarray:
        """The output about a batch (n, …), with the axis of the images where n is 1."""
        try:
            (raw,) = self._session.run([self.output], {self.input.name: batch})
        except Exception as error:  # as above
            takes, gets = self.input.shape, [*batch.shape]
            alone = " (several images at a time failed too)" if self.one_at_a_time else ""
            raise ValueError(
                f"{self._name}: takes {takes}, and failed on images of the shape {gets}{alone} "
                f"({_first_line(error)}); where these differ, change input.size (one number, or "
                "height and width as [112, 96]) or input.layout"
            ) from None
        raw = np.asarray(raw)
        # Exports that squeeze or flatten their answer drop the axis of the images for a lone image.
        # Two axes or more are left as they are: (2, 1) may be a table that is turned round.
        if len(batch) == 1 and raw.ndim < 2 and raw.shape != (1,):
            return raw[None]
        return raw


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

    def ask(self, images: np.ndarray) -> ModelAnswers:
        """Ask about uint8 RGB images (n, 3, height, width), without keeping the answers."""
        from faceaudit.utils.arguments import check_images  # with torch

        check_images(images)
        parts = []
        for at in range(0, len(images), ANSWER_BATCH_SIZE):
            some = np.ascontiguousarray(images[at : at + ANSWER_BATCH_SIZE])
            raw = self.compute(self.preparation(some))
            parts.append(self.reading(raw, len(some), self.name, self.missing))
        values = np.concatenate(parts)
        silent = np.isnan(values.reshape(len(values), -1)).any(1)
        return ModelAnswers(values, np.where(silent, NO_FACE, ""))

    def fill(
        self, cache: AnswerCache, images: np.ndarray, wanted: PendingRows, done: Progress
    ) -> None:
        """Put answers about the wanted images into a cache, many at a time."""
        keys, rows = list(wanted), list(wanted.values())
        for at in range(0, len(rows), WRITE_BATCH_SIZE):
            some = rows[at : at + WRITE_BATCH_SIZE]
            cache.add(keys[at : at + WRITE_BATCH_SIZE], *self.ask(images[some]))
            done(len(some))


def local_model(
    given: Onnx | PythonModel,
    folder: Path = Path(),
    gives: answers.OutputKind = "probability",
    device: str = "cpu",
) -> LocalModel:
    """The model that computes here which a part of an audit file in this folder describes.

    A file computes on the device; a function has a device of its own.
    """
    output = given.output
    reading = Reading(gives, output.activation, output.index, output.classes)
    if isinstance(given, PythonModel):
        # What the function loads is no part of the hash: the version stands for it.
        said = {"kind": "python", "function": given.function, "version": given.version}
        call, source = _import_function(given.function)
        return LocalModel(given.function, said | source, reading, given.input, call, missing=True)
    name_of_file = str(given.path)
    path = paths_on_disk(folder, [name_of_file])[name_of_file]
    network = OnnxNetwork(path, output.name, device)
    # Which fails where shapes differ, and says whether several images can be asked about at once.
    network(given.input(np.zeros((2, 3, 1, 1), np.uint8)))
    said = {"kind": "onnx", "file": path.name, "sha256": file_hash(path), "read": network.output}
    if device != "cpu":  # answers of another device differ in their last digits
        said["device"] = device
    hashes = {name: file_hash(file) for name, file in network.weight_files.items()}
    if len(hashes) == 1:
        (said["data_sha256"],) = hashes.values()
    elif hashes:
        said["data_sha256"], said["data_files"] = hash_of_hashes(hashes), len(hashes)
    if network.one_at_a_time:
        said["asked"] = "one image at a time"
    name = f"{path.name}, output {network.output!r}"
    return LocalModel(name, said, reading, given.input, network)


def import_object(path: str, field: str) -> Any:
    """What "module:name" names."""
    try:
        return pkgutil.resolve_name(path)
    except (ImportError, AttributeError) as error:
        raise fault("no_import", field, path, error, path.partition(":")[0]) from error


def _import_function(path: str) -> tuple[Callable[[np.ndarray], np.ndarray], dict[str, str]]:
    """The function that "module:function" names, and the SHA-256 of the module's file."""
    found = import_object(path, "model.function")

    def call(images: np.ndarray) -> np.ndarray:
        try:
            return found(images)
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            raise fault("failed", path, list(images.shape), told) from error

    file = getattr(sys.modules[path.partition(":")[0]], "__file__", None)
    return call, {"sha256": file_hash(Path(file))} if file else {}
