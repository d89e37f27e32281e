"""Uncertainty of FNMR and FMR when the same identities are in many pairs: the vertex bootstrap.

Identities are drawn with replacement, not pairs, and the same draws serve all groups. A pair of two
identities weighs the product of how often each was drawn, as each copy of the one meets each copy
of the other (Snijders & Borgatti, Connections 22 (1999) 161-170); a pair within one identity, as
often as that was drawn: copies of an identity are the same person, and pairs of two copies, which
the sample has not, are not made up from it.

Two things make the plain percentiles of these draws fail, which the tests show:

- The product counts chance within a pair of identities three times (its variance is 3 where the
  draws are Poisson), and only what different pairs share through an identity once. Where every
  identity meets few others, as here, standard deviations of the FMR come out up to √3 too large.
  The excess is known, twice the sum of squares of the pairs of identities (the term that a
  dyadic-robust variance counts once: Aronow, Samii & Assenova, Political Analysis 23 (2015)
  564-577), and is taken off.
- Rare errors of few identities are often not drawn at all, so percentiles reach zero too early.
  The standard deviation of the draws says as how many independent pairs the pairs count, and
  Wilson's interval for so many, with Student quantiles, keeps its level down to no error at all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import stdtrit

from helpers.effects import score_interval
from helpers.resampling import cluster_codes, draw_weights
from helpers.verification.curves import (
    NO_PAIRS,
    GroupPairs,
    allowed_matches,
    as_rates,
    by_group,
    rate_table,
)


@dataclass(frozen=True)
class Bands:
    """Error rates with 95 % intervals for each group and threshold, or rate, on its own.

    Attributes:
        curves: the columns of `error_curves`, then fnmr_low, fnmr_high, fmr_low and fmr_high.
        at_fmr: the columns of `fnmr_at_fmr`, then low and high of the FNMR, taking in that the
            threshold is estimated too.
    """

    curves: pd.DataFrame
    at_fmr: pd.DataFrame


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

    def cumulative(self, weights: np.ndarray, chunk: int) -> Iterator[tuple[int, np.ndarray]]:
        """Weight of the pairs up to each, as (first pair, (pairs, B)), `chunk` pairs at a time."""
        carried = np.zeros(weights.shape[1])
        for start in range(0, len(self.left), chunk):
            left, right = self.left[start : start + chunk], self.right[start : start + chunk]
            weight = weights[left]
            between = left != right
            weight[between] *= weights[right[between]]
            # Row by row, which is five times as fast as numpy's accumulate along the first axis.
            weight[0] += carried
            for row in range(1, len(weight)):
                weight[row] += weight[row - 1]
            carried = weight[-1]
            yield start, weight

    def excess(self) -> np.ndarray:
        """What the product weights add to the variance of the share of the first k pairs, (n,).

        Twice the sum over pairs of identities of the squared sums of residuals, k = 1 ... n.
        """
        n = len(self.left)
        dyads = np.sort(np.column_stack([self.left, self.right]), axis=1)
        dyad = pd.Series(pd.factorize(pd.MultiIndex.from_arrays(dyads.T))[0])
        before = dyad.groupby(dyad).cumcount().to_numpy()
        size = np.bincount(dyad)[dyad]
        between = self.left != self.right
        # A pair takes the count c of its dyad to c + 1: sums of c², c size and size² follow.
        squares = np.cumsum(between * (2 * before + 1))
        products, sizes = np.cumsum(between * size), (between * size).sum()
        share = np.arange(1, n + 1) / n
        return 2 * (squares - 2 * share * products + share**2 * sizes) / n**2


@dataclass(frozen=True)
class Draws:
    """Resampled rates of one group.

    Attributes:
        rejected: of the first k positives or negatives, k = 1 ... n, the standard deviation of
            their share over the resamples; a pair of arrays.
        fnmr: resampled FNMR at each target, (targets, B).
    """

    rejected: tuple[np.ndarray, np.ndarray]
    fnmr: np.ndarray


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
    chunk: int = 256,
) -> Bands:
    """95 % intervals of the error rates of every group (Liang et al. 2023, Fig 6, has none).

    Args:
        similarity: of the pairs, (m,).
        is_match: whether a pair is a positive, (m,).
        group: of the pairs, (m,).
        vertices: identities of both images, (m, 2): the seeds, which tie the groups together.
        fmr: rates at which the FNMR is wanted.
        n_boot: resamples of the identities.
        seed: of the resamples.
        stage: of the resamples.
        thresholds: common to all groups, (k,); None: every distinct similarity of a group.
        chunk: pairs whose weights in all resamples are held at a time; nothing depends on it.

    Raises:
        ValueError: as `error_curves`; a missing identity, or fewer than two.
    """
    fmr = as_rates(fmr)
    codes, weights = draw_vertices(vertices, n_boot, seed, stage)
    curves, at_fmr = [], []
    for pairs in by_group(similarity, is_match, group):
        ...
    return Bands(pd.concat(curves, ignore_index=True), pd.concat(at_fmr, ignore_index=True))
