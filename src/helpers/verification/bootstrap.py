"""Uncertainty of FNMR and FMR when the same identities are in many pairs: the vertex bootstrap.

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

`benchmarks/verification_intervals.py` measures how often the intervals hold known rates, beside
those of Fogliato, Patil & Perona (International Journal of Computer Vision 132 (2024)), who
recommend Wilson's interval with an effective size from the same sums over pairs that share an
identity, and resamples for curves. Theirs take the variance at the observed rate, normal quantiles,
and every pair as independent where there is no error.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import stdtrit

from helpers.effects import score_interval
from helpers.resampling import as_resamples, cluster_codes, draw_weights
from helpers.verification.curves import GroupPairs, allowed_matches

ROUNDING = 1e-9
"""Variances below this share of the binomial one are rounding."""
CHUNK = 64
"""Pairs whose weights in all resamples are held at a time; nothing depends on it."""
STAGE = "verification"
"""Keys the resamples."""
SETTLING = 8
"""Steps to the settled size, from the cautious side: 40 more narrow intervals by a few percent."""


@dataclass(frozen=True)
class Kind:
    """Positives or negatives of one group by ascending similarity, as pairs of identities."""

    similarity: np.ndarray
    left: np.ndarray
    right: np.ndarray

    @property
    def identities(self) -> int:
        """How many identities there are in these pairs."""
        return len(np.union1d(self.left, self.right))

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
        sizes = np.bincount(dyad)
        order = np.argsort(dyad, kind="stable")
        before = np.empty(n, dtype=np.int64)
        before[order] = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        size = sizes[dyad]
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

    That takes off the share of pairs of pairs that have an identity in common: n / (n - 1) for
    n identities on their own. NaN where all have, so that nothing is known.

    Args:
        left, right: codes of both identities of the pairs, (m,).
    """
    dyad, between = dyads(left, right)
    held = np.bincount(np.concatenate([left, right[between]]))
    apart = len(left) ** 2 - (held**2).sum() + (np.bincount(dyad[between]) ** 2).sum()
    return len(left) ** 2 / apart if apart else np.nan


@dataclass(frozen=True)
class Sweep:
    """What one passage through the pairs of a kind gives.

    Attributes:
        share: of the first k = 0 ... n pairs, (n + 1,).
        size: as how many independent pairs all count for this share, (n + 1,).
        end_sizes: the same for the lower and for the upper end of its interval, (2, n + 1).
        below: resampled share of the first `cuts` pairs, (cuts, B); NaN where no pair was drawn.
        reached: how many pairs it takes to weigh at least `needs`, (needs, B).
        identities: how many there are in the pairs.
        inflation: see `inflation`.
    """

    share: np.ndarray
    size: np.ndarray
    end_sizes: np.ndarray
    below: np.ndarray
    reached: np.ndarray
    identities: int
    inflation: float

    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """95 % interval of every share, (n + 1,) twice."""
        low, high = interval(self.share, self.end_sizes, self.identities)
        return low[0], high[1]


