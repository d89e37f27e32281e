"""Files of trained generators, of whichever code: read without running anything in them.

Official pickles (stylegan2-ada, stylegan3, EG3D, TensorFlow), rosinality's `.pt` and the
`.safetensors` into which `helpers.generators.convert` turns both. What comes out has one set of
names, float32 weights and options without hidden defaults.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from helpers.artifacts import weights as files
from helpers.generators.generator_options import checked
from helpers.generators.module_records import mapping
from helpers.generators.official_files import official
from helpers.generators.parameter_shapes import shapes
from helpers.generators.rosinality_files import CODES, mean_style, rosinality
from helpers.generators.tensorflow_files import tensorflow
from helpers.generators.torch_records import (
    BEFORE_ZIP,
    ZIP,
    Budget,
    Storages,
    as_float32,
    read_before_zip,
    read_zip,
)
from helpers.utils.pickle_reading import DAMAGE, read_pickle, refusal

EXPECTED = "a trained generator"
KIND = "generator"
LARGEST = 2**33
"""Bytes of a file that is still read."""
LARGEST_HEADER = 2**20
"""Bytes of a converted file's list of weights: one weight takes about a hundred, and a hostile list
of empty ones ten times its own size in memory."""
MEAN = "mapping.w_avg"


@dataclass(frozen=True)
class Checkpoint:
    """A trained generator as it stands in a file.

    Attributes:
        kind: "stylegan2", "stylegan3" or "eg3d".
        config: options of the kind's `Config`, none missing.
        tensors: official name in the state dict of `G_ema` → float32 weights.
        card: where they come from; of a converted file, what the converter was told.
    """

    kind: str
    config: dict[str, Any]
    tensors: dict[str, Tensor]
    card: dict[str, Any]


SETTINGS = {"psi": (int, float), "noise": str, "precision": str}
"""Of a converted file's card: how its images are made, unless the caller says otherwise."""


def read(path: str | Path) -> Checkpoint:
    """Read a trained generator; nothing in the file is run, and no more allocated than it has.

    Args:
        path: official `.pkl`, rosinality's `.pt`, or `.safetensors` with its card beside it.

    Raises:
        ValueError: the file is missing, damaged, too large or of another kind, or asks for
            anything that is not known; names the file and what was found.
    """
    path = Path(path)
    converted = path.suffix == ".safetensors"
    stored, card = _stored(path) if converted else (b"", {})
    try:
        if converted:
            kind, config = card["kind"], mapping(card["kwargs"])
            _check_settings(card)
            tensors = _converted(stored)
        else:
            kind, config, tensors, card = _foreign(path)
        config = checked(kind, config)
        _check_weights(tensors, shapes(kind, config))
    except (*DAMAGE, OSError) as error:
        raise refusal(path, EXPECTED, error) from None
    return Checkpoint(kind, config, tensors, card)


def _foreign(path: Path) -> tuple[str, dict[str, Any], dict[str, Tensor], dict[str, Any]]:
    """Kind, options, weights and card of a file in a format of others."""
    content = _content(path)
    budget = Budget(len(content))
    value, storages = _opened(content)
    if storages is not None:
        kind, config, found = rosinality(value, storages, budget)
    elif type(value) is tuple and len(value) == 3:
        kind, config, found = tensorflow(value[2], budget)
    else:
        networks = mapping(value)
        if "G_ema" not in networks:
            raise ValueError("no entry 'G_ema', in which official files keep the generator")
        kind, config, found = official(networks["G_ema"], budget)
    config = checked(kind, config)
    expected = shapes(kind, config)
    origin, without_mean = "stored in the file", storages is not None and MEAN not in found
    if without_mean:
        origin = f"estimated from {CODES:,} keyed normal codes"
        del expected[MEAN]
    _check_names({name: values.shape for name, values in found.items()}, expected)
    tensors = {name: torch.from_numpy(as_float32(found[name])) for name in expected}
    if without_mean:
        tensors[MEAN] = mean_style(tensors, config)
    card = {"source": path.name, "source_sha256": hashlib.sha256(content).hexdigest()}
    return kind, config, tensors, card | {"mean_w": origin}


def _stored(path: Path) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a converted file, and its card."""
    for each in (path, path.with_suffix(".json")):
        try:
            _check_file(each)
        except ValueError as error:
            found = ValueError(f"{error} ({each.name})")
            raise refusal(path, EXPECTED, found) from None
        except OSError as error:
            raise refusal(path, EXPECTED, error) from None
    return files.read(path, KIND)


def _converted(stored: bytes) -> dict[str, Tensor]:
    """The weights of a converted file."""
    if (header := int.from_bytes(stored[:8], "little")) > LARGEST_HEADER:
        raise ValueError(f"a list of weights of {header:,} bytes")
    try:
        return safetensors.torch.load(stored)
    except SafetensorError as error:
        raise ValueError(f"damaged safetensors ({error})") from None


def _content(path: Path) -> bytes:
    """The bytes of a file; a link is followed."""
    _check_file(path)
    return path.read_bytes()


def _check_file(path: Path) -> None:
    """Refuse what has no end, or one that is far away."""
    if not path.is_file():
        raise ValueError("what is no regular file" if path.exists() else "no such file")
    if path.stat().st_size > LARGEST:
        raise ValueError(f"more than {LARGEST:,} bytes")


def _check_settings(card: Mapping[str, Any]) -> None:
    """Refuse settings of another type; their values are the generator's to judge."""
    for name, wanted in SETTINGS.items():
        if name in card and not isinstance(card[name], wanted):
            raise ValueError(f"{name} {card[name]!r} in its card")


def _opened(content: bytes) -> tuple[Any, Storages | None]:
    """What a file says, and the storages beside it, if it is torch's."""
    if content.startswith(ZIP):
        return read_zip(content)
    if content.startswith(BEFORE_ZIP):
        return read_before_zip(content)
    stream = io.BytesIO(content)
    return read_pickle(stream), None


def _check_names(found: Mapping[str, Any], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse weights of other names or shapes than the options ask for."""
    for name, shape in expected.items():
        if name not in found:
            raise ValueError(f"no weights {name!r}, which its options ask for")
        if tuple(found[name]) != shape:
            raise ValueError(f"{name!r} of shape {tuple(found[name])}, {shape} was expected")
    for name in found:
        if name not in expected:
            raise ValueError(f"weights {str(name)[:80]!r}, which its options do not ask for")


def _check_weights(tensors: Mapping[str, Tensor], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse anything but finite float32 weights of the expected names and shapes."""
    _check_names({name: values.shape for name, values in tensors.items()}, expected)
    for name, values in tensors.items():
        if values.dtype != torch.float32 or not values.isfinite().all():
            raise ValueError(f"{name!r} that are not finite float32 numbers")
        if name.endswith("magnitude_ema") and not (values > 0).all():
            raise ValueError(f"{name!r}, a mean of squares, that is not positive")
