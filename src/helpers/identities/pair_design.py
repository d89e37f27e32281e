"""Which images the study compares: pairs of a prototype with variants of itself and of others.

Liang et al. 2023, section 3.4. Every prototype has 17 images in consecutive rows, itself first and
then its variants in the order of `STEPS` (see `variants`): image row = 17 · prototype + variant.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from helpers.utils import seeding
from helpers.utils.checks import require_columns, require_present

STEPS: Mapping[str, tuple] = {
    "pose": (-30, -15, 15, 30),  # degrees of yaw
    "light": ("up", "down", "left", "right"),  # where it comes from, as the image shows it
    "expression": (-2, -1, 1, 2),
    "age": (-2, -1, 1, 2),
}
"""Attribute → its steps from the prototype."""
ATTRIBUTES: tuple[str, ...] = tuple(STEPS)
"""What is varied, one at a time."""
IMAGES_EACH = 1 + sum(map(len, STEPS.values()))
"""Images of a prototype: itself and its variants."""

_STEPS = [(name, str(step)) for name, steps in STEPS.items() for step in steps]
_VARIANTS = pd.DataFrame([("prototype", "0"), *_STEPS], columns=["attribute", "step"])
_VARIANTS["variant"] = range(IMAGES_EACH)
# The prototype is the middle of each of the four sequences of five (paper, section 3.2).
_MIDDLES = pd.DataFrame({"attribute": ATTRIBUTES, "step": "0", "variant": 0})
_SEQUENCES = pd.concat([_MIDDLES, _VARIANTS[1:]]).sort_values(
    "attribute", key=lambda names: names.map(ATTRIBUTES.index), kind="stable"
)
_COLUMNS = ["first", "second", "kind", "group", "attribute", "step"]
_COLUMNS += [f"{what}_{side}" for what in ("seed", "prototype") for side in ("first", "second")]


def image_index(prototypes: pd.DataFrame) -> pd.DataFrame:
    """List the images of every prototype, one row each.

    Args:
        prototypes: one row per prototype, with the columns seed and group.

    Returns:
        Columns seed, prototype, group, attribute and step (str; "0" is the prototype itself).

    Raises:
        ValueError: a missing column.

    Example:
        >>> import pandas as pd
        >>> from helpers import identities
        >>> one = pd.DataFrame({"seed": [5], "group": ["european male"]})
        >>> identities.image_index(one).groupby("attribute", sort=False).size().tolist()
        [1, 4, 4, 4, 4]
    """
    require_columns(prototypes, ["seed", "group"])
    numbered = prototypes[["seed", "group"]].assign(prototype=range(len(prototypes)))
    columns = ["seed", "prototype", "group", "attribute", "step"]
    return numbered.merge(_VARIANTS, how="cross")[columns]


def pairs(
    prototypes: pd.DataFrame, n_negative: int = 3, paper: bool = False, *, seed: int = 0
) -> pd.DataFrame:
    """Positive and negative pairs of images (Liang et al. 2023, section 3.4).

    Positives pair a prototype with its variants, negatives with the images of `n_negative` other
    prototypes of its group. Seeds stand in a ring of keyed order, and each is compared with the
    next `n_negative` ones: every prototype is used equally often, no pair occurs twice, and all
    groups compare the same seeds with each other.

    Args:
        prototypes: one row per prototype, columns seed and group, at most one of each kind.
        n_negative: others that a prototype is compared with.
        paper: True gives the paper's counts, 20 positives and 20 · n_negative negatives each
            (12,000 and 36,000 of 600 prototypes). A prototype then meets itself in each of the four
            sequences of five, so that a fifth of the positives is trivial and FNMR is deflated by
            16/20; its pair with another prototype is repeated four times. By default a prototype
            has 16 positives and 17 · n_negative negatives, all different.
        seed: of the order of the ring.

    Returns:
        Columns first, second (rows of the images; first is a prototype), kind ("positive",
        "negative"), group, attribute, step (of the second image), seed_first, seed_second,
        prototype_first, prototype_second. Positives come first.

    Raises:
        ValueError: no prototypes, a missing column, group or seed, a seed twice in a group, or a
            group of too few prototypes for pairs that differ.

    Example:
        >>> import pandas as pd
        >>> from helpers import identities
        >>> prototypes = pd.DataFrame({"seed": range(7), "group": "european male"})
        >>> identities.pairs(prototypes)["kind"].value_counts().to_dict()
        {'negative': 357, 'positive': 112}
    """
    _check(prototypes, n_negative)
    own = np.arange(len(prototypes))
    first, second = _ring_partners(prototypes, n_negative, seed)
    variants = _SEQUENCES if paper else _VARIANTS
    own_variants = _SEQUENCES if paper else _VARIANTS[1:]
    positive = _expand(prototypes, own, own, own_variants, "positive")
    negative = _expand(prototypes, first, second, variants, "negative")
    return pd.concat([positive, negative], ignore_index=True)


def cross_pairs(prototypes: pd.DataFrame, n_other: int = 3, *, seed: int) -> pd.DataFrame:
    """Pairs across groups, for the third box of the paper's Figs 5 and 10 to 12.

    Each prototype meets the 17 images of `n_other` prototypes of other seeds *and* other groups, in
    turn through the groups. `group` is that of the first image, `kind` is "different group".

    Args:
        prototypes: as of `pairs`, of at least two groups.
        n_other: others that a prototype is compared with.
        seed: of the order of the ring.

    Returns:
        Columns as of `pairs`, and `group_second`.

    Raises:
        ValueError: as `pairs`, and a single group.

    Example:
        >>> import pandas as pd
        >>> from helpers import identities
        >>> both = [("european male", seed) for seed in range(7)]
        >>> both += [("african male", seed) for seed in range(7)]
        >>> prototypes = pd.DataFrame(both, columns=["group", "seed"])
        >>> len(identities.cross_pairs(prototypes, seed=1)) == 14 * 3 * 17
        True
    """
    _check(prototypes, n_other)
    names = prototypes["group"].unique()
    if len(names) < 2:
        raise ValueError(f"pairs across groups need at least two groups; there is {names[0]!r}")
    place = _ring_places(prototypes, seed)
    group = pd.Index(names).get_indexer(prototypes["group"])
    shifts = np.arange(1, n_other + 1)
    other_place = (place[:, None] + shifts) % (place.max() + 1)
    other_group = (group[:, None] + 1 + (place[:, None] + shifts) % (len(names) - 1)) % len(names)
    rows = pd.Series(np.arange(len(prototypes)), [group, place])
    second = rows.reindex(pd.MultiIndex.from_arrays([other_group.ravel(), other_place.ravel()]))
    there = second.notna().to_numpy()  # a seed may lack the prototype of some group
    first = np.repeat(np.arange(len(prototypes)), n_other)[there]
    second = second.to_numpy()[there].astype(np.int64)
    frame = _expand(prototypes, first, second, _VARIANTS, "different group")
    return frame.assign(group_second=prototypes["group"].to_numpy()[frame["prototype_second"]])


def _check(prototypes: pd.DataFrame, n_others: int) -> None:
    require_columns(prototypes, ["seed", "group"])
    if prototypes.empty:
        raise ValueError("no prototypes")
    for column in ("seed", "group"):
        require_present(prototypes[column], f"the {column} of a prototype")
    twice = prototypes.duplicated(["seed", "group"]).to_numpy()
    if twice.any():
        row = prototypes.iloc[int(np.flatnonzero(twice)[0])]
        raise ValueError(f"seed {row['seed']} has two prototypes of group {row['group']!r}")
    sizes = prototypes["group"].value_counts()
    # In a ring of 2n seeds or fewer, two of them would choose each other.
    if n_others < 1 or sizes.min() <= 2 * n_others:
        raise ValueError(
            f"group {sizes.idxmin()!r} has {sizes.min()} prototypes; pairs with {n_others} others "
            f"that differ need at least {max(2 * n_others + 1, 3)}"
        )


def _ring_places(prototypes: pd.DataFrame, seed: int) -> np.ndarray:
    """Place of each prototype's seed in the ring of all seeds, (n,)."""
    seeds, position = np.unique(prototypes["seed"], return_inverse=True)
    return seeding.rng(seed, "identities: pairs").permutation(len(seeds))[position]


