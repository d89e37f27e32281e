"""How many raters gave an image each level, and the scores that follow from that."""

import math

import numpy as np
import pandas as pd

from helpers.annotations.schema import ATTRIBUTES, n_levels, occurring


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
    require_levels(tidy)
    images, counts = occurring(pd.Categorical(tidy["image_id"])), {}
    for attribute, levels in ATTRIBUTES.items():
        rows = (tidy["attribute"] == attribute).to_numpy()
        if rows.any():
            cells = images.codes[rows] * np.int64(len(levels)) + tidy["level"].to_numpy()[rows]
            shape = len(images.categories), len(levels)
            counts[attribute] = np.bincount(cells, minlength=math.prod(shape)).reshape(shape)
    return pd.Index(images.categories, name="image_id"), counts


def require_levels(tidy: pd.DataFrame) -> None:
    for attribute, level in tidy.groupby("attribute", observed=True)["level"]:
        if attribute not in ATTRIBUTES:
            raise ValueError(f"unknown attribute {attribute!r}, expected one of {[*ATTRIBUTES]}")
        if not level.between(0, n_levels(attribute) - 1).all():
            raise ValueError(f"level of {attribute} outside 0 ... {n_levels(attribute) - 1}")


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
    return ratio(counts @ unit_levels(counts), counts.sum(axis=1))


def standard_deviation(counts: np.ndarray) -> np.ndarray:
    """Compute the spread of every image's answers, in units of the scale's range.

    Args:
        counts: (n, levels), of one attribute.

    Returns:
        float64 (n,); nan with less than two answers.

    Example:
        >>> import numpy as np
        >>> from helpers import annotations
        >>> annotations.standard_deviation(np.array([[1, 0, 1]])).round(3).tolist()
        [0.707]
    """
    with np.errstate(invalid="ignore"):
        deviation = unit_levels(counts) - mean(counts)[:, None]
    squares = (counts * deviation**2).sum(axis=1)
    return np.sqrt(ratio(squares, counts.sum(axis=1) - 1))


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient, nan where the denominator is not above 0."""
    undefined = np.full(len(denominator), np.nan)
    return np.divide(numerator, denominator, out=undefined, where=denominator > 0)


def unit_levels(counts: np.ndarray) -> np.ndarray:
    return np.linspace(0.0, 1.0, counts.shape[1])
