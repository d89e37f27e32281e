"""Verdicts of the comparisons of an audit, adjusted together over all that the gate judges.

An effect *exceeds* the tolerance where the hypothesis that it does not is rejected after Holm's
adjustment. It is *within* where the two one-sided tests of equivalence reject at the level. Claims
of equivalence need no adjustment: to call all cells within, each must be. Else it is
*inconclusive*. Families that the gate judges are adjusted together, and a control for itself.

Of a monitored audit, intervals and p-values are those of `Games`, which hold at every look. Holm's
adjustment of them holds at every look as well: it errs only where some p-value of a true hypothesis
is at most the level over their number, and it ever is so for any of them with a chance of at most
the level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from faceaudit import effects, families
from faceaudit.effects.paired_proportions import score_p
from faceaudit.effects.verdicts import beyond_by_interval, settled
from faceaudit.families import Plan
from faceaudit.outcomes import NUMBER, first_outcome, tolerance_of

GAMES = "games"
"""Column of comparisons of a monitored audit: their `Games`, None where there is no interval."""


@dataclass(frozen=True)
class Games:
    """What a confidence sequence says of one comparison, at its share of the level.

    Each release of a model asks about another effect, and has a share of the level. p-values are
    divided by it, and intervals are at the level times it. So they are held against the whole
    level, as those of an audit that is not monitored.

    Attributes:
        sequence: of the differences of the faces.
        share: of the level that the release has.
    """

    sequence: effects.BettingSequence
    share: float

    @classmethod
    def of(cls, differences: np.ndarray, level: float, release: int, tolerance: float) -> Games:
        """The games about differences (faces,) in [-1, 1], in the order of their arrival.

        Args:
            differences: of the faces.
            level: of all releases together.
            release: number of the release, from 1 on.
            tolerance: what the gamblers seek.
        """
        share = effects.share_of_release(release)
        return cls(effects.betting_sequence(differences, level * share, tolerance), share)

    @property
    def estimate(self) -> float:
        """The mean difference of all faces."""
        return float(self.sequence.differences.mean())

    def interval(self, level: float) -> tuple[float, float]:
        """The ends of the interval after all faces; the lower one is the higher if none is left."""
        low, high = self.sequence.interval(level * self.share)
        return low.item(), high.item()

    def p_of_none(self) -> float:
        """Two-sided p of no difference."""
        return self._two_sided(0.0)

    def p_beyond(self, tolerance: float) -> float:
        """Two-sided p of a difference no larger than the tolerance.

        It is 1 where the mean itself is within it.
        """
        return 1.0 if abs(self.estimate) <= tolerance else self._two_sided(tolerance)

    def _two_sided(self, largest: float) -> float:
        p = min(self.sequence.p_of_at_most(largest), self.sequence.p_of_at_least(-largest))
        return float(min(2 * p / self.share, 1.0))


def judge(table: pd.DataFrame, tolerance: ArrayLike, level: float = 0.05) -> pd.DataFrame:
    """Verdicts of one family of matched effects, adjusted for itself.

    With one pair per face and errors of 0 and 1, the test against the tolerance is `score_p`. For
    averages over several pairs of a face, and for scores, it takes the standard error that the side
    of the interval towards the tolerance implies, with the interval's Student quantiles. Those of a
    monitored audit take their games.

    Args:
        table: columns estimate, low, high, p, n, transects, worse, better and verdict of
            `faceaudit.effects.matched_effects`, and exact: whether the first test applies; of a
            monitored audit, the column `GAMES` besides.
        tolerance: largest effect that does not matter, of each row or one for all.
        level: of the family.

    Returns:
        The table with p_holm, p_beyond (of the hypothesis that the effect is not larger than the
        tolerance, in the direction that the estimate has), p_beyond_holm, verdict, and low_family
        and high_family: simultaneous intervals, by Bonferroni's quantile.
    """
    if GAMES in table:
        return _judge_at_every_look(table, tolerance, level)
    family = table.copy()
    exact = family["exact"]
    estimate = family["estimate"]
    known = family["low"].notna()
    degrees_of_freedom = _degrees_of_freedom(family)

    # The test of an effect no larger than the tolerance, in the direction that the effect has.
    edge = np.where(estimate < 0, -1.0, 1.0) * np.asarray(tolerance)
    p = beyond_by_interval(family, tolerance, degrees_of_freedom, level)
    rows = exact.to_numpy(bool)
    counts_of_exact = family.loc[rows, ["worse", "better", "n"]].to_numpy(float)
    worse, better, pairs = counts_of_exact.T
    p[rows] = score_p(worse, better, pairs.clip(min=1), edge[rows])
    p = np.where(np.abs(estimate) > tolerance, p, 1.0)
    family["p_beyond"] = np.where(known, p, np.nan)
    family["p_holm"] = effects.holm(family["p"])
    return settled(with_family_intervals(family, level, _largest_differences(family)), level)


def _judge_at_every_look(table: pd.DataFrame, tolerance: ArrayLike, level: float) -> pd.DataFrame:
    """`judge` of a monitored audit."""
    comparisons = max(int(table["low"].notna().sum()), 1)
    unknown = {"p_beyond": np.nan, "low_family": np.nan, "high_family": np.nan}
    rows = []
    limits = np.broadcast_to(tolerance, len(table))
    for games, limit in zip(table[GAMES], limits, strict=True):
        if games is None:
            rows.append(unknown)
            continue
        low, high = games.interval(level / comparisons)
        p = games.p_beyond(float(limit))
        rows.append({"p_beyond": p, "low_family": low, "high_family": high})
    judged = table.drop(columns=GAMES).join(pd.DataFrame(rows, table.index))
    judged["p_holm"] = effects.holm(table["p"])
    return settled(judged, level)


def with_family_intervals(table: pd.DataFrame, level: float, largest: ArrayLike) -> pd.DataFrame:
    """Matched effects with intervals that hold for all of them at once.

    Args:
        table: columns estimate, low, high, transects and exact, and of exact ones n, worse and
            better.
        level: of all of them.
        largest: (n,) the largest size that each can have: 1 of a difference of rates.

    Returns:
        The table with low_family and high_family, by Bonferroni's quantile.
    """
    degrees_of_freedom = _degrees_of_freedom(table)
    family_quantile = _bonferroni_quantile(table, degrees_of_freedom, level)
    ends = _family_intervals(table, degrees_of_freedom, level, largest)
    counts = table[["worse", "better", "n"]].to_numpy()
    for row in np.flatnonzero(table["exact"] & table["low"].notna()):
        worse, better, n = counts[row]
        ends[row] = effects.paired_interval(worse, better, n, family_quantile[row])
    return table.assign(low_family=ends[:, 0], high_family=ends[:, 1])


def _degrees_of_freedom(table: pd.DataFrame) -> np.ndarray:
    """Those (n,) of the Student quantiles of matched effects; exact ones have the normal's.

    Where faces have weights, their effective number counts.
    """
    units = table.get("effective_units", table["transects"])
    return np.where(table["exact"], np.inf, (units - 1).clip(lower=1))


def _bonferroni_quantile(
    table: pd.DataFrame, degrees_of_freedom: np.ndarray | pd.Series, level: float
) -> np.ndarray:
    """Quantiles (n,) of intervals that hold for all comparisons with an interval at once."""
    comparisons = max(int(table["low"].notna().sum()), 1)
    return np.asarray(stdtrit(degrees_of_freedom, 1 - level / (2 * comparisons)))


def _family_intervals(
    table: pd.DataFrame,
    degrees_of_freedom: np.ndarray | pd.Series,
    level: float,
    largest: ArrayLike,
) -> np.ndarray:
    """Simultaneous intervals (n, 2): the table's, each side as much longer as its quantile.

    They end where the largest difference (n,) does.
    """
    estimate = table["estimate"]
    quantile = stdtrit(degrees_of_freedom, 1 - level / 2)
    family_quantile = _bonferroni_quantile(table, degrees_of_freedom, level)
    below = (estimate - table["low"]).abs() * family_quantile / quantile
    above = (estimate - table["high"]).abs() * family_quantile / quantile
    ends = np.stack([estimate - below, estimate + above], axis=1)
    limit = np.asarray(largest)[:, None]
    return np.clip(ends, -limit, limit)


def _largest_differences(table: pd.DataFrame) -> np.ndarray:
    """The largest difference (n,) that each row can have: 1 of rates, none of numbers.

    A column outcome says where a number is compared, and a column largest that of a trend.
    """
    largest = table.get("largest", pd.Series(1.0, table.index)).to_numpy(float)
    if "outcome" not in table:
        return largest
    return np.where(table["outcome"] == NUMBER, np.inf, largest)


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
    largest = _largest_differences(table)
    ends = _family_intervals(table, degrees_of_freedom, plan["level"], largest)
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
        tables: name → table; those of `faceaudit.families.JUDGED_FAMILIES` are judged together, and
            have the columns that `settled` takes.
        level: of all of them.
        missing: whether the families about missing images, answers or embeddings are judged. If
            none is missing, no test of them can reject; if all are missing for a reason that is
            judged by its name, they would be judged twice. Then they take no share of the level.

    Returns:
        The tables, those of the families with new verdicts and the column together: of how many
        comparisons each is one.

    Example:
        >>> table = pd.DataFrame({"p_beyond": [0.03], "verdict": ["exceeds"]})
        >>> other = table.assign(p_beyond=0.9, verdict="inconclusive")
        >>> tables = {families.CELLS: table, families.AVERAGES: other}
        >>> settle_together(tables, 0.05)[families.CELLS]["verdict"].item()
        'inconclusive'
    """
    about_missing = (families.MISSING, families.ENROLMENT, families.MISSING_GAPS)
    judged = {
        name: tables[name]
        for name in families.JUDGED_FAMILIES
        if name in tables and (missing or name not in about_missing)
    }
    (settled_families,) = settle_audits_together([judged], level)
    return {**tables, **settled_families}


