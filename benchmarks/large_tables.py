"""Audits of a million rows: how much memory they take, and how long.

Run `python benchmarks/large_tables.py`, which takes two minutes, on Linux. Matched images, several
portraits of each person, and a recogniser's pairs have a process each, on one thread, that first
audits a small table, so that imports do not count. Before the audit, a process holds the table and
the libraries.
"""

import os
import subprocess
import sys
from pathlib import Path

from record import write_rows

ROWS = 1_000_000
MOST_MB = 1_500
"""Memory that no audit of so many rows may exceed."""
KINDS = ("matched", "portraits", "pairs")


def row_of(kind: str) -> dict[str, str | float]:
    """The row of the record of one kind of audits."""
    threads = ("OMP", "MKL", "OPENBLAS")
    environment = os.environ | {f"{thread}_NUM_THREADS": "1" for thread in threads}
    calls = Path(__file__).with_name("large_table_calls.py")
    command = [sys.executable, str(calls), kind, str(ROWS)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    seconds, before, peak = map(float, done.stdout.split())
    return {
        "what": f"{kind}, {ROWS:,} rows",
        "CPU seconds": seconds,
        "peak, MB": peak,
        "peak / table and libraries": peak / before,
    }


def main() -> None:
    rows = [row_of(kind) for kind in KINDS]
    facts = {
        "peak": "the most memory of the process, with the libraries",
        "table and libraries": "the most memory of the process before the audit",
        "limit": f"{MOST_MB:,} MB",
        "threads": 1,
    }
    write_rows("large_tables", facts, rows, ["numpy", "pandas", "scipy"])
    assert all(row["peak, MB"] <= MOST_MB for row in rows)


if __name__ == "__main__":
    main()
