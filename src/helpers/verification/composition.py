"""What the composition of a training set does to the groups that it hardly shows (chapter 17)."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from helpers.utils.checks import as_binary, require_alike, require_present
from helpers.verification.bands import TOO_FEW
from helpers.verification.bootstrap import dyads, inflation, vertex_codes
from helpers.verification.curves import NO_PAIRS

RECOGNISER, CONTROL, DIFFERENCE = "recogniser", "control", "difference"
NO_VARIATION = "errors do not vary within groups"


def composition_effects(
    errors: ArrayLike,
    control: ArrayLike,
    group: ArrayLike,
    vertices: ArrayLike,
    familiar: Collection[str],
) -> pd.DataFrame:
    """Error rate of groups rarely seen in training minus that of familiar ones, with a control.

    Both recognisers judge the same pairs. What makes a group's faces hard by themselves is in the
    gap of both, so the difference of the two gaps is what the training set did. Groups count
    equally; thresholds are given, not estimated.

    Args:
        errors: whether each pair is an error of the recogniser, 0 or 1, (m,); positives alone give
            the FNMR, negatives alone the FMR.
        control: the same of the control.
        group: of the pairs, (m,). All categories of a categorical are groups; without pairs of one
            of them nothing is estimable, as the mean over the others is another quantity.
        vertices: identities of both images, (m, 2).
        familiar: groups that the recogniser's training set shows often.

    Returns:
        Rows "recogniser", "control" and "difference" (of the first two), with the columns rare and
        familiar (mean rates), estimate, low, high (95 % interval with Student quantiles over
        identities), p, identities and reason (why something is NaN, else empty). The variance
        is the dyadic-robust one: residuals of pairs that share an identity are multiplied (Aronow,
        Samii & Assenova, Political Analysis 23 (2015) 564-577). It is too small where errors are
        rarer than a few in a hundred and pairs of two identities err all or not at all.

    Raises:
        ValueError: values other than 0 and 1, another length, a missing group or identity, a
            familiar group that is none of the groups, and no familiar or no other group.

    Example:
        >>> import numpy as np
        >>> from helpers import verification
        >>> ends = np.array([[n, (n + k) % 8] for n in range(8) for k in (1, 2)] * 2)
        >>> group, errors = np.repeat(["known", "rare"], 16), np.tile([0, 1, 0, 0], 8)
        >>> table = verification.composition_effects(
        ...     np.where(group == "rare", errors, 0), errors, group, ends, ["known"]
        ... )
        >>> table["estimate"].tolist()
        [0.25, 0.0, 0.25]
    """
    both = as_binary(errors, "errors"), as_binary(control, "control")
    require_alike(both[1], "control", both[0], "errors")
    gaps = gaps_of(np.vstack([*both, both[0] - both[1]]), group, vertices, familiar)
    variance, df = gaps.variance()
    return gap_table(gaps, gaps.rare, gaps.familiar, np.sqrt(variance), df)


@dataclass(frozen=True)
class Gaps:
    """Mean error rates of rare and familiar groups, and what their gap's variance is made of.

    Attributes:
        rare, familiar: mean rates, (k,); NaN where a group has no pairs.
        residuals: of the gaps, (k, m); None where a group has no pairs.
        codes: identities of the pairs, (m, 2).
        identities: how many there are.
        reason: why there is no variance, else empty.
    """

    rare: np.ndarray
    familiar: np.ndarray
    residuals: np.ndarray | None
    codes: np.ndarray
    identities: int
    reason: str

    @property
    def gap(self) -> np.ndarray:
        """Rare minus familiar, (k,)."""
        return self.rare - self.familiar

    def variance(self, mean: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Dyadic-robust variances, and their degrees of freedom: of each gap, or of their mean."""
        if self.reason:
            return np.full((2, 1 if mean else len(self.rare)), np.nan)
        residuals = self.residuals.mean(axis=0, keepdims=True) if mean else self.residuals
        variance, df = _dyadic_variance(residuals, self.codes, self.identities)
        return inflation(*self.codes.T) * variance, df


