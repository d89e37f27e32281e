"""Verdicts of the comparisons of an audit, adjusted together over all that the gate judges.

An effect *exceeds* the tolerance where the hypothesis that it does not is rejected after Holm's
adjustment. It is *within* where the two one-sided tests of equivalence reject at the level. Claims
of equivalence need no adjustment: to call all cells within, each must be. Else it is
*inconclusive*. Families that the gate judges are adjusted together, and a control for itself.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from faceaudit import effects, plans
from faceaudit.effects.paired_proportions import score_p
from faceaudit.effects.verdicts import beyond_by_interval, settled
from faceaudit.outcomes import NUMBER, first_outcome, tolerance_of
from faceaudit.plans import Plan


def judge(table: pd.DataFrame, tolerance: float, level: float = 0.05) -> pd.DataFrame:
    """Verdicts of one family of matched effects, adjusted for itself.

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
        tolerance, in the direction that the estimate has), p_beyond_holm, verdict, and low_family
        and high_family: simultaneous intervals, by Bonferroni's quantile.
    """
    family = table.copy()
    exact = family["exact"]
    estimate = family["estimate"]
    known = family["low"].notna()
    degrees_of_freedom = np.where(exact, np.inf, (family["transects"] - 1).clip(lower=1))

    # The test of an effect no larger than the tolerance, in the direction that the effect has.
    edge = np.where(estimate < 0, -1.0, 1.0) * tolerance
    p = beyond_by_interval(family, tolerance, degrees_of_freedom, level)
    rows = exact.to_numpy(bool)
    counts_of_exact = family.loc[rows, ["worse", "better", "n"]].to_numpy(float)
    worse, better, pairs = counts_of_exact.T
    p[rows] = score_p(worse, better, pairs.clip(min=1), edge[rows])
    p = np.where(np.abs(estimate) > tolerance, p, 1.0)
    family["p_beyond"] = np.where(known, p, np.nan)
    family["p_holm"] = effects.holm(family["p"])

    family_quantile = _bonferroni_quantile(family, degrees_of_freedom, level)
    ends = _family_intervals(family, degrees_of_freedom, level)
    counts = family[["worse", "better", "n"]].to_numpy()
    for row in np.flatnonzero(exact & known):
        worse, better, n = counts[row]
        ends[row] = effects.paired_interval(worse, better, n, family_quantile[row])
    return settled(family.assign(low_family=ends[:, 0], high_family=ends[:, 1]), level)


def _bonferroni_quantile(
    table: pd.DataFrame, degrees_of_freedom: np.ndarray | pd.Series, level: float
) -> np.ndarray:
    """Quantiles (n,) of intervals that hold for all comparisons with an interval at once."""
    comparisons = max(int(table["low"].notna().sum()), 1)
    return np.asarray(stdtrit(degrees_of_freedom, 1 - level / (2 * comparisons)))


def _family_intervals(
    table: pd.DataFrame, degrees_of_freedom: np.ndarray | pd.Series, level: float
) -> np.ndarray:
    """Simultaneous intervals (n, 2): the table's, each side as much longer as its quantile.

    Differences of rates end at -1 and 1; a column outcome says where a number is compared instead.
    """
    estimate = table["estimate"]
    quantile = stdtrit(degrees_of_freedom, 1 - level / 2)
    family_quantile = _bonferroni_quantile(table, degrees_of_freedom, level)
    below = (estimate - table["low"]).abs() * family_quantile / quantile
    above = (estimate - table["high"]).abs() * family_quantile / quantile
    ends = np.stack([estimate - below, estimate + above], axis=1)
    if "outcome" in table and (table["outcome"] == NUMBER).all():
        return ends
    return np.clip(ends, -1, 1)


def with_p_values(table: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Differences between groups of identities, with tests and intervals of the whole family.

    Returns:
        The table with p_holm, p_beyond of `beyond_by_interval`, and low_family and high_family:
        simultaneous intervals, by Bonferroni's quantile.
    """
    degrees_of_freedom = (table["identities"] - 1).clip(lower=1)
    tolerance = plan["tolerance"]
    if "outcome" in table:  # of portraits; a family about what is missing has no others in it
        tolerance = tolerance_of(table["outcome"].iloc[0], first_outcome(plan), tolerance)
    p_beyond = beyond_by_interval(table, tolerance, degrees_of_freedom, plan["level"])
    ends = _family_intervals(table, degrees_of_freedom, plan["level"])
    return table.assign(
        p_holm=effects.holm(table["p"]),
        p_beyond=p_beyond,
        low_family=ends[:, 0],
        high_family=ends[:, 1],
    )


