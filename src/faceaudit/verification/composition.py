"""Effects of a training set's composition on the error rates of groups that it rarely contains.

In one network (`composition_effects`), and over trainings (`training_effects`). All networks judge
the same faces, so their errors are not independent. A meta-analysis that takes every training for a
separate study would neglect the variance that comes from the faces. Trainings and faces are crossed
random effects, as readers and cases are where several radiologists read the same pictures; the
variance here is that of Obuchowski & Rockette (Communications in Statistics - Simulation and
Computation 24 (1995) 285-308). In simulated audits of eight trainings and forty identities, at
rates of 5 and 10%, 95% intervals held the known effect in 91 to 95 of a hundred (300 audits a
setting); those of a single network, where trainings differed by three points, in 54 to 58 (150
audits).
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from faceaudit.utils.errors import InputError
from faceaudit.verification.bootstrap import TOO_FEW, dyads, inflation, vertex_codes
from faceaudit.verification.curves import NO_PAIRS

NO_VARIATION = "errors do not vary within groups"


def composition_effects(
    errors: ArrayLike, control: ArrayLike, group: ArrayLike, vertices: ArrayLike, common: list[str]
) -> pd.DataFrame:
    """Error rate of groups rare in training minus that of familiar ones, with a control.

    Both recognisers judge the same pairs. If a group's faces are hard by themselves, the gaps of
    both recognisers contain it, so the difference of the two gaps is the effect of the training
    set. Groups count equally; thresholds are taken as known.

    Args:
        errors: whether each pair is an error of the recogniser, 0 or 1, (m,); positives alone give
            the FNMR, negatives alone the FMR.
        control: the same of the control.
        group: of the pairs, (m,). All categories of a categorical are groups; without pairs of one
            of them nothing is estimable, as the mean over the others is another quantity.
        vertices: identities of both images, (m, 2).
        common: groups that the recogniser's training set shows often.

    Returns:
        Rows "recogniser", "control" and "difference" (of the first two), with the columns rare and
        familiar (mean rates), estimate, low, high (95% interval with Student quantiles over
        identities), p, identities and reason (why something is NaN, else empty). The variance
        is the dyadic-robust one: residuals of pairs that share an identity are multiplied (Aronow,
        Samii & Assenova, Political Analysis 23 (2015) 564-577). It is too small where errors are
        rarer than a few in a hundred and pairs of two identities err all or not at all.

    Raises:
        ValueError: common groups that are not some, but not all, of the groups.
    """
    both = np.array([errors, control], np.float64)
    gaps = gaps_of(np.vstack([both, both[:1] - both[1:]]), group, vertices, common)
    variance, df = gaps.variance()
    return gap_table(gaps, gaps.rare, gaps.familiar, np.sqrt(variance), df)


def training_effects(
    errors: ArrayLike, control: ArrayLike, group: ArrayLike, vertices: ArrayLike, common: list[str]
) -> pd.DataFrame:
    """Error rate of groups rare in training minus that of familiar ones, over trainings and faces.

    `composition_effects` is for one network; this is for the mean over all trainings of a
    composition. With gaps D of R trainings the variance of their mean is s² / R + c. Here s² is the
    variance of D between trainings, and c the covariance of the D of two trainings, since both
    judge the same faces; it is estimated by the dyadic-robust sums. The variance is at least the
    dyadic-robust variance of the trainings' mean errors, which is for these trainings alone.
    Intervals have Student quantiles with the degrees of freedom of the sum (Satterthwaite,
    Biometrics Bulletin 2 (1946) 110-114); Hillis (Statistics in Medicine 26 (2007) 596-619) takes c
    as known, for which there are too few faces here.

    Args:
        errors: whether each pair is an error of each training's network, 0 or 1, (R, m), R ≥ 2.
        control: the same of the control's trainings; row by row they share a seed.
        group, vertices, common: as of `composition_effects`.

    Returns:
        Its rows and columns, the interval and p over trainings and faces, and besides

        - within: the standard error of an audit of one network, from faces alone; the root of the
          mean square over trainings;
        - between: standard deviation of D over trainings with unlimited numbers of faces: the root
          of s² minus the part that faces add to it, 0 where that part is larger;
        - trainings: R.

    Raises:
        ValueError: as `composition_effects`.
    """
    errors = np.asarray(errors, np.float64)
    control = np.asarray(control, np.float64)
    gaps = [gaps_of(rows, group, vertices, common) for rows in (errors, control, errors - control)]
    se, df, within, between = np.array([_crossed(of_trainings) for of_trainings in gaps]).T
    rare = np.array([of_trainings.rare.mean() for of_trainings in gaps])
    familiar = np.array([of_trainings.familiar.mean() for of_trainings in gaps])
    table = gap_table(gaps[0], rare, familiar, se, df)
    return table.assign(within=within, between=between, trainings=len(errors))


@dataclass(frozen=True)
class Gaps:
    """Mean error rates of rare and familiar groups, and the residuals for their gap's variance."""

    rare: np.ndarray  # mean rates, (k,); NaN where a group has no pairs
    familiar: np.ndarray
    residuals: np.ndarray | None  # of the gaps, (k, m)
    codes: np.ndarray  # identities of the pairs, (m, 2)
    identities: int
    reason: str  # why there is no variance, else empty

    def variance(self, mean: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Dyadic-robust variances of each gap, or of their mean, and their degrees of freedom.

        Returns:
            Variances and degrees of freedom, (k,) each, or (1,) each with `mean`.
        """
        if self.residuals is None or self.reason:
            unknown = np.full(1 if mean else len(self.rare), np.nan)
            return unknown, unknown
        residuals = self.residuals.mean(axis=0, keepdims=True) if mean else self.residuals
        variance, df = _dyadic_variance(residuals, self.codes, self.identities)
        return inflation(*self.codes.T) * variance, df


def gaps_of(errors: np.ndarray, group: ArrayLike, vertices: ArrayLike, common: list[str]) -> Gaps:
    """Gaps of the rows of `errors` (k, m), see `composition_effects`."""
    codes, identities = vertex_codes(vertices)
    groups = pd.Categorical(group)
    known = groups.categories.isin(common)
    if known.sum() < len(common) or known.all() or not known.any():
        names = groups.categories.tolist()
        raise InputError(
            f"common groups {common} must be some, but not all, of {names}",
            field="common groups",
            found=common,
            expected=f"some, but not all, of {names}",
        )
    group_codes = groups.codes
    sizes = np.bincount(group_codes, minlength=len(known))
    sums = np.array([np.bincount(group_codes, row, len(known)) for row in errors])
    means = sums / np.where(sizes > 0, sizes, np.nan)
    if sizes.all():
        # A pair's weight in the gap: groups of either kind count equally, and pairs within a group.
        sign = np.where(known, -1 / known.sum(), 1 / (~known).sum())
        residuals = (sign / sizes)[group_codes] * (errors - means[:, group_codes])
        reason = TOO_FEW if np.isnan(inflation(*codes.T)) else ""
    else:
        empty = groups.categories[sizes == 0].map(str)
        residuals = None
        reason = f"{NO_PAIRS} of {', '.join(empty)}"
    return Gaps(
        rare=means[:, ~known].mean(axis=1),
        familiar=means[:, known].mean(axis=1),
        residuals=residuals,
        codes=codes,
        identities=len(identities),
        reason=reason,
    )


def gap_table(
    gaps: Gaps, rare: np.ndarray, familiar: np.ndarray, se: np.ndarray, df: np.ndarray
) -> pd.DataFrame:
    """Rows of recogniser, control and difference, with Student intervals.

    Args:
        gaps: for the number of identities, and the reason why there is no interval.
        rare: mean error rates of the rare groups, (3,).
        familiar: those of the familiar groups, (3,).
        se: standard errors of the differences, (3,).
        df: their degrees of freedom, (3,).
    """
    estimate = rare - familiar
    margin = stdtrit(df, 0.975) * se
    columns = {
        "rare": rare,
        "familiar": familiar,
        "estimate": estimate,
        "low": estimate - margin,
        "high": estimate + margin,
        "p": 2 * stdtr(df, -np.abs(estimate) / np.where(se > 0, se, np.nan)),
    }
    table = pd.DataFrame(columns, index=["recogniser", "control", "difference"])
    table["identities"] = gaps.identities
    table["reason"] = gaps.reason or np.where(se > 0, "", NO_VARIATION)
    table.loc[table["reason"] != "", ["low", "high", "p"]] = np.nan
    return table


def _dyadic_variance(
    residuals: np.ndarray, codes: np.ndarray, identities: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of products of residuals over pairs of pairs that share an identity.

    Args:
        residuals: (k, m).
        codes: of the identities of every pair, (m, 2).
        identities: their number.

    Returns:
        The sums (k,) and their degrees of freedom (k,), from the mean and the variance of the
        identities' squared sums (Satterthwaite, Biometrics Bulletin 2 (1946) 110-114). Where a few
        identities make most of the errors, the degrees of freedom are few.
    """
    low = codes.min(axis=1)
    high = codes.max(axis=1)
    dyad, between = dyads(low, high)
    variance = np.zeros(len(residuals))
    df = np.ones(len(residuals))
    for number, row in enumerate(residuals):
        of_identity = np.bincount(low, row, identities)
        of_identity += np.bincount(high[between], row[between], identities)
        # Two pairs of the same two identities share both, and were counted for each.
        of_dyad = np.bincount(dyad, row * between)
        squares = of_identity**2
        # At least the variance of dyads that share no identity.
        excess = (of_dyad**2).sum()
        variance[number] = max(squares.sum() - excess, excess)
        spread = squares.var() * identities
        if spread > 0:
            df[number] = np.clip(2 * squares.sum() ** 2 / spread, 1, identities - 1)
    return variance, df


def _crossed(gaps: Gaps) -> tuple[float, float, float, float]:
    """Standard error of the mean gap of R trainings, and its parts.

    Returns:
        The standard error, its degrees of freedom, and within and between as of `training_effects`.
    """
    runs = len(gaps.rare)
    spread = np.var(gaps.rare - gaps.familiar, ddof=1)
    variances, _ = gaps.variance()
    of_one_run = variances.mean()
    (of_mean,), (df_of_mean,) = gaps.variance(mean=True)
    # The variance of a mean of R is made of its R variances and R (R - 1) covariances.
    shared = np.maximum((runs * of_mean - of_one_run) / (runs - 1), 0)
    variance = spread / runs + shared
    squares = (spread / runs) ** 2 / (runs - 1) + shared**2 / df_of_mean
    df = variance**2 / squares if squares > 0 else np.nan
    if variance < of_mean:
        variance = of_mean
        df = df_of_mean
    between = np.sqrt(np.maximum(spread - (of_one_run - shared), 0))
    return np.sqrt(variance), df, np.sqrt(of_one_run), between
