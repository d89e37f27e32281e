"""The laptop run from nothing: how long each step takes beside others, and what they hold.

Takes as long as the run itself, and measures it where nothing else runs. The pages that it builds
stay in build/laptop; its artifacts do not.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from record import write_rows

from helpers.artifacts import MANIFEST, lineage
from helpers.artifacts.pages import RECORD

PROFILE = "laptop"


def steps(folder: Path) -> dict[str, float]:
    """Seconds of every chapter and study of a finished run, as they stand in their records."""
    pages = {path.parent.name: path for path in folder.glob(f"*/{RECORD}")}
    studies = {name: folder / name / MANIFEST for name in lineage.STUDIES}
    return {
        name: json.loads(path.read_text(encoding="utf-8"))["seconds"]
        for name, path in (studies | pages).items()
    }


def main() -> None:
    with TemporaryDirectory() as folder:
        own = {"HELPERS_ARTIFACTS": folder, "NUMBA_CACHE_DIR": f"{folder}/compiled"}
        command = [sys.executable, str(lineage.ROOT / "tools" / "run.py"), PROFILE]
        started = monotonic()
        run = subprocess.run(
            command, env=os.environ | own, stdout=subprocess.PIPE, text=True, check=True
        )
        took = monotonic() - started
        found = steps(Path(folder) / PROFILE)
    print(run.stdout)
    peak = re.search(r"at most ([\d.]+) GiB of memory", run.stdout)
    facts = {
        "whole run, minutes": f"{took / 60:.1f}",
        "most memory of all processes, GiB": peak[1],
        "from": "nothing: no faces, no weights, no compiled renderer",
    }
    rows = [
        {"what": name.replace("_", " "), "seconds beside others": value}
        for name, value in sorted(found.items(), key=lambda item: -item[1])
    ]
    write_rows("laptop", facts, rows, ["torch", "numpy", "numba", "papermill"])


if __name__ == "__main__":
    main()
