"""Verdicts of planned comparisons: does an effect exceed the tolerance, with all adjusted for?

An effect *exceeds* the tolerance where the hypothesis that it does not is rejected after Holm's
adjustment; it is *within* where the two one-sided tests of equivalence reject at the level (claims
of equivalence need no adjustment: to call all cells within, each must be); else it is
*inconclusive*. Families that the gate judges are adjusted together (`settle_together`), a control
for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from helpers.effects import holm, paired_interval
from helpers.effects.verdicts import EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE, WITHIN


def score_p(worse: ArrayLike, better: ArrayLike, n: ArrayLike, difference: ArrayLike) -> np.ndarray:
    """Two-sided p of Tango's score test that a difference of paired proportions is `difference`.

    The test that `helpers.effects.paired_interval` inverts (Tango, Statistics in Medicine 17 (1998)
    891-908): the interval ends where p is one minus its level.

    Args:
        worse, better: discordant pairs of either kind (...).
        n: all pairs.
        difference: under the hypothesis, strictly between -1 and 1.

    Returns:
        p (...).

    Example:
        >>> from helpers import effects
        >>> low, _ = effects.paired_interval(12, 3, 100, 1.959964)
        >>> score_p(12, 3, 100, low).round(4).item()
        0.05
    """
    worse, better, n = (np.asarray(count, dtype=np.float64) for count in (worse, better, n))
    delta = np.asarray(difference, dtype=np.float64)
    linear = (2 * n - worse + better) * delta - worse - better
    root = np.sqrt(np.maximum(linear**2 + 8 * n * better * delta * (1 - delta), 0.0))
    variance = n * ((root - linear) / (2 * n) + delta * (1 - delta))
    distance = np.abs(worse - better - n * delta)
    statistic = np.divide(
        distance, np.sqrt(variance), out=np.where(distance > 0, np.inf, 0.0), where=variance > 0
    )
    return 2 * stdtr(np.inf, -statistic)


def judge(table: pd.DataFrame, tolerance: float, level: float = 0.05) -> pd.DataFrame:
    """Verdicts of one family, adjusted for itself, from the matched effects in it.

    With one pair per face and errors of 0 and 1, the test against the tolerance is `score_p`. For
    averages over several pairs of a face, and for scores, it takes the standard error that the side
    of the interval towards the tolerance implies, with the interval's Student quantiles.

    Args:
        table: columns estimate, low, high, p, n, transects, worse, better and verdict of
            `helpers.effects.matched_effects`, and exact: whether the first test applies.
        tolerance: largest effect that does not matter.
        level: of the family.

    Returns:
        The table with p_holm, p_beyond (of the hypothesis that the effect is not larger than the
        tolerance, in the direction it is found in), p_beyond_holm, verdict, and low_family and
        high_family: simultaneous intervals, by Bonferroni's quantile.

    Example:
        >>> from helpers import effects
        >>> frame = pd.DataFrame({"unit": np.repeat(range(200), 2), "skin_level": [0, 1] * 200})
        >>> frame["error"] = [0, 1] * 40 + [0, 0] * 160
        >>> found = effects.matched_effects(frame, "error", "skin_level", [], "unit")
        >>> judge(found.assign(exact=True), 0.05)["verdict"].item()
        'exceeds'
    """
    found = table.copy()
    known = found["low"].notna()
    m = max(int(known.sum()), 1)
    estimate, sign = found["estimate"], np.where(found["estimate"] < 0, -1.0, 1.0)
    df = np.where(found["exact"], np.inf, (found["transects"] - 1).clip(lower=1))
    quantile, wide = stdtrit(df, 1 - level / 2), stdtrit(df, 1 - level / (2 * m))
    approximate = beyond_by_interval(found, tolerance, df, level)
    exact = score_p(found["worse"], found["better"], found["n"].clip(lower=1), sign * tolerance)
    p = np.where(found["exact"], exact, approximate)
    larger = np.abs(estimate) > tolerance
    found["p_beyond"] = np.where(known, np.where(larger, np.minimum(p, 1), 1.0), np.nan)
    found["p_holm"] = holm(found["p"])
    ends = [
        paired_interval(row.worse, row.better, row.n, z)
        if row.exact and not np.isnan(row.low)
        else (
            row.estimate - (row.estimate - row.low) * z / q,
            row.estimate + (row.high - row.estimate) * z / q,
        )
        for row, z, q in zip(found.itertuples(), wide, quantile, strict=True)
    ]
    found["low_family"], found["high_family"] = np.clip(np.array(ends).reshape(-1, 2).T, -1, 1)
    return settled(found, level)


def beyond_by_interval(
    table: pd.DataFrame, tolerance: float, df: ArrayLike, level: float = 0.05
) -> np.ndarray:
    """Two-sided p of an effect no larger than the tolerance, from an interval's near side.

    The side of the interval towards the tolerance implies a standard error; p is below the level
    exactly where the interval lies beyond the tolerance.

    Args:
        table: columns estimate, low and high.
        tolerance: largest effect that does not matter.
        df: degrees of freedom of the interval's Student quantile.
        level: one minus that of the interval.

    Returns:
        p (n,): 1 where the estimate itself is within the tolerance, NaN without an interval.

    Example:
        >>> table = pd.DataFrame({"estimate": [0.1, 0.02], "low": [0.05, -0.1], "high": [0.2, 0.1]})
        >>> beyond_by_interval(table, 0.05, np.inf).round(3).tolist()
        [0.05, 1.0]
    """
    estimate, low, high = (table[column].to_numpy(float) for column in ("estimate", "low", "high"))
    quantile = stdtrit(df, 1 - level / 2)
    side = np.where(estimate > 0, estimate - low, high - estimate)
    distance = np.abs(estimate) - tolerance
    # A side of no width is an estimate at the end of what there can be.
    ratio = np.divide(distance * quantile, side, out=np.full(len(side), np.inf), where=side > 0)
    p = np.where(distance > 0, 2 * stdtr(df, -ratio), 1.0)
    return np.where(np.isnan(low) | np.isnan(high), np.nan, p)


def settle_together(
    tables: Mapping[str, pd.DataFrame], families: Iterable[str], level: float
) -> dict[str, pd.DataFrame]:
    """Verdicts of several families, with one error rate for all of them.

    Each family has the same share of the level, and each comparison the same share of its family's,
    so that three averages do not drown among twelve cells. What one rejects passes on to the others
    (Holm 1979, section 4).

    Args:
        tables: family → its comparisons, with the columns that `settled` takes.
        families: those that are judged together.
        level: of all of them.

    Returns:
        The tables, those of the families with new verdicts and the column together: of how many
        comparisons each is one.

    Example:
        >>> table = pd.DataFrame({"p_beyond": [0.02], "verdict": ["exceeds"]})
        >>> settle_together({"a": table, "b": table}, ["a", "b"], 0.05)["a"]["verdict"].item()
        'exceeds'
        >>> worse = table.assign(p_beyond=0.9, verdict="inconclusive")
        >>> settle_together({"a": table.assign(p_beyond=0.03), "b": worse}, ["a", "b"], 0.05)["a"][
        ...     "verdict"
        ... ].item()
        'inconclusive'
    """
    judged = pd.concat({name: tables[name] for name in families}, names=["family"])
    estimable = judged["p_beyond"].groupby("family").transform("count").clip(lower=1)
    found = settled(judged, level, 1 / estimable).assign(together=len(judged))
    return dict(tables) | {name: found.loc[name] for name in families}


def settled(table: pd.DataFrame, level: float, weights: ArrayLike = 1.0) -> pd.DataFrame:
    """Verdicts of comparisons from their p-values against the tolerance.

    Args:
        table: columns p_beyond, and verdict of `helpers.effects.verdict`, whose "within" counts.
        level: of all of them.
        weights: shares of the level, of `helpers.effects.holm`.

    Returns:
        The table with p_beyond_holm and the verdicts.

    Example:
        >>> table = pd.DataFrame({"p_beyond": [0.01, 0.04], "verdict": ["exceeds", "exceeds"]})
        >>> settled(table, 0.05)["verdict"].tolist()
        ['exceeds', 'exceeds']
    """
    adjusted = holm(table["p_beyond"], weights)
    states = [np.isnan(adjusted), adjusted < level, table["verdict"] == WITHIN]
    verdicts = np.select(states, [NOT_ESTIMABLE, EXCEEDS, WITHIN], INCONCLUSIVE)
    return table.assign(p_beyond_holm=adjusted, verdict=verdicts)
