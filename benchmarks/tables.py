"""A table's first answer, and answers about 20,000 and a million rows, against two libraries.

Run `python benchmarks/tables.py`, after `pip install fairlearn vfairness`; without one of them its
rows are left out. Every answer has a process of its own, on one thread. First answers take turns.

What is compared is the time to error rates of two groups, or to their difference, with intervals.
Those of `faceaudit.table` have a closed form, and its time has all else that it reports. fairlearn
and vfairness resample rows. At a million rows, 1,000 draws would take fairlearn an hour. There it
makes `FEW_DRAWS`: these are too few for an interval, and the ratio is in its favour. vfairness has
no row there, since its permutation test takes many minutes whatever the draws are.
"""

import importlib.util
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from record import write_rows
from table_calls import FIRST_DRAWS, FIRST_ROWS

COMPETITORS = ("fairlearn", "vfairness")
DRAWS, FEW_DRAWS = 1_000, 10
REPEATS = 7
"""Of the first answer, whose time the load of the machine changes most."""
SIZES = {
    20_000: {"fairlearn": DRAWS, "vfairness": DRAWS},
    1_000_000: {"fairlearn": FEW_DRAWS},
}
"""Rows → competitor → its draws."""


def measured(name: str, rows: int, draws: int) -> tuple[float, float]:
    """CPU seconds of a process of its own, and of its answer without the imports."""
    threads = ("OMP", "MKL", "OPENBLAS")
    environment = os.environ | {f"{thread}_NUM_THREADS": "1" for thread in threads}
    calls = Path(__file__).with_name("table_calls.py")
    command = [sys.executable, str(calls), name, str(rows), str(draws)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return whole, float(done.stdout)


def first_answers(competitors: list[str]) -> list[dict[str, str | float]]:
    """Rows of a first answer about few rows, with the import, medians of processes in turn."""
    calls = [("faceaudit", 0)]
    for name in competitors:
        calls.append((name, FIRST_DRAWS))
    if "fairlearn" in competitors:  # which has rates without intervals, too
        calls.append(("fairlearn", 0))
    times: dict[tuple[str, int], list[float]] = {call: [] for call in calls}
    for _ in range(REPEATS):
        for name, draws in calls:
            whole, _ = measured(name, FIRST_ROWS, draws)
            times[name, draws].append(whole)
    medians = {call: statistics.median(values) for call, values in times.items()}
    return rows_of(f"import, and {FIRST_ROWS} rows", medians)


def answers(rows: int, draws: dict[str, int]) -> list[dict[str, str | float]]:
    """Rows of an answer about many rows, without the import."""
    times = {}
    for name, n in [("faceaudit", 0), *draws.items()]:
        _, times[name, n] = measured(name, rows, n)
    return rows_of(f"{rows:,} rows", times)


def rows_of(what: str, times: dict[tuple[str, int], float]) -> list[dict[str, str | float]]:
    """A row of the record for every call; the first is faceaudit's."""
    ours = next(iter(times.values()))
    found = []
    for (name, draws), seconds in times.items():
        said = "faceaudit.table" if name == "faceaudit" else f"{name}, {draws or 'no'} draws"
        ratio = ours / seconds
        row = {"what": f"{what}: {said}", "CPU seconds": seconds, "faceaudit / this": ratio}
        found.append(row)
    return found


def main() -> None:
    competitors = [name for name in COMPETITORS if importlib.util.find_spec(name)]
    for name in set(COMPETITORS) - set(competitors):
        print(f"{name} is not installed (pip install {name}): its rows are left out")
    rows = first_answers(competitors)
    for size, draws in SIZES.items():
        rows += answers(size, {name: n for name, n in draws.items() if name in competitors})
    facts = {
        "compared": "time to error rates of two groups, or their difference, with an interval",
        "draws": f"resamples of the rows; {FEW_DRAWS} are too few for an interval",
        "import and first answer": f"median of {REPEATS} processes each, in turn",
        "other answers": "one process each, after a first answer that is not timed",
        "threads": 1,
    }
    packages = ["numpy", "pandas", "scipy", "scikit-learn", *competitors]
    write_rows("tables", facts, rows, packages)


if __name__ == "__main__":
    main()
