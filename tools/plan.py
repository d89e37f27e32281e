"""Say what a run is about to do and how long that takes, before it starts.

Reads the recipe lines of `make --dry-run` on standard input. Times are the longest seen on this
machine (a resumed run is shorter; a study's are in its manifest), otherwise those measured on two
CPU cores (profiles/seconds.json).
"""

from __future__ import annotations

import json
import re
import sys

from helpers.artifacts import MANIFEST, atomic, root
from helpers.artifacts.lineage import ROOT, STUDIES

MEASURED = ROOT / "profiles" / "seconds.json"
SEEN = "seconds.json"
_STEP = re.compile(r"tools/(?:execute\.py notebooks/(\w+)\.py|(book)\.py)|-m helpers\.([\w.]+)")


def known_seconds(profile: str) -> dict[str, float]:
    """Seconds per step: measured for everybody, overridden by this machine's own."""
    seconds = json.loads(MEASURED.read_text(encoding="utf-8")).get(profile, {})
    manifests = {study: root() / profile / study / MANIFEST for study in STUDIES}
    for study, path in manifests.items():
        if path.is_file():
            last = json.loads(path.read_text(encoding="utf-8"))["seconds"]
            seconds[study] = max(last, seconds.get(study, 0))
    return seconds | seen(profile)


def seen(profile: str) -> dict[str, float]:
    """Longest seconds per step on this machine."""
    path = root() / profile / SEEN
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def plan(dry_run: str, profile: str) -> str:
    """One sentence on the steps to come."""
    made_by = {module: stage for stage, module in STUDIES.items()}
    found = ("".join(parts) for parts in _STEP.findall(dry_run))
    steps = list(dict.fromkeys(made_by.get(step, step) for step in found))
    if not steps:
        return f"{profile}: nothing to do, the book is up to date"
    seconds = known_seconds(profile)
    text = f"{profile}: {len(steps)} steps to run ({', '.join(steps)}), "
    if unknown := [step for step in steps if step not in seconds]:
        return text + f"time unknown: {', '.join(unknown)} not run before at this size"
    return text + f"at most about {_time(sum(seconds[step] for step in steps))}"


def record(profile: str, step: str, seconds: float) -> None:
    """Remember how long a step took on this machine, if it never took longer."""
    path = root() / profile / SEEN
    path.parent.mkdir(parents=True, exist_ok=True)
    known = seen(profile)
    known[step] = max(round(seconds, 1), known.get(step, 0))
    with atomic(path) as temporary:  # another chapter may be recording
        temporary.write_text(json.dumps(known, indent=1) + "\n")


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def check_device(device: str) -> None:
    """Stop before any work when the device asked for is not there."""
    if device != "cpu":  # importing torch takes seconds that a run with nothing to do lacks
        from helpers.utils.devices import resolve_device

        try:
            resolve_device(device)
        except ValueError as error:
            raise SystemExit(str(error)) from None


if __name__ == "__main__":
    check_device(sys.argv[2])
    print(plan(sys.stdin.read(), sys.argv[1]), flush=True)
