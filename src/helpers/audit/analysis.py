"""The analysis that the plan names: effects on errors, by cell and on average, with verdicts.

Every function takes the images as `tables.Audited` has them and the plan, and returns tables whose
rows are comparisons of one family. What is looked at besides (other thresholds, scores, what would
explain an effect away) is kept apart, because nothing of it is adjusted for. Serves chapter 20.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.weightstats import DescrStatsW

from helpers import effects
from helpers.audit.planning import (
    AVERAGES,
    CELLS,
    INTERACTIONS,
    NO_ANSWER,
    PLACEBOS,
    cell_name,
    held_levels,
)
from helpers.audit.tables import Audited
from helpers.audit.verdicts import judge
from helpers.effects.contrasts import contrast_values, factorial_contrasts, outcome_grid

Plan = Mapping[str, Any]
UNIT = "unit"


def analyse(data: Audited, plan: Plan) -> dict[str, pd.DataFrame]:
    """All tables of a report.

    Introduced in chapter 20.

    Args:
        data: the images.
        plan: of `helpers.audit.make_plan`.

    Returns:
        The families of the plan by their names, each with a row per comparison (see
        `effects_by_cell`; "interactions" has estimate, low, high, p and p_holm), and besides them
        "thresholds", "scores", "rates" and "leakage".

    Example:
        >>> from helpers.audit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> tables = analyse(data, plan)
        >>> tables["effects by cell"]["verdict"].tolist()[0]
        'exceeds'
    """
    axes, frame = plan["axes"], data.frame
    found = {CELLS: effects_by_cell(frame, plan), AVERAGES: average_effects(frame, plan, "error")}
    if len(axes) > 1:
        found[INTERACTIONS] = interactions(frame, plan)
    found[NO_ANSWER] = average_effects(frame, plan, "no_answer")
    if plan["placebos"]:
        found[PLACEBOS] = average_effects(frame, plan, "error", plan["placebos"])
    found["thresholds"] = other_thresholds(frame, plan) if data.scored else pd.DataFrame()
    if data.scored:
        found["scores"] = average_effects(_distances(frame), plan, "distance")
    else:
        found["scores"] = pd.DataFrame()
    found["rates"] = rates(frame, axes)
    found["leakage"] = leakage(frame, plan)
    return found


def effects_by_cell(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The main family: the effect of every axis on errors in every cell of the others.

    Introduced in chapter 20.

    Args:
        frame: of `Audited`.
        plan: of the audit.

    Returns:
        A row per axis and cell: axis, cell, held (axis → level), the columns of
        `helpers.effects.matched_effects` and of `helpers.audit.verdicts.judge`, base_rate (error
        rate at the low level, in complete pairs), e_value and e_value_limit, gamma (Rosenbaum's Γ)
        and tipping: what a hidden attribute that moves over its whole range along with the axis
        would have to change the error rate by, to explain what the interval is sure of.

    Example:
        >>> from helpers.audit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> effects_by_cell(data.frame, plan)[["axis", "cell"]].values.tolist()[0]
        ['skin', 'female']
    """
    axes, rows = plan["axes"], []
    for axis in axes:
        for held in held_levels(axes, axis):
            rows.append(_effect(frame, "error", axis, held, plan))
    table = judge(pd.DataFrame(rows), plan["tolerance"], plan["level"])
    return _explained(table)


def average_effects(
    frame: pd.DataFrame, plan: Plan, outcome: str, axes: Sequence[str] | None = None
) -> pd.DataFrame:
    """The effect of every axis, averaged over all pairs that differ in it alone.

    Introduced in chapter 20.

    Args:
        frame: of `Audited`.
        plan: of the audit.
        outcome: column in [0, 1].
        axes: those to compare; by default all of the plan.

    Returns:
        As `effects_by_cell`, with the cell "all faces".

    Example:
        >>> from helpers.audit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> average_effects(data.frame, plan, "no_answer")["estimate"].tolist()
        [0.0, 0.0]
    """
    rows = [_effect(frame, outcome, axis, {}, plan) for axis in axes or plan["axes"]]
    return judge(pd.DataFrame(rows), plan["tolerance"], plan["level"])


