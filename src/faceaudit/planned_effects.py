"""The families of comparisons that a plan names, a row per comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.weightstats import DescrStatsW

from faceaudit.planning import (
    cell_name,
    held_levels,
)
from faceaudit.verdicts import judge
from helpers import effects
from helpers.effects.contrasts import contrast_values, factorial_contrasts, outcome_grid

Plan = Mapping[str, Any]
UNIT = "unit"


def effects_by_cell(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The main family: the effect of every axis on errors in every cell of the others.

    Args:
        frame: of `Audited`.
        plan: of the audit.

    Returns:
        A row per axis and cell: axis, cell, held (axis → level), the columns of
        `helpers.effects.matched_effects` and of `faceaudit.verdicts.judge`, base_rate (error
        rate at the low level, in complete pairs), faces_worse and faces_better (those that err more
        often at the high or at the low level), e_value and e_value_limit, gamma (Rosenbaum's Γ of
        these faces, since pairs of one face are not independent) and tipping: what a hidden
        attribute that moves over its whole range along with the axis would have to change the error
        rate by, to explain what the interval is sure of.

    Example:
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> effects_by_cell(data.frame, plan)[["axis", "cell"]].values.tolist()[0]
        ['skin', 'female']
    """
    axes, rows = plan["axes"], []
    for axis in axes:
        for held in held_levels(axes, axis):
            rows.append(matched_row(frame, "error", axis, held, plan))
    table = judge(pd.DataFrame(rows), plan["tolerance"], plan["level"])
    return _explained(table)


def average_effects(
    frame: pd.DataFrame, plan: Plan, outcome: str, axes: Sequence[str] | None = None
) -> pd.DataFrame:
    """The effect of every axis, averaged over all pairs that differ in it alone.

    Args:
        frame: of `Audited`.
        plan: of the audit.
        outcome: column in [0, 1].
        axes: those to compare; by default all of the plan.

    Returns:
        As `effects_by_cell`, with the cell "all faces".

    Example:
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> average_effects(data.frame, plan, "no_answer")["estimate"].tolist()
        [0.0, 0.0]
    """
    rows = [matched_row(frame, outcome, axis, {}, plan) for axis in axes or plan["axes"]]
    return judge(pd.DataFrame(rows), plan["tolerance"], plan["level"])


def interactions(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """How much the effect of one axis differs between the levels of another, by Student's t.

    Units are matched faces with all their images (chapter 10 compares the genders so).

    Args:
        frame: of `Audited`.
        plan: of the audit.

    Returns:
        A row per pair of axes: axis, cell (the other axis), estimate (effect at the high level of
        the other minus at the low one), low, high, p, p_holm, transects; NaN with fewer than two
        complete faces.

    Example:
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> interactions(data.frame, plan)[["axis", "cell"]].values.tolist()
        [['skin', 'gender']]
    """
    every = [*plan["axes"], *plan["placebos"]]
    grid = outcome_grid(frame, "error", every, UNIT)
    contrasts = factorial_contrasts(every, [2])
    # Where no face is complete there is no value, and no shape of one.
    values = (
        contrast_values(grid, contrasts) if len(grid) else pd.DataFrame(columns=contrasts.index)
    )
    rows = []
    for first, second in combinations(plan["axes"], 2):
        name = f"{first} × {second}".replace("_", " ")
        value = values[name, "average" if len(every) > 2 else ""]
        row = {"axis": first, "cell": second, "transects": len(value)}
        row |= dict.fromkeys(("estimate", "low", "high", "p"), np.nan)
        if len(value) > 1 and value.std() > 0:
            found = DescrStatsW(value)
            low, high = found.tconfint_mean(plan["level"])
            row |= {"estimate": found.mean, "low": low, "high": high, "p": found.ttest_mean(0)[1]}
        elif len(value) > 1:
            row["estimate"] = value.mean()
        rows.append(row)
    table = pd.DataFrame(rows)
    return table.assign(p_holm=effects.holm(table["p"]))


def matched_row(
    frame: pd.DataFrame, outcome: str, axis: str, held: Mapping[str, int], plan: Plan
) -> dict[str, Any]:
    """One comparison: a row of `helpers.effects.matched_effects`, and what goes with it.

    Args:
        frame: of `Audited`.
        outcome: column in [0, 1].
        axis: that is compared.
        held: axis → level, of the cell; `{}` for all faces.
        plan: of the audit.

    Returns:
        Column → value: axis, cell, held, those of `matched_effects`, exact, base_rate, faces_worse
        and faces_better.

    Example:
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> matched_row(data.frame, "error", "skin", {"gender": 0}, plan)["n"]
        60
    """
    levels = [column for column in frame if column.endswith("_level")]
    inside = np.ones(len(frame), dtype=bool)
    for name, level in held.items():
        inside &= (frame[f"{name}_level"] == level).to_numpy()
    part = frame.loc[inside, [UNIT, outcome, *levels]]
    row = effects.matched_effects(
        part, outcome, f"{axis}_level", [], UNIT, tolerance=plan["tolerance"]
    ).iloc[0]
    exact = row["n"] == row["transects"] and part[outcome].dropna().isin([0, 1]).all()
    own = {"axis": axis, "cell": cell_name(plan["axes"], held), "held": dict(held)}
    counted = _counted(part, outcome, f"{axis}_level", levels)
    return own | row.to_dict() | {"exact": bool(exact)} | counted


def _counted(
    part: pd.DataFrame, outcome: str, place: str, levels: Sequence[str]
) -> dict[str, float]:
    """What complete pairs say besides: the rate at the low level, and faces by their direction."""
    others = [UNIT, *(level for level in levels if level != place)]
    known = part[part[outcome].notna()]
    paired = known[known.groupby(others)[place].transform("size") == 2]
    high = paired[place] == 1
    change = paired[outcome].where(high, -paired[outcome]).groupby(paired[UNIT]).sum().round(9)
    return {
        # Of the low level in complete pairs; what pairs lack has no counterpart.
        "base_rate": float(paired.loc[~high, outcome].mean()),
        "faces_worse": int((change > 0).sum()),
        "faces_better": int((change < 0).sum()),
    }


def _explained(table: pd.DataFrame) -> pd.DataFrame:
    """How strong something hidden would have to be, beside every effect.

    Γ asks for independent pairs. Those of one face are not, so each face counts once, as a pair of
    its images at the one level and at the other; of these the one or the other errs more often.
    With one pair per face, that is the pair.
    """
    # A ratio to a level without errors has no number; then the other level is the base, so that
    # results which mirror each other have the same values.
    mirrored = (table["base_rate"] == 0) & (table["estimate"] > 0)
    turned = table[["estimate", "low", "high"]].copy()
    turned[mirrored] = -table.loc[mirrored, ["estimate", "high", "low"]].to_numpy()
    base = table["base_rate"].where(~mirrored, table["estimate"]).fillna(0)
    values = effects.e_values(turned, base)
    sure = np.where(table["low"] > 0, table["low"], np.where(table["high"] < 0, table["high"], 0.0))
    return table.assign(
        e_value=values["e_value"],
        e_value_limit=values["e_value_limit"],
        gamma=effects.rosenbaum_gamma(table["faces_worse"], table["faces_better"]),
        tipping=np.abs(sure),
    )
