"""All tables of a report: images matched by face, pairs of pictures, and two versions of a model.

Beside the families of the plan stand other thresholds, scores, rates and leakage. They are kept
apart, because nothing of them is adjusted for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from faceaudit import plan as plans
from faceaudit import verdicts
from faceaudit.pairs import Pairs
from faceaudit.plan import cell_name
from faceaudit.tables import Audited
from faceaudit.verdicts import average_effects, matched_row, settle_together
from helpers.effects import holm
from helpers.effects.matched import matched_effects
from helpers.effects.verdicts import max_t_intervals
from helpers.verification import disparities, vertex_bootstrap
from helpers.verification.curves import by_group

Plan = Mapping[str, Any]
RESAMPLES, OF_VERSIONS = 1000, 2000
ALIKE = 0.5
"""Between the similarity of an image to itself with an embedding, 1, and without, 0."""


def analyse(data: Audited, plan: Plan) -> dict[str, pd.DataFrame]:
    """All tables of a report about matched images.

    Args:
        data: the images.
        plan: of `faceaudit.make_plan`.

    Returns:
        The families of the plan by their names, each with a row per comparison (see
        `faceaudit.verdicts`; "interactions" has estimate, low, high, p and p_holm), and besides
        them "thresholds", "scores", "rates", "manipulation" (how far people saw every axis move
        along itself) and "leakage" (every other attribute along it).
    """
    axes, frame = plan["axes"], data.frame
    found = {plans.CELLS: verdicts.effects_by_cell(frame, plan)}
    if len(axes) > 1:
        found[plans.AVERAGES] = average_effects(frame, plan, "error")
        found[plans.INTERACTIONS] = verdicts.interactions(frame, plan)
    found[plans.NO_ANSWER] = average_effects(frame, plan, "no_answer")
    # Without a missing answer no test of them can reject, and none takes a share of the level.
    void = set() if frame["no_answer"].any() else {plans.NO_ANSWER}
    families = [name for name in plans.JUDGED if name in found and name not in void]
    found = settle_together(found, families, plan["level"])
    if plan["placebos"]:
        found[plans.PLACEBOS] = average_effects(frame, plan, "error", plan["placebos"])
    found["thresholds"] = found["scores"] = pd.DataFrame()
    if data.scored:
        found["thresholds"] = other_thresholds(frame, plan)
        distance = (frame["score"] - frame["label"]).abs()
        found["scores"] = average_effects(frame.assign(distance=distance), plan, "distance")
    found["rates"] = _rates(frame, axes)
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
    rows = []
    for levels, part in frame.groupby([f"{axis}_level" for axis in axes]):
        known = part["error"].dropna()
        rows.append(
            {
                "group": cell_name(axes, dict(zip(axes, levels, strict=True))),
                "images": len(part),
                "answered": int((1 - part["no_answer"]).sum()),
                "errors": int(known.sum()),
                "rate": known.mean(),
            }
        )
    return pd.DataFrame(rows)


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


def analyse_pairs(data: Pairs, plan: Plan) -> dict[str, pd.DataFrame]:
    """Error rates of a recogniser by group at one threshold, and how they differ from a reference.

    FRTE-style: one threshold for all groups, given, or set so that the reference group's FMR is at
    most the one asked for; ratios are to the reference. Intervals are those of the vertex bootstrap
    (chapter 17), which takes identities as the units. Where the threshold is set by this sample,
    the intervals take it as given.

    Args:
        data: the pairs.
        plan: of `faceaudit.make_plan`.

    Returns:
        "rates": a row per group: group, threshold, fnmr, fnmr_low, fnmr_high, fmr, fmr_low,
        fmr_high, positives, negatives, fnmr_ratio, fmr_ratio and reason; "error rates by group": a
        row per measure and other group, of `helpers.verification.disparities`, with p_beyond (of a
        difference no larger than the tolerance) and Holm's adjustment over all of them. Where a
        recogniser was asked, also "enrolment": a row per group: group, images, identities,
        failures, rate, low, high; and "failures to enrol by group", which is judged together with
        the error rates where there is any.

    Raises:
        ValueError: the FMR asked for is below what the negatives of the reference can show.
    """
    frame = data.frame
    columns = frame["similarity"], frame["same"], frame["group"]
    threshold = _threshold(columns, plan, data.source)
    vertices = frame[["first", "second"]].to_numpy()
    # A group without a pair has rates at no threshold.
    table = _bands(columns, vertices, threshold, plan).assign(threshold=threshold)
    base = table.set_index("group").loc[plan["reference"]]
    for rate in ("fnmr", "fmr"):
        table[f"{rate}_ratio"] = table[rate] / base[rate] if base[rate] > 0 else np.nan
    compared = _disparities(columns, vertices, threshold, plan, plans.MEASURES)
    found = {"rates": table.reset_index(drop=True), plans.GROUPS: compared}
    families = [plans.GROUPS]
    if data.images is not None:
        found |= _enrolment(data.images, plan)
        # Without a failure no test of them can reject, and none takes a share of the level.
        families += [plans.ENROLMENT] * bool((data.images["enrolled"] == 0).any())
    return settle_together(found, families, plan["level"])


def _enrolment(images: pd.DataFrame, plan: Plan) -> dict[str, pd.DataFrame]:
    """Failures to enrol by group, as false non-matches of every image with itself.

    So the intervals know which images are of one identity, and are those of the error rates.
    """
    columns = images["enrolled"].astype(float), np.ones(len(images)), images["group"]
    vertices = images[["unit", "unit"]].to_numpy()
    bands = _bands(columns, vertices, ALIKE, plan).set_index("group")
    groups = images.groupby("group")
    table = pd.DataFrame({"images": groups.size(), "identities": groups["identity"].nunique()})
    table["failures"] = groups["enrolled"].agg(lambda enrolled: int((enrolled == 0).sum()))
    table[["rate", "low", "high"]] = bands[["fnmr", "fnmr_low", "fnmr_high"]]
    compared = _disparities(columns, vertices, ALIKE, plan, plans.MEASURES[:1])
    return {"enrolment": table.reset_index(), plans.ENROLMENT: compared.assign(measure=plans.FTE)}


def _threshold(columns: tuple[pd.Series, ...], plan: Plan, source: str) -> float:
    if plan["threshold"] is not None:
        return float(plan["threshold"])
    reference = next(one for one in by_group(*columns) if one.label == plan["reference"])
    threshold, reason = reference.threshold_at(plan["fmr"])
    if reason:
        raise ValueError(
            f"{source}: model.fmr is {plan['fmr']}, in the reference {plan['reference']!r} that is "
            f"{reason}; ask for a larger one or bring more pairs"
        )
    return threshold


def _bands(
    columns: tuple[pd.Series, ...], vertices: np.ndarray, threshold: float, plan: Plan
) -> pd.DataFrame:
    settings = {"n_boot": RESAMPLES, "seed": plan["seed"], "thresholds": [threshold]}
    return vertex_bootstrap(*columns, vertices, **settings).curves


def _disparities(
    columns: tuple[pd.Series, ...],
    vertices: np.ndarray,
    threshold: float,
    plan: Plan,
    measures: Sequence[str],
) -> pd.DataFrame:
    """Differences from the reference, and what their verdicts follow from."""
    settings = {name: plan[name] for name in ("tolerance", "reference", "seed")}
    table = disparities(*columns, vertices, threshold=threshold, n_boot=RESAMPLES, **settings)
    table = table[table["measure"].isin(measures)].reset_index(drop=True)
    df = (table["identities"] - 1).clip(lower=1)
    beyond = verdicts.beyond_by_interval(table, plan["tolerance"], df)
    return table.assign(p_holm=holm(table["p"]), p_beyond=beyond)


@dataclass(frozen=True)
class Comparison:
    """What changed from one version of a model to the next.

    Attributes:
        errors: a row per combination of levels and for all images: cell, before, after (error
            rates), estimate (after minus before), low, high, p, p_holm, n (images both answered),
            verdict ("better", "worse" or "no clear change").
        effects: a row per axis and cell: axis, cell, before, after (effects), estimate (after minus
            before, of faces that both answered in all images), low, high, n.
    """

    errors: pd.DataFrame
    effects: pd.DataFrame


def compare(before: Audited, after: Audited, plan: Plan) -> Comparison:
    """Compare two versions of a model on the same images with the same labels.

    Error rates are compared image by image (matched pairs, with matched faces as units); the
    intervals of the table are alone, its p-values adjusted by Holm. Effects are compared by
    differences of differences, one value per face; those intervals hold for all cells at once
    (`helpers.effects.verdicts`).

    Args:
        before, after: of `from_table`, of the two versions.
        plan: of the audit.

    Returns:
        The comparison.

    Raises:
        ValueError: other images, units, levels or labels in the one than in the other.
    """
    images = _joined(before, after)
    return Comparison(_changed_errors(images, plan), _changed_effects(images, plan))


def _joined(before: Audited, after: Audited) -> pd.DataFrame:
    """One row per image, with both models' errors."""
    left, right = (data.frame.set_index("image_id").sort_index() for data in (before, after))
    if not left.index.equals(right.index):
        other = left.index.symmetric_difference(right.index)
        raise ValueError(
            f"{after.source}: other images than in {before.source} ({len(other)}, such as "
            f"{other[0]!r}); both versions must be asked about the same ones"
        )
    for name in ["unit", "label", *(name for name in left if name.endswith("_level"))]:
        differs = ~(left[name].eq(right[name]) | (left[name].isna() & right[name].isna()))
        if differs.any():
            raise ValueError(
                f"{after.source}: column {name!r} of image {left.index[differs][0]!r} is not that "
                f"of {before.source}"
            )
    return left.assign(before=left["error"], after=right["error"]).reset_index()


