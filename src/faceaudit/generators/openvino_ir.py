"""Generators in OpenVINO's intermediate representation, such as MobileStyleGAN (Belousov 2021).

Two networks lie in one folder: `MappingNetwork` (a normal code z in, a style code w out) and
`SynthesisNetwork` (a style code in, an image out), each as an `.xml` with its `.bin`. OpenVINO's
runtime reads them, and no code of theirs is executed. It computes in float32 on the CPU, an image
on one thread, so that an image does not depend on how many are made at a time.

MobileStyleGAN was distilled from a StyleGAN2 that learned from FFHQ, and has its codes W:
hyperplanes that were fitted to codes of that network fit this one.
"""

from __future__ import annotations

import os
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor

from faceaudit.utils import seeding
from faceaudit.utils.arguments import check_range
from faceaudit.utils.errors import InputError, require_extra
from faceaudit.utils.files import file_hash

if TYPE_CHECKING:
    import openvino

MAPPING = "MappingNetwork"
SYNTHESIS = "SynthesisNetwork"
MEAN_CODES = 4096
"""Codes whose mean codes are drawn towards; as many as the published package takes."""
CPU_SETTINGS = {
    "INFERENCE_PRECISION_HINT": "f32",  # without it, some processors compute in bfloat16
    "NUM_STREAMS": str(os.cpu_count() or 1),
    "INFERENCE_NUM_THREADS": str(os.cpu_count() or 1),
}
"""As many images at a time as there are cores, each on a thread of its own."""


