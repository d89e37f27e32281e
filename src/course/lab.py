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
DIGITS = 6
"""Significant digits in which a right answer has to agree."""
DECIMALS = range(5)
"""Roundings that are told from wrong answers."""
MOST = 10_000
"""Rows or columns above which an answer of another form is not compared."""
FEW = 8
"""Values up to which each value of an answer can be right by itself."""
SLIPS = {
    "You gave a share. Times 100 it is right: in percent, or in points.": (0, 100),
    "You multiplied by 100. Leave this step out.": (0, 1 / 100),
    "The size is right, the sign is not. Subtract the other way round.": (0, -1),
    "This is the rest, what lacks to 100%.": (100, -1),
    "This is the rest, what lacks to 1.": (1, -1),
}
"""What to say → the sum and the factor by which a wrong answer becomes right."""
_tried = Counter()


def load(name: str) -> pd.DataFrame:
    """A table of the course, as the book's laptop run left it.

    Raises:
        FileNotFoundError: there is no such table; the message names those that there are.
    """
    folder = next((folder for folder in FOLDERS if folder.is_dir()), FOLDERS[0])
    tables = {path.stem: path for path in sorted(folder.glob("*.parquet"))}
    if name not in tables:
        raise FileNotFoundError(f"no table {name!r}; there are {', '.join(tables)}")
    return pd.read_parquet(tables[name])


def form(answer: object) -> list[int]:
    """Rows and columns of a table, the length of a list, nothing of a single value."""
    return list(np.shape(answer))


def in_words(shape: list[int]) -> str:
    """A form in words."""
    words = "one value", "a list of {}", "a table of {} rows and {} columns"
    return words[min(len(shape), 2)].format(*shape)


def fingerprint(name: str, answer: object) -> str:
    """A hash of the values of an answer, numbers rounded. It is slow, so guesses cost time."""
    values = np.asarray(answer).ravel().tolist()
    numeric = _numeric(answer)
    text = [f"{value + 0.0:.{DIGITS - 1}e}" if numeric else str(value) for value in values]
    content = json.dumps([form(answer), text]).encode()
    return hashlib.scrypt(content, salt=name.encode(), n=2**11, r=8, p=1).hex()


def _numeric(answer: object) -> bool:
    return all(isinstance(value, int | float) for value in np.asarray(answer).ravel().tolist())


def parts(answer: object) -> list:
    """What can be right by itself: each value of an answer that has a few, else the answer."""
    values = np.asarray(answer).ravel().tolist()
    few = 1 < len(values) <= FEW and not {*values} <= {True, False}
    return values if few else [answer]


def recorded(name: str, answer: object) -> dict:
    """What `check` has to know of the right answer.

    Returns:
        Its form, its fingerprint, and those of its parts: as they are, and rounded to each number
        of decimals that changes them by less than a tenth.
    """
    known = []
    for part in parts(answer):
        known.append({"unrounded": fingerprint(name, part)})
        for decimals in DECIMALS if _numeric(part) else ():
            values = np.asarray(part, dtype=float)
            rounded = np.round(values, decimals)
            if np.abs(rounded - values).sum() < 0.1 * np.abs(values).sum():
                known[-1][f"{decimals} decimals"] = fingerprint(name, rounded)
    return {"form": form(answer), "right": fingerprint(name, answer), "parts": known}


def check(name: str, answer: object) -> None:
    """Say whether an answer is right, which mistake it looks like, or the next hint.

    Args:
        name: of the check, as the lab has it.
        answer: a number, a text, a list, an array, or a table.
    """
    print(_message(name, answer))


def grade(name: str, answer: object) -> None:
    """Check an answer for a grader.

    Raises:
        AssertionError: the answer is not right; with what `check` says.
    """
    message = _message(name, answer)
    if message != f"{name}: right.":
        raise AssertionError(message)


def _message(name: str, answer: object) -> str:
    every = json.loads(zlib.decompress((HERE / "checks.bin").read_bytes()))
    if name not in every:
        return f"there is no check {name!r}; the labs have {', '.join(every)}"
    return f"{name}: {_verdict(name, answer, every[name])}"


def _verdict(name: str, answer: object, known: dict) -> str:
    if answer is ... or (isinstance(answer, list | tuple) and any(part is ... for part in answer)):
        return "there is no answer yet. Put yours in place of the dots."
    if callable(answer):
        return "not yet. The answer is a function. Call it, and check what it returns."
    try:
        shape = form(answer)
    except ValueError:
        return "not yet. The parts of the answer differ in length. Put one number in each place."
    if shape != known["form"] and max(shape, default=0) > MOST:
        return f"not yet. {_other_form(shape, known['form'])}"
    own_fingerprint = fingerprint(name, answer)
    if own_fingerprint == known["right"]:
        return "right."
    if says := known["mistakes"].get(own_fingerprint):
        return f"not yet. {says}"
    if pd.isna(np.asarray(answer, dtype=object)).any():
        return "not yet. The answer holds NaN or None. Did no row pass? Is a `return` missing?"
    values = np.asarray(answer)
    if values.ndim == 2 and fingerprint(name, values.T) == known["right"]:
        return "not yet. Rows and columns have changed places. `.T` turns a table."
    if shape != known["form"]:
        return f"not yet. {_other_form(shape, known['form'])}"
    return f"not yet. {_next(name, answer, known)}"


def _other_form(shape: list[int], expected: list[int]) -> str:
    return f"The answer is {in_words(shape)}, {in_words(expected)} was expected."


def _next(name: str, answer: object, known: dict) -> str:
    """What to do about the parts that are wrong."""
    several = len(known["parts"]) > 1
    mine = np.asarray(answer).ravel().tolist() if several else [answer]
    hashes = [fingerprint(name, part) for part in mine]
    right = [part["unrounded"] for part in known["parts"]]
    if several and sorted(hashes) == sorted(right):
        return "Your values are right, their order is not."
    compared = zip(hashes, known["parts"], strict=True)
    fits = [digest in part.values() for digest, part in compared]
    if all(fits):
        return "Right, but rounded. Give all decimals, as the computer gives them."
    same = [n for n, fit in enumerate(fits, 1) if fit]
    others = f"Of your {len(mine)} values these are right: {same}. Change the others. "
    some = others if same else ""
    wrong = {n: np.asarray(part) for n, part in enumerate(mine, 1) if n not in same}
    for says, (plus, factor) in SLIPS.items() if _numeric(answer) else ():
        slips = (
            fingerprint(name, plus + factor * part) == right[n - 1] for n, part in wrong.items()
        )
        if all(slips):
            return some + says
    hints = [says for says, about in known["hints"] if not about or {*about} & {*wrong}]
    _tried[name] += 1
    return f"{some}Hint: {hints[min(_tried[name], len(hints)) - 1]}"
