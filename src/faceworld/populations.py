"""Joint distributions of face attributes: the data sets of the book's world.

Each population imitates what is *correlated with what* in a well-known data set, not its images.
The links are planted and stated in `populations.yml`, because they are what the observational audit
trips over: in the PPB-like test set skin colour is tied to hair length among women, so a model that
stumbles over short-haired women looks as if it stumbled over dark skin (transects, sections 1
and 5.3, Figs 11 and 12). Shares and spreads are stylised; none is an estimate of a real data set.

The training populations (celeba-, fairface-like, plantskin) tie hair length to gender but, within
a gender, not to skin colour. A model would learn such a tie, and skin would then have a true effect
on its errors; here the tie belongs to the test set, where it misleads the auditor instead.

How far a model leans on hair is decided by how rare short-haired women and long-haired men are in
its training data. These shares are this world's design: they were set so that models of laptop size
show the papers' phenomenon, by looking at true effects and error rates, never at an estimate.

Common to all populations:

* perceived gender spreads around 0.24 (women) and 0.76 (men), so that some faces are ambiguous and
  about one face in seventy looks like the other gender;
* facial hair only on adult men, makeup and earrings only on adult women;
* darker skin goes with darker hair, and mildly with the ancestry axes;
* loose hair dominates, so that hair length stays what is seen; afro and braids occur mostly with
  dark skin, tied or covered hair in small shares; hair styles carry no information on gender.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from torch import Tensor

from faceaudit.utils import seeding
from facerender.parameters import (
    ANCESTRY_REFERENCES,
    HAIR_STYLES,
    IDENTITY_LIMIT,
    PARAMETERS,
    defaults,
)
from faceworld.interventions import do

UNIFORMS = [
    "male",
    "dark",
    "skin",
    "age",
    "short",
    "long_men",
    "length",
    "style",
    "ancestry",
    "makeup",
    "facial_hair",
    "earrings",
    "glasses",
    "hair_colour",
    "light_azimuth",
    "light_elevation",
    "light_power",
    "background_hue",
    "background_value",
    "clothing",
    "texture_seed",
    "haemoglobin",
]
"""Names of the uniform draws of a face; their order keys them."""
NORMALS = [
    "gender",
    "skin",
    "age",
    "length",
    "makeup",
    "facial_hair",
    "smiling",
    "yaw",
    "pitch",
    "ancestry_x",
    "ancestry_y",
]
"""Names of the standard normal draws of a face, in their order."""
IDENTITY_PARAMETERS = tuple(p.name for p in PARAMETERS if p.group == "identity")
"""Parameters of the renderer that make a person."""
ADULT = 0.28
"""Age from which facial hair, makeup and earrings occur."""

Normal = tuple[float, float]
"""Mean and standard deviation."""


@dataclass(frozen=True)
class Population:
    """One joint distribution; `populations.yml` says what its fields mean.

    Example:
        >>> from faceworld import populations
        >>> populations.POPULATIONS["ppb-like"].women_short
        (0.04, 0.78)
    """

    description: str
    links: str
    men: float
    dark: tuple[float, float] | None
    age: tuple[Normal, Normal] | None
    age_range: tuple[float, float]
    women_short: tuple[float, float]
    women_length: tuple[Normal, Normal]
    men_long: float
    men_length: Normal
    makeup: tuple[float, Normal]
    facial_hair: tuple[float, Normal]
    earrings: float
    glasses: float
    smiling: Normal
    light_skin: Normal = (0.22, 0.12)
    dark_skin: Normal = (0.78, 0.12)
    short_length: Normal = (0.24, 0.07)
    yaw: float = 12.0  # standard deviation, degrees
    light_power: tuple[float, float] = (0.2, 1.0)


def _tuples(value: Any) -> Any:
    """Pairs as tuples, which cannot be changed."""
    if isinstance(value, dict):
        return {name: _tuples(entry) for name, entry in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


SETTINGS = _tuples(yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8")))
POPULATIONS = {name: Population(**fields) for name, fields in SETTINGS["populations"].items()}
"""The data sets of the book's world, by name."""


