"""Models that compute here, and their answers: an ONNX file or a function of Python.

A model that computes here is called with uint8 RGB images (n, 3, height, width) and answers float64
probabilities (n,) or vectors (n, d), NaN where it found no face. It tells its card, and a hash that
stands for everything that its answers depend on. onnxruntime computes on one processor thread, the
same way every time, or on a GPU; its files are checked before any image is shown.
"""

import os
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import numpy as np

from faceaudit.file.parts import Onnx, Preparation, PythonModel, name_of_object
from faceaudit.models.answers import (
    NO_FACE,
    AnswerCache,
    BlackBox,
    ModelAnswers,
    OutputKind,
    PendingRows,
    Progress,
    Reading,
)
from faceaudit.utils.arguments import check_images
from faceaudit.utils.errors import InputError, require_extra
from faceaudit.utils.files import file_hash, hash_of_hashes
from faceaudit.utils.names import paths_on_disk

ANSWER_BATCH_SIZE = 64
"""Images that are computed at a time."""
WRITE_BATCH_SIZE = 256
"""Images between two writes of what was answered."""
CHECKED_IMAGES = 64
"""Images that a model is tried on, from all parts of the audit."""
ANSWER_TOLERANCE = 1e-4
"""Answers for one image may differ by so much: a batch of another size rounds otherwise."""
_INPUT_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(uint8)": np.uint8,
}
_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


# --- ONNX files


