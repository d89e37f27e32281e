"""Audits of data frames, in one call each.

The same audits are described by a file, too (`faceaudit.file.specification`): these functions make
of their arguments what the file would say, and then do the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Required, TypedDict

import pandas as pd

from faceaudit import plans, words
from faceaudit.comparisons import TREND
from faceaudit.designs.matched import MatchedImages
from faceaudit.families import REGRESSION, Plan
from faceaudit.file.specification import Specification
from faceaudit.frames import Rows
from faceaudit.looks import read_look, with_looks
from faceaudit.models.answers import Notify, silent
from faceaudit.outcomes import ERROR, FLIP, NUMBER, TITLES
from faceaudit.report.build import build_report
from faceaudit.results import AuditResult, chances_of, table_of_images
from faceaudit.utils.errors import InputError
from faceaudit.utils.files import write_text
from faceaudit.utils.formatting import listed
from faceaudit.utils.names import comparable

if TYPE_CHECKING:  # each audit imports its own design alone
    from narwhals.typing import IntoDataFrame

    from faceaudit.designs.pairs import Pairs
    from faceaudit.designs.portraits import Portraits

Axes = Mapping[str, Sequence[Any]] | Sequence[str]
"""Attribute → its levels, two or more and the lowest first, as the frame has them; or names of
columns that are ordered categoricals, whose categories are the levels."""
IMAGE_COLUMN = "image_id"
"""Column of the names of images where the caller names none: the rows are numbered."""
CHANGED_IN_WORDS = {ERROR: "how often the model errs", FLIP: "the model's answers"}
"""First outcome → what an audit asks about, where its title does not say it well."""
NAME = "audit"
"""Of an audit where the caller gives none."""
EXPECTED_POLICY = "a mapping of demands to their limits, as {'faces': 30},"
EXPECTED_IGNORE = "a mapping of columns to the values that are left out"
ARGUMENTS_OF_DESIGN = {
    f"design.{name}": name
    for name in ("tolerance", "seed", "power", "incomplete", "contrasts", "adjustment")
}
"""Key of an audit file → the argument that has its place, in every function."""
ARGUMENTS_OF_TABLE = (
    ARGUMENTS_OF_DESIGN
    | {
        "columns.decision": "pred",
        "columns.number": "outcome",
        "columns.answers": "label",
        "columns.weight": "weights",
        "design.transects": "n",
        "model.threshold": "threshold",
        "model.fmr": "fmr",
    }
    | {
        f"columns.{name}": name
        for name in (
            "image",
            "unit",
            "identity",
            "label",
            "score",
            "error",
            "reason",
            "group",
            "first",
            "second",
            "same",
            "similarity",
            "distance",
        )
    }
)
"""The same of `table` and `pairs`."""


@contextmanager
def names_of_arguments(arguments: Mapping[str, str] = ARGUMENTS_OF_TABLE) -> Iterator[None]:
    """Name arguments in place of keys of an audit file in the errors that are raised within.

    The parts of a file check themselves, and name their keys within sentences, without knowing who
    gave them. So their names are exchanged here, and no other word.

    Args:
        arguments: key of an audit file → the argument that has its place.
    """
    keys = "|".join(sorted(map(re.escape, arguments), key=len, reverse=True))
    key_in_text = re.compile(rf"(?<![\w'.])({keys})(?![\w'])")

    def of_call(text: str) -> str:
        return key_in_text.sub(lambda key: arguments[key[0]], text)

    try:
        yield
    except InputError as error:
        # The columns of a table may have any names.
        before, columns, after = str(error).partition(f"it has {error.found}")
        raise InputError(
            of_call(before) + columns + of_call(after),
            field=of_call(error.field),
            found=error.found,
            expected=error.expected and of_call(error.expected),
        ) from None


class ImageSettings(TypedDict, total=False):
    """Keywords of audits of images, whether answers are in a table or a model is asked.

    Keywords that a caller leaves out, or gives as None, have the defaults of `table`.
    """

    axes: Required[Axes]
    tolerance: Required[float]
    unit: str | None
    label: str | Sequence[str] | None
    outcomes: Sequence[str] | None
    image: str | None
    threshold: float
    classes: Sequence[Any]
    placebos: Axes
    covariates: Sequence[str]
    annotated: Sequence[str]
    incomplete: str
    contrasts: str
    adjustment: str
    policy: Mapping[str, Any] | None
    ignore: Mapping[str, Sequence[Any]] | None
    accept: Sequence[str]
    name: str
    question: str | None
    seed: int


class TableSettings(ImageSettings, total=False):
    """Keywords of `table` that a plan needs as well; see there."""

    pred: str | None
    score: str | None
    error: str | None
    outcome: str | None
    reason: str | None
    identity: str | None
    weights: str | None


class PairsSettings(TypedDict, total=False):
    """Keywords of `pairs` that a plan needs as well; see there."""

    group: Required[str]
    first: Required[str]
    second: Required[str]
    same: Required[str]
    reference: Required[str]
    tolerance: Required[float]
    similarity: str | None
    distance: str | None
    threshold: float | None
    fmr: float | None
    policy: Mapping[str, Any] | None
    accept: Sequence[str]
    name: str
    question: str | None
    seed: int


@dataclass(frozen=True)
class AuditPlan:
    """Decisions of an audit that are made before its answers are seen.

    Attributes:
        content: what `plan.json` holds, of `faceaudit.make_plan`.
    """

    content: Plan

    @property
    def power(self) -> pd.DataFrame:
        """Chances of each verdict, by true effects as multiples of the tolerance."""
        return chances_of(self.content)

    @property
    def units(self) -> int | None:
        """Number of matched faces; None of an audit of portraits or pairs."""
        return self.content.get("sizes", {}).get("units")

    def save(self, path: str | Path) -> Path:
        """Write the plan, for an audit's argument `plan`; gives the path.

        Raises:
            InputError: the path is that of a folder.
        """
        if Path(path).is_dir():
            raise InputError(
                f"{path}: this is a folder, the path of a file was expected",
                field=str(path),
                expected="the path of a file",
            )
        return write_text(Path(path), json.dumps(self.content, indent=1) + "\n")

    @classmethod
    def read(cls, path: str | Path) -> AuditPlan:
        """Read a plan that was written.

        Raises:
            InputError: there is no plan, or it was changed after it was made.
        """
        return cls(plans.read_plan(Path(path)))

    def __repr__(self) -> str:
        name_of_macro = "chances" if "sizes" in self.content else "planned_comparison"
        lines = words.render_sentences(name_of_macro, self.content)
        return "\n".join([f"plan of {self.content['name']}", *lines])


def table(
    data: IntoDataFrame,
    *,
    unit: str | None,
    axes: Axes,
    tolerance: float,
    label: str | Sequence[str] | None = None,
    pred: str | None = None,
    score: str | None = None,
    error: str | None = None,
    outcome: str | None = None,
    reason: str | None = None,
    outcomes: Sequence[str] | None = None,
    image: str | None = None,
    identity: str | None = None,
    weights: str | None = None,
    threshold: float = 0.5,
    classes: Sequence[Any] = (0, 1),
    placebos: Axes = (),
    covariates: Sequence[str] = (),
    annotated: Sequence[str] = (),
    incomplete: str = "refuse",
    contrasts: str = "reference",
    adjustment: str = REGRESSION,
    policy: Mapping[str, Any] | None = None,
    previous: AuditResult | str | Path | None = None,
    ignore: Mapping[str, Sequence[Any]] | None = None,
    accept: Sequence[str] = (),
    plan: AuditPlan | str | Path | None = None,
    name: str = NAME,
    question: str | None = None,
    seed: int = 1,
    say: Notify = silent,
) -> AuditResult:
    """Audit a classifier whose answers about images are in a frame.

    Matched images (`unit` names what several images share) give effects. Found portraits
    (`unit=None`) give differences, in which is whatever else goes with an attribute.

    Args:
        data: a row per image; a frame of pandas, polars, or another library that narwhals reads.
        unit: column of the matched face that an image shows; None: portraits that were found.
        axes: attributes whose effects are asked for: attribute → its levels, two or more and the
            lowest first, as the frame has them. Or names of columns that are ordered categoricals,
            whose categories are the levels.
        tolerance: largest effect that does not matter, a fraction.
        label: column of the right answers, 0 or 1, or one of `classes`; or columns of what raters
            answered, whose majority is right. A tie is no right answer, and counts as missing.
        pred: column of the model's answers, likewise; an empty cell is no answer.
        score: column of scores from 0 to 1 in place of `pred`.
        error: column of errors, 0 or 1, in place of label and answers.
        outcome: column of numbers without bounds, such as the years by which an age is off, in
            place of label and answers. Its mean is compared as it is: where errors to both sides
            cancel, give absolute errors to ask about their size. The tolerance is in their unit.
        reason: column that says why there is no answer: "abstention", "no face" or "failed call";
            an empty cell where there is one.
        outcomes: what is counted: "error", "fpr" and "fnr" (errors on
            images of the one and of the other class), "selection" (how often the second class is
            answered), "score" (its mean), "flip" (how often the same face gets another answer),
            "abstention", "no_face" and "failed_call"; None: errors, or the number. The first is
            judged in every cell. It is "error", or "selection", "score" or "flip", which need no
            label.
        image: column of the names of images; None: the column `image_id`, or where there is none,
            the numbers of the rows, from 0 on.
        identity: of portraits, column of the people; None: each portrait is of another one. Where
            some have several portraits, intervals are too short without it.
        weights: of matched images, column of how many people each face stands for, such as the
            weights of a survey; the same in all rows of a unit. Averages are then weighted, and
            intervals are those of weighted faces.
        threshold: score above which the model says the second class.
        classes: the two answers, as they are in the columns of labels and answers.
        placebos: axes, given likewise, that no model should react to.
        covariates: of portraits, columns that differences are adjusted for besides the axes; none
            that has answers, labels or errors.
        annotated: columns of scores in [0, 1] that say what else an axis moves.
        incomplete: "refuse" or "pairs", where units may lack images.
        contrasts: of axes with more than two levels, "reference" compares each level with the
            first, "adjacent" with the one before it, and the last with the first. "trend" compares
            all levels at once: by the slope of a straight line through the means of the levels,
            numbered in the order of `axes`, told as the change from the first level to the last.
            The tolerance counts for this change. What is adjusted or cut elsewhere still compares
            each level with the first.
        adjustment: of portraits. "regression" adjusts by a linear and a logistic regression.
            "aipw" adds the doubly robust estimator with its overlap and balance, and says how
            strong an attribute that the table lacks would have to be; "boosted aipw" does so by
            boosted trees, of the extra `adjusted`.
        policy: what must be there before the model may pass: "faces" or people of every cell
            that count, by default 30 or more; "unanswered", the share of them without an answer or
            a label, at most 0.2; "left_out", the share of rows left out for a value that was not
            expected, at most 0.05; of another level of an axis, the rows count against those of the
            smallest level that is named; "monitor", whether intervals and verdicts of matched
            images hold at every look, however often the gate is asked (`faceaudit.looks`).
        previous: of a monitored audit, the look before: what that audit gave, its `report.json`, or
            the folder of it, whose rows have to give what its report says; None: this is the first
            look.
        ignore: of portraits, column → values whose rows are left out on purpose.
        accept: names of doubts that do not close the gate, as "errors": the report and the gate
            name each doubt that they raise.
        plan: of `faceaudit.plan`, or the path that it was saved to; departures from it are
            reported.
        name: of the audit.
        question: what the audit asks, in words.
        seed: of the audit.
        say: takes a sentence after every stage, as `print` does; with a million rows, one can take
            many seconds. By default no user sees it.

    Returns:
        What was found.

    Raises:
        InputError: an argument or a cell that cannot be used; the message names it.

    Example:
        >>> import faceaudit
        >>> import pandas as pd
        >>> rows = [(face, skin, 0, face % 3 == 0 and skin == "dark")
        ...         for face in range(60) for skin in ("light", "dark")]
        >>> frame = pd.DataFrame(rows, columns=["face", "skin", "truth", "says"])
        >>> audit = faceaudit.table(
        ...     frame, unit="face", axes={"skin": ["light", "dark"]},
        ...     label="truth", pred="says", tolerance=0.05,
        ... )
        >>> audit.verdict, round(audit.averages["estimate"].item(), 3), audit.gate()
        ('exceeds', 0.333, 1)
    """
    frame = as_pandas(data)
    settings = TableSettings(
        unit=unit,
        axes=axes,
        label=label,
        pred=pred,
        score=score,
        error=error,
        outcome=outcome,
        reason=reason,
        outcomes=outcomes,
        image=image,
        identity=identity,
        weights=weights,
        tolerance=tolerance,
        threshold=threshold,
        classes=classes,
        placebos=placebos,
        covariates=covariates,
        annotated=annotated,
        incomplete=incomplete,
        contrasts=contrasts,
        adjustment=adjustment,
        policy=policy,
        ignore=ignore,
        accept=accept,
        name=name,
        question=question,
        seed=seed,
    )
    planned = content_of(plan)
    specification = specification_of_table(settings, frame, power_of(planned))
    with names_of_arguments():
        rows = _with_names(Rows.read(frame, first_row=0), image)
        say(f"table: {len(rows.frame):,} rows")
        before = read_look(previous, specification)
        if specification.kind == "portraits":
            from faceaudit.designs.portraits import Portraits

            portraits = Portraits.from_table(rows, specification)
            return _concluded(portraits, specification, planned, say)
        images = MatchedImages.from_table(rows, specification)
        units = images.frame["unit"].nunique()
        return _concluded(images, specification, planned, say, units, before)


def pairs(
    data: IntoDataFrame,
    *,
    group: str,
    first: str,
    second: str,
    same: str,
    reference: str,
    tolerance: float,
    similarity: str | None = None,
    distance: str | None = None,
    threshold: float | None = None,
    fmr: float | None = None,
    policy: Mapping[str, Any] | None = None,
    accept: Sequence[str] = (),
    plan: AuditPlan | str | Path | None = None,
    name: str = NAME,
    question: str | None = None,
    seed: int = 1,
    say: Notify = silent,
) -> AuditResult:
    """Audit a recogniser whose similarities of pairs are in a frame.

    A pair without a similarity could not be compared, since a face of it was not enrolled. It takes
    no part in error rates. How often pairs are missing is judged by group, together with them.

    Args:
        data: a row per pair, a frame of pandas, polars, or another library that narwhals reads.
        group: column of the group that both people of a pair are of.
        first: column of the first identity.
        second: column of the second identity.
        same: column that is 1 where both are one person, else 0.
        reference: name of the group that the others are compared with.
        tolerance: largest difference of error rates that does not matter, a fraction.
        similarity: column of similarities, which are larger for one person; NaN where a face was
            not enrolled.
        distance: column of distances in its place, which are smaller for one person.
        threshold: similarity from which on, or distance up to which, the recogniser says that it is
            one person.
        fmr: false match rate of the reference that the threshold is chosen by, in its place.
        policy: as of `faceaudit.table`.
        accept: as of `faceaudit.table`.
        plan: that was made before, or the path that it was saved to; departures from it are
            reported.
        name: of the audit.
        question: what the audit asks, in words.
        seed: of the audit.
        say: takes a sentence after every stage, as `print` does; with a million rows, one can take
            many seconds. By default no user sees it.

    Returns:
        What was found.

    Raises:
        InputError: an argument or a cell that cannot be used; the message names it.
    """
    settings: PairsSettings = {
        "group": group,
        "first": first,
        "second": second,
        "same": same,
        "reference": reference,
        "tolerance": tolerance,
        "similarity": similarity,
        "distance": distance,
        "threshold": threshold,
        "fmr": fmr,
        "policy": policy,
        "accept": accept,
        "name": name,
        "question": question,
        "seed": seed,
    }
    specification = specification_of_pairs(settings)
    from faceaudit.designs.pairs import Pairs

    planned = content_of(plan)
    with names_of_arguments():
        rows = Rows.read(as_pandas(data), first_row=0)
        say(f"table: {len(rows.frame):,} rows")
        return _concluded(Pairs.from_table(rows, specification), specification, planned, say)


def specification_of_pairs(settings: PairsSettings) -> Specification:
    """What an audit file with these keywords of `pairs` would say."""
    columns: dict[str, Any] = {key: settings[key] for key in ("group", "first", "second", "same")}
    columns |= _given_one_of(settings, "similarity", "distance")
    content: dict[str, Any] = {
        "name": settings.get("name", NAME),
        "kind": "verification",
        "question": settings.get("question") or _question_about_groups(settings["reference"]),
        "pairs": Path("the table"),
        "columns": columns,
        "reference": settings["reference"],
        "model": {"kind": "table", **_given_one_of(settings, "threshold", "fmr")},
        "design": {"tolerance": settings["tolerance"], "seed": settings.get("seed", 1)},
        "policy": _mapping(settings.get("policy") or {}, "policy", EXPECTED_POLICY),
        "accept": list(_listed(settings.get("accept", ()), "accept")),
    }
    with names_of_arguments():
        return Specification(**content)


def _given_one_of(settings: PairsSettings, *names: str) -> dict[str, Any]:
    """The one of these keywords that is given, with its value.

    Raises:
        InputError: none is given, or more than one.
    """
    values = {name: settings.get(name) for name in names}
    _require_one_of(**values)
    return {name: value for name, value in values.items() if value is not None}


def content_of(plan: AuditPlan | str | Path | None) -> dict[str, Any] | None:
    """What a plan says that a caller gives; None where the caller gives none.

    Raises:
        InputError: there is no plan in that place, or it was changed after it was made.
    """
    if plan is None:
        return None
    if isinstance(plan, AuditPlan):
        return dict(plan.content)
    if isinstance(plan, str | Path):
        return plans.read_plan(Path(plan))
    raise unfit_type("plan", plan, "what faceaudit.plan gives, or its path,")


def power_of(planned: Plan | None) -> float | None:
    """The power that was planned for, which audits of images that are there have no keyword for.

    Without a plan it is None, and so it is of portraits, whose number is not planned.
    """
    return planned["power"] if planned is not None and "sizes" in planned else None


def _concluded(
    data: MatchedImages | Pairs | Portraits,
    specification: Specification,
    planned: Plan | None,
    say: Notify,
    units: int | None = None,
    previous: AuditResult | None = None,
) -> AuditResult:
    """Analyse the rows of a table by the settings, and hold the analysis against the plan."""
    monitored: Plan = {}
    if isinstance(data, MatchedImages):
        data, monitored = with_looks(data, specification, previous)
    rows = plans.bound_rows(data.frame, specification, Path("the table"))
    now = plans.make_plan(specification, units, rows=rows)
    analysed_by = {**now, **monitored}
    report = build_report(data, data.analyse(analysed_by, say), planned or now, analysed_by)
    if isinstance(data, MatchedImages):
        return AuditResult(report, data.frame, images=table_of_images(data.frame, specification))
    return AuditResult(report, data.frame, rows=data.kept_rows())


def specification_of_table(
    settings: TableSettings, frame: pd.DataFrame | None, power: float | None = None
) -> Specification:
    """What an audit file with these settings would say.

    Args:
        settings: keywords of `table`.
        frame: whose ordered categoricals are levels; None: there is none yet.
        power: of a plan.
    """
    _require_lists(settings)
    _require_answers_and_labels(settings)
    axes = _levels(settings["axes"], "axes", frame)
    if not axes:
        raise InputError(
            "axes is empty, axes with their levels were expected, as {'skin': ['light', 'dark']}",
            field="axes",
            found=settings["axes"],
            expected="axis → levels",
        )
    unit = settings.get("unit")
    number = settings.get("outcome")
    # A number is compared alone, and so needs no other word for it.
    outcomes = settings.get("outcomes") or ((ERROR,) if number is None else (NUMBER,))
    _require_keywords_of_design(settings)
    content: dict[str, Any] = {
        "name": settings.get("name", NAME),
        "question": settings.get("question")
        or question_about_axes(list(axes), outcomes[0], number, of_portraits=unit is None),
        "outcomes": list(outcomes),
        "axes": axes,
        "classes": _as_texts(settings.get("classes", (0, 1))),
        "images": Path("the table"),
        "columns": _columns(settings),
        "model": {"kind": "table", "threshold": settings.get("threshold", 0.5)},
        "policy": _mapping(settings.get("policy") or {}, "policy", EXPECTED_POLICY),
        "accept": list(settings.get("accept", ())),
    }
    design: dict[str, Any] = {"tolerance": settings["tolerance"], "seed": settings.get("seed", 1)}
    design["contrasts"] = settings.get("contrasts", "reference")
    if design["contrasts"] == TREND and frame is not None:
        _require_order(axes, frame)
    if power is not None:
        design["power"] = power
    if unit is None:
        content["kind"] = "portraits"
        content["covariates"] = list(settings.get("covariates", ()))
        design["adjustment"] = settings.get("adjustment", REGRESSION)
        ignored = settings.get("ignore") or {}
        content["ignore"] = {column: _as_texts(values) for column, values in ignored.items()}
    else:
        content["placebos"] = _levels(settings.get("placebos", ()), "placebos", frame)
        content["annotated"] = list(settings.get("annotated", ()))
        design["incomplete"] = settings.get("incomplete", "refuse")
    content["design"] = design
    with names_of_arguments():
        return Specification(**content)


def _require_one_of(**given: object) -> None:
    """Raise InputError unless one of two arguments is given."""
    count = sum(value is not None for value in given.values())
    if count != 1:
        found = "both are given" if count else "none of them is given"
        names = " or ".join(given)
        raise InputError(
            f"{names}: {found}, one of them was expected",
            field=names,
            found=found,
            expected="one of them",
        )


def unfit_type(field: str, found: object, expected: str) -> InputError:
    """The error of an argument of another type than what was expected."""
    kind = "None" if found is None else f"of type {type(found).__name__}"
    return InputError(
        f"{field} is {kind}, {expected} was expected", field=field, found=found, expected=expected
    )


def _mapping(given: object, field: str, expected: str) -> dict[str, Any]:
    """A mapping as a dict.

    Raises:
        InputError: it is none.
    """
    if not isinstance(given, Mapping):
        raise unfit_type(field, given, expected)
    return dict(given)


def _require_lists(settings: TableSettings) -> None:
    """Raise InputError where a keyword is a text or a number in place of a list of names."""
    for name in ("outcomes", "classes", "covariates", "annotated", "accept"):
        given = settings.get(name)
        if given is not None:
            _listed(given, name)
    for column, values in _mapping(settings.get("ignore") or {}, "ignore", EXPECTED_IGNORE).items():
        _listed(values, f"ignore.{column}")


def _require_keywords_of_design(settings: TableSettings) -> None:
    """Raise InputError where a keyword is of the other kind of images."""
    of_portraits = settings.get("unit") is None
    of_matched_images = ("placebos", "annotated", "weights")
    of_found_portraits = ("covariates", "ignore", "identity", "adjustment")
    others = of_matched_images if of_portraits else of_found_portraits
    kind = "portraits" if of_portraits else "matched images"
    for name in others:
        given = settings.get(name)
        is_default = name == "adjustment" and given == REGRESSION
        if given and not is_default:
            raise InputError(
                f"{name} is given, and {kind} take none",
                field=name,
                found=given,
                expected=f"keywords of {kind}",
            )


def _require_answers_and_labels(settings: TableSettings) -> None:
    """Raise InputError unless one column says what the model answered, and one what is right."""
    names = ("pred", "score", "error", "outcome")
    answers = [name for name in names if settings.get(name) is not None]
    if len(answers) != 1:
        found = listed(answers) if answers else "none of them"
        verb = "are" if len(answers) > 1 else "is"
        raise InputError(
            f"pred, score, error or outcome: {found} {verb} given, one of them was expected",
            field="pred, score, error or outcome",
            found=found,
            expected="one of them",
        )
    counts_errors = ERROR in (settings.get("outcomes") or (ERROR,))
    answers_need_a_label = answers in (["pred"], ["score"])
    if answers_need_a_label and counts_errors and settings.get("label") is None:
        raise InputError(
            f"label is missing; with {answers[0]}, the column of the right answers was expected, "
            "or outcomes that need none, such as ['selection']",
            field="label",
            expected="a column of right answers",
        )


def _columns(settings: TableSettings) -> dict[str, str | list[str]]:
    """Names of the columns, by the keys that they have in an audit file."""
    label = settings.get("label")
    if label is not None and not isinstance(label, Iterable):
        raise unfit_type("label", label, "the name of a column, or a list of names,")
    answers = None if label is None or isinstance(label, str) else list(label)
    named = {
        "image": settings.get("image") or IMAGE_COLUMN,
        "unit": settings.get("unit"),
        "identity": settings.get("identity"),
        "label": label if isinstance(label, str) else None,
        "answers": answers,
        "decision": settings.get("pred"),
        "score": settings.get("score"),
        "error": settings.get("error"),
        "number": settings.get("outcome"),
        "reason": settings.get("reason"),
        "weight": settings.get("weights"),
    }
    return {key: column for key, column in named.items() if column is not None}


def _levels(axes: Axes, field: str, frame: pd.DataFrame | None) -> dict[str, list[str]]:
    """Every axis with its levels as texts, the low one first.

    Raises:
        InputError: levels without an order: a text in place of a list, or a column whose categories
            have none. Sorted names would turn some contrasts round.
    """
    if isinstance(axes, str):
        raise InputError(
            f"{field} is {axes!r}, a mapping of each axis to its levels was expected, as "
            f"{{{axes!r}: ['light', 'dark']}}",
            field=field,
            found=axes,
            expected="axis → levels",
        )
    if not isinstance(axes, Iterable):
        raise unfit_type(field, axes, "a mapping of each axis to its levels")
    for axis in axes:
        if not isinstance(axis, str):
            raise unfit_type(f"the axis {axis!r}", axis, "the name of a column as text")
    if not isinstance(axes, Mapping):
        return {axis: _ordered_categories(axis, field, frame) for axis in axes}
    return {axis: _as_texts(_listed(names, f"{field}.{axis}")) for axis, names in axes.items()}


def _require_order(axes: Mapping[str, Sequence[str]], frame: pd.DataFrame) -> None:
    """Raise InputError where the levels of an axis are categories that have no order."""
    for axis, names in axes.items():
        if len(names) == 2 or axis not in frame:
            continue
        kind = frame[axis].dtype
        if isinstance(kind, pd.CategoricalDtype) and not kind.ordered:
            raise InputError(
                f"axes.{axis}: column {axis!r} is a categorical without an order, and a trend "
                "needs levels in an order; make it ordered, or take contrasts='reference'",
                field=f"axes.{axis}",
                found="categories without an order",
                expected="an ordered categorical",
            )


def _listed(names: Sequence[Any], field: str) -> Sequence[Any]:
    """Levels or classes, after checking that they are a list.

    Raises:
        InputError: a text, whose letters would be taken for names, or what holds no names.
    """
    if not isinstance(names, Iterable):
        raise unfit_type(field, names, "a list of names")
    if isinstance(names, Set):
        raise unfit_type(field, names, "a list of names in their order")
    if isinstance(names, str):
        raise InputError(
            f"{field} is {names!r}, a list of names was expected",
            field=field,
            found=names,
            expected="a list of names",
        )
    return names


def _ordered_categories(axis: str, field: str, frame: pd.DataFrame | None) -> list[str]:
    """The categories of a column that have rows, in their order."""
    # Columns of one name are refused later.
    column = None
    if frame is not None and (frame.columns == axis).sum() == 1:
        column = frame[axis]
    if column is not None and isinstance(column.dtype, pd.CategoricalDtype):
        with_rows = column.cat.remove_unused_categories().cat
        if with_rows.ordered:
            return _as_texts(list(with_rows.categories))
    raise InputError(
        f"{field}: {axis!r} is given without levels, and is no column with ordered categories; "
        f"give the low and the high level, as {{{axis!r}: ['light', 'dark']}}",
        field=f"{field}.{axis}",
        expected="levels, or a column with ordered categories",
    )


def _as_texts(values: Sequence[Any]) -> list[str]:
    """Levels or classes as an audit file names them: 2, 2.0 and "2" are the same."""
    return comparable(pd.Series(list(values), dtype=object)).tolist()


def question_about_axes(
    axes: Sequence[str], outcome: str, number: str | None = None, *, of_portraits: bool = False
) -> str:
    """The question of an audit whose caller asks none.

    Args:
        axes: of the audit.
        outcome: the first one.
        number: name of the number that is compared, if one is.
        of_portraits: whether portraits were found; then differences are asked for, and no effects.
    """
    if of_portraits:
        compared = f"the {TITLES.get(outcome, outcome)}"
        if number is not None:
            compared = f"the mean of {number}"
        (question,) = words.render_sentences("question_about_portraits", axes, compared)
        return question
    changed = CHANGED_IN_WORDS.get(outcome) or f"the {TITLES.get(outcome, outcome)}"
    if number is not None:
        changed = f"the mean of {number}"
    (question,) = words.render_sentences("question_about_axes", axes, len(axes) > 1, changed)
    return question


def _question_about_groups(reference: str) -> str:
    (question,) = words.render_sentences("question_about_groups", reference)
    return question


def as_pandas(data: IntoDataFrame) -> pd.DataFrame:
    """A frame of any library that narwhals reads, as one of pandas."""
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, str | Path):
        raise InputError(
            f"data is the path {str(data)!r}, a data frame was expected; read the table first, as "
            "with pandas.read_csv",
            field="data",
            found=data,
            expected="a data frame",
        )
    import narwhals as nw  # for the frames of others alone

    try:
        return nw.from_native(data, eager_only=True).to_pandas()
    except TypeError as error:
        raise InputError(
            f"data is of type {type(data).__name__}, a data frame was expected",
            field="data",
            found=type(data).__name__,
            expected="a data frame",
        ) from error


def _with_names(rows: Rows, image: str | None) -> Rows:
    """The rows with a column of names of images; without one, these are the rows' numbers."""
    if image is not None or IMAGE_COLUMN in rows.frame:
        return rows
    names = rows.frame.index.astype(str)
    return replace(rows, frame=rows.frame.assign(**{IMAGE_COLUMN: names}))
