"""Error rates of a recogniser by group, with failures to enrol, and what differs from a group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.pairs import Pairs
from faceaudit.planning import ENROLMENT, FTE, GROUPS, MEASURES
from faceaudit.verdicts import beyond_by_interval, settle_together
from helpers.effects import holm
from helpers.verification import disparities, vertex_bootstrap
from helpers.verification.curves import by_group

RESAMPLES = 1000
ALIKE = 0.5
"""Between the similarity of an image to itself with an embedding, 1, and without, 0."""


def analyse_pairs(data: Pairs, plan: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Error rates by group at one threshold, with intervals, and their differences.

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

    Example:
        >>> seeds = [[n, n] for n in range(9)] + [[n, (n + 1) % 9] for n in range(9)]
        >>> frame = pd.DataFrame(seeds * 2, columns=["first", "second"])
        >>> frame["group"], frame["same"] = np.repeat(["a", "b"], 18), [*[1] * 9, *[0] * 9] * 2
        >>> frame["similarity"] = [0.2, *[0.9] * 8, *[0.1] * 9, *[0.9] * 9, 0.8, *[0.1] * 8]
        >>> plan = {"threshold": 0.5, "fmr": None, "reference": "a", "tolerance": 0.05}
        >>> found = analyse_pairs(Pairs(frame, "pairs.csv"), plan | {"seed": 1, "level": 0.05})
        >>> found["rates"][["fnmr", "fmr"]].round(2).values.tolist()
        [[0.11, 0.0], [0.0, 0.11]]
    """
    frame = data.frame
    columns = frame["similarity"], frame["same"], frame["group"]
    threshold = _threshold(columns, plan, data.source)
    vertices = frame[["first", "second"]].to_numpy()
    bands = vertex_bootstrap(
        *columns, vertices, n_boot=RESAMPLES, seed=plan["seed"], thresholds=[threshold]
    )
    # A group without a pair has rates at no threshold.
    table = bands.curves.assign(threshold=threshold).set_index("group", drop=False)
    base = table.loc[plan["reference"]]
    for rate in ("fnmr", "fmr"):
        table[f"{rate}_ratio"] = table[rate] / base[rate] if base[rate] > 0 else np.nan
    compared = disparities(
        *columns,
        vertices,
        threshold=threshold,
        tolerance=plan["tolerance"],
        reference=plan["reference"],
        n_boot=RESAMPLES,
        seed=plan["seed"],
    )
    compared = compared[compared["measure"].isin(MEASURES)].reset_index(drop=True)
    found = {"rates": table.reset_index(drop=True), GROUPS: _judged(compared, plan)}
    families = [GROUPS]
    if data.images is not None:
        found |= _enrolment(data.images, plan)
        # Without a failure no test of them can reject, and none takes a share of the level.
        families += [ENROLMENT] * bool((data.images["enrolled"] == 0).any())
    return settle_together(found, families, plan["level"])


def _enrolment(images: pd.DataFrame, plan: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Failures to enrol by group, as false non-matches of every image with itself.

    So the intervals know which images are of one identity, and are those of the error rates.
    """
    columns = images["enrolled"].astype(float), np.ones(len(images)), images["group"]
    vertices = images[["unit", "unit"]].to_numpy()
    settings = {"n_boot": RESAMPLES, "seed": plan["seed"]}
    curves = vertex_bootstrap(*columns, vertices, thresholds=[ALIKE], **settings).curves
    each = images.groupby("group")
    table = pd.DataFrame(
        {
            "images": each.size(),
            "identities": each["identity"].nunique(),
            "failures": each["enrolled"].agg(lambda enrolled: int((enrolled == 0).sum())),
        }
    ).join(curves.set_index("group")[["fnmr", "fnmr_low", "fnmr_high"]])
    table.columns = ["images", "identities", "failures", "rate", "low", "high"]
    settings |= {"tolerance": plan["tolerance"], "reference": plan["reference"]}
    compared = disparities(*columns, vertices, threshold=ALIKE, **settings)
    compared = compared[compared["measure"] == MEASURES[0]].assign(measure=FTE)
    judged = _judged(compared.reset_index(drop=True), plan)
    return {"enrolment": table.reset_index(), ENROLMENT: judged}


def _threshold(columns: tuple[pd.Series, ...], plan: Mapping[str, Any], source: str) -> float:
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


def _judged(table: pd.DataFrame, plan: Mapping[str, Any]) -> pd.DataFrame:
    """What the verdicts follow from, with Holm's adjustment of a difference of zero."""
    found = table.assign(p_holm=holm(table["p"]))
    df = (found["identities"] - 1).clip(lower=1)
    found["p_beyond"] = beyond_by_interval(found, plan["tolerance"], df)
    return found
