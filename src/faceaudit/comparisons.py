"""Which comparisons an audit makes of the levels of an axis, in the cells of the other axes.

Two levels are compared, or all of them by their trend. The trend is the slope of the straight line
that least squares lays through the means of the levels, numbered 0, 1, 2, … in their order. It is
told as the change along this line from the lowest level to the highest, so that it has the unit of
the tolerance and stands beside the difference of these two levels. With two levels it is their
difference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from math import prod

ADJACENT = "adjacent"
"""Contrasts of each level with the one before it, and of the last with the first.

Small steps in one direction add up: three of four points are each within a tolerance of five, and
their sum is not. So the ends are compared as well.
"""
REFERENCE = "reference"
"""Contrasts of each level with the first one of its axis."""
TREND = "trend"
"""The trend over all levels of an axis, in place of contrasts of two of them."""
BY_TREND = ", by the trend"
"""What the name of a trend has behind its first and last level."""
Axes = Mapping[str, Sequence[str]]
"""Axis → the names of its levels, in their order."""


@dataclass(frozen=True)
class Contrast:
    """Two levels of an axis that are compared, or all of them by their trend.

    Attributes:
        axis: whose levels they are.
        low, high: places of the two levels in the axis; an effect is that of the high one. Of a
            trend, the first and the last.
        low_name, high_name: their names.
        is_only: whether the axis has no other contrast, of two levels that need no names.
        weights: of a trend, those of the means of all levels; else empty.
    """

    axis: str
    low: int
    high: int
    low_name: str
    high_name: str
    is_only: bool
    weights: tuple[float, ...] = ()

    @property
    def is_trend(self) -> bool:
        """Whether all levels of the axis are compared, by their trend."""
        return bool(self.weights)

    @property
    def name(self) -> str:
        """Both levels in words."""
        levels = f"{self.high_name} instead of {self.low_name}"
        return levels + BY_TREND if self.is_trend else levels

    @property
    def key(self) -> list[str]:
        """How a plan names the contrast: by its axis, and by its levels where there are more."""
        return [self.axis] if self.is_only else [self.axis, self.name]


def contrasts_of(axes: Axes, axis: str, kind: str = REFERENCE) -> list[Contrast]:
    """The contrasts of an axis.

    Args:
        axes: of the audit.
        axis: one of them.
        kind: "reference", "adjacent" or "trend".

    Returns:
        Of "reference" one fewer than the axis has levels, of "adjacent" as many as it has, and one
        trend. Of two levels there is one contrast, whatever the kind.

    Example:
        >>> axes = {"skin": ["I", "III", "V"]}
        >>> [contrast.name for contrast in contrasts_of(axes, "skin", "adjacent")]
        ['III instead of I', 'V instead of III', 'V instead of I']
        >>> [contrast.name for contrast in contrasts_of(axes, "skin", "trend")]
        ['V instead of I, by the trend']
    """
    names = axes[axis]
    places = range(len(names))
    if kind == TREND and len(names) > 2:
        last = len(names) - 1
        weights = trend_weights(len(names))
        return [Contrast(axis, 0, last, names[0], names[last], False, weights)]
    pairs = [(0, place) for place in places[1:]]
    if kind == ADJACENT and len(names) > 2:
        pairs = [*pairwise(places), (0, len(names) - 1)]
    return [
        Contrast(axis, low, high, names[low], names[high], is_only=len(pairs) == 1)
        for low, high in pairs
    ]


def all_contrasts(axes: Axes, kind: str = REFERENCE) -> list[Contrast]:
    """The contrasts of every axis, in the order of the axes."""
    return [contrast for axis in axes for contrast in contrasts_of(axes, axis, kind)]


def other_contrasts(axes: Axes, kind: str = REFERENCE) -> list[Contrast]:
    """The pairs of levels of one axis that a kind of contrasts does not compare.

    Example:
        >>> axes = {"skin": ["I", "III", "V"], "hair": ["short", "long"]}
        >>> [contrast.name for contrast in other_contrasts(axes)]
        ['V instead of III']
    """
    others = []
    for axis, names in axes.items():
        compared = contrasts_of(axes, axis, kind)
        pairs_compared = {(one.low, one.high) for one in compared if not one.is_trend}
        for low, high in combinations(range(len(names)), 2):
            if (low, high) not in pairs_compared:
                others.append(Contrast(axis, low, high, names[low], names[high], is_only=False))
    return others


def trend_weights(levels: int) -> tuple[float, ...]:
    """Weights of the means of the levels in their trend, from the lowest level to the highest.

    Those of the slope by least squares over 0, 1, 2, …, times the number of steps. They grow with
    the distance from the middle, sum to zero, and the largest trend that rates can have is the sum
    of the positive ones: 1 of three levels, where the middle one has no weight, and up to 1.5 of
    many.

    Args:
        levels: how many, two or more.

    Example:
        >>> trend_weights(3)
        (-1.0, 0.0, 1.0)
        >>> [round(weight, 2) for weight in trend_weights(4)]
        [-0.9, -0.3, 0.3, 0.9]
    """
    middle = (levels - 1) / 2
    distances = [place - middle for place in range(levels)]
    squares = sum(distance**2 for distance in distances)
    return tuple((levels - 1) * distance / squares for distance in distances)


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
