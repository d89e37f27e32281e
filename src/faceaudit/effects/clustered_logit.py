"""Log odds ratios from Firth's logit, with intervals of whole clusters that hold for rare errors.

The bootstrap of the paper's logit (`faceaudit.effects.regression`) loses the resamples in which no
image errs, and knows no spread where one level has no error. Firth's penalty adds half an error and
half a success for every coefficient, so that each fit is finite. The interval takes them for what
they are: observations, each with a variance of its own.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import expit, stdtrit

from faceaudit.effects.regression import distinct_rows, log_odds_ratios
from faceaudit.effects.resampling import as_codes
from faceaudit.effects.risks import firth_logits, independent_columns, pattern_counts

ESTIMABLE = 1e-6
"""A contrast is not estimable when a larger part of it is beyond what the images tell apart."""
COLUMNS = ["estimate", "sd", "low", "high", "df", "clusters", "reason"]
CLUSTERS_AT_ONCE = 1000  # Results do not depend on it.


def firth_log_odds_ratios(
    X: pd.DataFrame,
    error: ArrayLike,
    attribute: str,
    low: str,
    high: str,
    cluster: ArrayLike | None = None,
) -> pd.DataFrame:
    """Log odds ratios of an error between two levels, by Firth's logit, for everybody or by gender.

    The fit maximises the likelihood with Jeffreys' penalty (Firth, Biometrika 80 (1993) 27-38),
    which is finite also where one level has no error. Its variance is that of the jackknife over
    whole clusters, in one step from the fit (CR3; MacKinnon, Nielsen & Webb, Journal of Applied
    Econometrics 38 (2023) 671-694). The penalty acts as half an error and half a success for every
    unit of leverage. These are added as clusters of their own, without which a level without errors
    would have hardly any variance. Quantiles are Student's, with Satterthwaite's degrees of freedom
    for images that vary alike: with equal clusters, one fewer than there are clusters.

    Args:
        X: (n, p) columns of 0 and 1, (attribute, level), as of `paper_columns` or
            `interaction_columns`.
        error: (n,) outcomes in [0, 1].
        attribute: whose levels are compared.
        low: the level to compare with.
        high: the level that is compared.
        cluster: (n,) identifiers of the units of inference, such as transects; images by default.

    Returns:
        The row "main effects", or with products of the attribute and gender a row per gender;
        columns estimate, sd, low and high (95 % interval), df, clusters, and reason, which says why
        something is not estimable (NaN), else is empty.

    Raises:
        ValueError: a missing value, an outcome outside [0, 1], or lengths that differ.

    Example:
        >>> X = pd.DataFrame({("skin", "light"): [1, 0] * 20, ("skin", "dark"): [0, 1] * 20})
        >>> table = firth_log_odds_ratios(X, [0] * 40, "skin", "light", "dark")
        >>> table["reason"].item()
        'all err alike'
    """
    coefficients = pd.DataFrame(np.eye(X.shape[1]), columns=X.columns)
    ratios = log_odds_ratios(coefficients, attribute, low, high)
    patterns, pattern, errors = distinct_rows(X, error)
    counts = pattern_counts(pattern, errors, as_codes(cluster, len(errors)), len(patterns))
    rows = clustered_contrasts(patterns, counts, ratios.to_numpy().T)
    return pd.DataFrame(rows, index=ratios.columns, columns=COLUMNS)


def clustered_contrasts(
    patterns: np.ndarray, counts: csr_array, contrasts: np.ndarray
) -> list[dict[str, float | int | str]]:
    """Rows of `firth_log_odds_ratios` from counts, for many audits.

    Args:
        patterns: distinct rows of covariates (P, p).
        counts: trials, then errors, of every pattern in every cluster (G, 2 P), as of
            `pattern_counts`.
        contrasts: weights of the coefficients (C, p).

    Returns:
        A mapping a contrast, from the columns to their values; without an estimate, only clusters
        and reason.
    """
    n_clusters = counts.shape[0]
    trials, errors = np.split(counts.sum(axis=0), 2)
    reason = ""
    if n_clusters < 2:
        reason = "one cluster"
    elif errors.sum() in (0, trials.sum()):
        reason = "all err alike"
    if not reason:
        coding = _code(patterns)
        fit = _fit(coding.design, counts)
        if not np.isfinite(fit.coefficients).all():
            reason = "the regression does not converge"
    if reason:
        return [{"clusters": n_clusters, "reason": reason} for _ in contrasts]
    found = (_contrast(fit, coding, contrast, patterns) for contrast in contrasts)
    return [{"clusters": n_clusters, "reason": ""} | row for row in found]


@dataclass(frozen=True)
class _Coding:
    """Columns that are independent, and how the coefficients of all columns follow from theirs.

    `design` (P, k) has the intercept first. `to_columns` (p, k) leads to the coefficients with the
    least sum of squares among those that predict the same: two levels then mirror each other, as in
    the paper's logit. `told` (p, p) projects on what the patterns tell apart.
    """

    design: np.ndarray
    to_columns: np.ndarray
    told: np.ndarray


@dataclass(frozen=True)
class _Fit:
    """Firth's fit (k,), with what its variance is made of.

    `root` (k, k) is the symmetric root of the inverse information. `information` (G, k, k) and
    `score` (G, k) are those of every cluster, times `root`. `penalty` (k, k) is the variance of the
    half errors and half successes that Firth's penalty adds, times `root` on both sides.
    """

    coefficients: np.ndarray
    root: np.ndarray
    information: np.ndarray
    score: np.ndarray
    penalty: np.ndarray


def _code(patterns: np.ndarray) -> _Coding:
    """Coding of the distinct rows of covariates (P, p)."""
    everything = np.column_stack([np.ones(len(patterns)), patterns])
    design = everything[:, independent_columns(everything)]
    centred = patterns - patterns.mean(axis=0)
    inverse = np.linalg.pinv(centred)
    return _Coding(design, inverse @ (design - design.mean(axis=0)), inverse @ centred)


def _fit(design: np.ndarray, counts: csr_array) -> _Fit:
    """Fit of all clusters' trials and errors (G, 2 P), with the parts of its variance."""
    trials, errors = np.split(counts.sum(axis=0), 2)
    coefficients = firth_logits(design[:, 1:], trials[None], errors[None])[0]
    risk = expit(design @ coefficients)
    curvature = risk * (1 - risk)
    size = design.shape[1]
    left, right = np.tril_indices(size)
    products = design[:, left] * design[:, right]

    def symmetric(weights: np.ndarray | csr_array) -> np.ndarray:
        """Sum over patterns of the outer products of their rows, by weights (..., P)."""
        sums = weights @ products
        matrices = np.empty((*sums.shape[:-1], size, size))
        matrices[..., left, right] = matrices[..., right, left] = sums
        return matrices

    values, vectors = np.linalg.eigh(symmetric(trials * curvature))
    root = (vectors / np.sqrt(values)) @ vectors.T
    of_cluster = counts[:, : len(design)]
    wrong = counts[:, len(design) :]
    score = wrong @ design - of_cluster @ (risk[:, None] * design)
    information = symmetric(of_cluster * curvature)
    leverage = trials * curvature * ((design @ root) ** 2).sum(axis=1)
    halves = leverage / 2 * ((1 - risk) ** 2 + risk**2)
    return _Fit(
        coefficients,
        root,
        root @ information @ root,
        score @ root,
        root @ symmetric(halves) @ root,
    )


