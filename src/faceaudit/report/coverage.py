"""What must be there before a model may pass: faces in every cell, answers, and rows of use.

A verdict "within" on two faces, or on the images that were left after the hard ones were taken out,
says little. The audit file has the demands (`policy`), and the plan keeps them.

An effect can be spread over errors and missing answers, so that each part of it is small. So where
answers are missing, averages are also computed with them as errors, the worst case.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from faceaudit import words
from faceaudit.effects.verdicts import EXCEEDS
from faceaudit.report import facts
from faceaudit.report.schema import (
    Coverage,
    Demand,
    LeftOut,
    Report,
    WorstCase,
    estimable_only,
)

WORST_CASES = "worst cases"
"""Table of the averages in which each missing answer counts as an error."""

IN_SINGULAR = {"faces": "face", "people": "person", "effective faces": "effective face"}
"""Unit of `Covered` → the word for one of them."""


@dataclass(frozen=True)
class LeftOutRows:
    """Rows of a table that are left out for values that were not expected.

    All of them count against all rows that could have been used. Those whose level of an axis is
    none of the named ones count against the rows of its smallest level as well: a group that is
    left out may be small among all rows, and still as large as one that is compared.

    Attributes:
        share: the largest of these shares; that of an axis may be above 1.
        rows: how many rows are left out there.
        axis: whose share it is; "" of all rows.
        level: the level of the axis with the fewest rows.
        rows_of_level: how many rows of use it has.
        largest: the value that most of the rows are left out for, if there are any.
    """

    share: float = 0.0
    rows: int = 0
    axis: str = ""
    level: str = ""
    rows_of_level: int = 0
    largest: LeftOut | None = None


@dataclass(frozen=True)
class Covered:
    """What an audit has of what its policy asks for.

    Attributes:
        unit: what is counted: "faces" or "people"; of faces with weights "effective faces".
        place: where: in a "cell" of the axes, or in a "group".
        smallest: name of the cell or group with the fewest of them.
        fewest: how many that are.
        emptiest: name of the cell or group with the largest share of images without use.
        unanswered: that share: images that are absent, or have no answer or no label.
        lacking: what has none: "images", or "pairs of one kind" (of one person, or of two).
        left_out: of portraits, rows that are left out for a value that was not expected.
    """

    unit: str
    place: str
    smallest: str
    fewest: int
    emptiest: str
    unanswered: float
    lacking: str = "images"
    left_out: LeftOutRows = LeftOutRows()

    @property
    def fewest_in_words(self) -> str:
        """How many there are in the smallest cell or group, as "12 faces that count"."""
        if self.fewest == 1:
            return f"1 {IN_SINGULAR[self.unit]} that counts"
        return f"{self.fewest:,} {self.unit} that count"


def coverage_rows(covered: Covered, policy: Mapping[str, Any]) -> list[Coverage]:
    """Hold what is there against a policy.

    Args:
        covered: what is there.
        policy: as of `faceaudit.file.parts.CoveragePolicy`, by its keys.

    Returns:
        A row for each demand of the policy.

    Example:
        >>> covered = Covered("faces", "cell", "dark, women", 12, "dark, men", 0.05)
        >>> rows = coverage_rows(covered, {"faces": 30, "unanswered": 0.2, "left_out": 0.05})
        >>> [(row.demand, row.met) for row in rows]
        [('faces', False), ('unanswered', True), ('left_out', True)]
    """
    there: dict[Demand, float] = {
        "faces": covered.fewest,
        "unanswered": covered.unanswered,
        "left_out": covered.left_out.share,
    }
    rows = []
    for demand, found in there.items():
        limit = policy[demand]
        (sentence,) = words.render_sentences(f"coverage_{demand}", covered, limit)
        met = is_met(demand, found, limit)
        row = Coverage(demand=demand, found=found, limit=limit, met=met, sentence=sentence)
        rows.append(row)
    return rows


def coverage_sentences(report: Report, *, met: bool) -> list[str]:
    """The demands that are met, or those that are not, in words.

    Among those that are not are worst cases beyond the tolerance.

    Args:
        report: with its coverage.
        met: whether those are wanted that are met.
    """
    sentences = [row.sentence for row in report.coverage if row.met == met]
    if not met:
        sentences += [row.sentence for row in worst_cases_beyond(report)]
    return sentences


def worst_cases_beyond(report: Report) -> list[WorstCase]:
    """The worst cases beyond the tolerance, of axes or groups of which no verdict says so."""
    subjects = {facts.subject_of(row) for row in facts.with_verdict(report.judged, EXCEEDS)}
    return [
        row for row in report.worst_cases if row.verdict == EXCEEDS and row.subject not in subjects
    ]


def worst_case_rows(table: pd.DataFrame | None) -> list[WorstCase]:
    """The part `worst_cases` of a report.

    Args:
        table: a row per comparison, judged for itself: the columns of `WorstCase`, but for the
            sentence; None where no answer is missing.
    """
    if table is None:
        return []
    columns = [name for name in WorstCase.model_fields if name != "sentence"]
    rows = [
        estimable_only(WorstCase(**row, sentence="")) for row in table[columns].to_dict("records")
    ]
    return [row.model_copy(update={"sentence": worst_case_sentence(row)}) for row in rows]


def worst_case_sentence(row: WorstCase) -> str:
    """The sentence of a worst case."""
    rate = facts.measure_abbreviation(row.measure)
    (sentence,) = words.render_sentences("worst_case", row, rate)
    return sentence


def is_met(demand: Demand, found: float, limit: float) -> bool:
    """Whether a demand is met: there are so many faces, or at most such a share."""
    return found >= limit if demand == "faces" else found <= limit
