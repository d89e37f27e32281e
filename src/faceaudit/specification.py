"""The file that says what is to be audited, `audits/<name>.yml`, checked before anything runs.

One file has one audit: the question, the images, the people, the model and the design. A key that
nobody knows is an error, because a misspelt one would otherwise be left out in silence. Paths in
the file are relative to its own folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from faceaudit.faults import in_words
from faceaudit.parts import (
    Columns,
    Design,
    Doubted,
    Export,
    Generator,
    Http,
    Images,
    KnownTruth,
    Model,
    Names,
    People,
    Reader,
    Simulated,
    Strict,
    Table,
    Target,
    require_score_cut,
)
from faceaudit.routes import CLASSIFICATION, IMAGES, PAIRS, require_own_keys
from helpers.annotations.schema import ATTRIBUTES
from helpers.effects.labels import LEVEL_NAMES

MOST_AXES = 5
"""Axes of one design: each more doubles the images of a face and the cells of the family."""


class Specification(Strict):
    """What `audits/<name>.yml` holds.

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
        images: table with images' names, labels and scores, in place of a generator and people; of
            a verification, table with the files of images, identities and groups.
        pairs: table of pairs with similarities, of a verification without a model.
        columns: names of the columns in such a table.
        reference: of a verification, the group that the others are compared with.
        target: a named population that the error rates are carried over to.
        generator, people, model, design: see their classes.
        accept: doubts of `faceaudit.plausibility` that do not make the gate fail.

    Example:
        >>> design = {"tolerance": 0.05}
        >>> one = Specification(name="mine", question="?", axes=["gender"], design=design)
        >>> one.axes["gender"], one.generator.kind, one.model.kind
        (('female', 'male'), 'known-truth', 'table')
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    kind: Literal["classification", "verification"] = "classification"
    question: str = Field(min_length=1)
    axes: dict[str, tuple[str, str]] = Field({})
    attribute: str = "gender"
    classes: tuple[str, str] = ("0", "1")
    placebos: dict[str, tuple[str, str]] = Field({})
    annotated: Names = Field([])
    images: Path | None = None
    pairs: Path | None = None
    columns: Columns = Columns()
    reference: str | None = None
    target: Target | None = None
    generator: Generator = KnownTruth()
    people: People = Simulated()
    model: Model = Table()
    design: Design
    accept: list[Doubted] = Field([])
    _path: Path = PrivateAttr(default=Path("audit.yml"))
    _note: str = PrivateAttr(default="")

    @field_validator("axes", "placebos", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        if isinstance(value, list):
            if not all(isinstance(name, str) for name in value):
                wanted = "a name with its two levels, as in axes: {skin: [light, dark]},"
                raise PydanticCustomError("unnamed", wanted)
            return {name: LEVEL_NAMES.get(name, (f"low {name}", f"high {name}")) for name in value}
        return value

    @model_validator(mode="after")
    def _fitting(self) -> Specification:
        if self.kind == "verification":
            one = (self.images is None) != (self.pairs is None)
            found = "missing" if self.images is None else "given besides images"
            _require(one, "pairs", found, "either a table of pairs or images, a table of images,")
        own = {"columns": self.columns, "design": self.design}
        given = {name: part.model_fields_set for name, part in own.items()}
        require_own_keys(self.route, {"": self.model_fields_set, **given})
        if self.kind == "verification":
            self._recogniser_fitting()
            return self
        require_score_cut(self.model, "model")
        _require(
            getattr(self.model, "input", None) is None or self.model.input.preset is None,
            "model.input.preset",
            "a recogniser's",
            "kind: verification",
        )
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
        if self.target is not None and (other := set(self.target.by) - set(self.axes)):
            _require(False, "target.by", f"{sorted(other)[0]!r}", "one of the axes")
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
        else:
            self._people_fitting()
        return self

    def _recogniser_fitting(self) -> None:
        """Raise ValueError where a recogniser cannot be asked, or its answers not be judged."""
        model = self.model
        _require(self.reference is not None, "reference", "missing", "the name of a group")
        asked = not isinstance(model, Table)
        if self.images is None:
            _require(not asked, "model.kind", model.kind, "table, with pairs,")
        else:
            _require(asked, "model.kind", "table", "a model that can be asked, with images,")
        _require(
            (model.threshold is None) != (model.fmr is None),
            "model",
            "without one threshold",
            "either model.threshold or model.fmr",
        )
        if asked and model.threshold is not None:
            fits = -1 <= model.threshold <= 1
            expected = "a cosine similarity from -1 to 1"
            _require(fits, "model.threshold", f"{model.threshold:g}", expected)
        if asked and not isinstance(model, Http):
            for unused in sorted(model.output.model_fields_set - {"name"}):
                raise ValueError(f"model.output.{unused} is given, which an embedding has not")
        by_points = asked and not isinstance(model, Http) and model.input.by_points
        found = by_points and model.input.detector is not None, self.columns.points is not None
        if by_points != any(found) or all(found):
            raise ValueError(
                "faces are aligned by five points where model.input.align is arcface or a preset "
                "is named, and only there: either model.input.detector or columns.points says "
                "where they are"
            )

    def _people_fitting(self) -> None:
        """Raise ValueError where these people cannot say what the audit needs."""
        people, source, kind = self.people, self.generator, self.generator.kind
        kinds = {"known-truth": ["simulated"], "images": ["table"]}.get(kind, [])
        kinds = [*kinds, *Export.model_fields["kind"].annotation.__args__, "reader"]
        given = "people" in self.model_fields_set
        _require(
            people.kind in kinds,
            "people.kind" if given else "people",
            f"{people.kind if given else 'missing'} with generator {kind}",
            f"one of the kinds {', '.join(kinds)}",
        )
        if self.finds_directions and "held" in source.model_fields_set:
            for name in source.held:
                known = (
                    f"one of those that people are asked about ({', '.join(self.asked_of_samples)})"
                )
                _require(name in self.asked_of_samples, "generator.held", repr(name), known)
        if isinstance(people, Export):
            for name in self.asked_of_samples if self.finds_directions else self.asked:
                known = f"people are asked about {', '.join(ATTRIBUTES)}; one of these"
                _require(name in ATTRIBUTES, "attribute, axes or annotated", repr(name), known)
        elif isinstance(people, Reader):
            for name in self.asked_of_samples if self.finds_directions else self.asked:
                _require(
                    name in people.models, f"people.models.{name}", "missing", "a model of its own"
                )

    @property
    def route(self) -> str:
        """Which way through an audit the file takes, of `faceaudit.routes`."""
        if self.kind == "classification":
            return CLASSIFICATION
        return PAIRS if self.images is None else IMAGES

    @property
    def asked(self) -> list[str]:
        """What people are asked about the images that the model is shown."""
        return [*dict.fromkeys([self.attribute, *self.annotated])]

    @property
    def asked_of_samples(self) -> list[str]:
        """What people are asked about sampled images, where directions are found from that."""
        return [*dict.fromkeys([*self.axes, *self.asked])]

    @property
    def finds_directions(self) -> bool:
        """Whether directions are found from answers about sampled images."""
        return not isinstance(self.generator, KnownTruth | Images)

    @property
    def path(self) -> Path:
        """The file that was read; "audit.yml" if there is none."""
        return self._path

    @property
    def note(self) -> str:
        """What was changed of the file before the audit, in a sentence; empty if nothing was."""
        return self._note

    @property
    def size(self) -> int:
        """Height and width of the images that the model is shown, pixels."""
        return self.model.size if isinstance(self.model, Http) else self.model.input.size

    @property
    def threshold(self) -> float:
        """Score above which the model's answer is 1."""
        return self.model.cut

    def beside(self, path: Path) -> Path:
        """A path of the file, which is relative to the file's folder."""
        return self._path.parent / path


def read_specification(path: str | Path) -> Specification:
    """Read and check an audit file.

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
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        raise ValueError(f"{path}{line}: this is no YAML that can be read") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path}: holds {content!r}, keys and values were expected")
    try:
        found = Specification.model_validate(content)
    except ValidationError as error:
        raise ValueError(
            f"{path}: {in_words(error, content, [*Specification.model_fields])}"
        ) from None
    found._path = path
    return found


def _require(fits: bool, field: str, found: str, expected: str) -> None:
    """Raise what pydantic hands on as an error of the whole file."""
    if not fits:
        raise ValueError(f"{field} is {found}, {expected} was expected")
