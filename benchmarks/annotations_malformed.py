"""What becomes of damaged annotation files: kinds of damage by format.

Run `python benchmarks/annotations_malformed.py`. The files and the damage are those of
`tests/malformed.py`, from the seeds of its test, which fails where the last lines below the table
would say anything but 0. It takes ten seconds.
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path

from record import write_rows

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import malformed

SEEDS = 10
OUTCOMES = ("refused", "in part", "whole")
NOT_TRIED = "–"


def main() -> None:
    kinds = list(dict.fromkeys(kind for form in malformed.FORMATS for kind in form.damage))
    rows: dict[str, dict[str, str]] = {kind: {} for kind in kinds}
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for form in malformed.FORMATS:
            for kind in kinds:
                seeds = range(SEEDS) if kind in form.damage else ()
                found = Counter(
                    malformed.outcome(form, kind, seed, Path(folder)).split(":")[0]
                    for seed in seeds
                )
                total += found
                cell = " · ".join(str(found[outcome]) for outcome in OUTCOMES)
                rows[kind][form.name] = cell if found else NOT_TRIED
    facts = {
        "files": total.total(),
        "a cell": "files refused in one sentence · read in part · read whole",
        "raw tracebacks": total["traceback"],
        "files with a wrong row": total["wrong"],
        "errors that do not name the file": total["unclear"],
    }
    table = [{"what": kind} | cells for kind, cells in rows.items()]
    write_rows("annotations_malformed", facts, table, ["pandas", "msgspec", "pyarrow"])


if __name__ == "__main__":
    main()
