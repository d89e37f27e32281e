"""Data that several tests share."""

import numpy as np
import pandas as pd

from helpers.annotations import ATTRIBUTES


def perceived_scores(n: int = 800) -> pd.DataFrame:
    """Scores of n images, uniform over every scale; index image id, columns attributes."""
    scores = np.random.default_rng(0).random((n, len(ATTRIBUTES)))
    image_ids = [f"image {number}" for number in range(n)]
    return pd.DataFrame(scores, index=image_ids, columns=list(ATTRIBUTES))