def _changed_errors(images: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    axes, parts, rows = plan["axes"], {"all images": images}, []
    for held, part in images.groupby([f"{axis}_level" for axis in axes]):
        parts[cell_name(axes, dict(zip(axes, held, strict=True)))] = part
    for cell, part in parts.items():
        known = part.dropna(subset=["before", "after"])
        # The version takes the place of an axis: two images of a pair are one image, asked twice.
        asked = known[["unit", "image_id"]].rename(columns={"image_id": "image_level"})
        versions = [known["before"], known["after"]]
        long = pd.concat([asked.assign(version_level=k, error=versions[k]) for k in (0, 1)])
        row = matched_effects(long, "error", "version_level", [], "unit", plan["tolerance"]).iloc[0]
        own = {"cell": cell, "before": known["before"].mean(), "after": known["after"].mean()}
        rows.append(own | row[["estimate", "low", "high", "p", "n"]].to_dict())
    table = pd.DataFrame(rows)
    table["p_holm"] = holm(table["p"])
    sure = table["p_holm"] < plan["level"]
    states = [sure & (table["estimate"] < 0), sure & (table["estimate"] > 0)]
    return table.assign(verdict=np.select(states, ["better", "worse"], "no clear change"))


def _changed_effects(images: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    axes, values, rows = plan["axes"], {}, []
    levels = [name for name in images if name.endswith("_level")]
    errors = images.set_index(["unit", *levels])[["before", "after"]]
    for axis in axes:
        for held in plans.held_levels(axes, axis):
            names = [f"{name}_level" for name in (axis, *held)]
            low, high = (errors.xs((k, *held.values()), level=names) for k in (0, 1))
            gap, cell = (high - low).groupby("unit").mean(), cell_name(axes, held)
            values[axis, cell] = gap["after"] - gap["before"]
            rows.append({"axis": axis, "cell": cell, **gap.mean().to_dict()})
    changes = pd.DataFrame(values).dropna()
    # Two more or fewer misread images change a value by 2 at most, by 1 as a rule.
    settings = {"n_boot": OF_VERSIONS, "seed": plan["seed"], "stage": "audit/compare"}
    found = max_t_intervals(changes, 1, **settings)
    table = pd.DataFrame(rows)
    for name in ("estimate", "low", "high"):
        table[name] = found[name].to_numpy()
    return table.assign(n=len(changes))
