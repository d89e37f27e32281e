"""The file that says what is to be audited, `audits/<name>.yml`, checked before anything runs.

One file has one audit: the question, the images, the people, the model and the design. A key that
nobody knows is an error, because a misspelt one would otherwise be left out in silence. Paths in
the file are relative to its own folder. Serves chapter 20.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from helpers.effects.labels import LEVEL_NAMES

MOST_AXES = 5
"""Axes of one design: each more doubles the images of a face and the cells of the family."""


class Strict(BaseModel):
    """A part of the file: unknown keys are errors, and nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


# --- where the images come from


class KnownTruth(Strict):
    """Faces of the book's own world, in which every effect is known."""

    kind: Literal["known-truth"] = "known-truth"
    doses: dict[str, tuple[float, float]] = {}  # of an axis, if other than 0.2 and 0.8
    held: dict[str, float] = {"facial_hair": 0.03, "makeup": 0.26}
    adult: float = Field(0.45, ge=0, le=1)  # least age of a face that takes part
    base_faces: int = Field(400, ge=20)  # of the truth, by intervention


class StyleGAN2(Strict):
    """Faces of somebody's StyleGAN2 weights."""

    kind: Literal["stylegan2"]
    weights: Path
    truncation: float = Field(0.7, gt=0, le=1)


class Images(Strict):
    """Pictures on disk, with a table that says which is which."""

    kind: Literal["images"]
    table: Path


class PythonGenerator(Strict):
    """Any object with `sample` and `synthesize`, as "module:name"."""

    kind: Literal["python"]
    object: str = Field(pattern=r"^[\w.]+:\w+$")


Generator = Annotated[
    KnownTruth | StyleGAN2 | Images | PythonGenerator, Field(discriminator="kind")
]


# --- who says what a face looks like


class Simulated(Strict):
    """A simulated crowd, calibrated on real annotations."""

    kind: Literal["simulated"] = "simulated"
    raters: int = Field(5, ge=1, le=50)


class Export(Strict):
    """Answers that people gave elsewhere; without an export, the run stops and asks for it."""

    kind: Literal["label-studio", "mturk", "ground-truth", "page"]
    export: Path | None = None
    raters: int = Field(5, ge=1)
    price: float | None = Field(None, gt=0)  # money per answer
    seconds: float | None = Field(None, gt=0)  # per answer


class Reader(Strict):
    """A classifier of attributes in place of people; the report marks it as such."""

    kind: Literal["reader"]
    path: Path


People = Annotated[Simulated | Export | Reader, Field(discriminator="kind")]


# --- the model


class Input(Strict):
    """What a model takes in; see `helpers.models.black_box.Preparation`."""

    size: int = Field(gt=0)
    channels: Literal["rgb", "bgr"] = "rgb"
    layout: Literal["nchw", "nhwc"] = "nchw"
    range: tuple[float, float] = (0.0, 1.0)  # what pixels of 0 to 255 become, before the mean
    mean: float | tuple[float, float, float] = 0.0
    std: float | tuple[float, float, float] = 1.0
    align: Literal["none", "crop", "arcface"] = "none"
    box: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)
    flip_average: bool = False


class Output(Strict):
    """Where a model's answer stands."""

    name: str | None = None
    index: int | None = None  # of the positive class, where there are several
    activation: Literal["none", "sigmoid", "softmax"] = "none"


class _Asked(Strict):
    input: Input
    output: Output = Output()
    threshold: float = Field(0.5, ge=0, le=1)


class Onnx(_Asked):
    """A model in an ONNX file."""

    kind: Literal["onnx"]
    path: Path


class Torch(_Asked):
    """A model in a file of torch (`.pt2`)."""

    kind: Literal["torch"]
    path: Path


class PythonModel(_Asked):
    """A function of one's own, as "module:function"."""

    kind: Literal["python"]
    version: str = Field(min_length=1)  # in your words; change it when the weights change
    function: str = Field(pattern=r"^[\w.]+:\w+$")


class Http(Strict):
    """A model behind an address that takes a PNG and answers JSON."""

    kind: Literal["http"]
    url: str = Field(pattern=r"^https?://")
    read: str = Field(min_length=1)  # where the answer stands, as "faces.0.gender.p_male"
    version: str = Field(min_length=1)
    size: int = Field(gt=0)  # of the images that it is sent
    headers: dict[str, str] = {}  # "env:NAME" takes a value from the environment
    max_calls: int = Field(ge=1)
    per_second: float = Field(5.0, gt=0)
    timeout: float = Field(30.0, gt=0)
    threshold: float = Field(0.5, ge=0, le=1)


