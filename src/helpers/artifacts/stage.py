"""Stage folders: what each chapter leaves for the next, and the proof that it still fits.

`artifacts/<profile>/<stage>/` holds a stage's files, its headline numbers (`results.json`) and,
written last, `manifest.json`: hashes of every file, of the code and of the stages read. A folder
without a manifest is unfinished and cannot be read; its finished parts are reused when the stage
runs again. Every file appears by renaming, so none is ever half-written. Every chapter opens one.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from helpers.artifacts import lineage, manifests, profiles
from helpers.artifacts.manifests import MANIFEST, RESULTS, ArtifactError, rerun, root


def load(stage: str, name: str, profile: str, columns: Sequence[str] | None = None) -> Any:
    """Read one file of a finished stage, after checking that it is what the stage left.

    Args:
        stage: for example "03_direction_fitting".
        name: file in the stage's folder. `.parquet` is returned as a DataFrame, `.json` as
            parsed, `.npz` as a dict of arrays, `.npy` as a read-only memory map, anything else as
            its path.
        profile: whose artifacts.
        columns: of a `.parquet`, to read no others; by default all.

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
        helpers.artifacts.manifests.ArtifactError: 07_pruning (smoke) cannot be read: ...
    """
    recorded = manifests.checked(stage, profile)["files"]
    if name not in recorded:
        raise ArtifactError(
            f"stage {stage} ({profile}) left no {name}; it left {', '.join(recorded)}"
        )
    path = root() / profile / stage / name
    if not manifests.intact(path, recorded[name]):
        raise ArtifactError(
            f"{path} is damaged: its content is not what {stage} left; "
            f"delete it and {rerun(profile)}"
        )
    from helpers.artifacts import formats  # pandas, which judging a stage does not need

    return formats.read(path, columns)


class Stage:
    """The running stage: reads earlier stages, writes only its own folder.

    Opening a stage removes its manifest, so nobody reads it before `finish`.

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
        self._train = _networks_in_use(name, profile)
        for stale in (MANIFEST, RESULTS):
            (self.folder / stale).unlink(missing_ok=True)
        self._source = lineage.sources(name, drawing=False)
        self._inputs: dict[str, dict[str, str]] = {}
        self._files: dict[str, dict[str, Any]] = {}

    def load(self, stage: str, name: str, columns: Sequence[str] | None = None) -> Any:
        """Read a file of an earlier stage (see `load`) and record it as an input."""
        value = load(stage, name, self.profile, columns)
        recorded = manifests.read(stage, self.profile)["files"][name]
        self._inputs.setdefault(stage, {})[name] = recorded["sha256"]
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
        from helpers.artifacts import formats  # as in `load`

        path = self.path(name)
        if path.suffix not in formats.WRITERS:
            raise ValueError(f"cannot save {name}: expected one of {', '.join(formats.WRITERS)}")
        with atomic(path) as temporary:
            formats.WRITERS[path.suffix](temporary, value)
        self._files[name].update(formats.size(value))
        return path

    def finish(self, results: Mapping[str, Any]) -> dict[str, Any]:
        """Write `results.json` with the stage's headline numbers, then the manifest.

        Raises:
            ArtifactError: a promised file was never written, or the code was edited meanwhile, so
                that nobody can say which version made the files.
        """
        if edited := manifests.changed_code(
            self._source, lineage.sources(self.name, drawing=False)
        ):
            raise ArtifactError(f"{self.name} is {edited} while it ran; {rerun(self.profile)}")
        self.save(RESULTS, results)
        for name, entry in self._files.items():
            if not (self.folder / name).is_file():
                raise ArtifactError(f"stage {self.name} promised {name} but did not write it")
            entry["state"] = lineage.state(self.folder / name)  # before it is read
            entry["sha256"] = lineage.file_hash(self.folder / name)
        manifest = {
            "stage": self.name,
            "profile": self.profile,
            "parameters": self.parameters,
            "source": self._source,
            "inputs": self._inputs,
            "files": self._files,
            "versions": manifests.versions(),
            "device": self.device,
            "seed": self.seed,
            "train": self._train,
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
        }
        with atomic(self.folder / MANIFEST) as temporary:
            temporary.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        return dict(results)


def _networks_in_use(stage: str, profile: str) -> int:
    """1 if a stage's networks are trained here, 0 if they are those that ship."""
    if asked := os.environ.get("TRAIN"):
        return int(asked)
    try:
        return manifests.read(stage, profile)["train"]
    except ArtifactError:
        return 0


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path` to write to; it replaces `path` only on success.

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
        _sync(temporary)
        os.replace(temporary, path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Have a file or folder written to the disk, so that a power cut leaves the old or the new."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep(folder: Path) -> None:
    """Remove temporary files below a folder that killed processes left there.

    Args:
        folder: whose `atomic` files of processes that are no more are removed.
    """
    import psutil  # seldom needed

    for path in folder.rglob(".*.tmp"):
        owner = path.name.split(".")[-2]
        if owner.isdecimal() and not psutil.pid_exists(int(owner)):
            path.unlink(missing_ok=True)
