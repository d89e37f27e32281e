"""Effects per unit of dose against two-stage least squares, and bends against arithmetic."""

import numpy as np
import pytest
from statsmodels.sandbox.regression.gmm import IV2SLS

from helpers.effects.dose_response import bend, per_unit


def test_per_unit_is_two_stage_least_squares_with_the_level_as_instrument():
    rng = np.random.default_rng(0)
    n, level = 300, np.tile([0, 1], 300)
    face = np.repeat(rng.normal(size=n), 2)
    dose = 0.2 + 0.6 * level + 0.05 * face + rng.normal(0, 0.05, 2 * n)
    outcome = 0.1 + 0.3 * dose + 0.2 * face + rng.normal(0, 0.1, 2 * n)
    fit = IV2SLS(
        outcome, np.column_stack([np.ones(2 * n), dose]), np.column_stack([np.ones(2 * n), level])
    ).fit()
    change, run = (np.diff(each.reshape(n, 2), axis=1) for each in (outcome, dose))
    values = per_unit(change, run)
    assert values.mean() == pytest.approx(fit.params[1])
    # The pairing takes the face out; by resampling the standard error is the same.
    draws = rng.integers(n, size=(2000, n))
    ratios = change[draws, 0].mean(axis=1) / run[draws, 0].mean(axis=1)
    assert values.std(ddof=1) / np.sqrt(n) == pytest.approx(ratios.std(), rel=0.06)


def test_noise_in_the_dose_does_not_flatten_the_slope():
    rng = np.random.default_rng(1)
    run = 0.5 + rng.normal(0, 0.02, (20_000, 1))
    change = 2 * run
    noisy = run + rng.normal(0, 0.3, run.shape)
    assert per_unit(change, noisy).mean() == pytest.approx(2, abs=0.03)
    flattened = np.polyfit(noisy[:, 0], change[:, 0], 1)[0]
    assert flattened < 0.1


def test_bend_is_zero_on_a_line_and_the_distance_from_it_elsewhere():
    dose = np.array([0.0, 1.0, 3.0, 4.0])[None, :, None] * np.ones((5, 1, 2))
    assert np.abs(bend(3 + 2 * dose, dose)).max() < 1e-12
    outcome = np.array([0.0, 5.0, 5.0, 4.0])[None, :, None] * np.ones((5, 1, 2))
    assert bend(outcome, dose).mean() == pytest.approx(((5 - 1) + (5 - 3)) / 2)


def test_bend_has_the_spread_of_its_estimate():
    rng, n = np.random.default_rng(2), 400
    dose = np.array([0.0, 0.4, 1.0]) + rng.normal(0, 0.05, (n, 3))
    outcome = np.sqrt(dose.clip(0)) + rng.normal(0, 0.1, (n, 3))
    dose, outcome = dose[..., None], outcome[..., None]

    def estimate(rows):
        y, x = outcome[rows].mean(axis=0)[:, 0], dose[rows].mean(axis=0)[:, 0]
        return y[1] - np.interp(x[1], x[[0, 2]], y[[0, 2]])

    values = bend(outcome, dose)
    assert values.mean() == pytest.approx(estimate(np.arange(n)))
    resampled = [estimate(rng.integers(n, size=n)) for _ in range(2000)]
    assert values.std() / np.sqrt(n) == pytest.approx(np.std(resampled), rel=0.08)


def test_constant_doses_may_be_given_once():
    outcome = np.random.default_rng(3).random((6, 3, 2))
    dose = np.broadcast_to(np.array([0.0, 1, 2])[:, None], (3, 2))
    np.testing.assert_allclose(bend(outcome, dose[None]), bend(outcome, np.stack([dose] * 6)))


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="shape"):
        per_unit(np.zeros((4, 2)), np.ones((4, 1)))
    with pytest.raises(ValueError, match="three steps"):
        bend(np.zeros((4, 2, 1)), np.ones((4, 2, 1)))
    with pytest.raises(ValueError, match="finite"):
        per_unit([[np.nan]], [[1.0]])
