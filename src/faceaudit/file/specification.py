"""The file that says what is to be audited, `audits/<name>.yml`, checked before anything runs.

One file has one audit: the question, the images, the people, the model and the design. A key that
is unknown is an error, because a misspelt one would otherwise be left out in silence. Paths in the
file are relative to its own folder.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator

from faceaudit.annotations.schema import ATTRIBUTES, LEVEL_NAMES
from faceaudit.file import parts
from faceaudit.file.parts import Export, Http, Images, KnownTruth, Reader, Table, Text, require
from faceaudit.utils.names import composed, paths_on_disk

OWN = ("image_id", "identity", "label", "score", "error", "no_answer")
"""Columns of a table of portraits once it is read."""
MOST_AXES = 5
"""Axes of one design: each more doubles the images of a face and the cells of the family."""
CLASSIFICATION, PORTRAITS = "classification", "set of portraits"
IMAGES, PAIRS = "verification of images", "verification of pairs"
EVERY = "name kind question columns model design accept design.tolerance design.seed "
READ = {
    CLASSIFICATION: "axes attribute classes placebos annotated images target generator people "
    "calibration columns.image columns.unit columns.label columns.answers columns.score "
    "columns.decision design.transects design.power design.incomplete",
    IMAGES: "images reference people columns.image columns.identity columns.group columns.unit "
    "design.impostors design.consensus",
    PORTRAITS: "axes classes covariates images transects columns.image columns.identity "
    "columns.label columns.answers columns.score columns.decision columns.error",
    PAIRS: "pairs reference columns.group columns.first columns.second columns.same "
    "columns.similarity",
}
"""Kind of audit → keys of the file that count, besides those of every kind; another is refused."""
EXPECTED = {
    "string_type": "a text (put quotes around it: YAML takes no, off or 0 for something else)",
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "keys with values"),
}
"""Kind of fault → what was expected, where pydantic's own words are a programmer's."""


class Specification(parts.Strict):
    """What `audits/<name>.yml` holds.

    Attributes:
        name: of the audit and its folder.
        kind: "classification", "verification", or "portraits": pictures that somebody found.
        question: what the audit asks, in words.
        generator: of the faces, by kind.
        people: who says what the faces show, by kind.
        calibration: of a generator of one's own, what is done before the model is asked so that an
            axis moves itself alone.
        model: that is audited, by kind.
        columns: names of columns in the user's tables.
        design: tolerance, sizes and seed.
        axes: attribute → names of its low and its high level; a list of attributes of the book
            takes the names from `LEVEL_NAMES`. Of portraits, attributes that groups are made by.
        covariates: of portraits, columns that differences are adjusted for besides the axes.
        attribute: what the model tells, which people are asked about too.
        classes: names of the answers 0 and 1.
        placebos: axes, given likewise, that no model should react to: a negative control.
        annotated: columns of scores in [0, 1] that say what else an axis moves.
        images: table with images' names, labels and scores, in place of a generator and people; of
            a verification, table with the files of images, identities and groups.
        transects: of portraits, `images.csv` beside the report of an audit with matched images,
            whose effects the differences are held against.
        pairs: table of pairs with similarities, of a verification without a model.
        reference: of a verification, the group that the others are compared with.
        target: a named population that the error rates are carried over to.
        accept: doubts of `faceaudit.checks` that do not make the gate fail.

    Example:
        >>> design = {"tolerance": 0.05}
        >>> one = Specification(name="mine", question="?", axes=["gender"], design=design)
        >>> one.axes["gender"], one.generator.kind, one.model.kind
        (('female', 'male'), 'known-truth', 'table')
    """

    name: str = Field(pattern="^[a-z0-9][a-z0-9-]*$")
    kind: Literal["classification", "verification", "portraits"] = "classification"
    question: Text
    axes: dict[str, parts.Levels] = Field({})
    covariates: parts.Names = Field([])
    attribute: str = "gender"
    classes: parts.Levels = ("0", "1")
    placebos: dict[str, parts.Levels] = Field({})
    annotated: parts.Names = Field([])
    images: Path | None = None
    transects: Path | None = None
    pairs: Path | None = None
    columns: parts.Columns = parts.Columns()
    reference: str | None = None
    target: parts.Target | None = None
    generator: parts.Generator = KnownTruth()
    people: parts.People = parts.Simulated()
    calibration: parts.Calibration = None  # where it is missing; an empty one is a mistake
    model: parts.Model = Table()
    design: parts.Design
    accept: list[parts.Doubted] = Field([])
    _path: Path = PrivateAttr(default=Path("audit.yml"))

    @field_validator("axes", "placebos", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return {one: LEVEL_NAMES.get(one, (f"low {one}", f"high {one}")) for one in map(str, value)}

    @model_validator(mode="after")
    def _fitting(self) -> Specification:
        given, known = {*self.model_fields_set}, (EVERY + READ[self.route]).split()
        for part in ("columns", "design"):
            given |= {f"{part}.{key}" for key in getattr(self, part).model_fields_set}
        for other in sorted(given.difference(known)):
            raise ValueError(f"{other} is given, a {self.route} takes {', '.join(known)}")
        if self.kind == "verification":
            self._recogniser_fits()
        elif self.kind == "portraits":
            self._portraits_fit()
        elif self.images is None:
            self._people_fit()
        else:
            kind, own = self.model.kind, {"generator", "people", "calibration"}
            require(kind == "table", "model.kind", kind, "table, with images")
            found = "given besides generator, people or calibration"
            require(not self.model_fields_set & own, "images", found, "one or the other")
        if self.kind != "verification":
            self._classifier_fits()
        return self

    def _classifier_fits(self) -> None:
        """Raise ValueError where a classifier cannot be judged along these axes."""
        cut, axes = f"{self.model.cut:g}", self.axes
        expected = "a score from 0 to 1, without fmr,"
        require(parts.is_of_scores(self.model), "model.threshold", cut, expected)
        n, expected = len(axes) + len(self.placebos), f"1 to {MOST_AXES} with the placebos"
        require(bool(axes) and n <= MOST_AXES, "axes", f"of {n} attributes", expected)
        own = axes.keys().isdisjoint(self.placebos)
        require(own, "placebos", "also an axis", "other attributes")
        said = {"score", "decision", "error"} & self.columns.model_fields_set
        given = [*sorted(f"columns.{one}" for one in said)]
        given += ["a model"] * (self.model.kind != "table")
        if len(given) > 1:
            raise ValueError(f"{given[0]} is given besides {given[1]}, one of them was expected")
        for name in self.target.by if self.target else []:
            require(name in axes, "target.by", repr(name), "one of the axes")

    def _portraits_fit(self) -> None:
        """Raise ValueError where it is not clear which portraits count, or what the model says."""
        require(self.images is not None, "images", "missing", "the table of portraits")
        every = [*self.axes, *self.covariates, *OWN]
        expected = f"names that differ from each other and from {', '.join(OWN)}"
        require(len({*every}) == len(every), "axes or covariates", "a name twice", expected)

    def _people_fit(self) -> None:
        """Raise ValueError where these people cannot say what the audit needs."""
        people, source = self.people, self.generator
        kinds = {"known-truth": ["simulated"], "images": ["table"]}.get(source.kind, [])
        kinds = [*kinds, *get_args(Export.model_fields["kind"].annotation), "reader"]
        found = people.kind if "people" in self.model_fields_set else "missing"
        found = f"{found} with generator {source.kind}"
        require(people.kind in kinds, "people.kind", found, f"one of {', '.join(kinds)}")
        sampled = not isinstance(source, KnownTruth | Images)
        ready, keys = getattr(source, "hyperplanes", None), source.model_fields_set
        asked = self.asked_of_samples if sampled and not ready else self.asked
        for name in source.held if sampled and "held" in keys and not ready else []:
            require(name in asked, "generator.held", name, f"one of {', '.join(asked)}")
        for name in source.levels if sampled else []:
            require(name in self.axes, "generator.levels", name, f"one of {', '.join(self.axes)}")
        if self.calibration:
            require(not ready, "calibration", "given besides hyperplanes", "one or the other")
            found = f"given with generator {source.kind}"
            require(sampled, "calibration", found, "stylegan2, eg3d or python")
            several, found = getattr(people, "raters", 1) > 1, f"{people.kind} with calibration"
            require(several, "people", found, "two or more who answer about each image")
        for name in asked:
            if isinstance(people, Export | parts.Simulated):
                known = f"one of {', '.join(ATTRIBUTES)}"
                require(name in ATTRIBUTES, "attribute, axes or annotated", repr(name), known)
            elif isinstance(people, Reader):
                require(name in people.models, f"people.models.{name}", "missing", "its model")

    def _recogniser_fits(self) -> None:
        """Raise ValueError where a recogniser cannot be asked, or its answers not be judged."""
        model, asked = self.model, self.model.kind != "table"
        one = (self.images is None) != (self.pairs is None)
        require(one, "images or pairs", "given twice or missing", "one of the two tables")
        require(self.reference is not None, "reference", "missing", "the name of a group")
        wanted = "table, with pairs," if self.pairs else "a model that can be asked, with images,"
        require(asked == (self.pairs is None), "model.kind", model.kind, wanted)
        one = (model.threshold is None) != (model.fmr is None)
        require(one, "model", "without one threshold", "either model.threshold or model.fmr")
        if asked and model.threshold is not None:
            fits, found = -1 <= model.threshold <= 1, f"{model.threshold:g}"
            require(fits, "model.threshold", found, "a cosine similarity from -1 to 1")
        if "people" in self.model_fields_set:
            kinds, people = get_args(Export.model_fields["kind"].annotation), self.people
            require(people.kind in kinds, "people.kind", people.kind, f"one of {', '.join(kinds)}")
            require(people.raters > 4, "people.raters", people.raters, "5 or more: HCIC drops four")
        unused = getattr(model, "output", parts.Output()).model_fields_set - {"name"}
        require(not unused, "model.output", "more than a name", "no index or activation")

    @property
    def route(self) -> str:
        """Which way through an audit the file takes, a key of `READ`."""
        if self.kind != "verification":
            return PORTRAITS if self.kind == "portraits" else CLASSIFICATION
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
    def path(self) -> Path:
        """The file that was read; "audit.yml" if there is none."""
        return self._path

    @property
    def size(self) -> int:
        """Height and width of the square images that a model of this size is shown, pixels."""
        return self.model.size if isinstance(self.model, Http) else max(self.model.input.sides)

    def beside(self, path: Path) -> Path:
        """A path of the file, which is relative to the file's folder."""
        return paths_on_disk(self._path.parent, [str(path)])[str(path)]


