"""Intervals of the difference of two error rates of pairs, by a dyadic-robust score.

A pair has two identities, so pairs err together for two reasons: they are of the same two
identities, or they have one identity in common. Residuals of such pairs are multiplied and added
up, within a group and between two groups whose identities are matched (the dyadic-robust variance
of Aronow, Samii & Assenova, Political Analysis 23 (2015) 564-577). With 10 to 40 identities and
rates of a few per cent the plain interval of that variance covers too rarely, for two reasons:

- A rate that by chance is low has a variance that is low too, so that intervals miss the true rate
  above them. A score takes the variance under the difference that is tested: rates are those that
  fit the observed ones best at this difference (Miettinen & Nurminen, Statistics in Medicine 4
  (1985) 213-226). An effective size is the number of independent pairs with the same variance as a
  group's pairs.
- A few errors do not show how they cluster. The effective size is therefore computed at another
  threshold, at which the error rate equals the middle of the interval (`size_at_middle`).
  Correlations of pairs are averaged over both groups, with the weight `OTHER_SHARE` for the other.

The observed errors may cluster more than that, as where two look-alikes make most of them. Where
the dyadic-robust variance exceeds that of the score, `OBSERVED_SHARE` of the excess is added.
Variances are divided by the share of pairs of pairs that have no identity in common, as residuals
are from an estimated mean; quantiles are Student's.

`benchmarks/verification_disparities.py` measures how often these intervals hold a known difference,
how wide they are, and how often they exclude zero. Both shares were chosen there, as the smallest
of a few values that keep the coverage of every line.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.special import stdtr, stdtrit

SIZE_STEPS = 8
"""Iterations of `size_at_middle`, which start from one pair per identity."""
BISECTIONS = 50
"""Halvings of the range of a difference; the last is below 1e-15."""
OBSERVED_SHARE = 0.375
"""Share of the excess of the dyadic-robust variance over that of the score that is added."""
OTHER_SHARE = 0.25
"""Weight of the other group's correlations in the correlations of a group's pairs."""


@dataclass(frozen=True)
class PairDesign:
    """Identities of the pairs of one kind and group.

    Attributes:
        first, second: codes of the identities of every dyad (two identities, or one with itself),
            (d,). Groups whose identities are matched share codes. No dyad occurs twice.
        pairs: how many pairs of images each dyad has, (d,).
        codes: how many codes of identities there are in all groups.
    """

    first: np.ndarray
    second: np.ndarray
    pairs: np.ndarray
    codes: int

    @cached_property
    def between(self) -> np.ndarray:
        """Whether a dyad is of two identities, (d,)."""
        return self.first != self.second

    @cached_property
    def keys(self) -> np.ndarray:
        """A number for every dyad that is the same in all groups, (d,)."""
        return np.minimum(self.first, self.second) * self.codes + np.maximum(
            self.first, self.second
        )

    @cached_property
    def total(self) -> int:
        """Number of pairs."""
        return int(self.pairs.sum())

    @cached_property
    def identities(self) -> int:
        """Number of identities that have a pair."""
        return np.union1d(self.first, self.second).size

    @cached_property
    def incidence(self) -> csr_array:
        """1 where a dyad has an identity, (d, codes)."""
        rows = np.arange(len(self.first))
        rows = np.concatenate([rows, rows[self.between]])
        columns = np.concatenate([self.first, self.second[self.between]])
        return csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(self.first), self.codes))

    @cached_property
    def same_dyad(self) -> float:
        """Ordered pairs of two different pairs of images of one dyad."""
        return float((self.pairs.astype(float) ** 2).sum() - self.total)

    @cached_property
    def one_identity(self) -> float:
        """Ordered pairs of two pairs of images whose dyads share one identity."""
        return float(self.shared_products(self.pairs[None].astype(float))[0])

    @cached_property
    def inflation(self) -> float:
        """Factor that corrects variances for residuals from an estimated mean.

        NaN where all pairs of pairs share an identity.
        """
        apart = self.total**2 - self.total - self.same_dyad - self.one_identity
        return self.total**2 / apart if apart > 0 else np.nan

    def shared_products(self, sums: np.ndarray) -> np.ndarray:
        """Products of the sums (R, d) of two dyads, over those that have one identity in common."""
        of_identity = sums @ self.incidence
        return (of_identity**2).sum(axis=1) - (sums**2 * (1 + self.between)).sum(axis=1)

    def variance(self, residuals: np.ndarray) -> np.ndarray:
        """Dyadic-robust variance of a rate, (R,), from sums of residuals by dyad (R, d).

        At least that of dyads that share no identity.
        """
        shared = np.maximum(self.shared_products(residuals), 0)
        return self.inflation * ((residuals**2).sum(axis=1) + shared) / self.total**2

    def covariance(
        self, residuals: np.ndarray, other: PairDesign, other_residuals: np.ndarray
    ) -> np.ndarray:
        """Covariance of the rates of two groups, (R,), through the identities they share."""
        products = (residuals @ self.incidence) * (other_residuals @ other.incidence)
        # Dyads of the same two identities were counted for either of them.
        _, rows, other_rows = np.intersect1d(
            self.keys, other.keys, assume_unique=True, return_indices=True
        )
        twice = residuals[:, rows] * other_residuals[:, other_rows] * self.between[rows]
        factor = np.sqrt(self.inflation * other.inflation) / (self.total * other.total)
        return factor * (products.sum(axis=1) - twice.sum(axis=1))


class ErrorCurve(Protocol):
    """Pairs of one kind and group in the order in which they err as a threshold moves.

    It has R repetitions of one design; an audit is one repetition.
    """

    @property
    def design(self) -> PairDesign:
        """Identities of the pairs."""
        ...

    def nearest(self, rate: np.ndarray) -> np.ndarray:
        """Number of errors (R,) at the threshold whose error rate is nearest to `rate` (R,)."""
        ...

    def residuals(self, errors: np.ndarray) -> np.ndarray:
        """Sums by dyad of errors minus their mean, (R, d), where `errors` (R,) pairs err."""
        ...


@dataclass(frozen=True)
class OrderedPairs:
    """The `ErrorCurve` of one audit.

    Attributes:
        design: of the pairs.
        dyad: of every pair in the order of erring, (m,).
        cuts: numbers of pairs that err at some threshold, ascending: tied pairs err together.
    """

    design: PairDesign
    dyad: np.ndarray
    cuts: np.ndarray

    def nearest(self, rate: np.ndarray) -> np.ndarray:
        """See `ErrorCurve`."""
        between = (self.cuts[1:] + self.cuts[:-1]) / 2
        return self.cuts[np.searchsorted(between, np.asarray(rate) * self.design.total)]

    def residuals(self, errors: np.ndarray) -> np.ndarray:
        """See `ErrorCurve`."""
        size = len(self.design.pairs)
        counts = np.array([np.bincount(self.dyad[:count], minlength=size) for count in errors])
        return counts - np.asarray(errors)[:, None] / self.design.total * self.design.pairs


def ordered_pairs(proneness: np.ndarray, codes: np.ndarray, identities: int) -> OrderedPairs:
    """The error curve of one audit's pairs.

    Args:
        proneness: of the pairs (m,); those with the highest err first.
        codes: of the pairs' identities, (m, 2).
        identities: their number in all groups.
    """
    low = codes.min(axis=1)
    high = codes.max(axis=1)
    keys, dyad, pairs = np.unique(
        low.astype(np.int64) * identities + high, return_inverse=True, return_counts=True
    )
    design = PairDesign(keys // identities, keys % identities, pairs, identities)
    order = np.argsort(-proneness, kind="stable")
    steps = np.diff(-proneness[order], prepend=-np.inf, append=np.inf)
    return OrderedPairs(design, dyad[order], np.flatnonzero(steps))


@dataclass(frozen=True)
class DifferenceScore:
    """Rates of two groups in R repetitions, with tests and intervals of their difference.

    Attributes:
        rate: of both groups, (R, 2); the difference is that of the second minus the first.
        size: effective number of each group's pairs, (R, 2).
        correlation: of the two estimated rates, (R,).
        robust: dyadic-robust variance of the difference at the observed errors, (R,).
        df: degrees of freedom.
    """

    rate: np.ndarray
    size: np.ndarray
    correlation: np.ndarray
    robust: np.ndarray
    df: float

    @property
    def estimate(self) -> np.ndarray:
        """The observed difference, (R,)."""
        return self.rate[:, 1] - self.rate[:, 0]

    def variance(self, difference: np.ndarray) -> np.ndarray:
        """Variance of the estimate if the true difference is `difference`, (R,) both."""
        first, second = restricted_rates(self.rate, self.size, difference)
        of_first = first * (1 - first) / self.size[:, 0]
        of_second = second * (1 - second) / self.size[:, 1]
        common = self.correlation * np.sqrt(of_first * of_second)
        score = np.maximum(of_first + of_second - 2 * common, 0)
        return score + OBSERVED_SHARE * np.maximum(self.robust - score, 0)

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Differences that a two-sided test at 1 - `level` does not reject: low and high, (R,)."""
        quantile = stdtrit(self.df, (1 + level) / 2)
        ends = []
        for farthest in (-1.0, 1.0):
            inside = self.estimate
            outside = np.full(len(self.estimate), farthest)
            for _ in range(BISECTIONS):
                middle = (inside + outside) / 2
                distance = self.estimate - middle
                holds = distance**2 <= quantile**2 * self.variance(middle)
                inside = np.where(holds, middle, inside)
                outside = np.where(holds, outside, middle)
            ends.append(inside)
        return ends[0], ends[1]

    def p(self) -> np.ndarray:
        """Two-sided p of no difference, (R,): at which the interval would end in zero."""
        spread = np.sqrt(self.variance(np.zeros(len(self.estimate))))
        distance = np.abs(self.estimate)
        # Without an error in either group, the distance and the spread are zero.
        ratio = np.divide(distance, spread, out=np.zeros(len(distance)), where=distance > 0)
        return 2 * stdtr(self.df, -ratio)


