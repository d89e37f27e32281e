"""Say what a run is about to do and how long that takes, before it starts.

Reads the recipe lines of `make --dry-run` on standard input. Times are those of the last run on
this machine where there was one, otherwise those measured on two CPU cores (profiles/seconds.json).
"""

from __future__ import annotations

import json
import re
import sys

from helpers.artifacts import root
from helpers.lineage import ROOT

MEASURED = ROOT / "profiles" / "seconds.json"
LAST_RUN = "seconds.json"
_STEP = re.compile(r"tools/(?:execute\.py notebooks/(\w+)\.py|(book)\.py)")


def known_seconds(profile: str) -> dict[str, float]:
    """Seconds per step: measured for everybody, overridden by this machine's last run."""
    seconds = json.loads(MEASURED.read_text(encoding="utf-8")).get(profile, {})
    last_run = root() / profile / LAST_RUN
    if last_run.is_file():
        seconds |= json.loads(last_run.read_text(encoding="utf-8"))
    return seconds


def plan(dry_run: str, profile: str) -> str:
    """One sentence on the steps to come."""
    steps = list(dict.fromkeys("".join(found) for found in _STEP.findall(dry_run)))
    if not steps:
        return f"{profile}: nothing to do, the book is up to date"
    seconds = known_seconds(profile)
    total = sum(seconds.get(step, 0) for step in steps)
    unknown = [step for step in steps if step not in seconds]
    text = f"{profile}: {len(steps)} steps to run ({', '.join(steps)}), about {_time(total)}"
    return text + (f"; not timed before: {', '.join(unknown)}" if unknown else "")


def record(profile: str, step: str, seconds: float) -> None:
    """Remember how long a step took on this machine."""
    path = root() / profile / LAST_RUN
    path.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    path.write_text(json.dumps(known | {step: round(seconds, 1)}, indent=1) + "\n")


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


if __name__ == "__main__":
    print(plan(sys.stdin.read(), sys.argv[1]), flush=True)
