"""All tables of a report: images matched by face, and pairs of pictures.

An effect *exceeds* the tolerance where the hypothesis that it does not is rejected after Holm's
adjustment; it is *within* where the two one-sided tests of equivalence reject at the level (claims
of equivalence need no adjustment: to call all cells within, each must be); else it is
*inconclusive*. Families that the gate judges are adjusted together (`settle_together`), a control
for itself. Beside them stand other thresholds, scores, rates and leakage: nothing of these is
adjusted for.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit
from statsmodels.stats.weightstats import DescrStatsW

from faceaudit import effects
from faceaudit import plan as plans
from faceaudit.effects.contrasts import outcome_grid
from faceaudit.effects.verdicts import EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE, WITHIN
from faceaudit.pairs import Pairs
from faceaudit.plan import Plan, cell_name, held_levels
from faceaudit.tables import Audited
from faceaudit.verification.bootstrap import disparities, vertex_bootstrap
from faceaudit.verification.curves import by_group
from faceaudit.wording import fault

PairColumns = tuple[pd.Series, pd.Series, pd.Series, np.ndarray]
"""Similarity, whether it is one person, group, and both identities of every pair."""
RESAMPLES = 1000
ALIKE = 0.5
"""Between the similarity of an image to itself with an embedding, 1, and without, 0."""


def analyse(data: Audited, plan: Plan) -> dict[str, pd.DataFrame]:
    """All tables of a report about matched images.

    Args:
        data: the images.
        plan: of `faceaudit.make_plan`.

    Returns:
        The families of the plan by their names, each with a row per comparison (see
        `judge`; "interactions" has estimate, low, high, p and p_holm), and besides
        them "thresholds", "scores", "rates", "manipulation" (how far people saw every axis move
        along itself) and "leakage" (every other attribute along it).
    """
    frame, found = data.frame, {plans.CELLS: effects_by_cell(data.frame, plan)}
    if len(plan["axes"]) > 1:
        found[plans.AVERAGES] = average_effects(frame, plan, "error")
        found[plans.INTERACTIONS] = interactions(frame, plan)
    found[plans.NO_ANSWER] = average_effects(frame, plan, "no_answer")
    found = settle_together(found, plan["level"], frame["no_answer"].any())
    if plan["placebos"]:
        found[plans.PLACEBOS] = average_effects(frame, plan, "error", plan["placebos"])
        found["placebos, no answer"] = average_effects(frame, plan, "no_answer", plan["placebos"])
    if data.scored:
        found["thresholds"] = other_thresholds(frame, plan)
        distance = (frame["score"] - frame["label"]).abs()
        found["scores"] = average_effects(frame.assign(distance=distance), plan, "distance")
    found["rates"] = _rates(frame, plan["axes"])
    moved = _moved(frame, plan)
    own = moved["axis"] == moved["attribute"]
    found["manipulation"], found["leakage"] = moved[own], moved[~own]
    return found


def other_thresholds(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Average effects where the score is cut elsewhere, and at the audit's own threshold.

    Returns:
        A row per threshold and axis: axis, estimate, low, high, threshold and rate (of errors).
    """
    tables = []
    for threshold in sorted({*plan["other thresholds"], plan["threshold"]}):
        wrong = ((frame["score"] > threshold) != (frame["label"] == 1)).astype(float)
        cut = frame.assign(error=wrong.where(frame["error"].notna()))
        table = average_effects(cut, plan, "error")[["axis", "estimate", "low", "high"]]
        tables.append(table.assign(threshold=threshold, rate=cut["error"].mean()))
    return pd.concat(tables, ignore_index=True)


