"""The formats of a stage's files, which their endings name: tables, arrays and JSON.

Who only judges stages, as the runner does, reads none of them and need not wait for pandas; so this
module is imported by those functions that read or write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


def read(path: Path, columns: Sequence[str] | None = None) -> Any:
    """What a file holds; the path itself if its ending is no format's.

    Args:
        path: of the file.
        columns: of a table, to read no others.
    """
    if columns is not None:
        return pd.read_parquet(path, columns=list(columns))
    return _READERS.get(path.suffix, Path)(path)


def size(value: Any) -> dict[str, Any]:
    """What a manifest says of the size of a table or an array."""
    if isinstance(value, pd.DataFrame):
        return {"rows": len(value)}
    return {"shape": list(value.shape)} if isinstance(value, np.ndarray) else {}


def _read_npz(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as arrays:
        return dict(arrays)


def _plain(value: Any) -> Any:
    """JSON for numpy scalars and arrays, which results are full of."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"cannot write {type(value).__name__} as JSON")


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, default=_plain) + "\n", encoding="utf-8")


def _write_npy(path: Path, value: np.ndarray) -> None:
    # Through a stream: numpy would append .npy to the temporary name.
    with path.open("wb") as stream:
        np.save(stream, value)


def _write_npz(path: Path, value: Mapping[str, np.ndarray]) -> None:
    with path.open("wb") as stream:
        np.savez(stream, **value)


_READERS: dict[str, Callable[[Path], Any]] = {
    ".parquet": pd.read_parquet,
    ".json": lambda path: json.loads(path.read_text(encoding="utf-8")),
    ".npz": _read_npz,
    ".npy": lambda path: np.load(path, mmap_mode="r"),
}
WRITERS: dict[str, Callable[[Path, Any], None]] = {
    ".parquet": lambda path, frame: frame.to_parquet(path),
    ".json": _write_json,
    ".npy": _write_npy,
    ".npz": _write_npz,
}
"""Ending → function that writes a value to a path."""
