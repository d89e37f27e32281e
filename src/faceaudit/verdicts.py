"""Verdicts of the comparisons of an audit, adjusted together over all that the gate judges.

An effect *exceeds* the tolerance where the hypothesis that it does not is rejected after Holm's
adjustment. It is *within* where the two one-sided tests of equivalence reject at the level. Claims
of equivalence need no adjustment: to call all cells within, each must be. Else it is
*inconclusive*. Families that the gate judges are adjusted together, and a control for itself.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from faceaudit import effects, plans
from faceaudit.effects.verdicts import beyond_by_interval, score_p, settled
from faceaudit.plans import Plan


def judge(table: pd.DataFrame, tolerance: float, level: float = 0.05) -> pd.DataFrame:
    """Verdicts of one family, adjusted for itself, from the matched effects in it.

    With one pair per face and errors of 0 and 1, the test against the tolerance is `score_p`. For
    averages over several pairs of a face, and for scores, it takes the standard error that the side
    of the interval towards the tolerance implies, with the interval's Student quantiles.

    Args:
        table: columns estimate, low, high, p, n, transects, worse, better and verdict of
            `faceaudit.effects.matched_effects`, and exact: whether the first test applies.
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
    found["p_beyond"] = np.where(known, np.where(np.abs(estimate) > tolerance, p, 1.0), np.nan)
    found["p_holm"] = effects.holm(found["p"])
    quantile, wide = stdtrit(df, 1 - level / 2), stdtrit(df, 1 - level / (2 * m))
    near, far = ((estimate - found[end]).abs() * wide / quantile for end in ("low", "high"))
    ends, counts = np.stack([estimate - near, estimate + far], 1), found[["worse", "better", "n"]]
    for k in np.flatnonzero(found["exact"] & known):
        ends[k] = effects.paired_interval(*counts.to_numpy()[k], wide[k])
    found["low_family"], found["high_family"] = np.clip(ends.T, -1, 1)
    return settled(found, level)


def with_p_values(table: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Differences between groups of identities with p_holm and p_beyond of `beyond_by_interval`."""
    df = (table["identities"] - 1).clip(lower=1)
    beyond = beyond_by_interval(table, plan["tolerance"], df, plan["level"])
    return table.assign(p_holm=effects.holm(table["p"]), p_beyond=beyond)


def settle_together(
    tables: Mapping[str, pd.DataFrame], level: float, missing: bool = True
) -> dict[str, pd.DataFrame]:
    """Verdicts of several families, with one error rate for all of them.

    Each family has the same share of the level, and each comparison the same share of its family's,
    so that three averages do not drown among twelve cells. What one rejects passes on to the others
    (Holm 1979, section 4).

    Args:
        tables: name → table; those of `faceaudit.plans.JUDGED_FAMILIES` are judged together, and
            have the columns that `settled` takes.
        level: of all of them.
        missing: whether an answer or an embedding is; else no test of the families about that can
            reject, and none takes a share of the level.

    Returns:
        The tables, those of the families with new verdicts and the column together: of how many
        comparisons each is one.

    Example:
        >>> table = pd.DataFrame({"p_beyond": [0.03], "verdict": ["exceeds"]})
        >>> other = table.assign(p_beyond=0.9, verdict="inconclusive")
        >>> tables = {plans.CELLS: table, plans.AVERAGES: other}
        >>> settle_together(tables, 0.05)[plans.CELLS]["verdict"].item()
        'inconclusive'
    """
    void = () if missing else (plans.NO_ANSWER, plans.ENROLMENT, plans.UNANSWERED)
    families = [name for name in plans.JUDGED_FAMILIES if name in tables and name not in void]
    judged = pd.concat({name: tables[name] for name in families}, names=["family"])
    estimable = judged["p_beyond"].groupby("family").transform("count").clip(lower=1)
    found = settled(judged, level, 1 / estimable).assign(together=len(judged))
    return dict(tables) | {name: found.loc[name] for name in families}
