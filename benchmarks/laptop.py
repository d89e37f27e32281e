"""The laptop run from nothing: how long each step takes beside others, and what they hold.

Takes as long as the run itself, and measures it where nothing else runs. The pages that it builds
stay in build/laptop; its artifacts do not.
"""

import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

import psutil
from record import write_rows

from helpers.artifacts import lineage

PROFILE = "laptop"
LOOK = 5.0
"""Seconds between looks at memory."""
DONE = re.compile(r"^(\w+): done in (\d+) s$", re.MULTILINE)


def held(process: psutil.Process) -> float:
    """GiB that a process and its children hold now; what they share counts once."""
    total = 0
    for one in (process, *process.children(recursive=True)):
        with suppress(psutil.Error):  # it has ended meanwhile
            total += one.memory_full_info().pss
    return total / 2**30


def main() -> None:
    with TemporaryDirectory() as folder:
        own = {"HELPERS_ARTIFACTS": folder, "NUMBA_CACHE_DIR": f"{folder}/compiled"}
        command = [sys.executable, str(lineage.ROOT / "tools" / "run.py"), PROFILE]
        started, peak, said = monotonic(), 0.0, Path(folder, "said")
        with said.open("w") as words:
            run = psutil.Popen(command, env=os.environ | own, stdout=words)
            while run.poll() is None:
                peak = max(peak, held(run))
                sleep(LOOK)
        took, text = monotonic() - started, said.read_text(encoding="utf-8")
    print(text)
    if run.returncode:
        raise SystemExit("the run failed")
    found = {name: float(seconds) for name, seconds in DONE.findall(text)}
    facts = {
        "whole run, minutes": f"{took / 60:.1f}",
        "most memory of all processes, GiB": f"{peak:.1f}",
        "from": "nothing: no faces, no weights, no compiled renderer",
    }
    rows = [
        {"what": name.replace("_", " "), "seconds beside others": value}
        for name, value in sorted(found.items(), key=lambda item: -item[1])
    ]
    write_rows("laptop", facts, rows, ["torch", "numpy", "numba", "papermill"])


if __name__ == "__main__":
    main()
