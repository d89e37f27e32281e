"""Two models, or two versions of one, on the same matched images.

Each image is compared with itself, so that smaller changes are found than by two reports side by
side. Units are the matched faces.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from faceaudit import families
from faceaudit.comparisons import contrasts_of, held_levels
from faceaudit.effects.verdicts import EXCEEDS, WITHIN
from faceaudit.families import Plan
from faceaudit.frames import listed_on_one_line
from faceaudit.matched_comparisons import interactions, matched_row
from faceaudit.outcomes import first_outcome
from faceaudit.report.gate import FAILED, PASSED, UNDECIDED
from faceaudit.results import AuditResult
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
    """

    changes: pd.DataFrame
    effects: pd.DataFrame
    tolerance: float

    def gate(self) -> int:
        """Whether the new model may take the place of the old one.

        Returns:
            1: it errs more often by more than the tolerance, in a cell or on average; 2: this is
            not so, but its change on average is undecided; 0: it passes.
        """
        beyond = self.changes[self.changes["verdict"] == EXCEEDS]
        if (beyond["estimate"] > 0).any():
            return FAILED
        on_average = self.changes.iloc[0]
        return PASSED if on_average["verdict"] in (WITHIN, EXCEEDS) else UNDECIDED


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
    plan = _plan_of_both(old, new)
    frame = _images_of_both(old, new, plan)
    outcome = first_outcome(plan)
    (version,) = contrasts_of(plan["axes"], VERSION)
    on_average = judge(
        pd.DataFrame([matched_row(frame, outcome, version, {}, plan)]),
        plan["tolerance"],
        plan["level"],
    )
    cells = [
        matched_row(frame, outcome, version, held, plan)
        for held in held_levels(plan["axes"], VERSION)
    ]
    tables = {
        families.AVERAGES: on_average,
        families.CELLS: judge(pd.DataFrame(cells), plan["tolerance"], plan["level"]),
    }
    tables = settle_together(tables, plan["level"], missing=False)
    changes = pd.concat([tables[families.AVERAGES], tables[families.CELLS]], ignore_index=True)
    changes = changes.rename(columns={"transects": "units"})[CHANGE_COLUMNS]
    by_axis = interactions(frame, plan)
    by_axis = by_axis[by_axis["other"] == VERSION].rename(columns={"transects": "units"})
    by_axis = by_axis[["axis", "contrast", "estimate", "low", "high", "p", "p_holm", "units"]]
    return VersionComparison(changes, by_axis.reset_index(drop=True), plan["tolerance"])


def _plan_of_both(old: AuditResult, new: AuditResult) -> Plan:
    """A plan with the version as one more axis.

    Raises:
        InputError: they are no audits, or of no matched images, or have other axes or tolerances.
    """
    for name, audit in {"old": old, "new": new}.items():
        if not isinstance(audit, AuditResult):
            raise InputError(
                f"{name} is of type {type(audit).__name__}, an audit was expected, as "
                "faceaudit.table gives it",
                field=name,
                found=audit,
                expected="an audit",
            )
        if audit.report.kind != "classification":
            raise InputError(
                f"{name} is an audit of {audit.report.kind}, one of matched images was expected",
                field=name,
                found=audit.report.kind,
                expected="an audit of matched images",
            )
    contents = [audit.report.plan.content for audit in (old, new)]
    for key in ("axes", "placebos", "contrasts", "outcomes", "tolerance", "level"):
        before, after = (content.get(key) for content in contents)
        if before != after:
            raise InputError(
                f"{key} of old is {before}, that of new is {after}; the same was expected",
                field=key,
                found=after,
                expected=str(before),
            )
    plan = contents[0]
    return {**plan, "axes": {**plan["axes"], VERSION: ["old", "new"]}}


def _images_of_both(old: AuditResult, new: AuditResult, plan: Plan) -> pd.DataFrame:
    """The images of both audits, with the version as a level.

    Raises:
        InputError: images that one of both has alone, or at another place.
    """
    levels = [f"{axis}_level" for axis in [*plan["axes"], *plan["placebos"]] if axis != VERSION]
    outcome = first_outcome(plan)
    labels = ["label"] if all("label" in audit.frame for audit in (old, new)) else []
    frames = [
        audit.frame.astype({"unit": str})[["image_id", "unit", outcome, *levels, *labels]]
        for audit in (old, new)
    ]
    # Raters may tie in both versions alike.
    places = [
        frame.drop(columns=outcome).set_index("image_id").fillna(dict.fromkeys(labels, -1))
        for frame in frames
    ]
    alone = places[0].index.symmetric_difference(places[1].index)
    if len(alone):
        raise InputError(
            f"{len(alone)} images are in one of both audits alone, such as "
            f"{listed_on_one_line(alone[:3])}; the same images were expected",
            field="images",
            found=listed_on_one_line(alone[:3]),
            expected="the same images",
        )
    differs = (places[0] != places[1].loc[places[0].index]).any(axis=1)
    if differs.any():
        raise InputError(
            f"image {differs.idxmax()!r} has another unit, level or label in new "
            f"({differs.sum()} such images); the same was expected",
            field=f"image {differs.idxmax()!r}",
            expected="the same unit, levels and label",
        )
    both = pd.concat(frames, keys=(0, 1), names=[f"{VERSION}_level"])
    return both.reset_index(f"{VERSION}_level").reset_index(drop=True)
