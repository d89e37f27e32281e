"""Timing, and the record of a benchmark that the book shows: ratios, machine, versions."""

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from time import process_time
from typing import Any

RESULTS = Path(__file__).parent / "results"
REPEATS = 3


def seconds(run: Callable[[], Any]) -> float:
    """CPU seconds of this process, the least of three runs: other load changes that least."""
    times = []
    for _ in range(REPEATS):
        start = process_time()
        run()
        times.append(process_time() - start)
    return min(times)


def write(
    name: str, facts: Mapping[str, Any], times: Mapping[str, float], packages: list[str]
) -> None:
    """Print the table and leave `results/<name>.json`; ratios are to the first time.

    Args:
        facts: what was measured, shown above the table.
        times: seconds by what took them.
        packages: whose versions matter.
    """
    first = next(iter(times.values()))
    rows = [{"what": what, "seconds": time, "ratio": time / first} for what, time in times.items()]
    write_rows(name, facts, rows, packages)


def write_rows(
    name: str,
    facts: Mapping[str, Any],
    rows: Sequence[Mapping[str, str | float]],
    packages: list[str],
) -> None:
    """As `write`, of rows that hold `what` and any other numbers by the heads of their columns."""
    record = {
        "facts": facts,
        "rows": rows,
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": platform.system(),
            "python": platform.python_version(),
            **{package: metadata.version(package) for package in packages},
        },
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    for key, value in (record["machine"] | dict(facts)).items():
        print(f"{key}: {value}")
    for row in rows:
        numbers = (f"{head} {value:,.4g}" for head, value in row.items() if head != "what")
        print(f"{row['what']:60s}", "; ".join(numbers))


def _processor() -> str:
    """The processor's name, which Linux keeps out of `platform`."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
