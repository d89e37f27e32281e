"""Training faces of the recognisers: identities seen many times, in stated demographic shares.

Liang et al. 2023, section 4, audits networks trained on three large sets of photographs; here each
recogniser has a composition by group that is known, because it was chosen (`RECOGNISERS`). Chapter
16 trains on them, chapter 17 asks what the composition did.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from facerender.parameters import HAIR_STYLES, IDENTITY_LIMIT, INDEX, PARAMETERS, defaults
from helpers.identities.groups import GROUPS, ancestry_point, split
from helpers.utils import seeding

IDENTITY = tuple(p.name for p in PARAMETERS if p.group == "identity")
STYLES = {"straight": 0.36, "wavy": 0.28, "curly": 0.16, "fringe": 0.12, "tied back": 0.08}
"""Shares of hair styles, the same in all groups."""

_GENDERS = (0.15, 0.85)  # perceived gender of women and men, on average
_HAIR_LENGTH = ((0.55, 0.15), (0.18, 0.08))  # mean and spread, women and men
_SKIN = (0.42, 0.20)  # in all groups alike: ancestry is a matter of shape here


@dataclass(frozen=True)
class Design:
    """One audited recogniser: its loss, and the share of its identities that each group has."""

    loss: str
    shares: Mapping[str, float]


def _shares(african: float, east_asian: float, european: float) -> dict[str, float]:
    """Shares of `GROUPS` from those of the ancestry groups, half of each perceived as male."""
    ancestry = (african, east_asian, european)
    return dict(zip(GROUPS, np.repeat(ancestry, 2) / 2, strict=True))


CONTROL = "balanced"
"""The recogniser that sees all groups equally often."""
COMPOSITIONS: dict[str, dict[str, float]] = {
    "mostly african": _shares(0.94, 0.03, 0.03),
    "mostly east asian": _shares(0.03, 0.94, 0.03),
    "mostly european": _shares(0.03, 0.03, 0.94),
    CONTROL: _shares(1 / 3, 1 / 3, 1 / 3),
}
"""Shares of the groups in a training set. Three know one ancestry group well and hardly the others,
so that a group that is hard by itself can be told from one that was rarely seen; the last is the
control. Sets of photographs are skewed less, but networks that large learn more from few.
"""
RECOGNISERS: dict[str, Design] = {
    "arcface-a": Design("arcface", COMPOSITIONS["mostly european"]),
    "arcface-b": Design("arcface", COMPOSITIONS["mostly east asian"]),
    "sphereface": Design("sphereface", COMPOSITIONS["mostly european"]),
    CONTROL: Design("arcface", COMPOSITIONS[CONTROL]),
}
"""The recognisers that are audited one by one. All `COMPOSITIONS` are trained several times for
`helpers.verification.training_runs`.
"""


def composition(shares: Mapping[str, float], n: int) -> dict[str, int]:
    """Whole numbers of identities by group, n together, by largest remainders.

    Args:
        shares: of all `GROUPS`, together 1.
        n: identities of the set.

    Returns:
        Group → number of identities.

    Raises:
        ValueError: shares of other groups than `GROUPS`, or that do not add up to 1.

    Example:
        >>> from helpers import identities
        >>> counts = identities.composition(identities.RECOGNISERS["arcface-a"].shares, 24)
        >>> list(counts.values())
        [1, 1, 0, 0, 11, 11]
    """
    if set(shares) != set(GROUPS) or abs(sum(shares.values()) - 1) > 1e-9:
        raise ValueError(f"shares must be of {GROUPS} and add up to 1; got {dict(shares)}")
    exact = n * np.array([shares[group] for group in GROUPS], dtype=np.float64)
    counts = np.floor(exact).astype(int)
    largest = np.argsort(-(exact - counts), kind="stable")[: n - counts.sum()]
    counts[largest] += 1
    return dict(zip(GROUPS, counts.tolist(), strict=True))


def pool_composition(n: int) -> dict[str, int]:
    """Identities by group that a pool needs for `draw_sets`.

    Args:
        n: identities of each training set.

    Returns:
        Group → number of identities.

    Example:
        >>> from helpers import identities
        >>> sum(identities.pool_composition(24).values())
        74
    """
    skewed, control = _parts(n)
    return {group: max(sum(p[group] for p in skewed), control[group]) for group in GROUPS}


def draw_sets(pool: pd.DataFrame, n: int, *, seed: int) -> dict[str, np.ndarray]:
    """Training sets of all recognisers from one pool.

    The skewed sets have nobody in common; the control is drawn from all their people.

    Args:
        pool: frame of `identity_set`.
        n: identities of each set.
        seed: other seeds draw other identities.

    Returns:
        Recogniser → rows of the pool, sorted int64.

    Raises:
        ValueError: a group has fewer identities than `pool_composition` says.

    Example:
        >>> import pandas as pd
        >>> from helpers import identities
        >>> wanted = pd.Series(identities.pool_composition(24))
        >>> pool = pd.DataFrame({"identity": range(74), "group": wanted.index.repeat(wanted)})
        >>> {name: len(rows) for name, rows in identities.draw_sets(pool, 24, seed=1).items()}
        {'arcface-a': 24, 'arcface-b': 24, 'sphereface': 24, 'balanced': 24}
    """
    identities = pool.drop_duplicates("identity")
    needed, (skewed, control) = pool_composition(n), _parts(n)
    chosen: dict[str, list[np.ndarray]] = {name: [] for name in RECOGNISERS}
    for group, count in needed.items():
        members = identities.loc[identities["group"] == group, "identity"].to_numpy()
        if count > len(members):
            raise ValueError(f"the pool has {len(members)} identities of {group!r}, not {count}")
        draws = seeding.rng(seed, f"identity set: {group}")
        order = members[draws.permutation(len(members))]
        ends = np.cumsum([part[group] for part in skewed])
        parts = [*np.split(order, ends)[:-1], draws.permutation(order)[: control[group]]]
        for name, part in zip(chosen, parts, strict=True):
            chosen[name].append(part)
    return {
        name: np.flatnonzero(pool["identity"].isin(np.concatenate(parts)))
        for name, parts in chosen.items()
    }


def _parts(n: int) -> tuple[list[dict[str, int]], dict[str, int]]:
    """Compositions of the skewed sets, in the order of `RECOGNISERS`, and of the control."""
    *skewed, control = (composition(design.shares, n) for design in RECOGNISERS.values())
    return skewed, control


def identity_set(
    wanted: Mapping[str, int], images_each: int, *, seed: int
) -> tuple[Tensor, np.ndarray, pd.DataFrame]:
    """Faces of invented people, each in several images, to train or to test a recogniser.

    What makes a person: the identity parameters, the perceived group, skin and hair colour, hair
    style, usual hair length and age. What changes from image to image: pose, light, expression,
    apparent age, hair length, makeup, beard and glasses. Only shape tells the ancestry groups apart
    (skin colour is spread alike in all), so the groups are meant to be equally hard. Draws are
    keyed by the identity's number within its group, so a larger set begins with the smaller one's
    people.

    Args:
        wanted: group → number of identities.
        images_each: images of each.
        seed: of the draws.

    Returns:
        parameters float32 (n, P); labels int64 (n,), the number of the identity; and a frame with
        the columns identity, image, group. Rows of an identity are consecutive.

    Raises:
        ValueError: an unknown group, or no identities.

    Example:
        >>> from helpers import identities
        >>> _, labels, _ = identities.identity_set({"european male": 2}, 3, seed=1)
        >>> labels.tolist()
        [0, 0, 0, 1, 1, 1]
    """
    groups = np.repeat(list(wanted), list(wanted.values()))
    if not len(groups) or images_each < 1:
        raise ValueError(f"an identity set needs identities and images; got {dict(wanted)}")
    within = np.concatenate([np.arange(count) for count in wanted.values()])
    ancestry, male = split(groups)
    items = within * len(GROUPS) + pd.Index(GROUPS).get_indexer(groups)
    people = _people(ancestry, male, items, seed)
    parameters = people.repeat_interleave(images_each, 0)
    image = np.tile(np.arange(images_each), len(groups))
    _vary(parameters, np.repeat(items, images_each) * 2**16 + image, seed)
    labels = np.repeat(np.arange(len(groups)), images_each)
    frame = pd.DataFrame({"identity": labels, "image": image, "group": groups[labels]})
    return parameters, labels, frame


def _people(ancestry: np.ndarray, male: np.ndarray, items: np.ndarray, seed: int) -> Tensor:
    """What stays with a person: parameters (n, P) with everything else at its default."""
    named = ["gender", "skin", "length", "x", "y", *IDENTITY]
    z = _draws(seeding.normals, named, "identities: people", items, seed)
    named = ["style", "hair_colour", "haemoglobin", "texture", "age", "makeup", "beard"]
    u = _draws(seeding.uniforms, named, "identities: looks", items, seed)
    point = ancestry_point(ancestry)
    skin = _SKIN[0] + _SKIN[1] * z["skin"]
    length = np.where(male, *(m + s * z["length"] for m, s in reversed(_HAIR_LENGTH)))
    style = np.searchsorted(np.cumsum(list(STYLES.values()))[:-1], u["style"], side="right")
    columns = {
        "gender": np.where(male, _GENDERS[1], _GENDERS[0]) + 0.08 * z["gender"],
        "ancestry_x": point[:, 0] + 0.15 * z["x"],
        "ancestry_y": point[:, 1] + 0.15 * z["y"],
        "skin_colour": skin,
        "hair_length": length,
        "hair_style": np.array([HAIR_STYLES.index(name) for name in STYLES])[style],
        "hair_colour": u["hair_colour"] * (1 - 0.6 * skin.clip(0, 1)),
        "haemoglobin": u["haemoglobin"],
        "texture_seed": u["texture"],
        "age": 0.32 + 0.30 * u["age"],
        "makeup": ~male * 0.6 * u["makeup"],
        "facial_hair": (male & (u["beard"] < 0.3)) * (0.3 + 2 * u["beard"]),
    } | {name: z[name].clip(-IDENTITY_LIMIT, IDENTITY_LIMIT) for name in IDENTITY}
    return _filled(defaults(len(items)), columns)


def _vary(parameters: Tensor, items: np.ndarray, seed: int) -> None:
    """Give every row, in place, a scene and a look of its own."""
    named = ["pitch", "age", "length", "makeup"]
    z = _draws(seeding.normals, named, "identities: images", items, seed)
    named = ["yaw", "azimuth", "elevation", "power", "smile", "beard", "glasses"]
    u = _draws(seeding.uniforms, named, "identities: scenes", items, seed)
    own = {name: parameters[:, INDEX[name]].numpy().astype(np.float64) for name in INDEX}
    woman = own["gender"] < 0.5
    columns = {
        "yaw": -32 + 64 * u["yaw"],
        "pitch": (6 * z["pitch"]).clip(-15, 15),
        "light_azimuth": -80 + 160 * u["azimuth"],
        "light_elevation": -40 + 110 * u["elevation"],
        "light_power": 0.2 + 0.6 * u["power"],
        "smiling": u["smile"],
        "age": (own["age"] + 0.12 * z["age"]).clip(0.12, 0.95),
        "hair_length": own["hair_length"] + 0.08 * z["length"],
        "makeup": woman * (own["makeup"] + 0.12 * z["makeup"]),
        "facial_hair": own["facial_hair"] * (0.5 + 0.7 * u["beard"]),
        "glasses": (u["glasses"] < 0.08).astype(float),
    }
    _filled(parameters, columns)


def _draws(draw, names: list[str], key: str, items: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Keyed draws of every item, by name."""
    return dict(zip(names, draw(seed, key, items, len(names)).T, strict=True))


def _filled(parameters: Tensor, columns: Mapping[str, np.ndarray]) -> Tensor:
    """Write columns, clipped to their parameters' ranges."""
    for name, values in columns.items():
        spec = PARAMETERS[INDEX[name]]
        clipped = np.clip(values, spec.low, spec.high).astype(np.float32)
        parameters[:, INDEX[name]] = torch.from_numpy(clipped)
    return parameters
