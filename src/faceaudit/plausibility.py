"""Is what an audit was given what it takes it for? Faults that give confident, wrong reports.

What is certain is refused: `require_decided`, `require_alike`. What is likely is a doubt: it stands
in the report's first box and closes the gate, unless the audit file accepts it by name.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.answers import BlackBox
from faceaudit.model_input import better_preparation, check_preparation, separation
from faceaudit.wording import capital, fault, told
from helpers.utils import seeding

MOST_ERRORS, REVERSED = 0.45, 0.6
"""Error rates above which a model hardly tells the classes, or tells them the wrong way round."""
CHANCE, DISTANCE = 0.6, 0.4
"""Separation of pairs below which similarities hardly tell people apart, or are distances."""
MOVED = 0.1
"""Of a scale: an axis that moves what people see by less was not varied."""
CHANGED = {
    "placebo axes": "the error rate",
    "placebos, no answer": "the share of images without an answer",
}
"""Table of placebos → what they may change."""
TRIED = 200
"""Images on which other preparations are tried."""
Doubts = Iterator[tuple[str, str]]
"""Name and sentence of each."""


def require_decided(images: pd.DataFrame, threshold: float, source: str) -> None:
    """Raise ValueError where a model decides alike about all images, though labels differ.

    `images` has the columns label and score, NaN where there is none.
    """
    known = images.dropna(subset=["label", "score"])
    said = known["score"] > threshold
    if known["label"].nunique() < 2 or (said != said.iloc[0]).any():
        return
    of_chosen = threshold <= 0.5 <= known["score"].min()
    raise fault("one_class", source, int(said.iloc[0]), threshold, of_chosen)


def require_alike(pairs: pd.DataFrame, source: str) -> None:
    """Raise ValueError where pictures of one person are less similar than those of two."""
    if (apart := separation(pairs["similarity"], pairs["same"] == 1)) < DISTANCE:
        raise fault("distances", source, 1 - apart)


def doubts_of_images(frame: pd.DataFrame, tables: Mapping[str, Any], plan: Mapping) -> Doubts:
    """What is hard to believe of a classification; `tables` are those of `analyse`."""
    rate = frame["error"].mean()
    if rate > MOST_ERRORS:
        yield _doubt("reversed" if rate > REVERSED else "errors", rate)
    for row in tables["manipulation"].itertuples() if "manipulation" in tables else ():
        if not abs(row.estimate) >= MOVED:
            yield _doubt("manipulation", rate, row)
    for name, changed in CHANGED.items() if plan["placebos"] else ():
        for row in tables[name].itertuples():
            if row.verdict == "exceeds":
                yield _doubt("placebo", rate, row, changed)


def doubts_of_pairs(pairs: pd.DataFrame) -> Doubts:
    """What is hard to believe of a verification: columns same and similarity of its pairs."""
    if (apart := separation(pairs["similarity"], pairs["same"] == 1)) < CHANCE:
        yield _doubt("chance", apart)


def doubts_of_preparation(
    model: BlackBox, images: np.ndarray, groups: pd.Series, seed: int
) -> Doubts:
    """Whether another preparation suits a model better, tried on some of the images.

    A model on the network, and images of too few people, cannot be tried. `groups` has the label of
    every image, NaN where it has none; of a recogniser, the identity. `seed` draws the images.
    """
    known = np.flatnonzero(groups.notna())
    # All images of some people tell more of a recogniser than single images of many.
    if model.reading.gives == "embedding":
        known = known[np.argsort(groups.iloc[known].to_numpy(), kind="stable")]
        several = groups.iloc[known].nunique() >= 3 and groups.duplicated().sum() >= 2
    else:
        known = seeding.rng(seed, "audit/preparation").permutation(known)
        several = groups.iloc[known[:TRIED]].value_counts().reindex([0, 1]).min() >= 2
    if model.preparation is None or not several:
        return
    rows = np.sort(known[:TRIED])
    tried = check_preparation(model, images[rows], groups.iloc[rows])
    # One that separates the classes the wrong way round has another doubt.
    better = better_preparation(tried)
    if better and tried["separation"].iloc[0] > 0.5:
        yield "preparation", f"{capital(better)}."


def _doubt(name: str, *values: Any) -> tuple[str, str]:
    return name, told("doubt", name, *values)[0]
