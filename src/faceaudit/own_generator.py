"""Somebody's own generator in an audit: directions from people's answers, and faces at all levels.

The steps are those of chapters 03 to 05: sampled codes and what is said of their images give a
hyperplane for every attribute, and the dual basis a direction that leaves the other attributes
where they are.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from faceaudit.parts import Style
from faceaudit.specification import Specification
from faceaudit.world import transect_index
from helpers import directions, transects
from helpers.artifacts.lineage import file_hash
from helpers.directions import Hyperplanes
from helpers.generators import Generator, load_generator
from helpers.generators.batches import synthesize_to_store
from helpers.orthogonalization import VIF_CAP, dual_basis, variance_inflation
from helpers.utils import seeding
from helpers.utils.parallel import on_one_thread

AGE = "age"
SAMPLES, BASES = "audit/samples", "audit/bases"
"""Draws of codes: those that directions are found from, and those of the transects."""
CANDIDATES = 10
"""Codes drawn for every face, where children are left out."""


@dataclass(frozen=True)
class Named:
    """An object with `sample` and `synthesize`, and what the audit file says it is."""

    inner: Any
    card: dict[str, Any]

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
    """The generator that an audit file names, with a `card`.

    Args:
        specification: of the audit.
        device: "cpu" or "cuda", of a network's file; an object of one's own has its own.

    Raises:
        ValueError: weights that are none, a module or object that is not there, or one without
            `sample` and `synthesize`.
    """
    source = specification.generator
    if isinstance(source, Style):
        path, psi = specification.beside(source.weights), source.truncation
        found = load_generator(source.kind, device=device, weights=path, truncation=psi)
        found.card |= {"sha256": file_hash(path)}
        return found
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
    """Codes of n faces, float32 (n, D), keyed by the audit's seed and a stage."""
    codes = generator.sample(n, int(seeding.rng(seed, stage).integers(2**31)))
    codes = torch.as_tensor(codes).detach().cpu().numpy().astype(np.float32)
    if codes.shape != (n, generator.latent_dim):
        raise ValueError(
            f"the generator's sample({n}, seed) gives codes {codes.shape}, "
            f"({n}, {generator.latent_dim}) was expected"
        )
    return codes


@torch.no_grad()
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
        ValueError: codes of another shape than the generator says, and images that are none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    n, seed = specification.generator.samples, specification.design.seed
    codes = sampled_codes(generator, n, seed, SAMPLES)
    return codes, synthesize_to_store(generator, codes, folder / "samples.npy")


@dataclass(frozen=True)
class Found:
    """What was found in a generator's codes.

    Attributes:
        planes: of every attribute that was asked about, then of the placebos.
        levels: axis or placebo → decision values of its low and its high level.
        held: attribute → the decision value that all faces get.
        limits: of the report.
        skill: attribute → how well its plane tells images that it was not fitted to: R², or, of two
            classes, 2 · balanced accuracy − 1 (informedness); by chance about 0, at best 1.
    """

    planes: Hyperplanes
    levels: dict[str, tuple[float, float]]
    held: dict[str, float]
    limits: list[str]
    skill: dict[str, float] = field(default_factory=dict)

    @on_one_thread
    def transects(self, codes: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
        """Index (image_id, unit, levels) and codes (images, D) of every face at all levels."""
        own = self.planes.select([*self.levels])
        dual = dual_basis(self.planes.normals, vif_cap=np.inf)
        along = dual[[self.planes.names.index(name) for name in self.levels]]
        levels = [*self.levels.values()]
        cells = transects.grid(codes, own.normals, own.intercepts, along, levels)
        return transect_index(len(codes), self.levels), cells.reshape(-1, codes.shape[1])


@on_one_thread  # codes that differ in their last bits make images of other names, without answers
def find_directions(codes: np.ndarray, scores: pd.DataFrame, specification: Specification) -> Found:
    """Hyperplanes and levels from answers about sampled images.

    A placebo is a direction at random, at right angles to the normals of all attributes: it changes
    the picture, and nothing that anybody was asked about.

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
        inflation = dict(zip(planes.names, variance_inflation(planes.normals), strict=True))
    except ValueError as error:
        raise ValueError(f"{specification.path}: {error}") from None
    limits = _limits(planes, inflation, len(codes))
    skill = {name: 2 * one - 1 if name in binary else one for name, one in planes.scores.items()}
    if specification.placebos:
        planes = planes.join(_placebos(codes, planes, specification))
    values = pd.DataFrame(planes.decision_values(codes), columns=list(planes.names))
    axes = [*specification.axes, *specification.placebos]
    levels = {name: tuple(values[name].quantile([*source.quantiles])) for name in axes}
    free = [name for name in source.held if name in scores and name not in specification.axes]
    held = {name: float(values[name].quantile(source.held[name])) for name in free}
    if held:
        limits.append(
            f"All faces were given the same {_words(held, ' and ')}, so that none keeps at one "
            "level of an axis what goes with the other. Effects are those among such faces."
        )
    return Found(planes, levels, held, limits, skill)


def _placebos(codes: np.ndarray, planes: Hyperplanes, specification: Specification) -> Hyperplanes:
    """Planes at random, whose normals are at right angles to the others' and to each other."""
    names, width = tuple(specification.placebos), codes.shape[1]
    if width < len(planes.names) + len(names):
        raise ValueError(
            f"{specification.path}: codes of {width} numbers have no room for "
            f"{len(names)} placebos besides {len(planes.names)} attributes"
        )
    seed = specification.design.seed
    random = [seeding.rng(seed, f"audit/placebo/{name}") for name in names]
    drawn = np.stack([one.standard_normal(width) for one in random])
    basis = np.linalg.qr(np.concatenate([planes.normals, drawn]).T)[0].T
    normals = basis[len(planes.names) :]
    return Hyperplanes(names, normals, -(codes @ normals.T).mean(axis=0))


def _words(names: Any, between: str = ", ") -> str:
    return between.join(name.replace("_", " ") for name in names)


def _limits(planes: Hyperplanes, inflation: dict[str, float], n: int) -> list[str]:
    fitted = _words(f"{name} {score:.2f}" for name, score in planes.scores.items())
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
    if close := [name for name, value in inflation.items() if value > VIF_CAP]:
        found.append(
            f"In this generator the directions of {_words(close)} are nearly those of the other "
            "attributes; keeping the others where they are takes long steps, to unusual faces."
        )
    return found


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

    Raises:
        ValueError: too few of the faces that the generator makes are adults.
    """
    axes, seed = [*found.levels], specification.design.seed
    keeps_age = AGE in found.planes.names and AGE not in [*axes, *found.held]
    codes = sampled_codes(generator, units * CANDIDATES**keeps_age, seed, BASES)
    if keeps_age:
        codes = _adults(codes, found, units, specification)
    fixed = found.planes.select([*axes, *found.held, *[AGE] * keeps_age])
    values = np.tile([*[0.0] * len(axes), *found.held.values(), *[0.0] * keeps_age], (units, 1))
    if keeps_age:
        values[:, -1] = fixed.decision_values(codes)[:, -1]
    return transects.project(codes, fixed.normals, fixed.intercepts, values)


def _adults(
    codes: np.ndarray, found: Found, units: int, specification: Specification
) -> np.ndarray:
    """The first codes of adults, (units, D)."""
    source = specification.generator
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
