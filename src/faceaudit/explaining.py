"""The words, tables and numbers of a report, explained to somebody who meets them first there."""

from __future__ import annotations

from faceaudit.report_schema import Effect, Report
from faceaudit.words import hundredths, listed, points, shown_as, spaced, tolerated
from helpers.effects.verdicts import EXCEEDS
from helpers.utils.numbers import with_minus


def terms(report: Report) -> list[tuple[str, str]]:
    """The words that a reader of a report needs, explained.

    Args:
        report: of an audit.

    Returns:
        Word and explanation.

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> report = faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan)
        >>> [word for word, _ in terms(report)]
        ['Trait', 'Point', 'Tolerance', '95 % interval', 'Adjusted', 'Undecided', 'Cell']
    """
    found = [
        ("Point", "One of a hundred: from 5 to 7 errors in 100 images are 2 points."),
        (
            "Tolerance",
            f"The largest change that is taken not to matter, {tolerated(report.tolerance)}. "
            "The authors of the audit chose it.",
        ),
        (
            "95 % interval",
            "The changes that go together with what was seen. Such intervals miss the true change "
            "about 5 times in 100.",
        ),
        (
            "Adjusted",
            f"Among {len(report.judged)} comparisons some look large by chance. A verdict "
            "“beyond the tolerance” asks for more evidence the more there are (Holm's method).",
        ),
        ("Undecided", "The data fit changes beyond the tolerance, and changes within it."),
    ]
    if report.kind == "verification":
        return [*found, ("Identity", "A person, with all the pictures of that person.")]
    found.insert(0, ("Trait", _trait(report)))
    cell = next((row.cell for row in report.effects if row.held), None)
    if cell:
        found.append(
            ("Cell", f"The faces that share the other traits, such as “{cell}”, compared apart.")
        )
    return found


def _trait(report: Report) -> str:
    """What the name of a level means, told by one that could be taken for the model's answer."""
    content = report.plan.content
    names = [name for levels in content["axes"].values() for name in levels]
    name = next((name for name in names if name in content["classes"]), names[0])
    shown = shown_as(report.data["made_by"])
    is_as = "was made to show" if shown == "made to show" else f"is {shown}"
    return f"What an image {is_as}, such as “{name}”. It is never what the model answered."


def interacting(report: Report) -> str:
    """What the interactions say, the largest in words.

    Args:
        report: with interactions.

    Returns:
        Sentences.

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> analysis = faceaudit.analyse(data, plan)
        >>> told = interacting(faceaudit.build_report(data, analysis, plan, plan))
        >>> told[:66]
        'An interaction says how far one trait changes what another one doe'
    """
    told = "An interaction says how far one trait changes what another one does to the errors."
    known = [row for row in report.interactions if row.estimate is not None]
    if not known:
        return told
    row = max(known, key=lambda one: abs(one.estimate))
    names = {one.axis: one.contrast for one in report.effects}
    shown = row.p_holm is not None and row.p_holm < report.level
    proof = "" if shown else ", which chance alone may bring about"
    return (
        f"{told} The largest: with {names[row.other]}, the effect of {spaced(row.axis)} "
        f"({names[row.axis]}) differs by {points(row.estimate)} points{proof}."
    )


def controlled(report: Report) -> str:
    """What the negative control says.

    Args:
        report: with placebos.

    Returns:
        Sentences.

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> report = faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan)
        >>> clothes = report.averages[0].model_copy(update={"axis": "clothes", "p_holm": 0.6})
        >>> controlled(report.model_copy(update={"placebos": [clothes]}))[-45:]
        'Here no change along a placebo axis is shown.'
    """
    told = (
        "A placebo axis changes something that no model should react to. A reaction would say that "
        "changes of its size need no bias."
    )
    seen = [
        spaced(row.axis)
        for row in report.placebos
        if row.p_holm is not None and row.p_holm < report.level
    ]
    if seen:
        return f"{told} Here the model reacts to {listed(seen)}."
    return f"{told} Here no change along a placebo axis is shown."


def hidden(report: Report) -> str:
    """What the table of hidden causes is for, and which finding would be the easiest to explain.

    Args:
        report: of a classification.

    Returns:
        Sentences.

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> told = hidden(faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan))
        >>> told[:62]
        'Changing a trait may have changed something that nobody annota'
    """
    told = (
        "Changing a trait may have changed something that nobody annotated. The table says how "
        "strong that would have to be: the higher a number, the harder a finding is to explain away"
    )
    found = [row for row in report.effects if row.verdict == EXCEEDS and row.e_value_limit]
    if not found:
        return f"{told}."
    row = min(found, key=lambda one: one.e_value_limit)
    return (
        f"{told}; an E-value of 1 means that nothing is needed. Of what is beyond the tolerance, "
        f"{row.contrast} ({row.cell}) is the easiest: its interval has the E-value "
        f"{row.e_value_limit:.2f}."
    )


def e_value(row: Effect) -> str:
    """The E-value of an effect, or why it has none.

    Args:
        row: of an effect.

    Returns:
        The text.

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> row = faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan).effects[0]
        >>> e_value(row.model_copy(update={"base_rate": 0.0, "e_value": None}))
        'none: no errors at one level'
    """
    if row.e_value is not None:
        return with_minus(f"{row.e_value:.2f}")
    if row.estimate is None or row.base_rate is None:
        return "–"
    none = [round(rate, 9) == 0 for rate in (row.base_rate, row.base_rate + row.estimate)]
    return f"none: no errors at {'either' if all(none) else 'one'} level" if any(none) else "–"


def detectable(report: Report) -> str:
    """Why the smallest detectable changes differ: by row, in averages, and in the plan.

    Args:
        report: of a classification.

    Returns:
        Sentences.
    """
    cells, averages = (
        max((row.n for row in rows), default=0) for rows in (report.effects, report.averages)
    )
    more = f", and an average has more pairs ({averages:,}) than a cell ({cells:,})"
    told = (
        "Detectable: the smallest change that the comparison of this row, by itself, finds four "
        "times out of five, in points, by the errors that were found. It differs between rows with "
        f"their errors{more if averages else ''}."
    )
    sizes = report.plan.content["sizes"]
    if sizes["detectable"] is None:
        return told
    return (
        f"{told} The plan's {hundredths(sizes['detectable'])} points are no such number: they were "
        "reckoned before anything was asked, for a cell with one pair of each face and an assumed "
        f"error rate of {100 * sizes['expected error']:g} %, and adjusted for all comparisons."
    )
