"""The planned comparisons of matched images, a row each, and their verdicts.

An effect *exceeds* the tolerance where the hypothesis that it does not is rejected after Holm's
adjustment; it is *within* where the two one-sided tests of equivalence reject at the level (claims
of equivalence need no adjustment: to call all cells within, each must be); else it is
*inconclusive*. Families that the gate judges are adjusted together (`settle_together`), a control
for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit
from statsmodels.stats.weightstats import DescrStatsW

from faceaudit.plan import cell_name, held_levels
from helpers import effects
from helpers.effects import holm, paired_interval
from helpers.effects.contrasts import contrast_values, factorial_contrasts, outcome_grid
from helpers.effects.verdicts import EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE, WITHIN

Plan = Mapping[str, Any]


def effects_by_cell(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The main family: the effect of every axis on errors in every cell of the others.

    Args:
        frame: of `Audited`.
        plan: of the audit.

    Returns:
        A row per axis and cell: those of `matched_row` and of `judge`, and how strong something
        hidden would have to be: e_value and e_value_limit, gamma (Rosenbaum's Γ of the faces) and
        tipping: what a hidden attribute that moves over its whole range along with the axis would
        have to change the error rate by, to explain what the interval is sure of.
    """
    axes = plan["axes"]
    rows = [
        matched_row(frame, "error", axis, held, plan)
        for axis in axes
        for held in held_levels(axes, axis)
    ]
    return explained(judge(pd.DataFrame(rows), plan["tolerance"], plan["level"]))


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
        A row per axis, of `matched_row` and `judge`, with the cell "all faces".
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
    """
    every = [*plan["axes"], *plan["placebos"]]
    grid = outcome_grid(frame, "error", every, "unit")
    contrasts = factorial_contrasts(every, [2])
    # Where no face is complete there is no value, and no shape of one.
    empty = pd.DataFrame(columns=contrasts.index)
    values = contrast_values(grid, contrasts) if len(grid) else empty
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
    return table.assign(p_holm=holm(table["p"]))


def matched_row(
    frame: pd.DataFrame, outcome: str, axis: str, held: Mapping[str, int], plan: Plan
) -> dict[str, Any]:
    """One comparison, of the faces in one cell (`held`: axis → level; `{}` for all faces).

    Returns:
        Column → value: axis, cell, held, those of `helpers.effects.matched_effects`, exact (one
        pair a face, of outcomes 0 and 1), base_rate (at the low level, in complete pairs),
        faces_worse and faces_better (those with more at the high or at the low level).
    """
    levels = [column for column in frame if column.endswith("_level")]
    inside = np.ones(len(frame), dtype=bool)
    for name, level in held.items():
        inside &= (frame[f"{name}_level"] == level).to_numpy()
    part, place = frame.loc[inside, ["unit", outcome, *levels]], f"{axis}_level"
    row = effects.matched_effects(part, outcome, place, [], "unit", plan["tolerance"]).iloc[0]
    exact = row["n"] == row["transects"] and part[outcome].dropna().isin([0, 1]).all()
    # What pairs lack has no counterpart.
    others = ["unit", *(level for level in levels if level != place)]
    known = part[part[outcome].notna()]
    paired = known[known.groupby(others)[place].transform("size") == 2]
    high = paired[place] == 1
    change = paired[outcome].where(high, -paired[outcome]).groupby(paired["unit"]).sum().round(9)
    return {
        "axis": axis,
        "cell": cell_name(plan["axes"], held),
        "held": dict(held),
        **row.to_dict(),
        "exact": bool(exact),
        "base_rate": float(paired.loc[~high, outcome].mean()),
        "faces_worse": int((change > 0).sum()),
        "faces_better": int((change < 0).sum()),
    }


def explained(table: pd.DataFrame) -> pd.DataFrame:
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


def score_p(worse: ArrayLike, better: ArrayLike, n: ArrayLike, difference: ArrayLike) -> np.ndarray:
    """Two-sided p of Tango's score test that a difference of paired proportions is `difference`.

    The test that `helpers.effects.paired_interval` inverts (Tango, Statistics in Medicine 17 (1998)
    891-908): the interval ends where p is one minus its level.

    Args:
        worse, better: discordant pairs of either kind (...).
        n: all pairs.
        difference: under the hypothesis, strictly between -1 and 1.

    Returns:
        p (...).
    """
    worse, better, n = (np.asarray(count, dtype=np.float64) for count in (worse, better, n))
    delta = np.asarray(difference, dtype=np.float64)
    linear = (2 * n - worse + better) * delta - worse - better
    root = np.sqrt(np.maximum(linear**2 + 8 * n * better * delta * (1 - delta), 0.0))
    variance = n * ((root - linear) / (2 * n) + delta * (1 - delta))
    distance = np.abs(worse - better - n * delta)
    limit = np.where(distance > 0, np.inf, 0.0)
    statistic = np.divide(distance, np.sqrt(variance), out=limit, where=variance > 0)
    return 2 * stdtr(np.inf, -statistic)


def judge(table: pd.DataFrame, tolerance: float, level: float = 0.05) -> pd.DataFrame:
    """Verdicts of one family, adjusted for itself, from the matched effects in it.

    With one pair per face and errors of 0 and 1, the test against the tolerance is `score_p`. For
    averages over several pairs of a face, and for scores, it takes the standard error that the side
    of the interval towards the tolerance implies, with the interval's Student quantiles.

    Args:
        table: columns estimate, low, high, p, n, transects, worse, better and verdict of
            `helpers.effects.matched_effects`, and exact: whether the first test applies.
        tolerance: largest effect that does not matter.
        level: of the family.

    Returns:
        The table with p_holm, p_beyond (of the hypothesis that the effect is not larger than the
        tolerance, in the direction it is found in), p_beyond_holm, verdict, and low_family and
        high_family: simultaneous intervals, by Bonferroni's quantile.
    """
    found = table.copy()
    known, estimate = found["low"].notna(), found["estimate"]
    m = max(int(known.sum()), 1)
    df = np.where(found["exact"], np.inf, (found["transects"] - 1).clip(lower=1))
    approximate = beyond_by_interval(found, tolerance, df, level)
    edge = np.where(estimate < 0, -1.0, 1.0) * tolerance
    exact = score_p(found["worse"], found["better"], found["n"].clip(lower=1), edge)
    p = np.where(found["exact"], exact, approximate)
    larger = np.abs(estimate) > tolerance
    found["p_beyond"] = np.where(known, np.where(larger, np.minimum(p, 1), 1.0), np.nan)
    found["p_holm"] = holm(found["p"])
    quantile, wide = stdtrit(df, 1 - level / 2), stdtrit(df, 1 - level / (2 * m))
    ends = [
        paired_interval(row.worse, row.better, row.n, z)
        if row.exact and not np.isnan(row.low)
        else (
            row.estimate - (row.estimate - row.low) * z / q,
            row.estimate + (row.high - row.estimate) * z / q,
        )
        for row, z, q in zip(found.itertuples(), wide, quantile, strict=True)
    ]
    found["low_family"], found["high_family"] = np.clip(np.array(ends).reshape(-1, 2).T, -1, 1)
    return settled(found, level)


def beyond_by_interval(
    table: pd.DataFrame, tolerance: float, df: ArrayLike, level: float = 0.05
) -> np.ndarray:
    """Two-sided p of an effect no larger than the tolerance, from an interval's near side.

    The side of the interval towards the tolerance implies a standard error; p is below the level
    exactly where the interval lies beyond the tolerance.

    Args:
        table: columns estimate, low and high.
        tolerance: largest effect that does not matter.
        df: degrees of freedom of the interval's Student quantile.
        level: one minus that of the interval.

    Returns:
        p (n,): 1 where the estimate itself is within the tolerance, NaN without an interval.
    """
    estimate, low, high = (table[column].to_numpy(float) for column in ("estimate", "low", "high"))
    side = np.where(estimate > 0, estimate - low, high - estimate)
    distance = np.abs(estimate) - tolerance
    scaled = distance * stdtrit(df, 1 - level / 2)
    # A side of no width is an estimate at the end of what there can be.
    ratio = np.divide(scaled, side, out=np.full(len(side), np.inf), where=side > 0)
    p = np.where(distance > 0, 2 * stdtr(df, -ratio), 1.0)
    return np.where(np.isnan(low) | np.isnan(high), np.nan, p)


def settle_together(
    tables: Mapping[str, pd.DataFrame], families: Iterable[str], level: float
) -> dict[str, pd.DataFrame]:
    """Verdicts of several families, with one error rate for all of them.

    Each family has the same share of the level, and each comparison the same share of its family's,
    so that three averages do not drown among twelve cells. What one rejects passes on to the others
    (Holm 1979, section 4).

    Args:
        tables: family → its comparisons, with the columns that `settled` takes.
        families: those that are judged together.
        level: of all of them.

    Returns:
        The tables, those of the families with new verdicts and the column together: of how many
        comparisons each is one.

    Example:
        >>> table = pd.DataFrame({"p_beyond": [0.03], "verdict": ["exceeds"]})
        >>> other = table.assign(p_beyond=0.9, verdict="inconclusive")
        >>> settle_together({"a": table, "b": other}, ["a", "b"], 0.05)["a"]["verdict"].item()
        'inconclusive'
    """
    judged = pd.concat({name: tables[name] for name in families}, names=["family"])
    estimable = judged["p_beyond"].groupby("family").transform("count").clip(lower=1)
    found = settled(judged, level, 1 / estimable).assign(together=len(judged))
    return dict(tables) | {name: found.loc[name] for name in families}


def settled(table: pd.DataFrame, level: float, weights: ArrayLike = 1.0) -> pd.DataFrame:
    """The table with p_beyond_holm, and verdicts that follow from it and from "within" before.

    `weights` are the comparisons' shares of the level, of `helpers.effects.holm`.
    """
    adjusted = holm(table["p_beyond"], weights)
    states = [np.isnan(adjusted), adjusted < level, table["verdict"] == WITHIN]
    verdicts = np.select(states, [NOT_ESTIMABLE, EXCEEDS, WITHIN], INCONCLUSIVE)
    return table.assign(p_beyond_holm=adjusted, verdict=verdicts)
