"""The file that says what is to be audited, `audits/<name>.yml`, checked before anything runs.

One file has one audit: the question, the images, the people, the model and the design. A key that
is unknown is an error, because a misspelt one would otherwise be left out in silence. Paths in the
file are relative to its own folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from faceaudit.annotations.schema import ATTRIBUTES, LEVEL_NAMES
from faceaudit.comparisons import ADJACENT, REFERENCE, TREND, combinations_of_levels
from faceaudit.families import REGRESSION
from faceaudit.file import parts
from faceaudit.file.parts import (
    IMPORT_PATTERN,
    KINDS_WITH_DIRECTIONS,
    AnnotationTool,
    DirectionSettings,
    Http,
    KnownTruth,
    NodePackage,
    NonEmptyText,
    Reader,
    TableOfScores,
    kinds_of,
    one_of,
    require,
    unfit,
)
from faceaudit.outcomes import (
    ERROR,
    FLIP,
    MISSING,
    NUMBER,
    OF_LABELS,
    OF_TWO_CLASSES,
    REASONS,
    SCORE,
    SELECTION,
)
from faceaudit.utils.errors import InputError
from faceaudit.utils.names import composed, paths_on_disk

PORTRAIT_COLUMNS = ("image_id", "identity", "label", "score", "error", "no_answer", MISSING)
"""Columns of a table of portraits once it is read; axes and covariates have other names."""
IMAGE_COLUMNS = (
    "image_id",
    "unit",
    "error",
    "no_answer",
    "label",
    "score",
    NUMBER,
    "reason",
    "unit_weight",  # `faceaudit.effects.survey_weights.WEIGHT`
)
"""Columns of the table of matched images beside a report; axes have other names."""
MOST_AXES = 5
"""Axes of one design: each more doubles the images of a face and the cells of the family."""
MOST_COMBINATIONS = 100
"""Combinations of the levels of all axes and placebos: each is another image of a face."""
FIRST_OUTCOMES = (ERROR, SELECTION, SCORE, FLIP, NUMBER)
"""Outcomes that can be judged in every cell."""
CLASSIFICATION = "classification"
PORTRAITS = "set of portraits"
VERIFICATION_OF_IMAGES = "verification of images"
VERIFICATION_OF_PAIRS = "verification of pairs"
KEYS_OF_EVERY_ROUTE = (
    "name",
    "kind",
    "question",
    "columns",
    "model",
    "design",
    "accept",
    "policy",
    "design.tolerance",
    "design.seed",
)
KEYS_OF_ROUTE = {
    CLASSIFICATION: (
        "axes",
        "attribute",
        "classes",
        "outcomes",
        "placebos",
        "annotated",
        "images",
        "target",
        "generator",
        "people",
        "calibration",
        "previous",
        "columns.image",
        "columns.unit",
        "columns.label",
        "columns.answers",
        "columns.score",
        "columns.decision",
        "columns.error",
        "columns.number",
        "columns.reason",
        "columns.weight",
        "design.transects",
        "design.power",
        "design.incomplete",
        "design.contrasts",
    ),
    VERIFICATION_OF_IMAGES: (
        "images",
        "reference",
        "people",
        "columns.image",
        "columns.identity",
        "columns.group",
        "columns.unit",
        "design.impostors",
        "design.consensus",
    ),
    PORTRAITS: (
        "axes",
        "classes",
        "outcomes",
        "covariates",
        "ignore",
        "images",
        "transects",
        "columns.image",
        "columns.identity",
        "columns.label",
        "columns.answers",
        "columns.score",
        "columns.decision",
        "columns.error",
        "columns.number",
        "columns.reason",
        "design.contrasts",
        "design.adjustment",
    ),
    VERIFICATION_OF_PAIRS: (
        "pairs",
        "reference",
        "columns.group",
        "columns.first",
        "columns.second",
        "columns.same",
        "columns.similarity",
        "columns.distance",
    ),
}
"""Route of an audit → the keys of the file that count, besides those of every route."""
NAME_PATTERN = "^[a-z0-9][a-z0-9-]*$"
"""Of the name of an audit, and so of its folder."""
_KEYS_WITH_VALUES = "a mapping of keys to values"
_TEXT = "a text"
_NUMBER = "a number"
_WHOLE_NUMBER = "a whole number"
EXPECTED_BY_FAULT = {
    "string_type": _TEXT,
    "model_type": _KEYS_WITH_VALUES,
    "model_attributes_type": _KEYS_WITH_VALUES,
    "dict_type": _KEYS_WITH_VALUES,
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "too_short": "one name or more",
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "int_type": _WHOLE_NUMBER,
    "int_parsing": _WHOLE_NUMBER,
    "int_from_float": _WHOLE_NUMBER,
    "path_type": "the path of a file",
}
"""Kind of fault → what was expected, where pydantic's own words are a programmer's."""
EXPECTED_BY_LIMIT = {
    "greater_than": "a number above {:g}",
    "greater_than_equal": "{:g} or more",
    "less_than": "a number below {:g}",
    "less_than_equal": "{:g} or less",
}
"""Kind of fault of a number → what was expected, with {} for the limit."""
EXPECTED_BY_PATTERN = {
    NAME_PATTERN: "small letters, digits and hyphens, such as my-audit,",
    IMPORT_PATTERN: "a module and a name, such as mymodel:predict,",
}
"""Pattern that a text does not have → what was expected."""
FIELDS_WITH_LEVELS = ("axes", "placebos")
"""Keys that name attributes with their levels."""
EXPECTED_LEVELS = "attributes with their levels, such as {'skin': ['light', 'dark']},"
EXPECTED_TWO_NAMES = "a list of two names or more, such as ['light', 'dark'],"
YAML_HINT = "put quotes around it, since YAML takes no, off or 0 for something else"


class Specification(parts.FilePart):
    """What `audits/<name>.yml` holds.

    Attributes:
        name: of the audit and its folder.
        kind: "classification", "verification", or "portraits": pictures that somebody found.
        question: what the audit asks, in words.
        generator: of the faces, by kind.
        people: who rates what the faces show, by kind.
        calibration: of the auditor's own generator, rounds of answers before the model is asked,
            after which an axis moves itself alone.
        model: that is audited, by kind.
        columns: names of columns in the user's tables.
        design: tolerance, sizes and seed.
        axes: attribute → names of its levels, two or more, the lowest first; a list of attributes
            of the book takes the names from `LEVEL_NAMES`. Of portraits, attributes that groups are
            made by.
        covariates: of portraits, columns that differences are adjusted for besides the axes.
        attribute: what the model classifies faces by, which people are asked about too; by default
            "gender", or where labels stand in the table of a folder of images, the name of their
            column.
        classes: names of the answers, 0 and 1 by default.
        outcomes: what is counted of each image, of `faceaudit.outcomes`; the first one in every
            cell of the axes. Without "error", no image needs a label.
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
        policy: what must be there before the model may pass: faces, answers, rows of use; and
            whether the gate is monitored, so that it can be asked again.
        previous: of a monitored audit, the `report.json` of the look before it, or its folder.
        ignore: of portraits, column → values whose rows are left out on purpose, and so do not
            count against the policy.

    Example:
        >>> design = {"tolerance": 0.05}
        >>> audit = Specification(name="mine", question="?", axes=["gender"], design=design)
        >>> audit.axes["gender"], audit.generator.kind, audit.model.kind
        (('female', 'male'), 'known-truth', 'table')
    """

    name: str = Field(pattern=NAME_PATTERN)
    kind: Literal["classification", "verification", "portraits"] = "classification"
    question: NonEmptyText
    axes: dict[str, parts.LevelNames] = Field(default={})
    covariates: parts.UniqueNames = Field(default=[])
    attribute: str = "gender"
    classes: parts.ClassNames = ("0", "1")
    outcomes: parts.Outcomes = Field(default=[ERROR])
    placebos: dict[str, parts.LevelNames] = Field(default={})
    annotated: parts.UniqueNames = Field(default=[])
    images: Path | None = None
    transects: Path | None = None
    pairs: Path | None = None
    columns: parts.ColumnNames = parts.ColumnNames()
    reference: str | None = None
    target: parts.TargetPopulation | None = None
    generator: parts.GeneratorSettings = KnownTruth()
    people: parts.PeopleSettings = parts.SimulatedCrowd()
    calibration: Annotated[parts.Calibration | None, parts.MayBeMissing(parts.Calibration)] = None
    model: parts.ModelSettings = TableOfScores()
    design: parts.DesignSettings
    accept: list[parts.DoubtName] = Field(default=[])
    policy: parts.CoveragePolicy = parts.CoveragePolicy()
    previous: Path | None = None
    ignore: dict[str, list[str]] = Field(default={})
    _path: Path = PrivateAttr(default=Path("audit.yml"))
    _is_read: bool = PrivateAttr(default=False)

    def __init__(self, **content: Any) -> None:
        """Check what an audit file holds.

        Raises:
            InputError: a field is unknown, missing or not allowed.
        """
        try:
            super().__init__(**content)
        except ValidationError as error:
            raise _first_fault(error) from None

    @field_validator("axes", "placebos", mode="before")
    @classmethod
    def _with_level_names(cls, axes: Any) -> Any:
        """Names of the levels, where the file lists attributes alone."""
        if not isinstance(axes, list):
            return axes
        if not all(isinstance(attribute, str | int) for attribute in axes):
            raise PydanticCustomError("unfit", EXPECTED_LEVELS)
        levels = {}
        for attribute in map(str, axes):
            plain_names = (f"low {attribute}", f"high {attribute}")
            levels[attribute] = LEVEL_NAMES.get(attribute, plain_names)
        return levels

    @model_validator(mode="after")
    def _name_what_labels_say(self) -> Specification:
        """Call what the model tells by the name of the labels, where the file does not name it."""
        labels_in_table = self.generator.kind == "images" and self.people.kind == "table"
        if labels_in_table and "attribute" not in self.model_fields_set:
            # The fields are frozen for who reads the file; this is still its reading.
            object.__setattr__(self, "attribute", self.columns.label)
        return self

    @model_validator(mode="after")
    def _check_keys_together(self) -> Specification:
        """Raise InputError where keys do not go together."""
        self._check_keys_of_route()
        if self.kind == "verification":
            self._check_recogniser()
        elif self.kind == "portraits":
            self._check_portraits()
        elif self.images is None:
            self._check_people()
        else:
            kind = self.model.kind
            message = f"is {kind}, but images names a table with answers; it must be table"
            require(kind == "table", "model.kind", kind, "table", message)
            alternatives = {"generator", "people", "calibration"}
            found = "given besides generator, people or calibration"
            require(
                self.model_fields_set.isdisjoint(alternatives),
                "images",
                found,
                "one or the other",
                f"is {found}; give one or the other",
            )
        if self.kind != "verification":
            self._check_classifier()
        if self.columns.weight is not None:
            message = "is given, but weights go with a table of answers alone, under images"
            require(self.images is not None, "columns.weight", "given", "no weights", message)
            found = "given besides target"
            message = f"is {found}; both weight the images, so give one of them"
            require(self.target is None, "columns.weight", found, "one of them", message)
        self._check_looks()
        return self

    def _check_looks(self) -> None:
        """Raise InputError where a gate cannot be monitored."""
        if not self.policy.monitor:
            message = (
                "is given without policy.monitor: true; only a monitored audit counts its looks"
            )
            require(self.previous is None, "previous", "given", "policy.monitor: true", message)
            return
        obstacles = {
            "an audit of matched images": self.kind != "classification",
            "an outcome between bounds, and no number,": NUMBER in self.outcomes,
            "a table without weights of faces": self.columns.weight is not None,
            # What other contrasts compare need not lie between -1 and 1.
            "contrasts of two levels": self.design.contrasts not in (REFERENCE, ADJACENT),
            # A generator may make other faces at the next look, under the same names.
            "a table or a folder of images": (
                self.images is None and self.generator.kind != "images"
            ),
        }
        for expected, is_there in obstacles.items():
            require(not is_there, "policy.monitor", "true", expected)

    def _check_keys_of_route(self) -> None:
        """Raise InputError where the file has a key that this kind of audit does not read."""
        keys = set(self.model_fields_set)
        keys.update(f"columns.{key}" for key in self.columns.model_fields_set)
        keys.update(f"design.{key}" for key in self.design.model_fields_set)
        known = KEYS_OF_EVERY_ROUTE + KEYS_OF_ROUTE[self.route]
        for key in sorted(keys.difference(known)):
            expected = ", ".join(known)
            raise InputError(
                f"{key} is no key of a {self.route}, which takes {expected}",
                field=key,
                expected=expected,
            )

    def _check_classifier(self) -> None:
        """Raise InputError where a classifier cannot be judged along these axes."""
        message = "is given, but only audits of the kind verification compare distances"
        require(not self.compares_distances, "model.distance", "given", "no distance", message)
        message = "is given, but the answers of a classifier have a threshold; leave it out"
        require(self.model.fmr is None, "model.fmr", self.model.fmr, "no fmr", message)
        threshold = f"{self.model.score_threshold:g}"
        require(
            parts.has_score_threshold(self.model),
            "model.threshold",
            threshold,
            "a score from 0 to 1",
        )
        if self.kind == "classification":
            for name in self.axes:
                _require_another_name(name, "axes", IMAGE_COLUMNS)
        number = len(self.axes) + len(self.placebos)
        require(
            bool(self.axes) and number <= MOST_AXES,
            "axes",
            f"of {number} attributes",
            f"1 to {MOST_AXES} with the placebos",
            f"has {number} attributes with the placebos; it may have 1 to {MOST_AXES}",
        )
        combinations = combinations_of_levels({**self.axes, **self.placebos})
        require(
            combinations <= MOST_COMBINATIONS,
            "axes",
            f"of {combinations} combinations of levels",
            f"at most {MOST_COMBINATIONS} with the placebos",
            f"has {combinations:,} combinations of levels with the placebos; it may have "
            f"{MOST_COMBINATIONS:,} at most",
        )
        if self.design.contrasts == TREND:
            self._check_trend()
        for name in self.placebos:
            message = f"has {name}, which is an axis too; keep it in one of them"
            require(name not in self.axes, "placebos", "also an axis", "other attributes", message)
        self._check_one_source_of_answers()
        self._check_outcomes()
        for name in self.target.by if self.target else []:
            require(name in self.axes, "target.by", repr(name), "one of the axes")
        if self.images is None and self.generator.kind != "images":
            for axis, names in {**self.axes, **self.placebos}.items():
                found = f"of {len(names)} levels with generator {self.generator.kind}"
                message = (
                    f"has {len(names)} levels; a generator of kind {self.generator.kind} has two"
                )
                require(len(names) == 2, f"axes.{axis}", found, "two levels", message)

    def _check_trend(self) -> None:
        """Raise InputError where no axis has a trend of its own, or an outcome has none."""
        axes = [*self.axes.values(), *self.placebos.values()]
        message = (
            f"is {TREND}, but no axis has more than two levels, and the trend of two is their "
            "contrast; leave it out"
        )
        has_trend = any(len(names) > 2 for names in axes)
        require(has_trend, "design.contrasts", TREND, "an axis of three levels or more", message)
        message = f"has {FLIP}, which compares two images; a trend needs an outcome of each image"
        require(FLIP not in self.outcomes, "outcomes", FLIP, "outcomes of single images", message)

    def _check_outcomes(self) -> None:
        """Raise InputError where outcomes cannot be known, or not beside each other."""
        self._check_number()
        first, *further = self.outcomes
        allowed = FIRST_OUTCOMES
        found = f"{first} as the first"
        message = f"begins with {first}; the first outcome must be {one_of(allowed)}"
        require(first in allowed, "outcomes", found, one_of(allowed), message)
        if first != ERROR:
            for name in further:
                found = f"{name} after {first}"
                message = f"begins with {first} and has {name}, which needs labels; put error first"
                require(name not in OF_LABELS, "outcomes", found, "error before it", message)
            for key in ("transects", "target"):
                found = f"given with the first outcome {first}"
                message = f"is {found}; it goes with error as the first outcome"
                require(
                    getattr(self, key) is None, key, found, "error as the first outcome", message
                )
            in_table = self.images is not None or self.people.kind == "table"
            found = f"{first} as the first"
            message = f"begins with {first}, but people are asked what is right; put error first"
            require(in_table, "outcomes", found, "error", message)
        if self.kind == "portraits":
            message = (
                f"has {FLIP}, which compares images of one face; portraits have no such images"
            )
            require(FLIP not in self.outcomes, "outcomes", FLIP, "outcomes of portraits", message)
        if self.columns.error is not None:
            for name in further:
                message = (
                    f"has {name}, which columns.error does not tell; beside error, it may have "
                )
                message += one_of(list(REASONS))
                require(name in REASONS, "outcomes", name, one_of(list(REASONS)), message)
        if self.columns.decision is not None:
            message = f"has {SCORE}, but columns.decision has no scores; name columns.score instead"
            require(SCORE not in self.outcomes, "outcomes", SCORE, "columns.score", message)
        if len(self.classes) > 2:
            self._check_many_classes()

    def _check_number(self) -> None:
        """Raise InputError where a number is compared beside other outcomes, or has no column."""
        tolerance = self.design.tolerance
        if NUMBER not in self.outcomes:
            require(tolerance < 1, "design.tolerance", f"{tolerance:g}", "a number below 1")
            number = self.columns.number
            found = f"{number} without the outcome {NUMBER}"
            message = f"is given, but other outcomes are counted; write outcomes: [{NUMBER}]"
            require(number is None, "columns.number", found, f"outcomes: [{NUMBER}]", message)
            return
        message = f"has {NUMBER} beside others; {NUMBER} stands alone"
        require(self.outcomes == [NUMBER], "outcomes", "several", f"{NUMBER} alone", message)
        require(self.columns.number is not None, "columns.number", "missing", "a column of numbers")
        kind = self.model.kind
        message = f"is {kind}, but the outcome {NUMBER} is read from a table; it must be table"
        require(kind == "table", "model.kind", kind, "table", message)

    def _check_many_classes(self) -> None:
        """Raise InputError where more than two classes do not go with what is asked."""
        columns = self.columns
        answers_are_decisions = columns.decision is not None or columns.error is not None
        number = len(self.classes)
        found = f"of {number} names"
        message = f"has {number} names; with more than two, columns.decision has the answers"
        require(answers_are_decisions, "classes", found, "two names, or columns.decision", message)
        message = f"has {number} names; with columns.answers, it must have two"
        require(
            columns.answers is None, "classes", found, "two names with columns.answers", message
        )
        for name in self.outcomes:
            message = f"has {name}, which is about two classes; there are {number}"
            of_many = name not in OF_TWO_CLASSES
            require(of_many, "outcomes", name, "outcomes of many classes", message)

    def _check_ignored_values(self) -> None:
        """Raise InputError where `ignore` names no column of levels, labels or covariates."""
        columns = [*self.axes, *self.covariates, self.columns.label]
        for column, values in self.ignore.items():
            require(column in columns, "ignore", repr(column), f"one of {', '.join(columns)}")
            for value in values:
                is_level = value in self.axes.get(column, ())
                message = f"has {value!r}, which is a level of this axis; name other values"
                found = f"the level {value!r}"
                require(not is_level, f"ignore.{column}", found, "other values", message)

    def _check_one_source_of_answers(self) -> None:
        """Raise InputError where scores, decisions, errors, numbers or a model come together."""
        columns = {"score", "decision", "error", "number"} & self.columns.model_fields_set
        sources = [f"columns.{column}" for column in sorted(columns)]
        if self.model.kind != "table":
            sources.append("a model")
        if len(sources) > 1:
            raise InputError(
                f"{sources[0]} is given besides {sources[1]}, one of them was expected",
                field=sources[0],
                found=f"given besides {sources[1]}",
                expected="one of them",
            )

    def _check_portraits(self) -> None:
        """Raise InputError where the table is missing or two of its columns have one name."""
        require(self.images is not None, "images", "missing", "the table of portraits")
        for name in [*self.axes, *self.covariates]:
            key = "axes" if name in self.axes else "covariates"
            if name in self.axes and name in self.covariates:
                raise InputError(
                    f"covariates: the column {name!r} is an axis too; keep it in one of them",
                    field="covariates",
                    found=name,
                    expected="columns that are no axes",
                )
            _require_another_name(name, key, PORTRAIT_COLUMNS)
        if self.design.adjustment != REGRESSION:
            others = len(self.axes) + len(self.covariates) > 1
            found = f"{self.design.adjustment} with one axis and no covariate"
            require(others, "design.adjustment", found, "another axis, or covariates")
        self._check_ignored_values()

    def _check_people(self) -> None:
        """Raise InputError where these people cannot answer what the audit needs."""
        people = self.people
        source = self.generator
        kinds = {"known-truth": ["simulated"], "images": ["table"]}.get(source.kind, [])
        kinds = [*kinds, *kinds_of(AnnotationTool), "reader"]
        kind = people.kind if "people" in self.model_fields_set else "missing"
        found = f"{kind} with generator {source.kind}"
        message = f"is {kind}; with generator {source.kind}, it must be {one_of(kinds)}"
        require(people.kind in kinds, "people.kind", found, one_of(kinds), message)
        attributes = self.rated_attributes
        if isinstance(source, DirectionSettings):
            self._check_directions(source)
            if not source.hyperplanes:
                attributes = self.rated_attributes_of_samples
        if self.calibration:
            self._check_calibration()
        for name in attributes:
            if isinstance(people, AnnotationTool | parts.SimulatedCrowd):
                expected = f"one of {', '.join(ATTRIBUTES)}"
                field = "attribute, axes or annotated"
                require(name in ATTRIBUTES, field, repr(name), expected)
            elif isinstance(people, Reader):
                require(name in people.models, f"people.models.{name}", "missing", "its model")

    def _check_directions(self, source: DirectionSettings) -> None:
        """Raise InputError where what is held or the levels are of unknown attributes."""
        if "held" in source.model_fields_set and not source.hyperplanes:
            attributes = self.rated_attributes_of_samples
            for name in source.held:
                expected = f"one of {', '.join(attributes)}"
                require(name in attributes, "generator.held", name, expected)
        for name in source.levels:
            require(name in self.axes, "generator.levels", name, f"one of {', '.join(self.axes)}")

    def _check_calibration(self) -> None:
        """Raise InputError where a calibration has no directions to move, or too few answers."""
        source = self.generator
        if not isinstance(source, DirectionSettings):
            found = f"given with generator {source.kind}"
            kinds = one_of(KINDS_WITH_DIRECTIONS)
            raise unfit("calibration", found, kinds, f"is {found}; it needs {kinds}")
        given = source.hyperplanes is not None
        found = "given besides generator.hyperplanes"
        message = f"is {found}; give one or the other"
        require(not given, "calibration", found, "one or the other", message)
        several = getattr(self.people, "raters", 1) > 1
        found = f"{self.people.kind} with calibration"
        message = f"is {self.people.kind} with one answer about each image; a calibration needs two"
        require(several, "people", found, "two or more who answer about each image", message)

    def _check_recogniser(self) -> None:
        """Raise InputError where a recogniser cannot be asked, or its answers not be judged."""
        tolerance = self.design.tolerance
        require(tolerance < 1, "design.tolerance", f"{tolerance:g}", "a number below 1")
        model = self.model
        of_model = model.kind != "table"
        one_table = (self.images is None) != (self.pairs is None)
        found = "both missing" if self.images is None else "both given"
        message = f"are {found}; a verification takes one of them"
        require(one_table, "images or pairs", found, "one of the two tables", message)
        require(self.reference is not None, "reference", "missing", "the name of a group")
        asked_model = "a model that can be asked, with images,"
        expected = "table, with pairs," if self.pairs else asked_model
        require(of_model == (self.pairs is None), "model.kind", model.kind, expected)
        one_threshold = (model.threshold is None) != (model.fmr is None)
        found = "neither threshold nor fmr" if model.fmr is None else "both threshold and fmr"
        message = f"has {found}; it needs one of them"
        require(one_threshold, "model", found, "either model.threshold or model.fmr", message)
        both_columns = {"similarity", "distance"} <= self.columns.model_fields_set
        found = "given besides columns.similarity"
        require(not both_columns, "columns.distance", found, "one of them")
        if self.compares_distances and model.threshold is not None:
            found = f"{model.threshold:g}"
            require(model.threshold > 0, "model.threshold", found, "a distance above 0")
        elif of_model and model.threshold is not None:
            require(
                -1 <= model.threshold <= 1,
                "model.threshold",
                f"{model.threshold:g}",
                "a cosine similarity from -1 to 1",
            )
        if "people" in self.model_fields_set:
            people = self.people
            if not isinstance(people, AnnotationTool):
                expected = f"one of {', '.join(kinds_of(AnnotationTool))}"
                raise unfit("people.kind", people.kind, expected)
            message = f"is {people.raters}; HCIC drops four answers, so that 5 or more are needed"
            require(people.raters > 4, "people.raters", people.raters, "5 or more", message)
        output = getattr(model, "output", parts.Output())
        only_a_name = output.model_fields_set <= {"name"}
        message = "has more than a name; an embedding has no index, classes or activation"
        require(only_a_name, "model.output", "more than a name", "a name alone", message)

    @property
    def route(self) -> str:
        """The way of the audit through the program, a key of `KEYS_OF_ROUTE`."""
        if self.kind == "classification":
            return CLASSIFICATION
        if self.kind == "portraits":
            return PORTRAITS
        return VERIFICATION_OF_PAIRS if self.images is None else VERIFICATION_OF_IMAGES

    @property
    def compares_distances(self) -> bool:
        """Whether a recogniser judges pairs by distances, which are small of one person."""
        of_model = getattr(self.model, "distance", None) is not None
        return of_model or self.columns.distance is not None

    @property
    def has_labels(self) -> bool:
        """Whether the audit counts errors, for which every image needs a label."""
        return self.outcomes[0] == ERROR

    @property
    def reads_reasons(self) -> bool:
        """Whether the audit counts images without an answer by the reason."""
        return not REASONS.keys().isdisjoint(self.outcomes)

    @property
    def names_reasons(self) -> bool:
        """Whether the audit counts images by the reason, or names a column of reasons."""
        return self.reads_reasons or "reason" in self.columns.model_fields_set

    @property
    def rated_attributes(self) -> list[str]:
        """Attributes that people rate in the images that the model is shown, each once."""
        return list(dict.fromkeys([self.attribute, *self.annotated]))

    @property
    def rated_attributes_of_samples(self) -> list[str]:
        """Attributes that people rate in sampled images, which directions are found from."""
        return list(dict.fromkeys([*self.axes, *self.rated_attributes]))

    @property
    def path(self) -> Path:
        """The file that was read; "audit.yml" if there is none."""
        return self._path

    @property
    def place(self) -> str:
        """The file that was read, as a message begins; "" if there is none."""
        return f"{self._path}: " if self._is_read else ""

    @property
    def size(self) -> int:
        """Height and width of the square images that a model of this size is shown, pixels.

        Of an image that is cropped, the crop has so many pixels as the model takes.

        Raises:
            InputError: the scores are in a table, so that no model is shown an image.
        """
        model = self.model
        if isinstance(model, TableOfScores):
            raise unfit("model.kind", model.kind, "a model that is shown images")
        if isinstance(model, Http | NodePackage):
            return model.size
        return max(model.input.sides_before_crop)

    @property
    def table_of_images(self) -> Path:
        """The table `images`, for a route that has one.

        Raises:
            InputError: the file names none.
        """
        if self.images is None:
            raise unfit("images", "missing", "a table of images")
        return self.images

    def of_version(self, version: str) -> Specification:
        """The audit of another version of the model.

        Args:
            version: in the auditor's words, as `model.version` has it.
        """
        require(bool(version), "model.version", "empty", "a version in your words")
        if isinstance(self.model, NodePackage):
            message = f"is {version}, but the package says its own version; leave it out"
            raise unfit("model.version", version, "no version", message)
        model = self.model.model_copy(update={"version": version})
        return self.model_copy(update={"model": model})

    def in_folder(self, folder: Path) -> Specification:
        """The audit as if its file were in a folder, from which its paths count."""
        audit = self.model_copy()
        audit._path = folder / self._path.name
        return audit

    def beside(self, path: Path) -> Path:
        """A path of the file, which is relative to the file's folder."""
        return paths_on_disk(self._path.parent, [str(path)])[str(path)]


