"""From the ideal experiment to the realistic one: which estimates hold the truth, and what led
the others astray.

The same effects are estimated in several versions of an experiment (*arms*), each one step further
from the ideal, and compared with the effects under intervention. Estimates come from
`helpers.effects.all_matched_effects` and the truth from `helpers.scorecard.truth.effects`; both
have a row per attribute and cell and share their keys: `attribute`, and per attribute the level at
which it is held, <NA> where it is averaged over.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp, norm

from helpers.effects import holm
from helpers.effects.labels import CONTRASTS, LEVEL_NAMES, Z, points


def compare(estimates: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Estimates with the `truth`, its Monte-Carlo error `truth_se`, and whether it is `contained`.

    An estimate without an interval contains everything: it cannot be wrong.

    Args:
        estimates: columns model, arm, the keys, estimate, low, high, named by `name_cells`.
        truth: columns model, the keys, effect, se; one row per model and effect.
    """
    keys = ["model", "attribute", *LEVEL_NAMES]
    known = truth[[*keys, "effect", "se"]].rename(columns={"effect": "truth", "se": "truth_se"})
    table = estimates.merge(known, on=keys, validate="m:1")
    outside = (table["truth"] < table["low"]) | (table["truth"] > table["high"])
    return table.assign(contained=~outside)


def coverage(ladder: pd.DataFrame) -> pd.Series:
    """How often the intervals of some rows of `compare` hold the truth, and how often they should.

    The truth is estimated too, so that even honest intervals hold its estimate less often than
    95 % of the time: `expected` says how often, for normal errors. `allowing` counts the rows in
    which the two agree within both errors together.
    """
    standard_error = (ladder["high"] - ladder["low"]) / (2 * Z)
    inflation = np.hypot(1, ladder["truth_se"] / standard_error)
    gap = ladder["truth"] - ladder["estimate"]
    margin = np.where(
        gap > 0, ladder["high"] - ladder["estimate"], ladder["estimate"] - ladder["low"]
    )
    agree = gap.abs() <= np.hypot(margin, Z * ladder["truth_se"])
    return pd.Series(
        {
            "cells": len(ladder),
            "contained": ladder["contained"].mean(),
            "expected": (2 * norm.cdf(Z / inflation) - 1).mean(),
            "allowing": agree.mean(),
            "median_se": standard_error.median(),
            "median_truth_se": ladder["truth_se"].median(),
        }
    )


def causes(ladder: pd.DataFrame, steps: Mapping[str, str]) -> pd.DataFrame:
    """What each step away from the ideal adds to an estimate, and which step to blame for a miss.

    A cell is missed when the last arm's interval excludes the truth. To blame is the step from
    which on the truth stays outside. The contributions of the steps add up to the difference
    between the last arm's estimate and the truth.

    Args:
        ladder: rows of `compare`; only full cells are used.
        steps: arm → what the step to it adds, from the ideal arm to the last.

    Returns:
        Index model, attribute, cell; columns truth, estimate (of the last arm), one per step with
        its contribution, and cause ("contained" where there is no miss).
    """
    arms, values = list(steps), ["estimate", "contained", "truth"]
    cells = ladder[ladder["scope"] == "cell"]
    wide = cells.pivot_table(values, ["model", "attribute", "cell"], "arm", "first", sort=False)
    estimate, inside = wide["estimate"][arms], wide["contained"][arms].ne(False)
    truth = wide["truth"][arms[0]]
    contributions = estimate.diff(axis=1)
    contributions[arms[0]] = estimate[arms[0]] - truth
    # From right to left: is the truth inside this arm's interval, or that of a later arm?
    returns = inside.astype(int).iloc[:, ::-1].cummax(axis=1).iloc[:, ::-1]
    cause = returns.idxmin(axis=1).map(steps).where(~inside[arms[-1]], "contained")
    table = contributions.rename(columns=steps).rename_axis(columns=None)
    table.insert(0, "truth", truth)
    table.insert(1, "estimate", estimate[arms[-1]])
    return table.assign(cause=cause)


def verdict(gap: float, estimate: float, low: float, high: float, small: float = 0.2) -> str:
    """Whether an observed `gap` in error rates is the effect of the attribute that was blamed.

    Args:
        gap: the observed difference of error rates, in points.
        estimate, low, high: the experiment's effect of the attribute, in points.
        small: share of the gap up to which a clear effect is still no excuse for the blame.
    """
    if gap <= 0:
        return "there was nothing to blame on it"
    if low <= 0 and high >= gap:
        return "undecided: the interval holds both zero and the whole gap"
    if low <= 0 or high < small * gap:
        return "misplaced blame"
    if estimate >= gap:
        return "the blame is right"
    return f"partly right: {estimate:.1f} of {gap:.1f} points are its own"


