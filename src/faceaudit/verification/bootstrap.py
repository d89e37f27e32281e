"""Intervals of FNMR and FMR by the vertex bootstrap, and differences of groups with verdicts.

Identities are drawn with replacement, not pairs, and the same draws serve all groups. A pair of two
identities weighs the product of how often each was drawn, as each copy of the one meets each copy
of the other (Snijders & Borgatti, Connections 22 (1999) 161-170); a pair within one identity, as
often as that was drawn: copies of an identity are the same person, and pairs of two copies, which
the sample has not, are not made up from it.

Four things make the plain percentiles of these draws fail, which the tests show:

- The product counts chance within a pair of identities three times (its variance is 3 where the
  draws are Poisson), and only what different pairs share through an identity once. Where every
  identity meets few others, as here, standard deviations of the FMR come out up to √3 too large.
  The excess is known, twice the sum of squares of the pairs of identities (the term that a
  dyadic-robust variance counts once: Aronow, Samii & Assenova, Political Analysis 23 (2015)
  564-577), and is taken off.
- Residuals from an estimated mean are too small, by the share of pairs of pairs that have an
  identity in common (about 4 / n among n identities): variances are divided by the rest.
- Rare errors of few identities are often not drawn at all, so percentiles reach zero too early.
  The standard deviation of the draws says as how many independent pairs the pairs count, and
  Wilson's interval for so many, with Student quantiles, keeps its level down to no error at all.
- A few errors do not tell how they cluster. Spread over pairs of identities by chance, they pass
  for many independent pairs, most of all in samples whose rate is too low, so that intervals miss
  the rate above. `settled_sizes` counts, for each limit, no more pairs than the curve shows where
  errors are as frequent as the limit says.

Differences at a held FMR come from the same draws; those at one threshold need none, see
`faceaudit.verification.differences`.

`benchmarks/verification_intervals.py` measures how often the intervals hold known rates, beside
those of Fogliato, Patil & Perona (International Journal of Computer Vision 132 (2024)), who
recommend Wilson's interval with an effective size from the same sums over pairs that share an
identity, and resamples for curves. Theirs take the variance at the observed rate, normal quantiles,
and every pair as independent where there is no error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
ROUNDING = 1e-9
"""Variances below this share of the binomial one are rounding."""
CHUNK = 64
"""Pairs whose weights in all resamples are held at a time; nothing depends on it."""
STAGE = "verification"
"""Keys the resamples."""
SETTLING = 8
"""Steps to the settled size, from the cautious side: 40 more narrow intervals by a few percent."""


@dataclass(frozen=True)
class Bands:
    """Error rates with 95 % intervals, each for one group and one threshold or FMR.

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

    Identities are resampled, and the resamples say as how many independent pairs the pairs count;
    `faceaudit.verification.bootstrap` tells why percentiles are not used.

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
            resamples.
    """
    fmr, curves, at_fmr = np.array(fmr, np.float64), [], []
    codes, weights = draw_vertices(vertices, n_boot, seed)
    for pairs in by_group(similarity, is_match, group):
        accepted, rejected, draws = resample(pairs, codes, weights, fmr)
        at = pairs.thresholds if thresholds is None else np.asarray(thresholds, np.float64)
        curve = rate_table(pairs, np.array([np.nan]) if pairs.reason == NO_PAIRS else at)
        ends = accepted.interval()[:, np.searchsorted(pairs.positive, curve["threshold"])]
        curve["fnmr_low"], curve["fnmr_high"] = ends
        ends = rejected.interval()[:, np.searchsorted(pairs.negative, curve["threshold"])]
        curve["fmr_low"], curve["fmr_high"] = 1 - ends[::-1]
        held = held_rates(pairs, fmr)
        fnmr = held["fnmr"].to_numpy()
        size = held_size(fnmr, draws, accepted)
        held["low"], held["high"] = interval(fnmr, size, accepted.identities)
        few = [kind.identities and np.isnan(kind.inflation) for kind in (accepted, rejected)]
        for table, lacks in ((curve, any(few)), (held, few[0])):
            if lacks:
                table["reason"] = table["reason"].where(table["reason"] != "", TOO_FEW)
        curves.append(curve)
        at_fmr.append(held)
    return Bands(pd.concat(curves, ignore_index=True), pd.concat(at_fmr, ignore_index=True))


@dataclass(frozen=True)
class Kind:
    """Positives or negatives of one group by ascending similarity, as pairs of identities."""

    similarity: np.ndarray
    left: np.ndarray
    right: np.ndarray

    def totals(self, weights: np.ndarray) -> np.ndarray:
        """Weight of all pairs in every resample, (B,), from weights of identities (G, B)."""
        within = self.left == self.right
        ones, size = np.ones(np.count_nonzero(~within)), len(weights)
        between = csr_array((ones, (self.left[~within], self.right[~within])), shape=(size, size))
        own = np.bincount(self.left[within], minlength=size)
        return own @ weights + (weights * (between @ weights)).sum(axis=0)

    def cumulative(self, weights: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Weight of the pairs up to each, as (first pair, (pairs, B)), `CHUNK` pairs at a time."""
        n_identities, n_boot = weights.shape
        # A pair within an identity takes its second weight from a row of ones.
        weights = np.vstack([weights, np.ones(n_boot)])
        second = np.where(self.left == self.right, n_identities, self.right)
        carried = np.zeros(n_boot)
        for start in range(0, len(self.left), CHUNK):
            weight = weights[self.left[start : start + CHUNK]]
            weight *= weights[second[start : start + CHUNK]]
            # Row by row, which is faster than numpy's accumulate along the first axis.
            for row in weight:
                row += carried
                carried = row
            carried = carried.copy()
            yield start, weight

    def excess(self) -> np.ndarray:
        """What the product weights add to the variance of the share of the first k pairs, (n,).

        Twice the sum over pairs of identities of the squared sums of residuals, k = 1 ... n.
        """
        n, (dyad, between) = len(self.left), dyads(self.left, self.right)
        before, size = pd.Series(dyad).groupby(dyad).cumcount().to_numpy(), np.bincount(dyad)[dyad]
        # A pair takes the count c of its dyad to c + 1: sums of c², c size and size² follow.
        squares = np.cumsum(between * (2 * before + 1))
        products = np.cumsum(between * size)
        share = np.arange(1, n + 1) / n
        return 2 * (squares - 2 * share * products + share**2 * products[-1]) / n**2