@dataclass(frozen=True)
class Sample:
    """Faces drawn from a population, as `sample` returns them.

    Attributes:
        name: of the population.
        parameters: float32 (n, P), for the renderer.
        frame: a row per face: item, gender (the true label: 0 woman, 1 man), skin_colour,
            hair_length, hair_style, age as drawn.

    Example:
        >>> from faceworld import populations
        >>> list(populations.sample("ppb-like", 1, seed=1).frame)[:3]
        ['item', 'gender', 'skin_colour']
    """

    name: str
    parameters: Tensor
    frame: pd.DataFrame


def sample(name: str, n: int, seed: int) -> Sample:
    """Draw faces; face i depends on the population, the seed and i alone, not on n.

    Args:
        name: one of `POPULATIONS`: ffhq-like, celeba-like, fairface-like, plantskin, ppb-like.
        n: number of faces.
        seed: the draw; use different seeds for training and test sets.

    Raises:
        ValueError: no such population.

    Example:
        >>> from faceworld import populations
        >>> few, many = (populations.sample("ppb-like", n, seed=1).parameters for n in (3, 9))
        >>> bool((few == many[:3]).all())
        True
    """
    if name not in POPULATIONS:
        raise ValueError(f"population {name!r} is not one of {sorted(POPULATIONS)}")
    columns = _draw(POPULATIONS[name], *_keyed_draws(name, n, seed))
    male = columns.pop("male")
    parameters = do(defaults(n), **columns)
    frame = pd.DataFrame({"item": np.arange(n), "gender": male.astype(int)})
    for column in ("skin_colour", "hair_length", "age"):
        frame[column] = columns[column]
    frame["hair_style"] = np.array(HAIR_STYLES)[columns["hair_style"]]
    return Sample(name, parameters, frame)


Draws = dict[str, np.ndarray]


def _keyed_draws(name: str, n: int, seed: int) -> tuple[Draws, Draws, np.ndarray]:
    """Uniform and normal draws (n,) by name, and the identity parameters (n, identity)."""
    items = range(n)
    stage = f"population {name}"
    uniforms = seeding.uniforms(seed, f"{stage}: uniforms", items, len(UNIFORMS))
    normals = seeding.normals(seed, f"{stage}: normals", items, len(NORMALS))
    identity = seeding.normals(seed, f"{stage}: identity", items, len(IDENTITY_PARAMETERS))
    return (
        dict(zip(UNIFORMS, uniforms.T, strict=True)),
        dict(zip(NORMALS, normals.T, strict=True)),
        identity.clip(-IDENTITY_LIMIT, IDENTITY_LIMIT),
    )


def _draw(population: Population, u: Draws, z: Draws, identity: np.ndarray) -> Draws:
    """Turn standard draws into the renderer's columns (and the label, male)."""
    male = u["male"] < population.men
    look = SETTINGS["look"]
    skin = _skin(population, male, u, z)
    age = _age(population, male, u, z)
    woman = ~male & (age > ADULT)
    man = male & (age > ADULT)
    x, y = _ancestry(skin, u, z)
    return {
        "male": male,
        "gender": _clip(_normal(look["women"], look["men"], male, z["gender"])),
        "skin_colour": skin,
        "age": age,
        "hair_length": _hair_length(population, male, skin, u, z),
        "hair_style": _choose("styles", HAIR_STYLES, skin, u["style"]),
        "hair_colour": u["hair_colour"] * (1 - 0.75 * skin),
        "makeup": _amount(population.makeup, woman, u["makeup"], z["makeup"]),
        "facial_hair": _amount(population.facial_hair, man, u["facial_hair"], z["facial_hair"]),
        "earrings": (woman & (u["earrings"] < population.earrings)).astype(float),
        "glasses": (u["glasses"] < population.glasses).astype(float),
        "smiling": _clip(population.smiling[0] + population.smiling[1] * z["smiling"]),
        "ancestry_x": x,
        "ancestry_y": y,
        "yaw": np.clip(population.yaw * z["yaw"], -30, 30),
        "pitch": np.clip(5 * z["pitch"], -15, 15),
        "light_azimuth": -60 + 120 * u["light_azimuth"],
        "light_elevation": 50 * u["light_elevation"],
        "light_power": _between(population.light_power, u["light_power"]),
        "background_hue": u["background_hue"],
        "background_value": _between((0.05, 0.95), u["background_value"]),
        "clothing": u["clothing"],
        "texture_seed": u["texture_seed"],
        "haemoglobin": u["haemoglobin"],
    } | dict(zip(IDENTITY_PARAMETERS, identity.T, strict=True))


