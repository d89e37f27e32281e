"""What a report says about itself as a whole: what was asked, what stands out, what to do next.

Every sentence follows from the content of `report.json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from faceaudit.planning import ENROLMENT, NO_ANSWER
from faceaudit.report_schema import Disparity, Report
from faceaudit.words import RATES, listed, percent, shown_as, spaced
from helpers.effects.verdicts import EXCEEDS, INCONCLUSIVE

MADE = {
    "known-truth": "The images are drawings of invented faces",
    "images": "The images are those of a set of pictures",
}
"""Kind of a generator → what the images are; other kinds are networks that make images."""
LABELLED = {
    "reader": "the answer that a classifier read off the image in place of people",
    "simulated": "that of most of the simulated people who looked",
    "table": "the label of the image",
}
"""Kind of those who labelled → what a right answer is; other kinds are people."""


def task(report: Report) -> str:
    """What the model tells, and what counts as an error.

    Args:
        report: of an audit.

    Returns:
        A sentence.

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> print(task(faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan)))
        The model answers female or male; an error is an answer other than the label of the image.
    """
    if report.kind == "verification":
        return (
            "The model tells whether two pictures show the same person; an error is a false match "
            "(two people taken for one) or a false non-match (one person taken for two)."
        )
    tells, answers = report.data["tells"], report.data["answers"]
    right = LABELLED.get(str(report.data["labelled_by"]), "that of most of the people who looked")
    told = f"tells {spaced(str(tells))}, {answers}" if tells else f"answers {answers}"
    return f"The model {told}; an error is an answer other than {right}."


def images(report: Report) -> str:
    """What the images are, how many, and why there are several of each face.

    Args:
        report: of a classification.

    Returns:
        Two sentences.

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> print(images(faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan)))
        The images are those of the table. There are 240: 60 faces, each in 4 versions that should
        differ in nothing but skin and perceived gender, so that the same face is compared with
        itself.
    """
    data, kind = report.data, report.data["made_by"]
    if kind is None:
        made = f"The images are those of {data['source']}"
    else:
        made = MADE.get(str(kind), "The images were made by a generator")
    axes = dict.fromkeys(row.axis for row in report.effects)
    placebos = dict.fromkeys(row.axis for row in report.placebos)
    versions = 2 ** (len(axes) + len(placebos))
    up_to = "" if data["images"] == data["units"] * versions else "up to "
    control = ""
    if placebos:
        control = f" (and in {listed(placebos)}, a control that should not matter)"
    return (
        f"{made}. There are {data['images']:,}: {data['units']:,} faces, each in {up_to}{versions} "
        f"versions that should differ in nothing but {listed(axes)}{control}, so that the same "
        "face is compared with itself."
    )


def extremes(report: Report) -> str:
    """Where the model errs most and least often, of all combinations of levels; "" without any.

    Args:
        report: of a classification.

    Returns:
        A sentence.

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> print(extremes(faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan)))
        The model errs most often on images listed as dark, female (40.0 %), least often on images
        listed as light, female (1.7 %).
    """
    known = sorted((row.rate, row.group) for row in report.rates if row.rate is not None)
    if not known or known[0][0] == known[-1][0]:
        return ""
    (least, where), (most, there) = known[0], known[-1]
    images = f"images {shown_as(report.data['made_by'])}"
    return (
        f"The model errs most often on {images} {there} ({percent(most)}), least often on "
        f"{images} {where} ({percent(least)})."
    )


def void(report: Report) -> str:
    """Planned comparisons that had nothing to compare; "" without any.

    Args:
        report: of an audit.

    Returns:
        A sentence.

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> void(faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan))
        'Every image was answered: the 2 planned comparisons of missing answers are void.'
    """
    planned = report.plan.content["families"]
    if NO_ANSWER in planned and not report.no_answer:
        n = len(planned[NO_ANSWER])
        what = (
            "comparison of missing answers is" if n == 1 else "comparisons of missing answers are"
        )
        return f"Every image was answered: the {f'{n} ' if n > 1 else ''}planned {what} void."
    if ENROLMENT in planned and not report.failures_to_enrol:
        return "Every picture was enrolled: the planned comparison of failures to enrol is void."
    return ""


def next_steps(report: Report) -> list[str]:
    """What follows from the findings, a sentence or two each.

    Args:
        report: of an audit.

    Returns:
        The steps, the most urgent first.

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> report = faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan)
        >>> [step.split(":")[0] for step in next_steps(report)]
        ['Beyond the tolerance', 'Undecided', 'In any case']
    """
    return [*_steps(report)]


def _steps(report: Report) -> Iterator[str]:
    if any(not one.accepted for one in report.doubts):
        yield "In doubt: look into what the first box says before you use any number of the report."
    if report.plan.departures:
        yield "Departed from the plan: ask why, and hold the answer against the dates."
    beyond = [row for row in report.judged if row.verdict == EXCEEDS]
    if beyond:
        # A group that fares worse than the reference is more urgent than one that fares better.
        signed = report.kind == "verification" and any((one.estimate or 0) > 0 for one in beyond)
        row = max(beyond, key=lambda one: (one.estimate or 0) if signed else abs(one.estimate or 0))
        yield (
            f"Beyond the tolerance: do not use the model where this harms somebody before "
            f"its makers have answered for them. Ask them first about {_where(row, report)}: which "
            "faces of this kind were in the training data, and does another threshold or more of "
            "such faces help?"
        )
    if open_ones := sum(row.verdict == INCONCLUSIVE for row in report.judged):
        yield f"Undecided: {open_ones} of {len(report.judged)}. {_larger(report)}"
    yield (
        "In any case: audit the model on photographs of the people it will judge, taken as it will "
        "see them, before the numbers here are applied to them."
    )


def _where(row: Any, report: Report) -> str:
    """Who bears more errors in a comparison: the side to ask about."""
    more = row.estimate is not None and row.estimate > 0
    if isinstance(row, Disparity):
        return f"the {RATES[row.measure.split()[0]]} of {row.group if more else row.reference}"
    high, _, low = row.contrast.partition(" instead of ")
    side = high if more else low
    where = f"{row.cell}, {side}" if row.held else side
    return f"images {shown_as(report.data['made_by'])} {where}"


def _larger(report: Report) -> str:
    """How large a run would decide, as the plan counts."""
    content, data = report.plan.content, report.data
    if report.kind == "verification":
        return "More identities in each group would decide; more pairs of the same ones do little."
    if data["units_needed"] is None:
        return "More faces would decide."
    whole = "Run the audit at its own size first. " if data["trial"] else ""
    return (
        f"{whole}By the plan, {data['units_needed']:,} faces (here: {data['units']:,}) find a "
        "change as large as the tolerance with a chance of "
        f"{100 * content['power']:g} %, if the model errs on "
        f"{100 * content['sizes']['expected error']:g} % of the images."
    )
