"""Manifests: what each stage left, what it was made from, and whether that still holds.

One rule says what is stale, `why_stage_is_stale`, and it goes by content alone. The runner makes
those stages again; a chapter that opens an earlier one refuses it with the same words.
"""

import json
import os
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from faceaudit.utils.files import file_hash, state
from helpers.artifacts import lineage

MANIFEST = "manifest.json"  # the hashes of a finished stage
RESULTS = "results.json"  # a stage's headline numbers
_RECORDED = ("torch", "numpy", "numba", "pandas", "scikit-learn", "scipy", "statsmodels")


class ArtifactError(RuntimeError):
    """An artifact is missing, damaged or stale; the message says which and what to run."""


def root() -> Path:
    """Find the folder of all artifacts: `artifacts/` of the repository, or `$HELPERS_ARTIFACTS`.

    Returns:
        Its path.
    """
    return Path(os.environ.get("HELPERS_ARTIFACTS") or lineage.ROOT / "artifacts")


def read_manifest(stage: str, profile: str) -> dict[str, Any]:
    """The manifest of a finished stage, stale or not; ArtifactError if missing or damaged."""
    path = root() / profile / stage / MANIFEST
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArtifactError(f"stage {stage} ({profile}) has not finished: no {path}") from None
    except ValueError as error:
        raise ArtifactError(f"{path} is damaged ({error})") from None


def why_stage_is_stale(stage: str, profile: str) -> str | None:
    """Say why a stage must be made again.

    Args:
        stage: for example "03_direction_fitting".
        profile: whose artifacts.

    Returns:
        The first reason, as a sentence without a full stop; None where code, inputs and files are
        those of the manifest.
    """
    try:
        manifest = read_manifest(stage, profile)
        sizes = vars(lineage.load_profile(profile))
        return (
            changed_value(f"profile {profile}: ", manifest["parameters"], sizes)
            or changed_code(manifest["source"], lineage.sources(stage, drawing=False))
            or changed_value("", manifest["versions"], versions())
            or _other_inputs(manifest["inputs"], profile)
            or _lost(stage, manifest["files"], profile)
        )
    except ArtifactError as error:
        return str(error)


def changed_code(then: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Name the files of code that differ between two dicts, path → hash; None without one."""
    files = [path for path in {**then, **now} if then.get(path) != now.get(path)]
    return f"made by other code: {', '.join(files)}" if files else None


def intact(path: Path, recorded: Mapping[str, Any]) -> bool:
    """Whether a file has the content that its manifest recorded.

    A file whose state is the recorded one is not read; a copy has another, and is.
    """
    same = list(state(path)) == recorded.get("state")
    return same or file_hash(path) == recorded["sha256"]


@cache
def versions() -> dict[str, str]:
    """Versions of the packages that results depend on."""
    return {package: metadata.version(package) for package in _RECORDED}


def rerun(profile: str) -> str:
    """The advice to run the book again, for messages."""
    return f"run `make reproduce PROFILE={profile}`"


def changed_value(where: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Describe the first value that differs between two dicts; None if there is none.

    Args:
        where: a text that stands before the name.
        then: name → value when something was made.
        now: name → value at present.
    """
    for name in {**then, **now}:
        if then.get(name) != now.get(name):
            return f"{where}{name} is {now.get(name)} now and was {then.get(name)}"
    return None


def _other_inputs(inputs: Mapping[str, Mapping[str, str]], profile: str) -> str | None:
    """Name the first input whose hash is another now; None if there is none."""
    for stage, files in inputs.items():
        now = read_manifest(stage, profile)["files"]
        for name, sha256 in files.items():
            if now.get(name, {}).get("sha256") != sha256:
                return f"made from another {stage}/{name} than there is now"
    return None


def _lost(stage: str, files: Mapping[str, Any], profile: str) -> str | None:
    """Name the first file of a stage that is missing or damaged; None if there is none."""
    for name, entry in files.items():
        path = root() / profile / stage / name
        if not path.is_file() or not intact(path, entry):
            return f"{path} is gone or damaged: its content is not what the stage left"
    return None


def sweep(folder: Path) -> None:
    """Remove temporary files below a folder that killed processes left there.

    Args:
        folder: whose `atomic` files of processes that are no more are removed.
    """
    import psutil  # seldom needed

    # Where no init reaps it, a killed process stays in the table as a zombie.
    dead = (None, psutil.STATUS_ZOMBIE)
    states = {
        str(process.pid): process.info["status"] for process in psutil.process_iter(["status"])
    }
    for path in folder.rglob(".*.tmp"):
        owner = path.name.split(".")[-2]
        if owner.isdecimal() and states.get(owner) in dead:
            path.unlink(missing_ok=True)
