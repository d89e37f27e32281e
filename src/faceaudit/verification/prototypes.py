"""The 17 images of a prototype, the pairs that the study compares, and the ratings of the pairs.

Every prototype has 17 images in consecutive rows, itself first and then four steps each of pose,
light, expression and age, in the order of `STEPS`: image row = 17 · prototype + variant (Liang et
al. 2023, 3.2, 3.4). Pose and light are parameters of the renderer (EG3D has pose, but no light);
expression and age change along directions of the latent space. `variants` works with latent codes
only, so any generator can make the images.

Nine raters place a pair on five points, 0 "likely same" ... 4 "likely different". The paper drops
the two highest and the two lowest and averages the other five: the Human Consensus Identity
Confidence (4.1.1). Steps are interventions on one prototype that hold everything else fixed, so
differences within prototypes are effects. Prototypes made from one seed share most of a face, so
the seed is the unit of inference (Fig 5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from faceaudit.utils import seeding
from faceaudit.utils.arguments import check_range, refuse
from faceaudit.utils.errors import InputError

STEPS: Mapping[str, tuple] = {
    "pose": (-30, -15, 15, 30),  # degrees of yaw
    "light": ("up", "down", "left", "right"),  # where it comes from, as the image shows it
    "expression": (-2, -1, 1, 2),
    "age": (-2, -1, 1, 2),
}
"""Attribute → its steps from the prototype."""
RELATIONS = ("same seed, same group", "other seed, same group", "other seed, other group")
"""Relations between the two people of a pair."""
VARIED_ATTRIBUTES: tuple[str, ...] = tuple(STEPS)
"""The attributes that are varied, one at a time."""
IMAGES_EACH = 1 + sum(map(len, STEPS.values()))
"""Images of a prototype: itself and its variants."""
OTHERS = 3
"""How many other prototypes each prototype is compared with, as in the paper."""
LIGHTS = {"up": (0.0, 60.0), "down": (0.0, -40.0), "left": (-65.0, 10.0), "right": (65.0, 10.0)}
"""Direction of light → its azimuth and elevation, in degrees."""
WALKED: Mapping[str, str] = {"expression": "smiling", "age": "age"}
"""Attribute that changes along a latent direction → the score that `walk_to_score` raises."""
STEPS_TO_TARGET = 2
"""Steps of `STEPS` at which the score reaches its target."""
WALK_STEP = 0.05
"""Length of one step of the walk to a target, in units of the direction."""
LONGEST_WALK = 8.0
"""Where the walk to a target ends, in units of the direction."""
HIGHEST = 4
"""The rating "likely different"."""
PROTOTYPE = "prototype"
ALL = "all"
"""The group of all groups together."""

_VARIANT_STEPS = [(name, str(step)) for name, steps in STEPS.items() for step in steps]
_VARIANTS = pd.DataFrame([(PROTOTYPE, "0"), *_VARIANT_STEPS], columns=["attribute", "step"])
_VARIANTS["variant"] = range(IMAGES_EACH)
# The prototype is the middle of each of the four sequences of five (paper, section 3.2).
_MIDDLES = pd.DataFrame({"attribute": VARIED_ATTRIBUTES, "step": "0", "variant": 0})
_SEQUENCES = pd.concat([_MIDDLES, _VARIANTS[1:]]).sort_values(
    "attribute", key=lambda names: names.map(VARIED_ATTRIBUTES.index), kind="stable"
)
_PAIR_COLUMNS = ["first", "second", "kind", "group", "attribute", "step"]
_PAIR_COLUMNS += ["seed_first", "seed_second", "prototype_first", "prototype_second"]


# --- images


def image_index(prototypes: pd.DataFrame) -> pd.DataFrame:
    """List the images of every prototype, one row each.

    Args:
        prototypes: one row per prototype, with the columns seed and group.

    Returns:
        Columns seed, prototype, group, attribute and step (str; "0" is the prototype itself).
    """
    numbered = prototypes[["seed", "group"]].assign(prototype=range(len(prototypes)))
    rows = numbered.merge(_VARIANTS, how="cross")
    return rows[["seed", "prototype", "group", "attribute", "step"]]


def walk_to_score(
    codes: ArrayLike, direction: ArrayLike, score: Callable[[np.ndarray], ArrayLike], target: float
) -> np.ndarray:
    """Distance along a direction at which the score of faces reaches a target: the paper's d.

    "Move along the normal vector with a small step size until a certain score is predicted" (Liang
    et al. 2023, section 3.2).

    Args:
        codes: latents (n, D).
        direction: (D,).
        score: codes (m, D) → (m,) in [0, 1], the faces' scores by a model, or the true ones.
        target: in [0, 1].

    Returns:
        (n,) in units of the direction, NaN for faces that do not reach the target within
        `LONGEST_WALK`.
    """
    codes = np.asarray(codes, dtype=np.float64)
    direction = np.asarray(direction, dtype=np.float64)
    distance = np.zeros(len(codes))
    walking = np.arange(len(codes))
    while len(walking):
        distance[walking] += WALK_STEP
        distance[walking[distance[walking] > LONGEST_WALK]] = np.nan
        walking = walking[~np.isnan(distance[walking])]
        if len(walking):
            reached = np.asarray(score(codes[walking] + distance[walking, None] * direction))
            walking = walking[reached < target]
    return distance


def variants(
    codes: ArrayLike, directions: Mapping[str, ArrayLike], reach: Mapping[str, ArrayLike]
) -> list[tuple[np.ndarray, dict[str, float]]]:
    """Latent codes and scene parameters of the 17 images of all prototypes.

    Args:
        codes: latents (n, D) of the prototypes.
        directions: "expression" and "age" → direction (D,).
        reach: "expression" and "age" → length (n,) of two steps, as of `walk_to_score`.

    Returns:
        Codes (n, D) float64 and scene parameters of each image: the prototype, then the variants in
        the order of `STEPS`. EG3D, which has no light, leaves those of light out.

    Raises:
        ValueError: a distance that is NaN, naming its row.
    """
    codes = np.asarray(codes, dtype=np.float64)
    images = [(codes, {})]
    images += [(codes, {"yaw": yaw}) for yaw in STEPS["pose"]]
    for name in STEPS["light"]:
        azimuth, elevation = LIGHTS[name]
        scene = {"light_azimuth": azimuth, "light_elevation": elevation, "light_power": 0.7}
        images.append((codes, scene))
    for attribute in WALKED:
        far = np.asarray(reach[attribute])
        refuse(
            np.isnan(far),
            far,
            f"reach of {attribute}",
            "a distance at which the face reaches its target",
        )
        direction = np.asarray(directions[attribute], dtype=np.float64)
        for step in STEPS[attribute]:
            images.append((codes + step * (far / STEPS_TO_TARGET)[:, None] * direction, {}))
    return images


# --- pairs


def image_pairs(prototypes: pd.DataFrame, paper: bool = False, *, seed: int) -> pd.DataFrame:
    """Positive and negative pairs of images (Liang et al. 2023, section 3.4).

    Positives pair a prototype with its variants, negatives with the images of `OTHERS` other
    prototypes of its group. Seeds stand in a ring of keyed order, and each is compared with the
    next ones: every prototype is used equally often, no pair occurs twice, and all groups compare
    the same seeds with each other.

    Args:
        prototypes: one row per prototype, columns seed and group, at most one of each kind.
        paper: True gives the paper's counts, 20 positives and 60 negatives each (12,000 and 36,000
            of 600 prototypes). A prototype then meets itself in each of the four sequences of five,
            so that a fifth of the positives is trivial and FNMR is deflated by 16/20; its pair with
            another prototype is repeated four times. The others are drawn at random for each
            prototype, without the ring. By default a prototype has 16 positives and 51 negatives,
            all different.
        seed: of the order of the ring, and of the partners that are drawn.

    Returns:
        Columns first, second (rows of the images; first is a prototype), kind ("positive",
        "negative"), group, attribute, step (of the second image), seed_first, seed_second,
        prototype_first, prototype_second. Positives come first.

    Raises:
        ValueError: a group of too few prototypes for pairs that differ.
    """
    if paper:
        first, second = _drawn_partners(prototypes, seed)
        positive_variants = _SEQUENCES
        negative_variants = _SEQUENCES
    else:
        first, second = _ring_partners(prototypes, seed)
        positive_variants = _VARIANTS[1:]
        negative_variants = _VARIANTS
    rows = np.arange(len(prototypes))
    positive = _expand(prototypes, rows, rows, positive_variants, "positive")
    negative = _expand(prototypes, first, second, negative_variants, "negative")
    return pd.concat([positive, negative], ignore_index=True)


def cross_pairs(prototypes: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Pairs across groups, for the third box of the paper's Figs 5 and 10 to 12.

    Each prototype meets the 17 images of `OTHERS` prototypes of other seeds *and* other groups, in
    turn through the groups. `group` is that of the first image, `kind` is "different group".

    Args:
        prototypes, seed: as of `image_pairs`.

    Returns:
        Columns as of `image_pairs`, and `group_second`.

    Raises:
        ValueError: as `image_pairs`.
    """
    names = prototypes["group"].unique()
    place = _ring_places(prototypes, seed)
    group = pd.Index(names).get_indexer(prototypes["group"])
    shifts = np.arange(1, OTHERS + 1)
    other_place = (place[:, None] + shifts) % (place.max() + 1)
    other_group = (group[:, None] + 1 + (place[:, None] + shifts) % (len(names) - 1)) % len(names)
    rows = pd.Series(np.arange(len(prototypes)), [group, place])
    second = rows.reindex(pd.MultiIndex.from_arrays([other_group.ravel(), other_place.ravel()]))
    there = second.notna().to_numpy()  # a seed may lack the prototype of some group
    first = np.repeat(np.arange(len(prototypes)), OTHERS)[there]
    second = second.to_numpy()[there].astype(np.int64)
    frame = _expand(prototypes, first, second, _VARIANTS, "different group")
    return frame.assign(group_second=prototypes["group"].to_numpy()[frame["prototype_second"]])


