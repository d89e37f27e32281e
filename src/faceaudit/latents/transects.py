"""Transects: grids of latents that differ in chosen attributes only, made in chapter 05.

Sources: transects 4.1.2 and 4.1.4.

A hyperplane is a normal n and an intercept b; the *decision value* of a latent w is ⟨n, w⟩ + b and
its *signed distance* is that divided by ‖n‖. All steps here are in decision values; with unit
normals (`Hyperplanes.unit`) the two agree, otherwise a distance c is the decision value c·‖n‖.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike

from faceaudit.generators.image_cache import Generator
from faceaudit.latents.directions import Hyperplanes
from faceaudit.latents.orthogonalization import dual_basis
from faceaudit.utils import seeding
from faceaudit.utils.arguments import as_finite, require_shape
from faceaudit.utils.errors import InputError

_CANDIDATES_PER_POINT = 4
"""Latents drawn for every base point; about half of the face world's are adults."""
_LATENTS_AT_A_TIME = 16_384
"""Latents that are converted to float64 at a time."""


def base_latents(
    generator: Generator,
    planes: Hyperplanes,
    axes: Sequence[str],
    n: int,
    *,
    youngest: float,
    held: Mapping[str, float],
    seed: int,
    stage: str,
) -> np.ndarray:
    """Base points of adults' transects: sample, keep adults, project with age held.

    The axes, `youngest` and `held` define the population of the transects. An estimate and the
    truth that it is compared with need the same ones.

    Args:
        generator: to sample from.
        planes: hyperplanes of the axes, of age and of what is held, of any length; projection does
            not depend on it.
        axes: attributes of the grid, whose hyperplanes the points are projected onto.
        n: number of base points.
        youngest: decision value of age, in the units of `planes`, from which a face is kept.
        held: attribute → decision value, in the units of `planes`, that all points get; `{}` holds
            none.
        seed: of the run.
        stage: another stage draws other faces; the same stage begins with the same candidates
            whatever the planes.

    Returns:
        (n, D) float64, with decision values 0 on the axes and the face's own one of age.

    Raises:
        InputError: too few of the candidates are adults, an attribute without a hyperplane, or one
            that is held and an axis or age.

    Example:
        >>> import torch
        >>> class Normal:
        ...     def sample(self, n, seed):
        ...         return torch.randn(n, 3, generator=torch.Generator().manual_seed(seed % 2**32))
        >>> planes = Hyperplanes(("age", "hair"), np.eye(3)[:2], np.zeros(2))
        >>> recipe = {"youngest": 0.0, "held": {}, "seed": 1, "stage": "doc"}
        >>> w = base_latents(Normal(), planes, ["hair"], 5, **recipe)
        >>> w.shape, bool((w[:, 0] >= 0).all()), bool(np.allclose(w[:, 1], 0))
        ((5, 3), True, True)
    """
    draw_seed = int(seeding.rng(seed, stage).integers(2**62))
    candidates = generator.sample(_CANDIDATES_PER_POINT * n, draw_seed)
    plane = planes.select(["age"])
    parts = [part.cpu().numpy() for part in candidates.split(_LATENTS_AT_A_TIME)]
    age = np.concatenate([plane.decision_values(part)[:, 0] for part in parts])
    adult = np.flatnonzero(age >= youngest)[:n]
    if len(adult) < n:
        raise InputError(
            f"only {len(adult)} of {len(candidates)} sampled faces have an age decision value of "
            f"at least {youngest:g}; {n} are needed",
            field="youngest",
            found=len(adult),
            expected=f"{n} faces of at least {youngest:g}",
        )
    adults = candidates[torch.from_numpy(adult)].cpu().numpy()
    fixed = planes.select([*axes, *held, "age"])
    values = np.tile([*[0.0] * len(axes), *held.values(), 0.0], (n, 1))
    values[:, -1] = age[adult]
    base = np.empty(adults.shape)
    for first in range(0, n, _LATENTS_AT_A_TIME):
        part = slice(first, first + _LATENTS_AT_A_TIME)
        base[part] = project(adults[part], fixed.normals, fixed.intercepts, values[part])
    return base


def project(
    w: ArrayLike, normals: ArrayLike, intercepts: ArrayLike, values: ArrayLike = 0.0
) -> np.ndarray:
    """Nearest points on the intersection of K hyperplanes: w − N⁺(N w + b − values).

    The transects paper (4.1.2) knows no closed form, cycles through the hyperplanes and calls the
    intersection a single point; it has D − K dimensions, and this is the limit of the cycle.

    Args:
        w: latents (n, D).
        normals: (K, D), linearly independent, of any length.
        intercepts: (K,).
        values: decision values to reach, one for all, (K,) or (n, K); 0 is on the hyperplanes. A
            latent's own decision value holds that attribute where it is.

    Returns:
        (n, D) float64.

    Raises:
        InputError: shapes that do not fit, or linearly dependent normals.

    Example:
        >>> project([[3.0, 4.0]], normals=[[2.0, 0.0]], intercepts=[-2.0]).tolist()
        [[1.0, 4.0]]
    """
    w, normals, intercepts = _check_hyperplanes(w, normals, intercepts)
    excess = w @ normals.T + intercepts - np.asarray(values, dtype=np.float64)
    return w - excess @ dual_basis(normals, vif_cap=np.inf)  # the dual basis is (N⁺)ᵀ


