"""The known-truth generator: an entangled 512-d latent space in front of the face renderer.

As in a style-based generator (Karras et al. 2020), a fixed nonlinear mapping takes normal codes z
to style codes w, in which attributes lie along directions that are correlated with each other.
Here the directions, the correlations and the value of every attribute are known exactly:

    s = A w                 latent coordinates, about standard normal, correlated as planted
    parameter = link(s)     a sigmoid or another monotone function of its own coordinate

All geometry is float64; the renderer's parameters are float32.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy.special import expit, logit
from torch import Tensor

import facerender
from faceaudit.utils import seeding
from faceaudit.utils.arguments import resolve_device
from faceaudit.utils.errors import InputError
from facerender.parameters import HAIR_STYLES, IDENTITY_LIMIT, INDEX, PARAMETERS, defaults
from faceworld.interventions import do

LATENT_DIM = 512
WORLD_SEED = 11
CALIBRATION_CODES = 8192
_CALIBRATION = np.loadtxt(Path(__file__).with_suffix(".calibration.csv"))
"""The result of `calibration`, stored because every process would take seconds to compute it."""
_CODES = 16_384
"""Codes mapped at a time; the layers take ten times the memory of the codes."""

CORRELATIONS: tuple[tuple[str, str, float, str], ...] = tuple(
    pd.read_csv(Path(__file__).with_suffix(".correlations.csv")).itertuples(index=False, name=None)
)
"""Planted correlations of latent coordinates, with why; all other pairs are planted at 0."""


@dataclass(frozen=True)
class Link:
    """Monotone link from a latent coordinate s to a parameter, and back.

    sigmoid: expit(gain * (s - centre)); tanh: offset + gain * tanh(s / centre), for angles.
    """

    kind: str
    gain: float
    centre: float
    offset: float = 0.0

    def value(self, s: np.ndarray) -> np.ndarray:
        if self.kind == "sigmoid":
            return expit(self.gain * (s - self.centre))
        return self.offset + self.gain * np.tanh(s / self.centre)

    def coordinate(self, value: np.ndarray) -> np.ndarray:
        if self.kind == "sigmoid":
            return logit(value) / self.gain + self.centre
        return np.arctanh((value - self.offset) / self.gain) * self.centre


_LINKS = pd.read_csv(Path(__file__).with_suffix(".links.csv"), index_col="parameter")
LINKS = {row.Index: Link(*row[1:]) for row in _LINKS.itertuples()} | {
    parameter.name: Link("tanh", IDENTITY_LIMIT, IDENTITY_LIMIT)
    for parameter in PARAMETERS
    if parameter.group == "identity"
}
"""Of every parameter but the hair style. Facial hair and makeup are gated by age, and artefacts
grow with the distance from the mean; the mean of skin_colour is about 0.34, light-skewed."""

AGE_GATES = {"facial_hair": 0.28, "makeup": 0.25}
"""Facial hair and makeup are multiplied by expit(14 (age - gate)): children wear neither. A change
of age thus changes them too, as it does in people."""

HAIR_STYLE_LEVELS = {"covered": -2.33, "afro": -1.88, "wavy": -0.52, "straight": 0.67}
HAIR_STYLE_LEVELS |= {"fringe": 1.13, "curly": 1.75, "braids": 2.05, "tied back": np.inf}
"""Upper end of each style's interval on its latent coordinate: a piecewise constant link.

