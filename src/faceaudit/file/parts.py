"""The parts of an audit file: images, model, people, columns, design, and a target population."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from faceaudit.utils.pictures import middle


class Strict(BaseModel):
    """A part of the file: unknown keys are errors, and nothing changes after reading.

    Messages of faults begin with the key; `specification.describe_validation_error` adds the file.
    """

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, content: Any) -> Any:
        known = cls.model_fields
        for key in content if isinstance(content, dict) else []:
            if key not in known:
                close = difflib.get_close_matches(str(key), known, 1)
                hint = f" (did you mean {close[0]}?)" if close else ""
                raise ValueError(f"{key} is no key here{hint}; allowed are {', '.join(known)}")
        return content


def such(fits: Callable[[Any], Any], expected: str) -> AfterValidator:
    """A check whose failure is told by what was expected."""

    def checked(value: Any) -> Any:
        if not fits(value):
            raise PydanticCustomError("unfit", expected)
        return value

    return AfterValidator(checked)


def require(fits: bool, field: str, found: object, expected: str) -> None:
    """Raise what pydantic hands on as an error of the part of the file."""
    if not fits:
        raise ValueError(f"{field} is {found}, {expected} was expected")


Share = Annotated[float, Field(gt=0, lt=1)]
Text = Annotated[str, Field(min_length=1)]
Names = Annotated[list[str], such(lambda names: len({*names}) == len(names), "every name once")]
Object = Annotated[str, Field(pattern=r"^[\w.]+:\w+$")]
"""Something in a Python module."""
Rising = Annotated[tuple[Share, Share], such(lambda ends: ends[0] < ends[1], "0 < low < high < 1")]
Ends = Annotated[tuple[float, float], such(lambda ends: ends[0] < ends[1], "low < high")]
Levels = Annotated[tuple[str, str], such(lambda two: two[0] != two[1], "two different names")]
Doubted = Literal[
    "errors", "reversed", "preparation", "chance", "manipulation", "direction", "gate", "placebo"
]
"""Names of what a report may doubt (`faceaudit.checks`)."""


# --- where the images come from


class KnownTruth(Strict):
    """Faces of the book's own world, in which every effect is known."""

    kind: Literal["known-truth"] = "known-truth"
    held: dict[str, float] = {"facial_hair": 0.03, "makeup": 0.26}
    adult: float = Field(0.45, ge=0, le=1)  # least age of a face that takes part
    base_faces: int = Field(400, ge=20)  # of the truth, by intervention


class _Found(Strict):
    """A generator in whose codes directions are found from answers about sampled images."""

    samples: int = Field(500, ge=20)  # images whose answers the directions are found from
    # An .npz with names, normals and intercepts, in place of directions from answers; of one axis
    # also an .npy with its normal alone.
    hyperplanes: Path | None = None
    # Of the samples' decision values: the levels.
    quantiles: Rising = (0.1, 0.9)
    levels: dict[str, Ends] = {}  # of an axis: low and high decision value, in place of quantiles
    held: dict[str, Share] = {"facial_hair": 0.1, "makeup": 0.1}
    # where they were asked about and are no axis: quantiles of the same, equal for all faces
    adult: float = Field(0.45, ge=0, le=1)  # least age of a face, where age was asked about


class Style(_Found):
    """Faces of somebody's style-based network, from the file of its weights."""

    kind: Literal["stylegan2", "eg3d"]
    weights: Path
    truncation: float = Field(1.0, gt=0, le=1)  # 1: the population that the network learned
    precision: Literal["float32", "bfloat16"] = "float32"  # the second is coarser


class Images(Strict):
    """Pictures on disk, with a table that says which is which; see `generators.ImageSet`."""

    kind: Literal["images"]
    table: Path


class PythonGenerator(_Found):
    """Any object with `sample` and `synthesize`, or a class of such."""

    kind: Literal["python"]
    object: Object
    version: Text  # in your words; change it when the images change


Generator = Annotated[KnownTruth | Style | Images | PythonGenerator, Field(discriminator="kind")]


# --- the model


Side = Annotated[int, Field(gt=0, strict=True)]
"""Pixels; strict, since `true` is no number of them."""
_SIDE = TypeAdapter(Side)
_HEIGHT_AND_WIDTH = TypeAdapter(tuple[Side, Side])


def _size(value: Any) -> int | tuple[int, int]:
    """The side of a square, or height and width; where these are equal, the side."""
    try:
        if not isinstance(value, list | tuple):
            return _SIDE.validate_python(value)
        height, width = _HEIGHT_AND_WIDTH.validate_python(value)
    except ValidationError:
        expected = "a number of pixels, or height and width as [112, 96],"
        raise PydanticCustomError("unfit", expected) from None
    return height if height == width else (height, width)


Size = Annotated[int | tuple[int, int], BeforeValidator(_size)]
"""Of an input of a network: the side of a square, or height and width, in pixels."""
Numbers = float | tuple[float, float, float]
"""One for all channels, or one for each."""


