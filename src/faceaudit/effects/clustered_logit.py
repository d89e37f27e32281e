"""Log odds ratios from Firth's logit, with intervals of whole clusters that hold for rare errors.

The bootstrap of the paper's logit (`faceaudit.effects.regression`) loses the resamples in which no
image errs, and has no spread where one level has no error. Firth's penalty adds half an error and
half a success for every coefficient, so that each fit is finite. The variance counts these added
halves as observations too.
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
"""A contrast is not estimable when more than this part of it cannot be identified from the images.

The jackknife uses it too: smaller eigenvalues count as zero.
"""
RATIO_COLUMNS = ["estimate", "sd", "low", "high", "df", "clusters", "reason"]
"""Columns of the table of log odds ratios."""
CLUSTERS_AT_ONCE = 1000
"""Clusters held in memory at a time; results do not depend on it."""


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
        columns estimate, sd, low and high (95% interval), df, clusters, and reason, which says why
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
    return pd.DataFrame(rows, index=ratios.columns, columns=RATIO_COLUMNS)


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
        One mapping per contrast, from the names of columns to their values; without an estimate,
        only clusters and reason.
    """
    n_clusters = counts.shape[0]
    if n_clusters < 2:
        return _rows_without_estimate(contrasts, n_clusters, "one cluster")
    trials, errors = np.split(counts.sum(axis=0), 2)
    if errors.sum() in (0, trials.sum()):
        return _rows_without_estimate(contrasts, n_clusters, "all err alike")
    coding = _code_covariates(patterns)
    fit = _fit_firth(coding.design, counts)
    if not np.isfinite(fit.coefficients).all():
        return _rows_without_estimate(contrasts, n_clusters, "the regression does not converge")
    rows = []
    for contrast in contrasts:
        estimate = _estimate_contrast(fit, coding, contrast, patterns)
        rows.append({"clusters": n_clusters, "reason": ""} | estimate)
    return rows


def _rows_without_estimate(
    contrasts: np.ndarray, n_clusters: int, reason: str
) -> list[dict[str, float | int | str]]:
    """Rows of `clustered_contrasts` where a reason holds for every contrast (C, p)."""
    return [{"clusters": n_clusters, "reason": reason} for _ in contrasts]


@dataclass(frozen=True)
class _Coding:
    """Independent columns, and how the coefficients of all columns follow from theirs.

    Attributes:
        design: independent columns (P, k), the intercept first.
        to_columns: matrix (p, k) from their coefficients to those of all columns. It gives the
            coefficients with the least sum of squares among those that predict the same: two levels
            then mirror each other, as in the paper's logit.
        identified: projection (p, p) of a contrast on the part that the patterns identify.
    """

    design: np.ndarray
    to_columns: np.ndarray
    identified: np.ndarray


@dataclass(frozen=True)
class _FirthFit:
    """Firth's fit, and the parts of its variance.

    Attributes:
        coefficients: (k,), the intercept first.
        root: symmetric root (k, k) of the inverse information.
        information: of every cluster (G, k, k), multiplied by `root` on both sides.
        score: of every cluster (G, k), multiplied by `root`.
        penalty: variance (k, k) of the half errors and half successes that Firth's penalty adds,
            multiplied by `root` on both sides.
    """

    coefficients: np.ndarray
    root: np.ndarray
    information: np.ndarray
    score: np.ndarray
    penalty: np.ndarray


def _code_covariates(patterns: np.ndarray) -> _Coding:
    """Coding of the distinct rows of covariates (P, p)."""
    with_intercept = np.column_stack([np.ones(len(patterns)), patterns])
    design = with_intercept[:, independent_columns(with_intercept)]
    centred = patterns - patterns.mean(axis=0)
    inverse = np.linalg.pinv(centred)
    return _Coding(
        design=design,
        to_columns=inverse @ (design - design.mean(axis=0)),
        identified=inverse @ centred,
    )


