"""What the sentences and pages of a report follow from: cut-offs, counts and levels.

Templates have words and show what is computed here. They compare no quantity.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import itemgetter
from typing import Any, TypeVar

from faceaudit import families
from faceaudit.comparisons import BY_TREND, combinations_of_levels
from faceaudit.effects.verdicts import EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE, WITHIN
from faceaudit.outcomes import (
    ERROR,
    MISSING,
    NUMBER,
    TITLES,
    TOLERANCE_OF_MISSING,
    is_of_number,
    tolerance_of,
)
from faceaudit.report.schema import (
    Benchmark,
    Comparison,
    Disparity,
    Effect,
    Gap,
    Interaction,
    Predicted,
    Rate,
    Report,
    Robustness,
    Verdict,
    WorstCase,
)
from faceaudit.utils.formatting import tolerated

VERDICT_ORDER = (EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE, WITHIN)
"""Verdicts from what asks for action to what does not."""
ZERO_DECIMALS = 9
"""An error rate that is zero to so many decimals is a rate without errors."""
INSTEAD_OF = " instead of "
"""Between the high and the low level in `Effect.contrast`."""
LISTED_SOURCES = (None, "images")
"""Kinds of generator whose images exist before the audit; None stands for a table of images."""

Estimated = TypeVar("Estimated", bound=Comparison | Interaction)


# --- one comparison


class Ending(StrEnum):
    """How the sentence of a comparison ends."""

    BEYOND = "beyond"
    WITHIN = "within"
    WITHIN_BY_TESTS = "within by tests"
    BEYOND_ALONE = "beyond alone"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class ContrastLevels:
    """Names of the two levels that an effect compares, or of a trend the last and the first."""

    high: str
    low: str
    by_trend: bool = False


def levels_of(contrast: str) -> ContrastLevels:
    """The levels in the contrast of an effect.

    Example:
        >>> levels_of("dark instead of light")
        ContrastLevels(high='dark', low='light', by_trend=False)
    """
    high, low = contrast.removesuffix(BY_TREND).split(INSTEAD_OF, 1)
    return ContrastLevels(high, low, contrast.endswith(BY_TREND))


def is_trend(row: Comparison) -> bool:
    """Whether a comparison is of all levels of an axis, by their trend."""
    return not isinstance(row, Disparity) and row.contrast.endswith(BY_TREND)


@dataclass(frozen=True)
class Interval:
    """An interval of one comparison."""

    low: float
    high: float

    def is_inside(self, tolerance: float) -> bool:
        """Whether the interval lies within plus and minus the tolerance."""
        return -tolerance < self.low and self.high < tolerance

    def is_outside(self, tolerance: float) -> bool:
        """Whether the interval lies beyond the tolerance, on one side."""
        return self.low > tolerance or self.high < -tolerance


def interval_of(row: Comparison) -> Interval | None:
    """The 95% interval of a comparison; None where it cannot be estimated."""
    if row.low is None or row.high is None:
        return None
    return Interval(row.low, row.high)


def interval90_of(row: Comparison | WorstCase) -> Interval | None:
    """The 90% interval of a comparison; None where it cannot be estimated."""
    if row.low90 is None or row.high90 is None:
        return None
    return Interval(row.low90, row.high90)


def averages(parts: Mapping[str, Any]) -> list[Effect] | list[Gap]:
    """The comparisons of errors over all faces or portraits; of one axis, its only cell is that.

    Args:
        parts: of a report, by their names in `Report`.

    Returns:
        The comparisons; none of a verification, which has no averages.
    """
    if parts.get("averages"):
        return parts["averages"]
    if parts.get("effects"):
        return [row for row in parts["effects"] if not row.held]
    return [row for row in parts.get("gaps", []) if not row.held and row.family == families.GAPS]


def is_comparable(row: Comparison) -> bool:
    """Whether a comparison has an estimate with an interval."""
    return row.estimate is not None and interval_of(row) is not None


def is_within_by_tests(row: Comparison, tolerance: float) -> bool:
    """Whether the two one-sided tests alone say "within": the 95% interval is wider."""
    interval = interval_of(row)
    return row.verdict == WITHIN and interval is not None and not interval.is_inside(tolerance)


def ending_of(row: Comparison, tolerance: float) -> Ending | None:
    """How the sentence of a comparison ends; None where there is nothing to compare."""
    interval = interval_of(row)
    if row.estimate is None or interval is None:
        return None
    if row.verdict == EXCEEDS:
        return Ending.BEYOND
    if row.verdict == WITHIN:
        by_tests = is_within_by_tests(row, tolerance)
        return Ending.WITHIN_BY_TESTS if by_tests else Ending.WITHIN
    if interval.is_outside(tolerance):
        return Ending.BEYOND_ALONE
    return Ending.UNDECIDED


def differs_from_zero(row: Effect | Interaction, level: float) -> bool:
    """Whether the adjusted p-value is below the level; without one it is not."""
    return row.p_holm is not None and row.p_holm < level


def higher_side(row: Comparison) -> str:
    """The level or group of a comparison that has the higher rate; the low one if they are equal.

    Without an estimate it is the low level or the reference.
    """
    is_higher = row.estimate is not None and row.estimate > 0
    if isinstance(row, Effect):
        levels = levels_of(row.contrast)
        return levels.high if is_higher else levels.low
    return row.group if is_higher else row.reference


@dataclass(frozen=True)
class TwoRates:
    """The rates of a comparison: of the low level or the reference, and of the other."""

    first: float
    second: float


def rates_of(row: Comparison) -> TwoRates | None:
    """The two rates whose difference a comparison is; None where there is none, as of a trend."""
    if not is_comparable(row) or row.estimate is None:
        return None
    if is_trend(row):
        return None
    if isinstance(row, Effect):
        first = row.base_rate or 0.0
        return TwoRates(first, first + row.estimate)
    if row.reference_rate is None or row.rate is None:
        return None
    return TwoRates(row.reference_rate, row.rate)


def subject_of(row: Comparison) -> str:
    """What the answer has a part about: an axis, or a group of a verification."""
    return row.group if isinstance(row, Disparity) else row.axis


def place_of(row: Comparison, first_outcome: str) -> str:
    """What a comparison of an axis or a measure is about.

    Args:
        row: the comparison.
        first_outcome: of the audit, which needs no name.
    """
    if isinstance(row, Disparity):
        return row.group
    if row.outcome == MISSING:
        return "missing"
    if row.outcome != first_outcome:
        return TITLES[row.outcome]
    return row.cell if row.held else "on average"


def measure_abbreviation(measure: str) -> str:
    """A measure without the threshold: "FMR" of "FMR at threshold"."""
    abbreviation, *_ = measure.split(" at ")
    return abbreviation


class LevelsWithoutErrors(StrEnum):
    """Levels of an axis at which the model makes no error."""

    NEITHER_ERRS = "both"
    ONE_ERRS = "one"


def levels_without_errors(row: Effect) -> LevelsWithoutErrors | None:
    """At which levels there is no error, so that a ratio to them has no number; None if at none."""
    if row.estimate is None or row.base_rate is None:
        return None
    low_is_zero = round(row.base_rate, ZERO_DECIMALS) == 0
    high_is_zero = round(row.base_rate + row.estimate, ZERO_DECIMALS) == 0
    if low_is_zero and high_is_zero:
        return LevelsWithoutErrors.NEITHER_ERRS
    if low_is_zero or high_is_zero:
        return LevelsWithoutErrors.ONE_ERRS
    return None


def has_tipping_point(row: Effect) -> bool:
    """Whether the interval of an effect excludes zero, so that something could explain it away."""
    return row.tipping is not None and row.tipping > 0


def points_the_other_way(row: Predicted) -> bool:
    """Whether a predicted effect has the opposite sign of the difference that was counted."""
    return row.share_high is not None and row.share_high < 0


# --- several comparisons


def largest(rows: Iterable[Estimated]) -> Estimated | None:
    """The row with the largest estimate, of either sign; None if no row has one."""
    estimated = [(abs(row.estimate), row) for row in rows if row.estimate is not None]
    if not estimated:
        return None
    _, row = max(estimated, key=itemgetter(0))
    return row


def rank_of_outcome(row: Comparison, first_outcome: str) -> int:
    """How soon an audit asks about a comparison: 0 for its first outcome, 2 for what is missing."""
    if is_of_missing(row):
        return 2
    return len(of_further_outcomes([row], first_outcome))


def foremost(rows: Sequence[Comparison], first_outcome: str) -> Comparison | None:
    """The largest comparison of the outcome that an audit asks about first; None without any.

    Rates of different outcomes say different things, and a number has a unit of its own.

    Args:
        rows: the comparisons.
        first_outcome: of the audit.
    """
    ranks = [rank_of_outcome(row, first_outcome) for row in rows]
    first = min(ranks, default=0)
    return largest(row for row, rank in zip(rows, ranks, strict=True) if rank == first)


def in_one_unit(rows: Sequence[Estimated]) -> list[Estimated]:
    """The comparisons of numbers, if there are any, or else all, which are of rates."""
    return [row for row in rows if is_of_number(row)] or list(rows)


def with_verdict(rows: Iterable[Comparison], verdict: str) -> list[Any]:
    """The comparisons with one verdict."""
    return [row for row in rows if row.verdict == verdict]


def with_ending(
    rows: Iterable[Comparison], ending: Ending, first_outcome: str, tolerance: float
) -> list[Comparison]:
    """The comparisons whose sentences end alike.

    Args:
        rows: the comparisons.
        ending: of their sentences.
        first_outcome: of the audit.
        tolerance: of the audit.
    """
    return [
        row
        for row in rows
        if ending_of(row, tolerance_of_row(row, first_outcome, tolerance)) == ending
    ]


def overall_verdict(rows: Iterable[Comparison]) -> Verdict:
    """The verdict of several comparisons: "exceeds" if any does, "within" if all are.

    Else it is "inconclusive".
    """
    verdicts = {row.verdict for row in rows}
    if EXCEEDS in verdicts:
        return "exceeds"
    return "within" if verdicts <= {WITHIN} else "inconclusive"


def verdict_counts(rows: Iterable[Comparison]) -> dict[str, int]:
    """How many comparisons have each verdict that occurs, the most urgent verdict first."""
    counts = Counter(row.verdict for row in rows)
    return {verdict: counts[verdict] for verdict in VERDICT_ORDER if counts[verdict]}


def most_pairs(rows: Iterable[Effect]) -> int:
    """The largest number of pairs of an effect; zero without effects."""
    return max((row.n for row in rows), default=0)


def extremes(rates: Sequence[Rate]) -> tuple[Rate, Rate] | None:
    """The groups with the lowest and the highest error rate; None if no two rates differ."""
    known = [rate for rate in rates if rate.rate is not None]
    known.sort(key=lambda rate: (rate.rate, rate.group))
    if not known or known[0].rate == known[-1].rate:
        return None
    return known[0], known[-1]


@dataclass(frozen=True)
class Coverage:
    """How many intervals hold the truth.

    Attributes:
        intervals: how many there are.
        hits: how many of them hold the truth.
        largest_se: the largest standard error of the truth.
    """

    intervals: int
    hits: int
    largest_se: float


def coverage(rows: Iterable[Effect]) -> Coverage | None:
    """How many 95% intervals hold the truth; None where no effect has both."""
    hits: list[bool] = []
    standard_errors: list[float] = []
    for row in rows:
        interval = interval_of(row)
        if row.truth is not None and row.truth_se is not None and interval is not None:
            hits.append(interval.low <= row.truth <= interval.high)
            standard_errors.append(row.truth_se)
    if not hits:
        return None
    return Coverage(len(hits), sum(hits), max(standard_errors))


def easiest_to_explain(rows: Iterable[Effect]) -> Effect | None:
    """The effect beyond the tolerance whose interval has the lowest E-value."""
    candidates = [row for row in with_verdict(rows, EXCEEDS) if row.e_value_limit is not None]
    return min(candidates, key=lambda row: row.e_value_limit, default=None)


# --- a whole report


def is_listed(made_by: object) -> bool:
    """Whether a level is what somebody wrote down of an image, and not what a generator made.

    Args:
        made_by: kind of the generator; None for a table of images.
    """
    return made_by in LISTED_SOURCES


def is_of_missing(row: Comparison) -> bool:
    """Whether a comparison is about what is missing, and not about answers."""
    if isinstance(row, Disparity):
        return row.measure in (families.FTE, *families.MISSING_PAIRS)
    return row.outcome == MISSING


def tolerance_of_row(row: Comparison, first_outcome: str, tolerance: float) -> float:
    """The tolerance of a comparison.

    Args:
        row: the comparison.
        first_outcome: of the audit.
        tolerance: of the audit.
    """
    if isinstance(row, Disparity):
        return tolerance
    return tolerance_of(row.outcome, first_outcome, tolerance)


def tolerance_of_missing(rows: Iterable[Comparison], first_outcome: str) -> str | None:
    """The tolerance of what is missing in words, where it is not that of the audit.

    Args:
        rows: all comparisons that are judged.
        first_outcome: of the audit; a number has a unit of its own.

    Returns:
        The tolerance; None if it is that of the audit, or no comparison is of what is missing.
    """
    if first_outcome != NUMBER or not any(is_of_missing(row) for row in rows):
        return None
    return tolerated(TOLERANCE_OF_MISSING)


def first_outcome_of(parts: Mapping[str, Any]) -> str:
    """The outcome that an audit judges in every cell; of a recogniser, errors.

    Args:
        parts: of a report, by their names in `Report`.
    """
    rows = parts.get("effects") or parts.get("gaps") or ()
    return next((row.outcome for row in rows), ERROR)


def has_truth(report: Report) -> bool:
    """Whether the true effects are known."""
    return bool(report.effects) and report.effects[0].truth is not None


def model_name(report: Report) -> str:
    """The model under audit with its version, if that is known; of a table, the table."""
    card = report.provenance["model"] or {}
    name = card.get("name") or f"that of {report.data['source']}"
    version = card.get("version")
    return f"{name}, version {version}" if version else str(name)


def axes_of(rows: Iterable[Effect]) -> list[str]:
    """Every axis once, in the order of the rows."""
    return list(dict.fromkeys(row.axis for row in rows))


def of_further_outcomes(rows: Iterable[Comparison], first_outcome: str) -> list[Effect | Gap]:
    """The comparisons of outcomes besides the first, without that of what is missing."""
    further = []
    for row in rows:
        if not isinstance(row, Disparity) and row.outcome not in (first_outcome, MISSING):
            further.append(row)
    return further


def contrast_of(row: Effect | Gap) -> str:
    """The levels of a comparison in words; reports of portraits once had them by name alone."""
    if isinstance(row, Gap) and not row.contrast:
        return f"{row.group}{INSTEAD_OF}{row.reference}"
    return row.contrast


def strongest_benchmark(row: Robustness, benchmarks: Sequence[Benchmark]) -> Benchmark | None:
    """The covariate next to whose like an adjusted difference is least; None where there is none.

    Args:
        row: about the difference.
        benchmarks: of any differences; those without an estimate do not count.
    """
    comparable = [
        one
        for one in benchmarks
        if (one.axis, one.contrast) == (row.axis, row.contrast) and one.estimate is not None
    ]
    if row.estimate is None or not comparable:
        return None
    sign = 1 if row.estimate > 0 else -1
    return min(comparable, key=lambda one: sign * (one.estimate or 0.0))


def axes_with_several_contrasts(report: Report) -> set[str]:
    """The axes of a report of which more than two levels are compared, by contrasts or a trend."""
    content = report.plan.content
    return {axis for axis, names in content.get("axes", {}).items() if len(names) > 2}


@dataclass(frozen=True)
class MatchedSet:
    """The images of an audit of matched faces.

    Attributes:
        axes: that are compared.
        placebos: axes that should not matter.
        versions: combinations of the levels of both.
        is_complete: whether there is an image of every face in every version.
    """

    axes: list[str]
    placebos: list[str]
    versions: int
    is_complete: bool


def matched_set(report: Report) -> MatchedSet:
    """The matched images of a classification."""
    axes = axes_of(report.effects)
    placebos = axes_of(report.placebos)
    content = report.plan.content
    versions = combinations_of_levels({**content["axes"], **content["placebos"]})
    is_complete = not report.data["no_image"]
    return MatchedSet(axes, placebos, versions, is_complete)


def has_several_portraits(counts: Mapping[str, Any]) -> bool:
    """Whether some people have several portraits; `counts` are those of `Report.data`."""
    return counts["identities"] != counts["images"]


def reacting_placebos(report: Report) -> list[str]:
    """The placebo axes along which the error rate changes, each once."""
    return axes_of(row for row in report.placebos if differs_from_zero(row, report.level))


def example_level(content: Mapping[str, Any]) -> str:
    """A level that the page takes as an example: one that the model tells, if an axis has it.

    Args:
        content: of the plan, with axes and classes.
    """
    names = [name for levels in content["axes"].values() for name in levels]
    return next((name for name in names if name in content["classes"]), names[0])


class Void(StrEnum):
    """Planned comparisons that had nothing to compare."""

    MISSING_IMAGE = "missing image"
    MISSING_IMAGES = "missing images"
    MISSING_PORTRAITS = "missing portraits"
    MISSING_BY_NAME = "missing by name"
    ENROLMENT = "enrolment"
    MISSING_PAIRS = "missing pairs"


def void_comparisons(report: Report) -> Void | None:
    """Which planned comparisons are void: nothing is missing, or it is judged by its name."""
    planned = report.plan.content["families"]
    of_missing = planned.get(families.MISSING) or planned.get(families.MISSING_GAPS)
    if of_missing and report.data["no_answer"] and not any(map(is_of_missing, report.judged)):
        return Void.MISSING_BY_NAME
    if planned.get(families.MISSING) and not report.missing:
        several = len(planned[families.MISSING]) > 1
        return Void.MISSING_IMAGES if several else Void.MISSING_IMAGE
    if families.MISSING_GAPS in planned and not any(
        row.family == families.MISSING_GAPS for row in report.gaps
    ):
        return Void.MISSING_PORTRAITS
    if families.ENROLMENT in planned and not report.failures_to_enrol:
        return Void.ENROLMENT if report.enrolment else Void.MISSING_PAIRS
    return None


def day(time: str) -> str:
    """The date of a time in ISO 8601.

    Example:
        >>> day("2026-03-01T12:00:00+00:00")
        '2026-03-01'
    """
    date, _, _ = time.partition("T")
    return date
