"""Unpenalised logit with reference coding and interactions: contrasts of log odds (chapter 11).

The clusters (transects) are the units of inference: the sandwich sums the scores of a cluster
before squaring them, and is corrected for few clusters as `helpers.effects.few_clusters` says.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.generalized_linear_model import GLM, GLMResults
from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

from helpers.effects.few_clusters import bias_reduced
from helpers.effects.logits import (
    RANK_TOLERANCE,
    code_cells,
    code_covariate,
    complete_rows,
    independent_columns,
    numbered,
    rows_by_code,
)
from helpers.effects.verdicts import holm
from helpers.resampling import as_codes
from helpers.utils.checks import as_rates

Term = str | tuple[str, ...]
COLUMNS = ["estimate", "se", "df", "low", "high", "p"]


def logit(
    frame: pd.DataFrame,
    outcome: str,
    terms: Sequence[Term],
    cluster: str | None = None,
    contrasts: Mapping[str, Mapping[str, float]] | None = None,
    by: Sequence[str] = (),
) -> pd.DataFrame:
    """Logit of `outcome` on categorical columns: log odds ratios and their intervals.

    statsmodels' GLM; what is added are the coding, standard errors that hold with few clusters, and
    the reasons for what cannot be estimated.

    Args:
        frame: one row per image. Rows without an outcome or a cluster are left out.
        outcome: column of 0 and 1, or in between where it is a rate, such as of several answers.
        terms: columns, or tuples of them for the products of their levels: `["skin", "gender",
            ("skin", "gender")]`. The first level of every column is its reference. Coefficients
            are called "intercept", "skin=dark", "skin=dark x gender=male".
        cluster: column of the units of inference; None: rows are independent.
        contrasts: weighted sums of coefficients, as
            {"in men": {"skin=dark": 1, "skin=dark x gender=male": 1}}; by default each of them.
        by: columns of the cells, each of which has a regression of its own.

    Returns:
        A row per contrast, or per cell and contrast, with the columns

        - estimate, se: log odds (ratio) and standard error by the bias-reduced sandwich, CR2;
        - df, low, high: Satterthwaite's degrees of freedom for this contrast, of which there are
          few where few clusters have a level, and the 95 % interval with their Student quantiles;
        - p, p_holm: of a zero; Holm over the rows of a regression other than the intercept;
        - reason: why something is NaN ("one cluster" where no other has a level, "all outcomes are
          0", "separated: a coefficient would be infinite", "confounded with other terms", "every
          image lacks its outcome or cluster"), else empty.

    Raises:
        ValueError: an empty frame, a missing column or level, an outcome outside of [0, 1], more
            than `logits.MOST_LEVELS` levels of a column, or contrasts of unknown coefficients.

    Example:
        >>> import pandas as pd
        >>> from helpers import effects
        >>> dark, error = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 0, 1, 1, 1]
        >>> frame = pd.DataFrame({"dark": dark, "error": error})
        >>> effects.logit(frame, "error", ["dark"])["estimate"].round(3).tolist()
        [-1.099, 2.197]
    """
    terms = [(term,) if isinstance(term, str) else tuple(term) for term in terms]
    factors = list(dict.fromkeys(column for term in terms for column in term))
    kept = complete_rows(
        frame, [outcome] if cluster is None else [outcome, cluster], [*factors, *by]
    )
    levels = {column: code_covariate(frame[column]) for column in factors}
    columns = {"intercept": np.ones(kept.sum())}
    for term in terms:
        columns |= _products({name: (levels[name][0][kept], levels[name][1]) for name in term})
    weights = _weights(contrasts, list(columns))
    error = as_rates(frame[outcome][kept])
    codes = as_codes(None if cluster is None else frame[cluster][kept], len(error))
    design = np.column_stack([*columns.values()])
    place, index = code_cells(frame, by)
    tables = []
    for rows in rows_by_code(place[kept], len(index)):
        table = _estimates(design[rows], error[rows], numbered(codes[rows]), weights)
        table.insert(len(COLUMNS), "p_holm", holm(table["p"].where(table.index != "intercept")))
        tables.append(table)
    return pd.concat(tables, keys=index) if by else tables[0]


def _estimates(
    design: np.ndarray, error: np.ndarray, codes: np.ndarray, weights: pd.DataFrame
) -> pd.DataFrame:
    """`COLUMNS` and reason of weighted sums (R, k) of the coefficients of a design (n, k)."""
    table = pd.DataFrame(np.nan, weights.index, COLUMNS)
    if not len(error):
        return table.assign(reason="every image lacks its outcome or cluster")
    if error.min() == error.max() and error[0] in (0, 1):
        return table.assign(reason=f"all outcomes are {error[0]:.0f}")
    keep = independent_columns(design)
    fitted = _fit(design[:, keep], error)
    if fitted is None:
        return table.assign(reason="separated: a coefficient would be infinite")
    L = weights.to_numpy()
    rest = np.abs(L - L @ np.linalg.pinv(design) @ design).max(axis=1)
    identified = rest < np.sqrt(RANK_TOLERANCE)
    estimate = L[:, keep] @ fitted.params
    spread = fitted.family.variance(fitted.fittedvalues)
    se, df = bias_reduced(design[:, keep], spread, fitted.resid_pearson, codes, L[:, keep])
    margin = stdtrit(df, 0.975) * se
    p = 2 * stdtr(df, -np.abs(estimate / se))
    found = np.column_stack([estimate, se, df, estimate - margin, estimate + margin, p])
    table = pd.DataFrame(np.where(identified[:, None], found, np.nan), weights.index, COLUMNS)
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
