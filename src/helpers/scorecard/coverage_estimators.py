"""Estimators and tests whose intervals and false alarms the coverage study of chapter 11 counts.

They take audits as `helpers.scorecard.simulated_audits` makes them. An estimator leaves one row per
attribute and scale with the columns `INTERVAL`.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import expit

from helpers.effects import logit, matched_effects, risk_differences
from helpers.effects.batched_logit import fit_logits, pattern_counts
from helpers.effects.coding import collapse
from helpers.resampling import cluster_codes, draw_weights
from helpers.scorecard.estimators import resample_images
from helpers.scorecard.simulated_audits import ATTRIBUTES, MANIPULATED
from helpers.utils import seeding

NO_PENALTY = 1e6
"""So weak an L2 penalty moves no estimate visibly, and few transects may separate the errors."""
INTERVAL = ["attribute", "scale", "estimate", "low", "high"]


def all_estimates(frame: pd.DataFrame, n_boot: int, seed: int) -> pd.DataFrame:
    """The columns estimator and `INTERVAL`, for all estimators on one audit."""
    tables = {
        "image bootstrap": bootstrap_effects(frame, "image", n_boot, seed),
        "transect bootstrap": bootstrap_effects(frame, "transect", n_boot, seed),
        "cluster sandwich": sandwich_effects(frame),
        "difference of rates": rate_differences(frame),
        "matched pairs": matched_pairs(frame),
    }
    return pd.concat(tables, names=["estimator", None]).reset_index("estimator")


def null_tests(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """p-values of no effect on one audit, by family of tests that Holm's adjustment covers.

    The first takes images for independent; the others respect transects.
    """
    return {
        "images as independent": rate_tests(frame, None),
        "difference of rates": rate_tests(frame, "transect"),
        "cluster sandwich": sandwich_logit(frame)["p"].to_numpy(),
        "matched pairs": matched_tests(frame),
    }


def bootstrap_effects(frame: pd.DataFrame, by: str, n_boot: int, seed: int) -> pd.DataFrame:
    """Log odds and g-computation of the logit with main effects, with percentile intervals.

    `by` says what is drawn: "image", as in the papers, or "transect".
    """
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
    tables = {"risk difference": differences, "log odds": coefficients[:, 1:]}
    return pd.concat(
        [_percentiles(np.where(constant, np.nan, table), scale) for scale, table in tables.items()]
    )


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


def _percentiles(table: np.ndarray, scale: str) -> pd.DataFrame:
    low, high = np.nanquantile(table[1:], [0.025, 0.975], axis=0)
    intervals = {"estimate": table[0], "low": low, "high": high}
    return pd.DataFrame({"attribute": ATTRIBUTES, "scale": scale, **intervals})


def sandwich_effects(frame: pd.DataFrame) -> pd.DataFrame:
    """The same logit and g-computation with standard errors by the cluster sandwich."""
    tables = [
        risk_differences(frame, "error", name, cluster="transect", adjust=_others(name, ATTRIBUTES))
        for name in ATTRIBUTES
    ]
    ratios = sandwich_logit(frame).assign(attribute=ATTRIBUTES, scale="log odds")
    return pd.concat([_differences(tables, ATTRIBUTES), ratios[INTERVAL]])


def sandwich_logit(frame: pd.DataFrame) -> pd.DataFrame:
    """Log odds ratios, one row per attribute."""
    return logit(frame, "error", ATTRIBUTES, cluster="transect").drop(index="intercept")


def rate_differences(frame: pd.DataFrame) -> pd.DataFrame:
    """Differences of two rates, clustered by transect."""
    tables = [risk_differences(frame, "error", name, cluster="transect") for name in ATTRIBUTES]
    return _differences(tables, ATTRIBUTES)


def matched_pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Averages of the differences within pairs, for what transects manipulate."""
    tables = [matched_effects(frame, "error", name, [], "transect") for name in MANIPULATED]
    return _differences(tables, MANIPULATED)


def _differences(tables: Sequence[pd.DataFrame], attributes: Sequence[str]) -> pd.DataFrame:
    """Tables of one row, for one attribute each, as rows with the columns `INTERVAL`."""
    table = pd.concat(tables, ignore_index=True)
    return table.assign(attribute=attributes, scale="risk difference")[INTERVAL]


def _others(name: str, names: Sequence[str]) -> list[str]:
    return [other for other in names if other != name]


def rate_tests(frame: pd.DataFrame, cluster: str | None) -> np.ndarray:
    """p-values of differences of rates: gender by skin, and every other attribute by gender."""
    skin, _, gender = MANIPULATED
    tables = [
        risk_differences(
            frame, "error", name, by=skin if name == gender else gender, cluster=cluster
        )
        for name in ATTRIBUTES
    ]
    return np.concatenate([table["p"] for table in tables])


def matched_tests(frame: pd.DataFrame) -> np.ndarray:
    """p-values of paired differences, each manipulated attribute in all cells of the others."""
    tables = [
        matched_effects(frame, "error", name, _others(name, MANIPULATED), "transect")
        for name in MANIPULATED
    ]
    return np.concatenate([table["p"] for table in tables])