def _rates(frame: pd.DataFrame, axes: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Images, answers, errors and error rate of every combination of levels."""
    frame = frame.assign(answered=1 - frame["no_answer"])
    cells = frame.groupby([f"{axis}_level" for axis in axes])
    counts = {"images": ("unit", "size"), "answered": ("answered", "sum")}
    table = cells.agg(**counts, errors=("error", "sum"), rate=("error", "mean"))
    names = [cell_name(axes, dict(zip(axes, levels, strict=True))) for levels, _ in cells]
    table.insert(0, "group", names)
    return table.astype({"answered": int, "errors": int}).reset_index(drop=True)


def _moved(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """How far people's mean answers in [0, 1] differ along every axis, by matched pairs."""
    seen = {name: name for name in plan["annotated"]}
    if plan["attribute"] in plan["axes"]:  # of which the label says what people saw
        seen.setdefault(plan["attribute"], "label")
    rows = [
        matched_row(frame, column, axis, {}, plan) | {"attribute": attribute}
        for axis in plan["axes"]
        for attribute, column in seen.items()
        if attribute == axis or column != "label"
    ]
    return pd.DataFrame(rows, columns=["axis", "attribute", "estimate", "low", "high"])


# --- the planned comparisons of matched images, and their verdicts


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
    places = [(axis, held) for axis in axes for held in held_levels(axes, axis)]
    return explained(_compared_in(places, frame, "error", plan))


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
    return _compared_in([(axis, {}) for axis in axes or plan["axes"]], frame, outcome, plan)


def _compared_in(
    places: Iterable[tuple[str, Mapping]], frame: pd.DataFrame, outcome: str, plan: Plan
) -> pd.DataFrame:
    rows = [matched_row(frame, outcome, axis, held, plan) for axis, held in places]
    return judge(pd.DataFrame(rows), plan["tolerance"], plan["level"])


def interactions(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """How much the effect of one axis differs between the levels of another, by Student's t.

    Units are matched faces with all their images (note N10 compares the genders so).

    Args:
        frame: of `Audited`.
        plan: of the audit.

    Returns:
        A row per pair of axes: axis, cell (the other axis), estimate (effect at the high level of
        the other minus at the low one), low, high, p, p_holm, transects; NaN with fewer than two
        complete faces.
    """
    every = [*plan["axes"], *plan["placebos"]]
    grid, rows = outcome_grid(frame, "error", every, "unit"), []
    for first, second in combinations(plan["axes"], 2):
        effect = np.diff(grid, axis=1 + every.index(first))
        differ = np.diff(effect, axis=1 + every.index(second))
        value = differ.mean(axis=tuple(range(1, grid.ndim)))  # over all other axes, for each face
        low = high = p = np.nan
        if len(value) > 1 and value.std() > 0:
            found = DescrStatsW(value)
            (low, high), p = found.tconfint_mean(plan["level"]), found.ttest_mean(0)[1]
        row = {"axis": first, "cell": second, "other": second, "transects": len(value)}
        estimate = value.mean() if len(value) > 1 else np.nan
        rows.append(row | {"estimate": estimate, "low": low, "high": high, "p": p})
    return pd.DataFrame(rows).assign(p_holm=lambda table: effects.holm(table["p"]))


def matched_row(
    frame: pd.DataFrame, outcome: str, axis: str, held: Mapping[str, int], plan: Plan
) -> dict[str, Any]:
    """One comparison, of the faces in one cell (`held`: axis → level; `{}` for all faces).

    Returns:
        Column → value: axis, contrast, cell, held, those of `faceaudit.effects.matched_effects`,
        exact (one pair a face, of outcomes 0 and 1), base_rate (at the low level, in complete
        pairs), faces_worse and faces_better (those with more at the high or at the low level).
    """
    levels, place = [column for column in frame if column.endswith("_level")], f"{axis}_level"
    inside = (frame[[f"{name}_level" for name in held]] == [*held.values()]).all(axis=1)
    part = frame.loc[inside, ["unit", outcome, *levels]]
    row = effects.matched_effects(part, outcome, place, [], "unit", plan["tolerance"]).iloc[0]
    exact = row["n"] == row["transects"] and part[outcome].dropna().isin([0, 1]).all()
    others = ["unit", *(level for level in levels if level != place)]
    pairs = part.pivot_table(outcome, others, place, dropna=False).reindex(columns=[0, 1]).dropna()
    change = (pairs[1] - pairs[0]).groupby("unit").sum().round(9)
    low, high = (plan["axes"] | plan["placebos"])[axis]
    found = {"axis": axis, "contrast": f"{high} instead of {low}", "held": dict(held)}
    found |= {"cell": cell_name(plan["axes"], held), **row.to_dict(), "exact": bool(exact)}
    found["base_rate"] = float(pairs[0].mean())
    return found | {"faces_worse": (change > 0).sum(), "faces_better": (change < 0).sum()}


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
    values = effects.e_values(turned, base)[["e_value", "e_value_limit"]]
    gamma = effects.rosenbaum_gamma(table["faces_worse"], table["faces_better"])
    sure = np.maximum(table["low"], -table["high"]).clip(lower=0).fillna(0)
    return table.join(values).assign(gamma=gamma, tipping=sure)


def score_p(worse: ArrayLike, better: ArrayLike, n: ArrayLike, delta: ArrayLike) -> np.ndarray:
    """Two-sided p of Tango's score test that a difference of paired proportions is `delta`.

    The test that `faceaudit.effects.paired_interval` inverts (Tango, Statistics in Medicine 17
    (1998) 891-908): the interval ends where p is one minus its level.

    Args:
        worse, better: discordant pairs of either kind (...).
        n: all pairs.
        delta: the difference under the hypothesis, strictly between -1 and 1.

    Returns:
        p (...).
    """
    worse, better, n = (np.asarray(count, dtype=np.float64) for count in (worse, better, n))
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
        tables: name → table; those of `faceaudit.plan.JUDGED` are judged together, and have the
            columns that `settled` takes.
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
    families = [name for name in plans.JUDGED if name in tables and name not in void]
    judged = pd.concat({name: tables[name] for name in families}, names=["family"])
    estimable = judged["p_beyond"].groupby("family").transform("count").clip(lower=1)
    found = settled(judged, level, 1 / estimable).assign(together=len(judged))
    return dict(tables) | {name: found.loc[name] for name in families}


def settled(table: pd.DataFrame, level: float, weights: ArrayLike = 1.0) -> pd.DataFrame:
    """The table with p_beyond_holm, and verdicts that follow from it and from "within" before.

    `weights` are the comparisons' shares of the level, of `faceaudit.effects.holm`.
    """
    adjusted = effects.holm(table["p_beyond"], weights)
    states = [np.isnan(adjusted), adjusted < level, table["verdict"] == WITHIN]
    verdicts = np.select(states, [NOT_ESTIMABLE, EXCEEDS, WITHIN], INCONCLUSIVE)
    return table.assign(p_beyond_holm=adjusted, verdict=verdicts)


# --- pairs of pictures


def analyse_pairs(data: Pairs, plan: Plan) -> dict[str, pd.DataFrame]:
    """Error rates of a recogniser by group at one threshold, and how they differ from a reference.

    FRTE-style: one threshold for all groups, given, or set so that the reference group's FMR is at
    most the one asked for; ratios are to the reference. Intervals of rates are those of the vertex
    bootstrap, and those of differences of the dyadic-robust score (chapter 15). Both take
    identities as the units. Where the threshold is set by this sample, the intervals take it as
    given.

    Args:
        data: the pairs.
        plan: of `faceaudit.make_plan`.

    Returns:
        "rates": a row per group: group, threshold, fnmr, fnmr_low, fnmr_high, fmr, fmr_low,
        fmr_high, positives, negatives, fnmr_ratio, fmr_ratio and reason; "error rates by group": a
        row per measure and other group, of `faceaudit.verification.disparities`, with p_beyond (of
        a difference no larger than the tolerance) and Holm's adjustment over all of them. Where a
        recogniser was asked, also "enrolment": a row per group: group, images, identities,
        failures, rate, low, high; and "failures to enrol by group", which is judged together with
        the error rates where there is any.

    Raises:
        ValueError: the FMR asked for is below what the negatives of the reference can show.
    """
    frame, vertices = data.frame, data.frame[["first", "second"]].to_numpy()
    pairs = frame["similarity"], frame["same"], frame["group"], vertices
    threshold = _threshold(pairs, plan, data.source)
    table, compared = _compared(pairs, threshold, plan, plans.MEASURES)
    # A group without a pair has rates at no threshold.
    table = table.assign(threshold=threshold)
    base = table.set_index("group").loc[plan["reference"]]
    for rate in ("fnmr", "fmr"):
        table[f"{rate}_ratio"] = table[rate] / base[rate] if base[rate] > 0 else np.nan
    found = {"rates": table.reset_index(drop=True), plans.GROUPS: compared}
    if data.images is not None:
        found |= _enrolment(data.images, plan)
    missing = "enrolment" in found and found["enrolment"]["failures"].any()
    return settle_together(found, plan["level"], missing)


def _enrolment(images: pd.DataFrame, plan: Plan) -> dict[str, pd.DataFrame]:
    """Failures to enrol by group, as false non-matches of every image with itself.

    So the intervals know which images are of one identity, and are those of the error rates.
    """
    same, vertices = np.ones(len(images)), images[["unit", "unit"]].to_numpy()
    pairs = images["enrolled"].astype(float), same, images["group"], vertices
    bands, compared = _compared(pairs, ALIKE, plan, plans.MEASURES[:1])
    groups = images.groupby("group")
    table = pd.DataFrame({"images": groups.size(), "identities": groups["identity"].nunique()})
    table["failures"] = groups["enrolled"].agg(lambda enrolled: int((enrolled == 0).sum()))
    table[["rate", "low", "high"]] = bands.set_index("group")[["fnmr", "fnmr_low", "fnmr_high"]]
    return {"enrolment": table.reset_index(), plans.ENROLMENT: compared.assign(measure=plans.FTE)}


def _threshold(pairs: PairColumns, plan: Plan, source: str) -> float:
    if plan["threshold"] is not None:
        return float(plan["threshold"])
    name = plan["reference"]
    reference = next(one for one in by_group(*pairs[:3]) if one.label == name)
    threshold, reason = reference.threshold_at(plan["fmr"])
    if reason:
        raise fault("no_threshold", source, plan["fmr"], name, reason)
    return threshold


def _compared(
    pairs: PairColumns, threshold: float, plan: Plan, measures: Sequence[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rates of groups, their differences from the reference, and what verdicts follow from."""
    settings = {"n_boot": RESAMPLES, "seed": plan["seed"]}
    rates = vertex_bootstrap(*pairs, thresholds=[threshold], **settings).curves
    settings |= {"tolerance": plan["tolerance"], "reference": plan["reference"]}
    table = disparities(*pairs, threshold=threshold, **settings)
    table = table[table["measure"].isin(measures)].reset_index(drop=True)
    return rates, with_p_values(table, plan)
