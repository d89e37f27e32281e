"""The dual basis against its definition; Algorithm 2 against what it promises."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.api import OLS

from helpers.orthogonalization import (
    dual_basis,
    gram_schmidt,
    leakage,
    off_target,
    variance_inflation,
)


def random_normals(seed: int, count: int, dimensions: int) -> np.ndarray:
    """Rows of very different lengths that share a common component."""
    rng = np.random.default_rng(seed)
    normals = rng.standard_normal((count, dimensions)) + rng.standard_normal(dimensions)
    return normals * 10 ** rng.uniform(-2, 2, (count, 1))


def at_cosine(cosine: float, count: int = 2, dimensions: int = 16) -> np.ndarray:
    """Unit rows with the same cosine between any two."""
    gram = np.full((count, count), cosine) + (1 - cosine) * np.eye(count)
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((dimensions, count)))[0]
    return np.linalg.cholesky(gram) @ basis.T


def off_diagonal(matrix: np.ndarray) -> np.ndarray:
    return matrix[~np.eye(len(matrix), dtype=bool)]


def relative_products(vectors: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Inner products with the lengths divided out."""
    lengths = np.linalg.norm(vectors, axis=1)[:, None] * np.linalg.norm(normals, axis=1)
    return vectors @ normals.T / lengths


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.sampled_from([16, 512]))
def test_dual_basis_is_biorthogonal(seed, count, dimensions):
    normals = random_normals(seed, count, dimensions)
    dual = dual_basis(normals, vif_cap=np.inf)
    np.testing.assert_allclose(np.diag(dual @ normals.T), 1, rtol=1e-12)
    assert np.abs(off_diagonal(relative_products(dual, normals))).max(initial=0) < 1e-12


@given(st.integers(0, 2**32 - 1), st.integers(2, 8))
def test_dual_basis_is_the_pseudo_inverse_in_any_order(seed, count):
    normals = np.random.default_rng(seed).standard_normal((count, 64))
    order = np.random.default_rng(seed).permutation(count)
    dual = dual_basis(normals)
    np.testing.assert_allclose(dual, np.linalg.pinv(normals).T, atol=1e-12)
    np.testing.assert_allclose(dual_basis(normals[order]), dual[order], atol=1e-12)


def test_dual_basis_of_real_hyperplanes():
    folder = os.environ.get("HELPERS_REAL_DATA")
    if folder is None:
        pytest.skip("HELPERS_REAL_DATA is not set")
    with np.load(Path(folder) / "stylegan2_ffhq_hyperplanes.npz") as arrays:
        normals = np.stack([arrays[key] for key in arrays if key.endswith("_normal")])
    dual = dual_basis(normals)
    np.testing.assert_allclose(dual @ normals.T, np.eye(len(normals)), atol=1e-12)
    # Algorithm 2 leaves on these planes what it promises to remove.
    assert np.abs(off_diagonal(relative_products(gram_schmidt(normals), normals))).max() > 0.2


def test_nearly_collinear_normals_stay_orthogonal_and_warn():
    normals = at_cosine(1 - 1e-15 * 2**6)  # condition of about 5e6
    with pytest.warns(UserWarning, match="nearly collinear.*√VIF"):
        dual = dual_basis(normals)
    assert np.abs(off_diagonal(relative_products(dual, normals))).max() < 1e-14


def test_warning_names_the_rows_above_the_cap():
    normals = np.vstack([at_cosine(0.97, dimensions=16), np.eye(16)[3] * 2])
    with pytest.warns(UserWarning, match=r"\{0: 1\d\.\d, 1: 1\d\.\d\}"):
        dual_basis(normals)


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([[1, 0, 0], [0, 1, 0], [-2, 0, 0]], r"\[0, 2\]"),
        ([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [3, 2, 0, 0]], r"\[0, 1, 3\]"),
        ([[1, 0], [0, 1], [1, 1]], r"\[0, 1, 2\]"),
        ([[1, 0], [0, 0]], r"\[1\] are zero"),
        ([[1, 0], [np.nan, 1]], "normals: row 1, column 0 is nan"),
    ],
)
@pytest.mark.parametrize("function", [dual_basis, variance_inflation, gram_schmidt])
def test_dependent_rows_are_named(function, rows, named):
    with pytest.raises(ValueError, match=named):
        function(rows)


def test_normals_must_be_a_matrix():
    with pytest.raises(ValueError, match=r"normals: shape \(3,\), expected 2 axes"):
        dual_basis(np.ones(3))