def interactions(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """How much the effect of one axis differs between the levels of another, by Student's t.

    Units are matched faces with all their images (chapter 10 compares the genders so).

    Introduced in chapter 20.

    Args:
        frame: of `Audited`.
        plan: of the audit.

    Returns:
        A row per pair of axes: axis, cell (the other axis), estimate (effect at the high level of
        the other minus at the low one), low, high, p, p_holm, transects; NaN with fewer than two
        complete faces.

    Example:
        >>> from helpers.audit.pretended import pretend
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


def other_thresholds(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Average effects where the model's score is cut elsewhere; nothing of it is adjusted.

    Introduced in chapter 20.

    Args:
        frame: of `Audited`, with scores.
        plan: of the audit, whose own threshold is among the rows.

    Returns:
        A row per threshold and axis: threshold, axis, estimate, low, high and rate (of errors).

    Example:
        >>> from helpers.audit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> other_thresholds(data.frame, plan)["threshold"].unique().tolist()
        [0.3, 0.4, 0.5, 0.6, 0.7]
    """
    tables = []
    for threshold in sorted({*plan["other thresholds"], plan["threshold"]}):
        wrong = ((frame["score"] > threshold) != (frame["label"] == 1)).astype(float)
        cut = frame.assign(error=wrong.where(frame["error"].notna()))
        table = average_effects(cut, plan, "error")[["axis", "estimate", "low", "high"]]
        tables.append(table.assign(threshold=threshold, rate=cut["error"].mean()))
    return pd.concat(tables, ignore_index=True)


def rates(frame: pd.DataFrame, axes: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Error rate and images of every combination of levels.

    Introduced in chapter 20.

    Args:
        frame: of `Audited`.
        axes: axis → names of its levels.

    Returns:
        A row per combination: group (in words), images, answered, errors, rate.

    Example:
        >>> from helpers.audit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> rates(data.frame, plan["axes"])["group"].tolist()[0]
        'light, female'
    """
    rows = []
    for levels, part in frame.groupby([f"{axis}_level" for axis in axes]):
        held = dict(zip(axes, levels, strict=True))
        known = part["error"].dropna()
        row = {"group": cell_name(axes, held), "images": len(part)}
        row |= {"answered": int((1 - part["no_answer"]).sum()), "errors": int(known.sum())}
        rows.append(row | {"rate": known.mean() if len(known) else np.nan})
    return pd.DataFrame(rows)


def leakage(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """How far every annotated attribute moves along every axis.

    Introduced in chapter 20.

    Args:
        frame: of `Audited`.
        plan: of the audit; its `annotated` names the columns.

    Returns:
        A row per axis and attribute: axis, attribute, estimate, low, high, differences of mean
        answers in [0, 1], by matched pairs.

    Example:
        >>> from helpers.audit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> len(leakage(data.frame, plan))
        0
    """
    rows = [
        _effect(frame, attribute, axis, {}, plan) | {"attribute": attribute}
        for axis in plan["axes"]
        for attribute in plan["annotated"]
    ]
    return pd.DataFrame(rows, columns=["axis", "attribute", "estimate", "low", "high"])


def _effect(
    frame: pd.DataFrame, outcome: str, axis: str, held: Mapping[str, int], plan: Plan
) -> dict[str, Any]:
    """One comparison, a row of `matched_effects`."""
    levels = [column for column in frame if column.endswith("_level")]
    inside = np.ones(len(frame), dtype=bool)
    for name, level in held.items():
        inside &= (frame[f"{name}_level"] == level).to_numpy()
    part = frame.loc[inside, [UNIT, outcome, *levels]]
    row = effects.matched_effects(
        part, outcome, f"{axis}_level", [], UNIT, tolerance=plan["tolerance"]
    ).iloc[0]
    # Of the low level in complete pairs; what pairs lack has no counterpart.
    exact = row["n"] == row["transects"] and part[outcome].dropna().isin([0, 1]).all()
    base = _base_rate(part, outcome, f"{axis}_level", levels)
    own = {"axis": axis, "cell": cell_name(plan["axes"], held), "held": dict(held)}
    return own | row.to_dict() | {"exact": bool(exact), "base_rate": base}


def _base_rate(part: pd.DataFrame, outcome: str, place: str, levels: Sequence[str]) -> float:
    others = [UNIT, *(level for level in levels if level != place)]
    known = part[part[outcome].notna()]
    paired = known.groupby(others)[place].transform("size") == 2
    low = known[paired & (known[place] == 0)]
    return float(low[outcome].mean()) if len(low) else np.nan


def _distances(frame: pd.DataFrame) -> pd.DataFrame:
    """The images with how far the score is from the right answer."""
    return frame.assign(distance=(frame["score"] - frame["label"]).abs())


def _explained(table: pd.DataFrame) -> pd.DataFrame:
    """How strong something hidden would have to be, beside every effect."""
    values = effects.e_values(table, table["base_rate"].fillna(0))
    whole = table["exact"] & table["n"].gt(0)
    counts = table[["worse", "better"]].where(whole, 0)
    sure = np.where(table["low"] > 0, table["low"], np.where(table["high"] < 0, table["high"], 0.0))
    gamma = effects.rosenbaum_gamma(counts["worse"], counts["better"])
    return table.assign(
        e_value=values["e_value"],
        e_value_limit=values["e_value_limit"],
        gamma=np.where(whole, gamma, np.nan),
        tipping=np.abs(sure),
    )