def was_judged(table: pd.DataFrame) -> bool:
    """Whether a family was judged together with others, by `settle_together`."""
    return "together" in table


def settle_audits_together(
    audits: Sequence[Mapping[str, pd.DataFrame]], level: float
) -> list[dict[str, pd.DataFrame]]:
    """Verdicts of the families of several audits, with one error rate for all of them.

    Each audit has the same share of the level, each family the same share of its audit's, and each
    comparison the same share of its family's. So an audit with many further outcomes takes little
    from the others; and since the shares within an audit stay in proportion, no comparison is
    beyond the tolerance together with other audits that is not so in its own.

    Args:
        audits: of each, family → table with the columns that `settled` takes.
        level: of all of them.

    Returns:
        Of each audit its families, with new verdicts and the column together.
    """
    keys = ["audit", "family"]
    tables = {
        (number, name): table
        for number, judged in enumerate(audits)
        for name, table in judged.items()
    }
    together = pd.concat(tables, names=keys)
    p_beyond = together["p_beyond"]
    estimable = p_beyond.groupby(keys).transform("count").clip(lower=1)
    # Families without any estimate are not counted, since they take no share.
    counted = p_beyond.groupby(keys).count().gt(0).groupby("audit").sum().clip(lower=1)
    families_of_audit = counted.reindex(together.index.get_level_values("audit")).to_numpy()
    shares = counted.max() / families_of_audit / estimable
    together = settled(together, level, shares).assign(together=len(together))
    by_family = dict(iter(together.groupby(keys, sort=False)))
    return [
        {name: by_family[number, name].droplevel(keys) for name in judged}
        for number, judged in enumerate(audits)
    ]


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
