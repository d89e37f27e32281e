"""Estimators and tests whose intervals and false alarms the coverage study of chapter 11 counts.

They take many audits at once, in the frame of `Population.audits`, whose audits are the cells in
which effects are estimated: it is read once, and not once for every audit. An estimator leaves one
row per scale, attribute and audit with the columns `INTERVAL`.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import expit

from helpers.effects import matched_effects, risk_differences
from helpers.effects.logits import collapse, fit_logits, pattern_counts
from helpers.effects.regression import logit
from helpers.effects.reweighting import (
    Experiment,
    difference_intervals,
    own_level,
    rate_intervals,
    standardise,
)
from helpers.resampling import cluster_codes, draw_weights
from helpers.scorecard.estimators import resample_images
from helpers.scorecard.simulated_audits import ATTRIBUTES, IMAGES, MANIPULATED, carried_mixes
from helpers.utils import seeding

NO_PENALTY = 1e6
"""So weak an L2 penalty moves no estimate visibly, and few transects may separate the errors."""
ENDS = ["estimate", "low", "high"]
INTERVAL = ["audit", "attribute", "scale", *ENDS]


def all_estimates(audits: pd.DataFrame, n_boot: int, seeds: Mapping[int, int]) -> pd.DataFrame:
    """The columns estimator and `INTERVAL`, for all estimators; `seeds` of every audit's draws."""
    tables = {
        "image bootstrap": bootstrap_effects(audits, "image", n_boot, seeds),
        "transect bootstrap": bootstrap_effects(audits, "transect", n_boot, seeds),
        "cluster sandwich": sandwich_effects(audits),
        "difference of rates": rate_differences(audits),
        "matched pairs": matched_pairs(audits),
        **dict(iter(transported(audits).groupby("scale", sort=False))),
    }
    return pd.concat(tables, names=["estimator", None]).reset_index("estimator")


