"""Differences within matched pairs: two images of one transect that differ in one attribute."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from faceaudit.effects.paired_proportions import mcnemar, paired_interval
from faceaudit.effects.pruning import complete_transects
from faceaudit.effects.risks import code_cells, code_levels, collapse, complete_rows, rows_by_code
from faceaudit.effects.survey_weights import effective_number
from faceaudit.effects.verdicts import holm, mde, verdict
from faceaudit.utils.arguments import as_binary, as_rates, require_distinct
from faceaudit.utils.errors import InputError

EFFECT_COLUMNS = ["estimate", "low", "high", "low90", "high90", "p", "p_holm", "n", "transects"]
EFFECT_COLUMNS += ["missing", "dropped", "worse", "better", "verdict", "mde", "reason"]
FEW_CHANGES = 3.0
"""Effective number of pairs with a change below which the design effect of weights is bounded.

In 45 simulated designs (40 to 400 faces, weights whose logarithms have standard deviations of 1 and
1.5, and 2 to 30% of pairs with an error at the higher level alone), 95% intervals held the truth
in 91 to 99% of the audits without the bound, and in 93% or more with it.
"""
INTERVAL_LIMITS = ("low", "high", "low90", "high90")
"""Ends of the 95% and of the 90% interval."""


def matched_effects(
    frame: pd.DataFrame,
    outcome: str,
    attribute: str,
    by: Sequence[str],
    transect: str,
    tolerance: float = 0.05,
    weight: str | None = None,
    are_rates: bool = False,
) -> pd.DataFrame:
    """Paired risk differences of the two levels of `attribute` within transects, by cell.

    A pair is two images of one transect with equal levels on every other axis: the columns in
    `by` and all that end in `_level`. A cell is a combination of levels of `by`.

    Args:
        frame: one row per image.
        outcome: column of 0 and 1, or in between where it is a rate, such as of several answers.
        attribute: column of the two levels that are compared.
        by: columns of the cells; `[]` averages over all pairs, each pair counting equally.
        transect: column that names the transects.
        tolerance: for the verdict.
        weight: column of survey weights above 0, the same for all images of a transect. Then
            estimates are weighted means, with the design effect that weighted transects have
            (linearisation), and degrees of freedom are one fewer than the effective number of
            transects (`faceaudit.effects.survey_weights.effective_number`).
        are_rates: whether outcomes are rates even where all of them are 0 or 1.

    Returns:
        One row per cell with the columns

        - estimate: risk at the higher level of `attribute` minus at the lower;
        - low, high: 95% interval by Tango's score method, which has a width without any discordant
          pair; where transects give several pairs, with their design effect and Student quantiles;
        - low90, high90: the 90% interval, from which the verdict "within" follows;
        - p: McNemar's mid-p test, or the score test with the design effect (several pairs of a
          transect, rates); p_holm: Holm over the cells;
        - n: complete pairs; transects: those that give one; missing: pairs lacking an image, among
          the transects of `frame`; dropped: images left out, for want of an outcome, a level of
          `attribute` or a transect; worse, better: pairs with an error at the higher (lower) level
          only, or with the higher rate there;
        - verdict: of the interval alone against ±`tolerance`, see `faceaudit.effects.verdict`, from
          which `faceaudit.verdicts.judge` takes "within" but not "exceeds"; mde: the minimum
          detectable effect at the standard error that the width of the interval implies, with the
          quantiles of the interval;
        - reason: why there is no interval ("no pair", "one transect"), else empty.

    Raises:
        ValueError: an empty frame, a missing column, a missing level of another axis, an outcome
            outside of [0, 1], an attribute of more than two levels, or two images in one place of
            a transect.

    Example:
        >>> import pandas as pd
        >>> from faceaudit import effects
        >>> frame = pd.DataFrame({"transect": [0, 0, 1, 1], "skin_level": [0, 1, 0, 1]})
        >>> frame["error"] = [0, 1, 0, 0]
        >>> effects.matched_effects(frame, "error", "skin_level", [], "transect")["estimate"].item()
        0.5
    """
    by = list(by)
    levels = [c for c in frame.columns if str(c).endswith("_level") and c not in by]
    others = [column for column in by + levels if column != attribute]
    if attribute in by:
        raise ValueError(f"{attribute!r} cannot be the attribute and define the cells too")
    complete = complete_rows(frame, [outcome, attribute, transect], others)
    cell, index = code_cells(frame, by)
    coded = {column: code_levels(frame[column]) for column in others}
    clusters, identifiers = pd.factorize(frame[transect])
    # Pairs of one transect and cell: one for every combination of levels of the axes beside `by`.
    combinations_in_cell = [len(names) for column, (_, names) in coded.items() if column not in by]
    expected = len(identifiers) * int(np.prod(combinations_in_cell))

    places = {transect: clusters[complete]}
    for column, (code, _) in coded.items():
        places[column] = code[complete]
    first, difference = _pair_differences(frame[complete], outcome, attribute, places)
    pair_cell = cell[complete][first]
    pair_cluster = clusters[complete][first]
    pair_weight = None if weight is None else frame.loc[complete, weight].to_numpy(float)[first]
    dropped = np.bincount(cell[~complete], minlength=len(index)).tolist()
    rows = [
        _paired_effect(
            difference[inside],
            pair_cluster[inside],
            expected,
            dropped[k],
            None if pair_weight is None else pair_weight[inside],
            are_rates,
        )
        for k, inside in enumerate(rows_by_code(pair_cell, len(index)))
    ]
    table: dict[str, Any] = {column: [row[column] for row in rows] for column in rows[0]}
    table["p_holm"] = holm(table["p"])
    table["verdict"] = verdict(
        table["low"], table["high"], table["low90"], table["high90"], tolerance
    )
    return pd.DataFrame(table, index, EFFECT_COLUMNS)


def effect_of_pairs(
    difference: np.ndarray,
    transect: np.ndarray,
    *,
    expected: int,
    dropped: int,
    tolerance: float = 0.05,
    weight: np.ndarray | None = None,
) -> dict[str, Any]:
    """The one row of `matched_effects` over all pairs (`by=[]`), of pairs that are found already.

    Args:
        difference: (pairs,) outcome at the higher level minus that at the lower one, in [-1, 1].
        transect: (pairs,) number of the transect of each.
        expected: number of pairs if no image was missing.
        dropped: number of images left out.
        tolerance: for the verdict.
        weight: (pairs,) of the transects, above 0; None: all are alike.

    Returns:
        Column → value, as of `matched_effects`.

    Example:
        >>> import numpy as np
        >>> from faceaudit import effects
        >>> found = effects.effect_of_pairs(np.array([1, 0]), np.arange(2), expected=2, dropped=0)
        >>> found["estimate"], found["transects"]
        (0.5, 2)
    """
    effect = _paired_effect(difference, transect, expected, dropped, weight)
    (effect["p_holm"],) = holm([effect["p"]])
    reached = verdict(effect["low"], effect["high"], effect["low90"], effect["high90"], tolerance)
    effect["verdict"] = str(reached)
    return {
        column: effect[column].item() if isinstance(effect[column], np.generic) else effect[column]
        for column in EFFECT_COLUMNS
    }


def all_matched_effects(
    frame: pd.DataFrame,
    outcome: str,
    attributes: Sequence[str],
    transect: str,
    tolerance: float = 0.05,
) -> pd.DataFrame:
    """`matched_effects` of each of the attributes, in every cell of the others and averaged.

    Args:
        frame: one row per image; attribute `a` has its levels in the column `<a>_level`.
        outcome, transect, tolerance: as of `matched_effects`.
        attributes: those that the transects manipulate.

    Returns:
        Rows and keys as those of `faceworld.scorecard.truth.true_effects`: the attribute, then a
        column per attribute with the level at which it is held, or <NA> where it is averaged over
        (and for the attribute itself). `p_holm` covers the cells in which all others are held, of
        all attributes together; averages of them have none.

    Example:
        >>> import pandas as pd
        >>> from faceaudit import effects
        >>> frame = pd.DataFrame({"transect": [0, 0, 1, 1], "skin_level": [0, 1, 0, 1]})
        >>> frame["error"] = [0, 1, 0, 0]
        >>> effects.all_matched_effects(frame, "error", ["skin"], "transect")["attribute"].tolist()
        ['skin']
    """
    tables = []
    for attribute in attributes:
        others = [name for name in attributes if name != attribute]
        for size in range(len(others) + 1):
            for held in combinations(others, size):
                by = {f"{name}_level": name for name in held}
                table = matched_effects(
                    frame, outcome, f"{attribute}_level", list(by), transect, tolerance
                )
                table = table.reset_index(drop=not by).rename(columns=by)
                tables.append(table.assign(attribute=attribute))
    effects = pd.concat(tables, ignore_index=True)
    effects[list(attributes)] = effects.reindex(columns=list(attributes)).astype("Int64")
    cell = effects[list(attributes)].notna().sum(axis=1) == len(attributes) - 1
    effects["p_holm"] = np.nan
    effects.loc[cell, "p_holm"] = holm(effects.loc[cell, "p"])
    first = ["attribute", *attributes]
    return effects[first + [column for column in effects if column not in first]]


def _pair_differences(
    frame: pd.DataFrame, outcome: str, attribute: str, places: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Complete pairs: lower image (m,) and difference in [-1, 1], higher minus lower.

    `places` are the codes (n,) of the columns in which the two images of a pair agree.
    """
    level, levels = code_levels(frame[attribute])
    if len(levels) > 2:
        raise InputError(
            f"column {attribute!r} has the levels {levels}: keep two of them",
            field=attribute,
            found=levels,
            expected="two levels",
        )
    # A constant attribute is the higher level of pairs that lack the lower one.
    higher = level == len(levels) - 1
    rates = as_rates(frame[outcome])
    _, place = collapse(list(places.values()))
    row = np.full((2, place.max(initial=-1) + 1), -1)
    row[higher.astype(int), place] = np.arange(len(frame))
    if (row >= 0).sum() < len(frame):
        require_distinct(frame, [*places, attribute], "place of a transect")
    lower, upper = row[:, (row >= 0).all(axis=0)]
    return lower, rates[upper] - rates[lower]