def difference_score(
    first: ErrorCurve, second: ErrorCurve, errors: np.ndarray, level: float = 0.95
) -> DifferenceScore:
    """The score of the rate of the second group minus that of the first.

    Args:
        first, second: pairs of one kind of either group.
        errors: how many pairs of each err, (R, 2).
        level: of the interval at whose middle the correlations of errors are computed.

    Returns:
        The score. Its sizes are NaN where a group's pairs are of too few identities.
    """
    curves = (first, second)
    designs = [curve.design for curve in curves]
    rate = errors / np.array([design.total for design in designs])
    df = min(design.identities for design in designs) - 1
    quantile = stdtrit(df, (1 + level) / 2)
    size = np.stack([size_at_middle(curves, rate[:, k], k, quantile) for k in (0, 1)], axis=1)
    middle = interval_middle(rate, size, quantile).mean(axis=1)
    residuals = [curve.residuals(curve.nearest(middle)) for curve in curves]
    variances = [a.variance(b) for a, b in zip(designs, residuals, strict=True)]
    spread = np.sqrt(variances[0] * variances[1])
    covariance = designs[0].covariance(residuals[0], designs[1], residuals[1])
    correlation = np.divide(covariance, spread, out=np.zeros(len(spread)), where=spread > 0)
    residuals = [curves[k].residuals(errors[:, k]) for k in (0, 1)]
    robust = designs[0].variance(residuals[0]) + designs[1].variance(residuals[1])
    robust -= 2 * designs[0].covariance(residuals[0], designs[1], residuals[1])
    return DifferenceScore(rate, size, correlation.clip(-1, 1), np.maximum(robust, 0), df)


