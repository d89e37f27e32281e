"""The parts of an audit file: images, model, people, columns, design, and a target population."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, LiteralString, get_args
from urllib.parse import urlsplit

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    GetCoreSchemaHandler,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from faceaudit.outcomes import OutcomeName
from faceaudit.utils.errors import InputError
from faceaudit.utils.pictures import box, fitted, middle, scaled, to_grey


class FilePart(BaseModel):
    """A part of the audit file: an unknown key is an error, and fields do not change after reading.

    The messages of faults begin with the key. `faceaudit.file.specification.read_specification`
    puts the parts above it and the name of the file before them.
    """

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, content: Any) -> Any:
        if not isinstance(content, dict):
            return content
        known = list(cls.model_fields)
        for key in content:
            if key not in known:
                similar = difflib.get_close_matches(str(key), known, 1)
                hint = f" (did you mean {similar[0]}?)" if similar else ""
                allowed = ", ".join(known)
                raise InputError(
                    f"{key} is no key here{hint}; allowed are {allowed}",
                    field=str(key),
                    expected=f"one of {allowed}",
                )
        return content


def requirement(fits: Callable[[Any], Any], expected: LiteralString) -> AfterValidator:
    """A check of a field for its annotation.

    Args:
        fits: whether a value of the right type is allowed.
        expected: what the message says that was expected.

    Returns:
        The validator.
    """

    def check(value: Any) -> Any:
        if not fits(value):
            raise PydanticCustomError("unfit", expected)
        return value

    return AfterValidator(check)


def unfit(field: str, found: object, expected: str, message: str | None = None) -> InputError:
    """The error of a field that does not fit; pydantic makes it a fault of the part of the file.

    Args:
        field: key of the file.
        found: what it is.
        expected: what was expected.
        message: what is said of the key, where its two parts do not tell what to do.
    """
    message = message or f"is {found}, {expected} was expected"
    return InputError(f"{field} {message}", field=field, found=found, expected=expected)


def require(
    fits: bool, field: str, found: object, expected: str, message: str | None = None
) -> None:
    """Raise the error of `unfit` unless a field fits."""
    if not fits:
        raise unfit(field, found, expected, message)


class MayBeMissing:
    """Marks a key that may be missing, and is None then; a key without a value is a mistake.

    Args:
        part: what the key has where it is given.
    """

    def __init__(self, part: type[FilePart]) -> None:
        self._part = part

    def __get_pydantic_core_schema__(
        self, annotation: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """The schema of the part alone, which refuses None; pydantic does not check a default."""
        return handler.generate_schema(self._part)


def kinds_of(*parts: type[FilePart]) -> tuple[str, ...]:
    """The kinds that an audit file names parts by, in the order of the parts."""
    kinds = []
    for part in parts:
        kinds += get_args(part.model_fields["kind"].annotation)
    return tuple(kinds)


def one_of(names: Sequence[str]) -> str:
    """Two names or more as a choice: "stylegan2, eg3d or python"."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _all_different(values: Sequence[object]) -> bool:
    return len(set(values)) == len(values)


def _rises(ends: tuple[float, float]) -> bool:
    low, high = ends
    return low < high


