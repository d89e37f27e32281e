"""Names, scales and columns shared by all annotation formats.

Every external format is turned into one tidy table with one row per answer (`COLUMNS`); what reads
the table does not know where the answers came from.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pandas as pd

Paths = str | Path | Sequence[str | Path]
Known = Iterable[str] | None
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

# Columns of the tidy table; a str is a category, of those that occur in sorted order:
#   image_id      str
#   attribute     str, a key of ATTRIBUTES
#   level         int, 0 ... number of levels - 1
#   annotator_id  str, hashed (see `hash_annotator`)
#   seconds       float, time spent on the whole assignment, repeated on each of its answers
#   submitted_at  timestamp in UTC, missing where the file has none that can be read
#   source        str, "<format>:<file name>"
COLUMNS = ("image_id", "attribute", "level", "annotator_id", "seconds", "submitted_at", "source")


def heading(attribute: str) -> str:
    """What stands above a question: how people look is *perceived*, and never who somebody is."""
    words = "one person?" if attribute == "identity" else attribute.replace("_", " ")
    if attribute in ATTRIBUTES and attribute != "fakeness":
        words = f"perceived {words}"
    return words[:1].upper() + words[1:]


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
    """Names for images (n, 3, height, width) that tell what they show alone: hashes of the pixels.

    Two images that are alike have one name and are asked about once; an image that is made anew and
    looks otherwise has another, so that no answer is taken for one about it.
    """
    # The letter keeps a name of digits from being read as a number.
    hashes = (blake2b(np.ascontiguousarray(image), digest_size=6) for image in images)
    return [f"i{one.hexdigest()}" for one in hashes]
