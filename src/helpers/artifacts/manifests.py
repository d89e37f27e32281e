"""Manifests: what each stage left, what it was made from, and whether that still holds.

One rule says what is stale, `why_stale`, and it goes by content alone. The runner makes those
stages again; a chapter that opens an earlier one refuses it with the same words.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from helpers.artifacts import lineage, profiles

MANIFEST = "manifest.json"
"""File with the hashes of a finished stage."""
RESULTS = "results.json"
"""File with a stage's headline numbers."""
_FIELDS = {"profile", "parameters", "source", "inputs", "files", "versions", "train"}
_RECORDED = ("torch", "numpy", "numba", "pandas", "scikit-learn", "scipy", "statsmodels")


class ArtifactError(RuntimeError):
    """An artifact is missing, damaged or stale; the message says which and what to run."""


def root() -> Path:
    """Find the folder of all artifacts: `artifacts/` of the repository, or `$HELPERS_ARTIFACTS`.

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
    return Path(os.environ.get("HELPERS_ARTIFACTS") or lineage.ROOT / "artifacts")


def read(stage: str, profile: str) -> dict[str, Any]:
    """The manifest of a finished stage, whether or not it still fits.

    Raises:
        ArtifactError: there is none, or it is damaged.
    """
    path = root() / profile / stage / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArtifactError(f"stage {stage} ({profile}) has not finished: no {path}") from None
    except ValueError as error:
        raise ArtifactError(f"{path} is damaged ({error})") from None
    entries = manifest if isinstance(manifest, dict) else {}
    if missing := sorted(_FIELDS - entries.keys()):
        raise ArtifactError(f"{path} is damaged: it lacks {', '.join(missing)}")
    return entries


def why_stale(stage: str, profile: str) -> str | None:
    """Say why a stage must be made again; None if it is as its code and its inputs want it.

    Args:
        stage: for example "03_direction_fitting".
        profile: whose artifacts.

    Returns:
        The first reason found, as a sentence without a full stop, or None.

    Example:
        >>> import os
        >>> from unittest import mock
        >>> from helpers import artifacts
        >>> with mock.patch.dict(os.environ, HELPERS_ARTIFACTS="elsewhere"):
        ...     artifacts.why_stale("07_pruning", "smoke")  # doctest: +ELLIPSIS
        'stage 07_pruning (smoke) has not finished: no ...'
    """
    try:
        manifest = read(stage, profile)
        return (
            _other(f"profile {profile}: ", manifest["parameters"], asdict(profiles.load(profile)))
            or changed_code(manifest["source"], lineage.sources(stage, drawing=False))
            or _other("", manifest["versions"], versions())
            or _other_inputs(manifest["inputs"], profile)
            or _lost(stage, manifest, profile)
        )
    except ArtifactError as error:
        return str(error)


def changed_code(then: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Which files of code are others than those that something was made by, in words."""
    files = [path for path in {**then, **now} if then.get(path) != now.get(path)]
    return f"made by other code: {', '.join(files)}" if files else None


def checked(stage: str, profile: str) -> dict[str, Any]:
    """The manifest of a stage that is not stale.

    Raises:
        ArtifactError: it is; the message says why, and what to run.
    """
    if reason := why_stale(stage, profile):
        raise ArtifactError(f"{stage} ({profile}) cannot be read: {reason}; {rerun(profile)}")
    return read(stage, profile)


def intact(path: Path, recorded: Mapping[str, Any]) -> bool:
    """Whether a file has the content that its manifest recorded.

    A file whose state is the recorded one is not read; a copy has another, and is.
    """
    if list(lineage.state(path)) == recorded.get("state"):
        return True
    return lineage.file_hash(path) == recorded["sha256"]


@cache
def versions() -> dict[str, str]:
    """Versions of the packages that results depend on."""
    return {package: metadata.version(package) for package in _RECORDED}


def rerun(profile: str) -> str:
    """What to do about it, for messages."""
    return f"run `make reproduce PROFILE={profile}`"


def _other(where: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    for name in {**then, **now}:
        if then.get(name) != now.get(name):
            return f"{where}{name} is {now.get(name)} now and was {then.get(name)}"
    return None


def _other_inputs(inputs: Mapping[str, Mapping[str, str]], profile: str) -> str | None:
    for stage, files in inputs.items():
        now = read(stage, profile)["files"]
        for name, sha256 in files.items():
            if now.get(name, {}).get("sha256") != sha256:
                return f"made from another {stage}/{name} than there is now"
    return None


def _lost(stage: str, manifest: Mapping[str, Any], profile: str) -> str | None:
    for name, entry in manifest["files"].items():
        path = root() / profile / stage / name
        if not path.is_file():
            return f"{path} is gone"
        if not intact(path, entry):
            return f"{path} is damaged: its content is not what the stage left"
    return None