def _contrast(
    fit: _Fit, coding: _Coding, contrast: np.ndarray, patterns: np.ndarray
) -> dict[str, float | str]:
    """Columns of `firth_log_odds_ratios`, of a contrast (p,) between the columns of X."""
    if (np.ptp(patterns[:, contrast != 0], axis=0) == 0).any():
        return {"reason": "no image with one of the levels"}
    if np.abs(contrast - contrast @ coding.told).max() > ESTIMABLE:
        return {"reason": "confounded with the covariates"}
    weights = contrast @ coding.to_columns
    direction = weights @ fit.root
    n_clusters = len(fit.score)
    squares = 0.0
    for start in range(0, n_clusters, CLUSTERS_AT_ONCE):
        part = slice(start, start + CLUSTERS_AT_ONCE)
        left = np.eye(len(direction)) - fit.information[part]
        values, vectors = np.linalg.eigh(left)
        along = np.einsum("gij,i->gj", vectors, direction)
        gone = values < ESTIMABLE
        if (np.abs(along[gone]) > ESTIMABLE * np.linalg.norm(direction)).any():
            return {"reason": "one cluster has all images of a level"}
        moved = np.einsum("gij,gi->gj", vectors, fit.score[part])
        change = (along * moved / np.where(gone, np.inf, values)).sum(axis=1)
        squares += (change**2).sum()
    jackknife = (n_clusters - 1) / n_clusters * squares
    variance = jackknife + direction @ fit.penalty @ direction
    share = np.einsum("i,gij,j->g", direction, fit.information, direction)
    df = max(share.sum() ** 2 / (share**2).sum() - 1, 1.0)
    estimate = weights @ fit.coefficients
    reach = stdtrit(df, 0.975) * np.sqrt(variance)
    return {
        "estimate": estimate,
        "sd": np.sqrt(variance),
        "low": estimate - reach,
        "high": estimate + reach,
        "df": df,
    }
