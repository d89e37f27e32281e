"""Families of the comparisons of an audit, by their names in plans, and which are judged."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

from faceaudit.comparisons import REFERENCE, TREND, Contrast

Plan = Mapping[str, Any]
"""What `plan.json` holds; see `faceaudit.make_plan`."""
CELLS = "effects by cell"
AVERAGES = "effects on average"
INTERACTIONS = "interactions"
MISSING = "effects on being missing"
PLACEBOS = "placebo axes"
GROUPS = "error rates by group"
ENROLMENT = "failures to enrol by group"
GAPS = "differences between levels"
GAPS_BY_CELL = "differences by cell"
MISSING_GAPS = "differences in being missing"
OUTCOMES = "further outcomes"
JUDGED_FAMILIES = (
    CELLS,
    AVERAGES,
    MISSING,
    GROUPS,
    ENROLMENT,
    GAPS,
    GAPS_BY_CELL,
    MISSING_GAPS,
    OUTCOMES,
)
"""Families that decide whether a model passes; their comparisons share `LEVEL`."""
FAMILIES_OF_ERRORS = (CELLS, AVERAGES, GAPS, GAPS_BY_CELL)
"""Families about errors along axes."""
MEASURES = ("FNMR at threshold", "FMR at threshold")
"""Error rates of a recogniser that are compared between groups."""
FTE = "FTE"
"""The rate of failures to enrol, among the measures; of images of a recogniser that is asked."""
MISSING_PAIRS = ("missing positives", "missing negatives")
"""Rates of pairs without a similarity in a table, of one person and of two, among the measures."""


REGRESSION = "regression"
BOOSTED_AIPW = "boosted aipw"
"""Adjustments of an audit of portraits: regressions alone, and AIPW by trees besides."""


def pairs_of_contrasts(contrasts: Sequence[Contrast]) -> list[tuple[Contrast, Contrast]]:
    """Every two contrasts of different axes."""
    return [
        (first, second) for first, second in combinations(contrasts, 2) if first.axis != second.axis
    ]


def learner_of_adjustment(plan: Plan) -> Literal["logistic", "boosted"] | None:
    """Learner of the doubly robust adjustment of a plan; None where there are regressions alone."""
    adjustment = plan.get("adjustment", REGRESSION)
    if adjustment == REGRESSION:
        return None
    return "boosted" if adjustment == BOOSTED_AIPW else "logistic"


LOOK = "look"
"""Column of a frame with the look at which a face came first, from 1 on."""
FIRST_LOOK: dict[str, Any] = {"look": 1, "release": 1, "previous": None}
"""What the plan of a monitored audit says of its look, where it counts no earlier one."""


def look_of(plan: Plan) -> Mapping[str, Any] | None:
    """Which look at which release an analysis is; None of an audit that is not monitored.

    Args:
        plan: its policy says whether the gate is monitored, and its entry `monitored`, of
            `faceaudit.looks.counted`, which look it is.
    """
    if not plan.get("policy", {}).get("monitor", False):
        return None
    return plan.get("monitored", FIRST_LOOK)


def kind_of_contrasts(plan: Plan) -> str:
    """Which levels a plan compares; plans of two levels an axis need not say so."""
    return plan.get("contrasts", REFERENCE)


def kind_of_pairs(plan: Plan) -> str:
    """Which two levels are compared where a trend says nothing: each with the first, then."""
    kind = kind_of_contrasts(plan)
    return REFERENCE if kind == TREND else kind
