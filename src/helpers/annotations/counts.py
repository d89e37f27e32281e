"""The count tensor (image x attribute x level) and the figures that follow from it.

The counts are sufficient for an image's mean, spread and majority and for all measures of
agreement: which rater gave which answer no longer matters. Used from chapter 1 on; chapter 6
explains it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers.annotations.categories import occurring
from helpers.annotations.schema import ATTRIBUTES


def count_tensor(tidy: pd.DataFrame) -> tuple[pd.Index, dict[str, np.ndarray]]:
    """Count how many annotators gave each image each level.

    Args:
        tidy: answers, one row each, as a reader returns them; columns image_id, attribute and
            level are used.

    Returns:
        The image ids in sorted order, and of every attribute that occurs the counts, int64
        (n images, n levels), rows in the order of the image ids; all 0 for an image without
        answers about that attribute.

    Raises:
        ValueError: an attribute is unknown, or a level is outside its scale.

    Example:
        >>> import pandas as pd
        >>> from helpers import annotations
        >>> tidy = pd.DataFrame({"image_id": "a", "attribute": "makeup", "level": [0, 3, 3]})
        >>> annotations.count_tensor(tidy)[1]["makeup"].tolist()
        [[1, 0, 0, 2]]
    """
    unknown = sorted(set(tidy["attribute"].unique()) - set(ATTRIBUTES))
    if unknown:
        raise ValueError(f"unknown attribute {unknown[0]!r}, expected one of {list(ATTRIBUTES)}")
    images = occurring(pd.Categorical(tidy["image_id"]))
    codes, image_ids = images.codes, images.categories
    counts = {}
    for attribute, levels in ATTRIBUTES.items():
        rows = (tidy["attribute"] == attribute).to_numpy()
        if not rows.any():
            continue
        level = tidy["level"].to_numpy()[rows]
        if not ((level >= 0) & (level < len(levels))).all():
            raise ValueError(f"level of {attribute} outside 0 ... {len(levels) - 1}")
        cells = codes[rows].astype(np.int64) * len(levels) + level
        flat = np.bincount(cells, minlength=len(image_ids) * len(levels))
        counts[attribute] = flat.reshape(len(image_ids), len(levels))
    return pd.Index(image_ids, name="image_id"), counts


def scores(tidy: pd.DataFrame) -> pd.DataFrame:
    """Compute perceived scores: an image's mean level over (levels - 1), in [0, 1].

    Transects, section 4.3.

    Args:
        tidy: answers, one row each, as a reader returns them.

    Returns:
        Index image_id (sorted), one column per attribute that occurs, in the order of `ATTRIBUTES`;
        missing where an image has no answer about the attribute.

    Raises:
        ValueError: an attribute is unknown, or a level is outside its scale.

    Example:
        >>> import pandas as pd
        >>> from helpers import annotations
        >>> tidy = pd.DataFrame({"image_id": "a", "attribute": "age", "level": [1, 4]})
        >>> annotations.scores(tidy)["age"].tolist()
        [0.5]
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
    """Compute the spread of every image's answers, in units of the scale's range.

    Args:
        counts: (n, levels), of one attribute.
        ddof: 1 divides by answers - 1 (unbiased variance), 0 by the number of answers.

    Returns:
        float64 (n,); nan with `ddof` answers or fewer.

    Example:
        >>> import numpy as np
        >>> from helpers import annotations
        >>> annotations.standard_deviation(np.array([[1, 0, 1]]), ddof=0).tolist()
        [0.5]
    """
    answers = counts.sum(axis=1)
    with np.errstate(invalid="ignore"):
        deviation = _unit_levels(counts) - mean(counts)[:, None]
    squares = (counts * deviation**2).sum(axis=1)
    missing = np.full(len(counts), np.nan)
    return np.sqrt(np.divide(squares, answers - ddof, out=missing, where=answers > ddof))


def _unit_levels(counts: np.ndarray) -> np.ndarray:
    return np.linspace(0.0, 1.0, counts.shape[1])
