"""One audit of a table of many rows, in a process of its own: what `large_tables.py` measures.

`python benchmarks/large_table_calls.py KIND ROWS` makes such a table, audits it, and prints the
CPU seconds of the audit, and the peak memory of the process before and after it, in MB. Linux only:
there `ru_maxrss` is in units of 1,024 bytes.
"""

import resource
import sys
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

import faceaudit

FEW_ROWS = 400
"""Of a first audit, whose imports and memory do not count."""
AXES = {"skin": ["light", "dark"], "hair": ["short", "long"]}
OF_A_PERSON = 4
"""Images of a face or portraits of a person."""
PAIRS_OF_A_PERSON = 10
"""Pairs of each kind that a person is the first of, where there are many rows."""


def images(rows: int) -> pd.DataFrame:
    """Images at all combinations of levels, on which a model errs at about 10 and 15%."""
    number = np.arange(rows)
    is_dark = number % 2
    is_long = number // 2 % 2
    scores = np.random.default_rng(1).random(rows)
    return pd.DataFrame(
        {
            "face": number // OF_A_PERSON,
            "skin": np.take(AXES["skin"], is_dark),
            "hair": np.take(AXES["hair"], is_long),
            "truth": 0,
            "says": (scores < 0.10 + 0.05 * is_dark).astype(int),
        }
    )


def pairs(rows: int) -> pd.DataFrame:
    """Pairs of pictures of people in two groups, half of them of one person."""
    number = np.arange(rows)
    people = max(rows // (2 * PAIRS_OF_A_PERSON), 4 * PAIRS_OF_A_PERSON)
    first = number // 2 % people
    is_same = number % 2
    # Somebody else of the same group, since groups are the odd and the even numbers.
    other = (first + 2 * (1 + number // (2 * people))) % people
    similarity = np.random.default_rng(1).normal(3.0 * is_same)
    return pd.DataFrame(
        {
            "group": np.take(["a", "b"], first % 2),
            "first": first,
            "second": np.where(is_same, first, other),
            "same": is_same,
            "similarity": similarity,
        }
    )


def matched(rows: int) -> Callable[[], Any]:
    """An audit of matched images."""
    frame = images(rows)
    return lambda: faceaudit.table(
        frame, unit="face", axes=AXES, label="truth", pred="says", tolerance=0.05
    )


def portraits(rows: int) -> Callable[[], Any]:
    """An audit of portraits, several of each person."""
    frame = images(rows)
    return lambda: faceaudit.table(
        frame, unit=None, axes=AXES, label="truth", pred="says", tolerance=0.05, identity="face"
    )


def recogniser(rows: int) -> Callable[[], Any]:
    """An audit of a recogniser's pairs."""
    frame = pairs(rows)
    return lambda: faceaudit.pairs(
        frame,
        group="group",
        first="first",
        second="second",
        same="same",
        similarity="similarity",
        reference="a",
        fmr=0.01,
        tolerance=0.02,
    )


KINDS = {"matched": matched, "portraits": portraits, "pairs": recogniser}


def peak() -> float:
    """The most memory that this process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def main() -> None:
    kind, rows = sys.argv[1:]
    repr(KINDS[kind](FEW_ROWS)())
    audit = KINDS[kind](int(rows))
    before = peak()
    start = process_time()
    repr(audit())
    print(process_time() - start, before, peak())


if __name__ == "__main__":
    main()
