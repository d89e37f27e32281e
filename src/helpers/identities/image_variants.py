"""The 17 images of a prototype: itself, and four steps each of pose, light, expression and age.

Liang et al. 2023, section 3.2. Pose and light are the renderer's own parameters, as pose is EG3D's;
expression and age are walked in latent space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from facerender.parameters import visible_scores
from helpers.identities.pair_design import ATTRIBUTES, IMAGES_EACH, STEPS, image_index
from helpers.world import do

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
LIGHTS: Mapping[str, Mapping[str, float]] = {
    name: {"light_azimuth": azimuth, "light_elevation": elevation, "light_power": 0.7}
    for name, azimuth, elevation in (
        ("up", 0.0, 60.0),
        ("down", 0.0, -40.0),
        ("left", -65.0, 10.0),
        ("right", 65.0, 10.0),
    )
}
"""Azimuth and elevation, in degrees, of the light that comes from there, and its power."""
STEPS_TO_TARGET = 2
LONGEST = 8.0
"""How far a traversal looks for its target, in units of the direction's step."""

_WALKED = {"expression": "smiling", "age": "age"}


def neutral(parameters: Tensor) -> Tensor:
    """The same faces in the scene that all prototypes share (`NEUTRAL`).

    Args:
        parameters: float32 (n, P) of the renderer.

    Returns:
        float32 (n, P).

    Example:
        >>> import facerender
        >>> from helpers import identities
        >>> even = identities.neutral(facerender.defaults(1))
        >>> facerender.to_frame(even)["light_elevation"].tolist()
        [20.0]
    """
    return do(parameters, **NEUTRAL)


def walk_to_score(
    codes: ArrayLike, direction: ArrayLike, score: Score, target: float, step: float = 0.05
) -> np.ndarray:
    """How far to move along a direction until a face scores `target`: the paper's d, (n,) float64.

    "Move along the normal vector with a small step size until a certain score is predicted" (Liang
    et al. 2023, section 3.2).

    Args:
        codes: (n, D).
        direction: (D,), towards higher scores.
        score: codes (m, D) → (m,), here the exact score that the renderer shows.
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


def _visible(generator, codes: np.ndarray, attribute: str) -> np.ndarray:
    """The exact score of what an attribute of `STEPS` changes, as the renderer shows it, (n,)."""
    parameters = generator.parameters(torch.from_numpy(codes))
    return visible_scores(parameters)[_WALKED[attribute]].to_numpy()


def below_targets(generator, codes: ArrayLike, targets: Mapping[str, float]) -> np.ndarray:
    """Whether faces score below all targets, so that there is a way to go.

    Args:
        generator: the known-truth generator.
        codes: latents (n, D).
        targets: "expression" and "age" → score, as of `variants`.

    Returns:
        bool (n,).

    Example:
        >>> from helpers import identities
        >>> from helpers.generators import load_generator
        >>> generator = load_generator("known-truth")
        >>> codes = generator.sample(3, 1)
        >>> identities.below_targets(generator, codes, {"age": 1.01}).tolist()
        [True, True, True]
    """
    codes = np.asarray(codes, np.float64)
    below = [_visible(generator, codes, name) < target for name, target in targets.items()]
    return np.all(below, axis=0)


def variants(
    generator,
    codes: ArrayLike,
    prototypes: pd.DataFrame,
    directions: Mapping[str, ArrayLike],
    targets: Mapping[str, float],
) -> tuple[Tensor, pd.DataFrame]:
    """Renderer parameters of all images of all prototypes.

    Args:
        generator: the known-truth generator.
        codes: latents (n, D) of the prototypes.
        prototypes: one row each, columns seed and group.
        directions: "expression" and "age" → (D,), along which to step.
        targets: of the same, the score in [0, 1] that two steps reach (paper, section 3.2).

    Returns:
        parameters (17 n, P) and the frame of `image_index`: 17 consecutive rows a prototype.

    Raises:
        ValueError: rows that do not match, a direction that is missing, or as `walk_to_score`.

    Example:
        >>> import pandas as pd
        >>> from helpers import identities
        >>> from helpers.generators import load_generator
        >>> generator = load_generator("known-truth")
        >>> codes = generator.sample(1, 5)
        >>> smiling, age = generator.exact_directions(["smiling", "age"])
        >>> one = pd.DataFrame({"seed": [5], "group": ["european male"]})
        >>> towards, targets = {"expression": smiling, "age": age}, {"expression": 0.9, "age": 0.8}
        >>> parameters, index = identities.variants(generator, codes, one, towards, targets)
        >>> len(parameters), index["step"].tolist()[:5]
        (17, ['0', '-30', '-15', '15', '30'])
    """
    codes = np.asarray(codes, dtype=np.float64)
    if len(codes) != len(prototypes):
        raise ValueError(f"{len(codes)} codes for {len(prototypes)} prototypes")
    if missing := [name for name in targets if name not in directions]:
        raise ValueError(f"no direction of {', '.join(missing)}; there are {list(directions)}")
    own = neutral(generator.parameters(torch.from_numpy(codes)))
    images = own[:, None].repeat(1, IMAGES_EACH, 1)
    for attribute, steps in STEPS.items():
        place = 1 + 4 * ATTRIBUTES.index(attribute)
        if attribute in targets:
            direction = np.asarray(directions[attribute], dtype=np.float64)
            score = partial(_visible, generator, attribute=attribute)
            length = walk_to_score(codes, direction, score, targets[attribute]) / STEPS_TO_TARGET
        for order, step in enumerate(steps):
            if attribute in targets:
                walked = codes + step * length[:, None] * direction
                changed = neutral(generator.parameters(torch.from_numpy(walked)))
            else:
                changed = do(own, **(LIGHTS[step] if attribute == "light" else {"yaw": step}))
            images[:, place + order] = changed
    return images.reshape(-1, images.shape[-1]), image_index(prototypes)
