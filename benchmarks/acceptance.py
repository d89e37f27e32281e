"""Audits of models with a planted effect: how many pass the gate?

Run `python benchmarks/acceptance.py`, which takes ten minutes of one core. Tables of matched
images, of a recogniser's pairs and of found portraits are drawn again and again. Errors are more or
less frequent at one level of the first axis, or one error rate is larger in one group, by 0 to 2
times the tolerance; nothing else has an effect. Where answers are compared with each other and not
with labels, so many of them change along the first axis.

A batch of audits is judged at once: by `matched_effects` and `judge`, by `risk_differences` and
`with_p_values`, or by `difference_score`, and each audit is adjusted as `settle_together` does it.
One audit of every batch goes through `faceaudit.table` or `faceaudit.pairs` as well, which must
find the same estimates, p-values, verdicts and exit codes.

Two gates are counted: the one by default, which asks for a decision on every average (of pairs, on
every difference of an error rate), and `fail_on="inconclusive"`, which asks for one on every
comparison. A model whose effect is as large as the tolerance should pass in 5% of the audits at
most, and its effect should be called within the tolerance no more often. How often an effect is
called within it, the plan says of the errors of matched images, for a cell and for an average.
Everywhere there is a yardstick: the chance that the two one-sided tests of a normal estimate have,
whose standard deviation is known and is the one among the audits.

The record `results/acceptance.csv` has a row per design and effect.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from record import RESULTS, write_rows
from scipy.stats import norm
from verification_disparities import SimulatedPairs

import faceaudit
from faceaudit import families, plans
from faceaudit.effects import (
    Design,
    chances_of_verdicts,
    holm,
    levels_of_cells,
    matched_effects,
    risk_differences,
    score_interval,
    verdict,
)
from faceaudit.effects.verdict_chances import LEVEL_OF_EQUIVALENCE
from faceaudit.effects.verdicts import EXCEEDS, INCONCLUSIVE, WITHIN, Z
from faceaudit.outcomes import ERROR, FLIP
from faceaudit.report.gate import FAILED, PASSED, UNDECIDED
from faceaudit.results import AuditResult
from faceaudit.utils import seeding
from faceaudit.verdicts import judge, with_p_values
from faceaudit.verification.differences import PairDesign, difference_score

AUDITS = 2000
"""Of each design and effect."""
BATCH = 100
"""Audits that are judged at once."""
SEED = 62
AXES = {"skin": (0, 1), "hair": (0, 1)}
PLANTED = "skin"
"""The axis that has an effect."""
HAIR_GOES_WITH_SKIN = 0.7
"""Share of portraits whose level of hair is that of their skin."""
ANSWERED_YES = 0.5
"""Share of faces with the second answer, where answers are compared with each other."""
FALSE_MATCHES = 0.02
"""Of a recogniser's reference. All other errors are as frequent as a plan expects."""
OWN, OTHERS, PICTURES = 6, 4, 2
"""Pairs of a person's own pictures, people that each is compared with, and pairs with each."""
MOST_PASS = 0.05
"""Share of audits that pass where the effect is as large as the tolerance."""
AGREEMENT = 0.03
"""Largest difference of a simulated chance from the planned one, of a cell or an average."""
COMPARED = ["audit", "axis", "estimate", "p_beyond", "verdict"]
"""Columns of the comparisons of a batch."""
GATES = ("averages", "all")
"""Of what the gates ask for a decision: the first one does by default."""

Families = dict[str, pd.DataFrame]
"""Family → a row per comparison of every audit, with the columns `COMPARED`."""


def latent(random: np.random.Generator, unit: np.ndarray, common: float) -> np.ndarray:
    """Standard normal values, a share `common` of whose variance is the units' own: (n,)."""
    of_unit = random.standard_normal(unit.max() + 1)
    own = random.standard_normal(len(unit))
    return np.sqrt(common) * of_unit[unit] + np.sqrt(1 - common) * own


def axes_in_words(axes: int) -> str:
    return "1 axis" if axes == 1 else f"{axes} axes"


