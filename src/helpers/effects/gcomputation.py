"""Standardised risks of two arms, with the influence of every cluster on them.

A risk is what the rate of errors would be if all images of a cell had one level of the treatment
(Hernán & Robins, Causal Inference: What If, chapter 13). Its uncertainty is that of its influence
function summed over the images of a cluster, so that images of a transect need not be independent,
whether the treatment varies within transects (manipulated) or between them (of the seed).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.special import expit

from helpers.effects.logits import (
    MAX_STEPS,
    RANK_TOLERANCE,
    TOLERANCE,
    code_cells,
    code_covariate,
    code_levels,
    collapse,
    complete_rows,
    firth_logits,
    fit_logits,
    independent_columns,
    numbered,
    rows_by_code,
)
from helpers.resampling import as_codes
from helpers.utils.checks import as_rates


@dataclass(frozen=True)
class Cell:
    """Images of one cell: error (n,), arm (n,) of 0 and 1, cluster (n,) of 0 ... G - 1.

    `covariates` are codes (n,) of the levels that occur, in their order. `dropped` counts the rows
    that lack an outcome, a treatment or a cluster. `levels` are the names of the two arms, "" for a
    level that nobody has; `unit` says what the clusters are.
    """

    error: np.ndarray
    arm: np.ndarray
    cluster: np.ndarray
    covariates: list[np.ndarray]
    dropped: int
    levels: tuple[str, str]
    unit: str

    @cached_property
    def n(self) -> np.ndarray:
        """Images of either arm (2,)."""
        return np.bincount(self.arm, minlength=2)

    @cached_property
    def present(self) -> np.ndarray:
        """Which clusters have an image in either arm (G, 2)."""
        present = np.zeros((self.cluster.max(initial=-1) + 1, 2), bool)
        present[self.cluster, self.arm] = True
        return present


@dataclass(frozen=True)
class Risks:
    """Risks (2,), NaN without an image; influence of the clusters on them (G, 2).

    `share` (G,) is proportional to the variance that every cluster would add to a difference if
    all images varied alike. `obstacle` says why there is no estimate, else it is empty.
    """

    risk: np.ndarray
    influence: np.ndarray
    share: np.ndarray
    obstacle: str = ""
    firth: bool = False


def read_cells(
    frame: pd.DataFrame,
    outcome: str,
    treatment: str,
    by: str | Sequence[str] | None,
    cluster: str | None,
    adjust: Sequence[str],
) -> tuple[list[Cell], pd.Index]:
    """The cells of `by` and their index; arguments and errors as of `risk_differences`."""
    by = [by] if isinstance(by, str) else list(by or [])
    factors = [treatment, *by, *adjust]
    if len(set(factors)) < len(factors):
        raise ValueError(f"one of the columns {factors} has two roles")
    needed = [outcome, treatment] if cluster is None else [outcome, treatment, cluster]
    complete = complete_rows(frame, needed, [*by, *adjust])
    error = as_rates(frame[outcome])[complete]
    arm, present = code_levels(frame[treatment])
    if len(present) > 2:
        raise ValueError(
            f"column {treatment!r} has the levels {present}: a difference compares two, keep two "
            "of them"
        )
    levels = [f"{treatment} = {level}" for level in present] + ["", ""]
    place, index = code_cells(frame, by)
    # Columns are read once for all cells, of which there may be thousands in repeated audits.
    clusters = as_codes(None if cluster is None else frame[cluster][complete], len(error))
    covariates = [code_covariate(frame[column])[0][complete] for column in adjust]
    dropped = np.bincount(place[~complete], minlength=len(index))
    arm = arm[complete]
    cells = [
        Cell(
            error=error[rows],
            arm=arm[rows],
            cluster=numbered(clusters[rows]),
            covariates=[numbered(code[rows]) for code in covariates],
            dropped=int(dropped[number]),
            levels=(levels[0], levels[1]),
            unit="image" if cluster is None else "cluster",
        )
        for number, rows in enumerate(rows_by_code(place[complete], len(index)))
    ]
    return cells, index


def crude_risks(cell: Cell) -> Risks:
    """The rates of errors of the two arms."""
    errors = np.bincount(cell.arm, cell.error, minlength=2)
    risk = np.divide(errors, cell.n, out=np.full(2, np.nan), where=cell.n > 0)
    return _with_influence(cell, risk, np.tile(risk, (len(cell.arm), 1)), _own_slopes(cell))


def adjusted_risks(cell: Cell) -> Risks:
    """Risks predicted by a logit of the arm and the covariates, averaged over the cell's images.

    An arm in which all or none err keeps its rate, which is what maximum likelihood tends to.
    Firth's penalty, which draws risks towards a half, is for what is infinite for other reasons.
    """
    crude = crude_risks(cell)
    mixed = (crude.risk > 0) & (crude.risk < 1)
    if not cell.n.all() or not mixed.any():
        return crude
    # Images with equal levels share their row of the regression, and few rows occur.
    first, pattern = collapse([cell.arm, *cell.covariates])
    arms, n = cell.arm[first], np.bincount(pattern)
    indicators = [code[first] == k for code in cell.covariates for k in range(1, code.max() + 1)]
    covariates = np.column_stack([*indicators, arms])[:, :-1]
    by_arm = [_design(arm, mixed.all(), covariates) for arm in (0, 1)]
    X = np.where(arms[:, None] == 1, by_arm[1], by_arm[0])
    fitted = mixed[arms]
    keep = independent_columns(X[fitted])
    if not all(_told_by_others(X[fitted], by_arm[arm], keep) for arm in np.flatnonzero(mixed)):
        return replace(crude, obstacle="confounded with the covariates")
    X, by_arm = X[:, keep], [design[:, keep] for design in by_arm]
    errors = np.bincount(pattern, cell.error)
    coefficients, firth = _fit(X[fitted], n[fitted], errors[fitted], mixed.sum())
    if not np.isfinite(coefficients).all():
        return replace(crude, obstacle="the regression does not converge", firth=firth)

    predicted, slopes = np.tile(crude.risk, (len(X), 1)), _own_slopes(cell)[first]
    own = expit(X[fitted] @ coefficients)
    information = (X[fitted].T * (n[fitted] * own * (1 - own))) @ X[fitted]
    for arm in np.flatnonzero(mixed):
        risk = predicted[:, arm] = expit(by_arm[arm] @ coefficients)
        gradient = (n * risk * (1 - risk)) @ by_arm[arm] / n.sum()
        slopes[fitted, arm] = X[fitted] @ np.linalg.solve(information, gradient)
    average = np.where(mixed, n @ predicted / n.sum(), crude.risk)
    found = _with_influence(cell, average, predicted[pattern], slopes[pattern])
    return replace(found, firth=firth)


def corrected_influence(cell: Cell, risks: Risks) -> tuple[np.ndarray, float]:
    """Influence (G, 2) corrected for few clusters in an arm, and degrees of freedom.

    With equal clusters, squares then sum to the variances of the one- and two-sample t test. The
    degrees of freedom are those of Satterthwaite for images that vary alike.
    """
    arms = cell.present.sum(axis=0)
    correction = np.sqrt(np.where(arms > 1, arms, np.nan) / np.maximum(arms - 1, 1))
    total, squares = risks.share.sum(), (risks.share**2).sum()
    effective = total**2 / squares if squares > 0 else 1.0
    return risks.influence * correction, max(effective - 1, 1.0)


def _own_slopes(cell: Cell) -> np.ndarray:
    """Influence of an image's error on the rates of both arms (n, 2)."""
    return (cell.arm[:, None] == [0, 1]) / np.maximum(cell.n, 1)


