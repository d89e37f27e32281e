"""Unpenalised logit with standard errors that hold with few clusters: the bias-reduced sandwich.

A fit follows its own data, so residuals are smaller than errors, most of all in clusters that few
others resemble. The plain sandwich (Liang & Zeger, Biometrika 73 (1986) 13-22) is therefore too
narrow for an attribute that few clusters have. Bell & McCaffrey (Survey Methodology 28 (2002)
169-181) stretch the residuals of every cluster until the variance has no bias if the model's own
is right (CR2), and take Student quantiles with as many degrees of freedom as the estimated variance
has. Weights carry both over to a logit (McCaffrey & Bell, Statistics in Medicine 25 (2006)
4081-4098; Pustejovsky & Tipton, Journal of Business & Economic Statistics 36 (2018) 672-683).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.generalized_linear_model import GLM, GLMResults
from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

from faceaudit.effects.resampling import as_codes
from faceaudit.effects.risks import (
    RANK_TOLERANCE,
    code_cells,
    code_levels,
    complete_rows,
    independent_columns,
    numbered,
    rows_by_code,
)
from faceaudit.utils.arguments import as_rates

COLUMNS = ["estimate", "se", "df", "low", "high", "p"]
ALONE = 1e-6
"""A cluster that leaves less than this share of a direction to all others tells it alone."""


def logit(
    frame: pd.DataFrame,
    outcome: str,
    factors: Sequence[str],
    cluster: str,
    by: Sequence[str] = (),
) -> pd.DataFrame:
    """Logit of `outcome` on categorical columns: log odds ratios and their intervals.

    statsmodels' GLM; what is added are the coding, standard errors that hold with few clusters, and
    the reasons for what cannot be estimated.

    Args:
        frame: one row per image. Rows without an outcome or a cluster are left out.
        outcome: column of 0 and 1, or in between where it is a rate, such as of several answers.
        factors: columns whose levels get a coefficient each, called "skin=dark"; the first level of
            a column is its reference.
        cluster: column of the units of inference.
        by: columns of the cells, each of which has a regression of its own.

    Returns:
        A row per coefficient ("intercept" first), or per cell and coefficient, with the columns

        - estimate, se: log odds (ratio) and standard error by CR2;
        - df, low, high: Satterthwaite's degrees of freedom for this coefficient, of which there are
          few where few clusters have a level, and the 95% interval with their Student quantiles;
        - p: of a zero;
        - reason: why something is NaN ("one cluster" where no other has a level, "all outcomes are
          0", "separated: a coefficient would be infinite", "confounded with other terms", "every
          image lacks its outcome or cluster"), else empty.

    Raises:
        ValueError: an empty frame, a missing column or level, or an outcome outside of [0, 1].

    Example:
        >>> dark, error = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 0, 1, 1, 1]
        >>> frame = pd.DataFrame({"dark": dark, "error": error, "image": range(8)})
        >>> logit(frame, "error", ["dark"], "image")["estimate"].round(3).tolist()
        [-1.099, 2.197]
    """
    kept = complete_rows(frame, [outcome, cluster], [*factors, *by])
    columns = {"intercept": np.ones(kept.sum())}
    for factor in factors:
        code, levels = code_levels(frame[factor])
        columns |= {f"{factor}={level}": code[kept] == k for k, level in enumerate(levels) if k}
    error = as_rates(frame[outcome][kept])
    codes = as_codes(frame[cluster][kept], len(error))
    design = np.column_stack([*columns.values()])
    place, index = code_cells(frame, by)
    tables = [
        _estimates(design[rows], error[rows], numbered(codes[rows]), [*columns])
        for rows in rows_by_code(place[kept], len(index))
    ]
    return pd.concat(tables, keys=index) if by else tables[0]


def _estimates(
    design: np.ndarray, error: np.ndarray, codes: np.ndarray, names: list[str]
) -> pd.DataFrame:
    """`COLUMNS` and reason of the coefficients of a design (n, k)."""
    table = pd.DataFrame(np.nan, names, COLUMNS)
    if not len(error):
        return table.assign(reason="every image lacks its outcome or cluster")
    if error.min() == error.max() and error[0] in (0, 1):
        return table.assign(reason=f"all outcomes are {error[0]:.0f}")
    keep = independent_columns(design)
    fitted = _fit(design[:, keep], error)
    if fitted is None:
        return table.assign(reason="separated: a coefficient would be infinite")
    each = np.eye(len(names))
    identified = np.abs(each - np.linalg.pinv(design) @ design).max(axis=1) < np.sqrt(
        RANK_TOLERANCE
    )
    estimate = each[:, keep] @ fitted.params
    spread = fitted.family.variance(fitted.fittedvalues)
    se, df = bias_reduced(design[:, keep], spread, fitted.resid_pearson, codes, each[:, keep])
    margin = stdtrit(df, 0.975) * se
    p = 2 * stdtr(df, -np.abs(estimate / se))
    found = np.column_stack([estimate, se, df, estimate - margin, estimate + margin, p])
    table = pd.DataFrame(np.where(identified[:, None], found, np.nan), names, COLUMNS)
    lone = np.where(np.isnan(se), "one cluster", "")
    return table.assign(reason=np.where(identified, lone, "confounded with other terms"))


def _fit(design: np.ndarray, error: np.ndarray) -> GLMResults | None:
    """statsmodels' results; None if coefficients are infinite."""
    model = GLM(error, design, family=Binomial())
    with warnings.catch_warnings():
        warnings.simplefilter("error", PerfectSeparationWarning)
        try:
            # Changes of a coefficient that is infinite never become small, the deviance's do.
            fitted = model.fit(tol=1e-10, tol_criterion="params")
        except PerfectSeparationWarning:
            return None
    return fitted if fitted.converged else None


