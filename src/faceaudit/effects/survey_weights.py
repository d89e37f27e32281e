"""Survey weights of matched faces: how many people each of them stands for."""

import numpy as np
import pandas as pd

WEIGHT = "unit_weight"
"""Column of the weights, above 0, in frames of images."""


def effective_number(weights: np.ndarray) -> float:
    """How many units with equal weights would give a mean of the same precision (Kish).

    Kish, Survey Sampling (1965), section 11.7: the square of the sum over the sum of squares.

    Args:
        weights: (n,) above 0, of every unit.

    Example:
        >>> effective_number(np.array([1.0, 1.0, 1.0])), effective_number(np.array([4.0, 1.0, 1.0]))
        (3.0, 2.0)
    """
    return float(weights.sum() ** 2 / (weights**2).sum())


def weights_of_units(frame: pd.DataFrame) -> np.ndarray:
    """The weight (units,) of each unit of a frame of images, whose images have the same one."""
    return frame.groupby("unit")[WEIGHT].first().to_numpy()


def weighted_mean(values: pd.Series, frame: pd.DataFrame) -> float:
    """The mean of what is known of images, by their weights where the frame has some.

    Args:
        values: (n,) of every image, NaN where it is unknown.
        frame: of the images.
    """
    if WEIGHT not in frame:
        return float(values.mean())
    known = values.notna()
    if not known.any():
        return np.nan
    return float(np.average(values[known], weights=frame.loc[known, WEIGHT]))


def without_equal_weights(frame: pd.DataFrame) -> pd.DataFrame:
    """The images without a column of weights that are all alike, which change no result."""
    if WEIGHT not in frame:
        return frame
    are_equal = (frame[WEIGHT] == frame[WEIGHT].iloc[0]).all()
    return frame.drop(columns=WEIGHT) if are_equal else frame