def gaps_of(
    errors: np.ndarray, group: ArrayLike, vertices: ArrayLike, familiar: Collection[str]
) -> Gaps:
    """Gaps of the rows of `errors` (k, m), see `composition_effects`."""
    codes, identities = vertex_codes(vertices, len(group))
    groups = pd.Categorical(group)
    require_alike(groups.codes, "group", errors[0], "errors")
    require_present(pd.Series(groups, name="group"), "a group")
    known = groups.categories.isin(list(familiar))
    if known.sum() < len(set(familiar)) or known.all() or not known.any():
        names = groups.categories.tolist()
        raise ValueError(f"familiar groups {list(familiar)} must be some, but not all, of {names}")
    place, sizes = groups.codes, np.bincount(groups.codes, minlength=len(known))
    sums = np.array([np.bincount(place, row, len(known)) for row in errors])
    means = sums / np.where(sizes > 0, sizes, np.nan)
    if sizes.all():
        # A pair's weight in the gap: groups of either kind count equally, and pairs within a group.
        sign = np.where(known, -1 / known.sum(), 1 / (~known).sum())
        residuals = (sign / sizes)[place] * (errors - means[:, place])
        reason = TOO_FEW if np.isnan(inflation(*codes.T)) else ""
    else:
        empty = groups.categories[sizes == 0].map(str)
        residuals, reason = None, f"{NO_PAIRS} of {', '.join(empty)}"
    rare, common = means[:, ~known].mean(axis=1), means[:, known].mean(axis=1)
    return Gaps(rare, common, residuals, codes, len(identities), reason)


def gap_table(
    gaps: Gaps, rare: np.ndarray, familiar: np.ndarray, se: np.ndarray, df: np.ndarray
) -> pd.DataFrame:
    """Rows of recogniser, control and difference, with Student intervals of so many degrees."""
    reason = gaps.reason or np.where(se > 0, "", NO_VARIATION)
    estimate, margin = rare - familiar, stdtrit(df, 0.975) * se
    columns = {
        "rare": rare,
        "familiar": familiar,
        "estimate": estimate,
        "low": estimate - margin,
        "high": estimate + margin,
        "p": 2 * stdtr(df, -np.abs(estimate) / np.where(se > 0, se, np.nan)),
        "identities": gaps.identities,
        "reason": reason,
    }
    table = pd.DataFrame(columns, index=[RECOGNISER, CONTROL, DIFFERENCE])
    table.loc[table["reason"] != "", ["low", "high", "p"]] = np.nan
    return table


def _dyadic_variance(
    residuals: np.ndarray, codes: np.ndarray, identities: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sum of products of residuals (k, m) over pairs of pairs that share an identity, (k,).

    And its degrees of freedom: as many as a sum of so many squares has whose mean and variance are
    those of the identities' own (Satterthwaite, Biometrics Bulletin 2 (1946) 110-114). Where a few
    identities make most of the errors, they are few.
    """
    low, high = codes.min(axis=1), codes.max(axis=1)
    dyad, between = dyads(low, high)
    variance, df = np.zeros(len(residuals)), np.ones(len(residuals))
    for number, row in enumerate(residuals):
        of_identity = np.bincount(low, row, identities)
        of_identity += np.bincount(high[between], row[between], identities)
        # Two pairs of the same two identities share both, and were counted for each.
        of_dyad = np.bincount(dyad, row * between)
        squares = of_identity**2
        # No less than pairs of identities that share nothing would have.
        excess = (of_dyad**2).sum()
        variance[number] = max(squares.sum() - excess, excess)
        spread = squares.var() * identities
        if spread > 0:
            df[number] = np.clip(2 * squares.sum() ** 2 / spread, 1, identities - 1)
    return variance, df
