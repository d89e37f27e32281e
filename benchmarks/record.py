"""Timing, and the record of a benchmark that the book shows: ratios, growth, machine, versions."""

import json
import os
import platform
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from time import process_time
from typing import Any

import matplotlib.pyplot as plt

from helpers import figures

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


def megabytes(run: Callable[[], Any]) -> float:
    """The most that one more run holds at once of what Python and numpy allocate."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


@dataclass(frozen=True)
class Run:
    """A competitor at one size: what is timed, and how much more of it there would be to do."""

    do: Callable[[], Any]
    times: float = 1.0


def grow(
    name: str,
    counted: str,
    sizes: Mapping[int, Mapping[str, Run]],
    facts: Mapping[str, Any],
    packages: list[str],
) -> None:
    """Measure competitors at every size; leave table and curve, `results/<name>.json` and `.svg`.

    Ratios are to the first competitor of a size. Memory is that of what is timed.

    Args:
        counted: what a size counts, for example "images".
        sizes: competitors by name, at every size.
        facts: what was measured, shown above the table.
        packages: whose versions matter.
    """
    rows, found = [], {}
    for size, runs in sizes.items():
        times = {what: run.times * seconds(run.do) for what, run in runs.items()}
        first = next(iter(times.values()))
        for what, run in runs.items():
            found.setdefault(what, {})[size] = times[what]
            row = {"seconds": times[what], "ratio": times[what] / first, "MB": megabytes(run.do)}
            rows.append({"what": f"{size:,} {counted}: {what}"} | row)
    write_rows(name, facts, rows, packages)
    curve(name, found, counted, "CPU seconds")


def curve(name: str, found: Mapping[str, Mapping[int, float]], counted: str, measured: str) -> None:
    """Lines on logarithmic axes, one a competitor, for the book: `results/<name>.svg`."""
    figures.style()
    _, ax = plt.subplots(figsize=(figures.WIDTH, 3.6))
    for (what, values), look in zip(found.items(), figures.SPARE, strict=False):
        points = zip(*values.items(), strict=True)
        ax.plot(*points, look.marker, color=look.colour, ls="-", label=what)
    ax.set(xscale="log", yscale="log", xlabel=counted, ylabel=measured)
    sizes = sorted({size for values in found.values() for size in values})
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.minorticks_off()
    ax.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1), ncol=2)
    plt.savefig(RESULTS / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})


def write_rows(
    name: str,
    facts: Mapping[str, Any],
    rows: Sequence[Mapping[str, str | float | None]],
    packages: list[str],
) -> None:
    """Print the table and leave `results/<name>.json`.

    Args:
        facts: what was measured, shown above the table.
        rows: `what`, and any numbers and words by the heads of their columns; None where a row has
            none.
        packages: whose versions matter.
    """
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
        cells = (
            f"{head} {value if isinstance(value, str) else f'{value:,.4g}'}"
            for head, value in row.items()
            if head != "what" and value is not None
        )
        print(f"{row['what']:60s}", "; ".join(cells))


def _processor() -> str:
    """The processor's name, which Linux keeps out of `platform`."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
