"""Models in ONNX files, run by onnxruntime on one processor thread, the same way every time.

Chapter 20 audits one. The file is read and checked before any image is shown: which input it takes,
of which size, and which outputs it has.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime

from faceaudit.black_box.answers import Activation, Gives, Reading
from faceaudit.black_box.local_models import Find, LocalModel
from faceaudit.black_box.preparation import Preparation
from helpers.artifacts import lineage

_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(uint8)": np.uint8,
}
_ERRORS_ONLY = 3
_OF_TORCH = (".pt", ".pth", ".pt2")


def onnx_model(
    path: str | Path,
    preparation: Preparation,
    *,
    output: str | int = 0,
    index: int | None = None,
    activation: Activation = "none",
    gives: Gives = "probability",
    find: Find | None = None,
    batch: int = 64,
    threads: int = 1,
) -> LocalModel:
    """Load a model from an ONNX file.

    Args:
        path: of the `.onnx` file; weights beside it in `<path>.data` belong to it.
        preparation: what images go through before the network.
        output: the output that is read, by its name or its number.
        index: the column of the positive class, from 0; None if there is but one.
        activation: "none", "sigmoid" or "softmax", if the output is logits.
        gives: "probability", or "embedding" of a recogniser.
        find: finds five points of the faces, for `align` "arcface".
        batch: images at a time.
        threads: of the processor. More may change the last digit.

    Returns:
        The model; see `BlackBox`.

    Raises:
        ValueError: no readable ONNX file, no such output, several inputs, or an input that the
            preparation does not fit.

    Example:
        >>> from faceaudit import black_box
        >>> black_box.onnx_model("nowhere.onnx", black_box.Preparation())
        Traceback (most recent call last):
        ValueError: nowhere.onnx: no such file; model.path must name an ONNX file
    """
    path = Path(path)
    session = open_session(path, threads)
    reading = Reading(gives, activation, index)
    compute = OnnxNetwork(session, output, path.name)
    compute.check_input(preparation)
    said = {"kind": "onnx", "file": path.name, **hashes(path), "read": compute.output}
    name = f"{path.name}, output {compute.output!r}"
    return LocalModel(name, said, compute, preparation, reading, find=find, batch=batch)


def open_session(path: Path, threads: int = 1) -> onnxruntime.InferenceSession:
    """A session of onnxruntime on the processor, with deterministic kernels.

    Raises:
        ValueError: no readable ONNX file.
    """
    if not path.is_file():
        raise ValueError(f"{path}: no such file; model.path must name an ONNX file")
    if _is_of_torch(path):
        raise ValueError(
            f"{path}: a file of torch, whose loader runs what it holds, and an ONNX file was "
            "expected; export the network with torch.onnx.export, or name a function of your own "
            "that loads it (kind: python)"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.use_deterministic_compute = True
    options.log_severity_level = _ERRORS_ONLY + 1
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's have no class in common but this
        raise ValueError(
            f"{path}: no ONNX model that onnxruntime {onnxruntime.__version__} can read "
            f"({_first_line(error)})"
        ) from None


def _is_of_torch(path: Path) -> bool:
    """Whether a file has such a name, or is a zip file, as torch's all are, and ONNX's none."""
    with path.open("rb") as stream:
        return path.suffix.lower() in _OF_TORCH or stream.read(4) == b"PK\x03\x04"


def hashes(path: Path) -> dict[str, str]:
    """SHA-256 of a file, and of the weights that large exports leave beside it."""
    beside = path.with_name(f"{path.name}.data")
    files = {"sha256": path} | ({"data_sha256": beside} if beside.is_file() else {})
    return {name: lineage.file_hash(one) for name, one in files.items()}


class OnnxNetwork:
    """One input, one output of a session: prepared images (n, …) → raw outputs (n, …)."""

    def __init__(self, session: onnxruntime.InferenceSession, output: str | int, name: str) -> None:
        self._session, self._name = session, name
        inputs = session.get_inputs()
        if len(inputs) != 1:
            raise ValueError(
                f"{name}: {len(inputs)} inputs ({', '.join(one.name for one in inputs)}), "
                "a model of one image each was expected"
            )
        self._input = inputs[0]
        if self._input.type not in _TYPES:
            raise ValueError(
                f"{name}: input {self._input.name!r} takes {self._input.type}, "
                f"one of {', '.join(_TYPES)} was expected"
            )
        self.output = _named_output([one.name for one in session.get_outputs()], output, name)

    def check_input(self, preparation: Preparation) -> None:
        """Raise ValueError if the network wants images of another shape or range than it gets."""
        shape = self._input.shape
        if len(shape) != 4:
            raise ValueError(
                f"{self._name}: input {self._input.name!r} has the shape {shape}, images "
                "(n, 3, height, width) or (n, height, width, 3) were expected"
            )
        size, nchw = preparation.size, preparation.layout == "nchw"
        gets = (None, 3, size, size) if nchw else (None, size, size, 3)
        if all(
            wanted == got or not isinstance(wanted, int) or got is None
            for wanted, got in zip(shape, gets, strict=True)
        ):
            self._check_range(preparation)
            return
        places = "input.size" if shape[1 if nchw else 3] == 3 else "input.layout"
        raise ValueError(
            f"{self._name}: input {self._input.name!r} takes {shape}, but the preparation gives "
            f"{['n', *(side or 'any' for side in gets[1:])]}; change {places}"
        )

    def _check_range(self, preparation: Preparation) -> None:
        """Raise ValueError if rounding to whole numbers would leave nothing of the images."""
        ends = preparation.ends()
        if _TYPES[self._input.type] is np.uint8 and not np.allclose(ends, [[0], [255]], atol=1):
            raise ValueError(
                f"{self._name}: input {self._input.name!r} takes whole numbers from 0 to 255, but "
                f"the preparation gives {ends.min():.4g} to {ends.max():.4g}; set input.range to "
                "[0, 255], without input.mean and input.std"
            )

    def __call__(self, ready: np.ndarray) -> np.ndarray:
        kind = _TYPES[self._input.type]
        if kind is np.uint8:
            ready = ready.round().clip(0, 255)
        ready = ready.astype(kind)
        fixed = self._input.shape[0]
        size = fixed if isinstance(fixed, int) else max(len(ready), 1)
        parts = [
            self._run(ready[at : at + size], size if isinstance(fixed, int) else None)
            for at in range(0, len(ready), size)
        ]
        return np.concatenate(parts)

    def _run(self, ready: np.ndarray, fixed: int | None) -> np.ndarray:
        """One batch; filled up with its last image where the file wants so many."""
        n = len(ready)
        if fixed is not None and n < fixed:
            ready = np.concatenate([ready, np.repeat(ready[-1:], fixed - n, 0)])
        try:
            found = self._session.run([self.output], {self._input.name: ready})[0]
        except Exception as error:  # as above
            raise ValueError(
                f"{self._name}: failed on images of the shape {list(ready.shape)} "
                f"({_first_line(error)})"
            ) from None
        return found if fixed is None or found.shape[:1] != (fixed,) else found[:n]


def _named_output(names: list[str], output: str | int, name: str) -> str:
    number = isinstance(output, int) and not isinstance(output, bool)
    if number and 0 <= output < len(names):
        return names[output]
    if output in names:
        return str(output)
    raise ValueError(f"{name}: no output {output!r}; output.name must be one of {', '.join(names)}")


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
