"""Bands of the error curves and intervals of FNMR at FMR, from one vertex bootstrap."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from helpers.verification.bootstrap import draw_vertices, interval, resample
from helpers.verification.curves import (
    NO_PAIRS,
    as_match_rates,
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
        curves: the columns of `fixed_threshold`, then fnmr_low, fnmr_high, fmr_low and fmr_high.
        at_fmr: columns group, fmr, threshold (the lowest similarity that holds the FMR; infinity
            where none does), fnmr, positives, negatives, reason, and low and high of the FNMR,
            which take in that the threshold is estimated too. An FMR below 1 / negatives cannot be
            told from zero: the row is NaN, "not estimable below 1/n".

    Example:
        >>> from helpers import verification
        >>> seeds = [[n, n] for n in range(4)] + [[n, (n + 1) % 4] for n in range(4)]
        >>> pairs = [0.9] * 4 + [0.1] * 4, [1] * 4 + [0] * 4, ["all"] * 8, seeds
        >>> verification.vertex_bootstrap(*pairs, n_boot=5, seed=1).at_fmr["reason"].tolist()
        ['not estimable below 1/4', 'not estimable below 1/4']
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
    thresholds: ArrayLike | None = None,
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
        thresholds: common to all groups, (k,); None: every distinct similarity of a group.

    Returns:
        The rates with their intervals, see `Bands`.

    Raises:
        ValueError: as `fixed_threshold`; a missing identity, fewer than two of them or two
            resamples, a rate outside of (0, 1), or a threshold that is NaN.

    Example:
        >>> import numpy as np
        >>> from helpers import verification
        >>> seeds = np.array([[n, n] for n in range(8)] + [[n, (n + 1) % 8] for n in range(8)])
        >>> similar, same = np.r_[np.full(8, 0.9), np.full(8, 0.1)], np.r_[np.ones(8), np.zeros(8)]
        >>> bands = verification.vertex_bootstrap(
        ...     similar, same, ["all"] * 16, seeds, n_boot=20, seed=1, thresholds=[0.5]
        ... )
        >>> bands.curves[["fnmr", "fnmr_low", "fnmr_high"]].round(2).values.tolist()
        [[0.0, 0.0, 0.41]]
    """
    fmr = as_match_rates(fmr)
    common = None if thresholds is None else as_thresholds(thresholds)
    groups = list(by_group(similarity, is_match, group))
    codes, weights = draw_vertices(vertices, len(np.asarray(similarity)), n_boot, seed)
    curves, at_fmr = [], []
    for pairs in groups:
        found = resample(pairs, codes, weights, fmr)
        at = pairs.thresholds if common is None else common
        curve = rate_table(pairs, np.array([np.nan]) if pairs.reason == NO_PAIRS else at)
        for rate, sweep, kind in (
            ("fnmr", found.accepted, pairs.positive),
            ("fmr", found.rejected, pairs.negative),
        ):
            below = np.searchsorted(kind, curve["threshold"])
            ends = np.array(sweep.interval())[:, below]
            low, high = ends if rate == "fnmr" else 1 - ends[::-1]
            curve[f"{rate}_low"], curve[f"{rate}_high"] = low, high
        held = held_rates(pairs, fmr)
        fnmr = held["fnmr"].to_numpy()
        size = found.held_size(fnmr)
        held["low"], held["high"] = interval(fnmr, size, found.accepted.identities)
        few = [
            one.identities and np.isnan(one.inflation) for one in (found.accepted, found.rejected)
        ]
        for table, lacks in ((curve, any(few)), (held, few[0])):
            if lacks:
                table["reason"] = table["reason"].where(table["reason"] != "", TOO_FEW)
        curves.append(curve)
        at_fmr.append(held)
    return Bands(pd.concat(curves, ignore_index=True), pd.concat(at_fmr, ignore_index=True))
