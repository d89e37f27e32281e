"""Two models, or two versions of one, on the same matched images.

Each image is compared with itself, so that smaller changes are found than by two reports side by
side. Units are the matched faces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from faceaudit import families
from faceaudit.comparisons import Contrast, contrasts_of, held_levels
from faceaudit.effects.survey_weights import WEIGHT, without_equal_weights
from faceaudit.effects.verdicts import EXCEEDS, WITHIN
from faceaudit.families import Plan
from faceaudit.matched_comparisons import interactions, matched_row
from faceaudit.outcomes import first_outcome
from faceaudit.report.gate import FAILED, PASSED, UNDECIDED
from faceaudit.results import AuditResult
from faceaudit.shared_images import (
    SAME_DESIGN,
    require_same_design,
    require_same_images,
    require_same_labels,
)
from faceaudit.verdicts import judge, settle_together

VERSION = "model version"
"""Name of the axis whose levels are the old model and the new one."""
CHANGE_COLUMNS = [
    "cell",
    "held",
    "estimate",
    "low",
    "high",
    "low_family",
    "high_family",
    "p",
    "p_holm",
    "p_beyond_holm",
    "verdict",
    "n",
    "units",
    "worse",
    "better",
    "base_rate",
    "reason",
]


@dataclass(frozen=True)
class VersionComparison:
    """What changed from one model to another.

    Attributes:
        changes: a row for all faces and one for every combination of the axes' levels: the error
            rate of the new model minus that of the old one, as a fraction, with the columns of
            `AuditResult.effects`; all rows are judged together.
        effects: a row per axis: its effect on errors in the new model minus that in the old one
            (axis, estimate, low, high, p, p_holm, units).
        tolerance: largest change that does not matter.
    """

    changes: pd.DataFrame
    effects: pd.DataFrame
    tolerance: float

    def gate(self) -> int:
        """Whether the new model may take the place of the old one.

        Returns:
            1: it errs more often by more than the tolerance, in a cell or on average; 2: this is
            not so, but on average it may be; 0: it passes, since on average it does not.
        """
        beyond = self.changes[self.changes["verdict"] == EXCEEDS]
        if (beyond["estimate"] > 0).any():
            return FAILED
        on_average = self.changes.iloc[0]
        is_no_worse = on_average["high"] < self.tolerance
        return PASSED if is_no_worse or on_average["verdict"] == WITHIN else UNDECIDED


def compare(old: AuditResult, new: AuditResult) -> VersionComparison:
    """Compare two models, or two versions of one, that were audited on the same matched images.

    Args:
        old: audit of the model that is in use.
        new: audit of the other model, with the same axes, tolerance, units and images.

    Returns:
        What changed.

    Raises:
        InputError: audits of portraits or pairs, of other images, or with other axes or tolerances.

    Example:
        >>> import faceaudit
        >>> import pandas as pd
        >>> rows = [(face, skin, 0, 0) for face in range(50) for skin in ("light", "dark")]
        >>> frame = pd.DataFrame(rows, columns=["face", "skin", "before", "after"])
        >>> frame.loc[frame["skin"] == "dark", "before"] = 1
        >>> settings = {"unit": "face", "axes": {"skin": ["light", "dark"]}, "tolerance": 0.05}
        >>> audits = [faceaudit.table(frame, error=column, **settings)
        ...           for column in ("before", "after")]
        >>> changed = faceaudit.compare(*audits)
        >>> changed.changes["estimate"].tolist(), changed.gate()
        ([-0.5, 0.0, -1.0], 0)
    """
    audits = {"old": old, "new": new}
    require_same_design(audits, [*SAME_DESIGN, "outcomes", "tolerance"])
    require_same_images(audits)
    require_same_labels(audits)
    frame, plan = images_of_both(old, new)
    cells = [
        matched_row(frame, first_outcome(plan), _version(plan), held, plan)
        for held in held_levels(plan["axes"], VERSION)
    ]
    on_average = pd.DataFrame([change_on_average(frame, plan)])
    tables = {
        families.AVERAGES: judge(on_average, plan["tolerance"], plan["level"]),
        families.CELLS: judge(pd.DataFrame(cells), plan["tolerance"], plan["level"]),
    }
    tables = settle_together(tables, plan["level"], missing=False)
    changes = pd.concat([tables[families.AVERAGES], tables[families.CELLS]], ignore_index=True)
    changes = changes.rename(columns={"transects": "units"})[CHANGE_COLUMNS]
    by_axis = changes_of_effects(frame, plan).rename(columns={"transects": "units"})
    by_axis = by_axis[["axis", "contrast", "estimate", "low", "high", "p", "p_holm", "units"]]
    return VersionComparison(changes, by_axis, plan["tolerance"])


def images_of_both(old: AuditResult, new: AuditResult) -> tuple[pd.DataFrame, Plan]:
    """The images of two audits, with the model as one more axis.

    Args:
        old, new: audits of the same images, which count the same outcome.

    Returns:
        A row per image and audit, with unit, the first outcome, the levels and the weight, if faces
        have different ones; and a plan for it.
    """
    plan = old.report.plan.content
    levels = [f"{axis}_level" for axis in [*plan["axes"], *plan["placebos"]]]
    columns = ["image_id", "unit", first_outcome(plan), *levels]
    if WEIGHT in old.frame and WEIGHT in new.frame:
        columns.append(WEIGHT)
    frames = [audit.frame.astype({"unit": str})[columns] for audit in (old, new)]
    both = pd.concat(frames, keys=(0, 1), names=[f"{VERSION}_level"])
    both = both.reset_index(f"{VERSION}_level").reset_index(drop=True)
    both = without_equal_weights(both)
    return both, {**plan, "axes": {**plan["axes"], VERSION: ["old", "new"]}}


def change_on_average(frame: pd.DataFrame, plan: Plan) -> dict[str, Any]:
    """The row of `matched_row` of how the mean outcome changes; takes what `images_of_both` has."""
    return matched_row(frame, first_outcome(plan), _version(plan), {}, plan)


def changes_of_effects(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The rows of `interactions` of how the effect of each axis changes between the models."""
    table = interactions(frame, plan)
    return table[table["other"] == VERSION].reset_index(drop=True)


def _version(plan: Plan) -> Contrast:
    """The new model in place of the old one."""
    (version,) = contrasts_of(plan["axes"], VERSION)
    return version