def bias_reduced(
    design: np.ndarray,
    weights: np.ndarray,
    residual: np.ndarray,
    codes: np.ndarray,
    contrasts: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Standard errors and degrees of freedom of weighted sums of a regression's coefficients.

    In units of the model's standard deviations, all errors vary alike. There, the residuals e_g of
    a cluster become (I − H_gg)^(−1/2) e_g, with its block of the hat matrix and the symmetric root
    of the generalised inverse. The degrees of freedom are Satterthwaite's for independent errors.
    Where weights vary within clusters the root taken in other units is as free of bias; standard
    errors of 25 transects then differ by less than a hundredth on average.

    Args:
        design: (n, k), independent columns.
        weights: (n,), inverse variances of the working response: μ(1 − μ) in a logit.
        residual: (n,), in units of the model's standard deviations (Pearson's).
        codes: clusters (n,), 0 ... G - 1, all of which occur.
        contrasts: (R, k), coefficients of R sums.

    Returns:
        Standard errors (R,) and degrees of freedom (R,). Both are NaN where a part of the sum is
        told by a single cluster, whose residuals say nothing about that part.

    Example:
        >>> design = np.column_stack([np.ones(6), [0, 0, 0, 1, 1, 1]])
        >>> residual = np.array([-1.0, 0.0, 1.0, -1.0, 0.0, 1.0])
        >>> se, df = bias_reduced(design, np.ones(6), residual, np.arange(6), np.array([[0, 1]]))
        >>> se.round(3).tolist(), df.round(3).tolist()
        ([0.816], [4.0])
    """
    basis, triangle = np.linalg.qr(np.sqrt(weights)[:, None] * design)
    sums = np.linalg.solve(triangle.T, contrasts.T).T
    rows, error, stretch, starts = _turned(basis, residual, codes)
    per_cluster = partial(np.add.reduceat, indices=starts)
    se, df = np.full((2, len(sums)), np.nan)
    for number, one in enumerate(sums):
        own = rows @ one
        # What every cluster adds to the variance, by expectation: all of it, unless one is alone.
        told = per_cluster(own**2 * (stretch > 0))
        if told.sum() <= (1 - ALONE) * (one @ one):
            continue
        pull = stretch * own
        # Through the fit, clusters' additions covary.
        fitted = per_cluster(pull[:, None] * rows)
        between = ((fitted.T @ fitted) ** 2).sum() - ((fitted**2).sum(axis=1) ** 2).sum()
        se[number] = np.linalg.norm(per_cluster(pull * error))
        df[number] = told.sum() ** 2 / (told @ told + between)
    return se, df


def _turned(
    basis: np.ndarray, residual: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Clusters in their principal axes, where their blocks of the hat matrix are diagonal.

    Rows of the basis (N, k), residuals (N,), their stretch (N,), and the first row of every cluster
    (G,). Clusters of one size are decomposed together. Of one with more rows than the basis has
    columns only the part that its columns span counts, so that no cluster needs a large matrix.
    """
    sizes = np.bincount(codes)
    order, ends = np.argsort(codes, kind="stable"), np.cumsum(sizes)
    parts, ranks = [], []
    for size in np.unique(sizes):
        members = order[ends[sizes == size, None] - np.arange(size, 0, -1)]
        block, error = basis[members], residual[members][..., None]
        if size > basis.shape[1]:
            turn, block = np.linalg.qr(block)
            error = turn.mT @ error
        share, axes = np.linalg.eigh(block @ block.mT)
        rest = 1 - share
        stretch = np.where(rest > ALONE, rest.clip(ALONE) ** -0.5, 0.0)
        rows = axes.mT @ block
        parts.append((rows.reshape(-1, basis.shape[1]), (axes.mT @ error).ravel(), stretch.ravel()))
        ranks += len(members) * [share.shape[1]]
    rows, error, stretch = map(np.concatenate, zip(*parts, strict=True))
    return rows, error, stretch, np.cumsum(ranks) - ranks