def _skin(population: Population, male: np.ndarray, u: Draws, z: Draws) -> np.ndarray:
    if population.dark is None:
        return u["skin"]
    dark = u["dark"] < np.where(male, population.dark[1], population.dark[0])
    return _clip(_normal(population.light_skin, population.dark_skin, dark, z["skin"]))


def _age(population: Population, male: np.ndarray, u: Draws, z: Draws) -> np.ndarray:
    if population.age is None:
        return _between(population.age_range, u["age"])
    return np.clip(_normal(*population.age, male, z["age"]), *population.age_range)


def _hair_length(
    population: Population, male: np.ndarray, skin: np.ndarray, u: Draws, z: Draws
) -> np.ndarray:
    dark = skin > 0.5
    long = _normal(*population.women_length, dark, z["length"])
    short = population.short_length[0] + population.short_length[1] * z["length"]
    light_share, dark_share = population.women_short
    women = np.where(u["short"] < np.where(dark, dark_share, light_share), short, long)
    cropped = np.clip(population.men_length[0] + population.men_length[1] * z["length"], 0, 0.4)
    men = np.where(u["long_men"] < population.men_long, _between((0.35, 0.9), u["length"]), cropped)
    return _clip(np.where(male, men, women))


def _ancestry(skin: np.ndarray, u: Draws, z: Draws) -> tuple[np.ndarray, np.ndarray]:
    """Around a point half-way to one of the references, never exactly on it."""
    chosen = _choose("ancestry", tuple(ANCESTRY_REFERENCES), skin, u["ancestry"])
    centre = 0.5 * np.array(list(ANCESTRY_REFERENCES.values()))[chosen]
    x, y = centre.T
    return np.clip(x + 0.25 * z["ancestry_x"], -1, 1), np.clip(y + 0.25 * z["ancestry_y"], -1, 1)


def _normal(if_false: Normal, if_true: Normal, condition: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Draws from one of two normal distributions, by a condition (n,), from standard draws z."""
    mean, sd = if_true
    other_mean, other_sd = if_false
    return np.where(condition, mean + sd * z, other_mean + other_sd * z)


def _amount(
    share_and_amount: tuple[float, Normal], who: np.ndarray, u: np.ndarray, z: np.ndarray
) -> np.ndarray:
    """Amount of what a share of some faces (`who`) wears; 0 for all others."""
    share, (mean, spread) = share_and_amount
    return np.where(who & (u < share), _clip(mean + spread * z), 0.0)


def _choose(kind: str, names: tuple[str, ...], skin: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Index of the name that a uniform draw falls into, int (n,), by shares that go with skin."""
    light = np.array([SETTINGS[kind]["light"].get(name, 0.0) for name in names])
    dark = np.array([SETTINGS[kind]["dark"].get(name, 0.0) for name in names])
    shares = light + (dark - light) * skin[:, None]
    below = u[:, None] >= shares.cumsum(1)
    return below.sum(1).clip(max=shares.shape[1] - 1)


def _between(limits: tuple[float, float], u: np.ndarray) -> np.ndarray:
    return limits[0] + (limits[1] - limits[0]) * u


def _clip(values: np.ndarray) -> np.ndarray:
    return np.clip(values, 0, 1)
