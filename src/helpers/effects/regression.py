"""Unpenalised logit with reference coding and interactions: contrasts of log odds.

The clusters (transects) are the units of inference: the sandwich estimator sums the scores of a
cluster before squaring them (Liang & Zeger, Biometrika 73 (1986) 13-22).
"""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.special import expit, stdtr, stdtrit

from helpers.effects.batched_logit import firth_logits, fit_logits, pattern_counts
from helpers.effects.coding import (
    RANK_TOLERANCE,
    check_size,
    code_covariate,
    collapse,
    complete_rows,
    independent_columns,
    read_clusters,
)
from helpers.effects.equivalence import holm
from helpers.utils.checks import as_rates

Term = str | tuple[str, ...]


def logit(
    frame: pd.DataFrame,
    outcome: str,
    terms: Sequence[Term],
    cluster: str | None = None,
    contrasts: Mapping[str, Mapping[str, float]] | None = None,
) -> pd.DataFrame:
    """Logit of `outcome` on categorical columns: log odds ratios and their intervals.

    An outcome is 0 or 1, or in between where it is a rate, such as of several answers for an image.

    A term is a column, or several for the products of their levels: `["skin", "gender", ("skin",
    "gender")]`. The first level of every column is its reference. Coefficients are called
    "intercept", "skin=dark", "skin=dark x gender=male"; `contrasts` are weighted sums of them, as
    {"in men": {"skin=dark": 1, "skin=dark x gender=male": 1}}. A row per contrast, or without any
    per coefficient, with the columns

    - estimate, se, low, high: log odds (ratio), standard error by the sandwich clustered by
      `cluster` (None: rows are independent) with the usual correction for few clusters, 95 %
      interval with Student quantiles of clusters - 1 degrees of freedom;
    - p, p_holm: of a zero; Holm over the rows other than the intercept;
    - reason: why something is NaN ("one cluster", "all outcomes are 0", "confounded with other
      terms", "every image lacks its outcome or cluster"), else empty.

    Rows without an outcome or a cluster are left out; `attrs["left_out"]` counts them. Where a
    coefficient would be infinite, all get Firth's penalty: `attrs["firth"]` is then true, and a
    standard error is the larger one of the sandwich's and the model's. `attrs["dropped"]` names
    the columns that are constant. Raises ValueError for an empty frame, a missing column or level,
    more than `MOST_LEVELS` levels of a column or `MOST_COEFFICIENTS` coefficients, an outcome
    outside of [0, 1], and contrasts of coefficients that do not exist.
    """
    terms = [(term,) if isinstance(term, str) else tuple(term) for term in terms]
    factors = list(dict.fromkeys(column for term in terms for column in term))
    kept = complete_rows(frame, [outcome] if cluster is None else [outcome, cluster], factors)
    levels = {column: code_covariate(frame[column]) for column in factors}
    coded = {column: (code[kept], names) for column, (code, names) in levels.items()}
    error, codes = as_rates(frame[outcome][kept]), read_clusters(frame, cluster, kept)
    first, pattern = collapse([np.zeros(len(error), int), *(code for code, _ in coded.values())])
    columns = {"intercept": np.ones(len(first))}
    for term in terms:
        columns |= _products({name: (coded[name][0][first], coded[name][1]) for name in term})
    check_size(len(columns))
    design = np.column_stack(list(columns.values()))
    weights = _weights(contrasts, list(columns))
    if kept.any():
        counts = pattern_counts(pattern, error, codes)
        table, firth = _estimates(design, counts, weights.to_numpy())
    else:
        table = pd.DataFrame(np.nan, range(len(weights)), ["estimate", "se", "low", "high", "p"])
        table, firth = table.assign(reason="every image lacks its outcome or cluster"), False
    table = table.set_index(weights.index)
    table["p_holm"] = holm(table["p"].where(table.index != "intercept"))
    table["reason"] = table.pop("reason")
    table.attrs["firth"] = firth
    table.attrs["left_out"] = int((~kept).sum())
    table.attrs["dropped"] = [name for name, (_, levels) in coded.items() if len(levels) == 1]
    return table


