"""Intervals of FNMR and FMR by the vertex bootstrap, and differences of groups with verdicts.

Identities are drawn with replacement, not pairs, and the same draws serve all groups. A pair of two
identities has as weight the product of how often each was drawn, as each copy of the one meets
each copy of the other (Snijders & Borgatti, Connections 22 (1999) 161-170). A pair within one
identity has as weight how often that identity was drawn: its copies are the same person, and the
sample has no pairs of two copies.

The plain percentiles of these draws fail for four reasons, which the tests show:

- The product counts chance within a pair of identities three times (its variance is 3 where the
  draws are Poisson), but the covariance of pairs that share one identity only once. Where every
  identity meets few others, as here, standard deviations of the FMR come out up to √3 too large.
  The excess is known and subtracted. It is twice the sum of squares of the pairs of identities (the
  term that a dyadic-robust variance counts once: Aronow, Samii & Assenova, Political Analysis 23
  (2015) 564-577).
- Residuals from an estimated mean are too small, by the share of pairs of pairs that have an
  identity in common (about 4 / n among n identities): variances are divided by one minus that
  share.
- Rare errors of few identities are often not drawn at all, so percentiles reach zero too early.
  The variance of the draws gives an effective size: the number of independent pairs with the same
  variance. Wilson's interval for that size, with Student quantiles, keeps its level down to no
  error at all.
- A few errors do not show how they cluster. Where by chance they are spread over pairs of
  identities, the effective size comes out too large, most of all in samples whose rate is too low,
  so that intervals miss a rate above them. `settled_sizes` therefore limits the size at each end of
  an interval to the size where errors are as frequent as at that end.

Differences at a held FMR come from the same draws; those at one threshold need none, see
`faceaudit.verification.differences`.

`benchmarks/verification_intervals.py` measures how often the intervals hold known rates, beside
those of Fogliato, Patil & Perona (International Journal of Computer Vision 132 (2024)), who
recommend Wilson's interval with an effective size from the same sums over pairs that share an
identity, and resamples for curves. Theirs take the variance at the observed rate, normal quantiles,
and every pair as independent where there is no error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import stdtrit

from faceaudit.effects.resampling import as_resamples, cluster_codes, draw_weights
from faceaudit.effects.risks import hybrid_score_interval, hybrid_score_p, score_interval
from faceaudit.effects.verdicts import holm, mde, verdict
from faceaudit.utils.arguments import require_members
from faceaudit.verification.curves import (
    NO_NEGATIVES,
    NO_PAIRS,
    NO_POSITIVES,
    GroupPairs,
    allowed_matches,
    by_group,
    held_rates,
    rate_table,
)
from faceaudit.verification.differences import OrderedPairs, difference_score, ordered_pairs

TOO_FEW = "too few identities"
VARIANCE_ROUNDING = 1e-9
"""Variances below this share of the binomial one are rounding."""
WEIGHTED_PAIRS_AT_ONCE = 64
"""Pairs whose weights in all resamples are held at a time; results do not depend on it."""
RESAMPLING_STAGE = "verification"
"""Keys the resamples, together with the seed."""
SIZE_ITERATIONS = 8
"""Iterations of `settled_sizes`, from below: 40 more would narrow intervals by a few percent."""


@dataclass(frozen=True)
class Bands:
    """Error rates with 95% intervals, each for one group and one threshold or FMR.

    Attributes:
        curves: the columns of `fixed_threshold`, then fnmr_low, fnmr_high, fmr_low and fmr_high.
        at_fmr: columns group, fmr, threshold (the lowest similarity that holds the FMR; infinity
            where none does), fnmr, positives, negatives, reason, and low and high of the FNMR,
            which take in that the threshold is estimated too. An FMR below 1 / negatives cannot be
            told from zero: the row is NaN, "not estimable below 1/n".
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

    Identities are resampled. The variance over the resamples gives an effective number of pairs for
    Wilson's interval; `faceaudit.verification.bootstrap` says why percentiles are not used.

    Args:
        similarity: of the pairs, (m,).
        is_match: whether a pair is a positive, 0 or 1, (m,).
        group: of the pairs, (m,).
        vertices: identities of both images, (m, 2). The seeds of the prototypes: they tie the
            prototypes of all groups together.
        fmr: rates at which the FNMR is estimated.
        n_boot: resamples of the identities, the same for all groups.
        seed: of the resamples.
        thresholds: common to all groups, (k,); None: every distinct similarity of a group.

    Returns:
        The rates with their intervals, see `Bands`.

    Raises:
        ValueError: as `fixed_threshold`; a missing identity, fewer than two of them or two
            resamples.
    """
    held_fmr = np.array(fmr, np.float64)
    curves = []
    at_fmr = []
    codes, weights = draw_vertices(vertices, n_boot, seed)
    for pairs in by_group(similarity, is_match, group):
        positives, negatives, draws = resample_group(pairs, codes, weights, held_fmr)
        group_thresholds = pairs.thresholds
        if pairs.reason == NO_PAIRS:
            group_thresholds = np.array([np.nan])
        elif thresholds is not None:
            group_thresholds = np.asarray(thresholds, np.float64)
        curve = rate_table(pairs, group_thresholds)
        # The share of positives below a threshold is the FNMR, that of negatives is 1 - FMR.
        ends = positives.interval()[:, np.searchsorted(pairs.positive, curve["threshold"])]
        curve["fnmr_low"], curve["fnmr_high"] = ends
        ends = negatives.interval()[:, np.searchsorted(pairs.negative, curve["threshold"])]
        curve["fmr_low"], curve["fmr_high"] = 1 - ends[::-1]
        held = held_rates(pairs, held_fmr)
        fnmr = held["fnmr"].to_numpy()
        size = held_size(fnmr, draws, positives)
        held["low"], held["high"] = interval(fnmr, size, positives.identities)
        if positives.too_few or negatives.too_few:
            curve["reason"] = curve["reason"].where(curve["reason"] != "", TOO_FEW)
        if positives.too_few:
            held["reason"] = held["reason"].where(held["reason"] != "", TOO_FEW)
        curves.append(curve)
        at_fmr.append(held)
    return Bands(pd.concat(curves, ignore_index=True), pd.concat(at_fmr, ignore_index=True))


@dataclass(frozen=True)
class SortedPairs:
    """Positives or negatives of one group.

    Attributes:
        similarity: (n,), ascending.
        first: codes of the first identity of every pair, (n,).
        second: codes of the second identity, (n,).
    """

    similarity: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def totals(self, weights: np.ndarray) -> np.ndarray:
        """Weight of all pairs in every resample, (B,), from weights of identities (G, B)."""
        within = self.first == self.second
        ones = np.ones(np.count_nonzero(~within))
        size = len(weights)
        ends = (self.first[~within], self.second[~within])
        between = csr_array((ones, ends), shape=(size, size))
        within_counts = np.bincount(self.first[within], minlength=size)
        return within_counts @ weights + (weights * (between @ weights)).sum(axis=0)

    def cumulative(self, weights: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Cumulative weights of the pairs in every resample.

        Yields:
            Number of the first pair of a block, and the weight of all pairs up to each pair of the
            block, (pairs, B); `WEIGHTED_PAIRS_AT_ONCE` pairs at a time.
        """
        n_identities, n_boot = weights.shape
        # A pair within an identity takes its second weight from a row of ones.
        weights = np.vstack([weights, np.ones(n_boot)])
        second = np.where(self.first == self.second, n_identities, self.second)
        carried = np.zeros(n_boot)
        for start in range(0, len(self.first), WEIGHTED_PAIRS_AT_ONCE):
            block = slice(start, start + WEIGHTED_PAIRS_AT_ONCE)
            weight = weights[self.first[block]]
            weight *= weights[second[block]]
            # Row by row, which is faster than numpy's accumulate along the first axis.
            for row in weight:
                row += carried
                carried = row
            carried = carried.copy()
            yield start, weight

    def excess(self) -> np.ndarray:
        """Excess variance of the share of the first k pairs that the product weights cause, (n,).

        Twice the sum over pairs of identities of the squared sums of residuals, k = 1 ... n.
        """
        n = len(self.first)
        dyad, between = dyads(self.first, self.second)
        before = pd.Series(dyad).groupby(dyad).cumcount().to_numpy()
        size = np.bincount(dyad)[dyad]
        # A pair raises the count c of its dyad to c + 1: sums of c², c size and size² follow.
        squares = np.cumsum(between * (2 * before + 1))
        products = np.cumsum(between * size)
        share = np.arange(1, n + 1) / n
        return 2 * (squares - 2 * share * products + share**2 * products[-1]) / n**2