def size_at_middle(
    curves: tuple[ErrorCurve, ErrorCurve], rate: np.ndarray, group: int, quantile: float
) -> np.ndarray:
    """Effective number of the pairs of one of two groups, (R,).

    The correlations of pairs are computed at the threshold at which the error rate is the middle of
    the interval of `rate` (R,): about the rate with two more errors and two more successes (Agresti
    & Coull, American Statistician 52 (1998) 119-126). The middle depends on the size, and the size
    on the middle: the iteration starts from one pair per identity.

    Args:
        curves: of both groups.
        rate: observed error rate of the group in every repetition, (R,).
        group: which of the two, 0 or 1.
        quantile: Student's, of the interval.
    """
    size = np.full(len(rate), float(curves[group].design.identities))
    for _ in range(SIZE_STEPS):
        middle = interval_middle(rate, size, quantile)
        # The geometric mean with the size before damps swings between two thresholds.
        size = np.sqrt(size * effective_sizes(curves, middle)[group])
    return size


def interval_middle(rate: np.ndarray, size: np.ndarray, quantile: float) -> np.ndarray:
    """Middle of Wilson's interval of rates, of their shape."""
    return (rate + quantile**2 / (2 * size)) / (1 + quantile**2 / size)


def effective_sizes(
    curves: tuple[ErrorCurve, ErrorCurve], rate: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Effective numbers of pairs of both groups at a rate (R,), (R,) each.

    The correlation of pairs is the mean of both groups', with the weight `OTHER_SHARE` for the
    other group, and at least zero. Where neither group has a correlation, because the nearest
    threshold has no error or errors only, each identity counts as one pair.
    """
    observed = [pair_correlations(curve, rate) for curve in curves]
    known = np.isfinite(observed).any(axis=(0, 1))
    sizes = []
    for curve, of_group, of_other in zip(curves, observed, observed[::-1], strict=True):
        design = curve.design
        mean = (1 - OTHER_SHARE) * of_group + OTHER_SHARE * of_other
        # Where one group has no correlation, that of the other is taken.
        correlation = np.where(np.isnan(of_other), of_group, mean)
        correlation = np.where(np.isnan(of_group), of_other, correlation)
        same, shared = np.fmax(correlation, 0)
        pairs = design.total + same * design.same_dyad + shared * design.one_identity
        size = design.total**2 / (design.inflation * pairs)
        sizes.append(np.where(known, size, design.identities))
    return sizes[0], sizes[1]


def pair_correlations(curve: ErrorCurve, rate: np.ndarray) -> np.ndarray:
    """Correlations of the errors of two pairs of one group at a rate (R,), (2, R).

    The first row is of two pairs of one dyad, the second of two whose dyads have one identity in
    common. NaN where there are no such pairs, or where none or all of the pairs err.
    """
    design = curve.design
    errors = curve.nearest(rate)
    residuals = curve.residuals(errors)
    binomial = errors / design.total * (1 - errors / design.total)
    same = (residuals**2).sum(axis=1) - design.total * binomial
    products = np.stack([same, design.shared_products(residuals)])
    possible = np.outer([design.same_dyad, design.one_identity], binomial)
    return np.divide(products, possible, out=np.full(products.shape, np.nan), where=possible > 0)


def restricted_rates(
    rate: np.ndarray, size: np.ndarray, difference: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The most likely rates of two groups that differ by `difference` (R,), (R,) each.

    The root in closed form is that of Farrington & Manning, Statistics in Medicine 9 (1990)
    1447-1454, for `size` (R, 2) independent trials at the observed `rate` (R, 2).
    """
    ratio = size[:, 0] / size[:, 1]
    first, second = rate.T
    # Coefficients of the cubic equation in the second rate.
    cubic = 1 + ratio
    square = -(1 + ratio + second + ratio * first + difference * (ratio + 2))
    linear = difference**2 + difference * (2 * second + ratio + 1) + second + ratio * first
    constant = -second * difference * (1 + difference)
    shift = square / (3 * cubic)
    half = shift**3 - square * linear / (6 * cubic**2) + constant / (2 * cubic)
    radius = np.sqrt(np.maximum(shift**2 - linear / (3 * cubic), 0))
    radius = np.where(half < 0, -radius, radius)
    cosine = np.divide(half, radius**3, out=np.ones(len(half)), where=radius != 0)
    angle = (np.pi + np.arccos(cosine.clip(-1, 1))) / 3
    best = 2 * radius * np.cos(angle) - shift
    best = best.clip(np.maximum(difference, 0), 1 + np.minimum(difference, 0))
    return best - difference, best