class Table(Strict):
    """Scores that stand in the table of images or pairs."""

    kind: Literal["table"] = "table"
    threshold: float | None = None
    fmr: float | None = Field(None, gt=0, lt=1)  # verification: sets the threshold


Model = Annotated[Onnx | Torch | PythonModel | Http | Table, Field(discriminator="kind")]


# --- the columns of a table, and the design


class Columns(Strict):
    """Names of columns, for a table of images or of pairs."""

    image: str = "image_id"
    unit: str = "unit"
    label: str = "label"
    answers: list[str] | None = Field(None, min_length=1)  # of raters, in place of a label
    score: str | None = "score"
    decision: str | None = None  # 0 or 1, in place of a score
    group: str = "group"
    first: str = "first"
    second: str = "second"
    same: str = "same"
    similarity: str = "similarity"


class Design(Strict):
    """What is fixed before any model is asked."""

    tolerance: float = Field(gt=0, lt=1)
    transects: int | None = Field(None, ge=2)  # None: as many as the power asks for
    power: float = Field(0.8, gt=0, lt=1)
    seed: int = Field(1, ge=0)
    expected_error: float = Field(0.1, gt=0, lt=0.5)  # a guess, for the sizes only
    incomplete: Literal["refuse", "pairs"] = "refuse"


class Specification(Strict):
    """What `audits/<name>.yml` holds.

    Introduced in chapter 20.

    Attributes:
        name: of the audit and its folder.
        kind: "classification" or "verification".
        question: in words, for the head of the report.
        axes: attribute → names of its low and its high level; a list of attributes of the book
            takes the names from `LEVEL_NAMES`.
        attribute: what the model tells, which people are asked about too.
        classes: names of the answers 0 and 1.
        placebos: axes, given likewise, that no model should react to: a negative control.
        annotated: columns of scores in [0, 1] that say what else an axis moves.
        images: table with images and scores, in place of a generator and people.
        pairs: table of pairs with similarities, of a verification.
        columns: names of the columns in such a table.
        reference: of a verification, the group that the others are compared with.
        generator, people, model, design: see their classes.

    Example:
        >>> design = {"tolerance": 0.05}
        >>> one = Specification(name="mine", question="?", axes=["gender"], design=design)
        >>> one.axes["gender"], one.generator.kind, one.model.kind
        (('female', 'male'), 'known-truth', 'table')
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    kind: Literal["classification", "verification"] = "classification"
    question: str = Field(min_length=1)
    axes: dict[str, tuple[str, str]] = {}
    attribute: str = "gender"
    classes: tuple[str, str] = ("0", "1")
    placebos: dict[str, tuple[str, str]] = {}
    annotated: list[str] = []
    images: Path | None = None
    pairs: Path | None = None
    columns: Columns = Columns()
    reference: str | None = None
    generator: Generator = KnownTruth()
    people: People = Simulated()
    model: Model = Table()
    design: Design
    _path: Path = PrivateAttr(default=Path("audit.yml"))

    @field_validator("axes", "placebos", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        if isinstance(value, list):
            return {name: LEVEL_NAMES.get(name, (f"low {name}", f"high {name}")) for name in value}
        return value

    @model_validator(mode="after")
    def _fitting(self) -> Specification:
        if self.kind == "verification":
            _require(self.pairs is not None, "pairs", "missing", "a table of pairs")
            _require(self.reference is not None, "reference", "missing", "the name of a group")
            set_by = (self.model.threshold, getattr(self.model, "fmr", None))
            _require(
                sum(one is not None for one in set_by) == 1,
                "model",
                "without one threshold",
                "either model.threshold or model.fmr",
            )
            return self
        _require(bool(self.axes), "axes", "empty", "at least one attribute of two levels")
        every = [*self.axes, *self.placebos]
        _require(
            len(every) <= MOST_AXES,
            "axes",
            f"{len(every)} attributes with the placebos",
            f"at most {MOST_AXES}",
        )
        _require(
            not set(self.axes) & set(self.placebos), "placebos", "also an axis", "other attributes"
        )
        for name, levels in {**self.axes, **self.placebos}.items():
            _require(levels[0] != levels[1], f"axes.{name}", f"{levels}", "two different levels")
        _require(self.classes[0] != self.classes[1], "classes", f"{self.classes}", "two names")
        if self.images is not None:
            _require(
                isinstance(self.model, Table), "model.kind", self.model.kind, "table, with images"
            )
            if self.model_fields_set & {"generator", "people"}:
                raise ValueError(
                    "images is given besides generator or people: a table brings its own images "
                    "and labels, leave the others out"
                )
        return self

    @property
    def path(self) -> Path:
        """The file that was read; "audit.yml" if there is none."""
        return self._path

    @property
    def size(self) -> int:
        """Height and width of the images that the model is shown, pixels."""
        return self.model.size if isinstance(self.model, Http) else self.model.input.size

    @property
    def threshold(self) -> float:
        """Score above which the model's answer is 1."""
        return 0.5 if self.model.threshold is None else self.model.threshold

    def beside(self, path: Path) -> Path:
        """A path of the file, which is relative to the file's folder."""
        return self._path.parent / path