def _paired_effect(
    difference: np.ndarray,
    cluster: np.ndarray,
    expected: int,
    dropped: int,
    weight: np.ndarray | None = None,
    are_rates: bool = False,
) -> dict[str, Any]:
    """A row of `matched_effects`, of pairs (m,) with codes and weights of their transects."""
    occurring, first, cluster = np.unique(cluster, return_index=True, return_inverse=True)
    n = len(difference)
    transects = len(occurring)
    effective = float(transects)
    # Each pair's part of the mean, times their number.
    part = np.ones(n)
    if weight is not None and n:
        effective = effective_number(weight[first])
        part = weight * (n / weight.sum())
    # Rates count as parts of an error; for errors of 0 and 1 these are the discordant pairs.
    worse = float((part * difference.clip(min=0)).sum())
    better = float(-(part * difference.clip(max=0)).sum())
    binary = not are_rates and bool(np.isin(difference, (-1, 0, 1)).all())
    effect: dict[str, Any] = {
        "estimate": (part * difference).mean() if n else np.nan,
        "n": n,
        "transects": transects,
        "missing": expected - n,
        "dropped": dropped,
        "worse": int((difference > 0).sum()),
        "better": int((difference < 0).sum()),
        "reason": "",
    }
    if n == 0:
        effect["reason"] = "no pair"
    elif transects == 1:
        effect["reason"] = "one transect"
    if effect["reason"]:
        return effect | dict.fromkeys([*INTERVAL_LIMITS, "p", "mde"], np.nan)
    if n == transects and binary and weight is None:
        design_effect = 1.0
        df = np.inf
        p = mcnemar(worse, better)
    else:
        least = transects / n if binary else 0.0
        design_effect = max(_design_effect(difference, cluster, effective, binary, part), least)
        df = max(effective - 1, 1)
        p = 2 * stdtr(df, -abs(worse - better) / np.sqrt((worse + better or 1) * design_effect))
    counts = (worse / design_effect, better / design_effect, n / design_effect)
    quantile = stdtrit(df, 0.975)
    low, high = paired_interval(*counts, quantile)
    low90, high90 = paired_interval(*counts, stdtrit(df, 0.95))
    limits = {"low": low, "high": high, "low90": low90, "high90": high90}
    return effect | limits | {"p": p, "mde": mde((high - low) / (2 * quantile), df=df)}


