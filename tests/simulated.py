"""Data that several tests share."""

from itertools import product

import numpy as np
import pandas as pd

from helpers.annotations import ATTRIBUTES

AXES = ["skin_level", "hair_level", "gender_level"]


def perceived_scores(n: int = 800) -> pd.DataFrame:
    """Scores of n images, uniform over every scale; index image id, columns attributes."""
    scores = np.random.default_rng(0).random((n, len(ATTRIBUTES)))
    image_ids = [f"image {number}" for number in range(n)]
    return pd.DataFrame(scores, index=image_ids, columns=list(ATTRIBUTES))


def transect_frame(n: int, risk, seed: int, dependence: float = 0.0) -> pd.DataFrame:
    """n transects of 2 x 2 x 2 images; `risk(skin, hair, gender)` is the chance of an error."""
    cells = np.array(list(product((0, 1), repeat=3)))
    frame = pd.DataFrame(np.tile(cells, (n, 1)), columns=AXES)
    rng = np.random.default_rng(seed)
    shared = np.repeat(rng.random(n), 8)
    common = rng.random(8 * n) < dependence
    chance = np.where(common, shared, rng.random(8 * n))
    error = chance < risk(*(frame[axis] for axis in AXES))
    return frame.assign(transect=np.repeat(np.arange(n), 8), error=error.astype(int))
