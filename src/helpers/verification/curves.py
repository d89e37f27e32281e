"""False non-matches and false matches of a recogniser by group (Liang et al. 2023, 4.1.1, Fig 6).

A recogniser calls a pair a match where its similarity is at least the threshold. FNMR is the share
of the positives (pairs that people hold for one person) below it, FMR the share of the negatives
at or above it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from helpers.utils.checks import as_binary

NO_POSITIVES, NO_NEGATIVES, NO_PAIRS = "no positives", "no negatives", "no pairs"


@dataclass(frozen=True)
class GroupPairs:
    """The pairs of one group: similarities of each kind, ascending, and the rows they come from."""

    label: str
    positive: np.ndarray
    negative: np.ndarray
    positive_rows: np.ndarray
    negative_rows: np.ndarray

    @property
    def thresholds(self) -> np.ndarray:
        """Every distinct similarity, ascending: at these the rates change."""
        return np.unique(np.concatenate([self.positive, self.negative]))

    @property
    def reason(self) -> str:
        """Why a rate cannot be estimated, else empty."""
        if not len(self.positive):
            return NO_POSITIVES if len(self.negative) else NO_PAIRS
        return "" if len(self.negative) else NO_NEGATIVES

    def rates(self, thresholds: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """FNMR and FMR at thresholds, of their shape; NaN without pairs of the kind."""
        rejected = np.searchsorted(self.positive, thresholds)
        matched = len(self.negative) - np.searchsorted(self.negative, thresholds)
        return rejected / (len(self.positive) or np.nan), matched / (len(self.negative) or np.nan)

    def threshold_at(self, fmr: float) -> tuple[float, str]:
        """The lowest similarity at which the FMR is at most `fmr`, or NaN and why there is none.

        Infinity where even the highest similarity lets too many negatives through.
        """
        count = len(self.negative)
        if self.reason:
            return np.nan, self.reason
        allowed = allowed_matches(fmr, count)
        if allowed < 1:
            return np.nan, f"not estimable below 1/{count}"
        last_rejected = self.negative[count - allowed - 1]
        above = np.searchsorted(self.thresholds, last_rejected, side="right")
        return float(np.append(self.thresholds, np.inf)[above]), ""


def allowed_matches(fmr: float, negatives: ArrayLike) -> np.ndarray:
    """How many of so many negatives may match at an FMR of at most `fmr`, whole numbers."""
    # 0.07 of 100 is 7.000000000000001 in floating point, and 0.29 of 100 is 28.999999999999996.
    return np.floor(fmr * np.asarray(negatives) + 1e-9).astype(np.int64)


def fixed_threshold(
    similarity: ArrayLike, is_match: ArrayLike, group: ArrayLike, threshold: float
) -> pd.DataFrame:
    """FNMR and FMR of every group at one threshold for all (the triangles of Fig 6).

    One row per group with the columns of `error_curves`, and its errors; NaN is no threshold.
    """
    at = as_thresholds(float(threshold), "threshold")
    tables = [rate_table(pairs, at) for pairs in by_group(similarity, is_match, group)]
    return pd.concat(tables, ignore_index=True)


def by_group(similarity: ArrayLike, is_match: ArrayLike, group: ArrayLike) -> Iterator[GroupPairs]:
    """The pairs of every group; arguments are checked as `error_curves` says."""
    similarity = np.asarray(similarity, dtype=np.float64)
    if similarity.ndim != 1 or not len(similarity):
        raise ValueError(f"similarity has the shape {similarity.shape}: (pairs,) was expected")
    positive = as_binary(np.asarray(is_match), "is_match").astype(bool)
    groups = pd.Categorical(group)
    for name, other in {"is_match": positive, "group": groups}.items():
        if len(other) != len(similarity):
            raise ValueError(f"{len(other)} values of {name} for {len(similarity)} similarities")
    require_group(groups)
    if not np.isfinite(similarity).all():
        row = (~np.isfinite(similarity)).argmax()
        raise ValueError(f"similarity, row {row}: {similarity[row]} is not finite")
    order = np.argsort(similarity, kind="stable")
    codes, positive = groups.codes[order], positive[order]
    for code, label in enumerate(groups.categories):
        rows = [order[(codes == code) & kind] for kind in (positive, ~positive)]
        yield GroupPairs(label, *(similarity[some] for some in rows), *rows)


def require_group(groups: pd.Categorical) -> None:
    """Raise ValueError naming the first pair without a group."""
    missing = groups.codes < 0
    if missing.any():
        raise ValueError(f"group, row {missing.argmax()}: the pair has no group")


def as_rates(fmr: ArrayLike) -> np.ndarray:
    """False match rates, float64 (k,); raises ValueError for one outside of (0, 1)."""
    fmr = np.atleast_1d(np.asarray(fmr, dtype=np.float64))
    if not ((fmr > 0) & (fmr < 1)).all():
        raise ValueError(f"fmr is {fmr.tolist()}: rates between 0 and 1 were expected")
    return fmr


def as_thresholds(thresholds: ArrayLike, name: str = "thresholds") -> np.ndarray:
    """Thresholds, float64 (k,), infinite ones included; raises ValueError naming one that is NaN.

    NaN sorts above every similarity, and would pass for a threshold that rejects all pairs.
    """
    thresholds = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
    missing = np.isnan(thresholds)
    if missing.any():
        where = f"number {missing.argmax() + 1} of {len(thresholds)}"
        raise ValueError(f"{name}, {where}: nan where a similarity was expected")
    return thresholds


def rate_table(pairs: GroupPairs, thresholds: np.ndarray) -> pd.DataFrame:
    """Rows of `error_curves` for one group at the given thresholds (k,)."""
    fnmr, fmr = pairs.rates(thresholds)
    return pd.DataFrame(
        {
            "group": pairs.label,
            "threshold": thresholds,
            "fnmr": fnmr,
            "fmr": fmr,
            "positives": len(pairs.positive),
            "negatives": len(pairs.negative),
            "reason": pairs.reason,
        }
    )


def held_rates(pairs: GroupPairs, fmr: np.ndarray) -> pd.DataFrame:
    """Rows of `fnmr_at_fmr` for one group and rates (k,)."""
    rows = []
    for target in fmr:
        threshold, reason = pairs.threshold_at(target)
        fnmr = np.nan if reason else pairs.rates(threshold)[0]
        counts = len(pairs.positive), len(pairs.negative)
        rows.append((pairs.label, target, threshold, fnmr, *counts, reason))
    names = ["group", "fmr", "threshold", "fnmr", "positives", "negatives", "reason"]
    return pd.DataFrame(rows, columns=names)
