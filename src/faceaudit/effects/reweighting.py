"""From transects to another population: reweighting the strata's error rates to its mix.

The transects paper (Balakrishnan et al. 2020) claims that effects found by experiment predict
disparate impact elsewhere and does not show it. The prediction is R(P) = Σ P(x) ê(x) over the
strata x: direct standardisation. It holds when the strata take in everything that differs between
the experiment and the population and matters for errors. What is the same everywhere but a shift of
all log odds, such as easier photographs, a calibrated intercept takes up.

The weights P(x) of a group are known; the rates ê come from an experiment, whose clusters are the
units of inference. A labelled sample of the population may shift all log odds of ê; its faces are
then further units, independent of the clusters. Both enter by their influence functions (delta
method).

Wilson's interval for an effective size, R (1 - R) / variance, needs one precaution. Where errors
are rare, the strata with most of the weight may by chance have none and would seem to be known
exactly; in the worst of the designs that were simulated, intervals then held the truth in 37 % of
audits. The size is therefore never larger than that of independent images at rates with two more
errors and two more successes in every stratum, as in Agresti & Coull (The American Statistician 52
(1998) 119-126). Where errors are many, this changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import brentq
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

FARTHEST = 40.0  # log odds beyond which a rate is 0 or 1 in double precision
NONE_DIFFERS = 1e-12  # Below which R (1 - R) is rounding: a group has no error, or errors only.
ADDED = 2.0  # errors, and as many successes, that a stratum might have had besides


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
    """Rates of the strata (S,), after a shift of all log odds that labelled faces ask for.

    A rate changes by `gain` (S,) when the experiment's own does by one. `mix` (S,) are the labelled
    faces' shares of the strata, `residual` (m,) their errors beyond the rates.
    """

    shift: float
    rates: np.ndarray
    gain: np.ndarray
    mix: np.ndarray
    residual: np.ndarray


@dataclass(frozen=True)
class Standardised:
    """Risks of K groups and the sizes of their effective samples (K,), with what they come from.

    `own` and `added` (K, K) are the covariances that clusters and labelled faces bring. `reach`
    (K, S) are the weights with which the strata's rates vary, `part` (G, S) the share of a
    stratum's images that a cluster has, `n` (S,) these images and `labelled` the number of faces.
    """

    risk: np.ndarray
    size: np.ndarray
    own: np.ndarray
    added: np.ndarray
    reach: np.ndarray
    part: np.ndarray
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

        - estimate, low, high: over the strata that the experiment has, with a 95 % interval.
          Without any error among a group's images, or with errors only, transects show nothing of
          how alike their images are, and each counts as one image;
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
        >>> here = pd.DataFrame({"hair": ["short", "long"] * 4, "error": [1, 0, 0, 0] * 2})
        >>> there = pd.DataFrame({"hair": ["short", "short", "short", "long"]})
        >>> faces = here.assign(face=range(8))
        >>> table = effects.transport(faces, "error", ["hair"], there, "face")
        >>> table[["estimate", "low", "high"]].round(3).values.tolist()
        [[0.375, 0.073, 0.821]]
    """
    strata, by = list(strata), list(by)
    if not strata or not set(by) <= set(strata):
        raise ValueError(f"by is {by}: columns among the strata {strata} were expected")
    complete_rows(frame, [outcome, cluster], strata)
    complete_rows(target, strata, strata)
    cells = pd.MultiIndex.from_frame(frame[strata].drop_duplicates()).sort_values()
    stratum = cells.get_indexer(pd.MultiIndex.from_frame(frame[strata]))
    clusters, identifiers = cluster_codes(frame[cluster])
    if len(identifiers) < 2:
        raise ValueError(f"an interval needs at least two clusters, not {len(identifiers)}")
    counts = pattern_counts(stratum, as_binary(frame[outcome]), clusters)
    experiment = Experiment(*np.hsplit(counts.toarray(), 2))
    level = own_level(experiment.rates)
    if labelled is not None:
        level = _labelled_level(experiment.rates, labelled, outcome, strata, cells)
    parts = {"all": target}
    if by:
        parts |= {", ".join(map(str, key)): part for key, part in target.groupby(by)}
    # As objects, since categories that do not occur have no share.
    rows = (part[strata].astype(object) for part in parts.values())
    mixes = [part.value_counts(normalize=True) for part in rows]
    shares = np.array([mix.reindex(cells, fill_value=0) for mix in mixes])
    covered = shares.sum(axis=1, keepdims=True)
    found = standardise(shares / np.where(covered > 0, covered, np.nan), experiment, level)

    rows = pd.DataFrame({"kind": "rate", "group": list(parts), "reference": ""})
    rows["estimate"] = found.risk
    rows["low"], rows["high"] = rate_intervals(found)
    rows["n"] = ((shares > 0) @ experiment.n).astype(np.int64)
    rows = pd.concat([rows, pd.DataFrame(_unseen(mix, cells) for mix in mixes)], axis=1)
    rows["lower"] = (1 - rows["missing"]) * rows["estimate"].fillna(0)
    rows["upper"] = rows["lower"] + rows["missing"]
    table = pd.concat([rows, _differences(rows, found)], ignore_index=True)
    table.attrs["intercept"] = level.shift
    return table


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
    rates, n = np.asarray(rates, dtype=np.float64), np.asarray(n, dtype=np.float64)
    least, most = n[rates == 1].sum(), n[rates > 0].sum()
    if not least < errors < most:
        raise ValueError(f"errors is {errors}: a shift gives {least:g} to {most:g}, these excluded")
    with np.errstate(divide="ignore"):
        odds = logit(rates)
    return brentq(lambda shift: n @ expit(odds + shift) - errors, -FARTHEST, FARTHEST)


