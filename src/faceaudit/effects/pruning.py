"""Which images are left out of the analysis, and what leaving them out does to the match.

Pruning image by image breaks the matched pairs of the transects, and it selects images after
treatment. Report every headline number pruned and unpruned (transects, sections 5.2.1 and 5.4).
Chapter 07 shows and examines the rules.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from faceaudit.utils.arguments import SCORE_DIGITS, require_columns

PAPER_RULES: Mapping[str, pd.Interval] = {
    "fakeness": pd.Interval(0.75, 1.0, closed="both"),
    "skin_colour": pd.Interval(0.4, 0.6, closed="both"),
    "gender": pd.Interval(0.4, 0.6, closed="both"),
    "hair_length": pd.Interval(0.3, 0.5, closed="both"),
}
"""Scores to drop: likely fakes and ambiguous faces (transects, section 5.2.1)."""

ADULT_RULE: Mapping[str, pd.Interval] = {"age": pd.Interval(0.0, 0.4, closed="left")}
"""Scores to drop to compare with a data set of adults (transects, section 5.4)."""


def prune(
    frame: pd.DataFrame, rules: Mapping[str, pd.Interval]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Drop the images whose perceived score lies in the interval of a rule, or is missing.

    Scores are rounded before they are compared, so that 3/5 lies in [0.4, 0.6].

    Args:
        frame: one row per image, with a column of scores for every rule.
        rules: attribute → the scores to drop, as `PAPER_RULES` and `ADULT_RULE`.

    Returns:
        The rows that stay, and a report in the order of the rules with the columns attribute,
        interval, reason ("in interval"; a second row "missing" where scores are missing), dropped
        (images that match the rule), dropped_here (those that no earlier rule had dropped) and
        remaining.

    Raises:
        ValueError: a column of scores is missing.

    Example:
        >>> pruned, report = prune(pd.DataFrame({"age": [0.2, 0.6, 0.8]}), ADULT_RULE)
        >>> pruned["age"].tolist(), report["dropped"].tolist()
        ([0.6, 0.8], [1])
    """
    require_columns(frame, list(rules))
    stays = np.ones(len(frame), dtype=bool)
    rows = []
    for attribute, interval in rules.items():
        score = frame[attribute].astype(np.float64).round(SCORE_DIGITS)
        inside = score.between(interval.left, interval.right, interval.closed)
        reasons = {"in interval": inside.to_numpy()}
        if score.isna().any():
            reasons["missing"] = score.isna().to_numpy()
        for reason, matching in reasons.items():
            newly_dropped = int((matching & stays).sum())
            stays &= ~matching
            dropped = int(matching.sum())
            remaining = int(stays.sum())
            rows.append((attribute, str(interval), reason, dropped, newly_dropped, remaining))
    columns = ["attribute", "interval", "reason", "dropped", "dropped_here", "remaining"]
    return frame[stays], pd.DataFrame(rows, columns=columns)


def complete_transects(frame: pd.DataFrame, size: int, transect: str = "transect") -> pd.DataFrame:
    """The rows of the transects that still have all their `size` images.

    Args:
        frame: one row per image.
        size: images of a complete transect.
        transect: column that names the transects.

    Returns:
        The rows that stay, as they are.

    Example:
        >>> complete_transects(pd.DataFrame({"transect": [0, 0, 1]}), size=2)["transect"].tolist()
        [0, 0]
    """
    require_columns(frame, [transect])
    return frame[frame.groupby(transect)[transect].transform("size") == size]


def complete_pairs(
    full: pd.DataFrame, pruned: pd.DataFrame, axis: str, by: Sequence[str]
) -> pd.DataFrame:
    """The rows that stay after pruning and whose partners along `axis` all stay too.

    Partners are images of one transect with equal levels in `by`, the other axes: one at every
    level of `axis` that `full` has. Where pruning drops a level everywhere, no partners are
    complete.

    Args:
        full: one row per image; the column transect names the transects.
        pruned: the rows of `full` that stay after pruning.
        axis: column of the levels in which partners differ.
        by: columns of the levels of the other axes.

    Returns:
        Rows of `pruned`, as they are.

    Example:
        >>> full = pd.DataFrame({"transect": [0, 0, 1, 1], "skin": [0, 1, 0, 1], "hair": 0})
        >>> complete_pairs(full, full.iloc[:3], "skin", ["hair"])["transect"].tolist()
        [0, 0]
    """
    require_columns(full, [axis])
    require_columns(pruned, ["transect", axis, *by])
    levels = full[axis].nunique()
    return pruned[_levels_present(pruned, axis, by, "transect") == levels]


def completeness(
    full: pd.DataFrame, pruned: pd.DataFrame, axes: Sequence[str], transect: str = "transect"
) -> pd.DataFrame:
    """Count images, complete transects and pairs of every axis before and after pruning.

    Args:
        full: one row per image, with the columns `axes` and `transect`.
        pruned: the rows of `full` that stay after pruning.
        axes: columns of levels. Along an axis of more than two levels, a pair is complete when all
            the levels are present.
        transect: column that names the transects.

    Returns:
        One row per unit ("image", "transect", and "pair" once per axis), with the columns unit,
        axis, before (its number in `full`), after (in `pruned`) and share = after / before.

    Example:
        >>> full = pd.DataFrame({"transect": [0, 0, 1, 1], "skin": [0, 1, 0, 1]})
        >>> completeness(full, full.iloc[:3], ["skin"])["share"].tolist()
        [0.75, 0.5, 0.5]
    """
    require_columns(full, [transect, *axes])
    require_columns(pruned, [transect, *axes])
    levels = {axis: full[axis].nunique() for axis in axes}
    size = int(np.prod(list(levels.values())))

    def count_pairs(frame: pd.DataFrame, axis: str) -> int:
        by = [other for other in axes if other != axis]
        complete = _levels_present(frame, axis, by, transect) == levels[axis]
        return int(complete.sum()) // levels[axis]

    def count_units(frame: pd.DataFrame) -> list[int]:
        transects = len(complete_transects(frame, size, transect)) // size
        return [len(frame), transects, *(count_pairs(frame, axis) for axis in axes)]

    units = [("image", ""), ("transect", ""), *(("pair", axis) for axis in axes)]
    table = pd.DataFrame(units, columns=["unit", "axis"])
    table = table.assign(before=count_units(full), after=count_units(pruned))
    return table.assign(share=table["after"] / table["before"].where(table["before"] > 0))


def _levels_present(frame: pd.DataFrame, axis: str, by: Sequence[str], transect: str) -> pd.Series:
    """How many levels of `axis` occur among the partners of every row (n,)."""
    return frame.groupby([transect, *by], observed=True)[axis].transform("nunique")
