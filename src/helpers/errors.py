"""Errors of a classifier by group: rates with counts and intervals, thresholds, worst images.

Frames have one row per image. `error` is 0 or 1: whether the model's answer differs from the
human majority (transects, section 4.2, equation 1).
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.metrics import roc_curve
from statsmodels.stats.proportion import proportion_confint

from helpers.annotations.schema import ATTRIBUTES
from helpers.utils.checks import _reject, as_binary, require_columns, require_present

AGE_GROUPS: tuple[str, ...] = ATTRIBUTES["age"]
SCORE_DIGITS = 6
"""Scores are means of few whole levels; digits beyond these are rounding, not information."""


def as_scores(score: pd.Series) -> np.ndarray:
    """Scores in [0, 1] as float64, shape (n,), free of rounding in the last digits.

    Raises ValueError naming the column and row of the first score that is missing or outside.
    """
    values = np.round(score.to_numpy(np.float64, na_value=np.nan), SCORE_DIGITS)
    _reject(score, ~((values >= 0) & (values <= 1)), "a score in [0, 1]")
    return values


def discretize(score: pd.Series, cuts: Sequence[float], labels: Sequence[str]) -> pd.Series:
    """Bins of a score (transects, section 4.2), as an ordered categorical of all `labels`.

    Label k holds cuts[k - 1] <= score < cuts[k]; a score on a cut goes up.
    """
    codes = np.digitize(as_scores(score), cuts)
    bins = pd.Categorical.from_codes(codes, categories=list(labels), ordered=True)
    return pd.Series(bins, index=score.index, name=score.name)


def age_group(score: pd.Series) -> pd.Series:
    """The level of age nearest to a perceived age score: Child ... Senior."""
    steps = len(AGE_GROUPS) - 1
    return discretize(score, (np.arange(steps) + 0.5) / steps, AGE_GROUPS)


def majority(score: pd.Series) -> pd.Series:
    """What the raters say of an attribute with two ends: 1 where the mean score is >= 0.5.

    The images in between are the ambiguous ones that pruning removes.
    """
    return pd.Series((as_scores(score) >= 0.5).astype(np.int64), score.index, name=score.name)


def stratified_errors(
    frame: pd.DataFrame, by: str | Sequence[str], error: str = "error"
) -> pd.DataFrame:
    """Error rate of every stratum with its Wilson 95 % interval (transects, eq. 1, Figs 1, 13).

    One row per combination of the levels of `by`, with the columns n, errors, rate, low, high.
    A combination without images has n = 0 and no rate (NaN): it never reads as 0.
    Raises ValueError for a missing column, a missing stratum or an error other than 0 and 1.
    """
    by = [by] if isinstance(by, str) else list(by)
    require_columns(frame, [*by, error])
    for column in by:
        require_present(frame[column], "a stratum")
    outcome = pd.Series(as_binary(frame[error]), frame.index)
    strata = [frame[column].astype("category") for column in by]
    table = outcome.groupby(strata, observed=False).agg(n="size", errors="sum").astype(np.int64)
    n = table["n"].where(table["n"] > 0)
    table["rate"] = table["errors"] / n
    table["low"], table["high"] = proportion_confint(table["errors"], n, method="wilson")
    return table


def matched_groups(
    frame: pd.DataFrame, attribute: str, by: Sequence[str], error: str = "error"
) -> pd.DataFrame:
    """Pairs of groups that differ in one attribute only (transects, Fig 14).

    One row per cell of `by` and pair of levels of `attribute`: the two levels in `first` and
    `second`, then n, errors, rate, low and high of each, with the suffixes _first and _second.
    """
    if not by:
        raise ValueError("`by` names no column: the pairs need attributes that they share")
    table = stratified_errors(frame, [*by, attribute], error)
    levels = table.index.get_level_values(attribute).categories
    pairs = []
    for first, second in combinations(levels, 2):
        sides = {"_first": first, "_second": second}
        pair = pd.concat(
            [table.xs(level, level=attribute).add_suffix(side) for side, level in sides.items()],
            axis=1,
        )
        pair.insert(0, "first", first)
        pair.insert(1, "second", second)
        pairs.append(pair)
    if not pairs:
        raise ValueError(f"column {attribute!r} has one level, {levels[0]!r}: nothing to pair")
    return pd.concat(pairs)


def worst(
    frame: pd.DataFrame, score: str, label: str, n: int, threshold: float = 0.5
) -> pd.DataFrame:
    """The n most wrong images of each direction (transects, Fig 17).

    `score` is the model's probability of level 1 and `label` the raters' mean score of the same
    attribute. Among the misclassified images, the `gap` is score - label, and `direction` is
    "1 read as 0" or "0 read as 1"; the largest gaps come first.
    """
    require_columns(frame, [score, label])
    truth = majority(frame[label])
    answer = (frame[score] >= threshold).astype(np.int64)
    gap = frame[score] - frame[label]
    sides = []
    for level in (1, 0):
        wrong = (truth == level) & (answer != level)
        rows = frame.assign(direction=f"{level} read as {1 - level}", gap=gap)[wrong]
        sides.append(rows.sort_values("gap", key=np.abs, ascending=False, kind="stable").head(n))
    return pd.concat(sides)


def tune_threshold(score: ArrayLike, label: ArrayLike) -> float:
    """The decision threshold with the least balanced error, (FPR + FNR) / 2.

    Use held-out data: the paper's 0.8 (transects, Fig 16) was tuned on the test set itself. The
    threshold lies halfway between two scores; among equals, the one nearest to 0.5.
    Raises ValueError unless both labels occur.
    """
    label = as_binary(label, "label")
    if len(np.unique(label)) < 2:
        raise ValueError("column 'label' holds one class only: no threshold separates anything")
    fpr, tpr, scores = roc_curve(label, score, drop_intermediate=False)
    balanced = (fpr - tpr + 1)[1:] / 2
    scores = scores[1:].astype(np.float64)
    thresholds = (scores + np.append(scores[1:], scores[-1])) / 2
    best = thresholds[np.isclose(balanced, balanced.min(), rtol=0, atol=1e-12)]
    return float(best[np.argmin(np.abs(best - 0.5))])
