"""Somebody's own generator in an audit: its sampled faces, and its faces at all levels.

The faces of the transects are drawn and shown as in chapter 05.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from faceaudit.found_directions import AGE, Found
from faceaudit.parts import PythonGenerator, Style
from faceaudit.specification import Specification
from helpers import transects
from helpers.artifacts.lineage import file_hash
from helpers.generators import Generator, load_generator
from helpers.generators.batches import synthesize_to_store
from helpers.utils import seeding
from helpers.utils.parallel import on_one_thread

SAMPLES, BASES = "audit/samples", "audit/bases"
"""Draws of codes: those that directions are found from, and those of the transects."""
CANDIDATES = 10
"""Codes drawn for every face, where children are left out."""


@dataclass(frozen=True)
class Named:
    """A generator of one's own, with what it says of itself for the key of its images.

    Attributes:
        inner: the object, with `sample` and `synthesize`.
        card: object and version, of the audit file.

    Example:
        >>> from helpers import generators
        >>> Named(generators.load_generator("wgan"), {"version": "1"}).latent_dim
        128
    """

    inner: Any
    card: dict[str, Any] = field(default_factory=dict)

    @property
    def latent_dim(self) -> int:
        """Length of a code."""
        return int(self.inner.latent_dim)

    @property
    def device(self) -> torch.device:
        """Where codes and images are."""
        return torch.device(getattr(self.inner, "device", "cpu"))

    def sample(self, n: int, seed: int) -> torch.Tensor:
        """Codes (n, latent_dim)."""
        return torch.as_tensor(self.inner.sample(n, seed), dtype=torch.float32)

    def synthesize(self, w: torch.Tensor) -> torch.Tensor:
        """Images (n, 3, height, width) in [0, 1]."""
        return torch.as_tensor(self.inner.synthesize(w), dtype=torch.float32)


def generator_of(specification: Specification, device: str = "cpu") -> Generator:
    """The generator that an audit file names.

    Args:
        specification: of the audit.
        device: "cpu" or "cuda", of a network's file; an object of one's own has its own.

    Returns:
        The generator, with a `card`.

    Raises:
        ValueError: weights that are none, a module or object that is not there, or one without
            `sample` and `synthesize`.

    Example:
        >>> source = {"kind": "python", "object": "math:pi", "version": "1"}
        >>> one = Specification(
        ...     name="mine", question="?", axes=["gender"], design={"tolerance": 0.1},
        ...     generator=source, people={"kind": "page"},
        ... )
        >>> generator_of(one)
        Traceback (most recent call last):
        ValueError: audit.yml: generator.object math:pi has no sample; an object with sample(n, ...
    """
    source = specification.generator
    if isinstance(source, Style):
        path = specification.beside(source.weights)
        found = load_generator(
            source.kind, device=device, weights=path, truncation=source.truncation
        )
        found.card |= {"sha256": file_hash(path)}
        return found
    assert isinstance(source, PythonGenerator)
    where = f"{specification.path}: generator.object {source.object}"
    module, name = source.object.split(":")
    try:
        inner = getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise ValueError(
            f"{where} cannot be imported ({error}); {module} must lie on Python's path, for "
            "example in PYTHONPATH"
        ) from error
    except AttributeError:
        raise ValueError(f"{where}: {module} has no {name}") from None
    inner = inner() if isinstance(inner, type) else inner
    for wanted in ("sample", "synthesize", "latent_dim"):
        if not hasattr(inner, wanted):
            raise ValueError(
                f"{where} has no {wanted}; an object with sample(n, seed), synthesize(w) and "
                "latent_dim was expected"
            )
    return Named(inner, {"object": source.object, "version": source.version})


def sampled_codes(generator: Generator, n: int, seed: int, stage: str) -> np.ndarray:
    """Codes of n faces, float32 (n, D), keyed by the audit's seed and a stage.

    Args:
        generator: of `generator_of`.
        n: faces.
        seed: of the design.
        stage: `SAMPLES` or `BASES`.

    Returns:
        The codes.

    Raises:
        ValueError: the generator gives codes of another shape.

    Example:
        >>> from helpers import generators
        >>> sampled_codes(generators.load_generator("wgan"), 3, 1, SAMPLES).shape
        (3, 128)
    """
    codes = generator.sample(n, int(seeding.rng(seed, stage).integers(2**31)))
    codes = torch.as_tensor(codes).detach().cpu().numpy().astype(np.float32)
    if codes.shape != (n, generator.latent_dim):
        raise ValueError(
            f"the generator's sample({n}, seed) gives codes {codes.shape}, "
            f"({n}, {generator.latent_dim}) was expected"
        )
    return codes


@on_one_thread
def base_codes(
    generator: Generator, found: Found, units: int, specification: Specification
) -> np.ndarray:
    """Codes of the faces of the transects, float64 (units, D).

    They are neutral in every axis, and what is held has one value in all of them (transects 4.1.4).
    Where people were asked about age and it is no axis, every face keeps its own, and only those
    count whose age is at least `generator.adult` by the plane that was fitted to the answers.

    Args:
        generator: of `generator_of`.
        found: of `find_directions`.
        units: faces.
        specification: of the audit.

    Returns:
        The codes.

    Raises:
        ValueError: too few of the faces that the generator makes are adults.

    Example:
        >>> from helpers import generators
        >>> from helpers.directions import Hyperplanes
        >>> one = Specification(
        ...     name="mine", question="?", axes=["gender"], design={"tolerance": 0.1},
        ...     generator={"kind": "python", "object": "a:b", "version": "1"},
        ...     people={"kind": "page"}, annotated=["age"],
        ... )
        >>> planes = Hyperplanes(("age", "gender"), np.eye(2, 128), np.zeros(2))
        >>> learned = generators.load_generator("wgan")
        >>> codes = base_codes(learned, Found(planes, {"gender": (-1, 1)}, {}, []), 5, one)
        >>> codes.shape, bool((codes[:, 0] >= -0.05).all()), bool(np.allclose(codes[:, 1], 0))
        ((5, 128), True, True)
    """
    axes = [*found.levels]
    keeps_age = AGE in found.planes.names and AGE not in [*axes, *found.held]
    if keeps_age:
        codes = _adults(generator, found, units, specification)
    else:
        codes = sampled_codes(generator, units, specification.design.seed, BASES)
    fixed = found.planes.select([*axes, *found.held, *[AGE] * keeps_age])
    values = np.tile([*[0.0] * len(axes), *found.held.values(), *[0.0] * keeps_age], (units, 1))
    if keeps_age:
        values[:, -1] = fixed.decision_values(codes)[:, -1]
    return transects.project(codes, fixed.normals, fixed.intercepts, values)


def _adults(
    generator: Generator, found: Found, units: int, specification: Specification
) -> np.ndarray:
    """The first codes of adults, (units, D)."""
    source = specification.generator
    codes = sampled_codes(generator, CANDIDATES * units, specification.design.seed, BASES)
    # The middle of the scale has the value zero; an attribute cut in two has its cut there.
    least = 0.0 if AGE in source.binary else source.adult - 0.5
    adults = np.flatnonzero(found.planes.select([AGE]).decision_values(codes)[:, 0] >= least)
    if len(adults) < units:
        raise ValueError(
            f"{specification.path}: only {len(adults)} of {len(codes)} faces of the generator are "
            f"at least as old as generator.adult ({source.adult:g}), {units} are needed; lower it, "
            "or take fewer transects"
        )
    return codes[adults[:units]]


def sampled_faces(
    specification: Specification, generator: Generator, folder: Path
) -> tuple[np.ndarray, np.ndarray]:
    """The faces that directions are found from, made once and kept.

    Args:
        specification: of the audit; `generator.samples` says how many.
        generator: of `generator_of`.
        folder: of the audit's artifacts.

    Returns:
        Codes (n, D) and their images, uint8 (n, 3, height, width).

    Raises:
        ValueError: as `sampled_codes`, and images that are none.
    """
    source = specification.generator
    folder.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        codes = sampled_codes(generator, source.samples, specification.design.seed, SAMPLES)
        return codes, synthesize_to_store(generator, codes, folder / "samples.npy")


def transect_faces(
    specification: Specification, generator: Generator, found: Found, units: int, folder: Path
) -> tuple[pd.DataFrame, np.ndarray]:
    """Every face at all combinations of levels, made once and kept.

    Args:
        specification: of the audit.
        generator: of `generator_of`.
        found: of `find_directions`.
        units: faces.
        folder: of the audit's artifacts.

    Returns:
        Index (image_id, unit, levels) and the images, uint8 (n, 3, height, width).

    Raises:
        ValueError: as `base_codes`, and images that are none.
    """
    with torch.no_grad():
        index, cells = found.transects(base_codes(generator, found, units, specification))
        return index, synthesize_to_store(generator, cells, folder / "images.npy")