def _ring_places(prototypes: pd.DataFrame, seed: int) -> np.ndarray:
    """Place of each prototype's seed in the ring of all seeds, (n,)."""
    _require_partners(prototypes)
    seeds, position = np.unique(prototypes["seed"], return_inverse=True)
    return seeding.rng(seed, "identities: pairs").permutation(len(seeds))[position]


def _require_partners(prototypes: pd.DataFrame) -> None:
    """Raise InputError where a group has too few prototypes for pairs that differ."""
    sizes = prototypes["group"].value_counts()
    # In a smaller ring two seeds would choose each other.
    least = 2 * OTHERS + 1
    if sizes.min() < least:
        raise InputError(
            f"group {sizes.idxmin()!r} has fewer than {least} prototypes",
            field=f"group {sizes.idxmin()!r}",
            found=int(sizes.min()),
            expected=f"at least {least} prototypes",
        )


def _ring_partners(prototypes: pd.DataFrame, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of prototypes and of the others of their group that they are compared with."""
    place = _ring_places(prototypes, seed)
    ends = []
    for members in prototypes.groupby("group", sort=False).indices.values():
        ring = members[np.argsort(place[members])]
        ends += [(ring, np.roll(ring, -shift)) for shift in range(1, OTHERS + 1)]
    ends = np.concatenate(ends, axis=1)
    return tuple(ends[:, np.argsort(ends[0], kind="stable")])


def _drawn_partners(prototypes: pd.DataFrame, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of prototypes and of others of their group, drawn for each without replacement."""
    _require_partners(prototypes)
    rows = np.arange(len(prototypes))
    group = prototypes["group"].to_numpy()
    draws = seeding.uniforms(seed, "identities: drawn pairs", rows, len(rows))
    draws[(group[:, None] != group) | np.eye(len(rows), dtype=bool)] = 1
    return rows.repeat(OTHERS), draws.argsort(axis=1)[:, :OTHERS].ravel()


def _expand(
    prototypes: pd.DataFrame,
    first: np.ndarray,
    second: np.ndarray,
    variants: pd.DataFrame,
    kind: str,
) -> pd.DataFrame:
    """Pair each first prototype with the variants of its second one.

    Args:
        prototypes: one row per prototype.
        first: rows of prototypes, (k,).
        second: rows of prototypes, (k,).
        variants: rows of `_VARIANTS`.
        kind: of the pairs.

    Returns:
        Columns as of `image_pairs`, k times as many rows as `variants`.
    """
    ends = pd.DataFrame({"prototype_first": first, "prototype_second": second})
    frame = ends.merge(variants, how="cross").assign(kind=kind)
    frame["first"] = frame["prototype_first"] * IMAGES_EACH
    frame["second"] = frame["prototype_second"] * IMAGES_EACH + frame["variant"]
    frame["group"] = prototypes["group"].to_numpy()[frame["prototype_first"]]
    for side in ("first", "second"):
        frame[f"seed_{side}"] = prototypes["seed"].to_numpy()[frame[f"prototype_{side}"]]
    return frame[_PAIR_COLUMNS]


# --- ratings and similarities of pairs


def hcic(ratings: ArrayLike, n_low: int = 2, n_high: int = 2) -> np.ndarray:
    """Consensus of every pair: 0 all raters say same ... 1 all say different.

    Args:
        ratings: whole numbers 0 ... 4, (n, raters), none missing.
        n_low, n_high: how many of the lowest and of the highest ratings of a pair are dropped.

    Returns:
        float64 (n,).

    Raises:
        ValueError: a rating that is missing, not whole or off the scale (naming its row), or no
            more raters than would be dropped.

    Example:
        >>> from faceaudit import verification
        >>> verification.hcic([[0, 0, 0, 1, 1, 2, 2, 4, 4]]).tolist()
        [0.3]
    """
    total, count = _trimmed_sum(ratings, n_low, n_high)
    return total / (HIGHEST * count)


def is_match(ratings: ArrayLike, t: float, n_low: int = 2, n_high: int = 2) -> np.ndarray:
    """Whether `hcic(ratings, n_low, n_high)` <= t, without rounding.

    The paper's t are 0.2, 0.3 and 0.4, and many pairs lie exactly on them: the mean of five ratings
    is 0.3 when they sum to 6. So sums are compared as integers with the decimal `t`. A mean in
    single precision is a little above each of these limits in double precision, so that all of
    these pairs would become non-matches.

    Args:
        ratings, n_low, n_high: as of `hcic`.
        t: highest consensus that counts as a match, in [0, 1].

    Returns:
        bool (n,).

    Raises:
        ValueError: as `hcic`, and for a `t` outside of [0, 1].
    """
    check_range("t", t, 0, 1)
    total, count = _trimmed_sum(ratings, n_low, n_high)
    return total <= int(Fraction(str(t)) * HIGHEST * count)


def _trimmed_sum(ratings: ArrayLike, n_low: int, n_high: int) -> tuple[np.ndarray, int]:
    """Sum of the ratings without the lowest and the highest, int64 (n,), and how many remain."""
    ratings = np.asarray(ratings)
    expected = f"a whole number from 0 (likely same) to {HIGHEST} (likely different)"
    refuse(~np.isin(ratings, np.arange(HIGHEST + 1)), ratings, "ratings", expected)
    stop = ratings.shape[1] - n_high
    if stop <= n_low:
        raise InputError(
            f"of {ratings.shape[1]} ratings none is left without {n_low} and {n_high}",
            field="ratings",
            found=ratings.shape[1],
            expected=f"more than {n_low + n_high} ratings of each pair",
        )
    return np.sort(ratings.astype(np.int64))[:, n_low:stop].sum(axis=1), stop - n_low


def over_seeds(values: pd.Series, by: Sequence[str]) -> pd.DataFrame:
    """Means over seeds with 95% Student intervals between them.

    Args:
        values: (n,) at most one per seed in each cell; missing ones do not count.
        by: levels of the index that define the cells; its other levels define the seeds.

    Returns:
        Index `by`, in order of appearance; columns estimate, low, high (NaN of a single seed) and
        seeds.
    """
    cells = values.dropna().groupby(list(by), sort=False, observed=True)
    mean = cells.mean()
    seeds = cells.size()
    margin = stdtrit(seeds - 1, 0.975) * cells.sem()
    return pd.DataFrame(
        {"estimate": mean, "low": mean - margin, "high": mean + margin, "seeds": seeds}
    )


def step_effects(frame: pd.DataFrame) -> pd.DataFrame:
    """Effect of every step of an attribute on similarity, by group and over all groups.

    A step is compared with the next one towards the prototype on its side, within each prototype:
    −30° with −15°, and −15° with the prototype itself, whose similarity to itself is 1. Steps
    without an order (directions of light) are compared with the prototype.

    Args:
        frame: positive pairs, with the columns seed_first, group, attribute, step (a number, or the
            name of a direction; each at most once a prototype) and similarity. Pairs of a prototype
            with itself (step 0) are left out.

    Returns:
        A row per group (then "all", for which a seed's groups are averaged first), attribute and
        step, with the columns group, attribute, step, reference, similarity (mean), estimate (mean
        difference over seeds), low, high (95% Student interval over seeds), seeds, and reason: why
        the interval is NaN, else empty.
    """
    number = pd.to_numeric(frame["step"], errors="coerce").astype(np.float64)
    cell = ["seed_first", "group", "attribute"]
    rows = frame[[*cell, "step", "similarity"]].assign(number=number)[number != 0]
    steps = rows[["attribute", "step", "number"]].drop_duplicates().astype({"step": object})
    steps = steps.sort_values("number", key=abs)
    # Directions have no side, so no other step is nearer to the prototype.
    side = [steps["attribute"], np.sign(steps["number"])]
    steps["reference"] = steps.groupby(side)["step"].shift().fillna(PROTOTYPE)
    rows = rows.astype({"step": object}).merge(steps, on=["attribute", "step", "number"])
    known = rows.set_index([*cell, "step"])["similarity"]
    nearer = known.reindex(pd.MultiIndex.from_frame(rows[[*cell, "reference"]])).to_numpy()
    is_nearest = rows["reference"] == PROTOTYPE
    rows["estimate"] = rows["similarity"] - np.where(is_nearest, 1.0, nearer)
    groups = [*map(str, pd.Categorical(frame["group"]).categories), ALL]
    both = pd.concat([rows.astype({"group": str}), rows.assign(group=ALL)])
    both["group"] = pd.Categorical(both["group"], groups)
    both["attribute"] = pd.Categorical(both["attribute"], frame["attribute"].unique())
    both = both.dropna(subset="estimate").sort_values(["group", "attribute", "number"])
    by = ["group", "attribute", "step", "reference"]
    seeds = both.groupby([*by, "seed_first"], sort=False, observed=True)
    means = seeds[["similarity", "estimate"]].mean()
    table = over_seeds(means["estimate"], by)
    table.insert(0, "similarity", over_seeds(means["similarity"], by)["estimate"])
    table["reason"] = np.where(table["seeds"] < 2, "one seed", "")
    return table.reset_index().astype({"group": object, "attribute": object})
