"""Classifiers of attributes in place of people, marked as such in the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from faceaudit.answers import BlackBox
from faceaudit.crowd_answers import Said
from faceaudit.models import ask, model_of
from faceaudit.parts import Reader
from faceaudit.specification import Specification

LIMIT = (
    "No people looked at these images: a classifier read {names}. Where it errs, and errs more "
    "often for some faces than for others, its errors stand in the report as errors of the model "
    "under audit, or hide them."
)


def reader_said(
    images: np.ndarray,
    attributes: Sequence[str],
    specification: Specification,
    folder: Path,
    audited: BlackBox,
) -> Said:
    """What the classifiers of an audit file read off images, in place of people.

    A score is cut at the reader's own threshold, which becomes 0.5 of the scale.

    Args:
        images: uint8 (n, 3, height, width).
        attributes: that are read.
        specification: of the audit, whose people are a reader.
        folder: where its answers are kept.
        audited: the model under audit, which may not be its own judge.

    Returns:
        Scores, NaN where the reader found no face, and what the report says of them.

    Raises:
        ValueError: a model that is none, or the one under audit.

    Example:
        >>> reads = {"kind": "python", "function": "numpy:mean", "version": "1"}
        >>> one = Specification(
        ...     name="mine", question="?", axes=["gender"], design={"tolerance": 0.1},
        ...     people={"kind": "reader", "models": {"gender": reads | {"input": {"size": 8}}}},
        ... )
        >>> images, same = np.zeros((1, 3, 8, 8), np.uint8), model_of(
        ...     one, one.people.models["gender"]
        ... )
        >>> reader_said(images, ["gender"], one, Path("answers"), same)
        Traceback (most recent call last):
        ValueError: audit.yml: people.models.gender is the model under audit, which would ...
    """
    people = specification.people
    assert isinstance(people, Reader)
    scores, cards = {}, {}
    for name in attributes:
        given = people.models[name]
        model = model_of(specification, given)
        if model.hash == audited.hash:
            raise ValueError(
                f"{specification.path}: people.models.{name} is the model under audit, which would "
                "agree with itself everywhere; give another classifier, or people"
            )
        scores[name] = _centred(ask(model, images, folder), given.cut)
        cards[name] = model.card()
    limit = LIMIT.format(names=", ".join(name.replace("_", " ") for name in attributes))
    return Said(pd.DataFrame(scores), {"kind": people.kind, "models": cards}, [limit])


def _centred(score: np.ndarray, threshold: float) -> np.ndarray:
    """Scores on a scale whose middle is the threshold."""
    return np.interp(score, [0, threshold, 1], [0, 0.5, 1])
