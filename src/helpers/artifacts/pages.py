"""Executed pages: where they stand, what they were made from, and whether that still holds.

An executed page has a record beside it. A page draws, so it is stale where its stage is, and also
where only its figures' code has changed, or an example audit that it names.
"""

import json
import re
from pathlib import Path
from typing import Any

from faceaudit.utils.files import file_hash, hash_of_hashes, state, write_json
from helpers.artifacts import lineage, manifests

PAGE_RECORD = "page.json"
EXECUTOR = [lineage.ROOT / "tools" / name for name in ("execute.py", "kernels.py")]
_OF_PAGE = {"code", "parameters", "shows", "sha256", "state", "study"}
_NAMED = re.compile(
    r'"(audits|src/faceaudit/examples|book|benchmarks/results)(?:/|" / ")([\w./-]+)"'
)


def executed_notebook(page: str, profile: str) -> Path:
    """Path of the executed notebook of a page."""
    return manifests.root() / profile / page / f"{page}.ipynb"


def page_basis(page: str, profile: str) -> dict[str, Any]:
    """What a page is made from at this moment: hashes of its code, and the profile's values."""
    code = lineage.sources(page) | lineage.hashes_of_files(
        [*EXECUTOR, *named_files(lineage.source_of(page))]
    )
    return {"code": code, "parameters": vars(lineage.load_profile(profile))}


def named_files(source: Path) -> list[Path]:
    """Existing files that a notebook names, as "audits/own.yml" or "book" / "papers.csv"."""
    names = {*_NAMED.findall(source.read_text(encoding="utf-8"))}
    return sorted(path for name in names if (path := lineage.ROOT.joinpath(*name)).is_file())


def record_page(
    page: str, profile: str, made_from: dict[str, Any], study: str | None = None
) -> None:
    """Write the record of an executed page.

    Args:
        page: name of the notebook.
        profile: of the run.
        made_from: as of `page_basis`, before the page ran.
        study: audit file that the page shows in place of the example; None for the example.
    """
    path = executed_notebook(page, profile)
    page_record = made_from | {
        "shows": _shows(page, profile),
        "sha256": file_hash(path),
        "state": state(path),
        "study": study,
    }
    write_json(path.with_name(PAGE_RECORD), page_record)


def why_page_is_stale(page: str, profile: str) -> str | None:
    """Say why a page must be run again; None if it need not be."""
    if page in lineage.stages() and (reason := manifests.why_stage_is_stale(page, profile)):
        return reason
    path = executed_notebook(page, profile)
    now = page_basis(page, profile)
    shows = _shows(page, profile)
    try:
        then = json.loads(path.with_name(PAGE_RECORD).read_text(encoding="utf-8"))
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
    """Stage → one hash over all its files, of the stages whose results a page shows.

    A page that is a stage shows its own, whose manifest covers what it reads. Any other page shows
    all stages that it reads.
    """
    stages = [page] if page in lineage.stages() else lineage.inputs(lineage.source_of(page))
    hashes = {}
    for stage in stages:
        try:
            files = manifests.read_manifest(stage, profile)["files"]
        except manifests.ArtifactError:
            files = {}
        hashes[stage] = hash_of_hashes({name: files[name]["sha256"] for name in sorted(files)})
    return hashes
