"""Counts of patterns, and the batched Newton against scikit-learn."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from helpers.effects.risks import firth_logits, fit_logits, pattern_counts
from helpers.resampling import draw_weights


def test_counts_of_a_resample_are_those_of_its_rows():
    rng = np.random.default_rng(0)
    pattern, error, cluster = rng.integers([[7], [2], [20]], size=(3, 200))
    weights = draw_weights(20, range(5), seed=3)
    counts = weights @ pattern_counts(pattern, error, cluster)
    for row, count in zip(weights, counts, strict=True):
        rows = np.repeat(np.arange(200), row[cluster].astype(int))
        trials = np.bincount(pattern[rows], minlength=7)
        errors = np.bincount(pattern[rows], weights=error[rows], minlength=7)
        np.testing.assert_array_equal(count, [*trials, *errors])


@pytest.mark.parametrize("C", [0.01, 1.0, 1e4])
def test_batched_newton_equals_scikit_learn(C):
    rng = np.random.default_rng(1)
    patterns = rng.integers(2, size=(12, 4)).astype(float)
    trials = rng.integers(1, 40, size=(6, 12)).astype(float)
    errors = rng.binomial(trials.astype(int), 0.2).astype(float)
    trials[:, 3] = errors[:, 3] = 0  # a pattern that no resample holds
    fitted = fit_logits(patterns, trials, errors, C)
    for row, n, wrong in zip(fitted, trials, errors, strict=True):
        model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10, max_iter=1000)
        model.fit(
            np.vstack([patterns, patterns]),
            np.repeat([0, 1], 12),
            sample_weight=np.append(n - wrong, wrong),
        )
        np.testing.assert_allclose(row, [*model.intercept_, *model.coef_[0]], atol=1e-6)


def test_newton_does_not_overshoot_on_a_rare_pattern_with_all_the_errors():
    # From an intercept near -5 a full Newton step lands far beyond the answer and swings back.
    patterns = np.array([[0.0], [1.0]])
    trials = np.array([[10_000.0, 60.0]])
    errors = np.array([[0.0, 60.0]])
    model = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000)
    model.fit([[0], [1]], [0, 1], sample_weight=[10_000, 60])
    expected = [*model.intercept_, *model.coef_[0]]
    np.testing.assert_allclose(fit_logits(patterns, trials, errors)[0], expected, atol=1e-6)


def test_resamples_with_one_outcome_only_are_not_estimable():
    trials = np.full((3, 2), 10.0)
    errors = np.array([[0.0, 0.0], [10.0, 10.0], [2.0, 3.0]])
    fitted = fit_logits(np.array([[0.0], [1.0]]), trials, errors)
    np.testing.assert_array_equal(np.isnan(fitted).all(axis=1), [True, True, False])


# --- without a penalty, and with Firth's


@pytest.fixture
def counts():
    rng = np.random.default_rng(1)
    patterns = np.array([[i, j, i * j] for i in (0.0, 1.0) for j in (0.0, 1.0, 2.0)])
    trials = rng.integers(20, 60, size=(5, 6)).astype(float)
    return patterns, trials, rng.binomial(trials.astype(int), 0.3).astype(float)


def penalised(coefficients, patterns, trials, errors, jeffreys):
    """Minus the log likelihood, less half the log determinant of the information."""
    design = np.column_stack([np.ones(len(patterns)), patterns])
    predictor = design @ coefficients
    risk = expit(predictor)
    likelihood = errors @ predictor - trials @ np.logaddexp(0, predictor)
    information = (design.T * (trials * risk * (1 - risk))) @ design
    return -likelihood - jeffreys * np.linalg.slogdet(information)[1] / 2


@pytest.mark.parametrize("separated", [False, True])
def test_firth_maximises_the_penalised_likelihood(counts, separated):
    patterns, trials, errors = counts
    if separated:
        errors = errors * (patterns[:, 0] == 0)
    fitted = firth_logits(patterns, trials, errors)
    for row, n, wrong in zip(fitted, trials, errors, strict=True):
        arguments = patterns, n, wrong, 1.0
        best = minimize(penalised, np.zeros(4), arguments, method="BFGS", options={"gtol": 1e-9})
        np.testing.assert_allclose(row, best.x, atol=1e-4)


def test_firth_of_a_saturated_model_adds_half_a_count():
    """Of either outcome, in every group (Firth 1993, section 3.3)."""
    patterns, trials = np.array([[0.0], [1.0]]), np.array([[40.0, 30.0], [40.0, 30.0]])
    errors = np.array([[0.0, 5.0], [0.0, 0.0]])
    fitted = firth_logits(patterns, trials, errors)
    risk = expit(np.column_stack([fitted[:, 0], fitted.sum(axis=1)]))
    np.testing.assert_allclose(risk, (errors + 0.5) / (trials + 1), atol=1e-9)


def test_without_a_penalty_coefficients_maximise_the_likelihood(counts):
    patterns, trials, errors = counts
    fitted = fit_logits(patterns, trials, errors, C=np.inf)
    for row, n, wrong in zip(fitted, trials, errors, strict=True):
        arguments = patterns, n, wrong, 0.0
        best = minimize(penalised, np.zeros(4), arguments, method="BFGS", options={"gtol": 1e-9})
        np.testing.assert_allclose(row, best.x, atol=1e-4)


def test_an_infinite_coefficient_is_not_estimable_without_a_penalty(counts):
    patterns, trials, errors = counts
    errors[1] *= patterns[:, 0] == 0
    fitted = fit_logits(patterns, trials, errors, C=np.inf)
    np.testing.assert_array_equal(np.isnan(fitted).any(axis=1), [False, True, False, False, False])
