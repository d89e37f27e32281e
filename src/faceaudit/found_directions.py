"""Directions in the codes of somebody's own generator, found from answers about sampled images.

The steps are those of chapters 03 and 04: sampled codes and what is said of their images give a
hyperplane for every attribute, and the dual basis a direction that leaves the other attributes
where they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from faceaudit.specification import Specification
from helpers import directions, transects
from helpers.directions import Hyperplanes
from helpers.orthogonalization import VIF_CAP, dual_basis, variance_inflation
from helpers.utils import seeding
from helpers.utils.parallel import on_one_thread

AGE = "age"


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

    Example:
        >>> Found.__dataclass_fields__["levels"].type
        'dict[str, tuple[float, float]]'
    """

    planes: Hyperplanes
    levels: dict[str, tuple[float, float]]
    held: dict[str, float]
    limits: list[str]
    skill: dict[str, float] = field(default_factory=dict)

    @on_one_thread
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
    skill = {
        name: 2 * score - 1 if name in binary else score for name, score in planes.scores.items()
    }
    if specification.placebos:
        planes = planes.join(_placebos(codes, planes, specification))
    values = pd.DataFrame(planes.decision_values(codes), columns=list(planes.names))
    axes = [*specification.axes, *specification.placebos]
    levels = {name: tuple(values[name].quantile([*source.quantiles])) for name in axes}
    free = [name for name in source.held if name in scores and name not in specification.axes]
    held = {name: float(values[name].quantile(source.held[name])) for name in free}
    if held:
        told = " and ".join(name.replace("_", " ") for name in held)
        limits.append(
            f"All faces were given the same {told}, so that none keeps at one level of an axis "
            "what goes with the other. Effects are those among such faces."
        )
    return Found(planes, levels, held, limits, skill)


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