def read_specification(path: str | Path) -> Specification:
    """Read and check an audit file.

    Introduced in chapter 20.

    Args:
        path: of the `.yml`.

    Returns:
        What it says, with all defaults.

    Raises:
        ValueError: the file is missing or no YAML, or a field is unknown, missing or not allowed;
            the sentence names the file, the field, what stood there and what is allowed.

    Example:
        >>> read_specification("nowhere.yml")
        Traceback (most recent call last):
        ValueError: nowhere.yml: no such audit file; audits/example.yml is one to copy
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: no such audit file; audits/example.yml is one to copy")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        raise ValueError(f"{path}{line}: this is no YAML that can be read") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path}: holds {content!r}, keys and values were expected")
    try:
        found = Specification.model_validate(content)
    except ValidationError as error:
        raise ValueError(f"{path}: {_in_words(error, content)}") from None
    found._path = path
    return found


def _require(fits: bool, field: str, found: str, expected: str) -> None:
    """Raise what pydantic hands on as an error of the whole file."""
    if not fits:
        raise ValueError(f"{field} is {found}, {expected} was expected")


def _in_words(error: ValidationError, content: dict[str, Any]) -> str:
    """The first error in one sentence: the field, what stood there, what is allowed."""
    # A misspelt key is unknown, and the right one missing: the first says what to do.
    errors = sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    first = errors[0]
    place = [str(part) for part in first["loc"]]
    # Of a union, pydantic names the member that was tried between the field and the key.
    shown = ".".join(part for k, part in enumerate(place) if not _is_tag(content, place, k))
    kind, context = first["type"], first.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "extra_forbidden":
        known = _keys(place[:-1], content)
        close = difflib.get_close_matches(place[-1], known, 1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        return f"{shown} is no key here{hint}; allowed are {', '.join(known)}"
    if kind == "missing":
        return f"{shown} is missing"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        tag = context.get("tag", "missing")
        return f"{shown}.kind is {tag}, one of {_tags(place[0])} was expected"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f"{shown} is {first['input']!r}, keys with values were expected"
    message = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return f"{shown} is {first['input']!r}, {message} was expected"


def _is_tag(content: dict[str, Any], place: list[str], k: int) -> bool:
    return (
        k == 1
        and place[0] in ("generator", "people", "model")
        and place[1] != "kind"
        and (content[place[0]].get("kind") == place[1])
    )


def _members(field: str) -> list[type[Strict]]:
    """The classes that a part of the file can be, by their kinds."""
    return {
        "generator": [KnownTruth, StyleGAN2, Images, PythonGenerator],
        "people": [Simulated, Export, Reader],
        "model": [Onnx, Torch, PythonModel, Http, Table],
    }[field]


def _tags(field: str) -> str:
    kinds = [member.model_fields["kind"].annotation.__args__ for member in _members(field)]
    return ", ".join(kind for some in kinds for kind in some)


def _keys(place: list[str], content: dict[str, Any]) -> list[str]:
    """Keys that are allowed at a place."""
    if not place:
        return list(Specification.model_fields)
    if place[0] in ("generator", "people", "model"):
        kind = content[place[0]]["kind"]
        members = _members(place[0])
        own = next(m for m in members if kind in m.model_fields["kind"].annotation.__args__)
        for part in place[2:]:
            own = {"input": Input, "output": Output}[part]
        return list(own.model_fields)
    return list({"columns": Columns, "design": Design}[place[0]].model_fields)