def _fit_firth(design: np.ndarray, counts: csr_array) -> _FirthFit:
    """Fit of all clusters' trials and errors (G, 2 P), with the parts of its variance.

    The parts are those of the jackknife in one step (MacKinnon, Nielsen & Webb, Journal of Applied
    Econometrics 38 (2023) 671-694), with the halves that the penalty adds (Firth, Biometrika 80
    (1993) 27-38) as observations; see `firth_log_odds_ratios`.

    Args:
        design: independent columns of the patterns (P, k), the intercept first.
        counts: trials, then errors, of every pattern in every cluster (G, 2 P).
    """
    # 1. The coefficients depend on the clusters' sums alone.
    trials, errors = np.split(counts.sum(axis=0), 2)
    coefficients = firth_logits(design[:, 1:], trials[None], errors[None])[0]
    risk = expit(design @ coefficients)
    curvature = risk * (1 - risk)
    size = design.shape[1]
    row, column = np.tril_indices(size)
    products = design[:, row] * design[:, column]

    def symmetric(weights: np.ndarray | csr_array) -> np.ndarray:
        """Sum over patterns of the outer products of their rows, by weights (..., P)."""
        sums = weights @ products
        matrices = np.empty((*sums.shape[:-1], size, size))
        matrices[..., row, column] = sums
        matrices[..., column, row] = sums
        return matrices

    # 2. The symmetric root of the inverse information. Multiplied by it on both sides, the
    # information of all clusters adds up to the identity, so that all coefficients have one scale.
    values, vectors = np.linalg.eigh(symmetric(trials * curvature))
    root = (vectors / np.sqrt(values)) @ vectors.T
    # 3. What every cluster adds to the gradient of the likelihood and to the information: the
    # step of a fit without this cluster follows from the two.
    cluster_trials = counts[:, : len(design)]
    cluster_errors = counts[:, len(design) :]
    score = cluster_errors @ design - cluster_trials @ (risk[:, None] * design)
    information = symmetric(cluster_trials * curvature)
    # 4. For every unit of leverage the penalty adds half an error, with the residual 1 - risk, and
    # half a success, with the residual -risk. As in clusters, squares stand for the variance.
    leverage = trials * curvature * ((design @ root) ** 2).sum(axis=1)
    halves = leverage / 2 * ((1 - risk) ** 2 + risk**2)
    return _FirthFit(
        coefficients=coefficients,
        root=root,
        information=root @ information @ root,
        score=score @ root,
        penalty=root @ symmetric(halves) @ root,
    )


def _estimate_contrast(
    fit: _FirthFit, coding: _Coding, contrast: np.ndarray, patterns: np.ndarray
) -> dict[str, float | str]:
    """Columns of `firth_log_odds_ratios` for one contrast (p,) between the columns of X.

    Without an estimate, only the reason.
    """
    if (np.ptp(patterns[:, contrast != 0], axis=0) == 0).any():
        return {"reason": "no image with one of the levels"}
    if np.abs(contrast - contrast @ coding.identified).max() > ESTIMABLE:
        return {"reason": "confounded with the covariates"}
    weights = contrast @ coding.to_columns
    direction = weights @ fit.root
    n_clusters = len(fit.score)
    squares = 0.0
    # The change of the estimate when a cluster is left out, in one step from the fit.
    for start in range(0, n_clusters, CLUSTERS_AT_ONCE):
        part = slice(start, start + CLUSTERS_AT_ONCE)
        information_without = np.eye(len(direction)) - fit.information[part]
        values, vectors = np.linalg.eigh(information_without)
        along = np.einsum("gij,i->gj", vectors, direction)
        singular = values < ESTIMABLE
        if (np.abs(along[singular]) > ESTIMABLE * np.linalg.norm(direction)).any():
            return {"reason": "one cluster has all images of a level"}
        score = np.einsum("gij,gi->gj", vectors, fit.score[part])
        change = (along * score / np.where(singular, np.inf, values)).sum(axis=1)
        squares += (change**2).sum()
    jackknife = (n_clusters - 1) / n_clusters * squares
    variance = jackknife + direction @ fit.penalty @ direction
    share = np.einsum("i,gij,j->g", direction, fit.information, direction)
    df = max(share.sum() ** 2 / (share**2).sum() - 1, 1.0)
    estimate = weights @ fit.coefficients
    margin = stdtrit(df, 0.975) * np.sqrt(variance)
    return {
        "estimate": float(estimate),
        "sd": float(np.sqrt(variance)),
        "low": float(estimate - margin),
        "high": float(estimate + margin),
        "df": float(df),
    }
