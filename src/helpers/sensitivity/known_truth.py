"""The true sensitivity, where the generator's attributes are known and can be set one by one.

A vector moves the latent code, and with it every attribute that is entangled with its own. The
truth is what its own attribute does alone: the same change of that one parameter, by do(). Chapter
15 uses it through `audit_with_truth`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from facerender.parameters import INDEX
from helpers.generators import KnownTruthGenerator
from helpers.world import do
from helpers.world.known_truth import AGE_GATES, LATENTS, age_gate


def step_of_one(
    generator: KnownTruthGenerator, direction: np.ndarray, name: str, sign: int = 1
) -> np.ndarray:
    """The direction (512,), as long as it takes to move one attribute's coordinate by ±1 SD.

    Args:
        generator: the world.
        direction: (512,), of any length.
        name: the renderer's parameter that the direction is about.
        sign: 1 to raise it, -1 to lower it.

    Raises:
        ValueError: a direction that does not move the attribute the way it should.

    Example:
        >>> import numpy as np
        >>> from helpers.sensitivity.known_truth import step_of_one
        >>> class World:
        ...     latent_dim = 2
        ...     def coordinates(self, w, names):
        ...         return 4 * w[:, :1].numpy()
        >>> step_of_one(World(), np.array([1.0, 0.0]), "smiling").tolist()
        [0.25, 0.0]
    """
    own = float(leakage(generator, direction[None], [name]).loc[0, name])
    if own * sign <= 1e-6:
        raise ValueError(f"the direction moves {name} by {own:.3g} per unit, not towards {sign:+d}")
    return direction / abs(own)


def moved(w: Tensor, step: np.ndarray) -> Tensor:
    """Codes (n, 512) after a step (512,)."""
    return w + torch.as_tensor(step, dtype=w.dtype, device=w.device)


def do_step(generator: KnownTruthGenerator, w: Tensor, step: np.ndarray, name: str) -> Tensor:
    """Parameters (n, P) of faces in which a step's own attribute changes and nothing else does.

    With age changes what it gates, facial hair and makeup, as it does along an exact direction:
    the effect of age is the total one.
    """
    start = generator.parameters(w)
    dose = generator.parameters(moved(w, step))[:, INDEX[name]]
    changed = do(start, **{name: dose})
    for gated in AGE_GATES if name == "age" else ():
        ages = (age.cpu().numpy() for age in (start[:, INDEX[name]], dose))
        before, after = (age_gate(gated, age) for age in ages)
        changed[:, INDEX[gated]] *= torch.from_numpy(after / before).to(changed.device)
    return changed


def leakage(
    generator: KnownTruthGenerator, steps: np.ndarray, names: Sequence[str] = LATENTS
) -> pd.DataFrame:
    """Change of every latent coordinate, in SD, under each step (K, 512): (K, len(names))."""
    origin = np.zeros((1, generator.latent_dim))
    ends = torch.from_numpy(np.concatenate([origin, steps]))
    coordinates = generator.coordinates(ends, names)
    return pd.DataFrame(coordinates[1:] - coordinates[0], columns=list(names))