def _require_another_name(name: str, key: str, in_use: Sequence[str]) -> None:
    """Raise InputError where a column has a name that the audit uses itself.

    Args:
        name: of the column.
        key: that names it.
        in_use: names that the audit uses.
    """
    if name in in_use:
        own = ", ".join(in_use)
        raise InputError(
            f"{key}: the column {name!r} has a name that the audit uses itself; rename the column "
            f"(names in use: {own})",
            field=key,
            found=name,
            expected=f"another name than {own}",
        )


def read_specification(path: str | Path) -> Specification:
    """Read and check an audit file.

    Args:
        path: of the `.yml`.

    Returns:
        What it says, with all defaults.

    Raises:
        InputError: the file is missing or no YAML, or a field is unknown, missing or not allowed;
            the sentence names the file, the field, its value and what is allowed.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(
            f"{path}: no such audit file; `python -m faceaudit example FOLDER` copies some",
            field=str(path),
            expected="an audit file",
        )
    import yaml  # which an audit of a frame does without

    try:
        text = composed(path.read_text(encoding="utf-8"))
        _require_keys_once(yaml.compose(text), path)
        content = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise InputError(
            f"{path}{line}: this is no YAML that can be read",
            field=f"{path}{line}",
            expected="YAML",
        ) from None
    if not isinstance(content, dict):
        raise InputError(
            f"{path}: the file is {content!r}, {_KEYS_WITH_VALUES} was expected",
            field="the file",
            found=content,
            expected=_KEYS_WITH_VALUES,
        )
    try:
        specification = Specification(**{str(key): value for key, value in content.items()})
    except InputError as error:
        hint = f"; {YAML_HINT}" if error.expected == _TEXT and error.found is not None else ""
        raise InputError(
            f"{path}: {error}{hint}",
            field=error.field,
            found=error.found,
            expected=error.expected,
        ) from None
    specification._path = path
    specification._is_read = True
    return specification


def _require_keys_once(node: Any, path: Path) -> None:
    """Raise InputError where a key is given twice: YAML would take the last one in silence.

    Args:
        node: of `yaml.compose`; None of an empty file.
        path: of the file.
    """
    if isinstance(getattr(node, "value", None), str) or node is None:
        return
    keys = set()
    for item in node.value:
        if not isinstance(item, tuple):  # of a list
            _require_keys_once(item, path)
            continue
        key, value = item
        if isinstance(key.value, str):
            if key.value in keys:
                line = key.start_mark.line + 1
                raise InputError(
                    f"{path}, line {line}: the key {key.value!r} is given twice; keep one",
                    field=f"{path}, line {line}",
                    found=key.value,
                    expected="every key once",
                )
            keys.add(key.value)
        _require_keys_once(value, path)


def _first_fault(error: ValidationError) -> InputError:
    """The first fault of a file in one sentence: the field, its value, what is allowed."""
    details = error.errors()[0]
    kind = details["type"]
    context = details.get("ctx", {})
    location = details["loc"]
    field = _key_of_file(location)
    if kind == "value_error":
        return _fault_of_part(field, context["error"])
    lacks_an_entry = kind == "missing" and isinstance(location[-1], int)
    if lacks_an_entry:  # such as one level of two
        field = _key_of_file(location[:-1])
    elif kind == "missing":
        return InputError(f"{field} is missing", field=field)
    if kind == "union_tag_not_found":
        field = f"{field}.kind"
        return InputError(f"{field} is missing", field=field)
    if kind == "union_tag_invalid":
        field = f"{field}.kind"
        found = context["tag"]
        return unfit(field, found, f"one of {context['expected_tags']}")
    found = details["input"]
    expected = _expected(kind, field, context, details["msg"])
    found_text = "empty" if found is None else repr(found)
    message = f"{field} is {found_text}, {expected} was expected"
    return InputError(message, field=field, found=found, expected=expected)


def _expected(kind: str, field: str, context: Mapping[str, Any], message: str) -> str:
    """What was expected of a field, by pydantic's kind of fault, context and message."""
    of_levels = field.startswith(FIELDS_WITH_LEVELS)
    if of_levels and kind == "too_long":
        return f"at most {parts.MOST_LEVELS} levels"
    if of_levels and kind == "dict_type":
        return EXPECTED_LEVELS
    if kind in ("tuple_type", "missing", "too_short") and (of_levels or field == "classes"):
        return EXPECTED_TWO_NAMES
    if kind == "string_pattern_mismatch":
        return EXPECTED_BY_PATTERN[context["pattern"]]
    if kind in EXPECTED_BY_LIMIT:
        ((_, limit),) = context.items()
        return EXPECTED_BY_LIMIT[kind].format(limit)
    words = re.sub(r"^(\w+ should (be|have|match)|Field required) ?", "", message)
    return EXPECTED_BY_FAULT.get(kind) or words or "another entry"


def _fault_of_part(part: str, error: InputError) -> InputError:
    """A fault that a validator of a part raised, with the part's own place before it."""
    prefix = f"{part}." if part else ""
    return InputError(
        f"{prefix}{error}",
        field=f"{prefix}{error.field}",
        found=error.found,
        expected=error.expected,
    )


def _key_of_file(location: tuple[str | int, ...]) -> str:
    """The key of a file with the keys above it, of pydantic's location of a fault.

    pydantic also names the kind of generator, people or model that was tried, which is no key.
    """
    if location[2:3] == ("models",):
        kinds = {1, 4}  # people, kind of people, models, attribute, kind of its model
    elif location[1:2] == ("readers",):
        kinds = {3}  # calibration, readers, number, kind of model
    elif location[:1] in (("generator",), ("people",), ("model",)):
        kinds = {1}
    else:
        kinds = set()
    return ".".join(str(key) for place, key in enumerate(location) if place not in kinds)
