"""What each of several interventions contributes to the effect of all of them: Shapley shares.

Two interventions seldom add up: the effect of both is another number than the sum of the effects of
each one alone. Shapley shares divide the joint effect. The share of an intervention is what it adds
to those that came before it, averaged over all orders in which the interventions can be made
(Shapley, in Contributions to the Theory of Games II (1953) 307-317). So the shares sum to the joint
effect, two interventions that do the same have the same share, and one that changes no effect has
none.

Only the joint effect is divided. A difference that was observed between two groups can be larger or
smaller: what is left comes with something on which these interventions do not act.
"""

from collections.abc import Collection, Mapping
from itertools import combinations
from math import comb, isfinite
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from faceaudit.utils.arguments import require_same_shape
from faceaudit.utils.errors import InputError


def sets_of(interventions: Collection[str]) -> list[frozenset[str]]:
    """All sets of interventions but the empty one, small sets first.

    Args:
        interventions: their names, k.

    Returns:
        2^k - 1 sets.

    Example:
        >>> from faceaudit.effects import shapley
        >>> [sorted(one) for one in shapley.sets_of(["skin", "hair"])]
        [['skin'], ['hair'], ['hair', 'skin']]
    """
    sizes = range(1, len(interventions) + 1)
    return [frozenset(one) for size in sizes for one in combinations(interventions, size)]


def shapley_shares(effects: Mapping[frozenset[str], ArrayLike]) -> dict[str, np.ndarray]:
    """Divide the joint effect of interventions among them.

    The shares are sums of the effects with fixed weights. So effects of single units may be given,
    and the mean of the shares of all units is the share of the mean.

    Args:
        effects: the effect of every set of interventions but the empty one, whose effect is 0.
            Numbers or arrays of one shape, in any unit.

    Returns:
        Intervention → its share, in the unit and the shape of the effects; in the order in which
        the sets first name them. The shares sum to the effect of the largest set.

    Raises:
        InputError: an effect is missing, one of no intervention is given, a key is no frozenset of
            names, or effects are no finite numbers or have different shapes.

    Example:
        >>> from faceaudit.effects import shapley_shares
        >>> skin, hair = frozenset({"skin"}), frozenset({"hair"})
        >>> shares = shapley_shares({skin: 2.0, hair: 8.0, skin | hair: 9.0})
        >>> {name: float(share) for name, share in shares.items()}
        {'skin': 1.5, 'hair': 7.5}
    """
    if not effects:
        raise InputError(
            "effects is empty",
            field="effects",
            found="no set of interventions",
            expected="the effect of every set of interventions",
        )
    for one in effects:
        _check_key(one)
        if not one:
            raise InputError(
                "effects has one of no intervention, which is 0 and is not given",
                field="effects",
                found="the empty set",
                expected="sets of at least one intervention",
            )
    names = list(dict.fromkeys(name for one in effects for name in sorted(one)))
    needed = sets_of(names)
    for one in needed:
        if one not in effects:
            raise InputError(
                f"effects has none of {' and '.join(sorted(one))}{' together' * (len(one) > 1)}, "
                f"but a share needs the effect of every set of {len(names)} interventions",
                field="effects",
                found=f"{len(effects)} sets",
                expected=f"{len(needed)} sets",
            )
    known = {one: _as_numbers(effect, one) for one, effect in effects.items()}
    first = next(iter(known))
    for one, numbers in known.items():
        require_same_shape(numbers, _in_words(one), known[first], _in_words(first))
    known[frozenset()] = np.zeros_like(known[frozenset(names)])
    return {name: _share(name, names, known) for name in names}


def _check_key(one: object) -> None:
    """Raise InputError unless a key is a frozenset of names."""
    if isinstance(one, frozenset) and all(isinstance(name, str) for name in one):
        return
    example = frozenset({one}) if isinstance(one, str) else frozenset({"skin"})
    raise InputError(
        f"effects has the key {one!r}, a set of names such as {example!r} was expected",
        field="effects",
        found=one,
        expected="frozensets of names",
    )


def _in_words(one: frozenset[str]) -> str:
    """What the effect of a set of interventions is called in a message."""
    return f"the effect of {' and '.join(sorted(one))}"


def _as_numbers(effect: ArrayLike, one: frozenset[str]) -> np.ndarray:
    """The effect of a set of interventions as finite float64 of any shape; InputError otherwise."""
    array = np.asarray(effect)
    # A text is no number, even if it reads like one.
    for cell in array.ravel().tolist():
        if not (isinstance(cell, Real) and isfinite(cell)):
            raise InputError(
                f"{_in_words(one)} holds {cell!r}, finite numbers were expected",
                field="effects",
                found=cell,
                expected="finite numbers",
            )
    return array.astype(float)


def _share(name: str, names: list[str], effects: Mapping[frozenset[str], np.ndarray]) -> np.ndarray:
    """What an intervention adds to the sets of the others, averaged over all orders."""
    others = [other for other in names if other != name]
    share = np.zeros_like(effects[frozenset()])
    for before in [frozenset(), *sets_of(others)]:
        # The share of orders in which exactly these interventions come before this one.
        weight = 1 / (len(names) * comb(len(others), len(before)))
        share = share + weight * (effects[before | {name}] - effects[before])
    return share
