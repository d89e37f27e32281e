"""What the figures refuse, and in which words."""

import numpy as np
import pandas as pd
import pytest

from helpers import figures
from helpers.figures import widgets

TABLE = pd.DataFrame({"n": 3, "rate": 0.1, "low": 0.0, "high": 0.2}, [("a", "b", "c")])
TABLE.index = pd.MultiIndex.from_tuples(TABLE.index)
PAIRS = TABLE.reset_index(drop=True).add_suffix("_first").join(TABLE.reset_index(drop=True))
PAIRS = pd.concat([PAIRS.assign(first="light", second=word) for word in ("dark", "black")])
FACES = np.zeros((6, 3, 4, 4))


def slider(n: int, labels: str, below: int | None = None) -> object:
    texts = None if below is None else [["a"]] * below
    return widgets.side_by_side({"": FACES[:n]}, list(labels), "age", "A face", below=texts)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: figures.as_pixels(np.zeros((4, 4, 3))), r"\(n, 3, h, w\)"),
        (lambda: figures.as_pixels(FACES + 7), r"\[0, 1\]"),
        (lambda: figures.as_pixels(FACES + np.nan), r"\[0, 1\]"),
        (lambda: figures.gallery(FACES, 3, titles=["a"]), "6 images in 2 rows of 3"),
        (lambda: figures.gallery(FACES, 3, row_labels=["a"]), "6 images in 2 rows of 3"),
        (lambda: figures.gallery(FACES[:0], 3), "at least one image"),
        (lambda: figures.bars(TABLE), "one or two groupings"),
        (lambda: figures.matched_scatter(PAIRS), "got 2"),
        (lambda: slider(3, "ab"), "3 frames, 2 labels"),
        (lambda: slider(3, "abc", 2), "3 labels and 2 texts"),
        (lambda: slider(1, "a"), "at least two"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ValueError, match=words):
        call()
