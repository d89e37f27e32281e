"""Effects and verdicts in plain words, the same in every part of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from helpers.effects.verdicts import EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE, WITHIN
from helpers.utils.numbers import in_points, with_minus

ORDER = (EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE, WITHIN)
"""Verdicts from what asks for action to what does not."""
WORDS = {
    EXCEEDS: "beyond the tolerance",
    INCONCLUSIVE: "undecided",
    NOT_ESTIMABLE: "not estimable",
    WITHIN: "within the tolerance",
}
"""Verdict → how a page says it."""
RATES = {
    "FMR": "false match rate",
    "FNMR": "false non-match rate",
    "FTE": "rate of failures to enrol",
}
"""Measure of a verification → how a page says it."""


def spaced(name: str) -> str:
    """A name of an axis or group as a page writes it: spaces for underscores.

    Nobody's gender can be read off a face, so that axis is called what it is.

    Args:
        name: of an axis.

    Returns:
        The words.

    Example:
        >>> spaced("skin_colour"), spaced("gender")
        ('skin colour', 'perceived gender')
    """
    return "perceived gender" if name == "gender" else name.replace("_", " ")


def listed(names: Iterable[str]) -> str:
    """Names of axes in a sentence.

    Args:
        names: at least one.

    Returns:
        The words.

    Example:
        >>> listed(["skin_colour", "hair_length", "gender"])
        'skin colour, hair length and perceived gender'
    """
    *most, last = (spaced(name) for name in names)
    return f"{', '.join(most)} and {last}" if most else last


def capital(text: str) -> str:
    """A text with a capital letter, as sentences begin.

    Args:
        text: of any length.

    Returns:
        The text.

    Example:
        >>> capital("dark skin, FMR")
        'Dark skin, FMR'
    """
    return text[:1].upper() + text[1:]


def contrast(levels: Sequence[str]) -> str:
    """A comparison in words.

    Args:
        levels: names of the low and the high level.

    Returns:
        The high level against the low one.

    Example:
        >>> contrast(("light skin", "dark skin"))
        'dark skin instead of light skin'
    """
    return f"{levels[1]} instead of {levels[0]}"


def shown_as(made_by: str | None) -> str:
    """What ties an image to the name of a level, so that nobody takes it for the model's answer.

    Args:
        made_by: kind of the generator; None for a table of images.

    Returns:
        What stands between “images” and the name.

    Example:
        >>> shown_as("stylegan2"), shown_as("images"), shown_as(None)
        ('made to show', 'listed as', 'listed as')
    """
    return "listed as" if made_by in (None, "images") else "made to show"


def percent(rate: float | None) -> str:
    """A rate in percent, "–" where there is none.

    Args:
        rate: a fraction.

    Returns:
        The text.

    Example:
        >>> percent(0.1234), percent(None)
        ('12.3 %', '–')
    """
    return "–" if rate is None else f"{hundredths(rate)} %"


def hundredths(rate: float) -> str:
    """A rate as so many of a hundred, rounded as `points` rounds.

    Args:
        rate: a fraction.

    Returns:
        The text.

    Example:
        >>> hundredths(0.1875), hundredths(0.18749999999999997)
        ('18.8', '18.8')
    """
    return f"{round(100 * rate, 9):z.1f}"


def points(difference: float | None) -> str:
    """A difference of rates in points with its sign, a true minus; "–" where there is none.

    Args:
        difference: a fraction.

    Returns:
        The text.

    Example:
        >>> points(-0.0304), points(None)
        ('−3.0', '–')
    """
    return "–" if difference is None else with_minus(in_points(difference))


def tolerated(tolerance: float) -> str:
    """A tolerance in points, of which one is a point.

    Args:
        tolerance: a fraction.

    Returns:
        The text.

    Example:
        >>> tolerated(0.05), tolerated(0.01)
        ('5 points', '1 point')
    """
    told = f"{100 * tolerance:g}"
    return f"{told} point{'s' * (told != '1')}"


def effect_sentence(
    row: Mapping[str, Any],
    levels: Sequence[str],
    tolerance: float,
    family: int = 1,
    does: str = "errs on",
    shown: str = "made to show",
) -> str:
    """What was found in one cell, for somebody who reads no table.

    Args:
        row: cell, estimate, low, high, base_rate, verdict and reason; None where unknown.
        levels: names of the low and the high level of the axis.
        tolerance: of the plan.
        family: comparisons that the verdict is adjusted for.
        does: what the rates count.
        shown: of `shown_as`.

    Returns:
        One or two sentences.

    Example:
        >>> row = {"cell": "female", "estimate": 0.1, "low": 0.07, "high": 0.13, "base_rate": 0.05}
        >>> row |= {"verdict": "exceeds", "reason": ""}
        >>> print(effect_sentence(row, ("light skin", "dark skin"), 0.05))
        Female: the model errs on 5.0 of 100 images made to show “light skin” and on 15.0 of 100 of
        the same faces made to show “dark skin” (+10.0 points; 95 % interval +7.0 to +13.0). This is
        beyond the tolerance of 5 points.
    """
    where = capital(row["cell"])
    if row["estimate"] is None or row["low"] is None:
        why = f" ({row['reason']})" if row["reason"] else ""
        return f"{where}: {contrast(levels)} cannot be compared here{why}."
    first = row["base_rate"] or 0.0
    second = f"{does.split()[-1]} {hundredths(first + row['estimate'])}"
    return (
        f"{where}: the model {does} {hundredths(first)} of 100 images {shown} “{levels[0]}” and "
        f"{second} of 100 of the same faces {shown} “{levels[1]}” ({points(row['estimate'])} "
        f"points; 95 % interval {points(row['low'])} to {points(row['high'])}). "
        f"{_ending(row, tolerance, family, 'images')}"
    )


def _ending(row: Mapping[str, Any], tolerance: float, family: int, counted: str) -> str:
    """The verdict of a comparison as a sentence."""
    limit = f"the tolerance of {tolerated(tolerance)}"
    if row["verdict"] == EXCEEDS:
        return f"This is beyond {limit}."
    if row["verdict"] == WITHIN:
        inside = -tolerance < row["low"] and row["high"] < tolerance
        return f"This is {'' if inside else 'by two one-sided tests '}within {limit}."
    if row["low"] > tolerance or row["high"] < -tolerance:
        return (
            f"Alone it would lie beyond {limit}; adjusted for all {family} comparisons, it is "
            "undecided."
        )
    return f"The {counted} cannot tell whether this is beyond {limit}."


def axis_sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """The verdicts of one axis, counted, and its largest effect.

    Args:
        rows: of its cells, with contrast, cell, estimate and verdict.

    Returns:
        What follows the name of the axis and a colon.

    Example:
        >>> rows = [{"cell": "male", "estimate": -0.01, "verdict": "within"}]
        >>> axis_sentence(rows)
        'within the tolerance in 1 of 1 comparisons; largest change −1.0 points (male).'
    """
    counts = Counter(row["verdict"] for row in rows)
    told = [f"{WORDS[one]} in {counts[one]}" for one in ORDER if counts[one]]
    told[0] += f" of {len(rows)} comparisons"
    known = [row for row in rows if row["estimate"] is not None]
    largest = ""
    if known:
        row = max(known, key=lambda one: abs(one["estimate"]))
        largest = f"; largest change {points(row['estimate'])} points ({row['cell']})"
    return f"{', '.join(told)}{largest}."


def answer(parts: Mapping[str, Any], tolerance: float) -> tuple[str, str]:
    """The verdict of all families that are judged, and the sentences that say it.

    Args:
        parts: of a report: averages, effects and no_answer, or disparities and failures_to_enrol.
        tolerance: of the plan.

    Returns:
        The verdict ("exceeds" if any does, "within" if all are, else "inconclusive"), and lines
        that say it, first one for the average of each axis.

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.0, seed=1)
        >>> report = faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan)
        >>> answer({"averages": report.averages}, 0.5)[0]
        'inconclusive'
    """
    names = ("averages", "effects", "no_answer", "disparities", "failures_to_enrol")
    rows = [row for name in names for row in parts.get(name, [])]
    counts, n = Counter(row.verdict for row in rows), len(rows)
    limit, left = tolerated(tolerance), undecided(counts, n)
    of_one_axis = [row for row in parts.get("effects", []) if not row.held]
    told = [average_sentence(row, tolerance) for row in parts.get("averages") or of_one_axis]
    if counts[EXCEEDS]:
        beyond = [row for row in rows if row.verdict == EXCEEDS]
        largest = max(beyond, key=lambda row: abs(row.estimate or 0))
        most = largest.sentence.removesuffix(f" This is beyond the tolerance of {limit}.")
        found = (
            f"Beyond the tolerance of {limit}: {len(beyond)} of {n} comparisons"
            f"{f' ({left})' if left else ''}. The largest change: {most}"
        )
        # An axis may be at fault in a cell or by missing answers, and not on average.
        on_average = any(row.verdict == EXCEEDS for row in parts.get("averages") or of_one_axis)
        told.insert(len(told) if on_average else 0, found)
        return EXCEEDS, "\n".join(told)
    if counts[WITHIN] == n:
        told.append(f"Comparisons with a change smaller than {limit}: {n} of {n}.")
        return WITHIN, "\n".join(told)
    told.append(
        f"No comparison is shown to be beyond the tolerance of {limit}, but the data are too few "
        f"to rule such a change out: {left}."
    )
    return INCONCLUSIVE, "\n".join(told)


def undecided(counts: Mapping[str, int], n: int) -> str:
    """How many comparisons are undecided or not estimable, "" if none is.

    Args:
        counts: verdict → comparisons.
        n: all comparisons.

    Returns:
        The words.

    Example:
        >>> undecided({"inconclusive": 2, "not estimable": 1}, 9), undecided({}, 9)
        ('2 of 9 undecided, 1 of 9 not estimable', '')
    """
    states = (INCONCLUSIVE, NOT_ESTIMABLE)
    return ", ".join(f"{counts[one]} of {n} {WORDS[one]}" for one in states if counts.get(one))


def average_sentence(row: Any, tolerance: float) -> str:
    """What an axis does to the error rate over all faces, with its verdict.

    Args:
        row: an `Effect` of the report.
        tolerance: of the plan.

    Returns:
        A sentence.

    Example:
        >>> from types import SimpleNamespace
        >>> numbers = {"estimate": 0.179, "low": 0.119, "high": 0.242, "verdict": "exceeds"}
        >>> row = SimpleNamespace(contrast="dark instead of light", **numbers)
        >>> print(average_sentence(row, 0.05))
        Dark instead of light changes the error rate by +17.9 points on average (95 % interval +11.9
        to +24.2): beyond the tolerance.
    """
    if row.low is None:
        return f"{capital(row.contrast)} cannot be compared on average."
    end = WORDS[row.verdict]
    if row.verdict == WITHIN and max(-row.low, row.high) >= tolerance:
        end += " by two one-sided tests"
    return (
        f"{capital(row.contrast)} changes the error rate by {points(row.estimate)} points on "
        f"average (95 % interval {points(row.low)} to {points(row.high)}): {end}."
    )


def disparity_sentence(row: Mapping[str, Any], tolerance: float, family: int = 1) -> str:
    """What was found for one group of a verification, for somebody who reads no table.

    Args:
        row: of `faceaudit.report_schema.Disparity`, as a dict.
        tolerance: of the plan.
        family: comparisons that the verdict is adjusted for.

    Returns:
        One or two sentences.

    Example:
        >>> row = {"measure": "FMR at threshold", "group": "b", "reference": "a", "rate": None}
        >>> row |= {"estimate": None, "low": None, "reason": "no negatives"}
        >>> disparity_sentence(row, 0.05)
        'b: the false match rate cannot be compared with that of a (no negatives).'
    """
    name = row["group"]
    short = row["measure"].split()[0]
    rate, counted = RATES[short], "images" if short == "FTE" else "pairs"
    if row["estimate"] is None or row["low"] is None:
        why = f" ({row['reason']})" if row["reason"] else ""
        return f"{name}: the {rate} cannot be compared with that of {row['reference']}{why}."
    return (
        f"{name}: the {rate} is {percent(row['rate'])}, against {percent(row['reference_rate'])} "
        f"for {row['reference']}: {points(row['estimate'])} points (95 % interval "
        f"{points(row['low'])} to {points(row['high'])}). "
        f"{_ending(row, tolerance, family, counted)}"
    )
