"""What an audit counts of each image: an error, a decision, a score, or why there is no answer.

The first outcome of an audit is judged in every cell and on average, the others on average. Where
no image has a label, the first outcome is one that needs none.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd

OutcomeName = Literal[
    "error",
    "fpr",
    "fnr",
    "selection",
    "score",
    "flip",
    "abstention",
    "no_face",
    "failed_call",
    "number",
]
"""Outcomes by their names in audit files."""
ERROR = "error"
FALSE_POSITIVE = "fpr"
FALSE_NEGATIVE = "fnr"
SELECTION = "selection"
SCORE = "score"
FLIP = "flip"
NUMBER = "number"
"""A number of the caller's, such as by how many years an age is off."""
MISSING = "missing"
"""That there is no image, no label or no answer. It is compared in every audit."""
OF_LABELS = (ERROR, FALSE_POSITIVE, FALSE_NEGATIVE)
"""Outcomes that need to know what is right."""
OF_TWO_CLASSES = (FALSE_POSITIVE, FALSE_NEGATIVE, SELECTION, SCORE)
"""Outcomes that ask which of two answers it is."""
REASONS = {"abstention": "abstention", "no_face": "no face", "failed_call": "failed call"}
"""Outcomes of images without an answer → why there is none, as tables have it."""
TITLES = {
    ERROR: "error rate",
    FALSE_POSITIVE: "false positive rate",
    FALSE_NEGATIVE: "false negative rate",
    SELECTION: "selection rate",
    SCORE: "mean score",
    FLIP: "flip rate",
    NUMBER: "mean",
    MISSING: "share of missing images",
    "abstention": "rate of abstentions",
    "no_face": "rate of faces that were not found",
    "failed_call": "rate of failed calls",
}
"""Outcome → its mean over images, in words."""
TOLERANCE_OF_MISSING = 0.05
"""Largest effect on being missing that does not matter, where the audit's tolerance is a number's.
"""
WITHOUT_REASON = ""
"""Reason of an image that has an answer."""


def outcomes_of(plan: Mapping[str, Any]) -> list[str]:
    """The outcomes of an audit; plans of errors alone need not name them."""
    return plan.get("outcomes", [ERROR])


def first_outcome(plan: Mapping[str, Any]) -> str:
    """The outcome that is judged in every cell."""
    return outcomes_of(plan)[0]


def further_outcomes(plan: Mapping[str, Any]) -> list[str]:
    """The outcomes that are judged on average alone."""
    return outcomes_of(plan)[1:]


def has_own_missing(frame: pd.DataFrame, missing: pd.Series, plan: Mapping[str, Any]) -> bool:
    """Whether what is missing has comparisons of its own.

    It has none where nothing is missing. Nor has it any where all of it is missing for one reason
    that the audit judges by its name: the comparisons would be the same, and be judged twice.

    Args:
        frame: images or portraits, with a column of 0 and 1 for each outcome that is a reason.
        missing: of every image or portrait that should be there, 1 where its outcome is unknown.
        plan: of the audit.

    Example:
        >>> frame = pd.DataFrame({"no_face": [1.0, 0.0, 0.0]})
        >>> plan = {"outcomes": ["error", "no_face"]}
        >>> [has_own_missing(frame, pd.Series(missing), plan)
        ...  for missing in ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0])]
        [False, False, True]
    """
    for name in REASONS:
        # An image that has such a reason has no answer, and is missing.
        if name in further_outcomes(plan) and frame[name].sum() == missing.sum():
            return False
    return bool(missing.any())


def tolerance_of(outcome: str, first_outcome: str, tolerance: float) -> float:
    """Largest effect on an outcome that does not matter.

    Args:
        outcome: that is compared.
        first_outcome: of the audit.
        tolerance: of the audit.
    """
    if outcome == MISSING and first_outcome == NUMBER:
        return TOLERANCE_OF_MISSING
    return tolerance


def is_of_number(row: Any) -> bool:
    """Whether a row of a report is about a number with a unit of its own, and not about a rate.

    A row about a recogniser's pairs has no outcome: it is about a rate.
    """
    return getattr(row, "outcome", None) == NUMBER


def with_outcomes(
    images: pd.DataFrame, outcomes: Sequence[str], threshold: float, classes: int = 2
) -> pd.DataFrame:
    """Images with a column for each outcome.

    Args:
        images: columns score (NaN without an answer), label where outcomes need it, and reason
            where outcomes are of images without an answer.
        outcomes: names of `OutcomeName`.
        threshold: scores above it say 1, of two classes.
        classes: how many there are; of more than two, the score is the place of the answer.

    Returns:
        The images with no_answer (0 or 1) and the outcomes: numbers from 0 to 1, NaN where an
        outcome is not defined. Of a flip, which two images decide about, it is the decision.

    Example:
        >>> images = pd.DataFrame({"label": [0, 0, 1], "score": [0.2, 0.9, None]})
        >>> table = with_outcomes(images, ["error", "fpr", "selection"], 0.5)
        >>> table["fpr"].tolist(), table["selection"].tolist()
        ([0.0, 1.0, nan], [0.0, 1.0, nan])
    """
    score = images["score"]
    columns = {"no_answer": score.isna().astype(float)}
    decision = score
    if classes == 2:
        decision = (score > threshold).astype(float).where(score.notna())
    if set(outcomes) & set(OF_LABELS):
        label = images["label"]
        error = errors_at(images, threshold, classes)
        columns[ERROR] = error
        if FALSE_POSITIVE in outcomes:
            columns[FALSE_POSITIVE] = error.where(label == 0)
        if FALSE_NEGATIVE in outcomes:
            columns[FALSE_NEGATIVE] = error.where(label == 1)
    for name in outcomes:
        if name in (SELECTION, FLIP):
            columns[name] = decision
        elif name in REASONS:
            columns[name] = (images["reason"] == REASONS[name]).astype(float)
    return images.assign(**columns)


def errors_at(images: pd.DataFrame, threshold: float, classes: int = 2) -> pd.Series:
    """Errors (0 or 1) where scores above a threshold say 1.

    Args:
        images: columns label and score.
        threshold: of the scores, of two classes.
        classes: how many there are; of more than two, the score is the place of the answer.

    Returns:
        (n,) NaN where there is no label or no score.
    """
    score = images["score"]
    label = images["label"]
    wrong = score != label
    if classes == 2:
        wrong = (score > threshold) != (label == 1)
    return wrong.astype(float).where(score.notna() & label.notna())
