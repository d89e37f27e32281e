"""What a lab calls: the tables of the course, and a check of each answer.

The check knows right answers and planned mistakes by their fingerprints alone. `course.editions`
leaves them in `checks.bin` beside this file in what students get.
"""

import hashlib
import json
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
FOLDERS = HERE / "tables", HERE.parents[1] / "course" / "tables"
"""Where tables lie in what students get, and in the repository."""
DIGITS, MOST = 6, 10_000
_tried = Counter()


def load(name: str) -> pd.DataFrame:
    """A table of the course, as the book's laptop run left it.

    Raises:
        FileNotFoundError: there is no such table; the message names those that there are.
    """
    folder = next((folder for folder in FOLDERS if folder.is_dir()), FOLDERS[0])
    there = {path.stem: path for path in sorted(folder.glob("*.parquet"))}
    if name not in there:
        raise FileNotFoundError(f"no table {name!r}; there are {', '.join(there)}")
    return pd.read_parquet(there[name])


def form(answer: object) -> list[int]:
    """Rows and columns of a table, the length of a list, nothing of a single value."""
    return list(np.shape(answer))


def told(shape: list[int]) -> str:
    """A form in words."""
    words = "one value", "a list of {}", "a table of {} rows and {} columns"
    return words[min(len(shape), 2)].format(*shape)


def fingerprint(name: str, answer: object) -> str:
    """A hash of the values of an answer, numbers rounded, that is too slow to search for them."""
    values = np.asarray(answer).ravel().tolist()
    numbers = all(isinstance(value, int | float) for value in values)
    text = [f"{value + 0.0:.{DIGITS - 1}e}" if numbers else str(value) for value in values]
    said = json.dumps([form(answer), text]).encode()
    return hashlib.scrypt(said, salt=name.encode(), n=2**13, r=8, p=1).hex()


def check(name: str, answer: object) -> None:
    """Say whether an answer is right, which mistake it looks like, or the next hint.

    Args:
        name: of the check, as the lab has it.
        answer: a number, a text, a list, an array, or a table.
    """
    every = json.loads(zlib.decompress((HERE / "checks.bin").read_bytes()))
    if name not in every:
        print(f"there is no check {name!r}; the labs have {', '.join(every)}")
        return
    print(f"{name}: {_verdict(name, answer, every[name])}")


def _verdict(name: str, answer: object, known: dict) -> str:
    if answer is ... or (isinstance(answer, list | tuple) and any(one is ... for one in answer)):
        return "there is no answer yet. Put yours in place of the dots."
    try:
        shape = form(answer)
    except ValueError:
        return "not yet. The parts of the answer differ in length. Put one number in each place."
    if shape != known["form"] and max(shape, default=0) > MOST:
        return f"not yet. The answer is {told(shape)}, {told(known['form'])} was expected."
    if pd.isna(np.asarray(answer, dtype=object)).any():
        return "not yet. The answer is missing, or a part of it: it holds NaN or None."
    found = fingerprint(name, answer)
    if found == known["right"]:
        return "right."
    if says := known["mistakes"].get(found):
        return f"not yet. {says}"
    if shape != known["form"]:
        return f"not yet. The answer is {told(shape)}, {told(known['form'])} was expected."
    hint = known["hints"][min(_tried[name], len(known["hints"]) - 1)]
    _tried[name] += 1
    return f"not yet. Hint: {hint}"
