"""95 % intervals of means, shares and net flips over codes, some of which have several rows.

The measures of this room, drawn in chapter 15, take their intervals from here. Rows of one code are
not independent. Means get cluster-robust standard errors. Counts are divided by the design effect,
which leaves the Wilson and Tango intervals their good cover at rates near zero, and Student's
quantile replaces the normal one. Where no code repeats, these are the plain intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr, stdtrit
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from helpers.effects import paired_interval

CONFIDENCE = 0.95
"""Level of every interval of the room."""


class Interval(NamedTuple):
    """An estimate and the ends of its interval; NaN where there is nothing to estimate from."""

    estimate: float
    low: float
    high: float


NOTHING = Interval(np.nan, np.nan, np.nan)


def as_table(
    rows: Mapping[str, tuple[float, ...]], index: str, counts: Sequence[str] = ("n",)
) -> pd.DataFrame:
    """A row per key of `rows`, which hold the `counts` and then an interval."""
    columns = [*counts, *Interval._fields]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis(index)


def mean_interval(values: np.ndarray, codes: np.ndarray) -> Interval:
    """Mean of the rows `values` (n,) with the t interval over their codes (n,).

    No interval with fewer than two codes.
    """
    if len(values) == 0:
        return NOTHING
    mean, sums = values.mean(), _sums(values - values.mean(), codes)
    count = len(sums)
    if count < 2:
        return Interval(mean, np.nan, np.nan)
    if count == len(values):
        return Interval(mean, *DescrStatsW(values).tconfint_mean(1 - CONFIDENCE))
    error = np.sqrt(count / (count - 1) * (sums @ sums)) / len(values)
    reach = stdtrit(count - 1, (1 + CONFIDENCE) / 2) * error
    return Interval(mean, mean - reach, mean + reach)


def share_interval(events: np.ndarray, codes: np.ndarray) -> Interval:
    """Share of rows `events` (n,), bool, with Wilson's interval for as many independent rows."""
    if len(events) == 0:
        return NOTHING
    n, quantile = _effective(events, codes)
    share = events.mean()
    if np.isnan(quantile):
        return Interval(share, np.nan, np.nan)
    low, high = proportion_confint(share * n, n, 2 * ndtr(-quantile), method="wilson")
    return Interval(share, low, high)


def net_interval(differences: np.ndarray, codes: np.ndarray) -> Interval:
    """Mean of `differences` (n,) in {-1, 0, 1} with Tango's interval of paired proportions.

    Tango, Statistics in Medicine 17 (1998) 891-908, see `helpers.effects.paired_interval`: it has
    a width even where nothing flips, and covers well where few do.
    """
    if len(differences) == 0:
        return NOTHING
    n, quantile = _effective(differences, codes)
    up, down = (differences > 0).mean(), (differences < 0).mean()
    if np.isnan(quantile):
        return Interval(up - down, np.nan, np.nan)
    return Interval(up - down, *paired_interval(up * n, down * n, n, quantile))


def _effective(values: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Number of independent rows that say as much, and the quantile that goes with it.

    Several rows of a code never count as more than as many codes would. Where all rows are equal,
    nothing shows how alike a code's are, and a code counts as one row.
    """
    n, residual = len(values), values - values.mean()
    sums, single = _sums(residual, codes), residual @ residual
    count = len(sums)
    if count == n:
        return float(n), float(norm.ppf((1 + CONFIDENCE) / 2))
    if count < 2:
        return float(n), np.nan
    between = count / (count - 1) * (sums @ sums)
    effect = n / count if single < 1e-12 else max(1.0, between / single)
    return n / effect, float(stdtrit(count - 1, (1 + CONFIDENCE) / 2))


def _sums(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Sum of the rows of every code that occurs."""
    _, codes = np.unique(codes, return_inverse=True)
    return np.bincount(codes, values)