def tolerated(value: float, margin: float, tolerance: float) -> str:
    """Whether a value, known to within `margin`, lies within plus and minus `tolerance`."""
    if abs(value) + margin <= tolerance:
        return "within"
    if abs(value) - margin > tolerance:
        return "outside"
    side = "outside" if abs(value) > tolerance else "within"
    return f"just {side}, by less than its own error,"


def tally(ladder: pd.DataFrame) -> pd.DataFrame:
    """`coverage` of each model and of all, as counts: cells, contained, allowing; and expected."""
    parts = {name: coverage(part) for name, part in ladder.groupby("model", sort=False)}
    table = pd.DataFrame({**parts, "all": coverage(ladder)}).T
    counts = table[["contained", "allowing"]].mul(table["cells"], axis=0).round()
    counts.insert(0, "cells", table["cells"])
    return counts.astype(int).assign(expected=table["expected"])


def reached(covered: pd.Series, goal: float) -> str:
    """In words: does the share of intervals that hold the truth reach a goal (see `coverage`)?"""
    cells = covered["cells"]
    raw, allowing, expected = covered["contained"], covered["allowing"], covered["expected"]
    marks = ["**reached**" if share >= goal else "**not reached**" for share in (raw, allowing)]
    return (
        f"Of {cells:.0f} intervals, {raw * cells:.0f} ({raw:.1%}) contain the truth as estimated: "
        f"the mark of {goal:.0%} is {marks[0]}. Of honest intervals {expected:.1%} would be "
        "expected, because the truth has a standard error too, typically "
        f"{100 * covered['median_truth_se']:.1f} points where an estimate has "
        f"{100 * covered['median_se']:.1f}; the share is "
        f"{'below' if raw < expected else 'not below'} that. With the truth's own error allowed "
        f"for, {allowing * cells:.0f} agree ({allowing:.1%}): the mark is {marks[1]}."
    )


def verdicts_in_words(cells: pd.DataFrame, attribute: str, tolerance: float) -> str:
    """In words: in how many cells of each model an effect is negligible, or exceeds a tolerance."""
    chosen = cells[cells["attribute"] == attribute]
    lines = []
    for model, part in chosen.groupby("model", sort=False):
        within, exceeds = ((part["verdict"] == state).sum() for state in ("within", "exceeds"))
        lines.append(
            f"- **{model}**: {CONTRASTS[attribute]} lies within ±{tolerance} points in {within} "
            f"of {len(part)} cells, exceeds them in {exceeds}, and is undecided in the rest."
        )
    return "\n".join(lines)


def carried_in_words(direct: pd.DataFrame) -> str:
    """In words: which portions that `effects.direct_effects` eliminates are clear of zero.

    Args:
        direct: index model, attribute, effect.
    """
    carried = direct.xs("total - direct", level="effect")
    clear = carried[(carried["low"] > 0) | (carried["high"] < 0)]
    if clear.empty:
        return "No effect clearly changes when beards and makeup are held where they are."
    rows = zip(clear.index, points(clear), strict=True)
    named = [f"{CONTRASTS[attribute]} in {model}: {text}" for (model, attribute), text in rows]
    return f"The portion eliminated is clear of zero for {'; '.join(named)} points."


def repeated_in_words(repeated: pd.DataFrame, ours: pd.Series, goal: float) -> str:
    """In words: coverage over repeated ideal audits, and how ours compares with them.

    Args:
        repeated: columns audit, contained; audit k has the same faces for all models.
        ours: the row "all" of `tally`.
    """
    share = repeated["contained"].mean()
    marks = {True: "**reached**", False: "**not reached**"}
    counts = repeated.groupby("audit")["contained"].sum()
    low, high = counts.quantile([0.025, 0.975])
    return (
        f"Over {len(counts)} ideal experiments {share:.1%} of all intervals contain the truth: by "
        f"the method the mark of {goal:.0%} is {marks[bool(share >= goal)]}, by this run "
        f"{marks[bool(ours['contained'] >= goal * ours['cells'])]}. A single experiment contains "
        f"between {low:.0f} and {high:.0f} of {ours['cells']:.0f} (the middle 95 %); "
        f"{(counts <= ours['contained']).mean():.0%} of them contain no more than the "
        f"{ours['contained']:.0f} of ours."
    )