def read_specification(path: str | Path) -> Specification:
    """Read and check an audit file.

    Args:
        path: of the `.yml`.

    Returns:
        What it says, with all defaults.

    Raises:
        ValueError: the file is missing or no YAML, or a field is unknown, missing or not allowed;
            the sentence names the file, the field, what stood there and what is allowed.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: no such audit file; audits/example.yml is one to copy")
    try:
        content = yaml.safe_load(composed(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        raise ValueError(f"{path}{line}: this is no YAML that can be read") from None
    try:
        found = Specification.model_validate(content)
    except ValidationError as error:
        raise ValueError(f"{path}: {describe_validation_error(error)}") from None
    found._path = path
    return found


def describe_validation_error(error: ValidationError) -> str:
    """The first fault of a file in one sentence: the field, what stood there, what is allowed."""
    fault = error.errors()[0]
    kind, more, loc = fault["type"], fault.get("ctx", {}), fault["loc"]
    # pydantic names the member of a union that was tried, which is no key of the file.
    tags = {1} if loc and loc[0] in ("generator", "people", "model") else set()
    tags = {1, 4} if loc[2:3] == ("models",) else {3} if loc[1:2] == ("readers",) else tags
    field = ".".join(str(part) for k, part in enumerate(loc) if k not in tags)
    if kind == "value_error":
        return f"{field}.{more['error']}".removeprefix(".")
    if kind in ("missing", "union_tag_not_found"):
        return f"{field}{'.kind' * (kind != 'missing')} is missing"
    if kind == "union_tag_invalid":
        return f"{field}.kind is {more['tag']}, one of {more['expected_tags']} was expected"
    expected = re.sub(r"^\w+ should (be|have|match) ", "", fault["msg"])
    expected = EXPECTED.get(kind, expected)
    if kind == "too_long" and field.startswith(("axes", "placebos")):
        expected = "two of the levels (write one audit for each pair of them)"
    return f"{field or 'the file'} is {fault['input']!r}, {expected} was expected"
