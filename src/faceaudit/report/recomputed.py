"""Whether a report says what its rows give: its parts, held against those computed from the rows.

Both who verifies a report and who counts on one, as the next look of a monitored audit does, ask
for this.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from pydantic import BaseModel

from faceaudit.checks import find_doubts
from faceaudit.families import Plan
from faceaudit.report.answer import answer_of
from faceaudit.report.build import Analysed, Tables
from faceaudit.report.schema import Report

ROUNDING = 1e-9
"""Largest relative difference between two computations of one number, on two machines."""
NOT_IN_ROWS = {"manipulation", "leakage"}
"""Parts that follow from what people see in images, which the table of images does not have."""
COUNTS_OF_THE_PLAN = {"tells", "units_needed"}
"""Entries of `Report.data` that do not follow from the rows."""
NOT_COMPARED = {"sentence", "truth", "truth_se"}
"""Columns of a part that follow from others, or from the known-truth world."""
KEYS_OF_A_ROW = (
    "name",
    "model",
    "minus",
    "quantity",
    "family",
    "measure",
    "demand",
    "axis",
    "other",
    "group",
    "cell",
    "threshold",
    "column",
    "value",
)
"""Columns that name a row in a sentence."""


class AnsweredRows(Analysed, Protocol):
    """Rows of any design, with their answers: images, pairs or portraits."""

    def analyse(self, plan: Plan) -> Tables:
        """All tables of a report about the rows."""
        ...


def differences_from_rows(report: Report, data: AnsweredRows, plan: Plan) -> Iterator[str]:
    """What a report has otherwise than its rows, a line for each thing.

    Computed once more are all parts of the report that follow from the rows, the verdict of the
    audit, and the doubts that the rows raise.

    Args:
        report: of any kind of audit.
        data: the rows that lie beside it.
        plan: by which it was computed, of `faceaudit.kept_images.plan_of_analysis`.
    """
    tables = data.analyse(plan)
    parts, _ = data.report_parts(tables, plan)
    for name, computed in parts.items():
        if name not in NOT_IN_ROWS:
            yield from differences_of_part(name, getattr(report, name), computed)
    derived = answer_of(parts, report.tolerance)
    if derived.verdict != report.verdict:
        yield f"the verdict of the audit is {report.verdict!r}, its rows give {derived.verdict!r}"
    told = {doubt.name for doubt in report.doubts}
    for name, sentence in find_doubts(data.frame, tables, plan):
        if name not in told:
            yield f"the report does not tell the doubt {name!r}: {sentence}"


def differences_of_part(name: str, told: Any, computed: Any) -> Iterator[str]:
    """A line for each difference in a part of a report: a number, counts, a row, or several.

    Args:
        name: of the part.
        told: what the report has.
        computed: what its rows give.
    """
    if isinstance(computed, Mapping):
        for key, value in computed.items():
            if key not in COUNTS_OF_THE_PLAN and not _are_equal(told.get(key), value):
                yield f"{name}.{key} is {told.get(key)}, the rows give {value}"
    elif isinstance(computed, list):
        if len(told) != len(computed):
            yield f"{name} has {len(told)} rows, there should be {len(computed)}"
            return
        for row, other in zip(told, computed, strict=True):
            yield from _differences_of_row(name, row, other)
    elif isinstance(told, BaseModel) and isinstance(computed, BaseModel):
        yield from _differences_of_row(name, told, computed)
    elif not _are_equal(told, computed):
        yield f"{name} is {told}, the rows give {computed}"


def _differences_of_row(part: str, told: BaseModel, computed: BaseModel) -> Iterator[str]:
    """A line for each column of a row that differs."""
    content = told.model_dump(exclude=NOT_COMPARED)
    keys = [str(content[key]) for key in KEYS_OF_A_ROW if key in content]
    place = f"{part} ({', '.join(keys)})" if keys else part
    for column, value in computed.model_dump(exclude=NOT_COMPARED).items():
        if not _are_equal(content[column], value):
            yield f"{place}: {column} is {content[column]}, the rows give {value}"


def _are_equal(told: object, computed: object) -> bool:
    """Whether two values agree, numbers up to rounding."""
    if isinstance(told, int | float) and isinstance(computed, int | float):
        return math.isclose(told, computed, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return told == computed