def _design_effect(
    difference: np.ndarray,
    cluster: np.ndarray,
    effective: float,
    binary: bool,
    part: np.ndarray,
) -> float:
    """Variance of the mean difference with whole transects as units, over that of single pairs.

    The variance of single pairs is the one that errors of 0 and 1 have; rates vary less.
    Differences that are all equal do not show how far they depend on each other: a transect then
    counts as one pair. It also does for rates whose transects do not differ, since the variance
    would be zero.

    Where weights differ and hardly any pair changes, the changes do not show how they go with the
    weights. The design effect is then at least that of weights which have no part in them.

    Args:
        difference: (n,) of the pairs.
        cluster: (n,) number of the transect of each.
        effective: number of transects: where they have weights, the effective one.
        binary: whether the differences are of errors of 0 and 1.
        part: (n,) each pair's part of the mean, times n.
    """
    n = len(difference)
    transects = cluster.max() + 1
    mean = (part * difference).mean()
    residual = part * (difference - mean)
    if (residual**2).sum() < 1e-12:
        return n / effective
    single = (part * np.abs(difference)).sum() - n * mean**2
    clustered = (np.bincount(cluster, residual) ** 2).sum() * transects / (transects - 1)
    if not binary and clustered < 1e-12:
        return n / effective
    design_effect = clustered / single
    changed = difference != 0
    if effective < transects and effective_number(part[changed]) < FEW_CHANGES:
        return max(design_effect, n / effective)
    return design_effect