def null_tests(audits: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Columns audit and p of tests of no effect, by the family that Holm's adjustment covers.

    The first takes images for independent; the others respect transects.
    """
    return {
        "images as independent": rate_tests(audits, None),
        "difference of rates": rate_tests(audits, "transect"),
        "cluster sandwich": sandwich_logits(audits)[["audit", "p"]],
        "matched pairs": matched_tests(audits),
    }


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
    scales = ["risk difference", "log odds"]
    index = pd.MultiIndex.from_product(
        [scales, ATTRIBUTES, found], names=["scale", "attribute", "audit"]
    )
    table = pd.DataFrame(ends.reshape(-1, len(ENDS)), index, ENDS)
    return table.reset_index()[INTERVAL]


def _bootstrap(frame: pd.DataFrame, by: str, n_boot: int, seed: int) -> np.ndarray:
    """Estimate and ends of its interval of risk differences, then log odds, (2, p, 3)."""
    levels = frame[list(ATTRIBUTES)].to_numpy()
    first, pattern = collapse(list(levels.T))
    patterns = levels[first].astype(np.float64)
    codes, transects = cluster_codes(frame["transect"])
    counts = pattern_counts(pattern, frame["error"].to_numpy(), codes)
    if by == "transect":
        weights = np.vstack(
            [np.ones(len(transects)), draw_weights(len(transects), range(n_boot), seed)]
        )
        trials, errors = np.split(weights @ counts, 2, axis=1)
    else:
        own_trials, own_errors = np.split(counts.sum(axis=0), 2)
        images = np.append(own_trials - own_errors, own_errors)
        random = seeding.rng(seed, "coverage study/images")
        trials, errors = resample_images(images, n_boot, random)
    coefficients = fit_logits(patterns, trials, errors, NO_PENALTY)
    differences = standardised_differences(coefficients, patterns, trials)
    constant = (trials @ patterns == 0) | (trials @ (1 - patterns) == 0)
    drawn = np.where(constant, np.nan, [differences, coefficients[:, 1:]])
    low, high = np.nanquantile(drawn[:, 1:], [0.025, 0.975], axis=1)
    return np.stack([drawn[:, 0], low, high], axis=-1)


def standardised_differences(
    coefficients: np.ndarray, patterns: np.ndarray, trials: np.ndarray
) -> np.ndarray:
    """Mean change of the predicted risk when one covariate goes from 0 to 1, (B, p).

    Args:
        coefficients: (B, 1 + p), intercept first.
        patterns: (P, p) covariates; trials: (B, P) how many images have each.
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


def sandwich_effects(audits: pd.DataFrame) -> pd.DataFrame:
    """The same logit and g-computation with standard errors by the cluster sandwich."""
    tables = [
        risk_differences(audits, "error", name, "audit", "transect", _others(name, ATTRIBUTES))
        for name in ATTRIBUTES
    ]
    ratios = sandwich_logits(audits).assign(scale="log odds")
    return pd.concat([_differences(tables, ATTRIBUTES), ratios[INTERVAL]])


def sandwich_logits(audits: pd.DataFrame) -> pd.DataFrame:
    """Log odds ratios, one row per attribute and audit."""
    table = logit(audits, "error", ATTRIBUTES, "transect", by=["audit"])
    table = table.rename_axis(["audit", "coefficient"]).drop("intercept", level="coefficient")
    attribute = table.index.get_level_values("coefficient").str.removesuffix("=1")
    return table.assign(attribute=attribute).reset_index("audit")


def rate_differences(audits: pd.DataFrame) -> pd.DataFrame:
    """Differences of two rates, clustered by transect."""
    tables = [risk_differences(audits, "error", name, "audit", "transect") for name in ATTRIBUTES]
    return _differences(tables, ATTRIBUTES)


def matched_pairs(audits: pd.DataFrame) -> pd.DataFrame:
    """Averages of the differences within pairs, for what transects manipulate."""
    tables = [matched_effects(audits, "error", name, ["audit"], "transect") for name in MANIPULATED]
    return _differences(tables, MANIPULATED)


def transported(audits: pd.DataFrame) -> pd.DataFrame:
    """One rate and one difference that the strata's rates predict for the mixes `carried_mixes`."""
    mixes, (dark, light) = carried_mixes(), np.array([[1], [2]])
    rows = []
    for audit, frame in audits.groupby("audit"):
        experiment = _strata(frame)
        found = standardise(mixes, experiment, own_level(experiment.rates))
        rate = found.risk[0], *(ends[0] for ends in rate_intervals(found))
        between = np.ravel(difference_intervals(found, dark, light))
        rows += [
            (audit, "strata", "transported rate", *rate),
            (
                audit,
                "skin_level",
                "transported difference",
                found.risk[1] - found.risk[2],
                *between,
            ),
        ]
    return pd.DataFrame(rows, columns=INTERVAL)


def _strata(frame: pd.DataFrame) -> Experiment:
    """Images and errors of every transect in each of `STRATA`."""
    stratum = frame[list(MANIPULATED)].to_numpy() @ (2 ** np.arange(len(MANIPULATED))[::-1])
    codes, _ = cluster_codes(frame["transect"])
    counts = pattern_counts(stratum, frame["error"].to_numpy(), codes, IMAGES)
    return Experiment(*np.hsplit(counts.toarray(), 2))


def _differences(tables: Sequence[pd.DataFrame], attributes: Sequence[str]) -> pd.DataFrame:
    """Tables of an attribute each, with a row per audit, as rows with the columns `INTERVAL`."""
    named = dict(zip(attributes, tables, strict=True))
    table = pd.concat(named, names=["attribute", "audit"]).reset_index()
    return table.assign(scale="risk difference")[INTERVAL]


def _others(name: str, names: Sequence[str]) -> list[str]:
    return [other for other in names if other != name]


def rate_tests(audits: pd.DataFrame, cluster: str | None) -> pd.DataFrame:
    """p-values of differences of rates: gender by skin, and every other attribute by gender."""
    skin, _, gender = MANIPULATED
    held = {name: skin if name == gender else gender for name in ATTRIBUTES}
    return _tests(
        risk_differences(audits, "error", name, ["audit", other], cluster)
        for name, other in held.items()
    )


def matched_tests(audits: pd.DataFrame) -> pd.DataFrame:
    """p-values of paired differences, each manipulated attribute in all cells of the others."""
    return _tests(
        matched_effects(audits, "error", name, ["audit", *_others(name, MANIPULATED)], "transect")
        for name in MANIPULATED
    )


def _tests(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Columns audit and p of tables with a row per audit and cell."""
    return pd.concat([table.reset_index()[["audit", "p"]] for table in tables])
