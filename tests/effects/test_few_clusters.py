"""The bias-reduced sandwich against dense matrices, statsmodels' HC2, Welch's test and its bias."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import ttest_ind

from helpers.effects.few_clusters import bias_reduced


def dense(design, weights, residual, codes, contrast):
    """Standard error and degrees of freedom with all (n, n) matrices written out."""
    X = np.sqrt(weights)[:, None] * design
    bread = np.linalg.inv(X.T @ X)
    rest = np.eye(len(X)) - X @ bread @ X.T
    pulls = np.zeros((codes.max() + 1, len(X)))
    for cluster, pull in enumerate(pulls):
        rows = codes == cluster
        size, axis = np.linalg.eigh(rest[np.ix_(rows, rows)])
        axis, size = axis[:, size > 1e-9], size[size > 1e-9]
        pull[rows] = axis / np.sqrt(size) @ axis.T @ X[rows] @ bread @ contrast
    gram = pulls @ rest @ pulls.T
    return np.sqrt(((pulls @ residual) ** 2).sum()), np.trace(gram) ** 2 / (gram**2).sum()


def regression(sizes, seed, columns=3):
    """Design, weights, residuals and codes; the last column is constant within clusters."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    n = len(codes)
    own = rng.normal(size=(n, columns - 2))
    shared = (rng.random(len(sizes)) < 0.5)[codes]
    design = np.column_stack([np.ones(n), own, shared])
    weights = rng.uniform(0.05, 0.25, n)
    response = rng.normal(size=n) + rng.normal(size=len(sizes))[codes]
    return design, weights, pearson(design, weights, response), codes


def pearson(design, weights, response):
    fitted = sm.OLS(response, np.sqrt(weights)[:, None] * design).fit()
    return fitted.resid


@pytest.mark.parametrize(
    ("sizes", "columns"),
    [([8] * 10, 4), ([1, 2, 3, 4, 5, 6, 7, 8, 8, 40], 4), ([1] * 30, 5), ([2] * 12, 9)],
)
def test_it_equals_dense_matrices(sizes, columns):
    design, weights, residual, codes = regression(sizes, 1, columns)
    contrasts = np.vstack([np.eye(columns), np.arange(columns)])
    se, df = bias_reduced(design, weights, residual, codes, contrasts)
    expected = [dense(design, weights, residual, codes, one) for one in contrasts]
    np.testing.assert_allclose(np.column_stack([se, df]), expected, rtol=1e-6)


def test_clusters_with_effects_of_their_own_leave_singular_blocks():
    """A coefficient per cluster makes I - H_gg singular; what varies within is still estimated."""
    _, weights, residual, codes = regression([4] * 8, 2)
    own = np.random.default_rng(3).normal(size=len(codes))
    design = np.column_stack([np.eye(8)[codes], own])
    residual = pearson(design, weights, residual)
    se, df = bias_reduced(design, weights, residual, codes, np.eye(9)[[8, 0]])
    expected = dense(design, weights, residual, codes, np.eye(9)[8])
    np.testing.assert_allclose([se[0], df[0]], expected, rtol=1e-6)
    # A cluster's own effect is told by that cluster alone.
    assert np.isnan([se[1], df[1]]).all()


def test_clusters_of_one_row_give_hc2():
    design, _, residual, codes = regression([1] * 40, 4, columns=5)
    fitted = sm.OLS(residual + design.sum(axis=1), design).fit(cov_type="HC2")
    se, _ = bias_reduced(design, np.ones(40), fitted.resid, codes, np.eye(5))
    np.testing.assert_allclose(se, fitted.bse)


@pytest.mark.parametrize(("with_it", "size"), [(10, 1), (10, 8), (3, 8), (1, 4)])
def test_two_groups_of_clusters_are_compared_by_welch_s_test(with_it, size):
    """Of the clusters' means, with the degrees of freedom it has under equal variances.

    The formula is that of Imbens & Kolesár, Review of Economics and Statistics 98 (2016) 701-712.
    """
    groups = np.arange(20) < with_it
    codes = np.repeat(np.arange(20), size)
    rng = np.random.default_rng(5)
    response = rng.normal(size=len(codes)) + rng.normal(size=20)[codes]
    design = np.column_stack([np.ones(len(codes)), groups[codes]])
    residual = pearson(design, np.ones(len(codes)), response)
    se, df = bias_reduced(design, np.ones(len(codes)), residual, codes, np.array([[0.0, 1.0]]))
    if with_it == 1:
        assert np.isnan([se, df]).all()
        return
    means = response.reshape(20, size).mean(axis=1)
    test = ttest_ind(means[groups], means[~groups], equal_var=False)
    estimate = means[groups].mean() - means[~groups].mean()
    assert se.item() == pytest.approx(estimate / test.statistic)
    n = np.array([with_it, 20 - with_it])
    assert df.item() == pytest.approx((1 / n).sum() ** 2 / (1 / (n**2 * (n - 1))).sum())


def test_the_variance_has_no_bias_where_the_model_is_right():
    """Its expectation is a sum over single errors; that of the plain sandwich is too small."""
    design, weights, _, codes = regression([1, 2, 3, 4, 5, 6, 7, 8], 6)
    X = np.sqrt(weights)[:, None] * design
    bread = np.linalg.inv(X.T @ X)
    rest = np.eye(len(X)) - X @ bread @ X.T
    contrasts = np.eye(3)
    found = sum(bias_reduced(design, weights, one, codes, contrasts)[0] ** 2 for one in rest)
    np.testing.assert_allclose(found, np.diag(bread))
    scores = np.array(
        [(X * one[:, None])[codes == g].sum(axis=0) for one in rest for g in range(8)]
    )
    plain = ((scores @ bread) ** 2).sum(axis=0)
    assert (plain[[0, 2]] < 0.8 * np.diag(bread)[[0, 2]]).all()


def test_with_many_clusters_it_is_the_plain_sandwich():
    design, weights, residual, codes = regression([3, 5] * 600, 7)
    X = np.sqrt(weights)[:, None] * design
    fitted = sm.OLS(residual, X).fit(cov_type="cluster", cov_kwds={"groups": codes})
    se, df = bias_reduced(design, weights, residual, codes, np.eye(3))
    np.testing.assert_allclose(se, fitted.bse, rtol=0.003)
    assert (df > 400).all()


def test_a_single_cluster_says_nothing():
    design, _, residual, _ = regression([3] * 3, 8)
    together = np.zeros(9, int)
    assert np.isnan(bias_reduced(design, np.ones(9), residual, together, np.eye(3))).all()