PRUNING_ARMS = ("all", "pruned", "complete transects", "worst case")
BOUND_COLUMNS = ["estimate", "low", "high", "lower", "upper", "n", "transects", "missing", "reason"]


def pruning_bounds(
    frame: pd.DataFrame, kept: str, outcome: str, attribute: str, by: Sequence[str], transect: str
) -> pd.DataFrame:
    """Matched effects before and after pruning, side by side with worst-case bounds.

    - "all": every image, as if all labels could be trusted;
    - "pruned": pairs of which both images are kept;
    - "complete transects": transects of which every image is kept;
    - "worst case": no estimate, but `lower` and `upper`, between which the mean difference of all
      pairs lies whatever the errors of the dropped images are (Manski, American Economic Review
      80(2) (1990) 319-323: each may be 0 or 1). Their errors are not looked at. `low` and `high`
      are the lower score limit at `lower` and the upper one at `upper`. For any errors of the
      dropped images they hold the interval that `matched_effects` gives of the same pairs, so they
      are never closer together, and cover the effect at least as often.

    Args:
        frame: all generated images; a missing outcome is bounded like a dropped one.
        kept: column that says which images pruning leaves, true or false.
        outcome, attribute, by, transect: columns as for `faceaudit.effects.matched_effects`.

    Returns:
        Index arm (see above), then the cell; columns estimate, low, high, lower, upper, n
        (complete pairs; in the worst case, all of which there was an image), transects, missing (of
        those, pairs that the arm lacks or has to bound), reason (why there is no interval, else
        empty).

    Raises:
        ValueError: as `matched_effects` does, and for a `kept` other than true and false.

    Example:
        >>> import pandas as pd
        >>> from faceaudit import effects
        >>> frame = pd.DataFrame({"t": [0, 0, 1, 1, 2, 2], "skin_level": [0, 1] * 3})
        >>> frame = frame.assign(error=[0, 1, 0, 0, 0, 1], kept=[True] * 5 + [False])
        >>> table = effects.pruning_bounds(frame, "kept", "error", "skin_level", [], "t")
        >>> table.loc["worst case", ["lower", "upper"]].round(2).values.tolist()
        [[0.33, 0.67]]
    """
    by = list(by)
    pruned = frame[as_binary(frame[kept]) == 1]
    complete = complete_transects(pruned, frame.groupby(transect).size().max(), transect)
    unpruned_effects = matched_effects(frame, outcome, attribute, by, transect)

    def arm(images: pd.DataFrame) -> pd.DataFrame:
        """Matched effects of these images, with a row for every cell."""
        table = unpruned_effects[:0]
        if len(images):
            table = matched_effects(images, outcome, attribute, by, transect)
        table = table.reindex(unpruned_effects.index)
        counts = table[["n", "transects"]].fillna(0).astype(np.int64)
        return table.assign(**counts, reason=table["reason"].fillna("no pair"))

    bounds = _pair_bounds(frame, kept, outcome, attribute, by, transect)
    worst = _worst_case(bounds, unpruned_effects, by, transect)
    arms = [unpruned_effects, arm(pruned), arm(complete)]
    arms = [table.assign(missing=worst["n"] - table["n"]) for table in arms]
    tables = [table.reindex(columns=BOUND_COLUMNS) for table in (*arms, worst)]
    return pd.concat(tables, keys=PRUNING_ARMS, names=["arm"])


