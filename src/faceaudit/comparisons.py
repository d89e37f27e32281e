"""Which comparisons an audit makes: two levels of an axis, in the cells of the other axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

ADJACENT = "adjacent"
"""Contrasts of each level with the one before it."""
REFERENCE = "reference"
"""Contrasts of each level with the first one of its axis."""
Axes = Mapping[str, Sequence[str]]
"""Axis → the names of its levels, in their order."""


@dataclass(frozen=True)
class Contrast:
    """Two levels of an axis that are compared.

    Attributes:
        axis: whose levels they are.
        low, high: places of the two levels in the axis; an effect is that of the high one.
        low_name, high_name: their names.
        is_only: whether the axis has no other contrast.
    """

    axis: str
    low: int
    high: int
    low_name: str
    high_name: str
    is_only: bool

    @property
    def name(self) -> str:
        """Both levels in words."""
        return f"{self.high_name} instead of {self.low_name}"

    @property
    def key(self) -> list[str]:
        """How a plan names the contrast: by its axis, and by its levels where there are more."""
        return [self.axis] if self.is_only else [self.axis, self.name]


def contrasts_of(axes: Axes, axis: str, kind: str = REFERENCE) -> list[Contrast]:
    """The contrasts of an axis.

    Args:
        axes: of the audit.
        axis: one of them.
        kind: "reference" or "adjacent".

    Returns:
        One fewer than the axis has levels.

    Example:
        >>> axes = {"skin": ["I", "III", "V"]}
        >>> [contrast.name for contrast in contrasts_of(axes, "skin", "adjacent")]
        ['III instead of I', 'V instead of III']
    """
    names = axes[axis]
    places = range(len(names))
    pairs = list(pairwise(places)) if kind == ADJACENT else [(0, place) for place in places[1:]]
    return [
        Contrast(axis, low, high, names[low], names[high], is_only=len(pairs) == 1)
        for low, high in pairs
    ]


def all_contrasts(axes: Axes, kind: str = REFERENCE) -> list[Contrast]:
    """The contrasts of every axis, in the order of the axes."""
    return [contrast for axis in axes for contrast in contrasts_of(axes, axis, kind)]


def held_levels(axes: Axes, axis: str) -> list[dict[str, int]]:
    """The cells of an effect: every combination of levels of the other axes, axis → level.

    Example:
        >>> held_levels({"skin": ["light", "dark"], "hair": ["short", "long"]}, "skin")
        [{'hair': 0}, {'hair': 1}]
    """
    others = [name for name in axes if name != axis]
    levels_of_others = [range(len(axes[name])) for name in others]
    return [dict(zip(others, levels, strict=True)) for levels in product(*levels_of_others)]


def cell_name(axes: Axes, held: Mapping[str, int]) -> str:
    """A cell in words, "all faces" where no axis is held."""
    return ", ".join(axes[axis][level] for axis, level in held.items()) or "all faces"


def combinations_of_levels(axes: Axes) -> int:
    """Number of combinations of the levels of all axes.

    Example:
        >>> combinations_of_levels({"skin": ["I", "III", "V"], "hair": ["short", "long"]})
        6
    """
    return prod(len(names) for names in axes.values())