def dyads(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number of the pair of identities behind every pair (m,), and whether these are two, (m,)."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    _, number = np.unique(low * (high.max(initial=0) + 1) + high, return_inverse=True)
    return number, low != high


def inflation(left: np.ndarray, right: np.ndarray) -> float:
    """What to multiply a variance by because its residuals are from an estimated mean.

    n / (n - 1) for n identities on their own; NaN where all pairs of pairs share an identity.
    """
    dyad, between = dyads(left, right)
    held = np.bincount(np.concatenate([left, right[between]]))
    apart = len(left) ** 2 - (held**2).sum() + (np.bincount(dyad[between]) ** 2).sum()
    return len(left) ** 2 / apart if apart else np.nan


@dataclass(frozen=True)
class Sweep:
    """What one passage through the pairs of a kind gives."""

    share: np.ndarray  # of the first k = 0 ... n pairs, (n + 1,)
    end_sizes: np.ndarray  # as how many independent pairs all count, for either end, (2, n + 1)
    below: np.ndarray  # resampled share of the first `cuts` pairs, (cuts, B)
    reached: np.ndarray  # how many pairs it takes to weigh at least `needs`, (needs, B)
    identities: int
    inflation: float

    def interval(self) -> np.ndarray:
        """95 % interval of every share, (2, n + 1)."""
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
    weights = draw_weights(len(identities), resamples, seed, STAGE)
    return codes, np.ascontiguousarray(weights.T)


def sweep(kind: Kind, weights: np.ndarray, cuts: np.ndarray, needs: np.ndarray) -> Sweep:
    """One cumulative weighted sum over the pairs, for all resamples; NaN without a pair.

    `weights` (G, B) are those of the identities, `cuts` (cuts, B) numbers of pairs whose share is
    wanted in each resample, and `needs` (needs, B) weights to be reached.
    """
    n, total = len(kind.left), kind.totals(weights)
    if n == 0:
        none = np.full((2, 1), np.nan)
        below, reached = np.full(cuts.shape, np.nan), np.ones(needs.shape, int)
        return Sweep(none[0], none, below, reached, 0, np.nan)
    drawn = total > 0
    scale = np.divide(1, total, where=drawn, out=np.zeros_like(total))
    share, variance = np.arange(n + 1) / n, np.zeros(n + 1)
    at, reached = np.where(drawn, 0.0, np.nan) * np.ones(cuts.shape), np.ones(needs.shape, int)
    for start, weight in kind.cumulative(weights):
        stop = start + len(weight)
        for need, count in zip(needs, reached, strict=True):
            if (weight[-1] < need).all():  # most blocks lie wholly on one side, and need no count
                count += len(weight)
            elif (weight[0] < need).any():
                count += np.count_nonzero(weight < need, axis=0)
        weight *= scale
        for cut, found in zip(cuts, at, strict=True):
            here = np.flatnonzero((cut > start) & (cut <= stop) & drawn)
            found[here] = weight[cut[here] - start - 1, here]
        # Resamples without a pair hold zeros, and do not count.
        mean = weight.sum(axis=1) / drawn.sum()
        squares = np.einsum("kb,kb->k", weight, weight) / drawn.sum()
        variance[start + 1 : stop + 1] = squares - mean**2
    excess = np.append(0.0, kind.excess())
    variance = np.maximum(variance - excess, excess / 2)
    identities, factor = np.union1d(kind.left, kind.right).size, inflation(kind.left, kind.right)
    size = effective_size(share, variance * factor, identities)
    cuts = np.flatnonzero(np.diff(kind.similarity, prepend=-np.inf, append=np.inf))
    end_sizes = settled_sizes(share, size, identities, cuts)
    return Sweep(share, end_sizes, at, reached, identities, factor)


def effective_size(share: np.ndarray, variance: np.ndarray, identities: int) -> np.ndarray:
    """As how many independent pairs a share (...) with such a variance (...) counts.

    Where all identities err alike, which no error at all is too, each counts as one pair. NaN
    where the variance is.
    """
    binomial = share * (1 - share)
    alike = (variance <= ROUNDING * binomial) | ((binomial == 0) & ~np.isnan(variance))
    return np.where(alike, identities, binomial / np.where(alike, 1.0, variance))


def settled_sizes(
    share: np.ndarray, size: np.ndarray, identities: int, cuts: np.ndarray
) -> np.ndarray:
    """Effective sizes (2, n + 1), at most those at the rates that the interval of a share tries.

    Wilson's interval takes the variance at the rates that it tries, not at the observed one, and so
    must the clustering of errors, which the curve shows at other rates too. The rows are for the
    lower and the upper end of each interval. What is tried depends on the size: this starts from
    one pair per identity and goes on until both agree. The size at the observed rate, with which
    intervals of clustered samples cover too little (Franco, Little, Louis & Slud, Journal of Survey
    Statistics and Methodology 7 (2019) 334-364, who steady it by a model), counts where it is
    smaller: rare look-alikes cluster most among the first errors. Pairs between two of the `cuts`,
    numbers of pairs below some threshold, are tied, and their order says nothing.
    """
    quantile = stdtrit(identities - 1, 0.975)
    between = (cuts[1:] + cuts[:-1]) / 2
    settled = np.full((2, len(share)), float(identities))
    for _ in range(SETTLING):
        low, high = score_interval(share, settled, quantile)
        tried = np.stack([low[0], high[1]])
        nearest = cuts[np.searchsorted(between, tried * (len(share) - 1))]
        settled = np.sqrt(settled * size[nearest])
    return np.minimum(size, settled)


def resample(
    pairs: GroupPairs, codes: np.ndarray, weights: np.ndarray, fmr: np.ndarray
) -> tuple[Sweep, Sweep, np.ndarray]:
    """Rates of a group in every resample, at each held FMR (k,).

    `codes` (m, 2) tell the identities of all pairs, `weights` (G, B) how often each is drawn. Of
    the positives, of the negatives, and the FNMR of every resample at its own threshold for each
    FMR, (k, B); NaN what the group lacks pairs for.
    """
    positives = Kind(pairs.positive, *codes[pairs.positive_rows].T)
    negatives = Kind(pairs.negative, *codes[pairs.negative_rows].T)
    total = negatives.totals(weights)
    needs = total - allowed_matches(fmr[:, None], total)
    rejected = sweep(negatives, weights, needs[:0], needs)
    # Without any negative there is no last one to reject, and no FNMR either.
    last = np.append(-np.inf, pairs.negative)[np.minimum(rejected.reached, len(pairs.negative))]
    cuts = np.searchsorted(pairs.positive, last, side="right")
    accepted = sweep(positives, weights, cuts, needs[:0])
    return accepted, rejected, np.where(total > 0, accepted.below, np.nan)


def held_size(fnmr: np.ndarray, draws: np.ndarray, accepted: Sweep) -> np.ndarray:
    """As how many independent pairs the positives count for each FNMR at an FMR, (k,)."""
    variance = pd.DataFrame(draws).var(axis=1, ddof=0).to_numpy()
    return effective_size(fnmr, variance * accepted.inflation, accepted.identities)


def interval(share: np.ndarray, size: np.ndarray, identities: int) -> tuple[np.ndarray, np.ndarray]:
    """95 % Wilson interval of shares (...) with Student quantiles; NaN where the size is."""
    low, high = score_interval(share, size, stdtrit(identities - 1, 0.975))
    return low.clip(0, 1), high.clip(0, 1)


# --- differences between groups, with tests and verdicts

HELD, FNMR, FMR = "FNMR at FMR", "FNMR at threshold", "FMR at threshold"


class Limits(NamedTuple):
    """Intervals of a difference, and the p of none."""

    low: float
    high: float
    low90: float
    high90: float
    p: float


NO_LIMITS = Limits(*[np.nan] * 5)


@dataclass(frozen=True)
class HeldRate:
    """The FNMR of one group at a threshold of its own, which the sample sets."""

    estimate: float
    size: float  # as how many independent pairs its pairs count
    draws: np.ndarray  # the rate in every resample, (B,)
    identities: int
    n: int
    reason: str

    @property
    def too_few(self) -> bool:
        """Whether its pairs are of too few identities for an interval."""
        return bool(np.isnan(self.size))

    def minus(self, base: HeldRate) -> Limits:
        """Limits of its difference from the same rate of the reference."""
        risk = np.array([[base.estimate, self.estimate]])
        size = np.array([[base.size, self.size]])
        pair = risk, size, _correlation(risk, size, base.draws, self.draws)
        df = np.array([min(self.identities, base.identities) - 1])
        limits = [hybrid_score_interval(*pair, stdtrit(df, level)) for level in (0.975, 0.95)]
        return Limits(*np.array(limits).ravel(), *hybrid_score_p(*pair, df))


@dataclass(frozen=True)
class ThresholdRate:
    """One error rate of one group at a threshold that is given."""

    estimate: float
    errors: int
    curve: OrderedPairs | None  # None without a pair
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
        """Limits of its difference from the same rate of the reference."""
        score = difference_score(base.curve, self.curve, np.array([[base.errors, self.errors]]))
        limits = [score.interval(level) for level in (0.95, 0.9)]
        return Limits(*np.array(limits).ravel(), *score.p())


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
        n_boot: resamples of the identities, for "FNMR at FMR" alone.
        seed: of the resamples.

    Returns:
        One row per measure and other group, with the columns measure, group, reference, then

        - rate, reference_rate, estimate (their difference), low, high: 95 % interval. At one
          threshold it is that of the dyadic-robust score, see `faceaudit.verification.differences`;
          at one FMR that of `faceaudit.effects.risks.hybrid_score_interval` with the effective
          sizes of the vertex bootstrap, since the sample sets the threshold. Both count what the
          groups share through identities, which cancels;
        - low90, high90: the 90 % interval, by which the verdict "within" is given;
        - p: at which the interval would end in zero; p_holm: Holm over the groups of a measure;
        - n: pairs of the group that the rate counts; identities: in these;
        - verdict: against ±`tolerance`, see `faceaudit.effects.verdict`; mde: the minimum
          detectable effect at the standard error that the interval implies;
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
) -> dict[str, HeldRate | ThresholdRate]:
    """The three rates of a group."""
    at = np.array([fmr], np.float64)
    accepted, _, draws = resample(pairs, codes, weights, at)
    held = held_rates(pairs, at).iloc[0]
    size = held_size(held["fnmr"], draws, accepted)[0]
    counts = accepted.identities, len(pairs.positive)
    positive_codes, negative_codes = codes[pairs.positive_rows], codes[pairs.negative_rows]
    fnmr, fmr_at = pairs.rates(threshold)
    rejected = np.searchsorted(pairs.positive, threshold)
    matched = len(pairs.negative) - np.searchsorted(pairs.negative, threshold)
    identities = len(weights)
    # A positive errs the sooner, the less similar it is, and a negative the more similar it is.
    of_positives = fnmr, rejected, -pairs.positive, positive_codes, identities, NO_POSITIVES
    of_negatives = fmr_at, matched, pairs.negative, negative_codes, identities, NO_NEGATIVES
    return {
        HELD: HeldRate(held["fnmr"], size, draws[0], *counts, held["reason"]),
        FNMR: _at_threshold(*of_positives),
        FMR: _at_threshold(*of_negatives),
    }


