"""Every interval that the book prints, on simulated audits in which the truth is known.

Functions take many audits at once, in the frame of `Population.audits`, whose audits are the cells
in which effects are estimated: it is read once, and not once for every audit. The study itself is
`coverage_study`.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from few_clusters import logit
from scipy.optimize import brentq
from scipy.special import expit
from simulated_audits import (
    ATTRIBUTES,
    IMAGES,
    MANIPULATED,
    SEED_LEVEL,
    Population,
    carried_mixes,
)

from faceaudit.effects import matched_effects, ratio_interval, risk_differences
from faceaudit.effects.resampling import cluster_codes, draw_weights
from faceaudit.effects.reweighting import (
    Experiment,
    difference_intervals,
    rate_intervals,
    standardise,
    unshifted_level,
)
from faceaudit.effects.risks import collapse, fit_logits, hybrid_score_interval, pattern_counts
from faceaudit.effects.verdicts import Z
from faceaudit.utils import seeding
from faceworld.scorecard import matched_audits, pooled_audits, resample_images, with_truth

NO_PENALTY = 1e6
"""So weak an L2 penalty moves no estimate visibly, and few transects may separate the errors."""
CORRELATION = 0.23
"""Within transects, in the populations of `population_at`."""
HAIR = "hair_level"
"""The attribute of average effects and of shares of a gap; its log odds ratio is the largest."""
COUNTED = 300
"""Women of either length of hair among found portraits, about as many as PPB has of either skin."""
SHARE = 0.5
"""Of the gap counted between them that is the effect of hair."""
_ENDS = ["estimate", "low", "high"]
_ROW = ["audit", "attribute", "scale", *_ENDS]


def all_estimates(audits: pd.DataFrame, n_boot: int, seeds: Mapping[int, int]) -> pd.DataFrame:
    """Columns estimator, audit, attribute, scale, estimate, low, high, by all estimators.

    `seeds` are those of every audit's draws.
    """
    names = list(ATTRIBUTES)
    adjusted = [
        risk_differences(audits, "error", name, "audit", "transect", _others(name, names))
        for name in names
    ]
    plain = [risk_differences(audits, "error", name, "audit", "transect") for name in names]
    pairs = [matched_effects(audits, "error", name, ["audit"], "transect") for name in MANIPULATED]
    ratios = sandwich_logits(audits).assign(scale="log odds")[_ROW]
    tables = {
        "image bootstrap": bootstrap_effects(audits, "image", n_boot, seeds),
        "transect bootstrap": bootstrap_effects(audits, "transect", n_boot, seeds),
        "cluster sandwich": pd.concat([_differences(adjusted, names), ratios]),
        "difference of rates": _differences(plain, names),
        "matched pairs": _differences(pairs, MANIPULATED),
        **dict(iter(transported(audits).groupby("scale", sort=False))),
    }
    return pd.concat(tables, names=["estimator", None]).reset_index("estimator")


def null_tests(audits: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Columns audit and p of tests of no effect, by the family that Holm's adjustment covers.

    Differences of rates are of gender by skin, and of every other attribute by gender; the first
    family takes images for independent. Matched pairs are in all cells.
    """
    skin, _, gender = MANIPULATED
    held = {name: skin if name == gender else gender for name in ATTRIBUTES}

    def rates(cluster: str | None) -> pd.DataFrame:
        return _tests(
            risk_differences(audits, "error", name, ["audit", other], cluster)
            for name, other in held.items()
        )

    matched = (
        matched_effects(audits, "error", name, ["audit", *_others(name, MANIPULATED)], "transect")
        for name in MANIPULATED
    )
    return {
        "images as independent": rates(None),
        "difference of rates": rates("transect"),
        "cluster sandwich": sandwich_logits(audits)[["audit", "p"]],
        "matched pairs": _tests(matched),
    }