def _ring_partners(
    prototypes: pd.DataFrame, n_negative: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of prototypes and of the others of their group that they are compared with."""
    place = _ring_places(prototypes, seed)
    first, second = [], []
    for members in prototypes.groupby("group", sort=False).indices.values():
        ring = members[np.argsort(place[members])]
        for shift in range(1, n_negative + 1):
            first.append(ring)
            second.append(np.roll(ring, -shift))
    order = np.argsort(np.concatenate(first), kind="stable")
    return np.concatenate(first)[order], np.concatenate(second)[order]


def _expand(
    prototypes: pd.DataFrame,
    first: np.ndarray,
    second: np.ndarray,
    variants: pd.DataFrame,
    kind: str,
) -> pd.DataFrame:
    """Each pair of prototypes times the variants of the second."""
    ends = pd.DataFrame({"prototype_first": first, "prototype_second": second})
    frame = ends.merge(variants, how="cross").assign(kind=kind)
    frame["first"] = frame["prototype_first"] * IMAGES_EACH
    frame["second"] = frame["prototype_second"] * IMAGES_EACH + frame["variant"]
    frame["group"] = prototypes["group"].to_numpy()[frame["prototype_first"]]
    for side in ("first", "second"):
        frame[f"seed_{side}"] = prototypes["seed"].to_numpy()[frame[f"prototype_{side}"]]
    return frame[_COLUMNS]
