"""The 17 images of a prototype: itself, and four steps each of pose, light, expression and age.

Liang et al. 2023, section 3.2. Pose and light are the renderer's own parameters, as pose is
EG3D's; expression and age are walked in latent space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from helpers.faces.parameters import INDEX, visible_scores
from helpers.identities.pair_design import IMAGES_EACH, STEPS, image_index

Score = Callable[[np.ndarray], np.ndarray]

NEUTRAL: Mapping[str, float] = {
    "yaw": 0.0,
    "pitch": 0.0,
    "light_azimuth": 0.0,
    "light_elevation": 20.0,
    "light_power": 0.5,
    "glasses": 0.0,
    "hair_style": 0.0,
}
"""What all prototypes share. Without one hair style for all, hair would tell the seeds apart."""
LIGHTS: Mapping[str, tuple[float, float]] = {
    "up": (0.0, 60.0),
    "down": (0.0, -40.0),
    "left": (-65.0, 10.0),
    "right": (65.0, 10.0),
}
"""Azimuth and elevation, in degrees, of the light that comes from there."""
LIGHT_POWER = 0.7
TARGETS: Mapping[str, float] = {"expression": 0.9, "age": 0.8}
"""Scores that fix the size of a step (paper, section 3.2)."""
STEPS_TO_TARGET = 2
LONGEST = 8.0
"""How far a traversal looks for its target, in units of the direction's step."""

_WALKED = {"expression": "smiling", "age": "age"}


def neutral(parameters: Tensor) -> Tensor:
    """The same faces in the scene that all prototypes share (`NEUTRAL`), float32 (n, P)."""
    same = parameters.clone()
    for name, value in NEUTRAL.items():
        same[:, INDEX[name]] = value
    return same


def walk_to_score(
    codes: ArrayLike, direction: ArrayLike, score: Score, target: float, step: float = 0.05
) -> np.ndarray:
    """How far to move along a direction until a face scores `target`: the paper's d, (n,) float64.

    "Move along the normal vector with a small step size until a certain score is predicted" (Liang
    et al. 2023, section 3.2).

    Args:
        codes: (n, D).
        direction: (D,), towards higher scores.
        score: codes (m, D) → (m,), a model's or a crowd regression's score.
        target: score to reach.
        step: of the walk, in lengths of `direction`.

    Raises:
        ValueError: a face that is at the target already, or does not reach it within `LONGEST`.
    """
    codes, direction = np.asarray(codes, np.float64), np.asarray(direction, np.float64)
    reached = score(codes) >= target
    if reached.any():
        raise ValueError(f"row {reached.argmax()} scores {target} or more already: no step is left")
    distance = np.zeros(len(codes))
    walking = np.arange(len(codes))
    while len(walking):
        distance[walking] += step
        if distance[walking[0]] > LONGEST:
            raise ValueError(f"row {walking[0]} does not score {target} within {LONGEST:g} steps")
        now = score(codes[walking] + distance[walking, None] * direction)
        walking = walking[now < target]
    return distance


def known_score(generator, name: str) -> Score:
    """The exact visible score ("smiling", "age", …) of a known-truth generator's codes."""
    return partial(_visible, generator=generator, name=name)


def _visible(codes: np.ndarray, generator, name: str) -> np.ndarray:
    parameters = generator.parameters(torch.from_numpy(np.asarray(codes)))
    return visible_scores(parameters)[name].to_numpy()


def below_targets(generator, codes: ArrayLike) -> np.ndarray:
    """Whether faces score below all `TARGETS`, so that there is a way to go, bool (n,)."""
    codes = np.asarray(codes, np.float64)
    scores = {name: known_score(generator, _WALKED[name])(codes) for name in TARGETS}
    return np.all([scores[name] < target for name, target in TARGETS.items()], axis=0)


def variants(
    generator,
    codes: ArrayLike,
    prototypes: pd.DataFrame,
    directions: Mapping[str, ArrayLike],
    scores: Mapping[str, Score] | None = None,
) -> tuple[Tensor, pd.DataFrame]:
    """Renderer parameters of all images of all prototypes.

    Args:
        generator: has `parameters(w)`, as the known-truth generator.
        codes: latents (n, D) of the prototypes.
        prototypes: one row each, columns seed and group.
        directions: "expression" and "age" → (D,), along which to step.
        scores: of the same, what tells when `TARGETS` are reached; the exact ones by default.

    Returns:
        parameters (17 n, P) and the frame of `design.image_index`: 17 consecutive rows a prototype.

    Raises:
        ValueError: rows that do not match, a direction that is missing, or as `walk_to_score`.
    """
    codes = np.asarray(codes, dtype=np.float64)
    if len(codes) != len(prototypes):
        raise ValueError(f"{len(codes)} codes for {len(prototypes)} prototypes")
    if missing := [name for name in TARGETS if name not in directions]:
        raise ValueError(f"no direction of {', '.join(missing)}; there are {list(directions)}")
    scores = scores or {name: known_score(generator, _WALKED[name]) for name in TARGETS}
    own = neutral(generator.parameters(torch.from_numpy(codes)))
    images = own[:, None].repeat(1, IMAGES_EACH, 1)
    place = {name: 1 + 4 * order for order, name in enumerate(STEPS)}
    images[:, place["pose"] : place["pose"] + 4, INDEX["yaw"]] = torch.tensor(
        STEPS["pose"], dtype=own.dtype
    )
    for order, name in enumerate(STEPS["light"]):
        azimuth, elevation = LIGHTS[name]
        lit = images[:, place["light"] + order]
        lit[:, INDEX["light_azimuth"]] = azimuth
        lit[:, INDEX["light_elevation"]] = elevation
        lit[:, INDEX["light_power"]] = LIGHT_POWER
    for name, target in TARGETS.items():
        direction = np.asarray(directions[name], dtype=np.float64)
        length = walk_to_score(codes, direction, scores[name], target) / STEPS_TO_TARGET
        for order, step in enumerate(STEPS[name]):
            moved = codes + step * length[:, None] * direction
            images[:, place[name] + order] = neutral(generator.parameters(torch.from_numpy(moved)))
    return images.reshape(-1, images.shape[-1]), image_index(prototypes)