class Preparation(Strict):
    """How uint8 RGB images become what a network takes; the block `input` of an audit file.

    A network that gets BGR for RGB, or 0–255 for 0–1, still answers, only worse, and perhaps worse
    for some faces than for others. So nothing is assumed: size, channels, range, mean, spread and
    layout are given, and `faceaudit.checks.check_preparation` tries others.

    Images that have other proportions than `size` are cut to their middle, as `make train` cuts
    photographs (`faceaudit.utils.pictures.middle`); then they are scaled. Pixels of 0 to 255 are
    brought to `range`; then `mean` is subtracted, and `std` divides. Mean and spread stand in the
    network's order of channels.

    Raises:
        ValueError: a field that is none, by name.

    Example:
        >>> ready = Preparation(size=32, range=(-1, 1))(np.zeros((2, 3, 64, 64), np.uint8))
        >>> ready.shape, float(ready[0, 0, 0, 0])
        ((2, 3, 32, 32), -1.0)
        >>> Preparation(size=(112, 96))(np.zeros((2, 3, 64, 64), np.uint8)).shape
        (2, 3, 112, 96)
    """

    size: Size  # pixels: of height and width, or [height, width]
    channels: Literal["rgb", "bgr"] = "rgb"
    layout: Literal["nchw", "nhwc"] = "nchw"
    range: Ends = (0.0, 1.0)  # what pixels of 0 to 255 become, before the mean
    mean: Numbers = 0.0
    std: Annotated[Numbers, such(lambda std: np.min(std) > 0, "positive numbers")] = 1.0

    @property
    def sides(self) -> tuple[int, int]:
        """Height and width of what the network takes, pixels."""
        return (self.size, self.size) if isinstance(self.size, int) else self.size

    def cut(self, images: np.ndarray) -> np.ndarray:
        """The middle of images (n, 3, height, width) that has the proportions of `size`."""
        rows, columns = middle(*images.shape[2:], self.sides)
        return images[:, :, rows, columns]

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """Prepare uint8 RGB images (n, 3, height, width).

        Args:
            images: what is prepared.

        Returns:
            float32 (n, 3, height, width) as `size` says them, or (n, height, width, 3) where the
            layout is "nhwc".
        """
        import torch  # an audit of a table does without
        from torch.nn import functional

        pixels = torch.from_numpy(self.cut(images).astype(np.float32))
        if pixels.shape[2:] != self.sides:
            how = {"mode": "bilinear", "antialias": True}
            pixels = functional.interpolate(pixels, self.sides, **how).clamp(0, 255)
        if self.channels == "bgr":
            pixels = pixels.flip(1)
        low, high = self.range
        after = (np.asarray(self.mean, float) - low).tolist(), self.std
        mean, std = (torch.tensor(v).expand(3).view(3, 1, 1) for v in after)
        ready = (pixels * ((high - low) / 255) - mean) / std
        ready = ready.permute(0, 2, 3, 1) if self.layout == "nhwc" else ready
        return np.ascontiguousarray(ready.numpy(), dtype=np.float32)


Column = Annotated[int, Field(ge=0, strict=True)]
"""One of the numbers that a model gives for an image, counted from 0."""


class Output(Strict):
    """Where a model's answer stands."""

    name: str | None = None
    index: Annotated[int, Field(strict=True)] | None = (
        None  # column of the positive class, where there are several
    )
    # Columns of the classes, where the output has others too: of two the second is the positive.
    classes: Annotated[
        tuple[Column, ...] | None,
        such(
            lambda columns: columns is None or len(columns) == len({*columns}) >= 2,
            "two or more different columns, such as [8, 7],",
        ),
    ] = None
    activation: Literal["none", "sigmoid", "softmax"] = "none"

    @model_validator(mode="after")
    def _one_positive_class(self) -> Output:
        if self.classes is None:
            return self
        found = "missing" if self.index is None else self.index
        if len(self.classes) > 2:
            expected = f"the column of the positive class, one of {[*self.classes]},"
            require(self.index in self.classes, "index", found, expected)
        else:
            expected = f"the second of classes ({self.classes[1]}, the positive class)"
            require(self.index in (None, self.classes[1]), "index", found, expected)
        return self


class _Cut(Strict):
    threshold: float | None = None  # of a score, 0.5 by default; or of a similarity
    fmr: Share | None = None  # verification: sets the threshold

    @property
    def cut(self) -> float:
        """Score above which a classifier's answer is 1."""
        return 0.5 if self.threshold is None else self.threshold


class _Asked(_Cut):
    input: Preparation
    output: Output = Output()


class Onnx(_Asked):
    """A model in an ONNX file."""

    kind: Literal["onnx"]
    path: Path


