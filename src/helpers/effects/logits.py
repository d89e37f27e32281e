"""Logits on categorical columns: how columns are coded, and the fit of all resamples at once.

Covariates that are levels of attributes leave few distinct patterns, so the trials and errors of
every pattern are all a logit needs. One product of weights and counts gives them for every
resample, and one batched Newton iteration fits all of them (transects, section 5.5, bootstraps the
same logit 1,000 times).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.special import expit, logit

from helpers.utils.checks import require_columns, require_present, require_rows

RANK_TOLERANCE = 1e-9
"""A column is a combination of others when less than this part of it is left."""
MOST_LEVELS = 50
"""A column with more of them is a number that was not cut into bins, or an identifier."""

TOLERANCE = 1e-8
"""Largest change of a linear predictor in the last Newton step; the error left is its square."""
MAX_STEPS = 2000
"""Firth's steps converge slowly where a single image is all there is of a level."""
SEPARATED = 30.0
"""A linear predictor that Newton takes beyond this, without a penalty, has no finite limit."""


def complete_rows(frame: pd.DataFrame, needed: Sequence[str], factors: Sequence[str]) -> np.ndarray:
    """Which rows (n,) have a value in all columns `needed`.

    Raises ValueError for an empty frame, a missing column, and a missing level of `factors`.
    """
    require_columns(frame, [*needed, *factors])
    require_rows(frame)
    for column in factors:
        require_present(frame[column], "a level")
    return np.logical_and.reduce([frame[column].notna() for column in needed])


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


def code_cells(frame: pd.DataFrame, by: Sequence[str]) -> tuple[np.ndarray, pd.Index]:
    """Cell of every row (n,) by the levels of the columns `by`, and the index of all cells.

    Without columns there is one cell, "all".
    """
    cell, levels = np.zeros(len(frame), np.int64), []
    for column in by:
        code, names = code_levels(frame[column])
        cell = cell * len(names) + code
        levels.append(names)
    if not levels:
        return cell, pd.Index(["all"], name="cell")
    if len(levels) == 1:
        return cell, pd.Index(levels[0], name=by[0])
    return cell, pd.MultiIndex.from_product(levels, names=by)


def numbered(code: np.ndarray) -> np.ndarray:
    """Codes (n,) as 0, 1, … in the order of those that occur."""
    return np.unique(code, return_inverse=True)[1]


def rows_by_code(code: np.ndarray, size: int) -> list[np.ndarray]:
    """Rows with each of the codes 0 ... size - 1, ascending: every row is looked at once."""
    ends = np.cumsum(np.bincount(code, minlength=size))
    return np.split(np.argsort(code, kind="stable"), ends[:-1])


