"""What a report does not say, worked out from the data of the audit itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from faceaudit.pairs import Pairs
from faceaudit.tables import Audited
from faceaudit.words import hundredths, percent, points, spaced

FEW = 30
"""Units below which an interval leans on its assumptions."""
MOVED = 0.1
"""Of a scale: what moves further along an axis than this is named."""


def of_images(data: Audited, parts: Mapping[str, Any], plan: Mapping[str, Any]) -> list[str]:
    """Limits of an audit of matched images.

    Args:
        data: the images.
        parts: of the report: effects, no_answer, placebos, leakage.
        plan: that counts.

    Returns:
        A sentence or two for each limit, the most general first.

    Example:
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=10, effect=0.3, seed=1)
        >>> parts = {"effects": [], "placebos": [], "leakage": []}
        >>> of_images(data, parts, plan)[-1][:30]
        'There are 10 matched faces onl'
    """
    frame = data.frame
    found = [
        "The numbers are about these images. Other people, cameras and thresholds can give others.",
        "An effect is that of changing an axis in the images, with whatever else the change moved. "
        "It says what the model reacts to, not why.",
    ]
    if plan.get("note"):
        found.append(f"This is a trial run with few faces; its numbers are rough. {plan['note']}")
    open_ones = [one for one in parts["effects"] if one.verdict == "inconclusive"]
    if open_ones:
        ends = (min(one.mde for one in open_ones), max(one.mde for one in open_ones))
        found.append(
            "“Undecided” is not “no effect”: with so many faces, the smallest change that such a "
            f"comparison is likely to find is {' to '.join(dict.fromkeys(map(hundredths, ends)))} "
            "points (the column “detectable” of the effects by cell)."
        )
    if plan["model"] == "table":
        found.append(
            "The model's answers were in the table before the plan was written. Nobody but the "
            "authors can vouch that the plan does not follow from them."
        )
    labels = frame["label"].dropna()
    found.append(
        "An error is a difference from the label. Where the labels themselves are wrong, so are "
        "the errors."
    )
    if labels.nunique() < 2:
        found.append(
            "All labels are of one class, so a model that always gave this answer would look right."
        )
    if ties := int(frame["label"].isna().sum()):
        found.append(
            f"{ties} images have no label, because raters tie or nobody answered; they are left "
            "out."
        )
    if silent := int(frame["no_answer"].sum()):
        found.append(
            f"The model gave no answer for {silent} images ({percent(silent / len(frame))}). Error "
            "rates are of the others; the effect on having no answer is shown apart."
        )
    missing = sum(one.missing for one in parts["effects"])
    if missing:
        found.append(
            f"{missing} comparisons of two images lack one of them, or its answer or label; only "
            "complete pairs count."
        )
    moved = [one for one in parts["leakage"] if abs(one.estimate or 0) > MOVED]
    for one in moved:
        found.append(
            f"Along {spaced(one.axis)}, {spaced(one.attribute)} moves as well, by "
            f"{points(one.estimate)} points of its scale; the effect of {spaced(one.axis)} "
            "includes what that does."
        )
    for one in parts["placebos"]:
        if (one.p_holm or 1) < plan["level"]:
            found.append(
                f"The model reacts to the placebo {spaced(one.axis)} ({points(one.estimate)} "
                "points). Effects of this size need no bias to arise."
            )
    units = frame["unit"].nunique()
    if units < FEW:
        found.append(f"There are {units} matched faces only; the intervals are wide and rough.")
    return found


def of_pairs(data: Pairs, parts: Mapping[str, Any], plan: Mapping[str, Any]) -> list[str]:
    """Limits of an audit of pairs.

    Args:
        data: the pairs.
        parts: of the report: disparities and enrolment.
        plan: that counts.

    Returns:
        A sentence or two for each limit.

    Example:
        >>> import pandas as pd
        >>> pairs = Pairs(pd.DataFrame({"group": ["a"]}), "pairs.csv")
        >>> of_pairs(pairs, {"disparities": []}, {"fmr": 0.01, "model": "table"})[-1][:16]
        'The threshold wa'
    """
    found = [
        "The numbers are about these pairs, at this threshold. Other people, cameras and "
        "thresholds can give others.",
        "Groups can differ in more than the trait that names them, such as in the quality of their "
        "pictures. A gap between groups is not an effect of the trait unless the pictures are "
        "matched.",
    ]
    if data.images is None:
        found.append(
            "The similarities were in the table before the plan was written. Nobody but the "
            "authors can vouch that the plan does not follow from them."
        )
    else:
        found += _of_enrolment(data, parts, plan)
    if any(one.verdict == "inconclusive" for one in parts["disparities"]):
        found.append("“Undecided” is not “no gap”: there are too few identities to rule one out.")
    if plan["fmr"] is not None:
        found.append(
            "The threshold was set on the same pairs; the intervals take it as given, and a "
            "threshold that is set elsewhere gives other rates."
        )
    return found


def _of_enrolment(data: Pairs, parts: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[str]:
    """Limits of pairs that were made of images, by a recogniser that was asked."""
    images = data.images
    if silent := int((images["enrolled"] == 0).sum()):
        worst = max(parts["enrolment"], key=lambda one: one.rate)
        yield (
            f"The model made no embedding of {silent} images ({percent(silent / len(images))}; "
            f"most of {worst.group}, {percent(worst.rate)}). Their {data.left_out} pairs are left "
            "out: error rates are of faces that were found, and a group whose hard pictures are "
            "not found looks easy."
        )
    if failed := int(images["failed_call"].sum()):
        yield (
            f"{failed} of these images have no embedding because calls failed, not because no face "
            "was found; run the audit again to ask about them."
        )
    yield (
        "People are compared within their group only, which is where they are mixed up most; among "
        "strangers of all groups false matches are rarer."
    )
    full = [row.group for row in parts["match_rates"] if row.negatives >= plan["impostors"]]
    if full:
        yield (
            f"Of the pairs of two people, {plan['impostors']:,} of a group were drawn at random, "
            f"in {len(full)} of {len(parts['match_rates'])} groups; other draws give slightly "
            "other rates."
        )