OpenFraction = Annotated[float, Field(gt=0, lt=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]
"""A number between 0 and 1, without the ends."""
NonEmptyText = Annotated[str, Field(min_length=1)]
UniqueNames = Annotated[list[str], requirement(_all_different, "a list with every name once")]
IMPORT_PATTERN = r"^[\w.]+:\w+$"
ImportPath = Annotated[str, Field(pattern=IMPORT_PATTERN)]
"""The module and the name of a Python object, as "module:name"."""


def name_of_object(given: Any) -> str:
    """The module and the name of a Python object, or of its class where it has no name.

    Args:
        given: the object, or its `ImportPath`.

    Example:
        >>> name_of_object(difflib.get_close_matches), name_of_object("mymodel:predict")
        ('difflib:get_close_matches', 'mymodel:predict')
    """
    if isinstance(given, str):
        return given
    named = given if hasattr(given, "__qualname__") else type(given)
    return f"{named.__module__}:{named.__qualname__}"


class _ObjectOrPath:
    """Marks a key that names a Python object; where the part is made in Python, it may be it."""

    def __get_pydantic_core_schema__(
        self, annotation: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """The schema of a path, around which an object goes as it is; as JSON it is its name."""
        return core_schema.no_info_wrap_validator_function(
            _object_as_it_is,
            handler.generate_schema(ImportPath),
            serialization=core_schema.plain_serializer_function_ser_schema(
                name_of_object, when_used="json"
            ),
        )


def _object_as_it_is(given: Any, check_path: Callable[[Any], str]) -> Any:
    is_object = callable(given) or hasattr(given, "synthesize")
    # An audit file has no other objects than these.
    if not is_object and not isinstance(given, str | int | float | list | dict | None):
        raise PydanticCustomError("unfit", "a function, or an object with sample and synthesize,")
    return given if is_object else check_path(given)


PythonObject = Annotated[Any, _ObjectOrPath()]
"""A Python object: in an audit file its `ImportPath`, in Python also a function or a generator."""
QuantilePair = Annotated[
    tuple[OpenFraction, OpenFraction], requirement(_rises, "0 < low < high < 1")
]
RisingPair = Annotated[tuple[float, float], requirement(_rises, "low < high")]
MOST_LEVELS = 10
"""Levels of one axis."""
LevelNames = Annotated[
    tuple[str, ...],
    Field(min_length=2, max_length=MOST_LEVELS),
    requirement(_all_different, "different names"),
]
MOST_CLASSES = 100
"""Answers that a model chooses from."""
ClassNames = Annotated[
    tuple[str, ...],
    Field(min_length=2, max_length=MOST_CLASSES),
    requirement(_all_different, "different names"),
]
Outcomes = Annotated[
    list[OutcomeName], Field(min_length=1), requirement(_all_different, "every outcome once")
]
DoubtName = Literal[
    "errors",
    "reversed",
    "constant",
    "preparation",
    "chance",
    "manipulation",
    "direction",
    "gate",
    "placebo",
    "thresholds",
    "labels",
    "levels",
]
"""Names of what a report may doubt (`faceaudit.checks`)."""


# --- where the images come from


Pixels = Annotated[int, Field(gt=0, strict=True)]
"""A number of pixels; strict, so that `true` is none."""


class KnownTruth(FilePart):
    """Faces of the book's own world, in which every effect is known."""

    kind: Literal["known-truth"] = "known-truth"
    held: dict[str, float] = {"facial_hair": 0.03, "makeup": 0.26}
    # Least age of a face that takes part, from 0 to 1.
    adult: float = Field(default=0.45, ge=0, le=1)
    # Faces on which the true effects are computed, by intervention.
    base_faces: int = Field(default=400, ge=20)


class DirectionSettings(FilePart):
    """A generator in whose codes directions are found from answers about sampled images."""

    # Sampled images that people answer about; the directions are fitted to their answers.
    samples: int = Field(default=500, ge=20)
    # An .npz with names, normals and intercepts, in place of directions from answers; of one axis
    # also an .npy with its normal alone.
    hyperplanes: Path | None = None
    # The low and the high level of every axis, as quantiles of the samples' decision values.
    quantiles: QuantilePair = (0.1, 0.9)
    # Axis → its low and high decision value, in place of the quantiles.
    levels: dict[str, RisingPair] = {}
    # Attribute → the quantile at which it is equal for all faces. It counts for attributes that
    # people were asked about and that are no axes.
    held: dict[str, OpenFraction] = {"facial_hair": 0.1, "makeup": 0.1}
    # Least age of a face, from 0 to 1, where people were asked about the age.
    adult: float = Field(default=0.45, ge=0, le=1)


class StyleNetwork(DirectionSettings):
    """Faces of somebody's style-based network, from the file of its weights."""

    kind: Literal["stylegan2", "eg3d"]
    weights: Path
    # 1 draws from the population that the network learned; less draws closer to its mean.
    truncation: float = Field(default=1.0, gt=0, le=1)
    # bfloat16 is faster and coarser.
    precision: Literal["float32", "bfloat16"] = "float32"


class OpenVinoNetworks(DirectionSettings):
    """Faces of a generator in OpenVINO's representation, such as MobileStyleGAN."""

    kind: Literal["openvino_ir"]
    # Holds MappingNetwork and SynthesisNetwork, each as .xml and .bin.
    folder: Path
    # 1 draws from the population that the network learned; less draws closer to its mean.
    truncation: float = Field(default=1.0, gt=0, le=1)
    # Height and width of the images in pixels, to which those of the network are reduced.
    size: Pixels | None = None


class ImageFolder(FilePart):
    """Pictures on disk, with a table that says which is which; see `faceaudit.images.ImageSet`."""

    kind: Literal["images"]
    table: Path


class PythonGenerator(DirectionSettings):
    """Any object with `sample` and `synthesize`, or a class of such."""

    kind: Literal["python"]
    object: PythonObject
    # In your words; change it when the images change.
    version: NonEmptyText


GeneratorSettings = Annotated[
    KnownTruth | StyleNetwork | OpenVinoNetworks | ImageFolder | PythonGenerator,
    Field(discriminator="kind"),
]
KINDS_WITH_DIRECTIONS = kinds_of(StyleNetwork, OpenVinoNetworks, PythonGenerator)
"""Kinds of generators in whose codes directions are found."""


# --- the model


_PIXELS = TypeAdapter(Pixels)
_HEIGHT_AND_WIDTH = TypeAdapter(tuple[Pixels, Pixels])


def _parse_size(value: Any) -> int | tuple[int, int]:
    """The side of a square, or height and width; where these are equal, the side."""
    try:
        if not isinstance(value, list | tuple):
            return _PIXELS.validate_python(value)
        height, width = _HEIGHT_AND_WIDTH.validate_python(value)
    except ValidationError:
        expected = "a number of pixels, or height and width as [112, 96],"
        raise PydanticCustomError("unfit", expected) from None
    return height if height == width else (height, width)


InputSize = Annotated[int | tuple[int, int], BeforeValidator(_parse_size)]
"""Of the input of a network: the side of a square, or height and width, in pixels."""


def _is_box(box: tuple[float, float, float, float]) -> bool:
    left, top, right, bottom = box
    return 0 <= left < right <= 1 and 0 <= top < bottom <= 1


Crop = Annotated[
    tuple[float, float, float, float], requirement(_is_box, "left, top, right, bottom from 0 to 1,")
]
"""Left, top, right and bottom of a part of an image, as shares of its width and height."""
PerChannel = float | tuple[float, float, float]
"""One number for all channels, or one for each."""


class Preparation(FilePart):
    """How uint8 RGB images become what a network takes; the block `input` of an audit file.

    A network that gets BGR for RGB, or 0–255 for 0–1, still answers, only worse, and perhaps worse
    for some faces than for others. So nothing is assumed: size, channels, range, mean, spread and
    layout are given, and `faceaudit.checks.check_preparation` tries others.

    First the images are cropped and made grey, where the file says so. Then they get the
    proportions of `size`. By default they are cut to their middle, as `make train` cuts photographs
    (`faceaudit.utils.pictures.middle`). With `keep_aspect: true` they stay whole, and `pad` fills
    what is left on two sides; with `keep_aspect: false` they are stretched. Then they are scaled.
    Pixels of 0 to 255 are brought to `range`; then `mean` is subtracted, and `std` divides. Mean
    and spread stand in the network's order of channels.

    Raises:
        ValueError: a field that is none, by name.

    Example:
        >>> ready = Preparation(size=32, range=(-1, 1))(np.zeros((2, 3, 64, 64), np.uint8))
        >>> ready.shape, float(ready[0, 0, 0, 0])
        ((2, 3, 32, 32), -1.0)
        >>> Preparation(size=(112, 96))(np.zeros((2, 3, 64, 64), np.uint8)).shape
        (2, 3, 112, 96)
    """

    # Pixels: one number for height and width, or [height, width].
    size: InputSize
    # The part of an image that is used, as shares of its width and height.
    crop: Crop | None = None
    # None: images are cut to the proportions of `size`; true: padded; false: stretched.
    keep_aspect: Annotated[bool, Field(strict=True)] | None = None
    # The pixel value around an image that keeps its proportions, from 0 to 255.
    pad: Annotated[int, Field(ge=0, le=255, strict=True)] | None = None
    # One channel of luma; where the network takes three, or there is a mean or a spread for each of
    # three, three equal ones.
    grey: Annotated[bool, Field(strict=True)] = False
    channels: Literal["rgb", "bgr"] = "rgb"
    layout: Literal["nchw", "nhwc"] = "nchw"
    # What pixels of 0 to 255 become before the mean is subtracted.
    range: RisingPair = (0.0, 1.0)
    mean: PerChannel = 0.0
    std: Annotated[PerChannel, requirement(lambda std: np.min(std) > 0, "positive numbers")] = 1.0

    @model_validator(mode="after")
    def _check_keys_together(self) -> Preparation:
        if self.keep_aspect:
            expected = "the pixel value around an image, from 0 to 255,"
            require(self.pad is not None, "pad", "missing", expected)
        else:
            message = "is given without keep_aspect: true; give both, or neither"
            require(
                self.pad is None, "pad", self.pad, "keep_aspect: true with it, or no pad", message
            )
        if self.grey:
            message = f"is {self.channels}, but a grey image has one channel; leave the key out"
            require(self.channels == "rgb", "channels", self.channels, "rgb", message)
        return self

    @model_serializer(mode="wrap")
    def _without_later_keys(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """All keys; those that came later only where they are given.

        So models that were asked before there were these keep their hash, and their answers.
        """
        content = serialize(self)
        for key in ("crop", "keep_aspect", "pad", "grey"):
            if getattr(self, key) == type(self).model_fields[key].default:
                del content[key]
        return content

    @property
    def sides(self) -> tuple[int, int]:
        """Height and width of what the network takes, pixels."""
        if isinstance(self.size, int):
            return self.size, self.size
        return self.size

    @property
    def sides_before_crop(self) -> tuple[int, int]:
        """Height and width of an image of which the crop has as many pixels as `size`."""
        height, width = self.sides
        left, top, right, bottom = self.crop or (0, 0, 1, 1)
        return round(height / (bottom - top)), round(width / (right - left))

    @property
    def colours(self) -> str:
        """Channels in the order in which the network gets them: "rgb", "bgr" or "grey"."""
        return "grey" if self.grey else self.channels

    @property
    def is_declared(self) -> bool:
        """Whether more is said of pixels than that they stay as they are."""
        given = self.model_fields_set & {"channels", "range", "mean", "std", "grey"}
        as_they_are = self.keeps_pixels and self.colours == "rgb"
        return bool(given) and not as_they_are

    @property
    def keeps_pixels(self) -> bool:
        """Whether the network gets pixels of 0 to 255 as they are."""
        as_they_are = not np.any(self.mean) and np.all(np.equal(self.std, 1))
        return self.range == (0, 255) and bool(as_they_are)

    def cut(self, images: np.ndarray) -> np.ndarray:
        """The part of images (n, 3, height, width) that is used, before it is scaled."""
        if self.crop is not None:
            height, width = images.shape[2:]
            rows, columns = box(height, width, self.crop)
            images = images[:, :, rows, columns]
        if self.keep_aspect is None:
            height, width = images.shape[2:]
            rows, columns = middle(height, width, self.sides)
            images = images[:, :, rows, columns]
        return images

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """Prepare images for the network.

        Args:
            images: uint8 RGB (n, 3, height, width).

        Returns:
            float32 (n, 3, height, width) as `size` says them, or (n, height, width, 3) where the
            layout is "nhwc"; grey images have one channel, unless a mean or a spread is given for
            each of three.
        """
        seen = self.cut(images)
        if self.grey:
            seen = to_grey(seen)
        pixels = self._scaled(seen.astype(np.float32))
        if self.channels == "bgr":
            pixels = pixels[:, ::-1]
        low, high = self.range
        # Pixels are scaled to the width of the range; the mean brings them to its low end.
        mean = (np.asarray(self.mean) - low).astype(np.float32).reshape(-1, 1, 1)
        std = np.asarray(self.std, np.float32).reshape(-1, 1, 1)
        prepared = (pixels * np.float32((high - low) / 255) - mean) / std
        if self.layout == "nhwc":
            prepared = prepared.transpose(0, 2, 3, 1)
        return np.ascontiguousarray(prepared)

    def _scaled(self, pixels: np.ndarray) -> np.ndarray:
        """Pixels (n, channels, height, width) at the height and width of `size`."""
        rows, columns = map(slice, (0, 0), self.sides)
        if self.keep_aspect:
            height, width = pixels.shape[2:]
            rows, columns = fitted(height, width, self.sides)
        sides = (rows.stop - rows.start, columns.stop - columns.start)
        if pixels.shape[2:] != sides:
            pixels = scaled(pixels, sides)
        if sides == self.sides:
            return pixels
        padded = np.full((*pixels.shape[:2], *self.sides), self.pad or 0, np.float32)
        padded[:, :, rows, columns] = pixels
        return padded


OutputColumn = Annotated[int, Field(ge=0, strict=True)]
"""One of the numbers that a model gives for an image, counted from 0."""


def _are_classes(columns: tuple[int, ...] | None) -> bool:
    return columns is None or (len(columns) >= 2 and _all_different(columns))


class Output(FilePart):
    """Where the answer is in the output of a model."""

    name: str | None = None
    # Column of the positive class, where the output has several columns.
    index: Annotated[int, Field(strict=True)] | None = None
    # Columns of the classes, where the output has others too: of two, the second is the positive.
    classes: Annotated[
        tuple[OutputColumn, ...] | None,
        requirement(_are_classes, "two or more different columns, such as [8, 7],"),
    ] = None
    activation: Literal["none", "sigmoid", "softmax"] = "none"

    @model_validator(mode="after")
    def _one_positive_class(self) -> Output:
        if self.classes is None:
            return self
        found = "missing" if self.index is None else self.index
        if len(self.classes) == 2:
            _, positive = self.classes
            expected = f"the second of classes ({positive}, the positive class)"
            require(self.index in (None, positive), "index", found, expected)
        else:
            expected = f"the column of the positive class, one of {list(self.classes)},"
            require(self.index in self.classes, "index", found, expected)
        return self


class _WithThreshold(FilePart):
    # Of a score, 0.5 by default; of a recogniser, of the similarity or the distance.
    threshold: FiniteFloat | None = None
    # Of a recogniser: the false match rate that sets the threshold.
    fmr: OpenFraction | None = None

    @property
    def score_threshold(self) -> float:
        """Score above which a classifier's answer is 1."""
        return 0.5 if self.threshold is None else self.threshold


class _AskedAboutImages(_WithThreshold):
    # Of a recogniser: its threshold is a Euclidean distance of two vectors, at most which they are
    # of one person; without this key it is a cosine similarity.
    distance: Literal["euclidean"] | None = None


class _WithPreparation(_AskedAboutImages):
    input: Preparation
    output: Output = Output()


class Onnx(_WithPreparation):
    """A model in an ONNX file."""

    kind: Literal["onnx"]
    path: Path
    # In your words, besides the hash of the file.
    version: NonEmptyText | None = None


class PythonModel(_WithPreparation):
    """A Python function of the auditor's."""

    kind: Literal["python"]
    # In your words; change it when the weights change.
    version: NonEmptyText
    function: PythonObject


def is_address(url: str) -> bool:
    """Whether a text is an address of the web with a host and, if any, a possible port."""
    try:
        address = urlsplit(url)
        return address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:  # `urlsplit` and `port` raise it
        return False


FROM_ENVIRONMENT = "env:"
"""Start of a header's value in the audit file that names a variable of the environment."""


class Http(_AskedAboutImages):
    """A model behind an address that takes a PNG and answers JSON."""

    kind: Literal["http"]
    url: Annotated[str, requirement(is_address, "an address such as https://api.example.com/face")]
    # The place of the answer in the JSON, as "faces.0.gender.p_male".
    read: NonEmptyText
    version: NonEmptyText
    # Where each reply says which version answers: a header, or a place in the JSON.
    version_header: NonEmptyText | None = None
    version_read: NonEmptyText | None = None
    # Side of the images that are sent, pixels.
    size: Pixels
    # A value "env:NAME" is taken from the environment.
    headers: dict[str, str] = {}
    max_calls: int = Field(ge=1)
    per_second: float = Field(default=5.0, gt=0)
    # Seconds for one call.
    timeout: float = Field(default=30.0, gt=0)
    # Seconds for one image, all tries together: its calls, and the waits between them.
    total_time: float = Field(default=60.0, gt=0, le=86_400)

    @model_validator(mode="after")
    def _one_place_of_the_version(self) -> Http:
        both = self.version_header is not None and self.version_read is not None
        require(not both, "version_header", "given besides version_read", "one of them")
        return self


class NodePackage(_AskedAboutImages):
    """A model in a package of npm, with its own detection and crop."""

    kind: Literal["node"]
    package: Literal["@vladmandic/human", "@vladmandic/face-api"]
    # Holds node_modules, see `faceaudit.models.node.install`.
    folder: Path
    # The package's own.
    settings: dict[str, Any] = {}
    # Which of its answers the audit is about.
    read: NonEmptyText = "P(male)"
    # Side of the images that it is shown, pixels.
    size: Pixels = 512
    # Seconds for opening the package, and for one image.
    timeout: float = Field(default=120.0, gt=0)


class TableOfScores(_WithThreshold):
    """Scores that are in the table of images or pairs already."""

    kind: Literal["table"] = "table"
    # Of the model that gave the scores, in your words.
    version: NonEmptyText | None = None


def has_score_threshold(model: _WithThreshold) -> bool:
    """Whether the threshold of a model is one of a classifier's score."""
    is_distance = isinstance(model, _AskedAboutImages) and model.distance is not None
    return 0 <= model.score_threshold <= 1 and model.fmr is None and not is_distance


AskedModel = Annotated[Onnx | PythonModel | Http | NodePackage, Field(discriminator="kind")]
ModelSettings = Annotated[
    Onnx | PythonModel | Http | NodePackage | TableOfScores, Field(discriminator="kind")
]
ScoringModel = Annotated[
    AskedModel, requirement(has_score_threshold, "a threshold from 0 to 1, no fmr and no distance")
]


# --- how directions are brought to their targets


ON_CROPS = "gender"
"""The attribute that people are asked about on crops, where a crop is set."""


class Calibration(FilePart):
    """Rounds of answers before the model is asked, until faces and levels reach their targets."""

    # The part of an image that is shown where people are asked about gender: without hair.
    crop: Crop | None = None
    # Models of what people are not asked about, a column for each measure.
    readers: list[Annotated[Onnx | PythonModel, Field(discriminator="kind")]] = []
    rounds: int = Field(default=4, ge=1)
    # Matched faces of a round.
    transects: int = Field(default=100, ge=2)


# --- who says what a face looks like


class SimulatedCrowd(FilePart):
    """A simulated crowd, calibrated on real annotations."""

    kind: Literal["simulated"] = "simulated"
    raters: int = Field(default=5, ge=1, le=50)


ToolKind = Literal["label-studio", "mturk", "ground-truth", "page"]
"""Names of the tools that people answer in; each table by kind of tool has an entry for each."""
ADDRESS_START: dict[ToolKind, str] = {
    "label-studio": "",
    "mturk": "https://",
    "ground-truth": "s3://",
    "page": "",
}
"""Kind of tool → how the address begins that images need there; "" where they need none."""


class AnnotationTool(FilePart):
    """People who answer in a tool; without their export, the run writes tasks and stops."""

    kind: ToolKind
    # A file, or a folder with all exports; by default a folder of the audit's artifacts.
    export: Path | None = None
    raters: int = Field(default=5, ge=1)
    # Of the images that people see in the face world, pixels.
    size: int = Field(default=256, ge=16)
    # Where the images will lie: https://… of mturk, s3://… of ground-truth.
    address: str | None = None

    @model_validator(mode="after")
    def _with_address(self) -> AnnotationTool:
        start = ADDRESS_START[self.kind]
        address = self.address or ""
        expected = f"the address that your images will have, {start}…/,"
        require(address.startswith(start), "address", address or "missing", expected)
        return self


class Reader(FilePart):
    """Classifiers of attributes in place of people; the report marks them as such."""

    kind: Literal["reader"]
    # Attribute → the model that classifies images by it.
    models: dict[str, ScoringModel] = Field(min_length=1)


class TableOfLabels(FilePart):
    """Labels and annotated scores that are in the table of images already."""

    kind: Literal["table"]


PeopleSettings = Annotated[
    SimulatedCrowd | AnnotationTool | Reader | TableOfLabels, Field(discriminator="kind")
]


# --- the columns of a table, and the design


class ColumnNames(FilePart):
    """Names of the columns of the user's tables.

    `faceaudit.file.specification.KEYS_OF_ROUTE` says which are read from which table.
    """

    image: str = "image_id"
    unit: str = "unit"
    label: str = "label"
    # Of raters, in place of a label.
    answers: UniqueNames | None = Field(default=None, min_length=1)
    score: str = "score"
    # 0 or 1, in place of a score.
    decision: str | None = None
    # 0 or 1, in place of both score and label.
    error: str | None = None
    # A number, in place of label and score.
    number: str | None = None
    # How many people each matched face stands for, the same in all rows of a face.
    weight: str | None = None
    # Why there is no answer: abstention, no face or failed call; empty where there is one.
    reason: str = "reason"
    group: str = "group"
    identity: str = "identity"
    first: str = "first"
    second: str = "second"
    same: str = "same"
    similarity: str = "similarity"
    # In place of a similarity; it is small of one person.
    distance: str | None = None


class DesignSettings(FilePart):
    """What is fixed before any model is asked."""

    # A fraction; of a number, in its own unit.
    tolerance: Annotated[float, Field(gt=0)]
    # None: as many as the verdicts ask for with the planned power.
    transects: int | None = Field(default=None, ge=2)
    power: OpenFraction = 0.8
    seed: int = Field(default=1, ge=0)
    incomplete: Literal["refuse", "pairs"] = "refuse"
    # Of an axis with more than two levels: each with the first, or with the one before it and the
    # last with the first, or the trend over all of them.
    contrasts: Literal["reference", "adjacent", "trend"] = "reference"
    # Of portraits: AIPW beside the regressions, by main effects or by boosted trees.
    adjustment: Literal["regression", "aipw", "boosted aipw"] = "regression"
    # Pairs of two people in a group, at most.
    impostors: int = Field(default=10_000, ge=1)
    # Highest HCIC of people's ratings at which a pair is of one person.
    consensus: OpenFraction = 0.3


class CoveragePolicy(FilePart):
    """What must be there before a model may pass, whatever the verdicts say.

    It also says whether the gate is monitored, so that it can be asked again and again.
    """

    # Least number of matched faces, or of people, in a cell of the axes or in a group.
    faces: int = Field(default=30, ge=2)
    # Largest share of the images that have no answer or no label.
    unanswered: Fraction = 0.2
    # Largest share of a table's rows that are left out for a value that was not expected; where it
    # is the level of an axis that was not, also against the rows of the axis's smallest level.
    left_out: Fraction = 0.05
    # Whether the verdicts hold at every look, however often the gate is asked.
    monitor: Annotated[bool, Field(strict=True)] = False

    @model_serializer(mode="wrap")
    def _without_later_keys(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """All keys; `monitor` only where it is true, so that earlier plans keep their hash."""
        content = serialize(self)
        if not self.monitor:
            del content["monitor"]
        return content


class TargetPopulation(FilePart):
    """A population that the error rates are carried over to: a row per person."""

    name: NonEmptyText
    table: Path
    # Axes whose levels are compared.
    by: list[str] = []
