import os
from pathlib import Path

import crowd_calibration as calibration
import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from helpers.annotations import ATTRIBUTES, crowd
from helpers.annotations.agreement import icc, krippendorff_alpha, mean_deviation
from helpers.utils import seeding

REAL = {
    "gender": "gender",
    "hair_length": "hair_length",
    "age": "age",
    "skin_colour": "skin_color",
}
needs_real_data = pytest.mark.skipif(
    "HELPERS_REAL_DATA" not in os.environ, reason="HELPERS_REAL_DATA is not set"
)


def from_ratings(ratings: np.ndarray, attribute: str) -> np.ndarray:
    """Counts (n, levels) of a rating matrix (n, raters), negative = missing."""
    return (ratings[:, :, None] == np.arange(len(ATTRIBUTES[attribute]))).sum(axis=1)


def mostly_little() -> np.ndarray:
    """Weights on the grid of true scores spread like Beta(1, 3)."""
    half = (calibration.GRID[1] - calibration.GRID[0]) / 2
    return np.diff(beta(1, 3).cdf(np.r_[calibration.GRID - half, 1 + half]))


def draw_counts(noise: float, weights: np.ndarray, raters: int, n: int = 4000) -> np.ndarray:
    rng = seeding.rng(0, "test")
    score = rng.choice(calibration.GRID, n, p=weights / weights.sum())
    probability = calibration.level_probabilities(score, noise, 5, 0.0, 0.03)
    return rng.multinomial(raters, probability)


def test_probabilities_are_the_frequencies_of_the_model():
    rng = np.random.default_rng(0)
    latent = 0.7 * (4 + 2 * 0.5) - 0.5
    answers = np.clip(np.floor(latent + 0.8 * rng.standard_normal(400_000) + 0.5), 0, 4).astype(int)
    at_random = rng.random(answers.size) < 0.1
    answers[at_random] = rng.integers(5, size=at_random.sum())
    (expected,) = calibration.level_probabilities(np.array([0.7]), 0.8, 5, 0.5, 0.1)
    frequency = np.bincount(answers, minlength=5) / answers.size
    np.testing.assert_allclose(frequency, expected, atol=0.003)


def test_the_noise_of_a_simulated_crowd_is_found_again():
    for noise in (0.5, 0.9):
        fit = calibration.fit_noise(draw_counts(noise, mostly_little(), 7), 0.0, 0.03)
        assert fit.noise == pytest.approx(noise, rel=0.05)
        assert fit.weights.sum() == pytest.approx(1)
        assert fit.weights @ calibration.GRID == pytest.approx(0.25, abs=0.02)


def test_expected_agreement_is_that_of_many_images():
    probability = calibration.level_probabilities(calibration.GRID, 0.7, 5, 0.0, 0.03)
    weights = mostly_little()
    alpha, reliability = calibration.expected_agreement(weights, probability, 7)
    counts = draw_counts(0.7, weights, 7, n=40_000)
    assert alpha == pytest.approx(krippendorff_alpha(counts), abs=0.01)
    assert reliability == pytest.approx(icc(counts), abs=0.01)


@pytest.mark.parametrize(
    ("attribute", "alpha", "reliability"),
    [("facial_hair", 0.430, 0.834), ("makeup", 0.289, 0.733)],
)
def test_noise_known_from_agreement_only(attribute, alpha, reliability):
    levels = len(ATTRIBUTES[attribute])
    weights = mostly_little()
    noise = calibration.noise_from_alpha(alpha, weights, levels, 0.0, crowd.RANDOM_ANSWERS)
    assert crowd.DISAGREEMENT[attribute].noise == pytest.approx(noise, abs=0.006)
    probability = calibration.level_probabilities(calibration.GRID, noise, levels, 0.0, 0.03)
    found = calibration.expected_agreement(weights, probability, 7)
    assert found == pytest.approx((alpha, reliability), abs=0.03)


def test_an_alpha_that_no_noise_gives_is_an_error():
    with pytest.raises(ValueError, match="gives alpha 0.999"):
        calibration.noise_from_alpha(0.999, mostly_little(), 5, 0.0, 0.03)


@needs_real_data
@pytest.mark.parametrize("attribute", REAL)
def test_the_simulated_crowd_disagrees_like_the_real_one(attribute):
    file = Path(os.environ["HELPERS_REAL_DATA"]) / "stylegan2_ffhq_annotations.npz"
    ratings = np.load(file)[REAL[attribute]]
    real = from_ratings(ratings, attribute)
    spec = crowd.DISAGREEMENT[attribute]
    fit = calibration.fit_noise(real, spec.margin, crowd.RANDOM_ANSWERS)
    assert spec.noise == pytest.approx(fit.noise, abs=0.006)

    rng = seeding.rng(0, "test")
    score = rng.choice(calibration.GRID, len(real), p=fit.weights / fit.weights.sum())
    perceived = pd.DataFrame({attribute: score}, [f"{image:05d}" for image in range(len(real))])
    raters = ratings.shape[1]
    answers = crowd.annotate(perceived, raters, seed=0, stage="test")
    answers = answers[(answers["status"] == "accepted") & (answers["visit"] == 0)]
    simulated = from_ratings(answers[attribute].to_numpy().reshape(-1, raters), attribute)
    # Real raters answered fewer questions about gender at random than about other attributes, the
    # simulated ones as many: the spread of gender comes out an eighth too high.
    assert mean_deviation(simulated) == pytest.approx(mean_deviation(real), rel=0.15, abs=0.0)
    assert krippendorff_alpha(simulated) == pytest.approx(krippendorff_alpha(real), abs=0.03)
    assert icc(simulated) == pytest.approx(icc(real), abs=0.03)
