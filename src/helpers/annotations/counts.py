"""The count tensor (image x attribute x level) and the figures that follow from it.

The counts are sufficient for an image's mean, spread and majority and for all measures of
agreement: which rater gave which answer no longer matters.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers.annotations.schema import ATTRIBUTES, n_levels


def count_tensor(tidy: pd.DataFrame) -> tuple[pd.Index, dict[str, np.ndarray]]:
    """How many annotators gave each image each level.

    Args:
        tidy: answers, columns `schema.COLUMNS`.

    Returns:
        The image ids in sorted order, and of every attribute that occurs the counts, int64
        (n images, n levels), rows in the order of the image ids; all 0 for an image without
        answers about that attribute.

    Raises:
        ValueError: an attribute is unknown, or a level is outside its scale.
    """
    unknown = sorted(set(tidy["attribute"]) - set(ATTRIBUTES))
    if unknown:
        raise ValueError(f"unknown attribute {unknown[0]!r}, expected one of {list(ATTRIBUTES)}")
    codes, image_ids = pd.factorize(tidy["image_id"], sort=True)
    counts = {}
    for attribute, levels in ATTRIBUTES.items():
        rows = (tidy["attribute"] == attribute).to_numpy()
        if not rows.any():
            continue
        level = tidy["level"].to_numpy()[rows]
        if not ((level >= 0) & (level < len(levels))).all():
            raise ValueError(f"level of {attribute} outside 0 ... {len(levels) - 1}")
        cells = codes[rows] * len(levels) + level
        flat = np.bincount(cells, minlength=len(image_ids) * len(levels))
        counts[attribute] = flat.reshape(len(image_ids), len(levels))
    return pd.Index(image_ids, name="image_id"), counts


def scores(tidy: pd.DataFrame) -> pd.DataFrame:
    """Perceived scores: an image's mean level over (levels - 1), in [0, 1] (transects, 4.3).

    Returns:
        Index image_id (sorted), one column per attribute that occurs, in the order of `ATTRIBUTES`;
        missing where an image has no answer about the attribute.
    """
    image_ids, counts = count_tensor(tidy)
    return pd.DataFrame(
        {attribute: mean(count) for attribute, count in counts.items()}, index=image_ids
    )


def mean(counts: np.ndarray) -> np.ndarray:
    """Mean level over (levels - 1), in [0, 1], of counts (n, levels); nan without answers."""
    answers = counts.sum(axis=1)
    total = counts @ _unit_levels(counts)
    return np.divide(total, answers, out=np.full(len(counts), np.nan), where=answers > 0)


def standard_deviation(counts: np.ndarray, ddof: int = 1) -> np.ndarray:
    """Spread of an image's answers in units of the range, (n,); nan with `ddof` answers or fewer.

    Args:
        counts: (n, levels).
        ddof: 1 divides by answers - 1 (unbiased variance), 0 by the number of answers.
    """
    answers = counts.sum(axis=1)
    with np.errstate(invalid="ignore"):
        deviation = _unit_levels(counts) - mean(counts)[:, None]
    squares = (counts * deviation**2).sum(axis=1)
    missing = np.full(len(counts), np.nan)
    return np.sqrt(np.divide(squares, answers - ddof, out=missing, where=answers > ddof))


def majority(counts: np.ndarray) -> np.ndarray:
    """Most frequent level of each image, int64 (n,); -1 without answers.

    Of equally frequent levels the one nearest the mean is taken, and the lower one if two are as
    near.
    """
    distance = np.abs(_unit_levels(counts) - np.nan_to_num(mean(counts))[:, None])
    # A distance is at most 1, so a quarter of it never outweighs a whole answer. Rounding makes
    # equal distances equal in floating point as well.
    level = np.argmax(counts - np.round(distance, 9) / 4, axis=1)
    return np.where(counts.sum(axis=1) > 0, level, -1)


def majorities(tidy: pd.DataFrame) -> pd.DataFrame:
    """Most frequent level, Int64, per image (index image_id) and attribute (columns)."""
    image_ids, counts = count_tensor(tidy)
    frame = pd.DataFrame({name: majority(count) for name, count in counts.items()}, image_ids)
    return frame.astype("Int64").where(frame >= 0)


def _unit_levels(counts: np.ndarray) -> np.ndarray:
    return np.linspace(0.0, 1.0, counts.shape[1])


def from_ratings(ratings: np.ndarray, attribute: str) -> np.ndarray:
    """Counts (n, levels) of a rating matrix (n, raters) of integer levels, negative = missing."""
    return (ratings[:, :, None] == np.arange(n_levels(attribute))).sum(axis=1)
