"""Audits from Python before they run: their plans, and what an audit file would say of them.

A table, pictures that a model is asked about, and a generator have keywords of their own. All of
them become a `Specification` here or in `faceaudit.api`, so that a plan that was made before there
are pictures is the plan of the same audit.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Required, TypedDict, Unpack, cast, get_origin, get_type_hints, overload

import numpy as np

from faceaudit import plans
from faceaudit.api import (
    ARGUMENTS_OF_DESIGN,
    ARGUMENTS_OF_TABLE,
    NAME,
    AuditPlan,
    ImageSettings,
    PairsSettings,
    TableSettings,
    names_of_arguments,
    question_about_axes,
    specification_of_pairs,
    specification_of_table,
    unfit_type,
)
from faceaudit.effects.planning import MOST_TRANSECTS
from faceaudit.file.parts import name_of_object
from faceaudit.file.specification import Specification
from faceaudit.frames import Rows
from faceaudit.outcomes import ERROR
from faceaudit.utils.arguments import check_whole
from faceaudit.utils.errors import InputError

Model = Callable[[np.ndarray], Any] | str | Path
"""A function, or the path of an ONNX file."""
Block = Mapping[str, Any]
"""A part of an audit file: its keys with their values. Where the file names a function or a
generator of Python by "module:name", the object may stand itself."""
NamedAxes = Mapping[str, Sequence[str]] | Sequence[str]
"""Attribute → its low and its high level; or names of attributes of
`faceaudit.annotations.ATTRIBUTES`."""
VERSION_NOT_GIVEN = "not given"
"""Version of a function whose answers are not kept, where the caller gives none."""
IMAGE_COLUMN = "file"
"""Column of the names of pictures where the caller names none."""
SCORE_COLUMN = "score"
"""Column that a table of pictures would have if it had the answers of the model."""
WHAT_IS_FOUND = {"portraits": "portraits", "verification": "pairs"}
"""Kind of an audit whose rows are found, not planned → what they are."""


ARGUMENTS_OF_CLASSIFIER = ARGUMENTS_OF_TABLE | {
    "model.function": "model",
    "model.path": "model",
    "model.version": "version",
    "model.input": "input",
    "model.output": "output",
}
"""Key of an audit file → the argument of `faceaudit.classifier` that has its place."""
ARGUMENTS_OF_GENERATOR = ARGUMENTS_OF_DESIGN | {"design.transects": "transects"}
"""The same of `faceaudit.generator`, whose blocks keep the keys of the file."""


class ClassifierSettings(ImageSettings, total=False):
    """Keywords of `faceaudit.classifier` that a plan needs as well; see there."""

    model: Required[Model]
    input: Required[Block]
    output: Block | None
    version: str | None
    attribute: str | None


class GeneratorSettings(TypedDict, total=False):
    """Keywords of `faceaudit.generator` that a plan needs as well; see there."""

    generator: Required[Block]
    people: Required[Block]
    model: Required[Block]
    axes: Required[NamedAxes]
    tolerance: Required[float]
    calibration: Block | None
    outcomes: Sequence[str]
    attribute: str
    classes: Sequence[str]
    placebos: NamedAxes
    annotated: Sequence[str]
    transects: int | None
    power: float
    policy: Mapping[str, Any] | None
    accept: Sequence[str]
    name: str
    question: str | None
    seed: int


class PlanSettings(ImageSettings, total=False):
    """Keywords of `table`, `classifier` or `generator`."""

    pred: str | None
    score: str | None
    error: str | None
    outcome: str | None
    reason: str | None
    identity: str | None
    weights: str | None
    model: Model | Block
    input: Block
    output: Block | None
    version: str | None
    attribute: str | None
    generator: Block
    people: Block
    calibration: Block | None
    transects: int | None


@overload
def plan(
    n: int | None = None, *, power: float | None = None, **settings: Unpack[PlanSettings]
) -> AuditPlan: ...


@overload
def plan(**settings: Unpack[PairsSettings]) -> AuditPlan: ...


def plan(n: int | None = None, *, power: float | None = None, **settings: Any) -> AuditPlan:
    """Plan an audit before its answers are seen, and before there are pictures.

    Args:
        n: number of matched faces, at most ten million; None: as many as decide, with the planned
            power, about an effect of twice the tolerance. An audit of a generator may say
            `transects` instead. Portraits and pairs are as many as were found, so they take none.
        power: the chance that such an effect is called beyond the tolerance, by default .8.
        settings: keywords of the audit: those of `faceaudit.table`; with `model` and `input` those
            of `faceaudit.classifier`; with `generator` those of `faceaudit.generator`; with
            `reference` those of `faceaudit.pairs`. Data, pictures, `plan`, `previous`, `folder`,
            `device` and `say` are no part of a plan.

    Returns:
        The plan, of matched faces with the chances of each verdict. The call of the audit takes it
        as `plan`.

    Raises:
        InputError: a setting that cannot be used.
        TypeError: a keyword that this kind of audit does not have.

    Example:
        >>> import faceaudit
        >>> settings = {"unit": "face", "label": "truth", "pred": "says"}
        >>> planned = faceaudit.plan(axes={"skin": ["light", "dark"]}, tolerance=0.05, **settings)
        >>> planned.units > 300
        True
    """
    if n is not None and not isinstance(n, Real | str):
        raise unfit_type("n", n, "a number of matched faces")
    if n is not None:
        check_whole("n", n, 2, MOST_TRANSECTS)
    specification = _specification_to_plan(settings, power)
    transects = specification.design.transects
    if n is not None and specification.kind != "classification":
        raise _takes_what_was_found("n", n, WHAT_IS_FOUND[specification.kind])
    if n is not None and transects is not None:
        raise InputError(
            f"n is {n} and transects is {transects}; both are the number of faces, one of them was "
            "expected",
            field="transects",
            found=transects,
            expected="one number of faces",
        )
    of_generator = "generator" in settings
    with names_of_arguments(ARGUMENTS_OF_GENERATOR if of_generator else ARGUMENTS_OF_TABLE):
        return AuditPlan(plans.make_plan(specification, n))


def _specification_to_plan(settings: dict[str, Any], power: float | None) -> Specification:
    """What an audit file would say of the audit whose keywords are given."""
    if "generator" in settings:
        _require_keywords(settings, GeneratorSettings)
        of_generator = cast(GeneratorSettings, {**settings})
        if power is not None:
            of_generator["power"] = power
        return specification_of_generator(of_generator)
    if "model" in settings:
        _require_keywords(settings, ClassifierSettings)
        return specification_of_classifier(cast(ClassifierSettings, settings), power=power)
    if not {"reference", "group"}.isdisjoint(settings):
        if power is not None:
            raise _takes_what_was_found("power", power, "pairs")
        _require_keywords(settings, PairsSettings)
        return specification_of_pairs(cast(PairsSettings, settings))
    _require_keywords(settings, TableSettings)
    return specification_of_table(cast(TableSettings, settings), None, power)


def _require_keywords(settings: Mapping[str, Any], known: type) -> None:
    """Raise TypeError, as Python does, where a keyword is unknown or one is missing.

    Args:
        settings: that the caller gives.
        known: a TypedDict of the keywords.
    """
    kinds = get_type_hints(known, include_extras=True)
    for name in settings:
        if name not in kinds:
            raise _unexpected_keyword(name, kinds)
    for name, kind in kinds.items():
        if get_origin(kind) is Required and name not in settings:
            raise TypeError(f"plan() missing a required keyword argument: {name!r}")


def _takes_what_was_found(field: str, found: float, what: str) -> InputError:
    return InputError(
        f"{field} is {found}; an audit of {what} takes all that were found, so that no number is "
        "planned, and none was expected",
        field=field,
        found=found,
        expected=f"no {field}",
    )


def _unexpected_keyword(name: str, known: Mapping[str, Any]) -> TypeError:
    similar = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean {similar[0]!r}?" if similar else ""
    return TypeError(f"plan() got an unexpected keyword argument {name!r}{hint}")


def specification_of_classifier(
    settings: ClassifierSettings,
    rows: Rows | None = None,
    *,
    power: float | None = None,
    kept: bool = False,
) -> Specification:
    """What an audit file with these settings would say of a model and of pictures.

    Args:
        settings: keywords of `faceaudit.classifier`.
        rows: of the table of pictures, whose ordered categoricals are levels; None: there is none.
        power: of a plan.
        kept: whether the model's answers are kept.
    """
    of_images: dict[str, Any] = {"image": IMAGE_COLUMN}
    of_images |= {
        name: settings[name] for name in settings if name in ImageSettings.__annotations__
    }
    # Scores of the model, which no column has yet.
    of_table = cast(TableSettings, of_images | {"score": SCORE_COLUMN})
    frame = None if rows is None else rows.frame
    specification = specification_of_table(of_table, frame, power)
    block = _model_block(settings["model"], settings.get("version"), kept)
    block["input"] = settings["input"]
    block["output"] = settings.get("output") or {}
    block["threshold"] = specification.model.threshold
    return _asking(specification, block, settings.get("attribute"))


def _model_block(model: Model, version: str | None, kept: bool) -> dict[str, Any]:
    """The part `model` of an audit file, without how images are prepared and answers are read.

    Args:
        model: a function, or the path of an ONNX file.
        version: of the model.
        kept: whether its answers are kept.

    Raises:
        InputError: a function without a version, whose answers are kept.
    """
    if isinstance(model, str | Path):
        block: dict[str, Any] = {"kind": "onnx", "path": Path(model).absolute()}
        return block if version is None else {**block, "version": version}
    if not callable(model):
        raise unfit_type("model", model, "a function, or the path of an ONNX file,")
    if version is None and kept:
        raise InputError(
            f"version is missing: folder keeps the answers of {name_of_object(model)} under its "
            "version; give one in your words, which changes when the answers do",
            field="version",
            expected="a text",
        )
    return {"kind": "python", "function": model, "version": version or VERSION_NOT_GIVEN}


def _asking(of_table: Specification, model: Block, attribute: str | None) -> Specification:
    """The audit of a table of answers, as one whose model is asked.

    Args:
        of_table: of `specification_of_table`.
        model: part of the audit file.
        attribute: that the model tells; None: what the column of labels is called, or would be.
    """
    columns = of_table.columns
    content = {key: getattr(of_table, key) for key in of_table.model_fields_set}
    content["model"] = model
    content["columns"] = {
        key: getattr(columns, key) for key in columns.model_fields_set if key != "score"
    }
    if of_table.kind == "classification":
        content["generator"] = {"kind": "images", "table": content.pop("images")}
        content["people"] = {"kind": "table"}
        if attribute is not None:
            content["attribute"] = attribute
    with names_of_arguments(ARGUMENTS_OF_CLASSIFIER):
        return Specification(**content)


def specification_of_generator(settings: GeneratorSettings) -> Specification:
    """What an audit file with these settings would say.

    Args:
        settings: keywords of `faceaudit.generator`.
    """
    outcomes = list(settings.get("outcomes", (ERROR,)))
    axes = settings["axes"]
    content: dict[str, Any] = {
        "name": settings.get("name", NAME),
        "question": settings.get("question") or question_about_axes(list(axes), outcomes[0]),
        "outcomes": outcomes,
        "axes": _mapping_or_list(axes),
        "attribute": settings.get("attribute", "gender"),
        "classes": settings.get("classes", ("0", "1")),
        "placebos": _mapping_or_list(settings.get("placebos", ())),
        "annotated": list(settings.get("annotated", ())),
        "generator": dict(settings["generator"]),
        "people": dict(settings["people"]),
        "model": dict(settings["model"]),
        "design": {
            "tolerance": settings["tolerance"],
            "transects": settings.get("transects"),
            "power": settings.get("power", 0.8),
            "seed": settings.get("seed", 1),
        },
        "policy": dict(settings.get("policy") or {}),
        "accept": list(settings.get("accept", ())),
    }
    calibration = settings.get("calibration")
    if calibration is not None:
        content["calibration"] = dict(calibration)
    with names_of_arguments(ARGUMENTS_OF_GENERATOR):
        return Specification(**content)


def _mapping_or_list(axes: NamedAxes) -> Any:
    """Axes as an audit file has them; a text stays one, and is refused there."""
    if isinstance(axes, Mapping):
        return dict(axes)
    return axes if isinstance(axes, str) else list(axes)