def _pair_bounds(
    frame: pd.DataFrame, kept: str, outcome: str, attribute: str, by: list[str], transect: str
) -> pd.DataFrame:
    """Least and largest difference of every pair that has an image in `frame`, and its place.

    The place is the transect with the levels of all axes but `attribute`.
    """
    axes = [c for c in frame if str(c).endswith("_level") and c not in (*by, attribute)]
    place = [transect, *by, *axes]
    higher = frame[attribute] == frame[attribute].max()
    error = frame[outcome].astype(float).where(frame[kept].astype(bool))
    images = frame[place].assign(error=error)
    low, high = (images[side].set_index(place)["error"] for side in (~higher, higher))
    low, high = low.align(high, join="outer")
    bounds = {"lower": high.fillna(0) - low.fillna(1), "upper": high.fillna(1) - low.fillna(0)}
    return pd.DataFrame(bounds).assign(unknown=low.isna() | high.isna()).reset_index()


def _worst_case(
    pairs: pd.DataFrame, unpruned_effects: pd.DataFrame, by: list[str], transect: str
) -> pd.DataFrame:
    """Bounds of every cell, from the bounds of its pairs.

    Where no pair is unknown, both bounds are equal, and the interval is that of the matched effects
    of all images.
    """
    cell = _cell_numbers(pairs, unpruned_effects.index, by)
    transects, _ = pd.factorize(pairs[transect])
    lower = pairs["lower"].to_numpy()
    upper = pairs["upper"].to_numpy()
    unknown = pairs["unknown"].to_numpy()
    rows = []
    for number, inside in enumerate(rows_by_code(cell, len(unpruned_effects))):
        n_transects = len(np.unique(transects[inside]))
        row = {
            "lower": lower[inside].mean() if len(inside) else np.nan,
            "upper": upper[inside].mean() if len(inside) else np.nan,
            "n": len(inside),
            "transects": n_transects,
            "missing": int(unknown[inside].sum()),
            "reason": "one transect" if n_transects == 1 else "",
        }
        if len(inside) == 0:
            row["reason"] = "no pair"
        if not row["reason"] and row["missing"] == 0:
            row["low"] = unpruned_effects["low"].iloc[number]
            row["high"] = unpruned_effects["high"].iloc[number]
        elif not row["reason"]:
            low, high = _bounded_interval(lower[inside], upper[inside], transects[inside])
            row["low"] = low
            row["high"] = high
        rows.append(row)
    return pd.DataFrame(rows, index=unpruned_effects.index)