def _with_influence(
    cell: Cell, average: np.ndarray, predicted: np.ndarray, slopes: np.ndarray
) -> Risks:
    """Average risks (2,) with their influence, from every image's risk in either arm (n, 2).

    A cluster moves an average by its errors, through the coefficients (delta method), and by the
    covariates of its images, over which the risks are averaged.
    """
    residual = cell.error - predicted[np.arange(len(predicted)), cell.arm]
    moved = (predicted - average) / max(len(predicted), 1) + slopes * residual[:, None]
    clusters = len(cell.present)
    influence = [np.bincount(cell.cluster, moved[:, arm], minlength=clusters) for arm in (0, 1)]
    contrast = (slopes[:, 1] - slopes[:, 0]) ** 2
    share = np.bincount(cell.cluster, contrast, minlength=clusters)
    return Risks(average, np.column_stack(influence), share)


def _design(arm: int, both: bool, covariates: np.ndarray) -> np.ndarray:
    """Intercept, the arm where both are modelled, and the covariates, of all images in one arm."""
    return np.insert(covariates.astype(np.float64), 0, [[1.0], [arm]] if both else 1.0, axis=1)


def _told_by_others(fitted: np.ndarray, design: np.ndarray, keep: np.ndarray) -> bool:
    """Whether the fit determines all predictors of a design, although it leaves columns out."""
    relation = np.linalg.lstsq(fitted[:, keep], fitted[:, ~keep])[0]
    gap = np.abs(design[:, ~keep] - design[:, keep] @ relation)
    return gap.max(initial=0.0) < np.sqrt(RANK_TOLERANCE)


def _fit(
    X: np.ndarray, trials: np.ndarray, errors: np.ndarray, arms: int
) -> tuple[np.ndarray, bool]:
    """Coefficients of a logit, intercept first, then the arm if there are two; whether by Firth.

    Without a penalty, unless one of them is infinite, as in most of the observational audits of
    chapter 11. After Firth's fit, the intercepts of the arms are estimated again without the
    penalty, so that the mean predicted risk of every arm is its rate of errors, as it is of maximum
    likelihood (Puhr, Heinze, Nold, Lusa & Geroldinger, Statistics in Medicine 36 (2017) 2302-2317).
    """
    coefficients = fit_logits(X[:, 1:], trials[None], errors[None], C=np.inf)[0]
    if np.isfinite(coefficients).all():
        return coefficients, False
    coefficients = firth_logits(X[:, 1:], trials[None], errors[None])[0]
    indicators = np.column_stack([1 - X[:, 1], X[:, 1]]) if arms == 2 else X[:, :1]
    for _ in range(MAX_STEPS if np.isfinite(coefficients).all() else 0):
        risk = expit(X @ coefficients)
        steps = (errors - trials * risk) @ indicators / (trials * risk * (1 - risk) @ indicators)
        if np.abs(steps).max() < TOLERANCE:
            break
        # As in Newton's steps for all coefficients: never too far.
        steps = np.sign(steps) * np.log1p(np.abs(steps))
        coefficients[:arms] += np.diff(steps, prepend=0.0)
    return coefficients, True