def collapse(codes: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """A row of every distinct combination of codes (P,), and the combination of every row (n,)."""
    sizes = [int(code.max(initial=0)) + 1 for code in codes]
    key = np.ravel_multi_index(tuple(codes), sizes)
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


def pattern_counts(
    pattern: np.ndarray, error: np.ndarray, cluster: np.ndarray, n_patterns: int | None = None
) -> csr_array:
    """Trials, then errors, of every pattern in every cluster: (G, 2 P), from codes of rows (n,).

    `weights @ pattern_counts(...)` gives the counts of every resample. P is `n_patterns`, by
    default up to the last one that occurs.
    """
    n_patterns = n_patterns or pattern.max() + 1
    rows = np.concatenate([cluster, cluster])
    columns = np.concatenate([pattern, n_patterns + pattern])
    values = np.concatenate([np.ones(len(error)), error])
    return csr_array((values, (rows, columns)), shape=(cluster.max() + 1, 2 * n_patterns))


def fit_logits(
    patterns: np.ndarray, trials: np.ndarray, errors: np.ndarray, C: float = 1.0
) -> np.ndarray:
    """L2 logit of every resample, as scikit-learn penalises: (B, 1 + p), intercept first and free.

    `patterns` (P, p) are covariates, `trials` and `errors` (B, P) their weighted counts. `C` of
    infinity is no penalty, and needs columns that are independent. A row is NaN when its errors are
    all 0 or all 1 (the intercept is infinite), when another coefficient is infinite for lack of a
    penalty, or when Newton does not converge.
    """
    coefficients = np.full((len(trials), 1 + patterns.shape[1]), np.nan)
    total, wrong = trials.sum(axis=1), errors.sum(axis=1)
    mixed = (wrong > 0) & (wrong < total)
    if mixed.any():
        trials, errors = trials[mixed], errors[mixed]
        # Starting from the fit of the mean counts saves the batch three of its eight steps.
        pooled = [counts.mean(axis=0, keepdims=True) for counts in (trials, errors)]
        start = np.zeros((1, coefficients.shape[1]))
        start[0, 0] = logit(pooled[1].sum() / pooled[0].sum())
        start = _newton(patterns, *pooled, C, start)
        single = len(trials) == 1
        coefficients[mixed] = start if single else _newton(patterns, trials, errors, C, start)
    return coefficients


def firth_logits(patterns: np.ndarray, trials: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Logit with Jeffreys' penalty of every resample, arguments and result as in `fit_logits`.

    Finite for any outcomes, also where the likelihood has no maximum (Firth, Biometrika 80 (1993)
    27-38; Heinze & Schemper, Statistics in Medicine 21 (2002) 2409-2419). Columns must be
    independent.
    """
    start = np.zeros((1, 1 + patterns.shape[1]))
    return _newton(patterns, trials, errors, np.inf, start, firth=True)


def _newton(
    patterns: np.ndarray,
    trials: np.ndarray,
    errors: np.ndarray,
    C: float,
    start: np.ndarray,
    firth: bool = False,
) -> np.ndarray:
    """Newton from `start` (1, 1 + p), with steps that minimise an upper bound of the loss.

    Along a step that changes no linear predictor by more than r, the third derivative of the loss
    is at most r times the second, so a step of log(1 + r) / r never overshoots; it tends to 1.
    """
    design = np.column_stack([np.ones(len(patterns)), patterns])
    size = design.shape[1]
    left, right = np.tril_indices(size)
    products = design[:, left] * design[:, right]
    ridge = np.diag(np.append(0.0, np.full(size - 1, 1 / C)))
    bounded = np.isfinite(C) or firth

    def hessian(weights: np.ndarray) -> np.ndarray:
        matrices = np.empty((len(weights), size, size))
        matrices[:, left, right] = matrices[:, right, left] = weights @ products
        return matrices

    beta = np.repeat(start, len(trials), axis=0)
    predictor = beta @ design.T
    reach = np.full(len(trials), np.inf)
    for _ in range(MAX_STEPS):
        if (reach[np.isfinite(beta[:, 0])] < TOLERANCE).all():
            break
        risk = expit(predictor)
        residual, curvature = errors - trials * risk, trials * risk * (1 - risk)
        if firth:
            # Jeffreys' penalty is half an error and half a success per unit of leverage.
            solved = np.linalg.solve(hessian(curvature), design.T)
            leverage = curvature * np.einsum("pi,bip->bp", design, solved)
            residual += leverage * (0.5 - risk)
            curvature += leverage * risk * (1 - risk)
        gradient = residual @ design - beta @ ridge
        step = np.linalg.solve(hessian(curvature) + ridge, gradient[..., None])[..., 0]
        change = step @ design.T
        reach = np.abs(change).max(axis=1)
        length = np.log1p(reach) / np.maximum(reach, np.finfo(float).tiny)
        beta += length[:, None] * step
        predictor += length[:, None] * change
        if not bounded:
            infinite = np.abs(predictor * (trials > 0)).max(axis=1) > SEPARATED
            beta[infinite], predictor[infinite] = np.nan, 0.0
    beta[reach >= TOLERANCE] = np.nan
    return beta