def _cell_numbers(pairs: pd.DataFrame, cells: pd.Index, by: list[str]) -> np.ndarray:
    """Place (n,) of every pair's cell in the index `cells`."""
    if not by:
        return np.zeros(len(pairs), np.int64)
    levels = [pairs[column].astype(object) for column in by]
    if len(by) == 1:
        return cells.get_indexer(pd.Index(levels[0]))
    return cells.get_indexer(pd.MultiIndex.from_arrays(levels))


def _bounded_interval(
    lower: np.ndarray, upper: np.ndarray, transect: np.ndarray
) -> tuple[float, float]:
    """Interval that holds the interval of the same pairs for any errors of the dropped images.

    Both limits of `paired_interval` rise with the difference of every pair, and both move outwards
    as the design effect grows. So the lower limit of the least differences and the upper limit of
    the largest ones, both with the largest design effect that is possible, bound all others. Where
    the known errors are 0 or 1, those of the dropped images are as well.

    Args:
        lower, upper: least and largest difference of every pair (n,).
        transect: codes of the transects (n,), of which there are at least two.
    """
    n = len(lower)
    transects = len(np.unique(transect))
    binary = bool(np.isin(lower, (-1, 0, 1)).all() and np.isin(upper, (-1, 0, 1)).all())
    if n == transects and binary:
        design_effect = 1.0
        df = np.inf
    else:
        known = lower[lower == upper]
        least = transects / n if np.isin(known, (-1, 0, 1)).all() else 0.0
        design_effect = max(_largest_design_effect(lower, upper, transect, binary), least)
        df = transects - 1
    quantile = stdtrit(df, 0.975)
    low, _ = paired_interval(*_discordant(lower, design_effect), n / design_effect, quantile)
    _, high = paired_interval(*_discordant(upper, design_effect), n / design_effect, quantile)
    return low, high


def _discordant(difference: np.ndarray, design_effect: float) -> tuple[float, float]:
    """Pairs that are worse and better at the higher level, as an effective sample size."""
    worse = difference.clip(min=0).sum()
    better = -difference.clip(max=0).sum()
    return worse / design_effect, better / design_effect


def _largest_design_effect(
    lower: np.ndarray, upper: np.ndarray, transect: np.ndarray, binary: bool
) -> float:
    """At least as large as `_design_effect` of any differences between `lower` and `upper` (n,).

    The variance with whole transects as units is largest, and that of single pairs least, at the
    ends of what the mean and the sums of the transects can be. By the inequality of Cauchy and
    Schwarz, no design effect exceeds the most pairs of a transect times T / (T - 1), with T
    transects.
    """
    _, code, pairs_of = np.unique(transect, return_inverse=True, return_counts=True)
    n = len(lower)
    transects = len(pairs_of)
    correction = transects / (transects - 1)
    highest = pairs_of.max() * correction
    least_sum = np.bincount(code, lower)
    largest_sum = np.bincount(code, upper)
    ends = np.array([lower.mean(), upper.mean()])
    from_least = (least_sum - np.outer(ends, pairs_of)) ** 2
    from_largest = (largest_sum - np.outer(ends, pairs_of)) ** 2
    clustered = np.maximum(from_least, from_largest).sum(axis=1).max() * correction

    # Differences add up to no less than those that are known, and to no less than their mean does.
    discordant = np.maximum(np.maximum(lower, -upper), 0).mean()
    means = np.append(ends, np.clip([-discordant, discordant], *ends))
    single = n * (np.maximum(discordant, np.abs(means)) - means**2).min()
    possible = clustered / single if single > clustered / highest else highest
    # Where differences may be all equal, or transects of rates, a transect may count as one pair.
    alike = lower.max() <= upper.min()
    if not binary:
        alike = (least_sum / pairs_of).max() <= (largest_sum / pairs_of).min() + 1e-6
    return max(possible, n / transects) if alike else possible
