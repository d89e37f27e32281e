"""Which images are left out of the analysis, and what leaving them out does to the match.

Pruning image by image breaks the pairs that the transects were made for, and it selects after
treatment: report every headline number pruned and unpruned (transects, sections 5.2.1 and 5.4).
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

    An endpoint is met up to rounding: 3/5 lies in [0.4, 0.6].

    Args:
        frame: one row per image, with a column of scores for every rule.
        rules: attribute → the scores to drop, as `PAPER_RULES` and `ADULT_RULE`.

    Returns:
        The rows kept, and a report in the order of the rules with the columns attribute, interval,
        reason ("in interval"; a second row "missing" where scores are missing), dropped (images
        that match the rule), dropped_here (those that no earlier rule had dropped) and remaining.

    Raises:
        ValueError: a column of scores is missing.

    Example:
        >>> kept, report = prune(pd.DataFrame({"age": [0.2, 0.6, 0.8]}), ADULT_RULE)
        >>> kept["age"].tolist(), report["dropped"].tolist()
        ([0.6, 0.8], [1])
    """
    require_columns(frame, list(rules))
    kept = np.ones(len(frame), dtype=bool)
    report = []
    for attribute, interval in rules.items():
        score = frame[attribute].astype(np.float64).round(SCORE_DIGITS)
        inside = score.between(interval.left, interval.right, interval.closed)
        reasons = {"in interval": inside.to_numpy(), "missing": score.isna().to_numpy()}
        if not reasons["missing"].any():
            del reasons["missing"]
        for reason, matching in reasons.items():
            dropped_here = int((matching & kept).sum())
            kept &= ~matching
            counts = (int(matching.sum()), dropped_here, int(kept.sum()))
            report.append((attribute, str(interval), reason, *counts))
    columns = ["attribute", "interval", "reason", "dropped", "dropped_here", "remaining"]
    return frame[kept], pd.DataFrame(report, columns=columns)


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
    frame: pd.DataFrame, axis: str, by: Sequence[str], transect: str = "transect"
) -> pd.DataFrame:
    """The rows whose partners along `axis` are all there.

    Partners are images of one transect with equal levels in `by`, the other axes.

    Args:
        frame: one row per image.
        axis: column of the levels in which partners differ.
        by: columns of the levels of the other axes.
        transect: column that names the transects.

    Returns:
        The rows that stay, as they are.

    Example:
        >>> frame = pd.DataFrame({"transect": [0, 0, 1], "skin": [0, 1, 0], "hair": [0, 0, 0]})
        >>> complete_pairs(frame, "skin", ["hair"])["transect"].tolist()
        [0, 0]
    """
    require_columns(frame, [transect, axis, *by])
    levels = max(2, frame[axis].nunique())
    return frame[_levels_present(frame, axis, by, transect) == levels]


def completeness(
    full: pd.DataFrame, kept: pd.DataFrame, axes: Sequence[str], transect: str = "transect"
) -> pd.DataFrame:
    """What pruning leaves of the images, the complete transects and the pairs of every axis.

    Args:
        full: one row per image, with the columns `axes` and `transect`.
        kept: those that pruning keeps.
        axes: columns of levels. Along an axis of more than two levels, a pair is complete when all
            the levels are there.
        transect: column that names the transects.

    Returns:
        One row per unit ("image", "transect", and "pair" once per axis), with the columns unit,
        axis, before (its number in `full`), after (in `kept`) and share = after / before.

    Example:
        >>> full = pd.DataFrame({"transect": [0, 0, 1, 1], "skin": [0, 1, 0, 1]})
        >>> completeness(full, full.iloc[:3], ["skin"])["share"].tolist()
        [0.75, 0.5, 0.5]
    """
    require_columns(full, [transect, *axes])
    require_columns(kept, [transect, *axes])
    levels = {axis: full[axis].nunique() for axis in axes}
    size = int(np.prod(list(levels.values())))

    def pairs(frame: pd.DataFrame, axis: str) -> int:
        by = [other for other in axes if other != axis]
        complete = _levels_present(frame, axis, by, transect) == levels[axis]
        return int(complete.sum()) // levels[axis]

    def counts(frame: pd.DataFrame) -> list[int]:
        transects = len(complete_transects(frame, size, transect)) // size
        return [len(frame), transects, *(pairs(frame, axis) for axis in axes)]

    units = [("image", ""), ("transect", ""), *(("pair", axis) for axis in axes)]
    table = pd.DataFrame(units, columns=["unit", "axis"])
    table = table.assign(before=counts(full), after=counts(kept))
    return table.assign(share=table["after"] / table["before"].where(table["before"] > 0))


def _levels_present(frame: pd.DataFrame, axis: str, by: Sequence[str], transect: str) -> pd.Series:
    return frame.groupby([transect, *by], observed=True)[axis].transform("nunique")
