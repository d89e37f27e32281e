"""Bands of the error curves and intervals of FNMR at FMR, from one vertex bootstrap."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from helpers.verification.bootstrap import draw_vertices, effective_size, interval, resample
from helpers.verification.curves import (
    NO_PAIRS,
    as_rates,
    as_thresholds,
    by_group,
    held_rates,
    rate_table,
)

TOO_FEW = "too few identities"


@dataclass(frozen=True)
class Bands:
    """Error rates with 95 % intervals, each for one group and one threshold or FMR.

    Attributes:
        curves: the columns of `error_curves`, then fnmr_low, fnmr_high, fmr_low and fmr_high.
        at_fmr: the columns of `fnmr_at_fmr`, then low and high of the FNMR, which take in that the
            threshold is estimated too.
    """

    curves: pd.DataFrame
    at_fmr: pd.DataFrame


def vertex_bootstrap(
    similarity: ArrayLike,
    is_match: ArrayLike,
    group: ArrayLike,
    vertices: ArrayLike,
    *,
    fmr: Sequence[float] = (1e-2, 1e-3),
    n_boot: int = 1000,
    seed: int,
    stage: str = "verification",
    thresholds: ArrayLike | None = None,
    chunk: int = 64,
) -> Bands:
    """Intervals of the error rates of every group, which the paper's Fig 6 lacks.

    Identities are resampled, and the resamples say as how many independent pairs the pairs count;
    `helpers.verification.bootstrap` tells why percentiles are not used.

    Args:
        similarity: of the pairs, (m,).
        is_match: whether a pair is a positive, 0 or 1, (m,).
        group: of the pairs, (m,).
        vertices: identities of both images, (m, 2). The seeds of the prototypes: they tie the
            prototypes of all groups together.
        fmr: rates at which the FNMR is wanted.
        n_boot: resamples of the identities, the same for all groups.
        seed: of the resamples.
        stage: of the resamples.
        thresholds: common to all groups, (k,); None: every distinct similarity of a group.
        chunk: pairs whose weights in all resamples are held at a time; nothing depends on it.

    Raises:
        ValueError: as `error_curves`; a missing identity, fewer than two of them or two resamples,
            or a threshold that is NaN.
    """
    fmr = as_rates(fmr)
    if thresholds is not None:
        thresholds = as_thresholds(thresholds)
    groups = list(by_group(similarity, is_match, group))
    codes, weights = draw_vertices(vertices, len(np.asarray(similarity)), n_boot, seed, stage)
    curves, at_fmr = [], []
    for pairs in groups:
        accepted, rejected, draws = resample(pairs, codes, weights, fmr, np.empty(0), chunk)
        if pairs.reason == NO_PAIRS:
            at = np.array([np.nan])
        else:
            at = pairs.thresholds if thresholds is None else thresholds
        curve, held = rate_table(pairs, at), held_rates(pairs, fmr)
        below = np.searchsorted(pairs.positive, at), np.searchsorted(pairs.negative, at)
        low, high = accepted.interval()
        curve["fnmr_low"], curve["fnmr_high"] = low[below[0]], high[below[0]]
        low, high = rejected.interval()
        curve["fmr_low"], curve["fmr_high"] = 1 - high[below[1]], 1 - low[below[1]]
        fnmr = held["fnmr"].to_numpy()
        variance = resampled_variance(draws) * accepted.inflation
        size = effective_size(fnmr, variance, accepted.identities)
        held["low"], held["high"] = interval(fnmr, size, accepted.identities)
        few = [sweep.identities and np.isnan(sweep.inflation) for sweep in (accepted, rejected)]
        for table, lacks in ((curve, any(few)), (held, few[0])):
            if lacks:
                table["reason"] = table["reason"].where(table["reason"] != "", TOO_FEW)
        curves.append(curve)
        at_fmr.append(held)
    return Bands(pd.concat(curves, ignore_index=True), pd.concat(at_fmr, ignore_index=True))


def resampled_variance(draws: np.ndarray) -> np.ndarray:
    """Variance of each row of draws (k, B) over the resamples that have one, (k,)."""
    given = np.isfinite(draws)
    count = np.maximum(given.sum(axis=1), 1)
    mean = np.where(given, draws, 0).sum(axis=1) / count
    return np.where(given, (draws - mean[:, None]) ** 2, 0).sum(axis=1) / count
