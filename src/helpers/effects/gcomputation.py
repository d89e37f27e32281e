"""Standardised risks by cell and arm, with the influence of every cluster on them.

A risk is what the rate of errors would be if all images of a cell had one level of the treatment
(Hernán & Robins, Causal Inference: What If, chapter 13). Its uncertainty is that of its influence
function summed over the images of a cluster, so that images of a transect need not be independent,
whether the treatment varies within transects (manipulated) or between them (of the seed).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.special import expit

from helpers.effects.batched_logit import MAX_STEPS, TOLERANCE, pattern_counts
from helpers.effects.coding import (
    RANK_TOLERANCE,
    check_size,
    code_covariate,
    code_levels,
    collapse,
    complete_rows,
    independent_columns,
    read_clusters,
)
from helpers.effects.matched import cell_index
from helpers.effects.regression import fit
from helpers.utils.checks import as_rates


@dataclass(frozen=True)
class Rows:
    """Coded rows of the two arms (n,): arm 0 or 1, cell 0 ... C - 1, cluster 0 ... G - 1.

    `dropped` (C,) counts the rows of every cell that lack an outcome, a treatment or a cluster.
    """

    error: np.ndarray
    arm: np.ndarray
    cell: np.ndarray
    cluster: np.ndarray
    covariates: dict[str, tuple[np.ndarray, list]]
    cells: pd.Index
    levels: tuple[str, str]
    unit: str
    dropped: np.ndarray

    @property
    def group(self) -> np.ndarray:
        return 2 * self.cell + self.arm

    def count(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Number, or sum of weights, of the rows of every cell and arm (C, 2)."""
        size = 2 * len(self.cells)
        return np.bincount(self.group, weights, minlength=size).reshape(-1, 2)

    def count_clusters(self) -> tuple[np.ndarray, np.ndarray]:
        """Number of clusters in every cell and arm (C, 2), and in every cell (C,)."""
        size = 2 * len(self.cells)
        shape = -1, len(self.cells), 2
        clusters = self.cluster.max() + 1 if len(self.cluster) else 0
        key = self.cluster * size + self.group
        present = np.bincount(key, minlength=clusters * size).reshape(shape) > 0
        return present.sum(axis=0), present.any(axis=2).sum(axis=0)


@dataclass(frozen=True)
class Risks:
    """Risks (C, 2), NaN without an estimate; influence of the clusters on them (G, C, 2).

    `share` (G, C) is proportional to the variance that every cluster would add to a difference if
    all images varied alike. `obstacle` (C,) says why a cell has no estimate, else it is empty.
    """

    risk: np.ndarray
    influence: np.ndarray
    share: np.ndarray
    obstacle: np.ndarray
    dropped: list[str]
    firth: bool


def read_rows(
    frame: pd.DataFrame,
    outcome: str,
    treatment: str,
    by: str | Sequence[str] | None,
    cluster: str | None,
    contrast: tuple[Hashable, Hashable] | None,
    adjust: Sequence[str],
) -> Rows:
    by = [by] if isinstance(by, str) else list(by or [])
    factors = [treatment, *by, *adjust]
    if len(set(factors)) < len(factors):
        raise ValueError(f"one of the columns {factors} has two roles")
    needed = [outcome, treatment] if cluster is None else [outcome, treatment, cluster]
    complete = complete_rows(frame, needed, [*by, *adjust])
    error = as_rates(frame[outcome])
    code, present = code_levels(frame[treatment])
    if contrast is None and len(present) > 2:
        raise ValueError(
            f"column {treatment!r} has the levels {present}: name two of them as `contrast`"
        )
    low, high = contrast or (*present, None, None)[:2]
    position = {level: k for k, level in enumerate(present)}
    arm = (code == position.get(high, len(present))).astype(np.int64)
    compared = (arm == 1) | (code == position.get(low, len(present)))
    kept = compared & complete

    cells, levels = np.zeros(len(frame), np.int64), []
    for column in by:
        inner, names = code_levels(frame[column])
        cells = cells * len(names) + inner
        levels.append(names)
    index = cell_index(by, levels)
    covariates = {column: code_covariate(frame[column][kept]) for column in adjust}
    return Rows(
        error=error[kept],
        arm=arm[kept],
        cell=cells[kept],
        cluster=read_clusters(frame, cluster, kept),
        covariates=covariates,
        cells=index,
        levels=tuple("" if level is None else f"{treatment} = {level}" for level in (low, high)),
        unit="image" if cluster is None else "cluster",
        dropped=np.bincount(cells[(compared | (code < 0)) & ~complete], minlength=len(index)),
    )


