"""Kinds of generators that an audit file may name, and the function that opens each.

Another kind gets its settings in `faceaudit.file.parts`, a line in `OPENERS` here, and a module of
`faceaudit.generators` where it is a network. The kinds `known-truth` and `images` are not opened
here: their faces come without directions in codes, see `faceaudit.images.faces`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

from faceaudit.file.parts import (
    DirectionSettings,
    OpenVinoNetworks,
    PythonGenerator,
    StyleNetwork,
    name_of_object,
)
from faceaudit.file.specification import Specification
from faceaudit.generators.checkpoints import load_checkpoint
from faceaudit.generators.image_cache import Generator
from faceaudit.generators.openvino_ir import OpenVinoGenerator
from faceaudit.generators.stylegan2 import StyleGenerator
from faceaudit.models.local import import_object
from faceaudit.utils.errors import InputError
from faceaudit.utils.files import file_hash


class GeneratorWithCard(Generator, Protocol):
    """A generator that says in its `card` what the report has of it."""

    card: dict[str, Any]


def generator_of(specification: Specification, device: str = "cpu") -> GeneratorWithCard:
    """Open the generator that an audit file names.

    Args:
        specification: of the audit, whose generator is of one of the kinds in `OPENERS`.
        device: "cpu" or "cuda", where a network makes images; an object of Python chooses its own.

    Returns:
        The generator, with a `card` for the report.

    Raises:
        InputError: the file of weights is none, or the object of Python is no generator.
    """
    settings = generator_settings(specification)
    return OPENERS[specification.generator.kind](settings, specification, device)


def generator_settings(specification: Specification) -> DirectionSettings:
    """The part `generator` of an audit file whose generator is opened here."""
    settings = specification.generator
    # Audits of other images do not come here: `faces.make_labelled_images` parts them.
    assert isinstance(settings, DirectionSettings)
    return settings


# --- a network from a file of weights


def _style_generator(
    settings: StyleNetwork, specification: Specification, device: str
) -> StyleGenerator:
    """The generator of a file of weights; its card has the file's hash."""
    path = specification.beside(settings.weights)
    network = load_checkpoint(path, kind=settings.kind)
    generator = StyleGenerator(
        network, device, truncation=settings.truncation, precision=settings.precision
    )
    generator.card["sha256"] = file_hash(path)
    if settings.precision != "float32":
        generator.card["grey_levels_from_float32"] = generator.rounding()
    return generator


# --- networks of OpenVINO


def _openvino_generator(
    settings: OpenVinoNetworks, specification: Specification, device: str
) -> OpenVinoGenerator:
    """The generator of a folder of networks; OpenVINO computes on the CPU."""
    folder = specification.beside(settings.folder)
    return OpenVinoGenerator(folder, settings.truncation, settings.size)


# --- an object of Python


class ObjectGenerator:
    """The generator that an object of the auditor's Python is.

    Args:
        inner: the object, with `sample(n, seed)`, `synthesize(w)`, `latent_dim` and, where it
            computes elsewhere than on the CPU, `device`.
        settings: of the audit file.
        field_name: the file and its field that names the object, for messages.
    """

    def __init__(self, inner: Any, settings: PythonGenerator, field_name: str) -> None:
        self._inner = inner
        name = name_of_object(settings.object)
        self._source = f"{field_name} {name}"
        self.latent_dim = int(inner.latent_dim)
        self.device = torch.device(getattr(inner, "device", "cpu"))
        self.card: dict[str, Any] = {"object": name, "version": settings.version}

    def sample(self, n: int, seed: int) -> Tensor:
        """Codes of the object, float32 (n, latent_dim)."""
        return torch.as_tensor(self._inner.sample(n, seed), dtype=torch.float32)

    def synthesize(self, w: Tensor, **scene: float) -> Tensor:
        """Images of the object, float32 (n, 3, height, width); `scene` as the object takes it.

        Raises:
            InputError: the images have another shape.
        """
        images = torch.as_tensor(self._inner.synthesize(w, **scene), dtype=torch.float32)
        if images.ndim != 4 or images.shape[1] not in (1, 3):
            shape = tuple(images.shape)
            raise InputError(
                f"{self._source}: synthesize gave images of the shape {shape}, "
                "(n, 3, height, width) was expected, or (n, 1, height, width) of grey ones",
                field="generator.object",
                found=shape,
                expected="(n, 3, height, width) or (n, 1, height, width)",
            )
        return images.expand(-1, 3, -1, -1)  # of grey images, three equal channels


def _python_generator(
    settings: PythonGenerator, specification: Specification, device: str
) -> ObjectGenerator:
    """The generator of an object of Python, or of a class that is made one; `device` is its own."""
    field_name = f"{specification.place}generator.object"
    inner = settings.object
    if isinstance(inner, str):
        inner = import_object(inner, field_name)
    if isinstance(inner, type):
        inner = inner()
    if not all(hasattr(inner, name) for name in ("sample", "synthesize", "latent_dim")):
        expected = "an object with sample(n, seed), synthesize(w) and latent_dim"
        raise InputError(
            f"{field_name} is {name_of_object(settings.object)}, {expected} was expected",
            field="generator.object",
            found=name_of_object(settings.object),
            expected=expected,
        )
    return ObjectGenerator(inner, settings, field_name)


OPENERS: Mapping[str, Callable[[Any, Specification, str], GeneratorWithCard]] = {
    "stylegan2": _style_generator,
    "eg3d": _style_generator,
    "openvino_ir": _openvino_generator,
    "python": _python_generator,
}
"""Kind of a generator in whose codes directions are found → the function that opens it.

The function takes the part `generator` of the audit file, the whole of the file and the device.
"""
