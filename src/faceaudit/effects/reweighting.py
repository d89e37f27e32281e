"""From transects to another population: reweighting the strata's error rates to its mix.

The transects paper (Balakrishnan et al. 2020) claims that effects found by experiment predict
disparate impact elsewhere and does not show it. The prediction is R(P) = Σ P(x) ê(x) over the
strata x: direct standardisation. It holds when the strata take in everything that differs between
the experiment and the population and matters for errors. A calibrated intercept accounts for a
shift of all log odds, as of easier photographs.

The weights P(x) of a group are known; the rates ê come from an experiment, whose clusters are the
units of inference. A labelled sample of the population may shift all log odds of ê; its faces are
then further units, independent of the clusters. Both enter by their influence functions (delta
method).

Wilson's interval for an effective size, R (1 - R) / variance, needs one precaution. Where errors
are rare, the strata with most of the weight may by chance have none and would seem to be known
exactly; in the worst of the designs that were simulated, intervals then held the truth in 37% of
audits. The size is therefore never larger than that of independent images at rates with two more
errors and two more successes in every stratum, as in Agresti & Coull (The American Statistician 52
(1998) 119-126). Where errors are many, this changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
import scipy  # whose parts are imported at their first use
from numpy.typing import ArrayLike
from scipy.special import expit, logit, stdtrit

from faceaudit.effects.resampling import cluster_codes
from faceaudit.effects.risks import (
    complete_rows,
    hybrid_score_interval,
    pattern_counts,
    score_interval,
)
from faceaudit.effects.verdicts import Z
from faceaudit.utils.arguments import as_binary
from faceaudit.utils.errors import InputError

LARGEST_LOG_ODDS = 40.0
"""Beyond it a rate is 0 or 1 in double precision."""
NEGLIGIBLE_VARIANCE = 1e-12
"""Where R (1 - R) is below it, it is rounding: a group has no error, or errors only."""
ADDED_ERRORS = 2.0
"""Errors, and as many successes, that are added to every stratum to bound the effective size."""


@dataclass(frozen=True)
class Experiment:
    """Images and errors of every cluster in every stratum, (G, S) each; no stratum is empty."""

    images: np.ndarray
    errors: np.ndarray

    @property
    def n(self) -> np.ndarray:
        """Images of the strata (S,)."""
        return self.images.sum(axis=0)

    @property
    def rates(self) -> np.ndarray:
        """Error rates of the strata (S,)."""
        return self.errors.sum(axis=0) / self.n


@dataclass(frozen=True)
class Level:
    """Rates of the strata, after a shift of all log odds that fits labelled faces.

    Attributes:
        shift: of the log odds.
        rates: shifted rates (S,).
        gain: derivatives (S,) of the shifted rates with respect to the experiment's.
        mix: the labelled faces' shares of the strata (S,).
        residual: errors of the labelled faces minus the rates (m,).
    """

    shift: float
    rates: np.ndarray
    gain: np.ndarray
    mix: np.ndarray
    residual: np.ndarray


@dataclass(frozen=True)
class Standardised:
    """Risks of K groups, and the parts of their variance.

    Attributes:
        risk: (K,).
        size: of their effective samples (K,).
        cluster_covariance: the covariances of the risks (K, K) that come from the clusters.
        face_covariance: those that come from the labelled faces (K, K).
        stratum_weights: with which the errors of the strata enter the risks (K, S).
        cluster_shares: of every stratum's images (G, S).
        n: images of the strata (S,).
        labelled: number of labelled faces.
    """

    risk: np.ndarray
    size: np.ndarray
    cluster_covariance: np.ndarray
    face_covariance: np.ndarray
    stratum_weights: np.ndarray
    cluster_shares: np.ndarray
    n: np.ndarray
    labelled: int


def transport(
    frame: pd.DataFrame,
    outcome: str,
    strata: Sequence[str],
    target: pd.DataFrame,
    cluster: str,
    by: Sequence[str] = (),
    labelled: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Predicted error rates and disparities in another population, from an experiment's strata.

    A rate has Wilson's interval for its effective size: the size of a sample of independent images
    that would have the variance of the estimate, which is that of its influence function summed
    over the images of a cluster. A difference has the interval that follows from those of its
    two rates and their correlation, as the same transects carry both (MOVER: Zou & Donner,
    Statistics in Medicine 27 (2008) 1693-1702; Newcombe, there, 17 (1998) 2635-2650). Quantiles are
    Student's.

    Args:
        frame: the experiment, a row per image with `outcome` (0 or 1), the strata and `cluster`.
        outcome: column of the errors.
        strata: columns with the levels that define a stratum.
        target: the population, a row per face with the columns `strata`; taken as known.
        cluster: column of the transects, the units of inference.
        by: columns among `strata` whose combinations are the groups to compare.
        labelled: faces of the target whose `outcome` is known, with the strata. All predicted log
            odds are shifted so that this sample's errors come out right (`calibrate_intercept`);
            its faces are further units of inference, independent of the transects. None: the
            experiment's rates as they are.

    Returns:
        A row for "all", per group, and per pair of groups (kind "rate" or "difference"; then
        `group` minus `reference`), with the columns

        - estimate, low, high: over the strata that the experiment has, with a 95% interval.
          Without any error among a group's images, or with errors only, the data do not show how
          alike the images of a transect are, and each transect counts as one image;
        - n: images of the experiment in its strata;
        - missing: share of the group whose strata the experiment lacks (in a difference, the larger
          of the two); lower, upper: bounds of the estimate when those err never or always;
        - reason: which strata are missing, else empty.

        `attrs["intercept"]` is the shift of the log odds, 0 without `labelled`.

    Raises:
        ValueError: a missing column or value, an outcome other than 0 and 1, `by` outside of
            `strata`, one cluster, or a labelled sample that admits no intercept.

    Example:
        >>> from faceaudit import effects
        >>> frame = pd.DataFrame({"hair": ["short", "long"] * 4, "error": [1, 0, 0, 0] * 2})
        >>> frame["face"] = range(8)
        >>> population = pd.DataFrame({"hair": ["short", "short", "short", "long"]})
        >>> table = effects.transport(frame, "error", ["hair"], population, "face")
        >>> table[["estimate", "low", "high"]].round(3).values.tolist()
        [[0.375, 0.073, 0.821]]
    """
    strata = list(strata)
    by = list(by)
    if not strata or not set(by) <= set(strata):
        raise InputError(
            f"by is {by}: columns among the strata {strata} were expected",
            field="by",
            found=by,
            expected=f"columns among the strata {strata}",
        )
    complete_rows(frame, [outcome, cluster], strata)
    complete_rows(target, strata, strata)
    cells = pd.MultiIndex.from_frame(frame[strata].drop_duplicates()).sort_values()
    stratum = cells.get_indexer(pd.MultiIndex.from_frame(frame[strata]))
    clusters, identifiers = cluster_codes(frame[cluster])
    if len(identifiers) < 2:
        raise InputError(
            f"an interval needs at least two clusters, not {len(identifiers)}",
            field=cluster,
            found=len(identifiers),
            expected="at least two clusters",
        )
    counts = pattern_counts(stratum, as_binary(frame[outcome]), clusters)
    images, errors = np.hsplit(counts.toarray(), 2)
    experiment = Experiment(images, errors)
    level = unshifted_level(experiment.rates)
    if labelled is not None:
        level = _labelled_level(experiment.rates, labelled, outcome, strata, cells)
    groups = {"all": target}
    if by:
        for key, faces in target.groupby(by, observed=True):
            groups[", ".join(map(str, key))] = faces
    mixes = [_stratum_shares(faces, strata) for faces in groups.values()]
    shares = np.array([mix.reindex(cells, fill_value=0) for mix in mixes])
    covered = shares.sum(axis=1, keepdims=True)
    risks = standardise(shares / np.where(covered > 0, covered, np.nan), experiment, level)

    rows = pd.DataFrame({"kind": "rate", "group": list(groups), "reference": ""})
    rows["estimate"] = risks.risk
    rows["low"], rows["high"] = rate_intervals(risks)
    rows["n"] = ((shares > 0) @ experiment.n).astype(np.int64)
    rows = pd.concat([rows, pd.DataFrame(_missing_strata(mix, cells) for mix in mixes)], axis=1)
    rows["lower"] = (1 - rows["missing"]) * rows["estimate"].fillna(0)
    rows["upper"] = rows["lower"] + rows["missing"]
    table = pd.concat([rows, _group_differences(rows, risks)], ignore_index=True)
    table.attrs["intercept"] = level.shift
    return table