def crude_risks(rows: Rows) -> Risks:
    n, errors = rows.count(), rows.count(rows.error)
    risk = np.divide(errors, n, out=np.full(n.shape, np.nan), where=n > 0)
    weight = 1 / n.ravel()[rows.group]
    residual = weight * (rows.error - risk.ravel()[rows.group])
    cells = len(rows.cells)
    clusters = rows.cluster.max(initial=-1) + 1
    influence = np.bincount(
        rows.cluster * 2 * cells + rows.group, residual, minlength=clusters * 2 * cells
    )
    share = np.bincount(rows.cluster * cells + rows.cell, weight**2, minlength=clusters * cells)
    return Risks(
        risk=risk,
        influence=influence.reshape(clusters, cells, 2),
        share=share.reshape(clusters, cells),
        obstacle=np.full(cells, "", dtype=object),
        dropped=[],
        firth=False,
    )


def adjusted_risks(rows: Rows) -> Risks:
    """Predicted risks; those of an arm without any error, or without any success, are its rates.

    The latter is what maximum likelihood tends to, and keeps Firth's penalty, which draws risks
    towards a half, for what is infinite for other reasons.
    """
    constant = [name for name, (_, levels) in rows.covariates.items() if len(levels) == 1]
    crude = crude_risks(rows)
    mixed = (crude.risk > 0) & (crude.risk < 1)
    if not mixed.any():
        return replace(crude, dropped=constant)

    # Pattern 2 q + a: the q-th combination of cell and covariates, in arm a, observed or not.
    first, place = collapse([rows.cell, *(code for code, _ in rows.covariates.values())])
    cell = np.repeat(rows.cell[first], 2)
    group = 2 * cell + np.tile([0, 1], len(first))
    counts = pattern_counts(2 * place + rows.arm, rows.error, rows.cluster, 2 * len(first))
    trials, errors = np.split(counts.sum(axis=0), 2)
    modelled = mixed.ravel()[group]
    fitted = modelled & (trials > 0)

    columns = _indicators(rows.covariates, first)
    groups = np.flatnonzero(mixed)
    check_size(len(groups) + len(columns))
    design = np.column_stack([group[:, None] == groups, *columns.values()]).astype(np.float64)
    keep = independent_columns(design[fitted])
    told = _told_by_others(design, keep, fitted)
    confounded = np.bincount(cell, modelled & ~told, minlength=len(mixed)) > 0
    obstacle = np.where(confounded, "confounded with the covariates", "").astype(object)
    names = np.array([""] * len(groups) + list(columns), dtype=object)
    dropped = constant + names[~keep].tolist()
    X = design[:, keep]
    coefficients, firth = _fit_groups(X, len(groups), trials * fitted, errors * fitted)
    if not np.isfinite(coefficients).all():
        obstacle[mixed.any(axis=1)] = "the regression does not converge"
        return replace(crude, obstacle=obstacle, dropped=dropped, firth=firth)
    risk = np.where(modelled, expit(X @ coefficients), crude.risk.ravel()[group])
    risk[np.isnan(risk)] = 0.0  # of an arm without images

    average, influence, share = _average_over_cells(rows, counts, group, X, risk, modelled)
    return Risks(
        risk=np.where(mixed, average, crude.risk),
        influence=influence,
        share=share,
        obstacle=obstacle,
        dropped=dropped,
        firth=firth,
    )


def _indicators(
    covariates: dict[str, tuple[np.ndarray, list]], first: np.ndarray
) -> dict[str, np.ndarray]:
    """Columns of all levels but the first, in both arms of the combinations with rows `first`."""
    return {
        f"{name}={level}": np.repeat(code[first] == k, 2)
        for name, (code, levels) in covariates.items()
        for k, level in enumerate(levels)
        if k > 0
    }


