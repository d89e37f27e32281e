"""The 17 images of a prototype, and which images the study compares (Liang et al. 2023, 3.2, 3.4).

Every prototype has 17 images in consecutive rows, itself first and then four steps each of pose,
light, expression and age, in the order of `STEPS`: image row = 17 · prototype + variant. Pose and
light are the renderer's own parameters, as pose is EG3D's; expression and age are walked in latent
space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from facerender.parameters import visible_scores
from helpers.utils import seeding
from helpers.world import do

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
OTHERS = 3
"""Other prototypes that each is compared with, as in the paper."""
NEUTRAL: Mapping[str, float] = {
    "yaw": 0.0,
    "pitch": 0.0,
    "light_azimuth": 0.0,
    "light_elevation": 20.0,
    "light_power": 0.5,
    "glasses": 0.0,
    "hair_style": 0.0,
}
"""What all prototypes share. Without one hair style for all, hair would tell the seeds apart."""
LIGHTS: Mapping[str, Mapping[str, float]] = {
    name: {"light_azimuth": azimuth, "light_elevation": elevation, "light_power": 0.7}
    for name, azimuth, elevation in (
        ("up", 0.0, 60.0),
        ("down", 0.0, -40.0),
        ("left", -65.0, 10.0),
        ("right", 65.0, 10.0),
    )
}
"""Azimuth and elevation, in degrees, of the light that comes from there, and its power."""
STEPS_TO_TARGET = 2
WALK, LONGEST = 0.05, 8.0
"""One step of the walk to a target, and how far it looks, in units of the direction's step."""

_WALKED = {"expression": "smiling", "age": "age"}
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


# --- images


def image_index(prototypes: pd.DataFrame) -> pd.DataFrame:
    """List the images of every prototype, one row each.

    Args:
        prototypes: one row per prototype, with the columns seed and group.

    Returns:
        Columns seed, prototype, group, attribute and step (str; "0" is the prototype itself).
    """
    numbered = prototypes[["seed", "group"]].assign(prototype=range(len(prototypes)))
    columns = ["seed", "prototype", "group", "attribute", "step"]
    return numbered.merge(_VARIANTS, how="cross")[columns]


def neutral(parameters: Tensor) -> Tensor:
    """The same faces in the scene that all prototypes share (`NEUTRAL`).

    Args:
        parameters: float32 (n, P) of the renderer.

    Returns:
        float32 (n, P).
    """
    return do(parameters, **NEUTRAL)


def below_targets(generator, codes: ArrayLike, targets: Mapping[str, float]) -> np.ndarray:
    """Whether faces score below all targets, so that there is a way to go.

    Args:
        generator: the known-truth generator.
        codes: latents (n, D).
        targets: "expression" and "age" → score, as of `variants`.

    Returns:
        bool (n,).
    """
    codes = np.asarray(codes, np.float64)
    below = [_visible(generator, codes, name) < target for name, target in targets.items()]
    return np.all(below, axis=0)


def variants(
    generator,
    codes: ArrayLike,
    prototypes: pd.DataFrame,
    directions: Mapping[str, ArrayLike],
    targets: Mapping[str, float],
) -> tuple[Tensor, pd.DataFrame]:
    """Renderer parameters of all images of all prototypes.

    Args:
        generator: the known-truth generator.
        codes: latents (n, D) of the prototypes.
        prototypes: one row each, columns seed and group.
        directions: "expression" and "age" → (D,), along which to step.
        targets: of the same, the score in [0, 1] that two steps reach (paper, section 3.2).

    Returns:
        parameters (17 n, P) and the frame of `image_index`: 17 consecutive rows a prototype.

    Raises:
        ValueError: a face that does not reach its target, naming its row.
    """
    codes = np.asarray(codes, dtype=np.float64)
    own = neutral(generator.parameters(torch.from_numpy(codes)))
    images = own[:, None].repeat(1, IMAGES_EACH, 1)
    for attribute, steps in STEPS.items():
        place = 1 + 4 * ATTRIBUTES.index(attribute)
        if attribute in targets:
            direction = np.asarray(directions[attribute], dtype=np.float64)
            score = partial(_visible, generator, attribute=attribute)
            length = walk_to_score(codes, direction, score, targets[attribute]) / STEPS_TO_TARGET
        for order, step in enumerate(steps):
            if attribute in targets:
                walked = codes + step * length[:, None] * direction
                changed = neutral(generator.parameters(torch.from_numpy(walked)))
            else:
                changed = do(own, **(LIGHTS[step] if attribute == "light" else {"yaw": step}))
            images[:, place + order] = changed
    return images.reshape(-1, images.shape[-1]), image_index(prototypes)


def walk_to_score(
    codes: np.ndarray,
    direction: np.ndarray,
    score: Callable[[np.ndarray], np.ndarray],
    target: float,
) -> np.ndarray:
    """How far to move along a direction until a face scores `target`: the paper's d, (n,).

    "Move along the normal vector with a small step size until a certain score is predicted" (Liang
    et al. 2023, section 3.2).
    """
    distance = np.zeros(len(codes))
    walking = np.arange(len(codes))
    while len(walking):
        distance[walking] += WALK
        if distance[walking[0]] > LONGEST:
            raise ValueError(f"row {walking[0]} does not score {target} within {LONGEST:g} steps")
        now = score(codes[walking] + distance[walking, None] * direction)
        walking = walking[now < target]
    return distance


def _visible(generator, codes: np.ndarray, attribute: str) -> np.ndarray:
    """The exact score of what an attribute of `STEPS` changes, as the renderer shows it, (n,)."""
    parameters = generator.parameters(torch.from_numpy(codes))
    return visible_scores(parameters)[_WALKED[attribute]].to_numpy()


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
            another prototype is repeated four times. By default a prototype has 16 positives and 51
            negatives, all different.
        seed: of the order of the ring.

    Returns:
        Columns first, second (rows of the images; first is a prototype), kind ("positive",
        "negative"), group, attribute, step (of the second image), seed_first, seed_second,
        prototype_first, prototype_second. Positives come first.

    Raises:
        ValueError: a group of too few prototypes for pairs that differ.
    """
    own = np.arange(len(prototypes))
    first, second = _ring_partners(prototypes, seed)
    others = _SEQUENCES if paper else _VARIANTS
    positive = _expand(prototypes, own, own, others if paper else others[1:], "positive")
    negative = _expand(prototypes, first, second, others, "negative")
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
    sizes = prototypes["group"].value_counts()
    # In a smaller ring two seeds would choose each other.
    if sizes.min() <= 2 * OTHERS:
        raise ValueError(
            f"group {sizes.idxmin()!r} has {sizes.min()} prototypes; pairs with {OTHERS} others "
            f"that differ need at least {2 * OTHERS + 1}"
        )
    seeds, position = np.unique(prototypes["seed"], return_inverse=True)
    return seeding.rng(seed, "identities: pairs").permutation(len(seeds))[position]


def _ring_partners(prototypes: pd.DataFrame, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of prototypes and of the others of their group that they are compared with."""
    place = _ring_places(prototypes, seed)
    first, second = [], []
    for members in prototypes.groupby("group", sort=False).indices.values():
        ring = members[np.argsort(place[members])]
        for shift in range(1, OTHERS + 1):
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