class PythonModel(_Asked):
    """A function of one's own."""

    kind: Literal["python"]
    version: Text  # in your words; change it when the weights change
    function: Object


def is_address(url: str) -> bool:
    """Whether a text is an address of the web, with a host and a port that can be."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # which `port` raises as well
        return False


class Http(_Cut):
    """A model behind an address that takes a PNG and answers JSON."""

    kind: Literal["http"]
    url: Annotated[str, such(is_address, "an address such as https://api.example.com/face")]
    read: Text  # where the answer stands, as "faces.0.gender.p_male"
    version: Text
    size: Side  # of the images that it is sent
    headers: dict[str, str] = {}  # "env:NAME" takes a value from the environment
    max_calls: int = Field(ge=1)
    per_second: float = Field(5.0, gt=0)
    timeout: float = Field(30.0, gt=0)  # seconds for one call
    # Seconds for one image, all tries together: its calls, and the waits between them.
    total_time: float = Field(60.0, gt=0, le=86_400)


class Table(_Cut):
    """Scores that stand in the table of images or pairs."""

    kind: Literal["table"] = "table"


def is_of_scores(model: _Cut) -> bool:
    """Whether a threshold is one of a classifier's score."""
    return 0 <= model.cut <= 1 and model.fmr is None


Asked = Annotated[Onnx | PythonModel | Http, Field(discriminator="kind")]
Model = Annotated[Onnx | PythonModel | Http | Table, Field(discriminator="kind")]
Scored = Annotated[Asked, such(is_of_scores, "a threshold from 0 to 1 and no fmr")]


# --- how directions are brought to their targets


ON_CROPS = "gender"
"""What is asked on crops, where there are some."""
Crop = Annotated[
    tuple[float, float, float, float],
    such(lambda x: 0 <= x[0] < x[2] <= 1 and 0 <= x[1] < x[3] <= 1, "left, top, right, bottom,"),
]


class Calibration(Strict):
    """Rounds of answers before the model is asked, until faces and levels reach their targets."""

    crop: Crop | None = None  # shares of an image, on which gender is asked: without hair
    # Of what people are not asked, a column for each measure.
    readers: list[Annotated[Onnx | PythonModel, Field(discriminator="kind")]] = []
    rounds: int = Field(4, ge=1)
    transects: int = Field(100, ge=2)  # of a round


# --- who says what a face looks like


class Simulated(Strict):
    """A simulated crowd, calibrated on real annotations."""

    kind: Literal["simulated"] = "simulated"
    raters: int = Field(5, ge=1, le=50)


class Export(Strict):
    """People who answer in a tool; without their export, the run writes tasks and stops."""

    kind: Literal["label-studio", "mturk", "ground-truth", "page"]
    export: Path | None = None  # a file, or a folder with all exports; by default in artifacts
    raters: int = Field(5, ge=1)
    size: int = Field(256, ge=16)  # of the images that people see in the face world, pixels
    address: str | None = None  # where the images will lie: https://… of mturk, s3://… of the other

    @model_validator(mode="after")
    def _with_address(self) -> Export:
        start = {"mturk": "https://", "ground-truth": "s3://"}.get(self.kind, "")
        given, expected = self.address or "", f"the address that your images will have, {start}…/,"
        require(given.startswith(start), "address", given or "missing", expected)
        return self


class Reader(Strict):
    """Classifiers of attributes in place of people; the report marks them as such."""

    kind: Literal["reader"]
    models: dict[str, Scored] = Field(min_length=1)  # attribute → the model that tells it


class InTable(Strict):
    """Labels and annotated scores that stand in the table of images."""

    kind: Literal["table"]


People = Annotated[Simulated | Export | Reader | InTable, Field(discriminator="kind")]


# --- the columns of a table, and the design


class Columns(Strict):
    """Names of columns; `faceaudit.file.specification.READ` says which are read of which table."""

    image: str = "image_id"
    unit: str = "unit"
    label: str = "label"
    answers: Names | None = Field(None, min_length=1)  # of raters, in place of a label
    score: str = "score"
    decision: str | None = None  # 0 or 1, in place of a score
    error: str | None = None  # 0 or 1, in place of both and the label
    group: str = "group"
    identity: str = "identity"
    first: str = "first"
    second: str = "second"
    same: str = "same"
    similarity: str = "similarity"


class Design(Strict):
    """What is fixed before any model is asked."""

    tolerance: Share
    transects: int | None = Field(None, ge=2)  # None: as many as the power asks for
    power: Share = 0.8
    seed: int = Field(1, ge=0)
    incomplete: Literal["refuse", "pairs"] = "refuse"
    impostors: int = Field(10_000, ge=1)  # pairs of two people in a group, at most
    consensus: Share = 0.3  # highest HCIC of people at which a pair is of one person


class Target(Strict):
    """A population that the error rates are carried over to: a row per person."""

    name: Text
    table: Path
    by: list[str] = []  # axes whose levels are compared
