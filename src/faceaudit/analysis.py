"""All tables of a report: the planned families, and what is looked at besides.

Other thresholds, scores, rates and leakage are kept apart from the families of the plan, because
nothing of them is adjusted for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.planned_effects import (
    average_effects,
    effects_by_cell,
    interactions,
    matched_row,
)
from faceaudit.planning import (
    AVERAGES,
    CELLS,
    INTERACTIONS,
    JUDGED,
    NO_ANSWER,
    PLACEBOS,
    cell_name,
)
from faceaudit.tables import Audited
from faceaudit.verdicts import settle_together

Plan = Mapping[str, Any]


def analyse(data: Audited, plan: Plan) -> dict[str, pd.DataFrame]:
    """All tables of a report.

    Args:
        data: the images.
        plan: of `faceaudit.make_plan`.

    Returns:
        The families of the plan by their names, each with a row per comparison (see
        `effects_by_cell`; "interactions" has estimate, low, high, p and p_holm), and besides them
        "thresholds", "scores", "rates", "manipulation" and "leakage".

    Example:
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> tables = analyse(data, plan)
        >>> tables["effects by cell"]["verdict"].tolist()[0]
        'exceeds'
    """
    axes, frame = plan["axes"], data.frame
    found = {CELLS: effects_by_cell(frame, plan)}
    if len(axes) > 1:
        found[AVERAGES] = average_effects(frame, plan, "error")
        found[INTERACTIONS] = interactions(frame, plan)
    found[NO_ANSWER] = average_effects(frame, plan, "no_answer")
    # Without a missing answer no test of them can reject, and none takes a share of the level.
    void = set() if frame["no_answer"].any() else {NO_ANSWER}
    families = [name for name in JUDGED if name in found and name not in void]
    found = settle_together(found, families, plan["level"])
    if plan["placebos"]:
        found[PLACEBOS] = average_effects(frame, plan, "error", plan["placebos"])
    found["thresholds"] = other_thresholds(frame, plan) if data.scored else pd.DataFrame()
    if data.scored:
        found["scores"] = average_effects(_distances(frame), plan, "distance")
    else:
        found["scores"] = pd.DataFrame()
    found["rates"] = rates(frame, axes)
    found["manipulation"], found["leakage"] = moved(frame, plan)
    return found


def other_thresholds(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Average effects where the model's score is cut elsewhere; nothing of it is adjusted.

    Args:
        frame: of `Audited`, with scores.
        plan: of the audit, whose own threshold is among the rows.

    Returns:
        A row per threshold and axis: threshold, axis, estimate, low, high and rate (of errors).

    Example:
        >>> from faceaudit.pretended import pretend
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

    Args:
        frame: of `Audited`.
        axes: axis → names of its levels.

    Returns:
        A row per combination: group (in words), images, answered, errors, rate.

    Example:
        >>> from faceaudit.pretended import pretend
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


def moved(frame: pd.DataFrame, plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How far people saw every axis move along itself, and every other attribute along it.

    The first is the check of the manipulation, the second the leakage.

    Args:
        frame: of `Audited`.
        plan: of the audit; its `annotated` names the columns, and the label says what people saw of
            its `attribute`.

    Returns:
        Two tables with a row per axis and attribute: axis, attribute, estimate, low, high,
        differences of mean answers in [0, 1], by matched pairs.

    Example:
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> [len(table) for table in moved(data.frame, plan)]
        [0, 0]
    """
    seen = {name: name for name in plan["annotated"]}
    if plan["attribute"] in plan["axes"]:
        seen.setdefault(plan["attribute"], "label")
    rows = [
        matched_row(frame, column, axis, {}, plan) | {"attribute": attribute}
        for axis in plan["axes"]
        for attribute, column in seen.items()
        if attribute == axis or column != "label"
    ]
    table = pd.DataFrame(rows, columns=["axis", "attribute", "estimate", "low", "high"])
    own = table["axis"] == table["attribute"]
    return table[own], table[~own]


def _distances(frame: pd.DataFrame) -> pd.DataFrame:
    """The images with how far the score is from the right answer."""
    return frame.assign(distance=(frame["score"] - frame["label"]).abs())