def vertex_codes(vertices: ArrayLike, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the identities of `m` pairs (m, 2), and the identities in sorted order (G,).

    Raises ValueError for another shape and a missing identity.
    """
    vertices = np.asarray(vertices)
    if vertices.shape != (m, 2):
        raise ValueError(f"vertices of shape {vertices.shape}: identities ({m}, 2) were expected")
    missing = pd.isna(vertices).any(axis=1)
    if missing.any():
        raise ValueError(f"vertices, row {missing.argmax()}: an identity is missing")
    codes, identities = cluster_codes(vertices.ravel())
    return codes.reshape(m, 2), identities


def draw_vertices(
    vertices: ArrayLike, m: int, n_boot: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the identities of `m` pairs (m, 2), and how often each is drawn, (G, n_boot).

    Raises ValueError as `vertex_codes`, and for fewer than two identities or resamples.
    """
    # One resample has no variance, and would make all identities err alike.
    resamples = as_resamples(n_boot, least=2)
    codes, identities = vertex_codes(vertices, m)
    weights = draw_weights(len(identities), resamples, seed, STAGE)
    return codes, np.ascontiguousarray(weights.T)


def sweep(kind: Kind, weights: np.ndarray, cuts: np.ndarray, needs: np.ndarray) -> Sweep:
    """One cumulative weighted sum over the pairs, for all resamples.

    Args:
        kind: without a pair, nothing is estimable (NaN).
        weights: of the identities, (G, B).
        cuts: numbers of pairs whose share is wanted in each resample, (cuts, B).
        needs: weights to be reached, (needs, B).
    """
    n, total = len(kind.left), kind.totals(weights)
    if n == 0:
        nothing, below = np.full((3, 1), np.nan), np.full(cuts.shape, np.nan)
        reached = np.ones(needs.shape, int)
        return Sweep(nothing[0], nothing[0], nothing[:2], below, reached, 0, np.nan)
    drawn = total > 0
    scale = np.divide(1, total, where=drawn, out=np.zeros_like(total))
    share, variance = np.arange(n + 1) / n, np.zeros(n + 1)
    at, reached = np.where(drawn, 0.0, np.nan) * np.ones(cuts.shape), np.ones(needs.shape, int)
    for start, weight in kind.cumulative(weights):
        stop = start + len(weight)
        for need, count in zip(needs, reached, strict=True):
            # Few chunks are where some resamples reach their need: the others need no look.
            if (weight[-1] < need).all():
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
    identities, factor = kind.identities, inflation(kind.left, kind.right)
    size = effective_size(share, variance * factor, identities)
    cuts = np.flatnonzero(np.diff(kind.similarity, prepend=-np.inf, append=np.inf))
    low, size, high = settled_sizes(share, size, identities, cuts)
    return Sweep(share, size, np.stack([low, high]), at, reached, identities, factor)


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
    """Effective sizes (3, n + 1), at most those at the rates that the interval of a share tries.

    Wilson's interval takes the variance at the rates that it tries, not at the observed one, and so
    must the clustering of errors, which the curve shows at other rates too. The rows are for the
    lower end, the middle and the upper end of each interval; the middle, as if there were about two
    more errors and two more others (Agresti & Coull, American Statistician 52 (1998) 119-126),
    stands for both where one size is wanted. What is tried depends on the size: this starts from
    one pair per identity and goes on until both agree. The size at the observed rate, with which
    intervals of clustered samples cover too little (Franco, Little, Louis & Slud, Journal of Survey
    Statistics and Methodology 7 (2019) 334-364, who steady it by a model), counts where it is
    smaller: rare look-alikes cluster most among the first errors.

    Args:
        share: of the first k = 0 ... n pairs.
        size: from the variance of each share.
        identities: in the pairs.
        cuts: numbers of pairs below some threshold, ascending from 0 to n: between them pairs are
            tied, and their order says nothing.
    """
    quantile = stdtrit(identities - 1, 0.975)
    between = (cuts[1:] + cuts[:-1]) / 2
    settled = np.full((3, len(share)), float(identities))
    for _ in range(SETTLING):
        low, high = score_interval(share, settled, quantile)
        tried = np.stack([low[0], (low[1] + high[1]) / 2, high[2]])
        nearest = cuts[np.searchsorted(between, tried * (len(share) - 1))]
        settled = np.sqrt(settled * size[nearest])
    return np.minimum(size, settled)


@dataclass(frozen=True)
class Resampled:
    """Resampled rates of a group; NaN what it lacks pairs for.

    Attributes:
        accepted: the positives, `below` of which is the share under each threshold, (t, B).
        rejected: the negatives, likewise.
        held: FNMR of every resample at its own threshold for each FMR, (k, B).
    """

    accepted: Sweep
    rejected: Sweep
    held: np.ndarray

    def held_size(self, fnmr: np.ndarray) -> np.ndarray:
        """As how many independent pairs the positives count for each FNMR at an FMR, (k,)."""
        variance = pd.DataFrame(self.held).var(axis=1, ddof=0).to_numpy()
        return effective_size(fnmr, variance * self.accepted.inflation, self.accepted.identities)


def resample(
    pairs: GroupPairs,
    codes: np.ndarray,
    weights: np.ndarray,
    fmr: np.ndarray,
    thresholds: Sequence[float] = (),
) -> Resampled:
    """Rates of a group in every resample.

    Args:
        pairs: of the group.
        codes: of the identities of all pairs, (m, 2).
        weights: of the identities, (G, B).
        fmr: rates to hold, (k,).
        thresholds: at which the rates of every resample are wanted, (t,).
    """
    positives = Kind(pairs.positive, *codes[pairs.positive_rows].T)
    negatives = Kind(pairs.negative, *codes[pairs.negative_rows].T)
    below = [
        np.searchsorted(kind.similarity, thresholds)[:, None] * np.ones(weights.shape[1], int)
        for kind in (positives, negatives)
    ]
    total = negatives.totals(weights)
    needs = total - allowed_matches(fmr[:, None], total)
    rejected = sweep(negatives, weights, below[1], needs)
    # Without any negative there is no last one to reject, and no FNMR either.
    last = np.append(-np.inf, pairs.negative)[np.minimum(rejected.reached, len(pairs.negative))]
    cuts = np.searchsorted(pairs.positive, last, side="right")
    accepted = sweep(positives, weights, np.concatenate([below[0], cuts]), needs[:0])
    fixed, held = np.split(accepted.below, [len(thresholds)])
    return Resampled(replace(accepted, below=fixed), rejected, np.where(total > 0, held, np.nan))


def interval(share: np.ndarray, size: np.ndarray, identities: int) -> tuple[np.ndarray, np.ndarray]:
    """95 % Wilson interval of shares (...) with Student quantiles; NaN where the size is."""
    low, high = score_interval(share, size, stdtrit(identities - 1, 0.975))
    return low.clip(0, 1), high.clip(0, 1)
