"""Scores of estimators over repeated audits: bias, error, coverage, and wrong verdicts.

Tables have a row per audit and cell: model, estimator, audit, cell, truth, estimate, low, high, p.
"""

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from helpers import effects
from helpers.effects.labels import LEVEL_NAMES, Z

SCORES = ("bias", "rmse", "coverage")
WORST = {"bias": "max", "rmse": "max", "coverage": "min", "false_alarm": "max", "missed": "max"}
"""Which end of a score is the bad one."""


def name_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Add `cell`: the attribute that changes and the levels of the others, in words."""
    held = [
        ", ".join(LEVEL_NAMES[name][level] for name, level in row.items() if pd.notna(level))
        for row in table[list(LEVEL_NAMES)].to_dict("records")
    ]
    attribute = table["attribute"].str.split("_").str[0]
    return table.assign(cell=attribute + ": " + pd.Series(held, table.index))


def flag(table: pd.DataFrame, level: float = 0.05) -> pd.DataFrame:
    """Add `flagged`: p below `level` after Holm's adjustment over the cells of an audit."""
    adjusted = table.groupby(["model", "estimator", "audit"])["p"].transform(effects.holm)
    return table.assign(flagged=adjusted < level)


def score(table: pd.DataFrame) -> pd.DataFrame:
    """Bias, RMSE and coverage of every model and estimator, with 95 % Monte-Carlo intervals.

    - bias: root mean square over cells of the mean error, free of the audits' noise: the squares
      are estimated by products of different audits, and may come out below zero, which reads 0;
    - rmse: root mean square error over audits and cells;
    - coverage: share of intervals that hold the truth.

    An audit is one observation, since its cells share their faces. Rows without an estimate are
    left out and counted by `estimable`, the share of the others.

    Args:
        table: columns model, estimator, audit, cell, truth, estimate, low, high.

    Returns:
        Index (model, estimator); columns audits, cells, estimable, and per score its value and
        ends, for example bias, bias_low, bias_high.
    """
    groups = table.groupby(["model", "estimator"], sort=False)
    return pd.DataFrame({key: _score(part) for key, part in groups}).T.rename_axis(
        ["model", "estimator"]
    )


def _score(part: pd.DataFrame) -> dict[str, float]:
    known = part[part["estimate"].notna()]
    summary = {
        "audits": part["audit"].nunique(),
        "cells": part["cell"].nunique(),
        "estimable": len(known) / len(part),
    }
    if known["audit"].nunique() < 2:
        return summary | {end: np.nan for name in SCORES for end in ends_of(name)}
    error = (known["estimate"] - known["truth"]).rename("error")
    inside = known["truth"].between(known["low"], known["high"]).rename("inside")
    wide = known[["audit", "cell"]].join([error, inside]).pivot_table(index="audit", columns="cell")
    errors = wide["error"].to_numpy(float)
    squares = _mean(np.nanmean(errors**2, axis=1))
    for name, values in (("bias", root_mean_square_bias(errors)), ("rmse", _root(*squares))):
        summary |= dict(zip(ends_of(name), values, strict=True))
    share = np.nanmean(wide["inside"].to_numpy(float))
    return summary | dict(zip(ends_of("coverage"), _share(share, len(wide)), strict=True))


def ends_of(name: str) -> tuple[str, str, str]:
    return name, f"{name}_low", f"{name}_high"


def _mean(values: np.ndarray) -> tuple[float, float]:
    """Mean and its standard error."""
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


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


def alarms(table: pd.DataFrame, of: str, large: float = 0.05) -> pd.DataFrame:
    """False alarms and missed biases of every model and estimator, from a table with `flagged`.

    - false_alarm: share of audits of the null control that flag at least one cell;
    - missed: share of cells in which the attribute `of` has an effect beyond `large` that an audit
      does not flag, or flags with the wrong sign.

    NaN for the other models, and where one has no such cells. Intervals are Wilson's, with audits
    as observations.
    """
    nothing = table["model"] == "null"
    much = (table["attribute"] == of) & (table["truth"].abs() > large)
    right = table["flagged"] & (table["estimate"] * table["truth"] > 0)
    keys = [table[name] for name in ("model", "estimator", "audit")]
    per_audit = pd.DataFrame(
        {
            "false_alarm": table["flagged"].where(nothing).groupby(keys, sort=False).max(),
            "missed": (~right).where(much).groupby(keys, sort=False).mean(),
        }
    ).astype(float)
    rows = {}
    for key, part in per_audit.groupby(["model", "estimator"], sort=False):
        rows[key] = {}
        for name, values in part.items():
            known = values.dropna()
            found = _share(known.mean(), len(known)) if len(known) else (np.nan,) * 3
            rows[key] |= dict(zip(ends_of(name), found, strict=True))
    return pd.DataFrame(rows).T.rename_axis(["model", "estimator"])


def worst(scores: pd.DataFrame) -> pd.DataFrame:
    """Each score of every estimator for the model on which it does worst, see `WORST`."""
    return scores.groupby("estimator", sort=False).agg(WORST)


BIAS, COVERAGE, ALARMS, MISSED = 0.01, 0.95, 0.06, 0.05
MARKS = {
    f"bias of more than {100 * BIAS:g} point": lambda scores: scores["bias_low"] > BIAS,
    f"coverage below {COVERAGE:.0%}": lambda scores: scores["coverage_high"] < COVERAGE,
    f"false alarms in more than {ALARMS:.0%} of audits": (
        lambda scores: scores["false_alarm_low"] > ALARMS
    ),
    f"more than {MISSED:.0%} of large effects of skin missed": (
        lambda scores: scores["missed_low"] > MISSED
    ),
}
"""What disqualifies an estimator, if it is so beyond Monte-Carlo error for any model."""


def failures(scores: pd.DataFrame) -> pd.DataFrame:
    """Which of the `MARKS` every estimator (index) fails, from `score` joined with `alarms`."""
    marks = {name: fails(scores) for name, fails in MARKS.items()}
    return pd.DataFrame(marks).groupby("estimator", sort=False).any()
