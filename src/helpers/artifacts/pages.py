"""Executed pages: where they stand, what they were made from, and whether that still holds.

An executed page has a record beside it. A page draws, so it is stale where its stage is, and also
where only its figures' code has changed, or a file of `audits/` that it names.
"""

import json
import re
from pathlib import Path
from typing import Any

from faceaudit.utils.files import file_hash, hash_of_hashes, state, write_json
from helpers.artifacts import lineage, manifests

RECORD = "page.json"
EXECUTOR = [lineage.ROOT / "tools" / name for name in ("execute.py", "kernels.py")]
_OF_PAGE = {"code", "parameters", "shows", "sha256", "state", "study"}
_NAMED = re.compile(r'"(audits|book|benchmarks/results)(?:/|" / ")([\w.-]+)"')


def executed(page: str, profile: str) -> Path:
    """Where the executed notebook of a page stands."""
    return manifests.root() / profile / page / f"{page}.ipynb"


def basis(page: str, profile: str) -> dict[str, Any]:
    """What a page is made from at this moment: code, and the profile's values."""
    code = lineage.sources(page) | lineage.hashes([*EXECUTOR, *named(lineage.source_of(page))])
    return {"code": code, "parameters": vars(lineage.load_profile(profile))}


def named(source: Path) -> list[Path]:
    """Files that are there and a notebook names, as "audits/own.yml" or "book" / "papers.csv"."""
    names = {*_NAMED.findall(source.read_text(encoding="utf-8"))}
    return sorted(path for name in names if (path := lineage.ROOT.joinpath(*name)).is_file())


def record(page: str, profile: str, made_from: dict[str, Any], study: str | None = None) -> None:
    """Remember what an executed page was made from, and what study it shows for the example."""
    path = executed(page, profile)
    left = {"sha256": file_hash(path), "state": state(path), "study": study}
    shown = {"shows": _shows(page, profile)}
    write_json(path.with_name(RECORD), made_from | shown | left)


def why_stale(page: str, profile: str) -> str | None:
    """Say why a page must be run again; None if it need not be."""
    if page in lineage.stages() and (reason := manifests.why_stale(page, profile)):
        return reason
    path, now, shows = executed(page, profile), basis(page, profile), _shows(page, profile)
    try:
        then = json.loads(path.with_name(RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        then = {}
    if not path.is_file() or not then.keys() >= _OF_PAGE:
        return f"{path} is not there, or was not finished"
    if not manifests.intact(path, then):
        return f"{path} is not as it was left"
    if then["study"]:
        return f"it shows the study {then['study']} and not the example"
    changed = [stage for stage, content in shows.items() if then["shows"].get(stage) != content]
    return (
        manifests.changed_code(then["code"], now["code"])
        or manifests.changed_value(f"profile {profile}: ", then["parameters"], now["parameters"])
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
            files = manifests.read(stage, profile)["files"]
        except manifests.ArtifactError:
            files = {}
        found[stage] = hash_of_hashes({name: files[name]["sha256"] for name in sorted(files)})
    return found