def _estimates(
    design: np.ndarray, counts: csr_array, weights: np.ndarray
) -> tuple[pd.DataFrame, bool]:
    """Estimate, se, low, high, p and reason of weighted sums (R, k) of coefficients; if by Firth.

    `design` (P, k) are the patterns that occur, `counts` (G, 2 P) from `pattern_counts`.
    """
    df = counts.shape[0] - 1
    trials, errors = np.split(counts.sum(axis=0), 2)
    rest = np.abs(weights - weights @ np.linalg.pinv(design) @ design).max(axis=1)
    identified = rest < np.sqrt(RANK_TOLERANCE)
    reason = np.where(identified, "" if df else "one cluster", "confounded with other terms")
    if not 0 < errors.sum() < trials.sum():
        identified[:] = False
        reason = np.full(len(weights), f"all outcomes are {int(errors.sum() > 0)}")

    keep = independent_columns(design)
    coefficients, sandwich, model, firth = _fit(design[:, keep], counts)
    if not np.isfinite(coefficients).all():
        reason = np.where(identified, "the regression does not converge", reason)
    L = weights[:, keep]
    variances = [np.einsum("ri,ij,rj->r", L, matrix, L) for matrix in (sandwich, model)]
    estimate = np.where(identified, L @ coefficients, np.nan)
    se = np.sqrt(np.maximum(*variances) if firth else variances[0])
    margin = stdtrit(df, 0.975) * se
    columns = {"estimate": estimate, "se": np.where(identified, se, np.nan)}
    columns |= {"low": estimate - margin, "high": estimate + margin}
    columns |= {"p": 2 * stdtr(df, -np.abs(estimate / se)), "reason": reason}
    return pd.DataFrame(columns), firth


def fit(design: np.ndarray, trials: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, bool]:
    """Coefficients (k,) of a logit on independent columns, the first all ones; whether by Firth.

    Without a penalty, unless one of the coefficients is infinite.
    """
    patterns, trials, errors = design[:, 1:], trials[None], errors[None]
    coefficients = fit_logits(patterns, trials, errors, C=np.inf)[0]
    if np.isfinite(coefficients).all():
        return coefficients, False
    return firth_logits(patterns, trials, errors)[0], True


def _products(factors: Mapping[str, tuple[np.ndarray, list]]) -> dict[str, np.ndarray]:
    """Indicator of every combination of the factors' levels, those with a reference left out."""
    indicators = [
        [(f"{name}={level}", code == k) for k, level in enumerate(levels) if k > 0]
        for name, (code, levels) in factors.items()
    ]
    return {
        " x ".join(name for name, _ in parts): np.prod([column for _, column in parts], axis=0)
        for parts in product(*indicators)
    }


def _weights(contrasts: Mapping[str, Mapping[str, float]] | None, names: list[str]) -> pd.DataFrame:
    if contrasts is None:
        return pd.DataFrame(np.eye(len(names)), index=names, columns=names)
    unknown = sorted({name for weights in contrasts.values() for name in weights} - set(names))
    if unknown:
        raise ValueError(f"no coefficient {unknown}; the regression has {names}")
    return pd.DataFrame(contrasts).T.reindex(columns=names).fillna(0.0)


def _fit(design: np.ndarray, counts: csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Coefficients (k,), the sandwich's and the model's covariance (k, k), whether by Firth."""
    trials, errors = np.split(counts.sum(axis=0), 2)
    coefficients, firth = fit(design, trials, errors)
    risk = expit(design @ coefficients)
    model = np.linalg.inv((design.T * (trials * risk * (1 - risk))) @ design)
    scores = counts @ np.vstack([-risk[:, None] * design, design])
    clusters, n, k = counts.shape[0], trials.sum(), design.shape[1]
    if clusters < 2:
        return coefficients, np.full_like(model, np.nan), model, firth
    # The correction of Stata and statsmodels.
    correction = clusters / (clusters - 1) * (n - 1) / max(n - k, 1)
    return coefficients, correction * model @ (scores.T @ scores) @ model, model, firth
