"""Tensors of torch, put together from what a pickle says and from raw numbers beside it.

A tensor is written as a storage of numbers and a view into it (offset, sizes, strides). Official
generators keep each storage as bytes in the format that torch used before it wrote zip files. torch
would read these bytes with a second, unrestricted unpickler; here the same machine without calls
reads them. rosinality's files are of that format or zip files as a whole.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.utils.pickle_reading import Name, Persistent, read_pickle
from helpers.utils.pickled_numbers import is_call, misplaced, raw_bytes

BEFORE_ZIP = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9\x20\x6a\xa8P\x19.\x80\x02M\xe9\x03."
"""How files of torch began before 1.6: pickles of a magic number and of the version, 1001."""
ZIP = b"PK\x03\x04"
_ENTRY = b"PK\x01\x02"
"""Before each line of a zip file's directory."""
MOST_PARTS = 8000
"""Of a zip file; files of networks have one a weight. A line of the directory takes 46 bytes there,
and ten times as many in memory."""
_TYPES = {
    **{"FloatStorage": "<f4", "HalfStorage": "<f2", "DoubleStorage": "<f8"},
    **{"BFloat16Storage": "<u2", "LongStorage": "<i8", "IntStorage": "<i4", "ShortStorage": "<i2"},
    **{"CharStorage": "i1", "ByteStorage": "u1", "BoolStorage": "?"},
}
"""numpy's codes; bfloat16, which numpy has not, is the upper half of a float32."""
_WEIGHTS = {np.dtype(code) for code in ("<f4", "<f2", "<f8", "<u2")}
_STORAGE = Name("torch.storage", "_load_from_bytes")
_TENSOR = Name("torch._utils", "_rebuild_tensor_v2")
_PARAMETER = Name("torch._utils", "_rebuild_parameter")

Storages = Callable[[Any], np.ndarray]
"""Key of a storage in a pickle → its numbers."""


class Budget:
    """How many bytes of weights a file may still be asked for: as many as it has.

    Several tensors may claim the same bytes; copies of them could fill the memory.

    Example:
        >>> Budget(10).spend(11)
        Traceback (most recent call last):
        ValueError: tensors that together are larger than the file
    """

    def __init__(self, size: int) -> None:
        self.left = size

    def spend(self, size: int) -> None:
        """Count bytes; ValueError if the file has no more."""
        self.left -= size
        if self.left < 0:
            raise ValueError("tensors that together are larger than the file")


def tensor(value: Any, budget: Budget, storages: Storages | None = None) -> np.ndarray:
    """A tensor of weights, as a view into the file's bytes.

    Args:
        value: what the pickle says of it.
        budget: is charged with its bytes.
        storages: of the file, if they are beside the pickle.

    Returns:
        float32, float16 or float64, or uint16 for bfloat16, see `as_float32`.

    Raises:
        ValueError: it is no tensor of real weights, or larger than its storage.
    """
    if is_call(value, _PARAMETER):
        value = value.arguments[0]
    if not is_call(value, _TENSOR):
        raise misplaced(value, "a tensor")
    storage, offset, size, stride, *_ = value.arguments
    if is_call(storage, _STORAGE):
        content = raw_bytes(storage.arguments[0])
        budget.spend(len(content))
        key, read = read_before_zip(content)
        numbers = read(key)
    elif isinstance(storage, Persistent) and storages is not None:
        numbers = storages(storage)
        budget.spend(numbers.itemsize * _count(size))
    else:
        raise misplaced(storage, "the numbers of a tensor")
    if numbers.dtype not in _WEIGHTS:
        raise ValueError(f"weights of the type {numbers.dtype}, which are no real numbers")
    return _view(numbers, offset, size, stride)


def as_float32(view: np.ndarray) -> np.ndarray:
    """Weights of a view of `tensor` as a contiguous float32 array of its own.

    Raises:
        ValueError: a weight that is not finite.

    Example:
        >>> as_float32(np.array([0x3F80, 0xC000], "<u2")).tolist()
        [1.0, -2.0]
    """
    if view.dtype == np.uint16:
        weights = np.array(view, np.uint32, order="C")
        weights <<= 16
        weights = weights.view(np.float32)
    else:
        with np.errstate(over="ignore"):  # is noticed as a weight that is not finite
            weights = np.array(view, np.float32, order="C")
    if not np.isfinite(weights).all():
        raise ValueError("weights that are not finite")
    return weights


