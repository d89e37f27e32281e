"""Stage folders: what each chapter leaves for the next, and the proof that it still fits.

`artifacts/<profile>/<stage>/` holds a stage's files, its headline numbers (`results.json`) and,
written last, `manifest.json`: hashes of every file, of the code and of the stages read. A folder
without a manifest is unfinished and cannot be read; its finished parts are reused when the stage
runs again. Every file appears by renaming, so none is ever half-written. Every chapter opens one.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.artifacts import lineage, profiles

MANIFEST = "manifest.json"
"""File with the hashes of a finished stage. Serves every chapter, from 01 on."""
RESULTS = "results.json"
"""File with a stage's headline numbers. Serves every chapter, from 01 on."""
_FIELDS = {"id", "profile", "parameters", "source", "inputs", "files"}
_RECORDED = ("torch", "numpy", "pandas", "scikit-learn", "scipy", "statsmodels")


class ArtifactError(RuntimeError):
    """An artifact is missing, damaged or stale; the message says which and what to run.

    Serves every chapter that reads an earlier one, the first of which is 02.

    Example:
        >>> from helpers import artifacts
        >>> issubclass(artifacts.ArtifactError, RuntimeError)
        True
    """


def root() -> Path:
    """Find the folder of all artifacts: `artifacts/` of the repository, or `$HELPERS_ARTIFACTS`.

    Serves every chapter, from 01 on.

    Returns:
        Its path.

    Example:
        >>> import os
        >>> from unittest import mock
        >>> from helpers import artifacts
        >>> with mock.patch.dict(os.environ, HELPERS_ARTIFACTS="elsewhere"):
        ...     str(artifacts.root())
        'elsewhere'
    """
    return Path(os.environ.get("HELPERS_ARTIFACTS", lineage.ROOT / "artifacts"))


def load(stage: str, name: str, profile: str) -> Any:
    """Read one file of a finished stage, after checking that it is what the stage left.

    Serves the landing page and every chapter from 01 on, which read by `Stage.load`.

    Args:
        stage: for example "03_direction_fitting".
        name: file in the stage's folder. `.parquet` is returned as a DataFrame, `.json` as
            parsed, `.npz` as a dict of arrays, `.npy` as a read-only memory map, anything else as
            its path.
        profile: whose artifacts.

    Returns:
        What the file holds, see `name`.

    Raises:
        ArtifactError: the stage is unfinished, the file is missing or damaged, or the stage was
            made with another profile, by other code or from inputs that have changed since.

    Example:
        >>> import os
        >>> from unittest import mock
        >>> from helpers import artifacts
        >>> with mock.patch.dict(os.environ, HELPERS_ARTIFACTS="elsewhere"):
        ...     artifacts.load("07_pruning", "kept.parquet", "smoke")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        helpers.artifacts.stage.ArtifactError: stage 07_pruning (smoke) has not finished: ...
    """
    folder = root() / profile / stage
    manifest = _checked_manifest(stage, profile)
    recorded = manifest["files"].get(name)
    if recorded is None:
        raise ArtifactError(
            f"stage {stage} ({profile}) left no {name}; it left {', '.join(manifest['files'])}"
        )
    path = folder / name
    if not path.is_file():
        raise ArtifactError(f"{path} is missing although its manifest lists it; {_rerun(profile)}")
    if (found := _sha256(path)) != recorded["sha256"]:
        raise ArtifactError(
            f"{path} is damaged: its SHA-256 is {found[:12]}…, the manifest of {stage} says "
            f"{recorded['sha256'][:12]}…; delete the file and {_rerun(profile)}"
        )
    return _READERS.get(path.suffix, Path)(path)