def ratio_interval(
    top: tuple[float, float, float], bottom: tuple[float, float, float], covariance: float = 0.0
) -> tuple[float, float]:
    """95 % interval of a ratio of two estimates, such as predicted over observed.

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
    (a, low_a, high_a), (b, low_b, high_b) = top, bottom
    square = b**2 - ((high_b - low_b) / 2) ** 2
    if not square > 0:
        return -np.inf, np.inf
    middle = a * b - Z**2 * covariance
    root = np.sqrt(max(middle**2 - square * (a**2 - ((high_a - low_a) / 2) ** 2), 0))
    return (middle - root) / square, (middle + root) / square


def share_of_gap(
    effect: Sequence[float], gap: Sequence[float], little: float, most: float
) -> dict[str, float | str]:
    """What an effect is of a counted gap between two groups, by the rule of chapter 11.

    Args:
        effect: estimate, low and high of the effect.
        gap: those of the gap, from other faces.
        little: share below which the gap is hardly the effect's.
        most: share above which it is nearly all the effect's.

    Returns:
        share, share_low and share_high (Fieller's interval, see `ratio_interval`; infinite where
        the gap itself may be chance) and word: "little" or "most" if the whole interval is below
        `little` or above `most`, "partly" if it lies between 0 and 1, else "undecided".

    Example:
        >>> share_of_gap((0.005, -0.01, 0.014), (0.1, 0.08, 0.12), 0.2, 0.8)["word"]
        'little'
    """
    effect, gap = tuple(effect), tuple(gap)
    low, high = ratio_interval(effect, gap)
    states = {"little": high < little, "most": low > most, "partly": low > 0 and high < 1}
    word = next((name for name, holds in states.items() if holds), "undecided")
    share = effect[0] / gap[0] if gap[0] else np.nan
    return {"share": share, "share_low": low, "share_high": high, "word": word}


def _labelled_level(
    rates: np.ndarray, labelled: pd.DataFrame, outcome: str, strata: list[str], cells: pd.MultiIndex
) -> Level:
    complete_rows(labelled, [outcome], strata)
    stratum = cells.get_indexer(pd.MultiIndex.from_frame(labelled[strata]))
    known = stratum >= 0
    if known.sum() < 2:
        raise ValueError("labelled has fewer than two faces in the strata of the experiment")
    error, stratum = as_binary(labelled[outcome])[known], stratum[known]
    n = np.bincount(stratum, minlength=len(cells))
    return shifted_level(rates, calibrate_intercept(rates, n, error.sum()), stratum, error)


def _unseen(mix: pd.Series, cells: pd.MultiIndex) -> dict[str, object]:
    """Share of a group whose strata the experiment lacks, and their names."""
    lacking = mix[~mix.index.isin(cells)].sort_index()
    names = "; ".join("/".join(map(str, cell)) for cell in lacking.index)
    reason = f"not in the experiment: {names}" if names else ""
    return {"missing": float(lacking.sum()), "reason": reason}


def _differences(rows: pd.DataFrame, found: Standardised) -> pd.DataFrame:
    """Rows of the differences between each two groups, the first one being all."""
    first, second = np.array([*combinations(range(1, len(rows)), 2)], int).reshape(-1, 2).T
    one, two = (rows.iloc[side].reset_index(drop=True) for side in (first, second))
    reasons = (rows["group"] + " " + rows["reason"]).where(rows["reason"] != "", "")
    reasons = zip(reasons[first], reasons[second], strict=True)
    table = one.assign(kind="difference", reference=two["group"])
    table["estimate"] -= two["estimate"]
    table["low"], table["high"] = difference_intervals(found, first, second)
    table["n"] += two["n"]
    table["missing"] = np.maximum(one["missing"], two["missing"])
    table["reason"] = ["; ".join(filter(None, both)) for both in reasons]
    table["lower"], table["upper"] = one["lower"] - two["upper"], one["upper"] - two["lower"]
    return table


def own_level(rates: np.ndarray) -> Level:
    """The experiment's own rates (S,), which no labelled face shifts."""
    return Level(0.0, rates, np.ones(rates.shape), np.zeros(rates.shape), np.empty(0))


