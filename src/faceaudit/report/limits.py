"""What a report does not say: a sentence for each limit that follows from its tables and plan."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from faceaudit import words
from faceaudit.effects.verdicts import INCONCLUSIVE
from faceaudit.families import Plan, look_of
from faceaudit.outcomes import ERROR, NUMBER, first_outcome
from faceaudit.report import facts
from faceaudit.report.schema import Enrolment, Leak, LeftOut, MatchRates
from faceaudit.utils.formatting import hundredths, number

LARGE_LEAK = 0.1
"""Share of an attribute's scale. An attribute that moves further along an axis is named."""
FEW_FACES = 30
"""With fewer faces an interval leans on its assumptions."""
LEFT_OUT_ROWS = 5
"""Reasons for leaving out portraits that a limit names."""
Parts = Mapping[str, Any]
"""Name of a field of `Report` → its content."""
DataCounts = Mapping[str, Any]
"""Those of `Report.data`."""


@dataclass(frozen=True)
class Unanswered:
    """Images without an answer: how many, and as a share of all."""

    images: int
    share: float


def limits_of_images(parts: Parts, counts: DataCounts, plan: Plan, one_class: bool) -> list[str]:
    """Limits of an audit of matched images.

    Args:
        parts: effects, placebos and leakage of the report.
        counts: of the images.
        plan: by which they were analysed.
        one_class: whether all labels are of one class.

    Returns:
        A sentence or two for each limit.
    """
    undecided = facts.with_verdict(parts["effects"], INCONCLUSIVE)
    detectable = [row.mde for row in undecided if row.mde is not None]
    return words.render_sentences(
        "limits_of_images",
        counts_errors=first_outcome(plan) == ERROR,
        detectable_range=_range_in_words(detectable, first_outcome(plan) == NUMBER),
        answers_in_table=_answers_in_table(plan),
        one_class=one_class,
        absent=counts["no_image"],
        unlabelled=counts["no_label"],
        unanswered=_unanswered(counts),
        incomplete_pairs=sum(row.missing for row in parts["effects"]),
        leaks=_large_leaks(parts["leakage"]),
        reacting_placebos=[
            row for row in parts["placebos"] if facts.differs_from_zero(row, plan["level"])
        ],
        effective_units=counts.get("effective_units"),
        is_monitored=look_of(plan) is not None,
        few_faces=counts["units"] if counts["units"] < FEW_FACES else None,
    )


def _range_in_words(detectable: Sequence[float], is_number: bool) -> str:
    """The smallest and the largest detectable change; nothing where none is known."""
    if not detectable:
        return ""
    in_words = number if is_number else hundredths
    ends = dict.fromkeys(in_words(end) for end in (min(detectable), max(detectable)))
    return " to ".join(ends) + ("" if is_number else " points")


def limits_of_portraits(
    parts: Parts, counts: DataCounts, plan: Plan, covariates_in_fifths: Sequence[str]
) -> list[str]:
    """Limits of an audit of portraits that were found.

    Args:
        parts: gaps, adjusted and left_out of the report.
        counts: of the portraits.
        plan: by which they were analysed.
        covariates_in_fifths: covariates of numbers that were cut into fifths.

    Returns:
        A sentence or two for each limit.
    """
    left_out: list[LeftOut] = parts["left_out"]
    return words.render_sentences(
        "limits_of_portraits",
        counts_errors=first_outcome(plan) == ERROR,
        counts=counts,
        is_adjusted=bool(parts["adjusted"]),
        covariates=plan["covariates"],
        covariates_in_fifths=covariates_in_fifths,
        several_portraits=facts.has_several_portraits(counts),
        rows_left_out=sum(row.count for row in left_out),
        reasons_left_out=left_out[:LEFT_OUT_ROWS],
        more_left_out=len(left_out) > LEFT_OUT_ROWS,
        effects_from_transects=bool(plan["transects"]),
        answers_in_table=_answers_in_table(plan),
        unanswered=_unanswered(counts),
        some_undecided=bool(facts.with_verdict(parts["gaps"], INCONCLUSIVE)),
        is_number=first_outcome(plan) == NUMBER,
    )


def limits_of_pairs(parts: Parts, counts: DataCounts, plan: Plan, failed_calls: int) -> list[str]:
    """Limits of a verification.

    Args:
        parts: match_rates, disparities and, of a recogniser that was asked, enrolment.
        counts: of the pairs, with those that are left out; with images where a recogniser was
            asked.
        plan: by which they were analysed.
        failed_calls: images without an embedding because a call failed.

    Returns:
        A sentence or two for each limit.
    """
    recogniser_was_asked = "images" in counts
    failures = counts["failures_to_enrol"] if recogniser_was_asked else 0
    match_rates = parts["match_rates"]
    return words.render_sentences(
        "limits_of_pairs",
        recogniser_was_asked=recogniser_was_asked,
        failures=failures,
        share_of_failures=failures / counts["images"] if failures else None,
        worst_enrolled=_worst_enrolled(parts["enrolment"]) if failures else None,
        pairs_left_out=counts["pairs_left_out"],
        share_left_out=counts["pairs_left_out"] / (counts["pairs"] + counts["pairs_left_out"]),
        failed_calls=failed_calls,
        impostors=plan.get("impostors"),
        groups=len(match_rates),
        groups_drawn=_groups_drawn(match_rates, plan) if recogniser_was_asked else 0,
        some_undecided=bool(facts.with_verdict(parts["disparities"], INCONCLUSIVE)),
        threshold_from_pairs=plan["fmr"] is not None,
        distances=plan.get("distances", False),
    )


def _answers_in_table(plan: Plan) -> bool:
    """Whether the answers stand in a table, so that nothing says when they were given."""
    return plan["model"] == "table"


def _unanswered(counts: DataCounts) -> Unanswered | None:
    """Images or portraits without an answer, None if there are none."""
    if not counts["no_answer"]:
        return None
    return Unanswered(counts["no_answer"], counts["no_answer"] / counts["images"])


def _groups_drawn(rows: Sequence[MatchRates], plan: Plan) -> int:
    """In how many groups only some of the pairs of two people were drawn."""
    return sum(row.negatives >= plan["impostors"] for row in rows)


def _worst_enrolled(rows: Sequence[Enrolment]) -> Enrolment:
    """The group with the highest rate of failures to enrol."""
    rated = [(row.rate, row) for row in rows if row.rate is not None]
    _, worst = max(rated, key=itemgetter(0))
    return worst


def _large_leaks(rows: Iterable[Leak]) -> list[Leak]:
    """The attributes that move far along an axis."""
    return [row for row in rows if row.estimate is not None and abs(row.estimate) > LARGE_LEAK]
