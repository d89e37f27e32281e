"""Names, scales and columns shared by all annotation formats, and what follows from the table.

Every external format is turned into one tidy table with one row per answer (`TIDY_COLUMNS`). Code
that reads the table does not know where the answers came from.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pandas as pd

from faceaudit.utils.errors import InputError

Paths = str | Path | Sequence[str | Path]
KnownImages = Iterable[str] | None
Rename = Mapping[str, str] | None
Scales = Mapping[str, tuple[str, ...]]

ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "gender": ("Female", "Probably female", "In between", "Probably male", "Male"),
    "facial_hair": ("None", "Minimal", "Mustache", "Beard", "Full"),
    "skin_colour": ("Light", "Fair", "Medium", "Olive", "Brown", "Black"),
    "age": ("Child", "Teen", "Young adult", "Adult", "Middle age", "Senior"),
    "makeup": ("None", "Minimal", "Full", "Showy"),
    "smiling": ("Frown", "Slight frown", "Neutral", "Slight smile", "Broad smile"),
    "hair_length": ("Very short", "Short", "Medium", "Long", "Very long"),
    "fakeness": ("Real for sure", "Likely real", "Not sure", "Likely fake", "Fake for sure"),
}
"""Attribute → names of its levels, from low to high (transects, section 4.3).

All lists but those of smiling and fakeness are the ones published with the answers (`matching`).

A score is the mean level over (levels - 1).
"""

MOST_STARS = 100
"""Stars of a rating at most: people cannot tell more levels apart."""

# Columns of the tidy table; a str is a category, of those that occur in sorted order:
#   image_id      str
#   attribute     str, a key of ATTRIBUTES
#   level         int, 0 ... number of levels - 1; float where somebody gave stars on a scale with
#                 another number of them, which fall between the levels
#   annotator_id  str, hashed (see `hash_annotator`)
#   seconds       float, time spent on the whole assignment, repeated on each of its answers
#   submitted_at  timestamp in UTC, missing where the file has none that can be read
#   source        str, "<format>:<file name>"
TIDY_COLUMNS = (
    "image_id",
    "attribute",
    "level",
    "annotator_id",
    "seconds",
    "submitted_at",
    "source",
)


def heading(attribute: str) -> str:
    """What stands above a question: how people look is *perceived*, and never who somebody is."""
    text = "one person?" if attribute == "identity" else attribute.replace("_", " ")
    if attribute in ATTRIBUTES and attribute != "fakeness":
        text = f"perceived {text}"
    return text[:1].upper() + text[1:]


def n_levels(attribute: str) -> int:
    """Number of levels of the attribute's scale."""
    return len(ATTRIBUTES[attribute])


def hash_annotator(annotator: object, salt: str) -> str:
    """Pseudonym of an annotator: 16 hexadecimal digits of BLAKE2b, keyed with the salt.

    The same salt gives the same pseudonym in every file, so that annotators can be followed from
    job to job. A salt that is public does not stop anybody from hashing a list of known identities;
    keep it private where the tidy table is published.
    """
    key = blake2b(salt.encode()).digest()
    return blake2b(str(annotator).encode(), digest_size=8, key=key).hexdigest()


def occurring(values: pd.Categorical) -> pd.Categorical:
    """The values with the categories that occur, in sorted order."""
    values = values.remove_unused_categories()
    return values.reorder_categories(values.categories.sort_values())


def hidden_names(images: np.ndarray) -> list[str]:
    """Names for images (n, 3, height, width) that show nothing of the design: hashes of the pixels.

    Two images that are alike have one name, and raters answer about them once. An image that is
    made anew and looks otherwise has another name, so that no old answer counts for it.
    """
    # The letter keeps a name of digits from being read as a number.
    hashes = (blake2b(np.ascontiguousarray(image).data, digest_size=6) for image in images)
    return [f"i{pixels.hexdigest()}" for pixels in hashes]


# --- counts and scores


