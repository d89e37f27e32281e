"""Stage folders: what each chapter leaves for the next, and the proof that it still fits.

`artifacts/<profile>/<stage>/` holds a stage's files, its headline numbers (`results.json`) and,
written last, `manifest.json`: hashes of every file, of the code and of the stages read. A folder
without a manifest is unfinished and cannot be read; its finished parts are reused when the stage
runs again. Every file appears by renaming, so none is ever half-written.

The runner checks stages and opens no table. So pandas and numpy are imported only where tables and
arrays are read or written.
"""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from faceaudit.utils import files
from faceaudit.utils.files import atomic
from helpers.artifacts import lineage, manifests
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
    """
    if reason := manifests.why_stage_is_stale(stage, profile):
        raise ArtifactError(f"{stage} ({profile}) cannot be read: {reason}; {rerun(profile)}")
    recorded = manifests.read_manifest(stage, profile)["files"]
    if name not in recorded:
        files_left = ", ".join(recorded)
        raise ArtifactError(f"stage {stage} ({profile}) left no {name}; it left {files_left}")
    return _read_file(root() / profile / stage / name, columns)


def _read_file(path: Path, columns: Sequence[str] | None) -> Any:
    import numpy as np
    import pandas as pd

    match path.suffix:
        case ".parquet":
            return pd.read_parquet(path, columns=None if columns is None else list(columns))
        case ".json":
            return json.loads(path.read_text(encoding="utf-8"))
        case ".npy":
            return np.load(path, mmap_mode="r")
        case ".npz":
            with np.load(path) as arrays:
                return dict(arrays)
    return path


def _write_file(path: Path, suffix: str, value: Any) -> None:
    """Write a value in the format of a suffix."""
    import numpy as np

    if suffix == ".parquet":
        value.to_parquet(path)
    elif suffix == ".json":
        # Results are full of numpy's scalars and arrays.
        text = json.dumps(value, indent=1, default=lambda array: array.tolist())
        path.write_text(text + "\n", encoding="utf-8")
    else:
        with path.open("wb") as stream:  # numpy would append its suffix to the temporary name
            if suffix == ".npy":
                np.save(stream, value)
            else:
                np.savez(stream, **value)


class Stage:
    """The running stage: reads earlier stages, writes only its own folder.

    Opening a stage removes its manifest, so it cannot be read before `finish`.

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
    """

    def __init__(self, name: str, *, profile: str, device: str, seed: int) -> None:
        self.name = name
        self.profile = profile
        self.device = device
        self.seed = seed
        self.parameters = vars(lineage.load_profile(profile))
        self.folder = root() / profile / name
        self.folder.mkdir(parents=True, exist_ok=True)
        # Before the manifest goes, which says whether networks were trained here.
        self._about = {
            "stage": name,
            "profile": profile,
            "device": device,
            "seed": seed,
            "train": _networks_in_use(name, profile),
        }
        for stale in (MANIFEST, RESULTS):
            (self.folder / stale).unlink(missing_ok=True)
        self._source = lineage.sources(name, drawing=False)
        self._inputs: dict[str, dict[str, str]] = {}
        self._files: dict[str, dict[str, Any]] = {}

    def load(self, stage: str, name: str, columns: Sequence[str] | None = None) -> Any:
        """Read a file of an earlier stage (see `load`) and record it as an input."""
        value = load(stage, name, self.profile, columns)
        recorded = manifests.read_manifest(stage, self.profile)["files"][name]
        self._inputs.setdefault(stage, {})[name] = recorded["sha256"]
        return value

    def path(self, name: str) -> Path:
        """Path at which the stage may write a file, which becomes part of the manifest."""
        self._files.setdefault(name, {})
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def save(self, name: str, value: Any) -> Path:
        """Write a frame (`.parquet`), JSON (`.json`), array (`.npy`) or dict of arrays (`.npz`)."""
        path = self.path(name)
        with atomic(path) as temporary:
            _write_file(temporary, path.suffix, value)
        return path

    def finish(self, results: Mapping[str, Any]) -> dict[str, Any]:
        """Write `results.json` with the stage's headline numbers, then the manifest.

        Raises:
            ArtifactError: the code was edited meanwhile, so that it is unknown which version made
                the files.
        """
        now = lineage.sources(self.name, drawing=False)
        if edited := manifests.changed_code(self._source, now):
            raise ArtifactError(f"{self.name} is {edited} while it ran; {rerun(self.profile)}")
        self.save(RESULTS, results)
        for name, entry in self._files.items():
            entry["state"] = files.state(self.folder / name)  # before it is read
            entry["sha256"] = files.file_hash(self.folder / name)
        manifest = self._about | {
            "parameters": self.parameters,
            "source": self._source,
            "inputs": self._inputs,
            "files": self._files,
            "versions": manifests.versions(),
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
        }
        files.write_json(self.folder / MANIFEST, manifest)
        return dict(results)


def _networks_in_use(stage: str, profile: str) -> int:
    """1 if a stage's networks are trained here, 0 if they are those that ship."""
    if train := os.environ.get("TRAIN"):
        return int(train)
    try:
        return manifests.read_manifest(stage, profile)["train"]
    except ArtifactError:
        return 0
