"""Records of executed pages: what a notebook was run with, so that only stale ones run again.

A page draws, so it is stale where its stage is, and also where only its figures' code has changed,
or a file of `audits/` that it names.
The record stands beside the executed notebook and is written after it. Every chapter has one.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from helpers.artifacts import lineage, manifests, profiles
from helpers.artifacts.stage import atomic

RECORD = "page.json"
EXECUTOR = tuple(lineage.ROOT / "tools" / name for name in ("execute.py", "kernels.py"))
"""What turns a notebook into a page."""
_AUDITS = re.compile(r'"audits(?:/|" / ")([\w.-]+)"')


def executed(page: str, profile: str) -> Path:
    """Where the executed notebook of a page stands."""
    return manifests.root() / profile / page / f"{page}.ipynb"


def basis(page: str, profile: str) -> dict[str, Any]:
    """What a page is made from at this moment: code, the profile's values, the stages it reads."""
    source = lineage.source_of(page)
    return {
        "code": lineage.sources(page) | lineage.hashes([*EXECUTOR, *audits(source)]),
        "parameters": asdict(profiles.load(profile)),
        "stages": {stage: _content(stage, profile) for stage in lineage.inputs(source)},
    }


def audits(source: Path) -> list[Path]:
    """Files that are there and a notebook names as "audits/own.yml" or "audits" / "own.yml"."""
    named = _AUDITS.findall(source.read_text(encoding="utf-8"))
    return sorted(path for name in {*named} if (path := lineage.ROOT / "audits" / name).is_file())


def record(page: str, profile: str, made_from: dict[str, Any], study: str | None = None) -> None:
    """Remember what an executed page was made from.

    With the study of somebody's own, where the page shows that in place of the example.
    """
    path = executed(page, profile)
    entry = {
        **made_from,
        "own": _content(page, profile) if page in lineage.stages() else "",
        "sha256": lineage.file_hash(path),
        "state": lineage.state(path),
        "study": study,
    }
    with atomic(path.with_name(RECORD)) as temporary:
        temporary.write_text(json.dumps(entry, indent=1) + "\n", encoding="utf-8")


def read(page: str, profile: str) -> dict[str, Any]:
    """The record of a page; empty if there is none that can be read."""
    try:
        entry = json.loads(executed(page, profile).with_name(RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return entry if isinstance(entry, dict) else {}


def why_stale(page: str, profile: str) -> str | None:
    """Say why a page must be run again; None if it need not be.

    Raises:
        ValueError: no such page.
    """
    if page in lineage.stages() and (reason := manifests.why_stale(page, profile)):
        return reason
    path, then, now = executed(page, profile), read(page, profile), basis(page, profile)
    if not path.is_file() or not then.keys() >= {*now, "own", "sha256", "state"}:
        return f"{path} is not there, or was not finished"
    if not manifests.intact(path, then):
        return f"{path} is not as it was left"
    if then.get("study"):
        return f"it shows the study {then['study']} and not the example"
    if reason := manifests.changed_code(then["code"], now["code"]):
        return reason
    if then["parameters"] != now["parameters"]:
        return f"profiles/{profile}.yml has other values than it had"
    if page in lineage.stages():  # its manifest has judged what it read
        own = _content(page, profile)
        return None if own == then["own"] else "its files were made again outside of the runner"
    changed = [
        stage for stage, content in now["stages"].items() if then["stages"].get(stage) != content
    ]
    return f"made from another {', '.join(changed)} than there is now" if changed else None


def _content(stage: str, profile: str) -> str:
    """One hash over all files that a stage left; empty if it is not finished."""
    try:
        files = manifests.read(stage, profile)["files"]
    except manifests.ArtifactError:
        return ""
    return lineage.digest({name: entry["sha256"] for name, entry in sorted(files.items())})
