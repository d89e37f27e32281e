"""Two models, or two versions of one, on the same matched images.

Each image is compared with itself, so that smaller changes are found than by two reports side by
side. Units are the matched faces.

A version that refuses the images on which the other one errs has the fewer errors. So it is also
compared how often each version leaves an image without an outcome, and enough images must have one
in both versions.

Of monitored audits the comparison holds at every look: as often as further faces come, and for one
release after the other, each compared with a release before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pandas as pd

from faceaudit import families, words
from faceaudit.comparisons import Contrast, contrasts_of, held_levels
from faceaudit.designs.matched import covered_faces
from faceaudit.effects.survey_weights import WEIGHT, without_equal_weights
from faceaudit.effects.verdicts import EXCEEDS, WITHIN
from faceaudit.families import LOOK, Plan
from faceaudit.kept_images import plan_of_analysis
from faceaudit.matched_comparisons import interactions, matched_row, with_numbered_units
from faceaudit.outcomes import MISSING, NUMBER, TITLES, first_outcome, tolerance_of
from faceaudit.report import facts
from faceaudit.report.coverage import coverage_rows
from faceaudit.report.gate import BROKEN, FAILED, PASSED, SEVERITY, UNDECIDED, gate
from faceaudit.report.monitored import monitored_part
from faceaudit.report.schema import Coverage, Monitored
from faceaudit.results import MOST_LINES, AuditResult
from faceaudit.shared_images import (
    SAME_DESIGN,
    require_same_design,
    require_same_images,
    require_same_labels,
)
from faceaudit.utils.errors import InputError
from faceaudit.utils.formatting import tolerated
from faceaudit.verdicts import judge, settle_audits_together

VERSION = "model version"
"""Name of the axis whose levels are the old model and the new one."""
CHANGE_COLUMNS = [
    "cell",
    "held",
    "outcome",
    "estimate",
    "low",
    "high",
    "low90",
    "high90",
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


STATES_OF_GATE = {PASSED: "passed", FAILED: "failed", UNDECIDED: "undecided", BROKEN: "broken"}
"""Exit code of the gate → its name in templates."""


@dataclass(frozen=True)
class CountedImages:
    """How many images have an outcome, which they lack without an answer or a label.

    Attributes:
        images: that both audits have.
        old, new: that have an outcome in the old version, and in the new one.
        both: that have one in both; the change of errors is that of these images.
    """

    images: int
    old: int
    new: int
    both: int

    @property
    def are_all(self) -> bool:
        """Whether all images have an outcome in both versions."""
        return self.both == self.images


@dataclass(frozen=True)
class GateState:
    """An exit code of the gate, with the name that templates know it by."""

    code: int

    @property
    def name(self) -> str:
        """ "passed", "failed", "undecided" or "broken"."""
        return STATES_OF_GATE[self.code]


@dataclass(frozen=True)
class OwnGate:
    """What the gate says of the audit of the new version alone; see `faceaudit.gate`.

    Attributes:
        code: its exit code.
        lines: what stands in the way; empty if the audit passes.
    """

    code: int
    lines: list[str]

    @classmethod
    def of(cls, audit: AuditResult, allow_departures: bool) -> OwnGate:
        """The gate of an audit."""
        code, lines = gate(audit.report, allow_departures=allow_departures)
        return cls(code, [] if code == PASSED else lines)


@dataclass(frozen=True, repr=False)
class VersionComparison:
    """What changed from one model to another.

    In a notebook it shows what the gate says, why, and the changes; in a console the same in about
    ten lines.

    Attributes:
        changes: a row for all faces and one for every combination of the axes' levels: the error
            rate of the new model minus that of the old one, as a fraction, with the columns of
            `AuditResult.effects`. It is the rate of the images that have an outcome in both.
        missing: the same of how often an image has no answer or no label; without a row where the
            same images have none in both. All rows of both tables are judged together.
        effects: a row per axis: its effect on errors in the new model minus that in the old one
            (axis, estimate, low, high, p, p_holm, units).
        tolerance: largest change that does not matter.
        counted: how many images have an outcome.
        coverage: whether enough of them have one in both versions, by the policy of the new audit.
        gate_of_new: what the gate says of the new audit by itself.
        monitored: of monitored audits, which look of the new model it is; None of others.
    """

    changes: pd.DataFrame
    missing: pd.DataFrame
    effects: pd.DataFrame
    tolerance: float
    counted: CountedImages
    coverage: list[Coverage]
    gate_of_new: OwnGate
    monitored: Monitored | None = None

    @property
    def verdict(self) -> str:
        """ "exceeds" if a change is beyond the tolerance, for the better or for the worse.

        "within" if all are within it, else "inconclusive".
        """
        return facts.overall_verdict(chain(_rows(self.changes), _rows(self.missing)))

    @property
    def code_of_comparison(self) -> int:
        """The exit code of the comparison alone, whatever the audit of the new model says.

        1: the new model errs more often by more than the tolerance, in a cell or on average, or
        has more images without an answer; 2: this is not so, but on average it may be, or there are
        too few images with an outcome in both versions; 0: neither.
        """
        tables = [table for table in (self.changes, self.missing) if len(table)]
        if any(_rises_beyond(row) for table in tables for row in _rows(table)):
            return FAILED
        no_worse = all(self._is_no_worse(table) for table in tables)
        is_covered = all(row.met for row in self.coverage)
        return PASSED if no_worse and is_covered else UNDECIDED

    def gate(self) -> int:
        """Whether the new model may take the place of the old one.

        The new model must pass twice: against the old one, and by its own audit. So a failing that
        it shares with the old model stands in its way as well.

        Returns:
            The worse of `code_of_comparison` and the exit code of the new audit. 1: it errs more
            often by more than the tolerance, in a cell or on average, or has more images without an
            answer, or its own audit fails; 2: one of these may be so; 0: it passes; 3: the report
            of its own audit contradicts itself.
        """
        return max(self.code_of_comparison, self.gate_of_new.code, key=SEVERITY.index)

    @property
    def obstacles(self) -> list[str]:
        """A line for each thing that stands in the way of the new model, and which audit says so.

        Those of the comparison come first, then those of the new model's own audit.
        """
        sentences = []
        for table in (self.changes, self.missing):
            for number, row in enumerate(_rows(table)):
                rises = _rises_beyond(row)
                if rises or (number == 0 and not self._is_no_worse(table)):
                    sentences += self._sentences("change_in_the_way", row, rises)
        sentences += [f"coverage: {row.sentence}" for row in self.coverage if not row.met]
        return [
            *(f"the comparison: {line}" for line in sentences),
            *(f"the new version's own audit: {line}" for line in self.gate_of_new.lines),
        ]

    @property
    def answer(self) -> list[str]:
        """What changed, in sentences: whether the gate opens and who closes it, and the changes."""
        codes = (self.gate(), self.code_of_comparison, self.gate_of_new.code)
        sentences = words.render_sentences("gate_of_versions", *map(GateState, codes))
        sentences += [*self._sentences_about(self.changes), *self._sentences_about(self.missing)]
        outcome = TITLES[self.changes["outcome"].iloc[0]]
        sentences += words.render_sentences("counted_images", self.counted, outcome)
        if self.monitored is not None:
            sentences.append(self.monitored.sentence)
        return sentences

    def _sentences_about(self, table: pd.DataFrame) -> list[str]:
        """How the mean outcome changes, and how many groups have which verdict."""
        if not len(table):
            return []
        on_average, *cells = _rows(table)
        largest = facts.largest(row for row in cells if row.verdict == EXCEEDS)
        return [
            *self._sentences("change_on_average", on_average),
            *words.render_sentences(
                "changes_by_group",
                TITLES[on_average.outcome],
                facts.verdict_counts(cells),
                largest,
                largest and largest.cell,
            ),
        ]

    def _sentences(self, macro: str, row: Any, *values: Any) -> list[str]:
        """The sentences of a macro about one change."""
        tolerance = self._tolerance_of(row.outcome)
        return words.render_sentences(
            macro,
            row,
            TITLES[row.outcome],
            tolerated(tolerance, row.outcome == NUMBER),
            facts.ending_of(row, tolerance),
            *values,
        )

    def _tolerance_of(self, outcome: str) -> float:
        """The largest change of the first outcome, or of what is missing, that does not matter."""
        return tolerance_of(outcome, self.changes["outcome"].iloc[0], self.tolerance)

    def _is_no_worse(self, table: pd.DataFrame) -> bool:
        """Whether one of the tables rules out that the new model has more of it on average."""
        on_average = table.iloc[0]
        tolerance = self._tolerance_of(on_average["outcome"])
        return bool(on_average["high"] < tolerance or on_average["verdict"] == WITHIN)

    def __repr__(self) -> str:
        head = f"new version against old: {self.verdict} (tolerance {self.tolerance:g})"
        return "\n".join([head, *self.answer, *self.obstacles][:MOST_LINES])

    def _repr_html_(self) -> str:
        first, *others = self.answer
        return words.render_template(
            "versions_result.html.j2",
            first=first,
            obstacles=self.obstacles,
            others=others,
            rows=[*_rows(self.changes), *_rows(self.missing)],
            titles=TITLES,
        )


def _rows(table: pd.DataFrame) -> Iterator[Any]:
    """The rows of a table of changes; what could not be estimated is None."""
    return table.astype(object).where(table.notna(), None).itertuples(index=False, name="Change")


def _rises_beyond(row: Any) -> bool:
    """Whether the new model has more of an outcome, by more than the tolerance."""
    return row.verdict == EXCEEDS and row.estimate > 0


def compare(
    old: AuditResult, new: AuditResult, *, allow_departures: bool = False
) -> VersionComparison:
    """Compare two models, or two versions of one, that were audited on the same matched images.

    Where both audits are monitored, intervals and verdicts of `changes` hold at every look. The
    first comparison is that of the second release, so it has the first share of the level
    (`faceaudit.effects.share_of_release`), and each later release the next one: compare each
    release once, with the release in use, at as many looks as you like.

    The versions may answer about different images. Errors are compared on the images that have an
    answer in both versions, and how often there is none on all images. All changes are judged
    together, with the tolerances that errors and missing answers have in an audit.

    Args:
        old: audit of the model that is in use.
        new: audit of the other model, with the same axes, tolerance, units and images. Of monitored
            audits, a later release, which counts the looks before it.
        allow_departures: whether the new model may pass though its audit departs from its plan, as
            of `faceaudit.gate`.

    Returns:
        What changed.

    Raises:
        InputError: audits of portraits or pairs, of other images, or with other axes or tolerances;
            one that is monitored and one that is not, or a new one that counts no release before
            it.

    Example:
        >>> import faceaudit
        >>> import pandas as pd
        >>> rows = [(face, skin, 0, 0) for face in range(100) for skin in ("light", "dark")]
        >>> frame = pd.DataFrame(rows, columns=["face", "skin", "before", "after"])
        >>> frame.loc[frame["skin"] == "dark", "before"] = 1
        >>> settings = {"unit": "face", "axes": {"skin": ["light", "dark"]}, "tolerance": 0.05}
        >>> audits = [faceaudit.table(frame, error=column, **settings)
        ...           for column in ("before", "after")]
        >>> changed = faceaudit.compare(*audits)
        >>> changed.changes["estimate"].tolist(), changed.gate()
        ([-0.5, 0.0, -1.0], 0)
        >>> faceaudit.compare(audits[1], audits[0]).gate()
        1
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
    outcome = first_outcome(plan)
    known = frame[outcome].notna().groupby(frame["image_id"]).transform("sum")
    judged = {outcome: _judged(frame, outcome, plan)}
    # Where the same images lack an outcome in both versions, no test of it can reject.
    if (known == 1).any():
        missing = frame[outcome].isna().astype(float)
        judged[MISSING] = _judged(frame.assign(**{MISSING: missing}), MISSING, plan)
    settled = settle_audits_together(list(judged.values()), plan["level"])
    tables = {
        name: pd.concat(
            [table[families.AVERAGES], table[families.CELLS]], ignore_index=True
        ).rename(columns={"transects": "units"})[CHANGE_COLUMNS]
        for name, table in zip(judged, settled, strict=True)
    }
    by_axis = changes_of_effects(frame, plan).rename(columns={"transects": "units"})
    by_axis = by_axis[["axis", "contrast", "estimate", "low", "high", "p", "p_holm", "units"]]
    once = frame[f"{VERSION}_level"] == 0
    of_both = frame[once].assign(**{outcome: frame[outcome].where(known == 2)})
    analysed_by = plan_of_analysis(new.report)
    covered = covered_faces(of_both, outcome, analysed_by["axes"])
    covered = replace(covered, lacking="images that in one of both versions are")
    return VersionComparison(
        changes=tables[outcome],
        missing=tables.get(MISSING, tables[outcome].iloc[:0]),
        effects=by_axis,
        tolerance=plan["tolerance"],
        counted=CountedImages(
            images=int(once.sum()),
            old=int(frame.loc[once, outcome].notna().sum()),
            new=int(frame.loc[~once, outcome].notna().sum()),
            both=int(of_both[outcome].notna().sum()),
        ),
        coverage=coverage_rows(covered, analysed_by["policy"]),
        gate_of_new=OwnGate.of(new, allow_departures),
        monitored=monitored,
    )


def _judged(frame: pd.DataFrame, outcome: str, plan: Plan) -> dict[str, pd.DataFrame]:
    """How an outcome changes on average and in every cell: two families, each judged for itself.

    Args:
        frame: of `images_of_both`, with numbered units.
        outcome: one of its columns.
        plan: of `images_of_both`.
    """
    cells = [
        matched_row(frame, outcome, _version(plan), held, plan)
        for held in held_levels(plan["axes"], VERSION)
    ]
    on_average = [matched_row(frame, outcome, _version(plan), {}, plan)]
    tolerance = tolerance_of(outcome, first_outcome(plan), plan["tolerance"])
    return {
        families.AVERAGES: judge(pd.DataFrame(on_average), tolerance, plan["level"]),
        families.CELLS: judge(pd.DataFrame(cells), tolerance, plan["level"]),
    }


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
    plan = plan_of_analysis(old.report)
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