class Stage:
    """The running stage: reads earlier stages, writes only its own folder.

    Opening a stage removes its manifest, so nobody reads it before `finish`. Introduced in chapter
    01.

    Args:
        name: of the notebook or study, for example "01_observational_audit".
        profile: "smoke", "laptop" or "paper".
        device: "cpu" or "cuda", recorded in the manifest.
        seed: of every draw, recorded likewise.

    Attributes:
        folder: where the stage writes.
        parameters: those of the profile.

    Raises:
        ValueError: no such stage or profile.

    Example:
        >>> import os, tempfile
        >>> from unittest import mock
        >>> from helpers.artifacts import Stage
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with mock.patch.dict(os.environ, HELPERS_ARTIFACTS=folder):
        ...         stage = Stage("07_pruning", profile="smoke", device="cpu", seed=1)
        ...         stage.finish({"kept": 0.9})
        {'kept': 0.9}
    """

    def __init__(self, name: str, *, profile: str, device: str, seed: int) -> None:
        self.name, self.profile, self.device, self.seed = name, profile, device, seed
        self.parameters = asdict(profiles.load(profile))
        self.folder = root() / profile / name
        self.folder.mkdir(parents=True, exist_ok=True)
        for stale in (MANIFEST, RESULTS):
            (self.folder / stale).unlink(missing_ok=True)
        self._source = lineage.source_hash(name)
        self._inputs: dict[str, str] = {}
        self._files: dict[str, dict[str, Any]] = {}
        self._started = time.monotonic()

    def load(self, stage: str, name: str) -> Any:
        """Read a file of an earlier stage (see `load`) and record it as an input."""
        value = load(stage, name, self.profile)
        self._inputs[stage] = _checked_manifest(stage, self.profile)["id"]
        return value

    def path(self, name: str) -> Path:
        """Where the stage may write a file of its own; it becomes part of the manifest."""
        self._files.setdefault(name, {})
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def save(self, name: str, value: Any) -> Path:
        """Write a frame (`.parquet`), JSON (`.json`), array (`.npy`) or dict of arrays (`.npz`).

        Raises:
            ValueError: another suffix.
        """
        path = self.path(name)
        if path.suffix not in _WRITERS:
            raise ValueError(f"cannot save {name}: expected one of {', '.join(_WRITERS)}")
        with atomic(path) as temporary:
            _WRITERS[path.suffix](temporary, value)
        if isinstance(value, pd.DataFrame):
            self._files[name] = {"rows": len(value)}
        elif isinstance(value, np.ndarray):
            self._files[name] = {"shape": list(value.shape)}
        return path

    def finish(self, results: Mapping[str, Any]) -> dict[str, Any]:
        """Write `results.json` with the stage's headline numbers, then the manifest.

        Raises:
            ArtifactError: a promised file was never written, or the code was edited meanwhile, so
                that nobody can say which version made the files.
        """
        if lineage.source_hash(self.name) != self._source:
            raise ArtifactError(
                f"the source or helpers of {self.name} were edited while it ran; "
                f"{_rerun(self.profile)}"
            )
        self.save(RESULTS, results)
        for name, entry in self._files.items():
            if not (self.folder / name).is_file():
                raise ArtifactError(f"stage {self.name} promised {name} but did not write it")
            entry["sha256"] = _sha256(self.folder / name)
        identity = {
            "stage": self.name,
            "profile": self.profile,
            "parameters": self.parameters,
            "source": self._source,
            "inputs": self._inputs,
            "files": self._files,
        }
        manifest = {
            "id": hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest(),
            **identity,
            "device": self.device,
            "seed": self.seed,
            "seconds": round(time.monotonic() - self._started, 1),
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
            "versions": {package: metadata.version(package) for package in _RECORDED},
        }
        with atomic(self.folder / MANIFEST) as temporary:
            _write_json(temporary, manifest)
        return dict(results)


def incomplete(profile: str) -> dict[str, str]:
    """List the stages that are not as they were left, and why.

    Serves every chapter, from 01 on: `make reproduce` makes again what is listed.

    Args:
        profile: whose artifacts.

    Returns:
        Stage → reason: no readable manifest, or a file is gone.

    Example:
        >>> from helpers import artifacts
        >>> artifacts.incomplete("no such profile")
        {}
    """
    found = {}
    for folder in sorted(path for path in (root() / profile).glob("*") if path.is_dir()):
        if folder.name not in lineage.stages():
            continue
        try:
            files = _manifest(folder.name, profile)["files"]
        except ArtifactError:
            found[folder.name] = f"no readable {MANIFEST}"
            continue
        if gone := [name for name in files if not (folder / name).is_file()]:
            found[folder.name] = f"no {', '.join(gone)}"
    return found


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path` to write to; it replaces `path` only on success.

    Serves every chapter, from 01 on.

    Args:
        path: of the file that is to appear whole or not at all.

    Yields:
        The temporary path.

    Example:
        >>> import pathlib, tempfile
        >>> from helpers import artifacts
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "x.txt")
        ...     with artifacts.atomic(path) as temporary:
        ...         _ = temporary.write_text("whole")
        ...     path.read_text()
        'whole'
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _checked_manifest(stage: str, profile: str) -> dict[str, Any]:
    """The manifest of a finished stage that still fits its code, profile and inputs."""
    manifest = _manifest(stage, profile)
    where = f"stage {stage} ({profile})"
    if manifest["profile"] != profile:
        raise ArtifactError(f"{where} was made with profile {manifest['profile']}")
    if manifest["parameters"] != asdict(profiles.load(profile)):
        raise ArtifactError(
            f"{where} was made with other values than profiles/{profile}.yml has now; "
            f"{_rerun(profile)}"
        )
    if (now := lineage.source_hash(stage)) != manifest["source"]:
        raise ArtifactError(
            f"{where} was made by other code ({manifest['source'][:12]}…) than its source and "
            f"helpers hold now ({now[:12]}…); {_rerun(profile)}"
        )
    for earlier, identity in manifest["inputs"].items():
        if (now := _manifest(earlier, profile)["id"]) != identity:
            raise ArtifactError(
                f"{where} was made from {earlier} {identity[:12]}…, but {earlier} is now "
                f"{now[:12]}…; {_rerun(profile)}"
            )
    return manifest


def _manifest(stage: str, profile: str) -> dict[str, Any]:
    path = root() / profile / stage / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArtifactError(
            f"stage {stage} ({profile}) has not finished: no {path}; {_rerun(profile)}"
        ) from None
    except json.JSONDecodeError as error:
        raise ArtifactError(
            f"{path} is damaged (line {error.lineno}: {error.msg}); delete it and {_rerun(profile)}"
        ) from None
    missing = _FIELDS - (manifest.keys() if isinstance(manifest, dict) else set())
    if missing:
        raise ArtifactError(
            f"{path} is damaged: it lacks {', '.join(sorted(missing))}; "
            f"delete it and {_rerun(profile)}"
        )
    return manifest


def _rerun(profile: str) -> str:
    return f"run `make reproduce PROFILE={profile}`"


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
_WRITERS: dict[str, Callable[[Path, Any], None]] = {
    ".parquet": lambda path, frame: frame.to_parquet(path),
    ".json": _write_json,
    ".npy": _write_npy,
    ".npz": _write_npz,
}
