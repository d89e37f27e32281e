"""Score sensitivity and classification sensitivity of one step, G(z) → G(z + d): chapter 15."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from helpers.resampling import as_codes
from helpers.sensitivity.intervals import as_table, mean_interval, net_interval, share_interval
from helpers.utils.checks import as_probabilities, check_range, require_alike


def score_sensitivity(
    scores_before: ArrayLike,
    scores_after: ArrayLike,
    near: tuple[float, float],
    cluster: ArrayLike | None = None,
) -> pd.DataFrame:
    """How much the score moves along a vector (sensitivity, section 4.3).

    Index measure:

    - "score sensitivity": mean of after - before (eq 3);
    - "near the boundary": the same over the rows with near[0] < before < near[1] (section 5);
    - "stability": mean of |after - before| (footnote 1).

    Args:
        scores_before: P(smiling) of G(z), (n,).
        scores_after: that of G(z + d), (n,), rows as in `scores_before`.
        near: what counts as near the boundary, both ends excluded.
        cluster: code of every row, (n,), where several rows share one; else rows are codes.

    Returns:
        Columns n (codes), estimate, low, high: 95 % t interval over codes, NaN with fewer than two.

    Raises:
        ValueError: scores that are no probabilities, shapes that differ, a row without a code, or a
            `near` that is no range within [0, 1].

    Example:
        >>> from helpers import sensitivity
        >>> table = sensitivity.score_sensitivity([0.2, 0.6, 0.9], [0.4, 0.9, 0.8], (0.3, 0.7))
        >>> table["estimate"].round(2).to_dict()
        {'score sensitivity': 0.13, 'near the boundary': 0.3, 'stability': 0.2}
    """
    before, after, codes = _pair(scores_before, scores_after, cluster)
    change, close = after - before, near_boundary(before, near)
    parts = {
        "score sensitivity": (change, codes),
        "near the boundary": (change[close], codes[close]),
        "stability": (np.abs(change), codes),
    }
    rows = {
        measure: (len(np.unique(rows)), *mean_interval(values, rows))
        for measure, (values, rows) in parts.items()
    }
    return as_table(rows, "measure")


def flips(
    scores_before: ArrayLike,
    scores_after: ArrayLike,
    threshold: float,
    cluster: ArrayLike | None = None,
) -> pd.DataFrame:
    """How often the decision y = 1(score ≥ threshold) flips along a vector (sensitivity, eq 5).

    The two versions of the paper define flip rates differently. Index flip:

    - joint_01, joint_10: share of all rows that flip from 0 to 1, from 1 to 0 (sensitivity
      workshop, eqs 7-8, the first factor read as an indicator);
    - conditional_01, conditional_10: share of the rows with y = 0 (1) before that flip. The later
      paper restricts Z so and keeps the sign: its S0→1 is +conditional_01 and its S1→0 is
      -conditional_10 (sensitivity, section 4.5). conditional_ab = joint_ab / P(y = a before);
    - net: joint_01 - joint_10, the mean of y after - y before (eq 6).

    Args:
        scores_before: P(smiling) of G(z), (n,).
        scores_after: that of G(z + d), (n,), rows as in `scores_before`.
        threshold: c in eq 5, in [0, 1].
        cluster: code of every row, (n,), where several rows share one; else rows are codes.

    Returns:
        Columns n (rows in the denominator), events, estimate (events / n; for net, the events are
        flips up less flips down), low, high: 95 % intervals by Wilson, for net by Tango, both with
        a design effect where codes repeat. NaN where n is 0, or where all of several rows are of
        one code.

    Raises:
        ValueError: as `score_sensitivity`, or a threshold outside of [0, 1].

    Example:
        >>> from helpers import sensitivity
        >>> table = sensitivity.flips([0.1, 0.2, 0.8, 0.9], [0.6, 0.3, 0.7, 0.9], threshold=0.5)
        >>> table.loc[["joint_01", "conditional_01", "net"], "estimate"].tolist()
        [0.25, 0.5, 0.25]
    """
    before, after, codes = _pair(scores_before, scores_after, cluster)
    before, after = decisions(before, threshold), decisions(after, threshold)
    up, down = ~before & after, before & ~after
    shares = {
        "joint_01": (up, codes),
        "joint_10": (down, codes),
        "conditional_01": (up[~before], codes[~before]),
        "conditional_10": (down[before], codes[before]),
    }
    rows = {
        flip: (len(events), int(events.sum()), *share_interval(events, of))
        for flip, (events, of) in shares.items()
    }
    net = up.astype(float) - down
    rows["net"] = (len(net), int(net.sum()), *net_interval(net, codes))
    return as_table(rows, "flip", ["n", "events"])


def decisions(scores: np.ndarray, threshold: float) -> np.ndarray:
    """y = 1(score ≥ threshold) as bool (sensitivity, eq 5); ValueError for another threshold."""
    return scores >= check_range("threshold", threshold, 0, 1)


def near_boundary(scores: np.ndarray, near: tuple[float, float]) -> np.ndarray:
    """Rows with near[0] < score < near[1], bool; ValueError where `near` is no such range."""
    if not 0 <= near[0] < near[1] <= 1:
        raise ValueError(f"near: expected 0 <= low < high <= 1, got {near}")
    return (scores > near[0]) & (scores < near[1])


def _pair(
    scores_before: ArrayLike, scores_after: ArrayLike, cluster: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    before = as_probabilities(scores_before, "scores_before")
    after = as_probabilities(scores_after, "scores_after")
    require_alike(after, "scores_after", before, "scores_before")
    return before, after, as_codes(cluster, len(before))
