"""Strata of images by perceived scores, and a classifier's error rates in them.

Frames have one row per image. `error` is 0 or 1: whether the model's answer differs from the
human majority (transects, section 4.2, equation 1). Chapter 08 defends the cuts.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from faceaudit.annotations.schema import ATTRIBUTES
from faceaudit.effects.risks import wilson_interval
from faceaudit.utils.arguments import as_binary, as_scores, require_columns, require_present
from faceaudit.utils.errors import InputError

STRATA: dict[str, tuple[tuple[float, ...], tuple[str, ...]]] = {
    "gender": ((0.5,), ("female", "male")),
    "hair_length": ((0.4,), ("short", "long")),
    "skin_colour": ((0.5,), ("light", "dark")),
}
"""Cuts of perceived scores and names of the strata, for `discretize`: those of the paper's figures
(transects, Fig 13), in the middle of the ranges that pruning removes. Chapter 08 defends them."""
AGE_GROUPS: tuple[str, ...] = ATTRIBUTES["age"]
"""The annotated levels of age, Child ... Senior."""


def discretize(
    score: pd.Series, cuts: Sequence[float] | np.ndarray, labels: Sequence[str]
) -> pd.Series:
    """Bins of a score (transects, section 4.2).

    Args:
        score: (n,), in [0, 1]; digits beyond `faceaudit.utils.arguments.SCORE_DIGITS` are rounded.
        cuts: increasing, one fewer than labels.
        labels: label k holds cuts[k - 1] <= score < cuts[k]; a score on a cut goes up.

    Returns:
        (n,) ordered categorical of all `labels`, with the index and name of the score.

    Raises:
        ValueError: naming the first row whose score is missing or outside [0, 1].

    Example:
        >>> hair = pd.Series([0.1, 0.4], name="hair_length")
        >>> discretize(hair, *STRATA["hair_length"]).tolist()
        ['short', 'long']
    """
    codes = np.digitize(as_scores(score), cuts)
    bins = pd.Categorical.from_codes(codes, categories=list(labels), ordered=True)
    return pd.Series(bins, index=score.index, name=score.name)


def age_group(score: pd.Series) -> pd.Series:
    """The level of age nearest to a perceived age score: Child ... Senior.

    Args:
        score: (n,), in [0, 1].

    Returns:
        (n,) ordered categorical of `AGE_GROUPS`.

    Example:
        >>> age_group(pd.Series([0.0, 0.7])).tolist()
        ['Child', 'Middle age']
    """
    steps = len(AGE_GROUPS) - 1
    return discretize(score, (np.arange(steps) + 0.5) / steps, AGE_GROUPS)


def majority(score: pd.Series) -> pd.Series:
    """The level that most raters see of an attribute with two ends: 1 where the score is >= 0.5.

    Images near the middle are ambiguous; pruning removes them.

    Args:
        score: (n,), in [0, 1].

    Returns:
        (n,) int64 of 0 and 1.

    Example:
        >>> majority(pd.Series([0.45, 0.5])).tolist()
        [0, 1]
    """
    return pd.Series((as_scores(score) >= 0.5).astype(np.int64), score.index, name=score.name)


def stratified_errors(
    frame: pd.DataFrame, by: str | Sequence[str], error: str = "error"
) -> pd.DataFrame:
    """Error rate of every stratum with its Wilson 95% interval (transects, eq. 1, Figs 1, 13).

    Args:
        frame: one row per image.
        by: columns of strata; all categories of a categorical one appear.
        error: column of 0 and 1.

    Returns:
        One row per combination of the levels of `by`, with the columns n, errors, rate, low, high.
        A combination without images has n = 0 and no rate (NaN).

    Raises:
        ValueError: a missing column, a missing stratum or an error other than 0 and 1.

    Example:
        >>> frame = pd.DataFrame({"skin": ["light", "dark", "dark"], "error": [0, 0, 1]})
        >>> stratified_errors(frame, "skin")["rate"].to_dict()
        {'dark': 0.5, 'light': 0.0}
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
    table["low"], table["high"] = wilson_interval(table["errors"], n)
    return table


def matched_groups(
    frame: pd.DataFrame, attribute: str, by: Sequence[str], error: str = "error"
) -> pd.DataFrame:
    """Pairs of groups that differ in one attribute only (transects, Fig 14).

    Args:
        frame: one row per image.
        attribute: column in which the groups of a pair differ.
        by: columns that they share, one at least.
        error: column of 0 and 1.

    Returns:
        One row per cell of `by` and pair of levels of `attribute`: the two levels in `first` and
        `second`, then n, errors, rate, low and high of each, with the suffixes _first and _second.

    Raises:
        ValueError: as of `stratified_errors`, or one level of `attribute`.

    Example:
        >>> frame = pd.DataFrame({"skin": [*"ldld"], "hair": [*"ssll"], "error": [0, 1, 0, 0]})
        >>> matched_groups(frame, "skin", ["hair"])[["rate_first", "rate_second"]].loc["s"].tolist()
        [1.0, 0.0]
    """
    table = stratified_errors(frame, [*by, attribute], error)
    levels = table.index.get_level_values(attribute).categories
    pairs = []
    for first, second in combinations(levels, 2):
        first_rates = table.xs(first, level=attribute)
        second_rates = table.xs(second, level=attribute)
        pair = first_rates.add_suffix("_first").join(second_rates.add_suffix("_second"))
        pair.insert(0, "first", first)
        pair.insert(1, "second", second)
        pairs.append(pair)
    if not pairs:
        raise InputError(
            f"column {attribute!r} has one level, {levels[0]!r}: nothing to pair",
            field=attribute,
            found=levels[0],
            expected="two or more levels",
        )
    return pd.concat(pairs)
