"""Differences between groups in FNMR and FMR: intervals, tests and verdicts."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from helpers.effects import holm, mde, verdict
from helpers.effects.risks import hybrid_score_interval, hybrid_score_p
from helpers.utils.checks import require_members
from helpers.verification.bootstrap import TOO_FEW, Sweep, draw_vertices, held_size, resample
from helpers.verification.curves import NO_NEGATIVES, NO_POSITIVES, GroupPairs, by_group, held_rates

HELD, FNMR, FMR = "FNMR at FMR", "FNMR at threshold", "FMR at threshold"


class Rate(NamedTuple):
    """One error rate of one group."""

    estimate: float
    size: float  # as how many independent pairs its pairs count
    draws: np.ndarray  # the rate in every resample, (B,)
    identities: int
    n: int
    reason: str


def disparities(
    similarity: ArrayLike,
    is_match: ArrayLike,
    group: ArrayLike,
    vertices: ArrayLike,
    *,
    threshold: float,
    tolerance: float,
    fmr: float = 1e-2,
    reference: str = "european male",
    n_boot: int = 1000,
    seed: int,
) -> pd.DataFrame:
    """Error rates of every group minus those of the `reference` (Liang et al. 2023, 4.1.1).

    Three measures: "FNMR at FMR" with the FMR of each group held at `fmr` by a threshold of its
    own, and "FNMR at threshold" and "FMR at threshold" at one `threshold` for all. The paper judges
    the curves by eye.

    Args:
        similarity, is_match, group, vertices: of the pairs, as of `vertex_bootstrap`.
        threshold: similarity from which a pair is accepted, in all groups.
        tolerance: difference up to which groups count as equal, above 0.
        fmr: rate at which "FNMR at FMR" holds each group.
        reference: group that the others are compared with.
        n_boot: resamples of the identities.
        seed: of the resamples.

    Returns:
        One row per measure and other group, with the columns measure, group, reference, then

        - rate, reference_rate, estimate (their difference), low, high: 95 % interval by
          `helpers.effects.risks.hybrid_score_interval` with the effective sizes of the vertex
          bootstrap. Both groups are resampled together, so that what they share through seeds
          cancels;
        - low90, high90: the 90 % interval, by which the verdict "within" is given;
        - p: at which the interval would end in zero; p_holm: Holm over the groups of a measure;
        - n: pairs of the group that the rate counts; identities: in these;
        - verdict: against ±`tolerance`, see `helpers.effects.verdict`; mde: the minimum detectable
          effect at the standard error that the interval implies;
        - reason: why something is not estimable (NaN), else empty.

    Raises:
        ValueError: as `vertex_bootstrap`, or the reference is no group.
    """
    groups = {pairs.label: pairs for pairs in by_group(similarity, is_match, group)}
    require_members([reference], groups, "reference group")
    codes, weights = draw_vertices(vertices, n_boot, seed)
    rates = {
        label: _rates(pairs, codes, weights, fmr, threshold) for label, pairs in groups.items()
    }
    base = rates.pop(reference)
    rows = [
        {"measure": measure, "group": label, "reference": reference}
        | _difference(rate[measure], base[measure], tolerance)
        for measure in (HELD, FNMR, FMR)
        for label, rate in rates.items()
    ]
    table = pd.DataFrame(rows)
    p_holm = table.groupby("measure")["p"].transform(holm)
    table.insert(table.columns.get_loc("p") + 1, "p_holm", p_holm)
    return table


def _rates(
    pairs: GroupPairs, codes: np.ndarray, weights: np.ndarray, fmr: float, threshold: float
) -> dict[str, Rate]:
    """The three rates of a group."""
    at = np.array([fmr], np.float64)
    accepted, rejected, draws = resample(pairs, codes, weights, at, [threshold])
    held = held_rates(pairs, at).iloc[0]
    counts = accepted.identities, len(pairs.positive)
    size = held_size(held["fnmr"], draws, accepted)[0]
    fnmr, fmr_at = pairs.rates(threshold)
    return {
        HELD: Rate(held["fnmr"], size, draws[0], *counts, held["reason"]),
        FNMR: _at_threshold(fnmr, accepted, pairs.positive, threshold, NO_POSITIVES),
        # Its draws are shares without an error, which correlate in the same way.
        FMR: _at_threshold(fmr_at, rejected, pairs.negative, threshold, NO_NEGATIVES),
    }


def _at_threshold(rate: float, sweep: Sweep, kind: np.ndarray, threshold: float, none: str) -> Rate:
    size, reason = sweep.size[np.searchsorted(kind, threshold)], "" if len(kind) else none
    return Rate(rate, size, sweep.below[0], sweep.identities, len(kind), reason)


def _difference(rate: Rate, base: Rate, tolerance: float) -> dict[str, object]:
    """One row of `disparities`, without Holm."""
    reason = rate.reason or (base.reason and f"reference: {base.reason}")
    if not reason and np.isnan([rate.size, base.size]).any():
        reason = TOO_FEW
    if reason:
        limits, p, quantile = np.full((2, 2, 1), np.nan), np.nan, np.nan
    else:
        risk = np.array([[base.estimate, rate.estimate]])
        size = np.array([[base.size, rate.size]])
        pair = risk, size, _correlation(risk, size, base.draws, rate.draws)
        df = np.array([min(rate.identities, base.identities) - 1])
        quantile = stdtrit(df[0], 0.975)
        limits = [hybrid_score_interval(*pair, stdtrit(df, level)) for level in (0.975, 0.95)]
        (p,) = hybrid_score_p(*pair, df)
    (low, high), (low90, high90) = np.array(limits)[..., 0]
    found = {"rate": rate.estimate, "reference_rate": base.estimate}
    found["estimate"] = rate.estimate - base.estimate
    found |= {"low": low, "high": high, "low90": low90, "high90": high90, "p": p}
    found |= {"n": rate.n, "identities": rate.identities}
    found["verdict"] = str(verdict(low, high, low90, high90, tolerance))
    return found | {"mde": float(mde((high - low) / (2 * quantile))), "reason": reason}


def _correlation(
    risk: np.ndarray, size: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Correlation of two estimated rates (1, 2) over the resamples that have both, (1,)."""
    both = np.isfinite(first) & np.isfinite(second)
    deviations = [draws[both] - draws[both].mean() for draws in (first, second)]
    norms = np.prod([np.sqrt((deviation**2).sum()) for deviation in deviations])
    variance = risk * (1 - risk) / size
    if norms == 0 or not variance.all():
        return np.zeros(1)
    scale = np.sqrt(variance.prod(axis=1))
    covariance = deviations[0] @ deviations[1] / norms * scale
    # Newcombe's correction of a positive correlation, without which a width could be zero.
    covariance -= np.clip(covariance, 0, 0.5 / size.prod(axis=1))
    return covariance / scale
