"""Transects in somebody's own generator: directions found from answers about sampled images.

The steps are those of chapters 03, 04 and 05: sampled codes and what is said of their images give a
hyperplane for every attribute, the dual basis gives a direction that leaves the other attributes
where they are, and every face is shown at all combinations of levels. Serves chapter 20.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch

from helpers import directions, transects
from helpers.artifacts.lineage import file_hash
from helpers.audit.parts import PythonGenerator, Style
from helpers.audit.specification import Specification
from helpers.directions import Hyperplanes
from helpers.generators import Generator, load_generator
from helpers.orthogonalization import VIF_CAP, dual_basis, variance_inflation
from helpers.utils import seeding

SAMPLES, BASES = "audit/samples", "audit/bases"
"""Draws of codes: those that directions are found from, and those of the transects."""
AGE = "age"
CANDIDATES = 10
"""Codes drawn for every face, where children are left out."""


@dataclass(frozen=True)
class Named:
    """A generator of one's own, with what it says of itself for the key of its images.

    Serves chapter 20.

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


def generator_of(specification: Specification) -> Generator:
    """The generator that an audit file names.

    Introduced in chapter 20.

    Args:
        specification: of the audit.

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
        found = load_generator(source.kind, weights=path, truncation=source.truncation)
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

    Serves chapter 20.

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


def base_codes(
    generator: Generator, found: Found, units: int, specification: Specification
) -> np.ndarray:
    """Codes of the faces of the transects, float32 (units, D).

    Where people were asked about age and it is no axis, only codes count whose age is at least
    `generator.adult` by the plane that was fitted to the answers.

    Serves chapter 20.

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
        >>> one = Specification(
        ...     name="mine", question="?", axes=["gender"], design={"tolerance": 0.1},
        ...     generator={"kind": "python", "object": "a:b", "version": "1"},
        ...     people={"kind": "page"}, annotated=["age"],
        ... )
        >>> plane = Hyperplanes(("age",), np.eye(1, 128), np.zeros(1))
        >>> learned = generators.load_generator("wgan")
        >>> codes = base_codes(learned, Found(plane, {}, []), 5, one)
        >>> codes.shape, bool((codes[:, 0] >= -0.05).all())
        ((5, 128), True)
    """
    source, seed = specification.generator, specification.design.seed
    if AGE not in found.planes.names or AGE in specification.axes:
        return sampled_codes(generator, units, seed, BASES)
    codes = sampled_codes(generator, CANDIDATES * units, seed, BASES)
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


@dataclass(frozen=True)
class Found:
    """What was found in a generator's codes.

    Serves chapter 20.

    Attributes:
        planes: of every attribute that was asked about, then of the placebos.
        levels: axis or placebo → decision values of its low and its high level.
        limits: of the report.

    Example:
        >>> Found.__dataclass_fields__["levels"].type
        'dict[str, tuple[float, float]]'
    """

    planes: Hyperplanes
    levels: dict[str, tuple[float, float]]
    limits: list[str]

    def transects(self, codes: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
        """Index (image_id, unit, levels) and codes (images, D) of every face at all levels."""
        axes = [*self.levels]
        own = self.planes.select(axes)
        dual = dual_basis(self.planes.normals, vif_cap=np.inf)
        along = dual[[self.planes.names.index(name) for name in axes]]
        cells = transects.grid(codes, own.normals, own.intercepts, along, [*self.levels.values()])
        index = transects.index(len(codes), self.levels).rename(columns={"transect": "unit"})
        keep = ["image_id", "unit", *(f"{name}_level" for name in axes)]
        return index[keep].astype({"unit": str}), cells.reshape(-1, codes.shape[1])


def find_directions(codes: np.ndarray, scores: pd.DataFrame, specification: Specification) -> Found:
    """Hyperplanes and levels from answers about sampled images.

    A placebo is a direction at random, at right angles to the normals of all attributes: it changes
    the picture, and nothing that anybody was asked about.

    Introduced in chapter 20.

    Args:
        codes: of the sampled images (n, D).
        scores: a row per image, a column per attribute, in [0, 1]; rows with NaN are left out.
        specification: of the audit, whose generator has the quantiles and the cuts.

    Returns:
        What was found.

    Raises:
        ValueError: an attribute about which all answers are alike, or too few on one side of a cut.

    Example:
        >>> one = Specification(
        ...     name="mine", question="?", axes=["gender"], design={"tolerance": 0.1},
        ...     generator={"kind": "python", "object": "a:b", "version": "1"},
        ...     people={"kind": "page"},
        ... )
        >>> codes = np.random.default_rng(1).standard_normal((200, 3)).astype(np.float32)
        >>> found = find_directions(codes, pd.DataFrame({"gender": 0.5 + codes[:, 0] / 9}), one)
        >>> index, grid = found.transects(codes[:2])
        >>> index["gender_level"].tolist(), bool(grid[1, 0] > grid[0, 0])
        ([0, 1, 0, 1], True)
    """
    source = specification.generator
    known = scores.notna().all(axis=1).to_numpy()
    codes, scores = codes[known].astype(np.float64), scores[known]
    for name in scores:
        if scores[name].nunique() < 2:
            raise ValueError(
                f"{specification.path}: all answers about {name} are alike, so no direction can be "
                "found; ask about more images (generator.samples), or leave it out"
            )
    binary = {name: cut for name, cut in source.binary.items() if name in scores}
    continuous = [name for name in scores if name not in binary]
    try:
        planes = directions.fit_hyperplanes(codes, scores, continuous, binary)
    except ValueError as error:
        raise ValueError(f"{specification.path}: {error}") from None
    inflation = dict(zip(planes.names, variance_inflation(planes.normals), strict=True))
    limits = _limits(planes, inflation, len(codes))
    if specification.placebos:
        planes = planes.join(_placebos(codes, planes, specification))
    values = pd.DataFrame(planes.decision_values(codes), columns=list(planes.names))
    axes = [*specification.axes, *specification.placebos]
    levels = {name: tuple(values[name].quantile([*source.quantiles])) for name in axes}
    return Found(planes, levels, limits)


def _placebos(codes: np.ndarray, planes: Hyperplanes, specification: Specification) -> Hyperplanes:
    """Planes at random, whose normals are at right angles to the others' and to each other."""
    names = tuple(specification.placebos)
    drawn = np.stack(
        [
            seeding.rng(specification.design.seed, f"audit/placebo/{name}").standard_normal(
                codes.shape[1]
            )
            for name in names
        ]
    )
    if codes.shape[1] < len(planes.names) + len(names):
        raise ValueError(
            f"{specification.path}: codes of {codes.shape[1]} numbers have no room for "
            f"{len(names)} placebos besides {len(planes.names)} attributes"
        )
    basis = np.linalg.qr(np.concatenate([planes.normals, drawn]).T)[0].T
    normals = basis[len(planes.names) :]
    return Hyperplanes(names, normals, -(codes @ normals.T).mean(axis=0))


def _limits(planes: Hyperplanes, inflation: dict[str, float], n: int) -> list[str]:
    fitted = ", ".join(
        f"{name.replace('_', ' ')} {score:.2f}" for name, score in planes.scores.items()
    )
    found = [
        f"Directions were found from answers about {n} sampled images. How well they tell the "
        "attributes of images that they were not fitted to (R², or balanced accuracy where an "
        f"attribute was cut in two): {fitted}. A poor direction moves its attribute less, and "
        "others more."
    ]
    if AGE not in planes.names:
        found.append(
            "Children are not left out: nobody was asked about age, so that no direction tells "
            "them from adults."
        )
    close = [name for name, value in inflation.items() if value > VIF_CAP]
    if close:
        told = ", ".join(name.replace("_", " ") for name in close)
        found.append(
            f"In this generator the directions of {told} are nearly those of the other attributes; "
            "keeping the others where they are takes long steps, to unusual faces."
        )
    return found
