"""How the figures of the simulated crowd were derived from real annotations, and that they were.

The latent threshold model of `crowd` gives the probability of every level from an image's true
score. True scores are not known, so their distribution is estimated along with the noise: the
nonparametric maximum likelihood estimate of a mixing distribution (Laird 1978), by expectation
maximisation on a grid.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr
from scipy.stats import beta

from faceaudit.annotations import ATTRIBUTES
from faceaudit.annotations.agreement import (
    icc,
    krippendorff_alpha,
    mean_sd,
    squared_distance,
)
from faceaudit.utils import seeding
from faceworld import crowd

GRID = np.linspace(0.0, 1.0, 61)
_NOISE_RANGE = (0.1, 3.0)
_STEPS = 300
RANDOM_ANSWERS = 0.03
"""Share of accepted answers that are given at random: the middle of what the likelihood of the real
ratings asks for (gender .02, age .03, skin colour .04, hair length .05)."""


def level_probabilities(
    score: np.ndarray, noise: float, levels: int, margin: float, random: float
) -> np.ndarray:
    """Probability of each level, (n, levels), for true scores (n,) in [0, 1]."""
    latent = score * (levels - 1 + 2 * margin) - margin
    thresholds = np.r_[-np.inf, np.arange(levels - 1) + 0.5, np.inf]
    seen = np.diff(ndtr((thresholds - latent[:, None]) / noise), axis=1)
    return (1 - random) * seen + random / levels


def fit_noise(counts: np.ndarray, margin: float, random: float) -> tuple[float, np.ndarray]:
    """Noise and distribution of true scores (on `GRID`) that make real answers most likely."""
    patterns, frequency = np.unique(counts, axis=0, return_counts=True)

    def fit(noise: float) -> tuple[np.ndarray, float]:
        probability = level_probabilities(GRID, noise, counts.shape[1], margin, random)
        return _mixing_distribution(patterns, frequency, probability)

    found = minimize_scalar(
        lambda noise: -fit(noise)[1], bounds=_NOISE_RANGE, options={"xatol": 0.002}
    )
    return float(found.x), fit(float(found.x))[0]


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
    """Ordinal alpha and ICC(1,k) of infinitely many images."""
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
    """Noise, in levels, at which raters reach a known ordinal alpha."""

    def excess(noise: float) -> float:
        probability = level_probabilities(GRID, noise, levels, margin, random)
        return expected_agreement(weights, probability, raters=2)[0] - alpha

    return float(brentq(excess, *_NOISE_RANGE))


REAL = {"gender": "gender", "hair_length": "hair_length", "age": "age", "skin_colour": "skin_color"}
needs_real_data = pytest.mark.skipif(
    "HELPERS_REAL_DATA" not in os.environ, reason="HELPERS_REAL_DATA is not set"
)


def from_ratings(ratings: np.ndarray, attribute: str) -> np.ndarray:
    """Counts (n, levels) of a rating matrix (n, raters), negative = missing."""
    return (ratings[:, :, None] == np.arange(len(ATTRIBUTES[attribute]))).sum(axis=1)


def mostly_little() -> np.ndarray:
    """Weights on the grid of true scores spread like Beta(1, 3)."""
    half = (GRID[1] - GRID[0]) / 2
    return np.diff(beta(1, 3).cdf(np.r_[GRID - half, 1 + half]))


@pytest.mark.parametrize(
    ("attribute", "alpha", "reliability"), [("facial_hair", 0.430, 0.834), ("makeup", 0.289, 0.733)]
)
def test_noise_known_from_agreement_only(attribute, alpha, reliability):
    levels = len(ATTRIBUTES[attribute])
    weights = mostly_little()
    noise = noise_from_alpha(alpha, weights, levels, 0.0, RANDOM_ANSWERS)
    assert crowd.DISAGREEMENT[attribute].noise == pytest.approx(noise, abs=0.006)
    probability = level_probabilities(GRID, noise, levels, 0.0, RANDOM_ANSWERS)
    found = expected_agreement(weights, probability, 7)
    assert found == pytest.approx((alpha, reliability), abs=0.03)


@needs_real_data
@pytest.mark.parametrize("attribute", REAL)
def test_the_simulated_crowd_disagrees_like_the_real_one(attribute):
    file = Path(os.environ["HELPERS_REAL_DATA"]) / "stylegan2_ffhq_annotations.npz"
    ratings = np.load(file)[REAL[attribute]]
    real = from_ratings(ratings, attribute)
    spec = crowd.DISAGREEMENT[attribute]
    noise, weights = fit_noise(real, spec.margin, RANDOM_ANSWERS)
    assert spec.noise == pytest.approx(noise, abs=0.006)

    rng = seeding.rng(0, "test")
    score = rng.choice(GRID, len(real), p=weights / weights.sum())
    perceived = pd.DataFrame({attribute: score}, [f"{image:05d}" for image in range(len(real))])
    raters = ratings.shape[1]
    answers = crowd.annotate(perceived, raters, seed=0, stage="test")
    answers = answers[(answers["status"] == "accepted") & (answers["visit"] == 0)]
    simulated = from_ratings(answers[attribute].to_numpy().reshape(-1, raters), attribute)
    # Real raters answered fewer questions about gender at random than about other attributes, the
    # simulated ones as many: the spread of gender comes out an eighth too high.
    assert mean_sd(simulated) == pytest.approx(mean_sd(real), rel=0.15, abs=0.0)
    assert krippendorff_alpha(simulated) == pytest.approx(krippendorff_alpha(real), abs=0.03)
    assert icc(simulated) == pytest.approx(icc(real), abs=0.03)