@pytest.mark.parametrize("cosine", [-0.7, 0.0, 0.4, 0.9])
def test_variance_inflation_of_two_planes(cosine):
    lengths = np.array([[3.0], [0.1]])
    np.testing.assert_allclose(
        variance_inflation(at_cosine(cosine) * lengths), 1 / (1 - cosine**2), rtol=1e-12
    )


def test_variance_inflation_agrees_with_regression():
    """1 / (1 − R²) of each normal on the others, without a constant: angles, not correlations."""
    normals = random_normals(3, 6, 40)
    fits = [OLS(normals[j], np.delete(normals, j, 0).T, hasconst=False).fit() for j in range(6)]
    expected = [1 / (1 - fit.rsquared) for fit in fits]
    np.testing.assert_allclose(variance_inflation(normals), expected, rtol=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_variance_inflation_is_the_price_in_step_length(seed):
    normals = random_normals(seed, 5, 32)
    dual = dual_basis(normals, vif_cap=np.inf)
    price = np.linalg.norm(dual, axis=1) * np.linalg.norm(normals, axis=1)
    np.testing.assert_allclose(price, np.sqrt(variance_inflation(normals)), rtol=1e-10)


def test_gram_schmidt_clears_earlier_rows_only():
    normals = at_cosine(0.4, count=4) * np.array([[2.0], [1.0], [0.5], [3.0]])
    left = np.abs(relative_products(gram_schmidt(normals), normals))
    assert np.tril(left, -1).max() < 1e-12
    assert np.triu(left, 1).max() > 0.35


def test_gram_schmidt_is_the_textbook_procedure():
    normals = random_normals(5, 4, 12)
    expected = normals.copy()
    for i in range(4):
        for j in range(i):
            expected[i] -= expected[j] * (expected[j] @ normals[i]) / (expected[j] @ expected[j])
    changed = gram_schmidt(normals)
    np.testing.assert_allclose(changed, expected, rtol=1e-8, atol=1e-10 * np.abs(normals).max())
    np.testing.assert_allclose(changed[0], normals[0], rtol=1e-12)


def test_gram_schmidt_depends_on_the_order():
    normals = at_cosine(0.6, count=3)
    order = np.array([2, 0, 1])
    difference = gram_schmidt(normals)[order] - gram_schmidt(normals[order])
    assert np.linalg.norm(difference, axis=1).max() > 0.5


def ends(seed: int = 0) -> tuple[dict, dict]:
    """Transects along a and b; moving a by 0.5 moves b by -0.1, moving b moves only b."""
    names = ["a", "b", "c"]
    base = np.random.default_rng(seed).uniform(0, 0.4, (20, 3))
    low = {name: pd.DataFrame(base, columns=names) for name in "ab"}
    steps = {"a": [0.5, -0.1, 0.05], "b": [0.0, 0.4, 0.0]}
    return low, {name: low[name] + steps[name] for name in low}


def test_leakage_divides_by_the_intended_change():
    matrix = leakage(*ends())
    expected = pd.DataFrame(
        [[1, -0.2, 0.1], [0, 1, 0]], index=["a", "b"], columns=["a", "b", "c"], dtype=float
    )
    pd.testing.assert_frame_equal(matrix, expected, check_names=False, atol=1e-12)


def test_leakage_does_not_depend_on_which_end_is_called_low():
    low, high = ends()
    pd.testing.assert_frame_equal(leakage(low, high), leakage(high, low), atol=1e-12)


def test_off_target_summary():
    summary = off_target(leakage(*ends()))
    assert summary.mean == pytest.approx((0.2 + 0.1) / 4)
    assert summary.max == pytest.approx(0.2)
    assert (summary.intended, summary.perceived) == ("a", "b")


def test_leakage_refuses_what_it_cannot_compare():
    low, high = ends()
    with pytest.raises(ValueError, match="low ends are of"):
        leakage({"a": low["a"]}, high)
    with pytest.raises(ValueError, match=r"a, high ends: shape \(19, 3\), expected \(20, 3\)"):
        leakage(low, high | {"a": high["a"][1:]})
    with pytest.raises(ValueError, match="no score of a among b, c"):
        leakage({"a": low["a"][["b", "c"]]}, {"a": high["a"][["b", "c"]]})
    with pytest.raises(ValueError, match="moving along a leaves its own score unchanged"):
        leakage(low, high | {"a": low["a"]})
