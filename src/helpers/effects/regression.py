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

from helpers.effects.verdicts import holm
from helpers.errors import as_rates, require_columns, require_present
from helpers.resampling import cluster_codes, firth_logits, fit_logits, pattern_counts

Term = str | tuple[str, ...]
RANK_TOLERANCE = 1e-9
MOST_LEVELS = 50
"""A column with more of them is a number that was not cut into bins, or an identifier."""
MOST_COEFFICIENTS = 200
"""Memory grows with the square of their number."""
MOST_KEYS = 2**62
"""Combinations beyond these are numbered anew: products of many numbers of levels overflow."""


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


def complete_rows(frame: pd.DataFrame, needed: Sequence[str], factors: Sequence[str]) -> np.ndarray:
    """Which rows (n,) have a value in all columns `needed`.

    Raises ValueError for an empty frame, a missing column, and a missing level of `factors`.
    """
    require_columns(frame, [*needed, *factors])
    if frame.empty:
        raise ValueError("the frame has no rows")
    for column in factors:
        require_present(frame[column], "a level")
    return np.logical_and.reduce([frame[column].notna() for column in needed])


def read_clusters(frame: pd.DataFrame, cluster: str | None, kept: np.ndarray) -> np.ndarray:
    """Codes of the kept rows' clusters; without a column of them, every row is its own."""
    return np.arange(kept.sum()) if cluster is None else cluster_codes(frame[cluster][kept])[0]


def code_covariate(values: pd.Series) -> tuple[np.ndarray, list]:
    """`code_levels` of a column that gets a coefficient per level; ValueError for too many."""
    code, levels = code_levels(values)
    if len(levels) > MOST_LEVELS:
        raise ValueError(
            f"column {values.name!r} has {len(levels):,} levels: cut it into bins, of which there "
            f"may be {MOST_LEVELS}"
        )
    return code, levels


def code_levels(values: pd.Series) -> tuple[np.ndarray, list]:
    """Code of every row (n,), and the levels that occur: in order of the categories, or sorted.

    The code of a missing value is -1.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.cat.remove_unused_categories()
        return values.cat.codes.to_numpy(np.int64), values.cat.categories.tolist()
    codes, levels = pd.factorize(values.to_numpy(), sort=True)
    return codes, levels.tolist()


def check_size(coefficients: int) -> None:
    """Raise ValueError for a regression that memory might not hold."""
    if coefficients > MOST_COEFFICIENTS:
        raise ValueError(
            f"the regression has {coefficients:,} coefficients, of which there may be "
            f"{MOST_COEFFICIENTS}: use fewer levels, cells or products"
        )


def collapse(codes: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """A row of every distinct combination of codes (P,), and the combination of every row (n,)."""
    key, *rest = codes
    size = int(key.max(initial=0)) + 1
    for code in rest:
        levels = int(code.max(initial=0)) + 1
        if size * levels > MOST_KEYS:
            numbers, key = np.unique(key, return_inverse=True)
            size = len(numbers)
        key, size = key * levels + code, size * levels
    _, first, key = np.unique(key, return_index=True, return_inverse=True)
    return first, key


def independent_columns(design: np.ndarray) -> np.ndarray:
    """Which columns (k,) of a design are no combination of those before them."""
    rest, keep = design.astype(np.float64), np.zeros(design.shape[1], bool)
    size = np.maximum(np.linalg.norm(design, axis=0), np.finfo(float).tiny)
    for column in range(design.shape[1]):
        length = np.linalg.norm(rest[:, column])
        keep[column] = length > RANK_TOLERANCE * size[column]
        if keep[column]:
            axis = rest[:, column] / length
            rest[:, column + 1 :] -= np.outer(axis, axis @ rest[:, column + 1 :])
    return keep


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
