"""How the figures of the simulated crowd were derived from real annotations.

The latent threshold model of `crowd` gives the probability of every level from an image's true
score. True scores are not known, so their distribution is estimated along with the noise: the
nonparametric maximum likelihood estimate of a mixing distribution (Laird 1978), by expectation
maximisation on a grid. The fitted distribution also says how far real images spread, which is what
a simulated crowd must be given to be compared with the real one. No chapter runs it: chapter 6
shows its result, `crowd.DISAGREEMENT`, and tests repeat it on the real files where they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr

from helpers.annotations.agreement import squared_distance

GRID = np.linspace(0.0, 1.0, 61)
_NOISE_RANGE = (0.1, 3.0)
_STEPS = 300


@dataclass(frozen=True)
class Fit:
    """Noise, in levels, and the distribution of true scores: weights (61,) on `GRID`."""

    noise: float
    weights: np.ndarray
    log_likelihood: float


def level_probabilities(
    score: np.ndarray, noise: float, levels: int, margin: float, random: float
) -> np.ndarray:
    """Probability of each level, (n, levels), for true scores (n,) in [0, 1].

    Args:
        score: what the images show.
        noise, margin: in levels, see `crowd.Disagreement`.
        levels: of the scale.
        random: share of answers given at random.
    """
    latent = score * (levels - 1 + 2 * margin) - margin
    thresholds = np.r_[-np.inf, np.arange(levels - 1) + 0.5, np.inf]
    seen = np.diff(ndtr((thresholds - latent[:, None]) / noise), axis=1)
    return (1 - random) * seen + random / levels


def fit_noise(counts: np.ndarray, margin: float, random: float) -> Fit:
    """Noise and distribution of true scores that make real answers most likely.

    Args:
        counts: (n images, levels) real answers.
        margin: in levels.
        random: share of answers given at random.
    """
    patterns, frequency = np.unique(counts, axis=0, return_counts=True)

    def fit(noise: float) -> Fit:
        probability = level_probabilities(GRID, noise, counts.shape[1], margin, random)
        weights, log_likelihood = _mixing_distribution(patterns, frequency, probability)
        return Fit(noise, weights, log_likelihood)

    found = minimize_scalar(
        lambda noise: -fit(noise).log_likelihood,
        bounds=_NOISE_RANGE,
        method="bounded",
        options={"xatol": 0.002},
    )
    return fit(float(found.x))


def _mixing_distribution(
    patterns: np.ndarray, frequency: np.ndarray, probability: np.ndarray
) -> tuple[np.ndarray, float]:
    log_likelihood = patterns @ np.log(probability).T
    highest = log_likelihood.max(axis=1, keepdims=True)
    likelihood = np.exp(log_likelihood - highest)
    weights = np.full(len(probability), 1 / len(probability))
    for _ in range(_STEPS):
        share = likelihood * weights
        weights = (frequency / share.sum(axis=1)) @ share / frequency.sum()
    return weights, float(frequency @ (np.log(likelihood @ weights) + highest[:, 0]))


def expected_agreement(
    weights: np.ndarray, probability: np.ndarray, raters: int
) -> tuple[float, float]:
    """Ordinal alpha and ICC(1,k) of infinitely many images.

    Args:
        weights: (n,) of the images' true scores, with sum 1.
        probability: (n, levels) from `level_probabilities`.
        raters: per image, the k of ICC(1,k).
    """
    pairs = probability.T @ (weights[:, None] * probability)
    marginal = pairs.sum(axis=1)
    distance = squared_distance(marginal[None], "ordinal")[0]
    alpha = 1 - (pairs * distance).sum() / (np.outer(marginal, marginal) * distance).sum()
    level = np.arange(probability.shape[1])
    mean = probability @ level
    within = weights @ (probability @ level**2 - mean**2)
    between = weights @ mean**2 - (weights @ mean) ** 2
    return float(alpha), float(between / (between + within / raters))


def noise_from_alpha(
    alpha: float, weights: np.ndarray, levels: int, margin: float, random: float
) -> float:
    """Noise, in levels, at which raters reach a known ordinal alpha.

    Args:
        alpha: to reach.
        weights: (61,) assumed distribution of true scores on `GRID`.
        levels, margin, random: see `level_probabilities`.

    Raises:
        ValueError: no noise between 0.1 and 3 levels gives that alpha.
    """

    def excess(noise: float) -> float:
        probability = level_probabilities(GRID, noise, levels, margin, random)
        return expected_agreement(weights, probability, raters=2)[0] - alpha

    if not excess(_NOISE_RANGE[1]) <= 0 <= excess(_NOISE_RANGE[0]):
        raise ValueError(f"no noise within {_NOISE_RANGE} levels gives alpha {alpha}")
    return float(brentq(excess, *_NOISE_RANGE))
