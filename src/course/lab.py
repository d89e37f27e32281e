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
DIGITS, MOST, FEW = 6, 10_000, 8
SLIPS = {
    "Right, but as a share. Times 100 it is in percent, and a difference in points.": (0, 100),
    "Right, but times 100. Leave this step out.": (0, 1 / 100),
    "The size is right, the sign is not. Subtract the other way round.": (0, -1),
    "This is the rest, what lacks to 100 %.": (100, -1),
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


def fingerprint(name: str, answer: object, digits: int = DIGITS) -> str:
    """A hash of the values of an answer, numbers rounded, that is too slow to search for them."""
    values = np.asarray(answer).ravel().tolist()
    numeric = _numeric(answer)
    text = [f"{value + 0.0:.{digits - 1}e}" if numeric else str(value) for value in values]
    said = json.dumps([form(answer), text]).encode()
    return hashlib.scrypt(said, salt=name.encode(), n=2**13, r=8, p=1).hex()


def _numeric(answer: object) -> bool:
    return all(isinstance(value, int | float) for value in np.asarray(answer).ravel().tolist())


def places(name: str, answer: object) -> list[str]:
    """A fingerprint of each value of an answer that has a few."""
    values = np.asarray(answer).ravel().tolist()
    few = 1 < len(values) <= FEW and not {*values} <= {True, False}
    return [fingerprint(name, value) for value in values] if few else []


def recorded(name: str, answer: object) -> dict:
    """What `check` has to know of the right answer."""
    return {
        "form": form(answer),
        "right": fingerprint(name, answer),
        "rounded": [fingerprint(name, answer, digits) for digits in (2, 3)],
        "places": places(name, answer),
    }


def check(name: str, answer: object) -> None:
    """Say whether an answer is right, which mistake it looks like, or the next hint.

    Args:
        name: of the check, as the lab has it.
        answer: a number, a text, a list, an array, or a table.
    """
    print(_said(name, answer))


def grade(name: str, answer: object) -> None:
    """Check an answer for a grader.

    Raises:
        AssertionError: the answer is not right; with what `check` says.
    """
    if (said := _said(name, answer)) != f"{name}: right.":
        raise AssertionError(said)


def _said(name: str, answer: object) -> str:
    every = json.loads(zlib.decompress((HERE / "checks.bin").read_bytes()))
    if name not in every:
        return f"there is no check {name!r}; the labs have {', '.join(every)}"
    return f"{name}: {_verdict(name, answer, every[name])}"


def _verdict(name: str, answer: object, known: dict) -> str:
    if answer is ... or (isinstance(answer, list | tuple) and any(one is ... for one in answer)):
        return "there is no answer yet. Put yours in place of the dots."
    if callable(answer):
        return "not yet. The answer is a function. Call it, and check what it returns."
    try:
        shape = form(answer)
    except ValueError:
        return "not yet. The parts of the answer differ in length. Put one number in each place."
    if shape != known["form"] and max(shape, default=0) > MOST:
        return f"not yet. The answer is {told(shape)}, {told(known['form'])} was expected."
    found = fingerprint(name, answer)
    if found == known["right"]:
        return "right."
    if says := known["mistakes"].get(found):
        return f"not yet. {says}"
    if pd.isna(np.asarray(answer, dtype=object)).any():
        return "not yet. The answer holds NaN or None. Did no row pass? Is a `return` missing?"
    if says := _slip(name, answer, known):
        return f"not yet. {says}"
    if shape != known["form"]:
        return f"not yet. The answer is {told(shape)}, {told(known['form'])} was expected."
    hint = known["hints"][min(_tried[name], len(known["hints"]) - 1)]
    _tried[name] += 1
    return f"not yet. {_partly(places(name, answer), known['places'])}Hint: {hint}"


def _partly(mine: list[str], right: list[str]) -> str:
    if len(mine) != len(right):
        return ""
    if mine and sorted(mine) == sorted(right):
        return "Your values are right, their order is not. "
    same = [
        place for place, pair in enumerate(zip(mine, right, strict=True), 1) if len({*pair}) == 1
    ]
    return (
        f"Of your {len(mine)} values these are right: {same}. Change the others. " if same else ""
    )


def _slip(name: str, answer: object, known: dict) -> str | None:
    """What to say of a slip that any exercise can see."""
    values = np.asarray(answer)
    if values.ndim == 2 and fingerprint(name, values.T) == known["right"]:
        return "Rows and columns have changed places. `.T` turns a table."
    if form(answer) == known["form"] and _numeric(answer):
        for says, (plus, factor) in SLIPS.items():
            if fingerprint(name, plus + factor * values) == known["right"]:
                return says
        if any(fingerprint(name, answer, n) == known["rounded"][n - 2] for n in (2, 3)):
            return "The first two digits are right. Did you round? If not, look for a small slip."
    return None
