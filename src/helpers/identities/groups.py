"""The six groups of the verification study, and where they lie in the face world.

A group is a *perceived* gender and an ancestry group (Liang et al. 2023, section 3.1, who speak of
race). The ancestry groups are three stylised reference points of the face world's ancestry plane:
they shift the shape of faces and say nothing about people, nor about skin colour.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from facerender.parameters import ANCESTRY_REFERENCES

ANCESTRIES: tuple[str, ...] = tuple(ANCESTRY_REFERENCES)
"""Names of the ancestry groups."""
GROUPS: tuple[str, ...] = tuple(f"{a} {g}" for a in ANCESTRIES for g in ("female", "male"))
"""Order of groups everywhere: in tables, arrays and figures."""
ANCESTRY_DEPTH = 1.5
"""How far the faces of a group lie from the average of all, which is at a distance of 1 from each
reference point: half as far again, so that the groups differ more than people within one do."""

_REFERENCES = np.array(list(ANCESTRY_REFERENCES.values()))


def split(groups: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Ancestry and perceived gender of groups, from their names.

    Args:
        groups: (n,) names.

    Returns:
        The ancestry group, str (n,), and whether male, bool (n,).

    Raises:
        ValueError: a name that is not one of `GROUPS`, with its row.

    Example:
        >>> from helpers import identities
        >>> ancestry, male = identities.split(["african male", "european female"])
        >>> ancestry.tolist(), male.tolist()
        (['african', 'european'], [True, False])
    """
    groups = np.asarray(groups, dtype=object)
    for row in np.flatnonzero(~np.isin(groups, GROUPS)):
        raise ValueError(f"row {row}: unknown group {groups[row]!r}; expected one of {GROUPS}")
    parts = [group.rsplit(" ", 1) for group in groups]
    return np.array([a for a, _ in parts]), np.array([g == "male" for _, g in parts], dtype=bool)


def ancestry_point(ancestry: Sequence[str]) -> np.ndarray:
    """Where faces of an ancestry group are centred, ancestry_x and ancestry_y.

    Args:
        ancestry: (n,) of `ANCESTRIES`.

    Returns:
        The places, float64 (n, 2).

    Raises:
        ValueError: another name.

    Example:
        >>> from helpers import identities
        >>> identities.ancestry_point(["african"]).shape
        (1, 2)
    """
    rows = [ANCESTRIES.index(name) for name in ancestry]
    return ANCESTRY_DEPTH * _REFERENCES[rows]


def nearest_ancestry(points: ArrayLike) -> np.ndarray:
    """Index in `ANCESTRIES` of the reference nearest to points of the ancestry plane.

    Args:
        points: places in the ancestry plane, (…, 2).

    Returns:
        The index, int (…).

    Example:
        >>> from helpers import identities
        >>> identities.nearest_ancestry(identities.ancestry_point(identities.ANCESTRIES)).tolist()
        [0, 1, 2]
    """
    # References are of one length, so the nearest is the one with the largest inner product.
    return (np.asarray(points, dtype=np.float64) @ _REFERENCES.T).argmax(axis=-1)
