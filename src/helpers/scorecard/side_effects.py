"""What else moved along an axis, and how much of a found effect it made (chapters 10 and 14).

Directions hold what was annotated, and everything else is free. In a known world each image can be
given the values that its base face has of some parameters, by intervention, with all others
untouched. The part of an effect that is due to these parameters is the effect as found minus the
effect after that. Images are in the order of `helpers.transects.index` of a 2×2×2 grid.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from torch import Tensor

import facerender
from helpers.effects import labels
from helpers.resampling import resampled_sums
from helpers.scorecard import hidden_attribute
from helpers.utils.checks import require_members
from helpers.world import do
from helpers.world.batches import render_to_store

Score = Callable[[np.ndarray], np.ndarray]

GROUPS: Mapping[str, tuple[str, ...]] = {
    "the three axes": ("skin_colour", "hair_length", "gender"),
    "beard, makeup, age, smile": ("facial_hair", "makeup", "age", "smiling"),
    "hair colour": ("hair_colour",),
    "hair style": ("hair_style", "hair_curl", "hair_fringe", "hair_parting", "hair_volume"),
    "face shape": ("face_width", "face_length", "jaw_width", "chin", "cheekbones"),
    "eyes and brows": (
        "eye_size",
        "eye_gap",
        "eye_tilt",
        "iris",
        "brow_thickness",
        "brow_height",
    ),
    "nose and lips": ("nose_length", "nose_width", "nose_bridge", "lip_fullness", "mouth_width"),
    "ancestry": ("ancestry_x", "ancestry_y"),
    "skin undertone": ("haemoglobin",),
    "earrings": ("earrings",),
    "glasses": ("glasses",),
    "scene": (
        "yaw",
        "pitch",
        "light_azimuth",
        "light_elevation",
        "light_power",
        "background_hue",
        "background_value",
        "clothing",
        "texture_seed",
        "artefacts",
    ),
}
"""Group → its parameters; every parameter of the renderer is in one."""

MOVED_BY_DESIGN = "the three axes"
"""The group that the transects are meant to change."""

_UNORDERED = "hair_style"
_UNSEEN = 0.35
"""Earrings and glasses are drawn from this presence on (`facerender.accessories`)."""


def leaks(parameters: Tensor, population: Tensor) -> pd.DataFrame:
    """Mean change of every parameter along every axis, in SD of a population.

    The hair style is left out, as its values have no order.

    Args:
        parameters: (n * 8, P) faces of transects.
        population: (m, P) faces whose standard deviations are the unit.

    Returns:
        A row per axis (attribute) and parameter: group, effect, se, low and high (95 %, transects
        are the units), in SD.

    Raises:
        ValueError: a parameter that does not vary in the population.

    Example:
        >>> import torch
        >>> from helpers.scorecard import side_effects
        >>> grid = facerender.defaults(16)
        >>> grid[1::2, facerender.INDEX["jaw_width"]] = 0.5  # men's
        >>> spread = torch.stack([facerender.defaults(1)[0] - 1, facerender.defaults(1)[0] + 1])
        >>> table = side_effects.leaks(grid, spread).set_index(["attribute", "parameter"])
        >>> round(table.loc[("gender", "jaw_width"), "effect"].item(), 3)
        0.354
    """
    spread = facerender.to_frame(population).astype(float).std()
    if constant := spread.index[spread == 0].tolist():
        raise ValueError(f"parameters that do not vary in the population: {', '.join(constant)}")
    values = facerender.to_frame(parameters).astype(float) / spread
    group_of = {name: group for group, names in GROUPS.items() for name in names}
    tables = [
        hidden_attribute.changes(values[name]).assign(parameter=name, group=group_of[name])
        for name in values.columns.drop(_UNORDERED)
    ]
    table = pd.concat(tables, ignore_index=True).query("scope == 'average'")
    margin = labels.Z * table["se"]
    table = table.assign(low=table["effect"] - margin, high=table["effect"] + margin)
    columns = ["attribute", "parameter", "group", "effect", "se", "low", "high"]
    return table[columns].reset_index(drop=True)


def hold(parameters: Tensor, base: Tensor, names: Sequence[str]) -> Tensor:
    """Give every image its base face's values of some parameters, and leave all others.

    Args:
        parameters: (n * k, P), the k images of each transect in a row.
        base: (n, P) base faces.
        names: parameters to hold.

    Returns:
        (n * k, P).

    Raises:
        ValueError: images that are not so many a base face, or a name that is no parameter.

    Example:
        >>> from helpers.scorecard import side_effects
        >>> base, grid = facerender.defaults(1), facerender.defaults(8) + 0.1
        >>> kept = side_effects.hold(grid, base, ["earrings"])
        >>> round(float(kept[:, facerender.INDEX["earrings"]].max()), 3)
        0.0
    """
    each, rest = divmod(len(parameters), len(base))
    if rest:
        raise ValueError(f"{len(parameters)} images are not a multiple of {len(base)} base faces")
    require_members(names, facerender.INDEX, "face parameter")
    kept = base.repeat_interleave(each, 0)
    return do(parameters, **{name: kept[:, facerender.INDEX[name]] for name in names})


def looks_differ(one: Tensor, other: Tensor) -> np.ndarray:
    """Which faces are drawn differently: any parameter that shows has another value.

    Args:
        one, other: (n, P) faces.

    Returns:
        bool (n,).

    Example:
        >>> import torch
        >>> from helpers.scorecard import side_effects
        >>> bare, faint = facerender.defaults(2), facerender.defaults(2)
        >>> faint[:, facerender.INDEX["earrings"]] = torch.tensor([0.3, 0.9])  # drawn from 0.35 on
        >>> side_effects.looks_differ(bare, faint).tolist()
        [False, True]
    """
    return (_drawn(one) != _drawn(other)).any(dim=1).cpu().numpy()


def _drawn(parameters: Tensor) -> Tensor:
    """Parameters with what does not show set alike."""
    seen = parameters.clone()
    for name in ("earrings", "glasses"):
        seen[:, facerender.INDEX[name]] = seen[:, facerender.INDEX[name]].clamp(min=_UNSEEN)
    seen[:, facerender.INDEX[_UNORDERED]] = seen[:, facerender.INDEX[_UNORDERED]].round()
    return seen


def answers_to(
    changed: Tensor,
    parameters: Tensor,
    known: Mapping[str, np.ndarray],
    scores: Mapping[str, Score],
    *,
    size: int,
    path: Path,
    device: str = "cpu",
) -> dict[str, np.ndarray]:
    """Models' answers to changed faces; only those that look different are rendered and asked.

    Args:
        changed: (n, P) faces after an intervention.
        parameters: (n, P) the same faces before.
        known: model → its answers (n,) to the faces before.
        scores: model → how to ask it, uint8 images (m, 3, size, size) → (m,).
        size: height and width of the images in pixels.
        path: where the images are kept.
        device: to render on.

    Returns:
        Model → answers (n,).

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from helpers.scorecard import side_effects
        >>> before, after = facerender.defaults(2), facerender.defaults(2)
        >>> after[1, facerender.INDEX["glasses"]] = 1
        >>> known = {"m": np.array([0.1, 0.2])}
        >>> ask = {"m": lambda images: np.full(len(images), 0.9)}
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "faces.npy"
        ...     side_effects.answers_to(after, before, known, ask, size=16, path=path)["m"].tolist()
        [0.1, 0.9]
    """
    touched = looks_differ(changed, parameters)
    answers = {name: np.array(known[name], dtype=float) for name in scores}
    if touched.any():
        pictures = render_to_store(changed[touched], size, path, device=device)
        for name, score in scores.items():
            answers[name][touched] = score(pictures)
    return answers


def sizes(parts: np.ndarray, seed: int, n_boot: int = 1000) -> dict[str, float]:
    """How large the parts of all effects are together: root mean square over cells, with interval.

    Squares of noisy numbers are too large on average; the squared standard errors are taken off.
    Whole transects are resampled for the interval.

    Args:
        parts: (n, 2, 2, 2), by transect and level: error as found minus error after holding.
        seed: of the draws.
        n_boot: resamples.

    Returns:
        size, low and high (95 %), in the unit of the parts; zero where noise explains it all.

    Example:
        >>> from helpers.scorecard import side_effects
        >>> parts = np.zeros((50, 2, 2, 2))
        >>> parts[:, 1] = 0.1  # dark skin: one effect in three, in all its cells
        >>> round(side_effects.sizes(parts, seed=1)["size"], 4)
        0.0577
    """
    change = _cell_differences(parts)
    n = len(change)
    noise = (change.var(axis=0, ddof=1) / n).mean()
    means = resampled_sums(change, range(n_boot), seed, "sizes of parts") / n
    square = (change.mean(axis=0) ** 2).mean() - noise
    # A resample's mean square is too large twice over: by the sample's noise, and by its own.
    resampled = (means**2).mean(axis=1) - 2 * noise
    low, high = np.quantile(resampled, [0.025, 0.975])
    roots = np.sqrt(np.clip([square, low, high], 0, None))
    return dict(zip(("size", "low", "high"), roots.tolist(), strict=True))


def approach(
    before: ArrayLike, after: ArrayLike, true: ArrayLike, seed: int, n_boot: int = 1000
) -> dict[str, float]:
    """By how much the effects of one version lie nearer to the truth than those of another.

    The distance is the root mean square over the twelve cells. Both versions are resampled
    together, transect by transect.

    Args:
        before, after: errors (n * 8,) of the same transects in two versions.
        true: (12,) effects in the cells, in the order of `helpers.scorecard.truth.effects`.
        seed: of the draws.
        n_boot: resamples.

    Returns:
        change of the distance, negative where `after` is nearer, low and high (95 %).

    Example:
        >>> from helpers.scorecard import side_effects
        >>> men_misread, nobody = np.tile([0, 1], 40), np.zeros(80)
        >>> round(side_effects.approach(men_misread, nobody, np.zeros(12), seed=1)["change"], 3)
        -0.577
    """
    both = [_cell_differences(hidden_attribute.as_grid(errors)) for errors in (before, after)]
    n, true = len(both[0]), np.asarray(true, dtype=float)

    def distance(means: np.ndarray) -> np.ndarray:
        return np.sqrt(((means - true) ** 2).mean(axis=-1))

    start, end = (distance(change.mean(axis=0)) for change in both)
    drawn = [resampled_sums(change, range(n_boot), seed, "approach") / n for change in both]
    low, high = np.quantile(distance(drawn[1]) - distance(drawn[0]), [0.025, 0.975])
    return {"change": float(end - start), "low": float(low), "high": float(high)}


def _cell_differences(values: np.ndarray) -> np.ndarray:
    """High minus low of every axis in every cell of the others, (n, 12)."""
    return np.concatenate(
        [np.diff(values, axis=axis).reshape(len(values), -1) for axis in (1, 2, 3)], axis=1
    )