def open_session(path: Path, device: str = "cpu") -> Any:
    """Open an ONNX file with deterministic kernels, on one processor thread or a GPU.

    Args:
        path: of the file.
        device: "cpu" or "cuda".

    Returns:
        An `onnxruntime.InferenceSession`.

    Raises:
        InputError: there is no such file, onnxruntime cannot read it, or has no support of GPUs.
    """
    require_extra("onnx", "onnxruntime")
    import onnxruntime  # an audit without an ONNX file does without

    if not path.is_file():
        raise InputError(
            f"{path}: no such file; model.path must name an ONNX file",
            field="model.path",
            found=path,
            expected="an ONNX file",
        )
    provider = _PROVIDERS[device]
    if provider not in onnxruntime.get_available_providers():
        raise InputError(
            f"{path}: the onnxruntime that is installed has no {provider}; install "
            "onnxruntime-gpu in its place, or leave --device cuda out",
            field="device",
            found=device,
            expected=provider,
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 4  # of messages: fatal ones alone are shown
    # What a GPU has no kernel for, the processor computes.
    providers = list(dict.fromkeys([provider, _PROVIDERS["cpu"]]))
    try:
        return onnxruntime.InferenceSession(path, options, providers=providers)
    except Exception as error:  # onnxruntime's have no class in common but this
        raise InputError(
            f"{path}: no ONNX model that onnxruntime {onnxruntime.__version__} can read "
            f"({_first_line(error)}); export a file of torch with torch.onnx.export, or name a "
            "function of yours under kind: python",
            field="model.path",
            found=path,
            expected="an ONNX model",
        ) from None


def weight_files(path: Path) -> dict[str, Path]:
    """Find the files beside an ONNX file that hold tensors of its graph.

    Large exports keep their weights in `<name>.onnx.data`, in `<name>.onnx_data`, or in a file for
    each tensor. The graph names them; no tensor is read here.

    Args:
        path: of the ONNX file.

    Returns:
        Name in the graph → file, in the order of the names; empty where all is in the one file.

    Raises:
        InputError: a file that the graph names is missing.
    """
    require_extra("onnx", "onnx")
    import onnx  # an audit without an ONNX file does without
    from google.protobuf.message import DecodeError
    from onnx.external_data_helper import uses_external_data

    if not path.is_file():
        return {}
    try:
        model = onnx.load(path, format="protobuf", load_external_data=False)
    except DecodeError:  # onnxruntime says what is wrong with the file
        return {}
    names = set()
    for tensor in _onnx_tensors(model):
        if uses_external_data(tensor):
            names.update(entry.value for entry in tensor.external_data if entry.key == "location")
    files = {name: path.parent / name for name in sorted(names)}
    for name, file in files.items():
        if not file.is_file():
            raise InputError(
                f"{path}: its weights are in the file {name}, and {path.parent} has no such file; "
                f"put {name} there, as it was written with {path.name}",
                field="model.path",
                found=path,
                expected=f"the file {name} beside it",
            )
    return files


def _onnx_tensors(message: Any) -> Iterator[Any]:
    """All tensors of a model of onnx, or of a part of it, at any depth."""
    import onnx
    from google.protobuf.message import Message

    if isinstance(message, onnx.TensorProto):
        yield message
        return
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            continue
        parts = [value] if isinstance(value, Message) else value
        for part in parts:
            yield from _onnx_tensors(part)


class OnnxNetwork:
    """A file with one input: prepared images (n, …) → raw outputs (n, …) of one of its outputs.

    Attributes:
        input: of the file, as onnxruntime describes it.
        output: the name of the output that is read.
        takes_pixels: whether it takes whole numbers from 0 to 255.
        weight_files: of `weight_files`.
        one_at_a_time: whether the file refused several images at once, though its header takes any
            number of them, and answered about each alone. Exports have such a number fixed inside.

    Grey images of one channel become three equal channels where the file takes three.

    Raises:
        InputError: the file cannot be opened, takes something else than images, or has no such
            output.
    """

    def __init__(
        self,
        path: Path,
        output: str | None = None,
        device: str = "cpu",
        layout: Literal["nchw", "nhwc"] = "nchw",
    ) -> None:
        self.weight_files = weight_files(path)
        self.one_at_a_time = False
        self._session = open_session(path, device)
        self._name = path.name
        inputs = self._session.get_inputs()
        if len(inputs) != 1 or inputs[0].type not in _INPUT_TYPES:
            described = ", ".join(f"{entry.name} of {entry.type}" for entry in inputs)
            expected = f"one input of {', '.join(_INPUT_TYPES)}"
            raise InputError(
                f"{path}: takes {described}; {expected} was expected",
                field="model.path",
                found=described,
                expected=expected,
            )
        self.input = inputs[0]
        self.takes_pixels = self.input.type == "tensor(uint8)"
        self._channel_axis = {"nchw": 1, "nhwc": 3}[layout]
        self._channels = self.input.shape[self._channel_axis : self._channel_axis + 1]
        names = [entry.name for entry in self._session.get_outputs()]
        self.output = names[0] if output is None else output
        if self.output not in names:
            expected = f"one of {', '.join(names)}"
            raise InputError(
                f"{path}: no output {output!r}; output.name must be {expected}",
                field="output.name",
                found=output,
                expected=expected,
            )

    def __call__(self, prepared: np.ndarray) -> np.ndarray:
        if self._channels == [3] and prepared.shape[self._channel_axis] == 1:
            prepared = prepared.repeat(3, self._channel_axis)
        if self.takes_pixels:
            prepared = np.rint(prepared)
        prepared = prepared.astype(_INPUT_TYPES[self.input.type])
        images_at_a_time = self.input.shape[0]
        if isinstance(images_at_a_time, int):
            return self._run_in_batches(prepared, images_at_a_time)
        if len(prepared) > 1 and not self.one_at_a_time:
            try:
                raw = self._run(prepared)
            except ValueError:
                self.one_at_a_time = True
            else:
                if raw.shape[:1] == (len(prepared),):
                    return raw
                self.one_at_a_time = True
        outputs = [self._run(prepared[row : row + 1]) for row in range(len(prepared))]
        return np.concatenate(outputs)

    def _run_in_batches(self, prepared: np.ndarray, size: int) -> np.ndarray:
        """The outputs of a file that takes so many images; the last image fills the last batch."""
        padding = np.repeat(prepared[-1:], -len(prepared) % size, 0)
        padded = np.concatenate([prepared, padding])
        batches = np.split(padded, range(size, len(padded), size))
        outputs = [self._run(batch) for batch in batches]
        return np.concatenate(outputs)[: len(prepared)]

    def _run(self, batch: np.ndarray) -> np.ndarray:
        """The output about a batch (n, …), with the axis of the images where n is 1."""
        try:
            (raw,) = self._session.run([self.output], {self.input.name: batch})
        except Exception as error:  # onnxruntime's have no class in common but this
            expected_shape = self.input.shape
            shape = list(batch.shape)
            alone = " (several images at a time failed too)" if self.one_at_a_time else ""
            grey = ""
            if self._channels == [1] and shape[self._channel_axis] != 1:
                grey = ", and set input.grey to true for the one channel"
            raise InputError(
                f"{self._name}: takes {expected_shape}, and failed on images of the shape "
                f"{shape}{alone} ({_first_line(error)}); where these differ, change input.size "
                f"(one number, or height and width as [112, 96]) or input.layout{grey}",
                field="model.input",
                found=shape,
                expected=str(expected_shape),
            ) from None
        raw = np.asarray(raw)
        # Exports that squeeze or flatten their answer drop the axis of the images for a lone image.
        # Two axes or more are left as they are: (2, 1) may be a table that is turned round.
        if len(batch) == 1 and raw.ndim < 2 and raw.shape != (1,):
            return raw[None]
        return raw


def _first_line(error: Exception) -> str:
    """The first line of an error's text, or its class, at most 200 characters."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]


# --- models that compute here


@dataclass
class LocalModel(BlackBox):
    """A model that computes in this process, in batches.

    Attributes:
        preparation: what is done to images first; every model that computes here has one.
        compute: prepared images (m, …) → raw outputs (m, …).
        allow_missing: whether NaN of `compute` stands for "no face found"; otherwise it is an
            error.
        takes_pixels: whether it takes whole numbers from 0 to 255, and so no other range.
        prepares_itself: whether it may be a whole product, which does the rest to images as they
            are; it is not tried on other preparations, each of which may take long.
    """

    preparation: Preparation = field()  # without a default, unlike that of `BlackBox`
    compute: Callable[[np.ndarray], np.ndarray]
    allow_missing: bool = False
    takes_pixels: bool = False
    prepares_itself: bool = False

    def __post_init__(self) -> None:
        preparation = self.preparation.model_dump(mode="json")
        self.description = self.description | {"preparation": preparation}

    def ask(self, images: np.ndarray) -> ModelAnswers:
        """Ask about uint8 RGB images (n, 3, height, width), without keeping the answers."""
        check_images(images)
        parts = []
        for start in range(0, len(images), ANSWER_BATCH_SIZE):
            batch = np.ascontiguousarray(images[start : start + ANSWER_BATCH_SIZE])
            raw = self.compute(self.preparation(batch))
            parts.append(self.reading(raw, len(batch), self.name, self.allow_missing))
        values = np.concatenate(parts)
        is_missing = np.isnan(values.reshape(len(values), -1)).any(axis=1)
        return ModelAnswers(values, np.where(is_missing, NO_FACE, ""))

    def fill_cache(
        self, cache: AnswerCache, images: np.ndarray, pending: PendingRows, progress: Progress
    ) -> None:
        """Put answers about pending images into a cache, many at a time."""
        keys = list(pending)
        rows = list(pending.values())
        for start in range(0, len(rows), WRITE_BATCH_SIZE):
            batch = slice(start, start + WRITE_BATCH_SIZE)
            values, reasons = self.ask(images[rows[batch]])
            cache.add(keys[batch], values, reasons)
            progress(len(values))


def local_model(
    part: Onnx | PythonModel,
    folder: Path = Path(),
    gives: OutputKind = "probability",
    device: str = "cpu",
) -> LocalModel:
    """Open a model that computes here.

    Args:
        part: of an audit file, which describes the model.
        folder: of the audit file, which paths are relative to.
        gives: as what its outputs are read, see `Reading`.
        device: "cpu" or "cuda", where a file computes; a function chooses its own.

    Raises:
        InputError: the file or the function cannot be used.
    """
    output = part.output
    reading = Reading(gives, output.activation, output.index, output.classes)
    if isinstance(part, PythonModel):
        return _model_of_function(part, reading)
    return _model_of_file(part, folder, reading, device)


def _model_of_function(part: PythonModel, reading: Reading) -> LocalModel:
    """The model of a function of Python; what it loads is no part of the hash but its version."""
    name = name_of_object(part.function)
    function = part.function
    if isinstance(function, str):
        function = import_object(function, "model.function")
    description = {"kind": "python", "function": name, "version": part.version}
    packages = installed_packages(name)
    if packages:
        description["package"] = packages
    module = sys.modules.get(name.partition(":")[0])
    file = getattr(module, "__file__", None)
    if file:
        description["sha256"] = file_hash(Path(file))
    return LocalModel(
        name,
        description,
        reading,
        part.input,
        compute=_with_plain_errors(function, name),
        allow_missing=True,
        prepares_itself=not part.input.is_declared,
    )


def _model_of_file(part: Onnx, folder: Path, reading: Reading, device: str) -> LocalModel:
    """The model of an ONNX file, which is tried on two black images."""
    name_in_file = str(part.path)
    path = paths_on_disk(folder, [name_in_file])[name_in_file]
    network = OnnxNetwork(path, part.output.name, device, part.input.layout)
    if network.takes_pixels and not part.input.keeps_pixels:
        raise InputError(
            f"{path}: takes pixels as they are ({network.input.type}); write input.range: "
            "[0, 255], without mean and std",
            field="model.input.range",
            found=part.input.range,
            expected="[0, 255], without mean and std",
        )
    # Which fails where shapes differ, and says whether several images can be asked about at once.
    network(part.input(np.zeros((2, 3, 1, 1), np.uint8)))
    description = {
        "kind": "onnx",
        "file": path.name,
        "sha256": file_hash(path),
        "read": network.output,
    }
    if part.version is not None:
        description["version"] = part.version
    if device != "cpu":  # answers of another device differ in their last digits
        description["device"] = device
    hashes = {name: file_hash(file) for name, file in network.weight_files.items()}
    if len(hashes) == 1:
        (description["data_sha256"],) = hashes.values()
    elif hashes:
        description["data_sha256"] = hash_of_hashes(hashes)
        description["data_files"] = len(hashes)
    if network.one_at_a_time:
        description["asked"] = "one image at a time"
    name = f"{path.name}, output {network.output!r}"
    return LocalModel(
        name,
        description,
        reading,
        part.input,
        compute=network,
        takes_pixels=network.takes_pixels,
    )


def installed_packages(path: str) -> str:
    """The installed packages that have the module of "module:name", with their versions.

    Args:
        path: of an object, as the audit file names it.

    Returns:
        Such as "mymodel 1.2"; "" where the module is of no installed package.
    """
    top, _, _ = path.partition(":")[0].partition(".")
    names = sorted(set(_packages_of_modules().get(top, ())))
    return ", ".join(f"{name} {metadata.version(name)}" for name in names)


def _packages_of_modules() -> Mapping[str, list[str]]:
    """Top module → the installed packages that have it; read anew after one was installed."""
    installed: set[str] = set()
    for place in sys.path:
        with suppress(OSError), os.scandir(place or ".") as entries:
            installed.update(
                e.path for e in entries if e.name.endswith((".dist-info", ".egg-info"))
            )
    return _read_packages_of_modules(frozenset(installed))


@lru_cache(maxsize=1)
def _read_packages_of_modules(_: frozenset[str]) -> Mapping[str, list[str]]:
    """Read the file lists of all installed packages, which takes a fifth of a second."""
    return metadata.packages_distributions()


def import_object(path: str, field: str) -> Any:
    """Import the object that "module:name" names, for a field of the audit file."""
    try:
        return pkgutil.resolve_name(path)
    except (ImportError, AttributeError) as error:
        module = path.partition(":")[0]
        reason = " ".join(str(error).split())
        raise InputError(
            f"{field} {path!r} cannot be imported ({reason}); {module} must lie on Python's path, "
            "for example in PYTHONPATH",
            field=field,
            found=path,
            expected="an object that Python can import",
        ) from error


def _with_plain_errors(
    function: Callable[[np.ndarray], np.ndarray], name: str
) -> Callable[[np.ndarray], np.ndarray]:
    """A function of images whose errors become an InputError that tells the shape of the images."""

    def call(images: np.ndarray) -> np.ndarray:
        try:
            return function(images)
        except Exception as error:
            shape = list(images.shape)
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(
                f"{name}: failed on images of the shape {shape} ({reason})",
                field="model.function",
                found=name,
                expected=f"a function that takes images of the shape {shape}",
            ) from error

    return call