def _tests(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([table.reset_index()[["audit", "p"]] for table in tables])


def _differences(tables: Sequence[pd.DataFrame], attributes: Sequence[str]) -> pd.DataFrame:
    """Tables of an attribute each, with a row per audit, as rows."""
    named = dict(zip(attributes, tables, strict=True))
    table = pd.concat(named, names=["attribute", "audit"]).reset_index()
    return table.assign(scale="risk difference")[_ROW]


def _others(name: str, names: Sequence[str]) -> list[str]:
    return [other for other in names if other != name]


def bootstrap_effects(
    audits: pd.DataFrame, by: str, n_boot: int, seeds: Mapping[int, int]
) -> pd.DataFrame:
    """Log odds and g-computation of the logit with main effects, with percentile intervals.

    `by` says what is drawn: "image", as in the papers, or "transect".
    """
    found = {
        audit: _bootstrap(frame, by, n_boot, seeds[audit])
        for audit, frame in audits.groupby("audit")
    }
    # (audits, scales, attributes, ends) → a row for every scale, attribute and audit
    ends = np.stack([*found.values()]).transpose(1, 2, 0, 3)
    keys = {"scale": ["risk difference", "log odds"], "attribute": ATTRIBUTES, "audit": found}
    index = pd.MultiIndex.from_product(keys.values(), names=keys)
    return pd.DataFrame(ends.reshape(-1, len(_ENDS)), index, _ENDS).reset_index()[_ROW]


def _bootstrap(frame: pd.DataFrame, by: str, n_boot: int, seed: int) -> np.ndarray:
    """Estimate and ends of its interval of risk differences, then log odds, (2, p, 3)."""
    levels = frame[list(ATTRIBUTES)].to_numpy()
    first, pattern = collapse(list(levels.T))
    patterns = levels[first].astype(np.float64)
    codes, transects = cluster_codes(frame["transect"])
    counts = pattern_counts(pattern, frame["error"].to_numpy(), codes)
    if by == "transect":
        drawn = draw_weights(len(transects), range(n_boot), seed)
        weights = np.vstack([np.ones(len(transects)), drawn])
        trials, errors = np.split(weights @ counts, 2, axis=1)
    else:
        own_trials, own_errors = np.split(counts.sum(axis=0), 2)
        images = np.append(own_trials - own_errors, own_errors)
        random = seeding.rng(seed, "coverage study/images")
        trials, errors = resample_images(images, n_boot, random)
    coefficients = fit_logits(patterns, trials, errors, NO_PENALTY)
    differences = _standardised(coefficients, patterns, trials)
    constant = (trials @ patterns == 0) | (trials @ (1 - patterns) == 0)
    drawn = np.where(constant, np.nan, [differences, coefficients[:, 1:]])
    low, high = np.nanquantile(drawn[:, 1:], [0.025, 0.975], axis=1)
    return np.stack([drawn[:, 0], low, high], axis=-1)


def _standardised(coefficients: np.ndarray, patterns: np.ndarray, trials: np.ndarray) -> np.ndarray:
    """Mean change of the predicted risk when one covariate goes from 0 to 1, (B, p).

    `coefficients` (B, 1 + p) have the intercept first; `trials` (B, P) say how many images have
    each of the `patterns` (P, p).
    """
    at_levels = np.repeat(patterns[None], 2 * patterns.shape[1], axis=0)
    for k in range(patterns.shape[1]):
        at_levels[2 * k : 2 * k + 2, :, k] = [[0], [1]]
    # Most of these are patterns themselves, whose risks are therefore computed once.
    distinct, place = np.unique(
        at_levels.reshape(-1, patterns.shape[1]), axis=0, return_inverse=True
    )
    low, high = place.reshape(-1, 2, len(patterns)).swapaxes(0, 1)
    risks = expit(coefficients[:, :1] + coefficients[:, 1:] @ distinct.T)
    changes = np.einsum("bkp,bp->bk", risks[:, high] - risks[:, low], trials)
    return changes / trials.sum(axis=1, keepdims=True)


def sandwich_logits(audits: pd.DataFrame) -> pd.DataFrame:
    """Log odds ratios, errors by the cluster sandwich: a row per attribute and audit."""
    table = logit(audits, "error", ATTRIBUTES, "transect", by=["audit"])
    table = table.rename_axis(["audit", "coefficient"]).drop("intercept", level="coefficient")
    attribute = table.index.get_level_values("coefficient").str.removesuffix("=1")
    return table.assign(attribute=attribute).reset_index("audit")


def transported(audits: pd.DataFrame) -> pd.DataFrame:
    """One rate and one difference that the strata's rates predict for the mixes `carried_mixes`."""
    mixes, (dark, light) = carried_mixes(), np.array([[1], [2]])
    places = 2 ** np.arange(len(MANIPULATED))[::-1]
    rows = []
    for audit, frame in audits.groupby("audit"):
        stratum = frame[list(MANIPULATED)].to_numpy() @ places
        codes, _ = cluster_codes(frame["transect"])
        counts = pattern_counts(stratum, frame["error"].to_numpy(), codes, IMAGES)
        experiment = Experiment(*np.hsplit(counts.toarray(), 2))
        found = standardise(mixes, experiment, unshifted_level(experiment.rates))
        rate = found.risk[0], *(ends[0] for ends in rate_intervals(found))
        between = np.ravel(difference_intervals(found, dark, light))
        change = found.risk[1] - found.risk[2], *between
        rows.append((audit, "strata", "transported rate", *rate))
        rows.append((audit, "skin_level", "transported difference", *change))
    return pd.DataFrame(rows, columns=_ROW)


# --- by size of an audit and rate of errors


def population_at(error_rate: float, log_odds: Mapping[str, float]) -> Population:
    """The population that errs on this share of images, all manipulated levels being as common."""

    def excess(intercept: float) -> float:
        return Population(intercept, log_odds, CORRELATION).rates().mean() - error_rate

    return Population(brentq(excess, -15, 15), log_odds, CORRELATION)


def intervals(
    population: Population, transects: int, seed: int, numbers: Sequence[int], with_logit: int
) -> pd.DataFrame:
    """All intervals on the audits of these numbers, with the truth that they should hold.

    Args:
        population: that faces and errors are drawn from.
        transects: of an audit.
        seed: of the audits.
        numbers: of the audits.
        with_logit: audits below this number get a regression, which takes longer than all else.

    Returns:
        Columns estimator, audit, estimate, low, high, truth; NaN where there is no interval.
    """
    audits = population.audits(transects, seed, numbers)
    errors, rates = by_cell(audits, transects), population.rates()
    pairs = matched_effects(audits, "error", HAIR, ["audit"], "transect")
    others = _others(HAIR, MANIPULATED)
    adjusted = risk_differences(audits, "error", HAIR, "audit", "transect", others)
    true, carried = population.true_effects(), population.true_transport()
    of_hair = true.loc[HAIR, "risk difference"]

    def of_cells(table: pd.DataFrame) -> pd.DataFrame:
        table = table.assign(audit=np.asarray(numbers)[table["audit"]])
        return with_truth(table, rates[None], MANIPULATED)

    parts = {
        "matched pairs, cells": of_cells(matched_audits(errors, MANIPULATED)),
        "partial pooling, cells": of_cells(pooled_audits(errors, MANIPULATED)),
        "matched pairs, average": pairs.reset_index().assign(truth=of_hair),
        "g-computation, average": adjusted.reset_index().assign(truth=of_hair),
    }
    for scale, table in transported(audits).groupby("scale", sort=False):
        parts[scale] = table.assign(truth=carried[scale].max())  # the other entry is NaN
    parts["share of a gap"] = _shares_of_gap(audits, rates, seed)
    few = audits[audits["audit"] < with_logit]
    if not few.empty:
        ratios = sandwich_logits(few)
        ratios = ratios.assign(truth=ratios["attribute"].map(true["log odds"]))
        own = ratios["attribute"].isin(SEED_LEVEL)
        parts["cluster logit, manipulated"] = ratios[~own]
        parts["cluster logit, of faces"] = ratios[own]
    table = pd.concat(parts, names=["estimator", None]).reset_index("estimator")
    return table.reset_index(drop=True)[["estimator", "audit", *_ENDS, "truth"]]


def by_cell(audits: pd.DataFrame, transects: int) -> np.ndarray:
    """Errors of several audits (R, n, 2, 2, 2) by transect and manipulated level; NaN if pruned."""
    audit, _ = pd.factorize(audits["audit"])
    errors = np.full((audit.max() + 1, transects, 2, 2, 2), np.nan)
    errors[audit, audits["transect"], *audits[list(MANIPULATED)].to_numpy().T] = audits["error"]
    return errors


def _shares_of_gap(audits: pd.DataFrame, rates: np.ndarray, seed: int) -> pd.DataFrame:
    """The matched effect on women over a gap between found women that is partly that effect."""
    women = audits[audits["gender_level"] == 0]
    found = matched_effects(women, "error", HAIR, ["audit"], "transect")[_ENDS]
    short, long = rates[:, :, 0].mean(axis=0)
    shares = [short, short + (long - short) / SHARE]
    key = f"coverage grid/counted/{short:.6f}"
    draws = [seeding.rng(seed, key, number).binomial(COUNTED, shares) for number in found.index]
    risk = np.array(draws) / COUNTED
    size = np.full(risk.shape, float(COUNTED))
    low, high = hybrid_score_interval(risk, size, np.zeros(len(risk)), Z)
    counted = np.column_stack([risk[:, 1] - risk[:, 0], low, high])
    ends = [ratio_interval(*pair) for pair in zip(found.to_numpy(), counted, strict=True)]
    table = pd.DataFrame(ends, found.index, ["low", "high"]).reset_index()
    with np.errstate(divide="ignore", invalid="ignore"):
        share = found["estimate"].to_numpy() / counted[:, 0]
    return table.assign(estimate=share, truth=SHARE)
