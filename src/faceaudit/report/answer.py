"""The answer of a report: what its first box, its card and the command line say.

The question of an audit is free text, so that no program can pick the axis that it asks about. The
answer therefore has a part for every axis, in the order of the audit file, and its head names the
axes by their verdicts. The parts of a verification are its groups.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from faceaudit import words
from faceaudit.effects.verdicts import EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE
from faceaudit.outcomes import NUMBER, TITLES
from faceaudit.report import facts
from faceaudit.report.schema import (
    JUDGED_PARTS,
    Comparison,
    Disparity,
    Effect,
    Gap,
    Predicted,
    Verdict,
)
from faceaudit.utils.formatting import capital, spaced, tolerated

MOST_SENTENCES = 3
"""Averages of one axis with a sentence each. More of them are a list, without undecided ones."""
OPEN_VERDICTS = (INCONCLUSIVE, NOT_ESTIMABLE)
"""Verdicts of comparisons that such a list counts in a line."""


@dataclass(frozen=True)
class SubjectAnswer:
    """What the answer says of an axis, or of a group of a verification.

    Attributes:
        name: of the axis or group.
        title: the name as a line begins; that of a group is not changed.
        verdict: of all its comparisons, as of `facts.overall_verdict`.
        sentences: its averages, and how many of its other comparisons have which verdict; the first
            goes on behind the name.
        is_list: whether there are so many averages that a page has a line for each sentence.
    """

    name: str
    title: str
    verdict: Verdict
    sentences: list[str]
    is_list: bool = False


@dataclass(frozen=True)
class Answer:
    """The answer of a report.

    Attributes:
        verdict: of all comparisons that are judged.
        headline: the axes or groups by their verdicts, the most urgent first.
        subjects: a part for each of them, in the order of the audit file.
        notes: how many comparisons have which verdict, and how to take them.
    """

    verdict: Verdict
    headline: str
    subjects: list[SubjectAnswer]
    notes: list[str]

    @property
    def text(self) -> str:
        """The answer as `report.json` has it: a line for the head, each part and each note."""
        lines = [f"{part.title}: {' '.join(part.sentences)}" for part in self.subjects]
        return "\n".join([self.headline, *lines, *self.notes])


@dataclass(frozen=True)
class Beyond:
    """A comparison beyond the tolerance, as a headline has it.

    Attributes:
        name: of its axis or group.
        side: the level whose rate is higher or lower; None of a group, which has the name.
        place: in which cell or rate.
        row: the comparison.
        limit: its tolerance, where it is not that of the audit.
        asked: the first outcome in words, where the comparison is of another one.
        asked_verdict: of all comparisons of the first outcome there.
    """

    name: str
    side: str | None
    place: str
    row: Comparison
    limit: str | None
    asked: str | None
    asked_verdict: Verdict | None


@dataclass(frozen=True)
class Named:
    """An axis or group by its verdict, as a headline has it.

    Attributes:
        name: of the axis or group.
        n_with_verdict: how many of its comparisons have this verdict; None where all have it.
        n: all of its comparisons.
    """

    name: str
    n_with_verdict: int | None
    n: int


def answer_of(parts: Mapping[str, Any], tolerance: float) -> Answer:
    """The verdict of all families that are judged, and what is said of each axis or group.

    Args:
        parts: of the report, by their names in `Report`.
        tolerance: of the audit.

    Returns:
        The answer.
    """
    judged = [row for name in JUDGED_PARTS for row in parts.get(name, ())]
    first_outcome = facts.first_outcome_of(parts)
    rows_of: dict[str, list[Comparison]] = {}
    for row in judged:
        rows_of.setdefault(facts.subject_of(row), []).append(row)
    named_by_verdict: dict[str, list[Named]] = {verdict: [] for verdict in facts.VERDICT_ORDER}
    beyond = []
    subjects = []
    for subject, rows in rows_of.items():
        part = _part_of(subject, rows, parts, tolerance)
        subjects.append(part)
        foremost = facts.foremost(facts.with_verdict(rows, EXCEEDS), first_outcome)
        if foremost is None:
            named_by_verdict[part.verdict].append(_named(part.name, rows, part.verdict))
        else:
            beyond.append(_beyond(part.name, foremost, rows, first_outcome, tolerance))
    counts = facts.verdict_counts(judged)
    limit = tolerated(tolerance, first_outcome == NUMBER)
    beyond_alone = facts.with_ending(judged, facts.Ending.BEYOND_ALONE, first_outcome, tolerance)
    undecided = facts.with_verdict(judged, INCONCLUSIVE)
    (headline,) = words.render_sentences("headline", beyond, named_by_verdict, limit)
    return Answer(
        verdict=facts.overall_verdict(judged),
        headline=headline,
        subjects=subjects,
        notes=words.render_sentences(
            "notes",
            counts,
            len(judged),
            several=len(judged) > 1,
            beyond_alone=len(beyond_alone),
            too_few_data=len(undecided) - len(beyond_alone),
            of_portraits=bool(parts.get("gaps")),
            limit=limit,
            missing_limit=facts.tolerance_of_missing(judged, first_outcome),
        ),
    )


def _named(name: str, rows: Sequence[Comparison], verdict: Verdict) -> Named:
    n_with_verdict = len(facts.with_verdict(rows, verdict))
    return Named(name, None if n_with_verdict == len(rows) else n_with_verdict, len(rows))


def _part_of(
    subject: str, rows: Sequence[Comparison], parts: Mapping[str, Any], tolerance: float
) -> SubjectAnswer:
    """What the answer says of one axis or group, of its comparisons."""
    verdict = facts.overall_verdict(rows)
    disparities = [row for row in rows if isinstance(row, Disparity)]
    if disparities:
        sentences = [_measure_sentence(row, tolerance) for row in disparities]
        return SubjectAnswer(subject, subject, verdict, sentences)
    first_outcome = facts.first_outcome_of(parts)
    averages: list[Effect | Gap] = [row for row in facts.averages(parts) if row.axis == subject]
    averages += facts.of_further_outcomes(rows, first_outcome)
    is_list = len(averages) > MOST_SENTENCES
    if is_list:
        sentences = _averages_in_lines(averages, first_outcome, tolerance)
    else:
        sentences = [_average_sentence(row, tolerance) for row in averages]
    # By identity: an equal row can stand in another family.
    effects_or_gaps = [row for row in rows if not isinstance(row, Disparity)]
    others = [row for row in effects_or_gaps if not any(row is one for one in averages)]
    sentences += _others_in_words(others, first_outcome)
    predicted = [row for row in parts.get("carried", ()) if row.axis == subject]
    sentences += [_predicted_sentence(row) for row in predicted]
    name = spaced(subject)
    # The first sentence goes on behind the name of the axis. None begins with the name of a level,
    # which a capital letter would change.
    first, *further = sentences
    return SubjectAnswer(name, capital(name), verdict, [first, *map(capital, further)], is_list)


def _averages_in_lines(
    rows: Sequence[Effect | Gap], first_outcome: str, tolerance: float
) -> list[str]:
    """Many averages of one axis: a sentence for each two levels, or for each of several outcomes.

    Undecided ones are counted in a sentence of their own. Where two levels are compared in several
    outcomes, the first one has its sentence in any case.
    """
    rows_of: dict[str, list[Effect | Gap]] = {}
    for row in rows:
        rows_of.setdefault(row.outcome, []).append(row)
    several_outcomes = len(rows_of) > 1
    several_contrasts = len(rows) > len(rows_of)
    sentences = []
    for outcome, averages in rows_of.items():
        decided = [row for row in averages if row.verdict not in OPEN_VERDICTS]
        if several_outcomes and several_contrasts:
            sentences += _averages_counted(decided, TITLES[outcome])
            continue
        in_any_case = several_outcomes and outcome == first_outcome
        shown = averages if in_any_case else decided
        sentences += [_average_sentence(row, tolerance) for row in shown]
    for verdict in OPEN_VERDICTS:
        open_rows = facts.with_verdict(rows, verdict)
        if open_rows and several_outcomes:
            titles = Counter(TITLES[row.outcome] for row in open_rows)
            sentences += words.render_sentences(
                "open_outcomes", verdict, len(open_rows), len(rows), titles, several_contrasts
            )
        elif open_rows:
            largest = facts.largest(open_rows)
            place = None if largest is None else facts.contrast_of(largest)
            sentences += words.render_sentences(
                "open_contrasts", verdict, len(open_rows), len(rows), largest, place
            )
    return sentences


def _averages_counted(rows: Sequence[Effect | Gap], title: str) -> list[str]:
    """How many averages of one outcome have which verdict; nothing without one."""
    if not rows:
        return []
    largest = facts.largest(facts.with_verdict(rows, EXCEEDS))
    place = None if largest is None else facts.contrast_of(largest)
    counts = facts.verdict_counts(rows)
    return words.render_sentences("averages_counted", title, counts, largest, place)


def _beyond(
    name: str,
    row: Comparison,
    rows: Sequence[Comparison],
    first_outcome: str,
    tolerance: float,
) -> Beyond:
    """A comparison beyond the tolerance in the headline.

    Args:
        name: of its axis or group.
        row: the comparison.
        rows: all comparisons of the axis or group.
        first_outcome: of the audit.
        tolerance: of the audit.
    """
    side = None
    if isinstance(row, Effect):
        side = facts.levels_of(row.contrast).high
    elif isinstance(row, Gap):
        side = row.group
    of_first = [one for one in rows if facts.rank_of_outcome(one, first_outcome) == 0]
    is_asked = any(row is one for one in of_first)
    own_tolerance = facts.tolerance_of_row(row, first_outcome, tolerance)
    return Beyond(
        name,
        side,
        _place(row, first_outcome),
        row,
        limit=None if own_tolerance == tolerance else tolerated(own_tolerance),
        asked=None if is_asked or isinstance(row, Disparity) else TITLES[first_outcome],
        asked_verdict=None if is_asked else facts.overall_verdict(of_first),
    )


def _place(row: Comparison, first_outcome: str) -> str:
    """In which cell a comparison is; of a verification, which rate it is of."""
    if isinstance(row, Disparity):
        return facts.measure_abbreviation(row.measure)
    return facts.place_of(row, first_outcome)


def _average_sentence(row: Effect | Gap, tolerance: float) -> str:
    macro = "average_gap" if isinstance(row, Gap) else "average_effect"
    ending = facts.ending_of(row, tolerance)
    by_trend = facts.is_trend(row)
    (sentence,) = words.render_sentences(macro, row, TITLES[row.outcome], ending, by_trend)
    return sentence


def _measure_sentence(row: Disparity, tolerance: float) -> str:
    measure = facts.measure_abbreviation(row.measure)
    ending = facts.ending_of(row, tolerance)
    (sentence,) = words.render_sentences("measure", row, measure, ending)
    return sentence


def _others_in_words(rows: Sequence[Effect | Gap], first_outcome: str) -> list[str]:
    """How many of an axis' comparisons in cells have which verdict; nothing without one."""
    if not rows:
        return []
    largest = facts.largest(facts.in_one_unit(facts.with_verdict(rows, EXCEEDS)))
    place = None
    if largest is not None:
        place = _place(largest, first_outcome)
        if len({facts.contrast_of(row) for row in rows}) > 1:
            place = f"{facts.contrast_of(largest)}, {place}"
    return words.render_sentences("others", facts.verdict_counts(rows), largest, place)


def _predicted_sentence(row: Predicted) -> str:
    (sentence,) = words.render_sentences("carried", row, facts.points_the_other_way(row))
    return sentence