def count_tensor(tidy: pd.DataFrame) -> tuple[pd.Index, dict[str, np.ndarray]]:
    """Count how many annotators gave each image each level.

    Args:
        tidy: answers, one row each, as a reader returns them; columns image_id, attribute and
            level are used.

    Returns:
        The image ids in sorted order, and of every attribute that occurs the counts, int64
        (n images, n levels), rows in the order of the image ids; all 0 for an image without
        answers about that attribute. Where answers fall between the levels, there are columns
        between them, at equal distances, so that the first is still the lowest level and the last
        the highest.

    Raises:
        InputError: an attribute is unknown, or a level is outside its scale.

    Example:
        >>> import pandas as pd
        >>> from faceaudit import annotations
        >>> tidy = pd.DataFrame({"image_id": "a", "attribute": "makeup", "level": [0, 3, 3]})
        >>> annotations.count_tensor(tidy)[1]["makeup"].tolist()
        [[1, 0, 0, 2]]
    """
    require_levels(tidy)
    images = occurring(pd.Categorical(tidy["image_id"]))
    counts = {}
    for attribute, labels in ATTRIBUTES.items():
        rows = (tidy["attribute"] == attribute).to_numpy()
        if rows.any():
            levels = tidy["level"].to_numpy()[rows]
            parts = _parts_of_a_level(levels)
            columns = (len(labels) - 1) * parts + 1
            column = np.rint(levels * parts).astype(np.int64)
            # Codes are small integers, which would overflow with numpy before 2.
            cells = images.codes[rows].astype(np.int64) * columns + column
            shape = (len(images.categories), columns)
            counts[attribute] = np.bincount(cells, minlength=math.prod(shape)).reshape(shape)
    return pd.Index(images.categories, name="image_id"), counts


def _parts_of_a_level(levels: np.ndarray) -> int:
    """Into how many equal parts the distance of two levels is cut, so that each answer is at a cut.

    1 where all answers are levels; more where stars fall between the levels.
    """
    if np.issubdtype(levels.dtype, np.integer):
        return 1
    fractions = [Fraction(level).limit_denominator(MOST_STARS) for level in np.unique(levels)]
    return math.lcm(*(fraction.denominator for fraction in fractions))


def require_levels(tidy: pd.DataFrame) -> None:
    """Raise InputError for an unknown attribute or a level outside of its scale."""
    for attribute, levels in tidy.groupby("attribute", observed=True)["level"]:
        if attribute not in ATTRIBUTES:
            expected = f"one of {list(ATTRIBUTES)}"
            raise InputError(
                f"unknown attribute {attribute!r}, expected {expected}",
                field="attribute",
                found=attribute,
                expected=expected,
            )
        highest = n_levels(attribute) - 1
        outside = levels[~levels.between(0, highest)]
        if len(outside):
            raise InputError(
                f"level of {attribute} outside 0 ... {highest}",
                field=f"level of {attribute}",
                found=outside.iloc[0],
                expected=f"0 ... {highest}",
            )


def scores(tidy: pd.DataFrame) -> pd.DataFrame:
    """Compute perceived scores: an image's mean level over (levels - 1), in [0, 1].

    Transects, section 4.3.

    Args:
        tidy: answers, one row each, as a reader returns them.

    Returns:
        Index image_id (sorted), one column per attribute that occurs, in the order of `ATTRIBUTES`;
        missing where an image has no answer about the attribute.

    Raises:
        InputError: an attribute is unknown, or a level is outside its scale.

    Example:
        >>> import pandas as pd
        >>> from faceaudit import annotations
        >>> tidy = pd.DataFrame({"image_id": "a", "attribute": "age", "level": [1, 4]})
        >>> annotations.scores(tidy)["age"].tolist()
        [0.5]
    """
    image_ids, counts = count_tensor(tidy)
    means = {attribute: mean(count) for attribute, count in counts.items()}
    return pd.DataFrame(means, index=image_ids)


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
        >>> from faceaudit import annotations
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
    """The levels of counts (n, levels) from 0 to 1, at equal distances, (levels,)."""
    return np.linspace(0.0, 1.0, counts.shape[1])


LEVEL_NAMES: Mapping[str, tuple[str, str]] = {
    "gender": ("female", "male"),
    "hair_length": ("short hair", "long hair"),
    "skin_colour": ("light skin", "dark skin"),
}
"""Axis → names of its low and its high level."""
