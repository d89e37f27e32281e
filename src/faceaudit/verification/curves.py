"""Similarity of pairs, and error rates of a recogniser by group (Liang et al. 2023, 4.1.1, Fig 6).

A recogniser calls a pair a match where its similarity is at least the threshold. FNMR is the share
of the positives (pairs that people take for one person) below it, FMR the share of the negatives at
or above it. At distinct similarities these are scikit-learn's `det_curve`, which the tests compare;
this module adds thresholds common to groups, groups that lack one kind of pairs, and a held FMR.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from faceaudit.utils.arguments import (
    as_binary,
    as_finite,
    require_present,
    require_same_shape,
)
from faceaudit.utils.errors import InputError

NO_POSITIVES = "no positives"
NO_NEGATIVES = "no negatives"
NO_PAIRS = "no pairs"
PAIRS_AT_ONCE = 8192
"""Pairs whose vectors are held in memory at a time."""


def similarity(embeddings: ArrayLike, pairs: ArrayLike) -> np.ndarray:
    """Cosine similarity of pairs of images (Liang et al. 2023, section 4).

    Args:
        embeddings: a row per image, (n, d), at any scale.
        pairs: rows of both images, whole numbers (m, 2).

    Returns:
        float64 (m,) in [-1, 1].

    Raises:
        ValueError: an embedding that is not finite or all zero, naming the row.
    """
    embeddings = as_finite(embeddings, "embeddings", 2)
    pairs = np.asarray(pairs)
    largest = np.abs(embeddings).max(axis=1, keepdims=True)
    if not largest.all():
        row = largest.argmin()
        raise InputError(
            f"embeddings: row {row} is all zeros and has no direction",
            field=f"embeddings: row {row}",
            found="all zeros",
            expected="a component other than zero",
        )
    # First by the largest component: squares of very large or small ones overflow or underflow.
    unit = embeddings / largest
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    cosine = np.empty(len(pairs))
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        block = slice(start, start + PAIRS_AT_ONCE)
        cosine[block] = np.einsum("md,md->m", unit[pairs[block, 0]], unit[pairs[block, 1]])
    # Rounding puts an image's similarity to itself a little above one.
    return cosine.clip(-1, 1)


def euclidean_distance(embeddings: ArrayLike, pairs: ArrayLike) -> np.ndarray:
    """Euclidean distance of pairs of images.

    Args:
        embeddings: a row per image, (n, d), as the recogniser gives them.
        pairs: rows of both images, whole numbers (m, 2).

    Returns:
        float64 (m,), zero or more.

    Raises:
        ValueError: an embedding that is not finite, naming the row.

    Example:
        >>> euclidean_distance([[0, 0], [3, 4]], [[0, 1]]).tolist()
        [5.0]
    """
    embeddings = as_finite(embeddings, "embeddings", 2)
    pairs = np.asarray(pairs)
    distance = np.empty(len(pairs))
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        block = slice(start, start + PAIRS_AT_ONCE)
        difference = embeddings[pairs[block, 0]] - embeddings[pairs[block, 1]]
        distance[block] = np.linalg.norm(difference, axis=1)
    return distance


@dataclass(frozen=True)
class GroupPairs:
    """The pairs of one group.

    Attributes:
        label: of the group.
        positive: similarities of the positives, ascending.
        negative: similarities of the negatives, ascending.
        positive_rows: rows of the positives among the pairs of all groups.
        negative_rows: rows of the negatives.
    """

    label: str
    positive: np.ndarray
    negative: np.ndarray
    positive_rows: np.ndarray
    negative_rows: np.ndarray

    @property
    def thresholds(self) -> np.ndarray:
        """Every distinct similarity, ascending; the rates change at these."""
        return np.unique(np.concatenate([self.positive, self.negative]))

    @property
    def counts(self) -> dict[str, int]:
        """How many pairs there are of each kind."""
        return {"positives": len(self.positive), "negatives": len(self.negative)}

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


def allowed_matches(fmr: float | np.ndarray, negatives: ArrayLike) -> np.ndarray:
    """Largest whole numbers of matches at which the FMR is at most `fmr`, of `negatives`."""
    # 0.07 of 100 is 7.000000000000001 in floating point, and 0.29 of 100 is 28.999999999999996.
    return np.floor(fmr * np.asarray(negatives) + 1e-9).astype(np.int64)


def fixed_threshold(
    similarity: ArrayLike, is_match: ArrayLike, group: ArrayLike, threshold: float
) -> pd.DataFrame:
    """FNMR and FMR of every group at one threshold for all (the triangles of Fig 6).

    Args:
        similarity: of the pairs, (m,), finite.
        is_match: whether a pair is a positive, 0 or 1, (m,).
        group: of the pairs, (m,). Groups come in the order of a categorical, else sorted.
        threshold: similarity from which a pair is accepted.

    Returns:
        One row per group, columns group, threshold, fnmr, fmr, positives, negatives and reason: why
        a rate is NaN ("no positives", "no negatives", "no pairs"), else empty.

    Raises:
        ValueError: lengths that differ, a missing group, a similarity that is not finite, or an
            `is_match` other than 0 and 1, naming the row.
    """
    thresholds = np.array([threshold], np.float64)
    tables = [rate_table(pairs, thresholds) for pairs in by_group(similarity, is_match, group)]
    return pd.concat(tables, ignore_index=True)


def by_group(similarity: ArrayLike, is_match: ArrayLike, group: ArrayLike) -> Iterator[GroupPairs]:
    """The pairs of every group; arguments are checked as `fixed_threshold` says."""
    similarity = as_finite(similarity, "similarity")
    positive = as_binary(np.asarray(is_match), "is_match").astype(bool)
    groups = pd.Categorical(group)
    for values, name in ((positive, "is_match"), (groups.codes, "group")):
        require_same_shape(values, name, similarity, "similarity")
    require_present(pd.Series(groups, name="group"), "a group")
    order = np.argsort(similarity, kind="stable")
    codes = groups.codes[order]
    positive = positive[order]
    for code, label in enumerate(groups.categories):
        positive_rows = order[(codes == code) & positive]
        negative_rows = order[(codes == code) & ~positive]
        yield GroupPairs(
            label=label,
            positive=similarity[positive_rows],
            negative=similarity[negative_rows],
            positive_rows=positive_rows,
            negative_rows=negative_rows,
        )


def rate_table(pairs: GroupPairs, thresholds: np.ndarray) -> pd.DataFrame:
    """Rows of `fixed_threshold` for one group at the given thresholds (k,)."""
    fnmr, fmr = pairs.rates(thresholds)
    rates = {"group": pairs.label, "threshold": thresholds, "fnmr": fnmr, "fmr": fmr}
    return pd.DataFrame(rates | pairs.counts | {"reason": pairs.reason})


def held_rates(pairs: GroupPairs, fmr: np.ndarray) -> pd.DataFrame:
    """FNMR of one group at its own threshold for each rate (k,); see `Bands.at_fmr`."""
    thresholds, reasons = zip(*map(pairs.threshold_at, fmr), strict=True)
    fnmr = np.where(np.isnan(thresholds), np.nan, pairs.rates(thresholds)[0])
    rates = {"group": pairs.label, "fmr": fmr, "threshold": thresholds, "fnmr": fnmr}
    return pd.DataFrame(rates | pairs.counts | {"reason": reasons})