def _at_threshold(
    rate: float,
    errors: int,
    proneness: np.ndarray,
    codes: np.ndarray,
    identities: int,
    none: str,
) -> ThresholdRate:
    """The rate of so many errors among pairs, of which the most prone err first."""
    if not len(proneness):
        return ThresholdRate(rate, 0, None, 0, none)
    curve = ordered_pairs(proneness, codes, identities)
    return ThresholdRate(rate, int(errors), curve, len(proneness), "")


def _difference(
    rate: HeldRate | ThresholdRate, base: HeldRate | ThresholdRate, tolerance: float
) -> dict[str, object]:
    """One row of `disparities`, without Holm."""
    reason = rate.reason or (base.reason and f"reference: {base.reason}")
    if not reason and (rate.too_few or base.too_few):
        reason = TOO_FEW
    limits = NO_LIMITS if reason else rate.minus(base)
    quantile = np.nan if reason else stdtrit(min(rate.identities, base.identities) - 1, 0.975)
    found = {"rate": rate.estimate, "reference_rate": base.estimate}
    found["estimate"] = rate.estimate - base.estimate
    found |= limits._asdict()
    found |= {"n": rate.n, "identities": rate.identities}
    found["verdict"] = verdict(*limits[:4], tolerance)
    width = limits.high - limits.low
    return found | {"mde": float(mde(width / (2 * quantile))), "reason": reason}


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
