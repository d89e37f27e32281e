"""Pages for teachers: tables of the league's record, filled in where a page asks for them.

A page has a block of code with the language `{league-scores}`. Each of its lines is the name of an
entry in `benchmarks/results/league.json`. A block without lines asks for all entries.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from helpers.artifacts import lineage

RECORD = lineage.ROOT / "benchmarks" / "results" / "league.json"
BLOCK = re.compile(r"```\{league-scores\}\n(.*?)```", re.DOTALL)
DIGITS = {"S (points)": 1, "L": 1, "coverage (%)": 1, "Brier score": 2}
"""Columns of the record that teachers see → their decimals."""


def fill(folder: Path) -> None:
    """Fill in the tables of all pages of a folder and of its folders."""
    for path in sorted(folder.rglob("*.md")):
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")


def filled(text: str) -> str:
    """A page with a table in place of each block.

    Raises:
        ValueError: a block names an entry that the record lacks.
    """
    return BLOCK.sub(lambda block: scores(block[1].splitlines()), text)


def record() -> dict:
    """The record of the league: `facts` of its run, and `rows`, one for each entry."""
    return json.loads(RECORD.read_text(encoding="utf-8"))


def scores(names: Sequence[str]) -> str:
    """A table with the scores of these entries, or of all if there is no name.

    Raises:
        ValueError: the record lacks an entry.
    """
    rows = {row["what"]: row for row in record()["rows"]}
    if missing := [name for name in names if name not in rows]:
        raise ValueError(f"{RECORD.name} has no entry {missing[0]!r}; it has {', '.join(rows)}")
    lines = [["entry", *DIGITS], ["---"] + ["---:"] * len(DIGITS)]
    for name in names or rows:
        numbers = [f"{rows[name][column]:.{digits}f}" for column, digits in DIGITS.items()]
        lines.append([name, *numbers])
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    keys = record()["facts"]["keys"]
    return (
        f"{table}\n\n*Means over secret keys: {keys}. S is the mean cost of an interval: small "
        "is good. L puts S on a scale from 0 to 100. `teams.md` has both formulas.*"
    )
