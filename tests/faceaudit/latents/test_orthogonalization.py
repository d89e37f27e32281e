"""The dual basis against its definition; Algorithm 2 against what it promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import at_cosine, random_normals
from statsmodels.api import OLS

from faceaudit.latents.orthogonalization import dual_basis, gram_schmidt, variance_inflation


def off_diagonal(matrix: np.ndarray) -> np.ndarray:
    return matrix[~np.eye(len(matrix), dtype=bool)]


def relative_products(vectors: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Inner products with the lengths divided out."""
    lengths = np.linalg.norm(vectors, axis=1)[:, None] * np.linalg.norm(normals, axis=1)
    return vectors @ normals.T / lengths


@given(st.integers(0, 2**32 - 1), st.integers(2, 8))
def test_dual_basis_is_the_pseudo_inverse_in_any_order(seed, count):
    normals = np.random.default_rng(seed).standard_normal((count, 64))
    order = np.random.default_rng(seed).permutation(count)
    dual = dual_basis(normals)
    np.testing.assert_allclose(dual, np.linalg.pinv(normals).T, atol=1e-12)
    np.testing.assert_allclose(dual_basis(normals[order]), dual[order], atol=1e-12)


def test_nearly_collinear_normals_stay_orthogonal_and_warn():
    normals = at_cosine(1 - 1e-15 * 2**6)  # condition of about 5e6
    with pytest.warns(UserWarning, match="nearly collinear.*√VIF"):
        dual = dual_basis(normals)
    assert np.abs(off_diagonal(relative_products(dual, normals))).max() < 1e-14


def test_variance_inflation_agrees_with_regression():
    """1 / (1 − R²) of each normal on the others, without a constant: angles, not correlations."""
    normals = random_normals(3, 6, 40)
    fits = [OLS(normals[j], np.delete(normals, j, 0).T, hasconst=False).fit() for j in range(6)]
    expected = [1 / (1 - fit.rsquared) for fit in fits]
    np.testing.assert_allclose(variance_inflation(normals), expected, rtol=1e-9)


def test_gram_schmidt_clears_earlier_rows_only():
    normals = at_cosine(0.4, count=4) * np.array([[2.0], [1.0], [0.5], [3.0]])
    products = np.abs(relative_products(gram_schmidt(normals), normals))
    assert np.tril(products, -1).max() < 1e-12
    assert np.triu(products, 1).max() > 0.35


def test_gram_schmidt_is_the_textbook_procedure():
    normals = random_normals(5, 4, 12)
    expected = normals.copy()
    for i in range(4):
        for j in range(i):
            expected[i] -= expected[j] * (expected[j] @ normals[i]) / (expected[j] @ expected[j])
    changed = gram_schmidt(normals)
    np.testing.assert_allclose(changed, expected, rtol=1e-8, atol=1e-10 * np.abs(normals).max())
    np.testing.assert_allclose(changed[0], normals[0], rtol=1e-12)
