"""Manifests: what each stage left, what it was made from, and whether that still holds.

One rule says what is stale, `why_stale`, and it goes by content alone. The runner makes those
stages again; a chapter that opens an earlier one refuses it with the same words.

An executed page has a record beside it. A page draws, so it is stale where its stage is, and also
where only its figures' code has changed, or a file of `audits/` that it names.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from helpers.artifacts import lineage

MANIFEST = "manifest.json"  # the hashes of a finished stage
RESULTS = "results.json"  # a stage's headline numbers
RECORD = "page.json"
EXECUTOR = [lineage.ROOT / "tools" / name for name in ("execute.py", "kernels.py")]
_OF_PAGE = {"code", "parameters", "shows", "sha256", "state", "study"}
_RECORDED = ("torch", "numpy", "numba", "pandas", "scikit-learn", "scipy", "statsmodels")
_AUDITS = re.compile(r'"audits(?:/|" / ")([\w.-]+)"')


class ArtifactError(RuntimeError):
    """An artifact is missing, damaged or stale; the message says which and what to run."""


def root() -> Path:
    """Find the folder of all artifacts: `artifacts/` of the repository, or `$HELPERS_ARTIFACTS`.

    Returns:
        Its path.
    """
    return Path(os.environ.get("HELPERS_ARTIFACTS") or lineage.ROOT / "artifacts")


def read(stage: str, profile: str) -> dict[str, Any]:
    """The manifest of a finished stage, whether or not it still fits; ArtifactError without one."""
    path = root() / profile / stage / MANIFEST
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArtifactError(f"stage {stage} ({profile}) has not finished: no {path}") from None
    except ValueError as error:
        raise ArtifactError(f"{path} is damaged ({error})") from None


def why_stale(stage: str, profile: str) -> str | None:
    """Say why a stage must be made again; None if it is as its code and its inputs want it.

    Args:
        stage: for example "03_direction_fitting".
        profile: whose artifacts.

    Returns:
        The first reason found, as a sentence without a full stop, or None.
    """
    try:
        manifest, sizes = read(stage, profile), vars(lineage.load_profile(profile))
        return (
            _other(f"profile {profile}: ", manifest["parameters"], sizes)
            or changed_code(manifest["source"], lineage.sources(stage, drawing=False))
            or _other("", manifest["versions"], versions())
            or _other_inputs(manifest["inputs"], profile)
            or _lost(stage, manifest["files"], profile)
        )
    except ArtifactError as error:
        return str(error)


def changed_code(then: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Which files of code are others than those that something was made by, in words."""
    files = [path for path in {**then, **now} if then.get(path) != now.get(path)]
    return f"made by other code: {', '.join(files)}" if files else None


def intact(path: Path, recorded: Mapping[str, Any]) -> bool:
    """Whether a file has the content that its manifest recorded.

    A file whose state is the recorded one is not read; a copy has another, and is.
    """
    same = list(lineage.state(path)) == recorded.get("state")
    return same or lineage.file_hash(path) == recorded["sha256"]


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


def _lost(stage: str, files: Mapping[str, Any], profile: str) -> str | None:
    for name, entry in files.items():
        path = root() / profile / stage / name
        if not path.is_file() or not intact(path, entry):
            return f"{path} is gone or damaged: its content is not what the stage left"
    return None


# --- pages


def executed(page: str, profile: str) -> Path:
    """Where the executed notebook of a page stands."""
    return root() / profile / page / f"{page}.ipynb"


def basis(page: str, profile: str) -> dict[str, Any]:
    """What a page is made from at this moment: code, and the profile's values."""
    code = lineage.sources(page) | lineage.hashes([*EXECUTOR, *audits(lineage.source_of(page))])
    return {"code": code, "parameters": vars(lineage.load_profile(profile))}


def audits(source: Path) -> list[Path]:
    """Files that are there and a notebook names as "audits/own.yml" or "audits" / "own.yml"."""
    named = _AUDITS.findall(source.read_text(encoding="utf-8"))
    return sorted(path for name in {*named} if (path := lineage.ROOT / "audits" / name).is_file())


def record(page: str, profile: str, made_from: dict[str, Any], study: str | None = None) -> None:
    """Remember what an executed page was made from, and what study it shows for the example."""
    path = executed(page, profile)
    left = {"sha256": lineage.file_hash(path), "state": lineage.state(path), "study": study}
    write_json(path.with_name(RECORD), {**made_from, "shows": _shows(page, profile), **left})


def why_page_is_stale(page: str, profile: str) -> str | None:
    """Say why a page must be run again; None if it need not be."""
    if page in lineage.stages() and (reason := why_stale(page, profile)):
        return reason
    path, now, shows = executed(page, profile), basis(page, profile), _shows(page, profile)
    try:
        then = json.loads(path.with_name(RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        then = {}
    if not path.is_file() or not then.keys() >= _OF_PAGE:
        return f"{path} is not there, or was not finished"
    if not intact(path, then):
        return f"{path} is not as it was left"
    if then["study"]:
        return f"it shows the study {then['study']} and not the example"
    changed = [stage for stage, content in shows.items() if then["shows"].get(stage) != content]
    return (
        changed_code(then["code"], now["code"])
        or _other(f"profile {profile}: ", then["parameters"], now["parameters"])
        or (f"it shows another {', '.join(changed)} than there is now" if changed else None)
    )


def _shows(page: str, profile: str) -> dict[str, str]:
    """One hash over all files of each stage of which a page tells.

    That is its own, whose manifest judges what it reads; a page without one tells of all it reads.
    """
    own = page in lineage.stages()
    found = {}
    for stage in [page] if own else lineage.inputs(lineage.source_of(page)):
        try:
            files = read(stage, profile)["files"]
        except ArtifactError:
            files = {}
        found[stage] = lineage.digest({name: files[name]["sha256"] for name in sorted(files)})
    return found


# --- files that appear whole


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path` to write to; it replaces `path` only on success.

    Args:
        path: of the file that is to appear whole or not at all.

    Yields:
        The temporary path.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())  # so that a power cut leaves the old or the new
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write plain values to a file that appears whole."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


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
