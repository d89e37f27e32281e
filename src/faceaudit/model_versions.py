"""Two models, or two versions of one, on the same matched images.

Each image is compared with itself, so that smaller changes are found than by two reports side by
side. Units are the matched faces.

Of monitored audits the comparison holds at every look: as often as further faces come, and for one
release after the other, each compared with a release before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from faceaudit import families
from faceaudit.comparisons import Contrast, contrasts_of, held_levels
from faceaudit.effects.survey_weights import WEIGHT, without_equal_weights
from faceaudit.effects.verdicts import EXCEEDS, WITHIN
from faceaudit.families import LOOK, Plan
from faceaudit.matched_comparisons import interactions, matched_row, with_numbered_units
from faceaudit.outcomes import first_outcome
from faceaudit.report.gate import FAILED, PASSED, UNDECIDED
from faceaudit.report.monitored import monitored_part
from faceaudit.report.schema import Monitored
from faceaudit.results import AuditResult
from faceaudit.shared_images import (
    SAME_DESIGN,
    require_same_design,
    require_same_images,
    require_same_labels,
)
from faceaudit.utils.errors import InputError
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
        monitored: of monitored audits, which look of the new model it is; None of others.
    """

    changes: pd.DataFrame
    effects: pd.DataFrame
    tolerance: float
    monitored: Monitored | None = None

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

    Where both audits are monitored, intervals and verdicts of `changes` hold at every look. The
    first comparison is that of the second release, so it has the first share of the level
    (`faceaudit.effects.share_of_release`), and each later release the next one: compare each
    release once, with the release in use, at as many looks as you like.

    Args:
        old: audit of the model that is in use.
        new: audit of the other model, with the same axes, tolerance, units and images. Of monitored
            audits, a later release, which counts the looks before it.

    Returns:
        What changed.

    Raises:
        InputError: audits of portraits or pairs, of other images, or with other axes or tolerances;
            one that is monitored and one that is not, or a new one that counts no release before
            it.

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
    look = _look_of_both(old, new)
    frame, plan = images_of_both(old, new)
    monitored = None
    if look is not None:
        plan = {**plan, "policy": {"monitor": True}, "monitored": look}
        monitored = monitored_part(frame, plan, "monitored_comparison")
        frame = with_numbered_units(frame, plan)
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
    return VersionComparison(changes, by_axis, plan["tolerance"], monitored)


def _look_of_both(old: AuditResult, new: AuditResult) -> dict[str, Any] | None:
    """Which look at which comparison of releases it is; None of audits that are not monitored.

    Raises:
        InputError: as of `compare`, and faces that came in another order.
    """
    before, now = old.report.monitored, new.report.monitored
    if before is None and now is None:
        return None
    if before is None or now is None:
        monitored, other = ("old", "new") if now is None else ("new", "old")
        raise InputError(
            f"{monitored} is monitored, and {other} is not; two audits with policy.monitor: true, "
            "or two without it, were expected",
            field=other,
            expected="two monitored audits, or none",
        )
    if before.release >= now.release:
        raise InputError(
            f"new is release {now.release} of its looks, and old is release {before.release}; an "
            "audit of new that counts old among the looks before it was expected: make it with "
            "previous",
            field="new",
            found=now.release,
            expected="a later release than old",
        )
    if _arrival(old) != _arrival(new):
        raise InputError(
            "the faces of old came at other looks than those of new; audits whose faces came in "
            "the same order were expected",
            field="new",
            expected="faces in the same order",
        )
    return {"look": now.look, "release": now.release - 1, "previous": now.previous}


def _arrival(audit: AuditResult) -> list[list[str]]:
    """The faces of every look at which some came, in the order of the looks."""
    faces = audit.frame.astype({"unit": str})[["unit", LOOK]].drop_duplicates()
    return [sorted(of_look["unit"]) for _, of_look in faces.groupby(LOOK)]


def images_of_both(old: AuditResult, new: AuditResult) -> tuple[pd.DataFrame, Plan]:
    """The images of two audits, with the model as one more axis.

    Args:
        old, new: audits of the same images, which count the same outcome.

    Returns:
        A row per image and audit, with unit, the first outcome, the levels, the weight, if faces
        have different ones, and of monitored audits the look; and a plan for it.
    """
    plan = old.report.plan.content
    levels = [f"{axis}_level" for axis in [*plan["axes"], *plan["placebos"]]]
    columns = ["image_id", "unit", first_outcome(plan), *levels]
    if WEIGHT in old.frame and WEIGHT in new.frame:
        columns.append(WEIGHT)
    if LOOK in new.frame and LOOK in old.frame:
        columns.append(LOOK)
    frames = [audit.frame.astype({"unit": str})[columns] for audit in (old, new)]
    both = pd.concat(frames, keys=(0, 1), names=[f"{VERSION}_level"])
    both = both.reset_index(f"{VERSION}_level").reset_index(drop=True)
    if LOOK in both:  # One face has one place, that of its first look in either audit.
        both[LOOK] = both.groupby("unit")[LOOK].transform("min")
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