class OpenVinoGenerator:
    """Turn style codes w (n, latent_dim) into images, by two networks of OpenVINO.

    Needs the extra `openvino`.

    Args:
        folder: that holds the two networks.
        truncation: psi; codes are w_avg + psi (w - w_avg). Less than 1 narrows the population.
        size: height and width of the images in pixels: that of the network, or a divisor of it, to
            which they are reduced by the mean over squares of pixels. None: that of the network.

    Attributes:
        latent_dim: length of a code.
        size: height and width of the images in pixels.
        device: the CPU.
        card: hashes of the four files, the version of OpenVINO, and the arguments.

    Raises:
        InputError: a file is missing, or is no such network; a size that is no divisor; OpenVINO is
            not installed.
        ValueError: truncation outside 0 to 1.
    """

    device = torch.device("cpu")

    def __init__(
        self, folder: str | Path, truncation: float = 1.0, size: int | None = None
    ) -> None:
        check_range("truncation", truncation, 0, 1)
        self.folder = Path(folder)
        self.truncation = truncation
        files = {path.name: path for name in (MAPPING, SYNTHESIS) for path in self._files(name)}
        self._mapping = self._read(MAPPING, outputs=2)
        self._synthesis = self._read(SYNTHESIS, outputs=4)
        self.latent_dim = _length_of_codes(self._synthesis)
        self._check_codes()
        self.size = self._image_size(size)
        self.card: dict[str, Any] = {
            "kind": "openvino_ir",
            "sha256": {name: file_hash(path) for name, path in files.items()},
            "psi": truncation,
            "precision": "float32",
            "openvino": metadata.version("openvino"),
            "size": self.size,
        }

    def __reduce__(self) -> tuple[type[Self], tuple[Path, float, int]]:
        """Networks that were compiled stay in their process; another one reads them again."""
        return type(self), (self.folder, self.truncation, self.size)

    def sample(self, n: int, seed: int) -> Tensor:
        """Truncated codes, float32 (n, latent_dim); code i depends on the seed and i alone."""
        codes = self._map(_normal_codes(seed, range(n), self._mapping))
        return self.mean_code + self.truncation * (codes - self.mean_code)

    def synthesize(self, w: Tensor, **scene: float) -> Tensor:
        """Images, float32 (n, 3, size, size) in [0, 1], of codes (n, latent_dim).

        Raises:
            InputError: codes of another length, or a scene parameter: such a network has none.
        """
        if scene:
            raise InputError(
                f"scene parameters {sorted(scene)} are given, and this generator has none",
                field="scene",
                found=sorted(scene),
                expected="no scene parameters",
            )
        codes = np.asarray(w, np.float32)
        if codes.shape[1:] != (self.latent_dim,):
            raise InputError(
                f"codes must be (n, {self.latent_dim}), not {codes.shape}",
                field="w",
                found=codes.shape,
                expected=f"(n, {self.latent_dim})",
            )
        images = torch.from_numpy(_outputs(self._compiled_synthesis, codes))
        values = ((images + 1) / 2).clamp_(0, 1)
        return functional.avg_pool2d(values, values.shape[-1] // self.size)

    @cached_property
    def mean_code(self) -> Tensor:
        """The mean of many codes (latent_dim,), towards which others are drawn."""
        drawn = _normal_codes(0, range(MEAN_CODES), self._mapping, "mean of codes")
        return self._map(drawn).mean(0)

    def _map(self, z: np.ndarray) -> Tensor:
        return torch.from_numpy(_outputs(self._compiled_mapping, z))

    @cached_property
    def _compiled_mapping(self) -> openvino.CompiledModel:
        return _core().compile_model(self._mapping, "CPU", CPU_SETTINGS)

    @cached_property
    def _compiled_synthesis(self) -> openvino.CompiledModel:
        return _core().compile_model(self._synthesis, "CPU", CPU_SETTINGS)

    def _files(self, name: str) -> tuple[Path, Path]:
        return self.folder / f"{name}.xml", self.folder / f"{name}.bin"

    def _read(self, name: str, outputs: int) -> openvino.Model:
        """One of the two networks.

        Args:
            name: of its files, without endings.
            outputs: number of dimensions of what it gives.

        Raises:
            InputError: a file is missing, or the files are no such network.
        """
        for path in self._files(name):
            if not path.is_file():
                raise InputError(
                    f"{path} is missing; a folder with {MAPPING} and {SYNTHESIS}, each as .xml "
                    "and .bin, was expected",
                    field="folder",
                    found=self.folder,
                    expected=f"{path.name}",
                )
        path, _ = self._files(name)
        expected = f"a network with one input (1, n) and one output of {outputs} dimensions"
        try:
            network = _core().read_model(path)
        except RuntimeError as error:
            raise InputError(
                f"{path} is damaged: OpenVINO cannot read it; {expected} was expected",
                field="folder",
                found=path,
                expected=expected,
            ) from error
        shapes = [port.partial_shape for port in [*network.inputs, *network.outputs]]
        ranks = [shape.rank.get_length() if shape.is_static else None for shape in shapes]
        if ranks != [2, outputs]:
            found = " and ".join(map(str, shapes))
            raise InputError(
                f"{path} has inputs and outputs of the shapes {found}; {expected} was expected",
                field="folder",
                found=found,
                expected=expected,
            )
        return network

    def _check_codes(self) -> None:
        """Raise InputError unless the one network gives codes as the other takes them."""
        given = self._mapping.outputs[0].shape[1]
        if given != self.latent_dim:
            raise InputError(
                f"{self.folder}: {MAPPING} gives codes of {given} numbers, {SYNTHESIS} takes "
                f"{self.latent_dim}; the same was expected",
                field="folder",
                found=given,
                expected=str(self.latent_dim),
            )

    def _image_size(self, size: int | None) -> int:
        """Height and width of the images.

        Raises:
            InputError: the network's images are no coloured squares, or the size does not divide
                theirs.
        """
        _, channels, height, width = self._synthesis.outputs[0].shape
        if channels != 3 or height != width:
            found = f"({channels}, {height}, {width})"
            raise InputError(
                f"{self.folder}: {SYNTHESIS} makes images {found}, coloured squares (3, n, n) were "
                "expected",
                field="folder",
                found=found,
                expected="(3, n, n)",
            )
        if size is None:
            return height
        if height % size:
            raise InputError(
                f"size is {size}, a divisor of the network's {height} pixels was expected",
                field="size",
                found=size,
                expected=f"a divisor of {height}",
            )
        return size


def _core() -> openvino.Core:
    require_extra("openvino", "openvino")
    # It has tools that report their use to their makers; what is used here does not (tested).
    import openvino

    return openvino.Core()


def _length_of_codes(network: openvino.Model) -> int:
    return int(network.inputs[0].shape[1])


def _normal_codes(
    seed: int, items: range, mapping: openvino.Model, stage: str = "codes"
) -> np.ndarray:
    drawn = seeding.normals(seed, f"OpenVINO generator: {stage}", items, _length_of_codes(mapping))
    return drawn.astype(np.float32)


def _outputs(network: openvino.CompiledModel, inputs: np.ndarray) -> np.ndarray:
    """What a network gives for each row, one after the other.

    Threads that call this at the same time do not wait for each other.
    """
    request = network.create_infer_request()
    # Results are views of the request's memory, which the next row overwrites.
    return np.stack([request.infer({0: row[None]})[0][0].copy() for row in inputs])