def shifted_level(rates: np.ndarray, shift: float, stratum: np.ndarray, error: np.ndarray) -> Level:
    """Rates (S,) with their log odds shifted, for labelled faces (m,) in strata of these codes."""
    shifted = _shifted(rates, shift)
    gain = np.exp(shift) / (1 - rates + np.exp(shift) * rates) ** 2
    mix = np.bincount(stratum, minlength=len(rates)) / len(stratum)
    return Level(shift, shifted, gain, mix, error - shifted[stratum])


def standardise(mix: np.ndarray, experiment: Experiment, level: Level) -> Standardised:
    """Risks of groups with the shares `mix` (K, S) of the strata, NaN for a group without any."""
    slope = level.rates * (1 - level.rates)
    leaning = level.mix @ slope
    # How far a group's risk moves when the labelled sample's does by one.
    follows = mix @ slope / leaning if leaning > 0 else np.zeros(len(mix))
    reach = (mix - follows[:, None] * level.mix) * np.sqrt(level.gain)
    beyond = experiment.errors - experiment.rates * experiment.images
    moved = beyond / experiment.n * np.sqrt(level.gain)
    clusters = ((experiment.images @ (mix > 0).T) > 0).sum(axis=0)
    # Corrected for few clusters: with equal ones, variances are those of the one-sample t test.
    influence = moved @ reach.T * np.sqrt(clusters / np.maximum(clusters - 1, 1))
    own = influence.T @ influence
    faces = len(level.residual)
    by_faces = level.residual[:, None] * follows / np.sqrt(faces * (faces - 1))
    added = by_faces.T @ by_faces

    risk = mix @ level.rates
    binomial, variance = risk * (1 - risk), np.diag(own)
    part = experiment.images / experiment.n
    apart = (reach**2 * _likely_variance(mix, experiment, level) / experiment.n).sum(axis=1)
    alike = ((part @ reach.T) ** 2).sum(axis=0)
    # Clusters that do not differ show nothing of how alike their images are.
    least = np.where(variance <= NONE_DIFFERS * apart, alike, apart)
    np.fill_diagonal(own, np.maximum(variance, binomial * least))
    varies = binomial > NONE_DIFFERS
    size = 1 / np.where(varies, np.diag(own + added) / np.where(varies, binomial, 1), least)
    size = np.where(np.isnan(risk), np.nan, size)
    return Standardised(risk, size, own, added, reach, part, experiment.n, faces)


def rate_intervals(found: Standardised) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends of the risks' 95 % intervals (K,)."""
    df = _degrees(found, found.reach, np.diag(found.own), np.diag(found.added))
    return score_interval(found.risk, found.size, stdtrit(df, 0.975))


def difference_intervals(
    found: Standardised, first: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the intervals of risk[first] - risk[second], from those of both (P,)."""
    pair = [second, first]
    own, added = found.own[first, second], found.added[first, second]
    # Newcombe's correction of a positive correlation, without which a width could be zero.
    own = own - np.clip(own, 0, 0.5 / found.size[pair].prod(axis=0))
    variances = [np.diag(matrix)[pair] for matrix in (found.own, found.added)]
    scale = np.sqrt(sum(variances).prod(axis=0))
    correlation = np.divide(own + added, scale, out=np.zeros(scale.shape), where=scale > 0)
    reach = found.reach[first] - found.reach[second]
    left = [both.sum(axis=0) - 2 * cov for both, cov in zip(variances, (own, added), strict=True)]
    quantile = stdtrit(_degrees(found, reach, *left), 0.975)
    risk, size = found.risk[pair].T, found.size[pair].T
    return hybrid_score_interval(risk, size, correlation.clip(-1, 1), quantile)


def _shifted(rates: np.ndarray, shift: float) -> np.ndarray:
    return np.exp(shift) * rates / (1 - rates + np.exp(shift) * rates)


def _likely_variance(mix: np.ndarray, experiment: Experiment, level: Level) -> np.ndarray:
    """Variance of an image of a stratum over that of one of the group (K, S), 1 if all err alike.

    Both at rates that few errors cannot make zero.
    """
    rates = (experiment.errors.sum(axis=0) + ADDED) / (experiment.n + 2 * ADDED)
    rates = _shifted(rates, level.shift)
    risk = mix @ rates
    return rates * (1 - rates) / (risk * (1 - risk))[:, None]


def _degrees(
    found: Standardised, reach: np.ndarray, own: np.ndarray, added: np.ndarray
) -> np.ndarray:
    """Satterthwaite's degrees of freedom of estimates (R,) with variances from two sources.

    Those of the clusters are for images that vary alike, `reach` (R, S) being their weights.
    """
    share = found.part @ (reach**2 / found.n).T
    total, squares = share.sum(axis=0), (share**2).sum(axis=0)
    effective = np.divide(total**2, squares, out=np.ones(total.shape), where=squares > 0)
    clusters = np.maximum(effective - 1, 1)
    both = own**2 / clusters + added**2 / (found.labelled - 1)
    return np.divide((own + added) ** 2, both, out=clusters, where=both > 0)