def project_cyclic(
    w: ArrayLike, normals: ArrayLike, intercepts: ArrayLike, rounds: int = 50
) -> np.ndarray:
    """Projection as printed (transects 4.1.2): onto one hyperplane after the other, `rounds` times.

    Converges to `project`, but slowly when normals are nearly collinear: at a cosine of 0.95 it is
    still visibly off after 50 rounds.

    Args:
        w: latents (n, D).
        normals, intercepts: hyperplanes, (K, D) and (K,).
        rounds: how often to go through all hyperplanes.

    Returns:
        (n, D) float64.

    Example:
        >>> project_cyclic([[3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], rounds=1).tolist()
        [[0.0, 0.0]]
    """
    w, normals, intercepts = _check_hyperplanes(w, normals, intercepts)
    for _ in range(rounds):
        for normal, intercept in zip(normals, intercepts, strict=True):
            w -= np.outer(w @ normal + intercept, normal / (normal @ normal))
    return w


def grid(
    w: ArrayLike,
    normals: ArrayLike,
    intercepts: ArrayLike,
    directions: ArrayLike,
    decision_values: Sequence[ArrayLike],
    variant: str = "exact",
) -> np.ndarray:
    """One K-dimensional transect per latent (transects, Algorithm 1), all at once.

    Every latent is projected onto the intersection of the K hyperplanes; a cell then lies
    Σ_k c_k v_k / ⟨v_k, n_k⟩ away from there. With one axis, or with directions from `dual_basis`,
    cells have exactly the requested decision values, for any ‖v‖, ‖n‖ and b. With other directions
    a step is exact along its own axis but shifts the decision values of the other axes.

    To hold an attribute at a value, give it an axis of one level. We infer that the paper holds age
    at 0.5; its text does not say so.

    Args:
        w: latents (n, D).
        normals, intercepts: hyperplanes of the K axes, (K, D) and (K,).
        directions: (K, D), how to move along each axis. Take them from the dual basis of *all*
            annotated attributes, not only of the axes.
        decision_values: for each axis the decision values of its levels.
        variant: "exact", or "paper" for the printed step c·v / (⟨v, n⟩‖v‖). Erratum: that is right
            for unit v only, otherwise cells have decision values c / ‖v‖.

    Returns:
        (n, L1, …, LK, D) float64.

    Raises:
        InputError: shapes that do not fit, dependent normals, or a direction that does not cross
            its own hyperplane.

    Example:
        >>> axis = np.array([[1.0, 0.0]])
        >>> grid([[5.0, 7.0]], axis, [0.0], axis, [[-1.0, 1.0]]).tolist()
        [[[-1.0, 7.0], [1.0, 7.0]]]
    """
    w, normals, intercepts = _check_hyperplanes(w, normals, intercepts)
    directions = np.asarray(directions, dtype=np.float64)
    require_shape(directions, "directions", normals.shape)
    cells = np.stack(np.meshgrid(*decision_values, indexing="ij"), axis=-1)  # (L1, …, LK, K)
    offsets = cells @ _unit_steps(normals, directions, variant)  # (L1, …, LK, D)
    base = project(w, normals, intercepts)
    return base.reshape(len(w), *[1] * len(normals), -1) + offsets


def index(n: int, axes: Mapping[str, ArrayLike]) -> pd.DataFrame:
    """One row per cell of n transects, aligned with `grid(…).reshape(-1, D)`.

    Args:
        n: number of transects.
        axes: attribute → decision values of its levels, in the order of the grid. Axes of one level
            may be left out: they add no cells.

    Returns:
        Columns `image_id` ("00017_010": transect, then one digit per axis level), `transect`, and
        per attribute `<attribute>_level` (int) and `<attribute>_decision` (float).

    Raises:
        InputError: an axis has more than ten levels, so that a digit cannot hold its level.

    Example:
        >>> index(1, {"skin_colour": [-2.0, 2.0]})["image_id"].tolist()
        ['00000_0', '00000_1']
    """
    values = {name: np.asarray(axis, dtype=np.float64) for name, axis in axes.items()}
    shape = (n, *map(len, values.values()))
    if max(shape[1:], default=0) > 10:
        raise InputError(
            f"axes of {shape[1:]} levels; at most ten fit a digit of the image id",
            field="axes",
            found=shape[1:],
            expected="at most ten levels of an axis",
        )
    transect, *levels = np.indices(shape).reshape(len(shape), -1)
    cells = zip(transect, *levels, strict=True)
    ids = [f"{number:05d}_{''.join(map(str, cell))}" for number, *cell in cells]
    frame = pd.DataFrame({"image_id": ids, "transect": transect})
    for (name, axis), level in zip(values.items(), levels, strict=True):
        frame[f"{name}_level"] = level
        frame[f"{name}_decision"] = axis[level]
    return frame


def _unit_steps(normals: np.ndarray, directions: np.ndarray, variant: str) -> np.ndarray:
    """Steps (K, D), of which each raises its axis's decision value by one; or the paper's ones."""
    along = np.einsum("kd,kd->k", directions, normals)
    lengths = np.linalg.norm(directions, axis=1)
    # A direction in its hyperplane would need an infinite step; rounding hides the exact zero.
    is_parallel = np.abs(along) <= 1e-12 * lengths * np.linalg.norm(normals, axis=1)
    if is_parallel.any():
        rows = np.flatnonzero(is_parallel).tolist()
        raise InputError(
            f"directions {rows} run along their hyperplanes",
            field="directions",
            found=f"rows {rows}",
            expected="directions that cross their hyperplanes",
        )
    return directions / (along * {"exact": 1.0, "paper": lengths}[variant])[:, None]


def _check_hyperplanes(
    w: ArrayLike, normals: ArrayLike, intercepts: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Latents (n, D), normals (K, D) and intercepts (K,) as float64; InputError unless they fit."""
    w = as_finite(w, "latents", ndim=2)
    normals = as_finite(normals, "normals", ndim=2)
    intercepts = as_finite(intercepts, "intercepts")
    require_shape(normals, "normals", (len(normals), w.shape[1]))
    require_shape(intercepts, "intercepts", (len(normals),))
    return w, normals, intercepts
