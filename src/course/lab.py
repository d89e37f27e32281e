"""What a lab calls: the tables of the course, and a check of each answer.

The check knows right answers and planned mistakes by their fingerprints alone. `course.editions`
leaves them in `checks.json` beside this file in what students get.
"""

import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
FOLDERS = HERE / "tables", HERE.parents[1] / "course" / "tables"
"""Where tables lie in what students get, and in the repository."""
DIGITS, ROUNDED = 6, 2
_tried = Counter()


def load(name: str) -> pd.DataFrame:
    """A table of the course, as the book's laptop run left it.

    Raises:
        FileNotFoundError: there is no such table; the message names those that there are.
    """
    there = {path.stem: path for folder in FOLDERS for path in sorted(folder.glob("*.parquet"))}
    if name not in there:
        raise FileNotFoundError(f"no table {name!r}; there are {', '.join(there)}")
    return pd.read_parquet(there[name])


def form(answer: object) -> list[int]:
    """Rows and columns of a table, the length of a list, nothing of a single value."""
    return list(np.shape(answer))


def fingerprint(answer: object, digits: int = DIGITS) -> str:
    """SHA-256 of the values of an answer, of which numbers are rounded."""
    values = np.asarray(answer).ravel().tolist()
    numbers = all(isinstance(value, int | float) for value in values)
    text = [f"{value + 0.0:.{digits - 1}e}" if numbers else str(value) for value in values]
    return hashlib.sha256(json.dumps([form(answer), text]).encode()).hexdigest()


def check(name: str, answer: object) -> bool:
    """Say whether an answer is right, which mistake it looks like, or the next hint.

    Args:
        name: of the check, as the lab has it.
        answer: a number, a text, a list, an array, or a table.
    """
    known = json.loads((HERE / "checks.json").read_text(encoding="utf-8"))[name]
    if answer is ...:
        print(f"{name}: there is no answer yet. Put yours in place of the dots.")
        return False
    if (found := fingerprint(answer)) == known["right"]:
        print(f"{name}: right.")
        return True
    says, hints = known["mistakes"].get(found), known["hints"]
    if says is None and form(answer) != known["form"]:
        says = f"The answer has the form {form(answer)}, {known['form']} was expected."
    if says is None and fingerprint(answer, ROUNDED) == known["near"]:
        says = "It is close to the answer. Give all digits, unrounded."
    if says is None:
        says = f"Hint: {hints[min(_tried[name], len(hints) - 1)]}"
        _tried[name] += 1
    print(f"{name}: not yet. {says}")
    return False