def _average_over_cells(
    rows: Rows,
    counts: csr_array,
    group: np.ndarray,
    X: np.ndarray,
    risk: np.ndarray,
    modelled: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Average risks (C, 2), influence (G, C, 2) and share (G, C), from risks of the patterns.

    A cluster moves an average by its errors, through the coefficients (delta method), and by the
    covariates of its images, over which the risks are averaged.
    """
    n = rows.count()
    size, cell = n.sum(axis=1), group // 2
    trials = counts.sum(axis=0)[: len(group)]
    weight = np.repeat(trials.reshape(-1, 2).sum(axis=1), 2) / size[cell]
    average = np.bincount(group, weight * risk, minlength=n.size)
    belongs = (group[:, None] == np.arange(n.size)).astype(np.float64)

    variance = risk * (1 - risk)
    gradient = belongs.T @ ((weight * variance)[:, None] * X)
    information = (X.T * (trials * modelled * variance)) @ X
    slopes = X @ np.linalg.solve(information, gradient.T)
    # Rates that are not modelled: the influence of an error on them.
    slopes[~modelled] = (belongs / np.maximum(n.ravel(), 1))[~modelled]

    deviation = belongs * ((risk - average[group]) / size[cell])[:, None]
    sampled = np.repeat(deviation[0::2] + deviation[1::2], 2, axis=0)
    influence = counts @ np.vstack([sampled - risk[:, None] * slopes, slopes])
    contrast = (slopes[:, 1::2] - slopes[:, 0::2]) ** 2
    share = counts @ np.vstack([contrast, np.zeros_like(contrast)])
    return average.reshape(-1, 2), influence.reshape(-1, len(n), 2), share


def _told_by_others(design: np.ndarray, keep: np.ndarray, fitted: np.ndarray) -> np.ndarray:
    """Rows (P,) whose predictor the fit determines, although some columns are left out of it."""
    left_out = design[:, ~keep]
    relation = np.linalg.lstsq(design[fitted][:, keep], left_out[fitted])[0]
    gap = np.abs(left_out - design[:, keep] @ relation)
    return gap.max(axis=1, initial=0.0) < np.sqrt(RANK_TOLERANCE)


def _fit_groups(
    X: np.ndarray, groups: int, trials: np.ndarray, errors: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Coefficients of the logit whose first columns are indicators of groups; whether by Firth.

    After Firth's fit, the groups' intercepts are estimated again without the penalty, so that the
    mean predicted risk of every group is its rate of errors, as it is of maximum likelihood (Puhr,
    Heinze, Nold, Lusa & Geroldinger, Statistics in Medicine 36 (2017) 2302-2317).
    """
    used = trials > 0
    X, trials, errors = X[used], trials[used], errors[used]
    with_intercept = X.copy()
    with_intercept[:, 0] = 1.0
    coefficients, firth = fit(with_intercept, trials, errors)
    coefficients[1:groups] += coefficients[0]
    if firth and np.isfinite(coefficients).all():
        indicators = X[:, :groups]
        for _ in range(MAX_STEPS):
            risk = expit(X @ coefficients)
            missing = (errors - trials * risk) @ indicators
            step = missing / ((trials * risk * (1 - risk)) @ indicators)
            reach = np.abs(step)
            if reach.max() < TOLERANCE:
                break
            # As in Newton's steps for all coefficients: never too far.
            coefficients[:groups] += np.sign(step) * np.log1p(reach)
    return coefficients, firth


def corrected_influence(rows: Rows, risks: Risks) -> tuple[np.ndarray, np.ndarray]:
    """Influence (G, C, 2) corrected for few clusters in an arm, and degrees of freedom (C,).

    With equal clusters, squares then sum to the variances of the one- and two-sample t test. The
    degrees of freedom are those of Satterthwaite for images that vary alike.
    """
    arms, _ = rows.count_clusters()
    correction = np.sqrt(np.where(arms > 1, arms, np.nan) / np.maximum(arms - 1, 1))
    total, squares = risks.share.sum(axis=0), (risks.share**2).sum(axis=0)
    effective = np.divide(total**2, squares, out=np.ones(total.shape), where=squares > 0)
    return risks.influence * correction, np.maximum(effective - 1, 1)
