"""Is what an audit was given what it takes it for? Faults that give confident, wrong reports.

What is certain is refused: `require_decided`, `require_alike`. What is likely is a doubt: it stands
in the report's first box and closes the gate, unless the audit file accepts it by name.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from faceaudit.answers import BlackBox
from faceaudit.model_input import better_preparation, check_preparation
from faceaudit.planned_effects import average_effects
from faceaudit.report_schema import Doubt
from faceaudit.words import hundredths, points, spaced
from helpers.utils import seeding

MOST_ERRORS, REVERSED = 0.45, 0.6
"""Error rates above which a model hardly tells the classes, or tells them the wrong way round."""
CHANCE, DISTANCE = 0.6, 0.4
"""Separation of pairs below which similarities hardly tell people apart, or are distances."""
MOVED = 0.1
"""Of a scale: an axis that moves what people see by less was not varied."""
CHANGED = {"error": "the error rate", "no_answer": "the share of images without an answer"}
"""Outcome of an image → what a placebo may change."""
TRIED = 200
"""Images on which other preparations are tried."""


def require_decided(images: pd.DataFrame, threshold: float, source: str) -> None:
    """Raise ValueError where a model decides alike about all images, though labels differ.

    Args:
        images: columns label and score, NaN where there is none.
        threshold: of the score.
        source: of the images.

    Example:
        >>> images = pd.DataFrame({"label": [0, 1], "score": [0.9, 0.7]})
        >>> require_decided(images, 0.5, "faces.csv")
        Traceback (most recent call last):
        ValueError: faces.csv: the model says class 1 of every image (threshold 0.5), though ...
    """
    known = images.dropna(subset=["label", "score"])
    said = known["score"] > threshold
    if known["label"].nunique() < 2 or (said != said.iloc[0]).any():
        return
    hint = "check the threshold, the column or the output"
    if threshold <= 0.5 <= known["score"].min():
        hint = "is this the probability of the class that the model chose, and not of class 1?"
    raise ValueError(
        f"{source}: the model says class {int(said.iloc[0])} of every image (threshold "
        f"{threshold:g}), though the labels are of both classes; {hint}"
    )


def require_alike(pairs: pd.DataFrame, source: str) -> None:
    """Raise ValueError where pictures of one person are less similar than those of two.

    Args:
        pairs: columns same (0 or 1) and similarity.
        source: of the pairs.

    Example:
        >>> require_alike(pd.DataFrame({"same": [1, 0], "similarity": [0.2, 1.4]}), "pairs.csv")
        Traceback (most recent call last):
        ValueError: pairs.csv: pairs of one person are less similar than pairs of two ...
    """
    separation = _separation(pairs)
    if separation < DISTANCE:
        raise ValueError(
            f"{source}: pairs of one person are less similar than pairs of two in "
            f"{hundredths(1 - separation)} of 100 comparisons; is this a distance? Give its "
            "negative, or check which value of the column says that a pair is of one person"
        )


def doubts_of_images(
    frame: pd.DataFrame, tables: Mapping[str, pd.DataFrame], plan: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """What is hard to believe of a classification: name and sentence of each doubt.

    Args:
        frame: of `Audited`.
        tables: of `analyse`.
        plan: of the audit.

    Example:
        >>> tables = {"manipulation": pd.DataFrame(columns=["axis", "estimate"])}
        >>> frame = pd.DataFrame({"error": [1.0, 1.0, 1.0, 0.0]})
        >>> [name for name, _ in doubts_of_images(frame, tables, {})]
        ['reversed']
    """
    rate = frame["error"].mean()
    if rate > REVERSED:
        yield (
            "reversed",
            f"The model errs on {hundredths(rate)} of 100 images, and would err on "
            f"{hundredths(1 - rate)} if its two classes were exchanged. Check the order of classes "
            "and the index of the output.",
        )
    elif rate > MOST_ERRORS:
        yield (
            "errors",
            f"The model errs on {hundredths(rate)} of 100 images, as guessing would. Check the "
            "preparation of images, the output that is read, and the labels.",
        )
    for row in tables["manipulation"].itertuples():
        if abs(row.estimate) >= MOVED:
            continue
        yield (
            "manipulation",
            f"Along {spaced(row.axis)}, people see {spaced(row.axis)} move by "
            f"{points(row.estimate)} points of its scale only. What was not moved has no effect.",
        )
    for name, changed in CHANGED.items() if plan.get("placebos") else ():
        for row in average_effects(frame, plan, name, [*plan["placebos"]]).itertuples():
            if row.verdict == "exceeds":
                yield (
                    "placebo",
                    f"The placebo {spaced(row.axis)}, which should not matter, changes {changed} "
                    f"by {points(row.estimate)} points. Such effects need no bias to arise.",
                )


def doubts_of_pairs(pairs: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """What is hard to believe of a verification, as `doubts_of_images`.

    Args:
        pairs: columns same and similarity.

    Example:
        >>> pairs = pd.DataFrame({"same": [1, 0, 1, 0], "similarity": [0.1, 0.1, 0.2, 0.2]})
        >>> [name for name, _ in doubts_of_pairs(pairs)]
        ['chance']
    """
    separation = _separation(pairs)
    if separation < CHANCE:
        yield (
            "chance",
            "Pairs of one person are more similar than pairs of two in "
            f"{hundredths(separation)} of 100 comparisons only, hardly more often than by chance. "
            "Check the preparation of images and the output that is read.",
        )


def doubts_of_preparation(
    model: BlackBox,
    images: np.ndarray,
    groups: pd.Series,
    seed: int,
    points: np.ndarray | None = None,
) -> Iterator[tuple[str, str]]:
    """Whether another preparation suits a model better, tried on some of the images.

    A model on the network, and images of too few people, cannot be tried.

    Args:
        model: under audit.
        images: uint8 (n, 3, height, width).
        groups: label of every image, NaN where it has none; of a recogniser, the identity.
        seed: of the draw of images.
        points: of `check_preparation`.

    Example:
        >>> from faceaudit.model_http import RemoteModel
        >>> model = RemoteModel("https://example.org", "p", version="1", max_calls=1)
        >>> [*doubts_of_preparation(model, np.zeros((1, 3, 8, 8), np.uint8), pd.Series([1]), 1)]
        []
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is told below
        tried = check_preparation(
            model, images[rows], groups.iloc[rows], None if points is None else points[rows]
        )
    # One that separates the classes the wrong way round has another doubt.
    told = better_preparation(tried)
    if told and tried["separation"].iloc[0] > 0.5:
        yield "preparation", f"{told[0].upper()}{told[1:]}."


def accepted(found: Iterable[tuple[str, str]], plan: Mapping[str, Any]) -> list[Doubt]:
    """Doubts for the report, those that the audit file accepts marked.

    Args:
        found: name and sentence of each.
        plan: of the audit, with what it accepts.

    Example:
        >>> accepted([("errors", "The model errs.")], {"accept": ["errors"]})[0].accepted
        True
    """
    names = plan.get("accept", ())
    return [Doubt(name=name, sentence=told, accepted=name in names) for name, told in found]


def _separation(pairs: pd.DataFrame) -> float:
    """The share of comparisons in which a pair of one person is the more similar one."""
    if pairs["same"].nunique() < 2:
        return 1.0
    return float(roc_auc_score(pairs["same"], pairs["similarity"]))