def read_before_zip(content: bytes | bytearray) -> tuple[Any, Storages]:
    """What a file of torch before 1.6 says, and its storages.

    Raises:
        ValueError: the bytes are no such file.
    """
    if not content.startswith(BEFORE_ZIP):
        raise ValueError("numbers that are not in the format of torch")
    stream, keys = io.BytesIO(content), []
    stream.seek(len(BEFORE_ZIP))
    if read_pickle(stream).get("little_endian") is not True:
        raise ValueError("numbers of torch whose bytes are in the other order")
    value = read_pickle(stream, keys)
    types = dict(_described(key) for key in keys)
    order, storages = read_pickle(stream), {}
    start = stream.tell()
    for name in order:
        code, count = types[name]
        written = int.from_bytes(content[start : start + 8], "little")
        end = start + 8 + count * code.itemsize
        if written != count or name in storages:
            raise ValueError(f"a storage of {written} numbers where {count} were announced")
        if end > len(content):
            raise ValueError(f"a storage that ends {end - len(content):,} bytes after the file")
        storages[name] = np.frombuffer(content, code, count, start + 8)
        start = end
    if len(order) != len(types) or start != len(content):
        raise ValueError("storages that are not those that were announced")
    return value, lambda pointer: storages[_described(pointer.key)[0]]


def read_zip(content: bytes) -> tuple[Any, Storages]:
    """What a zip file of torch says, and its storages.

    Raises:
        ValueError: the bytes are no such file, or one with compressed parts.
    """
    if content.count(_ENTRY) > MOST_PARTS:
        raise ValueError(f"a zip file of more than {MOST_PARTS:,} parts")
    archive = _unzipped(zipfile.ZipFile, io.BytesIO(content))
    parts = archive.infolist()
    if any(part.compress_type != zipfile.ZIP_STORED for part in parts):
        raise ValueError("compressed parts, which torch does not write")
    if sum(part.file_size for part in parts) > len(content):
        raise ValueError("parts that together are larger than the file")
    pickles = [name for name in archive.namelist() if name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise ValueError(f"a zip file with {len(pickles)} parts called data.pkl, not with one")
    main = pickles[0]
    root = main.removesuffix("data.pkl")
    order = f"{root}byteorder"
    if order in archive.namelist() and _unzipped(archive.read, order) != b"little":
        raise ValueError("numbers of torch whose bytes are in the other order")
    value = read_pickle(io.BytesIO(_unzipped(archive.read, main)), [])
    kept: dict[str, bytes] = {}

    def storage(pointer: Persistent) -> np.ndarray:
        name, (code, count) = _described(pointer.key)
        if name not in kept:  # many tensors may share a storage
            kept[name] = _unzipped(archive.read, f"{root}data/{name}")
        if len(kept[name]) != count * code.itemsize:
            raise ValueError(f"a storage of {len(kept[name])} bytes for {count} numbers")
        return np.frombuffer(kept[name], code)

    return value, storage


def _unzipped(act: Callable[[Any], Any], argument: Any) -> Any:
    """What an action on a zip file gives; it may find damage in ways of its own."""
    try:
        return act(argument)
    except (zipfile.BadZipFile, KeyError, RuntimeError, struct.error, OSError) as error:
        raise ValueError(f"a damaged zip file ({error})") from None


def _described(key: Any) -> tuple[str, tuple[np.dtype, int]]:
    """Name, type and length of a storage."""
    word, kind, name, _, count, *view = key
    if word != "storage" or view not in ([], [None]):
        raise ValueError("a storage of an unknown form")
    if not isinstance(kind, Name):
        raise misplaced(kind, "the type of a storage")
    if kind.module != "torch" or kind.name not in _TYPES:
        raise ValueError(f"a storage of {str(kind)!r}, which is not read")
    if not isinstance(name, str) or type(count) is not int or not 0 <= count < 2**48:
        raise ValueError("a storage without a name or a length")
    return name, (np.dtype(_TYPES[kind.name]), count)


def _count(size: Any) -> int:
    """Number of elements of a tensor of this size."""
    if type(size) is not tuple or len(size) > 8:
        raise ValueError("a tensor without a size")
    if any(type(side) is not int or not 0 <= side < 2**48 for side in size):
        raise ValueError("a tensor whose size or strides are impossible")
    count = 1
    for side in size:
        count *= side
    return count


def _view(numbers: np.ndarray, offset: Any, size: Any, stride: Any) -> np.ndarray:
    """The tensor's view into its storage, after it has been found to lie inside."""
    count = _count(size)
    _count(stride)
    if type(offset) is not int or offset < 0 or len(stride) != len(size):
        raise ValueError("a tensor whose offset or strides do not fit its size")
    reach = sum((side - 1) * step for side, step in zip(size, stride, strict=True))
    if count > len(numbers) or (count and offset + reach >= len(numbers)) or not count:
        raise ValueError(f"a tensor of size {size} outside of its {len(numbers)} numbers"[:200])
    steps = tuple(step * numbers.itemsize for step in stride)
    return np.lib.stride_tricks.as_strided(numbers[offset:], size, steps, writeable=False)