def beyond_elsewhere(table: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Effects at other thresholds with the adjusted test that each is within the tolerance.

    Args:
        table: columns threshold and p_beyond; a row per threshold and axis.
        plan: of the audit. At its own threshold the verdicts decide, and nothing is tested.

    Returns:
        The table with p_beyond_holm: Holm's adjustment over all other thresholds and axes, so that
        any of them is called beyond the tolerance by mistake at most as often as the level says.
    """
    is_other = table["threshold"] != plan["threshold"]
    return table.assign(p_beyond_holm=effects.holm(table["p_beyond"].where(is_other)))


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
        missing: whether any image, label, answer or embedding is missing. If none is, no test of
            the families about missing ones can reject, and these take no share of the level.

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
    families = [name for name in plans.JUDGED_FAMILIES if name in tables]
    if not missing:
        about_missing = (plans.MISSING, plans.ENROLMENT, plans.MISSING_GAPS)
        families = [name for name in families if name not in about_missing]
    together = pd.concat({name: tables[name] for name in families}, names=["family"])
    estimable = together["p_beyond"].groupby("family").transform("count").clip(lower=1)
    together = settled(together, level, 1 / estimable).assign(together=len(together))
    settled_tables = dict(tables)
    for name in families:
        settled_tables[name] = together.loc[name]
    return settled_tables


def judged_effects(
    frame: pd.DataFrame,
    outcome: str,
    attributes: Sequence[str],
    transect: str,
    tolerance: float,
    level: float = 0.05,
) -> pd.DataFrame:
    """Matched effects of one model, with the verdicts of `judge` in place of those of intervals.

    Args:
        frame, outcome, attributes, transect: as of `faceaudit.effects.all_matched_effects`.
        tolerance, level: as of `judge`.

    Returns:
        The rows of `faceaudit.effects.all_matched_effects` with p_beyond_holm. It is adjusted over
        the cells in which all other attributes are held, and `verdict` follows from it. Averages
        have neither.

    Raises:
        ValueError: as of `faceaudit.effects.matched_effects`.

    Example:
        Dark skin with long hair adds 8 errors in 40 faces. In two cells the interval lies beyond
        the tolerance, and the test that is adjusted over four cells does not reject.

        >>> levels = pd.MultiIndex.from_product(
        ...     [range(40), (0, 1), (0, 1)], names=["face", "skin_level", "hair_level"]
        ... )
        >>> frame = levels.to_frame(index=False)
        >>> frame["error"] = frame.eval("skin_level * hair_level * (face < 8)")
        >>> table = judged_effects(frame, "error", ["skin", "hair"], "face", tolerance=0.05)
        >>> cells = table.dropna(subset="verdict")
        >>> int((cells["low"] > 0.05).sum()), set(cells["verdict"])
        (2, {'inconclusive'})
    """
    table = effects.all_matched_effects(frame, outcome, attributes, transect, tolerance)
    held = table[list(attributes)].notna().sum(axis=1)
    cells = table[held == len(attributes) - 1]
    one_pair_a_face = cells["n"] == cells["transects"]
    is_binary = frame[outcome].dropna().isin([0, 1]).all()
    judged = judge(cells.assign(exact=one_pair_a_face & is_binary), tolerance, level)
    # Rows without a value in `judged` are averages, and get none.
    return table.assign(verdict=judged["verdict"], p_beyond_holm=judged["p_beyond_holm"])