@dataclass(frozen=True)
class Matched:
    """Errors on matched images.

    Attributes:
        axes: their number.
        faces: each at all combinations of levels.
        tolerance: largest effect that does not matter.
        common: share of a face in what decides about its errors.
        multiples: effects, as multiples of the tolerance.
    """

    axes: int
    faces: int
    tolerance: float = 0.05
    common: float = 0.0
    multiples: tuple[float, ...] = (0, 0.5, 1, 2)
    outcome: ClassVar[str] = ERROR

    def __str__(self) -> str:
        together = ", errors of a face hang together" if self.common else ""
        return f"matched, {axes_in_words(self.axes)}, {self.faces:,} faces{together}"

    @property
    def names(self) -> list[str]:
        """Of the axes."""
        return [*AXES][: self.axes]

    @property
    def family_of_averages(self) -> str:
        """The family with the averages over all faces."""
        return families.AVERAGES if self.axes > 1 else families.CELLS

    def draw(self, effect: float, random: np.random.Generator) -> pd.DataFrame:
        """Images of a batch of audits: audit, unit, a level of each axis, and error."""
        images = self._images()
        rate = plans.EXPECTED_ERROR + effect * images[f"{PLANTED}_level"]
        value = latent(random, images["unit"].to_numpy(), self.common)
        return images.assign(error=(value < norm.ppf(rate)).astype(int))

    def _images(self) -> pd.DataFrame:
        """Images of a batch of audits: a level of each axis, unit and audit."""
        levels_of_face = np.array([*product((0, 1), repeat=self.axes)])
        units = BATCH * self.faces
        columns = [f"{name}_level" for name in self.names]
        images = pd.DataFrame(np.tile(levels_of_face, (units, 1)), columns=columns)
        images["unit"] = np.repeat(np.arange(units), len(levels_of_face))
        return images.assign(audit=images["unit"] // self.faces)

    def compared(self, images: pd.DataFrame) -> Families:
        """All comparisons of the batch."""
        tables = {families.CELLS: [], families.AVERAGES: []}
        columns = [f"{name}_level" for name in self.names]
        for name, column in zip(self.names, columns, strict=True):
            others = [other for other in columns if other != column]
            for family, by in (
                (families.CELLS, ["audit", *others]),
                (families.AVERAGES, ["audit"]),
            ):
                outcome = self._outcome_along(name, images)
                table = matched_effects(outcome, self.outcome, column, by, "unit", self.tolerance)
                # Of one pair a face, the test against the tolerance is exact.
                exact = table["n"] == table["transects"]
                tables[family].append(table.reset_index().assign(axis=name, exact=exact))
        if self.axes == 1:
            del tables[families.AVERAGES]
        return {
            family: judge(pd.concat(parts, ignore_index=True), self.tolerance)[COMPARED]
            for family, parts in tables.items()
        }

    def _outcome_along(self, axis: str, images: pd.DataFrame) -> pd.DataFrame:
        """The images with what is compared along an axis."""
        return images

    def audit(self, images: pd.DataFrame, number: int) -> AuditResult:
        """The audit of this number, from its table."""
        table = images[images["audit"] == number]
        table = table.rename(columns={f"{name}_level": name for name in self.names})
        return faceaudit.table(table, **self._settings())

    def _settings(self) -> dict[str, Any]:
        """Keywords of `faceaudit.table`."""
        return {
            "unit": "unit",
            "axes": {name: AXES[name] for name in self.names},
            "error": "error",
            "tolerance": self.tolerance,
        }

    def planned(self, effect: float) -> float:
        """The planned chance that a cell is called within the tolerance."""
        levels = levels_of_cells([2] * self.axes, plans.LEVEL)
        design = Design(effect, plans.EXPECTED_ERROR, within=0, pairs=1)
        return chances_of_verdicts(self.faces, design, self.tolerance, levels).within

    def planned_on_average(self, multiple: float) -> float:
        """The chance that an average is called within, NaN for an effect that plans do not have."""
        sizes = faceaudit.plan(self.faces, **self._settings()).content["sizes"]
        # Of one axis, the cell is the average.
        chances = sizes.get("chances on average", sizes["chances"])
        within = {row["times the tolerance"]: row["within"] for row in chances}
        return within.get(multiple, np.nan)


@dataclass(frozen=True)
class Flips(Matched):
    """Answers on matched images, which are compared with each other; there are no labels.

    The answer to a face changes along the first axis in all cells of the other one, or in none.
    """

    outcome: ClassVar[str] = FLIP

    def __str__(self) -> str:
        return f"flips, {axes_in_words(self.axes)}, {self.faces:,} faces"

    def draw(self, effect: float, random: np.random.Generator) -> pd.DataFrame:
        """Images of a batch of audits: audit, unit, a level of each axis, and answer."""
        images = self._images()
        units = BATCH * self.faces
        yes = (random.random(units) < ANSWERED_YES)[images["unit"]]
        flips = (random.random(units) < effect)[images["unit"]]
        is_flipped = flips & (images[f"{PLANTED}_level"] == 1)
        return images.assign(answer=(yes ^ is_flipped).astype(int))

    def _outcome_along(self, axis: str, images: pd.DataFrame) -> pd.DataFrame:
        """The images with whether the answer is another one than at the low level of the axis."""
        # The images of a face follow each other, and the level of the last axis changes first.
        answer = images["answer"].to_numpy().reshape(-1, *[2] * self.axes)
        at_low = answer.take([0], 1 + self.names.index(axis))
        return images.assign(flip=(answer != at_low).astype(int).ravel())

    def _settings(self) -> dict[str, Any]:
        """Keywords of `faceaudit.table`."""
        settings = super()._settings()
        del settings["error"]
        return settings | {"pred": "answer", "outcomes": [FLIP]}

    def planned(self, effect: float) -> float:
        """A plan has no chances of the verdicts on flips."""
        return np.nan

    def planned_on_average(self, multiple: float) -> float:
        """A plan has no chances of the verdicts on flips."""
        return np.nan


@dataclass(frozen=True)
class Portraits:
    """Found portraits.

    Attributes:
        axes: their number.
        people: of an audit.
        tolerance: largest difference that does not matter.
        most: portraits of one person; each has one to so many.
        common: share of a person in what decides about the errors.
        multiples: differences, as multiples of the tolerance.
    """

    axes: int
    people: int
    tolerance: float = 0.05
    most: int = 1
    common: float = 0.0
    multiples: tuple[float, ...] = (-1, 0, 0.5, 1, 2)
    family_of_averages: str = families.GAPS

    def __str__(self) -> str:
        several = f" with 1 to {self.most} portraits" if self.most > 1 else ""
        return f"portraits, {axes_in_words(self.axes)}, {self.people:,} people{several}"

    @property
    def names(self) -> list[str]:
        """Of the axes."""
        return [*AXES][: self.axes]

    def draw(self, effect: float, random: np.random.Generator) -> pd.DataFrame:
        """Portraits of a batch of audits: audit, identity, a level of each axis, and error."""
        size = BATCH * self.people
        skin = random.integers(0, 2, size)
        as_skin = random.random(size) < HAIR_GOES_WITH_SKIN
        people = pd.DataFrame({"skin": skin, "hair": np.where(as_skin, skin, 1 - skin)})
        each = random.integers(1, self.most + 1, size)
        identity = np.repeat(np.arange(size), each)
        portraits = people[self.names].iloc[identity].reset_index(drop=True)
        portraits = portraits.assign(identity=identity, audit=identity // self.people)
        rate = plans.EXPECTED_ERROR + effect * portraits[PLANTED]
        value = latent(random, identity, self.common)
        return portraits.assign(error=(value < norm.ppf(rate)).astype(int))

    def compared(self, portraits: pd.DataFrame) -> Families:
        """All comparisons of the batch."""
        tables = {families.GAPS: [], families.GAPS_BY_CELL: []}
        for name in self.names:
            others = [other for other in self.names if other != name]
            for family, by in (
                (families.GAPS, ["audit"]),
                (families.GAPS_BY_CELL, ["audit", *others]),
            ):
                table = risk_differences(
                    portraits, "error", name, by, "identity", tolerance=self.tolerance
                )
                tables[family].append(table.reset_index().assign(axis=name))
        if self.axes == 1:
            del tables[families.GAPS_BY_CELL]
        plan = {"tolerance": self.tolerance, "level": plans.LEVEL}
        judged = {}
        for family, parts in tables.items():
            table = pd.concat(parts, ignore_index=True).rename(columns={"clusters": "identities"})
            judged[family] = with_p_values(table, plan)[COMPARED]
        return judged

    def audit(self, portraits: pd.DataFrame, number: int) -> AuditResult:
        """The audit of this number, from its table."""
        return faceaudit.table(
            portraits[portraits["audit"] == number],
            unit=None,
            axes={name: AXES[name] for name in self.names},
            error="error",
            identity="identity",
            tolerance=self.tolerance,
        )

    def planned(self, effect: float) -> float:
        """A plan has no chances of the verdicts on portraits."""
        return np.nan

    def planned_on_average(self, multiple: float) -> float:
        """A plan has no chances of the verdicts on portraits."""
        return np.nan


@dataclass(frozen=True)
class Pairs:
    """Pairs of a recogniser: two groups of other people, each of whom is compared with the next.

    Attributes:
        measures: the error rates that differ in the second group, of `faceaudit.families.MEASURES`.
        people: of each group.
        tolerance: largest difference that does not matter.
        common: share in what decides about the errors: of a person, or of both of a pair.
        multiples: differences, as multiples of the tolerance.
    """

    measures: tuple[str, ...]
    people: int
    tolerance: float = 0.05
    common: float = 0.2
    multiples: tuple[float, ...] = (0, 0.5, 1, 2)
    family_of_averages: str = families.GROUPS

    def __str__(self) -> str:
        rates = " and ".join(measure.split()[0] for measure in self.measures)
        return f"pairs, {rates}, 2 × {self.people:,} people"

    def draw(
        self, effect: float, random: np.random.Generator
    ) -> dict[str, tuple[SimulatedPairs, ...]]:
        """Measure → pairs of both groups, of a batch of audits."""
        fnmr, fmr = families.MEASURES
        rates = {fnmr: plans.EXPECTED_ERROR, fmr: FALSE_MATCHES}
        drawn = {}
        for measure, rate in rates.items():
            planted = effect if measure in self.measures else 0.0
            drawn[measure] = tuple(
                self._pairs(measure, start, norm.ppf(rate_of_group), random)
                for start, rate_of_group in ((0, rate), (self.people, rate + planted))
            )
        return drawn

    def _pairs(
        self, measure: str, start: int, cut: float, random: np.random.Generator
    ) -> SimulatedPairs:
        """Pairs of a group, whose people are numbered from `start` on."""
        people = np.arange(self.people)
        of_person = random.standard_normal((BATCH, self.people))
        if measure == families.MEASURES[0]:
            first = second = people
            pairs = OWN
            of_both = of_person
        else:
            first = np.repeat(people, OTHERS)
            second = (first + np.tile(np.arange(1, OTHERS + 1), self.people)) % self.people
            pairs = PICTURES
            of_both = (of_person[:, first] + of_person[:, second]) / np.sqrt(2)
        design = PairDesign(
            start + first, start + second, np.full(len(first), pairs), 2 * self.people
        )
        own = random.standard_normal((BATCH, len(first), pairs))
        value = np.sqrt(self.common) * of_both[..., None] + np.sqrt(1 - self.common) * own
        return SimulatedPairs(design, value + cut)

    def compared(self, drawn: dict[str, tuple[SimulatedPairs, ...]]) -> Families:
        """All comparisons of the batch."""
        tables = []
        for measure, groups in drawn.items():
            errors = np.stack([group.errors for group in groups], axis=1)
            score = difference_score(*groups, errors)
            low, high = score.interval(0.95)
            low90, high90 = score.interval(0.9)
            table = {
                "audit": np.arange(BATCH),
                "axis": PLANTED if measure in self.measures else measure,
                "estimate": score.estimate,
                "low": low,
                "high": high,
                "p": score.p(),
                "verdict": verdict(low, high, low90, high90, self.tolerance),
                "identities": groups[1].design.identities,
            }
            tables.append(pd.DataFrame(table))
        plan = {"tolerance": self.tolerance, "level": plans.LEVEL}
        table = with_p_values(pd.concat(tables, ignore_index=True), plan)
        return {families.GROUPS: table[COMPARED]}

    def audit(self, drawn: dict[str, tuple[SimulatedPairs, ...]], number: int) -> AuditResult:
        """The audit of this number, from its table."""
        tables = []
        for measure, groups in drawn.items():
            same = int(measure == families.MEASURES[0])
            for name, group in zip("ab", groups, strict=True):
                dyad = np.repeat(np.arange(len(group.design.pairs)), group.design.pairs)
                # A pair of one person errs below the threshold of 0, one of two people above it.
                error = group.scores[number].ravel()
                table = {
                    "group": name,
                    "first": group.design.first[dyad],
                    "second": group.design.second[dyad],
                    "same": same,
                    "similarity": -error if same else error,
                }
                tables.append(pd.DataFrame(table))
        return faceaudit.pairs(
            pd.concat(tables, ignore_index=True),
            group="group",
            first="first",
            second="second",
            same="same",
            similarity="similarity",
            reference="a",
            threshold=0.0,
            tolerance=self.tolerance,
        )

    def planned(self, effect: float) -> float:
        """A plan has no chances of the verdicts on pairs."""
        return np.nan

    def planned_on_average(self, multiple: float) -> float:
        """A plan has no chances of the verdicts on pairs."""
        return np.nan


AnyDesign = Matched | Portraits | Pairs
FNMR, FMR = families.MEASURES
DESIGNS: tuple[AnyDesign, ...] = (
    Matched(1, 800),
    Matched(1, 150, tolerance=0.1),
    Matched(2, 600),
    Matched(2, 600, common=0.3),
    Flips(1, 300),
    Flips(2, 300),
    Pairs((FNMR,), 150, multiples=(-1, 0, 0.5, 1, 2)),
    Pairs((FMR,), 150),
    Pairs((FNMR,), 50, tolerance=0.1),
    Portraits(1, 1200),
    Portraits(1, 240, tolerance=0.1, multiples=(0, 0.5, 1, 2)),
    Portraits(2, 800, most=3, common=0.3),
)


@dataclass(frozen=True)
class Judged:
    """All comparisons of the audits of a batch, whose verdicts are adjusted together.

    Attributes:
        family: of each comparison, (m,).
        axis: of each comparison, (m,).
        estimate: (audits, m).
        p: of the test against the tolerance after Holm's adjustment, (audits, m).
        verdict: (audits, m).
    """

    family: np.ndarray
    axis: np.ndarray
    estimate: np.ndarray
    p: np.ndarray
    verdict: np.ndarray

    @classmethod
    def of(cls, tables: Families) -> Judged:
        """Adjust as `faceaudit.verdicts.settle_together`, where every comparison is estimable."""
        table = pd.concat(tables, names=["family"]).reset_index("family")
        table = table.sort_values("audit", kind="stable")
        first = table[table["audit"] == 0]
        shape = (BATCH, len(first))
        p_beyond = table["p_beyond"].to_numpy().reshape(shape)
        assert np.isfinite(p_beyond).all()
        # Each family has the same share of the level, and each comparison of its family's.
        shares = 1 / first.groupby("family")["axis"].transform("size").to_numpy()
        p = np.array([holm(of_audit, shares) for of_audit in p_beyond])
        verdicts = table["verdict"].to_numpy().astype(str).reshape(shape)
        states = [p < plans.LEVEL, verdicts == WITHIN]
        return cls(
            family=first["family"].to_numpy(),
            axis=first["axis"].to_numpy(),
            estimate=table["estimate"].to_numpy().reshape(shape),
            p=p,
            verdict=np.select(states, [EXCEEDS, WITHIN], INCONCLUSIVE),
        )

    def exit_codes(self, averages: str) -> dict[str, np.ndarray]:
        """What the gates say of audits that have all their images and no doubt.

        Args:
            averages: family of which the gate by default asks for a decision on each comparison.

        Returns:
            Gate of `GATES` → exit codes, (audits,).
        """
        within = self.verdict == WITHIN
        of_averages = within[:, self.family == averages]
        decided = (of_averages.all(axis=1), within.all(axis=1))
        failed = (self.verdict == EXCEEDS).any(axis=1)
        return {
            gate: np.select([failed, enough], [FAILED, PASSED], UNDECIDED)
            for gate, enough in zip(GATES, decided, strict=True)
        }


def require_same(
    audit: AuditResult, judged: Judged, codes: dict[str, np.ndarray], number: int
) -> None:
    """Assert that the library finds in the audit of this number what was found at once."""
    of_library = {
        families.CELLS: audit.effects,
        families.GAPS_BY_CELL: audit.effects,
        families.GROUPS: audit.effects,
        families.AVERAGES: audit.averages,
        families.GAPS: audit.averages,
    }
    for family in np.unique(judged.family):
        found = of_library[family]
        rows = judged.family == family
        assert found["verdict"].tolist() == judged.verdict[number, rows].tolist(), family
        np.testing.assert_allclose(found["estimate"], judged.estimate[number, rows], atol=1e-9)
        np.testing.assert_allclose(found["p_beyond_holm"], judged.p[number, rows], atol=1e-9)
    assert audit.gate() == codes["averages"][number]
    assert audit.gate("inconclusive") == codes["all"][number]


def judged_at_once(
    design: AnyDesign, multiple: float, batch: int, through_the_door: Iterable[int] = (0,)
) -> tuple[Judged, dict[str, np.ndarray]]:
    """The comparisons of a batch of audits, and the exit codes of the gates.

    Args:
        design: of the audits.
        multiple: the effect, as a multiple of the tolerance.
        batch: number of the batch.
        through_the_door: numbers of the audits that the library must judge alike.
    """
    stage = f"acceptance/{design}/{design.tolerance:g}/{multiple:g}"
    drawn = design.draw(multiple * design.tolerance, seeding.rng(SEED, stage, batch))
    judged = Judged.of(design.compared(drawn))
    codes = judged.exit_codes(design.family_of_averages)
    for number in through_the_door:
        require_same(design.audit(drawn, number), judged, codes, number)
    return judged, codes


def audited(case: tuple[AnyDesign, float, int]) -> pd.DataFrame:
    """What the audits of a batch say, a row each."""
    design = case[0]
    judged, codes = judged_at_once(*case)
    is_average = judged.family == design.family_of_averages
    is_planted = judged.axis == PLANTED
    average = np.flatnonzero(is_average & is_planted)[0]
    cells = judged.verdict[:, ~is_average & is_planted]
    table = pd.DataFrame({f"passes: {gate}": code == PASSED for gate, code in codes.items()})
    table["estimate"] = judged.estimate[:, average]
    table["within"] = judged.verdict[:, average] == WITHIN
    table["beyond"] = judged.verdict[:, average] == EXCEEDS
    if cells.size:
        table["cells within"] = (cells == WITHIN).mean(axis=1)
        table["cells beyond"] = (cells == EXCEEDS).mean(axis=1)
    return table


def yardstick(effect: float, spread: float, tolerance: float) -> float:
    """Chance that both one-sided tests of a normal estimate of this spread say "within"."""
    if spread == 0:
        return float(abs(effect) < tolerance)
    reach = tolerance - norm.ppf(1 - LEVEL_OF_EQUIVALENCE) * spread
    chance = norm.cdf(reach, effect, spread) - norm.cdf(-reach, effect, spread)
    return float(max(chance, 0.0))


def row_of(design: AnyDesign, multiple: float, found: pd.DataFrame) -> dict[str, str | float]:
    """Shares of a design and an effect."""
    row: dict[str, str | float] = {
        "design": str(design),
        "tolerance": design.tolerance,
        "multiple": multiple,
        "audits": len(found),
    }
    for name in (*(f"passes: {gate}" for gate in GATES), "within"):
        share = float(found[name].mean())
        low, high = score_interval(share, len(found), Z)
        row |= {name: share, f"{name}, low": max(float(low), 0.0), f"{name}, high": float(high)}
    row["beyond"] = float(found["beyond"].mean())
    for name in ("cells within", "cells beyond"):
        row[name] = float(found[name].mean()) if name in found else np.nan
    effect = multiple * design.tolerance
    row["estimate"] = float(found["estimate"].mean())
    row["spread"] = float(found["estimate"].std())
    row["yardstick"] = yardstick(effect, row["spread"], design.tolerance)
    row["cell planned"] = design.planned(effect)
    row["average planned"] = design.planned_on_average(multiple)
    return row


def shown_rows(table: pd.DataFrame) -> list[dict[str, str | float]]:
    """A row per design."""
    shown = []
    for (design, tolerance), part in table.groupby(["design", "tolerance"], sort=False):
        at = part.set_index("multiple")
        # Of an effect in either direction, the one with which more audits pass.
        largest = part[part["multiple"].abs() == 1].max(numeric_only=True)
        row: dict[str, str | float] = {"what": f"{design}, tolerance {100 * tolerance:g}"}
        for gate in GATES:
            row[f"pass at the tolerance (%): {gate}"] = 100 * largest[f"passes: {gate}"]
        row["at twice the tolerance: averages"] = 100 * at.loc[2, "passes: averages"]
        row["called within at no effect (%)"] = 100 * at.loc[0, "within"]
        row["yardstick"] = 100 * at.loc[0, "yardstick"]
        row["average planned"] = "–"
        row["cells within at no effect (%)"] = "–"
        row["cell planned"] = "–"
        if np.isfinite(at.loc[0, "cell planned"]):
            row["average planned"] = 100 * at.loc[0, "average planned"]
            row["cells within at no effect (%)"] = 100 * cells_within(at).loc[0]
            row["cell planned"] = 100 * at.loc[0, "cell planned"]
        shown.append(row)
    return shown


def cells_within(table: pd.DataFrame) -> pd.Series:
    """Share of the cells that are called within; of one axis, the average is the only cell."""
    return table["cells within"].fillna(table["within"])


def conclude(table: pd.DataFrame) -> None:
    """Leave `results/acceptance.json`, and hold the shares against what they should be."""
    facts = {
        "audits": f"{AUDITS:,} of each design and effect",
        "effects": "of the first axis, or of one error rate: 0, 0.5, 1 and 2 × the tolerance; of "
        "flips, the share of faces whose answer changes",
        "called right": f"at the tolerance at most {MOST_PASS:.0%} pass, by the Monte-Carlo "
        "interval, with a decision on every average or comparison; cells and "
        f"averages of independent images are within as often as planned, by {AGREEMENT:g}",
    }
    write_rows("acceptance", facts, shown_rows(table), ["numpy", "scipy", "pandas"])
    at_tolerance = table[table["multiple"].abs() == 1]
    for name in ("within", "passes: averages", "passes: all"):
        assert (at_tolerance[f"{name}, low"] <= MOST_PASS).all(), name
    independent = ~table["design"].str.contains("hang together")
    of_cells = (cells_within(table) - table["cell planned"]).abs()[independent]
    of_averages = (table["within"] - table["average planned"]).abs()[independent]
    assert of_cells.max() <= AGREEMENT
    assert of_averages.max() <= AGREEMENT


def main() -> None:
    rows = []
    with ProcessPoolExecutor(2) as pool:
        for design, multiple in ((one, multiple) for one in DESIGNS for multiple in one.multiples):
            batches = [(design, multiple, batch) for batch in range(AUDITS // BATCH)]
            rows.append(row_of(design, multiple, pd.concat(pool.map(audited, batches))))
            print(f"{design}, {multiple:g} × the tolerance", flush=True)
    table = pd.DataFrame(rows).round(4)
    table.to_csv(RESULTS / "acceptance.csv", index=False)
    conclude(table)


if __name__ == "__main__":
    main()