def _stratum_shares(faces: pd.DataFrame, strata: list[str]) -> pd.Series:
    """Share of the faces in every stratum that occurs."""
    # As objects, since categories that do not occur have no share.
    return faces[strata].astype(object).value_counts(normalize=True)


def calibrate_intercept(rates: ArrayLike, n: ArrayLike, errors: float) -> float:
    """Shift of the log odds with which the rates predict the errors of a labelled sample.

    Solves Σ n_x expit(logit ê_x + a) = errors for a: the maximum-likelihood intercept of a logit
    with the offset logit ê (calibration in the large; Cox, Biometrika 45 (1958) 562-565). Rates
    of exactly 0 and 1 stay what they are.

    Args:
        rates: (S,) error rate of every stratum in the experiment.
        n: (S,) labelled faces in every stratum.
        errors: how many of them the model got wrong.

    Returns:
        The shift a.

    Raises:
        ValueError: errors that no finite shift gives.

    Example:
        >>> round(calibrate_intercept([0.1, 0.5], [100, 100], 80), 2)
        0.56
    """
    rates = np.asarray(rates, dtype=np.float64)
    n = np.asarray(n, dtype=np.float64)
    least = n[rates == 1].sum()
    most = n[rates > 0].sum()
    if not least < errors < most:
        raise InputError(
            f"errors is {errors}: a shift gives {least:g} to {most:g}, these excluded",
            field="errors",
            found=errors,
            expected=f"{least:g} to {most:g}, these excluded",
        )
    with np.errstate(divide="ignore"):
        log_odds = logit(rates)

    def excess(shift: float) -> float:
        return n @ expit(log_odds + shift) - errors

    return scipy.optimize.brentq(excess, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def ratio_interval(
    top: tuple[float, float, float], bottom: tuple[float, float, float], covariance: float = 0.0
) -> tuple[float, float]:
    """95% interval of a ratio of two estimates, such as predicted over observed.

    Fieller, Journal of the Royal Statistical Society B 16 (1954) 175-185: the ratios that the two
    estimates do not reject. Each is taken as normal, with half its interval's width as margin.

    Args:
        top: estimate, low and high of the numerator.
        bottom: those of the denominator.
        covariance: of the two estimates; 0 where they come from different faces.

    Returns:
        The limits; (-inf, inf) where the denominator may be 0, so that the ratio has none.

    Example:
        >>> low, high = ratio_interval((0.05, 0.03, 0.07), (0.10, 0.06, 0.14))
        >>> round(float(low), 2), round(float(high), 2)
        (0.27, 0.92)
    """
    a, low_a, high_a = top
    b, low_b, high_b = bottom
    square = b**2 - ((high_b - low_b) / 2) ** 2
    if not square > 0:
        return -np.inf, np.inf
    middle = a * b - Z**2 * covariance
    root = np.sqrt(max(middle**2 - square * (a**2 - ((high_a - low_a) / 2) ** 2), 0))
    return (middle - root) / square, (middle + root) / square


def share_of_gap(
    effect: Sequence[float], gap: Sequence[float], little: float, most: float
) -> dict[str, float | str]:
    """Share of an observed gap between two groups that an effect explains, as in chapter 11.

    Args:
        effect: estimate, low and high of the effect.
        gap: those of the gap, from other faces.
        little: share below which the effect explains little of the gap.
        most: share above which it explains most of the gap.

    Returns:
        share, share_low and share_high (Fieller's interval, see `ratio_interval`; infinite where
        the gap itself may be chance) and word: "little" or "most" if the whole interval is below
        `little` or above `most`, "partly" if it lies between 0 and 1, else "undecided".

    Example:
        >>> share_of_gap((0.005, -0.01, 0.014), (0.1, 0.08, 0.12), 0.2, 0.8)["word"]
        'little'
    """
    # They are unpacked, since a Series would take the number of a place for a name.
    effect_estimate, effect_low, effect_high = effect
    gap_estimate, gap_low, gap_high = gap
    low, high = ratio_interval(
        (effect_estimate, effect_low, effect_high), (gap_estimate, gap_low, gap_high)
    )
    if high < little:
        word = "little"
    elif low > most:
        word = "most"
    elif low > 0 and high < 1:
        word = "partly"
    else:
        word = "undecided"
    share = effect_estimate / gap_estimate if gap_estimate else np.nan
    return {"share": share, "share_low": low, "share_high": high, "word": word}


def _labelled_level(
    rates: np.ndarray, labelled: pd.DataFrame, outcome: str, strata: list[str], cells: pd.MultiIndex
) -> Level:
    """The experiment's rates (S,), shifted so that the labelled faces' errors come out right."""
    complete_rows(labelled, [outcome], strata)
    stratum = cells.get_indexer(pd.MultiIndex.from_frame(labelled[strata]))
    known = stratum >= 0
    if known.sum() < 2:
        raise InputError(
            "labelled has fewer than two faces in the strata of the experiment",
            field="labelled",
            found=int(known.sum()),
            expected="at least two faces in the strata of the experiment",
        )
    error = as_binary(labelled[outcome])[known]
    stratum = stratum[known]
    n = np.bincount(stratum, minlength=len(cells))
    return shifted_level(rates, calibrate_intercept(rates, n, error.sum()), stratum, error)


def _missing_strata(mix: pd.Series, cells: pd.MultiIndex) -> dict[str, object]:
    """Share of a group whose strata the experiment lacks, and their names."""
    missing = mix[~mix.index.isin(cells)].sort_index()
    names = "; ".join("/".join(map(str, cell)) for cell in missing.index)
    reason = f"not in the experiment: {names}" if names else ""
    return {"missing": float(missing.sum()), "reason": reason}


def _group_differences(rows: pd.DataFrame, risks: Standardised) -> pd.DataFrame:
    """Rows of the differences between each two groups, from the rows of their rates.

    The first row is that of all groups together, and is not compared.
    """
    pairs = np.array(list(combinations(range(1, len(rows)), 2)), int).reshape(-1, 2)
    first, second = pairs.T
    group = rows.iloc[first].reset_index(drop=True)
    reference = rows.iloc[second].reset_index(drop=True)
    reasons = (rows["group"] + " " + rows["reason"]).where(rows["reason"] != "", "")
    table = group.assign(kind="difference", reference=reference["group"])
    table["estimate"] -= reference["estimate"]
    table["low"], table["high"] = difference_intervals(risks, first, second)
    table["n"] += reference["n"]
    table["missing"] = np.maximum(group["missing"], reference["missing"])
    table["reason"] = [
        "; ".join(filter(None, pair)) for pair in zip(reasons[first], reasons[second], strict=True)
    ]
    table["lower"] = group["lower"] - reference["upper"]
    table["upper"] = group["upper"] - reference["lower"]
    return table


def unshifted_level(rates: np.ndarray) -> Level:
    """The experiment's rates (S,) as they are, without labelled faces."""
    return Level(
        shift=0.0,
        rates=rates,
        gain=np.ones(rates.shape),
        mix=np.zeros(rates.shape),
        residual=np.empty(0),
    )


def shifted_level(rates: np.ndarray, shift: float, stratum: np.ndarray, error: np.ndarray) -> Level:
    """The experiment's rates with their log odds shifted.

    Args:
        rates: of the strata (S,).
        shift: of the log odds, as of `calibrate_intercept`.
        stratum: codes of the labelled faces' strata (m,).
        error: their errors, 0 or 1 (m,).
    """
    shifted = _shifted(rates, shift)
    gain = np.exp(shift) / (1 - rates + np.exp(shift) * rates) ** 2
    mix = np.bincount(stratum, minlength=len(rates)) / len(stratum)
    return Level(shift, shifted, gain, mix, error - shifted[stratum])


def standardise(mix: np.ndarray, experiment: Experiment, level: Level) -> Standardised:
    """Risks of groups with the shares `mix` (K, S) of the strata, NaN for a group without any."""
    slope = level.rates * (1 - level.rates)
    labelled_slope = level.mix @ slope
    # Change of a group's risk when the risk of the labelled sample changes by one.
    ratio = mix @ slope / labelled_slope if labelled_slope > 0 else np.zeros(len(mix))
    stratum_weights = (mix - ratio[:, None] * level.mix) * np.sqrt(level.gain)
    residual = experiment.errors - experiment.rates * experiment.images
    rate_influence = residual / experiment.n * np.sqrt(level.gain)
    clusters = ((experiment.images @ (mix > 0).T) > 0).sum(axis=0)
    # Corrected for few clusters: with equal ones, variances are those of the one-sample t test.
    correction = np.sqrt(clusters / np.maximum(clusters - 1, 1))
    influence = rate_influence @ stratum_weights.T * correction
    cluster_covariance = influence.T @ influence
    faces = len(level.residual)
    face_influence = level.residual[:, None] * ratio / np.sqrt(faces * (faces - 1))
    face_covariance = face_influence.T @ face_influence

    risk = mix @ level.rates
    binomial = risk * (1 - risk)
    variance = np.diag(cluster_covariance)
    cluster_shares = experiment.images / experiment.n
    likely_variance = _likely_variance(mix, experiment, level)
    # Over the binomial variance: the least variance of images that are independent, and that of
    # clusters whose images are all alike.
    independent = (stratum_weights**2 * likely_variance / experiment.n).sum(axis=1)
    alike = ((cluster_shares @ stratum_weights.T) ** 2).sum(axis=0)
    # Clusters that do not differ do not show how alike their images are.
    least = np.where(variance <= NEGLIGIBLE_VARIANCE * independent, alike, independent)
    np.fill_diagonal(cluster_covariance, np.maximum(variance, binomial * least))
    varies = binomial > NEGLIGIBLE_VARIANCE
    total_variance = np.diag(cluster_covariance + face_covariance)
    size = 1 / np.where(varies, total_variance / np.where(varies, binomial, 1), least)
    size = np.where(np.isnan(risk), np.nan, size)
    return Standardised(
        risk=risk,
        size=size,
        cluster_covariance=cluster_covariance,
        face_covariance=face_covariance,
        stratum_weights=stratum_weights,
        cluster_shares=cluster_shares,
        n=experiment.n,
        labelled=faces,
    )


def rate_intervals(risks: Standardised) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends of the risks' 95% intervals (K,)."""
    df = _degrees(
        risks,
        risks.stratum_weights,
        np.diag(risks.cluster_covariance),
        np.diag(risks.face_covariance),
    )
    return score_interval(risks.risk, risks.size, stdtrit(df, 0.975))


def difference_intervals(
    risks: Standardised, first: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the intervals of risk[first] - risk[second], from those of both (P,)."""
    pair = [second, first]
    cluster_covariance = risks.cluster_covariance[first, second]
    face_covariance = risks.face_covariance[first, second]
    # Newcombe's correction of a positive correlation, without which a width could be zero.
    cluster_covariance = cluster_covariance - np.clip(
        cluster_covariance, 0, 0.5 / risks.size[pair].prod(axis=0)
    )
    cluster_variances = np.diag(risks.cluster_covariance)[pair]
    face_variances = np.diag(risks.face_covariance)[pair]
    scale = np.sqrt((cluster_variances + face_variances).prod(axis=0))
    covariance = cluster_covariance + face_covariance
    correlation = np.divide(covariance, scale, out=np.zeros(scale.shape), where=scale > 0)
    df = _degrees(
        risks,
        risks.stratum_weights[first] - risks.stratum_weights[second],
        cluster_variances.sum(axis=0) - 2 * cluster_covariance,
        face_variances.sum(axis=0) - 2 * face_covariance,
    )
    risk = risks.risk[pair].T
    size = risks.size[pair].T
    return hybrid_score_interval(risk, size, correlation.clip(-1, 1), stdtrit(df, 0.975))


def _shifted(rates: np.ndarray, shift: float) -> np.ndarray:
    """Rates (S,) with `shift` added to their log odds."""
    return np.exp(shift) * rates / (1 - rates + np.exp(shift) * rates)


def _likely_variance(mix: np.ndarray, experiment: Experiment, level: Level) -> np.ndarray:
    """Variance of an image of a stratum over that of one of the group (K, S), 1 if all err alike.

    Errors and successes are added to both rates, so that neither is zero where errors are few.
    """
    errors = experiment.errors.sum(axis=0) + ADDED_ERRORS
    rates = errors / (experiment.n + 2 * ADDED_ERRORS)
    rates = _shifted(rates, level.shift)
    risk = mix @ rates
    return rates * (1 - rates) / (risk * (1 - risk))[:, None]


def _degrees(
    risks: Standardised,
    stratum_weights: np.ndarray,
    cluster_variance: np.ndarray,
    face_variance: np.ndarray,
) -> np.ndarray:
    """Satterthwaite's degrees of freedom of estimates (R,) with variances from two sources.

    Args:
        risks: from which the estimates come.
        stratum_weights: with which the errors of the strata enter the estimates (R, S).
        cluster_variance: of the estimates (R,), from the clusters. Its degrees of freedom are those
            of images that vary alike.
        face_variance: of the estimates (R,), from the labelled faces.
    """
    share = risks.cluster_shares @ (stratum_weights**2 / risks.n).T
    total = share.sum(axis=0)
    squares = (share**2).sum(axis=0)
    effective = np.divide(total**2, squares, out=np.ones(total.shape), where=squares > 0)
    clusters = np.maximum(effective - 1, 1)
    squared_by_df = cluster_variance**2 / clusters + face_variance**2 / (risks.labelled - 1)
    return np.divide(
        (cluster_variance + face_variance) ** 2,
        squared_by_df,
        out=clusters,
        where=squared_by_df > 0,
    )