def compare_populations(first: pd.DataFrame, second: pd.DataFrame, held: Sequence[str]) -> str:
    """In words: do two samples of faces differ in any parameter but those held?"""
    names = [name for name in first if name not in held]
    p = np.array([ks_2samp(first[name], second[name]).pvalue for name in names])
    return (
        f"Of {len(names)} parameters, {(holm(p) < 0.05).sum()} differ in distribution between the "
        "two samples (Kolmogorov–Smirnov tests, adjusted by Holm's method; the smallest "
        f"unadjusted p is {p.min():.3f})."
    )


def by_gender(table: pd.DataFrame, models: Sequence[str]) -> str:
    """In words: what hair and skin do to women and to men, and for which the two lie further apart.

    Args:
        table: effects named by `name_cells`.
    """
    halves = table[(table["scope"] == "partial average") & table["gender"].notna()]
    halves = 100 * halves.pivot_table("estimate", ["model", "attribute"], "gender")
    lines = []
    for model in models:
        hair, skin = (halves.loc[(model, name)] for name in ("hair_length", "skin_colour"))
        wide, narrow = abs(hair[1] - hair[0]), abs(skin[1] - skin[0])
        lines.append(
            f"- **{model}**: long hair changes errors by {hair[0]:+.1f} points in women and "
            f"{hair[1]:+.1f} in men, dark skin by {skin[0]:+.1f} and {skin[1]:+.1f}. "
            f"Hair by gender is{'' if wide > narrow else ' **not**'} the larger: "
            f"the genders lie {wide:.1f} points apart for hair and {narrow:.1f} for skin."
        )
    return "\n".join(lines)


def misses(blame: pd.DataFrame, steps: Mapping[str, str]) -> pd.DataFrame:
    """The missed cells of `causes`, narrow enough for a page: one effect a row, in points."""
    table = blame[blame["cause"] != "contained"].reset_index()
    short = {"direction error": "directions", "perception": "raters", "estimate": "D"}
    numbers = 100 * table[["truth", "estimate", *steps.values()]]
    table["effect"] = table["attribute"].str.split("_").str[0] + ": " + table["cell"]
    return table[["model", "cause", "effect"]].join(numbers.rename(columns=short))


def sentence(
    model: str, gap: float, women: pd.Series, everybody: pd.Series, tolerance: float
) -> str:
    """What counting, the experiment and the truth say about skin colour in one model.

    Args:
        gap: observed errors of dark- minus light-skinned women, in points.
        women, everybody: rows of `compare` with the effect of skin, averaged.
        tolerance: points up to which an effect would be called negligible.
    """
    word = verdict(gap, *(100 * women[["estimate", "low", "high"]].astype(float)))
    value, margin = 100 * everybody["truth"], 100 * Z * everybody["truth_se"]
    return (
        f"**{model}.** Counted: dark-skinned minus light-skinned women, {gap:+.1f} points. "
        f"Experiment, women: {points(women.to_frame().T)[0]}; truth {100 * women['truth']:+.1f} ± "
        f"{100 * Z * women['truth_se']:.1f}. Skin as the cause of the gap: **{word}**.\n\n"
        f"Averaged over everybody the experiment finds {points(everybody.to_frame().T)[0]} "
        f"points; the truth is {value:+.1f} ± {margin:.1f}, which is "
        f"{'clear' if abs(value) > margin else 'not clear'} of zero and lies "
        f"{tolerated(value, margin, tolerance)} the tolerance of ±{tolerance} points."
    )


def count_flags(table: pd.DataFrame, level: float = 0.05) -> pd.DataFrame:
    """Cells whose Holm-adjusted p-value lies below `level`, by model, attribute and direction.

    Columns raises, lowers (the error rate) and cells, those that were tested.
    """
    cells = table[table["scope"] == "cell"]
    flagged = cells["p_holm"] < level
    counts = {
        "raises": flagged & (cells["estimate"] > 0),
        "lowers": flagged & (cells["estimate"] < 0),
        "cells": cells["p_holm"].notna(),
    }
    by = [cells["model"], cells["attribute"]]
    return pd.DataFrame(counts).groupby(by, sort=False).sum()