Standard normal shares: covered 1%, afro 2%, wavy 27%, straight 45%, fringe 12%, curly 9%,
braids 2%, tied back 2%. The coordinate is planted independent of all others, so that the style
confounds nothing."""

LATENTS: tuple[str, ...] = tuple(parameter.name for parameter in PARAMETERS)
"""Names of the latent coordinates: every parameter has one."""
SCENE = tuple(p.name for p in PARAMETERS if p.group == "scene")


class KnownTruthGenerator:
    """An entangled latent space in front of the renderer, whose every attribute is known.

    The world is fixed: every instance has the same geometry. Codes w are (n, 512), about standard
    normal; `exact_hyperplanes` and `exact_directions` are what fitted ones are compared with.

    Args:
        device: "cpu" or "cuda".
        size: height and width of the images, in pixels.

    Attributes:
        latent_dim: 512.

    Example:
        >>> from faceworld.known_truth import KnownTruthGenerator
        >>> world = KnownTruthGenerator(size=16)
        >>> codes = world.sample(2, seed=1)
        >>> tuple(codes.shape), tuple(world.synthesize(codes).shape)
        ((2, 512), (2, 3, 16, 16))
    """

    latent_dim = LATENT_DIM

    def __init__(self, device: str = "cpu", size: int = 64) -> None:
        self.device = resolve_device(device)
        self.size = size
        self._layers, basis = _orthogonal_matrices()
        self._mean, self._scale, spread = np.split(_CALIBRATION, [LATENT_DIM, LATENT_DIM + 1])
        root = np.linalg.cholesky(correlations())
        # s = root (basis / spread)ᵀ w, and its exact right inverse.
        self._to_latent = root @ (basis / spread).T
        self._from_latent = (basis * spread) @ np.linalg.inv(root)

    def sample(self, n: int, seed: int) -> Tensor:
        """Style codes w, float32 (n, 512), about zero mean and unit variance per dimension."""
        parts = []
        for start in range(0, max(n, 1), _CODES):
            z = self.normal_codes(min(_CODES, n - start), seed, start)
            parts.append(self.style(z))
        return torch.cat(parts)

    def normal_codes(self, n: int, seed: int, first: int = 0) -> Tensor:
        """The codes z that `sample` maps to w, float32 (n, 512), from the first on."""
        z = seeding.normals(seed, "known truth: z", range(first, first + n), LATENT_DIM)
        return torch.from_numpy(z).float().to(self.device)

    def style(self, z: Tensor) -> Tensor:
        """The mapping network: z (n, 512) -> standardised w, float32 (n, 512)."""
        w = (_mapped(z.cpu().double().numpy(), self._layers) - self._mean) / self._scale
        return torch.from_numpy(w).float().to(self.device)

    def synthesize(self, w: Tensor, **scene: float) -> Tensor:
        """Images, float32 (n, 3, size, size) in [0, 1].

        Args:
            w: (n, 512).
            scene: scene parameters that override the code's own, e.g. yaw=0.

        Raises:
            ValueError: an override that is not a scene parameter.
        """
        if unknown := sorted(set(scene) - set(SCENE)):
            raise ValueError(f"no scene parameters: {unknown}; there are {list(SCENE)}")
        return facerender.render(do(self.parameters(w), **scene), self.size).image

    def parameters(self, w: Tensor) -> Tensor:
        """The renderer's parameters of style codes, float32 (n, P)."""
        w64 = w.detach().cpu().numpy().astype(np.float64)
        s = dict(zip(LATENTS, (w64 @ self._to_latent.T).T, strict=True))
        columns = {name: link.value(s[name]) for name, link in LINKS.items()}
        for name in AGE_GATES:
            columns[name] *= age_gate(name, columns["age"])
        # Codes far from the mean look fake, as those of style-based generators without truncation.
        radius = np.linalg.norm(w64, axis=1) / np.sqrt(LATENT_DIM)
        distant = np.clip(6 * (radius - 1.12), 0, 1)
        columns["artefacts"] = np.clip(0.9 * columns["artefacts"] + distant, 0, 1)
        columns["hair_style"] = _hair_style(s["hair_style"])
        return do(defaults(len(w)), **columns).to(self.device)

    def coordinates(self, w: Tensor, names: Sequence[str]) -> np.ndarray:
        """Latent coordinates s of those names, float64 (n, len(names)), of codes w (n, 512)."""
        rows = self._to_latent[[_column(name) for name in names]]
        return w.detach().cpu().numpy().astype(np.float64) @ rows.T

    def exact_hyperplanes(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The true hyperplanes: normals (K, 512) and intercepts (K,), float64.

        normals @ w + intercepts is 0 where the parameter's own link gives the middle of its range,
        and grows by one per unit of the latent coordinate. To reach a parameter value, aim at the
        decision value `decision_value(name, value)`.
        """
        normals = self._to_latent[[_column(name) for name in names]]
        return normals, -np.array([_middle(name) for name in names])

    def exact_directions(self, names: Sequence[str]) -> np.ndarray:
        """Directions (K, 512), float64, that move one latent coordinate and no other at all.

        These are rows of the dual basis of *all* coordinates, also those that are not annotated.
        Moving along row j by c adds c to coordinate j.
        """
        return self._from_latent[:, [_column(name) for name in names]].T

    def latent_coordinate(self, name: str, value: float | np.ndarray) -> float | np.ndarray:
        """The coordinate at which a parameter's own link gives `value`: the inverse link.

        Age gates and the distance term of artefacts are not undone: the value is exact for all
        other parameters, and for facial hair and makeup of adults to a few per cent.

        Raises:
            ValueError: a parameter without a smooth link, or a value out of its open range.
        """
        with np.errstate(all="ignore"):  # a value out of range is refused below
            s = _link(name).coordinate(np.asarray(value, dtype=np.float64))
        if not np.isfinite(s).all():
            raise InputError(f"{name} never takes the value {value}", field=name, found=value)
        return s

    def decision_value(self, name: str, value: float | np.ndarray) -> float | np.ndarray:
        """Decision value, for `exact_hyperplanes`, at which the parameter's link gives `value`."""
        return self.latent_coordinate(name, value) - _middle(name)


def age_gate(name: str, age: np.ndarray) -> np.ndarray:
    """Factor in [0, 1] that the age puts on facial hair or makeup, see `AGE_GATES`."""
    return expit(14 * (age - AGE_GATES[name]))


def correlations() -> np.ndarray:
    """Give the correlations of the latent coordinates as they were planted (`CORRELATIONS`).

    Returns:
        float64 (P, P), in the order of `LATENTS`.
    """
    matrix = np.eye(len(LATENTS))
    for first, second, value, _ in CORRELATIONS:
        i = _column(first)
        j = _column(second)
        matrix[i, j] = matrix[j, i] = value
    return matrix


@cache
def _orthogonal_matrices() -> tuple[list[np.ndarray], np.ndarray]:
    """The mapping's three layers (512, 512) and an orthonormal basis (512, number of latents).

    Every instance of the world has the same ones, which are therefore read only.
    """
    generator = seeding.rng(WORLD_SEED, "known truth: world")
    *layers, basis = (
        np.linalg.qr(generator.standard_normal((LATENT_DIM, LATENT_DIM)))[0] for _ in range(4)
    )
    for matrix in (*layers, basis):
        matrix.setflags(write=False)
    return layers, basis[:, : len(LATENTS)]


def _mapped(z: np.ndarray, layers: list[np.ndarray]) -> np.ndarray:
    """Three orthogonal layers, leaky rectifiers between them: mild nonlinearity."""
    for layer in layers[:-1]:
        a = z @ layer
        z = 1.28 * np.where(a > 0, a, 0.45 * a)
    return z @ layers[-1]


def calibration() -> np.ndarray:
    """Measure the constants that make mapped codes standard normal.

    Returns:
        Their mean (512,), standard deviation (1,) and spreads along the basis (P,), in one row.
    """
    layers, basis = _orthogonal_matrices()
    generator = seeding.rng(WORLD_SEED, "known truth: calibration")
    raw = _mapped(generator.standard_normal((CALIBRATION_CODES, LATENT_DIM)), layers)
    mean = raw.mean(0)
    scale = (raw - mean).std()
    return np.hstack([mean, scale, ((raw - mean) / scale @ basis).std(0)])


def _hair_style(s: np.ndarray) -> np.ndarray:
    """Index in `HAIR_STYLES` by the latent coordinate s (n,), see `HAIR_STYLE_LEVELS`."""
    order = np.array([HAIR_STYLES.index(style) for style in HAIR_STYLE_LEVELS])
    return order[np.searchsorted(list(HAIR_STYLE_LEVELS.values())[:-1], s)]


def _middle(name: str) -> float:
    """Coordinate at which the link gives the middle of its range."""
    link = _link(name)
    return link.centre if link.kind == "sigmoid" else 0.0


def _link(name: str) -> Link:
    if name not in LINKS:
        raise InputError(
            f"{name!r} has no smooth link; those that have one: {list(LINKS)}",
            field="parameter",
            found=name,
            expected=", ".join(LINKS),
        )
    return LINKS[name]


def _column(name: str) -> int:
    if name not in INDEX:
        raise ValueError(f"no latent coordinate {name!r}; there are {list(LATENTS)}")
    return INDEX[name]
