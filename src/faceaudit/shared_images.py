"""Whether several audits are of the same matched images, so that their models can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import pandas as pd

from faceaudit.comparisons import all_contrasts
from faceaudit.effects.survey_weights import WEIGHT
from faceaudit.families import kind_of_contrasts
from faceaudit.frames import listed_on_one_line
from faceaudit.kept_images import plan_of_analysis
from faceaudit.outcomes import outcomes_of
from faceaudit.results import AuditResult
from faceaudit.utils.errors import InputError

SAME_DESIGN = ("axes", "placebos", "contrasts", "level")
"""Entries of the plans that say what is compared."""
LABEL = "label"
"""Column of the right answers, where errors are counted by it."""


def require_same_design(audits: Mapping[str, AuditResult], keys: Iterable[str]) -> None:
    """Refuse audits that do not make the same comparisons of matched images.

    Args:
        audits: name of a model → its audit.
        keys: entries of the plans, as they were analysed by, that must agree.

    Raises:
        InputError: what is no audit, an audit of portraits or pairs, one whose comparisons are not
            those of its plan, or plans that differ.
    """
    for name, audit in audits.items():
        if not isinstance(audit, AuditResult):
            raise InputError(
                f"{name} is of type {type(audit).__name__}, an audit was expected, as "
                "faceaudit.table gives it",
                field=name,
                found=audit,
                expected="an audit",
            )
        if audit.report.kind != "classification":
            raise InputError(
                f"{name} is an audit of {audit.report.kind}, one of matched images was expected",
                field=name,
                found=audit.report.kind,
                expected="an audit of matched images",
            )
        _require_planned_comparisons(name, audit)
    for (first, audit), (second, other) in pairwise(audits.items()):
        for key in keys:
            before, after = (plan_of_analysis(one.report).get(key) for one in (audit, other))
            if before != after:
                raise InputError(
                    f"{key} of {first} is {before}, that of {second} is {after}; the same was "
                    "expected",
                    field=key,
                    found=after,
                    expected=str(before),
                )


def _require_planned_comparisons(name: str, audit: AuditResult) -> None:
    """Refuse an audit whose departures from its plan are about what is compared."""
    report = audit.report
    content = report.plan.content
    contrasts = all_contrasts(content["axes"], kind_of_contrasts(content))
    rows = [*report.effects, *report.outcomes]
    compared = {
        "axes": [row.axis for row in rows],
        "contrasts": [row.contrast for row in rows],
        "outcomes": [row.outcome for row in rows],
    }
    planned = {
        "axes": [contrast.axis for contrast in contrasts],
        "contrasts": [contrast.name for contrast in contrasts],
        "outcomes": outcomes_of(content),
    }
    for what, names in compared.items():
        found = list(dict.fromkeys(names))
        expected = list(dict.fromkeys(planned[what]))
        if found != expected:
            raise InputError(
                f"{name} compares {', '.join(found)}, and its plan {', '.join(expected)}; an audit "
                "by its own plan was expected",
                field=name,
                found=", ".join(found),
                expected=", ".join(expected),
            )


def require_same_images(audits: Mapping[str, AuditResult]) -> None:
    """Refuse audits of other images, or with other units or levels.

    Args:
        audits: name of a model → its audit, of `require_same_design`.

    Raises:
        InputError: images that one of two audits has alone, or at another place.
    """
    for (first, audit), (second, other) in pairwise(audits.items()):
        places = {first: _places(audit), second: _places(other)}
        _require_same_places(places, "unit, level or weight")


def require_same_labels(audits: Mapping[str, AuditResult]) -> None:
    """Refuse audits of the same images whose labels differ; see `require_same_images`."""
    for (first, audit), (second, other) in pairwise(audits.items()):
        if LABEL in audit.frame and LABEL in other.frame:
            _require_same_places({first: _labels(audit), second: _labels(other)}, "label")


def have_same_labels(first: AuditResult, second: AuditResult) -> bool:
    """Whether two audits of the same images have the same right answers, or neither has any."""
    if (LABEL in first.frame) != (LABEL in second.frame):
        return False
    if LABEL not in first.frame:
        return True
    labels = _labels(first)
    return labels.equals(_labels(second).loc[labels.index])


def _places(audit: AuditResult) -> pd.DataFrame:
    """Unit, levels and weight of every image, by its name."""
    content = audit.report.plan.content
    levels = [f"{axis}_level" for axis in [*content["axes"], *content["placebos"]]]
    frame = audit.frame.astype({"unit": str, **dict.fromkeys(levels, int)})
    if WEIGHT not in frame:
        frame = frame.assign(**{WEIGHT: 1.0})
    return frame.set_index("image_id")[["unit", *levels, WEIGHT]]


def _labels(audit: AuditResult) -> pd.DataFrame:
    """The label of every image, by its name; -1 where raters tie, as they may in both audits."""
    return audit.frame.set_index("image_id")[[LABEL]].astype(float).fillna(-1)


def _require_same_places(tables: Mapping[str, pd.DataFrame], what: str) -> None:
    """Refuse two tables by image whose images or values differ."""
    (first, places), (second, others) = tables.items()
    alone = places.index.symmetric_difference(others.index)
    if len(alone):
        some = listed_on_one_line(alone[:3])
        raise InputError(
            f"{len(alone)} images are in one of both audits alone ({first}, {second}), such as "
            f"{some}; the same images were expected{_hint(places.index)}",
            field="images",
            found=some,
            expected="the same images",
        )
    differs = (places != others.loc[places.index]).any(axis=1)
    if differs.any():
        raise InputError(
            f"image {differs.idxmax()!r} has another {what} in {second} than in {first} "
            f"({differs.sum()} such images); the same was expected{_hint(places.index)}",
            field=f"image {differs.idxmax()!r}",
            expected=f"the same {what}",
        )


def _hint(names: pd.Index) -> str:
    """What to do where images are known by the numbers of their rows; empty where they have names.

    Args:
        names: of the images, in the order of the rows.
    """
    if list(names) != list(map(str, range(len(names)))):
        return ""
    return (
        ". The rows of a table without names of images are numbered, so that both tables need the "
        "same order; if they have another one, name the column of the images' names by image="
    )
