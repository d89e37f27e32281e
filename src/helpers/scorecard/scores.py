"""Scores of estimators over repeated audits: bias, error, coverage, and shares of audits.

Tables have a row per audit and cell, with the columns model, estimator, audit, cell, truth,
estimate, low, high, p (`helpers.scorecard.audits`).
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from helpers.effects import labels
from helpers.effects.labels import Z


def name_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Name cells as `helpers.effects.labels.name_cells`, with the attribute that changes before.

    Args:
        table: a row for every cell.

    Returns:
        The table with a column cell.
    """
    attribute = table["attribute"].str.split("_").str[0]
    named = labels.name_cells(table)
    return named.assign(cell=attribute + ": " + named["cell"])


def score(table: pd.DataFrame) -> pd.DataFrame:
    """Bias, RMSE and coverage of every model and estimator, with 95 % Monte-Carlo intervals.

    - bias: root mean square over cells of the mean error, free of the audits' noise: the squares
      are estimated by products of different audits, and may come out below zero, which reads 0;
    - rmse: root mean square error over audits and cells;
    - coverage: share of intervals that hold the truth.

    An audit is one observation, since its cells share their faces. Rows without an estimate are
    left out and counted by `estimable`, the share of the others.

    Args:
        table: columns model, estimator, audit, cell, truth, estimate, low, high; fractions.

    Returns:
        Index (model, estimator); columns audits, cells, estimable, and per score its value and
        ends, for example bias, bias_low, bias_high.
    """
    groups = table.groupby(["model", "estimator"], sort=False)
    scores = pd.DataFrame({key: _score(part) for key, part in groups}).T
    return scores.rename_axis(["model", "estimator"])


def _score(part: pd.DataFrame) -> dict[str, float]:
    known = part[part["estimate"].notna()]
    audits = known["audit"].nunique()
    summary = {
        "audits": part["audit"].nunique(),
        "cells": part["cell"].nunique(),
        "estimable": len(known) / len(part),
    }
    nothing = [np.nan] * 3
    bias, rmse, coverage = nothing, nothing, nothing
    if audits > 1:
        inside = known["truth"].between(known["low"], known["high"])
        known = known.assign(error=known["estimate"] - known["truth"])
        errors = known.pivot_table("error", "audit", "cell").to_numpy(float)
        squares = np.nanmean(errors**2, axis=1)
        bias = root_mean_square_bias(errors)
        rmse = _root(squares.mean(), squares.std(ddof=1) / np.sqrt(len(squares)))
        coverage = _share(inside.mean(), audits)
    return summary | _ends("bias", bias) | _ends("rmse", rmse) | _ends("coverage", coverage)


def _ends(name: str, values: Iterable[float]) -> dict[str, float]:
    """A value and the ends of its interval by the names of their columns."""
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def root_mean_square_bias(errors: np.ndarray) -> tuple[float, float, float]:
    """Size of the mean errors of several quantities, and its 95 % interval.

    The squared means are estimated by products of different rows, so the rows' noise adds nothing;
    the interval is a jackknife's. Estimates below zero read 0.

    Args:
        errors: (n, quantities), rows independent; NaN where there is none.
    """
    n = np.isfinite(errors).sum(axis=0)
    filled = np.nan_to_num(errors)
    total, squares = filled.sum(axis=0), (filled**2).sum(axis=0)

    def mean_square(total: np.ndarray, squares: np.ndarray, n: np.ndarray) -> np.ndarray:
        return ((total**2 - squares) / (n * (n - 1))).mean(axis=-1)

    without = mean_square(total - filled, squares - filled**2, n - np.isfinite(errors))
    rows = len(errors)
    spread = np.sqrt((rows - 1) / rows * ((without - without.mean()) ** 2).sum())
    return _root(float(mean_square(total, squares, n)), spread)


def _root(square: float, spread: float) -> tuple[float, float, float]:
    """Root of an estimated square, with its interval."""
    ends = np.array([square, square - Z * spread, square + Z * spread])
    return tuple(np.sqrt(ends.clip(0)))


def _share(share: float, n: int) -> tuple[float, float, float]:
    """A share with its Wilson interval, if it were of `n` independent observations."""
    return share, *proportion_confint(share * n, n, method="wilson")


def share_of_audits(table: pd.DataFrame, of: Mapping[str, str]) -> pd.DataFrame:
    """Shares of audits by model and estimator, with Wilson intervals that count audits.

    Args:
        table: columns model, estimator, audit, and those of `of`: 0 or 1 per cell, NaN where the
            question does not arise.
        of: column → how the cells of one audit are joined: "max" for any of them, "mean" for a
            share of them.

    Returns:
        Index (model, estimator); per column its mean over audits and the ends of the interval, for
        example missed, missed_low, missed_high; NaN where the question arises in no audit.
    """
    per_audit = table.groupby(["model", "estimator", "audit"], sort=False)[list(of)].agg(of)
    rows = {}
    for key, part in per_audit.groupby(["model", "estimator"], sort=False):
        rows[key] = {}
        for name, values in part.items():
            known = values.dropna()
            found = _share(known.mean(), len(known)) if len(known) else [np.nan] * 3
            rows[key] |= _ends(name, found)
    return pd.DataFrame(rows).T.rename_axis(["model", "estimator"])


def departures(
    versions: np.ndarray, reference: np.ndarray, attributes: Sequence[str]
) -> pd.DataFrame:
    """Typical difference between the effects in versions of an experiment and in a reference.

    Both have the same faces, so what the faces contribute cancels.

    Args:
        versions: (V, n, 2, …, 2) errors, 0 or 1.
        reference: (n, 2, …, 2), for example under intervention.
        attributes: names of the axes.

    Returns:
        Columns version, attribute, and the root mean square over the attribute's cells: value, low,
        high (see `root_mean_square_bias`), in fractions.
    """
    excess = versions - reference
    rows = []
    for axis, attribute in enumerate(attributes):
        change = excess.take(1, axis + 2) - excess.take(0, axis + 2)
        for version, errors in enumerate(change.reshape(*change.shape[:2], -1)):
            rows.append((version, attribute, *root_mean_square_bias(errors)))
    return pd.DataFrame(rows, columns=["version", "attribute", "value", "low", "high"])
