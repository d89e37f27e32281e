"""The transects assumed in planning, and the pairs of a finished audit, image by image."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, norm

from helpers.effects import Design, planning_values, shared_pair_correlation
from helpers.effects.planning import transect_types

AXES = ("skin_colour", "hair_length", "gender")


def drawn_differences(n, p0, p1, across, same, rng):
    """Differences of four pairs (n, 4), from eight correlated normal variables a transect."""
    correlation = np.block(
        [
            [np.full((4, 4), same), np.full((4, 4), across)],
            [np.full((4, 4), across), np.full((4, 4), same)],
        ]
    )
    np.fill_diagonal(correlation, 1)
    latent = rng.standard_normal((n, 8)) @ np.linalg.cholesky(correlation).T
    error = latent < norm.ppf([p0] * 4 + [p1] * 4)
    return error[:, :4], error[:, 4:]


def binary_correlation(p0, p1, latent):
    both = multivariate_normal.cdf(norm.ppf([p0, p1]), cov=[[1, latent], [latent, 1]])
    return (both - p0 * p1) / np.sqrt(p0 * (1 - p0) * p1 * (1 - p1))


@pytest.mark.parametrize("retention", [1.0, 2 / 3])
def test_chances_are_those_of_images_drawn_one_by_one(retention):
    across, p0, p1, n = 0.525, 0.05, 0.07, 400_000
    within = binary_correlation(p0, p1, across)
    types, chance = transect_types(Design(p1 - p0, p0, within, retention))
    rng = np.random.default_rng(0)
    low, high = drawn_differences(n, p0, p1, across, across, rng)
    kept = (rng.random((2, n, 4)) < retention).all(axis=0)
    worse, better = (high & ~low & kept).sum(axis=1), (low & ~high & kept).sum(axis=1)
    drawn = np.column_stack([kept.sum(axis=1), worse, better])
    share = np.array([(drawn == kind).all(axis=1).mean() for kind in types])
    assert chance.sum() == pytest.approx(1)
    np.testing.assert_allclose(share, chance, atol=5 * np.sqrt(0.25 / n))


@pytest.mark.parametrize("retention", [1.0, 0.6])
def test_one_pair_has_the_chances_of_its_table_whatever_the_sign(retention):
    both, low, high = 0.01, 0.08, 0.21  # 0.01 is less than 0.08 · 0.21: a negative correlation
    errors = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [10, 70, 200, 720], axis=0)
    within = np.corrcoef(errors.T)[0, 1]
    types, chance = transect_types(Design(high - low, low, within, retention, pairs=1))
    found = {tuple(kind): value for kind, value in zip(types.tolist(), chance, strict=True)}
    kept = retention**2
    table = {(1, 1, 0): high - both, (1, 0, 1): low - both, (1, 0, 0): 1 - high - low + 2 * both}
    assert within < -0.02
    expected = {kind: kept * value for kind, value in table.items()} | {(0, 0, 0): 1 - kept}
    assert found == pytest.approx(expected)


def test_pair_correlation_is_that_of_the_differences():
    difference, base, within = 0.03, 0.1, 0.23
    for wanted in (None, 0.2):
        design = Design(difference, base, within, pair_correlation=wanted)
        types, chance = transect_types(design)
        total = types[:, 1] - types[:, 2]
        single = design.variance
        variance = chance @ total**2 - (chance @ total) ** 2
        rho = (variance / (4 * single) - 1) / 3
        expected = wanted or shared_pair_correlation(design)
        assert rho == pytest.approx(expected, abs=1e-8)
        assert chance @ total == pytest.approx(4 * difference)
        assert chance @ types[:, 1:].sum(axis=1) == pytest.approx(4 * (single + difference**2))


def test_shared_pair_correlation_from_bivariate_normals():
    p0, p1, latent = 0.02, 0.07, 0.6
    within = binary_correlation(p0, p1, latent)
    pairs = [(p0, p0, 1), (p1, p1, 1), (p0, p1, -2)]
    covariance = sum(
        sign * binary_correlation(a, b, latent) * np.sqrt(a * (1 - a) * b * (1 - b))
        for a, b, sign in pairs
    )
    design = Design(p1 - p0, p0, within)
    found = shared_pair_correlation(design)
    assert found == pytest.approx(covariance / design.variance, rel=1e-4)


@pytest.fixture(scope="module")
def audit() -> pd.DataFrame:
    """200 transects of eight images whose errors share the face's difficulty."""
    rng = np.random.default_rng(0)
    levels = np.indices((2, 2, 2)).reshape(3, -1).T
    frame = pd.DataFrame(np.tile(levels, (200, 1)), columns=[f"{axis}_level" for axis in AXES])
    frame.insert(0, "transect", np.repeat(np.arange(200), 8))
    risk = rng.beta(0.5, 2, 200)[frame["transect"]] * (0.6 + 0.8 * frame["hair_length_level"])
    return frame.assign(error=(rng.random(len(frame)) < risk.clip(0, 1)).astype(int))


def of_hair(frame):
    by = ["skin_colour_level", "gender_level"]
    return planning_values(frame, "error", "hair_length_level", by, "transect")


def test_planning_values_are_those_of_the_pairs(audit):
    found = of_hair(audit)
    cells = audit["error"].to_numpy().reshape(200, 2, 2, 2)
    short, long = cells[:, :, 0].reshape(-1), cells[:, :, 1].reshape(-1)
    assert found["low"] == pytest.approx(short.mean())
    assert found["high"] == pytest.approx(long.mean())
    assert found["differ"] == pytest.approx((short != long).mean())
    assert found["within"] == pytest.approx(np.corrcoef(short, long)[0, 1])
    differences = (cells[:, :, 1] - cells[:, :, 0]).reshape(200, 4)
    alike = np.corrcoef(differences.T)[np.triu_indices(4, 1)].mean()
    assert found["between"] == pytest.approx(alike)