def dyads(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the dyads: two identities, in either order, or one identity with itself.

    Args:
        first: codes of the first identity of every pair, (m,).
        second: codes of the second identity, (m,).

    Returns:
        The number of every pair's dyad (m,), and whether it is of two identities (m,).
    """
    low = np.minimum(first, second)
    high = np.maximum(first, second)
    _, number = np.unique(low * (high.max(initial=0) + 1) + high, return_inverse=True)
    return number, low != high


def inflation(first: np.ndarray, second: np.ndarray) -> float:
    """Factor that corrects a variance for residuals from an estimated mean.

    It is n / (n - 1) for n identities that each have pairs with themselves only, and NaN where all
    pairs of pairs share an identity. Arguments are as of `dyads`.
    """
    dyad, between = dyads(first, second)
    pairs_of_identity = np.bincount(np.concatenate([first, second[between]]))
    shared = np.bincount(dyad[between])
    apart = len(first) ** 2 - (pairs_of_identity**2).sum() + (shared**2).sum()
    return len(first) ** 2 / apart if apart else np.nan


@dataclass(frozen=True)
class ResampledShares:
    """Shares of the least similar pairs of one kind and group, with their resamples.

    Attributes:
        share: of the first k = 0 ... n pairs, (n + 1,).
        end_sizes: effective number of pairs at either end of the interval of each share,
            (2, n + 1).
        below: share of the first pairs in each resample, as many as were requested, (k, B).
        reached: how many pairs it takes to reach the requested weights, (k, B).
        identities: how many identities have a pair.
        inflation: see `inflation`.
    """

    share: np.ndarray
    end_sizes: np.ndarray
    below: np.ndarray
    reached: np.ndarray
    identities: int
    inflation: float

    @property
    def too_few(self) -> bool:
        """Whether there are pairs, but of too few identities for an interval."""
        return self.identities > 0 and bool(np.isnan(self.inflation))

    def interval(self) -> np.ndarray:
        """95% interval of every share, (2, n + 1)."""
        low, high = interval(self.share, self.end_sizes, self.identities)
        return np.stack([low[0], high[1]])


def vertex_codes(vertices: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the identities of pairs (m, 2), and the identities in sorted order (G,)."""
    codes, identities = cluster_codes(np.asarray(vertices).ravel())
    return codes.reshape(-1, 2), identities


def draw_vertices(vertices: ArrayLike, n_boot: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the identities of pairs (m, 2), and how often each is drawn, (G, n_boot)."""
    # One resample has no variance, and would make all identities err alike.
    resamples = as_resamples(n_boot, least=2)
    codes, identities = vertex_codes(vertices)
    weights = draw_weights(len(identities), resamples, seed, RESAMPLING_STAGE)
    return codes, np.ascontiguousarray(weights.T)


def resample_shares(
    pairs: SortedPairs, weights: np.ndarray, counts: np.ndarray, targets: np.ndarray
) -> ResampledShares:
    """Shares of the least similar pairs, by one cumulative weighted sum for all resamples.

    Args:
        pairs: positives or negatives of one group.
        weights: of the identities in every resample, (G, B).
        counts: numbers of pairs whose share is needed in each resample, (k, B); k may be 0.
        targets: weights to be reached in each resample, (k, B); k may be 0.

    Returns:
        The shares; without a pair, they and their sizes are NaN.
    """
    n = len(pairs.first)
    total = pairs.totals(weights)
    if n == 0:
        return ResampledShares(
            share=np.full(1, np.nan),
            end_sizes=np.full((2, 1), np.nan),
            below=np.full(counts.shape, np.nan),
            reached=np.ones(targets.shape, int),
            identities=0,
            inflation=np.nan,
        )
    drawn = total > 0
    scale = np.divide(1, total, where=drawn, out=np.zeros_like(total))
    share = np.arange(n + 1) / n
    variance = np.zeros(n + 1)
    below = np.where(drawn, 0.0, np.nan) * np.ones(counts.shape)
    reached = np.ones(targets.shape, int)
    for start, weight in pairs.cumulative(weights):
        stop = start + len(weight)
        for target, reached_row in zip(targets, reached, strict=True):
            if (weight[-1] < target).all():  # most blocks lie on one side, and need no comparison
                reached_row += len(weight)
            elif (weight[0] < target).any():
                reached_row += np.count_nonzero(weight < target, axis=0)
        weight *= scale
        for count, below_row in zip(counts, below, strict=True):
            in_block = np.flatnonzero((count > start) & (count <= stop) & drawn)
            below_row[in_block] = weight[count[in_block] - start - 1, in_block]
        # Resamples without a pair hold zeros, and do not count.
        mean = weight.sum(axis=1) / drawn.sum()
        squares = np.einsum("kb,kb->k", weight, weight) / drawn.sum()
        variance[start + 1 : stop + 1] = squares - mean**2
    excess = np.append(0.0, pairs.excess())
    variance = np.maximum(variance - excess, excess / 2)
    identities = np.union1d(pairs.first, pairs.second).size
    factor = inflation(pairs.first, pairs.second)
    size = effective_size(share, variance * factor, identities)
    cuts = np.flatnonzero(np.diff(pairs.similarity, prepend=-np.inf, append=np.inf))
    end_sizes = settled_sizes(share, size, identities, cuts)
    return ResampledShares(share, end_sizes, below, reached, identities, factor)


def effective_size(share: np.ndarray, variance: np.ndarray, identities: int) -> np.ndarray:
    """Number of independent pairs (...) whose share has the same variance (...).

    Where all identities err alike, or no pair errs, each identity counts as one pair. NaN where the
    variance is NaN.
    """
    binomial = share * (1 - share)
    alike = (variance <= VARIANCE_ROUNDING * binomial) | ((binomial == 0) & ~np.isnan(variance))
    return np.where(alike, identities, binomial / np.where(alike, 1.0, variance))


def settled_sizes(
    share: np.ndarray, size: np.ndarray, identities: int, cuts: np.ndarray
) -> np.ndarray:
    """Effective sizes for the lower and the upper end of the interval of every share, (2, n + 1).

    The end of Wilson's interval is the rate whose own variance just allows the observed share. So
    the clustering of errors should be that at the end, too; the curve shows it, since it has shares
    near that rate. The end depends on the size, and the size on the end: the iteration starts from
    one pair per identity. Where the size at the observed rate is smaller, it is used instead: rare
    look-alikes cluster most among the first errors. With the size at the observed rate alone,
    intervals of clustered samples cover too little (Franco, Little, Louis & Slud, Journal of Survey
    Statistics and Methodology 7 (2019) 334-364, who smooth it by a model).

    Args:
        share: of the first k = 0 ... n pairs, (n + 1,).
        size: effective sizes at these shares, (n + 1,).
        identities: number of identities.
        cuts: numbers of pairs below some threshold, ascending. Pairs between two of them are tied,
            and their order has no meaning.
    """
    quantile = stdtrit(identities - 1, 0.975)
    between = (cuts[1:] + cuts[:-1]) / 2
    settled = np.full((2, len(share)), float(identities))
    for _ in range(SIZE_ITERATIONS):
        low, high = score_interval(share, settled, quantile)
        ends = np.stack([low[0], high[1]])
        nearest = cuts[np.searchsorted(between, ends * (len(share) - 1))]
        settled = np.sqrt(settled * size[nearest])
    return np.minimum(size, settled)


def resample_group(
    pairs: GroupPairs, codes: np.ndarray, weights: np.ndarray, fmr: np.ndarray
) -> tuple[ResampledShares, ResampledShares, np.ndarray]:
    """Rates of a group in every resample.

    Args:
        pairs: of the group.
        codes: of the identities of the pairs of all groups, (m, 2).
        weights: how often each identity is drawn, (G, B).
        fmr: rates at which the FMR of every resample is held, (k,).

    Returns:
        Shares of the positives and of the negatives, and the FNMR of every resample at its own
        threshold for each FMR, (k, B), NaN where the resample lacks pairs.
    """
    positives = SortedPairs(pairs.positive, *codes[pairs.positive_rows].T)
    negatives = SortedPairs(pairs.negative, *codes[pairs.negative_rows].T)
    total = negatives.totals(weights)
    rejected_weight = total - allowed_matches(fmr[:, None], total)
    none = rejected_weight[:0]
    negative_shares = resample_shares(negatives, weights, none, rejected_weight)
    # Without any negative there is no last one to reject, and no FNMR either.
    last = np.minimum(negative_shares.reached, len(pairs.negative))
    last_rejected = np.append(-np.inf, pairs.negative)[last]
    rejected = np.searchsorted(pairs.positive, last_rejected, side="right")
    positive_shares = resample_shares(positives, weights, rejected, none)
    draws = np.where(total > 0, positive_shares.below, np.nan)
    return positive_shares, negative_shares, draws


def held_size(fnmr: np.ndarray, draws: np.ndarray, positives: ResampledShares) -> np.ndarray:
    """Effective number of positives for each FNMR at a held FMR, (k,).

    Args:
        fnmr: the observed rates, (k,).
        draws: the same rates in every resample, (k, B).
        positives: shares of the positives.
    """
    variance = pd.DataFrame(draws).var(axis=1, ddof=0).to_numpy()
    return effective_size(fnmr, variance * positives.inflation, positives.identities)


def interval(share: np.ndarray, size: np.ndarray, identities: int) -> tuple[np.ndarray, np.ndarray]:
    """95% Wilson interval of shares (...) with Student quantiles; NaN where the size is."""
    low, high = score_interval(share, size, stdtrit(identities - 1, 0.975))
    return low.clip(0, 1), high.clip(0, 1)


# --- differences between groups, with tests and verdicts

FNMR_AT_FMR = "FNMR at FMR"
FNMR_AT_THRESHOLD = "FNMR at threshold"
FMR_AT_THRESHOLD = "FMR at threshold"


class Limits(NamedTuple):
    """The 95% and the 90% interval of a difference, and the p of no difference."""

    low: float
    high: float
    low90: float
    high90: float
    p: float


NO_LIMITS = Limits(low=np.nan, high=np.nan, low90=np.nan, high90=np.nan, p=np.nan)


@dataclass(frozen=True)
class HeldRate:
    """The FNMR of one group at its own threshold, which is estimated from its pairs."""

    estimate: float
    size: float  # effective number of its pairs
    draws: np.ndarray  # the rate in every resample, (B,)
    identities: int
    n: int
    reason: str

    @property
    def too_few(self) -> bool:
        """Whether its pairs are of too few identities for an interval."""
        return bool(np.isnan(self.size))

    def minus(self, base: HeldRate) -> Limits:
        """Limits of the difference from the same rate of the reference."""
        risk = np.array([[base.estimate, self.estimate]])
        size = np.array([[base.size, self.size]])
        correlation = _correlation(risk, size, base.draws, self.draws)
        df = np.array([min(self.identities, base.identities) - 1])
        limits = [
            hybrid_score_interval(risk, size, correlation, stdtrit(df, level))
            for level in (0.975, 0.95)
        ]
        p = hybrid_score_p(risk, size, correlation, df)
        return Limits(*np.array(limits).ravel(), *p)


@dataclass(frozen=True)
class ThresholdRate:
    """One error rate of one group at a threshold that is the same for all groups."""

    estimate: float
    errors: int
    curve: OrderedPairs | None  # None without a pair, as the reason then says
    n: int
    reason: str

    @property
    def identities(self) -> int:
        """Identities that its pairs are of."""
        return self.curve.design.identities if self.curve else 0

    @property
    def too_few(self) -> bool:
        """Whether its pairs are of too few identities for an interval."""
        return self.curve is not None and bool(np.isnan(self.curve.design.inflation))

    def minus(self, base: ThresholdRate) -> Limits:
        """Limits of the difference from the same rate of the reference, both without a reason."""
        assert base.curve is not None  # else it has a reason
        assert self.curve is not None
        score = difference_score(base.curve, self.curve, np.array([[base.errors, self.errors]]))
        limits = [score.interval(level) for level in (0.95, 0.9)]
        return Limits(*np.array(limits).ravel(), *score.p())


_Rate = TypeVar("_Rate", HeldRate, ThresholdRate)
"""Two rates that are compared are of one kind."""


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

    Three measures: "FNMR at FMR" with the FMR of each group held at `fmr` by a threshold for this
    group, and "FNMR at threshold" and "FMR at threshold" at one `threshold` for all groups. The
    paper compares the curves by eye.

    Args:
        similarity, is_match, group, vertices: of the pairs, as of `vertex_bootstrap`.
        threshold: similarity from which a pair is accepted, in all groups.
        tolerance: difference up to which groups count as equal, above 0.
        fmr: rate at which "FNMR at FMR" holds each group.
        reference: group that the others are compared with.
        n_boot: resamples of the identities, for "FNMR at FMR" alone.
        seed: of the resamples.

    Returns:
        One row per measure and other group, with the columns measure, group, reference, then

        - rate, reference_rate, estimate (their difference), low, high: 95% interval. At one
          threshold it is that of the dyadic-robust score, see `faceaudit.verification.differences`;
          at one FMR that of `faceaudit.effects.risks.hybrid_score_interval` with the effective
          sizes of the vertex bootstrap, since the threshold is estimated. Both take in the
          covariance of the groups' rates through identities that the groups share;
        - low90, high90: the 90% interval, from which the verdict "within" follows;
        - p: at which the interval would end in zero; p_holm: Holm over the groups of a measure;
        - n: pairs of the group of which the rate is a share; identities: of these pairs;
        - verdict: against ±`tolerance`, see `faceaudit.effects.verdict`; mde: the minimum
          detectable effect at the standard error that the interval implies;
        - reason: why something is not estimable (NaN), else empty.

    Raises:
        ValueError: as `vertex_bootstrap`, or the reference is no group.
    """
    groups = {pairs.label: pairs for pairs in by_group(similarity, is_match, group)}
    require_members([reference], groups, "reference group")
    codes, weights = draw_vertices(vertices, n_boot, seed)
    fnmr_at_fmr = {
        label: _fnmr_at_fmr(pairs, codes, weights, fmr) for label, pairs in groups.items()
    }
    rows = _rows_of_measure(FNMR_AT_FMR, fnmr_at_fmr, reference, tolerance)
    rows += _rows_at_threshold(groups, codes, len(weights), threshold, reference, tolerance)
    return _with_p_holm(rows)


def disparities_at_threshold(
    similarity: ArrayLike,
    is_match: ArrayLike,
    group: ArrayLike,
    vertices: ArrayLike,
    *,
    threshold: float,
    tolerance: float,
    reference: str,
) -> pd.DataFrame:
    """The two measures at one threshold of `disparities`, which need no resamples.

    Args:
        similarity, is_match, group, vertices, threshold, tolerance, reference: as of `disparities`.

    Returns:
        The rows of `disparities` whose measures are "FNMR at threshold" and "FMR at threshold".

    Raises:
        ValueError: as `disparities`.
    """
    groups = {pairs.label: pairs for pairs in by_group(similarity, is_match, group)}
    require_members([reference], groups, "reference group")
    codes, identities = vertex_codes(vertices)
    rows = _rows_at_threshold(groups, codes, len(identities), threshold, reference, tolerance)
    return _with_p_holm(rows)


def _with_p_holm(rows: list[dict[str, object]]) -> pd.DataFrame:
    """The table of `disparities`, from its rows without the adjusted p."""
    table = pd.DataFrame(rows)
    p_holm = table.groupby("measure")["p"].transform(holm)
    table.insert(table.columns.get_loc("p") + 1, "p_holm", p_holm)
    return table


def _fnmr_at_fmr(pairs: GroupPairs, codes: np.ndarray, weights: np.ndarray, fmr: float) -> HeldRate:
    """The FNMR of a group at its own threshold; `codes` and `weights` as of `resample_group`."""
    held_fmr = np.array([fmr], np.float64)
    positives, _, draws = resample_group(pairs, codes, weights, held_fmr)
    held = held_rates(pairs, held_fmr).iloc[0]
    return HeldRate(
        estimate=held["fnmr"],
        size=held_size(held["fnmr"], draws, positives)[0],
        draws=draws[0],
        identities=positives.identities,
        n=len(pairs.positive),
        reason=held["reason"],
    )


def _rows_at_threshold(
    groups: Mapping[str, GroupPairs],
    codes: np.ndarray,
    identities: int,
    threshold: float,
    reference: str,
    tolerance: float,
) -> list[dict[str, object]]:
    """The rows of both measures at one threshold.

    Args:
        groups: label → pairs.
        codes: of the identities of the pairs of all groups, (m, 2).
        identities: number of identities of all groups.
        threshold, reference, tolerance: as of `disparities`.
    """
    fnmr_at_threshold = {}
    fmr_at_threshold = {}
    for label, pairs in groups.items():
        fnmr, fmr = pairs.rates(threshold)
        rejected = np.searchsorted(pairs.positive, threshold)
        matched = len(pairs.negative) - np.searchsorted(pairs.negative, threshold)
        # A positive errs the sooner, the less similar it is, and a negative the more similar it is.
        fnmr_at_threshold[label] = _rate_at_threshold(
            rate=float(fnmr),
            errors=int(rejected),
            proneness=-pairs.positive,
            codes=codes[pairs.positive_rows],
            identities=identities,
            reason_without_pairs=NO_POSITIVES,
        )
        fmr_at_threshold[label] = _rate_at_threshold(
            rate=float(fmr),
            errors=int(matched),
            proneness=pairs.negative,
            codes=codes[pairs.negative_rows],
            identities=identities,
            reason_without_pairs=NO_NEGATIVES,
        )
    return [
        *_rows_of_measure(FNMR_AT_THRESHOLD, fnmr_at_threshold, reference, tolerance),
        *_rows_of_measure(FMR_AT_THRESHOLD, fmr_at_threshold, reference, tolerance),
    ]


def _rate_at_threshold(
    *,
    rate: float,
    errors: int,
    proneness: np.ndarray,
    codes: np.ndarray,
    identities: int,
    reason_without_pairs: str,
) -> ThresholdRate:
    """The rate of one kind of pairs, with the order in which they err as a threshold moves.

    Args:
        rate: of errors.
        errors: their number.
        proneness: of the pairs (n,); those with the highest err first.
        codes: of the pairs' identities, (n, 2).
        identities: their number in all groups.
        reason_without_pairs: why there is no rate where n is 0.
    """
    if not len(proneness):
        return ThresholdRate(rate, 0, None, 0, reason_without_pairs)
    curve = ordered_pairs(proneness, codes, identities)
    return ThresholdRate(rate, errors, curve, len(proneness), "")


def _rows_of_measure(
    measure: str, rates: dict[str, _Rate], reference: str, tolerance: float
) -> list[dict[str, object]]:
    """The rows of `disparities` with one measure, without Holm's adjustment.

    Args:
        measure: its name.
        rates: of every group.
        reference: group that the others are compared with.
        tolerance: difference up to which groups count as equal.
    """
    rows = []
    for label, rate in rates.items():
        if label != reference:
            keys = {"measure": measure, "group": label, "reference": reference}
            rows.append(keys | _difference_row(rate, rates[reference], tolerance))
    return rows


def _difference_row(rate: _Rate, base: _Rate, tolerance: float) -> dict[str, object]:
    """One row of `disparities`, without its keys and Holm's adjustment."""
    reason = rate.reason or (base.reason and f"reference: {base.reason}")
    if not reason and (rate.too_few or base.too_few):
        reason = TOO_FEW
    limits = NO_LIMITS if reason else rate.minus(base)
    quantile = np.nan if reason else stdtrit(min(rate.identities, base.identities) - 1, 0.975)
    width = limits.high - limits.low
    return {
        "rate": rate.estimate,
        "reference_rate": base.estimate,
        "estimate": rate.estimate - base.estimate,
        **limits._asdict(),
        "n": rate.n,
        "identities": rate.identities,
        "verdict": verdict(limits.low, limits.high, limits.low90, limits.high90, tolerance),
        "mde": float(mde(width / (2 * quantile))),
        "reason": reason,
    }


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
